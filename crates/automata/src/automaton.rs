//! The lazily determinised automaton of a [`Regex`].
//!
//! The engine steps terminals through this type byte by byte, and keys what it learns about the vocabulary
//! by states. States are residues, kept in an [`AutomatonStore`](crate::AutomatonStore) (of its own, or one
//! that many automata share), made when first reached and numbered in that order; so the numbers depend on
//! the order of calls, while the language from a state never does.
//!
//! Costs: making one is linear in the expression (a single word: some 100 ns, nothing is built at all; parts
//! that the store met before: one look each); a step over a known transition is a few table reads without a
//! lock; an unknown one derives a residue under the store's one lock, at about a microsecond for the usual
//! terminal.

use std::sync::Arc;

use crate::counted::{Counted, CountedFamily, CountedUnits, Window};
use crate::lazy::Lazy;
use crate::state::next_id;
use crate::store::{Effort, Store};
use crate::{AutomatonError, AutomatonLimits, ByteSet, Fuel, Node, Regex, StateId, Steps};

/// The lazily determinised automaton of a [`Regex`].
///
/// Theorem (exactness). For the state s reached from the start by the bytes u: `step(s, b)` is `Some` iff
/// some word of the language starts with u·b, and `is_accepting(s)` iff u is a word of the language.
///
/// Share it by `Arc`; all methods may be called from many threads at once.
///
/// ```
/// use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, Fuel, Regex};
/// // Two digits, but not 42.
/// let digit = Regex::bytes(ByteSet::range(b'0', b'9'));
/// let regex = digit.repeat(2, Some(2)).difference(&Regex::literal("42"));
/// let automaton = Automaton::new(&regex, &AutomatonLimits::default(), &Fuel::unlimited())?;
/// let start = automaton.start().expect("there are such numbers");
/// let four = automaton.step(start, b'4')?.expect("numbers that start with 4");
/// assert_eq!(automaton.step(four, b'2')?, None);
/// assert_eq!(automaton.next_bytes(four)?.len(), 9);
/// assert_eq!(automaton.shortest_word(four)?, b"0");
/// # Ok::<(), maskwright_automata::AutomatonError>(())
/// ```
pub struct Automaton {
    id: u64,
    regex: Regex,
    kind: Kind,
}

enum Kind {
    /// The expression is a single word of at least two bytes; a state is the number of its bytes read.
    Word,
    /// The expression is one byte of a set; state 0 is before it and 1 after.
    Set(ByteSet),
    Lazy(Box<Lazy>),
    Counted(Box<Counted>),
}

/// Descriptions of residues are cut at about this many bytes.
const MAX_DESCRIPTION: usize = 240;

impl Automaton {
    /// The automaton of `regex`, in a store of its own, with its start state made and nothing else.
    ///
    /// # Errors
    /// If the expression is nested too deep, a limit is reached, `fuel` runs out (it pays for visiting the
    /// expression, and for deciding whether the language is empty) or is cancelled.
    pub fn new(regex: &Regex, limits: &AutomatonLimits, fuel: &Fuel) -> Result<Automaton, AutomatonError> {
        Automaton::in_store(regex, || Arc::new(Store::new(limits)), fuel)
    }

    pub(crate) fn in_store(
        regex: &Regex,
        store: impl FnOnce() -> Arc<Store>,
        fuel: &Fuel,
    ) -> Result<Automaton, AutomatonError> {
        let kind = match regex.node() {
            Node::Literal(word) if word.len() < u32::MAX as usize => {
                fuel.spend(1)?;
                Kind::Word
            }
            Node::Bytes(set) => {
                fuel.spend(1)?;
                Kind::Set(*set)
            }
            _ => Kind::Lazy(Box::new(Lazy::new(store(), regex, fuel)?)),
        };
        Ok(Automaton { id: next_id(), regex: regex.clone(), kind })
    }

    /// The automaton of `prefix C{min,max} suffix` (a possibly empty word, counted units, a word), with the
    /// count as a number instead of a residue for each count; `None` if `regex` has not this form with a
    /// count worth it, or the units are no prefix code that the suffix can be told from.
    ///
    /// # Errors
    /// As [`new`](Automaton::new).
    pub fn counted(
        regex: &Regex,
        units: &CountedUnits,
        limits: &AutomatonLimits,
        fuel: &Fuel,
    ) -> Result<Option<Automaton>, AutomatonError> {
        let counted = Counted::new(regex, units, limits, fuel)?;
        Ok(counted.map(|counted| Automaton {
            id: next_id(),
            regex: regex.clone(),
            kind: Kind::Counted(Box::new(counted)),
        }))
    }

