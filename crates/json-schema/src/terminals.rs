//! JSON's own terminals, as values shared by all grammars.
//!
//! The engine's caches find a terminal by its expression; handing out clones of these few statics (a
//! reference count each) makes every schema meet the rows that an earlier one filled. Strings, numbers,
//! punctuation and white space stay terminals of their own for the same reason.

use std::sync::LazyLock;

use maskwright_automata::{ByteSet, Regex};

use crate::escape::SPELLED_CHAR;
use crate::plain::{PLAIN_FROM_ZERO, PLAIN_INTEGER, PLAIN_NUMBER};
use crate::{Numbers, SchemaConfig, Whitespace};

/// Any JSON string with its quotes, in any spelling of RFC 8259 whose surrogates are paired.
pub(crate) static STRING: LazyLock<Regex> = LazyLock::new(|| {
    let hex = Regex::bytes(b"0123456789abcdefABCDEF".iter().copied().collect());
    let one_of = |bytes: &[u8]| Regex::bytes(bytes.iter().copied().collect());
    let unit = |first: &[u8], second: &[u8]| {
        Regex::concat([Regex::literal(b"\\u"), one_of(first), one_of(second), hex.repeat(2, Some(2))])
    };
    let all = b"0123456789abcdefABCDEF";
    let escape = Regex::union([
        Regex::concat([Regex::byte(b'\\'), one_of(b"\"\\/bfnrt")]),
        unit(b"0123456789abcefABCEF", all),
        unit(b"dD", b"01234567"),
        Regex::concat([unit(b"dD", b"89abAB"), unit(b"dD", b"cdefCDEF")]),
    ]);
    let plain = Regex::char_class(&[(' ', '!'), ('#', '['), (']', char::MAX)]);
    quote(Regex::union([plain, escape]).star())
});

/// Any string with its quotes, in its canonical spelling.
pub(crate) static CANONICAL_STRING: LazyLock<Regex> = LazyLock::new(|| quote(SPELLED_CHAR.star()));

/// A string of at most some length: what an engine learns from one length it knows for all.
static COUNTED_STRING: LazyLock<Regex> = LazyLock::new(|| quote(SPELLED_CHAR.repeat(0, Some(1_000))));

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

/// `.0` or nothing.
pub(crate) static ZERO_FRACTION: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b".0").optional());

pub(crate) static DIGIT: LazyLock<Regex> = LazyLock::new(|| Regex::bytes(ByteSet::range(b'0', b'9')));
pub(crate) static NULL: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b"null"));
pub(crate) static TRUE: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b"true"));
pub(crate) static FALSE: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b"false"));
pub(crate) static BOOLEAN: LazyLock<Regex> =
    LazyLock::new(|| Regex::words([b"true".as_slice(), b"false".as_slice()]));

pub(crate) static SIGN: LazyLock<Regex> = LazyLock::new(|| Regex::byte(b'-').optional());

/// Digits before the point: no leading zero.
pub(crate) static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::union([Regex::byte(b'0'), Regex::concat([Regex::bytes(ByteSet::range(b'1', b'9')), DIGIT.star()])])
});

/// The terminals that most schemas have.
pub(crate) fn usual(config: &SchemaConfig) -> Vec<Regex> {
    let punctuation = Punctuation::of(config);
    let values = [&STRING, &CANONICAL_STRING, &COUNTED_STRING, &BOOLEAN, &NULL];
    let numbers = match config.numbers {
        Numbers::Plain => [&PLAIN_NUMBER, &PLAIN_FROM_ZERO, &PLAIN_INTEGER],
        Numbers::Any => [&NUMBER, &INTEGER, &WHOLE_NUMBER],
    };
    let mut usual: Vec<Regex> = values.into_iter().chain(numbers).map(|regex| Regex::clone(regex)).collect();
    usual.extend([
        punctuation.open_object,
        punctuation.close_object,
        punctuation.empty_object,
        punctuation.open_array,
        punctuation.close_array,
        punctuation.empty_array,
        punctuation.comma,
        punctuation.colon,
    ]);
    usual
}

