//! Sets of numbers and their intersection.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::numbers::decimal::{Decimal, Multiple};

/// Numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberSet<'a> {
    /// One of a list.
    Values(Rc<[NumberValue<'a>]>),
    /// All that satisfy each constraint.
    Range(NumberRange),
}

/// A number and how the schema writes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumberValue<'a> {
    pub(crate) value: Rc<Decimal>,
    pub(crate) text: &'a str,
    /// Whether the schema also requires an integer.
    pub(crate) is_integer: bool,
}

/// Numbers between bounds that are whole multiples of each of `multiples` and, if asked, integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct NumberRange {
    pub(crate) lower: Option<Bound>,
    pub(crate) upper: Option<Bound>,
    pub(crate) multiples: Vec<Multiple>,
    /// What they are no whole multiples of.
    pub(crate) non_multiples: Vec<Multiple>,
    pub(crate) is_integer: bool,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bound {
    pub(crate) value: Rc<Decimal>,
    pub(crate) is_exclusive: bool,
}

impl<'a> NumberSet<'a> {
    pub(crate) fn any() -> NumberSet<'a> {
        NumberSet::Range(NumberRange::default())
    }

    /// The numbers in both; `None` if it is seen that there are none.
    pub(crate) fn intersect(&self, other: &NumberSet<'a>) -> Option<NumberSet<'a>> {
        // The values that stay, each with whether it must be an integer.
        let keep = |values: &Rc<[NumberValue<'a>]>, holds: &dyn Fn(&NumberValue<'a>) -> Option<bool>| {
            let mut is_same = true;
            let mut kept = Vec::with_capacity(values.len());
            for value in values.iter() {
                let is_integer = holds(value);
                is_same &= is_integer == Some(value.is_integer);
                kept.extend(is_integer.map(|is_integer| NumberValue { is_integer, ..value.clone() }));
            }
            match kept.len() {
                0 => None,
                _ if is_same => Some(NumberSet::Values(values.clone())),
                _ => Some(NumberSet::Values(kept.into())),
            }
        };
        match (self, other) {
            (NumberSet::Range(left), NumberSet::Range(right)) => left.intersect(right).map(NumberSet::Range),
            (NumberSet::Range(range), NumberSet::Values(values))
            | (NumberSet::Values(values), NumberSet::Range(range)) => {
                let is_integer = |value: &NumberValue<'a>| value.is_integer || range.is_integer;
                keep(values, &|value| range.contains(&value.value).then(|| is_integer(value)))
            }
            (NumberSet::Values(left), NumberSet::Values(right)) => {
                // Of equal values, those that must be integers come last.
                let mut sorted: Vec<(&Decimal, bool)> =
                    right.iter().map(|value| (&*value.value, value.is_integer)).collect();
                sorted.sort_unstable();
                keep(left, &|value| {
                    let first = sorted.partition_point(|known| *known.0 < *value.value);
                    let known = sorted.get(first).filter(|known| *known.0 == *value.value)?;
                    Some(value.is_integer || known.1)
                })
            }
        }
    }
}

impl NumberRange {
    pub(crate) fn contains(&self, value: &Decimal) -> bool {
        self.lower.as_ref().is_none_or(|bound| bound.is_below(value))
            && self.upper.as_ref().is_none_or(|bound| bound.is_above(value))
            && (!self.is_integer || value.is_integer())
            && self.multiples.iter().all(|multiple| value.is_multiple_of(multiple))
            && !self.non_multiples.iter().any(|multiple| value.is_multiple_of(multiple))
    }

    /// Its numbers in digits, if it has only integers, if there are at most `max` between its whole bounds.
    pub(crate) fn integers(&self, max: usize) -> Option<Vec<String>> {
        /// How many digits a bound may have.
        const MAX_DIGITS: usize = 18;
        let whole =
            |bound: &Option<Bound>| -> Option<i64> { bound.as_ref()?.value.plain(MAX_DIGITS)?.parse().ok() };
        let (lower, upper) = (whole(&self.lower)?, whole(&self.upper)?);
        if !self.is_integer || usize::try_from(upper.checked_sub(lower)?).ok()? >= max {
            return None;
        }
        let numbers = (lower..=upper).map(|number| number.to_string());
        Some(numbers.filter(|text| Decimal::parse(text).is_some_and(|value| self.contains(&value))).collect())
    }

    pub(crate) fn intersect(&self, other: &NumberRange) -> Option<NumberRange> {
        let tighter = |left: &Option<Bound>, right: &Option<Bound>, keep: Ordering| match (left, right) {
            (Some(left), Some(right)) => match left.value.cmp(&right.value) {
                Ordering::Equal if right.is_exclusive => Some(right.clone()),
                Ordering::Equal => Some(left.clone()),
                order if order == keep => Some(left.clone()),
                _ => Some(right.clone()),
            },
            (bound, None) | (None, bound) => bound.clone(),
        };
        let mut multiples = self.multiples.clone();
        multiples.extend(other.multiples.iter().filter(|multiple| !self.multiples.contains(multiple)));
        let mut non_multiples = self.non_multiples.clone();
        non_multiples
            .extend(other.non_multiples.iter().filter(|multiple| !self.non_multiples.contains(multiple)));
        NumberRange {
            lower: tighter(&self.lower, &other.lower, Ordering::Greater),
            upper: tighter(&self.upper, &other.upper, Ordering::Less),
            multiples,
            non_multiples,
            is_integer: self.is_integer || other.is_integer,
        }
        .non_empty()
    }

    /// The range itself, unless its bounds leave nothing between them.
    pub(crate) fn non_empty(self) -> Option<NumberRange> {
        let is_empty = match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => match lower.value.cmp(&upper.value) {
                Ordering::Less => false,
                Ordering::Equal => lower.is_exclusive || upper.is_exclusive || !self.contains(&lower.value),
                Ordering::Greater => true,
            },
            _ => false,
        };
        let is_denied = self.non_multiples.iter().any(|denied| {
            self.multiples.contains(denied)
                || (self.is_integer && denied.mantissa == 1 && denied.exponent <= 0)
        });
        (!is_empty && !is_denied).then_some(self)
    }
}

impl Bound {
    /// Whether `value` is allowed by this lower bound.
    fn is_below(&self, value: &Decimal) -> bool {
        if self.is_exclusive { *self.value < *value } else { *self.value <= *value }
    }

    /// Whether `value` is allowed by this upper bound.
    fn is_above(&self, value: &Decimal) -> bool {
        if self.is_exclusive { *value < *self.value } else { *value <= *self.value }
    }
}
