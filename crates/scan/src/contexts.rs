//! Which terminals compete for a token, under the contextual discipline.
//!
//! At the exact place of a text the set is known: what the parser's configuration can read, the ignored
//! terminals, and inside of brackets that of line ends, which they drop. Ahead of it the parser is not known,
//! and there are two bounds of what the lexer can do:
//!
//! * [`Ahead::Strict`]: after a token at least all terminals compete that may follow it. A token that wins
//!   among more terminals wins among fewer too, so *what strict readings come to, real ones do*.
//! * [`Ahead::Free`]: no terminals compete, so *there are no readings but free ones*.
//!
//! A terminal that can replace no competitor is added to the set. This merges sets: the parser does not read
//! that terminal's tokens, and what is kept by hypothesis is shared by more places.
//!
//! After most terminals strict readings take all terminals for competitors, which makes hypotheses few. Where
//! that hides something that the rules need there (`"a" /[^"]+/`: a pattern that takes all), they take those
//! that may follow.

use std::collections::BTreeSet;
use std::sync::Arc;

use maskwright_grammar::TerminalId;
use maskwright_lexing::{Choice, LexError, LexState, Lexer, TerminalSet};
use rustc_hash::FxHashMap;

use crate::bits::{Bits, insert, ones};

/// The most sets of terminals that strict readings tell apart.
const MAX_FOLLOW_SETS: usize = 64;

/// A set of terminals, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId(u32);

impl SetId {
    /// All terminals.
    pub(crate) const ALL: SetId = SetId(0);
    /// Of a token in progress that cannot become a kept one: which set it competes in is not asked any more.
    pub(crate) const ANY: SetId = SetId(u32::MAX);
}

/// How tokens are read that the parser has not come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Ahead {
    Strict,
    Free,
}

/// What a hypothesis is read among.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Context {
    /// The terminals that compete for the token in progress.
    pub(crate) set: SetId,
    pub(crate) choice: Choice,
    pub(crate) ahead: Ahead,
}

impl Context {
    /// Among all terminals; the one context of the basic discipline.
    pub(crate) const ALL: Context = Context { set: SetId::ALL, choice: Choice::Best, ahead: Ahead::Strict };
    /// Freely.
    pub(crate) const FREE: Context = Context { set: SetId::ALL, choice: Choice::Each, ahead: Ahead::Free };
}

/// The state before the next token, its context, and whether that is so only where brackets drop the line end
/// before.
pub(crate) type After = (LexState, Context, bool);

/// The sets of competing terminals of one grammar.
#[derive(Clone)]
pub(crate) struct Contexts {
    ignored: TerminalSet,
    newline: Option<TerminalId>,
    /// The ignored terminals and that of line ends: their tokens may leave the parser where it is.
    kept: TerminalSet,
    /// By terminal, those that may take its place.
    rivals: Arc<[TerminalSet]>,
    sets: Vec<TerminalSet>,
    ids: FxHashMap<Bits, SetId>,
    /// By terminal, the set after it in strict readings.
    follow: Vec<SetId>,
    starts: FxHashMap<(LexState, SetId, Choice), LexState>,
}

impl Contexts {
    /// After all of `n_terminals` all compete.
    pub(crate) fn new(
        n_terminals: usize,
        ignored: &[TerminalId],
        newline: Option<TerminalId>,
        rivals: Arc<[TerminalSet]>,
    ) -> Contexts {
        let ids = ignored.iter().map(|terminal| terminal.index() as u32);
        let newline_id = newline.map(|terminal| terminal.index() as u32);
        Contexts {
            ignored: ids.clone().collect(),
            newline,
            kept: ids.chain(newline_id).collect(),
            rivals,
            sets: vec![(0..n_terminals as u32).collect()],
            ids: FxHashMap::default(),
            follow: vec![SetId::ALL; n_terminals],
            starts: FxHashMap::default(),
        }
    }

