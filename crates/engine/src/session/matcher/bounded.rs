//! Masks, and tokens that are accepted, in a bounded amount of work.
//!
//! When: a server fills the masks of many sequences in one step, and one hostile pattern must not stop them
//! all.
//!
//! An example: the pattern `(a|b)*a(a|b){24}x` has millions of residues that tokens can reach. Within 20 ms
//! some hundred tokens are proven to be allowed: those are the mask, and its status is a bound. The next mask
//! finds their residues known.
//!
//! Three quarters of the work go to the exact mask. If they do not suffice, the rest goes to single tokens,
//! proven by what is known by then. First come tokens that stay in a terminal. Then tokens are tried one by
//! one, by ascending ids, because frequent texts have low ids; only short ones if many tokens are proven
//! already. If none is proven under a limit on tokens, the next token of a completion that fits is looked
//! for. At last one is searched for without this limit: a text that can continue always has a token.
//!
//! **What a mask has shown is accepted**, although proving it again could take more work than a call may do.
//! So a session remembers its last mask.

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_automata::meter::{self, Meter};
use maskwright_vocabulary::{TokenId, mask_contains};

use super::Matcher;
use super::shown::{At, Shown};
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin};
use crate::session::state::{State, Witness};

/// A part of the work that is kept for what is proven without searches.
const KEPT_PART: u64 = 4;

/// The work that a mask without a limit may take after one of the other limits is reached: that is no reason
/// to end a text.
const RESCUE_WORK: u64 = 40_000_000;

/// With so many tokens proven (each byte could be one), only short ones are tried one by one. They are the
/// ones that leave a terminal.
const ENOUGH: usize = 256;
/// The bytes of short tokens.
const SHORT: usize = 2;

/// The work that each attempt to find one token may take, if a token does not take more.
const FOR_ONE_WORK: u64 = 400_000;
/// The work that the last attempt to find a token may take.
const LAST_WORK: u64 = 100_000_000;

/// Units of work that it takes to try a token, besides reading it.
const UNITS_PER_TRY: u64 = 16;

/// Which tokens are tried one by one.
#[derive(Clone, Copy)]
struct Tries {
    /// How many are looked for.
    most: usize,
    /// The most bytes that they have.
    max_bytes: usize,
    /// The work that each may take.
    work: u64,
    /// So many of the longest are tried; by ascending ids if there is no such number.
    longest: Option<usize>,
}

impl Tries {
    /// All, as long as there is work to spend.
    const ALL: Tries = Tries { most: usize::MAX, max_bytes: usize::MAX, work: u64::MAX, longest: None };
    /// For one token: single bytes that take little work, and then more; then long tokens, which matter where
    /// many characters have to come in few tokens; then a byte that takes much work.
    const FOR_ONE: [Tries; 4] = [
        Tries { max_bytes: 1, work: 4_000, ..Tries::LAST },
        Tries { max_bytes: 1, work: 100_000, ..Tries::LAST },
        Tries { work: 100_000, longest: Some(16), ..Tries::LAST },
        Tries { max_bytes: 1, work: 1_000_000, ..Tries::LAST },
    ];
    /// For one token, where nothing else has found any.
    const LAST: Tries = Tries { most: 1, work: 10_000_000, ..Tries::ALL };
}

fn limit(limit: u64) -> Meter {
    Meter { limit }
}

impl Matcher {
    /// The mask; or what of it `work` units find, or what is found where one of the other limits is reached.
    /// Its tokens will be accepted.
    pub(super) fn mask_in_work(&mut self, work: Option<u64>) -> Result<MaskWithin, EngineError> {
        if meter::is_stopped() {
            return Err(EngineError::undecided());
        }
        let exact = match work {
            Some(work) => limit(work - work / KEPT_PART).run(|| self.exact_mask()),
            None => self.exact_mask(),
        };
        let ((mut mask, status), mut witness) = match exact {
            Err(error) if error.is_limit() && (work.is_some() || !error.is_out_of_work()) => {
                self.bounded(work.unwrap_or(RESCUE_WORK))?
            }
            exact if work.is_none() => return Ok(exact?.0),
            exact => exact?,
        };
        if status == MaskStatus::Bound
            && let Some(shown) = &self.shown
            && shown.at.is(&self.state, self.tokens_left(&self.state))
        {
            // What was proven before is proven still.
            let mut both = MaskBuilder::new(self.grammar.vocabulary().n_words());
            both.union(&mask);
            both.union(&shown.mask);
            mask = Arc::new(both.finish());
            witness = witness.or_else(|| shown.witness.clone());
        }
        self.show(&mask, witness);
        Ok((mask, status))
    }

    /// Remembers the mask of the present state, if accepting its tokens could take more work than a call may
    /// do.
    pub(super) fn show(&mut self, mask: &Arc<MaskForm>, witness: Option<Witness>) {
        let at = At { state: self.state.clone(), n_left: self.tokens_left(&self.state) };
        self.shown = Some(Arc::new(Shown { at, mask: mask.clone(), witness }));
    }

