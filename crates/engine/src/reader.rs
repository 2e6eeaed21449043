//! The two readers, with one interface: what the bytes of texts lead to.
//!
//! A reader has a [`Parser`], which knows the rules, and adds what is known of bytes. Configurations of the
//! two readers are numbered apart: one is good for its own reader only.

mod ends;

use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel, Regex, meter};
use maskwright_grammar::Network;
use maskwright_scan::LexerTables;

use crate::EngineError;
use crate::bytes::{BytesReader, WantedRows};
use crate::ground::{MaskStatus, MaskWithin, NamedTokens};
use crate::lexed::{Lexed, SpanView};
use crate::parser::{ConfigId, Parser, Thread};
use crate::shared::Shared;

/// So many bytes are read between two looks at how much work is left.
const CHUNK: usize = 4_096;

/// What reads the bytes of texts.
pub(crate) enum Reader {
    /// Threads step the automata of their terminals byte by byte.
    Bytes(BytesReader),
    /// A lexer makes tokens of the bytes, and the parser reads their terminals.
    Lexed { lexed: Box<Lexed>, parser: Parser },
}

impl Reader {
    /// What knows the rules.
    #[inline]
    pub(crate) fn parser(&self) -> &Parser {
        match self {
            Reader::Bytes(reader) => &reader.parser,
            Reader::Lexed { parser, .. } => parser,
        }
    }

    /// What knows the rules.
    #[inline]
    pub(crate) fn parser_mut(&mut self) -> &mut Parser {
        match self {
            Reader::Bytes(reader) => &mut reader.parser,
            Reader::Lexed { parser, .. } => parser,
        }
    }

    /// The lexer and its parser.
    ///
    /// # Errors
    /// If there is no lexer.
    pub(crate) fn lexed_mut(&mut self) -> Result<(&mut Lexed, &mut Parser), EngineError> {
        match self {
            Reader::Lexed { lexed, parser } => Ok((lexed, parser)),
            Reader::Bytes(_) => Err(EngineError::argument("the grammar has no lexer")),
        }
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        match self {
            Reader::Bytes(reader) => reader.parser.start(),
            Reader::Lexed { lexed, .. } => lexed.states.start(),
        }
    }

    /// Whether the text may end here.
    pub(crate) fn is_accepting(&self, config: ConfigId) -> bool {
        match self {
            Reader::Bytes(reader) => reader.parser.configs.is_accepting(config),
            Reader::Lexed { lexed, .. } => lexed.states.configs.is_accepting(config),
        }
    }

