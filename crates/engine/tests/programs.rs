//! Real programs under published grammars: Lark's own verdicts, and masks by rows against masks byte by byte.
//!
//! The programs, grammars and verdicts are in the shared data folder (`MASKWRIGHT_SHARED`); where it is
//! absent a small grammar with indentation takes their place. `MASKWRIGHT_EVERY=1` reads all programs instead
//! of a sample. What the contextual discipline accepts beyond Lark's basic lexer is listed in
//! `testdata/lark/contextual.tsv`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineGrammar, Limits, Matcher, Options};
use maskwright_lark::{Indentation, LarkConfig, LexerKind, parse_lark};
use maskwright_vocabulary::{TokenId, Vocabulary};

/// Programs that Lark's LALR parser refuses because it has resolved a conflict in silence; its Earley parser
/// accepts them.
const CONFLICTS: [&str; 3] = ["full/Go_104.go", "full/Java_22.java", "solution/Java_22.java"];

/// Unless told, one program in so many is read.
const EVERY: usize = 5;

const SMALL_GRAMMAR: &str = r#"
start: (_NL | statement)*
statement: NAME "=" sum _NL | "if" sum ":" _NL _INDENT statement+ _DEDENT
sum: item | sum "+" item
item: NAME | NUMBER | LPAR sum RPAR
NAME: /[a-z]+/
NUMBER: /\d+(\.\d+)?/
LPAR: "("
RPAR: ")"
_NL: /(\r?\n[\t ]*)+/
%declare _INDENT _DEDENT
%ignore /[\t ]+/
"#;

const SMALL_PROGRAMS: [(&str, bool); 5] = [
    ("if a:\n  b = (c +\n d)\n  if iff:\n\tc = 1.5\nd = e\n", true),
    ("\n\na = 1 + (2 + (b))\n", true),
    ("a = = b\n", false),
    ("if a:\nb = c\n", false),
    ("if a:\n    b = c\n  d = e\n", false),
];

const LEXERS: [LexerKind; 2] = [LexerKind::Basic, LexerKind::Contextual];

struct Program {
    name: String,
    text: String,
    is_word: bool,
}

struct Case {
    language: &'static str,
    grammar: String,
    has_indentation: bool,
    programs: Vec<Program>,
}

fn cases(every: usize) -> Vec<Case> {
    let Some(shared) = maskwright_oracle::shared_folder("data/programs/syncode_lark_verdicts.tsv") else {
        let programs = SMALL_PROGRAMS.iter().enumerate().map(|(index, &(text, is_word))| Program {
            name: format!("program {index}"),
            text: text.to_owned(),
            is_word,
        });
        return vec![Case {
            language: "small",
            grammar: SMALL_GRAMMAR.to_owned(),
            has_indentation: true,
            programs: programs.collect(),
        }];
    };
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let verdicts = read(shared.join("data/programs/syncode_lark_verdicts.tsv"));
    let case = |language| {
        let has_indentation = language == "python";
        let rows = verdicts.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let programs = rows.filter(|row| row[0] == language).step_by(every).map(|row| {
            let mut text = read(shared.join("data/programs").join(language).join(row[1]).join(row[2]));
            if has_indentation {
                text.push('\n');
            }
            let name = format!("{}/{}", row[1], row[2]);
            let is_word = row[3] == "accept" || CONFLICTS.contains(&name.as_str());
            Program { name, text, is_word }
        });
        let grammar = read(shared.join("data/grammars").join(format!("{language}.lark")));
        Case { language, grammar, has_indentation, programs: programs.collect() }
    };
    ["go", "java", "python"].map(case).into()
}

