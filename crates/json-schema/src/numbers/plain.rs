//! Plain numbers: the spellings that common JSON writers produce.
//!
//! With [`Numbers::Plain`](crate::Numbers::Plain), the terminals of numbers are restricted to two fixed
//! languages, so that all schemas share their states. An integer is written in digits, without a fraction or
//! an exponent, and is not `-0`. Any other number is within the range of doubles and has one of these forms:
//!
//! * zero: `0`, or `0.0` with at most 323 zeros after the point;
//! * a whole number in digits;
//! * digits with a fraction, at most 17 digits from the first nonzero one on, including zeros at the end;
//! * with an exponent, where Python's or JavaScript's printer of doubles writes one (`1e-07`, `1e-7`,
//!   `1.5e+300`): one nonzero digit before the point, at most 17 digits in all, and no zero at the end.
//!
//! Invariants: a plain text is a number of RFC 8259, and reads as a finite double, as zero only if it is
//! zero. `repr` (Python), `JSON.stringify` (JavaScript) and `{}` (Rust) write every finite double as a plain
//! text.

use std::sync::LazyLock;

use maskwright_automata::{ByteSet, Regex};

use crate::numbers::number::NumberRange;
use crate::numbers::numeral::{DIGIT, SIGN, WHOLE};

/// The most significant digits of a number with a fraction.
const MAX_DIGITS: u32 = 17;

/// The digits of the greatest double, `1.7976931348623157e+308`.
pub(crate) const GREATEST: &str = "17976931348623157";

/// The power of ten of the greatest double.
pub(crate) const GREATEST_EXPONENT: u32 = 308;

/// The power of ten of the least positive double, `5e-324`.
const LEAST_EXPONENT: u32 = 324;

static NONZERO: LazyLock<Regex> = LazyLock::new(|| Regex::bytes(ByteSet::range(b'1', b'9')));

/// Any integer.
pub(crate) static PLAIN_INTEGER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::union([Regex::byte(b'0'), Regex::concat([SIGN.clone(), NONZERO.clone(), DIGIT.star()])])
});

/// Any number.
pub(crate) static PLAIN_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::concat([SIGN.clone(), Regex::union([ZERO.clone(), MAGNITUDE.clone()])]));

/// Any number that is not negative, and `-0`.
pub(crate) static PLAIN_FROM_ZERO: LazyLock<Regex> =
    LazyLock::new(|| Regex::union([Regex::concat([SIGN.clone(), ZERO.clone()]), MAGNITUDE.clone()]));

/// Zero, without a sign.
static ZERO: LazyLock<Regex> = LazyLock::new(|| {
    let zeros = Regex::byte(b'0').repeat(1, Some(LEAST_EXPONENT - 1));
    Regex::concat([Regex::byte(b'0'), Regex::concat([Regex::byte(b'.'), zeros]).optional()])
});

/// Any positive number.
static MAGNITUDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::union([
        whole(),
        with_fraction(),
        below_one(LEAST_EXPONENT - 2),
        least_below_one(),
        with_exponent(),
    ])
});

/// The counted digits of numbers with `multipleOf`, in plain notation: at most 17 digits if there is a
/// fraction, and few zeros after the point. It has few states, because the product with the remainders
/// multiplies them.
pub(crate) static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    const MAX_ZEROS: u32 = 20;
    let zero = Regex::concat([Regex::literal(b"0."), Regex::byte(b'0').repeat(1, Some(MAX_ZEROS))]);
    let magnitude = Regex::union([WHOLE.clone(), zero, with_fraction(), below_one(MAX_ZEROS)]);
    Regex::concat([SIGN.clone(), magnitude])
});

