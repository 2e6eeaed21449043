//! Canvases of every kind of grammar against exhaustive search, with the sessions of the grammar as
//! reference.
//!
//! Sessions are tested against their own references; here all fillings of small canvases are tried with them.
//! "Yes" and "no" are never wrong, masks have nothing that is not possible, exact ones have all that is, and
//! filling at random always ends in the language.
//!
//! `PROPTEST_CASES=2000 cargo test --release -p maskwright --test canvas_kinds` runs the full campaign;
//! without the variable 300 cases of each kind run.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure is a failed test; what the cases were"
)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use maskwright::infill::{CanvasConfig, CanvasStatus, Verdict};
use maskwright::json_schema::{SchemaConfig, Whitespace};
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{
    Canvas, CompileOptions, CompiledGrammar, Compiler, GrammarSource, MaskStatus, Matcher, TokenId,
    Tokenizer, mask_contains,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// The most places of the search that a case may visit.
const MAX_VISITS: usize = 60_000;

/// Grammars of one kind, and the tokens of a vocabulary that they share; the last one ends a text.
struct Kind {
    sources: Vec<GrammarSource>,
    tokens: &'static [&'static str],
}

fn schemas(schemas: &[&str], whitespace: Whitespace) -> Vec<GrammarSource> {
    let mut config = SchemaConfig::default();
    config.whitespace = whitespace;
    schemas.iter().map(|schema| GrammarSource::json_schema(*schema, config)).collect()
}

const JSON_TOKENS: &[&str] = &[
    "[", "]", "{", "}", "\"a\"", "\"", "a", "b\"", ",", "{\"a\":", "\"b\":1", ",\"a\":1", "1", " ", "\n",
    "</s>",
];

/// Arrays whose items differ, objects whose keys do, and white space of each setting.
fn watched() -> Kind {
    let unique = [
        r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, 11]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": ["integer", "string"]}}"#,
        r#"{"type": "object", "additionalProperties": {"const": 1}}"#,
        r#"{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": {"const": 1}}"#,
    ];
    let sources = [Whitespace::Flexible, Whitespace::Any, Whitespace::Compact];
    Kind {
        sources: sources.into_iter().flat_map(|setting| schemas(&unique, setting)).collect(),
        tokens: JSON_TOKENS,
    }
}

/// Objects without a watch, with each setting of white space.
fn spaced() -> Kind {
    let plain = [
        r#"{"type": "array", "items": {"type": "integer"}, "maxItems": 3}"#,
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"const": 1}}, "additionalProperties": false}"#,
        r#"{"type": "string", "maxLength": 2}"#,
    ];
    let settings = [Whitespace::Flexible, Whitespace::Any, Whitespace::Compact, Whitespace::AtMost(1)];
    Kind {
        sources: settings.into_iter().flat_map(|setting| schemas(&plain, setting)).collect(),
        tokens: JSON_TOKENS,
    }
}

/// Grammars whose texts the contextual lexer and the basic one read differently.
fn contextual() -> Kind {
    let grammars = [
        "start: \"a\" NAME\nNAME: /[ab]+/\n%ignore \" \"",
        "start: (NAME | \"b\" \"(\" start \")\")+\nNAME: /[ab]+/\n%ignore \" \"",
        "start: type \"a\"\ntype: \"b\" (\"(\" type \")\")?\nX: \"))\"\n%ignore \" \"",
        "start: \"(\" REST \")\" | NAME\nREST: /[^)]+/\nNAME: /a+/",
        "start: item (\",\" item)*\nitem: \"a\" | \"a\" \"b\" | WORD\nWORD: /b+/\n%ignore / +/",
    ];
    let sources = grammars.map(|grammar| GrammarSource::lark(grammar, LarkOptions::default())).to_vec();
    Kind { sources, tokens: &["a", "b", "ab", "(", ")", "))", " ", "a ", "b(", ",", "bb", "</s>"] }
}