impl Case {
    fn compile(
        &self,
        lexer: LexerKind,
        vocabulary: &Arc<Vocabulary>,
        options: Options,
    ) -> Arc<EngineGrammar> {
        let config = LarkConfig {
            lexer,
            indentation: self.has_indentation.then(Indentation::python),
            ..LarkConfig::default()
        };
        let grammar = parse_lark(&self.grammar, self.language, &config, &Fuel::unlimited()).unwrap();
        let compiler = Compiler::with_options(vocabulary.clone(), Limits::default(), options);
        match lexer {
            LexerKind::Basic => {
                compiler.compile_lexed(grammar.lexed, grammar.indentation, &Fuel::unlimited())
            }
            LexerKind::Contextual | LexerKind::DynamicComplete => {
                compiler.compile_contextual(grammar.lexed, grammar.indentation, &Fuel::unlimited())
            }
        }
        .unwrap()
    }
}

/// The programs that only the contextual discipline accepts, as language and name.
fn only_contextual() -> BTreeSet<(&'static str, &'static str)> {
    let list = include_str!("../../../testdata/lark/contextual.tsv");
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.split_once('\t')?.1.split_once('\t').map(|(name, _)| (row, name)))
        .filter_map(|(row, name)| Some((row.split_once('\t')?.0, name)))
        .collect()
}

/// A vocabulary of all substrings of some texts, up to a length, and EOS.
fn substrings(texts: &[&str], length: usize) -> Arc<Vocabulary> {
    let bytes = texts.iter().map(|text| text.as_bytes());
    let tokens: BTreeSet<&[u8]> =
        bytes.flat_map(|text| (1..=length).flat_map(|length| text.windows(length))).collect();
    let eos = tokens.len() as u32;
    let tokens = tokens.into_iter().map(<[u8]>::to_vec).chain([b"</s>".to_vec()]);
    Vocabulary::from_tokens(tokens.map(Some).collect(), &[TokenId(eos)], None).unwrap().shared()
}

#[test]
fn verdicts_are_those_of_lark() {
    let every = std::env::var("MASKWRIGHT_EVERY").ok().and_then(|every| every.parse().ok());
    let only_contextual = only_contextual();
    for (case, lexer) in
        cases(every.unwrap_or(EVERY)).iter().flat_map(|case| LEXERS.map(|lexer| (case, lexer)))
    {
        let compiled = case.compile(lexer, &substrings(&["a"], 1), Options::default());
        for program in &case.programs {
            let mut matcher = Matcher::new(&compiled);
            let n_read = matcher.validate_bytes(program.text.as_bytes()).unwrap();
            let is_word = matcher.accept_bytes(program.text.as_bytes()).unwrap() && matcher.is_accepting();
            let is_contextual = lexer == LexerKind::Contextual;
            let is_listed = is_contextual && only_contextual.contains(&(case.language, &*program.name));
            assert_eq!(
                is_word,
                program.is_word || is_listed,
                "{} {}: {n_read} of {} bytes read",
                case.language,
                program.name,
                program.text.len()
            );
        }
        eprintln!("{}: {} programs", case.language, case.programs.len());
    }
}

#[test]
fn masks_by_rows_are_masks_byte_by_byte() {
    for (case, lexer) in cases(7).iter().flat_map(|case| LEXERS.map(|lexer| (case, lexer))) {
        let words: Vec<&Program> = case.programs.iter().filter(|program| program.is_word).take(3).collect();
        let texts: Vec<&str> = words.iter().map(|program| program.text.as_str()).collect();
        let vocabulary = substrings(&texts, 7);
        let rows = case.compile(lexer, &vocabulary, Options::default());
        let bytes = case.compile(lexer, &vocabulary, Options { use_rows: false, ..Options::default() });
        for text in texts {
            let step = text.len() / 12 + 1;
            let (mut by_rows, mut by_bytes) = (Matcher::new(&rows), Matcher::new(&bytes));
            for piece in text.as_bytes().chunks(step) {
                assert_eq!(by_rows.mask().unwrap(), by_bytes.mask().unwrap(), "{}", case.language);
                assert!(by_rows.accept_bytes(piece).unwrap() && by_bytes.accept_bytes(piece).unwrap());
            }
            assert_eq!(by_rows.mask().unwrap(), by_bytes.mask().unwrap(), "{}", case.language);
        }
    }
}
