//! Right-hand sides as hash-consed expressions over terminals and rules.
//!
//! An [`ExprPool`] keeps every distinct expression once, so equal right-hand sides share their states, their
//! linear forms and, in the engine, their masks. Expressions are canonical: sequences lean right, choices
//! are sorted and flat, units and zeros are gone.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::{Offer, Shuffle, ShuffleList, ShufflePhase};

/// Declares a `u32` id type.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The id as a dense index, from 0.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of a dense index.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits.
            #[inline]
            pub fn from_index(index: usize) -> $name {
                $name(u32::try_from(index).expect("an id fits 32 bits: pools are size-limited"))
            }
        }
    };
}

id! {
    /// A rule (nonterminal) of a grammar.
    ///
    /// # Example: a rule of a grammar that is built
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_grammar as grammar; }
    /// use maskwright::grammar::{GrammarBuilder, RuleId};
    /// let mut builder = GrammarBuilder::new();
    /// let rule: RuleId = builder.declare("start");
    /// assert_eq!(rule.index(), 0);
    /// ```
    ///
    /// # Example: the rules of a grammar
    ///
    /// ```
    /// # mod maskwright { pub mod grammar { pub use maskwright_grammar::*; pub use maskwright_automata::*; } }
    /// use maskwright::grammar::{Grammar, Regex, RuleId};
    /// let grammar = Grammar::from_regex(Regex::literal("a"));
    /// let rules: Vec<RuleId> = grammar.rules().collect();
    /// assert_eq!(rules, [grammar.start()]);
    /// ```
    RuleId
}
id! {
    /// A terminal of a grammar.
    ///
    /// # Example: the language of a terminal
    ///
    /// ```
    /// # mod maskwright { pub mod grammar { pub use maskwright_grammar::*; pub use maskwright_automata::*; } }
    /// use maskwright::grammar::{Grammar, Regex, TerminalId};
    /// let grammar = Grammar::from_regex(Regex::literal("a"));
    /// assert_eq!(grammar.terminals()[TerminalId::from_index(0).index()], Regex::literal("a"));
    /// ```
    ///
    /// # Example: the terminals of a grammar that is embedded
    ///
    /// ```
    /// # mod maskwright { pub mod grammar { pub use maskwright_grammar::*; pub use maskwright_automata::*; } }
    /// use maskwright::grammar::{Fuel, Grammar, GrammarBuilder, Regex, TerminalId};
    /// let inner = Grammar::from_regex(Regex::literal("a"));
    /// let mut builder = GrammarBuilder::new();
    /// let start = builder.declare("start");
    /// let copy = |builder: &mut GrammarBuilder, terminal: TerminalId| {
    ///     builder.terminal(inner.terminals()[terminal.index()].clone())
    /// };
    /// let body = builder.embed(&inner, &Fuel::new(1_000), copy).unwrap();
    /// builder.define(start, body);
    /// assert_eq!(builder.finish(start).unwrap().terminals().len(), 1);
    /// ```
    TerminalId
}
id! {
    /// An expression of an [`ExprPool`].
    ///
    /// # Example: parts of a rule
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_grammar as grammar; }
    /// use maskwright::grammar::{ExprId, GrammarBuilder};
    /// let mut builder = GrammarBuilder::new();
    /// let parts: [ExprId; 2] = [builder.literal("a"), builder.literal("b")];
    /// let both = builder.seq(&parts);
    /// assert_ne!(both, builder.alt(&parts));
    /// ```
    ///
    /// # Example: equal parts are one
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_grammar as grammar; }
    /// use maskwright::grammar::GrammarBuilder;
    /// let mut builder = GrammarBuilder::new();
    /// assert_eq!(builder.literal("a"), builder.literal("a"));
    /// ```
    ExprId
}

/// One level of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// No word at all.
    Never,
    /// The empty word only.
    Epsilon,
    /// A terminal.
    Terminal(TerminalId),
    /// A rule.
    Rule(RuleId),
    /// The first, then the second; the first is never itself a `Seq`.
    Seq(ExprId, ExprId),
    /// Any of at least two, sorted by id, none itself an `Alt` of few members (long ones are not copied, so
    /// that a chain of optional parts takes linear space).
    Alt(Box<[ExprId]>),
    /// At least `min` and at most `max` (`None`: any number of) copies; `max` is at least 1.
    Repeat {
        /// What is repeated.
        inner: ExprId,
        /// The least number of copies.
        min: u32,
        /// The greatest number of copies.
        max: Option<u32>,
    },
    /// What is left of a list whose items come in any order. In a [`Grammar`](crate::Grammar) it is always a
    /// whole list; the other places are made while reading.
    Shuffle(Shuffle),
}