/// Blocks, with each lexer.
fn indented() -> Kind {
    let grammar = "start: (_NL | line)*\nline: \"a\" _NL | \"b:\" _NL _INDENT line+ _DEDENT\n\
                   _NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT\n%ignore \" \"";
    let source = |lexer| {
        let mut options = LarkOptions::default();
        (options.lexer, options.indentation) = (lexer, Some(Indentation::python()));
        GrammarSource::lark(grammar, options)
    };
    let sources = vec![source(LexerKind::Contextual), source(LexerKind::Basic)];
    Kind { sources, tokens: &["a", "b:", "\n", " ", "\n ", "a\n", "b:\n", "  a", "</s>"] }
}

fn compiled(kind: &Kind) -> (Vec<Arc<CompiledGrammar>>, usize) {
    let tokens: Vec<Vec<u8>> = kind.tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let n_vocab = tokens.len();
    let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(n_vocab as u32 - 1)]).unwrap());
    let compile = |source| compiler.compile(source, &CompileOptions::default()).unwrap();
    (kind.sources.iter().map(compile).collect(), n_vocab)
}

/// All ways to fill the positions, each with all its tokens; `None` if there are too many places to look at.
fn fillings(
    grammar: &Arc<CompiledGrammar>,
    positions: &[Option<TokenId>],
    n_vocab: usize,
) -> Option<BTreeSet<Vec<TokenId>>> {
    let mut found = BTreeSet::new();
    let mut n_visits = 0;
    let mut stack = vec![(Matcher::new(grammar), Vec::new())];
    while let Some((matcher, text)) = stack.pop() {
        n_visits += 1;
        if n_visits > MAX_VISITS {
            return None;
        }
        if text.len() == positions.len() {
            if matcher.is_accepting() {
                found.insert(text);
            }
            continue;
        }
        for id in (0..n_vocab as u32).map(TokenId) {
            if positions[text.len()].is_none_or(|known| known == id) {
                let mut next = matcher.clone();
                // After the end of a text, it ends again.
                let is_read =
                    next.accept_token(id).unwrap() || next.is_terminated() && id.index() == n_vocab - 1;
                if is_read {
                    stack.push((next, [&text[..], &[id]].concat()));
                }
            }
        }
    }
    Some(found)
}

/// What the cases of a kind came to.
#[derive(Debug, Default)]
struct Counts {
    n_possible: Cell<u32>,
    n_impossible: Cell<u32>,
    n_open: Cell<u32>,
    n_questions: Cell<u32>,
    n_open_questions: Cell<u32>,
}

fn count(cell: &Cell<u32>) {
    cell.set(cell.get() + 1);
}

/// What is known of a canvas: by position, whether it is, and which filling and which token it is of.
#[derive(Clone, Debug)]
struct Case {
    grammar: Index,
    known: Vec<(bool, Index)>,
    filling: Index,
    order: Vec<Index>,
    drawn: Vec<Index>,
}

fn arb_case() -> impl Strategy<Value = Case> {
    (
        any::<Index>(),
        vec((prop::bool::weighted(0.4), any::<Index>()), 1..=4),
        any::<Index>(),
        vec(any::<Index>(), 4),
        vec(any::<Index>(), 12),
    )
        .prop_map(|(grammar, known, filling, order, drawn)| Case {
            grammar,
            known,
            filling,
            order,
            drawn,
        })
}

