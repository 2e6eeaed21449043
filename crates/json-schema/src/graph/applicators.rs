//! Keywords that choose: `oneOf`, `if`, and the dependencies of properties on each other.
//!
//! All become unions of intersections and complements. For `oneOf` a branch loses only the other branches
//! that it is seen to overlap with, so branches told apart by a constant or a type cost nothing.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::keywords::Keywords;
use crate::SchemaError;
use crate::forms::node_id::NodeId;
use crate::forms::object::ObjectSet;
use crate::forms::shape::Shape;
use crate::graph::Graph;
use crate::report::{PlaceId, Step};

/// How far into the instance branches of `oneOf` are compared.
const DISJOINT_DEPTH: usize = 3;

impl<'a> Graph<'a> {
    /// `oneOf`, given the other parts of the schema: each branch without those that it overlaps with.
    pub(crate) fn exclusive_union(
        &mut self,
        branches: &'a [Value],
        known: Option<&Shape<'a>>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        // What a branch loses is another one from the other side, so that is what it is compared with.
        let is_exact = self.loose.is_none();
        let mut nodes = Vec::with_capacity(branches.len());
        let mut shapes: Vec<Rc<Shape<'a>>> = Vec::with_capacity(branches.len());
        let mut denied: Vec<Rc<Shape<'a>>> = Vec::with_capacity(branches.len());
        let mut union = Shape::default();
        let (mut leads_back, mut has_branch) = (None, false);
        for (i, branch) in branches.iter().enumerate() {
            let node = self.schema_node(branch, place, Step::Item("oneOf", i))?;
            let Some(branch) = self.branch_shape(node, &mut leads_back)? else {
                self.reading.adding.insert((place, i));
                continue;
            };
            has_branch = true;
            let within = |graph: &mut Graph<'a>, shape: Rc<Shape<'a>>| match known {
                Some(known) => graph.intersect(known, &shape, place).map(Rc::new),
                None => Ok(shape),
            };
            let shape = within(self, branch.shape)?;
            if self.reading.assumed.is_none() && self.reading.adding.contains(&(place, i)) {
                union.add(&shape);
                continue;
            }
            shapes.push(shape);
            if is_exact {
                denied.push(within(self, branch.most)?);
                nodes.push(branch.is_whole.then_some(node));
            } else {
                let twin = self.other_side(node);
                let other = self.branch_shape(twin, &mut None)?;
                denied.push(other.as_ref().map_or_else(Default::default, |other| other.most.clone()));
                nodes.push(other.is_none_or(|other| other.is_whole).then_some(node));
            }
        }
        if let Some(error) = leads_back.filter(|_| !has_branch) {
            return Err(error);
        }
        let is_exact = is_exact && nodes.iter().all(Option::is_some);
        let mut overlaps: Vec<Vec<usize>> = vec![Vec::new(); shapes.len()];
        for (i, left) in shapes.iter().enumerate() {
            let n_others = if is_exact { i } else { shapes.len() };
            for (j, right) in denied.iter().enumerate().take(n_others).filter(|(j, _)| *j != i) {
                self.spend(place, 1)?;
                let both = self.intersect(left, right, place)?;
                if !self.is_seen_empty(&both, DISJOINT_DEPTH)? {
                    overlaps[i].push(j);
                    if is_exact {
                        overlaps[j].push(i);
                    }
                }
            }
        }
        for (shape, others) in shapes.into_iter().zip(overlaps) {
            let mut alone = shape;
            for other in others {
                alone = Rc::new(self.subtract(&alone, &denied[other], nodes[other], place)?);
            }
            union.add(&alone);
            self.check_alternatives(&union, place)?;
        }
        Ok(union)
    }

    /// The values of `known` that are not in `denied`, which is `node` from the other side, if it is one. An
    /// alternative loses only those that it is seen to overlap with, so values of other types, or with other
    /// constants, cost nothing.
    fn subtract(
        &mut self,
        known: &Shape<'a>,
        denied: &Shape<'a>,
        node: Option<NodeId>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        // `None`: the complement over all values is too large.
        let mut rests: Vec<(Shape<'a>, Option<Rc<Shape<'a>>>)> = Vec::new();
        let mut left = Shape::default();
        for part in known.alternatives() {
            let mut overlap = Shape::default();
            for other in denied.alternatives() {
                self.spend(place, 1)?;
                let both = self.intersect(&part, &other, place)?;
                if !self.is_seen_empty(&both, DISJOINT_DEPTH)? {
                    overlap.add(&other);
                }
            }
            if overlap == Shape::default() {
                left.add(&part);
                continue;
            }
            if part.has_only_unique_arrays() && overlap.has_unique_arrays() {
                overlap = overlap.with_any_items();
            }
            let rest = match rests.iter().find(|(same, _)| *same == overlap) {
                Some((_, rest)) => rest.clone(),
                None => {
                    let rest = match node.filter(|_| overlap == *denied) {
                        Some(node) => {
                            let rest = self.denial_node(node);
                            self.shape(rest)
                        }
                        None => self.complement(&overlap, place).map(Rc::new),
                    };
                    let rest = match rest {
                        Err(error) if error.is_limit() && error.may_be_loosened() => None,
                        rest => Some(rest?),
                    };
                    rests.push((overlap.clone(), rest.clone()));
                    rest
                }
            };
            let both = match rest {
                Some(rest) => self.intersect(&part, &rest, place)?,
                None => self.subtract_each(part, &overlap, place)?,
            };
            left.add(&self.without_empty(both, DISJOINT_DEPTH)?);
            self.check_alternatives(&left, place)?;
        }
        self.without_empty(left, DISJOINT_DEPTH)
    }

