//! The texts of numbers that are whole multiples of a divisor.
//!
//! A divisor m·10^e with e ≤ 0 divides a text iff m divides the number that its digits write once the
//! fraction is filled up to -e digits; so an automaton that keeps the remainder by m (and, after the point,
//! how many digits went by) decides it. It is made explicitly, minimised (the powers of 2 and 5 in m then
//! cost next to nothing), and turned into an expression by eliminating its states one by one. With e > 0 the
//! text is a multiple of m with e zeros behind it.
//!
//! Eliminating n states makes O(n³) shared nodes, so n is limited; elimination goes by number, so that the
//! derivatives of what comes out are again entries of the same matrix, and the automaton that the engine
//! makes of it stays small.
//!
//! Rejected: rules of a grammar, one for each remainder. They would be smaller, but could not be intersected
//! with the bounds.

use maskwright_automata::{ByteSet, Regex};
use rustc_hash::FxHashMap;

use crate::decimal::Multiple;
use crate::range::Fraction;
use crate::terminals::ZERO_FRACTION;

/// The most states before minimisation.
const MAX_STATES: usize = 20_000;

/// The number of digits and the point: the alphabet of the automaton.
const N_SYMBOLS: usize = 11;
const POINT: usize = 10;

/// An automaton over digits and the point; state 0 is dead, state 1 the start.
struct Dfa {
    next: Vec<[u32; N_SYMBOLS]>,
    accepting: Vec<bool>,
}

const DEAD: u32 = 0;
const START: u32 = 1;

/// The texts in plain notation of the multiples of `divisor`, signs included; `None` if the automaton has
/// more than `max_states` states when minimal. `spend` is told the work.
pub(crate) fn multiples_regex<E>(
    divisor: Multiple,
    fraction: Fraction,
    max_states: usize,
    spend: impl Fn(u64) -> Result<(), E>,
) -> Result<Option<Regex>, E> {
    let Some(dfa) = remainders(divisor) else { return Ok(None) };
    spend((dfa.next.len() * N_SYMBOLS) as u64)?;
    let dfa = minimise(&dfa);
    let n = dfa.next.len();
    if n > max_states {
        return Ok(None);
    }
    spend((n * n * n) as u64)?;
    let digits = eliminate(&dfa);
    let magnitude = if divisor.exponent < 0 {
        digits
    } else {
        let Ok(n_zeros) = u32::try_from(divisor.exponent) else { return Ok(None) };
        let zeros = Regex::byte(b'0').repeat(n_zeros, Some(n_zeros));
        let whole = Regex::union([Regex::byte(b'0'), Regex::concat([digits, zeros])]);
        match fraction {
            Fraction::None => whole,
            _ => Regex::concat([whole, ZERO_FRACTION.clone()]),
        }
    };
    Ok(Some(Regex::concat([Regex::byte(b'-').optional(), magnitude])))
}

/// The automaton of the multiples of the mantissa, with a fraction of up to -exponent digits. With no
/// fraction, zero is left out if zeros follow (exponent above 0).
fn remainders(divisor: Multiple) -> Option<Dfa> {
    let m = usize::try_from(divisor.mantissa).ok()?;
    let n_fraction = usize::try_from((-divisor.exponent).max(0)).ok()?;
    // Dead, start, zero; then the remainders of whole parts; then those after the point and each digit.
    const ZERO: usize = 2;
    const WHOLE: usize = 3;
    let has_fraction = divisor.exponent < 0;
    let n_levels = if has_fraction { n_fraction.checked_add(2)? } else { 1 };
    let n_states = m.checked_mul(n_levels)?.checked_add(WHOLE)?;
    if n_states > MAX_STATES {
        return None;
    }
    let mut next = vec![[DEAD; N_SYMBOLS]; n_states];
    let mut accepting = vec![false; n_states];
    let id = |state: usize| u32::try_from(state).expect("few states");
    let level = |n_digits: usize, remainder: usize| WHOLE + (n_digits + 1) * m + remainder;
    for digit in 1..10 {
        next[START as usize][digit] = id(WHOLE + digit % m);
    }
    next[START as usize][0] = id(ZERO);
    accepting[ZERO] = divisor.exponent <= 0;
    if has_fraction {
        next[ZERO][POINT] = id(level(0, 0));
    }
    // 10^k mod m, for the digits that are not written.
    let scale = |remainder: usize, n_missing: usize| (0..n_missing).fold(remainder, |r, _| r * 10 % m);
    for remainder in 0..m {
        let state = WHOLE + remainder;
        accepting[state] = scale(remainder, n_fraction) == 0;
        for digit in 0..10 {
            next[state][digit] = id(WHOLE + (remainder * 10 + digit) % m);
        }
        if !has_fraction {
            continue;
        }
        next[state][POINT] = id(level(0, remainder));
        for n_digits in 0..=n_fraction {
            let state = level(n_digits, remainder);
            accepting[state] = n_digits > 0 && scale(remainder, n_fraction - n_digits) == 0;
            if n_digits < n_fraction {
                for digit in 0..10 {
                    next[state][digit] = id(level(n_digits + 1, (remainder * 10 + digit) % m));
                }
            }
        }
    }
    Some(Dfa { next, accepting })
}

