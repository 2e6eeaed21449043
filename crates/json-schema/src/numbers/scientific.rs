//! The texts of numbers between bounds in scientific notation, as printers of floating point write them
//! (`1e-06`, `2.5E+20`).
//!
//! One digit that is not zero stands before the point, so the powers of ten alone say which of two numbers is
//! greater, unless they are the same; then the digits do. Any other notation with an exponent would have to
//! be compared by how many digits stand before it, which no small automaton can follow. Zero has no such
//! notation.

use maskwright_automata::Regex;

use crate::numbers::number::{Bound, NumberRange};
use crate::numbers::range::Fraction;
use crate::numbers::range::{End, magnitudes, wholes};

/// A positive bound: its leading digits with the point behind the first, and their power of ten.
struct Scientific {
    end: End,
    exponent: i64,
}

impl Scientific {
    /// The magnitude of a bound; `None` if it is zero.
    fn of(bound: &Bound) -> Option<Scientific> {
        let (first, rest, exponent) = bound.value.scientific()?;
        let end = End { whole: vec![first], fraction: rest.to_vec(), is_exclusive: bound.is_exclusive };
        Some(Scientific { end, exponent })
    }
}

/// The numbers within the bounds of `range`, whose other constraints are not looked at, but zero; at least
/// one bound is there.
pub(crate) fn scientific_regex(range: &NumberRange) -> Regex {
    let is_above_zero = |bound: &Option<Bound>| {
        bound.as_ref().is_some_and(|bound| !bound.value.is_negative() && !bound.value.is_zero())
    };
    let is_below_zero = |bound: &Option<Bound>| bound.as_ref().is_some_and(|bound| bound.value.is_negative());
    let is_zero = |bound: &Option<Bound>| bound.as_ref().is_some_and(|bound| bound.value.is_zero());
    let magnitude = |bound: &Option<Bound>| bound.as_ref().and_then(Scientific::of);
    let positive = if is_below_zero(&range.upper) || is_zero(&range.upper) {
        Regex::empty()
    } else {
        let least = magnitude(&range.lower).filter(|_| is_above_zero(&range.lower));
        between(least.as_ref(), magnitude(&range.upper).as_ref())
    };
    let negative = if is_above_zero(&range.lower) || is_zero(&range.lower) {
        Regex::empty()
    } else {
        let least = magnitude(&range.upper).filter(|_| is_below_zero(&range.upper));
        between(least.as_ref(), magnitude(&range.lower).as_ref())
    };
    Regex::union([positive, Regex::concat([Regex::byte(b'-'), negative])])
}

/// The texts, without a sign, from `least` to `most`.
fn between(least: Option<&Scientific>, most: Option<&Scientific>) -> Regex {
    let one = || End { whole: vec![b'1'], fraction: Vec::new(), is_exclusive: false };
    let ten = || End { whole: b"10".to_vec(), fraction: Vec::new(), is_exclusive: true };
    let digits = |low: &End, high: &End| magnitudes(low, Some(high), Fraction::Any);
    let text = |digits: Regex, exponents: Regex| {
        Regex::concat([digits, Regex::bytes([b'e', b'E'].into_iter().collect()), exponents])
    };
    if let (Some(least), Some(most)) = (least, most)
        && least.exponent >= most.exponent
    {
        let exponent = least.exponent;
        return if exponent > most.exponent {
            Regex::empty()
        } else {
            text(digits(&least.end, &most.end), exponents(Some(exponent), Some(exponent)))
        };
    }
    let mut members = Vec::new();
    if let Some(Scientific { end, exponent }) = least {
        members.push(text(digits(end, &ten()), exponents(Some(*exponent), Some(*exponent))));
    }
    if let Some(Scientific { end, exponent }) = most {
        members.push(text(digits(&one(), end), exponents(Some(*exponent), Some(*exponent))));
    }
    let (first, last) = (least.map(|least| least.exponent + 1), most.map(|most| most.exponent - 1));
    if first.is_none_or(|first| last.is_none_or(|last| first <= last)) {
        members.push(text(digits(&one(), &ten()), exponents(first, last)));
    }
    Regex::union(members)
}

/// The texts of exponents from `first` to `last`, with a sign or not, and a zero in front or not.
fn exponents(first: Option<i64>, last: Option<i64>) -> Regex {
    let signed = |signs: Regex, low: i64, high: Option<i64>| {
        let text = |value: i64| value.to_string().into_bytes();
        if high.is_some_and(|high| high < low) {
            return Regex::empty();
        }
        let digits = wholes(&text(low), high.map(text).as_deref());
        Regex::concat([signs, Regex::byte(b'0').optional(), digits])
    };
    let plus = signed(Regex::byte(b'+').optional(), first.unwrap_or(0).max(0), last);
    let minus = signed(Regex::byte(b'-'), last.map_or(0, |last| -last).max(0), first.map(|first| -first));
    Regex::union([plus, minus])
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use maskwright_automata::Fuel;
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::decimal::Decimal;
    use crate::strings::words::Matcher;

    const TEXT: &str = "-?[1-9](\\.[0-9]{1,3})?[eE][+-]?0?([0-9]|1[0-9])";

    fn number() -> impl Strategy<Value = String> {
        prop_oneof![TEXT, "-?[1-2](\\.[019]{1,2})?e-?[0-2]", "-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,3})?"]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_text_is_a_word_iff_its_number_is_in_the_range(
            (lower, upper) in (prop::option::of(number()), prop::option::of(number())),
            (lower_exclusive, upper_exclusive) in (any::<bool>(), any::<bool>()),
            texts in prop::collection::vec(number(), 8),
        ) {
            let bound = |text: &String, is_exclusive: bool| Bound {
                value: Rc::new(Decimal::parse(text).unwrap()),
                is_exclusive,
            };
            let range = NumberRange {
                lower: lower.as_ref().map(|text| bound(text, lower_exclusive)),
                upper: upper.as_ref().map(|text| bound(text, upper_exclusive)),
                ..NumberRange::default()
            };
            prop_assume!(range.lower.is_some() || range.upper.is_some());
            let Some(range) = range.non_empty() else { return Ok(()) };
            let mut matcher = Matcher::new(&scientific_regex(&range));
            for text in texts.iter().chain(&lower).chain(&upper) {
                let has_form = text.contains(['e', 'E']);
                let is_in = has_form && range.contains(&Decimal::parse(text).unwrap());
                prop_assert_eq!(matcher.matches(text, &Fuel::unlimited()).unwrap(), is_in, "{}", text);
            }
        }
    }
}
