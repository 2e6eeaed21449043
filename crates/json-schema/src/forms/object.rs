//! Sets of objects.

use maskwright_automata::Regex;
use rustc_hash::FxHashMap;

use crate::forms::node_id::NodeId;

/// Objects of `min` to `max` members: the values of the named properties, of the keys of each class, and of
/// all others; and the members of which some must be there.
///
/// Invariant: names are distinct; no required property is [`NodeId::NEVER`]; classes share no key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectSet<'a> {
    pub(crate) properties: Vec<Property<'a>>,
    /// Keys that are not named.
    pub(crate) classes: Vec<KeyClass>,
    pub(crate) additional: NodeId,
    pub(crate) witnesses: Vec<KeyClass>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
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

/// Members with a key in a language (of whole, unescaped strings) and a value of a schema.
///
/// As a class: each member with such a key has such a value. As a witness: there is such a member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyClass {
    pub(crate) keys: Regex,
    pub(crate) schema: NodeId,
}

impl<'a> ObjectSet<'a> {
    pub(crate) fn any() -> ObjectSet<'a> {
        ObjectSet {
            properties: Vec::new(),
            classes: Vec::new(),
            additional: NodeId::ANY,
            witnesses: Vec::new(),
            min: 0,
            max: None,
        }
    }

    /// The objects with or without one property, whose value may be any of `schema`.
    pub(crate) fn with_property(name: &'a str, schema: NodeId, is_required: bool) -> ObjectSet<'a> {
        let property = Property { name, schema, is_required, is_declared: false };
        ObjectSet { properties: vec![property], ..ObjectSet::any() }
    }

    pub(crate) fn n_required(&self) -> u64 {
        self.properties.iter().filter(|property| property.is_required).count() as u64
    }

    /// Whether a key that is not named may be there.
    pub(crate) fn is_open(&self) -> bool {
        self.additional != NodeId::NEVER || self.classes.iter().any(|class| class.schema != NodeId::NEVER)
    }

    /// All keys that are named.
    pub(crate) fn names(&self) -> Regex {
        Regex::words(self.properties.iter().map(|property| property.name.as_bytes()))
    }

    /// Drops bounds on the number of members that say nothing; `false` if they leave no number.
    pub(crate) fn settle_counts(&mut self) -> bool {
        let n_required = self.n_required();
        if self.min <= n_required {
            self.min = 0;
        }
        if let Some(max) = self.max
            && !self.is_open()
        {
            let n_possible =
                self.properties.iter().filter(|property| property.schema != NodeId::NEVER).count();
            if n_possible as u64 <= max {
                self.max = None;
            }
            if (n_possible as u64) < self.min {
                return false;
            }
        }
        self.max.is_none_or(|max| self.min <= max && n_required <= max)
    }
}

/// The keys of all classes.
pub(crate) fn all_keys(classes: &[KeyClass]) -> Regex {
    Regex::union(classes.iter().map(|class| class.keys.clone()))
}

/// The first property that is required and cannot be there.
pub(crate) fn missing<'a>(properties: &[Property<'a>]) -> Option<&'a str> {
    properties
        .iter()
        .find(|property| property.is_required && property.schema == NodeId::NEVER)
        .map(|property| property.name)
}

/// How many properties are searched one by one.
const FEW_PROPERTIES: usize = 8;

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
