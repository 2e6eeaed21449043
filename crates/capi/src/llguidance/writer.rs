//! A session as programs for llguidance expect it, which matchers and constraints share.

use std::sync::Arc;

use maskwright::{Error, ErrorKind, Matcher, TokenId, mask_contains, mask_words};

use super::tokenizer::Shared;
use crate::guard::argument;

/// The tokens so far, and which may come next.
#[derive(Clone)]
pub(super) struct Writer {
    matcher: Matcher,
    tokenizer: Arc<Shared>,
    /// The mask of here; none before it is asked for.
    mask: Option<Arc<[u32]>>,
    /// What ended the text, where the grammar did not: a limit on work, or a vocabulary that cannot write it.
    ended_by: Option<String>,
    /// How many tokens were taken that the matcher does not know, at the end of the text.
    n_after: usize,
}

impl Writer {
    pub(super) fn new(matcher: Matcher, tokenizer: Arc<Shared>) -> Writer {
        Writer { matcher, tokenizer, mask: None, ended_by: None, n_after: 0 }
    }

    pub(super) fn n_words(&self) -> usize {
        mask_words(self.tokenizer.n_vocab())
    }

    /// The tokens that may come next; those that end the text where it has ended.
    ///
    /// # Errors
    /// If a bug was met. Limits end the text instead.
    pub(super) fn mask(&mut self) -> Result<Arc<[u32]>, Error> {
        if let Some(mask) = &self.mask {
            return Ok(mask.clone());
        }
        let mut words = vec![0; self.n_words()];
        if self.ended_by.is_some() {
            self.only_ends(&mut words);
        } else if let Err(error) = self.matcher.fill_mask(&mut words) {
            self.end_by(error)?;
            self.only_ends(&mut words);
        } else if words.iter().all(|&word| word == 0) {
            self.ended_by = Some("no token of the vocabulary can come next".to_owned());
            self.only_ends(&mut words);
        }
        let mask: Arc<[u32]> = words.into();
        self.mask = Some(mask.clone());
        Ok(mask)
    }

    /// Ends the text for lack of work; a bug stays an error.
    fn end_by(&mut self, error: Error) -> Result<(), Error> {
        if matches!(error.kind(), ErrorKind::Internal | ErrorKind::Argument) {
            return Err(error);
        }
        self.ended_by = Some(error.to_string());
        Ok(())
    }

    fn only_ends(&self, words: &mut [u32]) {
        for id in self.tokenizer.compiler.tokenizer().eos_token_ids() {
            words[id.index() / 32] |= 1 << (id.0 % 32);
        }
    }

    /// What ended the text for lack of work.
    pub(super) fn ended_by(&self) -> Option<&str> {
        self.ended_by.as_deref()
    }

    /// Whether nothing may follow but a token that ends the text.
    ///
    /// # Errors
    /// As [`mask`](Writer::mask).
    pub(super) fn is_stopped(&mut self) -> Result<bool, Error> {
        if self.ended_by.is_some() || self.matcher.is_terminated() {
            return Ok(true);
        }
        if !self.matcher.is_accepting() {
            return Ok(false);
        }
        let ends = self.tokenizer.compiler.tokenizer().eos_token_ids().to_vec();
        if ends.is_empty() {
            return Ok(match self.matcher.state() {
                Ok(state) => state.next.is_empty(),
                Err(error) => {
                    self.end_by(error)?;
                    true
                }
            });
        }
        let mask = self.mask()?;
        let n_allowed: u32 = mask.iter().map(|word| word.count_ones()).sum();
        let n_ends = ends.iter().filter(|&&id| mask_contains(&mask, id)).count();
        Ok(n_allowed as usize == n_ends)
    }

    pub(super) fn is_accepting(&self) -> bool {
        self.ended_by.is_some() || self.matcher.is_accepting()
    }

    /// Accepts a token. Where that takes too much work, the text ends after it.
    ///
    /// # Errors
    /// If it is refused.
    pub(super) fn consume(&mut self, id: u32) -> Result<(), Error> {
        let token = TokenId(id);
        let has_ended = self.ended_by.is_some() || self.matcher.is_terminated();
        if has_ended && self.tokenizer.is_end(token) {
            self.n_after += 1;
            return Ok(());
        }
        if has_ended {
            return Err(argument(format!("token {id} after the end of the text")));
        }
        self.mask = None;
        let is_accepted = match self.matcher.accept_token(token) {
            Ok(is_accepted) => is_accepted,
            // The caller's text has the token, and ends with it.
            Err(error) => {
                self.end_by(error)?;
                self.n_after = 1;
                return Ok(());
            }
        };
        if !is_accepted {
            let why = match (id as usize) < self.tokenizer.n_vocab() {
                true => self.matcher.explain(token)?,
                false => format!("there are {} tokens", self.tokenizer.n_vocab()),
            };
            return Err(argument(format!("token {id} is not allowed: {why}")));
        }
        Ok(())
    }

    /// Accepts tokens. Where that takes too much work, the text ends with all of them: the caller has them.
    ///
    /// # Errors
    /// If one is refused.
    pub(super) fn consume_all(&mut self, ids: &[u32]) -> Result<(), Error> {
        for (index, &id) in ids.iter().enumerate() {
            let had_ended = self.ended_by.is_some();
            self.consume(id)?;
            if self.ended_by.is_some() && !had_ended {
                self.n_after += ids.len() - index - 1;
                break;
            }
        }
        Ok(())
    }

    /// How many tokens would be accepted.
    pub(super) fn validate(&self, ids: &[u32]) -> Result<usize, Error> {
        if self.ended_by.is_some() {
            return Ok(ids.iter().take_while(|&&id| self.tokenizer.is_end(TokenId(id))).count());
        }
        self.matcher.validate_tokens(&ids.iter().map(|&id| TokenId(id)).collect::<Vec<_>>())
    }

    /// The tokens that must come next, without those that end the text.
    pub(super) fn forced(&self) -> Vec<TokenId> {
        if self.ended_by.is_some() {
            return Vec::new();
        }
        // Without them the model writes by itself.
        let forced = self.matcher.forced_tokens(|bytes| self.tokenizer.encode(bytes)).unwrap_or_default();
        forced.into_iter().take_while(|&id| !self.tokenizer.is_end(id)).collect()
    }

    pub(super) fn rollback(&mut self, n_tokens: usize) -> Result<(), Error> {
        self.matcher.rollback(n_tokens.saturating_sub(self.n_after))?;
        self.n_after = self.n_after.saturating_sub(n_tokens);
        if self.n_after == 0 {
            (self.mask, self.ended_by) = (None, None);
        }
        Ok(())
    }

    pub(super) fn reset(&mut self) {
        self.matcher.reset();
        (self.mask, self.ended_by, self.n_after) = (None, None, 0);
    }
}