    /// A mask where the exact one took too much.
    fn bounded(&self, work: u64) -> Result<(MaskWithin, Option<Witness>), EngineError> {
        let mut mask = limit(work / KEPT_PART).run(|| self.proven_mask(Tries::ALL))?;
        // A text that can be completed within its limit has a completion that is known or soon found. Without
        // proven tokens it is needed.
        let for_witness = if mask.len() == 0 { LAST_WORK } else { FOR_ONE_WORK.min(work / KEPT_PART) };
        let witness = match limit(for_witness).run(|| self.witness(&self.state)) {
            Err(error) if error.is_limit() => None,
            witness => witness?,
        };
        if let Some(first) = witness.as_ref().and_then(Witness::first) {
            let mut larger = MaskBuilder::new(self.grammar.vocabulary().n_words());
            larger.union(&mask);
            larger.insert_all(&[first]);
            mask = larger.finish();
        }
        for tries in Tries::FOR_ONE {
            if mask.len() == 0 {
                mask = limit(tries.work.max(FOR_ONE_WORK)).run(|| self.proven_mask(tries))?;
            }
        }
        if mask.len() == 0 {
            match self.exact_mask() {
                Err(error) if error.is_limit() => {
                    mask = limit(LAST_WORK).run(|| self.proven_mask(Tries::LAST))?;
                    if mask.len() == 0 {
                        return Err(error);
                    }
                }
                mask => return mask,
            }
        }
        Ok(((Arc::new(mask), MaskStatus::Bound), witness))
    }

    /// Tokens that are proven to be allowed, and of those that are tried one by one at most `most`.
    fn proven_mask(&self, tries: Tries) -> Result<MaskForm, EngineError> {
        let vocabulary = self.grammar.vocabulary();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        let state = &self.state;
        let n_left = self.tokens_left(state);
        if n_left != Some(0) && self.is_accepting() {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        // Something is left for tokens that are tried.
        let known = meter::left() / 4 * 3;
        let add = || self.ask(|machine| machine.add_proven(state, n_left, &mut mask));
        if let Err(error) = limit(known).run(add)
            && !error.is_limit()
        {
            return Err(error);
        }
        // Known by now; these need not be tried.
        let proven = mask.finish();
        let max_bytes = if proven.len() >= ENOUGH { SHORT.min(tries.max_bytes) } else { tries.max_bytes };
        let mut words = vec![0; vocabulary.n_words()];
        proven.write(&mut words);
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        mask.union(&proven);
        let first = self.ask(|machine| machine.reader.next_bytes(state.config)).unwrap_or(ByteSet::FULL);
        let is_possible = |id: TokenId| {
            let bytes = vocabulary.text(id).unwrap_or_default();
            let may_begin = bytes.first().is_some_and(|&byte| first.contains(byte));
            may_begin && bytes.len() <= max_bytes && !mask_contains(&words, id)
        };
        let n_bytes = |id: TokenId| vocabulary.text(id).map_or(0, <[u8]>::len);
        let mut tried = (0..vocabulary.n_ids() as u32).map(TokenId).filter(|&id| is_possible(id));
        let mut longest = Vec::new();
        if tries.longest.is_some() {
            longest.extend(tried.by_ref());
            meter::charge(longest.len() as u64);
            let n_longest = tries.longest.unwrap_or_default().min(longest.len());
            if n_longest > 0 {
                longest.select_nth_unstable_by_key(n_longest - 1, |&id| std::cmp::Reverse((n_bytes(id), id)));
            }
            longest.truncate(n_longest);
        }
        let mut n_found = 0;
        for id in longest.into_iter().chain(tried) {
            let bytes = vocabulary.text(id).unwrap_or_default();
            if meter::spend(UNITS_PER_TRY).is_err() {
                break;
            }
            match limit(tries.work).run(|| self.ask(|machine| machine.allows(state, bytes, n_left))) {
                Ok(true) => {
                    mask.insert_all(&[id]);
                    n_found += 1;
                }
                Ok(false) => {}
                Err(error) if error.is_limit() => {}
                Err(error) => return Err(error),
            }
            if n_found == tries.most {
                break;
            }
        }
        Ok(mask.finish())
    }

    /// The last mask, made with the work that a call may do, if it is that of `state` and has `token`.
    pub(super) fn shown_at(&self, state: &State, token: TokenId) -> Option<&Shown> {
        let shown = self.shown.as_ref().filter(|shown| shown.at.is(state, self.tokens_left(state)))?;
        let symbol =
            self.grammar.readings(token).symbol.map(|symbol| self.grammar.vocabulary().symbol(symbol));
        let has = shown.mask.contains(token) || symbol.is_some_and(|symbol| shown.mask.contains(symbol));
        has.then_some(&**shown)
    }

    /// What one call may do.
    pub(super) fn call_meter(&self) -> Meter {
        limit(self.mask_work.unwrap_or(u64::MAX))
    }
}
