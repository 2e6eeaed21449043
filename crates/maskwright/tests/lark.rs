//! Lark grammars through the front door: imports from folders, what indentation makes, errors.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use maskwright::infill::{Hole, Part};
use maskwright::lark::{Indentation, LarkOptions, LexerKind, builtin_names};
use maskwright::{
    CompileOptions, Compiler, ErrorKind, GrammarSource, MaskStatus, Matcher, MatcherConfig, Template,
    TokenId, Tokenizer,
};

fn compiler() -> Compiler {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.push(Vec::new());
    Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap())
}

fn basic() -> LarkOptions {
    let mut options = LarkOptions::default();
    options.lexer = LexerKind::Basic;
    options
}

fn accepts(source: &str, lark: &LarkOptions, text: &str) -> bool {
    reads(&GrammarSource::lark(source, lark.clone()), text)
}

fn reads(source: &GrammarSource, text: &str) -> bool {
    let grammar = compiler().compile(source, &CompileOptions::default()).unwrap();
    let mut matcher = Matcher::new(&grammar);
    matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting()
}

fn error(source: &str, lark: &LarkOptions) -> (ErrorKind, String) {
    refusal(&GrammarSource::lark(source, lark.clone()))
}

fn refusal(source: &GrammarSource) -> (ErrorKind, String) {
    let error = compiler().compile(source, &CompileOptions::default()).err().unwrap();
    (error.kind(), error.to_string())
}

#[test]
fn imports_are_looked_for_beside_the_file_and_in_the_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("lib")).unwrap();
    std::fs::write(path("lib/words.lark"), "WORD: LETTER+\n%import .letters.LETTER\n").unwrap();
    std::fs::write(path("lib/letters.lark"), "LETTER: /[a-z]/\n").unwrap();
    let relative = "start: WORD\n%import .lib.words.WORD\n";
    let absolute = "start: WORD\n%import lib.words.WORD\n";
    let beside = |source: &str| GrammarSource::lark(source, basic()).file(path("main.lark"));
    let mut within = basic();
    within.import_paths = vec![path("nowhere"), path("")];
    assert!(reads(&beside(relative), "abc"));
    assert!(accepts(relative, &within, "abc") && accepts(absolute, &within, "abc"));
    let nowhere = |source: &str| GrammarSource::lark(source, basic());
    for source in [nowhere(relative), nowhere(absolute), beside(absolute)] {
        let (kind, message) = refusal(&source);
        assert!(kind == ErrorKind::Grammar && message.contains("words"), "{message}");
    }
    assert!(refusal(&beside(absolute)).1.contains("main.lark:2:"), "the message names the file");
}

#[test]
fn an_import_that_is_no_text_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.lark"), b"WORD: /\xFF/\n").unwrap();
    std::fs::create_dir(folder.path().join("more.lark")).unwrap();
    let mut lark = basic();
    lark.import_paths = vec![folder.path().to_owned()];
    assert!(error("start: WORD\n%import words.WORD\n", &lark).1.contains("words"));
    assert!(error("start: WORD\n%import more.WORD\n", &lark).1.contains("more"));
}

#[test]
fn indentation_makes_blocks() {
    let source = "start: (_NL | line)*\nline: NAME \":\" _NL _INDENT line+ _DEDENT | NAME _NL\nNAME: /[a-z]+/\n\
                  _NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT\n";
    let mut lark = basic();
    lark.indentation = Some(Indentation::python());
    assert!(accepts(source, &lark, "a:\n  b:\n    c\nd\n"));
    assert!(!accepts(source, &lark, "a:\nb\n"));
}

#[test]
fn what_can_be_read_competes_unless_told_otherwise() {
    let contextual = LarkOptions::default();
    let (kind, message) = error("start: A A\nA: /a+/\n", &contextual);
    assert!(kind == ErrorKind::Grammar, "no text has two of them: {message}");
    let declarations =
        "start: line*\nline: \"int\" NAME \";\" | NAME \"=\" NAME \";\"\nNAME: /[a-z]+/\n%ignore \" \"\n";
    assert!(accepts(declarations, &contextual, "int x;intx=y;"));
    assert!(!accepts(declarations, &contextual, "intx;"));
    assert!(accepts(declarations, &contextual, "x=int;") && !accepts(declarations, &basic(), "x=int;"));
    let ranges = "start: item (\"..\" item)?\nitem: INT | FLOAT\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]+/\n";
    assert!(accepts(ranges, &contextual, "1..2") && accepts(ranges, &contextual, "1.5..2"));
    let strings = "start: (SHORT | LONG)+\nSHORT: /\"[^\"]*\"/\nLONG: /\"\"\"[^\"]*\"\"\"/\n";
    assert!(accepts(strings, &contextual, "\"\"\"a\"") && accepts(strings, &contextual, "\"\"\"a\"\"\""));
    assert!(!accepts(strings, &contextual, "\"\"\""));
}

