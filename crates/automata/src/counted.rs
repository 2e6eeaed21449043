//! Words of a counted number of units: `prefix C{min,max} suffix`, with the count as a number.
//!
//! `{"maxLength": 1000000}` asks for up to a million characters between two quotes. As derivatives every
//! count is a residue of its own, made one by one; here a state *is* a count and a state of the small
//! automaton of one unit. All automata with the same unit and suffix form a [`CountedFamily`]:
//! what a state says about a vocabulary depends on the family, the unit's state and the counts that are
//! left, so what is known of one bound serves all.
//!
//! **When it applies.** The units must be a prefix code (no unit is a proper prefix of another) whose first
//! bytes are not the suffix's first byte. Then the bytes read determine the number of units read, and one
//! number is enough. Other counted repetitions stay with the lazy automaton, which is right for all of them.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::{Automaton, AutomatonError, AutomatonLimits, ByteSet, Fuel, Node, Regex};

/// The most states of a unit's automaton: each has a table of 256 bytes, which hold states.
const MAX_UNIT_STATES: usize = 64;

/// Counts below this one are left to the lazy automaton.
const LEAST_COUNT: u32 = 4;

/// The longest shortest word that is spelled out, in bytes.
const MAX_WORD: u64 = 1 << 26;

const DEAD: u8 = u8::MAX;

/// The automaton of `prefix C{min,max} suffix`.
///
/// States, numbered in this order: the number of prefix bytes read, below the prefix's length; then for each
/// number n of units read (complete, or begun) and each state u of the unit, `prefix + n · units + u`; then
/// the number of suffix bytes read, from 1.
pub(crate) struct Counted {
    prefix: Box<[u8]>,
    family: CountedFamily,
    min: u32,
    /// The greatest number of units; without one, counting stops at `min`.
    max: Option<u32>,
}

/// A unit and what comes after the last: what automata that differ only in their counts share.
#[derive(Clone)]
pub struct CountedFamily {
    unit: Arc<Unit>,
    suffix: Arc<[u8]>,
}

/// What a byte does between or within units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitStep {
    /// Nothing goes on with it.
    Dead,
    /// It begins a unit, goes on with one or (then the state is 0) ends it.
    Within(u8),
    /// It is the suffix's first byte.
    Suffix,
}

/// The automata of units seen so far, for [`Automaton::counted`]; what is made once serves all bounds.
#[derive(Default)]
pub struct CountedUnits(Mutex<FxHashMap<Regex, Option<Arc<Unit>>>>);

/// The most units that are kept: their tables take 16 MiB at most.
const MAX_UNITS: usize = 1_024;

impl CountedUnits {
    /// The automaton of `regex` as a unit; `None` if it is none.
    fn unit(
        &self,
        regex: &Regex,
        limits: &AutomatonLimits,
        fuel: &Fuel,
    ) -> Result<Option<Arc<Unit>>, AutomatonError> {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(regex) {
            return Ok(known.clone());
        }
        let unit = Unit::new(regex, limits, fuel)?.map(Arc::new);
        let mut units = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if units.len() >= MAX_UNITS {
            units.clear();
        }
        units.insert(regex.clone(), unit.clone());
        Ok(unit)
    }
}

impl CountedFamily {
    /// The unit's expression and the suffix: equal for equal families.
    pub fn key(&self) -> (&Regex, &[u8]) {
        (&self.unit.regex, &self.suffix)
    }

    /// What comes after the last unit, as bytes; at least one.
    pub fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    /// What `byte` does in `unit_state`, counts aside.
    #[inline]
    pub fn step(&self, unit_state: u8, byte: u8) -> UnitStep {
        if unit_state == 0 && byte == self.suffix[0] {
            return UnitStep::Suffix;
        }
        match self.unit.next[usize::from(unit_state)][usize::from(byte)] {
            DEAD => UnitStep::Dead,
            next => UnitStep::Within(next),
        }
    }
}

/// The automaton of one unit. State 0 is between units.
struct Unit {
    regex: Regex,
    /// `next[state][byte]`: a state, 0 where the unit ends with that byte, `DEAD` where none goes on.
    next: Vec<[u8; 256]>,
    next_bytes: Vec<ByteSet>,
}

/// Where a state stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Prefix(usize),
    /// Units complete, and the state within the next one.
    Units(u32, u8),
    Suffix(usize),
}

