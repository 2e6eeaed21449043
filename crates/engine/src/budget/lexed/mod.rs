//! Limits on tokens for grammars over the tokens of a lexer.
//!
//! An example: in a language of sums, after `(1`, with the tokens `1`, `+`, `)` and `1)`, two tokens complete
//! the text: `)` and EOS. With two left, `)` is allowed and `+` is not, because `1)` and EOS must come after
//! it.
//!
//! As over bytes (`super`), one completion of a configuration is chosen and spelled with the fewest tokens.
//! It is made of tokens of the lexer, by thread (`lexed::completions::ways`): a sum over terminals would be
//! no bound, since the lexer takes the longest match, wherever that ends. The chosen text is then stepped
//! through, so the number is that of a completion.
//!
//! Where that finds none (words that cannot stand side by side; bytes that are no tokens), completions are
//! searched for, first by text, then by tokens (`by_tokens`).
//!
//! [`groups`] has the tokens of a mask by what they lead to; a mask under a limit asks each group for its
//! number.
//!
//! Rejected: the least number of tokens, by a search whose control state is a hypothesis of the lexer, what
//! may be left of a token, and the blocks around.

mod groups;

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use super::by_tokens::{Found, TokenGroups, Walk, search};
use super::chains::{Chains, Print, RestId};
use super::spelled::spelled;
use super::words::Word;
use crate::EngineError;
use crate::ground::{MANY, MaskBuilder, MaskStatus, MaskWithin, NEVER, TokenCountStatus, plus};
use crate::lexed::{LexedThread, States};
use crate::parser::{ConfigId, Parser};
use groups::Groups;

/// What is known about the budgets of one lexed grammar's texts.
pub(crate) struct LexedBudget {
    chains: Chains,
    of_threads: FxHashMap<LexedThread, Option<RestId>>,
    /// How the texts of configurations can be completed.
    found: FxHashMap<ConfigId, Found>,
    groups: Groups,
    /// The bytes that are tokens.
    bytes: ByteSet,
    end_cost: u32,
    n_bytes: usize,
    /// Bytes that answers may take before they are dropped: completions and groups are two kinds.
    max_bytes: usize,
}

impl LexedBudget {
    /// Nothing is known yet.
    pub(super) fn new(parser: &Parser) -> LexedBudget {
        let vocabulary = &parser.shared.vocabulary;
        LexedBudget {
            chains: Chains::new(),
            of_threads: FxHashMap::default(),
            found: FxHashMap::default(),
            groups: Groups::default(),
            bytes: vocabulary.single_bytes(),
            end_cost: u32::from(!vocabulary.eos_token_ids().is_empty()),
            n_bytes: 0,
            max_bytes: 2 * parser.shared.limits.table_bytes(),
        }
    }

    /// Drops what is memoised if it has grown beyond the limit.
    pub(super) fn trim(&mut self) {
        if self.memory_usage() > self.max_bytes {
            self.clear();
        }
    }

    /// Drops what is memoised.
    pub(super) fn clear(&mut self) {
        self.chains = Chains::new();
        self.of_threads = FxHashMap::default();
        self.found = FxHashMap::default();
        self.groups = Groups::default();
        self.n_bytes = 0;
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.chains.memory_usage() + self.groups.memory_usage() + self.n_bytes
    }

