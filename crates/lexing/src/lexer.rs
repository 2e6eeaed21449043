//! The lexer: a lazily determinised automaton over bytes that says which prefix of a text is the next token.
//!
//! [`step`](Lexer::step) follows it byte by byte, [`accepts`](Lexer::accepts) says which matches end at a
//! state. Without lookahead at most one does, and the token is the prefix at the *last* accepting state
//! passed before the automaton dies or the text ends. To say "this was the last", each match has a guard, a
//! state to follow along the bytes after it; lookahead that reaches beyond a match is part of that guard.
//!
//! A warm step is two array reads and takes no lock; states are made under one lock, on first use.
//!
//! Rejected: one automaton per terminal, run side by side (as many steps as terminals are alive, and no one
//! state to key a cache by); unordered state sets (lazy repetition and the order of alternatives are lost).

use std::sync::{Mutex, MutexGuard, PoisonError};

use maskwright_automata::{ByteSet, Fuel, meter};

use crate::nfa::Program;
use crate::states::{Cells, Kind, Slots, State, StateLimits, States, slot};
use crate::{Accept, Choice, Discipline, LexError, LexState, LexerTerminal, TerminalSet};

/// Ids of terminals are less than this.
const MAX_ID: u32 = 1 << 20;

/// Limits on a [`Lexer`].
///
/// ```
/// use maskwright_lexing::LexerLimits;
/// let limits = LexerLimits { max_states: 10_000, ..LexerLimits::default() };
/// assert!(limits.max_instructions > 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexerLimits {
    /// Instructions of all patterns together; counted repetition is written out.
    pub max_instructions: u32,
    /// States of the automaton.
    pub max_states: u32,
    /// Threads in all states together; 16 bytes each, kept twice.
    pub max_threads: u64,
}

impl Default for LexerLimits {
    fn default() -> LexerLimits {
        LexerLimits { max_instructions: 500_000, max_states: 200_000, max_threads: 4_000_000 }
    }
}

/// The automaton of a list of terminals under a discipline. `Send + Sync`; all methods take `&self`.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Discipline, Flags, Lexer, LexerLimits, LexerTerminal, parse_python};
/// let fuel = Fuel::new(100_000);
/// let terminals = [
///     LexerTerminal::new(0, parse_python("a+?", Flags::default(), &fuel)?),
///     LexerTerminal::new(1, parse_python("[ab]+", Flags::default(), &fuel)?),
/// ];
/// let basic = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel)?;
/// let after_a = basic.step(basic.start(), b'a')?.expect("terminals begin with a");
/// assert_eq!(basic.accepts(after_a)[0].terminal, 0);
/// assert_eq!(basic.step(after_a, b'a')?, None);
/// let munch = Lexer::new(&terminals, Discipline::LongestMatch, LexerLimits::default(), &fuel)?;
/// let after_a = munch.step(munch.start(), b'a')?.expect("terminals begin with a");
/// assert_eq!(munch.accepts(after_a)[0].terminal, 0);
/// assert_eq!(munch.reachable(after_a)?.iter().collect::<Vec<_>>(), [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lexer {
    pub(crate) program: Program,
    /// Per state and class of bytes: 0 unknown, 1 dead, else the target plus 2.
    cells: Cells,
    pub(crate) slots: Slots<State>,
    states: Mutex<States>,
    start: LexState,
}

const UNKNOWN: u32 = 0;
const DEAD: u32 = 1;

impl Lexer {
    /// Compiles `terminals`, most preferred first. O(instructions); states come later.
    ///
    /// # Errors
    /// A terminal can match the empty text, its id is too large, it looks ahead inside of a lookbehind, a
    /// keyword has assertions, or a limit or `fuel` is exceeded.
    pub fn new(
        terminals: &[LexerTerminal],
        discipline: Discipline,
        limits: LexerLimits,
        fuel: &Fuel,
    ) -> Result<Lexer, LexError> {
        for terminal in terminals {
            let ids = terminal.keywords.iter().map(|keyword| keyword.terminal).chain([terminal.id]);
            if let Some(id) = ids.into_iter().find(|&id| id >= MAX_ID) {
                return Err(LexError::terminal(id, "has an id that is not less than 1048576"));
            }
        }
        let program = Program::new(terminals, discipline, limits.max_instructions, fuel)?;
        let (cells, slots) = (Cells::new(program.representatives.len()), Slots::new());
        let mut states =
            States::new(StateLimits { max_states: limits.max_states, max_items: limits.max_threads });
        let start = states.text_start(&program)?;
        let start = LexState(states.intern(&program, &slots, start)?);
        Ok(Lexer { program, cells, slots, states: Mutex::new(states), start })
    }

