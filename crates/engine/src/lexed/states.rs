//! Configurations of a text, and the steps between them.
//!
//! A configuration is a set of [threads](LexedThread), the readings of a text that may still come true.
//! [`States`] interns them and keeps the steps over bytes. This is the floor that sessions, masks and limits
//! on tokens stand on.
//!
//! An example: after `1.` in a language with the numbers `1.` and `1` and the operator `..`, a configuration
//! has two threads: one in the middle of a number, one after the number `1` in the middle of `..`. The byte
//! `.` leaves the second, any digit the first.
//!
//! Whether a thread has a completion is mostly known at once, but some take a search, which may be given up
//! ([`completions`](super::completions)). So bytes that are read at once, those of a token, are read
//! *loosely* ([`step_loosely`](States::step_loosely)): threads are kept unless they are cheaply seen to be
//! dead. The search is made once, for the threads at the end ([`settle`](States::settle)). A mask asks about
//! the ends of tokens too, so what it allows is accepted, however hard it is to say what may follow a part of
//! it.
//!
//! If a search is given up, its thread is kept if another one has a completion: the text has one then, and
//! masks judge the ends of tokens anew. If no thread is known to have one, the text is *undecided*: it is
//! refused, and a mask that leaves it out says that it is a bound. If a longer text is read in one call, only
//! its end is judged, so a whole text of the language is always accepted.
//!
//! Rejected: a search for each thread at each byte. A mask then allowed tokens (`"ab"`, which has a short
//! completion) that could not be accepted because of a byte within (`"a"`: one of its readings has no
//! completion within the limits of a search).

use maskwright_automata::{ByteSet, meter};
use maskwright_scan::LayoutId;
use rustc_hash::FxHashMap;

use super::completions::{Completions, Step, limit};
use super::outlook::Outlook;
use super::places::{LexedThread, Places};
use crate::EngineError;
use crate::ground::hooks;
use crate::parser::{ConfigId, Configurations, Parser};

/// Of bytes read at once, searches are made after so many, so that dead threads do not pile up.
const MAX_LOOSE: usize = 64;
/// Units of work that a byte takes for each thread.
const UNITS_PER_STEP: u64 = 16;

/// A configuration after its threads were judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    /// The threads that have a completion, at least one, and those for which this is not known.
    Viable(ConfigId),
    /// No thread has a completion.
    Dead,
    /// No thread is known to have a completion, but searches were given up.
    Undecided,
}

impl Settled {
    /// The configuration, if the text is known to have a completion.
    pub(crate) fn viable(self) -> Option<ConfigId> {
        match self {
            Settled::Viable(config) => Some(config),
            Settled::Dead | Settled::Undecided => None,
        }
    }
}

/// The configurations met, and the steps between them.
pub(crate) struct States {
    pub(super) completions: Completions,
    pub(crate) configs: Configurations<LexedThread>,
    start: ConfigId,
    /// `(config << 8 | byte)` to the configuration after the byte, before searches.
    transitions: FxHashMap<u64, Option<ConfigId>>,
    /// Configurations with a thread whose completion only a search finds, and their verdict; unknown if no
    /// search was made yet.
    unsettled: FxHashMap<ConfigId, Option<Settled>>,
    memo_bytes: usize,
}

impl States {
    /// Only the configuration before any text.
    ///
    /// # Errors
    /// If no text is in the language, or a limit is reached.
    pub(super) fn new(outlook: Outlook, parser: &mut Parser) -> Result<States, EngineError> {
        let mut states = States {
            completions: Completions::new(outlook),
            configs: Configurations::new(),
            start: ConfigId(0),
            transitions: FxHashMap::default(),
            unsettled: FxHashMap::default(),
            memo_bytes: 0,
        };
        let first = states.places_mut().points.hypotheses.start()?;
        let thread =
            states.completions.outlook.thread_at(parser, first, (parser.start(), LayoutId::START))?;
        match states.completions.is_viable(parser, thread)? {
            Some(true) => {}
            Some(false) => return Err(EngineError::NoText),
            None => return Err(limit()),
        }
        states.start = states.intern(parser, &mut vec![thread])?.unwrap_or(ConfigId(0));
        Ok(states)
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        self.start
    }

