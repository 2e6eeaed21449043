//! The judge: an ordinary session of the grammar.
//!
//! Charts and searches only propose texts. A text counts when a session accepts it, so whatever a session can
//! check (repeated keys, items that all differ, the contextual lexer) holds of what fills a canvas as well.

use std::sync::Arc;

use maskwright_engine::{EngineGrammar, Matcher, MatcherStep};
use maskwright_vocabulary::{TokenId, mask_words};

use crate::ground::InfillError;

/// What a session says about a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judgement {
    /// It is in the language.
    Accepted,
    /// Its first so many parts begin some text of the language, and no more.
    Refused(usize),
}

/// See the module. Texts that begin alike are cheap one after the other: what they share is read once.
#[derive(Debug)]
pub(crate) struct Judge {
    session: Matcher,
    /// What the session has accepted.
    accepted: Vec<MatcherStep>,
}

impl Judge {
    /// A judge of texts of `sessions`.
    pub(crate) fn new(sessions: &Arc<EngineGrammar>) -> Judge {
        // It must not take for refused what it has not decided.
        Judge { session: Matcher::new(sessions).unbounded(), accepted: Vec::new() }
    }

    /// Whether the parts, one after the other, are a text of the language.
    ///
    /// # Errors
    /// If the session reaches a limit.
    pub(crate) fn judge(&mut self, parts: &[MatcherStep]) -> Result<Judgement, InfillError> {
        let n_read = self.read(parts)?;
        let is_word = n_read == parts.len() && self.session.is_accepting();
        Ok(if is_word { Judgement::Accepted } else { Judgement::Refused(n_read) })
    }

    /// Reads the parts until one is refused; how many were not.
    ///
    /// # Errors
    /// If the session reaches a limit.
    pub(crate) fn read(&mut self, parts: &[MatcherStep]) -> Result<usize, InfillError> {
        let n_same = self.accepted.iter().zip(parts).take_while(|(old, new)| old == new).count();
        self.session.rollback(self.accepted.len() - n_same)?;
        self.accepted.truncate(n_same);
        for part in &parts[n_same..] {
            let is_accepted = match part {
                MatcherStep::Token(token) => self.session.accept_token(*token),
                MatcherStep::Bytes(bytes) => self.session.accept_bytes(bytes),
            };
            if !is_accepted? {
                return Ok(self.accepted.len());
            }
            if self.session.is_terminated() {
                // What ends a text is no part of it.
                self.session.rollback(1)?;
                return Ok(self.accepted.len());
            }
            self.accepted.push(part.clone());
        }
        Ok(parts.len())
    }

    /// The fewest tokens with which the parts are a text, without one that ends it; `None` if the parts are
    /// refused, or no tokens spell the rest of a text.
    ///
    /// # Errors
    /// If the session reaches a limit.
    pub(crate) fn finished(&mut self, parts: &[MatcherStep]) -> Result<Option<Vec<TokenId>>, InfillError> {
        if self.read(parts)? < parts.len() {
            return Ok(None);
        }
        let mut tokens = match self.session.finish() {
            Ok(tokens) => tokens,
            Err(error) if error.is_limit() || error.is_cancelled() => {
                return Err(error.into());
            }
            Err(_) => return Ok(None),
        };
        if tokens.last().is_some_and(|&last| self.session.grammar().vocabulary().is_eos(last)) {
            tokens.pop();
        }
        Ok(Some(tokens))
    }

    /// The tokens that can follow the parts, as bits of a mask of the model's width; empty if the parts are
    /// refused.
    ///
    /// # Errors
    /// If the session reaches a limit.
    pub(crate) fn mask_after(&mut self, parts: &[MatcherStep]) -> Result<Vec<u32>, InfillError> {
        let vocabulary = self.session.grammar().vocabulary().clone();
        let mut mask = vec![0; mask_words(vocabulary.n_vocab())];
        if self.read(parts)? == parts.len() {
            self.session.fill_mask(&mut mask)?;
        }
        Ok(mask)
    }
}
