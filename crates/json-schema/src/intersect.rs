//! The intersection of canonical forms, and when it is seen to be empty.
//!
//! Alternatives are multiplied out type by type; the schemas of properties and items are met lazily, as
//! nodes. Listed strings are tried against patterns at once, so a filtered `enum` stays a list.

use std::rc::Rc;

use maskwright_automata::Regex;

use crate::SchemaError;
use crate::error::Kind;
use crate::graph::{Graph, PlaceId};
use crate::shape::{NodeId, Shape, StringSet};
use crate::words::Matcher;

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
        }
        for (a, b) in pairs(&left.strings, &right.strings) {
            self.spend(place, 1)?;
            shape.strings.extend(self.intersect_strings(a, b, place)?);
        }
        for (a, b) in pairs(&left.arrays, &right.arrays) {
            self.spend(place, 1 + a.prefix.len().max(b.prefix.len()) as u64)?;
            shape.arrays.extend(a.intersect(b, |a, b| self.meet(a, b)).map(Rc::new));
        }
        for (a, b) in pairs(&left.objects, &right.objects) {
            self.spend(place, 1 + (a.properties.len() + b.properties.len()) as u64)?;
            match a.intersect(b, |a, b| self.meet(a, b)) {
                Ok(set) => shape.objects.push(Rc::new(set)),
                Err(name) => self.note_conflict(place, "required", || {
                    format!("the property \"{name}\" is required, but no value of it is allowed")
                }),
            }
        }
        // Only a product is refused: a long list of constants, for one, costs what it is long.
        if shape.n_alternatives() > left.n_alternatives().max(right.n_alternatives()) {
            self.check_alternatives(&shape, place)?;
        }
        Ok(shape)
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
        let mut matcher = self.matchers.remove(pattern).unwrap_or_else(|| Matcher::new(pattern));
        let mut kept = Vec::with_capacity(words.len());
        for word in words {
            match matcher.matches(word, self.fuel) {
                Ok(true) => kept.push(word),
                Ok(false) => {}
                Err(kind) => return Err(self.error(place, Some("pattern"), kind)),
            }
        }
        self.matchers.insert(pattern.clone(), matcher);
        Ok(kept)
    }

    /// The language of a pattern.
    pub(crate) fn pattern(&mut self, pattern: &'a str, place: PlaceId) -> Result<Regex, SchemaError> {
        if let Some(regex) = self.patterns.get(pattern) {
            return Ok(regex.clone());
        }
        let parsed = maskwright_syntax::regex::parse_search(
            pattern,
            maskwright_syntax::regex::Dialect::Ecma,
            self.fuel,
        );
        match parsed {
            Ok(regex) => {
                self.patterns.insert(pattern, regex.clone());
                Ok(regex)
            }
            Err(error) => Err(self.error(place, Some("pattern"), Kind::of_syntax(&error))),
        }
    }

    /// Whether it is seen, at most `depth` steps into the instance, that no value has this form.
    pub(crate) fn is_seen_empty(&mut self, shape: &Shape<'a>, depth: usize) -> Result<bool, SchemaError> {
        let has_scalar = shape.has_null || shape.has_true || shape.has_false;
        if has_scalar || !shape.numbers.is_empty() || !shape.strings.is_empty() {
            return Ok(false);
        }
        for set in &shape.objects {
            let mut is_empty = false;
            for property in set.properties.iter().filter(|property| property.is_required) {
                is_empty = is_empty || self.is_node_seen_empty(property.schema, depth)?;
            }
            if !is_empty {
                return Ok(false);
            }
        }
        for set in &shape.arrays {
            let mut is_empty = false;
            let n_certain = usize::try_from(set.min).unwrap_or(usize::MAX);
            for &item in set.prefix.iter().take(n_certain) {
                is_empty = is_empty || self.is_node_seen_empty(item, depth)?;
            }
            if n_certain > set.prefix.len() {
                is_empty = is_empty || self.is_node_seen_empty(set.rest, depth)?;
            }
            if !is_empty {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_node_seen_empty(&mut self, node: NodeId, depth: usize) -> Result<bool, SchemaError> {
        if depth == 0 || node == NodeId::ANY {
            return Ok(false);
        }
        self.spend(self.place(node), 1)?;
        let shape = match self.shape(node) {
            Ok(shape) => shape,
            // It leads to a schema that is being read right now: nothing is seen of it yet.
            Err(error) if error.is_loop() => return Ok(false),
            Err(error) => return Err(error),
        };
        self.is_seen_empty(&shape, depth - 1)
    }
}

/// Every alternative of `left` with every one of `right`.
fn pairs<'s, T>(left: &'s [T], right: &'s [T]) -> impl Iterator<Item = (&'s T, &'s T)> {
    left.iter().flat_map(move |a| right.iter().map(move |b| (a, b)))
}
