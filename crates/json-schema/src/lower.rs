//! From canonical forms to a grammar.
//!
//! The last stage. Scalars become terminals, arrays and objects rules over JSON's own terminals. Equal
//! right-hand sides are one rule, so schemas that say the same share their states in the engine; a schema
//! that contains itself gets a rule of its own. The grammar is linear in the canonical forms: the optional
//! properties of an object are a chain with shared tails, not a choice among subsets.
//!
//! Schemas are followed depth first, but only so deep; what lies deeper waits in a queue as a declared rule,
//! so a chain of 100,000 references does not exhaust the stack.

mod array;
mod element;
mod listed;
mod object;
mod scalar;
mod unnamed;

use std::borrow::Cow;
use std::sync::Arc;

use maskwright_automata::Regex;
use maskwright_grammar::{ExprId, Grammar, GrammarBuilder, Mark, RuleId};
use rustc_hash::FxHashMap;

use crate::distinct::Distinct;
use crate::error::Kind;
use crate::forms::node_id::NodeId;
use crate::forms::shape::Shape;
use crate::graph::Graph;
use crate::productive::is_productive;
use crate::report::PlaceId;
use crate::strings::excluded::{Excluded, Surroundings};
use crate::strings::names::Names;
use crate::strings::notation::Notation;
use crate::strings::terminals::{Brackets, Pad, Punctuation};
use crate::style::{Elements, End, Padding};
use crate::{SchemaError, Style, Whitespace};

/// How deep schemas are followed before they are put off.
const MAX_NESTING: usize = 64;

/// The grammar of the texts of `root`, which may have none, and its watch.
pub(crate) fn lower(graph: &mut Graph<'_>, root: NodeId) -> Result<(Grammar, Option<Distinct>), SchemaError> {
    let (style, surroundings) = (graph.config.style, graph.surroundings.clone());
    let mut lowering = Lowering::new(graph, style, surroundings);
    let start = lowering.builder.declare("start");
    let body = lowering.root(root)?;
    lowering.lower_deferred()?;
    lowering.builder.define(start, body);
    let watch = lowering.watch;
    if let Some(watch) = watch {
        lowering.builder.set_watch(Arc::new(watch));
    }
    Ok((lowering.finish(start), watch))
}

/// Whether `node` has no text.
pub(crate) fn is_empty(graph: &mut Graph<'_>, node: NodeId) -> Result<bool, SchemaError> {
    // A question about values, however they are written.
    let mut lowering = Lowering::new(graph, Style::Json, Surroundings::default());
    let start = lowering.builder.declare("start");
    let body = lowering.node(Form::Value, node, 0)?;
    lowering.lower_deferred()?;
    lowering.builder.define(start, body);
    let grammar = lowering.finish(start);
    let place = graph.place(node);
    Ok(!is_productive(&grammar, graph, place)?)
}

pub(crate) struct Lowering<'g, 'a> {
    pub(crate) graph: &'g mut Graph<'a>,
    pub(crate) builder: GrammarBuilder,
    style: Style,
    /// The elements of the style, if it has them.
    pub(crate) elements: Option<&'static Elements>,
    pub(crate) notation: Cow<'static, Notation>,
    /// What the text around the values asks of them. The mark of elements ends them too.
    pub(crate) surroundings: Surroundings<'a>,
    /// White space inside of brackets and between elements, and nothing.
    pub(crate) inside: Regex,
    /// White space around values in elements.
    pub(crate) padding: Padding,
    /// Punctuation by form.
    symbols: [Symbols; 3],
    /// By form and number.
    nodes: [Vec<State>; 3],
    /// Rules by their right-hand side.
    rules: FxHashMap<ExprId, RuleId>,
    deferred: Vec<(Form, NodeId, RuleId)>,
    /// What the session must watch.
    watch: Option<Distinct>,
    /// What the grammar took when it was last looked at.
    n_bytes: usize,
}

#[derive(Clone, Copy)]
enum State {
    New,
    /// Being lowered; the rule by which it refers to itself, once it does.
    Active(Option<RuleId>),
    Done(ExprId),
}

/// How values are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// As JSON, or in another [notation](crate::strings::notation).
    Value,
    /// In an [element](crate::style): the part after its name, up to its end.
    Element,
    /// As the arguments of a call, `name=value`: the object that is the whole text.
    Arguments,
}

/// [`Punctuation`] as symbols of the grammar.
#[derive(Clone, Copy)]
pub(crate) struct Symbols {
    pub(crate) object: Brackets<ExprId>,
    pub(crate) array: Brackets<ExprId>,
    pub(crate) comma: ExprId,
    pub(crate) array_comma: ExprId,
    pub(crate) colon: ExprId,
    pub(crate) around: ExprId,
}

