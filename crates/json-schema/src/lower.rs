//! From canonical forms to a grammar.
//!
//! The last stage. Scalars become terminals, arrays and objects rules over JSON's own terminals. Equal
//! right-hand sides are one rule, so schemas that say the same share their states in the engine; a schema
//! that contains itself gets a rule of its own. The grammar is linear in the canonical forms: the optional
//! properties of an object are a chain with shared tails, not a choice among subsets.
//!
//! Schemas are followed depth first, but only so deep; what lies deeper waits in a queue as a declared rule,
//! so a chain of 100,000 references does not exhaust the stack.

use std::collections::BTreeMap;
use std::rc::Rc;

use maskwright_automata::{ByteSet, Regex};
use maskwright_grammar::{Expr, ExprId, Grammar, GrammarBuilder, RuleId};
use rustc_hash::FxHashMap;

use crate::decimal::Multiple;
use crate::error::Kind;
use crate::escape::{SPELLED_CHAR, quoted, spell};
use crate::graph::{Graph, PlaceId};
use crate::multiples::{DEAD, Dfa, SYMBOLS};
use crate::number::{NumberRange, NumberSet};
use crate::range::{Fraction, range_regex};
use crate::shape::{ArraySet, NodeId, ObjectSet, Shape, StringConstraint, StringSet};
use crate::terminals::{self, CANONICAL_STRING, Punctuation};
use crate::{SchemaError, words};

/// How deep schemas are followed before they are put off.
const MAX_NESTING: usize = 64;

/// How many digits a constant may take in plain notation to be written in it too.
const MAX_PLAIN_DIGITS: usize = 40;

/// The grammar of the texts of `root`.
pub(crate) fn lower(graph: &mut Graph<'_>, root: NodeId) -> Result<Grammar, SchemaError> {
    let mut lowering = Lowering::new(graph);
    let start = lowering.builder.declare("start");
    let value = lowering.node(root, 0)?;
    while let Some((node, rule)) = lowering.deferred.pop() {
        let shape = lowering.graph.shape(node)?;
        let body = lowering.shape(node, &shape, 0)?;
        lowering.builder.define(rule, body);
    }
    let around = lowering.punctuation.around;
    let body = lowering.builder.seq(&[around, value, around]);
    lowering.builder.define(start, body);
    let place = lowering.graph.place(root);
    let grammar = lowering
        .builder
        .finish(start)
        .expect("every declared rule is defined: active ones when they are done, deferred ones above");
    if is_productive(&grammar, graph, place)? { Ok(grammar) } else { Err(graph.unsatisfiable(place)) }
}

struct Lowering<'g, 'a> {
    graph: &'g mut Graph<'a>,
    builder: GrammarBuilder,
    punctuation: Symbols,
    nodes: Vec<State>,
    /// Rules by their right-hand side.
    rules: FxHashMap<ExprId, RuleId>,
    deferred: Vec<(NodeId, RuleId)>,
}

#[derive(Clone, Copy)]
enum State {
    New,
    /// Being lowered; the rule by which it refers to itself, once it does.
    Active(Option<RuleId>),
    Done(ExprId),
}

/// [`Punctuation`] as symbols of the grammar.
struct Symbols {
    open_object: ExprId,
    close_object: ExprId,
    empty_object: ExprId,
    open_array: ExprId,
    close_array: ExprId,
    empty_array: ExprId,
    comma: ExprId,
    colon: ExprId,
    around: ExprId,
}

