//! Objects as rules.
//!
//! In any order, an object is a list in any order of the grammar. In the order of the schema, the named
//! properties come first, as a chain with shared tails: `from_here[i][n]` are the texts that start with
//! a key of property i or a later one when n members went before, `after[i][n]` those that follow the value
//! before it. So an object is linear in its properties, times what its bounds on their number make
//! necessary. Members that must be there under some key (which only complements ask for) are first spread
//! over the named properties, then kept as the set of those still missing.
//!
//! No key occurs twice. The rules ensure it for keys that are named, and for classes of few keys, which are
//! lists in any order. The session watches over all others ([`crate::distinct`]).

use std::rc::Rc;

use maskwright_automata::Regex;
use maskwright_grammar::{ExprId, Mark, ShuffleItem, ShuffleList};

use super::unnamed::{MAX_CELLS, Others};
use crate::SchemaError;
use crate::config::PropertyOrder;
use crate::error::Kind;
use crate::forms::node_id::NodeId;
use crate::forms::object::{ObjectSet, Property};
use crate::lower::{Form, Lowering};
use crate::report::PlaceId;

/// The members of an object, without its brackets.
struct List {
    /// At least one member.
    members: ExprId,
    /// Whether the object may have no members.
    may_be_empty: bool,
    /// Whether sessions watch its keys.
    is_watched: bool,
}

