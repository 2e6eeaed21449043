//! Canvases and templates of random small grammars with indentation against exhaustive search.
//!
//! The reference makes the tokens of indentation as Lark's `PythonIndenter` does, from the list of all tokens
//! of a text.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-infill --test indentation` runs the full
//! campaign; without the variable 200 cases of each kind run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

mod common;

use maskwright_grammar::{Layout, Tabs, TerminalId};
use maskwright_infill::{Canvas, CanvasConfig, CanvasStatus, Hole, Part, Template};
use maskwright_vocabulary::TokenId;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use common::lexed::{
    Judge, Options, Rhs, Subject, TemplateCase, arb_canvas, arb_parts, arb_template, cases, check_canvas,
    check_template, check_ways, grammar, infiller, regexp, string, vocabulary,
};

/// The terminals of the grammars here, by number.
const NEWLINE: usize = 0;
const A: usize = 1;
const B: usize = 2;
const OPEN: usize = 3;
const CLOSE: usize = 4;
const INDENT: usize = 5;
const DEDENT: usize = 6;

/// A grammar with indentation, whose lines end in `newline`.
fn indented(newline: &str, ignored: Option<&str>, rules: &[Rhs]) -> Subject {
    let terminals = vec![regexp(newline, 0), string("a"), regexp("b+", 0), string("("), string(")")];
    let ignored = ignored.map(|source| regexp(source, 0));
    let n_found = terminals.len() + usize::from(ignored.is_some());
    let grammar = grammar(terminals, &["IN", "OUT"], ignored, rules);
    let id = TerminalId::from_index;
    let layout = Layout {
        newline: id(NEWLINE),
        indent: id(n_found),
        dedent: id(n_found + 1),
        open: vec![id(OPEN)],
        close: vec![id(CLOSE)],
        tabs: Tabs::Spaces(2),
    };
    Subject { grammar, layout: Some(layout), alphabet: "ab\n (", n_letters: 5 }
}

fn block(inner: Rhs) -> Rhs {
    Rhs::Seq(vec![Rhs::Terminal(INDENT), inner, Rhs::Terminal(DEDENT)])
}

fn in_brackets(inner: Rhs) -> Rhs {
    Rhs::Seq(vec![Rhs::Terminal(OPEN), inner, Rhs::Terminal(CLOSE)])
}

/// Statements as Python has them: `a` and a line's end, and `b` with a block; brackets in lines.
fn statements() -> Vec<Rhs> {
    use Rhs::{Alt, Repeat, Rule, Seq, Terminal};
    let star = |rhs| Repeat(Box::new(rhs), 0, None);
    vec![
        star(Alt(vec![Terminal(NEWLINE), Rule(1)])),
        Alt(vec![
            Seq(vec![Terminal(A), star(in_brackets(star(Terminal(A)))), Terminal(NEWLINE)]),
            Seq(vec![Terminal(B), Terminal(NEWLINE), block(Seq(vec![Rule(1), star(Rule(1))]))]),
        ]),
    ]
}

fn arb_rule() -> impl Strategy<Value = Rhs> {
    let leaf = prop_oneof![
        5 => select(vec![NEWLINE, A, B]).prop_map(Rhs::Terminal),
        1 => (0usize..3).prop_map(Rhs::Rule),
    ];
    let body = leaf.prop_recursive(4, 10, 3, |inner| {
        let lines = |inner: Rhs| Rhs::Seq(vec![Rhs::Terminal(NEWLINE), block(inner)]);
        prop_oneof![
            3 => vec(inner.clone(), 2..=3).prop_map(Rhs::Seq),
            1 => vec(inner.clone(), 2..=3).prop_map(Rhs::Alt),
            1 => (inner.clone(), 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, None)),
            3 => inner.clone().prop_map(lines),
            1 => inner.clone().prop_map(block),
            1 => inner.prop_map(in_brackets),
        ]
    });
    (body, select(vec![A, B, NEWLINE]), any::<bool>()).prop_map(|(body, terminal, has_way_out)| {
        if has_way_out { Rhs::Alt(vec![body, Rhs::Terminal(terminal)]) } else { body }
    })
}

/// What lines end in, where they can have any width and where they cannot.
const STRETCHABLE: [&str; 6] =
    [r"\n *", r"(\n *)+", r"\n?[ ]*\n[ ]*", r"(\n *|aa[ a]*)+", r"\n *b?", r"\n[\t ]*"];
const OTHERS: [&str; 2] = [r"\n|\n  ", r"\n(  )*"];