impl<'g, 'a> Lowering<'g, 'a> {
    fn new(graph: &'g mut Graph<'a>) -> Lowering<'g, 'a> {
        let mut builder = GrammarBuilder::new();
        let regexes = Punctuation::of(graph.config);
        let mut symbol = |regex: Regex| builder.terminal(regex);
        let punctuation = Symbols {
            open_object: symbol(regexes.open_object),
            close_object: symbol(regexes.close_object),
            empty_object: symbol(regexes.empty_object),
            open_array: symbol(regexes.open_array),
            close_array: symbol(regexes.close_array),
            empty_array: symbol(regexes.empty_array),
            comma: symbol(regexes.comma),
            colon: symbol(regexes.colon),
            around: match regexes.around {
                // Terminals are not empty words.
                Some(around) => {
                    let around = symbol(around);
                    builder.optional(around)
                }
                None => builder.epsilon(),
            },
        };
        Lowering {
            graph,
            builder,
            punctuation,
            nodes: Vec::new(),
            rules: FxHashMap::default(),
            deferred: Vec::new(),
        }
    }

    /// The values of a schema, as one symbol or a choice of few.
    fn node(&mut self, node: NodeId, depth: usize) -> Result<ExprId, SchemaError> {
        if self.nodes.len() < self.graph.n_nodes() {
            self.nodes.resize(self.graph.n_nodes(), State::New);
        }
        match self.nodes[node.index()] {
            State::Done(expr) => return Ok(expr),
            State::Active(Some(rule)) => return Ok(self.builder.rule(rule)),
            State::Active(None) => {
                let rule = self.builder.declare(self.graph.name(node));
                self.nodes[node.index()] = State::Active(Some(rule));
                return Ok(self.builder.rule(rule));
            }
            State::New => {}
        }
        self.graph.spend(self.graph.place(node), 1)?;
        let shape = self.graph.shape(node)?;
        if node != NodeId::ANY && *shape == Shape::any() {
            let any = self.node(NodeId::ANY, depth)?;
            self.set(node, State::Done(any));
            return Ok(any);
        }
        let has_parts = !shape.arrays.is_empty() || !shape.objects.is_empty();
        if has_parts && depth >= MAX_NESTING {
            let rule = self.builder.declare(self.graph.name(node));
            let expr = self.builder.rule(rule);
            self.deferred.push((node, rule));
            self.set(node, State::Done(expr));
            return Ok(expr);
        }
        self.set(node, State::Active(None));
        let body = self.shape(node, &shape, depth)?;
        let expr = match self.nodes[node.index()] {
            State::Active(Some(rule)) => {
                self.builder.define(rule, body);
                self.builder.rule(rule)
            }
            _ => body,
        };
        self.set(node, State::Done(expr));
        Ok(expr)
    }

    fn set(&mut self, node: NodeId, state: State) {
        if self.nodes.len() <= node.index() {
            self.nodes.resize(self.graph.n_nodes(), State::New);
        }
        self.nodes[node.index()] = state;
    }

    fn shape(&mut self, node: NodeId, shape: &Shape<'a>, depth: usize) -> Result<ExprId, SchemaError> {
        let place = self.graph.place(node);
        let mut members = Vec::with_capacity(shape.n_alternatives());
        if shape.has_null {
            members.push(self.builder.terminal(terminals::NULL.clone()));
        }
        match (shape.has_true, shape.has_false) {
            (true, true) => members.push(self.builder.terminal(terminals::BOOLEAN.clone())),
            (true, false) => members.push(self.builder.terminal(terminals::TRUE.clone())),
            (false, true) => members.push(self.builder.terminal(terminals::FALSE.clone())),
            (false, false) => {}
        }
        if !shape.numbers.is_empty() {
            members.push(self.numbers(&shape.numbers, place)?);
        }
        if !shape.strings.is_empty() {
            let regex = self.strings(&shape.strings, place)?;
            members.push(self.builder.terminal(regex));
        }
        for set in &shape.arrays {
            let body = self.array(set, place, depth)?;
            members.push(self.shared_rule(node, body));
        }
        for set in &shape.objects {
            let body = self.object(set, place, depth)?;
            members.push(self.shared_rule(node, body));
        }
        Ok(self.builder.alt(&members))
    }

