//! Which terminals compete in the contextual discipline, and which of them are doubtful.
//!
//! [`prepare`] is called once per grammar. Strict readings (see the crate `scan`) take more terminals for
//! competitors than there are, and some terminals never win among those: terminals that match what a
//! preferred one matches too. They are *doubtful*. The *main* scope leaves them out, and most answers come
//! from it. Where only a doubtful terminal can continue, a search decides.
//!
//! An example: if two terminals have the same text, `IN_LOOP: "in"` and `IN_TEST: "in"`, the first wins
//! wherever both compete. Among all terminals `IN_TEST` never wins. If that stays so when only the terminals
//! that may follow compete, `IN_TEST` is doubtful.

use maskwright_grammar::Network;
use maskwright_scan::bits::{Bits, insert, is_subset, n_words, ones, remove};
use maskwright_scan::{LexerTables, Points};

use super::scope::Scope;
use crate::EngineError;

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
    // After some terminals, a follower never wins among all terminals. There only followers compete, if that
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
    // Likewise where the next token can be read, but not what must come after it.
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
    Some(Scope::new(tables, network, terminals, doubtful, false))
}
