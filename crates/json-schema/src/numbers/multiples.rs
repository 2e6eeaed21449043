//! The texts of numbers that are whole multiples of a divisor.
//!
//! A divisor m·10^e with e ≤ 0 divides a text iff m divides the number that its digits write once the
//! fraction is filled up to -e digits; so an automaton that keeps the remainder by m (and, after the point,
//! how many digits went by) decides it. With e > 0 the text ends in e zeros, and it is the remainder of what
//! stands before them that counts. The automaton is intersected with that of the bounds and minimised (the
//! powers of 2 and 5 in m then cost next to nothing); the lowering makes rules of its states.
//!
//! Rejected: turning it into an expression by eliminating states. The expression is exponential as a tree,
//! and from m = 17 on its derivatives are too large for any engine; the rules are linear in the states.

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};
use rustc_hash::FxHashMap;

use crate::error::Kind;
use crate::numbers::decimal::Multiple;

/// The bytes of numbers in plain notation: the alphabet of [`Dfa`].
pub(crate) const SYMBOLS: [u8; 12] = *b"0123456789.-";
const POINT: usize = 10;
const MINUS: usize = 11;

/// A deterministic automaton over [`SYMBOLS`]; state 0 is dead, state 1 the start.
pub(crate) struct Dfa {
    pub(crate) next: Vec<[u32; SYMBOLS.len()]>,
    pub(crate) is_accepting: Vec<bool>,
}

pub(crate) const DEAD: u32 = 0;
pub(crate) const START: u32 = 1;

/// How many states of [`Dfa::of_multiples`] come before the remainders.
const WHOLE: usize = 6;

impl Dfa {
    fn with_states(n: usize) -> Dfa {
        Dfa { next: vec![[DEAD; SYMBOLS.len()]; n], is_accepting: vec![false; n] }
    }

    fn id(state: usize) -> u32 {
        u32::try_from(state).expect("states are limited")
    }

    /// The automaton of an expression, over [`SYMBOLS`]; `None` if it has more than `max_states` states.
    pub(crate) fn of_regex(regex: &Regex, max_states: usize, fuel: &Fuel) -> Result<Option<Dfa>, Kind> {
        let limit = |error| Kind::of_automaton(&error);
        let automaton = Automaton::new(regex, &AutomatonLimits::default(), fuel).map_err(limit)?;
        let mut dfa = Dfa::with_states(2);
        let Some(start) = automaton.start() else { return Ok(Some(dfa)) };
        let mut states = vec![start];
        let mut ids = FxHashMap::from_iter([(start, START)]);
        let mut at = 0;
        while let Some(&state) = states.get(at) {
            fuel.spend(SYMBOLS.len() as u64).map_err(Kind::Fuel)?;
            let from = at + START as usize;
            dfa.is_accepting[from] = automaton.is_accepting(state);
            for (symbol, &byte) in SYMBOLS.iter().enumerate() {
                let Some(next) = automaton.step(state, byte).map_err(limit)? else { continue };
                let id = *ids.entry(next).or_insert_with(|| {
                    states.push(next);
                    dfa.next.push([DEAD; SYMBOLS.len()]);
                    dfa.is_accepting.push(false);
                    Dfa::id(states.len())
                });
                dfa.next[from][symbol] = id;
            }
            if states.len() > max_states {
                return Ok(None);
            }
            at += 1;
        }
        Ok(Some(dfa))
    }

    /// Whether the automaton of the multiples of `divisor` has at most `max_states` states.
    pub(crate) fn fits(divisor: Multiple, max_states: usize) -> bool {
        Dfa::sizes(divisor).is_some_and(|[.., n_states]| n_states <= max_states)
    }

    /// Of the automaton of the multiples of `divisor`: how many remainders it tells apart, how many zeros at
    /// the end and how many decimals it counts, and how many states it has.
    fn sizes(divisor: Multiple) -> Option<[usize; 4]> {
        let m = usize::try_from(divisor.mantissa).ok()?;
        let n_zeros = usize::try_from(divisor.exponent.max(0)).ok()?;
        let n_decimals = usize::try_from((-divisor.exponent).max(0)).ok()?;
        // Levels of m remainders each: whole parts by how many zeros they end in, then fractions by digits.
        let n_levels = if n_decimals > 0 { n_decimals.checked_add(2)? } else { n_zeros.checked_add(1)? };
        let n_states = m.checked_mul(n_levels)?.checked_add(WHOLE)?;
        Some([m, n_zeros, n_decimals, n_states])
    }