/// The numbers within `range` if it has no bound or only zero: parts of [`PLAIN_NUMBER`], so that they share
/// its states.
pub(crate) fn half_line(range: &NumberRange) -> Option<Regex> {
    let negative = || Regex::concat([Regex::byte(b'-'), MAGNITUDE.clone()]);
    let zero = || Regex::concat([SIGN.clone(), ZERO.clone()]);
    match (&range.lower, &range.upper) {
        (None, None) => Some(PLAIN_NUMBER.clone()),
        (Some(lower), None) if lower.value.is_zero() => {
            Some(if lower.is_exclusive { MAGNITUDE.clone() } else { PLAIN_FROM_ZERO.clone() })
        }
        (None, Some(upper)) if upper.value.is_zero() => {
            Some(if upper.is_exclusive { negative() } else { Regex::union([zero(), negative()]) })
        }
        _ => None,
    }
}

fn digits(min: u32, max: u32) -> Regex {
    DIGIT.repeat(min, Some(max))
}

/// Whole numbers up to the greatest double.
fn whole() -> Regex {
    let shorter = Regex::concat([NONZERO.clone(), digits(0, GREATEST_EXPONENT - 1)]);
    let greatest = GREATEST.as_bytes();
    let zeros = GREATEST_EXPONENT + 1 - GREATEST.len() as u32;
    let longest = Regex::concat([Regex::literal(greatest), Regex::byte(b'0').repeat(zeros, Some(zeros))]);
    let less = (1..greatest.len()).map(|i| {
        let left = GREATEST_EXPONENT - i as u32;
        Regex::concat([Regex::literal(&greatest[..i]), below(greatest[i]), digits(left, left)])
    });
    Regex::union([shorter, longest].into_iter().chain(less))
}

/// Any digit less than `digit`.
fn below(digit: u8) -> Regex {
    Regex::bytes((b'0'..digit).collect())
}

/// Numbers of at least 1, with a fraction.
fn with_fraction() -> Regex {
    Regex::union((1..MAX_DIGITS).map(|n| {
        Regex::concat([NONZERO.clone(), digits(n - 1, n - 1), Regex::byte(b'.'), digits(1, MAX_DIGITS - n)])
    }))
}

/// Numbers below 1 with at most `max_zeros` zeros after the point before another digit.
fn below_one(max_zeros: u32) -> Regex {
    let zeros = Regex::byte(b'0').repeat(0, Some(max_zeros));
    Regex::concat([Regex::literal(b"0."), zeros, NONZERO.clone(), digits(0, MAX_DIGITS - 1)])
}

/// Numbers in digits that a reader rounds to the least double: from `3e-324` on.
fn least_below_one() -> Regex {
    let zeros = Regex::byte(b'0').repeat(LEAST_EXPONENT - 1, Some(LEAST_EXPONENT - 1));
    let first = Regex::bytes(ByteSet::range(b'3', b'9'));
    Regex::concat([Regex::literal(b"0."), zeros, first, digits(0, MAX_DIGITS - 1)])
}

/// Numbers with a power of ten.
fn with_exponent() -> Regex {
    let range = |low, high| Regex::bytes(ByteSet::range(low, high));
    let last = || Regex::concat([digits(0, MAX_DIGITS - 2), NONZERO.clone()]);
    let mantissa = Regex::concat([NONZERO.clone(), Regex::concat([Regex::byte(b'.'), last()]).optional()]);
    // From 16 (Python) to 307.
    let large = Regex::union([
        Regex::concat([Regex::byte(b'1'), range(b'6', b'9')]),
        Regex::concat([range(b'2', b'9'), digits(1, 1)]),
        Regex::concat([range(b'1', b'2'), digits(2, 2)]),
        Regex::concat([Regex::literal(b"30"), range(b'0', b'7')]),
    ]);
    // From 5 (Python) and 7 (JavaScript) to 323.
    let small = Regex::union([
        Regex::concat([Regex::byte(b'0'), range(b'5', b'9')]),
        range(b'7', b'9'),
        Regex::concat([NONZERO.clone(), digits(1, 1)]),
        Regex::concat([range(b'1', b'2'), digits(2, 2)]),
        Regex::concat([Regex::byte(b'3'), range(b'0', b'1'), digits(1, 1)]),
        Regex::concat([Regex::literal(b"32"), range(b'0', b'3')]),
    ]);
    let exponent =
        Regex::union([Regex::concat([Regex::byte(b'+'), large]), Regex::concat([Regex::byte(b'-'), small])]);
    let usual = Regex::concat([mantissa, Regex::byte(b'e'), exponent]);
    let greatest = Regex::concat([greatest_mantissas(), Regex::literal(b"e+308")]);
    let fraction = Regex::concat([Regex::byte(b'.'), last()]).optional();
    let least = Regex::concat([range(b'3', b'9'), fraction, Regex::literal(b"e-324")]);
    Regex::union([usual, greatest, least])
}

