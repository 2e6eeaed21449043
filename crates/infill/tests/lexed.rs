//! Canvases and templates of random small lexed grammars and vocabularies against exhaustive search.
//!
//! The reference splits a text into tokens as Lark's basic lexer does, terminal by terminal, and parses them.
//! A canvas is decided by trying all tokens at all masked positions; a template from both sides, as in
//! `exhaustive`.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-infill --test lexed` runs the full campaign;
//! without the variable 200 cases of each kind run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

mod common;

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::LexedGrammar;
use maskwright_infill::{Canvas, CanvasConfig, Hole, Infiller, Part, Template};
use maskwright_lexing::LarkTerminal;
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use common::lexed::{
    Options, Rhs, Subject, arb_canvas, arb_template, cases, check_canvas, check_template, grammar, infiller,
    regexp, string, vocabulary,
};
use common::{exact, mask_of, tokens};

/// A grammar without indentation.
fn plain(grammar: LexedGrammar<LarkTerminal>) -> Subject {
    Subject { grammar, layout: None, alphabet: "ab. ", n_letters: 5 }
}

fn arb_grammar() -> impl Strategy<Value = Subject> {
    let strings = ["a", "b", "ab", "ba", "aa", "aab", "."];
    let regexps = [
        "a+",
        "[ab]+",
        "b+",
        "a+?",
        "a*b",
        "aa?",
        "a|ab",
        "ab|a",
        "a(?!b)",
        "b(?=a|$)",
        r"a+\.a+",
        "[a.]+b",
        r"\.[ab]*?\.",
        "(?<!a)b",
        "a{2,3}",
    ];
    let terminal = prop_oneof![
        select(strings.to_vec()).prop_map(string),
        (select(regexps.to_vec()), -1..2i32).prop_map(|(source, priority)| regexp(source, priority)),
    ];
    let ignored = select(vec![
        None,
        Some(" "),
        Some(" +"),
        Some(" a? "),
        Some(r"\.\."),
        Some(r"(?<=[^a]) +"),
        Some("  ?a?"),
    ]);
    let ignored = ignored.prop_map(|source| source.map(|source| regexp(source, 0)));
    (vec(terminal, 1..4), ignored, vec(arb_rule(), 1..=3))
        .prop_map(|(terminals, ignored, rules)| plain(grammar(terminals, &[], ignored, &rules)))
}

fn arb_rule() -> impl Strategy<Value = Rhs> {
    let leaf = prop_oneof![4 => (0usize..4).prop_map(Rhs::Terminal), 1 => (0usize..3).prop_map(Rhs::Rule)];
    let body = leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..=3).prop_map(Rhs::Seq),
            2 => vec(inner.clone(), 2..=3).prop_map(Rhs::Alt),
            1 => (inner.clone(), 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, None)),
            1 => (inner, 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, Some(2))),
        ]
    });
    // A way out, so that few grammars are empty.
    (body, 0usize..4, any::<bool>()).prop_map(|(body, terminal, has_way_out)| {
        if has_way_out { Rhs::Alt(vec![body, Rhs::Terminal(terminal)]) } else { body }
    })
}

fn arb_tokens() -> impl Strategy<Value = Vec<String>> {
    vec("[ab. ]{1,4}", 1..6)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn canvases_equal_exhaustive_search(grammar in arb_grammar(), texts in arb_tokens(), case in arb_canvas(), options in any::<Options>()) {
        check_canvas(&grammar, &vocabulary(&texts), &case, options)?;
    }

    #[test]
    fn templates_equal_the_definition(grammar in arb_grammar(), texts in arb_tokens(), case in arb_template(), options in any::<Options>()) {
        check_template(&grammar, &vocabulary(&texts), &case, options)?;
    }
}

/// Tokens that make a word only where the lexer sees them apart.
#[test]
fn adjacency_is_part_of_the_language() {
    let two = [Rhs::Seq(vec![Rhs::Terminal(0), Rhs::Terminal(1)])];
    let named = plain(grammar(vec![string("ab"), regexp("[ab]+", 0)], &[], Some(regexp(" ", 0)), &two));
    let vocabulary = vocabulary(&["ab".to_owned(), "a".to_owned(), " ".to_owned()]);
    let infiller = infiller(&named, &vocabulary, (true, true)).unwrap();
    let canvas = |positions: &[Option<u32>]| {
        let positions: Vec<Option<TokenId>> = positions.iter().map(|id| id.map(TokenId)).collect();
        Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap().complete().unwrap()
    };
    assert_eq!(canvas(&[Some(0), Some(1)]), None, "`aba` is one name");
    let ids = |ids: [u32; 3]| Some(ids.map(TokenId).to_vec());
    assert_eq!(canvas(&[Some(0), None, Some(1)]), ids([0, 2, 1]), "the keyword, a blank, a name");
    let parts = vec![Part::Text(b"a".to_vec()), Part::Hole(Hole::Any), Part::Text(b"b".to_vec())];
    let text = Template::new(&infiller, parts).unwrap().complete().unwrap().unwrap();
    assert!(text.starts_with(b"ab "), "the keyword is begun by the first piece: {}", text.escape_ascii());
}

