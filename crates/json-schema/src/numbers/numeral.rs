//! Numbers as RFC 8259 writes them, and the parts they are made of.
//!
//! These are terminals shared by all grammars, for the reason that [`crate::strings::terminals`] gives.
//! Bounds are in [`crate::numbers::range`], and the numbers of common JSON writers in
//! [`crate::numbers::plain`].

use std::sync::LazyLock;

use maskwright_automata::{ByteSet, Regex};

/// Any number of RFC 8259.
pub(crate) static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let exponent = Regex::concat([
        Regex::bytes([b'e', b'E'].into_iter().collect()),
        Regex::bytes([b'+', b'-'].into_iter().collect()).optional(),
        DIGIT.plus(),
    ]);
    let fraction = Regex::concat([Regex::byte(b'.'), DIGIT.plus()]);
    Regex::concat([SIGN.clone(), WHOLE.clone(), fraction.optional(), exponent.optional()])
});

/// Any whole number without a fraction.
pub(crate) static WHOLE_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::concat([SIGN.clone(), WHOLE.clone()]));

/// Any whole number, also with the fraction `.0`.
pub(crate) static INTEGER: LazyLock<Regex> =
    LazyLock::new(|| Regex::concat([SIGN.clone(), WHOLE.clone(), ZERO_FRACTION.clone()]));

/// What numbers look like whose parts have at most `max_digits` digits: a bound on any language of numbers.
pub(crate) fn short_numbers(max_digits: u32) -> Regex {
    let digits = DIGIT.repeat(1, Some(max_digits.max(1)));
    let exponent = Regex::concat([
        Regex::bytes([b'e', b'E'].into_iter().collect()),
        Regex::bytes([b'+', b'-'].into_iter().collect()).optional(),
        digits.clone(),
    ]);
    let fraction = Regex::concat([Regex::byte(b'.'), digits.clone()]);
    Regex::concat([SIGN.clone(), digits, fraction.optional(), exponent.optional()])
}

pub(crate) static DIGIT: LazyLock<Regex> = LazyLock::new(|| Regex::bytes(ByteSet::range(b'0', b'9')));

pub(crate) static SIGN: LazyLock<Regex> = LazyLock::new(|| Regex::byte(b'-').optional());

/// Digits before the point: no leading zero.
pub(crate) static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::union([Regex::byte(b'0'), Regex::concat([Regex::bytes(ByteSet::range(b'1', b'9')), DIGIT.star()])])
});

/// `.0` or nothing.
pub(crate) static ZERO_FRACTION: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b".0").optional());
