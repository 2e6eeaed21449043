//! The texts of numbers between bounds.
//!
//! Here in plain notation, `-?digits(.digits)?`; [`scientific`](crate::numbers::scientific) has the other
//! one. Bounds are compared digit by digit, from exact decimals; the expressions have no intersections, and
//! their size is at most quadratic in the digits of the bounds.
//!
//! At each digit a text is *tight* with the lower or the upper bound (equal to it so far) or free of it.

use maskwright_automata::{ByteSet, Regex};

use crate::numbers::number::{Bound, NumberRange};
use crate::numbers::numeral::{DIGIT, INTEGER, NUMBER, WHOLE_NUMBER, ZERO_FRACTION};
use crate::numbers::plain::PLAIN_INTEGER;

/// What may follow the point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fraction {
    /// There is no point, and no `-0`.
    Integer,
    /// There is no point.
    None,
    /// At most `.0`.
    Zero,
    /// At most so many digits, at least 1.
    UpTo(u32),
    /// Any digits.
    Any,
}

/// A bound on a magnitude, in digits.
pub(crate) struct End {
    /// Without a leading zero; `0` itself for zero.
    pub(crate) whole: Vec<u8>,
    /// Without a trailing zero.
    pub(crate) fraction: Vec<u8>,
    pub(crate) is_exclusive: bool,
}

/// The numbers within the bounds of `range`, whose other constraints are not looked at; its lower
/// bound must not exceed the upper one. `Err` names a bound
/// that takes more than `max_digits` digits.
pub(crate) fn range_regex(
    range: &NumberRange,
    fraction: Fraction,
    max_digits: usize,
) -> Result<Regex, &'static str> {
    if range.lower.is_none() && range.upper.is_none() {
        return Ok(match fraction {
            Fraction::Integer => PLAIN_INTEGER.clone(),
            Fraction::None => WHOLE_NUMBER.clone(),
            Fraction::Zero => INTEGER.clone(),
            Fraction::Any => NUMBER.clone(),
            Fraction::UpTo(n) => Regex::concat([WHOLE_NUMBER.clone(), up_to(n).optional()]),
        });
    }
    let end = |bound: &Option<Bound>, name: &'static str| -> Result<_, &'static str> {
        match bound {
            None => Ok(None),
            Some(bound) => {
                let (whole, fraction) = bound.value.split(max_digits).ok_or(name)?;
                Ok(Some((
                    bound.value.is_negative(),
                    End { whole, fraction, is_exclusive: bound.is_exclusive },
                )))
            }
        }
    };
    let lower = end(&range.lower, "minimum")?;
    let upper = end(&range.upper, "maximum")?;
    let zero = End { whole: vec![b'0'], fraction: Vec::new(), is_exclusive: false };
    let one = End { whole: vec![b'1'], fraction: Vec::new(), is_exclusive: false };
    let is_zero = |end: &End| end.whole == b"0" && end.fraction.is_empty();
    let positive = match (&lower, &upper) {
        (_, Some((true, _))) => Regex::empty(),
        (Some((false, lower)), upper) => magnitudes(lower, upper.as_ref().map(|upper| &upper.1), fraction),
        (_, upper) => magnitudes(&zero, upper.as_ref().map(|upper| &upper.1), fraction),
    };
    let negative = match (&lower, &upper) {
        (Some((false, lower)), _) if !is_zero(lower) => Regex::empty(),
        (lower, upper) => {
            let greatest = lower.as_ref().map(|lower| &lower.1);
            match upper {
                Some((is_negative, upper))
                    if *is_negative || is_zero(upper) && fraction != Fraction::Integer =>
                {
                    magnitudes(upper, greatest, fraction)
                }
                _ if fraction == Fraction::Integer => magnitudes(&one, greatest, fraction),
                _ => magnitudes(&zero, greatest, fraction),
            }
        }
    };
    Ok(Regex::union([positive, Regex::concat([Regex::byte(b'-'), negative])]))
}

/// Up to `n` digits after a point, at least one.
fn up_to(n: u32) -> Regex {
    Regex::concat([Regex::byte(b'.'), DIGIT.repeat(1, Some(n))])
}

