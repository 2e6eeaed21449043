//! Why a token is allowed or refused, in words.

use maskwright_vocabulary::{TokenId, symbol_text};

use super::state::expected_at;
use crate::ground::{shown, written};
use crate::{Error, Matcher};

impl Matcher {
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
                let expected = self.expected()?.join(" or ");
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
            (Some(bytes), _) => format!("token {} {}", token.0, quoted(bytes)),
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
                            let expected = self.expected()?.join(" or ");
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
                    None => return Ok(Some((position, expected_at(machine, config, named)?))),
                }
            }
            Ok(None)
        })?;
        if let Some((position, expected)) = refused {
            if let Some(why) = self.refusal_after(&bytes[..position], &bytes[position..]) {
                return Ok(format!("{shown} is refused: {why}"));
            }
            let read = match position {
                0 => String::new(),
                _ => format!(" after {}", quoted(&bytes[..position])),
            };
            return Ok(format!(
                "{shown} is refused: {}{read} cannot come here, expected {}",
                quoted(first_character(&bytes[position..])),
                expected.join(" or ")
            ));
        }
        let reason = match self.fork().accept_unbudgeted(token)? {
            true => self.cannot_be_completed(),
            false => "with it no text is left whose items and keys all differ",
        };
        Ok(format!("{shown} is refused: {reason}"))
    }

    /// Why the first byte of `next`, which the grammar refuses, cannot come here, in the words of what the grammar was compiled from; `None`
    /// if these say no more than what was expected.
    pub fn refusal(&self, next: &[u8]) -> Option<String> {
        self.refusal_after(&[], next)
    }

    /// The same after some bytes more.
    fn refusal_after(&self, before: &[u8], next: &[u8]) -> Option<String> {
        let words = self.grammar().words()?;
        words.refusal(&[&self.text(), before].concat(), next)
    }

    /// Why a token is refused that the grammar allows.
    fn cannot_be_completed(&self) -> &'static str {
        match self.max_tokens() {
            Some(_) => "the text could not be completed within the tokens that are left",
            None => "no tokens but stop tokens spell what would complete the text",
        }
    }
}

/// A text between backticks, blanks too.
fn quoted(text: &[u8]) -> String {
    match shown(text) {
        quoted if quoted.starts_with('`') => quoted,
        _ => format!("`{}`", text.escape_ascii()),
    }
}

/// The bytes of the first character, or the first byte where that begins none.
fn first_character(bytes: &[u8]) -> &[u8] {
    let character = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    &bytes[..character.map_or(1, char::len_utf8).min(bytes.len())]
}