/// The least equivalent automaton, by partition refinement (Moore); states in order of their first member,
/// the dead state and the start first.
fn minimise(dfa: &Dfa) -> Dfa {
    let mut class: Vec<u32> = dfa.accepting.iter().map(|&accepts| u32::from(accepts)).collect();
    let mut n_classes = 0;
    loop {
        let mut ids: FxHashMap<(u32, [u32; N_SYMBOLS]), u32> = FxHashMap::default();
        let refined: Vec<u32> = (0..class.len())
            .map(|state| {
                let key = (class[state], dfa.next[state].map(|next| class[next as usize]));
                let id = u32::try_from(ids.len()).expect("no more classes than states");
                *ids.entry(key).or_insert(id)
            })
            .collect();
        let n_refined = ids.len();
        class = refined;
        if n_refined == n_classes {
            break;
        }
        n_classes = n_refined;
    }
    let mut next = vec![[DEAD; N_SYMBOLS]; n_classes];
    let mut accepting = vec![false; n_classes];
    for (state, &id) in class.iter().enumerate() {
        next[id as usize] = dfa.next[state].map(|next| class[next as usize]);
        accepting[id as usize] = dfa.accepting[state];
    }
    Dfa { next, accepting }
}

/// The automaton's language, by eliminating all states but the start and one end.
fn eliminate(dfa: &Dfa) -> Regex {
    let n = dfa.next.len();
    // Edges by their ends; state n is the end.
    let mut edges: Vec<FxHashMap<usize, Regex>> = dfa
        .next
        .iter()
        .enumerate()
        .map(|(state, next)| {
            let mut sets: FxHashMap<usize, ByteSet> = FxHashMap::default();
            for (symbol, &target) in next.iter().enumerate() {
                if target != DEAD {
                    let byte = if symbol == POINT { b'.' } else { b'0' + symbol as u8 };
                    sets.entry(target as usize).or_default().insert(byte);
                }
            }
            let mut edges: FxHashMap<usize, Regex> =
                sets.into_iter().map(|(target, set)| (target, Regex::bytes(set))).collect();
            if dfa.accepting[state] {
                edges.insert(n, Regex::epsilon());
            }
            edges
        })
        .collect();
    for state in (0..n).rev().filter(|&state| state != START as usize && state != DEAD as usize) {
        let mut out = std::mem::take(&mut edges[state]);
        let around = out.remove(&state).map_or_else(Regex::epsilon, |inner| inner.star());
        let out: Vec<(usize, Regex)> =
            out.into_iter().map(|(target, tail)| (target, Regex::concat([around.clone(), tail]))).collect();
        for from in &mut edges {
            let Some(head) = from.remove(&state) else { continue };
            for (target, tail) in &out {
                let path = Regex::concat([head.clone(), tail.clone()]);
                let known = from.remove(target).unwrap_or_else(Regex::empty);
                from.insert(*target, Regex::union([known, path]));
            }
        }
    }
    edges[START as usize].remove(&n).unwrap_or_else(Regex::empty)
}
