//! Whether every token of a mask leaves enough room, by bounds that need no groups of tokens.
//!
//! An example: in a string that may have 255 characters, each place has other residues, and a profile would
//! walk over the whole vocabulary at each of them. But whichever token of plain text comes next, one more
//! byte ends the string, and then 7 tokens the text, EOS included. With 9 tokens left, all those tokens fit,
//! and only tokens that leave the string are checked one by one.
//!
//! **The bound.** After a token that stays inside of a terminal comes a rest of the terminal. The shortest
//! rest of each residue has at most so many bytes ([`Rests`](maskwright_automata::Rests)), and each of them
//! is a token. Then comes what the grammar needs after the terminal, for which an upper bound is known
//! (`rests`). The other tokens are few, and each is asked for its own upper bound.

use maskwright_automata::meter::{self, Meter};

use super::{ByteLimits, end_cost};
use crate::EngineError;
use crate::budget::Ways;
use crate::budget::far::longest_rest;
use crate::bytes::{After, BytesReader};
use crate::ground::{NEVER, plus};
use crate::parser::{ConfigId, Thread};

/// The part of the work that a call may do for it.
const PART: u64 = 4;

impl ByteLimits {
    /// Whether every token that the mask of `config` has can be followed by one of some completions within
    /// `n_left` tokens, itself included; if not, that is not known.
    ///
    /// # Errors
    /// If the call is to stop.
    pub(crate) fn do_all_fit(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<bool, EngineError> {
        if let Some(&known) = self.highest[ways as usize].get(&config) {
            return Ok(known < n_left);
        }
        // Where that is not found out in a part of the work, the groups may be: they are made in parts.
        let part = Meter { limit: meter::left() / PART };
        let highest = match part.run(|| self.highest_of(reader, ways, config)) {
            Err(error) if error.is_out_of_work() && meter::left() > 0 => return Ok(false),
            Err(error) if error.is_final_limit() => NEVER,
            highest => highest?,
        };
        if reader.parser.shared.options.use_memo {
            self.highest[ways as usize].insert(config, highest);
        }
        Ok(highest < n_left)
    }

    /// The most tokens that a text takes after a token, by the bounds; [`NEVER`] if some token has none.
    fn highest_of(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<u32, EngineError> {
        let mut highest = 0;
        let is_all = reader.visit_after(config, |reader, after| {
            let bound = match after {
                After::Inside(threads) => self.most_inside(reader, ways, threads)?,
                After::At(next) => self.upper_least(reader, ways, next)?,
            };
            highest = highest.max(bound);
            Ok(bound < NEVER)
        })?;
        Ok(if is_all { highest } else { NEVER })
    }

    /// The most tokens that a text takes after a token that stays inside of the terminal of `threads`.
    fn most_inside(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        threads: &[Thread],
    ) -> Result<u32, EngineError> {
        let terminal = threads[0].terminal;
        let rest = match self.longest_rests.get(&terminal) {
            Some(&known) => known,
            None => {
                let rest = longest_rest(&mut reader.parser, terminal)?;
                self.longest_rests.insert(terminal, rest);
                rest
            }
        };
        if rest == NEVER || threads.iter().any(|thread| thread.n_left > 0) {
            return Ok(NEVER);
        }
        let mut most = 0;
        for &thread in threads {
            let after = self.rests(&reader.parser, ways).behind_terminal(&mut reader.parser, thread)?;
            most = most.max(plus(rest, plus(after, end_cost(reader))));
        }
        Ok(most)
    }
}