fn check(
    grammars: &(Vec<Arc<CompiledGrammar>>, usize),
    case: &Case,
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let (grammars, n_vocab) = grammars;
    let grammar = case.grammar.get(grammars);
    let all = fillings(grammar, &vec![None; case.known.len()], *n_vocab);
    let Some(all) = all else { return Err(TestCaseError::reject("too many texts")) };
    let all: Vec<Vec<TokenId>> = all.into_iter().collect();
    let one = (!all.is_empty()).then(|| case.filling.get(&all).clone());
    let mut positions: Vec<Option<TokenId>> = Vec::new();
    for (at, (is_known, index)) in case.known.iter().enumerate() {
        // Now and then a token of no text.
        let of_text = one.as_ref().filter(|_| index.index(8) > 0).map(|text| text[at]);
        positions.push(is_known.then(|| of_text.unwrap_or(TokenId(index.index(*n_vocab) as u32))));
    }
    let infiller = grammar.infiller(&CompileOptions::default()).unwrap();
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
    let fits = |positions: &[Option<TokenId>]| -> Vec<&Vec<TokenId>> {
        let is_like = |text: &&Vec<TokenId>| {
            text.iter().zip(positions).all(|(token, known)| known.is_none_or(|known| known == *token))
        };
        all.iter().filter(is_like).collect()
    };
    match canvas.status().unwrap() {
        CanvasStatus::Possible => {
            count(&counts.n_possible);
            prop_assert!(!fits(&positions).is_empty());
        }
        CanvasStatus::Impossible => {
            count(&counts.n_impossible);
            prop_assert!(fits(&positions).is_empty(), "{:?}", fits(&positions));
        }
        CanvasStatus::Open => count(&counts.n_open),
    }
    let ids: Vec<TokenId> = (0..*n_vocab as u32).map(TokenId).collect();
    for at in 0..positions.len() {
        let mut open = positions.clone();
        open[at] = None;
        let allowed: BTreeSet<TokenId> = fits(&open).into_iter().map(|text| text[at]).collect();
        for (id, verdict) in ids.iter().zip(canvas.allows(at, &ids).unwrap()) {
            count(&counts.n_questions);
            let is_right = match verdict {
                Verdict::Yes => allowed.contains(id),
                Verdict::No => !allowed.contains(id),
                Verdict::Open => {
                    count(&counts.n_open_questions);
                    true
                }
            };
            prop_assert!(is_right, "{:?} of {:?} at {} of {:?}", verdict, id, at, positions);
        }
        for exact in [false, true] {
            let mut mask = [u32::MAX];
            let status = canvas.fill_mask(at, &mut mask, exact).unwrap();
            let of_mask: BTreeSet<TokenId> =
                ids.iter().copied().filter(|&id| mask_contains(&mask, id)).collect();
            prop_assert!(of_mask.is_subset(&allowed), "{:?} at {} of {:?}", of_mask, at, positions);
            prop_assert!(status == MaskStatus::Bound || of_mask == allowed, "at {} of {:?}", at, positions);
        }
    }
    if canvas.status().unwrap() != CanvasStatus::Possible {
        return Ok(());
    }
    let mut drawn = case.drawn.iter();
    for order in &case.order {
        let masked: Vec<usize> = (0..positions.len()).filter(|&at| positions[at].is_none()).collect();
        if masked.is_empty() {
            break;
        }
        let at = *order.get(&masked);
        let mut tokens = drawn.by_ref().take(3).map(|index| *index.get(&ids));
        let is_set = tokens.any(|token| {
            positions[at] = Some(token);
            canvas.set(at, token).unwrap()
        });
        if !is_set {
            let token = canvas.complete().unwrap().unwrap()[at];
            positions[at] = Some(token);
            prop_assert!(canvas.set(at, token).unwrap(), "the witness's own token");
        }
        prop_assert_eq!(canvas.positions(), &positions[..]);
    }
    let filled = canvas.complete().unwrap().unwrap();
    prop_assert!(fits(&positions).contains(&&filled), "{:?}", filled);
    Ok(())
}

/// Runs the cases of one kind, of whose canvases and questions at most one in `open` may be left open.
fn campaign(kind: &Kind, open: u32) {
    let grammars = compiled(kind);
    let cases = maskwright_oracle::cases(300);
    let config = ProptestConfig { cases, max_global_rejects: cases * 20, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let counts = Counts::default();
    runner.run(&arb_case(), |case| check(&grammars, &case, &counts)).unwrap();
    let Counts { n_possible, n_impossible, n_open, n_questions, n_open_questions } = &counts;
    assert!(3 * n_possible.get() > cases && n_impossible.get() > 0, "{counts:?}");
    assert!(open * n_open.get() <= cases && open * n_open_questions.get() <= n_questions.get(), "{counts:?}");
    println!("{counts:?}");
}

#[test]
fn what_sessions_remember() {
    campaign(&watched(), 100);
}

#[test]
fn white_space() {
    campaign(&spaced(), 1_000);
}

#[test]
fn the_contextual_lexer() {
    campaign(&contextual(), 100);
}

#[test]
fn indentation() {
    campaign(&indented(), 1_000);
}
