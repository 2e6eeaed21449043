//! `unevaluatedProperties` and `unevaluatedItems`.
//!
//! What a schema evaluates depends on which of its branches hold. [`Graph::evaluations`] lists the ways:
//! under a condition, these names, patterns and items are evaluated. The ways need not be the whole truth:
//! for a value that satisfies more branches than a way claims, a way that claims them all is in the list too,
//! and it leaves no more to the keyword. So the union of "condition and all else satisfies the keyword" over
//! all ways is exact, without a complement for each branch of `anyOf`.

use std::borrow::Cow;
use std::rc::Rc;

use maskwright_automata::Regex;
use serde_json::Value;

use super::keywords::Keywords;
use crate::SchemaError;
use crate::error::Kind;
use crate::forms::array::ArraySet;
use crate::forms::node_id::NodeId;
use crate::forms::object::{KeyClass, ObjectSet, Property};
use crate::forms::shape::Shape;
use crate::graph::Graph;
use crate::lenient::loose::Side;
use crate::report::{PlaceId, Step};
use crate::source::draft::Draft;

/// How deep references and branches are followed.
const MAX_DEPTH: usize = 64;

/// What a schema evaluates under a condition.
#[derive(Clone)]
struct Evaluation<'a> {
    /// `None`: always.
    condition: Option<Rc<Shape<'a>>>,
    names: Vec<&'a str>,
    patterns: Vec<Regex>,
    has_all_properties: bool,
    n_items: usize,
    has_all_items: bool,
    /// Items of these schemas (`contains`).
    items: Vec<NodeId>,
    /// Whether a keyword is left out that may evaluate more.
    is_loose: bool,
}

impl<'a> Evaluation<'a> {
    fn nothing() -> Evaluation<'a> {
        Evaluation {
            condition: None,
            names: Vec::new(),
            patterns: Vec::new(),
            has_all_properties: false,
            n_items: 0,
            has_all_items: false,
            items: Vec::new(),
            is_loose: false,
        }
    }

    /// What is evaluated by a schema of which something is left out: seen from above, whatever there is.
    fn unknown(side: Side) -> Evaluation<'a> {
        let has_all = side == Side::Above;
        Evaluation {
            has_all_properties: has_all,
            has_all_items: has_all,
            is_loose: true,
            ..Evaluation::nothing()
        }
    }

    fn is_nothing(&self) -> bool {
        self.names.is_empty()
            && self.patterns.is_empty()
            && self.items.is_empty()
            && !self.has_all_properties
            && self.n_items == 0
            && !self.has_all_items
            && !self.is_loose
    }
}

