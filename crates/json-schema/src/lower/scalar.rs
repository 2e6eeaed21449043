//! Strings and numbers as terminals.

use std::collections::BTreeMap;

use maskwright_automata::{ByteSet, Regex};
use maskwright_grammar::{ExprId, RuleId};

use crate::error::Kind;
use crate::forms::shape::{Shape, StringConstraint, StringSet};
use crate::lower::Lowering;
use crate::numbers::decimal::Multiple;
use crate::numbers::doubles::apart_from_bounds;
use crate::numbers::multiples::{DEAD, Dfa, SYMBOLS};
use crate::numbers::number::{NumberRange, NumberSet, NumberValue};
use crate::numbers::numeral::short_numbers;
use crate::numbers::plain::{self, COUNTED, PLAIN_NUMBER};
use crate::numbers::range::{Fraction, range_regex};
use crate::numbers::scientific::scientific_regex;
use crate::report::PlaceId;
use crate::strings::excluded::Surroundings;
use crate::strings::notation::Notation;
use crate::{Numbers, SchemaError, formats};

/// How many values are told apart one by one.
const MAX_VALUES: usize = 512;

/// The most states of an automaton that counts digits besides remainders. Each is a rule of the grammar.
const MAX_COUNTED: usize = 2_048;

/// How many digits a constant may take in plain notation to be written in it too.
const MAX_PLAIN_DIGITS: usize = 40;

