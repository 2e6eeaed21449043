//! Guards that refute the same, and guards that others make needless.
//!
//! A guard watches the bytes after a match and refutes it if a better match follows. The lexer's states for
//! that say which match it was; what matters from here on is only which bytes refute it. All prefixes of
//! keywords, ended as names, have the same guard: no byte of a name may follow. So a guard is taken for its
//! *canonical* one, the first met that refutes the same texts; with 100 keywords that makes one boundary of
//! hundreds.
//!
//! Of several guards together one that refutes whenever another does says nothing. After `/*` read as two
//! operators a guard forbids `*/`; after a second `/*` so does another one, and they are one again as soon as
//! neither has just seen a `*`. Without that, operators and comments make as many guards together as there
//! are subsets of places in a comment.
//!
//! Both are questions about two deterministic automata, decided by following them at once (as Hopcroft and
//! Karp 1971) as far as [`MAX_PAIRS`]; beyond, guards are taken for different, which is never wrong.

use std::hash::{Hash, Hasher};

use maskwright_automata::meter;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::{LexError, LexState, Lexer};

/// The most pairs that are followed to see whether one guard refutes all that another does.
const MAX_PAIRS: usize = 256;

/// Of more guards it is not asked whether they are needed.
const MAX_TOGETHER: usize = 8;
/// The most guards in circles that one is compared with.
const MAX_COMPARED: usize = 64;

/// What a byte does to a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The match stands, whatever follows.
    Stands,
    /// The match is refuted.
    Refuted,
    /// This guard is to be asked about what follows.
    Watched(LexState),
}

impl Lexer {
    /// What a byte does to a guard that can refute.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn fate(&self, guard: LexState, byte: u8) -> Result<Fate, LexError> {
        let Some(next) = self.step(guard, byte)? else { return Ok(Fate::Stands) };
        if self.refutes(next) {
            return Ok(Fate::Refuted);
        }
        Ok(if self.can_accept_again(next)? { Fate::Watched(next) } else { Fate::Stands })
    }
}

/// The canonical guards of one lexer that were met so far.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    canonical: FxHashMap<LexState, LexState>,
    /// Canonical guards by a hash of what the end of the text and each class of bytes does, with the
    /// canonical guards that they lead to.
    by_row: FxHashMap<u64, Vec<LexState>>,
    /// Those that come back to themselves in more than one step, by a hash of the same without where they
    /// lead.
    in_circles: FxHashMap<u64, Vec<LexState>>,
    /// Whether the first of two canonical guards refutes all that the second does.
    covers: FxHashMap<(LexState, LexState), bool>,
}

/// What a byte does to a guard, as far as it can be said of guards at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Stands,
    Refuted,
    /// Back to the guard itself.
    Back,
    To(LexState),
    /// To one of which the canonical is not known yet.
    Open,
}

