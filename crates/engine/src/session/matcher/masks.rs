//! Masks of sessions: from the grammar's tables to the caller's words.
//!
//! There are two ways to get a mask. [`Matcher::fill_mask`] waits for locks and does the work.
//! [`Matcher::try_fill_mask`] does neither, and returns `None` if either is needed: a thread that holds
//! another lock, such as Python's, tries it first.

use std::sync::Arc;

use maskwright_vocabulary::{Mask, TokenId, mask_insert, mask_words};

use super::{LastMask, Matcher};
use crate::ground::{MaskBuilder, MaskForm, MaskWithin};
use crate::parser::ConfigId;
use crate::session::machine::Machine;
use crate::session::state::Witness;
use crate::{EngineError, Error, MaskStatus};

impl Matcher {
    /// Writes the mask over `words`, packed 32 tokens to a word; extra words are cleared. Says whether it has
    /// all allowed tokens.
    ///
    /// After the end of the text the end-of-sequence tokens are allowed: something for a sampler to take,
    /// though [`accept_token`](Matcher::accept_token) refuses it. If there are none, the text has ended where
    /// it is complete and nothing can follow, and then all tokens are allowed.
    ///
    /// Where a limit is reached, the mask has the tokens that are found within it, and is a bound.
    ///
    /// # Errors
    /// If `words` is too short, or no token is found within the limits; then `words` is unchanged.
    pub fn fill_mask(&mut self, words: &mut [u32]) -> Result<MaskStatus, Error> {
        self.fill_mask_within(words, self.mask_work)
    }

    /// [`fill_mask`](Matcher::fill_mask) in about so many units of work (some 20 ns each), whatever
    /// [`MatcherConfig::mask_work`](crate::MatcherConfig::mask_work) says: for a mask with a deadline of its
    /// own. If they do not suffice, the mask has the tokens that are proven by then (if there are none, one
    /// that takes more work), and is a bound. [`accept_token`](Matcher::accept_token) takes each of them.
    ///
    /// # Errors
    /// As [`fill_mask`](Matcher::fill_mask).
    pub fn fill_mask_within(&mut self, words: &mut [u32], work: Option<u64>) -> Result<MaskStatus, Error> {
        self.fill(words, work)?;
        Ok(self.last_mask.status)
    }

    /// [`fill_mask_within`](Matcher::fill_mask_within) with the engine's errors.
    pub(super) fn fill(&mut self, words: &mut [u32], work: Option<u64>) -> Result<(), EngineError> {
        self.check_width(words)?;
        if self.state.is_terminated {
            self.check_unbroken()?;
            self.fill_after_end(words);
            return Ok(());
        }
        let (form, status) = self.mask_in_work(work)?;
        let has_no_end = self.grammar.vocabulary().eos_token_ids().is_empty();
        if has_no_end && status == MaskStatus::Exact && form.len() == 0 && self.is_accepting() {
            self.fill_after_end(words);
            return Ok(());
        }
        let ends = if self.names_ends_in(&form) { Some(self.end_tokens(self.state.config)?) } else { None };
        let is_full = self.write(&form, ends.as_deref(), words);
        self.last_mask = LastMask { status: self.status_of(status), is_full };
        let limits_parts = self.grammar.must_spell()
            && self.ask(|machine| Ok(machine.reader.parser().network.has_token_limits()))?;
        if limits_parts {
            // What is removed now is not accepted.
            self.shown = None;
            self.last_mask.is_full = self.without_dead_ends(words)?;
        }
        Ok(())
    }

    /// Removes the tokens from a mask after which the text cannot be completed. A limit on the tokens of a
    /// part, combined with the texts that tokens can spell, can only be checked token by token. Few grammars
    /// and stop tokens need this. Returns whether all tokens are left.
    fn without_dead_ends(&self, words: &mut [u32]) -> Result<bool, EngineError> {
        let vocabulary = self.grammar.vocabulary();
        let mut is_full = true;
        for id in 0..vocabulary.n_vocab() {
            let bit = 1 << (id % 32);
            let token = TokenId(id as u32);
            if words[id / 32] & bit != 0 && self.after_token(&self.state, token)?.is_none() {
                words[id / 32] &= !bit;
            }
            is_full &= words[id / 32] & bit != 0;
        }
        Ok(is_full)
    }

    /// The status of a mask for the whole grammar, given its status for the texts of this session.
    fn status_of(&self, status: MaskStatus) -> MaskStatus {
        if self.grammar.is_bound() { MaskStatus::Bound } else { status }
    }

    /// Whether the text may end at the mask `form`, with tokens that depend on the text.
    fn names_ends_in(&self, form: &MaskForm) -> bool {
        self.grammar.has_named_ends()
            && self.grammar.vocabulary().eos_token_ids().iter().any(|&id| form.contains(id))
    }

    /// The tokens that may end a text at `config`, where it may end, ascending.
    pub(crate) fn end_tokens(&self, config: ConfigId) -> Result<Vec<TokenId>, EngineError> {
        match self.grammar.named().and_then(|named| named.ends()) {
            None => Ok(self.grammar.vocabulary().eos_token_ids().to_vec()),
            Some(ends) => self.ask(|machine| machine.reader.ends(ends, config)),
        }
    }

