//! The automata of [`Surroundings`], from the lexer's states.
//!
//! All patterns are terminals of one lexer, in which none competes with another ([`Choice::Each`]); one more, which reads any
//! characters, is there to see what stands before a place. A pattern's run is two states of that lexer: *whole*, which began in
//! the text, and *alone*, which began at the start of a text of its own. What a word needs is a set of [`Wait`]s of
//! which one must come true, followed by subset construction.

use maskwright_automata::Fuel;
use rustc_hash::{FxHashMap, FxHashSet};

use super::merge::{classes, representatives};
use super::{ANYTHING, Condition, Context, DEAD, NOTHING, Place, Run, Surroundings};
use crate::{Choice, Discipline, Fate, LexError, LexState, Lexer, LexerLimits, LexerTerminal, Pattern};

/// The most states of what stands before a place; inside of characters there are many.
const MAX_BEFORE: usize = 20_000;
/// The most states of the lexer.
const MAX_LEXER_STATES: u32 = 50_000;
/// The most states of runs.
const MAX_RUNS: usize = 20_000;
/// The most conditions.
const MAX_CONDITIONS: usize = 20_000;

/// The bytes that go on with a character.
const CONTINUATIONS: std::ops::RangeInclusive<u8> = 0x80..=0xBF;

/// One way in which a word that ended may turn out to be one. `whole` is the state of the match in the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Wait {
    /// It is the match in the text unless the guard refutes it.
    Guard(LexState),
    /// Some longer match in the text is one: it is that of a prefix of it, which ended just now.
    Cut { whole: LexState },
    /// The same of a prefix that ended before.
    Longer { whole: LexState },
    /// It is the match of a prefix that ends here or later, unless the guard refutes it there; `None`: of all of them.
    Prefix { guard: Option<LexState>, whole: LexState },
}

struct Explorer<'a> {
    lexer: Lexer,
    /// The terminal that reads any characters.
    any: u32,
    fuel: &'a Fuel,
    conditions: Vec<Vec<Wait>>,
    condition_ids: FxHashMap<Vec<Wait>, u32>,
}

/// A run: the terminal, `whole` and `alone`.
type RunKey = (u32, LexState, Option<LexState>);