impl Symbols {
    fn of_json(builder: &mut GrammarBuilder, regexes: Punctuation) -> Symbols {
        let mut symbol = |regex: Regex| builder.terminal(regex);
        let comma = symbol(regexes.comma);
        Symbols {
            object: regexes.object.map(&mut symbol),
            array: regexes.array.map(&mut symbol),
            comma,
            array_comma: comma,
            colon: symbol(regexes.colon),
            around: match regexes.around {
                // Terminals are not empty words.
                Some(around) => {
                    let around = symbol(around);
                    builder.optional(around)
                }
                None => builder.epsilon(),
            },
        }
    }

    /// Where objects and arrays are elements: the mark that closes a member or an item is a comma where
    /// another follows, and else a bracket. White space stands around the whole and between members, but not
    /// between items. Where elements end with their name, white space stands before each and after the last,
    /// and nothing between them.
    fn of_elements(
        builder: &mut GrammarBuilder,
        elements: &Elements,
        mark: Regex,
        inside: &Regex,
        is_flexible: bool,
    ) -> Symbols {
        let space = builder.terminal(inside.clone());
        let none = builder.epsilon();
        let first = if is_flexible && !elements.has_space_first { none } else { space };
        let (open, array_comma, comma, close) = match elements.end {
            End::Mark => {
                let array_comma = builder.terminal(mark.clone());
                let comma = builder.terminal(Regex::concat([mark, inside.clone()]));
                (first, array_comma, comma, comma)
            }
            End::Name => (none, none, none, space),
        };
        let brackets = Brackets::with_one_pad(open, close, none, none, builder.never());
        Symbols { object: brackets, array: brackets, comma, array_comma, colon: none, around: none }
    }

    /// Arguments without brackets around them.
    fn of_arguments(builder: &mut GrammarBuilder, json: &Symbols) -> Symbols {
        let none = builder.epsilon();
        let brackets = Brackets::with_one_pad(none, none, none, none, builder.never());
        let colon = builder.literal("=");
        Symbols { object: brackets, colon, around: none, ..*json }
    }
}

/// The symbols of one kind of arrays.
#[derive(Clone, Copy)]
pub(crate) struct ArraySymbols {
    pub(crate) brackets: Brackets<ExprId>,
    pub(crate) comma: ExprId,
}

impl<'g, 'a> Lowering<'g, 'a> {
    fn new(graph: &'g mut Graph<'a>, style: Style, mut surroundings: Surroundings<'a>) -> Lowering<'g, 'a> {
        let mut builder = GrammarBuilder::new();
        let punctuation = Punctuation::of(graph.config);
        let inside = punctuation.inside.clone();
        let json = Symbols::of_json(&mut builder, punctuation);
        let elements = Elements::of(style);
        let notation = Notation::of(style, surroundings.special);
        // Where any white space is asked for, it may stand around values too.
        let padding = match (elements, graph.config.whitespace) {
            (Some(elements), Whitespace::Flexible) if elements.has_lines => Padding::Lines,
            (Some(_), Whitespace::Flexible | Whitespace::OneLine) => Padding::None,
            _ => Padding::Any(inside.clone()),
        };
        if let Some(elements) = elements {
            surroundings.ends = Excluded::new(&[elements.mark]);
        }
        let is_flexible = matches!(graph.config.whitespace, Whitespace::Flexible | Whitespace::OneLine);
        let of_elements = elements.map_or(json, |elements| {
            let mark = surroundings.mark(elements.mark);
            Symbols::of_elements(&mut builder, elements, mark, &inside, is_flexible)
        });
        let of_arguments = match notation.arguments {
            None => json,
            Some(_) => Symbols::of_arguments(&mut builder, &json),
        };
        Lowering {
            graph,
            builder,
            style,
            elements,
            notation,
            surroundings,
            inside,
            padding,
            symbols: [json, of_elements, of_arguments],
            nodes: [Vec::new(), Vec::new(), Vec::new()],
            rules: FxHashMap::default(),
            deferred: Vec::new(),
            watch: None,
            n_bytes: 0,
        }
    }

    /// Defines the rules of the deferred schemas.
    fn lower_deferred(&mut self) -> Result<(), SchemaError> {
        while let Some((form, node, rule)) = self.deferred.pop() {
            let shape = self.graph.shape(node).map_err(|error| self.graph.blame(error, node))?;
            let body = self.shape(form, node, &shape, 0)?;
            self.builder.define(rule, body);
        }
        Ok(())
    }