fn arb_grammar(newlines: &[&'static str]) -> impl Strategy<Value = Subject> + use<> {
    let ignored = select(vec![
        None,
        Some(" "),
        Some(" +"),
        Some(r"\\\n"),
        // Not at the beginning of a line; what goes on as another token would; what another ends with.
        Some(r"(?<=[^\n]) +"),
        Some(" a?"),
        Some(r"(?<=[^\n]) [ b]*| +"),
    ]);
    let rules = prop_oneof![Just(statements()), vec(arb_rule(), 1..=3)];
    (select(newlines.to_vec()), ignored, rules)
        .prop_map(|(newline, ignored, rules)| indented(newline, ignored, &rules))
}

fn arb_tokens() -> impl Strategy<Value = Vec<String>> {
    let token = prop_oneof![
        2 => "[ab\n ()]{1,4}",
        2 => "[ab]?\n {0,2}[ab]?",
        1 => " {1,2}[ab]?",
        1 => select(vec!["a", "b", "\n", "\t", "(\n", "a)", "aa  "]).prop_map(str::to_owned),
    ];
    vec(token, 1..7)
}

/// The template without holes for any text, in which not all widths can be written.
fn counted(mut case: TemplateCase) -> TemplateCase {
    for (_, hole) in &mut case.parts {
        if *hole == Some(Hole::Any) {
            *hole = Some(Hole::AtMost(3));
        }
    }
    case
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn canvases_equal_exhaustive_search(subject in arb_grammar(&[STRETCHABLE.as_slice(), &OTHERS].concat()), texts in arb_tokens(), case in arb_canvas(), options in any::<Options>()) {
        check_canvas(&subject, &vocabulary(&texts), &case, options)?;
    }

    #[test]
    fn templates_equal_the_definition(subject in arb_grammar(&STRETCHABLE), texts in arb_tokens(), case in arb_template(), options in any::<Options>()) {
        check_template(&subject, &vocabulary(&texts), &case, options)?;
    }

    #[test]
    fn counted_templates_equal_the_definition(subject in arb_grammar(&OTHERS), texts in arb_tokens(), case in arb_template(), options in any::<Options>()) {
        check_template(&subject, &vocabulary(&texts), &counted(case), options)?;
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn masks_are_the_same_either_way(
        subject in arb_grammar(&STRETCHABLE),
        texts in arb_tokens(),
        parts in arb_parts("[ab\n ()]{1,3}"),
        choices in vec(any::<Index>(), 2),
    ) {
        check_ways(&subject, &vocabulary(&texts), &parts, &choices)?;
    }
}

/// A width is written by several tokens, and what it must be is known from a line far before it.
#[test]
fn widths_are_exact() {
    let subject = indented(r"(\n *)+", None, &statements());
    let vocabulary = vocabulary(&["b\n", "a", "\n", " ", "  ", "   ", "a\n"].map(str::to_owned));
    let infiller = infiller(&subject, &vocabulary, (true, true)).unwrap();
    let [line_b, a, newline, one, two, three, line_a] = [0, 1, 2, 3, 4, 5, 6].map(TokenId);
    // A block of width 3, and in it one of width 5; then a line as wide as the first.
    let known = |last: [Option<TokenId>; 2]| {
        let before = [line_b, three, line_b, three, two, a, newline].map(Some);
        let positions: Vec<Option<TokenId>> = before.into_iter().chain(last).chain([Some(line_a)]).collect();
        Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap()
    };
    let mut canvas = known([Some(two), None]);
    let mut mask = [0];
    canvas.fill_mask(8, &mut mask, true).unwrap();
    let allowed = [one, three, newline].map(|token| 1 << token.0).iter().sum::<u32>();
    assert_eq!(mask[0], allowed, "three columns or five, or the line is empty");
    assert!(known([Some(two), None]).set(8, three).unwrap());
    assert!(!known([Some(two), None]).set(8, two).unwrap(), "no block is four wide");
}

/// Blocks in any text, wider than any line that is known; and lines that go on where any text ends.
#[test]
fn any_text_has_lines_of_any_width() {
    let subject = indented(r"(\n *)+", None, &statements());
    let infiller = infiller(&subject, &vocabulary(&["a".to_owned()]), (true, true)).unwrap();
    let judge = Judge::new(&subject);
    let complete = |parts: &[Option<&str>]| {
        let part = |part: &Option<&str>| {
            part.map_or(Part::Hole(Hole::Any), |text| Part::Text(text.as_bytes().to_vec()))
        };
        let filled = Template::new(&infiller, parts.iter().map(part).collect()).unwrap().complete().unwrap();
        assert!(filled.as_ref().is_none_or(|text| judge.is_word(text)), "{filled:?}");
        filled
    };
    // Blocks in blocks, and the line of each may be as wide as one likes.
    let parts = [Some("b\n"), None, Some("b\n   "), None, Some("b\n"), None, Some(" b\n"), None, Some("a\n")];
    assert!(complete(&parts).is_some());
    assert!(complete(&[Some("b\n"), None, Some("  b\n"), None, Some("    a\na\n")]).is_some());
    assert!(complete(&[Some("b\n  a\n"), None, Some("b\n a\n")]).is_some());
    assert_eq!(complete(&[Some("b\n  a\n a"), None, Some("\n")]), None, "no block is one wide");
}

#[test]
fn any_text_needs_lines_of_any_width() {
    let subject = indented(r"\n(  )*", None, &statements());
    let infiller = infiller(&subject, &vocabulary(&["a".to_owned()]), (true, true)).unwrap();
    let mut template = Template::new(&infiller, vec![Part::Hole(Hole::Any)]).unwrap();
    let message = template.is_possible().unwrap_err().to_string();
    assert!(message.contains("number of tokens"), "{message}");
}

/// Blanks of a comment count where that is part of a line's end, so known lines with comments have known
/// widths.
#[test]
fn comments_make_lines_wide() {
    let subject = indented(r"\n *(#[^#\n]*#)?", None, &statements());
    let infiller = infiller(&subject, &vocabulary(&["a".to_owned()]), (true, true)).unwrap();
    let judge = Judge::new(&subject);
    for (known, is_block) in [("b\n# p q #a\n# p q #a\n", true), ("b\n# p q #a\n# p q r #a\n", false)] {
        assert_eq!(judge.is_word(known.as_bytes()), is_block);
        let parts = vec![Part::Text(known.as_bytes().to_vec()), Part::Hole(Hole::Any)];
        assert_eq!(Template::new(&infiller, parts).unwrap().is_possible().unwrap(), is_block, "{known:?}");
    }
}

/// A tab that nothing can be put behind is no line that can be wider.
#[test]
fn tabs_are_not_stretched() {
    let subject = indented(r"\n(\t| *)", None, &statements());
    let infiller = infiller(&subject, &vocabulary(&["a".to_owned()]), (true, true)).unwrap();
    let mut template = Template::new(&infiller, vec![Part::Hole(Hole::Any)]).unwrap();
    assert!(template.is_possible().unwrap_err().to_string().contains("number of tokens"));
}

/// Where no reader can be had, a session decides what it can.
#[test]
fn what_is_not_in_pairs_is_left_to_sessions() {
    let rules = [
        Rhs::Seq(vec![Rhs::Terminal(B), Rhs::Rule(1), Rhs::Terminal(DEDENT)]),
        Rhs::Seq(vec![Rhs::Terminal(NEWLINE), Rhs::Terminal(INDENT), Rhs::Terminal(A)]),
    ];
    let subject = indented(r"\n *", None, &rules);
    let tokens = ["a", "b", "\n", "\n "].map(str::to_owned);
    let infiller = infiller(&subject, &vocabulary(&tokens), (true, true)).unwrap();
    let judge = Judge::new(&subject);
    let text = |ids: &[TokenId]| ids.iter().flat_map(|id| tokens[id.index()].bytes()).collect::<Vec<u8>>();
    let mut n_possible = 0;
    for positions in [
        vec![Some(1), None, None],
        vec![Some(1), Some(3), Some(0)],
        vec![Some(1), Some(2), Some(0)],
        vec![Some(0), None],
    ] {
        let positions: Vec<Option<TokenId>> = positions.into_iter().map(|id| id.map(TokenId)).collect();
        let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
        match canvas.status().unwrap() {
            CanvasStatus::Possible => {
                n_possible += 1;
                let filled: Vec<TokenId> =
                    canvas.complete().unwrap().unwrap().into_iter().take_while(|id| id.index() < 4).collect();
                assert!(judge.is_word(&text(&filled)), "{filled:?}");
            }
            CanvasStatus::Impossible => {
                let known: Vec<TokenId> = positions.iter().copied().map_while(|id| id).collect();
                assert!(known.len() < positions.len() || !judge.is_word(&text(&known)), "{known:?}");
            }
            CanvasStatus::Open => {}
        }
    }
    assert!(n_possible >= 2, "{n_possible}");
}

/// What the parser never gets suspends nothing.
#[test]
fn ignored_brackets() {
    let mut subject = indented(r"(\n *)+", None, &statements());
    subject.grammar.ignored = vec![TerminalId::from_index(OPEN)];
    let infiller = infiller(&subject, &vocabulary(&["a".to_owned()]), (true, true)).unwrap();
    let texts = ["(b\n", "b\n", "a\n"].map(|text| Part::Text(text.as_bytes().to_vec()));
    let [first, second, third] = texts;
    let any = || Part::Hole(Hole::Any);
    let mut template = Template::new(&infiller, vec![first, any(), second, any(), third]).unwrap();
    let filled = template.complete().unwrap().unwrap();
    assert!(Judge::new(&subject).is_word(&filled), "{}", filled.escape_ascii());
}

/// A long line of blanks is one hypothesis, however wide.
#[test]
fn lines_of_thousands_of_blanks() {
    let subject = indented(r"\n *", None, &statements());
    let infiller = infiller(&subject, &vocabulary(&["a".to_owned()]), (true, true)).unwrap();
    let blanks = " ".repeat(5_000);
    let text = format!("b\n{blanks}a\n{blanks}a\n");
    let parts = |text: &str| vec![Part::Text(text.as_bytes().to_vec())];
    assert!(Template::new(&infiller, parts(&text)).unwrap().is_possible().unwrap());
    assert!(!Template::new(&infiller, parts(&format!("{text}{blanks} a\n"))).unwrap().is_possible().unwrap());
    let beside_any = [parts(&text), vec![Part::Hole(Hole::Any)]].concat();
    assert!(
        Template::new(&infiller, beside_any)
            .unwrap()
            .is_possible()
            .unwrap_err()
            .to_string()
            .contains("columns")
    );
}