fn hash_of(expr: &Expr) -> u64 {
    FxBuildHasher.hash_one(expr)
}

/// The longest choice that is copied into a choice around it.
const FLAT_ALT: usize = 8;

/// All distinct expressions of a grammar, with smart constructors.
#[derive(Clone, Debug)]
pub struct ExprPool {
    exprs: Vec<Expr>,
    /// The ids of `exprs`, by expression.
    ids: HashTable<ExprId>,
    lists: Vec<Arc<ShuffleList>>,
    list_ids: FxHashMap<Arc<ShuffleList>, u32>,
    /// What the members of choices take.
    alt_bytes: usize,
}

impl Default for ExprPool {
    fn default() -> ExprPool {
        let mut pool = ExprPool {
            exprs: Vec::new(),
            ids: HashTable::new(),
            lists: Vec::new(),
            list_ids: FxHashMap::default(),
            alt_bytes: 0,
        };
        pool.intern(Expr::Never);
        pool.intern(Expr::Epsilon);
        pool
    }
}

impl ExprPool {
    /// The expression without words.
    pub const NEVER: ExprId = ExprId(0);
    /// The expression of the empty word.
    pub const EPSILON: ExprId = ExprId(1);

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.exprs.capacity() * size_of::<Expr>()
            + self.ids.capacity() * (size_of::<ExprId>() + 1)
            + self.alt_bytes
    }

    /// The outermost operation of `id`.
    #[inline]
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// How many distinct expressions there are.
    #[allow(clippy::len_without_is_empty, reason = "a pool always holds `NEVER` and `EPSILON`")]
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    fn intern(&mut self, expr: Expr) -> ExprId {
        if let Some(id) = self.find(&expr) {
            return id;
        }
        let id = ExprId::from_index(self.exprs.len());
        if let Expr::Alt(parts) = &expr {
            self.alt_bytes += size_of_val(&**parts);
        }
        let hash = hash_of(&expr);
        self.exprs.push(expr);
        self.ids.insert_unique(hash, id, |id| hash_of(&self.exprs[id.index()]));
        id
    }

    fn find(&self, expr: &Expr) -> Option<ExprId> {
        self.ids.find(hash_of(expr), |id| self.exprs[id.index()] == *expr).copied()
    }

    /// A terminal.
    pub fn terminal(&mut self, terminal: TerminalId) -> ExprId {
        self.intern(Expr::Terminal(terminal))
    }

    /// A rule.
    pub fn rule(&mut self, rule: RuleId) -> ExprId {
        self.intern(Expr::Rule(rule))
    }

    /// `first`, then `second`. Takes time in the number of parts of `first`.
    pub fn seq2(&mut self, first: ExprId, second: ExprId) -> ExprId {
        if first == Self::NEVER || second == Self::NEVER {
            return Self::NEVER;
        }
        if first == Self::EPSILON {
            return second;
        }
        if second == Self::EPSILON {
            return first;
        }
        let mut heads = Vec::new();
        let mut last = first;
        while let &Expr::Seq(head, tail) = self.get(last) {
            heads.push(head);
            last = tail;
        }
        heads.push(last);
        heads.into_iter().rev().fold(second, |tail, head| self.intern(Expr::Seq(head, tail)))
    }

    /// All of `parts`, one after the other.
    pub fn seq(&mut self, parts: &[ExprId]) -> ExprId {
        parts.iter().rev().fold(Self::EPSILON, |tail, &part| self.seq2(part, tail))
    }

    /// Any of `parts`.
    pub fn alt(&mut self, parts: &[ExprId]) -> ExprId {
        let mut members = Vec::with_capacity(parts.len());
        for &part in parts {
            match self.get(part) {
                Expr::Never => {}
                Expr::Alt(inner) if inner.len() <= FLAT_ALT => members.extend(inner.iter().copied()),
                _ => members.push(part),
            }
        }
        members.sort_unstable();
        members.dedup();
        match members.len() {
            0 => Self::NEVER,
            1 => members[0],
            _ => self.intern(Expr::Alt(members.into())),
        }
    }

    /// `inner` or nothing.
    pub fn optional(&mut self, inner: ExprId) -> ExprId {
        self.alt(&[Self::EPSILON, inner])
    }

    /// At least `min` and at most `max` (`None`: any number of) copies of `inner`; never if `max < min`.
    pub fn repeat(&mut self, inner: ExprId, min: u32, max: Option<u32>) -> ExprId {
        if max.is_some_and(|max| max < min) {
            return Self::NEVER;
        }
        match (inner, min, max) {
            (_, _, Some(0)) | (Self::EPSILON, _, _) | (Self::NEVER, 0, _) => Self::EPSILON,
            (Self::NEVER, _, _) => Self::NEVER,
            (_, 1, Some(1)) => inner,
            (_, 0, Some(1)) => self.optional(inner),
            _ => self.intern(Expr::Repeat { inner, min, max }),
        }
    }

    /// The whole of `list`; never if no number of members is possible. Linear in the number of items.
    pub fn shuffle(&mut self, list: ShuffleList) -> ExprId {
        let Some(list) = list.normal() else { return Self::NEVER };
        let (number, list) = self.keep_list(list);
        self.shuffle_place(list.start(number))
    }

    /// `place` in `list`, which is the list of `place` with other expressions; never if it cannot be
    /// completed from there.
    pub(crate) fn shuffle_at(&mut self, list: ShuffleList, place: &Shuffle) -> ExprId {
        let Some(normal) = list.clone().normal() else { return Self::NEVER };
        let (number, normal) = self.keep_list(normal);
        list.place_in(&normal, number, place).map_or(Self::NEVER, |place| self.shuffle_place(place))
    }

    /// A list of this pool, and its number.
    fn keep_list(&mut self, list: ShuffleList) -> (u32, Arc<ShuffleList>) {
        let list = Arc::new(list);
        let next =
            u32::try_from(self.lists.len()).expect("a list has its own expressions, and those fit 32 bits");
        let number = *self.list_ids.entry(list.clone()).or_insert(next);
        if number == next {
            self.lists.push(list.clone());
        }
        (number, list)
    }

    /// A place in a list of this pool from which the list can be completed.
    pub(crate) fn shuffle_place(&mut self, place: Shuffle) -> ExprId {
        let list = self.shuffle_list(&place);
        let has_ended = place.phase != ShufflePhase::AfterSeparator && list.left(&place).has_ended(list);
        if has_ended { Self::EPSILON } else { self.intern(Expr::Shuffle(place)) }
    }

    /// The place in a list of this pool after `place` and what the list offers there.
    pub(crate) fn shuffle_after(&mut self, place: &Shuffle, list: &ShuffleList, offer: Offer) -> ExprId {
        match offer.is_last {
            true => Self::EPSILON,
            false => self.intern(Expr::Shuffle(place.after(list, offer.index))),
        }
    }

    /// `place` and then `tail`, if there is such an expression.
    pub(crate) fn known_place(&self, place: Shuffle, tail: ExprId) -> Option<ExprId> {
        let place = self.find(&Expr::Shuffle(place))?;
        if tail == Self::EPSILON { Some(place) } else { self.find(&Expr::Seq(place, tail)) }
    }

    pub(crate) fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// The list that `place` is a place of.
    pub fn shuffle_list(&self, place: &Shuffle) -> &ShuffleList {
        &self.lists[place.list as usize]
    }

    /// The same for those who make expressions while they look at it.
    pub(crate) fn shared_list(&self, place: &Shuffle) -> Arc<ShuffleList> {
        self.lists[place.list as usize].clone()
    }

    /// The expressions directly below `id`.
    pub fn children(&self, id: ExprId) -> Vec<ExprId> {
        match self.get(id) {
            Expr::Never | Expr::Epsilon | Expr::Terminal(_) | Expr::Rule(_) => Vec::new(),
            &Expr::Seq(head, tail) => vec![head, tail],
            Expr::Alt(parts) => parts.to_vec(),
            &Expr::Repeat { inner, .. } => vec![inner],
            Expr::Shuffle(place) => self.shuffle_list(place).parts().collect(),
        }
    }

    /// The distinct expressions from `root` downwards that `seen` does not hold yet, each after those below
    /// it. Iterative; takes time linear in what it returns.
    pub fn post_order(&self, root: ExprId, seen: &mut Seen) -> Vec<ExprId> {
        let mut order = Vec::new();
        let mut stack = vec![(root, false)];
        while let Some((id, is_done)) = stack.pop() {
            if is_done {
                order.push(id);
            } else if seen.insert(id.index()) {
                stack.push((id, true));
                stack.extend(self.children(id).into_iter().rev().map(|child| (child, false)));
            }
        }
        order
    }
}

/// A set of dense indices that is emptied at no cost, for repeated traversals.
#[derive(Clone, Debug)]
pub struct Seen {
    stamps: Vec<u32>,
    current: u32,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen::new()
    }
}

impl Seen {
    /// The empty set.
    pub fn new() -> Seen {
        Seen { stamps: Vec::new(), current: 1 }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.current += 1;
    }

    /// Adds `index`; whether it was new.
    pub fn insert(&mut self, index: usize) -> bool {
        if index >= self.stamps.len() {
            self.stamps.resize(index + 1, 0);
        }
        std::mem::replace(&mut self.stamps[index], self.current) != self.current
    }
}