/// From `1` to `1.7976931348623157`, without a zero at the end of the fraction.
fn greatest_mantissas() -> Regex {
    let fraction = &GREATEST.as_bytes()[1..];
    let mut members = Vec::new();
    for (i, &digit) in fraction.iter().enumerate() {
        let prefix = Regex::literal(&fraction[..i]);
        let left = (fraction.len() - i - 1) as u32;
        // A smaller digit, not 0, ends the fraction; or a smaller digit has any digits after it.
        members.push(Regex::concat([prefix.clone(), Regex::bytes((b'1'..digit).collect())]));
        if left > 0 {
            let rest = Regex::concat([digits(0, left - 1), NONZERO.clone()]);
            members.push(Regex::concat([prefix, below(digit), rest]));
        }
        members.push(Regex::literal(&fraction[..=i]));
    }
    let fraction = Regex::concat([Regex::byte(b'.'), Regex::union(members)]);
    Regex::concat([Regex::byte(b'1'), fraction.optional()])
}

#[cfg(test)]
mod tests {
    use maskwright_automata::Fuel;
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::decimal::Decimal;
    use crate::strings::words::Matcher;

    fn accepts(regex: &Regex, text: &str) -> bool {
        Matcher::new(regex).matches(text, &Fuel::unlimited()).unwrap()
    }

