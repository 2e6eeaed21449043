//! Rows that are derived from others (counted units, languages without a few words) give the masks that a
//! walk of the whole trie gives.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use maskwright_automata::{Fuel, Regex};
use maskwright_engine::{Compiler, Limits, Matcher, Options};
use maskwright_grammar::{Grammar, GrammarBuilder};
use maskwright_oracle::Oracle;
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;

/// A character of a JSON-like string over a tiny alphabet: plain, escaped, or two bytes long.
fn unit() -> Regex {
    Regex::union([
        Regex::bytes(b"ab".iter().copied().collect()),
        Regex::words([&b"\\n"[..], b"\\\""]),
        Regex::char_class(&[('à', 'ï')]),
    ])
}

fn quoted(body: Regex) -> Regex {
    Regex::concat([Regex::byte(b'"'), body, Regex::byte(b'"')])
}

/// A list of counted strings, of names with counted strings, and of any strings but some with a digit.
fn grammar(min: u32, max: Option<u32>, names: &[String], excluded: &[String]) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let words = |names: &[String]| {
        Regex::words(names.iter().map(|name| format!("\"{name}\"").into_bytes().into_boxed_slice()))
    };
    let counted = builder.terminal(quoted(unit().repeat(min, max)));
    let other = builder.terminal(quoted(unit().star()).difference(&words(excluded)));
    let known = builder.terminal(words(names));
    let (colon, comma) = (builder.literal(":"), builder.literal(","));
    let digit = builder.literal("1");
    let (first, second) = (builder.seq(&[known, colon, counted]), builder.seq(&[other, colon, digit]));
    let item = builder.alt(&[first, second, counted]);
    let more = builder.seq(&[comma, item]);
    let rest = builder.repeat(more, 0, None);
    let body = builder.seq(&[item, rest]);
    builder.define(start, body);
    builder.finish(start).unwrap()
}

fn arb_token() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just("a"), 4 => Just("b"), 2 => Just("\\n"), 2 => Just("\\\""), 2 => Just("é"), 4 => Just("\""),
        2 => Just(":"), 2 => Just(","), 1 => Just("1"), 1 => Just("\\"), 1 => Just("\":\""), 1 => Just("\":1,\"")
    ];
    (proptest::collection::vec(piece, 1..8), 0usize..3).prop_map(|(pieces, n_cut)| {
        let mut bytes = pieces.concat().into_bytes();
        // Some tokens end or begin in the middle of a character.
        match n_cut {
            1 if bytes.len() > 1 => bytes.truncate(bytes.len() - 1),
            2 if bytes.len() > 1 => drop(bytes.remove(0)),
            _ => {}
        }
        bytes
    })
}

fn arb_vocabulary() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(arb_token(), 10..80).prop_map(|mut tokens| {
        tokens.extend([b"a", b"b", b"\\", b"n", b"\"", b":", b",", b"1"].map(|byte| byte.to_vec()));
        tokens.extend([0xc3u8, 0xa9].map(|byte| vec![byte]));
        tokens
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: maskwright_oracle::cases(1_500), ..ProptestConfig::default() })]

    #[test]
    fn derived_rows_agree_with_the_walk(
        tokens in arb_vocabulary(),
        min in 0u32..8,
        spread in proptest::option::of(4u32..7),
        names in proptest::collection::vec("[ab]{1,4}", 0..3),
        excluded in proptest::collection::vec("[ab]{1,4}", 1..5),
        choices in proptest::collection::vec(any::<u16>(), 0..14),
    ) {
        let n_tokens = tokens.len() as u32;
        let tokens = tokens.into_iter().map(Some).chain([None]).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[TokenId(n_tokens)], None).unwrap().shared();
        let max = spread.map(|spread| min + spread);
        let grammar = grammar(min, max, &names, &excluded);
        let oracle = Oracle::new(&grammar);
        let on = Options { light_nodes: 0, ..Options::default() };
        let off = Options { use_rows: false, use_memo: false, ..on };
        let plain = Options { use_differences: false, use_counts: false, ..on };
        let mut matchers = [on, Options::default(), off, plain].map(|options| {
            let compiler = Compiler::with_options(vocabulary.clone(), Limits::default(), options);
            Matcher::new(&compiler.compile(grammar.clone(), &Fuel::unlimited()).unwrap())
        });
        let mut text = Vec::new();
        for choice in choices.into_iter().map(Some).chain([None]) {
            let masks = matchers.each_mut().map(|matcher| matcher.mask().unwrap());
            prop_assert_eq!(&masks[0], &masks[2], "after {:?}", text);
            prop_assert_eq!(&masks[1], &masks[2], "after {:?}", text);
            prop_assert_eq!(&masks[3], &masks[2], "after {:?}", text);
            if text.len() < 12 {
                let expected = oracle.mask(&vocabulary, &text).unwrap();
                let expected: Vec<TokenId> =
                    (0..=n_tokens).map(TokenId).filter(|token| expected[token.index()]).collect();
                prop_assert_eq!(masks[0].iter().collect::<Vec<_>>(), expected, "after {:?}", text);
            }
            let allowed: Vec<TokenId> = masks[0].iter().filter(|token| !vocabulary.is_eos(*token)).collect();
            let Some(choice) = choice.filter(|_| !allowed.is_empty()) else { break };
            let token = allowed[choice as usize % allowed.len()];
            for matcher in &mut matchers {
                prop_assert!(matcher.accept_token(token).unwrap());
            }
            text.extend_from_slice(vocabulary.token_bytes(token).unwrap());
        }
    }
}

