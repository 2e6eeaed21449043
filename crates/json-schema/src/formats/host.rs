//! Host names: RFC 1123, section 2.1; internationalised ones: RFC 5890 to 5892, as far as they are regular.

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, list, lit, one, seq};
use super::idn::{self, MAX_U_LABEL};

/// The longest name, in octets, without a dot at the end (RFC 1035, section 2.3.4).
pub(super) const MAX_NAME: u32 = 253;
const MAX_LABEL: u32 = 63;

/// Letters, digits, hyphens inside.
pub(super) static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let alphanumeric = || one("0-9A-Za-z");
    let inside = one("0-9A-Za-z-").repeat(0, Some(MAX_LABEL - 2));
    seq([alphanumeric(), seq([inside, alphanumeric()]).optional()])
});

/// A label that is no A-label and could not be mistaken for one: no hyphens in the third and fourth place.
static PLAIN_LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let alphanumeric = || one("0-9A-Za-z");
    let or_hyphen = || one("0-9A-Za-z-");
    let tail = |n| seq([or_hyphen().repeat(0, Some(n)), alphanumeric()]);
    any([
        alphanumeric(),
        seq([alphanumeric(), alphanumeric()]),
        seq([alphanumeric(), or_hyphen(), alphanumeric()]),
        // The third is a hyphen, the fourth is not; or the third is none.
        seq([alphanumeric(), or_hyphen(), lit("-"), alphanumeric(), tail(MAX_LABEL - 5).optional()]),
        seq([alphanumeric(), or_hyphen(), alphanumeric(), tail(MAX_LABEL - 4)]),
    ])
});

/// Labels with dots between.
fn name(label: Regex) -> Regex {
    Regex::intersection([list(label, "."), one("-.0-9A-Za-z").repeat(1, Some(MAX_NAME))])
}

pub(super) static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| name(PLAIN_LABEL.clone()));

/// Letters and digits beyond ASCII that are valid in every context and are written from left to right.
fn letter() -> Regex {
    Regex::char_class(&[
        ('ß', 'ö'),
        ('ø', 'ÿ'),
        ('ά', 'ώ'),
        ('а', 'џ'),
        ('ა', 'ჰ'),
        ('ぁ', 'ゖ'),
        ('ァ', 'ヺ'),
        ('\u{3400}', '\u{4dbf}'),
        ('\u{4e00}', '\u{9fff}'),
        ('가', '힣'),
    ])
}

/// A label with characters beyond ASCII.
pub(super) static U_LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let ends = any([letter(), one("0-9a-z")]);
    let inside = any([ends.clone(), Regex::char_class(&[('\u{300}', '\u{33f}')])]);
    let after_middle_dot = seq([lit("l\u{b7}l"), inside.repeat(0, Some(MAX_U_LABEL - 3))]);
    any([seq([ends, inside.repeat(0, Some(MAX_U_LABEL - 1))]), after_middle_dot])
});

/// By RFC 1123 alone, which drafts up to 6 refer to: labels may begin with `xn--`.
pub(super) static OLD_HOSTNAME: LazyLock<Regex> = LazyLock::new(|| name(LABEL.clone()));

pub(super) static IDN_HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let dot = Regex::char_class(&[
        ('.', '.'),
        ('\u{3002}', '\u{3002}'),
        ('\u{ff0e}', '\u{ff0e}'),
        ('\u{ff61}', '\u{ff61}'),
    ]);
    // A label beyond ASCII is at most 63 octets as an A-label, so three of them are within the limit.
    let short = |label: Regex| seq([label.clone(), seq([dot.clone(), label]).repeat(0, Some(2))]);
    let left_to_right = any([PLAIN_LABEL.clone(), idn::left_to_right()]);
    // Where one label is from right to left, no other begins with a digit.
    let ascii = Regex::intersection([PLAIN_LABEL.clone(), seq([one("A-Za-z"), Regex::any_text()])]);
    let right_to_left = any([ascii, idn::right_to_left()]);
    any([HOSTNAME.clone(), short(left_to_right), short(right_to_left)])
});