    /// Whether a number of RFC 8259 is plain, by the module's definition.
    fn is_plain(text: &str) -> bool {
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match text.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (text, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        let n_digits = digits.trim_start_matches('0').len();
        if text.contains('E') || (!fraction.is_empty() && n_digits > 17) {
            return false;
        }
        if let Some(written) = exponent {
            let Ok(exponent) = written.parse::<i32>() else { return false };
            let sign = if exponent < 0 { '-' } else { '+' };
            let is_python =
                !(-4..16).contains(&exponent) && written == format!("{sign}{:02}", exponent.abs());
            let is_javascript =
                !(-6..21).contains(&exponent) && written == format!("{sign}{}", exponent.abs());
            let is_normal = whole.len() == 1 && whole != "0" && !fraction.ends_with('0');
            if !is_normal || !(is_python || is_javascript) {
                return false;
            }
        }
        let value = Decimal::parse(text).unwrap();
        let end = |text| Decimal::parse(text).unwrap();
        if value.is_zero() {
            return fraction.len() <= 323;
        }
        value >= end("3e-324") && value <= end("1.7976931348623157e308")
    }

    fn numbers() -> impl Strategy<Value = String> {
        prop_oneof![
            "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?",
            "-?(0|[1-9][0-9]{0,3})(\\.0{0,4}[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?",
            "-?[1-9](\\.[0-9]{0,16}[1-9])?e[+-]0?[0-9]{1,3}",
            "-?[1-9](\\.[0-9]{1,2})?e(-0[3-9]|-[4-9]|[+]1[4-7]|[+]2[0-2]|[+]30[6-9]|-32[2-6])",
            "-?(1\\.79|1\\.797693134862315[6-8]|2\\.4|[1-3])e([+]30[789]|-32[345])",
            "-?0\\.0{300,330}[0-9]{0,18}",
            "(17976931348623157|17976931348623158|1797|2|9)[0-9]{285,310}",
            "17976931348623157(0{292}|0{291}|0{293})",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        #[test]
        fn a_number_is_accepted_iff_it_is_plain(text in numbers()) {
            prop_assume!(Decimal::parse(&text).is_some());
            prop_assert_eq!(accepts(&PLAIN_NUMBER, &text), is_plain(&text), "{}", text);
            let is_integer = !text.contains(['.', 'e', 'E']) && text != "-0";
            prop_assert_eq!(accepts(&PLAIN_INTEGER, &text), is_integer, "{}", text);
            let is_negative = text.starts_with('-');
            let is_zero = Decimal::parse(&text).unwrap().is_zero();
            prop_assert_eq!(accepts(&PLAIN_FROM_ZERO, &text), is_plain(&text) && (is_zero || !is_negative), "{}", text);
        }

        #[test]
        fn what_writers_of_doubles_write_is_plain(double in prop::num::f64::ANY) {
            prop_assume!(double.is_finite());
            for text in [python(double), javascript(double), double.to_string()] {
                prop_assert!(accepts(&PLAIN_NUMBER, &text), "{}", text);
            }
        }

        #[test]
        fn what_is_plain_is_read_as_a_finite_double(text in numbers()) {
            if accepts(&PLAIN_NUMBER, &text) {
                let double: f64 = text.parse().unwrap();
                prop_assert!(double.is_finite(), "{}", text);
                prop_assert_eq!(double == 0.0, Decimal::parse(&text).unwrap().is_zero(), "{}", text);
            }
        }
    }

    /// The digits of a double's shortest text, the point after the first, and its power of ten.
    fn shortest(double: f64) -> (String, i32) {
        let written = format!("{:e}", double.abs());
        let (mantissa, exponent) = written.split_once('e').unwrap();
        (mantissa.to_owned(), exponent.parse().unwrap())
    }

    /// As `repr` writes it.
    fn python(double: f64) -> String {
        let sign = if double.is_sign_negative() { "-" } else { "" };
        let (mantissa, exponent) = shortest(double);
        match exponent {
            -4..16 => format!("{double:?}"),
            _ if double == 0.0 => format!("{sign}0.0"),
            16.. => format!("{sign}{mantissa}e+{exponent:02}"),
            _ => format!("{sign}{mantissa}e-{:02}", -exponent),
        }
    }

    /// As `JSON.stringify` writes it.
    fn javascript(double: f64) -> String {
        let sign = if double < 0.0 { "-" } else { "" };
        let (mantissa, exponent) = shortest(double);
        match exponent {
            _ if double == 0.0 => "0".into(),
            -6..21 => format!("{double}"),
            21.. => format!("{sign}{mantissa}e+{exponent}"),
            _ => format!("{sign}{mantissa}e-{}", -exponent),
        }
    }

    #[test]
    fn writers_are_as_they_are() {
        for (double, by_python, by_javascript) in [
            (1e16, "1e+16", "10000000000000000"),
            (123456789012345680.0, "1.2345678901234568e+17", "123456789012345680"),
            (1e21, "1e+21", "1e+21"),
            (0.0001, "0.0001", "0.0001"),
            (-0.00001, "-1e-05", "-0.00001"),
            (1.5e-7, "1.5e-07", "1.5e-7"),
            (5.0, "5.0", "5"),
            (-0.0, "-0.0", "0"),
        ] {
            assert_eq!((&*python(double), &*javascript(double)), (by_python, by_javascript));
        }
    }

    #[test]
    fn the_ends_of_the_doubles_are_plain() {
        for double in
            [f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::from_bits(1), -f64::from_bits(1), 1e308, 9e307]
        {
            for text in [python(double), javascript(double), double.to_string()] {
                assert!(accepts(&PLAIN_NUMBER, &text), "{text}");
            }
        }
        for text in
            ["1e309", "1e+309", "1.7976931348623159e+308", "2e-324", "1e-400", "2e-400", "1E+20", "1e20"]
        {
            assert!(!accepts(&PLAIN_NUMBER, text), "{text}");
        }
    }
}
