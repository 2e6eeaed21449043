//! The canonical form of a schema: a union, JSON type by JSON type.
//!
//! A [`Shape`] says which values satisfy a schema, as a list of alternatives for each type. Each alternative
//! is a conjunction of constraints of its own kind ([`NumberSet`], [`StringSet`], [`ArraySet`],
//! [`ObjectSet`]), and each kind is closed under intersection and has a union as its complement, so shapes
//! are closed under union (lists are appended), intersection (alternatives are multiplied out) and
//! complement. `allOf`, `anyOf` and the siblings of `$ref` are therefore exact whatever they contain.
//! Constants have no form of their own: `{"a": [1]}` is the object with exactly one property, whose value is
//! the array of exactly one item, and so on.
//!
//! The schemas of items and properties are [`NodeId`](crate::forms::node_id::NodeId)s, resolved lazily by the
//! graph: a shape is one step deep, and recursive schemas are finite.
//!
//! Rejected: merging schemas as JSON documents (`allOf` folded into one `Value`) before compiling. Merging
//! is not closed there (two `pattern`s, two `$ref`s), and every later stage must ask again what a keyword
//! means.

use std::rc::Rc;

use maskwright_automata::Regex;

use crate::forms::array::{ArraySet, least};
use crate::forms::object::ObjectSet;
use crate::numbers::decimal::Decimal;
use crate::numbers::number::{NumberSet, NumberValue};
use crate::source::json_types::Types;
use crate::style::Kind;

/// A union of values: those of each type that satisfy one of its alternatives.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Shape<'a> {
    pub(crate) has_null: bool,
    pub(crate) has_true: bool,
    pub(crate) has_false: bool,
    pub(crate) numbers: Vec<NumberSet<'a>>,
    pub(crate) strings: Vec<StringSet<'a>>,
    pub(crate) arrays: Vec<Rc<ArraySet>>,
    pub(crate) objects: Vec<Rc<ObjectSet<'a>>>,
}

/// Strings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StringSet<'a> {
    /// One of a list.
    Words(Rc<[&'a str]>),
    /// All that satisfy each constraint.
    Constrained(StringConstraint),
}

/// `min` to `max` code points, in each of `patterns` (languages of whole strings, unescaped).
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct StringConstraint {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) patterns: Vec<Regex>,
}