    /// For a state between counted units of an automaton made by [`counted`](Automaton::counted): what its
    /// family sees of it. For two states of one family with equal windows the residues are equal.
    pub fn window(&self, state: StateId) -> Option<(CountedFamily, Window)> {
        match &self.kind {
            Kind::Counted(counted) => {
                counted.window(state.0).map(|window| (counted.family().clone(), window))
            }
            _ => None,
        }
    }

    /// A number that no other automaton of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The number of what the states belong to: automata with the same one share them. That is the store's
    /// [`id`](crate::AutomatonStore::id), or the automaton's own for single words and byte sets.
    pub fn store_id(&self) -> u64 {
        match &self.kind {
            Kind::Word | Kind::Set(_) | Kind::Counted(_) => self.id,
            Kind::Lazy(lazy) => lazy.store_id(),
        }
    }

    /// A name for the residue of `state` in the whole process: equal keys are equal residues.
    ///
    /// In one store, residues that are written alike (after the rewriting rules of the algebra) have equal
    /// keys, whichever automata they come from. Single words and byte sets keep to themselves.
    pub fn residue_key(&self, state: StateId) -> (u64, StateId) {
        (self.store_id(), state)
    }

    /// The expression that this is the automaton of.
    pub fn regex(&self) -> &Regex {
        &self.regex
    }

    /// The state before the first byte; `None` if the language is empty.
    pub fn start(&self) -> Option<StateId> {
        match &self.kind {
            Kind::Word | Kind::Set(_) => Some(StateId(0)),
            Kind::Lazy(lazy) => lazy.start().map(StateId),
            Kind::Counted(counted) => Some(StateId(counted.start())),
        }
    }

    /// The state after `byte`; `None` if no word goes on that way.
    ///
    /// # Errors
    /// If the transition is new and a limit is reached; then the automaton is as it was.
    #[inline]
    pub fn step(&self, state: StateId, byte: u8) -> Result<Option<StateId>, AutomatonError> {
        self.step_with(state, byte, Effort::Full)
    }

    /// As [`step`](Automaton::step), for callers that hold a lock of their own: a step that takes a long
    /// search for a word is left to `step`.
    ///
    /// # Errors
    /// As [`step`](Automaton::step), and [`AutomatonError::is_unsearched`] where such a search is needed.
    #[inline]
    pub fn try_step(&self, state: StateId, byte: u8) -> Result<Option<StateId>, AutomatonError> {
        self.step_with(state, byte, Effort::AtOnce)
    }

    #[inline]
    fn step_with(&self, state: StateId, byte: u8, effort: Effort) -> Result<Option<StateId>, AutomatonError> {
        match &self.kind {
            Kind::Word => Ok((self.word().get(state.index()) == Some(&byte)).then(|| StateId(state.0 + 1))),
            Kind::Set(set) => Ok((state.0 == 0 && set.contains(byte)).then_some(StateId(1))),
            Kind::Lazy(lazy) => match lazy.row(state.0) {
                Some(row) => Ok(lazy.step_with(row, byte, effort)?.map(|(next, _)| StateId(next))),
                None => Ok(None),
            },
            Kind::Counted(counted) => Ok(counted.step(state.0, byte).map(StateId)),
        }
    }

