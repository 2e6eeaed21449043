//! Arrays as rules.
//!
//! What follows an item is built from the last to the first. Where items are counted, a state is how many
//! came so far and how many of each kind, both only as far as it matters; states that loop repeat.

use std::rc::Rc;

use maskwright_grammar::{ExprId, ShuffleItem, ShuffleList};
use rustc_hash::FxHashMap;

use crate::SchemaError;
use crate::error::Kind;
use crate::forms::array::{ArraySet, ItemCount};
use crate::forms::node_id::NodeId;
use crate::forms::shape::StringSet;
use crate::lower::{ArraySymbols, Form, Lowering};
use crate::numbers::number::NumberSet;
use crate::report::PlaceId;

/// How many states the counting of one array's items may take.
const MAX_STATES: usize = 20_000;

/// How deep values are followed to see that there are many.
const VALUE_DEPTH: usize = 4;

/// Strings of so many characters are more than any text has items.
const MANY_CHARS: u64 = 4;

/// Numbers of so many digits are more than any text has items.
const MANY_DIGITS: u32 = 9;

/// How many kinds of items one array may count: each set of kinds is looked at for each number of items.
const MAX_COUNTS: usize = 6;

impl Lowering<'_, '_> {
    pub(crate) fn array(
        &mut self,
        form: Form,
        set: &Rc<ArraySet>,
        node: NodeId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let place = self.graph.place(node);
        if let Some(unique) = set.unique.filter(|_| !self.may_watch()) {
            let array = if form == Form::Value { self.distinct_array(set, place)? } else { None };
            if let Some(array) = array {
                self.graph.note(unique, "uniqueItems");
                return Ok(array);
            }
            let reason = format!(
                "in the style {} it is enforced only for items of a finite list of values that are not elements",
                self.style_name()
            );
            self.graph.refuse(unique, "uniqueItems", reason)?;
        } else if let Some(unique) = set.unique {
            if let Some(array) = self.distinct_array(set, place)? {
                self.graph.note(unique, "uniqueItems");
                return Ok(array);
            }
            if self.has_enough_values(set)? {
                self.graph.note_session(unique, "uniqueItems");
                let symbols = self.distinct_symbols();
                return self.array_of(form, set, place, depth, symbols);
            }
            let reason = "it is not enforced where two items or more must be there and are not seen to have that many values";
            self.graph.refuse(unique, "uniqueItems", reason)?;
        }
        let symbols = self.array_symbols(form);
        self.array_of(form, set, place, depth, symbols)
    }

    fn array_of(
        &mut self,
        form: Form,
        set: &ArraySet,
        place: PlaceId,
        depth: usize,
        symbols: ArraySymbols,
    ) -> Result<ExprId, SchemaError> {
        if set.counts.is_empty() {
            return self.plain_array(form, set, place, depth, symbols);
        }
        self.counted_array(form, set, place, depth, symbols)
    }

