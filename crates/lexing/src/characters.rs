//! The sets of characters that Python's `re` knows for `str` patterns, and how it ignores case.
//!
//! Python tests a character ignoring case by comparing its simple lower-case mapping with the lower-case
//! mappings of the set, and takes lower-case letters that share an upper case as equal (`i` and dotless `ı`,
//! `s` and long `ſ`, ...). This differs from Unicode's simple case folding, which `regex-syntax` offers, in
//! the letters around the Turkish `i`, so it is computed here from the mappings of the standard library.
//!
//! The tables are of the Unicode version that the libraries carry; Python's may be older by some letters.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Lower-case letters that have the same upper case, each group as Python's `re` lists it.
const SAME_UPPER_CASE: &[&[char]] = &[
    &['i', '\u{0131}'],
    &['s', '\u{017F}'],
    &['\u{00B5}', '\u{03BC}'],
    &['\u{0345}', '\u{03B9}', '\u{1FBE}'],
    &['\u{0390}', '\u{1FD3}'],
    &['\u{03B0}', '\u{1FE3}'],
    &['\u{03B2}', '\u{03D0}'],
    &['\u{03B5}', '\u{03F5}'],
    &['\u{03B8}', '\u{03D1}'],
    &['\u{03BA}', '\u{03F0}'],
    &['\u{03C0}', '\u{03D6}'],
    &['\u{03C1}', '\u{03F1}'],
    &['\u{03C2}', '\u{03C3}'],
    &['\u{03C6}', '\u{03D5}'],
    &['\u{0432}', '\u{1C80}'],
    &['\u{0434}', '\u{1C81}'],
    &['\u{043E}', '\u{1C82}'],
    &['\u{0441}', '\u{1C83}'],
    &['\u{0442}', '\u{1C84}', '\u{1C85}'],
    &['\u{044A}', '\u{1C86}'],
    &['\u{0463}', '\u{1C87}'],
    &['\u{1C88}', '\u{A64B}'],
    &['\u{1E61}', '\u{1E9B}'],
    &['\u{FB05}', '\u{FB06}'],
];

/// `\w`: letters, numbers of all kinds, and the underscore.
pub(crate) fn word(ascii: bool) -> ClassUnicode {
    static UNICODE: LazyLock<ClassUnicode> = LazyLock::new(|| {
        let mut word = category(r"[\p{L}\p{N}]");
        word.union(&of_chars(['_']));
        word
    });
    if ascii { of_ranges([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]) } else { UNICODE.clone() }
}

/// `\d`: decimal digits.
pub(crate) fn digit(ascii: bool) -> ClassUnicode {
    static UNICODE: LazyLock<ClassUnicode> = LazyLock::new(|| category(r"\p{Nd}"));
    if ascii { of_ranges([('0', '9')]) } else { UNICODE.clone() }
}

/// `\s`: white space, which for Python includes the four separators of information.
pub(crate) fn space(ascii: bool) -> ClassUnicode {
    let mut space = of_ranges([('\t', '\r'), (' ', ' ')]);
    if !ascii {
        space.union(&of_ranges([
            ('\x1C', '\x1F'),
            ('\u{85}', '\u{85}'),
            ('\u{A0}', '\u{A0}'),
            ('\u{1680}', '\u{1680}'),
            ('\u{2000}', '\u{200A}'),
            ('\u{2028}', '\u{2029}'),
            ('\u{202F}', '\u{202F}'),
            ('\u{205F}', '\u{205F}'),
            ('\u{3000}', '\u{3000}'),
        ]));
    }
    space
}

/// Every character.
pub(crate) fn any() -> ClassUnicode {
    of_ranges([('\0', char::MAX)])
}

/// The class of the given inclusive ranges.
pub(crate) fn of_ranges(ranges: impl IntoIterator<Item = (char, char)>) -> ClassUnicode {
    ClassUnicode::new(ranges.into_iter().map(|(low, high)| ClassUnicodeRange::new(low, high)))
}

/// The class as sorted ranges.
pub(crate) fn ranges_of(class: &ClassUnicode) -> Vec<(char, char)> {
    class.iter().map(|range| (range.start(), range.end())).collect()
}

