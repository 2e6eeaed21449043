//! The readers of the contextual lexer against exhaustive search: random small grammars, with indentation and
//! without.
//!
//! Strict readings are part of the language, and free ones all of it and more. So a mask that the chart of
//! strict readings makes has possible tokens alone, and one of free readings has all of them. Together, as
//! sessions use them, their "yes" and "no" are never wrong. The reference splits a text in all ways and asks
//! which of them win.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-infill --test contextual` runs the full campaign;
//! without the variable 200 cases run, and 60 with indentation.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure is a failed test; what the cases were"
)]

mod common;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, Limits};
use maskwright_grammar::{Layout, Tabs, TerminalId};
use maskwright_infill::{
    Canvas, CanvasConfig, CanvasStatus, Form, InfillLimits, Infiller, LexerForm, MaskStatus, Relation,
    Verdict,
};
use maskwright_lark::{Indentation, LarkConfig, LarkGrammar, LexerKind, builtin, parse_lark};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

use common::lexed::{Judge, Options, Rhs, Subject, cases, cases_or, grammar, regexp, string, vocabulary};
use common::{mask_of, tokens};

const STRICT: LexerForm = LexerForm::ContextualStrict;
const FREE: LexerForm = LexerForm::ContextualFree;

/// A terminal of some number, in sequences, alternatives and repetitions.
fn arb_rule(leaves: Vec<Rhs>) -> impl Strategy<Value = Rhs> {
    let leaf = select(leaves.clone());
    let body = leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..=3).prop_map(Rhs::Seq),
            2 => vec(inner.clone(), 2..=3).prop_map(Rhs::Alt),
            1 => (inner, 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, None)),
        ]
    });
    // A way out, so that few grammars are empty.
    (body, select(leaves), any::<bool>()).prop_map(|(body, way_out, has_way_out)| {
        if has_way_out { Rhs::Alt(vec![body, way_out]) } else { body }
    })
}

fn arb_plain() -> impl Strategy<Value = Subject> {
    let strings = ["a", "b", "ab", "aa", ".", ".."];
    let regexps =
        ["a+", "[ab]+", "b+", "a+?", "a*b", "a(?!b)", r"a+\.a+", "[^.]+", r"\.[ab]*?\.", "(?<!a)b", "a|ab"];
    let terminal = prop_oneof![
        select(strings.to_vec()).prop_map(string),
        (select(regexps.to_vec()), -1..2i32).prop_map(|(source, priority)| regexp(source, priority)),
    ];
    let ignored = select(vec![None, Some(" "), Some(" +"), Some(" a? "), Some(r"(?<=[^a]) +")]);
    let leaves: Vec<Rhs> = (0..4).map(Rhs::Terminal).chain([Rhs::Rule(1), Rhs::Rule(2)]).collect();
    (vec(terminal, 1..4), ignored, vec(arb_rule(leaves), 1..=3)).prop_map(|(terminals, ignored, rules)| {
        Subject {
            grammar: grammar(terminals, &[], ignored.map(|source| regexp(source, 0)), &rules),
            layout: None,
            alphabet: "ab. ",
            n_letters: 5,
        }
    })
}

