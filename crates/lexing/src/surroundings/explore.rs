//! The automata of [`Surroundings`], from the lexer's states.
//!
//! All patterns are terminals of one lexer, in which none competes with another ([`Choice::Each`]); one more,
//! which reads any characters, tells what stands before a place. A pattern's run is two states of that lexer:
//! *whole*, which began in the text, and, if prefixes of the match count, *alone*, which began at the start
//! of a text of its own. A condition is a set of [`Claim`]s, one of which must hold. Subset construction
//! follows them.

use std::hash::Hash;

use maskwright_automata::Fuel;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{ANYTHING, Condition, Context, Counting, DEAD, NOTHING, Place, Run, Surroundings};
use crate::merge::{classes, representatives};
use crate::{Choice, Discipline, Fate, LexError, LexState, Lexer, LexerLimits, LexerTerminal, Pattern};

/// The most states of the lexer: what its steps make is not counted as work.
const MAX_LEXER_STATES: u32 = 50_000;

/// The bytes that continue a character.
const CONTINUATIONS: std::ops::RangeInclusive<u8> = 0x80..=0xBF;

/// One way in which a word counts. `whole` is the state of the match in the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Claim {
    /// The word is the match in the text, unless the guard refutes it.
    Guard(LexState),
    /// A longer match in the text exists. The word matches a prefix that ended just now.
    Cut { whole: LexState },
    /// The same, for a prefix that ended earlier.
    Longer { whole: LexState },
    /// The word matches a prefix that ends here or later, unless the guard refutes it there; without a guard,
    /// any such prefix.
    Prefix { guard: Option<LexState>, whole: LexState },
}

struct Explorer<'a> {
    lexer: Lexer,
    /// The terminal that reads any characters.
    any: u32,
    fuel: &'a Fuel,
    conditions: Vec<Vec<Claim>>,
    condition_ids: FxHashMap<Vec<Claim>, u32>,
}

/// A run: `whole` and `alone`.
type RunKey = (LexState, Option<LexState>);

pub(super) fn surroundings(patterns: &[(&Pattern, Counting)], fuel: &Fuel) -> Result<Surroundings, LexError> {
    let mut terminals: Vec<LexerTerminal> =
        (0u32..).zip(patterns).map(|(id, &(pattern, _))| LexerTerminal::new(id, pattern.clone())).collect();
    let any = terminals.len() as u32;
    // It tells continuations from other bytes, so those of one class are alike in this too.
    let char = Pattern::char_class(&[('\0', char::MAX)]);
    terminals.push(LexerTerminal::new(any, char.repeat(1, None, true)));
    let limits = LexerLimits { max_states: MAX_LEXER_STATES, ..LexerLimits::default() };
    let lexer = Lexer::new(&terminals, Discipline::LongestMatch, limits, fuel)?;
    let mut explorer =
        Explorer { lexer, any, fuel, conditions: vec![Vec::new(); 2], condition_ids: FxHashMap::default() };
    let (states, before) = explorer.before()?;
    let (starts, runs) = explorer.runs(&states, patterns)?;
    let conditions = explorer.conditions()?;

    let outputs: Vec<bool> = conditions.iter().map(|condition| condition.holds_at_end).collect();
    let condition_classes = merged(&outputs, |state| &conditions[state].next, fuel)?;
    let outputs: Vec<u32> = runs.iter().map(|run| condition_classes[run.ends as usize]).collect();
    let run_classes = merged(&outputs, |state| &runs[state].next, fuel)?;
    let starts: Vec<Option<Vec<u32>>> =
        starts.into_iter().map(|starts| starts.map(|starts| renumbered(&starts, &run_classes))).collect();
    let before_classes = merged(&starts, |state| &before[state], fuel)?;

    let kept = representatives(&condition_classes).into_iter().map(|state| Condition {
        holds_at_end: conditions[state].holds_at_end,
        next: renumbered(&conditions[state].next, &condition_classes),
    });
    let conditions = kept.collect();
    let kept = representatives(&run_classes)
        .into_iter()
        .map(|state| Run { ends: outputs[state], next: renumbered(&runs[state].next, &run_classes) });
    let runs = kept.collect();
    let kept = representatives(&before_classes);
    let start = Place { before: before_classes[0], after: Vec::new() };
    let before: Vec<Vec<u32>> =
        kept.iter().map(|&state| renumbered(&before[state], &before_classes)).collect();
    let starts: Vec<Option<Vec<u32>>> = kept.into_iter().map(|state| starts[state].clone()).collect();
    Ok(Surroundings {
        classes: *explorer.lexer.byte_classes(),
        is_last: (0..before.len()).map(|state| leads_back(&before, &starts, state)).collect(),
        before,
        starts,
        runs,
        conditions,
        contexts: vec![start.clone()],
        ids: FxHashMap::from_iter([(start, Context(0))]),
        readings: FxHashMap::default(),
    })
}

