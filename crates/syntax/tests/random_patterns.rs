//! Small random patterns full of assertions, against independent engines of both dialects.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

mod common;

use common::{Random, matches};
use maskwright_automata::Fuel;
use maskwright_lexing::{Flags, find_prefix, parse_python};
use maskwright_syntax::regex::{Dialect, parse, parse_search};

/// Enough for small patterns; the naive matcher takes long on what needs more.
const FUEL: u64 = 1 << 16;

/// A random pattern of about `size` parts over `leaves`.
fn pattern(random: &mut Random, size: usize, leaves: &[&str], groups: &[&str]) -> String {
    if size <= 1 {
        return leaves[random.below(leaves.len())].to_owned();
    }
    let left = 1 + random.below(size - 1);
    let open = groups[random.below(groups.len())];
    match random.below(6) {
        0..=2 => {
            let first = pattern(random, left, leaves, groups);
            first + &pattern(random, size - left, leaves, groups)
        }
        3 => {
            let first = pattern(random, left, leaves, groups);
            format!("(?:{first}|{})", pattern(random, size - left, leaves, groups))
        }
        4 => {
            let inner = pattern(random, size - 1, leaves, groups);
            let quantifier = ["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"][random.below(7)];
            format!("(?:{inner}){quantifier}")
        }
        _ => format!("{open}{})", pattern(random, size - 1, leaves, groups)),
    }
}

/// All texts of up to 3 characters over an alphabet that every assertion tells apart, and some longer ones.
fn texts(random: &mut Random) -> Vec<String> {
    let letters = ["a", "b", "-", "\n", "é"];
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..3 {
        let to = texts.len();
        for idx in from..to {
            texts.extend(letters.map(|letter| texts[idx].clone() + letter));
        }
        from = to;
    }
    for _ in 0..60 {
        let length = 4 + random.below(4);
        texts.push((0..length).map(|_| letters[random.below(letters.len())]).collect());
    }
    texts
}

/// Whether a pattern is found in a text, if the engine can tell.
type Engine = dyn Fn(&str) -> Option<bool>;

/// Compares the languages of `n` patterns with what `engine` finds; gives how many were taken.
fn compare(
    dialect: Dialect,
    n: u64,
    leaves: &[&str],
    groups: &[&str],
    engine: impl Fn(&str) -> Option<Box<Engine>>,
) -> usize {
    let mut n_taken = 0;
    for seed in 0..n {
        let mut random = Random::new(seed);
        let size = 1 + random.below(9);
        let pattern = pattern(&mut random, size, leaves, groups);
        let Ok(whole) = parse(&pattern, dialect, &Fuel::new(FUEL)) else { continue };
        if whole.size() > 1_000 {
            continue;
        }
        let found = parse_search(&pattern, dialect, &Fuel::new(FUEL));
        let engines = (engine(&format!("^(?:{pattern})$")), engine(&pattern));
        let (Some(whole_engine), Some(found_engine)) = engines else { continue };
        n_taken += 1;
        for text in texts(&mut random) {
            for (ours, engine) in [(Some(&whole), &whole_engine), (found.as_ref().ok(), &found_engine)] {
                if let (Some(ours), Some(expected)) = (ours, engine(&text)) {
                    assert_eq!(matches(ours, text.as_bytes()), expected, "{pattern:?}, {text:?}, {ours:?}");
                }
            }
        }
    }
    n_taken
}

#[test]
fn rust_dialect() {
    let leaves = [
        "a",
        "b",
        "-",
        ".",
        r"\w",
        "[^a]",
        "",
        "^",
        "$",
        r"\b",
        r"\B",
        "(?m:^)",
        "(?m:$)",
        r"\A",
        r"\z",
        r"\b{start}",
        r"\b{end}",
        r"\b{start-half}",
        r"\b{end-half}",
    ];
    let n_taken = compare(Dialect::Rust, 800, &leaves, &["(", "(?s:", "(?i:"], |pattern| {
        let engine = regex::Regex::new(pattern).ok()?;
        Some(Box::new(move |text| Some(engine.is_match(text))))
    });
    eprintln!("{n_taken} patterns taken");
    assert!(n_taken > 600);
}

