//! The intersection of canonical forms.
//!
//! Alternatives are multiplied out type by type; the schemas of properties and items are met lazily, as
//! nodes. Listed strings are tried against patterns at once, so a filtered `enum` stays a list.

use std::rc::Rc;

use maskwright_automata::Regex;

use crate::SchemaError;
use crate::error::Kind;
use crate::forms::shape::{Shape, StringSet};
use crate::graph::Graph;
use crate::report::PlaceId;
use crate::strings::words::Matcher;

impl<'a> Graph<'a> {
    /// The values in both; in objects, the order of properties of `left` comes first.
    pub(crate) fn intersect(
        &mut self,
        left: &Shape<'a>,
        right: &Shape<'a>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let mut shape = Shape {
            has_null: left.has_null && right.has_null,
            has_true: left.has_true && right.has_true,
            has_false: left.has_false && right.has_false,
            ..Shape::default()
        };
        for (a, b) in pairs(&left.numbers, &right.numbers) {
            self.spend(place, 1)?;
            shape.numbers.extend(a.intersect(b));
            self.check_product(&shape, left, right, place)?;
        }
        for (a, b) in pairs(&left.strings, &right.strings) {
            self.spend(place, 1)?;
            shape.strings.extend(self.intersect_strings(a, b, place)?);
            self.check_product(&shape, left, right, place)?;
        }
        for (a, b) in pairs(&left.arrays, &right.arrays) {
            self.spend(place, 1 + a.prefix.len().max(b.prefix.len()) as u64)?;
            shape.arrays.extend(a.intersect(b, |a, b| self.meet(a, b)).map(Rc::new));
            self.check_product(&shape, left, right, place)?;
        }
        for (a, b) in pairs(&left.objects, &right.objects) {
            self.spend(place, 1 + (a.properties.len() + b.properties.len()) as u64)?;
            match self.intersect_objects(a, b, place)? {
                Ok(set) => shape.objects.push(Rc::new(set)),
                Err(name) => self.note_missing(place, name),
            }
            self.check_product(&shape, left, right, place)?;
        }
        Ok(shape)
    }

    /// Refuses a product while it is made, before it takes memory. Only a product: a long list of constants,
    /// for one, costs what it is long.
    fn check_product(
        &self,
        both: &Shape<'a>,
        left: &Shape<'a>,
        right: &Shape<'a>,
        place: PlaceId,
    ) -> Result<(), SchemaError> {
        match both.n_alternatives() > left.n_alternatives().max(right.n_alternatives()) {
            true => self.check_alternatives(both, place),
            false => Ok(()),
        }
    }

    fn intersect_strings(
        &mut self,
        left: &StringSet<'a>,
        right: &StringSet<'a>,
        place: PlaceId,
    ) -> Result<Option<StringSet<'a>>, SchemaError> {
        let (words, kept) = match (left, right) {
            (StringSet::Constrained(left), StringSet::Constrained(right)) => {
                return Ok(left.intersect(right).map(StringSet::Constrained));
            }
            (StringSet::Words(words), StringSet::Constrained(constraint))
            | (StringSet::Constrained(constraint), StringSet::Words(words)) => {
                if constraint.is_any() {
                    return Ok(Some(StringSet::Words(words.clone())));
                }
                let mut kept: Vec<&'a str> =
                    words.iter().copied().filter(|word| constraint.allows_length(word)).collect();
                for pattern in &constraint.patterns {
                    kept = self.matching(pattern, kept, place)?;
                }
                (words, kept)
            }
            (StringSet::Words(left), StringSet::Words(right)) => {
                self.spend(place, (left.len() + right.len()) as u64)?;
                let mut sorted: Vec<&str> = right.to_vec();
                sorted.sort_unstable();
                let kept = left.iter().copied().filter(|word| sorted.binary_search(word).is_ok()).collect();
                (left, kept)
            }
        };
        Ok(match kept.len() {
            0 => None,
            n if n == words.len() => Some(StringSet::Words(words.clone())),
            _ => Some(StringSet::Words(kept.into())),
        })
    }

    /// Those of `words` that are in the language of `pattern`.
    fn matching(
        &mut self,
        pattern: &Regex,
        words: Vec<&'a str>,
        place: PlaceId,
    ) -> Result<Vec<&'a str>, SchemaError> {
        let mut kept = Vec::with_capacity(words.len());
        for word in words {
            if self.is_word(pattern, word, place)? {
                kept.push(word);
            }
        }
        Ok(kept)
    }

    /// Whether `word` is in the language of `pattern`.
    pub(crate) fn is_word(
        &mut self,
        pattern: &Regex,
        word: &str,
        place: PlaceId,
    ) -> Result<bool, SchemaError> {
        let fuel = self.fuel;
        let matcher = self.known.matchers.entry(pattern.clone()).or_insert_with(|| Matcher::new(pattern));
        let found = matcher.matches(word, fuel);
        found.map_err(|kind| self.error(place, Some("pattern"), kind))
    }

    /// The language of a pattern.
    pub(crate) fn pattern(&mut self, pattern: &'a str, place: PlaceId) -> Result<Regex, SchemaError> {
        self.pattern_of(pattern, place, "pattern")
    }

    /// The language of a pattern that stands in `keyword`.
    pub(crate) fn pattern_of(
        &mut self,
        pattern: &'a str,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<Regex, SchemaError> {
        if let Some(regex) = self.known.patterns.get(pattern) {
            return Ok(regex.clone());
        }
        let parsed = maskwright_syntax::regex::parse_search(
            pattern,
            maskwright_syntax::regex::Dialect::Ecma,
            self.fuel,
        );
        match parsed {
            Ok(regex) => {
                self.known.patterns.insert(pattern, regex.clone());
                Ok(regex)
            }
            Err(error) => Err(self.error(place, Some(keyword), Kind::of_syntax(&error))),
        }
    }
}

/// Every alternative of `left` with every one of `right`.
fn pairs<'s, T>(left: &'s [T], right: &'s [T]) -> impl Iterator<Item = (&'s T, &'s T)> {
    left.iter().flat_map(move |a| right.iter().map(move |b| (a, b)))
}