/// The masks along all texts of up to three tokens that are in the language.
fn masks(compiler: &Compiler, grammar: &Grammar) -> Vec<Vec<TokenId>> {
    let compiled = compiler.compile(grammar.clone(), &Fuel::unlimited()).unwrap();
    let mut masks = Vec::new();
    let mut matchers = vec![Matcher::new(&compiled)];
    for _ in 0..3 {
        let mut next = Vec::new();
        for matcher in &mut matchers {
            let mask: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
            for &token in mask.iter().take(6) {
                let mut further = matcher.fork();
                assert!(further.accept_token(token).unwrap());
                next.extend((!further.is_terminated()).then_some(further));
            }
            masks.push(mask);
        }
        matchers = next;
    }
    masks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(maskwright_oracle::cases(40)))]

    #[test]
    fn saved_rows_are_the_rows(
        tokens in proptest::collection::vec(arb_token(), 8..60),
        (min, more) in (0u32..4, 0u32..40),
        cut in 0usize..100_000,
    ) {
        let mut entries: Vec<Option<Vec<u8>>> = tokens.into_iter().map(Some).collect();
        // No text begins without this one, and then there are no rows.
        entries.push(Some(b"\"".to_vec()));
        let eos = entries.len() as u32;
        entries.push(Some(b"</s>".to_vec()));
        let vocabulary = Vocabulary::from_tokens(entries.clone(), &[TokenId(eos)], None).unwrap().shared();
        let options = Options { light_nodes: 0, ..Options::default() };
        let grammar = grammar(min, Some(min + more), &["ab".to_owned()], &["b".to_owned()]);
        let compiler = || Compiler::with_options(vocabulary.clone(), Limits::default(), options);
        let first = compiler();
        let expected = masks(&first, &grammar);
        let saved = first.save_rows();

        let second = compiler();
        let n_rows = second.load_rows(&saved, &Fuel::unlimited()).unwrap();
        prop_assert!(n_rows > 0);
        prop_assert_eq!(&masks(&second, &grammar), &expected);
        // All of them were taken and are saved again.
        prop_assert_eq!(second.save_rows().len(), saved.len());

        // Damage anywhere is found, and so is another vocabulary.
        let mut damaged = saved.clone();
        let place = cut % saved.len();
        damaged[place] ^= 1 << (cut % 8);
        prop_assert!(compiler().load_rows(&damaged, &Fuel::unlimited()).is_err());
        prop_assert!(compiler().load_rows(&saved[..place], &Fuel::unlimited()).is_err());
        entries[0] = Some(b"another".to_vec());
        let other = Vocabulary::from_tokens(entries, &[TokenId(eos)], None).unwrap().shared();
        let refused = Compiler::new(other, Limits::default()).load_rows(&saved, &Fuel::unlimited());
        prop_assert!(refused.unwrap_err().to_string().contains("another vocabulary"));
    }
}
