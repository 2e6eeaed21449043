//! Grammars and how front ends build them.

use std::sync::Arc;

use maskwright_automata::{ByteSet, Node, Regex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Expr, ExprId, ExprPool, GrammarError, Label, Mark, RuleId, Seen, ShuffleList, TerminalId, TokenSet,
    Watch, Watched,
};

/// A context-free grammar over terminals that are regular languages. See [`GrammarBuilder`].
///
/// # Example: from a regular expression
///
/// ```
/// # mod maskwright { pub mod grammar { pub use maskwright_grammar::*; pub use maskwright_automata::*; } }
/// use maskwright::grammar::{Grammar, Regex};
/// let grammar = Grammar::from_regex(Regex::literal("a").plus());
/// assert_eq!(grammar.rules().len(), 1);
/// ```
///
/// # Example: printed
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::GrammarBuilder;
/// let mut builder = GrammarBuilder::new();
/// let greeting = builder.declare("greeting");
/// let body = builder.literal("hello");
/// builder.define(greeting, body);
/// let grammar = builder.finish(greeting).unwrap();
/// assert!(grammar.to_string().contains("greeting"));
/// ```
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(crate) pool: ExprPool,
    pub(crate) terminals: Vec<Regex>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) start: RuleId,
    pub(crate) watched: Option<Watched>,
}

/// A rule: its name, for messages, and its right-hand side.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) body: ExprId,
}

impl Grammar {
    /// The grammar of one regular language.
    pub fn from_regex(regex: Regex) -> Grammar {
        let mut builder = GrammarBuilder::new();
        let start = builder.declare("start");
        let body = builder.terminal(regex);
        builder.define(start, body);
        builder.finish(start).expect("its one rule is defined")
    }

    /// The grammar of the texts whose bytes are all in `bytes`. [Sets of tokens](crate::TokenSet) and limits
    /// stay.
    #[must_use]
    pub fn within(mut self, bytes: &ByteSet) -> Grammar {
        self.terminals.iter_mut().for_each(|terminal| *terminal = terminal.within(bytes));
        self
    }

    /// The grammar's texts whatever its [watch](Grammar::watched) says.
    #[must_use]
    #[doc(hidden)]
    pub fn without_watch(self) -> Grammar {
        Grammar { watched: None, ..self }
    }

    /// All expressions.
    #[doc(hidden)]
    pub fn pool(&self) -> &ExprPool {
        &self.pool
    }

    /// Approximate memory, in bytes. The terminals are counted where they are used.
    pub fn memory_usage(&self) -> usize {
        self.pool.memory_usage() + self.rules.capacity() * size_of::<Rule>()
    }

    /// The terminals' languages, by terminal id.
    pub fn terminals(&self) -> &[Regex] {
        &self.terminals
    }

    /// The terminals that the rules use.
    pub fn terminals_in_use(&self) -> FxHashSet<TerminalId> {
        let (mut seen, mut used) = (Seen::new(), FxHashSet::default());
        for rule in self.rules() {
            for id in self.pool.post_order(self.body(rule), &mut seen) {
                if let &Expr::Terminal(terminal) = self.pool.get(id) {
                    used.insert(terminal);
                }
            }
        }
        used
    }

    /// The rules, by rule id.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = RuleId> + use<> {
        (0..self.rules.len()).map(RuleId::from_index)
    }

    /// A rule's name.
    pub fn name(&self, rule: RuleId) -> &str {
        &self.rules[rule.index()].name
    }

    /// A rule's right-hand side.
    pub fn body(&self, rule: RuleId) -> ExprId {
        self.rules[rule.index()].body
    }

    /// The start rule.
    pub fn start(&self) -> RuleId {
        self.start
    }

    /// The condition that sessions keep beside the rules, if there is one.
    #[doc(hidden)]
    pub fn watched(&self) -> Option<&Watched> {
        self.watched.as_ref()
    }
}