    /// The rule whose right-hand side is `body`.
    fn shared_rule(&mut self, node: NodeId, body: ExprId) -> ExprId {
        if body == self.builder.never() {
            return body;
        }
        let rule = match self.rules.get(&body) {
            Some(&rule) => rule,
            None => {
                let rule = self.builder.declare(self.graph.name(node));
                self.builder.define(rule, body);
                self.rules.insert(body, rule);
                rule
            }
        };
        self.builder.rule(rule)
    }

    /// `[`, the items of the prefix, then others, `]`. What follows an item is built from the last to the
    /// first: nothing, if there may be that few, or a comma and the next.
    fn array(&mut self, set: &Rc<ArraySet>, place: PlaceId, depth: usize) -> Result<ExprId, SchemaError> {
        let Symbols { open_array, close_array, empty_array, comma, .. } = self.punctuation;
        let n_prefix = set.prefix.len() as u64;
        let rest = match set.rest {
            NodeId::NEVER => self.builder.never(),
            rest => self.node(rest, depth + 1)?,
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
            let item = self.node(item, depth + 1)?;
            from_here = self.builder.seq(&[item, after]);
            after = self.builder.seq(&[comma, from_here]);
            if i as u64 >= set.min {
                after = self.builder.optional(after);
            }
        }
        let full = self.builder.seq(&[open_array, from_here, close_array]);
        Ok(if set.min == 0 { self.builder.alt(&[empty_array, full]) } else { full })
    }

    /// `{`, the properties in their order, `}`. For property i, `from_here` are the texts that start with a
    /// key of it or a later one, `after` those that follow the value before it; both are shared by all
    /// earlier properties, so the whole is linear in their number.
    fn object(
        &mut self,
        set: &Rc<ObjectSet<'a>>,
        place: PlaceId,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let Symbols { open_object, close_object, empty_object, comma, colon, .. } = self.punctuation;
        let (mut from_here, mut after);
        if set.additional == NodeId::NEVER {
            from_here = self.builder.never();
            after = self.builder.epsilon();
        } else {
            let key = self.builder.terminal(additional_key(set));
            let value = self.node(set.additional, depth + 1)?;
            let pair = self.builder.seq(&[key, colon, value]);
            let next = self.builder.seq(&[comma, pair]);
            after = self.builder.repeat(next, 0, None);
            from_here = self.builder.seq(&[pair, after]);
        }
        let mut may_be_empty = true;
        for property in set.properties.iter().rev() {
            self.graph.spend(place, 1)?;
            if property.schema == NodeId::NEVER {
                continue;
            }
            let key = self.builder.literal(quoted(property.name));
            let value = self.node(property.schema, depth + 1)?;
            let with = self.builder.seq(&[key, colon, value, after]);
            if property.is_required {
                may_be_empty = false;
                from_here = with;
            } else {
                from_here = self.builder.alt(&[with, from_here]);
            }
            after = self.builder.seq(&[comma, from_here]);
            if may_be_empty {
                after = self.builder.optional(after);
            }
        }
        let full = self.builder.seq(&[open_object, from_here, close_object]);
        Ok(if may_be_empty { self.builder.alt(&[empty_object, full]) } else { full })
    }