    /// The state at the beginning of a text, before a token.
    pub fn start(&self) -> LexState {
        self.start
    }

    /// The state before the token that follows a token which ends at `state`. The same as
    /// [`start`](Lexer::start) unless an assertion may see what lies before the token.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn restart(&self, state: LexState) -> Result<LexState, LexError> {
        if self.program.crossing == 0 {
            return Ok(self.start);
        }
        let known = slot(&self.slots, state.0);
        if let Some(&restart) = known.restart.get() {
            return Ok(restart);
        }
        let mut states = self.lock();
        let content = states.token_start(&self.program, &known.content.behinds, None)?;
        let restart = LexState(states.intern(&self.program, &self.slots, content)?);
        Ok(*known.restart.get_or_init(|| restart))
    }

    /// The state before a token of one of `terminals`, at the place of `state`: that of the
    /// [`start`](Lexer::start), or where a token ends. Under [`Discipline::LongestMatch`] no other terminals
    /// compete, or with [`Choice::Each`] none do. O(terminals).
    ///
    /// # Errors
    /// A limit is reached.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_lexing::{Choice, Discipline, Lexer, LexerLimits, LexerTerminal, Pattern};
    /// let literal = |id, text: &str| LexerTerminal::new(id, Pattern::literal(text.as_bytes()));
    /// let terminals = [literal(0, "if"), literal(1, "iff")];
    /// let lexer = Lexer::new(&terminals, Discipline::LongestMatch, LexerLimits::default(), &Fuel::new(1_000))?;
    /// let start = lexer.among(lexer.start(), &[0].into_iter().collect(), Choice::Best)?;
    /// let after_i = lexer.step(start, b'i')?.expect("`if` begins so");
    /// let after_if = lexer.step(after_i, b'f')?.expect("that is `if`");
    /// assert!(!lexer.can_accept_again(lexer.accepts(after_if)[0].guard)?, "`iff` does not compete");
    /// # Ok::<(), maskwright_lexing::LexError>(())
    /// ```
    pub fn among(
        &self,
        state: LexState,
        terminals: &TerminalSet,
        choice: Choice,
    ) -> Result<LexState, LexError> {
        let behinds = &slot(&self.slots, state.0).content.behinds;
        let mut states = self.lock();
        let content = states.token_start(&self.program, behinds, Some((terminals, choice)))?;
        meter::spend(content.items.len() as u64)?;
        Ok(LexState(states.intern(&self.program, &self.slots, content)?))
    }

    /// The state after one more byte; `None` if no match can end there or later, or, of a guard, if the match
    /// stands whatever follows.
    ///
    /// # Errors
    /// A limit is reached.
    #[inline]
    pub fn step(&self, state: LexState, byte: u8) -> Result<Option<LexState>, LexError> {
        let class = usize::from(self.program.classes[usize::from(byte)]);
        match self.cells.get(state.index(), class) {
            UNKNOWN => self.step_cold(state, class),
            DEAD => Ok(None),
            target => Ok(Some(LexState(target - 2))),
        }
    }

    /// The matches that end at `state`, best first: at most one without lookahead. A match
    /// is the token if its guard is not refuted. At most one match of a token is, except for operators and
    /// [`Choice::Each`], where the matches of several terminals may stand. O(1).
    pub fn accepts(&self, state: LexState) -> &[Accept] {
        &slot(&self.slots, state.0).accepts
    }

    /// Of a guard that was stepped at least once: whether the match that it guards is not the token. O(1).
    pub fn refutes(&self, guard: LexState) -> bool {
        slot(&self.slots, guard.0).refutes
    }

    /// Of a guard: whether the match that it guards is not the token if the text ends here. O(1).
    pub fn refutes_at_end(&self, guard: LexState) -> bool {
        slot(&self.slots, guard.0).refutes_at_end
    }

    /// Of a guard: whether some bytes that may follow, or the end of the text here or after them, refute the
    /// match that it guards.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn can_accept_again(&self, guard: LexState) -> Result<bool, LexError> {
        if let Some(reach) = slot(&self.slots, guard.0).reach.get() {
            return Ok(reach.refutable);
        }
        Ok(self.lock().reach(&self.program, &self.slots, guard.0)?.refutable)
    }

    /// The terminals that can be accepted after one byte or more. The first call for a state makes all states
    /// that follow it.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn reachable(&self, state: LexState) -> Result<&TerminalSet, LexError> {
        if let Some(reach) = slot(&self.slots, state.0).reach.get() {
            return Ok(&reach.terminals);
        }
        Ok(&self.lock().reach(&self.program, &self.slots, state.0)?.terminals)
    }

    /// The bytes that [`step`](Lexer::step) does not die on.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn next_bytes(&self, state: LexState) -> Result<ByteSet, LexError> {
        let known = slot(&self.slots, state.0);
        if let Some(&bytes) = known.next_bytes.get() {
            return Ok(bytes);
        }
        self.fill_row(state)?;
        let mut bytes = ByteSet::EMPTY;
        for byte in 0..=255 {
            if self.step(state, byte)?.is_some() {
                bytes.insert(byte);
            }
        }
        Ok(*known.next_bytes.get_or_init(|| bytes))
    }

    /// Where a state leads, by class of bytes, in `row`: a number for each state that it leads to, and one
    /// for none.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn row(&self, state: LexState, row: &mut [u32]) -> Result<(), LexError> {
        self.cells.copy_row(state.index(), row);
        if row.contains(&UNKNOWN) {
            self.fill_row(state)?;
            self.cells.copy_row(state.index(), row);
        }
        Ok(())
    }

    /// The classes of bytes: [`step`](Lexer::step) treats bytes of one class alike in every state.
    pub fn byte_classes(&self) -> &[u8; 256] {
        &self.program.classes
    }

    /// One byte of each class.
    pub fn class_representatives(&self) -> &[u8] {
        &self.program.representatives
    }

    /// How many states were made so far.
    pub fn n_states(&self) -> usize {
        self.lock().len()
    }

    /// An estimate of the bytes that the lexer takes.
    pub fn memory_usage(&self) -> usize {
        let states = self.lock();
        self.program.insts.len() * 40 + self.cells.memory_of(states.len()) + states.memory()
    }

    /// The state in words: the terminals whose threads are alive, best first, and what is pending.
    pub fn describe(&self, state: LexState) -> String {
        let known = slot(&self.slots, state.0);
        let mut parts: Vec<String> = Vec::new();
        for item in &known.content.items {
            let what = match item.kind {
                Kind::Thread => {
                    let terminal = self.program.terminal_of(item.value);
                    format!("reads {}", self.program.terminals[terminal].id)
                }
                Kind::Match => format!("matched {}", item.value),
                Kind::Settled => "matched before".to_owned(),
                Kind::Mark => "guards a match".to_owned(),
            };
            let what = if item.obligation == 0 { what } else { format!("{what} if lookahead holds") };
            if parts.last() != Some(&what) {
                parts.push(what);
            }
        }
        if known.content.is_refuted {
            parts.push("refuted".to_owned());
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    }

    #[cold]
    fn step_cold(&self, state: LexState, class: usize) -> Result<Option<LexState>, LexError> {
        let mut states = self.lock();
        let content = &slot(&self.slots, state.0).content;
        let byte = self.program.representatives[class];
        let target = states.raw_step(&self.program, &self.slots, content, byte)?;
        self.keep(&mut states, state, class, target)
    }

    /// Keeps a step whose target may be dead.
    fn keep(
        &self,
        states: &mut States,
        state: LexState,
        class: usize,
        target: Option<u32>,
    ) -> Result<Option<LexState>, LexError> {
        let target = match target {
            Some(target)
                if !self.program.has_assertions || states.is_live(&self.program, &self.slots, target)? =>
            {
                Some(target)
            }
            _ => None,
        };
        self.cells.set(state.index(), class, target.map_or(DEAD, |target| target + 2));
        Ok(target.map(LexState))
    }

    /// Makes all steps of a state; bytes that are alike for it are advanced once.
    fn fill_row(&self, state: LexState) -> Result<(), LexError> {
        let mut states = self.lock();
        let row = states.raw_row(&self.program, &self.slots, state.0)?;
        for (class, &target) in row.iter().enumerate() {
            self.keep(&mut states, state, class, target)?;
        }
        Ok(())
    }

    /// The lock, also after a panic elsewhere: states are only added, each complete.
    fn lock(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Lexer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lexer")
            .field("n_terminals", &self.program.terminals.len())
            .field("n_instructions", &self.program.insts.len())
            .field("n_states", &self.n_states())
            .finish_non_exhaustive()
    }
}