/// Builds a [`Grammar`].
///
/// # Example: a rule that calls itself
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::GrammarBuilder;
/// let mut builder = GrammarBuilder::new();
/// let list = builder.declare("list");
/// let (open, close) = (builder.literal("["), builder.literal("]"));
/// let inner = builder.rule(list);
/// let items = builder.repeat(inner, 0, None);
/// let body = builder.seq(&[open, items, close]);
/// builder.define(list, body);
/// let grammar = builder.finish(list).unwrap();
/// assert_eq!(grammar.rules().len(), 1);
/// ```
///
/// # Example: choices, repetitions and terminals
///
/// ```
/// # mod maskwright { pub mod grammar { pub use maskwright_grammar::*; pub use maskwright_automata::*; } }
/// use maskwright::grammar::{ByteSet, GrammarBuilder, Regex};
/// let mut builder = GrammarBuilder::new();
/// let sum = builder.declare("sum");
/// let number = builder.terminal(Regex::bytes(ByteSet::range(b'0', b'9')).plus());
/// let (plus, minus) = (builder.literal("+"), builder.literal("-"));
/// let sign = builder.alt(&[plus, minus]);
/// let more = builder.seq(&[sign, number]);
/// let more = builder.repeat(more, 0, None);
/// let body = builder.seq(&[number, more]);
/// builder.define(sum, body);
/// let grammar = builder.finish(sum).unwrap();
/// assert_eq!(grammar.terminals().len(), 3);
/// ```
#[derive(Default, Debug)]
pub struct GrammarBuilder {
    pool: ExprPool,
    terminals: Vec<Regex>,
    terminal_ids: FxHashMap<(Regex, Option<Mark>), TerminalId>,
    marks: Vec<Option<Mark>>,
    rules: Vec<(String, Option<ExprId>)>,
    watch: Option<Arc<dyn Watch>>,
}

/// What a terminal takes, its expression included, which is mostly shared if it is large.
const BY_TERMINAL: usize = 400;

impl GrammarBuilder {
    /// A grammar without rules yet.
    pub fn new() -> GrammarBuilder {
        GrammarBuilder::default()
    }

    /// Approximate memory, in bytes.
    #[doc(hidden)]
    pub fn memory_usage(&self) -> usize {
        self.pool.memory_usage()
            + self.terminals.capacity() * BY_TERMINAL
            + self.rules.capacity() * size_of::<(String, Option<ExprId>)>()
    }

    /// Announces a rule, to be [defined](Self::define) before or after it is used. Names are for messages
    /// and need not be distinct.
    pub fn declare(&mut self, name: impl Into<String>) -> RuleId {
        self.rules.push((name.into(), None));
        RuleId::from_index(self.rules.len() - 1)
    }

    /// Gives `rule` its right-hand side; a second call replaces the first.
    pub fn define(&mut self, rule: RuleId, body: ExprId) {
        self.rules[rule.index()].1 = Some(body);
    }

    /// Whether `rule` has its right-hand side.
    pub fn is_defined(&self, rule: RuleId) -> bool {
        self.rules[rule.index()].1.is_some()
    }

    /// A terminal of the given language; equal languages (as expressions) are one terminal.
    pub fn terminal(&mut self, regex: Regex) -> ExprId {
        self.any_terminal(regex, None)
    }

    /// A terminal of the given language that speaks to the [watch](Self::set_watch). The empty word is not in
    /// it.
    #[doc(hidden)]
    pub fn marked_terminal(&mut self, regex: Regex, mark: Mark) -> ExprId {
        self.any_terminal(regex, Some(mark))
    }

    fn any_terminal(&mut self, regex: Regex, mark: Option<Mark>) -> ExprId {
        match regex.node() {
            Node::Empty => return ExprPool::NEVER,
            Node::Epsilon => return ExprPool::EPSILON,
            _ => {}
        }
        let next = TerminalId::from_index(self.terminals.len());
        let id = *self.terminal_ids.entry((regex.clone(), mark)).or_insert(next);
        if id == next {
            self.terminals.push(regex);
            self.marks.push(mark);
        }
        self.pool.terminal(id)
    }

    /// A terminal of one word.
    pub fn literal(&mut self, word: impl AsRef<[u8]>) -> ExprId {
        self.terminal(Regex::literal(word))
    }