#[test]
fn two_brackets_may_be_one_operator() {
    let source = "start: (declaration | expression \";\")*\ndeclaration: type NAME \";\"\n\
                  type: NAME [\"<\" type (\",\" type)* \">\"]\n\
                  expression: expression (\"<\" | \">\" | \">>\") NAME | NAME\nNAME: /[a-z]+/\n%ignore \" \"\n";
    let contextual = LarkOptions::default();
    for text in ["a<b<c>> d;", "a >> b;", "a<b<c> > d; a<b<c>>d;", "a<b<c<d>>> e;"] {
        assert!(accepts(source, &contextual, text), "{text}");
    }
    assert!(!accepts(source, &contextual, "a > > b;") && !accepts(source, &basic(), "a<b,c<d>> e;"));
}

const CALLS: &str = "start: call (\";\" call)*\ncall: NAME \"(\" ARGUMENTS \")\"\nNAME: /[a-z]+/\n%ignore \" \"\nARGUMENTS: %json ";

fn dynamic() -> LarkOptions {
    let mut options = LarkOptions::default();
    options.lexer = LexerKind::DynamicComplete;
    options
}

#[test]
fn without_a_lexer_the_rules_decide() {
    assert!(accepts("start: A A\nA: /a+/\n", &dynamic(), "aa"));
    assert!(accepts("start: \"int\" NAME\nNAME: /[a-z]+/\n%ignore \" \"\n", &dynamic(), "intx"));
    let comments = "start: (A | COMMENT)*\nA: /[a-z]/\nCOMMENT: /<.*?>/\n";
    assert!(accepts(comments, &dynamic(), "a<b>c<>"));
    assert!(!accepts(comments, &dynamic(), "<a>>"), "a comment has one end");
}

