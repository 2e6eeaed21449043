//! The contextual discipline put together with the rules: what competes at a place, and what is asked first of what may
//! follow it.
//!
//! Strict readings (see the crate `scan`) take more terminals for competitors than there are, and some terminals
//! never win among those: one that matches what another matches too and that is preferred. Such *doubtful* terminals are
//! left out of the scope that most answers come from; where only they could go on, a search decides.

use maskwright_grammar::Network;

use maskwright_scan::bits::{Bits, contains, insert, is_subset, n_words, ones, remove};
use maskwright_scan::{HypothesisId, LayoutId, LexerTables, Points};

use super::scope::Scope;
use super::{Lexed, scope};
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// What [`prepare`] finds out about a grammar.
pub(super) struct Prepared {
    /// The scope without doubtful terminals, if there are some.
    pub(super) main: Option<Scope>,
    pub(super) doubtful: Bits,
}

/// Chooses what competes in strict readings. `everything` is the scope with all terminals.
///
/// # Errors
/// If a limit is reached.
pub(super) fn prepare(
    points: &mut Points,
    network: &mut Network,
    everything: &mut Scope,
) -> Result<Prepared, EngineError> {
    let needed = everything.viability.adjacency.needed[0].clone();
    let mut doubtful: Bits = vec![0; n_words(points.tables.n_terminals)].into();
    if !points.tables.is_contextual {
        return Ok(Prepared { main: None, doubtful });
    }
    // Behind a terminal that something may follow which never wins among all, only what may follow competes, if that
    // helps.
    let hypotheses = &mut points.hypotheses;
    let mut following: Vec<Option<Bits>> = vec![None; needed.len()];
    for (terminal, needed) in needed.iter().enumerate() {
        let hidden = hypotheses.hidden(None, needed)?;
        if !hidden.is_empty() && hypotheses.hidden(Some(needed), needed)?.len() < hidden.len() {
            following[terminal] = Some(needed.clone());
        }
    }
    hypotheses.follow(&following);
    for (terminal, needed) in needed.iter().enumerate() {
        for hidden in hypotheses.hidden(following[terminal].as_ref(), needed)? {
            insert(&mut doubtful, hidden);
        }
    }
    let mut main = main_scope(&points.tables, network, &doubtful);
    let scope = main.as_mut().unwrap_or(everything);
    // The same where it is not the first match but what must come behind it that cannot be read.
    let start = hypotheses.start()?;
    let reads: Bits = scope.viability.reads(hypotheses, start, 0)?.into();
    for (terminal, of_scope) in scope.viability.adjacency.needed[0].iter().enumerate() {
        if !is_subset(of_scope, &reads) {
            following[terminal] = Some(needed[terminal].clone());
        }
    }
    if hypotheses.follow(&following) {
        scope.viability.forget();
    }
    Ok(Prepared { main, doubtful })
}

/// The scope without doubtful terminals; `None` if there are none.
fn main_scope(tables: &LexerTables, network: &mut Network, doubtful: &Bits) -> Option<Scope> {
    ones(doubtful).next()?;
    let mut terminals: Bits = vec![u64::MAX; doubtful.len()].into();
    ones(doubtful).for_each(|terminal| remove(&mut terminals, terminal));
    Some(scope(tables, network, terminals, doubtful, false))
}

impl Lexed {
    /// The hypothesis at the end of a token behind which the parser is in `config`: the terminals that compete are
    /// those that it can read, and a line end that it does not get.
    pub(super) fn exact(
        &mut self,
        parser: &Parser,
        hypothesis: HypothesisId,
        config: ConfigId,
        layout: LayoutId,
    ) -> Result<HypothesisId, EngineError> {
        let is_nested = self.layouts.get(layout).depth > 0;
        let set = match self.competing.get(&(config, is_nested)) {
            Some(&known) => known,
            None => {
                let mut terminals: Bits = vec![0; n_words(self.points.tables.n_terminals)].into();
                for thread in parser.configs.threads(config) {
                    insert(&mut terminals, thread.terminal.index());
                }
                if let Some(layout) = self.points.tables.layout.as_ref().filter(|_| is_nested) {
                    insert(&mut terminals, layout.newline.index());
                }
                let Some(set) = self.points.hypotheses.set(&terminals) else { return Ok(hypothesis) };
                self.competing.insert((config, is_nested), set);
                self.memo_bytes += 24;
                set
            }
        };
        Ok(self.points.hypotheses.exact(hypothesis, set)?)
    }

    /// The scope of what can come after a hypothesis, doubtful terminals left out.
    pub(super) fn scope_behind(
        &mut self,
        parser: &mut Parser,
        hypothesis: HypothesisId,
    ) -> Result<usize, EngineError> {
        let over = self.reach.over(&mut self.points.hypotheses, hypothesis)?;
        if let Some(&scope) = self.scope_of.get(&over) {
            return Ok(scope);
        }
        let mut terminals = self.reach.set(over).clone();
        let mut is_complete = true;
        for terminal in ones(&self.doubtful) {
            is_complete &= !contains(&terminals, terminal);
            remove(&mut terminals, terminal);
        }
        let mut made = scope(&self.points.tables, &mut parser.network, terminals, &self.doubtful, false);
        made.is_complete = is_complete;
        self.scopes.push(made);
        self.scope_of.insert(over, self.scopes.len() - 1);
        Ok(self.scopes.len() - 1)
    }
}