/// Lines of `a`, names and brackets, and blocks after names.
fn arb_indented() -> impl Strategy<Value = Subject> {
    const NEWLINE: usize = 0;
    let newline = select(vec![r"\n *", r"(\n *)+", r"(\n *|aa[ a]*)+", r"\n *b?", r"\n[\t ]*", r"\n|\n  "]);
    let name = select(vec!["b+", "[ab]+", "[^ \n()]", "b"]);
    let ignored = select(vec![None, Some(" "), Some(" +"), Some(r"\\\n"), Some(r"(?<=[^\n]) +")]);
    let block = |inner| Rhs::Seq(vec![Rhs::Terminal(5), inner, Rhs::Terminal(6)]);
    let some = |inner: Rhs| Rhs::Repeat(Box::new(inner), 1, None);
    let leaves = vec![
        Rhs::Terminal(1),
        Rhs::Terminal(2),
        Rhs::Terminal(NEWLINE),
        Rhs::Seq(vec![Rhs::Terminal(3), Rhs::Rule(1), Rhs::Terminal(4)]),
        Rhs::Seq(vec![Rhs::Terminal(2), Rhs::Terminal(NEWLINE), block(some(Rhs::Rule(1)))]),
        Rhs::Rule(1),
    ];
    let statement = Rhs::Alt(vec![
        Rhs::Seq(vec![Rhs::Terminal(1), Rhs::Terminal(NEWLINE)]),
        Rhs::Seq(vec![Rhs::Terminal(2), Rhs::Terminal(NEWLINE), block(some(Rhs::Rule(1)))]),
    ]);
    let rules = prop_oneof![Just(vec![some(Rhs::Rule(1)), statement]), vec(arb_rule(leaves), 1..=3)];
    (newline, name, ignored, rules).prop_map(|(newline, name, ignored, rules)| {
        let terminals = vec![regexp(newline, 0), string("a"), regexp(name, 0), string("("), string(")")];
        let id = TerminalId::from_index;
        let n_found = terminals.len() + usize::from(ignored.is_some());
        let layout = Layout {
            newline: id(NEWLINE),
            indent: id(n_found),
            dedent: id(n_found + 1),
            open: vec![id(3)],
            close: vec![id(4)],
            tabs: Tabs::Spaces(2),
        };
        let ignored = ignored.map(|source| regexp(source, 0));
        Subject {
            grammar: grammar(terminals, &["IN", "OUT"], ignored, &rules),
            layout: Some(layout),
            alphabet: "ab\n (",
            n_letters: 5,
        }
    })
}

/// A canvas: which positions are known, and which text and which tokens they are of.
type Case = (Vec<(bool, Index)>, Index);

fn arb_case() -> impl Strategy<Value = Case> {
    (vec((prop::bool::weighted(0.4), any::<Index>()), 1..=4), any::<Index>())
}

/// What the cases came to.
#[derive(Debug, Default)]
struct Counts {
    n_judged: Cell<u32>,
    n_possible: Cell<u32>,
    n_questions: Cell<u32>,
    n_open: Cell<u32>,
    /// Tokens that are possible, and those of them that strict readings have.
    n_allowed: Cell<u32>,
    n_strict: Cell<u32>,
    /// Tokens that are not possible, and those of them that free readings have.
    n_refused: Cell<u32>,
    n_free: Cell<u32>,
}

fn add(cell: &Cell<u32>, n: usize) {
    cell.set(cell.get() + n as u32);
}

