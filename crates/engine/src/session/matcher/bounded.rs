//! Masks, and tokens that are accepted, in a bounded amount of work.
//!
//! When: a server fills the masks of many sequences in one step, and one hostile pattern must not stop them all.
//!
//! An example: the pattern `(a|b)*a(a|b){24}x` has millions of residues that tokens can reach. Within 20 ms some hundred tokens are proven
//! to be allowed: those are the mask, and its status is a bound. The next mask finds their residues known.
//!
//! Three quarters of the work go to the exact mask. If they do not suffice, the rest goes to single tokens, proven by what is known by then.
//! First come tokens that stay in a terminal. Then tokens are tried one by one, by ascending ids, because frequent texts have low
//! ids; only short ones if many tokens are proven already. If none is proven, it is looked up how earlier searches have gone on from
//! there (`spelling::ways`). At last one token is searched
//! for without this limit: a text that can continue always has a token.
//!
//! **What a mask has shown is accepted**, although proving it again could take more work than a call may do. So a session remembers its
//! last mask. Where items or keys must differ, it also remembers the completions that were found for the mask's tokens, and follows
//! the completion of the accepted token: finding another one could take too long.

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_automata::meter::{self, Meter};
use maskwright_vocabulary::{TokenId, mask_contains};
use rustc_hash::FxHashMap;

use super::Matcher;
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin};
use crate::session::state::State;

/// A state, with the tokens left there if they are limited.
#[derive(Clone)]
struct At {
    state: State,
    n_left: Option<u32>,
}

impl At {
    fn is(&self, state: &State, n_left: Option<u32>) -> bool {
        self.n_left == n_left && self.state.is_alike(state)
    }
}

/// The last mask, and the state it was made for.
pub(super) struct Shown {
    at: At,
    mask: Arc<MaskForm>,
    /// By token, how the text can go on after it, where a search has found that out.
    ways: FxHashMap<TokenId, Arc<[TokenId]>>,
}

/// How the text at some state can go on: tokens after which a completion fits that needs no search.
#[derive(Clone)]
pub(super) struct KnownWay {
    at: At,
    tokens: Arc<[TokenId]>,
    start: usize,
}

impl KnownWay {
    /// The token to take next.
    fn first(&self) -> Option<TokenId> {
        self.tokens.get(self.start).copied()
    }
}

/// A part of the work that is kept for what is proven without searches.
const KEPT_PART: u64 = 4;

/// The work that a mask without a limit may take after one of the other limits is reached: that is no reason to end a text.
const RESCUE_WORK: u64 = 40_000_000;