impl<'a> Lowering<'_, 'a> {
    pub(crate) fn strings(&mut self, sets: &[StringSet<'a>], place: PlaceId) -> Result<Regex, SchemaError> {
        let mut listed: Vec<Vec<u8>> = Vec::new();
        let mut members = Vec::new();
        for set in sets {
            match set {
                StringSet::Words(words) => {
                    self.graph.spend(place, words.len() as u64)?;
                    listed.extend(words.iter().flat_map(|word| self.words(word)));
                }
                StringSet::Constrained(constraint) if constraint.is_any() => {
                    return Ok(self.any_string());
                }
                StringSet::Constrained(constraint) => members.push(self.constrained(constraint, place)?),
            }
        }
        members.push(Regex::words(listed));
        Ok(Regex::union(members))
    }

    /// Any string, in any spelling.
    pub(crate) fn any_string(&self) -> Regex {
        self.readable(
            self.surroundings.excluded.kept_strings(&self.notation, self.notation.any_string.clone()),
        )
    }

    /// The strings in which readers see no end of the value.
    pub(crate) fn readable(&self, strings: Regex) -> Regex {
        self.surroundings.ends.kept_strings(&self.notation, strings)
    }

    /// The spellings of a string, with quotes: none if it cannot be written.
    pub(crate) fn words(&self, text: &str) -> Vec<Vec<u8>> {
        let Surroundings { excluded, ends, .. } = &self.surroundings;
        let mut words = Vec::with_capacity(self.notation.quotes.len());
        for quotes in &self.notation.quotes {
            let Some(mut word) = quotes.word(text) else { continue };
            let inside = quotes.inside(&word);
            if !excluded.allows(&word[inside.clone()]) {
                continue;
            }
            if !ends.allows(&word[inside.clone()]) {
                let hidden = ends.hidden(&word[inside.clone()]).filter(|_| quotes.is_of_json());
                let Some(hidden) = hidden else { continue };
                word.splice(inside, hidden);
            }
            let others = quotes.other_words(&word[quotes.inside(&word)]);
            words.push(word);
            words.extend(others);
        }
        words
    }

    fn constrained(&mut self, constraint: &StringConstraint, place: PlaceId) -> Result<Regex, SchemaError> {
        let min = self.count(constraint.min, place, "minLength")?;
        // As with arrays, what exceeds 32 bits counts as unbounded.
        let max = constraint.max.and_then(|max| u32::try_from(max).ok());
        let is_counted = min > 0 || constraint.max.is_some() || constraint.patterns.is_empty();
        let mut ways = Vec::with_capacity(self.notation.quotes.len());
        for quotes in &self.notation.quotes {
            let mut bodies = Vec::new();
            if is_counted {
                bodies.push(quotes.any_char.repeat(min, max));
            }
            for pattern in &constraint.patterns {
                match formats::spelled(pattern).filter(|_| quotes.is_of_json()) {
                    Some(spelled) => bodies.push(spelled),
                    None => {
                        self.graph.spend(place, pattern.size())?;
                        bodies.push(quotes.spell(pattern));
                    }
                }
            }
            let body = Regex::intersection(bodies);
            let body = if quotes.is_of_json() { self.surroundings.ends.all_hidden(body) } else { body };
            ways.push(quotes.around(body));
        }
        let strings = Regex::union(ways);
        // Patterns say themselves what a string may hold.
        let is_filtered = constraint.patterns.is_empty();
        let excluded = &self.surroundings.excluded;
        Ok(if is_filtered { excluded.kept_strings(&self.notation, strings) } else { strings })
    }

    /// The spellings of a constant, at least one: as in the schema, and in digits. With [`Numbers::Any`], a
    /// whole one may also end in `.0`, if the draft takes that for an integer. With [`Numbers::Plain`], one
    /// that must be an integer is in digits only.
    fn spellings(&self, value: &NumberValue<'a>) -> Vec<Vec<u8>> {
        let given = || value.text.as_bytes().to_vec();
        let is_plain = self.graph.config.numbers == Numbers::Plain;
        if is_plain && value.is_integer {
            let digits = value.value.plain(self.graph.config.limits.max_digits);
            return vec![digits.map_or_else(given, String::into_bytes)];
        }
        let mut words = Vec::new();
        if let Some(digits) = value.value.plain(MAX_PLAIN_DIGITS) {
            words.push(digits.clone().into_bytes());
            if !is_plain && value.value.is_integer() && self.graph.draft.has_fractional_integers() {
                words.push((digits + ".0").into_bytes());
            }
        }
        words.push(given());
        words
    }

    /// The values of a form one by one, each in all its spellings; `None` if they are not scalars, or many.
    pub(crate) fn values(&mut self, shape: &Shape<'a>) -> Option<Vec<ExprId>> {
        if !shape.arrays.is_empty() || !shape.objects.is_empty() {
            return None;
        }
        let mut spellings: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
        let Notation { null, true_, false_, .. } = &*self.notation;
        let constants = [(shape.has_null, null), (shape.has_true, true_), (shape.has_false, false_)];
        let constants = constants.into_iter().filter(|(has_it, _)| *has_it).map(|(_, word)| word.clone());
        for set in &shape.strings {
            let StringSet::Words(words) = set else { return None };
            for word in words.iter() {
                let words = self.words(word);
                if let Some(first) = words.first() {
                    spellings.insert(first.clone(), words);
                }
            }
        }
        for set in &shape.numbers {
            let values = match set {
                NumberSet::Values(values) => values,
                NumberSet::Range(range) => {
                    // Whole numbers have one spelling each.
                    let is_plain = self.graph.config.numbers == Numbers::Plain;
                    let numbers = range.integers(MAX_VALUES).filter(|_| is_plain)?;
                    let words = numbers.into_iter().map(String::into_bytes);
                    spellings.extend(words.map(|word| (word.clone(), vec![word])));
                    continue;
                }
            };
            for value in values.iter() {
                // With more digits, spellings of one value are not recognized as equal.
                value.value.plain(MAX_PLAIN_DIGITS)?;
                let words = self.spellings(value);
                let first = words.first()?.clone();
                spellings.entry(first).or_default().extend(words);
            }
        }
        if spellings.len() > MAX_VALUES {
            return None;
        }
        let values: Vec<Regex> = constants.chain(spellings.into_values().map(Regex::words)).collect();
        Some(values.into_iter().map(|value| self.builder.terminal(value)).collect())
    }

    pub(crate) fn numbers(&mut self, sets: &[NumberSet<'a>], place: PlaceId) -> Result<ExprId, SchemaError> {
        let mut listed: Vec<Vec<u8>> = Vec::new();
        let mut regexes = Vec::new();
        let mut members = Vec::new();
        for set in sets {
            match set {
                NumberSet::Values(values) => {
                    self.graph.spend(place, values.len() as u64)?;
                    listed.extend(values.iter().flat_map(|value| self.spellings(value)));
                }
                NumberSet::Range(range) => {
                    // Powers of ten are a matter of how many decimals there are, which `range` sees to.
                    let is_power = |multiple: &&Multiple| multiple.mantissa == 1 && multiple.exponent <= 0;
                    let divisors: Vec<Multiple> =
                        range.multiples.iter().filter(|multiple| !is_power(multiple)).copied().collect();
                    if divisors.is_empty() && range.non_multiples.is_empty() {
                        regexes.push(self.range(range, place)?);
                    } else {
                        members.push(self.multiples(range, &divisors, place)?);
                    }
                }
            }
        }
        regexes.push(Regex::words(listed));
        members.push(self.builder.terminal(Regex::union(regexes)));
        Ok(self.builder.alt(&members))
    }

    /// The numbers between the bounds of a range, with as many decimals as its multiples may have.
    fn range(&mut self, range: &NumberRange, place: PlaceId) -> Result<Regex, SchemaError> {
        let regex = match self.plain_range(range, place)? {
            Some(plain) => plain,
            None => self.spelled_range(range, place)?,
        };
        Ok(self.shortened(regex))
    }

    /// The plain numbers of a range (`plain.rs`); `None` if any spelling is allowed, the range is of
    /// integers, or it has no plain number.
    fn plain_range(&mut self, range: &NumberRange, place: PlaceId) -> Result<Option<Regex>, SchemaError> {
        if self.graph.config.numbers == Numbers::Any || range.is_integer {
            return Ok(None);
        }
        let plain = if range.multiples.is_empty() {
            let Some(range) = apart_from_bounds(range) else { return Ok(None) };
            if let Some(plain) = plain::half_line(&range) {
                return Ok(Some(plain));
            }
            self.spelled_range(&range, place)?
        } else {
            self.spelled_range(range, place)?
        };
        let plain = Regex::intersection([plain, PLAIN_NUMBER.clone()]);
        Ok((!self.graph.is_empty_language(&plain, place)?).then_some(plain))
    }

    /// The numbers between the bounds in all spellings; with [`Numbers::Plain`], integers only in plain ones.
    fn spelled_range(&mut self, range: &NumberRange, place: PlaceId) -> Result<Regex, SchemaError> {
        let max_digits = self.graph.config.limits.max_digits;
        let n_decimals = range.multiples.iter().map(|multiple| (-multiple.exponent).max(0)).min();
        let fraction = match n_decimals {
            _ if range.is_integer && self.graph.config.numbers == Numbers::Plain => Fraction::Integer,
            _ if range.is_integer && !self.graph.draft.has_fractional_integers() => Fraction::None,
            _ if range.is_integer => Fraction::Zero,
            Some(0) => Fraction::Zero,
            Some(n) => Fraction::UpTo(u32::try_from(n).unwrap_or(u32::MAX)),
            None => Fraction::Any,
        };
        let regex = range_regex(range, fraction, max_digits).map_err(|keyword| {
            let message = format!("the bound takes more than {max_digits} digits");
            self.graph.error(place, Some(keyword), Kind::Limit { message })
        })?;
        let is_bounded = range.lower.is_some() || range.upper.is_some();
        Ok(if is_bounded && fraction == Fraction::Any && range.non_multiples.is_empty() {
            Regex::union([regex, scientific_regex(range)])
        } else {
            regex
        })
    }

    /// The numbers of `regex` that do not have too many digits.
    fn shortened(&self, regex: Regex) -> Regex {
        match self.graph.config.limits.max_number_digits {
            None => regex,
            Some(max) => Regex::intersection([regex, short_numbers(max)]),
        }
    }

    /// The numbers in a range that are multiples of each of `divisors`: a rule for each state of the
    /// automaton.
    fn multiples(
        &mut self,
        range: &NumberRange,
        divisors: &[Multiple],
        place: PlaceId,
    ) -> Result<ExprId, SchemaError> {
        let bounds = self.spelled_range(range, place)?;
        let bounds = self.shortened(bounds);
        let mut least = None;
        if self.graph.config.numbers == Numbers::Plain && !range.is_integer {
            let counted = Regex::intersection([bounds.clone(), COUNTED.clone()]);
            let dfa = self.remainders(&counted, divisors, range, MAX_COUNTED, place)?;
            least = dfa.map(|dfa| dfa.minimise()).filter(|(_, start)| *start != DEAD);
        }
        let (dfa, start) = match least {
            Some(least) => least,
            // No number is left, or counting digits takes too many states: digits are not counted.
            None => {
                let max_states = self.graph.config.limits.max_remainders;
                let dfa = self.remainders(&bounds, divisors, range, max_states, place)?;
                dfa.ok_or_else(|| self.graph.too_many_remainders(place))?.minimise()
            }
        };
        if start == DEAD {
            return Ok(self.builder.never());
        }
        let rules: Vec<RuleId> = dfa.next.iter().map(|_| self.builder.declare("multiple")).collect();
        for (state, &rule) in rules.iter().enumerate() {
            let mut bytes: BTreeMap<u32, ByteSet> = BTreeMap::new();
            for (symbol, &next) in dfa.next[state].iter().enumerate() {
                if next != DEAD {
                    bytes.entry(next).or_default().insert(SYMBOLS[symbol]);
                }
            }
            let mut members = Vec::new();
            for (next, set) in bytes {
                let byte = self.builder.terminal(Regex::bytes(set));
                let rest = self.builder.rule(rules[next as usize]);
                members.push(self.builder.seq(&[byte, rest]));
            }
            if dfa.is_accepting[state] {
                members.push(self.builder.epsilon());
            }
            let body = self.builder.alt(&members);
            self.builder.define(rule, body);
        }
        Ok(self.builder.rule(rules[start as usize]))
    }

    /// The automaton of the numbers in `bounds` that are multiples of each of `divisors` and not of any
    /// divisor that `range` denies; `None` if it has more than `max_states` states.
    fn remainders(
        &self,
        bounds: &Regex,
        divisors: &[Multiple],
        range: &NumberRange,
        max_states: usize,
        place: PlaceId,
    ) -> Result<Option<Dfa>, SchemaError> {
        let mut dfa = Dfa::of_regex(bounds, max_states, self.graph.fuel)
            .map_err(|kind| self.graph.error(place, Some("multipleOf"), kind))?;
        for &divisor in divisors {
            let Some(known) = dfa else { return Ok(None) };
            let Some(multiples) = Dfa::of_multiples(divisor, max_states) else { return Ok(None) };
            dfa = known.intersect(&multiples, max_states);
            let n_states = multiples.next.len() + dfa.as_ref().map_or(0, |dfa| dfa.next.len());
            self.graph.spend(place, n_states as u64)?;
        }
        for &divisor in &range.non_multiples {
            let Some(known) = dfa else { return Ok(None) };
            dfa = known.without_multiples(divisor, max_states);
            self.graph.spend(place, dfa.as_ref().map_or(max_states, |dfa| dfa.next.len()) as u64)?;
        }
        Ok(dfa)
    }
}