/// Sessions, and infillers with each of the lists of readers.
fn infillers<const N: usize>(
    subject: &Subject,
    vocabulary: &Arc<Vocabulary>,
    readers: [&[(LexerForm, Relation)]; N],
    (merge_alike, narrow_first): Options,
) -> Option<[Infiller; N]> {
    let fuel = Fuel::unlimited();
    let (grammar, layout) = (&subject.grammar, &subject.layout);
    let compiler = Compiler::new(vocabulary.clone(), Limits::default());
    let sessions = compiler.compile_contextual(grammar.clone(), layout.clone(), &fuel).ok()?;
    let mut limits = InfillLimits::default();
    (limits.merge_alike, limits.narrow_first) = (merge_alike, narrow_first);
    let infiller = |readers: &[(LexerForm, Relation)]| {
        let form = |&(form, relation)| (Form::Lexed(grammar, layout.as_ref(), form), relation);
        let forms: Vec<(Form<'_>, Relation)> = readers.iter().map(form).collect();
        Infiller::of(&sessions, &forms, limits.clone(), &fuel).unwrap()
    };
    Some(readers.map(infiller))
}

fn check(
    subject: &Subject,
    texts: &[String],
    (known, word): &Case,
    options: Options,
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let vocabulary = vocabulary(texts);
    let readers: [&[(LexerForm, Relation)]; 3] = [
        &[(STRICT, Relation::Near), (FREE, Relation::Wider)],
        &[(STRICT, Relation::Same)],
        &[(FREE, Relation::Same)],
    ];
    let Some(infillers) = infillers(subject, &vocabulary, readers, options) else {
        return Err(TestCaseError::reject("the grammar has no text, or too many tokens fit only together"));
    };
    let judge = Judge::contextual(subject);
    let all = judge.fillings(&vocabulary, &vec![None; known.len()], None);
    if all.is_empty() && word.index(4) > 0 {
        return Err(TestCaseError::reject("there is little to see"));
    }
    let word = (!all.is_empty()).then(|| word.get(&all).clone());
    let positions: Vec<Option<TokenId>> = known
        .iter()
        .enumerate()
        .map(|(at, (is_known, index))| {
            // Now and then a token of no text.
            let of_word = word.as_ref().filter(|_| index.index(8) > 0).map(|word| word[at]);
            is_known.then(|| of_word.unwrap_or(TokenId(index.index(vocabulary.n_vocab()) as u32)))
        })
        .collect();
    let fits = |positions: &[Option<TokenId>]| -> Vec<&Vec<TokenId>> {
        let is_like = |text: &&Vec<TokenId>| {
            text.iter().zip(positions).all(|(token, known)| known.is_none_or(|known| known == *token))
        };
        all.iter().filter(is_like).collect()
    };
    let [mut canvas, mut strict, mut free] =
        infillers.map(|infiller| Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap());
    add(&counts.n_judged, 1);
    match canvas.status().unwrap() {
        CanvasStatus::Possible => {
            add(&counts.n_possible, 1);
            prop_assert!(fits(&positions).contains(&&canvas.complete().unwrap().unwrap()));
        }
        CanvasStatus::Impossible => prop_assert!(fits(&positions).is_empty(), "{:?}", fits(&positions)),
        CanvasStatus::Open => {}
    }
    let ids: Vec<TokenId> = tokens(&vocabulary).collect();
    for at in 0..positions.len() {
        let mut open = positions.clone();
        open[at] = None;
        let allowed: BTreeSet<TokenId> = fits(&open).into_iter().map(|text| text[at]).collect();
        add(&counts.n_questions, ids.len());
        for (id, verdict) in ids.iter().zip(canvas.allows(at, &ids).unwrap()) {
            let is_right = match verdict {
                Verdict::Yes => allowed.contains(id),
                Verdict::No => !allowed.contains(id),
                Verdict::Open => {
                    add(&counts.n_open, 1);
                    true
                }
            };
            prop_assert!(is_right, "{:?} of {:?} at {} of {:?}", verdict, id, at, positions);
        }
        let made = |canvas: &mut Canvas| {
            let mut is_exact = false;
            let mask = mask_of(&vocabulary, |mask| {
                is_exact = canvas.fill_mask(at, mask, true).unwrap() == MaskStatus::Exact;
            });
            (ids.iter().copied().filter(|id| mask[id.index()]).collect::<BTreeSet<_>>(), is_exact)
        };
        let (proven, is_exact) = made(&mut canvas);
        prop_assert!(
            proven.is_subset(&allowed) && (!is_exact || proven == allowed),
            "{:?} at {}",
            proven,
            at
        );
        let (of_strict, _) = made(&mut strict);
        prop_assert!(of_strict.is_subset(&allowed), "strict: {:?} at {} of {:?}", of_strict, at, positions);
        let (of_free, is_exact) = made(&mut free);
        prop_assert!(
            !is_exact || allowed.is_subset(&of_free),
            "free: {:?} at {} of {:?}",
            of_free,
            at,
            positions
        );
        add(&counts.n_allowed, allowed.len());
        add(&counts.n_strict, of_strict.len());
        add(&counts.n_refused, ids.len() - allowed.len());
        add(&counts.n_free, of_free.difference(&allowed).count());
    }
    Ok(())
}

/// Of the questions at most one in `open` may be left open.
fn campaign(
    subjects: impl Strategy<Value = Subject>,
    texts: &'static str,
    config: ProptestConfig,
    open: u32,
) {
    let n_cases = config.cases;
    let counts = Counts::default();
    let case = (subjects, vec(texts, 1..6), arb_case(), any::<Options>());
    TestRunner::new(config)
        .run(&case, |(subject, texts, case, options)| check(&subject, &texts, &case, options, &counts))
        .unwrap();
    println!("{counts:?}");
    let Counts { n_judged, n_possible, n_questions, n_open, .. } = &counts;
    assert!(n_judged.get() >= n_cases && 4 * n_possible.get() > n_cases, "{counts:?}");
    assert!(open * n_open.get() <= n_questions.get(), "{counts:?}");
}

#[test]
fn without_indentation() {
    campaign(arb_plain(), "[ab. ]{1,4}", cases(), 50);
}

#[test]
fn with_indentation() {
    // Sessions look long for the shortest ends of some.
    campaign(arb_indented(), "[ab]?\n {0,2}[ab]?|[ab\n ()]{1,3}", cases_or(60), 50);
}

const PROGRAM: &str = "def sum(values, limit=10):\n    total = 0\n    for value in values:\n        if value > limit:\n            \
                       return [total, value]\n        total += value * 2\n    return total\n\nprint(sum([1, 2, 3]))\n";

/// The tokens of a text: words with a blank before them, signs, ends of lines with blanks.
fn words(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for character in text.chars() {
        let goes_on = |last: &&mut String| {
            let end = last.chars().last().unwrap_or(' ');
            character.is_alphanumeric() && (end.is_alphanumeric() || *last == " ")
                || character == ' ' && last.starts_with('\n')
        };
        match tokens.last_mut().filter(goes_on) {
            Some(last) => last.push(character),
            None => tokens.push(character.to_string()),
        }
    }
    tokens
}

/// Canvases of a Python program, each with a third of its tokens masked: questions about tokens, and how many
/// are left open, by what reads the grammar.
#[test]
#[ignore = "a measurement: cargo test --release -p maskwright-infill --test contextual -- --ignored --nocapture"]
fn open_questions_about_python() {
    let python = builtin("python").unwrap();
    let indentation = Some(Indentation::python());
    let config = LarkConfig { lexer: LexerKind::Contextual, indentation, ..LarkConfig::default() };
    let LarkGrammar { lexed, indentation, .. } =
        parse_lark(python.text, "python", &config, &Fuel::unlimited()).unwrap();
    let text = words(PROGRAM);
    let others =
        ["else", " in", " not", "\"", "'''", "#", "{", "}", "1.", ".5", "x", " is", "\n", "\n  ", "class"];
    let texts: BTreeSet<String> = text.iter().cloned().chain(others.map(str::to_owned)).collect();
    let texts: Vec<String> = texts.into_iter().collect();
    let id = |token: &String| TokenId(texts.binary_search(token).unwrap() as u32);
    let ids: Vec<TokenId> = text.iter().map(id).collect();
    let vocabulary = vocabulary(&texts);
    let subject = Subject { grammar: lexed, layout: indentation, alphabet: "", n_letters: 0 };
    let basic = (LexerForm::Basic, Relation::Near);
    let (strict, free) = ((STRICT, Relation::Near), (FREE, Relation::Wider));
    let readers: [(&str, &[(LexerForm, Relation)]); 4] = [
        ("basic", &[basic]),
        ("strict, free", &[strict, free]),
        ("basic, free", &[basic, free]),
        ("free", &[free]),
    ];
    for (name, forms) in readers {
        let [infiller] = infillers(&subject, &vocabulary, [forms], (true, true)).unwrap();
        let begin = Instant::now();
        let mut random = 1u64;
        let mut draw = |n: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % n
        };
        let (mut questions, mut canvases) = ([0; 3], [0; 3]);
        for _ in 0..20 {
            let positions: Vec<Option<TokenId>> = ids.iter().map(|&id| (draw(3) > 0).then_some(id)).collect();
            let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
            canvases[canvas.status().unwrap() as usize] += 1;
            for _ in 0..60 {
                let (at, token) = (draw(positions.len()), TokenId(draw(texts.len()) as u32));
                if positions[at].is_none() {
                    questions[canvas.allows(at, &[token]).unwrap()[0] as usize] += 1;
                }
            }
        }
        println!(
            "{name}: canvases {canvases:?}, questions {questions:?} (yes, no, open), {:?}",
            begin.elapsed()
        );
    }
}
