//! Guards that refute the same.
//!
//! A guard watches the bytes behind a match and refutes it if a better match follows. The lexer's states for that say
//! which match it was; what matters from here on is only which bytes refute it. All prefixes of keywords, ended as names, have the
//! same guard: no byte of a name may follow. So guards are taken for their *canonical* one, the first met that
//! refutes the same texts; with 100 keywords that makes one boundary of hundreds.
//!
//! Whether two guards are the same is the equivalence of two deterministic automata, decided by following both at
//! once (Hopcroft and Karp 1971) as far as [`MAX_PAIRS`]; beyond, they are taken for different, which is never wrong.

use maskwright_lexing::{LexState, Lexer};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::InfillError;

/// The most pairs that are followed to see whether two guards are the same.
const MAX_PAIRS: usize = 256;

/// What a byte does to a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The match stands, whatever follows.
    Stands,
    /// The match is refuted.
    Refuted,
    /// This guard is to be asked about what follows.
    Watched(LexState),
}

/// What a byte does to a guard that can refute.
pub(crate) fn fate(lexer: &Lexer, guard: LexState, byte: u8) -> Result<Fate, InfillError> {
    let Some(next) = lexer.step(guard, byte)? else { return Ok(Fate::Stands) };
    if lexer.refutes(next) {
        return Ok(Fate::Refuted);
    }
    Ok(if lexer.can_accept_again(next)? { Fate::Watched(next) } else { Fate::Stands })
}

/// The canonical guards met so far.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    canonical: FxHashMap<LexState, LexState>,
    /// By what the end of the text and each class of bytes does at once.
    by_signature: FxHashMap<Box<[u8]>, Vec<LexState>>,
}

impl Guards {
    /// The guard that stands for `guard`.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(crate) fn canonical(&mut self, lexer: &Lexer, guard: LexState) -> Result<LexState, InfillError> {
        if let Some(&known) = self.canonical.get(&guard) {
            return Ok(known);
        }
        let mut signature = vec![u8::from(lexer.refutes_at_end(guard))];
        for &byte in lexer.class_representatives() {
            signature.push(match fate(lexer, guard, byte)? {
                Fate::Stands => 0,
                Fate::Refuted => 1,
                Fate::Watched(_) => 2,
            });
        }
        let alike = self.by_signature.entry(signature.into()).or_default();
        let mut canonical = guard;
        for &known in alike.iter() {
            if refute_alike(lexer, guard, known)? {
                canonical = known;
                break;
            }
        }
        if canonical == guard {
            alike.push(guard);
        }
        self.canonical.insert(guard, canonical);
        Ok(canonical)
    }
}

/// Whether two guards are seen to refute the same texts.
fn refute_alike(lexer: &Lexer, left: LexState, right: LexState) -> Result<bool, InfillError> {
    let mut seen = FxHashSet::from_iter([(left, right)]);
    let mut stack = vec![(left, right)];
    while let Some((left, right)) = stack.pop() {
        if lexer.refutes_at_end(left) != lexer.refutes_at_end(right) {
            return Ok(false);
        }
        for &byte in lexer.class_representatives() {
            match (fate(lexer, left, byte)?, fate(lexer, right, byte)?) {
                (Fate::Watched(left), Fate::Watched(right)) => {
                    if left != right && seen.insert((left, right)) {
                        stack.push((left, right));
                    }
                }
                (left, right) if left == right => {}
                _ => return Ok(false),
            }
        }
        if seen.len() > MAX_PAIRS {
            return Ok(false);
        }
    }
    Ok(true)
}