/// A state between the prefix and the suffix, as its family sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// The state of the unit's automaton; 0 is between units.
    pub unit_state: u8,
    /// How many units must be completed yet, one that has begun included.
    pub min_left: u32,
    /// How many units may be completed yet, one that has begun included; `None`: any number.
    pub max_left: Option<u32>,
}

impl Window {
    /// Whether whatever goes on from here goes on from `other` too, both of one family: from the same state
    /// of the unit at least as many units must, and at most as many may be completed.
    pub(crate) fn is_within(&self, other: &Window) -> bool {
        let fits = match (self.max_left, other.max_left) {
            (_, None) => true,
            (Some(left), Some(other)) => left <= other,
            (None, Some(_)) => false,
        };
        self.unit_state == other.unit_state && self.min_left >= other.min_left && fits
    }
}

impl Counted {
    /// The automaton of `regex`, if it has the form and fits.
    pub(crate) fn new(
        regex: &Regex,
        units: &CountedUnits,
        limits: &AutomatonLimits,
        fuel: &Fuel,
    ) -> Result<Option<Counted>, AutomatonError> {
        let Node::Concat(parts) = regex.node() else { return Ok(None) };
        let (prefix, repeat, suffix) = match &**parts {
            [repeat, suffix] => (Vec::new(), repeat, suffix),
            [prefix, repeat, suffix] => match prefix.as_literal() {
                Some(prefix) => (prefix, repeat, suffix),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let (&Node::Repeat { ref inner, min, max }, Some(suffix)) = (repeat.node(), suffix.as_literal())
        else {
            return Ok(None);
        };
        if max.unwrap_or(min) < LEAST_COUNT {
            return Ok(None);
        }
        let Some(unit) = units.unit(inner, limits, fuel)? else { return Ok(None) };
        let is_ambiguous = unit.next_bytes[0].contains(suffix[0]);
        let n_counts = u64::from(max.unwrap_or(min)) + 1;
        let n_states = prefix.len() as u64 + n_counts * unit.next.len() as u64 + suffix.len() as u64 + 1;
        if is_ambiguous || n_states >= u64::from(u32::MAX) / 2 {
            return Ok(None);
        }
        let family = CountedFamily { unit, suffix: suffix.into() };
        Ok(Some(Counted { prefix: prefix.into(), family, min, max }))
    }

    pub(crate) fn start(&self) -> u32 {
        0
    }

    /// Counts above this one are not told apart.
    fn top(&self) -> u32 {
        self.max.unwrap_or(self.min)
    }

    fn place(&self, state: u32) -> Place {
        let n_prefix = self.prefix.len() as u32;
        if state < n_prefix {
            return Place::Prefix(state as usize);
        }
        let n_units = self.family.unit.next.len() as u32;
        let rest = state - n_prefix;
        let count = rest / n_units;
        if count <= self.top() {
            return Place::Units(count, (rest % n_units) as u8);
        }
        Place::Suffix((rest - (self.top() + 1) * n_units) as usize + 1)
    }

    fn number(&self, place: Place) -> u32 {
        let (n_prefix, n_units) = (self.prefix.len() as u32, self.family.unit.next.len() as u32);
        match place {
            Place::Prefix(n_read) => n_read as u32,
            Place::Units(count, unit_state) => n_prefix + count * n_units + u32::from(unit_state),
            Place::Suffix(n_read) => n_prefix + (self.top() + 1) * n_units + n_read as u32 - 1,
        }
    }

    #[inline]
    pub(crate) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        let next = match self.place(state) {
            Place::Prefix(n_read) => {
                if self.prefix[n_read] != byte {
                    return None;
                }
                if n_read + 1 < self.prefix.len() { Place::Prefix(n_read + 1) } else { Place::Units(0, 0) }
            }
            Place::Units(count, unit_state) => {
                if unit_state == 0 && byte == self.family.suffix[0] {
                    if count < self.min {
                        return None;
                    }
                    Place::Suffix(1)
                } else {
                    if unit_state == 0 && self.max.is_some_and(|max| count >= max) {
                        return None;
                    }
                    match self.family.unit.next[usize::from(unit_state)][usize::from(byte)] {
                        DEAD => return None,
                        0 => Place::Units((count + 1).min(self.top()), 0),
                        unit_state => Place::Units(count, unit_state),
                    }
                }
            }
            Place::Suffix(n_read) => {
                if self.family.suffix.get(n_read) != Some(&byte) {
                    return None;
                }
                Place::Suffix(n_read + 1)
            }
        };
        Some(self.number(next))
    }

    pub(crate) fn is_accepting(&self, state: u32) -> bool {
        self.place(state) == Place::Suffix(self.family.suffix.len())
    }

    pub(crate) fn next_bytes(&self, state: u32) -> ByteSet {
        match self.place(state) {
            Place::Prefix(n_read) => ByteSet::singleton(self.prefix[n_read]),
            Place::Units(count, 0) => {
                let mut bytes = match self.max {
                    Some(max) if count >= max => ByteSet::EMPTY,
                    _ => self.family.unit.next_bytes[0],
                };
                if count >= self.min {
                    bytes.insert(self.family.suffix[0]);
                }
                bytes
            }
            Place::Units(_, unit_state) => self.family.unit.next_bytes[usize::from(unit_state)],
            Place::Suffix(n_read) => self.family.suffix.get(n_read).copied().into_iter().collect(),
        }
    }

    /// What the state's family sees of it; `None` in the prefix and the suffix.
    pub(crate) fn window(&self, state: u32) -> Option<Window> {
        let Place::Units(count, unit_state) = self.place(state) else { return None };
        Some(Window {
            unit_state,
            min_left: self.min.saturating_sub(count),
            max_left: self.max.map(|max| max - count),
        })
    }

    /// What a family's automata share: the unit and the suffix.
    pub(crate) fn family(&self) -> &CountedFamily {
        &self.family
    }

    /// A state with the same future over the next `max_bytes` bytes: far from both bounds, counts are alike.
    ///
    /// A run of K bytes completes at most K units. If at least K+1 units are missing to `min`, the suffix
    /// cannot come within the run, whatever their number; if at least K+1 units are left to `max`, the bound
    /// cannot be met. So among counts of the same kind any one may stand for all: here the least.
    pub(crate) fn row_key(&self, state: u32, max_bytes: u32) -> u32 {
        let Place::Units(count, unit_state) = self.place(state) else { return state };
        let far = max_bytes.saturating_add(1);
        let is_far_from_max = self.max.is_none_or(|max| max - count >= far);
        if !is_far_from_max {
            return state;
        }
        let least = if self.min.saturating_sub(count) >= far {
            0
        } else if count >= self.min {
            self.min
        } else {
            count
        };
        self.number(Place::Units(least, unit_state))
    }

    /// The shortest word from `state` on, the lexicographically least of these.
    ///
    /// # Errors
    /// If it is longer than some `MAX_WORD` bytes.
    pub(crate) fn shortest_word(&self, state: u32) -> Result<Vec<u8>, AutomatonError> {
        let (mut word, count, unit_state) = match self.place(state) {
            Place::Suffix(n_read) => return Ok(self.family.suffix[n_read..].to_vec()),
            Place::Prefix(n_read) => (self.prefix[n_read..].to_vec(), 0, 0),
            Place::Units(count, unit_state) => (Vec::new(), count, unit_state),
        };
        let mut n_missing = self.min.saturating_sub(count);
        if unit_state != 0 {
            word.extend(self.family.unit.shortest(unit_state));
            n_missing = n_missing.saturating_sub(1);
        }
        let unit = self.family.unit.shortest(0);
        if u64::from(n_missing) * unit.len() as u64 > MAX_WORD {
            return Err(AutomatonError::limit("bytes of a shortest word", MAX_WORD));
        }
        for _ in 0..n_missing {
            word.extend_from_slice(&unit);
        }
        word.extend_from_slice(&self.family.suffix);
        Ok(word)
    }

    /// The residue in readable form.
    pub(crate) fn describe(&self, state: u32) -> String {
        let suffix = self.family.suffix.escape_ascii();
        match self.place(state) {
            Place::Prefix(n_read) => format!("\"{}…\"", self.prefix[n_read..].escape_ascii()),
            Place::Suffix(n_read) => format!("\"{}\"", self.family.suffix[n_read..].escape_ascii()),
            Place::Units(count, _) => {
                let min = self.min.saturating_sub(count);
                let max = self.max.map(|max| (max - count).to_string()).unwrap_or_default();
                format!("{:?}{{{min},{max}}} \"{suffix}\"", self.family.unit.regex)
            }
        }
    }

    pub(crate) fn n_states(&self) -> usize {
        self.number(Place::Suffix(self.family.suffix.len())) as usize + 1
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.family.unit.next.len() * (256 + size_of::<ByteSet>())
            + self.prefix.len()
            + self.family.suffix.len()
    }
}

impl Unit {
    /// The automaton of `regex`, if its words are a prefix code, none is empty, and it is small.
    fn new(regex: &Regex, limits: &AutomatonLimits, fuel: &Fuel) -> Result<Option<Unit>, AutomatonError> {
        if regex.is_nullable() || regex.size() > 4_096 {
            return Ok(None);
        }
        let automaton = Automaton::new(regex, limits, fuel)?;
        let Some(start) = automaton.start() else { return Ok(None) };
        let mut states = vec![start];
        let mut unit = Unit { regex: regex.clone(), next: Vec::new(), next_bytes: Vec::new() };
        let mut position = 0;
        while let Some(&state) = states.get(position) {
            position += 1;
            let mut row = [DEAD; 256];
            let next_bytes = automaton.next_bytes(state)?;
            for byte in next_bytes.iter() {
                let Some(next) = automaton.step(state, byte)? else { continue };
                if automaton.is_accepting(next) {
                    if !automaton.next_bytes(next)?.is_empty() {
                        return Ok(None);
                    }
                    row[usize::from(byte)] = 0;
                    continue;
                }
                let number = match states.iter().position(|&known| known == next) {
                    // Back in the start state within a unit: then 0 would mean two things.
                    Some(0) => return Ok(None),
                    Some(number) => number,
                    None if states.len() >= MAX_UNIT_STATES => return Ok(None),
                    None => {
                        states.push(next);
                        states.len() - 1
                    }
                };
                row[usize::from(byte)] = number as u8;
            }
            unit.next.push(row);
            unit.next_bytes.push(next_bytes);
        }
        Ok(Some(unit))
    }

