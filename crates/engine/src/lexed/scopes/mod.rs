//! Scopes: what can still come, by sets of terminals.
//!
//! [`Scopes`] holds the rules restricted to several sets of terminals. Each [`Scope`] knows, for a
//! hypothesis, which terminals its next token can be ([`viability`]) and, for the parser, which of them it
//! can read and then finish. There are three kinds:
//!
//! * `everything`: all terminals.
//! * `main`: all but the doubtful ones ([`competition`]). It is asked first.
//! * [`scope_after`](Scopes::scope_after) a hypothesis: the terminals that can still come after it
//!   ([`reach`]).
//!
//! An example: in JSON read by a lexer all terminals can always come, so all three are the same. In C, after
//! `/*` was read as two operators, no comment can come any more, and the scope after that hypothesis has
//! none.
//!
//! Scopes are made when first asked for and kept. Which terminals compete where the parser is
//! ([`Scopes::exact`]) is known here too.

mod answers;
mod competition;
mod reach;
mod restriction;
mod scope;
mod viability;

use std::sync::Arc;

use maskwright_grammar::{ExprId, Network};
use maskwright_scan::bits::{Bits, contains, insert, n_words, ones, remove};
use maskwright_scan::{HypothesisId, Points, SetId};
use rustc_hash::FxHashMap;

use super::places::Places;
use crate::EngineError;
use crate::parser::{ConfigId, NodeId, Parser};
use competition::{Prepared, prepare};
use reach::Reach;
pub(super) use restriction::expressions;
pub(super) use scope::Scope;
pub(super) use viability::Viability;

/// The rules restricted to sets of terminals.
///
/// The first of `list` has all terminals. `main < list.len()`.
pub(super) struct Scopes {
    list: Vec<Scope>,
    /// The scope that is asked first, all terminals but the doubtful ones.
    main: usize,
    doubtful: Bits,
    /// By terminal, what may follow it.
    pub(super) follow: Arc<[Bits]>,
    /// By number of a set over(h), its scope.
    scope_of: FxHashMap<u32, usize>,
    reach: Reach,
    /// By configuration of the parser, outside of brackets and inside, the terminals that compete there.
    competing: FxHashMap<(ConfigId, bool), SetId>,
    memo_bytes: usize,
}

impl Scopes {
    /// The scopes of the rules in `network`. Chooses what competes in strict readings of `points`.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn new(points: &mut Points, network: &mut Network) -> Result<Scopes, EngineError> {
        let n_terminals = points.tables.n_terminals;
        let n_words = n_words(n_terminals);
        let (all, none): (Bits, Bits) = (vec![u64::MAX; n_words].into(), vec![0; n_words].into());
        let mut everything = Scope::new(&points.tables, network, all, &none, true);
        let Prepared { main, doubtful } = prepare(points, network, &mut everything)?;
        let follow = everything.viability.adjacency.needed[0].as_slice().into();
        let list: Vec<Scope> = [everything].into_iter().chain(main).collect();
        Ok(Scopes {
            main: list.len() - 1,
            list,
            doubtful,
            follow,
            scope_of: FxHashMap::default(),
            reach: Reach::new(n_terminals, n_words),
            competing: FxHashMap::default(),
            memo_bytes: 0,
        })
    }

    /// The number of the main scope.
    #[inline]
    pub(super) fn main(&self) -> usize {
        self.main
    }

    /// The main scope.
    #[inline]
    pub(super) fn main_scope(&mut self) -> &mut Scope {
        &mut self.list[self.main]
    }

    /// A scope by its number.
    #[inline]
    pub(super) fn get(&mut self, scope: usize) -> &mut Scope {
        &mut self.list[scope]
    }

    /// The scope with all terminals, and another one. `scope` is not 0.
    #[inline]
    pub(super) fn everything_and(&mut self, scope: usize) -> (&mut Scope, &mut Scope) {
        let (everything, others) = self.list.split_at_mut(1);
        (&mut everything[0], &mut others[scope - 1])
    }

    /// What is known of hypotheses in the main scope.
    #[inline]
    pub(super) fn viability(&mut self) -> &mut Viability {
        &mut self.list[self.main].viability
    }

    /// The hypothesis at the end of a token after which the parser is in `config`. The terminals that compete
    /// are those that the parser can read there, and inside of brackets the line end, which the parser does
    /// not get.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn exact(
        &mut self,
        places: &mut Places,
        parser: &Parser,
        hypothesis: HypothesisId,
        config: ConfigId,
        is_nested: bool,
    ) -> Result<HypothesisId, EngineError> {
        let Points { tables, hypotheses } = &mut places.points;
        let set = match self.competing.get(&(config, is_nested)) {
            Some(&known) => known,
            None => {
                let mut terminals: Bits = vec![0; n_words(tables.n_terminals)].into();
                for thread in parser.configs.threads(config) {
                    insert(&mut terminals, thread.terminal.index());
                }
                if let Some(layout) = tables.layout.as_ref().filter(|_| is_nested) {
                    insert(&mut terminals, layout.newline.index());
                }
                let Some(set) = hypotheses.set(&terminals) else { return Ok(hypothesis) };
                self.competing.insert((config, is_nested), set);
                self.memo_bytes += 24;
                set
            }
        };
        Ok(hypotheses.exact(hypothesis, set)?)
    }

    /// The scope of the terminals that can come after a hypothesis, without doubtful ones.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn scope_after(
        &mut self,
        points: &mut Points,
        network: &mut Network,
        hypothesis: HypothesisId,
    ) -> Result<usize, EngineError> {
        let over = self.reach.over(&mut points.hypotheses, hypothesis)?;
        if let Some(&scope) = self.scope_of.get(&over) {
            return Ok(scope);
        }
        let mut terminals = self.reach.set(over).clone();
        let mut is_complete = true;
        for terminal in ones(&self.doubtful) {
            is_complete &= !contains(&terminals, terminal);
            remove(&mut terminals, terminal);
        }
        let mut scope = Scope::new(&points.tables, network, terminals, &self.doubtful, false);
        scope.is_complete = is_complete;
        self.list.push(scope);
        self.scope_of.insert(over, self.list.len() - 1);
        Ok(self.list.len() - 1)
    }

    /// Whether the main scope has every terminal that can come next.
    pub(super) fn is_main_complete(&self) -> bool {
        self.list[self.main].is_complete
    }

    /// Whether the rest of a rule has a sentence within the main scope.
    pub(super) fn is_productive(&mut self, parser: &mut Parser, state: ExprId) -> bool {
        self.main_scope().is_productive(parser, state)
    }

    /// Whether a state followed by what some stack of `node` returns to has a sentence within the main scope.
    pub(super) fn finishes(&mut self, parser: &mut Parser, state: ExprId, node: NodeId) -> bool {
        let scope = self.main_scope();
        scope.is_productive(parser, state) && scope.can_finish(parser, node)
    }

    /// Drops what is memoised. The scopes themselves stay, and what they know of hypotheses.
    pub(super) fn clear_memo(&mut self) {
        self.list.iter_mut().for_each(Scope::clear_memo);
        self.competing = FxHashMap::default();
        self.memo_bytes = 0;
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.memo_bytes
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.memo_bytes + self.reach.memory_usage() + self.list.iter().map(Scope::memory_usage).sum::<usize>()
    }
}