    /// The set of `terminals` and the ignored ones, and of what may compete with them as well.
    pub(crate) fn set(&mut self, terminals: &Bits) -> SetId {
        if let Some(&known) = self.ids.get(terminals) {
            return known;
        }
        let mut set = self.ignored.clone();
        set.extend(ones(terminals).map(|terminal| terminal as u32));
        let mut refuting = TerminalSet::new();
        for terminal in set.iter() {
            if let Some(rivals) = self.rivals.get(terminal as usize) {
                refuting.union_with(rivals);
            }
        }
        set.extend((0..self.follow.len() as u32).filter(|&terminal| !refuting.contains(terminal)));
        // Others may be the same with the ignored ones.
        let known = self.sets.iter().position(|known| *known == set);
        let id = SetId(known.unwrap_or(self.sets.len()) as u32);
        if known.is_none() {
            self.sets.push(set);
        }
        self.ids.insert(terminals.clone(), id);
        id
    }

    /// The set of what competes after a token, inside of brackets or outside, if `terminals` may follow it.
    pub(crate) fn following(&mut self, terminals: &Bits) -> SetId {
        let mut terminals = terminals.clone();
        if let Some(newline) = self.newline {
            insert(&mut terminals, newline.index());
        }
        self.set(&terminals)
    }

    /// Whether there is such a terminal, and not only the end of the text.
    pub(crate) fn is_read(&self, terminal: usize) -> bool {
        terminal < self.follow.len()
    }

    /// Lets only those terminals compete after some that may follow, where `following` says which. The
    /// terminals after which that changed anything.
    pub(crate) fn follow(&mut self, following: &[Option<Bits>]) -> TerminalSet {
        let mut follow = self.follow.clone();
        let mut narrowed = BTreeSet::new();
        for (terminal, following) in following.iter().enumerate() {
            if let Some(following) = following {
                follow[terminal] = self.following(following);
                narrowed.insert(follow[terminal]);
            }
        }
        if narrowed.len() > MAX_FOLLOW_SETS {
            return TerminalSet::new();
        }
        let changed = (0..follow.len()).filter(|&terminal| follow[terminal] != self.follow[terminal]);
        let changed = changed.map(|terminal| terminal as u32).collect();
        self.follow = follow;
        changed
    }

    /// Whether a token of one of `terminals` may be a kept one.
    pub(crate) fn may_be_kept(&self, terminals: &TerminalSet) -> bool {
        self.kept.intersects(terminals)
    }

    /// Whether line ends are told apart by whether brackets drop them.
    pub(crate) fn is_newline(&self, terminal: TerminalId) -> bool {
        self.newline == Some(terminal)
    }

    /// The state before a token at the place of `state`.
    pub(crate) fn start(
        &mut self,
        lexer: &Lexer,
        state: LexState,
        set: SetId,
        choice: Choice,
    ) -> Result<LexState, LexError> {
        // Most lexers cannot see what lies before a token.
        let place = lexer.restart(state)?;
        if let Some(&known) = self.starts.get(&(place, set, choice)) {
            return Ok(known);
        }
        let start = lexer.among(state, &self.sets[set.0 as usize], choice)?;
        self.starts.insert((place, set, choice), start);
        Ok(start)
    }

    /// What comes after a token of `terminal` that ends at `state` and was read in `context`.
    pub(crate) fn after(
        &mut self,
        lexer: &Lexer,
        state: LexState,
        terminal: TerminalId,
        context: Context,
    ) -> Result<Vec<After>, LexError> {
        let is_newline = self.newline == Some(terminal);
        let mut after = Vec::with_capacity(2);
        if self.kept.contains(terminal.index() as u32) {
            // The parser stays where it is.
            after.push((context, is_newline));
        }
        if is_newline || after.is_empty() {
            let set = self.follow[terminal.index()];
            let next = match context.ahead {
                Ahead::Strict => Context { set, ..Context::ALL },
                Ahead::Free => Context::FREE,
            };
            after.push((next, false));
        }
        after
            .into_iter()
            .map(|(next, is_dropped)| {
                Ok((self.start(lexer, state, next.set, next.choice)?, next, is_dropped))
            })
            .collect()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.starts.len() * 24 + self.sets.len() * 128 + self.ids.len() * 64
    }
}