    /// The values of `part` that are in no alternative of `denied`. Subtracts one alternative at a time, and
    /// starts from `part`, not from all values: more of each product is empty, so it stays small.
    fn subtract_each(
        &mut self,
        part: Shape<'a>,
        denied: &Shape<'a>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let mut left = part;
        for other in denied.alternatives() {
            let rest = self.complement(&other, place)?;
            let both = self.product(&left, &rest, place)?;
            left = self.without_empty(both, DISJOINT_DEPTH)?;
        }
        Ok(left)
    }

    /// `if`, `then` and `else`.
    pub(crate) fn conditional(
        &mut self,
        condition: &'a Value,
        keywords: &Keywords<'a>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let condition = self.schema_node(condition, place, Step::Keyword("if"))?;
        let consequence = match keywords.consequence {
            Some(schema) => self.schema_node(schema, place, Step::Keyword("then"))?,
            None => NodeId::ANY,
        };
        let alternative = match keywords.alternative {
            Some(schema) => self.schema_node(schema, place, Step::Keyword("else"))?,
            None => NodeId::ANY,
        };
        let otherwise = self.denial_node(condition);
        let mut choice = Shape::default();
        for (when, then) in [(condition, consequence), (otherwise, alternative)] {
            // What leads back in the condition does so below a negation too.
            let (when, then) = (self.shape(when).map_err(SchemaError::negated)?, self.shape(then)?);
            let both = self.intersect(&when, &then, place)?;
            let both = self.without_empty(both, DISJOINT_DEPTH)?;
            choice.add(&both);
        }
        Ok(choice)
    }

    /// What holds of an object with the property `name`: other properties or a schema.
    pub(crate) fn dependency(
        &mut self,
        keyword: &'static str,
        name: &'a str,
        needed: &'a Value,
        declared: Option<&'a Map<String, Value>>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let absent = Rc::new(ObjectSet::with_property(name, NodeId::NEVER, false));
        let mut present = ObjectSet::with_property(name, NodeId::ANY, true);
        let objects = |set: ObjectSet<'a>| Shape { objects: vec![Rc::new(set)], ..Shape::default() };
        let needed = match needed {
            Value::Array(names) => {
                self.require(&mut present, names, place, keyword)?;
                objects(present)
            }
            // Draft 3 allows a single name.
            Value::String(_) if keyword == "dependencies" => {
                self.require(&mut present, std::slice::from_ref(needed), place, keyword)?;
                objects(present)
            }
            schema => {
                let step = Step::Member(keyword, Cow::Borrowed(name));
                let schema = self.schema_node(schema, place, step)?;
                let schema = self.shape(schema)?;
                if let Some(choice) = self.told_by_property(&schema, name, declared) {
                    return Ok(choice);
                }
                self.intersect(&objects(present), &schema, place)?
            }
        };
        Ok(Shape { objects: std::iter::once(absent).chain(needed.objects).collect(), ..Shape::any() })
    }

    /// A dependency of `name` on `schema`, if `schema` only says that another property is one of a few
    /// scalars: the object matches `schema`, or the other property has another value and `name` is absent.
    /// Many such dependencies on one property contradict each other for most of its values, so their product
    /// stays small. Only for a `declared` property, because its position among the properties stays the same.
    fn told_by_property(
        &mut self,
        schema: &Shape<'a>,
        name: &'a str,
        declared: Option<&'a Map<String, Value>>,
    ) -> Option<Shape<'a>> {
        let [set] = schema.objects.as_slice() else { return None };
        let [property] = set.properties.as_slice() else { return None };
        if !declared.is_some_and(|declared| declared.contains_key(property.name)) {
            return None;
        }
        let has_more =
            !set.classes.is_empty() || !set.witnesses.is_empty() || set.min > 0 || set.max.is_some();
        if has_more || set.additional != NodeId::ANY || property.is_required || property.name == name {
            return None;
        }
        if !self.is_list_of_scalars(property.schema) {
            return None;
        }
        let other = ObjectSet::with_property(property.name, self.denial_node(property.schema), true);
        let mut absent = ObjectSet::with_property(name, NodeId::NEVER, false);
        absent.properties.extend(other.properties);
        Some(Shape { objects: vec![set.clone(), Rc::new(absent)], ..Shape::any() })
    }

    /// Whether a node is a single schema whose own keywords list scalars.
    fn is_list_of_scalars(&self, node: NodeId) -> bool {
        let [schema] = self.schemas_of(node)[..] else { return false };
        let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
        let is_list = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(values)), None) => values.iter().all(is_scalar),
            (None, Some(value)) => is_scalar(value),
            _ => false,
        };
        is_list && schema.as_object().into_iter().flatten().all(|(keyword, _)| !applies(keyword))
    }
}

/// Whether a keyword applies schemas to the same value.
fn applies(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef" | "allOf" | "anyOf" | "oneOf" | "not" | "if")
}
