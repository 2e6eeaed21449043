//! Why a token is allowed or refused, and what was expected, in words.

use maskwright_automata::Regex;
use maskwright_vocabulary::{TokenId, symbol_text};

use crate::ground::{NamedTokens, written};
use crate::parser::ConfigId;
use crate::session::machine::Machine;
use crate::{EngineError, Error, Matcher};

/// The most terminals that an explanation lists.
const MAX_LISTED: usize = 12;

impl Matcher {
    /// What may come next, one entry a terminal: its residue in regular-expression notation, or its name if the
    /// grammar is lexed; the bytes that may come next, where no terminal is known yet. Tokens that the grammar names by their
    /// ids are entries by name. "end of text" is an entry where the text may end.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn expected(&self) -> Result<Vec<String>, Error> {
        if self.is_terminated() {
            return Ok(Vec::new());
        }
        Ok(self.expected_at(self.state.config)?)
    }

    /// What may come after `config`.
    fn expected_at(&self, config: ConfigId) -> Result<Vec<String>, EngineError> {
        self.ask(|machine| expected_at(machine, config, self.grammar().named()))
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
        // First the token as a whole: what may follow a part of it can be harder to say.
        let is_allowed = self.validate_tokens(&[token])? == 1;
        let is_complete = self.ask(|machine| Ok(machine.reader.is_accepting(config)))?;
        if vocabulary.is_eos(token) && (is_complete || !is_allowed) {
            let id = token.0;
            return Ok(if !is_complete {
                let expected = self.expected_at(config)?.join(" or ");
                format!("token {id} (end of text) is refused: the text is not complete, expected {expected}")
            } else if is_allowed {
                format!("token {id} (end of text) is allowed: the text is complete")
            } else {
                let ends = self.end_tokens(config)?;
                if !ends.contains(&token) {
                    let ends: Vec<String> = ends
                        .iter()
                        .map(|&end| String::from_utf8_lossy(&written(vocabulary, end)).into_owned())
                        .collect();
                    let ends = ends.join(" or ");
                    return Ok(format!(
                        "token {id} (end of text) is refused: the text ends with {ends} here"
                    ));
                }
                format!("token {id} (end of text) is refused: no token is left")
            });
        }
        let readings = self.grammar().readings(token);
        let shown = match (vocabulary.token_bytes(token), vocabulary.name(token)) {
            (Some(bytes), _) => format!("token {} \"{}\"", token.0, bytes.escape_ascii()),
            (None, Some(name)) => format!("token {} {name}", token.0),
            (None, None) => format!("token {}", token.0),
        };
        if is_allowed {
            return Ok(format!("{shown} is allowed"));
        }
        let Some(bytes) = readings.text else {
            let why = match readings.symbol {
                Some(symbol) => {
                    let config_after =
                        self.ask(|machine| machine.reader.step_all(config, &symbol_text(symbol)))?;
                    match config_after {
                        Some(_) => self.cannot_be_completed().to_owned(),
                        None => {
                            let expected = self.expected_at(config)?.join(" or ");
                            format!("it cannot come here, expected {expected}")
                        }
                    }
                }
                None if vocabulary.token_bytes(token).is_some() => {
                    "it has the byte 0xFF, which is in no text".to_owned()
                }
                None if vocabulary.has_token(token) => {
                    "the grammar does not name this special token, and special tokens never match as text"
                        .to_owned()
                }
                None => "no token has this id".to_owned(),
            };
            return Ok(format!("{shown} is refused: {why}"));
        };
        let named = self.grammar().named();
        let refused = self.ask(|machine| {
            let mut config = config;
            for (position, &byte) in bytes.iter().enumerate() {
                match machine.reader.step(config, byte)? {
                    Some(next) => config = next,
                    None => return Ok(Some((position, byte, expected_at(machine, config, named)?))),
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
            true => self.cannot_be_completed(),
            false => "with it no text is left whose items and keys all differ",
        };
        Ok(format!("{shown} is refused: {reason}"))
    }

    /// Why a token is refused that the grammar allows.
    fn cannot_be_completed(&self) -> &'static str {
        match self.max_tokens() {
            Some(_) => "the text could not be completed within the tokens that are left",
            None => "no tokens but stop tokens spell what would complete the text",
        }
    }
}

fn expected_at(
    machine: &mut Machine,
    config: ConfigId,
    named: Option<&NamedTokens>,
) -> Result<Vec<String>, EngineError> {
    let mut expected = machine.reader.expected(config, named)?;
    // Inside of a lexer's token that no terminal can end as it stands.
    if expected.is_empty() && !machine.reader.is_accepting(config) {
        expected.push(format!("{:?}", Regex::bytes(machine.reader.next_bytes(config)?)));
    }
    expected.sort();
    expected.dedup();
    if expected.len() > MAX_LISTED {
        let n_more = expected.len() - MAX_LISTED;
        expected.truncate(MAX_LISTED);
        expected.push(format!("{n_more} more"));
    }
    if machine.reader.is_accepting(config) {
        expected.push("end of text".to_owned());
    }
    Ok(expected)
}
