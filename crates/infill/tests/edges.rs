//! The edges of infilling: no hole, only holes, adjacent ones, holes inside of characters and escapes,
//! templates that say why they are impossible, long ones; and the baseline's loop.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_infill::{
    Canvas, CanvasConfig, Hole, InfillLimits, Infiller, MaskStatus, Part, Template, Verdict,
};
use maskwright_lark::{LarkConfig, builtin, parse_lark};
use maskwright_vocabulary::{TokenId, Vocabulary, mask_contains};

/// The tokens, and EOS behind them.
fn vocabulary(tokens: &[&[u8]]) -> Arc<Vocabulary> {
    let eos = tokens.len() as u32;
    let tokens = tokens.iter().map(|token| Some(token.to_vec())).chain([None]).collect();
    Vocabulary::from_tokens(tokens, &[TokenId(eos)], None).unwrap().shared()
}

/// JSON, without a lexer and with one.
fn json(tokens: &[&[u8]]) -> [Infiller; 2] {
    json_within(tokens, InfillLimits::default())
}

fn json_within(tokens: &[&[u8]], limits: InfillLimits) -> [Infiller; 2] {
    let gbnf = r#"
        root ::= value
        value ::= "\"" char* "\"" | "[" (value ("," value)*)? "]" | [0-9]+
        char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-f] [0-9a-f] [0-9a-f] [0-9a-f])
    "#;
    let grammar = maskwright_syntax::parse_gbnf(gbnf, "json", &Fuel::unlimited()).unwrap();
    let lark = builtin("json").unwrap();
    let config = LarkConfig { lexer: lark.lexer, ..LarkConfig::default() };
    let lexed = parse_lark(lark.text, "json", &config, &Fuel::unlimited()).unwrap();
    let vocabulary = vocabulary(tokens);
    [
        Infiller::new(&grammar, vocabulary.clone(), limits.clone(), &Fuel::unlimited()).unwrap(),
        Infiller::lexed(&lexed.lexed, None, vocabulary, limits, &Fuel::unlimited()).unwrap(),
    ]
}

fn text(text: impl AsRef<[u8]>) -> Part {
    Part::Text(text.as_ref().to_vec())
}

fn template(infiller: &Infiller, parts: &[Part]) -> Template {
    Template::new(infiller, parts.to_vec()).unwrap()
}

#[test]
fn no_hole_and_only_holes() {
    for infiller in json(&[b"1", b"[", b"]"]) {
        assert!(template(&infiller, &[text("[1]")]).is_possible().unwrap());
        assert!(!template(&infiller, &[text("[1")]).is_possible().unwrap());
        assert!(template(&infiller, &[Part::Hole(Hole::Any)]).complete().unwrap().is_some());
        let holes = [Part::Hole(Hole::Exactly(1)), Part::Hole(Hole::AtMost(1)), Part::Hole(Hole::Exactly(2))];
        let filled = template(&infiller, &holes).complete().unwrap().unwrap();
        assert!((3..=4).contains(&filled.len()), "each token has one byte: {filled:?}");
        let none = [Part::Hole(Hole::Exactly(0)), Part::Hole(Hole::AtMost(0))];
        assert!(!template(&infiller, &none).is_possible().unwrap(), "the empty text is no value");
    }
}

#[test]
fn inside_of_a_character() {
    // The second byte of é is a token of its own.
    for infiller in json(&[b"\xa9", b"\"", b"a", b"\xc3"]) {
        let parts = [text(b"\"\xc3"), Part::Hole(Hole::Exactly(1)), text(b"\"")];
        let mut mask = [0];
        template(&infiller, &parts).fill_mask(0, &[], &mut mask).unwrap();
        assert_eq!(mask, [0b1], "nothing else goes on within the character");
        let between = [text(b"\"\xc3"), Part::Hole(Hole::Any), text(b"\xa9\"")];
        assert!(template(&infiller, &between).is_possible().unwrap());
    }
}