    /// The configuration after one more byte; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed.
    #[inline]
    pub(crate) fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        match self {
            Reader::Bytes(reader) => reader.step(config, byte),
            Reader::Lexed { lexed, parser } => lexed.states.step(parser, config, byte),
        }
    }

    /// The configuration after `bytes`, read at once; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed. Limits on searches for a completion are met at the
    /// end of the bytes only.
    pub(crate) fn step_all(
        &mut self,
        config: ConfigId,
        bytes: &[u8],
    ) -> Result<Option<ConfigId>, EngineError> {
        match self {
            Reader::Bytes(reader) => {
                let mut at = config;
                for chunk in bytes.chunks(CHUNK) {
                    meter::spend(chunk.len() as u64)?;
                    match reader.step_all(at, chunk)? {
                        Some(next) => at = next,
                        None => return Ok(None),
                    }
                }
                Ok(Some(at))
            }
            Reader::Lexed { lexed, parser } => lexed.states.step_all(parser, config, bytes),
        }
    }

    /// How many of `bytes` can be read, and the configuration after them.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn advance(
        &mut self,
        mut config: ConfigId,
        bytes: &[u8],
    ) -> Result<(usize, ConfigId), EngineError> {
        match self {
            Reader::Bytes(reader) => {
                for (position, &byte) in bytes.iter().enumerate() {
                    meter::spend(1)?;
                    match reader.step(config, byte)? {
                        Some(next) => config = next,
                        None => return Ok((position, config)),
                    }
                }
                Ok((bytes.len(), config))
            }
            Reader::Lexed { lexed, parser } => lexed.states.advance(parser, config, bytes),
        }
    }

    /// The configuration from which the next token is read, after what was read before.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn begin_token(&mut self, config: ConfigId) -> Result<ConfigId, EngineError> {
        match self {
            Reader::Bytes(reader) => reader.begin_token(config),
            Reader::Lexed { .. } => Ok(config),
        }
    }

    /// The configuration of the readings of both.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn union(&mut self, first: ConfigId, second: ConfigId) -> Result<ConfigId, EngineError> {
        match self {
            _ if first == second => Ok(first),
            Reader::Bytes(reader) => reader.parser.union(first, second),
            Reader::Lexed { lexed, parser } => lexed.states.union(parser, first, second),
        }
    }

    /// The bytes that can come next.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn next_bytes(&mut self, config: ConfigId) -> Result<ByteSet, EngineError> {
        match self {
            Reader::Bytes(reader) => reader.next_bytes(config),
            Reader::Lexed { lexed, parser } => lexed.states.next_bytes(parser, config),
        }
    }

    /// The mask, and whether it is exact: it always is, unless the grammar is lexed.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask_of_config(&mut self, config: ConfigId) -> Result<MaskWithin, EngineError> {
        match self {
            Reader::Bytes(reader) => Ok((reader.mask_of_config(config)?, MaskStatus::Exact)),
            Reader::Lexed { lexed, parser } => {
                let mask = lexed.mask_of_config(parser, config)?;
                Ok((mask.form, if mask.is_exact { MaskStatus::Exact } else { MaskStatus::Bound }))
            }
        }
    }

    /// What the mask of `config` lacks and can be made beforehand.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn wanted(&mut self, config: ConfigId) -> Result<WantedRows, EngineError> {
        match self {
            Reader::Bytes(reader) => reader.wanted(config),
            Reader::Lexed { .. } => Ok(WantedRows::default()),
        }
    }

    /// What may come next by name: tokens that the grammar names by their ids; of a lexed grammar its
    /// terminals, none inside of a token that no terminal can end as it stands.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn expected(
        &mut self,
        config: ConfigId,
        named: Option<&NamedTokens>,
    ) -> Result<Vec<String>, EngineError> {
        match self {
            Reader::Bytes(reader) => reader.expected(config, named),
            Reader::Lexed { lexed, parser } => lexed.states.expected(parser, config),
        }
    }

    /// The threads whose terminals are read byte by byte; none of a lexed grammar.
    pub(crate) fn threads(&self, config: ConfigId) -> &[Thread] {
        match self {
            Reader::Bytes(reader) => reader.parser.configs.threads(config),
            Reader::Lexed { .. } => &[],
        }
    }

    /// The sequences of terminals that tokens span after `text`; `None` if no text of the language begins
    /// with it, or the grammar is not lexed.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn spans(&mut self, text: &[u8]) -> Result<Option<Vec<SpanView>>, EngineError> {
        let Reader::Lexed { lexed, parser } = self else { return Ok(None) };
        let origins = lexed.origins(parser, text)?;
        if origins.is_empty() { Ok(None) } else { lexed.spans(parser, &origins).map(Some) }
    }

    /// The reader over bytes, if it is that.
    pub(crate) fn bytes(&mut self) -> Option<&mut BytesReader> {
        match self {
            Reader::Bytes(reader) => Some(reader),
            Reader::Lexed { .. } => None,
        }
    }

    /// What the reader knows of its terminals.
    pub(crate) fn terminals(&self) -> Terminals {
        match self {
            Reader::Bytes(_) => Terminals::Bytes,
            Reader::Lexed { lexed, .. } => Terminals::Lexed(lexed.tables().clone()),
        }
    }

    /// Bytes that [`clear_memo`](Reader::clear_memo) frees.
    pub(crate) fn memo_bytes(&self) -> usize {
        match self {
            Reader::Bytes(reader) => reader.memo_bytes(),
            Reader::Lexed { lexed, parser } => lexed.memo_bytes() + parser.memo_bytes(),
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Reader::Bytes(reader) => reader.memory_usage(),
            Reader::Lexed { lexed, parser } => lexed.memory_usage() + parser.memory_usage(),
        }
    }

    /// Drops what is memoised. Configurations and stack nodes stay: sessions hold their ids.
    pub(crate) fn clear_memo(&mut self) {
        match self {
            Reader::Bytes(reader) => reader.clear_memo(),
            Reader::Lexed { lexed, parser } => {
                lexed.clear_memo();
                parser.clear_memo();
            }
        }
    }

    /// Makes what a panic left in the middle of a call usable again. What only grows (configurations, stacks,
    /// a lexer's hypotheses) is whole up to its last entry; all else is dropped.
    pub(crate) fn recover(&mut self) {
        match self {
            Reader::Bytes(reader) => reader.recover(),
            Reader::Lexed { lexed, parser } => {
                lexed.clear_memo();
                lexed.recover();
                parser.recover();
            }
        }
    }
}

