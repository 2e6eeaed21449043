//! Finds the keywords that lose their effect because a part of the schema is left out, for the report.
//!
//! A part that is left out counts as true ([`crate::lenient::loose`]). Most keywords above it keep their
//! meaning:
//! `allOf`, `properties` and `items` pass the loss on, and the report names the part itself. Others lose
//! their effect with it:
//!
//! * below `not`, the part and everything that applies together with it
//!   (`{"not": {"type": "string", "pattern": "(a)\\1"}}` refuses nothing, so neither `type` nor `not` is
//!   enforced);
//! * keywords that look at their schemas from both [sides](Side): `oneOf`, `if` with `then` and `else`,
//!   `contains` with its counts; `anyOf`, if another branch may take the same values; and `unevaluated…` next
//!   to one of those.
//!
//! Invariant: if no keyword on the path from the root to a part that is left out is reported as not enforced,
//! the grammar has exactly the texts of the schema without the part. The report errs on the safe side,
//! because it works by types: a reported keyword may still have its effect on some values.
//!
//! Runs once, on schemas with a part left out. Linear in the schemas that were read.

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::graph::Graph;
use crate::lenient::loose::Side;
use crate::report::{self, PlaceId, Status, Step};
use crate::source::document::address;
use crate::source::json_types::Types;
use crate::source::keyword::{Holds, Keyword};

/// A schema as it was read: its address, and from which side.
type Seen = (usize, Side);

/// What a schema has lost.
#[derive(Clone)]
struct Loss<'a> {
    /// The types of the values that it wrongly allows or refuses.
    types: Types,
    /// Whether the loss is in a part of such values.
    is_deep: bool,
    /// Whether the schema, seen from below, takes less than the schema without the part would.
    deviates: bool,
    /// The keyword that passed the loss on, if there is only one.
    via: Option<&'a str>,
    /// The part that is not enforced.
    cause: Rc<str>,
}

/// A schema that applies another one, and the keyword that does.
#[derive(Clone, Copy)]
struct Use<'a> {
    holder: &'a Value,
    side: Side,
    keyword: &'a str,
}

/// Entries to change: single keywords of a schema, and schemas with everything below them.
#[derive(Default)]
struct Marks<'a> {
    keywords: FxHashMap<(PlaceId, &'a str), Rc<str>>,
    trees: FxHashMap<PlaceId, Tree<'a>>,
}

/// The keywords in and below a schema that constrain values of some types.
struct Tree<'a> {
    types: Types,
    /// Whether keywords for all types have lost their effect too, although `types` are not all.
    has_general: bool,
    /// The keyword below which entries are not changed.
    except: Option<&'a str>,
    cause: Rc<str>,
}

/// Reports keywords as not enforced that lost their effect because something else is not enforced.
pub(crate) fn report_affected<'a>(graph: &mut Graph<'a>) {
    let is_lost = |status: &Status| matches!(status, Status::NotEnforced { .. });
    if graph.loose.is_none() || !graph.found.entries.iter().any(|entry| is_lost(&entry.status)) {
        return;
    }
    let schemas: Vec<_> = graph.schemas_read().collect();
    let places: FxHashMap<usize, PlaceId> =
        schemas.iter().map(|&(schema, _, place)| (address(schema), place)).collect();
    let read: FxHashSet<Seen> = schemas.iter().map(|&(schema, side, _)| (address(schema), side)).collect();
    let mut uses: FxHashMap<Seen, Vec<Use<'a>>> = FxHashMap::default();
    for &(holder, side, place) in &schemas {
        for (keyword, schema, of) in applied(graph, holder, side, place) {
            uses.entry((address(schema), of)).or_default().push(Use { holder, side, keyword });
        }
    }
    let by_place: FxHashMap<PlaceId, usize> =
        places.iter().map(|(&schema, &place)| (place, schema)).collect();
    let mut losses: FxHashMap<Seen, Loss<'a>> = FxHashMap::default();
    let mut work: Vec<Seen> = Vec::new();
    for entry in graph.found.entries.iter().filter(|entry| is_lost(&entry.status)) {
        let Some(&schema) = by_place.get(&entry.place) else { continue };
        let cause: Rc<str> = cause(graph, entry.place, &entry.keyword).into();
        for side in [Side::Above, Side::Below] {
            let seen = (schema, side);
            let loss = Loss {
                types: Keyword::types_of(&entry.keyword),
                is_deep: false,
                deviates: side == Side::Below,
                via: None,
                cause: cause.clone(),
            };
            if read.contains(&seen) && lose(&mut losses, seen, loss) {
                work.push(seen);
            }
        }
    }
    let mut marks = Marks::default();
    while let Some(seen) = work.pop() {
        let loss = losses[&seen].clone();
        for used in uses.get(&seen).into_iter().flatten() {
            let (at, passed) = (places[&address(used.holder)], pass(used, &loss));
            marks.mark_use(used, at, seen.0, &loss, &places);
            let holder = (address(used.holder), used.side);
            if lose(&mut losses, holder, passed) {
                work.push(holder);
            }
        }
    }
    for (&(schema, side), loss) in &losses {
        // A schema that is also seen from above is enforced there.
        if loss.deviates && side == Side::Below && !read.contains(&(schema, Side::Above)) {
            let except = loss.via.filter(|keyword| matches!(*keyword, "anyOf" | "oneOf"));
            let (types, cause) = (loss.types, loss.cause.clone());
            marks.add_tree(places[&schema], Tree { types, has_general: true, except, cause });
        }
    }
    mark_entries(graph, &marks);
}