    /// The automaton of the multiples of `divisor` in plain notation, with as many decimals as it needs or
    /// `.0`; `None` if it has more than `max_states` states.
    pub(crate) fn of_multiples(divisor: Multiple, max_states: usize) -> Option<Dfa> {
        const SIGNED: usize = 2;
        const ZERO: usize = 3;
        const DOT: usize = 4;
        const DOT_ZERO: usize = 5;
        let [m, n_zeros, n_decimals, n_states] = Dfa::sizes(divisor)?;
        if n_states > max_states {
            return None;
        }
        let mut dfa = Dfa::with_states(n_states);
        let level = |level: usize, remainder: usize| WHOLE + level * m + remainder;
        let times_power = |remainder: usize, power: usize| (0..power).fold(remainder, |r, _| r * 10 % m);
        for state in [START as usize, SIGNED] {
            dfa.next[state][0] = Dfa::id(ZERO);
            for digit in 1..10 {
                dfa.next[state][digit] = Dfa::id(level(0, digit % m));
            }
        }
        dfa.next[START as usize][MINUS] = Dfa::id(SIGNED);
        dfa.is_accepting[ZERO] = true;
        dfa.next[ZERO][POINT] = Dfa::id(if n_decimals > 0 { level(1, 0) } else { DOT });
        dfa.next[DOT][0] = Dfa::id(DOT_ZERO);
        dfa.is_accepting[DOT_ZERO] = true;
        for remainder in 0..m {
            // The remainder is that of the number without the zeros counted so far; no more than
            // `n_zeros` are counted.
            for zeros in 0..=n_zeros {
                let state = level(zeros, remainder);
                dfa.next[state][0] = Dfa::id(match zeros < n_zeros {
                    true => level(zeros + 1, remainder),
                    false => level(n_zeros, remainder * 10 % m),
                });
                for digit in 1..10 {
                    let shifted = times_power(remainder, zeros + 1);
                    dfa.next[state][digit] = Dfa::id(level(0, (shifted + digit) % m));
                }
            }
            if n_decimals == 0 {
                let state = level(n_zeros, remainder);
                dfa.is_accepting[state] = remainder == 0;
                if remainder == 0 {
                    dfa.next[state][POINT] = Dfa::id(DOT);
                }
                continue;
            }
            let state = level(0, remainder);
            dfa.is_accepting[state] = times_power(remainder, n_decimals) == 0;
            dfa.next[state][POINT] = Dfa::id(level(1, remainder));
            for n_digits in 0..=n_decimals {
                let state = level(1 + n_digits, remainder);
                dfa.is_accepting[state] = n_digits > 0 && times_power(remainder, n_decimals - n_digits) == 0;
                if n_digits < n_decimals {
                    for digit in 0..10 {
                        dfa.next[state][digit] = Dfa::id(level(2 + n_digits, (remainder * 10 + digit) % m));
                    }
                }
            }
        }
        Some(dfa)
    }

    /// The automaton of the texts in plain notation that write a multiple, with any number of zeros at the
    /// end of the fraction.
    fn of_all_multiples(divisor: Multiple, max_states: usize) -> Option<Dfa> {
        let mut dfa = Dfa::of_multiples(divisor, max_states)?;
        let zeros = Dfa::id(dfa.next.len());
        dfa.next.push([DEAD; SYMBOLS.len()]);
        dfa.is_accepting.push(true);
        dfa.next[zeros as usize][0] = zeros;
        // Where a fraction is complete, only zeros may follow; they did not before.
        let mut in_fraction = vec![false; dfa.next.len()];
        let mut todo: Vec<u32> =
            dfa.next.iter().map(|next| next[POINT]).filter(|&next| next != DEAD).collect();
        while let Some(state) = todo.pop() {
            if !std::mem::replace(&mut in_fraction[state as usize], true) {
                todo.extend(dfa.next[state as usize].iter().filter(|&&next| next != DEAD));
            }
        }
        for (state, _) in in_fraction.iter().enumerate().filter(|(_, is_fraction)| **is_fraction) {
            if dfa.is_accepting[state] && dfa.next[state][0] == DEAD {
                dfa.next[state][0] = zeros;
            }
        }
        Some(dfa)
    }

    /// The texts of `self`, numbers in plain notation, that write no multiple of `divisor`.
    pub(crate) fn without_multiples(&self, divisor: Multiple, max_states: usize) -> Option<Dfa> {
        let multiples = Dfa::of_all_multiples(divisor, max_states)?;
        self.product(&multiples, max_states, true)
    }

    /// The automaton of what both accept; `None` if it has more than `max_states` states.
    pub(crate) fn intersect(&self, other: &Dfa, max_states: usize) -> Option<Dfa> {
        self.product(other, max_states, false)
    }