/// Within any text boundaries lead to each other, so what lies ahead of one is learned of another, whichever
/// was made first.
#[test]
fn what_lies_ahead_goes_round_in_any_text() {
    let three = [Rhs::Seq(vec![Rhs::Terminal(0), Rhs::Terminal(0), Rhs::Terminal(0)])];
    let grammar = plain(grammar(vec![regexp("a+", 0)], &[], Some(regexp(" +", 0)), &three));
    for options in [(false, false), (true, true)] {
        let infiller = infiller(&grammar, &vocabulary(&["a".to_owned(), " ".to_owned()]), options).unwrap();
        let complete = |parts: Vec<Part>| Template::new(&infiller, parts).unwrap().complete().unwrap();
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        let filled = complete(vec![Part::Hole(Hole::Any), text("a"), text(" "), text("a")]);
        let is_word =
            |text: &Vec<u8>| text.split(|&byte| byte == b' ').filter(|name| !name.is_empty()).count() == 3;
        assert!(filled.as_ref().is_some_and(is_word), "{filled:?}");
        assert_eq!(complete(vec![text("a a a"), Part::Hole(Hole::Any), text(" a")]), None);
    }
}

/// Within any text edges lead back to boundaries that were looked at before, and more is found to be used
/// there.
#[test]
fn what_is_used_goes_round_in_any_text() {
    let (rule, terminal) = (Rhs::Rule, Rhs::Terminal);
    let rules = [
        Rhs::Alt(vec![rule(1), Rhs::Seq(vec![terminal(0), rule(1), terminal(1)])]),
        Rhs::Seq(vec![terminal(2), terminal(3), rule(2), rule(3)]),
        terminal(4),
        terminal(5),
    ];
    let terminals = ["(", "x", "g", "a", "c", "d"].map(string).to_vec();
    let grammar = plain(grammar(terminals, &[], None, &rules));
    let vocabulary = vocabulary(&["g".to_owned(), "(g".to_owned()]);
    let infiller = infiller(&grammar, &vocabulary, (false, false)).unwrap();
    let mut template = Template::new(&infiller, vec![Part::Hole(Hole::Any)]).unwrap();
    let mut mask = vec![0; 1];
    template.fill_mask(0, &[], &mut mask).unwrap();
    assert_eq!(mask, [0b11], "`gacd` and `(gacdx` are words");
}

/// Behind any text, calls that begin in it are over in an order that their numbers do not tell.
#[test]
fn calls_of_any_text_end_in_any_order() {
    let (rule, terminal) = (Rhs::Rule, Rhs::Terminal);
    // Rules, terminals, the token that is asked about, and what stands behind it.
    let later = vec![
        Rhs::Seq(vec![terminal(0), rule(1), terminal(4)]),
        Rhs::Seq(vec![terminal(1), rule(2)]),
        Rhs::Seq(vec![terminal(2), terminal(3)]),
    ];
    let of_later = vec![regexp("x+", 0), string("="), string("1"), string(";"), string(".")];
    let alike = |first: usize| {
        let mut ways =
            vec![Rhs::Seq(vec![rule(2), terminal(3)]), rule(1), Rhs::Seq(vec![rule(1), terminal(4)])];
        ways.rotate_left(first);
        vec![Rhs::Alt(ways), Rhs::Seq(vec![terminal(2), rule(2)]), Rhs::Seq(vec![terminal(0), terminal(1)])]
    };
    let of_alike = || ["c", "d", "a", "w", "v"].map(string).to_vec();
    let mut cases = vec![(later, of_later, ";", ".")];
    cases.extend((0..3).map(|first| (alike(first), of_alike(), "d", "")));
    for (rules, terminals, token, behind) in cases {
        let grammar = plain(grammar(terminals, &[], None, &rules));
        let vocabulary = vocabulary(&[token.to_owned()]);
        let infiller = infiller(&grammar, &vocabulary, (false, false)).unwrap();
        let text = Part::Text(behind.as_bytes().to_vec());
        let parts = vec![Part::Hole(Hole::Any), Part::Hole(Hole::Exactly(1)), text];
        let mut template = Template::new(&infiller, parts).unwrap();
        let mut mask = vec![0; 1];
        template.fill_mask(1, &[], &mut mask).unwrap();
        assert_eq!(mask, [1], "{token} ends a call in {:?}", grammar.grammar.rules);
    }
}

