//! Moves exclusive bounds so that readers which parse numbers as doubles agree with them.
//!
//! Such a reader rounds a number before it compares it: it reads `2e-400` as 0 and `1.0000000000000001` as 1.
//! So a text can be above an exclusive bound although the reader finds it equal. Plain numbers stay so far
//! from the bound that all readers agree. A printer of doubles never writes any of the texts that this
//! excludes.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::numbers::decimal::Decimal;
use crate::numbers::number::{Bound, NumberRange};
use crate::numbers::plain::{GREATEST, GREATEST_EXPONENT};

/// How many digits a moved bound has: more than plain numbers with a fraction have.
const DIGITS: usize = 20;

/// The range with the same plain numbers, except those that are rounded onto an exclusive bound. Bounds
/// beyond all doubles are removed, and exclusive bounds are moved to the first number that is not rounded
/// onto them. `None` if nothing is left.
pub(crate) fn apart_from_bounds(range: &NumberRange) -> Option<NumberRange> {
    let moved = |bound: &Option<Bound>, is_lower: bool| {
        bound.as_ref().filter(|bound| !is_beyond(bound, is_lower)).map(|bound| apart(bound, is_lower))
    };
    NumberRange { lower: moved(&range.lower, true), upper: moved(&range.upper, false), ..range.clone() }
        .non_empty()
}

/// Whether all doubles are within a bound.
fn is_beyond(bound: &Bound, is_lower: bool) -> bool {
    let sign = if is_lower { "-" } else { "" };
    let exponent = GREATEST_EXPONENT as usize + 1 - GREATEST.len();
    let Some(end) = Decimal::parse(&format!("{sign}{GREATEST}e{exponent}")) else { return false };
    match (*bound.value).cmp(&end) {
        Ordering::Equal => !bound.is_exclusive,
        order => (order == Ordering::Less) == is_lower,
    }
}

/// The same bound, moved just far enough that it allows no number that is rounded onto it.
fn apart(bound: &Bound, is_lower: bool) -> Bound {
    let double = bound.value.to_f64();
    let next = if is_lower { double.next_up() } else { double.next_down() };
    // Plain numbers are never rounded to zero.
    if !bound.is_exclusive || double == 0.0 || next == 0.0 || !double.is_finite() || !next.is_finite() {
        return bound.clone();
    }
    let (low, high) = (double.abs().min(next.abs()), double.abs().max(next.abs()));
    let (threshold, exponent) = first_above(low, high);
    // Away from zero, the first number that is rounded to the next double; towards zero, the one before it.
    let digits = if next.abs() > double.abs() { threshold } else { threshold - 1 };
    let sign = if double < 0.0 { "-" } else { "" };
    match Decimal::parse(&format!("{sign}{digits}e{exponent}")) {
        Some(value) => Bound { value: Rc::new(value), is_exclusive: false },
        None => bound.clone(),
    }
}

/// The least number of [`DIGITS`] digits that is rounded to `high`, a positive double, and not to `low`, the
/// one before it: its digits and their power of ten.
fn first_above(low: f64, high: f64) -> (u128, i32) {
    let written = format!("{high:.*e}", DIGITS - 1);
    let (digits, exponent) = written.split_once('e').expect("it is written with an exponent");
    let mut above: u128 = digits.replace('.', "").parse().expect("digits");
    let exponent = exponent.parse::<i32>().expect("a small number") - (DIGITS as i32 - 1);
    let is_above = |digits: u128| {
        let double: f64 = format!("{digits}e{exponent}").parse().expect("a number");
        double > low
    };
    let mut step = 1;
    let mut below = above;
    while below > 0 && is_above(below) {
        below = below.saturating_sub(step);
        step *= 2;
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if is_above(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    (above, exponent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exclusive(text: &str) -> Bound {
        Bound { value: Rc::new(Decimal::parse(text).unwrap()), is_exclusive: true }
    }

    #[test]
    fn bounds_that_all_doubles_are_within_are_left_out() {
        for (text, is_beyond) in
            [("1.7976931348623157e308", true), ("1e400", true), ("1.7976931348623156e308", false)]
        {
            let bound = Bound { is_exclusive: false, ..exclusive(text) };
            let range = NumberRange { upper: Some(bound), ..NumberRange::default() };
            assert_eq!(apart_from_bounds(&range).unwrap().upper.is_none(), is_beyond, "{text}");
        }
        let range = NumberRange { lower: Some(exclusive("1e400")), ..NumberRange::default() };
        assert!(apart_from_bounds(&range).unwrap().lower.is_some(), "it is not within any");
    }

    /// Doubles, most of them close to a power of ten or two.
    fn doubles() -> impl Strategy<Value = f64> {
        let near = (-300..300i32, -3..4i64, any::<bool>()).prop_map(|(power, steps, is_ten)| {
            let base: f64 = if is_ten { format!("1e{power}").parse().unwrap() } else { 2f64.powi(power) };
            f64::from_bits((base.to_bits() as i64 + steps) as u64)
        });
        prop_oneof![near, prop::num::f64::POSITIVE | prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_number_of_17_digits_is_within_the_moved_bound_iff_its_double_is_beyond_the_bounds(
            bound in doubles(), is_negative: bool, is_lower: bool, steps in -40..40i64,
        ) {
            let sign = if is_negative { "-" } else { "" };
            let range = |bound| match is_lower {
                true => NumberRange { lower: Some(bound), ..NumberRange::default() },
                false => NumberRange { upper: Some(bound), ..NumberRange::default() },
            };
            let text = format!("{sign}{bound}");
            let moved = apart_from_bounds(&range(exclusive(&text))).unwrap();
            // A number of 17 digits close to the bound.
            let written = format!("{bound:.16e}");
            let (digits, exponent) = written.split_once('e').unwrap();
            let digits: i64 = digits.replace('.', "").parse().unwrap();
            let number = format!("{sign}{}e{}", digits + steps, exponent.parse::<i32>().unwrap() - 16);
            let (read, bound) = (number.parse::<f64>().unwrap(), text.parse::<f64>().unwrap());
            prop_assume!(read.is_finite());
            let is_within = if is_lower { read > bound } else { read < bound };
            prop_assert_eq!(moved.contains(&Decimal::parse(&number).unwrap()), is_within, "{} and {}", text, number);
        }
    }
}
