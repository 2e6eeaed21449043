//! A small fixed set of grammars and texts, read once each: what `cargo xtask bench instructions` counts the
//! instructions of.
//!
//! `instructions [TOKENIZER]` prints a line `CASE PHASE` for each measured part, in their order; each lies
//! between two calls of [`boundary`]. Without a tokenizer the vocabulary is [made up](made_up): the same
//! everywhere. Every case has a compiler of its own, so that none finds what another has left; texts are cut
//! into the longest tokens, so that they are the same whoever cuts them. Masks are checked: each has the
//! token that comes next.

#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

use maskwright::json_schema::SchemaConfig;
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer,
    TokenizerOptions, mask_words,
};

/// What a grammar is written in.
enum Source {
    Schema(String),
    Lark(&'static str),
    Builtin(&'static str),
}

struct Case {
    name: &'static str,
    source: Source,
    text: String,
    /// How many tokens more than the least the text may have.
    slack: Option<usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let tokenizer = match std::env::args().nth(1) {
        Some(file) => Tokenizer::from_file(file.as_ref(), &TokenizerOptions::default())?,
        None => made_up()?,
    };
    let ids = ids(&tokenizer);
    for case in cases() {
        let tokens = cut(case.text.as_bytes(), &ids)?;
        let compiler = Compiler::new(&tokenizer);
        let mut words = vec![0; mask_words(tokenizer.vocabulary().n_vocab())];
        let limit = case.slack.map(|slack| tokens.len() + 1 + slack);
        boundary();
        let grammar = compile_and_first_mask(&compiler, &case.source, &mut words)?;
        boundary();
        println!("{} compile", case.name);
        for phase in ["cold", "warm"] {
            let mut matcher = Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(limit))?;
            boundary();
            read_text(&mut matcher, &tokens, &mut words, case.name)?;
            boundary();
            println!("{} {phase}", case.name);
        }
    }
    Ok(())
}

/// A vocabulary like those of models, of 32,000 tokens: all bytes, numbers, punctuation as JSON and programs
/// have it, runs of blanks, and words of syllables, with and without a blank before them.
fn made_up() -> Result<Tokenizer, maskwright::Error> {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut add = |token: String| {
        if token.len() > 1 {
            tokens.push(token.into_bytes());
        }
    };
    (10..1_000).for_each(|number: u32| add(number.to_string()));
    (2..32).for_each(|n| add(" ".repeat(n)));
    (0..16).for_each(|n| add(format!("\n{}", " ".repeat(n))));
    let marks = ["{", "}", "[", "]", "(", ")", "\"", ":", ",", ";", "=", "+", "-", ".", "/", "\\", "_", " "];
    for first in marks {
        for second in marks {
            add(format!("{first}{second}"));
            ["\"", "}", "]", ")", " ", "\n"].iter().for_each(|third| add(format!("{first}{second}{third}")));
        }
    }
    let syllables: Vec<String> = ["", "b", "d", "f", "l", "m", "n", "p", "r", "s", "t", "th"]
        .iter()
        .flat_map(|before| ["a", "e", "i", "o", "u"].map(|vowel| format!("{before}{vowel}")))
        .flat_map(|open| ["", "n", "r", "s", "t"].map(|after| format!("{open}{after}")))
        .collect();
    for first in &syllables {
        [first.clone(), format!(" {first}"), first.to_uppercase()].into_iter().for_each(&mut add);
        for second in syllables.iter().step_by(7) {
            [format!("{first}{second}"), format!(" {first}{second}")].into_iter().for_each(&mut add);
        }
    }
    tokens.sort_unstable();
    tokens.dedup();
    let end = TokenId(tokens.len() as u32);
    tokens.push(b"</s>".to_vec());
    Tokenizer::from_tokens(tokens, &[end])
}

/// Where a measured part begins and where it ends.
#[inline(never)]
fn boundary() {
    black_box(());
}

/// From source to first mask.
fn compile_and_first_mask(
    compiler: &Compiler,
    source: &Source,
    words: &mut [u32],
) -> Result<Arc<CompiledGrammar>, Box<dyn Error>> {
    let options = CompileOptions::default();
    let grammar = match source {
        Source::Schema(schema) => {
            compiler.compile(&GrammarSource::json_schema(schema, SchemaConfig::default()), &options)?
        }
        Source::Lark(source) => {
            let mut lark = LarkOptions::default();
            lark.lexer = LexerKind::Basic;
            compiler.compile(&GrammarSource::lark(*source, lark), &options)?
        }
        Source::Builtin(name) => compiler.compile(&GrammarSource::builtin(*name), &options)?,
    };
    Matcher::new(&grammar).fill_mask(words)?;
    Ok(grammar)
}

/// All masks and commits of a text.
fn read_text(
    matcher: &mut Matcher,
    tokens: &[TokenId],
    words: &mut [u32],
    name: &str,
) -> Result<(), Box<dyn Error>> {
    for (at, &TokenId(token)) in tokens.iter().enumerate() {
        matcher.fill_mask(words)?;
        if words[token as usize / 32] >> (token % 32) & 1 == 0 {
            return Err(format!("{name}: token {at} of the text is not in its mask").into());
        }
        matcher.accept_token(TokenId(token))?;
    }
    matcher.fill_mask(words)?;
    match matcher.is_accepting() {
        true => Ok(()),
        false => Err(format!("{name}: the text is not complete").into()),
    }
}

/// Tokens by their bytes, the least id of those that have the same.
fn ids(tokenizer: &Tokenizer) -> HashMap<Vec<u8>, TokenId> {
    let vocabulary = tokenizer.vocabulary();
    let ids = (0..vocabulary.n_vocab() as u32).rev().map(TokenId);
    ids.filter_map(|id| Some((vocabulary.token_bytes(id)?.to_vec(), id))).collect()
}

/// The longest token first.
fn cut(mut text: &[u8], ids: &HashMap<Vec<u8>, TokenId>) -> Result<Vec<TokenId>, Box<dyn Error>> {
    const LONGEST: usize = 64;
    let mut tokens = Vec::new();
    while !text.is_empty() {
        let lengths = (1..=text.len().min(LONGEST)).rev();
        let found = lengths.filter_map(|length| Some((length, *ids.get(&text[..length])?))).next();
        let (length, id) = found.ok_or("the vocabulary has no token for a byte of the text")?;
        tokens.push(id);
        text = &text[length..];
    }
    Ok(tokens)
}

fn cases() -> Vec<Case> {
    let case = |name, source, text: &str| Case { name, source, text: text.to_owned(), slack: None };
    let tools: Vec<String> = (0..50)
        .map(|n| {
            format!(
                r#"{{"type": "object", "properties": {{"tool": {{"const": "tool_{n}"}}, "arguments": {{"type": "object", "properties": {{"path": {{"type": "string"}}, "count_{n}": {{"type": "integer", "minimum": 0}}}}, "required": ["path"], "additionalProperties": false}}}}, "required": ["tool", "arguments"], "additionalProperties": false}}"#
            )
        })
        .collect();
    let words: Vec<String> =
        (0..1_000u32).map(|n| format!("\"{:x}-item\"", n.wrapping_mul(2_654_435_761))).collect();
    let chosen = words[777].clone();
    let call = r#"{"tool": "tool_37", "arguments": {"path": "/usr/share/doc/readme.txt", "count_37": 12}}"#;
    vec![
        case(
            "record",
            Source::Schema(
                r#"{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "role": {"enum": ["user", "admin", "guest"]}, "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["name", "age"], "additionalProperties": false}"#.to_owned(),
            ),
            r#"{"name": "Ada Lovelace", "age": 36, "role": "admin", "tags": ["analyst", "poet", "first of her kind"]}"#,
        ),
        case(
            "map",
            Source::Schema(r#"{"type": "object", "additionalProperties": {"type": "number"}}"#.to_owned()),
            r#"{"temperature": 21.5, "humidity": 0.43, "pressure": 1013.25, "tempo": 120, "temper": 1e-7}"#,
        ),
        case("tools", Source::Schema(format!(r#"{{"anyOf": [{}]}}"#, tools.join(", "))), call),
        case("enum", Source::Schema(format!(r#"{{"enum": [{}]}}"#, words.join(", "))), &chosen),
        case(
            "strings",
            Source::Schema(
                r#"{"type": "object", "properties": {"mail": {"format": "email"}, "at": {"format": "date-time"}, "id": {"pattern": "^[a-z_][a-z0-9_]{2,30}$"}, "note": {"type": "string", "maxLength": 2000}}, "required": ["mail", "at", "id", "note"], "additionalProperties": false}"#.replace(r#"{"format""#, r#"{"type": "string", "format""#).replace(r#"{"pattern""#, r#"{"type": "string", "pattern""#),
            ),
            r#"{"mail": "ada.lovelace@example.org", "at": "1843-07-10T12:30:00Z", "id": "note_g", "note": "The engine weaves algebraic patterns just as the loom weaves flowers and leaves."}"#,
        ),
        case(
            "distinct",
            Source::Schema(r#"{"type": "array", "items": {"type": "string"}, "uniqueItems": true}"#.to_owned()),
            r#"["north", "north-east", "east", "south-east", "south", "south-west", "west"]"#,
        ),
        case(
            "json",
            Source::Builtin("json"),
            r#"{"nested": [[1, [2, [3, {"deep": null}]]], true], "text": "caf\u00e9 \ud83d\ude00", "empty": {}}"#,
        ),
        case(
            "lark",
            Source::Lark(
                "start: (assign | call)+\nassign: NAME \"=\" sum \";\"\ncall: NAME \"(\" [sum (\",\" sum)*] \")\" \";\"\nsum: product ((\"+\" | \"-\") product)*\nproduct: atom ((\"*\" | \"/\") atom)*\natom: NUMBER | NAME | STRING | \"(\" sum \")\"\nNAME: /[a-z_][a-z0-9_]*/\nNUMBER: /[0-9]+(\\.[0-9]+)?/\nSTRING: /\"[^\"\\n]*\"/\n%ignore /[ \\n]+/\n",
            ),
            "total = (price + 2.5) * count - rebate;\nprint(\"the total is\", total, 3 * (4 + rest));\n",
        ),
        case(
            "python",
            Source::Builtin("python"),
            "def mean(values):\n    if not values:\n        return 0.0\n    total = 0\n    for value in values:\n        total += value\n    return total / len(values)\n",
        ),
        Case {
            slack: Some(5),
            ..case(
                "limit",
                Source::Schema(r#"{"type": "object", "properties": {"name": {"type": "string"}, "items": {"type": "array", "items": {"type": "integer"}}}, "required": ["name", "items"]}"#.to_owned()),
                r#"{"name": "within a limit", "items": [1, 22, 333, 4444], "more": {"left": true}}"#,
            )
        },
    ]
}
