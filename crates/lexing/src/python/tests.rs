//! Errors and their places, and what the escapes stand for.

use maskwright_automata::Fuel;

use super::*;
use crate::find_prefix;

fn matched(source: &str, letters: &str, text: &str) -> Option<usize> {
    let fuel = Fuel::new(1_000_000);
    let pattern = parse_python(source, Flags::from_letters(letters).unwrap(), &fuel).unwrap();
    find_prefix(&pattern, text.as_bytes(), 0, &fuel).unwrap()
}

#[test]
fn escapes_are_characters() {
    for (source, text) in [
        (r"\x41\u0042\U00000043", "ABC"),
        (r"\101\0\07", "A\0\x07"),
        (r"[\101\b\x00-\x02]\n\r\t\v\f\a\.", "\x08\n\r\t\x0B\x0C\x07."),
        (r"[]a][^]a]{1}[a-]", "]x-"),
        (r"{a{,b{2,c", "{a{,b{2,c"),
        (r"a{,2}b{1,}c{2}", "abbcc"),
        (r"(?#comment)(?P<name>a)(?i:B)", "ab"),
        (r"[\w-]\-[\d.]", "é-٣"),
    ] {
        assert_eq!(matched(source, "", text), Some(text.len()), "{source}");
    }
    assert_eq!(matched(r"\ud800", "", "a"), None);
    assert_eq!(matched("a b # c\n c", "x", "abc"), Some(3));
    assert_eq!(matched("(?x) a b(?-x: c)", "", "ab c"), Some(4));
    assert_eq!(matched("(?is)K.[^k-s]", "", "\u{212A}\nT"), Some(5));
    assert_eq!(matched("(?is)K.[^k-s]", "", "k\nS"), None);
    assert_eq!(matched(r"(?a)\w", "", "é"), None);
}

#[test]
fn anchors_are_assertions() {
    assert_eq!(matched("^a$", "", "a\n"), Some(1));
    assert_eq!(matched("^a$", "", "a\nb"), None);
    assert_eq!(matched("^a$\n^b", "m", "a\nb"), Some(3));
    assert_eq!(matched(r"a\Z", "", "a\n"), None);
    assert_eq!(matched(r"\ba+\b\B", "", "aa"), None);
    assert_eq!(matched(r"\ba\Ba\b.", "", "aa-"), Some(3));
}

/// Python's `re` requires one length for all alternatives of a lookbehind. Here each may have its own, and
/// contain assertions.
#[test]
fn lookbehinds_of_any_bounded_length() {
    for (source, text, end) in [
        ("(?:==|!=|===)(?<====)x", "===x", Some(4)),
        ("(?:===|==|!=)(?<====)x", "===x", Some(4)),
        ("(?:===|==|!=)(?<====)x", "!=x", None),
        ("[=!~]+(?<!==|!=|~=)x", "!~x", Some(3)),
        ("[=!~]+(?<!==|!=|~=)x", "!~=x", None),
        ("[ab]+(?<=ab|b|abb)c", "bc", Some(2)),
        ("[ab]+(?<=ab|aab)c", "bbc", None),
        ("[ab]+(?<=^ab?)c", "abc", Some(3)),
        ("[ab]+(?<=^ab?)c", "aabc", None),
        (r"[ab-]+(?<=\bb{1,2})c", "a-bbc", Some(5)),
        (r"[ab-]+(?<=\bb{1,2})c", "abbc", None),
        (r"a(?<=a\b)-", "a-", Some(2)),
        (r"a(?<!a\b).", "a-", None),
        (r"a(?<!a$).", "ab", Some(2)),
        (r"(?s)a(?<!a$).", "a\n", None),
        (r"(?s)a(?<!a$)..", "a\nb", Some(3)),
        ("a(?<=a(?=bc))b", "abc", Some(2)),
        ("a(?<=a(?!bc))b", "abc", None),
        ("(?<!a)b", "b", Some(1)),
        ("(?<=(?<!a)b|)b", "b", Some(1)),
    ] {
        assert_eq!(matched(source, "", text), end, "{source} on {text:?}");
    }
    let many = format!("a(?<=(?:{})\\b)", ["(?:aa|ab|bcb)"; 9].concat());
    let error = parse_python(&many, Flags::default(), &Fuel::new(10_000_000)).unwrap_err();
    assert!(error.message().contains("too many variants"), "{error}");
}

#[test]
fn errors_have_their_place() {
    for (source, offset, message) in [
        ("a)", 1, "this closing parenthesis has no opening one"),
        ("(a", 0, "this group is not closed"),
        ("ab[c", 2, "this set has no closing bracket"),
        ("*", 0, "there is nothing to repeat before this sign"),
        ("^*", 1, "there is nothing to repeat before this sign"),
        ("a**", 2, "a repetition cannot be repeated without a group around it"),
        ("a++", 2, "possessive repetition is not supported"),
        ("a{3,2}", 1, "the least number of copies is more than the greatest"),
        ("a{4294967295}", 1, "the bound of a repetition must be less than 4294967295"),
        ("[b-a]", 1, "b-a is not a range: the ends must be characters, the lower one first"),
        (r"a\q", 1, "\\q is not an escape"),
        (r"\x4", 0, "this escape needs 2 hexadecimal digits of a code point"),
        (r"\400", 0, "an octal escape is at most \\377"),
        (r"(a)\1", 3, "back-references are not supported: what they match is not regular"),
        (r"(?P<n>a)(?P=n)", 10, "back-references are not supported: what they match is not regular"),
        ("(?P<n>a)(?P<n>b)", 12, "two groups have the name \"n\""),
        ("(a)?(?(1)b|c)", 6, "conditionals are not supported: what they match is not regular"),
        ("(?>a)", 2, "atomic groups are not supported"),
        (
            "a(?<=ba*)",
            1,
            "what a lookbehind looks for must have a greatest length: write {0,9} or so in place of * or +",
        ),
        ("a(?i)b", 3, "flags for the whole pattern must be at its start"),
        ("(?q)", 2, "q is not a flag; flags are imsxau"),
        (r"é\", 2, "the pattern ends after a backslash"),
        (r"\N{DIGIT ONE}", 0, "characters cannot be given by name"),
    ] {
        let error = parse_python(source, Flags::default(), &Fuel::new(10_000)).unwrap_err();
        assert_eq!((error.offset(), error.message().as_str()), (Some(offset), message), "{source}");
    }
}

#[test]
fn deep_and_long_sources_end() {
    let deep = "(".repeat(100_000);
    let error = parse_python(&deep, Flags::default(), &Fuel::unlimited()).unwrap_err();
    assert_eq!(error.message(), "groups are nested deeper than 200 levels");
    let long = "a|".repeat(100_000);
    assert!(parse_python(&long, Flags::default(), &Fuel::new(1_000)).unwrap_err().is_limit());
}