#[test]
fn ecma_dialect() {
    let leaves = ["a", "b", "-", ".", r"\w", "[^a]", "", "^", "$", r"\b", r"\B", r"\s", "(?<=a)", r"(?<!\w)"];
    let n_taken = compare(Dialect::Ecma, 1_200, &leaves, &["(", "(?:", "(?=", "(?!"], |pattern| {
        // Not `regress` here, which never ends on some nested empty loops. On ASCII texts the meaning is one.
        let engine = fancy_regex::Regex::new(pattern).ok()?;
        Some(Box::new(move |text| text.is_ascii().then(|| engine.is_match(text).ok()).flatten()))
    });
    eprintln!("{n_taken} patterns taken");
    assert!(n_taken > 700);
}

/// Look-behind of several characters, with assertions inside and around it, in repetitions and next to
/// look-ahead.
const BEHINDS: &[&str] = &[
    "a",
    "b",
    "-",
    ".",
    r"\w",
    "[^a]",
    "",
    "^",
    "$",
    r"\b",
    "(?<=ab)",
    "(?<!ab)",
    "(?<!b[a-])",
    "(?<=a|b-)",
    "(?<!a|ba|-ba)",
    r"(?<=\ba.)",
    r"(?<!\Bb|a)",
    "(?<=^a)",
    "(?<!^a|^.b)",
    r"(?<=a\b)",
    r"(?<!b\B)",
    "(?<=(?<!b)a.)",
    "(?<=(?<=ab)[^a])",
    "(?<![ab]{2})",
    "(?<=a(?=b))",
    "(?<!-(?!ba))",
    "(?<=a(?=b).)",
];

#[test]
fn look_behind_in_ecma() {
    let groups = ["(", "(?:", "(?=", "(?!", "(?<=", "(?<!"];
    let n_taken = compare(Dialect::Ecma, 600, BEHINDS, &groups, |pattern| {
        let engine = fancy_regex::Regex::new(pattern).ok()?;
        Some(Box::new(move |text| text.is_ascii().then(|| engine.is_match(text).ok()).flatten()))
    });
    eprintln!("{n_taken} patterns taken");
    assert!(n_taken > 250);
}

/// The definition of an ordered pattern says what Python's `re.fullmatch` and `re.search` find.
#[test]
fn look_behind_in_python() {
    let groups = ["(", "(?:", "(?=", "(?!", "(?<=", "(?<!"];
    let n_taken = compare(Dialect::Python, 600, BEHINDS, &groups, |pattern| {
        // Patterns for whole matches come with Rust's anchors, which mean the same in Python except for `$`.
        let whole = pattern.strip_prefix("^(?:").and_then(|rest| rest.strip_suffix(")$"));
        let source = whole.map_or(format!("(?s:.*?)(?:{pattern})"), |whole| format!(r"(?:{whole})\Z"));
        let ordered = parse_python(&source, Flags::default(), &Fuel::new(FUEL)).ok()?;
        Some(Box::new(move |text| {
            let found = find_prefix(&ordered, text.as_bytes(), 0, &Fuel::new(FUEL / 16)).ok()?;
            Some(found.is_some())
        }))
    });
    eprintln!("{n_taken} patterns taken");
    assert!(n_taken > 250);
}

#[test]
fn tempered_repetition() {
    let leaves = ["a", "b", "-", "[^a]", "."];
    let looks = ["(?!a)", "(?!ab)", "(?=a|b)", "(?!a.)", "(?!.b$)", "(?!-)(?!ba)", "(?!aa)", "(?!b*$)"];
    let after = ["", "$", "-$", "ab", "a", "aa", "ab-?$", "b$", "(?:-a)?$", "-"];
    let (mut n_taken, mut n_refused) = (0, 0);
    for look in looks {
        for leaf in leaves {
            for after in after {
                for before in ["^", "", "^a"] {
                    let pattern = format!("{before}(?:{look}{leaf})*{after}");
                    let Ok(found) = parse_search(&pattern, Dialect::Ecma, &Fuel::new(FUEL)) else {
                        n_refused += 1;
                        continue;
                    };
                    n_taken += 1;
                    let engine = regress::Regex::with_flags(&pattern, "u").unwrap();
                    for text in texts(&mut Random::new(7)) {
                        let expected = engine.find(&text).is_some();
                        assert_eq!(matches(&found, text.as_bytes()), expected, "{pattern:?} in {text:?}");
                    }
                }
            }
        }
    }
    eprintln!("{n_taken} patterns taken, {n_refused} refused");
    assert!(n_taken > 600);
}
