//! Regular expressions of ECMA-262 (section 22.2.1, Unicode mode or not), groups nested a few deep.
//!
//! Brackets of unbounded depth are not regular, and a back reference to a name needs the name: what is here
//! accepts only expressions that are valid, not all that are.

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, digit, hex, lit, one, seq, times};

const MAX_NESTING: usize = 5;

pub(super) static REGEX: LazyLock<Regex> = LazyLock::new(|| {
    let syntax = Regex::char_class(&[
        ('\0', '\t'),
        ('\u{b}', '\u{c}'),
        ('\u{e}', '#'),
        ('%', '\''),
        (',', '-'),
        ('/', '>'),
        ('@', 'Z'),
        (']', ']'),
        ('_', 'z'),
        ('}', '\u{2027}'),
        ('\u{202a}', char::MAX),
    ]);
    // In Unicode mode `]` and `}` must be escaped; outside it they stand for themselves, as in most engines.
    let plain = syntax;
    let code = any([seq([lit("x"), times(2, hex())]), seq([lit("u"), times(4, hex())])]);
    let property = seq([one("pP"), lit("{"), one("A-Za-z0-9_=").plus(), lit("}")]);
    let escape = |more: &str| {
        let simple = one(&format!("dDsSwWfnrtv0^$\\.*+?()[]{{}}|/{more}"));
        let control = seq([lit("c"), one("A-Za-z")]);
        seq([lit("\\"), any([simple, control, code.clone(), property.clone()])])
    };
    let single = any([
        Regex::char_class(&[('\0', ','), ('.', '['), ('^', char::MAX)]),
        seq([lit("\\"), one("dDsSwWfnrtvb^$\\.*+?()[]{}|/-")]),
    ]);
    // Ranges only where their order is plain: digits, small and capital letters from a lower end.
    let ranges = ["0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map(|letters| {
        Regex::union((0..letters.len()).map(|i| {
            seq([
                lit(&letters[i..=i]),
                lit("-"),
                one(&format!("{}-{}", &letters[i..=i], &letters[letters.len() - 1..])),
            ])
        }))
    });
    let atoms = any([Regex::union(ranges), single.clone()]);
    let class = seq([
        lit("["),
        lit("^").optional(),
        lit("-").optional(),
        atoms.star(),
        lit("-").optional(),
        lit("]"),
    ]);
    let count = digit().repeat(1, Some(4));
    let braces = any([seq([lit("{"), count.clone(), lit(",").optional(), lit("}")]), ordered_bounds()]);
    let quantifier = seq([any([one("*+?"), braces]), lit("?").optional()]);
    let leaf = any([plain, lit("."), escape("bB-"), class]);
    let assertion = any([one("^$"), seq([lit("\\"), one("bB")])]);
    let mut disjunction = Regex::epsilon();
    for _ in 0..MAX_NESTING {
        let head = any([lit("(?:"), lit("("), lit("(?="), lit("(?!"), lit("(?<="), lit("(?<!")]);
        let group = seq([head, disjunction.clone(), lit(")")]);
        let term = any([assertion.clone(), seq([any([leaf.clone(), group]), quantifier.clone().optional()])]);
        let alternative = term.star();
        disjunction = seq([alternative.clone(), seq([lit("|"), alternative]).star()]);
    }
    // One named group, with a reference behind it: names must not repeat.
    let named = seq([lit("(?<name>"), disjunction.clone(), lit(")"), lit("\\k<name>").optional()]);
    any([disjunction.clone(), seq([disjunction.clone(), named, disjunction])])
});

/// `{m,n}` with m ≤ n, where that is seen by the number of digits or by the first digit.
fn ordered_bounds() -> Regex {
    let lengths = (1..4).flat_map(|n| {
        let longer = seq([one("1-9"), digit().repeat(n, Some(3))]);
        let exact = |n: u32| if n == 1 { digit() } else { seq([one("1-9"), times(n - 1, digit())]) };
        let same = (0..9u32).map(move |first| {
            let low = seq([lit(&first.to_string()), times(n - 1, digit())]);
            seq([low, lit(","), one(&format!("{}-9", first + 1)), times(n - 1, digit())])
        });
        let same: Vec<Regex> = same.collect();
        [seq([exact(n), lit(","), longer]), Regex::union(same)]
    });
    seq([lit("{"), Regex::union(lengths), lit("}")])
}
