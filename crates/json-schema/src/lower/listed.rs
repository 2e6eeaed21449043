//! Long lists of objects and arrays, as an `enum` has them: a tree of what they begin with.
//!
//! Each value is written as a sequence: the bytes of its keys and scalars, and symbols for all else. The
//! sequences are sorted, and what begins alike is read once. What ends alike is one expression by itself,
//! since equal expressions are the same. So a reader follows as few readings as there are values that differ
//! in a symbol, and not in a byte, at the present place.
//!
//! White space after an opening bracket decides about that before the closing one, so the tree within
//! brackets is made once for each [pad](crate::strings::terminals::Pad).

use std::rc::Rc;

use maskwright_automata::Regex;
use maskwright_grammar::ExprId;
use rustc_hash::FxHashMap;

use crate::SchemaError;
use crate::config::PropertyOrder;
use crate::error::Kind;
use crate::forms::array::ArraySet;
use crate::forms::node_id::NodeId;
use crate::forms::object::ObjectSet;
use crate::forms::shape::StringSet;
use crate::lower::{Form, Lowering, Symbols};
use crate::report::PlaceId;

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
    /// What follows, as far as it is made and does not begin with a byte.
    known: FxHashMap<At, ExprId>,
}

/// A place in the tree: in the sequences from one to before another, which are the same up to a part.
#[derive(Clone, PartialEq, Eq, Hash)]
struct At {
    from: usize,
    to: usize,
    part: usize,
    /// The pads of the brackets that are open.
    pads: Vec<usize>,
    /// How often sequences were told apart before.
    n_forks: usize,
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
            && set.min == 0
            && set.max.is_none()
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
        let words = match &shape.strings[..] {
            [StringSet::Words(words)] if shape.n_alternatives() == 1 && words.len() == 1 => {
                self.words(words[0])
            }
            _ => {
                let value = self.node(Form::Value, node, depth)?;
                match self.builder.word(value) {
                    Some(word) => vec![word],
                    None => return Ok(Some(vec![vec![Part::Symbol(value)]])),
                }
            }
        };
        // The word of a token is not to be divided.
        if words.iter().any(|word| std::str::from_utf8(word).is_err()) {
            let word = self.builder.terminal(Regex::words(words));
            return Ok(Some(vec![vec![Part::Symbol(word)]]));
        }
        Ok(Some(words.iter().map(|word| word.iter().map(|&byte| Part::Byte(byte)).collect()).collect()))
    }

    fn tree(&mut self, mut sequences: Ways, place: PlaceId) -> Result<ExprId, SchemaError> {
        sequences.sort_unstable();
        sequences.dedup();
        let mut tree = Tree { sequences: &sequences, place, known: FxHashMap::default() };
        let all = At { from: 0, to: sequences.len(), part: 0, pads: Vec::new(), n_forks: 0 };
        self.written(&mut tree, all)
    }

    fn written(&mut self, tree: &mut Tree<'_>, at: At) -> Result<ExprId, SchemaError> {
        let (word, rest) = self.text(tree, at)?;
        let word = self.builder.literal(word);
        Ok(self.builder.seq(&[word, rest]))
    }

    fn text(&mut self, tree: &mut Tree<'_>, at: At) -> Result<Text, SchemaError> {
        let (first, last) = (&tree.sequences[at.from], &tree.sequences[at.to - 1]);
        let common = first[at.part..].iter().zip(&last[at.part..]).take_while(|(part, other)| part == other);
        let word: Vec<u8> = common
            .map_while(|(part, _)| match part {
                Part::Byte(byte) => Some(*byte),
                _ => None,
            })
            .collect();
        self.graph.spend(tree.place, 1)?;
        let at = At { part: at.part + word.len(), ..at };
        let next = match (first.get(at.part), last.get(at.part)) {
            (None, None) => self.builder.epsilon(),
            (Some(&part), Some(&other)) if part == other => match tree.known.get(&at) {
                Some(&known) => known,
                None => {
                    let next = self.after(tree, &at, part)?;
                    tree.known.insert(at, next);
                    next
                }
            },
            _ => self.fork(tree, &at)?,
        };
        Ok((word, next))
    }

    /// What stands at a place where all sequences have the same part, which is not a byte.
    fn after(&mut self, tree: &mut Tree<'_>, at: &At, part: Part) -> Result<ExprId, SchemaError> {
        let symbols = self.symbols(Form::Value);
        let brackets = |bracket| match bracket {
            Bracket::Object => symbols.object,
            Bracket::Array => symbols.array,
        };
        let mut next = At { part: at.part + 1, ..at.clone() };
        let before = match part {
            Part::Open(bracket) => {
                let brackets = brackets(bracket);
                let mut ways = Vec::new();
                for (index, pad) in brackets.pads.iter().enumerate() {
                    if pad.close != self.builder.never() {
                        let pads = [&at.pads[..], &[index]].concat();
                        let inside = self.written(tree, At { pads, ..next.clone() })?;
                        ways.push(self.builder.seq(&[pad.after_open, inside]));
                    }
                }
                let ways = self.builder.alt(&ways);
                return Ok(self.builder.seq(&[brackets.open, ways]));
            }
            Part::Close(bracket) => {
                let pad = next.pads.pop().expect("what is closed was opened");
                brackets(bracket).pads[pad].close
            }
            Part::Symbol(symbol) => symbol,
            Part::Byte(byte) => self.builder.literal([byte]),
        };
        let rest = self.written(tree, next)?;
        Ok(self.builder.seq(&[before, rest]))
    }

    /// What stands at a place where sequences differ, or one of them ends.
    fn fork(&mut self, tree: &mut Tree<'_>, at: &At) -> Result<ExprId, SchemaError> {
        let n_forks = at.n_forks + 1;
        let mut ways = Vec::new();
        // Words by what follows them.
        let mut words: FxHashMap<ExprId, Vec<Vec<u8>>> = FxHashMap::default();
        let mut from = at.from;
        while from < at.to {
            let part = tree.sequences[from].get(at.part);
            let same = |sequence: &&Vec<Part>| n_forks < MAX_FORKS && sequence.get(at.part) == part;
            let to = from + 1 + tree.sequences[from + 1..at.to].iter().take_while(same).count();
            let (word, rest) = self.text(tree, At { from, to, n_forks, ..at.clone() })?;
            match word.is_empty() {
                true => ways.push(rest),
                false => words.entry(rest).or_default().push(word),
            }
            from = to;
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