/// Whether no other state between characters is reached from `state`.
fn leads_back(before: &[Vec<u32>], starts: &[Option<Vec<u32>>], state: usize) -> bool {
    let mut seen = FxHashSet::from_iter([state]);
    let mut work = vec![state];
    while let Some(at) = work.pop() {
        for &next in &before[at] {
            let next = next as usize;
            if next != state && starts[next].is_some() {
                return false;
            }
            work.extend(seen.insert(next).then_some(next));
        }
    }
    true
}

/// The classes of states, by output and successors.
fn merged<'n, T: Hash + Eq>(
    outputs: &[T],
    next: impl Fn(usize) -> &'n [u32],
    fuel: &Fuel,
) -> Result<Vec<u32>, LexError> {
    let cost = |state| 1 + next(state).len() as u64 / 16;
    classes(outputs, fuel, cost, |state, classes| renumbered(next(state), classes))
}

fn renumbered(states: &[u32], classes: &[u32]) -> Vec<u32> {
    states.iter().map(|&state| classes[state as usize]).collect()
}

impl Explorer<'_> {
    /// The state before a word of a terminal at the place of `state`.
    fn begin(&self, state: LexState, terminal: u32) -> Result<LexState, LexError> {
        self.lexer.among(state, &[terminal].into_iter().collect(), Choice::Each)
    }

    /// What can stand before a place: states of the lexer, `None` where that is no text, and where they lead.
    /// The first one is the start, and one without a state leads to itself.
    #[allow(clippy::type_complexity, reason = "two lists that are used once")]
    fn before(&self) -> Result<(Vec<Option<LexState>>, Vec<Vec<u32>>), LexError> {
        let mut states = vec![Some(self.begin(self.lexer.start(), self.any)?)];
        let mut ids = FxHashMap::from_iter([(states[0], 0u32)]);
        let mut before: Vec<Vec<u32>> = Vec::new();
        while let Some(&state) = states.get(before.len()) {
            let mut next = Vec::new();
            for &byte in self.lexer.class_representatives() {
                self.fuel.spend(1)?;
                let read = match state {
                    Some(state) => self.lexer.step(state, byte)?,
                    None => None,
                };
                let new = states.len() as u32;
                next.push(*ids.entry(read).or_insert_with(|| {
                    states.push(read);
                    new
                }));
            }
            before.push(next);
        }
        Ok((states, before))
    }

    /// The runs of all patterns, and by state of what stands before, if that is whole characters, where they
    /// begin.
    #[allow(clippy::type_complexity, reason = "two lists that are used once")]
    fn runs(
        &mut self,
        befores: &[Option<LexState>],
        patterns: &[(&Pattern, Counting)],
    ) -> Result<(Vec<Option<Vec<u32>>>, Vec<Run>), LexError> {
        let mut keys: Vec<RunKey> = Vec::new();
        // The first one is dead.
        let mut ids: FxHashMap<RunKey, u32> = FxHashMap::default();
        let mut number = |keys: &mut Vec<RunKey>, key: RunKey| {
            *ids.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32
            })
        };
        let start = self.lexer.start();
        let alone: Vec<Option<LexState>> = (0..self.any)
            .zip(patterns)
            .map(|(terminal, &(_, counting))| match counting {
                Counting::Prefixes => self.begin(start, terminal).map(Some),
                Counting::Match => Ok(None),
            })
            .collect::<Result<_, _>>()?;
        let mut starts = Vec::new();
        for (state, &before) in befores.iter().enumerate() {
            let Some(before) = before.filter(|&before| state == 0 || !self.lexer.accepts(before).is_empty())
            else {
                starts.push(None);
                continue;
            };
            let mut its = Vec::new();
            for (terminal, &alone) in (0u32..).zip(&alone) {
                self.fuel.spend(1)?;
                let whole = self.begin(before, terminal)?;
                its.push(number(&mut keys, (whole, alone)));
            }
            starts.push(Some(its));
        }
        let bytes = self.lexer.class_representatives().to_vec();
        let mut runs = vec![Run { ends: NOTHING, next: vec![DEAD; bytes.len()] }];
        while let Some(&(whole, alone)) = keys.get(runs.len() - 1) {
            let mut next = Vec::new();
            for &byte in &bytes {
                self.fuel.spend(1)?;
                next.push(match self.lexer.step(whole, byte)? {
                    None => DEAD,
                    Some(whole) => {
                        let alone = match alone {
                            Some(alone) => self.lexer.step(alone, byte)?,
                            None => None,
                        };
                        number(&mut keys, (whole, alone))
                    }
                });
            }
            self.fuel.hold(size_of::<Run>() + size_of_val(&next[..]) + 2 * size_of::<RunKey>());
            let ends = self.ends(whole, alone)?;
            runs.push(Run { ends, next });
        }
        Ok((starts, runs))
    }

    /// The condition under which a word ends here.
    fn ends(&mut self, whole: LexState, alone: Option<LexState>) -> Result<u32, LexError> {
        let mut claims = Vec::new();
        for accept in self.lexer.accepts(whole) {
            claims.push(Claim::Guard(accept.guard));
        }
        for accept in alone.map_or(&[][..], |alone| self.lexer.accepts(alone)) {
            let guard = Some(accept.guard);
            claims.push(Claim::Prefix { guard, whole });
        }
        self.intern(claims)
    }

    /// The number of the condition that one of `claims` holds.
    fn intern(&mut self, claims: Vec<Claim>) -> Result<u32, LexError> {
        let mut closed = Vec::with_capacity(claims.len());
        for claim in claims {
            match claim {
                Claim::Guard(guard) if !self.lexer.can_accept_again(guard)? => return Ok(ANYTHING),
                Claim::Prefix { guard, whole } => {
                    let mut guard = guard;
                    if let Some(its) = guard
                        && !self.lexer.can_accept_again(its)?
                    {
                        guard = None;
                    }
                    if guard.is_none_or(|guard| !self.lexer.refutes_at_end(guard)) {
                        closed.push(Claim::Cut { whole });
                    }
                    closed.push(Claim::Prefix { guard, whole });
                }
                claim => closed.push(claim),
            }
        }
        closed.sort_unstable();
        closed.dedup();
        if closed.is_empty() {
            return Ok(NOTHING);
        }
        if let Some(&known) = self.condition_ids.get(&closed) {
            return Ok(known);
        }
        self.fuel.hold(2 * size_of_val(&closed[..]));
        let id = self.conditions.len() as u32;
        self.conditions.push(closed.clone());
        self.condition_ids.insert(closed, id);
        Ok(id)
    }

    /// The conditions that were met so far, and all that follow them.
    fn conditions(&mut self) -> Result<Vec<Condition>, LexError> {
        let bytes = self.lexer.class_representatives().to_vec();
        let constant = |holds_at_end, id| Condition { holds_at_end, next: vec![id; bytes.len()] };
        let mut conditions = vec![constant(true, ANYTHING), constant(false, NOTHING)];
        while let Some(claims) = self.conditions.get(conditions.len()).cloned() {
            let holds = |claim: &Claim| match claim {
                Claim::Guard(guard) => !self.lexer.refutes_at_end(*guard),
                Claim::Cut { .. } | Claim::Longer { .. } | Claim::Prefix { .. } => false,
            };
            let holds_at_end = claims.iter().any(holds);
            let mut next = Vec::new();
            for &byte in &bytes {
                self.fuel.spend(claims.len() as u64)?;
                next.push(self.after(&claims, byte)?);
            }
            conditions.push(Condition { holds_at_end, next });
        }
        Ok(conditions)
    }

    /// The condition after a byte.
    fn after(&mut self, claims: &[Claim], byte: u8) -> Result<u32, LexError> {
        let mut after = Vec::new();
        for &claim in claims {
            match claim {
                Claim::Guard(guard) => match self.lexer.fate(guard, byte)? {
                    Fate::Stands => return Ok(ANYTHING),
                    Fate::Refuted => {}
                    Fate::Watched(guard) => after.push(Claim::Guard(guard)),
                },
                // Prefixes end between characters.
                Claim::Cut { .. } if CONTINUATIONS.contains(&byte) => {}
                Claim::Cut { whole } | Claim::Longer { whole } => {
                    if let Some(whole) = self.lexer.step(whole, byte)? {
                        after.push(Claim::Longer { whole });
                        let accepts = self.lexer.accepts(whole);
                        after.extend(accepts.iter().map(|accept| Claim::Guard(accept.guard)));
                    }
                }
                Claim::Prefix { guard, whole } => {
                    let Some(whole) = self.lexer.step(whole, byte)? else { continue };
                    let guard = match guard {
                        Some(guard) => match self.lexer.fate(guard, byte)? {
                            Fate::Stands => None,
                            Fate::Refuted => continue,
                            Fate::Watched(guard) => Some(guard),
                        },
                        None => None,
                    };
                    after.push(Claim::Prefix { guard, whole });
                }
            }
        }
        self.intern(after)
    }
}
