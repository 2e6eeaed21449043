//! Long lists of objects and arrays, as an `enum` has them: a tree of what they begin with.
//!
//! Each value is written as a sequence: the bytes of its keys and scalars, and symbols for all else. The sequences are sorted, and what
//! begins alike is read once. What ends alike is one expression by itself, since equal expressions are the same. So a reader follows as
//! few readings as there are values that differ in a symbol, and not in a byte, at the present place.
//!
//! White space after an opening bracket decides about that before the closing one, so the tree within brackets is made once for each
//! [pad](crate::terminals::Pad).

use std::rc::Rc;

use maskwright_automata::Regex;
use maskwright_grammar::ExprId;
use rustc_hash::FxHashMap;

use crate::SchemaError;
use crate::array::ArraySet;
use crate::config::PropertyOrder;
use crate::error::Kind;
use crate::lower::{Form, Lowering, Symbols};
use crate::node_id::NodeId;
use crate::object::ObjectSet;
use crate::report::PlaceId;
use crate::shape::{Shape, StringSet};

/// The fewest sets that are a long list.
const MANY: usize = 64;

/// The most ways to write one value that are listed: of its keys in any order, say.
const MAX_WAYS: usize = 24;

/// How deep objects and arrays are listed within others.
const MAX_DEPTH: usize = 4;

/// How often sequences are told apart, one within the other, before the rest of them is written side by side.
const MAX_FORKS: usize = 256;

/// The most symbols of one value.
const MAX_SYMBOLS: usize = 256;

/// The most readings at one place, a good part of what an engine follows.
const MAX_READINGS: usize = 10_000;

/// A part of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Byte(u8),
    Symbol(ExprId),
    /// An opening bracket, and what closes the same.
    Open(Bracket),
    Close(Bracket),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Bracket {
    Object,
    Array,
}

/// The sequences of one value: one for each way to write it.
type Ways = Vec<Vec<Part>>;

/// What stands at a place of sequences: a word, maybe empty, and what follows it.
type Text = (Vec<u8>, ExprId);

/// A list of sequences, sorted, that is being written.
struct Tree<'t> {
    sequences: &'t [Vec<Part>],
    place: PlaceId,
    /// Texts by the sequences, the place in them and the pads of the brackets that are open.
    known: FxHashMap<(usize, usize, usize, Vec<usize>), Text>,
}