/// What a reader knows of its terminals before any text.
#[derive(Clone)]
pub(crate) enum Terminals {
    /// What the rules say of them is all.
    Bytes,
    /// They are names to the rules, and a lexer knows their languages.
    Lexed(Arc<LexerTables>),
}

impl Terminals {
    /// A reader with `parser` before any text.
    ///
    /// # Errors
    /// If no text is in the language, or a limit is reached.
    pub(crate) fn reader(&self, mut parser: Parser) -> Result<Reader, EngineError> {
        Ok(match self {
            Terminals::Bytes => Reader::Bytes(BytesReader::new(parser)),
            Terminals::Lexed(tables) => {
                let lexed = Box::new(Lexed::new(tables.clone(), &mut parser)?);
                Reader::Lexed { lexed, parser }
            }
        })
    }

    /// The terminals, and rules over them, for texts whose bytes are all in `bytes`.
    ///
    /// # Errors
    /// If no text is left, a limit is reached, or the work is cancelled through `fuel`.
    pub(crate) fn within(
        &self,
        network: Network,
        bytes: &ByteSet,
        shared: &Shared,
        fuel: &Fuel,
    ) -> Result<(Terminals, Network), EngineError> {
        match self {
            Terminals::Bytes => {
                let terminals: Vec<Regex> =
                    network.terminals().iter().map(|regex| regex.within(bytes)).collect();
                let facts = shared.all_facts(&terminals, fuel)?;
                let network = network.with_terminals(terminals, |id| facts[id.index()], fuel)?;
                Ok((Terminals::Bytes, network))
            }
            Terminals::Lexed(tables) => {
                let tables = Arc::new(tables.within(bytes, fuel)?);
                let terminals = network.terminals().to_vec();
                let network = network.with_terminals(terminals, tables.facts(fuel)?, fuel)?;
                Ok((Terminals::Lexed(tables), network))
            }
        }
    }

    /// Whether some text may contain one of `bytes`. `false` is always right.
    pub(crate) fn may_read(&self, network: &Network, bytes: &ByteSet) -> bool {
        match self {
            Terminals::Bytes => network.terminals().iter().any(|terminal| terminal.may_read(bytes)),
            Terminals::Lexed(tables) => tables.may_read(bytes),
        }
    }

    /// Whether a search for completions may miss some: with the contextual lexer, tokens ahead are read
    /// strictly.
    pub(crate) fn may_miss_completions(&self) -> bool {
        matches!(self, Terminals::Lexed(tables) if tables.is_contextual)
    }

    /// Their languages in regular-expression notation, by number; their names if a lexer reads them.
    pub(crate) fn shown(&self, network: &Network) -> Vec<String> {
        match self {
            Terminals::Bytes => network.terminals().iter().map(|regex| format!("{regex:?}")).collect(),
            Terminals::Lexed(tables) => tables.names.clone(),
        }
    }
}