    /// The word of a [literal](Self::literal); `None` of any other expression.
    pub fn word(&self, expr: ExprId) -> Option<Vec<u8>> {
        let &Expr::Terminal(terminal) = self.pool.get(expr) else { return None };
        if self.marks[terminal.index()].is_some() {
            return None;
        }
        match self.terminals[terminal.index()].node() {
            Node::Literal(word) => Some(word.to_vec()),
            Node::Bytes(bytes) if bytes.len() == 1 => Some(bytes.iter().collect()),
            _ => None,
        }
    }

    /// One token of a set, which matches by its id; see [`TokenSet`].
    pub fn tokens(&mut self, set: &TokenSet) -> ExprId {
        self.terminal(set.regex())
    }

    /// A label, which reads nothing; see [`Label`].
    pub fn label(&mut self, label: Label) -> ExprId {
        self.terminal(label.regex())
    }

    /// `part` between the labels of its beginning and its end.
    pub fn labelled(&mut self, number: u32, part: ExprId) -> ExprId {
        let (begin, end) = (self.label(Label::Begin(number)), self.label(Label::End(number)));
        self.seq(&[begin, part, end])
    }

    /// A rule's expression.
    pub fn rule(&mut self, rule: RuleId) -> ExprId {
        self.pool.rule(rule)
    }

    /// All of `parts`, one after the other; the empty word if there are none.
    ///
    /// `x? x? x?` becomes `x{0,3}`, so that reading does not distinguish which of the parts are left out.
    pub fn seq(&mut self, parts: &[ExprId]) -> ExprId {
        let mut merged = Vec::with_capacity(parts.len());
        for run in parts.chunk_by(|first, second| first == second) {
            match self.pool.get(run[0]) {
                Expr::Alt(members)
                    if run.len() > 2 && members.len() == 2 && members.contains(&ExprPool::EPSILON) =>
                {
                    let inner = if members[0] == ExprPool::EPSILON { members[1] } else { members[0] };
                    let max = u32::try_from(run.len()).expect("an expression has fewer parts than ids");
                    merged.push(self.pool.repeat(inner, 0, Some(max)));
                }
                _ => merged.extend_from_slice(run),
            }
        }
        self.pool.seq(&merged)
    }

    /// Any of `parts`; never if there are none.
    pub fn alt(&mut self, parts: &[ExprId]) -> ExprId {
        self.pool.alt(parts)
    }

    /// `inner` or nothing.
    pub fn optional(&mut self, inner: ExprId) -> ExprId {
        self.pool.optional(inner)
    }

    /// At least `min` and at most `max` (`None`: any number of) copies of `inner`; never if `max < min`.
    pub fn repeat(&mut self, inner: ExprId, min: u32, max: Option<u32>) -> ExprId {
        self.pool.repeat(inner, min, max)
    }

    /// Items in any order; see [`ShuffleList`]. Never if no number of members is possible.
    pub fn shuffle(&mut self, list: ShuffleList) -> ExprId {
        self.pool.shuffle(list)
    }

    /// The empty word.
    pub fn epsilon(&self) -> ExprId {
        ExprPool::EPSILON
    }

    /// No word at all.
    pub fn never(&self) -> ExprId {
        ExprPool::NEVER
    }

    /// Gives the grammar a condition beside its rules; see [`Watch`] for what that promises.
    #[doc(hidden)]
    pub fn set_watch(&mut self, watch: Arc<dyn Watch>) {
        self.watch = Some(watch);
    }

    /// How many distinct expressions were made so far.
    pub fn n_exprs(&self) -> usize {
        self.pool.len()
    }

    /// The grammar.
    ///
    /// # Errors
    /// If a declared rule was not defined.
    pub fn finish(self, start: RuleId) -> Result<Grammar, GrammarError> {
        let rules = self
            .rules
            .into_iter()
            .map(|(name, body)| match body {
                Some(body) => Ok(Rule { name, body }),
                None => Err(GrammarError::undefined(name)),
            })
            .collect::<Result<_, _>>()?;
        let marks = self.marks;
        let watched = self.watch.map(|watch| Watched { watch, marks });
        Ok(Grammar { pool: self.pool, terminals: self.terminals, rules, start, watched })
    }
}
