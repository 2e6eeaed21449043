//! Which terminals can take each other's place.
//!
//! A terminal that is no rival of any that compete may compete too, and nothing changes for them. So sets of
//! competitors that differ by such terminals only are as good as one, and what is kept by set is kept less
//! often.

use maskwright_automata::meter;
use rustc_hash::FxHashSet;

use crate::states::{Kind, slot};
use crate::{Choice, LexError, LexState, Lexer, TerminalSet};

impl Lexer {
    /// By terminal id, the other terminals of which a match may be the token in place of one of it, under
    /// [`Discipline::LongestMatch`](crate::Discipline::LongestMatch): at some place, both may match, and the
    /// other longer or preferred. Maybe some more. Makes all states.
    ///
    /// # Errors
    /// A limit is reached.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_lexing::{Discipline, Lexer, LexerLimits, LexerTerminal, Pattern};
    /// let literal = |id, text: &str| LexerTerminal::new(id, Pattern::literal(text.as_bytes()));
    /// let terminals = [literal(0, "if"), literal(1, "iff"), literal(2, "in")];
    /// let lexer = Lexer::new(&terminals, Discipline::LongestMatch, LexerLimits::default(), &Fuel::new(1_000))?;
    /// let rivals = lexer.rivals()?;
    /// assert!(rivals[0].iter().eq([1]) && rivals[1].is_empty() && rivals[2].is_empty());
    /// # Ok::<(), maskwright_lexing::LexError>(())
    /// ```
    pub fn rivals(&self) -> Result<Vec<TerminalSet>, LexError> {
        let terminals = &self.program.terminals;
        let n_ids = terminals.iter().map(|terminal| terminal.id as usize + 1).max().unwrap_or(0);
        let mut rivals = vec![TerminalSet::new(); n_ids];
        let all = terminals.iter().map(|terminal| terminal.id).collect();
        let start = self.among(self.start(), &all, Choice::Each)?;
        let mut seen: FxHashSet<LexState> = FxHashSet::from_iter([start]);
        let mut work = vec![start];
        while let Some(state) = work.pop() {
            let items = &slot(&self.slots, state.0).content.items;
            if self.program.crossing != 0 && items.iter().any(|item| item.kind == Kind::Match) {
                // What an assertion sees of this token may tell apart the beginnings of the next.
                work.extend(Some(self.among(state, &all, Choice::Each)?).filter(|&next| seen.insert(next)));
            }
            let n_matches = items.iter().filter(|item| item.kind == Kind::Match).count();
            meter::spend(1 + (n_matches * items.len()) as u64 / 4)?;
            for ours in items.iter().filter(|item| item.kind == Kind::Match) {
                let our = &terminals[ours.group as usize];
                for item in items.iter().filter(|item| item.group != ours.group) {
                    let other = &terminals[item.group as usize];
                    let is_rival = match item.kind {
                        Kind::Thread => !(our.is_operator && other.is_operator),
                        Kind::Match => other.rank < our.rank,
                        Kind::Settled | Kind::Mark => false,
                    };
                    if is_rival {
                        rivals[our.id as usize].insert(other.id);
                    }
                }
            }
            // Makes all steps at once.
            self.next_bytes(state)?;
            for &byte in self.class_representatives() {
                work.extend(self.step(state, byte)?.filter(|&next| seen.insert(next)));
            }
        }
        Ok(rivals)
    }
}