/// The texts, without a sign, of the numbers from `lower` to `upper`.
pub(crate) fn magnitudes(lower: &End, upper: Option<&End>, fraction: Fraction) -> Regex {
    let limit = match fraction {
        Fraction::Integer | Fraction::None => return whole_magnitudes(lower, upper),
        Fraction::Zero => return Regex::concat([whole_magnitudes(lower, upper), ZERO_FRACTION.clone()]),
        Fraction::UpTo(n) => Some(n),
        Fraction::Any => None,
    };
    if let Some(upper) = upper
        && upper.whole == lower.whole
    {
        return Regex::concat([Regex::literal(&lower.whole), fractions(Some(lower), Some(upper), limit)]);
    }
    let at_lower = Regex::concat([Regex::literal(&lower.whole), fractions(Some(lower), None, limit)]);
    let free = fractions(None, None, limit);
    let first_free = increment(&lower.whole);
    match upper {
        None => Regex::union([at_lower, Regex::concat([wholes(&first_free, None), free])]),
        Some(upper) => {
            let at_upper = Regex::concat([Regex::literal(&upper.whole), fractions(None, Some(upper), limit)]);
            let between = match decrement(&upper.whole) {
                Some(last_free) => Regex::concat([wholes(&first_free, Some(&last_free)), free]),
                None => Regex::empty(),
            };
            Regex::union([at_lower, between, at_upper])
        }
    }
}

fn whole_magnitudes(lower: &End, upper: Option<&End>) -> Regex {
    let first = if lower.is_exclusive || !lower.fraction.is_empty() {
        increment(&lower.whole)
    } else {
        lower.whole.clone()
    };
    match upper {
        None => wholes(&first, None),
        Some(upper) if upper.is_exclusive && upper.fraction.is_empty() => match decrement(&upper.whole) {
            Some(last) => wholes(&first, Some(&last)),
            None => Regex::empty(),
        },
        Some(upper) => wholes(&first, Some(&upper.whole)),
    }
}

/// Digits between bounds, position by position; what differs between whole parts and fractions.
struct Layout<Free, End, Close> {
    /// How many positions the bounds have digits for.
    n: usize,
    /// The least first digit; all others start at 0.
    least: u8,
    /// What may follow from a position on, if the text is strictly between the bounds by then.
    free: Free,
    /// Whether the text may end before a position, by whether it is tight with the lower and the upper bound.
    may_end: End,
    /// What may follow position `n`, by whether the text is tight with the lower and the upper bound.
    close: Close,
}

impl<Free, End, Close> Layout<Free, End, Close>
where
    Free: Fn(usize) -> Regex,
    End: Fn(usize, bool, bool) -> bool,
    Close: Fn(bool, bool) -> Regex,
{
    /// The digits from `low` to `high`; missing digits of a bound are 0. As a flat union, one member for
    /// each position at which a text may leave a bound: nested, it would be as deep as a bound is long.
    fn between(&self, low: Option<&[u8]>, high: Option<&[u8]>) -> Regex {
        let mut members = Vec::new();
        match (low, high) {
            (None, None) => members.push((self.free)(0)),
            (Some(bound), None) => self.leave(bound, true, 0, Vec::new(), &mut members),
            (None, Some(bound)) => self.leave(bound, false, 0, Vec::new(), &mut members),
            (Some(low), Some(high)) => {
                let mut prefix = Vec::new();
                loop {
                    let i = prefix.len();
                    if i > 0 && (self.may_end)(i, true, true) {
                        members.push(Regex::literal(&prefix));
                    }
                    if i == self.n {
                        members.push(Regex::concat([Regex::literal(&prefix), (self.close)(true, true)]));
                        break;
                    }
                    let (first, last) = (digit(low, i), digit(high, i));
                    if first != last {
                        members.push(self.step(&prefix, first + 1, last.saturating_sub(1)));
                        // Above its upper bound there is nothing.
                        if first < last {
                            for (bound, is_low) in [(low, true), (high, false)] {
                                let mut prefix = prefix.clone();
                                prefix.push(digit(bound, i));
                                self.leave(bound, is_low, i + 1, prefix, &mut members);
                            }
                        }
                        break;
                    }
                    prefix.push(first);
                }
            }
        }
        Regex::union(members)
    }

    /// The texts that go on after `prefix`, up to position `from`, tight with one bound.
    fn leave(&self, bound: &[u8], is_low: bool, from: usize, mut prefix: Vec<u8>, members: &mut Vec<Regex>) {
        for i in from..self.n {
            if i > 0 && (self.may_end)(i, is_low, !is_low) {
                members.push(Regex::literal(&prefix));
            }
            let tight = digit(bound, i);
            members.push(if is_low {
                self.step(&prefix, tight + 1, b'9')
            } else {
                let least = if i == 0 { self.least } else { b'0' };
                self.step(&prefix, least, tight - 1)
            });
            prefix.push(tight);
        }
        members.push(Regex::concat([Regex::literal(&prefix), (self.close)(is_low, !is_low)]));
    }

    /// After `prefix`, a digit from `first` to `last` that leaves the bounds behind.
    fn step(&self, prefix: &[u8], first: u8, last: u8) -> Regex {
        let class = Regex::bytes(ByteSet::range(first, last));
        Regex::concat([Regex::literal(prefix), class, (self.free)(prefix.len() + 1)])
    }
}

