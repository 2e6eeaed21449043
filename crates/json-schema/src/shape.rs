//! The canonical form of a schema: a union, JSON type by JSON type.
//!
//! A [`Shape`] says which values satisfy a schema, as a list of alternatives for each type. Each alternative
//! is a conjunction of constraints of its own kind ([`NumberSet`], [`StringSet`], [`ArraySet`],
//! [`ObjectSet`]), and each kind is closed under intersection, so shapes are closed under union (lists are
//! appended) and intersection (alternatives are multiplied out). `allOf`, `anyOf` and the siblings of
//! `$ref` are therefore exact whatever they contain. Constants have no form of their own: `{"a": [1]}` is
//! the object with exactly one property, whose value is the array of exactly one item, and so on.
//!
//! The schemas of items and properties are [`NodeId`]s, resolved lazily by the graph: a shape is one step
//! deep, and recursive schemas are finite.
//!
//! Rejected: merging schemas as JSON documents (`allOf` folded into one `Value`) before compiling. Merging
//! is not closed there (two `pattern`s, two `$ref`s), and every later stage must ask again what a keyword
//! means.

use std::rc::Rc;

use maskwright_automata::Regex;
use rustc_hash::FxHashMap;

use crate::number::NumberSet;

/// A schema in the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The schema of all values.
    pub(crate) const ANY: NodeId = NodeId(0);
    /// The schema of no value.
    pub(crate) const NEVER: NodeId = NodeId(1);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> NodeId {
        NodeId(
            u32::try_from(index)
                .expect("every node spends fuel, and a document of 2^32 schemas does not fit memory"),
        )
    }
}

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

/// Arrays of `min` to `max` items, the first ones of `prefix`, the others of `rest`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArraySet {
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: NodeId,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

/// Objects: the values of the named properties, and of all others.
///
/// Invariant: names are distinct; no required property is [`NodeId::NEVER`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectSet<'a> {
    pub(crate) properties: Vec<Property<'a>>,
    pub(crate) additional: NodeId,
}

/// A named property, in the order in which it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Property<'a> {
    pub(crate) name: &'a str,
    pub(crate) schema: NodeId,
    pub(crate) is_required: bool,
    /// Whether `properties` lists it, rather than `required` alone.
    pub(crate) is_declared: bool,
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

    /// How many alternatives there are.
    pub(crate) fn n_alternatives(&self) -> usize {
        usize::from(self.has_null)
            + usize::from(self.has_true || self.has_false)
            + self.numbers.len()
            + self.strings.len()
            + self.arrays.len()
            + self.objects.len()
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

impl ArraySet {
    pub(crate) fn any() -> ArraySet {
        ArraySet { prefix: Vec::new(), rest: NodeId::ANY, min: 0, max: None }
    }

    /// The arrays in both; `meet` gives the intersection of two schemas. `None` if there are none.
    pub(crate) fn intersect(
        &self,
        other: &ArraySet,
        mut meet: impl FnMut(NodeId, NodeId) -> NodeId,
    ) -> Option<ArraySet> {
        let at = |set: &ArraySet, i: usize| set.prefix.get(i).copied().unwrap_or(set.rest);
        let prefix =
            (0..self.prefix.len().max(other.prefix.len())).map(|i| meet(at(self, i), at(other, i))).collect();
        ArraySet {
            prefix,
            rest: meet(self.rest, other.rest),
            min: self.min.max(other.min),
            max: least(self.max, other.max),
        }
        .normal()
    }

    /// Turns schemas of no value into a bound on the length; `None` if no length is left.
    pub(crate) fn normal(mut self) -> Option<ArraySet> {
        if let Some(i) = self.prefix.iter().position(|&item| item == NodeId::NEVER) {
            self.max = least(self.max, Some(i as u64));
        } else if self.rest == NodeId::NEVER {
            self.max = least(self.max, Some(self.prefix.len() as u64));
        }
        if let Some(max) = self.max.and_then(|max| usize::try_from(max).ok()) {
            self.prefix.truncate(max);
            if self.prefix.len() == max {
                self.rest = NodeId::NEVER;
            }
        }
        self.max.is_none_or(|max| self.min <= max).then_some(self)
    }
}

/// How many properties are searched one by one.
const FEW_PROPERTIES: usize = 8;

impl<'a> ObjectSet<'a> {
    pub(crate) fn any() -> ObjectSet<'a> {
        ObjectSet { properties: Vec::new(), additional: NodeId::ANY }
    }

    /// The objects in both; `meet` gives the intersection of two schemas. Declared properties keep the order
    /// of `self`, then those of `other` follow, then those that are only required. `Err` names a property that is required and cannot be there.
    /// Linear in the number of properties.
    pub(crate) fn intersect(
        &self,
        other: &ObjectSet<'a>,
        mut meet: impl FnMut(NodeId, NodeId) -> NodeId,
    ) -> Result<ObjectSet<'a>, &'a str> {
        let (of_self, of_other) = (Names::new(&self.properties), Names::new(&other.properties));
        let mut properties = Vec::with_capacity(self.properties.len().max(other.properties.len()));
        let mut undeclared = Vec::new();
        for property in &self.properties {
            let (schema, same) = match of_other.find(property.name) {
                Some(same) => (meet(property.schema, same.schema), Some(same)),
                None => (meet(property.schema, other.additional), None),
            };
            let is_required = property.is_required || same.is_some_and(|same| same.is_required);
            let both = Property { schema, is_required, ..*property };
            if property.is_declared {
                properties.push(both);
            } else if !same.is_some_and(|same| same.is_declared) {
                undeclared.push(both);
            }
        }
        for property in &other.properties {
            match of_self.find(property.name) {
                Some(same) if same.is_declared || !property.is_declared => {}
                Some(same) => properties.push(Property {
                    schema: meet(same.schema, property.schema),
                    is_required: same.is_required || property.is_required,
                    ..*property
                }),
                None => {
                    let both = Property { schema: meet(self.additional, property.schema), ..*property };
                    if property.is_declared { properties.push(both) } else { undeclared.push(both) }
                }
            }
        }
        properties.append(&mut undeclared);
        match properties.iter().find(|property| property.is_required && property.schema == NodeId::NEVER) {
            Some(property) => Err(property.name),
            None => Ok(ObjectSet { properties, additional: meet(self.additional, other.additional) }),
        }
    }
}

/// Properties by name.
pub(crate) enum Names<'p, 'a> {
    Few(&'p [Property<'a>]),
    Many(FxHashMap<&'a str, &'p Property<'a>>),
}

impl<'p, 'a> Names<'p, 'a> {
    pub(crate) fn new(properties: &'p [Property<'a>]) -> Names<'p, 'a> {
        if properties.len() <= FEW_PROPERTIES {
            Names::Few(properties)
        } else {
            Names::Many(properties.iter().map(|property| (property.name, property)).collect())
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&'p Property<'a>> {
        match self {
            Names::Few(properties) => properties.iter().find(|property| property.name == name),
            Names::Many(properties) => properties.get(name).copied(),
        }
    }
}

/// The lesser of two upper bounds.
fn least(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (bound, None) | (None, bound) => bound,
    }
}