    /// Writes the tokens of `form` and those that its symbols stand for. Returns whether these are all. If
    /// `ends` are given, no other tokens end the text.
    fn write(&self, form: &MaskForm, ends: Option<&[TokenId]>, words: &mut [u32]) -> bool {
        let vocabulary = self.grammar.vocabulary();
        let (words, rest) = words.split_at_mut(mask_words(vocabulary.n_vocab()));
        rest.fill(0);
        form.write(words);
        if let Some(ends) = ends {
            let others = vocabulary.eos_token_ids().iter().filter(|id| !ends.contains(id));
            others.for_each(|&TokenId(id)| words[id as usize / 32] &= !(1 << (id % 32)));
        }
        let Some(named) = self.grammar.named() else { return form.is_full(vocabulary.n_vocab()) };
        named.add_tokens(vocabulary, words, |symbol| form.contains(symbol));
        let n_tokens: u32 = words.iter().map(|word| word.count_ones()).sum();
        n_tokens as usize == vocabulary.n_vocab()
    }

    /// [`fill_mask`](Matcher::fill_mask) without waiting or working: `None`, with `words` as it was, if the
    /// mask is not known yet, another thread is using the grammar's tables, or the session needs a closer
    /// look (a limit on tokens, the end of the text).
    ///
    /// # Errors
    /// As [`fill_mask`](Matcher::fill_mask).
    #[doc(hidden)]
    pub fn try_fill_mask(&mut self, words: &mut [u32]) -> Option<Result<MaskStatus, Error>> {
        let has_eos = !self.grammar.vocabulary().eos_token_ids().is_empty();
        if self.counts_tokens() || self.state.is_terminated || !has_eos {
            return None;
        }
        let (form, status) = match self.ask_known(|machine| machine.unlimited_mask(&self.state))? {
            Ok(mask) => mask,
            // Then the mask is a bound, and making it is work.
            Err(error) if error.is_limit() => return None,
            Err(error) => return Some(Err(error.into())),
        };
        if let Err(error) = self.check_width(words) {
            return Some(Err(error.into()));
        }
        if self.names_ends_in(&form) {
            return None;
        }
        let is_full = self.write(&form, None, words);
        self.last_mask = LastMask { status: self.status_of(status), is_full };
        if self.mask_work.is_some() {
            self.show(&form, None);
        }
        Some(Ok(self.last_mask.status))
    }

    fn check_width(&self, words: &[u32]) -> Result<(), EngineError> {
        let needed = mask_words(self.grammar.vocabulary().n_vocab());
        let given = words.len();
        if given < needed {
            return Err(EngineError::argument(format!(
                "the mask has {given} words of 32 bits, the vocabulary needs {needed}"
            )));
        }
        Ok(())
    }

    fn fill_after_end(&mut self, words: &mut [u32]) {
        let vocabulary = self.grammar.vocabulary();
        let (n_vocab, eos) = (vocabulary.n_vocab(), vocabulary.eos_token_ids());
        words.fill(0);
        match eos {
            [] => (0..n_vocab).for_each(|token| words[token / 32] |= 1 << (token % 32)),
            _ => eos.iter().for_each(|&token| mask_insert(words, token)),
        }
        let is_full = eos.is_empty() || eos.len() == n_vocab;
        self.last_mask = LastMask { status: MaskStatus::Exact, is_full };
    }

    /// The mask, however much work it takes, and the completion that made it larger, if one did.
    pub(super) fn exact_mask(&self) -> Result<(MaskWithin, Option<Witness>), EngineError> {
        let Some(left) = self.tokens_left(&self.state) else { return Ok((self.unlimited_mask()?, None)) };
        if left == 0 {
            // Without an end-of-sequence token, a text is complete here without having ended.
            let none = MaskBuilder::new(self.grammar.vocabulary().n_words()).finish();
            return Ok(((Arc::new(none), MaskStatus::Exact), None));
        }
        let at_once = |machine: &mut Machine| machine.mask_if_far(&self.state, left);
        if let Some(Ok(Some(mask))) = self.ask_known(at_once) {
            return Ok((mask, None));
        }
        self.make_rows(self.state.config)?;
        let (mask, status) = self.ask(|machine| machine.limited_mask(&self.state, left))?;
        if status == MaskStatus::Exact {
            return Ok(((mask, status), None));
        }
        let witness = self.witness(&self.state)?;
        let first = witness.as_ref().and_then(Witness::first);
        let Some(first) = first.filter(|&first| !mask.contains(first)) else {
            return Ok(((mask, status), None));
        };
        let mut larger = MaskBuilder::new(self.grammar.vocabulary().n_words());
        larger.union(&mask);
        larger.insert_all(&[first]);
        Ok(((Arc::new(larger.finish()), status), witness))
    }

    /// The mask without a limit on tokens.
    fn unlimited_mask(&self) -> Result<MaskWithin, EngineError> {
        if let Some(known) = self.ask_known(|machine| machine.unlimited_mask(&self.state)) {
            return known;
        }
        self.make_rows(self.state.config)?;
        self.ask(|machine| machine.unlimited_mask(&self.state))
    }

    /// Whether the last mask had all tokens that are allowed, as [`fill_mask`](Matcher::fill_mask) said.
    pub fn mask_status(&self) -> MaskStatus {
        self.last_mask.status
    }

    /// Whether the last mask had all tokens of the vocabulary, so that it need not be applied.
    pub fn mask_is_full(&self) -> bool {
        self.last_mask.is_full
    }

    /// The mask.
    ///
    /// # Errors
    /// As [`fill_mask`](Matcher::fill_mask).
    pub fn mask(&mut self) -> Result<Mask, Error> {
        let mut mask = Mask::new(self.grammar.vocabulary().n_vocab());
        self.fill_mask(mask.words_mut())?;
        Ok(mask)
    }
}