/// A bound's digit at a position.
fn digit(bound: &[u8], i: usize) -> u8 {
    bound.get(i).copied().unwrap_or(b'0')
}

/// Whole numbers from `low` to `high`, without leading zeros.
pub(crate) fn wholes(low: &[u8], high: Option<&[u8]>) -> Regex {
    let n = low.len();
    match high {
        Some(high) if high.len() < n || (high.len() == n && high < low) => Regex::empty(),
        Some(high) if high.len() == n => wholes_of_length(n, Some(low), Some(high)),
        Some(high) => Regex::union([
            wholes_of_length(n, Some(low), None),
            longer(n, Some(high.len() - 1)),
            wholes_of_length(high.len(), None, Some(high)),
        ]),
        None => Regex::union([wholes_of_length(n, Some(low), None), longer(n, None)]),
    }
}

/// Whole numbers of more than `n` and at most `max` digits; `n` is at least 1.
fn longer(n: usize, max: Option<usize>) -> Regex {
    let count = |n: usize| u32::try_from(n).expect("bounds have few digits");
    if max.is_some_and(|max| max <= n) {
        return Regex::empty();
    }
    Regex::concat([
        Regex::bytes(ByteSet::range(b'1', b'9')),
        DIGIT.repeat(count(n), max.map(|max| count(max - 1))),
    ])
}

fn wholes_of_length(n: usize, low: Option<&[u8]>, high: Option<&[u8]>) -> Regex {
    let layout = Layout {
        n,
        least: if n > 1 { b'1' } else { b'0' },
        free: |i| {
            let left = u32::try_from(n - i).expect("bounds have few digits");
            DIGIT.repeat(left, Some(left))
        },
        may_end: |_, _, _| false,
        close: |_, _| Regex::epsilon(),
    };
    layout.between(low, high)
}

/// The texts after the whole part, the point included, whose value as a fraction is within the bounds, of
/// which the whole part is the same; at most `limit` digits.
fn fractions(lower: Option<&End>, upper: Option<&End>, limit: Option<u32>) -> Regex {
    if lower.is_none() && upper.is_none() {
        return match limit {
            None => Regex::concat([Regex::byte(b'.'), DIGIT.plus()]).optional(),
            Some(n) => up_to(n).optional(),
        };
    }
    let n_digits = |end: Option<&End>| end.map_or(0, |end| end.fraction.len());
    // From position `n` on both bounds have only zeros, or there are no more digits.
    let n = n_digits(lower).max(n_digits(upper)).max(1);
    let n = n.min(limit.map_or(usize::MAX, |limit| limit as usize));
    let left = |i: usize| limit.map(|limit| limit - u32::try_from(i).expect("at most the limit"));
    let has_rest = |end: Option<&End>, i: usize| end.is_some_and(|end| end.fraction.len() > i);
    let is_exclusive = |end: Option<&End>| end.is_some_and(|end| end.is_exclusive);
    // What is missing counts as zeros.
    let may_end = |i: usize, is_low: bool, is_high: bool| {
        (!is_low || (!has_rest(lower, i) && !is_exclusive(lower)))
            && (!is_high || has_rest(upper, i) || !is_exclusive(upper))
    };
    let close = |is_low: bool, is_high: bool| {
        if left(n) == Some(0) {
            if may_end(n, is_low, is_high) { Regex::epsilon() } else { Regex::empty() }
        } else if is_high && (is_exclusive(upper) || (is_low && is_exclusive(lower))) {
            Regex::empty()
        } else if is_high {
            Regex::byte(b'0').repeat(0, left(n))
        } else if is_exclusive(lower) {
            not_all_zeros(left(n))
        } else {
            DIGIT.repeat(0, left(n))
        }
    };
    let layout = Layout { n, least: b'0', free: |i| DIGIT.repeat(0, left(i)), may_end, close };
    let digits = layout.between(lower.map(|end| &*end.fraction), upper.map(|end| &*end.fraction));
    let none = if may_end(0, lower.is_some(), upper.is_some()) { Regex::epsilon() } else { Regex::empty() };
    Regex::union([none, Regex::concat([Regex::byte(b'.'), digits])])
}