impl Guards {
    /// The guards that say the same together as `guards`, which can all refute: canonical, sorted and
    /// distinct, and none that another makes needless.
    ///
    /// # Errors
    /// A limit of the lexer is reached.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_lexing::{Discipline, Flags, Guards, Lexer, LexerLimits, LexerTerminal, parse_python};
    /// let fuel = Fuel::new(100_000);
    /// let terminal = |id, pattern| {
    ///     parse_python(pattern, Flags::default(), &fuel).map(|pattern| LexerTerminal::new(id, pattern))
    /// };
    /// let terminals = [terminal(0, "if")?, terminal(1, "int")?, terminal(2, "[a-z]+")?];
    /// let lexer = Lexer::new(&terminals, Discipline::LongestMatch, LexerLimits::default(), &fuel)?;
    /// let guard_behind = |text: &str| {
    ///     let read = text.bytes().try_fold(lexer.start(), |state, byte| lexer.step(state, byte).ok().flatten());
    ///     lexer.accepts(read.expect("a name"))[0].guard
    /// };
    /// let (after_in, after_x) = (guard_behind("in"), guard_behind("x"));
    /// assert_ne!(after_in, after_x, "`int` may come of the one");
    /// assert_eq!(Guards::default().together(&lexer, vec![after_in, after_x])?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn together(
        &mut self,
        lexer: &Lexer,
        mut guards: Vec<LexState>,
    ) -> Result<Box<[LexState]>, LexError> {
        for guard in &mut guards {
            *guard = self.canonical(lexer, *guard)?;
        }
        guards.sort_unstable();
        guards.dedup();
        if guards.len() > MAX_TOGETHER {
            return Ok(guards.into());
        }
        let mut index = 0;
        while index < guards.len() {
            let mut others = guards.iter().filter(|&&other| other != guards[index]);
            if others.try_fold(false, |known, &other| {
                Ok::<bool, LexError>(known || self.covers(lexer, other, guards[index])?)
            })? {
                guards.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(guards.into())
    }

    /// The guard that stands for `guard`: the first met that is seen to refute the same texts. Asks all that
    /// follow it first, so that guards are mostly told apart by what one byte does. O(guards that follow it ×
    /// classes of bytes), once.
    ///
    /// # Errors
    /// A limit of the lexer is reached.
    pub fn canonical(&mut self, lexer: &Lexer, guard: LexState) -> Result<LexState, LexError> {
        if let Some(&known) = self.canonical.get(&guard) {
            return Ok(known);
        }
        let mut open: FxHashSet<LexState> = FxHashSet::default();
        let mut work = vec![(guard, false)];
        let mut found = Vec::new();
        while let Some((next, is_ready)) = work.pop() {
            if is_ready {
                self.find(lexer, next)?;
                found.push(next);
                continue;
            }
            if !open.insert(next) {
                continue;
            }
            work.push((next, true));
            // Makes all steps at once.
            lexer.next_bytes(next)?;
            let mut behind = Vec::new();
            for &byte in lexer.class_representatives() {
                if let Fate::Watched(guard) = lexer.fate(next, byte)? {
                    behind.push(guard);
                }
            }
            behind.sort_unstable();
            behind.dedup();
            behind.retain(|guard| !self.canonical.contains_key(guard) && !open.contains(guard));
            work.extend(behind.into_iter().map(|guard| (guard, false)));
        }
        // Where circles lead is known now.
        for next in found {
            if self.canonical.get(&next) == Some(&next) {
                self.keep_row(lexer, next)?;
            }
        }
        Ok(self.canonical.get(&guard).copied().unwrap_or(guard))
    }

    /// Finds the one that stands for `guard`, all of whose steps are made.
    fn find(&mut self, lexer: &Lexer, guard: LexState) -> Result<(), LexError> {
        let row = self.row(lexer, guard)?;
        let is_open = row.contains(&Step::Open);
        let mut canonical = guard;
        for &known in self.by_row.get(&hash(&row)).filter(|_| !is_open).map_or(&[][..], Vec::as_slice) {
            let same_end = lexer.refutes_at_end(known) == lexer.refutes_at_end(guard);
            let is_same = |(&ours, &theirs): (&Step, &Step)| {
                ours == theirs || (theirs == Step::Back && ours == Step::To(known))
            };
            if same_end && row.iter().zip(&self.row(lexer, known)?).all(is_same) {
                canonical = known;
                break;
            }
        }
        if canonical == guard {
            let shape = hash(&row.iter().map(|step| matches!(step, Step::Refuted)).collect::<Vec<bool>>());
            for &known in self.in_circles.get(&shape).map_or(&[][..], Vec::as_slice).iter().take(MAX_COMPARED)
            {
                if refute_alike(lexer, &self.canonical, guard, known)? {
                    canonical = known;
                    break;
                }
            }
            if canonical == guard && is_open {
                self.in_circles.entry(shape).or_default().push(guard);
            }
        }
        self.canonical.insert(guard, canonical);
        if canonical == guard && !is_open {
            self.keep_row(lexer, guard)?;
        }
        Ok(())
    }

    /// Files a canonical guard under its row, if that is known: as one that leads back to itself, and as one
    /// that others lead to.
    fn keep_row(&mut self, lexer: &Lexer, guard: LexState) -> Result<(), LexError> {
        let mut row = self.row(lexer, guard)?;
        if row.contains(&Step::Open) {
            return Ok(());
        }
        for _ in 0..2 {
            let filed = self.by_row.entry(hash(&row)).or_default();
            if !filed.contains(&guard) {
                filed.push(guard);
            }
            row.iter_mut().filter(|step| **step == Step::Back).for_each(|step| *step = Step::To(guard));
        }
        Ok(())
    }

    /// What each class of bytes does to `guard`.
    fn row(&self, lexer: &Lexer, guard: LexState) -> Result<Vec<Step>, LexError> {
        let step = |&byte: &u8| {
            Ok(match lexer.fate(guard, byte)? {
                Fate::Stands => Step::Stands,
                Fate::Refuted => Step::Refuted,
                Fate::Watched(next) if next == guard => Step::Back,
                Fate::Watched(next) => match self.canonical.get(&next) {
                    Some(&next) if next == guard => Step::Back,
                    Some(&next) => Step::To(next),
                    None => Step::Open,
                },
            })
        };
        lexer.class_representatives().iter().map(step).collect()
    }

    fn covers(&mut self, lexer: &Lexer, guard: LexState, other: LexState) -> Result<bool, LexError> {
        if let Some(&known) = self.covers.get(&(guard, other)) {
            return Ok(known);
        }
        let covers = refutes_all_of(lexer, guard, other)?;
        self.covers.insert((guard, other), covers);
        Ok(covers)
    }

    /// An estimate of the bytes that this takes.
    pub fn memory_usage(&self) -> usize {
        let n_filed = self.by_row.len() + self.in_circles.len();
        self.canonical.capacity() * 9 + self.covers.capacity() * 10 + n_filed * 48
    }
}

fn hash<T: Hash>(value: &T) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether two guards are seen to refute the same texts. Those that different ones stand for are taken for
/// different.
fn refute_alike(
    lexer: &Lexer,
    canonical: &FxHashMap<LexState, LexState>,
    left: LexState,
    right: LexState,
) -> Result<bool, LexError> {
    let judge = |left, right| match (left, right) {
        (Fate::Watched(left), Fate::Watched(right)) => match (canonical.get(&left), canonical.get(&right)) {
            (Some(left), Some(right)) => Pair::of(left == right),
            _ => Pair::Asks(left, right),
        },
        (left, right) => Pair::of(left == right),
    };
    holds_of_all(lexer, (left, right), |left, right| left == right, judge)
}

/// Whether `guard` is seen to refute whenever `other` does, then or before.
fn refutes_all_of(lexer: &Lexer, guard: LexState, other: LexState) -> Result<bool, LexError> {
    let judge = |guard, other| match (guard, other) {
        (Fate::Refuted, _) | (_, Fate::Stands) => Pair::Holds,
        (Fate::Stands, _) | (_, Fate::Refuted) => Pair::Fails,
        (Fate::Watched(guard), Fate::Watched(other)) => Pair::Asks(guard, other),
    };
    holds_of_all(lexer, (guard, other), |guard, other| guard || !other, judge)
}

/// What is said of two guards after a byte.
enum Pair {
    Holds,
    Fails,
    /// What is said of these two.
    Asks(LexState, LexState),
}

impl Pair {
    fn of(holds: bool) -> Pair {
        if holds { Pair::Holds } else { Pair::Fails }
    }
}

/// Whether what is claimed of two guards holds of all pairs that the same bytes lead them to, as far as
/// [`MAX_PAIRS`]: at the end of the text by `ends`, by whether each refutes there, and after each byte by
/// `judge`. It must hold of a guard and itself.
fn holds_of_all(
    lexer: &Lexer,
    pair: (LexState, LexState),
    ends: impl Fn(bool, bool) -> bool,
    judge: impl Fn(Fate, Fate) -> Pair,
) -> Result<bool, LexError> {
    let mut seen = FxHashSet::from_iter([pair]);
    let mut work = vec![pair];
    while let Some((left, right)) = work.pop() {
        if !ends(lexer.refutes_at_end(left), lexer.refutes_at_end(right)) {
            return Ok(false);
        }
        meter::spend(lexer.class_representatives().len() as u64)?;
        // Makes all steps at once.
        lexer.next_bytes(left)?;
        lexer.next_bytes(right)?;
        for &byte in lexer.class_representatives() {
            match judge(lexer.fate(left, byte)?, lexer.fate(right, byte)?) {
                Pair::Holds => {}
                Pair::Fails => return Ok(false),
                Pair::Asks(left, right) => {
                    if left != right && seen.insert((left, right)) {
                        work.push((left, right));
                    }
                }
            }
        }
        if seen.len() > MAX_PAIRS {
            return Ok(false);
        }
    }
    Ok(true)
}