impl<'a> Lowering<'_, 'a> {
    /// The members of those of many objects that are listed, and the others.
    pub(crate) fn listed_objects(
        &mut self,
        form: Form,
        sets: &[Rc<ObjectSet<'a>>],
        place: PlaceId,
    ) -> Result<(Option<ExprId>, Vec<Rc<ObjectSet<'a>>>), SchemaError> {
        self.listed(form, sets, place, |lowering, set| {
            // Without members there is no list in the brackets.
            if set.properties.is_empty() { Ok(None) } else { lowering.members_of(set, place, 0) }
        })
    }

    /// Those of many arrays that are listed, with brackets, and the others.
    pub(crate) fn listed_arrays(
        &mut self,
        form: Form,
        sets: &[Rc<ArraySet>],
        place: PlaceId,
    ) -> Result<(Option<ExprId>, Vec<Rc<ArraySet>>), SchemaError> {
        self.listed(form, sets, place, |lowering, set| {
            let items = if set.prefix.is_empty() { None } else { lowering.items_of(set, place, 0)? };
            Ok(items.map(|ways| ways.into_iter().map(|way| enclosed(Bracket::Array, way)).collect()))
        })
    }

    fn listed<S>(
        &mut self,
        form: Form,
        sets: &[Rc<S>],
        place: PlaceId,
        mut ways_of: impl FnMut(&mut Self, &S) -> Result<Option<Ways>, SchemaError>,
    ) -> Result<(Option<ExprId>, Vec<Rc<S>>), SchemaError> {
        if form != Form::Value || sets.len() < MANY {
            return Ok((None, sets.to_vec()));
        }
        let (mut sequences, mut others) = (Ways::new(), Vec::new());
        for set in sets {
            let n_symbols =
                |way: &Vec<Part>| way.iter().filter(|part| !matches!(part, Part::Byte(_))).count();
            match ways_of(self, set)? {
                Some(ways) if ways.iter().all(|way| n_symbols(way) <= MAX_SYMBOLS) => sequences.extend(ways),
                _ => others.push(set.clone()),
            }
        }
        let listed = if sequences.is_empty() { None } else { Some(self.tree(sequences, place)?) };
        Ok((listed, others))
    }

    /// The members of an object that has just these, in the orders in which they may be written.
    fn members_of(
        &mut self,
        set: &ObjectSet<'a>,
        place: PlaceId,
        depth: usize,
    ) -> Result<Option<Ways>, SchemaError> {
        let is_listed = set.additional == NodeId::NEVER
            && set.classes.is_empty()
            && set.witnesses.is_empty()
            && set.properties.iter().all(|property| property.is_required);
        if !is_listed {
            return Ok(None);
        }
        let Symbols { comma, colon, .. } = self.symbols(Form::Value);
        let mut members = Vec::with_capacity(set.properties.len());
        for property in &set.properties {
            let names = match self.names(Form::Value) {
                None => self.words(property.name),
                Some(names) if names.fault(property.name).is_none() => vec![names.written(property.name)],
                Some(_) => return Ok(None),
            };
            let Some(values) = self.ways_of(property.schema, depth + 1)? else { return Ok(None) };
            let mut ways = Ways::new();
            for name in &names {
                let key: Vec<Part> = name.iter().map(|&byte| Part::Byte(byte)).collect();
                ways.extend(values.iter().map(|value| [&key[..], &[Part::Symbol(colon)], value].concat()));
            }
            members.push(ways);
        }
        let n = members.len();
        let orders = match self.graph.config.property_order {
            PropertyOrder::Any if n > 4 => return Ok(None),
            PropertyOrder::Any => orders(n),
            _ => vec![(0..n).collect()],
        };
        let mut all = Ways::new();
        for order in orders {
            let in_order: Vec<&Ways> = order.iter().map(|&index| &members[index]).collect();
            let Some(ways) = joined(&in_order, comma) else { return Ok(None) };
            all.extend(ways);
        }
        self.graph.spend(place, all.iter().map(|way| cost(way)).sum())?;
        Ok((all.len() <= MAX_WAYS).then_some(all))
    }

    /// The items of an array that has just these.
    fn items_of(
        &mut self,
        set: &ArraySet,
        place: PlaceId,
        depth: usize,
    ) -> Result<Option<Ways>, SchemaError> {
        let n = set.prefix.len() as u64;
        if set.min != n || set.max != Some(n) || !set.counts.is_empty() || set.unique.is_some() {
            return Ok(None);
        }
        let mut items = Vec::with_capacity(set.prefix.len());
        for &item in &set.prefix {
            let Some(ways) = self.ways_of(item, depth + 1)? else { return Ok(None) };
            items.push(ways);
        }
        let ways = joined(&items.iter().collect::<Vec<_>>(), self.symbols(Form::Value).array_comma);
        self.graph.spend(place, ways.iter().flatten().map(|way| cost(way)).sum())?;
        Ok(ways)
    }

    /// The ways to write the one value of a node; of more values, its symbol.
    fn ways_of(&mut self, node: NodeId, depth: usize) -> Result<Option<Ways>, SchemaError> {
        let place = self.graph.place(node);
        let shape = self.graph.shape(node).map_err(|error| self.graph.blame(error, node))?;
        let within = match (&shape.objects[..], &shape.arrays[..]) {
            _ if shape.n_alternatives() != 1 || depth > MAX_DEPTH => None,
            ([set], _) if !set.properties.is_empty() => {
                self.members_of(set, place, depth)?.map(|ways| (Bracket::Object, ways))
            }
            (_, [set]) if !set.prefix.is_empty() => {
                self.items_of(set, place, depth)?.map(|ways| (Bracket::Array, ways))
            }
            _ => None,
        };
        if let Some((bracket, ways)) = within {
            return Ok(Some(ways.into_iter().map(|way| enclosed(bracket, way)).collect()));
        }
        let words = match self.scalar_words(&shape) {
            Some(words) => words,
            None => {
                let value = self.node(Form::Value, node, depth)?;
                let Some(word) = self.builder.word(value) else {
                    return Ok(Some(vec![vec![Part::Symbol(value)]]));
                };
                vec![word]
            }
        };
        Ok(Some(words.iter().map(|word| word.iter().map(|&byte| Part::Byte(byte)).collect()).collect()))
    }

    /// The ways to write the one string of a form.
    fn scalar_words(&self, shape: &Shape<'a>) -> Option<Vec<Vec<u8>>> {
        let is_string = shape.n_alternatives() == 1;
        match &shape.strings[..] {
            [StringSet::Words(words)] if is_string && words.len() == 1 => Some(self.words(words[0])),
            _ => None,
        }
    }

    fn tree(&mut self, mut sequences: Ways, place: PlaceId) -> Result<ExprId, SchemaError> {
        sequences.sort_unstable();
        sequences.dedup();
        let mut tree = Tree { sequences: &sequences, place, known: FxHashMap::default() };
        let text = self.text(&mut tree, (0, sequences.len()), 0, &[], 0)?;
        Ok(self.written(text))
    }

    fn written(&mut self, (word, rest): Text) -> ExprId {
        let word = self.builder.literal(word);
        self.builder.seq(&[word, rest])
    }

    /// What follows in the sequences `from..to`, which are the same up to the part `at`; `pads` of the brackets that are open.
    fn text(
        &mut self,
        tree: &mut Tree<'_>,
        (from, to): (usize, usize),
        at: usize,
        pads: &[usize],
        n_forks: usize,
    ) -> Result<Text, SchemaError> {
        let (first, last) = match &tree.sequences[from..to] {
            [] => return Ok((Vec::new(), self.builder.never())),
            [first, .., last] => (first, last),
            [only] => (only, only),
        };
        let is_byte = |at: usize| match (first.get(at), last.get(at)) {
            (Some(Part::Byte(byte)), Some(Part::Byte(other))) if byte == other => Some(*byte),
            _ => None,
        };
        let word: Vec<u8> = (at..).map_while(is_byte).collect();
        let at = at + word.len();
        self.graph.spend(tree.place, 1)?;
        let next = match (first.get(at), last.get(at)) {
            (None, None) => self.builder.epsilon(),
            (Some(&part), other) if other == Some(&part) => {
                let key = (from, to, at, pads.to_vec());
                let known = tree.known.get(&key).cloned();
                let text = match known {
                    Some(text) => text,
                    None => {
                        let text = self.after(tree, (from, to), at, part, pads, n_forks)?;
                        tree.known.insert(key, text.clone());
                        text
                    }
                };
                self.written(text)
            }
            _ => self.fork(tree, (from, to), at, pads, n_forks + 1)?,
        };
        Ok((word, next))
    }

    /// The same, where the next part is not a byte, and the same in all.
    fn after(
        &mut self,
        tree: &mut Tree<'_>,
        range: (usize, usize),
        at: usize,
        part: Part,
        pads: &[usize],
        n_forks: usize,
    ) -> Result<Text, SchemaError> {
        let symbols = self.symbols(Form::Value);
        let brackets = |bracket| match bracket {
            Bracket::Object => symbols.object,
            Bracket::Array => symbols.array,
        };
        let (before, pads) = match part {
            Part::Open(bracket) => {
                let brackets = brackets(bracket);
                let mut ways = Vec::new();
                for (index, pad) in brackets.pads.iter().enumerate() {
                    if pad.close != self.builder.never() {
                        let text = self.text(tree, range, at + 1, &[pads, &[index]].concat(), n_forks)?;
                        let inside = self.written(text);
                        ways.push(self.builder.seq(&[pad.after_open, inside]));
                    }
                }
                let ways = self.builder.alt(&ways);
                return Ok((Vec::new(), self.builder.seq(&[brackets.open, ways])));
            }
            Part::Close(bracket) => {
                let (&pad, outside) = pads.split_last().expect("what is closed was opened");
                (brackets(bracket).pads[pad].close, outside)
            }
            Part::Symbol(symbol) => (symbol, pads),
            Part::Byte(byte) => (self.builder.literal([byte]), pads),
        };
        let text = self.text(tree, range, at + 1, pads, n_forks)?;
        let rest = self.written(text);
        Ok((Vec::new(), self.builder.seq(&[before, rest])))
    }

    /// The same, where sequences differ, or one of them ends.
    fn fork(
        &mut self,
        tree: &mut Tree<'_>,
        (from, to): (usize, usize),
        at: usize,
        pads: &[usize],
        n_forks: usize,
    ) -> Result<ExprId, SchemaError> {
        let mut ways = Vec::new();
        // Words by what follows them.
        let mut words: FxHashMap<ExprId, Vec<Vec<u8>>> = FxHashMap::default();
        let mut start = from;
        while start < to {
            let part = tree.sequences[start].get(at).copied();
            let same = |sequence: &Vec<Part>| n_forks < MAX_FORKS && sequence.get(at).copied() == part;
            let n = tree.sequences[start + 1..to].iter().take_while(|sequence| same(sequence)).count();
            let (word, rest) = self.text(tree, (start, start + 1 + n), at, pads, n_forks)?;
            match word.is_empty() {
                true => ways.push(rest),
                false => words.entry(rest).or_default().push(word),
            }
            start += 1 + n;
        }
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable();
        for (rest, words) in words {
            let word = self.builder.terminal(Regex::words(words));
            ways.push(self.builder.seq(&[word, rest]));
        }
        if ways.len() > MAX_READINGS {
            let message =
                "so many values differ in the same place that they cannot all be followed".to_owned();
            return Err(self.graph.error(tree.place, Some("enum"), Kind::Limit { message }));
        }
        Ok(self.builder.alt(&ways))
    }
}

/// Work units of a sequence: its bytes are copied and compared a few times.
fn cost(way: &[Part]) -> u64 {
    1 + way.len() as u64 / 16
}

fn enclosed(bracket: Bracket, mut way: Vec<Part>) -> Vec<Part> {
    way.insert(0, Part::Open(bracket));
    way.push(Part::Close(bracket));
    way
}

/// Each way of the first part, `comma`, each way of the second part, and so on; `None` if there are many.
fn joined(parts: &[&Ways], comma: ExprId) -> Option<Ways> {
    let mut all = vec![Vec::new()];
    for (index, ways) in parts.iter().enumerate() {
        let comma = (index > 0).then_some(Part::Symbol(comma));
        let with = |before: &Vec<Part>| {
            let before: Vec<Part> = before.iter().copied().chain(comma).collect();
            ways.iter().map(move |way| [&before[..], way].concat()).collect::<Ways>()
        };
        all = all.iter().flat_map(with).collect();
        if all.len() > MAX_WAYS {
            return None;
        }
    }
    Some(all)
}

/// All orders of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    (0..n).fold(vec![Vec::new()], |known, number| {
        let with = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, number);
                order
            })
        };
        known.iter().flat_map(with).collect()
    })
}