/// With so many tokens proven (each byte could be one), only short ones are tried one by one. They are the ones that leave a terminal.
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
    /// For one token: single bytes that take little work, and then more; then long tokens, which matter where many characters have to come
    /// in few tokens; then a byte that takes much work.
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
    /// The mask; or what of it `work` units find, or what is found where one of the other limits is reached. Its tokens will be accepted.
    pub(super) fn mask_in(&mut self, work: Option<u64>) -> Result<MaskWithin, EngineError> {
        if meter::is_stopped() {
            return Err(EngineError::undecided());
        }
        let exact = match work {
            Some(work) => limit(work - work / KEPT_PART).run(|| self.exact_mask()),
            None => self.exact_mask(),
        };
        let mut ways = FxHashMap::default();
        let (mut mask, status) = match exact {
            Err(error) if error.is_limit() && (work.is_some() || !error.is_out_of_work()) => {
                self.bounded(work.unwrap_or(RESCUE_WORK), &mut ways)?
            }
            mask if work.is_none() => return mask,
            mask => mask?,
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
            ways.extend(shown.ways.iter().map(|(token, way)| (*token, way.clone())));
        }
        self.show(&mask, ways);
        Ok((mask, status))
    }

    /// Remembers the mask of the present state, if accepting its tokens could take more work than a call may do.
    pub(super) fn show(&mut self, mask: &Arc<MaskForm>, ways: FxHashMap<TokenId, Arc<[TokenId]>>) {
        self.shown = Some(Arc::new(Shown { at: self.at(), mask: mask.clone(), ways }));
    }

    /// Remembers how the text can go on after `token`, with which `before` has become the present state, if that is known.
    pub(super) fn go_along(&mut self, before: &State, token: TokenId) {
        let n_left = self.tokens_left(before);
        let known = match (&self.known_way, &self.shown) {
            (Some(way), _) if way.at.is(before, n_left) && way.first() == Some(token) => {
                Some((way.tokens.clone(), way.start + 1))
            }
            (_, Some(shown)) if shown.at.is(before, n_left) => {
                shown.ways.get(&token).map(|tokens| (tokens.clone(), 0))
            }
            _ => None,
        };
        self.known_way = known.map(|(tokens, start)| KnownWay { at: self.at(), tokens, start });
    }

    fn at(&self) -> At {
        At { state: self.state.clone(), n_left: self.tokens_left(&self.state) }
    }

    /// A mask where the exact one took too much.
    fn bounded(
        &self,
        work: u64,
        ways: &mut FxHashMap<TokenId, Arc<[TokenId]>>,
    ) -> Result<MaskWithin, EngineError> {
        let mut mask = limit(work / KEPT_PART).run(|| self.proven_mask(Tries::ALL, ways))?;
        if mask.len() == 0 {
            mask = limit(work).run(|| self.known_mask())?;
        }
        for tries in Tries::FOR_ONE {
            if mask.len() == 0 {
                mask = limit(tries.work.max(FOR_ONE_WORK)).run(|| self.proven_mask(tries, ways))?;
            }
        }
        if mask.len() == 0 {
            if let Some(form) = self.step_along(ways)? {
                return Ok((Arc::new(form), MaskStatus::Bound));
            }
            match self.exact_mask() {
                Err(error) if error.is_limit() => {
                    mask = limit(LAST_WORK).run(|| self.proven_mask(Tries::LAST, ways))?;
                    if mask.len() == 0 {
                        return Err(error);
                    }
                }
                mask => return mask,
            }
        }
        Ok((Arc::new(mask), MaskStatus::Bound))
    }

    /// The first token of a completion where items or keys must differ, however much work it takes to find one.
    fn step_along(
        &self,
        ways: &mut FxHashMap<TokenId, Arc<[TokenId]>>,
    ) -> Result<Option<MaskForm>, EngineError> {
        let Some(n_left) = self.tokens_left(&self.state).filter(|_| self.state.watching.is_some()) else {
            return Ok(None);
        };
        let steps = match self.ask(|machine| machine.next_steps(&self.state, n_left)) {
            Err(error) if error.is_limit() => return Ok(None),
            steps => steps?,
        };
        let Some((&first, rest)) = steps.split_first() else { return Ok(None) };
        if !rest.is_empty() {
            ways.insert(first, rest.into());
        }
        Ok(Some(MaskForm::Sparse([first.0].into())))
    }

    /// Tokens that begin completions which searches have found before.
    fn known_mask(&self) -> Result<MaskForm, EngineError> {
        let mut mask = MaskBuilder::new(self.grammar.vocabulary().n_words());
        let n_left = self.tokens_left(&self.state).unwrap_or_default();
        match self.ask(|machine| machine.add_on_known_ways(&self.state, n_left, &mut mask)) {
            Err(error) if !error.is_limit() => Err(error),
            _ => Ok(mask.finish()),
        }
    }

    /// Tokens that are proven to be allowed, and of those that are tried one by one at most `most`.
    fn proven_mask(
        &self,
        tries: Tries,
        ways: &mut FxHashMap<TokenId, Arc<[TokenId]>>,
    ) -> Result<MaskForm, EngineError> {
        let vocabulary = self.grammar.vocabulary();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        let state = &self.state;
        let n_left = self.tokens_left(state);
        if n_left != Some(0) && self.is_accepting() {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        if let Some(way) = self.known_way.as_ref().filter(|way| way.at.is(state, n_left)) {
            mask.insert_all(way.first().as_slice());
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
                Ok(Some(way)) => {
                    mask.insert_all(&[id]);
                    n_found += 1;
                    ways.extend(way.map(|way| (id, way.into())));
                }
                Ok(None) => {}
                Err(error) if error.is_limit() => {}
                Err(error) => return Err(error),
            }
            if n_found == tries.most {
                break;
            }
        }
        Ok(mask.finish())
    }

    /// Whether the last mask, made with the work that a call may do, had `token` after `state`.
    pub(super) fn has_shown(&self, state: &State, token: TokenId) -> bool {
        let Some(shown) = self.shown.as_ref().filter(|shown| shown.at.is(state, self.tokens_left(state)))
        else {
            return false;
        };
        let symbol =
            self.grammar.readings(token).symbol.map(|symbol| self.grammar.vocabulary().symbol(symbol));
        shown.mask.contains(token) || symbol.is_some_and(|symbol| shown.mask.contains(symbol))
    }

    /// What one call may do.
    pub(super) fn call_meter(&self) -> Meter {
        limit(self.mask_work.unwrap_or(u64::MAX))
    }
}

/// What a call has found with the work that it may do; `None` if that did not suffice. That a caller's own limit did not is an error.
pub(super) fn unless_out_of_work<T>(found: Result<T, EngineError>) -> Result<Option<T>, EngineError> {
    match found {
        Err(error) if error.is_out_of_work() && meter::left() > 0 => Ok(None),
        found => found.map(Some),
    }
}

/// Whether `ask` says yes of all; asked until it does not.
pub(super) fn all<T>(
    items: &[T],
    mut ask: impl FnMut(&T) -> Result<bool, EngineError>,
) -> Result<(), EngineError> {
    for item in items {
        if !ask(item)? {
            break;
        }
    }
    Ok(())
}
