//! Why a token is allowed or refused, in words.

use maskwright_vocabulary::{TokenId, symbol_text};

use crate::ground::{TextRegion, first_character, shown, written};
use crate::session::engine_grammar::WordsSpeaker;
use crate::{Error, Matcher};

impl Matcher {
    /// Why `token` is allowed or refused here: the keyword of a schema that refuses it, or the bytes of it
    /// that a text can have here, the first that none has, and what was expected there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn explain(&self, token: TokenId) -> Result<String, Error> {
        let vocabulary = self.grammar().vocabulary();
        let why = self.why_refused(token)?;
        if self.is_terminated() {
            return Ok(format!("token {} is refused: {}", token.0, why.unwrap_or_default()));
        }
        let is_end = self.is_end(token, why.is_none())?;
        let shown = match (vocabulary.token_bytes(token), vocabulary.name(token)) {
            _ if is_end => format!("token {} (end of text)", token.0),
            (Some(bytes), _) => format!("token {} {}", token.0, quoted(bytes)),
            (None, Some(name)) => format!("token {} {name}", token.0),
            (None, None) => format!("token {}", token.0),
        };
        Ok(match why {
            Some(why) => format!("{shown} is refused: {why}"),
            None if is_end => format!("{shown} is allowed: the text is complete"),
            None => format!("{shown} is allowed"),
        })
    }

    /// Whether `token` ends texts, and is to be told about as that.
    fn is_end(&self, token: TokenId, is_allowed: bool) -> Result<bool, Error> {
        Ok(self.grammar().vocabulary().is_eos(token) && (!is_allowed || self.accepts(&self.state)?))
    }

    /// Why `token` is refused here; `None` if it is allowed.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn why_refused(&self, token: TokenId) -> Result<Option<String>, Error> {
        let vocabulary = self.grammar().vocabulary();
        if self.is_terminated() {
            return Ok(Some("the text has ended".to_owned()));
        }
        // First the token as a whole: what may follow a part of it can be harder to say.
        if self.validate_tokens(&[token])? == 1 {
            return Ok(None);
        }
        let config = self.state.config;
        if vocabulary.is_eos(token) {
            if !self.accepts(&self.state)? {
                let expected = self.expected()?.join(" or ");
                return Ok(Some(format!("the text is not complete, expected {expected}")));
            }
            let ends = self.end_tokens(config)?;
            if ends.contains(&token) {
                return Ok(Some("no token is left".to_owned()));
            }
            let ends =
                ends.iter().map(|&end| String::from_utf8_lossy(&written(vocabulary, end)).into_owned());
            let ends: Vec<String> = ends.collect();
            return Ok(Some(format!("the text ends with {} here", ends.join(" or "))));
        }
        let readings = self.grammar().readings(token);
        let Some(bytes) = readings.text else {
            return Ok(Some(match readings.symbol {
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
            }));
        };
        let refused = self.ask(|machine| {
            let mut config = config;
            for (position, &byte) in bytes.iter().enumerate() {
                match machine.reader.step(config, byte)? {
                    Some(next) => config = next,
                    None => return Ok(Some((position, config))),
                }
            }
            Ok(None)
        })?;
        Ok(Some(match refused {
            Some((position, config)) => {
                let (before, next) = bytes.split_at(position);
                let broken = broken_character(&[&self.text(), before].concat(), next[0]);
                match broken.or_else(|| self.refusal_after(before, next)) {
                    Some(reason) => reason,
                    None => {
                        let first = quoted(first_character(next));
                        let expected = self.expected_after(before, config)?.join(" or ");
                        match before {
                            [] => format!("{first} cannot come here, expected {expected}"),
                            _ => {
                                let before = quoted(before);
                                format!("{first} after {before} cannot come here, expected {expected}")
                            }
                        }
                    }
                }
            }
            None if self.fork().accept_unbudgeted(token)? => self.cannot_be_completed().to_owned(),
            None => "with it no text is left whose items and keys all differ".to_owned(),
        }))
    }

    /// Why the first byte of `next`, which the grammar refuses, cannot come here, in the words of what the
    /// grammar was compiled from; `None` if these say no more than what was expected.
    #[doc(hidden)]
    pub fn refusal(&self, next: &[u8]) -> Option<String> {
        self.refusal_after(&[], next)
    }

    /// The same after some bytes more.
    fn refusal_after(&self, before: &[u8], next: &[u8]) -> Option<String> {
        self.in_words(|words| words.refusal(self, before, next))
    }

    /// The parts of the text that have a name: tags, calls of tools and their arguments.
    #[doc(hidden)]
    pub fn regions(&self) -> Vec<TextRegion> {
        self.in_words(|words| Some(words.regions(self))).unwrap_or_default()
    }

    /// Asks for words of the source; `None` if it has none.
    pub(super) fn in_words<T>(&self, ask: impl FnOnce(&mut dyn WordsSpeaker) -> Option<T>) -> Option<T> {
        let words = self.grammar().words()?;
        // No lock is held while it is asked, and a call that panics leaves none behind.
        let known = self.speaker.lock().take();
        let mut speaker = known.unwrap_or_else(|| words.clone().speaker());
        let said = ask(&mut *speaker);
        *self.speaker.lock() = Some(speaker);
        said
    }

    /// Why a token is refused that the grammar allows.
    fn cannot_be_completed(&self) -> &'static str {
        match self.max_tokens() {
            Some(_) => "the text could not be completed within the tokens that are left",
            None => "no tokens but stop tokens spell what would complete the text",
        }
    }
}

/// What is wrong with `byte` after `text` if no text of UTF-8 goes on so.
fn broken_character(text: &[u8], byte: u8) -> Option<String> {
    // A character has four bytes at most.
    let begun = (1..=3.min(text.len())).map(|n| &text[text.len() - n..]).find(|end| end[0] >= 0xc0);
    let begun = begun.filter(|end| std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none()));
    let begun = begun.unwrap_or_default();
    let next = [begun, &[byte]].concat();
    let is_broken = std::str::from_utf8(&next).is_err_and(|error| error.error_len().is_some());
    is_broken.then(|| match begun {
        [] => format!("the byte 0x{byte:02X} begins no character"),
        _ => format!("the byte 0x{byte:02X} does not go on with the character that is begun"),
    })
}

/// A text between backticks, blanks too.
fn quoted(text: &[u8]) -> String {
    match shown(text) {
        quoted if quoted.starts_with('`') => quoted,
        _ => format!("`{}`", text.escape_ascii()),
    }
}