    fn finish(self, start: RuleId) -> Grammar {
        self.builder.finish(start).expect(
            "every declared rule is defined: active ones when they are done, deferred ones when put off",
        )
    }

    pub(crate) fn symbols(&self, form: Form) -> Symbols {
        self.symbols[form as usize]
    }

    /// The texts of the whole schema.
    fn root(&mut self, root: NodeId) -> Result<ExprId, SchemaError> {
        let form = match (self.elements, self.notation.arguments) {
            (Some(_), _) => Form::Element,
            (None, Some(_)) => Form::Arguments,
            (None, None) => {
                let value = self.node(Form::Value, root, 0)?;
                let around = self.symbols(Form::Value).around;
                return Ok(self.builder.seq(&[around, value, around]));
            }
        };
        let shape = self.graph.shape(root).map_err(|error| self.graph.blame(error, root))?;
        let place = self.graph.place(root);
        if shape.objects.is_empty() {
            let style = self.style_name();
            let message = format!(
                "the style {style} writes the members of an object, and no value of the schema is an object"
            );
            return Err(self.graph.error(place, None, Kind::Unsatisfiable { message }));
        }
        let body = self.objects(form, &shape.objects, place, 0);
        body.map_err(|error| self.graph.blame(error, root))
    }

    /// How names of members are written in a form, unless they are strings.
    pub(crate) fn names(&self, form: Form) -> Option<&'static Names> {
        match form {
            Form::Value => self.notation.names,
            Form::Element => self.elements.map(|elements| &elements.names),
            Form::Arguments => self.notation.arguments,
        }
    }

    /// What users call the style.
    pub(crate) fn style_name(&self) -> &'static str {
        self.style.name()
    }

    /// Whether sessions can watch over names and items.
    pub(crate) fn may_watch(&self) -> bool {
        self.style == Style::Json
    }

    /// The values of a schema, as one symbol or a choice of few.
    pub(crate) fn node(&mut self, form: Form, node: NodeId, depth: usize) -> Result<ExprId, SchemaError> {
        let nodes = &mut self.nodes[form as usize];
        if nodes.len() < self.graph.n_nodes() {
            nodes.resize(self.graph.n_nodes(), State::New);
        }
        match nodes[node.index()] {
            State::Done(expr) => return Ok(expr),
            State::Active(Some(rule)) => return Ok(self.builder.rule(rule)),
            State::Active(None) => {
                let rule = self.builder.declare(self.graph.name(node));
                self.set(form, node, State::Active(Some(rule)));
                return Ok(self.builder.rule(rule));
            }
            State::New => {}
        }
        self.graph.spend(self.graph.place(node), 1)?;
        let shape = self.graph.shape(node).map_err(|error| self.graph.blame(error, node))?;
        if node != NodeId::ANY && *shape == Shape::any() {
            let any = self.node(form, NodeId::ANY, depth)?;
            self.set(form, node, State::Done(any));
            return Ok(any);
        }
        let has_parts = !shape.arrays.is_empty() || !shape.objects.is_empty();
        if has_parts && depth >= MAX_NESTING {
            let rule = self.builder.declare(self.graph.name(node));
            let expr = self.builder.rule(rule);
            self.deferred.push((form, node, rule));
            self.set(form, node, State::Done(expr));
            return Ok(expr);
        }
        self.set(form, node, State::Active(None));
        let body = self.shape(form, node, &shape, depth)?;
        let expr = match self.nodes[form as usize][node.index()] {
            State::Active(Some(rule)) => {
                self.builder.define(rule, body);
                self.builder.rule(rule)
            }
            _ => body,
        };
        self.set(form, node, State::Done(expr));
        let n_bytes = self.builder.memory_usage();
        self.graph.fuel.hold(n_bytes.saturating_sub(self.n_bytes));
        self.n_bytes = self.n_bytes.max(n_bytes);
        Ok(expr)
    }

    fn set(&mut self, form: Form, node: NodeId, state: State) {
        let nodes = &mut self.nodes[form as usize];
        if nodes.len() <= node.index() {
            nodes.resize(self.graph.n_nodes(), State::New);
        }
        nodes[node.index()] = state;
    }

    fn shape(
        &mut self,
        form: Form,
        node: NodeId,
        shape: &Shape<'a>,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let value = match (form, self.elements) {
            (Form::Element, Some(elements)) => self.element_value(elements, node, shape, depth),
            _ => self.alternatives(form, node, shape, depth),
        };
        value.map_err(|error| self.graph.blame(error, node))
    }

    /// Values one after the other by type, strings as JSON, the parts of others in `form`.
    pub(crate) fn alternatives(
        &mut self,
        form: Form,
        node: NodeId,
        shape: &Shape<'a>,
        depth: usize,
    ) -> Result<ExprId, SchemaError> {
        let place = self.graph.place(node);
        let mut members = Vec::with_capacity(shape.n_alternatives());
        if shape.has_null {
            members.push(self.builder.terminal(self.notation.null.clone()));
        }
        match (shape.has_true, shape.has_false) {
            (true, true) => members.push(self.builder.terminal(self.notation.boolean.clone())),
            (true, false) => members.push(self.builder.terminal(self.notation.true_.clone())),
            (false, true) => members.push(self.builder.terminal(self.notation.false_.clone())),
            (false, false) => {}
        }
        if !shape.numbers.is_empty() {
            members.push(self.numbers(&shape.numbers, place)?);
        }
        if !shape.strings.is_empty() {
            let regex = self.strings(&shape.strings, place)?;
            members.push(self.builder.terminal(regex));
        }
        let (listed, arrays) = self.listed_arrays(form, &shape.arrays, place)?;
        members.extend(listed.map(|listed| self.shared_rule(node, listed)));
        for set in &arrays {
            let body = self.array(form, set, node, depth)?;
            members.push(self.shared_rule(node, body));
        }
        if !shape.objects.is_empty() {
            let body = self.objects(form, &shape.objects, place, depth)?;
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

    /// The symbols of usual arrays.
    pub(crate) fn array_symbols(&self, form: Form) -> ArraySymbols {
        let Symbols { array, array_comma, .. } = self.symbols(form);
        ArraySymbols { brackets: array, comma: array_comma }
    }

    /// The symbols of arrays whose items all differ, which sessions watch.
    pub(crate) fn distinct_symbols(&mut self) -> ArraySymbols {
        self.watch.get_or_insert_default().has_arrays = true;
        let Punctuation { array: Brackets { open, pads, end }, comma, .. } =
            Punctuation::of(self.graph.config);
        let builder = &mut self.builder;
        ArraySymbols {
            brackets: Brackets {
                open: builder.marked_terminal(open, Mark::Opens),
                pads: pads.map(|Pad { after_open, close }| Pad {
                    after_open: builder.terminal(after_open),
                    close: builder.marked_terminal(close, Mark::Parts),
                }),
                end: builder.terminal(end),
            },
            comma: builder.marked_terminal(comma, Mark::Separates),
        }
    }

    /// `list` in brackets and, if it `may_be_empty`, empty brackets. The white space after the opening
    /// bracket determines the white space before the closing one.
    pub(crate) fn in_brackets(
        &mut self,
        brackets: Brackets<ExprId>,
        list: ExprId,
        may_be_empty: bool,
    ) -> ExprId {
        let Brackets { open, pads, end } = brackets;
        let end = if may_be_empty { end } else { self.builder.never() };
        let ways = pads.map(|Pad { after_open, close }| {
            let full = self.builder.seq(&[list, close]);
            let inside = self.builder.alt(&[full, end]);
            self.builder.seq(&[after_open, inside])
        });
        let ways = self.builder.alt(&ways);
        self.builder.seq(&[open, ways])
    }

    /// The opening bracket of an object whose keys sessions watch.
    pub(crate) fn distinct_open_object(&mut self) -> ExprId {
        self.builder.marked_terminal(Punctuation::of(self.graph.config).object.open, Mark::Holds)
    }

    /// The colon behind keys that sessions watch, since none may occur twice.
    pub(crate) fn distinct_colon(&mut self) -> ExprId {
        self.watch.get_or_insert_default();
        self.builder.marked_terminal(Punctuation::of(self.graph.config).colon, Mark::Names)
    }

    /// The comma and colon of objects that have few keys to choose from, so that none may be left behind a
    /// comma.
    pub(crate) fn few_symbols(&mut self) -> (ExprId, ExprId) {
        self.watch.get_or_insert_default().has_few_keys = true;
        let Punctuation { comma, colon, .. } = Punctuation::of(self.graph.config);
        (self.builder.marked_terminal(comma, Mark::Parts), self.builder.marked_terminal(colon, Mark::Parts))
    }

    pub(crate) fn count(
        &self,
        count: u64,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<u32, SchemaError> {
        u32::try_from(count).map_err(|_| {
            let message = format!("{count} is more than any text holds (the limit is {})", u32::MAX);
            self.graph.error(place, Some(keyword), Kind::Limit { message })
        })
    }
}