    /// Whether as many different items as must be there are seen to exist, whichever others are there: then
    /// sessions may take the items one by one.
    fn has_enough_values(&mut self, set: &ArraySet) -> Result<bool, SchemaError> {
        if set.counts.iter().any(|count| count.min > 1) {
            return Ok(false);
        }
        if set.min <= 1 {
            return Ok(true);
        }
        let n_listed = usize::try_from(set.min).unwrap_or(usize::MAX).min(set.prefix.len());
        let mut nodes = set.prefix[..n_listed].to_vec();
        if set.min > n_listed as u64 {
            nodes.push(set.rest);
        }
        nodes.extend(set.counts.iter().map(|count| count.schema));
        for node in nodes {
            if !self.has_many_values(node, VALUE_DEPTH)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a schema is seen to have more values than any text has items.
    fn has_many_values(&mut self, node: NodeId, depth: usize) -> Result<bool, SchemaError> {
        if node == NodeId::ANY || node == NodeId::NEVER || depth == 0 {
            return Ok(node == NodeId::ANY);
        }
        let shape = self.graph.shape(node)?;
        let has_many_strings = shape.strings.iter().any(|set| match set {
            StringSet::Words(_) => false,
            StringSet::Constrained(constraint) => {
                constraint.patterns.is_empty()
                    && self.surroundings.excluded.is_empty()
                    && constraint.max.is_none_or(|max| max >= MANY_CHARS)
            }
        });
        let max_digits = self.graph.config.limits.max_number_digits;
        let has_many_numbers = max_digits.is_none_or(|max| max >= MANY_DIGITS)
            && shape.numbers.iter().any(|set| match set {
                NumberSet::Values(_) => false,
                NumberSet::Range(range) => {
                    (range.lower.is_none() || range.upper.is_none()) && range.non_multiples.is_empty()
                }
            });
        if has_many_strings || has_many_numbers {
            return Ok(true);
        }
        for set in &shape.arrays {
            let is_plain = set.counts.is_empty() && set.max.is_none_or(|max| max > 0);
            let first = set.prefix.first().copied().unwrap_or(set.rest);
            if is_plain && self.has_many_values(first, depth - 1)? {
                return Ok(true);
            }
        }
        for set in &shape.objects {
            if set.max.is_some() || !set.witnesses.is_empty() {
                continue;
            }
            for property in &set.properties {
                if self.has_many_values(property.schema, depth - 1)? {
                    return Ok(true);
                }
            }
            if set.classes.is_empty() && set.additional == NodeId::ANY {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `[`, the items of the prefix, then others, `]`. What follows an item is built from the last to the
    /// first: nothing, if there may be that few, or a comma and the next.
    fn plain_array(
        &mut self,
        form: Form,
        set: &ArraySet,
        place: PlaceId,
        depth: usize,
        symbols: ArraySymbols,
    ) -> Result<ExprId, SchemaError> {
        let ArraySymbols { brackets, comma } = symbols;
        let n_prefix = set.prefix.len() as u64;
        let rest = match set.rest {
            NodeId::NEVER => self.builder.never(),
            rest => self.item(form, rest, depth)?,
        };
        let min = self.count(set.min.saturating_sub(n_prefix), place, "minItems")?;
        // A text of more than 2^32 items is beyond every reader and every engine: it counts as unbounded.
        let max = set.max.and_then(|max| u32::try_from(max.saturating_sub(n_prefix)).ok());
        let next = self.builder.seq(&[comma, rest]);
        let mut after = self.builder.repeat(next, min, max);
        let more = self.builder.repeat(next, min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
        let mut from_here = match max {
            Some(0) => self.builder.never(),
            _ => self.builder.seq(&[rest, more]),
        };
        for (i, &item) in set.prefix.iter().enumerate().rev() {
            self.graph.spend(place, 1)?;
            let item = self.item(form, item, depth)?;
            from_here = self.builder.seq(&[item, after]);
            after = self.builder.seq(&[comma, from_here]);
            if i as u64 >= set.min {
                after = self.builder.optional(after);
            }
        }
        Ok(self.in_brackets(brackets, from_here, set.min == 0))
    }

    /// An array whose items all differ and are of one finite list of scalars: a list in any order. `None` if
    /// it is not such an array.
    fn distinct_array(&mut self, set: &ArraySet, place: PlaceId) -> Result<Option<ExprId>, SchemaError> {
        if !set.counts.is_empty() || !set.prefix.is_empty() || set.rest == NodeId::NEVER {
            return Ok(None);
        }
        let shape = self.graph.shape(set.rest)?;
        let Some(values) = self.values(&shape) else { return Ok(None) };
        let ArraySymbols { brackets, comma } = self.array_symbols(Form::Value);
        self.graph.spend(place, values.len() as u64)?;
        let min = self.count(set.min, place, "minItems")?;
        let list = ShuffleList {
            items: values.into_iter().map(|expr| ShuffleItem { expr, is_required: false }).collect(),
            others: self.builder.never(),
            separator: comma,
            min: min.max(1),
            max: set.max.and_then(|max| u32::try_from(max).ok()),
        };
        let items = self.builder.shuffle(list);
        Ok(Some(self.in_brackets(brackets, items, set.min == 0)))
    }

    /// An item up to the end of its value.
    fn item(&mut self, form: Form, item: NodeId, depth: usize) -> Result<ExprId, SchemaError> {
        let value = self.node(form, item, depth + 1)?;
        let elements = self.elements.filter(|_| form == Form::Element);
        match elements.and_then(|elements| Some((elements, elements.item?))) {
            None => Ok(value),
            Some((elements, (begin, end))) => {
                let begin = self.mark(begin);
                let end = self.surroundings.mark(end);
                Ok(self.whole_element(elements, begin, value, end))
            }
        }
    }

    fn counted_array(
        &mut self,
        form: Form,
        set: &ArraySet,
        place: PlaceId,
        depth: usize,
        symbols: ArraySymbols,
    ) -> Result<ExprId, SchemaError> {
        let n_counts = set.counts.len();
        if n_counts > MAX_COUNTS {
            let message =
                format!("{n_counts} kinds of items are counted, more than the limit of {MAX_COUNTS}");
            return Err(self.graph.error(place, Some("contains"), Kind::Limit { message }));
        }
        // Beyond this many items the number of them says nothing more.
        let n_apart =
            set.counts.iter().map(|count| count.from).max().unwrap_or(0).max(set.prefix.len() as u64);
        let n_apart = n_apart.max(set.max.map_or(set.min, |max| max.saturating_add(1)));
        let (tails, items) = (FxHashMap::default(), FxHashMap::default());
        let mut counting = Counting { form, set, place, depth, n_apart, comma: symbols.comma, tails, items };
        let start = State { n_items: 0, counts: vec![0; n_counts] };
        let first = counting.choices(self, &start)?;
        let mut members = Vec::new();
        for (next, item) in first {
            let tail = counting.tail(self, &next)?;
            members.push(self.builder.seq(&[item, tail]));
        }
        let items = self.builder.alt(&members);
        Ok(self.in_brackets(symbols.brackets, items, counting.may_end(&start)))
    }
}

/// How many items there are, and how many of each counted kind; saturated.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    n_items: u64,
    counts: Vec<u64>,
}

struct Counting<'s> {
    form: Form,
    set: &'s ArraySet,
    place: PlaceId,
    depth: usize,
    n_apart: u64,
    comma: ExprId,
    tails: FxHashMap<State, ExprId>,
    /// Items by their schema and the kinds they count as.
    items: FxHashMap<(NodeId, u32, u32), ExprId>,
}

impl Counting<'_> {
    fn may_end(&self, state: &State) -> bool {
        state.n_items >= self.set.min
            && self.set.counts.iter().zip(&state.counts).all(|(count, &n)| n >= count.min)
    }

    /// The states after one more item, with that item.
    fn choices(
        &mut self,
        lowering: &mut Lowering<'_, '_>,
        state: &State,
    ) -> Result<Vec<(State, ExprId)>, SchemaError> {
        let mut choices: Vec<(State, ExprId)> = Vec::new();
        if self.set.max.is_some_and(|max| state.n_items >= max) {
            return Ok(choices);
        }
        let position = usize::try_from(state.n_items).unwrap_or(usize::MAX);
        let base = self.set.prefix.get(position).copied().unwrap_or(self.set.rest);
        // A kind whose least number is reached and that has no greatest is counted no more.
        let is_open =
            |count: &ItemCount, n: u64| count.from <= state.n_items && (n < count.min || count.max.is_some());
        let mut open = 0u32;
        for (i, (count, &n)) in self.set.counts.iter().zip(&state.counts).enumerate() {
            open |= u32::from(is_open(count, n)) << i;
        }
        for kinds in 0..1u32 << self.set.counts.len() {
            if kinds & !open != 0 {
                continue;
            }
            let mut counts = state.counts.clone();
            let mut is_possible = true;
            for (i, count) in self.set.counts.iter().enumerate() {
                if kinds >> i & 1 == 1 {
                    counts[i] += 1;
                    is_possible &= count.max.is_none_or(|max| counts[i] <= max);
                }
            }
            if !is_possible {
                continue;
            }
            let item = self.item(lowering, base, kinds, open)?;
            if item == lowering.builder.never() {
                continue;
            }
            let next = State { n_items: (state.n_items + 1).min(self.n_apart), counts };
            choices.push((next, item));
        }
        Ok(choices)
    }

    /// An item of `base` that counts as `kinds`, and as no other of `open` that has a greatest number.
    fn item(
        &mut self,
        lowering: &mut Lowering<'_, '_>,
        base: NodeId,
        kinds: u32,
        open: u32,
    ) -> Result<ExprId, SchemaError> {
        if let Some(&known) = self.items.get(&(base, kinds, open)) {
            return Ok(known);
        }
        let mut schema = base;
        for (i, count) in self.set.counts.iter().enumerate() {
            if kinds >> i & 1 == 1 {
                schema = lowering.graph.meet(schema, count.schema);
            } else if open >> i & 1 == 1 && count.max.is_some() {
                let other = lowering.graph.complement_node(count.schema);
                schema = lowering.graph.meet(schema, other);
            }
        }
        let item = match schema {
            NodeId::NEVER => lowering.builder.never(),
            schema => lowering.item(self.form, schema, self.depth)?,
        };
        self.items.insert((base, kinds, open), item);
        Ok(item)
    }

    /// What may follow an item.
    fn tail(&mut self, lowering: &mut Lowering<'_, '_>, state: &State) -> Result<ExprId, SchemaError> {
        // Depth first, with a stack of its own: the states of long arrays are many.
        let mut todo = vec![state.clone()];
        while let Some(state) = todo.last().cloned() {
            if self.tails.contains_key(&state) {
                todo.pop();
                continue;
            }
            lowering.graph.spend(self.place, 1)?;
            if self.tails.len() + todo.len() > MAX_STATES {
                let message = format!(
                    "the numbers of items are too large to count: that takes more than {MAX_STATES} steps"
                );
                return Err(lowering.graph.error(self.place, Some("contains"), Kind::Limit { message }));
            }
            let choices = self.choices(lowering, &state)?;
            let missing: Vec<State> = choices
                .iter()
                .filter(|(next, _)| *next != state && !self.tails.contains_key(next))
                .map(|(next, _)| next.clone())
                .collect();
            if !missing.is_empty() {
                todo.extend(missing);
                continue;
            }
            let comma = self.comma;
            let mut same = Vec::new();
            let mut ways = Vec::new();
            if self.may_end(&state) {
                ways.push(lowering.builder.epsilon());
            }
            for (next, item) in choices {
                match self.tails.get(&next) {
                    Some(&tail) => ways.push(lowering.builder.seq(&[comma, item, tail])),
                    None => same.push(lowering.builder.seq(&[comma, item])),
                }
            }
            let same = lowering.builder.alt(&same);
            let same = lowering.builder.repeat(same, 0, None);
            let ways = lowering.builder.alt(&ways);
            let tail = lowering.builder.seq(&[same, ways]);
            self.tails.insert(state, tail);
            todo.pop();
        }
        Ok(self.tails[state])
    }
}