    /// The shortest rest of a unit from `state` on, the lexicographically least of these.
    fn shortest(&self, state: u8) -> Vec<u8> {
        // Breadth first, bytes in ascending order: the first way to an end is the least of the shortest.
        let mut came_from: Vec<Option<(u8, u8)>> = vec![None; self.next.len()];
        let mut queue = std::collections::VecDeque::from([state]);
        while let Some(here) = queue.pop_front() {
            for byte in self.next_bytes[usize::from(here)].iter() {
                match self.next[usize::from(here)][usize::from(byte)] {
                    0 => {
                        let mut word = vec![byte];
                        let mut at = here;
                        while at != state {
                            let Some((before, byte)) = came_from[usize::from(at)] else { break };
                            word.push(byte);
                            at = before;
                        }
                        word.reverse();
                        return word;
                    }
                    next if next != state && came_from[usize::from(next)].is_none() => {
                        came_from[usize::from(next)] = Some((here, byte));
                        queue.push_back(next);
                    }
                    _ => {}
                }
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FuelError;

    fn both(regex: &Regex) -> (Automaton, Automaton) {
        let (limits, fuel) = (AutomatonLimits::default(), Fuel::unlimited());
        let counted = Automaton::counted(regex, &CountedUnits::default(), &limits, &fuel).unwrap();
        (counted.expect("it has the form"), Automaton::new(regex, &limits, &fuel).unwrap())
    }

    /// A unit of one to three bytes, no unit a prefix of another.
    fn unit() -> Regex {
        Regex::union([
            Regex::bytes(b"ab".iter().copied().collect()),
            Regex::concat([Regex::byte(b'\\'), Regex::bytes(b"n\"".iter().copied().collect())]),
            Regex::char_class(&[('à', 'ÿ'), ('一', '丂')]),
        ])
    }

    /// The lazy automaton is the naive twin: same language, same live bytes, same shortest words, and states
    /// with one row key read alike.
    #[test]
    fn agrees_with_the_lazy_automaton() {
        for (prefix, min, max, suffix) in [
            ("\"", 0, Some(5), "\""),
            ("\"", 3, Some(6), "\""),
            ("", 2, Some(4), "xy"),
            ("p", 4, None, "!"),
            ("<<", 4, Some(4), ">>"),
        ] {
            let regex =
                Regex::concat([Regex::literal(prefix), unit().repeat(min, max), Regex::literal(suffix)]);
            let (counted, lazy) = both(&regex);
            let mut pairs = vec![(counted.start().unwrap(), lazy.start().unwrap())];
            let mut position = 0;
            while let Some(&(a, b)) = pairs.get(position) {
                position += 1;
                assert_eq!(counted.is_accepting(a), lazy.is_accepting(b), "{regex:?}");
                assert_eq!(counted.next_bytes(a).unwrap(), lazy.next_bytes(b).unwrap(), "{regex:?}");
                assert_eq!(counted.shortest_word(a).unwrap(), lazy.shortest_word(b).unwrap(), "{regex:?}");
                for byte in 0..=255 {
                    match (counted.step(a, byte).unwrap(), lazy.step(b, byte).unwrap()) {
                        (Some(a), Some(b)) if !pairs.contains(&(a, b)) => pairs.push((a, b)),
                        (a, b) => assert_eq!(a.is_some(), b.is_some(), "{regex:?} on {byte}"),
                    }
                }
            }
            assert!(pairs.len() > 10);
            for max_bytes in [1, 2] {
                for &(a, _) in &pairs {
                    let key = counted.row_key(a, max_bytes).unwrap();
                    assert_alike(&counted, a, key, max_bytes);
                }
            }
        }
    }

    fn assert_alike(automaton: &Automaton, a: crate::StateId, b: crate::StateId, n_bytes: u32) {
        assert_eq!(automaton.is_accepting(a), automaton.is_accepting(b));
        if n_bytes > 0 {
            for byte in 0..=255 {
                match (automaton.step(a, byte).unwrap(), automaton.step(b, byte).unwrap()) {
                    (Some(a), Some(b)) => assert_alike(automaton, a, b, n_bytes - 1),
                    (a, b) => assert_eq!(a.is_some(), b.is_some()),
                }
            }
        }
    }

    #[test]
    fn takes_only_what_counts_tell_apart() {
        let (limits, fuel, units) = (AutomatonLimits::default(), Fuel::unlimited(), CountedUnits::default());
        let is_counted = |regex: &Regex| Automaton::counted(regex, &units, &limits, &fuel).unwrap().is_some();
        let quote = Regex::byte(b'"');
        let any = Regex::bytes(ByteSet::FULL);
        let ambiguous = Regex::words([&b"a"[..], b"ab"]);
        assert!(is_counted(&Regex::concat([quote.clone(), unit().repeat(0, Some(9)), quote.clone()])));
        // The suffix could be a unit, a unit could be part of another, nothing follows, or there is no count.
        assert!(!is_counted(&Regex::concat([any.repeat(0, Some(9)), quote.clone()])));
        assert!(!is_counted(&Regex::concat([ambiguous.repeat(0, Some(9)), quote.clone()])));
        assert!(!is_counted(&Regex::concat([quote.clone(), unit().repeat(0, Some(9))])));
        assert!(!is_counted(&Regex::concat([quote.clone(), unit().star(), quote.clone()])));
    }

    /// A million counts cost nothing until they are read, and reading them costs no memory.
    #[test]
    fn a_million_units() {
        let regex = Regex::concat([Regex::byte(b'"'), unit().repeat(0, Some(1_000_000)), Regex::byte(b'"')]);
        let (counted, _) = both(&regex);
        let mut state = counted.step(counted.start().unwrap(), b'"').unwrap().unwrap();
        for _ in 0..1_000_000 {
            state = counted.step(state, b'a').unwrap().unwrap();
        }
        assert_eq!(counted.next_bytes(state).unwrap(), ByteSet::singleton(b'"'));
        assert!(counted.memory_usage() < 1 << 20);
    }

    #[test]
    fn cancelling_ends_the_making_of_a_unit() {
        let token = crate::CancelToken::new();
        token.cancel();
        let fuel = Fuel::new(1_000).with_cancel(token);
        assert_eq!(fuel.spend(1), Err(FuelError::Cancelled));
        let regex = Regex::concat([unit().repeat(0, Some(9)), Regex::byte(b'!')]);
        let result = Automaton::counted(&regex, &CountedUnits::default(), &AutomatonLimits::default(), &fuel);
        assert!(result.is_err_and(|error| error.is_cancelled()));
    }
}