#[test]
fn inside_of_an_escape() {
    for infiller in json(&[b"u", b"00", b"e9", b"\"", b"\\"]) {
        let parts = [text(r#""\"#), Part::Hole(Hole::Exactly(3)), text("\"")];
        let mut canvas = template(&infiller, &parts);
        let mut mask = [0];
        canvas.fill_mask(0, &[], &mut mask).unwrap();
        let allowed = |mask: &[u32], id| mask_contains(mask, TokenId(id));
        assert!(allowed(&mask, 0) && allowed(&mask, 3) && allowed(&mask, 4));
        assert!(!allowed(&mask, 1) && !allowed(&mask, 2), "no escape begins so");
        canvas.fill_mask(0, &[TokenId(0)], &mut mask).unwrap();
        assert_eq!(mask, [0b110], "four digits");
        assert!(canvas.fix(0, &[TokenId(0), TokenId(1), TokenId(2)]).unwrap());
        assert_eq!(canvas.complete().unwrap().unwrap(), br#""\u00e9""#);
    }
}

#[test]
fn an_impossible_template_says_why() {
    for infiller in json(&[b"1", b"[", b"]"]) {
        let mut broken = template(&infiller, &[text("[1"), Part::Hole(Hole::Any), text(",]")]);
        let why = broken.why_impossible().unwrap().unwrap();
        assert!(why.contains('⟂'), "{why}");
        let mut few = template(&infiller, &[text("[[1"), Part::Hole(Hole::Exactly(1))]);
        assert!(few.why_impossible().unwrap().is_some());
        assert_eq!(template(&infiller, &[text("[1]")]).why_impossible().unwrap(), None);
    }
}

#[test]
fn long_canvases() {
    for infiller in json(&[b"1", b"[", b"]"]) {
        // All of it known but for one position.
        let mut positions = vec![Some(TokenId(0)); 4_096];
        positions[2_000] = None;
        let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
        let mut mask = [0];
        assert_eq!(canvas.fill_mask(2_000, &mut mask, true).unwrap(), MaskStatus::Exact);
        assert_eq!(mask, [0b1], "a digit within a number");
    }
    let mut limits = InfillLimits::default();
    limits.max_positions = 7;
    let grammar = maskwright_grammar::Grammar::from_regex(maskwright_automata::Regex::literal("1").star());
    let infiller = Infiller::new(&grammar, vocabulary(&[b"1"]), limits, &Fuel::unlimited()).unwrap();
    let error = Canvas::new(&infiller, &[None; 8], CanvasConfig::default()).unwrap_err();
    assert!(error.is_limit() && error.to_string().contains('8'), "{error}");
}

#[test]
fn the_work_of_a_call_is_limited() {
    for infiller in json(&[b"1", b"[", b"]"]) {
        let mut limits = infiller.limits().clone();
        limits.work = 2;
        let grammar =
            maskwright_grammar::Grammar::from_regex(maskwright_automata::Regex::literal("1").star());
        let infiller = Infiller::new(&grammar, vocabulary(&[b"1"]), limits, &Fuel::unlimited()).unwrap();
        let mut positions = [None; 64];
        positions[63] = Some(TokenId(0));
        let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
        assert!(canvas.is_possible().unwrap_err().is_limit());
    }
}

/// Sessions whose work ended counted as sessions that refuse.
#[test]
fn what_no_work_is_left_for_is_open() {
    for work in [0, 1, 5, 20, 100, 1_000] {
        let mut limits = InfillLimits::default();
        limits.work = work;
        for infiller in json_within(&[b"1", b"[", b"]"], limits) {
            let known = [1, 1, 0, 2, 2].map(|token| Some(TokenId(token)));
            let mut canvas = Canvas::new(&infiller, &known, CanvasConfig::default()).unwrap();
            assert!(canvas.is_possible().unwrap_or(true), "{work}: [[1]] is a value");
            let mut masked = known;
            masked[2] = None;
            let mut canvas = Canvas::new(&infiller, &masked, CanvasConfig::default()).unwrap();
            let verdicts = canvas.allows(2, &[TokenId(0), TokenId(1), TokenId(2)]).unwrap();
            assert_ne!(verdicts[0], Verdict::No, "{work}");
            assert_ne!(verdicts[1], Verdict::Yes, "{work}");
            for exact in [false, true] {
                let mut mask = [0];
                let status = canvas.fill_mask(2, &mut mask, exact).unwrap();
                assert!(
                    mask == [0b1] || mask == [0] && status == MaskStatus::Bound,
                    "{work} {mask:?} {status:?}"
                );
            }
        }
    }
}

/// A regular text of a thousand tokens has a million facts.
#[test]
fn long_regular_canvases_are_decided() {
    let vocabulary = vocabulary(&[b"a", b"b"]);
    let letters = maskwright_automata::Regex::bytes([b'a', b'b'].into_iter().collect()).star();
    let grammar = maskwright_grammar::Grammar::from_regex(letters);
    let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited()).unwrap();
    let mut positions = vec![None; 1_200];
    positions.push(Some(TokenId(0)));
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
    assert!(canvas.is_possible().unwrap());
}
