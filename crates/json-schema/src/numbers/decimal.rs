//! Exact decimal numbers, as JSON writes them.
//!
//! Bounds such as `0.1`, `-12.50` or `1e308` must not pass through binary floating point: a range language
//! is built from their digits. A [`Decimal`] is normal (no leading or trailing zero digit), so equal numbers
//! are equal values. All operations are linear in the number of digits.

use std::cmp::Ordering;

/// The greatest power of ten, up or down, of a decimal that is taken.
const MAX_EXPONENT: i64 = 1_000_000;

/// `±digits × 10^exponent`.
///
/// Invariant: `digits` are ASCII digits, the first and the last not `0`; zero has none, exponent 0 and no
/// sign.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Decimal {
    is_negative: bool,
    digits: Box<[u8]>,
    exponent: i64,
}

impl Decimal {
    /// The number that a JSON number text writes; `None` if its power of ten is beyond a million.
    pub(crate) fn parse(text: &str) -> Option<Decimal> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)),
            None => (text, Some(0)),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let n_trailing = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
        digits.truncate(digits.len() - n_trailing);
        let n_leading = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..n_leading);
        if digits.is_empty() {
            return Some(Decimal { is_negative: false, digits: Box::default(), exponent: 0 });
        }
        let exponent = exponent? + n_trailing as i64 - fraction.len() as i64;
        (exponent.abs() <= MAX_EXPONENT).then(|| Decimal { is_negative, digits: digits.into(), exponent })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.is_negative
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The power of ten of the last digit that is not zero.
    pub(crate) fn exponent(&self) -> i64 {
        self.exponent
    }

    /// The digits without the power of ten, if they fit.
    pub(crate) fn mantissa(&self) -> Option<u64> {
        self.digits
            .iter()
            .try_fold(0u64, |sum, &digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
    }

    /// The closest double, as readers of JSON find it.
    pub(crate) fn to_f64(&self) -> f64 {
        let digits =
            if self.is_zero() { "0" } else { std::str::from_utf8(&self.digits).expect("ASCII digits") };
        let magnitude: f64 =
            format!("{digits}e{}", self.exponent).parse().expect("it is written as Rust reads it");
        if self.is_negative { -magnitude } else { magnitude }
    }

    /// Whether this is a whole multiple of `divisor`.
    pub(crate) fn is_multiple_of(&self, divisor: &Multiple) -> bool {
        if self.is_zero() {
            return true;
        }
        // The last digit is not zero, so a divisor with a higher power of ten cannot divide.
        let Ok(shift) = u64::try_from(self.exponent - divisor.exponent) else { return false };
        let modulus = u128::from(divisor.mantissa);
        let step = |remainder: u128, digit: u8| (remainder * 10 + u128::from(digit - b'0')) % modulus;
        let remainder = self.digits.iter().fold(0, |remainder, &digit| step(remainder, digit));
        (0..shift).fold(remainder, |remainder, _| step(remainder, b'0')) == 0
    }

    /// The first digit of the magnitude, the digits behind it, and the power of ten of the first; `None` for
    /// zero.
    pub(crate) fn scientific(&self) -> Option<(u8, &[u8], i64)> {
        let (&first, rest) = self.digits.split_first()?;
        Some((first, rest, self.exponent + rest.len() as i64))
    }

    /// The digits before and after the point of the magnitude (`0` and nothing for zero); `None` if that
    /// takes more than `limit` digits.
    pub(crate) fn split(&self, limit: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        if self.is_zero() {
            return Some((vec![b'0'], Vec::new()));
        }
        let n_digits = self.digits.len() as i64;
        let point = n_digits + self.exponent;
        if point.max(-self.exponent) > limit as i64 || self.digits.len() > limit {
            return None;
        }
        let zeros = |n: i64| std::iter::repeat_n(b'0', usize::try_from(n).unwrap_or(0));
        Some(if point <= 0 {
            (vec![b'0'], zeros(-point).chain(self.digits.iter().copied()).collect())
        } else if self.exponent >= 0 {
            (self.digits.iter().copied().chain(zeros(self.exponent)).collect(), Vec::new())
        } else {
            let (whole, fraction) =
                self.digits.split_at(usize::try_from(point).expect("positive, and below the limit"));
            (whole.to_vec(), fraction.to_vec())
        })
    }

    /// The number in plain notation, without a needless zero; `None` if that takes more than `limit` digits.
    pub(crate) fn plain(&self, limit: usize) -> Option<String> {
        let (whole, fraction) = self.split(limit)?;
        let mut text = String::with_capacity(whole.len() + fraction.len() + 2);
        if self.is_negative {
            text.push('-');
        }
        text.extend(whole.into_iter().map(char::from));
        if !fraction.is_empty() {
            text.push('.');
            text.extend(fraction.into_iter().map(char::from));
        }
        Some(text)
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let exponent: i64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    (exponent.abs() <= MAX_EXPONENT).then_some(exponent)
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let sign = |decimal: &Decimal| match (decimal.is_zero(), decimal.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            // Normal digits compare as fractions 0.d1d2…, once the powers of ten of the first digits agree.
            let point = |decimal: &Decimal| decimal.digits.len() as i64 + decimal.exponent;
            let magnitude = point(self).cmp(&point(other)).then_with(|| self.digits.cmp(&other.digits));
            if self.is_negative { magnitude.reverse() } else { magnitude }
        })
    }
}

/// A divisor: `mantissa × 10^exponent`, greater than zero, the mantissa without a trailing zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Multiple {
    pub(crate) mantissa: u64,
    pub(crate) exponent: i64,
}

impl Multiple {
    /// `None` if the divisor has more than 64 bits of digits. It must be greater than zero.
    pub(crate) fn new(divisor: &Decimal) -> Option<Multiple> {
        Some(Multiple { mantissa: divisor.mantissa()?, exponent: divisor.exponent() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn equal_numbers_are_equal_values() {
        for (left, right) in
            [("1", "1.0"), ("100", "1e2"), ("-0.0", "0"), ("0.10", "1E-1"), ("12.50", "125e-1")]
        {
            assert_eq!(decimal(left), decimal(right), "{left} {right}");
        }
        assert_eq!(Decimal::parse("1e9999999"), None);
        assert_eq!(Decimal::parse("0e9999999999999999999"), Some(decimal("0")));
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ascending = [
            "-1e3", "-12.5", "-1", "-0.5", "-0.05", "0", "0.049", "0.05", "0.5", "1", "1.5", "9", "10",
            "1e308",
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                assert_eq!(decimal(left).cmp(&decimal(right)), i.cmp(&j), "{left} {right}");
            }
        }
    }

    #[test]
    fn divisibility_is_exact() {
        let divides =
            |divisor, number| decimal(number).is_multiple_of(&Multiple::new(&decimal(divisor)).unwrap());
        assert!(
            divides("0.01", "19.99") && divides("0.1", "0.3") && divides("2.5", "1e1") && divides("7", "-49")
        );
        assert!(
            !divides("0.01", "19.999") && !divides("10", "5") && !divides("7", "50") && !divides("2.5", "1")
        );
        assert!(divides("123456789", "0") && divides("1e-7", "3"));
    }

    #[test]
    fn plain_notation() {
        for (text, plain) in
            [("1e3", "1000"), ("-12.50", "-12.5"), ("5e-3", "0.005"), ("0.0", "0"), ("1234.5", "1234.5")]
        {
            assert_eq!(decimal(text).plain(100).unwrap(), plain);
        }
        assert_eq!(decimal("1e308").plain(100), None);
    }
}