/// What a holder loses if a schema that it applies has a loss.
fn pass<'a>(used: &Use<'a>, loss: &Loss<'a>) -> Loss<'a> {
    let inside = match used.keyword {
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedProperties" => Some(Types::OBJECT),
        "items" | "prefixItems" | "additionalItems" | "contains" | "unevaluatedItems" => Some(Types::ARRAY),
        _ => None,
    };
    let deviates = used.side == Side::Below && (loss.deviates || looks_from_both_sides(used.keyword));
    Loss {
        types: inside.unwrap_or(loss.types),
        is_deep: loss.is_deep || inside.is_some(),
        // A `not` over a loss from below is itself reported, so it counts as true.
        deviates: deviates && used.keyword != "not",
        via: Some(used.keyword),
        cause: loss.cause.clone(),
    }
}

/// The schemas that `holder`, seen from `side`, applies: the keyword, the schema, and the side it is seen
/// from.
fn applied<'a>(
    graph: &mut Graph<'a>,
    holder: &'a Value,
    side: Side,
    place: PlaceId,
) -> Vec<(&'a str, &'a Value, Side)> {
    let mut applied = Vec::new();
    if graph.is_left_out(holder) {
        return applied;
    }
    let members: Vec<_> = graph.members_that_count(holder).collect();
    for (keyword, value) in members {
        let is_lost =
            |loose: &crate::lenient::loose::Loose<'_>| loose.losses.has_all_of(address(holder), keyword);
        if graph.loose.as_ref().is_some_and(is_lost) {
            continue;
        }
        let mut add = |schema, of| applied.push((keyword.as_str(), schema, of));
        match (keyword.as_str(), value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                let keyword = match keyword.as_str() {
                    "$ref" => "$ref",
                    "$dynamicRef" => "$dynamicRef",
                    _ => "$recursiveRef",
                };
                if let Ok((_, target)) = graph.resolve(reference, keyword, holder, place) {
                    add(target, side);
                }
            }
            ("contentSchema" | "$defs" | "definitions", _) => {}
            ("not", schema) => add(schema, side.other()),
            (name, schema) if looks_from_both_sides(name) => {
                let schemas = match schema {
                    Value::Array(schemas) => schemas.as_slice(),
                    schema => std::slice::from_ref(schema),
                };
                for schema in schemas {
                    add(schema, side);
                    add(schema, side.other());
                }
            }
            (name, value) => match (Keyword::held_by(name), value) {
                (Holds::SchemasByName, Value::Object(schemas)) => {
                    schemas.values().for_each(|schema| add(schema, side));
                }
                (Holds::Schemas, Value::Array(schemas)) => {
                    schemas.iter().for_each(|schema| add(schema, side));
                }
                (Holds::Schemas, schema) => add(schema, side),
                _ => {}
            },
        }
    }
    applied
}

fn cause(graph: &Graph<'_>, place: PlaceId, keyword: &str) -> String {
    match report::pointer(&graph.found.places, place).as_str() {
        "" => format!("`{keyword}` at the root"),
        pointer => format!("`{keyword}` at {pointer}"),
    }
}

fn mark_entries<'a>(graph: &mut Graph<'a>, marks: &Marks<'a>) {
    let mut entries = std::mem::take(&mut graph.found.entries);
    for entry in &mut entries {
        if !matches!(entry.status, Status::Enforced | Status::EnforcedBySession) {
            continue;
        }
        let cause = marks
            .keywords
            .get(&(entry.place, &*entry.keyword))
            .or_else(|| tree_of(graph, marks, entry.place, &entry.keyword));
        if let Some(cause) = cause {
            let reason = format!("it has lost its effect, at least in part: {cause} is not enforced");
            entry.status = Status::NotEnforced { reason: Cow::Owned(reason) };
        }
    }
    graph.found.entries = entries;
}