pub(super) fn surroundings(patterns: &[&Pattern], fuel: &Fuel) -> Result<Surroundings, LexError> {
    let mut terminals: Vec<LexerTerminal> =
        (0u32..).zip(patterns).map(|(id, &pattern)| LexerTerminal::new(id, pattern.clone())).collect();
    let any = terminals.len() as u32;
    // It tells continuations from other bytes, so those of one class are alike in this too.
    let char = Pattern::char_class(&[('\0', char::MAX)]);
    terminals.push(LexerTerminal::new(any, char.repeat(1, None, true)));
    let limits = LexerLimits { max_states: MAX_LEXER_STATES, ..LexerLimits::default() };
    let lexer = Lexer::new(&terminals, Discipline::LongestMatch, limits, fuel)?;
    let mut explorer =
        Explorer { lexer, any, fuel, conditions: vec![Vec::new(); 2], condition_ids: FxHashMap::default() };
    let (states, before) = explorer.before()?;
    let (starts, runs) = explorer.runs(&states)?;
    let conditions = explorer.conditions()?;

    let outputs: Vec<bool> = conditions.iter().map(|condition| condition.holds_at_end).collect();
    let next: Vec<Vec<u32>> = conditions.iter().map(|condition| condition.next.clone()).collect();
    let condition_classes = classes(&outputs, &next, fuel)?;
    let outputs: Vec<u32> = runs.iter().map(|run| condition_classes[run.ends as usize]).collect();
    let next: Vec<Vec<u32>> = runs.iter().map(|run| run.next.clone()).collect();
    let run_classes = classes(&outputs, &next, fuel)?;
    let starts: Vec<Option<Vec<u32>>> =
        starts.into_iter().map(|starts| starts.map(|starts| renumbered(&starts, &run_classes))).collect();
    let before_classes = classes(&starts, &before, fuel)?;

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
        n_classes: explorer.lexer.class_representatives().len(),
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

fn renumbered(states: &[u32], classes: &[u32]) -> Vec<u32> {
    states.iter().map(|&state| classes[state as usize]).collect()
}

impl Explorer<'_> {
    /// The state before a word of a terminal at the place of `state`.
    fn begin(&self, state: LexState, terminal: u32) -> Result<LexState, LexError> {
        self.lexer.among(state, &[terminal].into_iter().collect(), Choice::Each)
    }

    /// What can stand before a place: states of the lexer, `None` where that is no text, and where they lead. The first one is
    /// the start, and one without a state leads to itself.
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
            if states.len() > MAX_BEFORE {
                return Err(LexError::limit("texts before a place to tell apart", MAX_BEFORE as u64));
            }
            before.push(next);
        }
        Ok((states, before))
    }

    /// The runs of all patterns, and by state of what stands before, if that is whole characters, where they begin.
    #[allow(clippy::type_complexity, reason = "two lists that are used once")]
    fn runs(&mut self, befores: &[Option<LexState>]) -> Result<(Vec<Option<Vec<u32>>>, Vec<Run>), LexError> {
        let mut keys: Vec<RunKey> = Vec::new();
        // The first one is dead.
        let mut ids: FxHashMap<RunKey, u32> = FxHashMap::default();
        let mut number = |keys: &mut Vec<RunKey>, key: RunKey| {
            *ids.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32
            })
        };
        let mut starts = Vec::new();
        for (state, &before) in befores.iter().enumerate() {
            let Some(before) = before.filter(|&before| state == 0 || !self.lexer.accepts(before).is_empty())
            else {
                starts.push(None);
                continue;
            };
            let mut its = Vec::new();
            for terminal in 0..self.any {
                self.fuel.spend(1)?;
                let whole = self.begin(before, terminal)?;
                let alone = self.begin(self.lexer.start(), terminal)?;
                its.push(number(&mut keys, (terminal, whole, Some(alone))));
            }
            starts.push(Some(its));
        }
        let bytes = self.lexer.class_representatives().to_vec();
        let mut runs = vec![Run { ends: NOTHING, next: vec![DEAD; bytes.len()] }];
        while let Some(&(terminal, whole, alone)) = keys.get(runs.len() - 1) {
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
                        number(&mut keys, (terminal, whole, alone))
                    }
                });
            }
            if keys.len() > MAX_RUNS {
                return Err(LexError::limit("states of patterns with assertions", MAX_RUNS as u64));
            }
            let ends = self.ends(whole, alone)?;
            runs.push(Run { ends, next });
        }
        Ok((starts, runs))
    }

    /// The condition under which a word ends here.
    fn ends(&mut self, whole: LexState, alone: Option<LexState>) -> Result<u32, LexError> {
        let mut waits = Vec::new();
        for accept in self.lexer.accepts(whole) {
            waits.push(Wait::Guard(accept.guard));
        }
        for accept in alone.map_or(&[][..], |alone| self.lexer.accepts(alone)) {
            let guard = Some(accept.guard);
            waits.push(Wait::Prefix { guard, whole });
        }
        self.intern(waits)
    }

    /// The number of the condition that one of `waits` comes true.
    fn intern(&mut self, waits: Vec<Wait>) -> Result<u32, LexError> {
        let mut closed = Vec::with_capacity(waits.len());
        for wait in waits {
            match wait {
                Wait::Guard(guard) if !self.lexer.can_accept_again(guard)? => return Ok(ANYTHING),
                Wait::Prefix { guard, whole } => {
                    let mut guard = guard;
                    if let Some(its) = guard
                        && !self.lexer.can_accept_again(its)?
                    {
                        guard = None;
                    }
                    if guard.is_none_or(|guard| !self.lexer.refutes_at_end(guard)) {
                        closed.push(Wait::Cut { whole });
                    }
                    closed.push(Wait::Prefix { guard, whole });
                }
                wait => closed.push(wait),
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
        if self.conditions.len() >= MAX_CONDITIONS {
            return Err(LexError::limit("conditions on what follows a pattern", MAX_CONDITIONS as u64));
        }
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
        while let Some(waits) = self.conditions.get(conditions.len()).cloned() {
            let holds = |wait: &Wait| match wait {
                Wait::Guard(guard) => !self.lexer.refutes_at_end(*guard),
                Wait::Cut { .. } | Wait::Longer { .. } | Wait::Prefix { .. } => false,
            };
            let holds_at_end = waits.iter().any(holds);
            let mut next = Vec::new();
            for &byte in &bytes {
                self.fuel.spend(waits.len() as u64)?;
                next.push(self.after(&waits, byte)?);
            }
            conditions.push(Condition { holds_at_end, next });
        }
        Ok(conditions)
    }

    /// The condition after a byte.
    fn after(&mut self, waits: &[Wait], byte: u8) -> Result<u32, LexError> {
        let mut after = Vec::new();
        for &wait in waits {
            match wait {
                Wait::Guard(guard) => match self.lexer.fate(guard, byte)? {
                    Fate::Stands => return Ok(ANYTHING),
                    Fate::Refuted => {}
                    Fate::Watched(guard) => after.push(Wait::Guard(guard)),
                },
                // Prefixes end between characters.
                Wait::Cut { .. } if CONTINUATIONS.contains(&byte) => {}
                Wait::Cut { whole } | Wait::Longer { whole } => {
                    if let Some(whole) = self.lexer.step(whole, byte)? {
                        after.push(Wait::Longer { whole });
                        let accepts = self.lexer.accepts(whole);
                        after.extend(accepts.iter().map(|accept| Wait::Guard(accept.guard)));
                    }
                }
                Wait::Prefix { guard, whole } => {
                    let Some(whole) = self.lexer.step(whole, byte)? else { continue };
                    let guard = match guard {
                        Some(guard) => match self.lexer.fate(guard, byte)? {
                            Fate::Stands => None,
                            Fate::Refuted => continue,
                            Fate::Watched(guard) => Some(guard),
                        },
                        None => None,
                    };
                    after.push(Wait::Prefix { guard, whole });
                }
            }
        }
        self.intern(after)
    }
}