    fn strings(&mut self, sets: &[StringSet<'a>], place: PlaceId) -> Result<Regex, SchemaError> {
        let mut listed: Vec<Vec<u8>> = Vec::new();
        let mut members = Vec::new();
        for set in sets {
            match set {
                StringSet::Words(words) => {
                    self.graph.spend(place, words.len() as u64)?;
                    listed.extend(words.iter().map(|word| quoted(word)));
                }
                StringSet::Constrained(constraint) if constraint.is_any() => {
                    return Ok(terminals::STRING.clone());
                }
                StringSet::Constrained(constraint) => members.push(self.constrained(constraint, place)?),
            }
        }
        members.push(Regex::words(listed));
        Ok(Regex::union(members))
    }

    fn constrained(&mut self, constraint: &StringConstraint, place: PlaceId) -> Result<Regex, SchemaError> {
        let mut bodies = Vec::new();
        if constraint.min > 0 || constraint.max.is_some() || constraint.patterns.is_empty() {
            let min = self.count(constraint.min, place, "minLength")?;
            // As with arrays, what exceeds 32 bits counts as unbounded.
            let max = constraint.max.and_then(|max| u32::try_from(max).ok());
            bodies.push(SPELLED_CHAR.repeat(min, max));
        }
        for pattern in &constraint.patterns {
            self.graph.spend(place, pattern.size())?;
            bodies.push(spell(pattern));
        }
        Ok(terminals::quote(Regex::intersection(bodies)))
    }

    fn numbers(&mut self, sets: &[NumberSet<'a>], place: PlaceId) -> Result<ExprId, SchemaError> {
        let mut listed: Vec<Vec<u8>> = Vec::new();
        let mut regexes = Vec::new();
        let mut members = Vec::new();
        for set in sets {
            match set {
                NumberSet::Values(values) => {
                    self.graph.spend(place, values.len() as u64)?;
                    for value in values.iter() {
                        listed.push(value.text.into());
                        listed.extend(value.value.plain(MAX_PLAIN_DIGITS).map(String::into_bytes));
                    }
                }
                NumberSet::Range(range) => {
                    let regex = self.range(range, place)?;
                    // Powers of ten are a matter of how many decimals there are, which `range` sees to.
                    let is_plain = |multiple: &&Multiple| multiple.mantissa == 1 && multiple.exponent <= 0;
                    let divisors: Vec<Multiple> =
                        range.multiples.iter().filter(|multiple| !is_plain(multiple)).copied().collect();
                    match divisors.as_slice() {
                        [] => regexes.push(regex),
                        divisors => members.push(self.multiples(&regex, divisors, place)?),
                    }
                }
            }
        }
        regexes.push(Regex::words(listed));
        members.push(self.builder.terminal(Regex::union(regexes)));
        Ok(self.builder.alt(&members))
    }

    /// The numbers between the bounds of a range, with as many decimals as its multiples may have.
    fn range(&mut self, range: &NumberRange, place: PlaceId) -> Result<Regex, SchemaError> {
        let max_digits = self.graph.config.limits.max_digits;
        let n_decimals = range.multiples.iter().map(|multiple| (-multiple.exponent).max(0)).min();
        let fraction = match n_decimals {
            _ if range.is_integer && !self.graph.draft.has_fractional_integers() => Fraction::None,
            _ if range.is_integer => Fraction::Zero,
            Some(0) => Fraction::Zero,
            Some(n) => Fraction::UpTo(u32::try_from(n).unwrap_or(u32::MAX)),
            None => Fraction::Any,
        };
        range_regex(range, fraction, max_digits).map_err(|keyword| {
            let message = format!("the bound takes more than {max_digits} digits");
            self.graph.error(place, Some(keyword), Kind::Limit { message })
        })
    }

    /// What is in the language of `bounds` and a multiple of each of `divisors`: a rule for each state of
    /// the automaton.
    fn multiples(
        &mut self,
        bounds: &Regex,
        divisors: &[Multiple],
        place: PlaceId,
    ) -> Result<ExprId, SchemaError> {
        let max_states = self.graph.config.limits.max_remainders;
        let too_many = || {
            let message = format!("the remainders by this divisor take more than {max_states} states");
            self.graph.error(place, Some("multipleOf"), Kind::Limit { message })
        };
        let mut dfa = Dfa::of_regex(bounds, max_states, self.graph.fuel)
            .map_err(|kind| self.graph.error(place, Some("multipleOf"), kind))?
            .ok_or_else(too_many)?;
        for &divisor in divisors {
            let multiples = Dfa::of_multiples(divisor, max_states).ok_or_else(too_many)?;
            dfa = dfa.intersect(&multiples, max_states).ok_or_else(too_many)?;
            self.graph.spend(place, (multiples.next.len() + dfa.next.len()) as u64)?;
        }
        let (dfa, start) = dfa.minimise();
        if start == DEAD {
            return Ok(self.builder.never());
        }
        let rules: Vec<RuleId> = dfa.next.iter().map(|_| self.builder.declare("multiple")).collect();
        for (state, &rule) in rules.iter().enumerate() {
            let mut bytes: BTreeMap<u32, ByteSet> = BTreeMap::new();
            for (symbol, &next) in dfa.next[state].iter().enumerate() {
                if next != DEAD {
                    bytes.entry(next).or_default().insert(SYMBOLS[symbol]);
                }
            }
            let mut members = Vec::new();
            for (next, set) in bytes {
                let byte = self.builder.terminal(Regex::bytes(set));
                let rest = self.builder.rule(rules[next as usize]);
                members.push(self.builder.seq(&[byte, rest]));
            }
            if dfa.is_accepting[state] {
                members.push(self.builder.epsilon());
            }
            let body = self.builder.alt(&members);
            self.builder.define(rule, body);
        }
        Ok(self.builder.rule(rules[start as usize]))
    }

    fn count(&self, count: u64, place: PlaceId, keyword: &'static str) -> Result<u32, SchemaError> {
        u32::try_from(count).map_err(|_| {
            let message = format!("{count} is more than any text holds (the limit is {})", u32::MAX);
            self.graph.error(place, Some(keyword), Kind::Limit { message })
        })
    }
}

/// The key of a property that is not named.
fn additional_key(set: &ObjectSet<'_>) -> Regex {
    if set.properties.is_empty() {
        return terminals::STRING.clone();
    }
    // Keys have the canonical spelling, so leaving out that of a name leaves out the name.
    CANONICAL_STRING.difference(&Regex::words(set.properties.iter().map(|property| quoted(property.name))))
}

/// Whether the grammar has any text. The least fixed point over expressions; those below another have
/// smaller ids, so each round is one pass, and there are as many rounds as rules wait for later ones.
fn is_productive(grammar: &Grammar, graph: &Graph<'_>, place: PlaceId) -> Result<bool, SchemaError> {
    let pool = grammar.pool();
    let mut empty_terminals = vec![false; grammar.terminals().len()];
    for (is_empty, terminal) in empty_terminals.iter_mut().zip(grammar.terminals()) {
        // Only what intersections and complements make can be empty without being seen to be.
        if terminal.is_extended() && !is_additional_key(terminal) {
            *is_empty =
                words::is_empty(terminal, graph.fuel).map_err(|kind| graph.error(place, None, kind))?;
        }
    }
    let mut rules = vec![false; grammar.rules().len()];
    let mut exprs = vec![false; pool.len()];
    loop {
        graph.spend(place, pool.len() as u64)?;
        for index in 0..pool.len() {
            exprs[index] = match pool.get(ExprId::from_index(index)) {
                Expr::Never => false,
                Expr::Epsilon => true,
                Expr::Terminal(terminal) => !empty_terminals[terminal.index()],
                Expr::Rule(rule) => rules[rule.index()],
                Expr::Seq(head, tail) => exprs[head.index()] && exprs[tail.index()],
                Expr::Alt(parts) => parts.iter().any(|part| exprs[part.index()]),
                Expr::Repeat { inner, min, .. } => *min == 0 || exprs[inner.index()],
            };
        }
        let mut has_grown = false;
        for rule in grammar.rules() {
            if !rules[rule.index()] && exprs[grammar.body(rule).index()] {
                rules[rule.index()] = true;
                has_grown = true;
            }
        }
        if rules[grammar.start().index()] {
            return Ok(true);
        }
        if !has_grown {
            return Ok(false);
        }
    }
}

/// Whether a terminal is all strings but some: never empty, since only finitely many are left out.
fn is_additional_key(terminal: &Regex) -> bool {
    match terminal.node() {
        maskwright_automata::Node::Intersection(parts) => {
            parts.iter().any(|part| part.ptr_eq(&CANONICAL_STRING))
        }
        _ => false,
    }
}
