//! Strings and numbers as terminals.

use std::collections::BTreeMap;

use maskwright_automata::{ByteSet, Regex};
use maskwright_grammar::{ExprId, RuleId};

use crate::decimal::{Decimal, Multiple};
use crate::error::Kind;
use crate::escape::{SPELLED_CHAR, quoted, spell};
use crate::graph::PlaceId;
use crate::lower::Lowering;
use crate::multiples::{DEAD, Dfa, SYMBOLS};
use crate::number::{NumberRange, NumberSet};
use crate::range::{Fraction, range_regex};
use crate::scientific::scientific_regex;
use crate::shape::{Shape, StringConstraint, StringSet};
use crate::{SchemaError, formats, terminals};

/// How many values are told apart one by one.
const MAX_VALUES: usize = 512;

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
                    listed.extend(words.iter().map(|word| quoted(word)));
                }
                StringSet::Constrained(constraint) if constraint.is_any() => {
                    return Ok(terminals::STRING.clone());
                }
                StringSet::Constrained(constraint) => members.push(self.constrained(constraint, place)?),
            }
        }
        members.push(Regex::words(listed));
        Ok(Regex::union(members))
    }

    fn constrained(&mut self, constraint: &StringConstraint, place: PlaceId) -> Result<Regex, SchemaError> {
        let mut bodies = Vec::new();
        if constraint.min > 0 || constraint.max.is_some() || constraint.patterns.is_empty() {
            let min = self.count(constraint.min, place, "minLength")?;
            // As with arrays, what exceeds 32 bits counts as unbounded.
            let max = constraint.max.and_then(|max| u32::try_from(max).ok());
            bodies.push(SPELLED_CHAR.repeat(min, max));
        }
        for pattern in &constraint.patterns {
            match formats::spelled(pattern) {
                Some(spelled) => bodies.push(spelled),
                None => {
                    self.graph.spend(place, pattern.size())?;
                    bodies.push(spell(pattern));
                }
            }
        }
        Ok(terminals::quote(Regex::intersection(bodies)))
    }

    /// A constant in plain notation, a whole one with `.0` as well where that is the same number.
    fn spellings(&self, value: &Decimal) -> Vec<Vec<u8>> {
        let Some(plain) = value.plain(MAX_PLAIN_DIGITS) else { return Vec::new() };
        let mut words = vec![plain.clone().into_bytes()];
        if value.is_integer() && self.graph.draft.has_fractional_integers() {
            words.push((plain + ".0").into_bytes());
        }
        words
    }

    /// The values of a form one by one, each in all its spellings; `None` if they are not scalars, or many.
    pub(crate) fn values(&mut self, shape: &Shape<'a>) -> Option<Vec<ExprId>> {
        if !shape.arrays.is_empty() || !shape.objects.is_empty() {
            return None;
        }
        let mut spellings: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
        for (has_it, word) in [(shape.has_null, "null"), (shape.has_true, "true"), (shape.has_false, "false")]
        {
            if has_it {
                spellings.insert(word.into(), vec![word.into()]);
            }
        }
        for set in &shape.strings {
            let StringSet::Words(words) = set else { return None };
            for word in words.iter() {
                spellings.insert(quoted(word), vec![quoted(word)]);
            }
        }
        for set in &shape.numbers {
            let NumberSet::Values(values) = set else { return None };
            for value in values.iter() {
                let words = self.spellings(&value.value);
                let first = words.first()?.clone();
                spellings.entry(first).or_insert(words).push(value.text.into());
            }
        }
        if spellings.len() > MAX_VALUES {
            return None;
        }
        Some(spellings.into_values().map(|words| self.builder.terminal(Regex::words(words))).collect())
    }

    pub(crate) fn numbers(&mut self, sets: &[NumberSet<'a>], place: PlaceId) -> Result<ExprId, SchemaError> {
        let mut listed: Vec<Vec<u8>> = Vec::new();
        let mut regexes = Vec::new();
        let mut members = Vec::new();
        for set in sets {
            match set {
                NumberSet::Values(values) => {
                    self.graph.spend(place, values.len() as u64)?;
                    for value in values.iter() {
                        listed.push(value.text.into());
                        listed.extend(self.spellings(&value.value));
                    }
                }
                NumberSet::Range(range) => {
                    let regex = self.range(range, place)?;
                    // Powers of ten are a matter of how many decimals there are, which `range` sees to.
                    let is_plain = |multiple: &&Multiple| multiple.mantissa == 1 && multiple.exponent <= 0;
                    let divisors: Vec<Multiple> =
                        range.multiples.iter().filter(|multiple| !is_plain(multiple)).copied().collect();
                    if divisors.is_empty() && range.non_multiples.is_empty() {
                        regexes.push(regex);
                    } else {
                        members.push(self.multiples(&regex, &divisors, &range.non_multiples, place)?);
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
        let max_digits = self.graph.config.limits.max_digits;
        let n_decimals = range.multiples.iter().map(|multiple| (-multiple.exponent).max(0)).min();
        let fraction = match n_decimals {
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
        let regex = if is_bounded && fraction == Fraction::Any && range.non_multiples.is_empty() {
            Regex::union([regex, scientific_regex(range)])
        } else {
            regex
        };
        Ok(match self.graph.config.limits.max_number_digits {
            None => regex,
            Some(max) => Regex::intersection([regex, terminals::short_numbers(max)]),
        })
    }

    /// What is in the language of `bounds` and a multiple of each of `divisors` and of none of
    /// `denied`: a rule for each state of
    /// the automaton.
    fn multiples(
        &mut self,
        bounds: &Regex,
        divisors: &[Multiple],
        denied: &[Multiple],
        place: PlaceId,
    ) -> Result<ExprId, SchemaError> {
        let max_states = self.graph.config.limits.max_remainders;
        let too_many = || self.graph.too_many_remainders(place);
        let mut dfa = Dfa::of_regex(bounds, max_states, self.graph.fuel)
            .map_err(|kind| self.graph.error(place, Some("multipleOf"), kind))?
            .ok_or_else(too_many)?;
        for &divisor in divisors {
            let multiples = Dfa::of_multiples(divisor, max_states).ok_or_else(too_many)?;
            dfa = dfa.intersect(&multiples, max_states).ok_or_else(too_many)?;
            self.graph.spend(place, (multiples.next.len() + dfa.next.len()) as u64)?;
        }
        for &divisor in denied {
            dfa = dfa.without_multiples(divisor, max_states).ok_or_else(too_many)?;
            self.graph.spend(place, dfa.next.len() as u64)?;
        }
        let (dfa, start) = dfa.minimise();
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
}
