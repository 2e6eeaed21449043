//! Which terminals can be tokens at all, wherever in a text.
//!
//! Where a lookbehind may see what lies before the token, the first token of a text is not like the others:
//! `(?<=a)b` begins none, and after another token `(?<!a)b` may leave a place to a terminal that it hides
//! elsewhere.

use rustc_hash::FxHashSet;

use crate::{Choice, LexError, LexState, Lexer, TerminalSet};

impl Lexer {
    /// The terminals of which some text has a match in the place of a token: among all terminals, or with
    /// [`Choice::Each`] whatever else matches there. Maybe some more, where only lookahead forbids them.
    ///
    /// # Errors
    /// A limit is reached.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_lexing::{Choice, Discipline, Flags, Lexer, LexerLimits, LexerTerminal, parse_python};
    /// let fuel = Fuel::new(100_000);
    /// let terminal = |id, pattern| {
    ///     parse_python(pattern, Flags::default(), &fuel).map(|pattern| LexerTerminal::new(id, pattern))
    /// };
    /// let terminals = [terminal(0, "a")?, terminal(1, "(?<=a)b")?, terminal(2, "a")?];
    /// let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel)?;
    /// assert!(!lexer.reachable(lexer.start())?.contains(1));
    /// assert_eq!(lexer.possible(Choice::Best)?.iter().collect::<Vec<_>>(), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn possible(&self, choice: Choice) -> Result<TerminalSet, LexError> {
        let all: TerminalSet = self.program.terminals.iter().map(|terminal| terminal.id).collect();
        let begin = |state: LexState| match choice {
            Choice::Best => self.restart(state),
            Choice::Each => self.among(state, &all, choice),
        };
        let start = match choice {
            Choice::Best => self.start(),
            Choice::Each => begin(self.start())?,
        };
        let mut possible = self.reachable(start)?.clone();
        if self.program.crossing == 0 {
            return Ok(possible);
        }
        let mut seen: FxHashSet<LexState> = FxHashSet::from_iter([start]);
        let mut work = vec![start];
        while let Some(state) = work.pop() {
            if !self.accepts(state).is_empty() {
                let next = begin(state)?;
                possible.union_with(self.reachable(next)?);
                work.extend(Some(next).filter(|&next| seen.insert(next)));
            }
            // Makes all steps at once.
            self.next_bytes(state)?;
            for &byte in self.class_representatives() {
                work.extend(self.step(state, byte)?.filter(|&next| seen.insert(next)));
            }
        }
        Ok(possible)
    }
}