impl<'a> Graph<'a> {
    /// `shape`, of the schema `holder`, with its `unevaluated…` keywords.
    pub(crate) fn restrict_unevaluated(
        &mut self,
        shape: Rc<Shape<'a>>,
        holder: &'a Value,
        keywords: &Keywords<'a>,
        place: PlaceId,
    ) -> Result<Rc<Shape<'a>>, SchemaError> {
        let ways = self.evaluations_of(holder, keywords, place, 0, true)?;
        if ways.iter().any(|way| way.is_loose) {
            self.note_unknown_evaluation(keywords, place);
        }
        let properties = match keywords.unevaluated_properties {
            Some(schema) => self.schema_node(schema, place, Step::Keyword("unevaluatedProperties"))?,
            None => NodeId::ANY,
        };
        let items = match keywords.unevaluated_items {
            Some(schema) => self.schema_node(schema, place, Step::Keyword("unevaluatedItems"))?,
            None => NodeId::ANY,
        };
        let mut union = Shape::default();
        for way in ways {
            let objects = match way.has_all_properties || properties == NodeId::ANY {
                true => ObjectSet::any(),
                false => self.unevaluated_objects(&way, properties, place)?,
            };
            let arrays = match way.has_all_items || items == NodeId::ANY {
                true => ArraySet::any(),
                false => {
                    let denied = way.items.iter().fold(self.complement_node(items), |denied, &kind| {
                        let other = self.complement_node(kind);
                        self.meet(denied, other)
                    });
                    let rest = self.complement_node(denied);
                    ArraySet { prefix: vec![NodeId::ANY; way.n_items], rest, ..ArraySet::any() }
                }
            };
            let arrays = arrays.normal().map(Rc::new).into_iter().collect();
            let restriction = Shape { objects: vec![Rc::new(objects)], arrays, ..Shape::any() };
            let mut part = self.intersect(&shape, &restriction, place)?;
            if let Some(condition) = way.condition {
                let both = self.intersect(&part, &condition, place)?;
                part = self.without_empty(both, 2)?;
            }
            union.add(&part);
            self.check_alternatives(&union, place)?;
        }
        Ok(Rc::new(union))
    }

    fn unevaluated_objects(
        &mut self,
        way: &Evaluation<'a>,
        additional: NodeId,
        place: PlaceId,
    ) -> Result<ObjectSet<'a>, SchemaError> {
        let mut classes: Vec<KeyClass> = Vec::new();
        for pattern in &way.patterns {
            classes = self.refine_classes(&classes, pattern, NodeId::ANY, place)?;
        }
        let mut properties: Vec<Property<'a>> = Vec::new();
        for &name in &way.names {
            if !properties.iter().any(|known| known.name == name) {
                properties.push(Property {
                    name,
                    schema: NodeId::ANY,
                    is_required: false,
                    is_declared: false,
                });
            }
        }
        Ok(ObjectSet { properties, classes, additional, ..ObjectSet::any() })
    }

    fn evaluations(
        &mut self,
        schema: &'a Value,
        place: PlaceId,
        step: Step<Cow<'a, str>>,
        depth: usize,
    ) -> Result<(NodeId, Vec<Evaluation<'a>>), SchemaError> {
        let node = self.schema_node(schema, place, step)?;
        Ok((node, self.evaluations_at(schema, node, depth)?))
    }

    fn evaluations_at(
        &mut self,
        schema: &'a Value,
        node: NodeId,
        depth: usize,
    ) -> Result<Vec<Evaluation<'a>>, SchemaError> {
        let place = self.place(node);
        if !schema.is_object() {
            return Ok(vec![Evaluation::nothing()]);
        }
        if self.is_left_out(schema) {
            return Ok(vec![Evaluation::unknown(self.side())]);
        }
        if depth > MAX_DEPTH {
            let message = "the schema leads too deep to tell what it evaluates".into();
            return Err(self.error(place, Some("unevaluatedProperties"), Kind::Limit { message }));
        }
        let n_entries = self.found.entries.len();
        let keywords = self.read_keywords(schema, place)?;
        self.found.entries.truncate(n_entries);
        self.evaluations_of(schema, &keywords, place, depth, false)
    }

    fn evaluations_of(
        &mut self,
        holder: &'a Value,
        keywords: &Keywords<'a>,
        place: PlaceId,
        depth: usize,
        is_asked: bool,
    ) -> Result<Vec<Evaluation<'a>>, SchemaError> {
        let mut own = match keywords.loses_evaluation {
            true => Evaluation::unknown(self.side()),
            false => Evaluation::nothing(),
        };
        own.names.extend(keywords.properties.into_iter().flatten().map(|(name, _)| name.as_str()));
        for (pattern, _) in keywords.pattern_properties.into_iter().flatten() {
            own.patterns.extend(self.pattern_of_keys(pattern, place)?);
        }
        own.has_all_properties |= keywords.additional_properties.is_some()
            || (keywords.unevaluated_properties.is_some() && !is_asked);
        own.n_items = keywords.prefix_items.map_or(0, <[_]>::len);
        match keywords.items {
            Some(Value::Array(items)) => {
                own.n_items = items.len();
                own.has_all_items |= keywords.additional_items.is_some();
            }
            Some(_) => own.has_all_items = true,
            None => {}
        }
        own.has_all_items |= keywords.unevaluated_items.is_some() && !is_asked;
        if self.draft >= Draft::Draft2020
            && let Some(schema) = keywords.contains
        {
            own.items.push(self.schema_node(schema, place, Step::Keyword("contains"))?);
        }
        let mut ways = vec![own];
        for &(keyword, reference) in &keywords.references {
            let (node, target) = self.resolve(reference, keyword, holder, place)?;
            let more = self.evaluations_at(target, node, depth + 1)?;
            ways = self.both(ways, more, place)?;
        }
        for (i, branch) in keywords.all_of.unwrap_or_default().iter().enumerate() {
            let (_, more) = self.evaluations(branch, place, Step::Item("allOf", i), depth + 1)?;
            ways = self.both(ways, more, place)?;
        }
        for (i, branch) in keywords.any_of.unwrap_or_default().iter().enumerate() {
            let (node, more) = self.evaluations(branch, place, Step::Item("anyOf", i), depth + 1)?;
            let mut either = vec![Evaluation::nothing()];
            either.extend(self.under(more, node, place)?);
            ways = self.both(ways, either, place)?;
        }
        let mut either = vec![Evaluation::nothing()];
        for (i, branch) in keywords.one_of.unwrap_or_default().iter().enumerate() {
            let (node, more) = self.evaluations(branch, place, Step::Item("oneOf", i), depth + 1)?;
            either.extend(self.under(more, node, place)?);
        }
        ways = self.both(ways, either, place)?;
        if let Some(condition) = keywords.condition {
            let (node, mut when) = self.evaluations(condition, place, Step::Keyword("if"), depth + 1)?;
            if let Some(schema) = keywords.consequence {
                let (_, then) = self.evaluations(schema, place, Step::Keyword("then"), depth + 1)?;
                when = self.both(when, then, place)?;
            }
            let mut either = self.under(when, node, place)?;
            let otherwise = self.denial_node(node);
            let mut rest = vec![Evaluation::nothing()];
            if let Some(schema) = keywords.alternative {
                rest = self.evaluations(schema, place, Step::Keyword("else"), depth + 1)?.1;
                rest = self.under(rest, otherwise, place)?;
            }
            either.push(Evaluation::nothing());
            either.append(&mut rest);
            ways = self.both(ways, either, place)?;
        }
        for (keyword, dependencies) in &keywords.dependencies {
            for (name, schema) in dependencies.iter().filter(|(_, needed)| needed.is_object()) {
                let step = Step::Member(keyword, Cow::Borrowed(name.as_str()));
                let (_, more) = self.evaluations(schema, place, step, depth + 1)?;
                let present = Rc::new(Shape {
                    objects: vec![Rc::new(ObjectSet::with_property(name, NodeId::ANY, true))],
                    ..Shape::default()
                });
                let mut either = vec![Evaluation::nothing()];
                either.extend(self.when(more, &present, place)?);
                ways = self.both(ways, either, place)?;
            }
        }
        let n_keywords = holder.as_object().map_or(0, serde_json::Map::len);
        self.spend(place, (ways.len() + n_keywords) as u64)?;
        Ok(ways)
    }

    /// The ways under the condition that `node` holds, those that evaluate something.
    fn under(
        &mut self,
        ways: Vec<Evaluation<'a>>,
        node: NodeId,
        place: PlaceId,
    ) -> Result<Vec<Evaluation<'a>>, SchemaError> {
        if ways.iter().all(Evaluation::is_nothing) {
            return Ok(Vec::new());
        }
        let shape = self.shape(node)?;
        self.when(ways, &shape, place)
    }

    fn when(
        &mut self,
        ways: Vec<Evaluation<'a>>,
        condition: &Rc<Shape<'a>>,
        place: PlaceId,
    ) -> Result<Vec<Evaluation<'a>>, SchemaError> {
        let mut under = Vec::with_capacity(ways.len());
        for way in ways.into_iter().filter(|way| !way.is_nothing()) {
            let condition = match &way.condition {
                None => condition.clone(),
                Some(known) => Rc::new(self.intersect(known, condition, place)?),
            };
            under.push(Evaluation { condition: Some(condition), ..way });
        }
        Ok(under)
    }

    /// What both evaluate together, each way with each.
    fn both(
        &mut self,
        left: Vec<Evaluation<'a>>,
        right: Vec<Evaluation<'a>>,
        place: PlaceId,
    ) -> Result<Vec<Evaluation<'a>>, SchemaError> {
        if let [way] = right.as_slice()
            && way.is_nothing()
        {
            return Ok(left);
        }
        let mut ways = Vec::with_capacity(left.len() * right.len());
        for a in &left {
            for b in &right {
                self.spend(place, 1)?;
                let condition = match (&a.condition, &b.condition) {
                    (Some(a), Some(b)) => Some(Rc::new(self.intersect(a, b, place)?)),
                    (condition, None) | (None, condition) => condition.clone(),
                };
                if let Some(condition) = &condition
                    && self.is_seen_empty(condition, 2)?
                {
                    continue;
                }
                ways.push(Evaluation {
                    condition,
                    names: a.names.iter().chain(&b.names).copied().collect(),
                    patterns: a.patterns.iter().chain(&b.patterns).cloned().collect(),
                    has_all_properties: a.has_all_properties || b.has_all_properties,
                    n_items: a.n_items.max(b.n_items),
                    has_all_items: a.has_all_items || b.has_all_items,
                    items: a.items.iter().chain(&b.items).copied().collect(),
                    is_loose: a.is_loose || b.is_loose,
                });
            }
        }
        let limit = self.config.limits.max_alternatives;
        if ways.len() > limit {
            let message = format!("what is evaluated depends on more than {limit} combinations of branches");
            return Err(self.error(place, Some("unevaluatedProperties"), Kind::Limit { message }));
        }
        Ok(ways)
    }
}
