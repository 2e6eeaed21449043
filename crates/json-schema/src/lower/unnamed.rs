//! The members of an object whose keys the schema does not name.
//!
//! Their keys are languages: those of each class of the schema, and what is left. Classes of few keys become
//! names, each at most once, in any order. All other keys are watched where they may be
//! ([`crate::distinct`]).

use maskwright_automata::Regex;
use maskwright_grammar::{ExprId, Mark, ShuffleItem, ShuffleList};

use crate::SchemaError;
use crate::distinct::FEW_KEYS;
use crate::error::Kind;
use crate::forms::node_id::NodeId;
use crate::forms::object::{KeyClass, ObjectSet, all_keys};
use crate::lower::{Form, Lowering, Symbols};
use crate::report::PlaceId;
use crate::strings::names::Names;
use crate::strings::words::Size;
use crate::style::End;

/// How many places the chain of one object may have.
pub(super) const MAX_CELLS: u64 = 1 << 18;

/// How many members that must be there, whatever their key, one object may have: each set of those still to
/// come is a place of its own.
const MAX_WITNESSES: usize = 4;

/// Members that are not named.
pub(super) struct Others {
    /// Those of classes of few keys, each at most once.
    pub(super) once: Vec<ShuffleItem>,
    /// All others, by the set of witnesses that one is taken for.
    pub(super) members: Vec<ExprId>,
    /// Whether sessions watch their keys.
    pub(super) is_watched: bool,
    /// What separates the members of the object.
    pub(super) comma: ExprId,
}

/// Keys of which there are few, and what is known of the sizes of all other classes.
struct Sizes {
    few: Vec<(Regex, NodeId)>,
    are_many: bool,
    are_seen: bool,
}

/// Work units to spell the strings of a language: a complement is one among all strings.
const BY_LANGUAGE: u64 = 40;