    /// So many tokens complete the text, EOS included; [`NEVER`] if none are known to.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn least(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        let least = match self.found(states, parser, config)? {
            Found::Way(way) => plus(way.len() as u32, self.end_cost),
            Found::Nothing => return Ok((NEVER, TokenCountStatus::Exact)),
            Found::GivenUp => NEVER,
        };
        let is_least = least == self.floor(states, config);
        Ok((least, if is_least { TokenCountStatus::Exact } else { TokenCountStatus::Upper }))
    }

    /// Whether at most `n_left` tokens complete the text; `None` if no such completion is known, although
    /// there may be one.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn fits(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<bool>, EngineError> {
        if n_left < self.floor(states, config) {
            return Ok(Some(false));
        }
        let (least, status) = self.least(states, parser, config)?;
        Ok(match least <= n_left && least != NEVER {
            true => Some(true),
            false => (status == TokenCountStatus::Exact).then_some(false),
        })
    }

    /// No fewer tokens complete the text: one that may not end takes one more than its end.
    fn floor(&self, states: &States, config: ConfigId) -> u32 {
        self.end_cost + u32::from(!states.configs.is_accepting(config))
    }

    /// Tokens that complete the text, without one for its end, as many as [`least`](LexedBudget::least) says.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn way(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        Ok(match self.found(states, parser, config)? {
            Found::Way(way) => Some(way.to_vec()),
            Found::Nothing | Found::GivenUp => None,
        })
    }

    /// The mask of `config` with `n_left` tokens left, EOS included; `None` for that without a limit. A bound
    /// may be empty.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn limited_mask(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<MaskWithin>, EngineError> {
        let grouped = self.groups.of(states, parser, config)?;
        if grouped.highest.is_some_and(|highest| n_left > highest) {
            return Ok(None);
        }
        let (is_exact, list) = (grouped.is_exact, grouped.list.clone());
        let vocabulary = parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        let mut status = if is_exact { MaskStatus::Exact } else { MaskStatus::Bound };
        if states.configs.is_accepting(config) && n_left >= self.end_cost {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        let room = if n_left == MANY { MANY } else { n_left.saturating_sub(1) };
        // The most tokens after any group, as long as there is a number for each.
        let mut highest = Some(self.end_cost);
        for (next, tokens) in list.iter() {
            let (least, of_least) = self.least(states, parser, *next)?;
            highest = highest.filter(|_| least != NEVER).map(|highest| highest.max(least));
            if least <= room && least != NEVER {
                mask.union(tokens);
            } else if of_least == TokenCountStatus::Upper {
                status = MaskStatus::Bound;
            }
        }
        if parser.shared.options.use_memo {
            self.groups.of(states, parser, config)?.highest = highest.filter(|_| is_exact);
        }
        if is_exact && highest.is_some_and(|highest| n_left > highest) {
            return Ok(None);
        }
        Ok(Some((Arc::new(mask.finish()), status)))
    }

    /// A completion.
    fn found(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Found, EngineError> {
        if states.configs.is_accepting(config) {
            return Ok(Found::Way([].into()));
        }
        if let Some(known) = self.found.get(&config) {
            return Ok(known.clone());
        }
        let mut found = None;
        if let Some(text) = self.text(states, parser, config)? {
            found = judged(states, parser, config, &text)?;
        }
        if found.is_none() {
            let bytes = self.bytes;
            let text = states.completing_text(parser, config, &|byte| bytes.contains(byte))?;
            if let Some(text) = text {
                found = judged(states, parser, config, &text)?;
            }
        }
        let found = match found {
            Some(way) => Found::Way(way.into()),
            None => search(&mut Lexing { groups: &mut self.groups, states, parser }, config)?,
        };
        if parser.shared.options.use_memo {
            self.n_bytes += 64 + if let Found::Way(way) = &found { way.len() * 4 } else { 0 };
            self.found.insert(config, found.clone());
        }
        Ok(found)
    }

    /// The text of the threads' ways that takes the fewest tokens.
    fn text(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let mut best: Option<((u32, Print), RestId)> = None;
        for thread in states.configs.threads(config).to_vec() {
            let Some(rest) = self.rest(states, parser, thread)? else { continue };
            let key = (self.chains.number(rest), self.chains.print(rest));
            if key.0 != NEVER && best.is_none_or(|(known, _)| key < known) {
                best = Some((key, rest));
            }
        }
        Ok(best.map(|(_, rest)| {
            let mut text = Vec::new();
            self.chains.write(rest, &mut text);
            text
        }))
    }

    /// What is left of the text on the way from a thread.
    fn rest(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<RestId>, EngineError> {
        let mut path = Vec::new();
        let mut at = Some(thread);
        let mut rest = Some(RestId::END);
        while let Some(thread) = at {
            if let Some(&known) = self.of_threads.get(&thread) {
                rest = known;
                break;
            }
            match states.step_to_end(parser, thread)? {
                Some(step) => {
                    path.push((thread, step.text));
                    at = step.next;
                }
                None => {
                    self.of_threads.insert(thread, None);
                    rest = None;
                    break;
                }
            }
        }
        let trie = parser.shared.vocabulary.clone();
        for (thread, text) in path.into_iter().rev() {
            if let Some(behind) = rest {
                let print = Print::of(&text);
                rest = match text.is_empty() {
                    true => Some(behind),
                    false => self.chains.put(trie.trie(), Word::whole(text), print, behind)?,
                };
            }
            self.n_bytes += 24;
            self.of_threads.insert(thread, rest);
        }
        Ok(rest)
    }
}

/// The fewest tokens that spell a text, if the lexer reads it to an end of the text.
fn judged(
    states: &mut States,
    parser: &mut Parser,
    config: ConfigId,
    text: &[u8],
) -> Result<Option<Vec<TokenId>>, EngineError> {
    let vocabulary = parser.shared.vocabulary.clone();
    let Some(tokens) = spelled(vocabulary.trie(), text)? else { return Ok(None) };
    let mut at = config;
    for &token in &tokens {
        match states.step_all(parser, at, vocabulary.text(token).unwrap_or_default())? {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(states.configs.is_accepting(at).then_some(tokens))
}

/// The tokens of a lexed grammar's masks.
struct Lexing<'a> {
    groups: &'a mut Groups,
    states: &'a mut States,
    parser: &'a mut Parser,
}

impl Walk for Lexing<'_> {
    fn n_words(&self) -> usize {
        self.parser.shared.vocabulary.n_words()
    }

    fn n_threads(&self, config: ConfigId) -> usize {
        let threads = self.states.configs.threads(config).iter();
        threads.map(|thread| self.parser.configs.threads(thread.parser).len()).sum()
    }

    fn is_complete(&self, config: ConfigId) -> bool {
        self.states.configs.is_accepting(config)
    }

    fn groups(&mut self, config: ConfigId) -> Result<(TokenGroups, bool), EngineError> {
        let grouped = self.groups.of(self.states, self.parser, config)?;
        Ok((grouped.list.clone(), grouped.is_exact))
    }

    fn n_left(&mut self, config: ConfigId) -> Result<usize, EngineError> {
        Ok(self.states.fewest_terminals(self.parser, config) as usize)
    }
}