#[test]
fn json_schemas_are_parts_of_grammars() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    let source = format!("{CALLS}{schema}");
    for text in [r#"f({"n": 1})"#, r#"f ( { "n": 1, "more": [{}] } ) ; g({"n":2})"#, "f({\n  \"n\": 1\n})"] {
        assert!(accepts(&source, &dynamic(), text), "{text}");
    }
    for text in ["f({})", r#"f({"n": "1"})"#, r#"f({"n": 1}"#, "({\"n\": 1})"] {
        assert!(!accepts(&source, &dynamic(), text), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("schemas")).unwrap();
    std::fs::write(folder.path().join("schemas/call.json"), schema).unwrap();
    let source = format!("{CALLS}\"schemas/call.json\"");
    let beside = GrammarSource::lark(source.as_str(), dynamic()).file(folder.path().join("main.lark"));
    let mut within = dynamic();
    within.import_paths = vec![folder.path().to_owned()];
    assert!(reads(&beside, r#"f({"n": 1})"#) && accepts(&source, &within, r#"f({"n": 1})"#));
    let (kind, message) = error(&source, &dynamic());
    assert!(kind == ErrorKind::Grammar && message.contains("schemas/call.json"), "{message}");
}

#[test]
fn grammars_with_schemas_have_limits_and_holes() {
    let source = format!("{CALLS}{{\"enum\": [[1, 2], \"b\"]}}");
    let options = CompileOptions::default();
    let grammar = compiler().compile(&GrammarSource::lark(&source, dynamic()), &options).unwrap();
    let mut matcher = Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(7)).unwrap();
    for byte in *b"f(" {
        matcher.accept_token(TokenId(byte.into())).unwrap();
    }
    let allowed: Vec<u32> = matcher.mask().unwrap().iter().map(|id| id.0).collect();
    assert_eq!(allowed, [u32::from(b'"')], "no array and no space fits");
    let infiller = grammar.infiller(&options).unwrap();
    let parts = vec![Part::Text(b"f([1".to_vec()), Part::Hole(Hole::Exactly(2)), Part::Text(b"])".to_vec())];
    let mut template = Template::new(&infiller, parts).unwrap();
    assert_eq!(template.complete().unwrap().unwrap(), b"f([1,2])");
}

#[test]
fn what_cannot_be_done_is_said() {
    let options = CompileOptions::default();
    let error = compiler().compile(&GrammarSource::builtin("cobol"), &options).err().unwrap();
    assert!(error.kind() == ErrorKind::Grammar && error.to_string().contains("smiles, sql"), "{error}");
    let indentation = Some(Indentation::python());
    let mut lark = LarkOptions::default();
    lark.lexer = LexerKind::Basic;
    lark.indentation = indentation;
    let source = "start: \"if\" _NL _INDENT \"a\" _NL\n_NL: /\\n */\n%declare _INDENT _DEDENT\n";
    let open = compiler().compile(&GrammarSource::lark(source, lark.clone()), &options).unwrap();
    assert!(open.is_lexed());
    // No chart has blocks that a rule leaves open, so a session decides what it can: at the end of a text all
    // blocks end.
    let infiller = open.infiller(&options).unwrap();
    let parts = vec![Part::Text(b"if\n a\n".to_vec())];
    assert!(!Template::new(&infiller, parts).unwrap().is_possible().unwrap());
}

#[test]
fn blocks_of_python_are_filled_in() {
    let options = CompileOptions::default();
    let python = compiler().compile(&GrammarSource::builtin("python"), &options).unwrap();
    let infiller = python.infiller(&options).unwrap();
    let parts = |last: &str| {
        vec![
            Part::Text(b"if x:\n    y\n".to_vec()),
            Part::Hole(Hole::Exactly(3)),
            Part::Text(last.as_bytes().to_vec()),
        ]
    };
    assert!(Template::new(&infiller, parts("  z\n")).unwrap().is_possible().unwrap());
    // A wider line needs one before it that begins a block.
    assert!(!Template::new(&infiller, parts("\n  z\n   w\n")).unwrap().is_possible().unwrap());
}

#[test]
fn every_built_in_grammar_compiles() {
    let compiler = compiler();
    for name in builtin_names() {
        let grammar = compiler.compile(&GrammarSource::builtin(name), &CompileOptions::default()).unwrap();
        assert!(!Matcher::new(&grammar).mask().unwrap().is_empty(), "{name}");
    }
}

/// A grammar of ordinary size in which tokens often cannot be followed by everything that the rules allow. A
/// search for a completion that handles each stack separately goes ever deeper here until it is given up, so
/// that masks fail.
#[test]
fn an_operator_ladder_with_objects_without_separators_has_masks() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lark");
    let source = std::fs::read_to_string(format!("{folder}/settings.lark")).unwrap();
    let text = std::fs::read_to_string(format!("{folder}/settings.txt")).unwrap();
    let letters = b"a0{}[]()=,\n\" .*?:-/+$>i";
    let mut tokens: Vec<Vec<u8>> = letters.iter().map(|&letter| vec![letter]).collect();
    for _ in 0..2 {
        let longer = |token: &Vec<u8>| letters.map(|letter| [token.as_slice(), &[letter]].concat());
        let longer: Vec<Vec<u8>> = tokens.iter().flat_map(longer).collect();
        tokens.extend(longer);
    }
    tokens.sort_unstable();
    tokens.dedup();
    let n_tokens = tokens.len();
    tokens.push(Vec::new());
    let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(n_tokens as u32)]).unwrap());
    // The default lexer. With the basic one, as in Lark, all of the text is free text.
    let source = GrammarSource::lark(&source, LarkOptions::default());
    let grammar = compiler.compile(&source, &CompileOptions::default()).unwrap();
    assert!(Matcher::new(&grammar).accept_bytes(text.as_bytes()).unwrap());
    let mut matcher = Matcher::new(&grammar);
    let (mut n_judged, mut n_allowed) = (0, 0);
    for (position, byte) in text.bytes().enumerate() {
        if position % 11 == 0 {
            let mask = matcher.mask().unwrap();
            assert_eq!(matcher.mask_status(), MaskStatus::Exact, "after {:?}", &text[..position]);
            for token in (position % 101..n_tokens).step_by(101) {
                let token = TokenId(token as u32);
                let is_allowed = matcher.fork().accept_token(token).unwrap();
                assert_eq!(mask.contains(token), is_allowed, "after {:?}", &text[..position]);
                n_judged += 1;
                n_allowed += usize::from(is_allowed);
            }
        }
        assert!(matcher.accept_bytes(&[byte]).unwrap(), "after {:?}", &text[..position]);
    }
    assert!(matcher.is_accepting());
    assert!(n_judged > 1_000 && n_allowed > 50, "{n_allowed} of {n_judged}");
}
