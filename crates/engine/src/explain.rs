//! Why a token is allowed or refused, and what was expected, in words.

use maskwright_automata::Regex;
use maskwright_vocabulary::TokenId;

use crate::configuration::ConfigId;
use crate::machine::Machine;
use crate::{EngineError, Error, Matcher};

/// The most terminals that an explanation lists.
const MAX_LISTED: usize = 12;

impl Matcher {
    /// What may come next, one entry a terminal: its residue in regular-expression notation, or its name if the
    /// grammar is lexed; the bytes that may come next, where no terminal is known yet. "end of text" is an entry where the
    /// text may end.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn expected(&self) -> Result<Vec<String>, Error> {
        if self.is_terminated() {
            return Ok(Vec::new());
        }
        Ok(self.ask(|machine| expected_at(machine, self.state.config))?)
    }

    /// Why `token` is allowed or refused here: the bytes of it that some text goes on with, the first that
    /// none does, and what was expected there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn explain(&self, token: TokenId) -> Result<String, Error> {
        let vocabulary = self.grammar().vocabulary();
        if self.is_terminated() {
            return Ok(format!("token {} is refused: the text has ended", token.0));
        }
        let config = self.state.config;
        if vocabulary.is_eos(token) {
            return Ok(if self.ask(|machine| Ok(machine.is_accepting(config)))? {
                if self.validate_tokens(&[token])? == 1 {
                    format!("token {} (end of text) is allowed: the text is complete", token.0)
                } else {
                    format!("token {} (end of text) is refused: no token is left", token.0)
                }
            } else {
                format!(
                    "token {} (end of text) is refused: the text is not complete, expected {}",
                    token.0,
                    self.ask(|machine| expected_at(machine, config))?.join(" or ")
                )
            });
        }
        let Some(bytes) = vocabulary.text(token) else {
            return Ok(format!(
                "token {} is refused: it has no text (a special token or an unused id)",
                token.0
            ));
        };
        let shown = format!("token {} \"{}\"", token.0, bytes.escape_ascii());
        // First the token as a whole: what may follow a part of it can be harder to say.
        if self.validate_tokens(&[token])? == 1 {
            return Ok(format!("{shown} is allowed"));
        }
        let refused = self.ask(|machine| {
            let mut config = config;
            for (position, &byte) in bytes.iter().enumerate() {
                match machine.step(config, byte)? {
                    Some(next) => config = next,
                    None => return Ok(Some((position, byte, expected_at(machine, config)?))),
                }
            }
            Ok(None)
        })?;
        if let Some((position, byte, expected)) = refused {
            let read = match position {
                0 => String::new(),
                _ => format!(" after \"{}\"", bytes[..position].escape_ascii()),
            };
            return Ok(format!(
                "{shown} is refused: '{}'{read} cannot come here, expected {}",
                byte.escape_ascii(),
                expected.join(" or ")
            ));
        }
        let reason = match self.fork().accept_unbudgeted(token)? {
            true => "the text could not be completed within the tokens that are left",
            false => "with it no text is left whose items and keys all differ",
        };
        Ok(format!("{shown} is refused: {reason}"))
    }
}

fn expected_at(machine: &mut Machine, config: ConfigId) -> Result<Vec<String>, EngineError> {
    let mut expected: Vec<String> = match machine.lexed_mut() {
        Some((lexed, parser)) => lexed.expected(parser, config)?,
        None => machine
            .parser
            .configs
            .threads(config)
            .iter()
            .map(|thread| machine.parser.automaton(thread.terminal).describe(thread.residue))
            .collect(),
    };
    // Inside of a lexer's token that no terminal can end as it stands.
    if expected.is_empty() && !machine.is_accepting(config) {
        expected.push(format!("{:?}", Regex::bytes(machine.next_bytes(config)?)));
    }
    expected.sort();
    expected.dedup();
    if expected.len() > MAX_LISTED {
        let n_more = expected.len() - MAX_LISTED;
        expected.truncate(MAX_LISTED);
        expected.push(format!("{n_more} more"));
    }
    if machine.is_accepting(config) {
        expected.push("end of text".to_owned());
    }
    Ok(expected)
}