/// Up to `n` digits, not all of them zero.
fn not_all_zeros(n: Option<u32>) -> Regex {
    let nonzero = Regex::bytes(ByteSet::range(b'1', b'9'));
    match n {
        None => Regex::concat([Regex::byte(b'0').star(), nonzero, DIGIT.star()]),
        Some(n) => (0..n).fold(Regex::empty(), |shorter, more| {
            Regex::union([
                Regex::concat([nonzero.clone(), DIGIT.repeat(0, Some(more))]),
                Regex::concat([Regex::byte(b'0'), shorter]),
            ])
        }),
    }
}

fn increment(digits: &[u8]) -> Vec<u8> {
    let mut digits = digits.to_vec();
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return digits;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
    digits
}

/// `None` for zero.
fn decrement(digits: &[u8]) -> Option<Vec<u8>> {
    let mut digits = digits.to_vec();
    for digit in digits.iter_mut().rev() {
        if *digit > b'0' {
            *digit -= 1;
            if digits[0] == b'0' && digits.len() > 1 {
                digits.remove(0);
            }
            return Some(digits);
        }
        *digit = b'9';
    }
    None
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use maskwright_automata::Fuel;
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::decimal::Decimal;
    use crate::strings::words::Matcher;

    const NUMBER: &str = "-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,3})?";

    fn bound(text: &str, is_exclusive: bool) -> Bound {
        Bound { value: Rc::new(Decimal::parse(text).unwrap()), is_exclusive }
    }

    /// Numbers with few digits, so that bounds and texts often meet.
    fn close() -> impl Strategy<Value = String> {
        prop_oneof![NUMBER, "-?(0|[1-2][0-1]{0,2})(\\.[0-1]{1,3})?", "-?[0-9](\\.[09]{1,3})?"]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_text_is_a_word_iff_its_number_is_in_the_range(
            (lower, upper) in (prop::option::of(close()), prop::option::of(close())),
            (lower_exclusive, upper_exclusive) in (any::<bool>(), any::<bool>()),
            fraction in prop_oneof![Just(Fraction::Integer), Just(Fraction::None), Just(Fraction::Zero), (1..4u32).prop_map(Fraction::UpTo), Just(Fraction::Any)],
            texts in prop::collection::vec(close(), 8),
        ) {
            let range = NumberRange {
                lower: lower.as_deref().map(|text| bound(text, lower_exclusive)),
                upper: upper.as_deref().map(|text| bound(text, upper_exclusive)),
                ..NumberRange::default()
            };
            let Some(range) = range.non_empty() else { return Ok(()) };
            let regex = range_regex(&range, fraction, 100).unwrap();
            let mut matcher = Matcher::new(&regex);
            // The bounds themselves are the texts most likely to be wrong.
            for text in texts.iter().chain(&lower).chain(&upper) {
                let decimals = text.split_once('.').map(|(_, decimals)| decimals);
                let has_form = match fraction {
                    Fraction::Integer => decimals.is_none() && text != "-0",
                    Fraction::None => decimals.is_none(),
                    Fraction::Zero => decimals.is_none_or(|decimals| decimals == "0"),
                    Fraction::UpTo(n) => decimals.is_none_or(|decimals| decimals.len() <= n as usize),
                    Fraction::Any => true,
                };
                let is_in = has_form && range.contains(&Decimal::parse(text).unwrap());
                prop_assert_eq!(matcher.matches(text, &Fuel::unlimited()).unwrap(), is_in, "{}", text);
            }
        }
    }
}