impl<'a> Lowering<'_, 'a> {
    /// The keys of the classes that members may have that are taken for all of `witnesses`, with their
    /// schemas; but classes of few keys go into `sizes`, where no member must be there.
    fn keyed(
        &mut self,
        form: Form,
        set: &ObjectSet<'a>,
        place: PlaceId,
        witnesses: &[&KeyClass],
        sizes: &mut Sizes,
    ) -> Result<Vec<(Regex, NodeId)>, SchemaError> {
        let mut keyed = Vec::new();
        let classes = set.classes.iter().map(|class| (Some(class), class.schema));
        for (class, schema) in classes.chain([(None, set.additional)]) {
            let schema =
                witnesses.iter().fold(schema, |schema, witness| self.graph.meet(schema, witness.schema));
            if schema == NodeId::NEVER {
                continue;
            }
            let mut keys: Vec<Regex> = witnesses.iter().map(|witness| witness.keys.clone()).collect();
            keys.extend(class.map(|class| class.keys.clone()));
            if !keys.is_empty() && self.graph.is_empty_language(&Regex::intersection(keys.clone()), place)? {
                continue;
            }
            for keys in &keys {
                self.graph.spend(place, keys.size())?;
            }
            let mut key = match self.names(form) {
                Some(names) => self.unnamed(names, set, class, keys.clone(), place)?,
                None => {
                    let key = self.unnamed_key(set, class, &keys, place)?;
                    self.readable(key)
                }
            };
            // Patterns say themselves what a name may hold.
            let are_free = !set.classes.iter().any(|class| class.schema == NodeId::NEVER);
            if class.is_none() && are_free {
                key = match self.names(form) {
                    Some(_) => self.surroundings.excluded.kept(key),
                    None => self.surroundings.excluded.kept_strings(&self.notation, key),
                };
            }
            let is_any = self.surroundings.excluded.is_empty()
                && keys.is_empty()
                && class.is_none()
                && set.classes.is_empty();
            let counted = self.once_each(form, &key);
            match if is_any { Size::Many } else { self.graph.size(&counted, place)? } {
                Size::Words(0) => continue,
                Size::Words(n_words) if n_words <= FEW_KEYS && set.witnesses.is_empty() => {
                    sizes.few.push((counted, schema));
                    continue;
                }
                _ if form == Form::Element && self.ends_with_names() => {
                    self.refuse_unnamed(set, place)?;
                    continue;
                }
                Size::Words(_) => sizes.are_many = false,
                Size::Many => {}
                Size::Unknown => sizes.are_seen = false,
            }
            keyed.push((key, schema));
        }
        Ok(keyed)
    }

    /// The members whose keys are not named, by the witnesses that they are taken for.
    pub(super) fn others(
        &mut self,
        form: Form,
        set: &ObjectSet<'a>,
        place: PlaceId,
        depth: usize,
    ) -> Result<Others, SchemaError> {
        let n_witnesses = set.witnesses.len();
        if n_witnesses > MAX_WITNESSES {
            let message =
                format!("{n_witnesses} members must be there under unknown keys, more than {MAX_WITNESSES}");
            return Err(self.graph.error(place, Some("additionalProperties"), Kind::Limit { message }));
        }
        let mut sizes = Sizes { few: Vec::new(), are_many: true, are_seen: true };
        let mut pairs = Vec::with_capacity(1 << n_witnesses);
        for taken in 0..1u32 << n_witnesses {
            let witnesses = set.witnesses.iter().enumerate().filter(|(i, _)| taken >> i & 1 == 1);
            let witnesses: Vec<&KeyClass> = witnesses.map(|(_, witness)| witness).collect();
            pairs.push(self.keyed(form, set, place, &witnesses, &mut sizes)?);
        }
        let Sizes { few, are_many, are_seen } = sizes;
        // Where so many members must be there, or some of which some must be, there might be no keys left for
        // them.
        let is_watched = self.may_watch()
            && pairs.iter().any(|keyed| !keyed.is_empty())
            && are_seen
            && (are_many || n_witnesses == 0 && set.min == 0);
        let Symbols { comma, colon, .. } = self.symbols(form);
        if !self.may_watch() && pairs.iter().any(|keyed| !keyed.is_empty()) {
            self.graph.note_repeated_keys(place);
        }
        let mut once = Vec::new();
        for (keys, schema) in few {
            for key in self.graph.words(&keys, place)? {
                let expr = match self.key_spellings(form, &key) {
                    Some(words) => self.member(form, Regex::words(words), None, colon, schema, depth)?,
                    None => self.named_member(form, key, colon, schema, depth)?,
                };
                once.push(ShuffleItem { expr, is_required: false });
            }
        }
        let (comma, colon) = match (is_watched, are_many) {
            (true, true) => (comma, self.distinct_colon()),
            (true, false) => self.few_symbols(),
            (false, _) => (comma, colon),
        };
        let mut members = Vec::with_capacity(pairs.len());
        for keyed in pairs {
            let mut ways = Vec::with_capacity(keyed.len());
            for (key, schema) in keyed {
                let mark = is_watched.then_some(Mark::Begins);
                ways.push(self.member(form, key, mark, colon, schema, depth)?);
            }
            members.push(self.builder.alt(&ways));
        }
        Ok(Others { once, members, is_watched, comma })
    }

    /// The keys of a language, each in one spelling only.
    fn once_each(&self, form: Form, keys: &Regex) -> Regex {
        match self.names(form) {
            None if self.notation.quotes.len() > 1 => {
                let first = Regex::concat([Regex::byte(b'"'), Regex::any_text()]);
                Regex::intersection([keys.clone(), first])
            }
            _ => keys.clone(),
        }
    }

    /// All spellings of a key, if it has several; `key` is in double quotes, as in JSON.
    fn key_spellings(&self, form: Form, key: &[u8]) -> Option<Vec<Vec<u8>>> {
        let has_several = self.names(form).is_none() && self.notation.quotes.len() > 1;
        let text: String = serde_json::from_slice(key).ok().filter(|_| has_several)?;
        Some(self.words(&text))
    }

    /// The keys of the members of a class, or of no class, that are not named and are in all of `keys`.
    fn unnamed_key(
        &mut self,
        set: &ObjectSet<'a>,
        class: Option<&KeyClass>,
        keys: &[Regex],
        place: PlaceId,
    ) -> Result<Regex, SchemaError> {
        if class.is_none() && keys.is_empty() && set.properties.is_empty() && set.classes.is_empty() {
            return Ok(self.notation.any_string.clone());
        }
        let names = set.properties.iter().flat_map(|property| self.words(property.name));
        let mut denied = Regex::words(names);
        if class.is_none() && !set.classes.is_empty() {
            let keys = all_keys(&set.classes);
            self.graph.spend(place, keys.size())?;
            denied = Regex::union([denied, self.notation.strings(&keys)]);
        }
        // Keys have the canonical spelling, so leaving out that of a name leaves out the name.
        self.graph.spend(place, keys.iter().map(|keys| BY_LANGUAGE + keys.size()).sum())?;
        let allowed: Vec<Regex> = keys.iter().map(|keys| self.notation.strings(keys)).collect();
        Ok(match allowed.is_empty() {
            true => self.notation.canonical_string.difference(&denied),
            false => Regex::intersection(allowed).difference(&denied),
        })
    }

    /// The same of names that are not strings.
    fn unnamed(
        &mut self,
        names: &Names,
        set: &ObjectSet<'a>,
        class: Option<&KeyClass>,
        mut keys: Vec<Regex>,
        place: PlaceId,
    ) -> Result<Regex, SchemaError> {
        let mut denied = Regex::words(set.properties.iter().map(|property| names.written(property.name)));
        // Names are the model's own unless the schema has a pattern that says which ones may be there.
        let are_free = !set.classes.iter().any(|class| class.schema == NodeId::NEVER);
        if class.is_none() && !set.classes.is_empty() {
            let keys = all_keys(&set.classes);
            self.graph.spend(place, keys.size())?;
            denied = Regex::union([denied, names.language(&keys)]);
        }
        if class.is_none() && keys.is_empty() && are_free {
            return Ok(names.free.difference(&denied));
        }
        if keys.is_empty() {
            keys.push(Regex::any_text());
        }
        Ok(names.language(&Regex::intersection(keys)).difference(&denied))
    }

    /// Whether elements end with their names, so that only names of a list can be written.
    fn ends_with_names(&self) -> bool {
        self.elements.is_some_and(|elements| elements.end == End::Name)
    }

    /// Members whose names the schema does not list cannot be written: an error where it asks for them.
    fn refuse_unnamed(&mut self, set: &ObjectSet<'a>, place: PlaceId) -> Result<(), SchemaError> {
        if set.classes.is_empty() && set.additional == NodeId::ANY {
            return Ok(());
        }
        let style = self.style_name();
        let reason = format!("the style {style} cannot write names that the schema does not list");
        self.graph.refuse(place, "additionalProperties", reason)
    }

    /// The members that are not named: at least one from here on; and what may follow another member.
    pub(super) fn other_members(
        &mut self,
        others: &Others,
        min: u64,
        max: Option<u64>,
        place: PlaceId,
    ) -> Result<(ExprId, ExprId), SchemaError> {
        let Others { once, members: pairs, comma, .. } = others;
        let comma = *comma;
        let all = pairs.len() as u32 - 1;
        if all == 0 {
            let min = self.count(min, place, "minProperties")?;
            let max = max.and_then(|max| u32::try_from(max).ok());
            if !once.is_empty() {
                let here = self.builder.shuffle(ShuffleList {
                    items: once.clone().into(),
                    others: pairs[0],
                    separator: comma,
                    min: min.max(1),
                    max,
                });
                let more = self.builder.seq(&[comma, here]);
                return Ok((here, if min == 0 { self.builder.optional(more) } else { more }));
            }
            let next = self.builder.seq(&[comma, pairs[0]]);
            let after = self.builder.repeat(next, min, max);
            let more = self.builder.repeat(next, min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
            let here = match max {
                Some(0) => self.builder.never(),
                _ => self.builder.seq(&[pairs[0], more]),
            };
            return Ok((here, after));
        }
        // One layer for each number of members left, as far as it matters; the last one repeats.
        let n_layers = max.map_or(min, |max| max.saturating_add(1));
        if n_layers.saturating_mul(pairs.len() as u64) > MAX_CELLS {
            let message = "counting so many properties takes too many states".into();
            return Err(self.graph.error(place, Some("maxProperties"), Kind::Limit { message }));
        }
        let epsilon = self.builder.epsilon();
        let never = self.builder.never();
        // `later[missing]`: what follows a member when `missing` witnesses are still to come.
        let mut later = vec![never; pairs.len()];
        let mut here = vec![never; pairs.len()];
        if max.is_none() {
            for missing in 0..=all {
                let mut ways = Vec::new();
                for taken in (1..=all).filter(|taken| taken & !missing == 0) {
                    let rest = later[(missing & !taken) as usize];
                    ways.push(self.builder.seq(&[pairs[taken as usize], rest]));
                }
                let ways = self.builder.alt(&ways);
                let skipped = self.builder.seq(&[pairs[0], comma]);
                let skipped = self.builder.repeat(skipped, 0, None);
                if missing == 0 {
                    let next = self.builder.seq(&[comma, pairs[0]]);
                    later[0] = self.builder.repeat(next, 0, None);
                    here[0] = self.builder.seq(&[pairs[0], later[0]]);
                } else {
                    here[missing as usize] = self.builder.seq(&[skipped, ways]);
                    later[missing as usize] = self.builder.seq(&[comma, here[missing as usize]]);
                }
            }
        }
        for layer in (0..n_layers).rev() {
            self.graph.spend(place, pairs.len() as u64)?;
            let is_full = max == Some(layer);
            let mut next_here = Vec::with_capacity(pairs.len());
            let mut next_later = Vec::with_capacity(pairs.len());
            for missing in 0..=all {
                let mut ways = Vec::new();
                for taken in (0..=all).filter(|taken| taken & !missing == 0) {
                    let rest = later[(missing & !taken) as usize];
                    ways.push(self.builder.seq(&[pairs[taken as usize], rest]));
                }
                let ways = if is_full { never } else { self.builder.alt(&ways) };
                let more = self.builder.seq(&[comma, ways]);
                let may_end = missing == 0 && layer >= min;
                next_here.push(ways);
                next_later.push(self.builder.alt(&[if may_end { epsilon } else { never }, more]));
            }
            (here, later) = (next_here, next_later);
        }
        Ok((here[all as usize], later[all as usize]))
    }
}