    /// The lexer and the layouts.
    #[inline]
    pub(crate) fn places(&self) -> &Places {
        &self.completions.outlook.places
    }

    /// The lexer and the layouts.
    #[inline]
    pub(crate) fn places_mut(&mut self) -> &mut Places {
        &mut self.completions.outlook.places
    }

    /// The configuration after one more byte; `None` if no word of the language is known to continue with it.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn step(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        byte: u8,
    ) -> Result<Option<ConfigId>, EngineError> {
        match self.step_loosely(parser, config, byte)? {
            Some(next) => Ok(self.settle(parser, next)?.viable()),
            None => Ok(None),
        }
    }

    /// The configuration after `bytes`; `None` if no word of the language is known to continue with them.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn step_all(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        bytes: &[u8],
    ) -> Result<Option<ConfigId>, EngineError> {
        Ok(self.settle_all(parser, config, bytes)?.viable())
    }

    /// The judged configuration after `bytes`.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn settle_all(
        &mut self,
        parser: &mut Parser,
        mut config: ConfigId,
        bytes: &[u8],
    ) -> Result<Settled, EngineError> {
        for (index, &byte) in bytes.iter().enumerate() {
            match self.step_loosely(parser, config, byte)? {
                Some(next) => config = next,
                None => return Ok(Settled::Dead),
            }
            if (index + 1) % MAX_LOOSE == 0 {
                meter::spend(MAX_LOOSE as u64)?;
                match self.settle(parser, config)? {
                    Settled::Viable(settled) => config = settled,
                    Settled::Dead => return Ok(Settled::Dead),
                    // A thread may prove to have one after more bytes.
                    Settled::Undecided => {}
                }
            }
        }
        self.settle(parser, config)
    }

    /// The threads after one more byte, except those that are cheaply seen to have no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn step_loosely(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        byte: u8,
    ) -> Result<Option<ConfigId>, EngineError> {
        let key = u64::from(config.0) << 8 | u64::from(byte);
        if let Some(&known) = self.transitions.get(&key) {
            return Ok(known);
        }
        parser.begin_work()?;
        hooks::reach("lexed step");
        meter::spend(UNITS_PER_STEP * (1 + self.configs.threads(config).len() as u64))?;
        let mut after = Vec::new();
        let mut is_settled = true;
        for index in 0..self.configs.threads(config).len() {
            let thread = self.configs.threads(config)[index];
            let outlook = &mut self.completions.outlook;
            for (_, next) in outlook.after_byte(parser, thread, byte)? {
                let is_viable = outlook.is_viable_at_once(parser, next)?;
                if is_viable != Some(false) {
                    after.push(next);
                    is_settled &= is_viable.is_some();
                }
            }
        }
        let next = self.intern(parser, &mut after)?;
        if let Some(next) = next.filter(|_| !is_settled) {
            self.unsettled.entry(next).or_insert(None);
        }
        if parser.shared.options.use_memo {
            self.transitions.insert(key, next);
            self.memo_bytes += 24;
        }
        Ok(next)
    }

    /// Judges a configuration: removes the threads that have no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn settle(&mut self, parser: &mut Parser, config: ConfigId) -> Result<Settled, EngineError> {
        match self.unsettled.get(&config) {
            None => return Ok(Settled::Viable(config)),
            Some(&Some(known)) => return Ok(known),
            Some(None) => {}
        }
        parser.begin_work()?;
        let mut left: Vec<LexedThread> = Vec::new();
        let (mut has_completion, mut is_open) = (false, false);
        for index in 0..self.configs.threads(config).len() {
            let thread = self.configs.threads(config)[index];
            let is_viable = self.completions.is_viable(parser, thread)?;
            has_completion |= is_viable == Some(true);
            is_open |= is_viable.is_none();
            if is_viable != Some(false) {
                left.push(thread);
            }
        }
        let settled = if has_completion {
            self.intern(parser, &mut left)?.map_or(Settled::Dead, Settled::Viable)
        } else if is_open {
            Settled::Undecided
        } else {
            Settled::Dead
        };
        self.unsettled.insert(config, Some(settled));
        Ok(settled)
    }

    /// The bytes that can come next, and those for which this could not be decided.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn next_bytes(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<ByteSet, EngineError> {
        if let Some(known) = self.configs.next_bytes(config) {
            return Ok(known);
        }
        parser.begin_work()?;
        let mut bytes = ByteSet::EMPTY;
        for byte in 0..=255 {
            let next = match self.step_loosely(parser, config, byte)? {
                Some(next) => self.settle(parser, next)?,
                None => Settled::Dead,
            };
            if next != Settled::Dead {
                bytes.insert(byte);
            }
        }
        self.configs.set_next_bytes(config, bytes);
        Ok(bytes)
    }

    /// How many of `bytes` are known to be able to come next, and the configuration after them.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn advance(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        bytes: &[u8],
    ) -> Result<(usize, ConfigId), EngineError> {
        let (mut known, mut last) = ((0, config), config);
        for (index, &byte) in bytes.iter().enumerate() {
            meter::spend(1)?;
            let Some(next) = self.step_loosely(parser, last, byte)? else { break };
            last = next;
            match self.settle(parser, next)? {
                Settled::Viable(settled) => {
                    last = settled;
                    known = (index + 1, settled);
                }
                Settled::Dead => break,
                // The bytes after it may prove that it can come.
                Settled::Undecided => {}
            }
        }
        Ok(known)
    }

    /// The configuration of the readings of two.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn union(
        &mut self,
        parser: &mut Parser,
        first: ConfigId,
        second: ConfigId,
    ) -> Result<ConfigId, EngineError> {
        let mut threads = [self.configs.threads(first), self.configs.threads(second)].concat();
        Ok(self.intern(parser, &mut threads)?.unwrap_or(first))
    }

    fn intern(
        &mut self,
        parser: &mut Parser,
        threads: &mut Vec<LexedThread>,
    ) -> Result<Option<ConfigId>, EngineError> {
        if threads.is_empty() {
            return Ok(None);
        }
        threads.sort_unstable();
        threads.dedup();
        parser.check_threads(threads.len())?;
        let mut is_accepting = false;
        for &thread in threads.iter() {
            is_accepting |= self.places().points.hypotheses.ends_here(thread.hypothesis)
                && self.places_mut().can_end(parser, (thread.parser, thread.layout))?.value;
        }
        Ok(Some(self.configs.intern(threads, is_accepting)))
    }

    /// The fewest terminals with which the rules can finish the text; [`u32::MAX`] if they cannot.
    pub(crate) fn fewest_terminals(&mut self, parser: &mut Parser, config: ConfigId) -> u32 {
        let threads = self.configs.threads(config).iter();
        threads
            .map(|thread| self.completions.fewest_terminals(parser, thread.parser))
            .min()
            .unwrap_or(u32::MAX)
    }

    /// The first step of the way from a thread to the end of the text; of bytes that the lexer does not tell
    /// apart, one that is a token. `None` if no way is found.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn step_to_end(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<Step>, EngineError> {
        self.completions.step_to_end(parser, thread)
    }

    /// Some text that completes one of `config`, found with the lexer's actual steps. Of the bytes in one
    /// class, it has one that `prefers` accepts, if there is one. `None` if no text is found, and for
    /// grammars with indentation.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn completing_text(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        prefers: &dyn Fn(u8) -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        self.completions.completing_text(parser, self.configs.threads(config), prefers)
    }

    /// The names of the terminals that the next token may be of, for messages.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(crate) fn expected(&mut self, parser: &Parser, config: ConfigId) -> Result<Vec<String>, EngineError> {
        let outlook = &mut self.completions.outlook;
        let mut names = Vec::new();
        for &thread in self.configs.threads(config) {
            let expected = outlook.expected(parser, thread)?;
            let tables = outlook.places.tables();
            names.extend(expected.into_iter().map(|terminal| tables.labels[terminal.index()].clone()));
        }
        Ok(names)
    }

    /// Drops what is memoised. Configurations stay: sessions hold their ids.
    pub(super) fn clear_memo(&mut self) {
        self.completions.clear_memo();
        self.transitions = FxHashMap::default();
        self.unsettled = FxHashMap::default();
        self.memo_bytes = 0;
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.memo_bytes + self.completions.memo_bytes()
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.memo_bytes + self.configs.memory_usage() + self.completions.memory_usage()
    }
}