impl<'a> Shape<'a> {
    /// All values.
    pub(crate) fn any() -> Shape<'a> {
        Shape {
            has_null: true,
            has_true: true,
            has_false: true,
            numbers: vec![NumberSet::any()],
            strings: vec![StringSet::any()],
            arrays: vec![Rc::new(ArraySet::any())],
            objects: vec![Rc::new(ObjectSet::any())],
        }
    }

    /// Takes all values of some types away.
    pub(crate) fn remove(&mut self, types: Types) {
        self.has_null &= !types.has(Types::NULL);
        self.has_true &= !types.has(Types::BOOLEAN);
        self.has_false &= !types.has(Types::BOOLEAN);
        if types.has(Types::NUMBER) {
            self.numbers.clear();
        }
        if types.has(Types::STRING) {
            self.strings.clear();
        }
        if types.has(Types::ARRAY) {
            self.arrays.clear();
        }
        if types.has(Types::OBJECT) {
            self.objects.clear();
        }
    }

    /// Its values of one kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> Shape<'a> {
        let none = Shape::default;
        match kind {
            Kind::String => Shape { strings: self.strings.clone(), ..none() },
            Kind::Number => Shape { numbers: self.numbers.clone(), ..none() },
            Kind::Boolean => Shape { has_true: self.has_true, has_false: self.has_false, ..none() },
            Kind::Null => Shape { has_null: self.has_null, ..none() },
            Kind::Array => Shape { arrays: self.arrays.clone(), ..none() },
            Kind::Object => Shape { objects: self.objects.clone(), ..none() },
        }
    }

    /// Whether the items of some array must differ.
    pub(crate) fn has_unique_arrays(&self) -> bool {
        self.arrays.iter().any(|set| set.unique.is_some())
    }

    /// Whether the items of all arrays differ.
    pub(crate) fn has_only_unique_arrays(&self) -> bool {
        self.arrays.iter().all(|set| set.unique.is_some() || set.max.is_some_and(|max| max <= 1))
    }

    /// The same shape without the condition that items differ.
    pub(crate) fn with_any_items(&self) -> Shape<'a> {
        let any = |set: &Rc<ArraySet>| match set.unique {
            Some(_) => Rc::new(ArraySet { unique: None, ..ArraySet::clone(set) }),
            None => set.clone(),
        };
        Shape { arrays: self.arrays.iter().map(any).collect(), ..self.clone() }
    }

    /// How many alternatives there are.
    pub(crate) fn n_alternatives(&self) -> usize {
        usize::from(self.has_null)
            + usize::from(self.has_true || self.has_false)
            + self.numbers.len()
            + self.strings.len()
            + self.arrays.len()
            + self.objects.len()
    }

    /// About how many bytes it takes, with what an allocator adds to many small pieces.
    pub(crate) fn n_bytes(&self) -> usize {
        let numbers = self.numbers.iter().map(|set| match set {
            NumberSet::Values(values) => {
                values.len() * (size_of::<NumberValue<'_>>() + size_of::<Decimal>() + 32)
            }
            NumberSet::Range(range) => size_of_val(&*range.multiples),
        });
        let numbers = size_of_val(&*self.numbers) + numbers.sum::<usize>();
        let strings = self.strings.iter().map(|set| match set {
            StringSet::Words(words) => size_of_val(&**words),
            StringSet::Constrained(set) => size_of_val(&*set.patterns),
        });
        let strings = size_of_val(&*self.strings) + strings.sum::<usize>();
        let arrays = self
            .arrays
            .iter()
            .map(|set| size_of::<ArraySet>() + size_of_val(&*set.prefix) + size_of_val(&*set.counts));
        let objects = self.objects.iter().map(|set| {
            let classes = size_of_val(&*set.classes) + size_of_val(&*set.witnesses);
            size_of::<ObjectSet<'_>>() + size_of_val(&*set.properties) + classes
        });
        let pieces = numbers + strings + arrays.sum::<usize>() + objects.sum::<usize>();
        (size_of::<Shape<'_>>() + pieces) * 5 / 4
    }

    /// The alternatives, each as a form of its own.
    pub(crate) fn alternatives(&self) -> impl Iterator<Item = Shape<'a>> {
        let none = Shape::default;
        let words = [
            Shape { has_null: self.has_null, ..none() },
            Shape { has_true: self.has_true, ..none() },
            Shape { has_false: self.has_false, ..none() },
        ];
        let words = words.into_iter().filter(|word| word.n_alternatives() > 0);
        let numbers = self.numbers.iter().map(move |set| Shape { numbers: vec![set.clone()], ..none() });
        let strings = self.strings.iter().map(move |set| Shape { strings: vec![set.clone()], ..none() });
        let arrays = self.arrays.iter().map(move |set| Shape { arrays: vec![set.clone()], ..none() });
        let objects = self.objects.iter().map(move |set| Shape { objects: vec![set.clone()], ..none() });
        words.chain(numbers).chain(strings).chain(arrays).chain(objects)
    }

    /// Adds the values of `other`.
    pub(crate) fn add(&mut self, other: &Shape<'a>) {
        self.has_null |= other.has_null;
        self.has_true |= other.has_true;
        self.has_false |= other.has_false;
        append(&mut self.numbers, &other.numbers);
        append(&mut self.strings, &other.strings);
        append(&mut self.arrays, &other.arrays);
        append(&mut self.objects, &other.objects);
    }
}

/// Appends what is not there yet; compares with a few only, since equal alternatives do no harm.
fn append<T: PartialEq + Clone>(known: &mut Vec<T>, more: &[T]) {
    const COMPARED: usize = 8;
    for item in more {
        if known.len() > COMPARED || !known.contains(item) {
            known.push(item.clone());
        }
    }
}

impl<'a> StringSet<'a> {
    pub(crate) fn any() -> StringSet<'a> {
        StringSet::Constrained(StringConstraint::default())
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self, StringSet::Constrained(constraint) if constraint.is_any())
    }
}

impl StringConstraint {
    pub(crate) fn is_any(&self) -> bool {
        *self == StringConstraint::default()
    }

    /// Whether both hold; `None` if no string has a length that both allow.
    pub(crate) fn intersect(&self, other: &StringConstraint) -> Option<StringConstraint> {
        let min = self.min.max(other.min);
        let max = least(self.max, other.max);
        let mut patterns = self.patterns.clone();
        patterns.extend(other.patterns.iter().filter(|pattern| !self.patterns.contains(pattern)).cloned());
        max.is_none_or(|max| min <= max).then_some(StringConstraint { min, max, patterns })
    }

    /// Whether the length of `word` is allowed.
    pub(crate) fn allows_length(&self, word: &str) -> bool {
        if self.min == 0 && self.max.is_none() {
            return true;
        }
        let length = word.chars().count() as u64;
        self.min <= length && self.max.is_none_or(|max| length <= max)
    }
}