/// Quotes around `body`.
pub(crate) fn quote(body: Regex) -> Regex {
    Regex::concat([Regex::byte(b'"'), body, Regex::byte(b'"')])
}

/// A character of white space.
pub(crate) static SPACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::bytes(b" \t\n\r".iter().copied().collect()));

/// Punctuation with the white space that goes with it.
#[derive(Clone)]
pub(crate) struct Punctuation {
    /// White space after an opening bracket or a comma and before a closing bracket, and nothing.
    pub(crate) inside: Regex,
    pub(crate) open_object: Regex,
    pub(crate) close_object: Regex,
    pub(crate) empty_object: Regex,
    pub(crate) open_array: Regex,
    pub(crate) close_array: Regex,
    pub(crate) empty_array: Regex,
    pub(crate) comma: Regex,
    pub(crate) colon: Regex,
    /// What may stand before and after the whole text; never the empty word.
    pub(crate) around: Option<Regex>,
}

/// The widest indentation of the shared flexible punctuation.
pub(crate) const DEFAULT_MAX_INDENT: u32 = 64;

static COMPACT: LazyLock<Punctuation> = LazyLock::new(|| {
    let none = Regex::epsilon;
    Punctuation::new(none(), none(), none(), None)
});

static FLEXIBLE: LazyLock<Punctuation> = LazyLock::new(|| Punctuation::flexible(DEFAULT_MAX_INDENT));

static ANY: LazyLock<Punctuation> = LazyLock::new(|| {
    let any = SPACE.star();
    Punctuation::new(any.clone(), any.clone(), any, Some(SPACE.plus()))
});

impl Punctuation {
    /// The punctuation that `config` asks for.
    pub(crate) fn of(config: &SchemaConfig) -> Punctuation {
        match config.whitespace {
            Whitespace::Compact => COMPACT.clone(),
            Whitespace::Any => ANY.clone(),
            Whitespace::Flexible if config.limits.max_indent == DEFAULT_MAX_INDENT => FLEXIBLE.clone(),
            Whitespace::Flexible => Punctuation::flexible(config.limits.max_indent),
            Whitespace::AtMost(max) => {
                let inside = SPACE.repeat(0, (max < u32::MAX).then_some(max));
                Punctuation::new(inside.clone(), inside.clone(), inside, None)
            }
        }
    }

    fn flexible(max_indent: u32) -> Punctuation {
        let indent = Regex::bytes([b' ', b'\t'].into_iter().collect()).repeat(0, Some(max_indent));
        let line = Regex::concat([Regex::byte(b'\n'), indent]);
        let inside = Regex::union([Regex::byte(b' '), line]).optional();
        Punctuation::new(inside, Regex::epsilon(), Regex::byte(b' ').optional(), None)
    }

    /// `inside`: after an opening bracket or a comma and before a closing bracket; `before`: before a comma
    /// or a colon; `after_colon`; `around`: around the whole text.
    fn new(inside: Regex, before: Regex, after_colon: Regex, around: Option<Regex>) -> Punctuation {
        let open = |bracket| Regex::concat([Regex::byte(bracket), inside.clone()]);
        let close = |bracket| Regex::concat([inside.clone(), Regex::byte(bracket)]);
        let empty = |left, right| Regex::concat([Regex::byte(left), inside.clone(), Regex::byte(right)]);
        Punctuation {
            open_object: open(b'{'),
            close_object: close(b'}'),
            empty_object: empty(b'{', b'}'),
            open_array: open(b'['),
            close_array: close(b']'),
            empty_array: empty(b'[', b']'),
            comma: Regex::concat([before.clone(), Regex::byte(b','), inside.clone()]),
            colon: Regex::concat([before, Regex::byte(b':'), after_colon]),
            inside,
            around,
        }
    }
}