    /// The transitions of `state`, for walks that take many of them: what [`step`](Automaton::step) and
    /// [`is_accepting`](Automaton::is_accepting) say, with the state looked up once. Nothing is made before
    /// it is asked for.
    #[inline]
    pub fn steps(&self, state: StateId) -> Steps<'_> {
        match &self.kind {
            Kind::Word => Steps::word(self.word(), state),
            Kind::Set(set) => Steps::set(set, state),
            Kind::Lazy(lazy) => Steps::lazy(lazy, state),
            Kind::Counted(counted) => Steps::counted(counted, state),
        }
    }

    /// Whether the bytes read so far are a word of the language.
    #[inline]
    pub fn is_accepting(&self, state: StateId) -> bool {
        match &self.kind {
            Kind::Word => state.index() == self.word().len(),
            Kind::Set(_) => state.0 == 1,
            Kind::Lazy(lazy) => lazy.is_accepting(state.0),
            Kind::Counted(counted) => counted.is_accepting(state.0),
        }
    }

    /// The bytes by which [`step`](Automaton::step) leads to a state. The first call for a state makes all
    /// of them; later ones are two table reads.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn next_bytes(&self, state: StateId) -> Result<ByteSet, AutomatonError> {
        self.next_bytes_with(state, Effort::Full)
    }

    /// As [`next_bytes`](Automaton::next_bytes), without long searches; see
    /// [`try_step`](Automaton::try_step).
    ///
    /// # Errors
    /// As [`next_bytes`](Automaton::next_bytes), and [`AutomatonError::is_unsearched`] where such a search is
    /// needed.
    pub fn try_next_bytes(&self, state: StateId) -> Result<ByteSet, AutomatonError> {
        self.next_bytes_with(state, Effort::AtOnce)
    }

    fn next_bytes_with(&self, state: StateId, effort: Effort) -> Result<ByteSet, AutomatonError> {
        match &self.kind {
            Kind::Word => Ok(self.word().get(state.index()).copied().into_iter().collect()),
            Kind::Set(set) => Ok(if state.0 == 0 { *set } else { ByteSet::EMPTY }),
            Kind::Lazy(lazy) => lazy.next_bytes(state.0, effort),
            Kind::Counted(counted) => Ok(counted.next_bytes(state.0)),
        }
    }

    /// The bytes by which [`step`](Automaton::step) leads back to `state` itself. The first call for a state
    /// makes all transitions; later ones are two table reads.
    ///
    /// Any text of these bytes alone stays in the state: a walk over a vocabulary need not look into what
    /// has only such bytes (most tokens, inside a JSON string).
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn loop_bytes(&self, state: StateId) -> Result<ByteSet, AutomatonError> {
        match &self.kind {
            Kind::Lazy(lazy) => lazy.loop_bytes(state.0),
            _ => Ok(ByteSet::EMPTY),
        }
    }

    /// Whether the expression is a word or a list of words, so that few tokens can match and walking the
    /// vocabulary's trie directly is cheaper than rows.
    pub fn is_literal_like(&self) -> bool {
        match self.regex.node() {
            Node::Epsilon | Node::Literal(_) | Node::Words(_) => true,
            Node::Bytes(set) => set.len() == 1,
            _ => false,
        }
    }

    /// If the expression is a single word of at least two bytes: what is left of it at `state`. The only way
    /// on from there, to the only state that accepts.
    #[inline]
    pub fn rest_of_word(&self, state: StateId) -> Option<&[u8]> {
        match &self.kind {
            Kind::Word => self.word().get(state.index()..),
            _ => None,
        }
    }

    /// A state that behaves like `state` for the next `max_bytes` bytes, the same one for residues that
    /// differ only far away.
    ///
    /// With K = `max_bytes`, it is the state of the residue r′ that this state's residue r becomes by cutting
    ///
    /// * each count of a repeat x{m,n} to c = ⌊K/ℓ⌋+1, ℓ being the least length of a word of x, but at least
    ///   1: x{min(m,c),min(n,c)};
    /// * what follows in a sequence a·b where all words of a are longer than K: a·e remains, e being the
    ///   bytes that words of b end with (or ε, where the last part of b may be empty or they are not easily
    ///   known). In a·b otherwise, b is cut for K less the least length in a;
    /// * a member of a union that, cut, has no words of at most K bytes, if another member goes on after any
    ///   string of the bytes that the first K of its words' may be;
    /// * the bound in an intersection p ∩ u{m,n}·s where p is inside u{m,}·s and without intersections and
    ///   complements, every prefix of a word of p can be completed by at most d bytes, and n > K+d or there
    ///   is no n: p remains. Other intersections, and complements, stay.
    ///
    /// Theorem. For every string u of at most K bytes: (1) u is a word of r iff it is one of r′; (2) u is a
    /// prefix of a word of r iff it is one of r′.
    ///
    /// Proof, by induction over r. Unions: a word or prefix is one of a member's, and those of at most K
    /// bytes of a member left out are prefixes of another's. Sequences a·b: u is a word iff u = vw with v a
    /// word of a and w one of b; then |v| is at least the least length in a, so w has at most the bytes that
    /// b is cut for, and there is no such w if b is replaced. u is a prefix iff it is a prefix of a word of a
    /// (b has words, since only ∅ has none here: see below), or u = vw with v a word of a, w a prefix in b.
    /// Repeats: without copies that are ε (if x has ε then m is 0, and leaving them out keeps a word within
    /// the counts), a word u is k copies with k·ℓ ≤ |u| ≤ K, so k < c, and m ≤ k ≤ n iff min(m,c) ≤ k ≤
    /// min(n,c). A prefix u is k complete copies and a non-empty prefix of another, k+1 ≤ c, with k+1 ≤ n iff
    /// k+1 ≤ min(n,c); or it is k ≤ n complete copies, k < c; missing copies can follow in both.
    /// Intersections with a bound: units have at least one byte, so a word of p of at most K+d bytes is
    /// within the bound; u is such a word if it is one at all, and a prefix u of a word of p is a prefix of
    /// such a word. Parts without words: a state's residue has words, a part without words contributes
    /// nothing to either side of (1) and (2), and cutting turns no part without words into one with words or
    /// back: for x without words, x{m,n} has a word iff m = 0, iff min(m,c) = 0; only a `b` without
    /// intersections and complements, which has words, is replaced; p has words, and its shortest is within
    /// the bound. ∎
    ///
    /// Counts inside other intersections are kept because (2) fails there: `(a{9}|b) ∩ (a{8}|b)` has no word
    /// that starts with a, and with both counts cut to 2 it has.
    ///
    /// The result is `state` itself if there is nothing to cut. Repeated calls with the first `max_bytes`
    /// that the store ever saw are table reads.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn row_key(&self, state: StateId, max_bytes: u32) -> Result<StateId, AutomatonError> {
        match &self.kind {
            Kind::Word | Kind::Set(_) => Ok(state),
            Kind::Lazy(lazy) => lazy.row_key(state.0, max_bytes).map(StateId),
            Kind::Counted(counted) => Ok(StateId(counted.row_key(state.0, max_bytes))),
        }
    }

    /// A state whose language is that of `state` and the words that `state` leaves out as exceptions; `None`
    /// if it leaves out none.
    ///
    /// Exceptions are complements of few words (a list of names, say) in an intersection, also where that
    /// is in a union, or in a sequence after which few words follow. The base of "any JSON string but these
    /// names" is "any JSON string". The two differ only along the exceptions, so the base is a good place
    /// to start from for whoever computes something about the state.
    ///
    /// Theorem. L(state) ⊆ L(base): so every step that leads on from the state leads on from its base, and
    /// the next states are contained in the same way; where the state accepts, the base does.
    ///
    /// Proof. An intersection without some of its members contains it; union and concatenation are
    /// monotonic; derivatives are too. ∎
    ///
    /// Where a text has left all exceptions, the states reached by it are one, as `X ∩ ¬∅` is `X`. Repeated
    /// calls for one state are table reads.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn base(&self, state: StateId) -> Result<Option<StateId>, AutomatonError> {
        match &self.kind {
            Kind::Word | Kind::Set(_) | Kind::Counted(_) => Ok(None),
            Kind::Lazy(lazy) => Ok(lazy.base(state.0)?.map(StateId)),
        }
    }

    /// Whether all words of `state` are words of `other` too, as far as that shows at once: equal states, a
    /// state and its [`base`](Automaton::base), and counts between the same units of which one leaves less.
    ///
    /// # Errors
    /// If a limit is reached.
    ///
    /// ```
    /// use maskwright_automata::{Automaton, AutomatonLimits, CountedUnits, Fuel, Regex};
    /// let (units, limits, fuel) = (CountedUnits::default(), AutomatonLimits::default(), Fuel::new(10_000));
    /// let text = Regex::concat([Regex::literal("a").repeat(2, Some(9)), Regex::literal(".")]);
    /// let counted = Automaton::counted(&text, &units, &limits, &fuel)?.expect("a counted repetition");
    /// let after = |text: &[u8]| {
    ///     text.iter().try_fold(counted.start().expect("a word"), |state, &byte| counted.step(state, byte).ok().flatten())
    /// };
    /// let (two, three) = (after(b"aa").expect("fits"), after(b"aaa").expect("fits"));
    /// assert!(counted.is_within(three, two)? && !counted.is_within(two, three)?);
    /// # Ok::<(), maskwright_automata::AutomatonError>(())
    /// ```
    pub fn is_within(&self, state: StateId, other: StateId) -> Result<bool, AutomatonError> {
        if state == other {
            return Ok(true);
        }
        match &self.kind {
            Kind::Counted(counted) => Ok(match (counted.window(state.0), counted.window(other.0)) {
                (Some(window), Some(other)) => window.is_within(&other),
                _ => false,
            }),
            _ => Ok(self.base(state)? == Some(other)),
        }
    }

    /// A state for `x*e`, e being a set of bytes, such that `state` goes on after any word of `x*`, and none
    /// of its words but the empty one ends with other bytes than those of e; and e. `None` if no such state
    /// is easily found.
    ///
    /// Searches have one: "anything, then a word, then anything, then a quote" can always go on with
    /// anything, whatever of the word was there. They have many states, and one core.
    ///
    /// Theorem. A string without bytes of e that keeps the core alive keeps `state` alive, and does not make
    /// it accept.
    ///
    /// Proof. The string u is a prefix of a word x·b of `x*e`, and not all of it, since b is in e. So u is a
    /// prefix of x, and `state` goes on after x. If `state` accepted after u ≠ ε, u would end with a byte of
    /// e. ∎
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn core(&self, state: StateId) -> Result<Option<(StateId, ByteSet)>, AutomatonError> {
        match &self.kind {
            Kind::Word | Kind::Set(_) | Kind::Counted(_) => Ok(None),
            Kind::Lazy(lazy) => Ok(lazy.core(state.0)?.map(|(core, ends)| (StateId(core), ends))),
        }
    }

    /// The shortest, among them the lexicographically least, string that leads from `from` to an accepting
    /// state. Takes time in the word's length, and a search below intersections and complements.
    ///
    /// # Errors
    /// If the word is longer, or the search larger, than [`liveness_fuel`](AutomatonLimits::liveness_fuel).
    pub fn shortest_word(&self, from: StateId) -> Result<Vec<u8>, AutomatonError> {
        match &self.kind {
            Kind::Word => Ok(self.word().get(from.index()..).unwrap_or_default().to_vec()),
            Kind::Set(set) => Ok(set.first().filter(|_| from.0 == 0).into_iter().collect()),
            Kind::Lazy(lazy) => lazy.shortest_word(from.0),
            Kind::Counted(counted) => counted.shortest_word(from.0),
        }
    }

    /// How many states this automaton has made so far; those that other automata of its store made before are
    /// not counted.
    pub fn n_states(&self) -> usize {
        match &self.kind {
            Kind::Word => self.word().len() + 1,
            Kind::Set(_) => 2,
            Kind::Lazy(lazy) => lazy.n_states(),
            Kind::Counted(counted) => counted.n_states(),
        }
    }

    /// About how many bytes the automaton takes: what it added to its store, but for its expression.
    pub fn memory_usage(&self) -> usize {
        size_of::<Automaton>()
            + match &self.kind {
                Kind::Word | Kind::Set(_) => 0,
                Kind::Lazy(lazy) => lazy.memory_usage(),
                Kind::Counted(counted) => counted.memory_usage(),
            }
    }

    /// The residue in readable form, for diagnostics; long ones are cut with `…`.
    pub fn describe(&self, state: StateId) -> String {
        match &self.kind {
            Kind::Word => {
                let rest = self.word().get(state.index()..).unwrap_or_default();
                let shown = &rest[..rest.len().min(MAX_DESCRIPTION)];
                match rest.len() {
                    0 => "ε".to_owned(),
                    n if n > shown.len() => format!("\"{}…\"", shown.escape_ascii()),
                    _ => format!("\"{}\"", shown.escape_ascii()),
                }
            }
            Kind::Set(_) if state.0 > 0 => "ε".to_owned(),
            Kind::Set(set) => match set.as_singleton() {
                Some(byte) => format!("\"{}\"", std::ascii::escape_default(byte)),
                None => format!("{set:?}"),
            },
            Kind::Lazy(lazy) => lazy.describe(state.0, MAX_DESCRIPTION),
            Kind::Counted(counted) => counted.describe(state.0),
        }
    }

    /// The word of a `Kind::Word`.
    #[inline]
    fn word(&self) -> &[u8] {
        match self.regex.node() {
            Node::Literal(word) => word,
            _ => &[],
        }
    }
}

impl std::fmt::Debug for Automaton {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Automaton").field("id", &self.id).field("regex", &self.regex).finish_non_exhaustive()
    }
}