fn of_chars(chars: impl IntoIterator<Item = char>) -> ClassUnicode {
    of_ranges(chars.into_iter().map(|c| (c, c)))
}

/// The characters that Python takes for one of `class` when it ignores case; with `ascii`, letters of ASCII
/// alone have two cases.
///
/// A class within ASCII costs O(its ranges); any other costs a walk over the 1,400 letters of Unicode with
/// two cases, and once per process the search for them.
pub(crate) fn ignoring_case(class: &ClassUnicode, ascii: bool) -> ClassUnicode {
    if ascii {
        let mut result = class.clone();
        result.union(&of_chars(('a'..='z').filter(|&c| has(class, c.to_ascii_uppercase()))));
        result.union(&of_chars(('A'..='Z').filter(|&c| has(class, c.to_ascii_lowercase()))));
        return result;
    }
    let pairs: &[(char, char)] = if class.is_ascii() { &ASCII_PAIRS } else { &ALL_PAIRS };
    let uppers = of_chars(pairs.iter().map(|&(upper, _)| upper));
    let mut lowered = class.clone();
    lowered.difference(&uppers);
    lowered.union(&of_chars(pairs.iter().filter(|&&(upper, _)| has(class, upper)).map(|&(_, lower)| lower)));
    for group in SAME_UPPER_CASE {
        if group.iter().any(|&c| has(&lowered, c)) {
            lowered.union(&of_chars(group.iter().copied()));
        }
    }
    let mut result = lowered.clone();
    result
        .union(&of_chars(pairs.iter().filter(|&&(_, lower)| has(&lowered, lower)).map(|&(upper, _)| upper)));
    result
}

/// Every character with another simple lower case, and that.
static ALL_PAIRS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    ('\0'..=char::MAX).map(|c| (c, simple_lower_case(c))).filter(|(upper, lower)| upper != lower).collect()
});

/// The pairs whose lower case is in ASCII.
static ASCII_PAIRS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let outside = ['\u{130}', '\u{212A}'].into_iter();
    ('A'..='Z').chain(outside).map(|c| (c, simple_lower_case(c))).collect()
});

/// The lower case of one character as one character (Unicode's simple mapping).
fn simple_lower_case(c: char) -> char {
    // The standard library has the full mapping, which differs for this character alone.
    if c == '\u{130}' {
        return 'i';
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}

fn has(class: &ClassUnicode, c: char) -> bool {
    let ranges = class.ranges();
    let next = ranges.partition_point(|range| range.end() < c);
    ranges.get(next).is_some_and(|range| range.start() <= c)
}

fn category(expression: &str) -> ClassUnicode {
    let hir = regex_syntax::parse(expression).expect("a fixed expression that the library knows");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        _ => ClassUnicode::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_their_upper_case() {
        let upper = |c: char| c.to_uppercase().collect::<String>();
        for group in SAME_UPPER_CASE {
            assert!(group.iter().all(|&c| upper(c) == upper(group[0])), "{group:?}");
        }
    }

    #[test]
    fn ascii_classes_agree_with_the_general_way() {
        for c in 'a'..='z' {
            let fast = ignoring_case(&of_chars([c]), false);
            // A letter that has no case and stays outside makes the class go the general way.
            let mut general = ignoring_case(&of_chars([c, '\u{4E00}']), false);
            general.difference(&of_chars(['\u{4E00}']));
            assert_eq!(fast, general, "{c}");
        }
        let i = ranges_of(&ignoring_case(&of_chars(['I']), false));
        assert_eq!(i, [('I', 'I'), ('i', 'i'), ('\u{130}', '\u{131}')]);
    }

    #[test]
    fn classes_have_what_python_says() {
        assert!(has(&word(false), 'é') && has(&word(false), '²') && !has(&word(false), '\u{301}'));
        assert!(has(&digit(false), '\u{663}') && !has(&digit(false), '²'));
        assert!(has(&space(false), '\x1C') && !has(&space(true), '\x1C'));
    }
}