    /// The reachable part of the product: what `self` accepts and `other` accepts or (`is_denied`) does not.
    fn product(&self, other: &Dfa, max_states: usize, is_denied: bool) -> Option<Dfa> {
        let mut dfa = Dfa::with_states(2);
        let mut states = vec![(START, START)];
        let mut ids = FxHashMap::from_iter([((START, START), START)]);
        let mut at = 0;
        while let Some(&(left, right)) = states.get(at) {
            let from = at + START as usize;
            dfa.is_accepting[from] =
                self.is_accepting[left as usize] && other.is_accepting[right as usize] != is_denied;
            for symbol in 0..SYMBOLS.len() {
                let next = (self.next[left as usize][symbol], other.next[right as usize][symbol]);
                if next.0 == DEAD || (next.1 == DEAD && !is_denied) {
                    continue;
                }
                dfa.next[from][symbol] = *ids.entry(next).or_insert_with(|| {
                    states.push(next);
                    dfa.next.push([DEAD; SYMBOLS.len()]);
                    dfa.is_accepting.push(false);
                    Dfa::id(states.len())
                });
            }
            if states.len() > max_states {
                return None;
            }
            at += 1;
        }
        Some(dfa)
    }

    /// The least equivalent automaton, by partition refinement (Moore): a pass over all transitions for each
    /// refinement. States that accept nothing become the dead one; the start, then, may be it.
    pub(crate) fn minimise(&self) -> (Dfa, u32) {
        let mut classes: Vec<u32> = self.is_accepting.iter().map(|&accepts| u32::from(accepts)).collect();
        let mut n_classes = 0;
        loop {
            let mut ids: FxHashMap<(u32, [u32; SYMBOLS.len()]), u32> = FxHashMap::default();
            let refined = (0..classes.len()).map(|state| {
                let key = (classes[state], self.next[state].map(|next| classes[next as usize]));
                let id = Dfa::id(ids.len());
                *ids.entry(key).or_insert(id)
            });
            classes = refined.collect();
            if ids.len() == n_classes {
                break;
            }
            n_classes = ids.len();
        }
        // The dead state comes first, so its class is number 0.
        let mut dfa = Dfa::with_states(n_classes);
        for (state, &class) in classes.iter().enumerate() {
            dfa.next[class as usize] = self.next[state].map(|next| classes[next as usize]);
            dfa.is_accepting[class as usize] = self.is_accepting[state];
        }
        (dfa, classes[START as usize])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::decimal::Decimal;

    fn accepts(dfa: &Dfa, start: u32, text: &str) -> bool {
        let step = |state: u32, byte: u8| {
            let symbol = SYMBOLS.iter().position(|&known| known == byte).unwrap();
            dfa.next[state as usize][symbol]
        };
        dfa.is_accepting[text.bytes().fold(start, step) as usize]
    }

    proptest! {
        #[test]
        fn a_text_is_accepted_iff_its_number_is_a_multiple(
            mantissa in 1..40u64, exponent in -3..3i64, factor in 0..500u64, n_decimals in 0..4usize, is_negative: bool,
        ) {
            let text = format!("{mantissa}e{exponent}");
            let divisor = Multiple::new(&Decimal::parse(&text).unwrap()).unwrap();
            let dfa = Dfa::of_multiples(divisor, 100_000).unwrap();
            let (least, start) = dfa.minimise();
            let max_decimals = usize::try_from(-divisor.exponent).unwrap_or(0);
            let product = Decimal::parse(&format!("{}e{exponent}", mantissa * factor)).unwrap();
            let any = Decimal::parse(&format!("{factor}e-{n_decimals}")).unwrap();
            for number in [product, any] {
                let sign = if is_negative { "-" } else { "" };
                let text = format!("{sign}{}", number.plain(50).unwrap());
                let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let is_multiple = number.is_multiple_of(&divisor) && decimals <= max_decimals;
                prop_assert_eq!(accepts(&dfa, START, &text), is_multiple, "{}", &text);
                prop_assert_eq!(accepts(&least, start, &text), is_multiple, "minimal: {}", &text);
            }
        }
    }

    #[test]
    fn powers_of_ten_and_their_divisors_cost_little() {
        for (text, most) in [("1e2", 9), ("0.25", 16), ("8", 12), ("0.125", 16)] {
            let divisor = Multiple::new(&Decimal::parse(text).unwrap()).unwrap();
            let n = Dfa::of_multiples(divisor, 10_000).unwrap().minimise().0.next.len();
            assert!(n <= most, "{text}: {n} states");
        }
    }
}