/// No chart reads terminals that nothing produces. Sessions still read texts without them.
#[test]
fn declared_terminals_are_left_to_sessions() {
    let grammar = grammar(vec![regexp("a", 0)], &["_INDENT"], None, &[Rhs::Terminal(0)]);
    let vocabulary = vocabulary(&["a".to_owned()]);
    let infiller =
        Infiller::lexed(&grammar, None, vocabulary, Default::default(), &Fuel::unlimited()).unwrap();
    let mut canvas = Canvas::new(&infiller, &[None, None], CanvasConfig::default()).unwrap();
    assert_eq!(canvas.complete().unwrap(), Some(vec![TokenId(0), TokenId(1)]));
}

/// A vocabulary of all printable characters, some words and some tokens of several terminals.
fn code_vocabulary() -> Arc<Vocabulary> {
    let mut texts: Vec<String> = (b' '..=b'~').map(|byte| char::from(byte).to_string()).collect();
    let words =
        ["\n", "int", " int", " x", "();", ") {", " return", ";\n", "}\n", "/*", "*/", " =", " +", "1"];
    texts.extend(words.map(str::to_owned));
    vocabulary(&texts)
}

/// The tokens of a text, each the longest that fits.
fn longest_tokens(vocabulary: &Vocabulary, mut text: &str) -> Vec<TokenId> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let fits = |token: &TokenId| {
            vocabulary.token_bytes(*token).is_some_and(|bytes| text.as_bytes().starts_with(bytes))
        };
        let length = |token: &TokenId| vocabulary.token_bytes(*token).map_or(0, <[u8]>::len);
        let token = tokens(vocabulary).filter(fits).max_by_key(length).unwrap();
        text = &text[length(&token)..];
        all.push(token);
    }
    all
}

fn cpp() -> Subject {
    let known = maskwright_lark::builtin("cpp").unwrap();
    let config = maskwright_lark::LarkConfig { lexer: known.lexer, ..maskwright_lark::LarkConfig::default() };
    plain(maskwright_lark::parse_lark(known.text, "cpp", &config, &Fuel::unlimited()).unwrap().lexed)
}

/// Canvases made of a program are possible, and its tokens are in every mask.
#[test]
fn canvases_of_a_program() {
    let vocabulary = code_vocabulary();
    let infiller = infiller(&cpp(), &vocabulary, (true, true)).unwrap();
    let program = longest_tokens(&vocabulary, "int f(int x) {\n int y = x + 1;\n return y;\n}\n");
    for period in [2, 3, 5] {
        let masked = |at: usize| !at.is_multiple_of(period);
        let positions: Vec<Option<TokenId>> =
            program.iter().enumerate().map(|(at, &token)| (!masked(at)).then_some(token)).collect();
        let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
        assert!(canvas.is_possible().unwrap(), "every {period}th known");
        let filled = canvas.complete().unwrap().unwrap();
        let all: Vec<Option<TokenId>> = filled.iter().copied().map(Some).collect();
        assert!(Canvas::new(&infiller, &all, CanvasConfig::default()).unwrap().is_possible().unwrap());
        for at in (0..program.len()).filter(|&at| masked(at)).step_by(3) {
            let mask = mask_of(&vocabulary, |mask| exact(canvas.fill_mask(at, mask, true)));
            assert!(mask[program[at].index()], "position {at} with every {period}th known");
            assert!(canvas.set(at, program[at]).unwrap());
        }
    }
}

/// What is known can be wrong however much is masked around it.
#[test]
fn a_broken_canvas_is_impossible() {
    let vocabulary = code_vocabulary();
    let infiller = infiller(&cpp(), &vocabulary, (true, true)).unwrap();
    let canvas = |texts: &[Option<&str>]| {
        let positions: Vec<Option<TokenId>> = texts
            .iter()
            .flat_map(|text| {
                text.map_or(vec![None], |text| {
                    longest_tokens(&vocabulary, text).into_iter().map(Some).collect()
                })
            })
            .collect();
        Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap().is_possible().unwrap()
    };
    assert!(canvas(&[Some("int f() { return ("), None, None, Some(") + 1; }\n")]));
    assert!(!canvas(&[Some("int f() { return ) "), None, None, Some("; }\n")]));
    assert!(!canvas(&[Some("int f() { return return x"), None, None, None, Some("; }\n")]));
}

/// As many positions as a model may have.
#[test]
fn canvases_of_thousands_of_positions() {
    let vocabulary = code_vocabulary();
    let infiller = infiller(&cpp(), &vocabulary, (true, true)).unwrap();
    let mut positions = vec![None; 4096];
    let last = longest_tokens(&vocabulary, "}")[0];
    positions[4095] = Some(last);
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
    assert!(canvas.is_possible().unwrap());
    assert_eq!(canvas.complete().unwrap().map(|filled| (filled.len(), filled[4095])), Some((4096, last)));
}