/// The reason that a keyword in a marked tree has lost its effect.
fn tree_of<'a, 'm>(
    graph: &Graph<'a>,
    marks: &'m Marks<'a>,
    mut place: PlaceId,
    keyword: &str,
) -> Option<&'m Rc<str>> {
    let mut keyword: &str = keyword;
    let mut is_below = false;
    loop {
        if let Some(tree) = marks.trees.get(&place)
            && tree.has(keyword)
            && !(is_below && tree.except == Some(keyword))
        {
            return Some(&tree.cause);
        }
        let above = &graph.found.places[place];
        keyword = match &above.step {
            Step::Root | Step::Pointer(_) => return None,
            Step::Keyword(keyword) | Step::Member(keyword, _) | Step::Item(keyword, _) => keyword,
        };
        (place, is_below) = (above.parent, true);
    }
}

impl Tree<'_> {
    fn has(&self, keyword: &str) -> bool {
        let types = Keyword::types_of(keyword);
        self.types.has(types) && (types != Types::ALL || self.has_general || self.types == Types::ALL)
    }
}

impl<'a> Marks<'a> {
    /// Marks what the keyword that applies a schema, at `place`, loses by the loss of that schema.
    fn mark_use(
        &mut self,
        used: &Use<'a>,
        place: PlaceId,
        schema: usize,
        loss: &Loss<'a>,
        places: &FxHashMap<usize, PlaceId>,
    ) {
        let value = |keyword: &str| used.holder.get(keyword);
        let branches = || value(used.keyword).and_then(Value::as_array).into_iter().flatten();
        let others = || branches().filter(|branch| address(branch) != schema);
        let marked: &[&'static str] = match used.keyword {
            "not" if loss.deviates => &["not"],
            "oneOf" => &["oneOf"],
            "anyOf" if others().any(|branch| types_of(branch).has(loss.types)) => &["anyOf"],
            "if" => &["if", "then", "else"],
            "then" => &["then"],
            "else" => &["else"],
            "contains" => &["contains", "minContains", "maxContains"],
            _ => &[],
        };
        if !marked.is_empty() && !matches!(used.keyword, "not" | "then" | "else") {
            self.add(place, "unevaluatedProperties", &loss.cause);
            self.add(place, "unevaluatedItems", &loss.cause);
        }
        marked.iter().for_each(|keyword| self.add(place, keyword, &loss.cause));
        let (types, cause) = (loss.types, &loss.cause);
        let mut add_tree = |schema: &Value, has_general| {
            if let Some(&place) = places.get(&address(schema)) {
                self.add_tree(place, Tree { types, has_general, except: None, cause: cause.clone() });
            }
        };
        match used.keyword {
            "if" => ["then", "else"].into_iter().filter_map(value).for_each(|schema| add_tree(schema, true)),
            "anyOf" | "oneOf" if !loss.is_deep => others()
                .filter(|branch| types_of(branch).has(types))
                .for_each(|branch| add_tree(branch, false)),
            _ => {}
        }
    }

    fn add(&mut self, place: PlaceId, keyword: &'a str, cause: &Rc<str>) {
        self.keywords.entry((place, keyword)).or_insert_with(|| cause.clone());
    }

    fn add_tree(&mut self, place: PlaceId, tree: Tree<'a>) {
        match self.trees.entry(place) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(tree);
            }
            std::collections::hash_map::Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.types = known.types.union(tree.types);
                known.has_general |= tree.has_general;
                known.except = known.except.filter(|_| known.except == tree.except);
            }
        }
    }
}

/// Adds to what a schema has lost. Returns whether that changed anything.
fn lose<'a>(losses: &mut FxHashMap<Seen, Loss<'a>>, seen: Seen, loss: Loss<'a>) -> bool {
    match losses.entry(seen) {
        std::collections::hash_map::Entry::Vacant(entry) => {
            entry.insert(loss);
            true
        }
        std::collections::hash_map::Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            let types = known.types.union(loss.types);
            let is_deep = known.is_deep && loss.is_deep;
            let deviates = known.deviates || loss.deviates;
            let via = known.via.filter(|_| known.via == loss.via);
            let is_news =
                (types, is_deep, deviates, via) != (known.types, known.is_deep, known.deviates, known.via);
            (known.types, known.is_deep, known.deviates, known.via) = (types, is_deep, deviates, via);
            is_news
        }
    }
}

/// Whether a keyword is computed from both sides of its schemas.
fn looks_from_both_sides(keyword: &str) -> bool {
    matches!(keyword, "oneOf" | "if" | "contains")
}

/// The types that a schema names, or all.
fn types_of(schema: &Value) -> Types {
    let of = |value: &Value| match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        Value::Number(_) => Types::NUMBER.union(Types::INTEGER),
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    };
    if let Some(value) = schema.get("const") {
        return of(value);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().fold(Types::NONE, |types, value| types.union(of(value)));
    }
    let name = |value: &Value| value.as_str().and_then(Types::of_name);
    let types = match schema.get("type") {
        Some(Value::Array(names)) => {
            names.iter().map(name).try_fold(Types::NONE, |all, one| Some(all.union(one?)))
        }
        Some(value) => name(value),
        None => None,
    };
    types.unwrap_or(Types::ALL)
}