impl<'a> Lowering<'_, 'a> {
    /// The objects of any of `sets`. All sets share one pair of brackets, so the brackets are read only once.
    pub(crate) fn objects(
        &mut self,
        form: Form,
        sets: &[Rc<ObjectSet<'a>>],
        place: PlaceId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let (listed, sets) = self.listed_objects(form, sets, place)?;
        let is_any_order = self.graph.config.property_order == PropertyOrder::Any;
        let lower = if is_any_order { Lowering::list_in_any_order } else { Lowering::list_in_order };
        let mut lists = Vec::with_capacity(sets.len());
        for set in &sets {
            if set.witnesses.is_empty() {
                lists.push(lower(self, form, set, place, depth)?);
            } else {
                for set in self.graph.spread_witnesses(set, place)? {
                    lists.push(lower(self, form, &set, place, depth)?);
                }
            }
        }
        let members: Vec<ExprId> = lists.iter().map(|list| list.members).chain(listed).collect();
        let members = self.builder.alt(&members);
        let mut brackets = self.symbols(form).object;
        if lists.iter().any(|list| list.is_watched) {
            brackets.open = self.distinct_open_object();
        }
        Ok(self.in_brackets(brackets, members, lists.iter().any(|list| list.may_be_empty)))
    }

    /// The members, in any order, of an object whose witnesses are members that are not named.
    fn list_in_any_order(
        &mut self,
        form: Form,
        set: &ObjectSet<'a>,
        place: PlaceId,
        depth: usize,
    ) -> Result<List, SchemaError> {
        let mut named = Vec::with_capacity(set.properties.len());
        for property in set.properties.iter().filter(|property| property.schema != NodeId::NEVER) {
            self.graph.spend(place, 1)?;
            let expr = self.named(form, property, place, depth)?;
            named.push(ShuffleItem { expr, is_required: property.is_required });
        }
        let Others { once, members: others, is_watched, comma } = self.others(form, set, place, depth)?;
        named.extend(once);
        let min = self.count(set.min, place, "minProperties")?;
        let max = set.max.and_then(|max| u32::try_from(max).ok());
        // Witnesses are items that must be there; one member may be several of them.
        let mut lists = Vec::new();
        let mut may_be_empty = false;
        for blocks in partitions(set.witnesses.len()) {
            let mut items = named.clone();
            items.extend(
                blocks.iter().map(|&taken| ShuffleItem { expr: others[taken as usize], is_required: true }),
            );
            let list = |min| ShuffleList {
                items: items.clone().into(),
                others: others[0],
                separator: comma,
                min,
                max,
            };
            may_be_empty |= min == 0 && items.iter().all(|item| !item.is_required);
            lists.push(self.builder.shuffle(list(min.max(1))));
        }
        Ok(List { members: self.builder.alt(&lists), may_be_empty, is_watched })
    }

    /// The members of an object whose witnesses are members that are not named.
    fn list_in_order(
        &mut self,
        form: Form,
        set: &ObjectSet<'a>,
        place: PlaceId,
        depth: usize,
    ) -> Result<List, SchemaError> {
        let named: Vec<_> =
            set.properties.iter().filter(|property| property.schema != NodeId::NEVER).collect();
        // Counting ends where the number of members says nothing more.
        let last_count = set.max.unwrap_or(set.min);
        let next = |n: u64| if set.max.is_some() { n + 1 } else { (n + 1).min(last_count) };
        let n_columns = |i: usize| last_count.min(i as u64) + 1;
        if (named.len() as u64 + 1).saturating_mul(n_columns(named.len())) > MAX_CELLS {
            let message = "counting so many properties takes too many states".into();
            return Err(self.graph.error(place, Some("maxProperties"), Kind::Limit { message }));
        }
        let others = self.others(form, set, place, depth)?;
        let comma = others.comma;
        let mut from_here = Vec::new();
        let mut after = Vec::new();
        for n in 0..n_columns(named.len()) {
            let min = set.min.saturating_sub(n);
            let max = set.max.map(|max| max.saturating_sub(n));
            let (here, then) = self.other_members(&others, min, max, place)?;
            from_here.push(here);
            after.push(then);
        }
        let mut n_required = 0;
        for (i, property) in named.iter().enumerate().rev() {
            self.graph.spend(place, n_columns(i))?;
            let member = self.named(form, property, place, depth)?;
            n_required += u64::from(property.is_required);
            let (mut here, mut then) = (Vec::new(), Vec::new());
            for n in 0..n_columns(i) {
                let is_full = set.max.is_some_and(|max| n >= max);
                let with = match is_full {
                    true => self.builder.never(),
                    false => self.builder.seq(&[member, after[next(n) as usize]]),
                };
                let without = match property.is_required {
                    true => self.builder.never(),
                    false => from_here[n as usize],
                };
                let from = self.builder.alt(&[with, without]);
                let more = self.builder.seq(&[comma, from]);
                let may_end = n_required == 0 && n >= set.min && set.witnesses.is_empty();
                here.push(from);
                then.push(if may_end { self.builder.optional(more) } else { more });
            }
            (from_here, after) = (here, then);
        }
        let may_be_empty = n_required == 0 && set.min == 0 && set.witnesses.is_empty();
        Ok(List { members: from_here[0], may_be_empty, is_watched: others.is_watched })
    }

    /// A member under a name of the schema.
    fn named(
        &mut self,
        form: Form,
        property: &Property<'a>,
        place: PlaceId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let written = match self.names(form) {
            None => self.words(property.name),
            Some(names) => {
                if let Some(fault) = names.fault(property.name) {
                    let reason =
                        format!("the name \"{}\" {fault} in the style {}", property.name, self.style_name());
                    self.graph.refuse(place, "properties", reason)?;
                }
                let written = names.written(property.name);
                if self.surroundings.excluded.allows(&written) { vec![written] } else { Vec::new() }
            }
        };
        let colon = self.symbols(form).colon;
        match <[Vec<u8>; 1]>::try_from(written) {
            Ok([word]) => self.named_member(form, word, colon, property.schema, depth),
            Err(words) => self.member(form, Regex::words(words), None, colon, property.schema, depth),
        }
    }

    /// A member under a name as it is written.
    pub(super) fn named_member(
        &mut self,
        form: Form,
        name: Vec<u8>,
        colon: ExprId,
        schema: NodeId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        match (form, self.elements) {
            (Form::Element, Some(elements)) => self.named_element(elements, &name, schema, depth + 1),
            _ => self.member(form, Regex::literal(name), None, colon, schema, depth),
        }
    }

    /// A member under a key or name of a language, as it is written.
    pub(super) fn member(
        &mut self,
        form: Form,
        key: Regex,
        mark: Option<Mark>,
        colon: ExprId,
        schema: NodeId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        if let (Form::Element, Some(elements)) = (form, self.elements) {
            return self.unnamed_element(elements, key, schema, depth + 1);
        }
        let key = match mark {
            Some(mark) => self.builder.marked_terminal(key, mark),
            None => self.builder.terminal(key),
        };
        let value = self.node(Form::Value, schema, depth + 1)?;
        Ok(self.builder.seq(&[key, colon, value]))
    }
}

/// All ways to divide the first `n` numbers into groups, as sets of bits.
fn partitions(n: usize) -> Vec<Vec<u32>> {
    (0..n).fold(vec![Vec::new()], |known: Vec<Vec<u32>>, i| {
        known
            .into_iter()
            .flat_map(|groups| {
                (0..=groups.len()).map(move |at| {
                    let mut groups = groups.clone();
                    match groups.get_mut(at) {
                        Some(group) => *group |= 1 << i,
                        None => groups.push(1 << i),
                    }
                    groups
                })
            })
            .collect()
    })
}
