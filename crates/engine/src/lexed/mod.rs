//! Reads grammars over the tokens of a lexer (Lark's) byte by byte.
//!
//! [`Lexed`] is one of the two readers of texts; the other one ([`bytes`](crate::bytes)) needs no lexer. It
//! is used for grammars that name a discipline of lexing, whose languages the next two paragraphs define.
//!
//! An example: with `NAME: /[a-z]+/`, `IF: "if"` and the rule `start: IF NAME | NAME "=" NAME`, the text
//! `ifx` is not in the language, because the lexer reads one name; `if x` with ignored blanks is. After `if`,
//! the reader follows both: a keyword that has ended, and a name in progress.
//!
//! **Language** (`basic`). The lexer takes, at each place of the text, the match that Lark's basic lexer
//! takes there: the first terminal in Lark's order that matches, with the match that Python's `re` finds for
//! it, keywords told apart by their text. Ignored tokens are dropped; indentation makes tokens of its own. A
//! text is in the language iff it is used up by tokens in this way and they are a sentence of the rules.
//!
//! **Language** (`contextual`). A text is in it iff it is the texts of tokens one after the other such that
//!
//! 1. the tokens that are not ignored, with what indentation makes of them, are a sentence of the rules;
//! 2. each token wins. At its place those terminals *compete* that can come next in a sentence which begins
//!    with the tokens before it (of any of its derivations); the ignored ones; and inside of brackets the
//!    terminal of line ends. A match is that which Python's `re` finds for a terminal alone. It wins iff no
//!    competitor has a longer one, or one as long that is preferred: by priority, then strings before regular
//!    expressions, then in Lark's order. But no string of punctuation loses to a longer one of its kind.
//!
//! So a split is unique except for punctuation, where the rules decide (`>>` as one operator or two
//! brackets). Rejected: only the terminals that *one* stack can read compete. What one stack is depends on
//! how the rules are written: in a grammar that has `if` with and without `else` as two rules, `else` would
//! be a name for one of them.
//!
//! **How.** A *thread* is a hypothesis of the lexer (the crate `scan`), a configuration of the parser after
//! the tokens that have ended in it, and the layout of blocks and brackets. The parser works over
//! *terminals*: its configurations are the states of a deterministic automaton, whatever reads the bytes. So
//! a lexed configuration is a small set (the open ways to lex), however ambiguous the rules are.
//!
//! The floors, each above those that it owns:
//!
//! | floor | answers |
//! |---|---|
//! | [`places`] | what a token does to the parser and to the indentation |
//! | [`scopes`] | what can still come, by sets of terminals |
//! | [`outlook`] | what is known of a thread at once |
//! | [`completions`] | whether a thread has a completion, by search where need be |
//! | [`states`] | configurations, and steps over bytes |
//! | [`lexemes`] | the tokens that were made of a text |
//! | [`masks`] | which tokens may come next |
//!
//! **Invariant (correct prefix).** Every configuration that a session is in has a thread with a completion,
//! and no thread that is known to have none. That is decided when the thread is made, by what the lexer and
//! the parser can still read; if it takes a search, at the end of what is read at once. A search may be given
//! up; then the text is refused too, and masks say so.
//!
//! Rejected: one set of threads for lexer and parser readings together (their product is followed byte by
//! byte, and nothing is shared between stacks); tables of terminal pairs that fit together (wrong where munch
//! looks further than one token, `1..2`).

mod completions;
mod lexemes;
mod masks;
mod next_tokens;
mod outlook;
mod places;
mod scopes;
mod spans;
mod states;

use std::sync::Arc;

use maskwright_scan::{LexerTables, Points};

use crate::EngineError;
use crate::parser::{ConfigId, Parser};
pub(crate) use lexemes::{Lexeme, Lexemes};
use masks::{LexedMask, Masks};
use outlook::Outlook;
pub(crate) use places::LexedThread;
use spans::Origin;
pub use spans::{SpanView, StackVerdict};
pub(crate) use states::{Settled, States};

/// The lazily built tables of one lexed grammar, beside those of its parser.
pub(crate) struct Lexed {
    pub(crate) states: States,
    masks: Masks,
}

impl Lexed {
    /// The tables before any text.
    ///
    /// # Errors
    /// If no text is in the language, or a limit is reached.
    pub(crate) fn new(tables: Arc<LexerTables>, parser: &mut Parser) -> Result<Lexed, EngineError> {
        let masks = Masks::new(&tables);
        let outlook = Outlook::new(Points::new(tables), parser)?;
        Ok(Lexed { states: States::new(outlook, parser)?, masks })
    }

    /// The lexer.
    pub(crate) fn tables(&self) -> &Arc<LexerTables> {
        self.states.places().tables()
    }

    /// The mask of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask_of_config(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<LexedMask, EngineError> {
        self.masks.mask_of_config(&mut self.states, parser, config)
    }

    /// The ways to read `text`; empty if no text of the language begins with it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn origins(&mut self, parser: &mut Parser, text: &[u8]) -> Result<Vec<Origin>, EngineError> {
        spans::origins(&mut self.states, parser, text)
    }

    /// The sequences of terminals that tokens span after `origins`, each with its tokens; by sequence.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn spans(
        &mut self,
        parser: &mut Parser,
        origins: &[Origin],
    ) -> Result<Vec<SpanView>, EngineError> {
        spans::spans(self.states.places_mut(), parser, origins)
    }

    /// Drops what is memoised. Rows have a limit of their own; configurations and layouts stay: sessions hold
    /// their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.states.clear_memo();
        self.masks.clear_memo();
    }

    /// Makes what a panic left in the middle of a call usable again; called after
    /// [`clear_memo`](Lexed::clear_memo).
    pub(crate) fn recover(&mut self) {
        self.masks.recover(self.states.places().tables());
    }

    /// Bytes that [`clear_memo`](Lexed::clear_memo) frees.
    pub(crate) fn memo_bytes(&self) -> usize {
        self.states.memo_bytes() + self.masks.memo_bytes()
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.states.memory_usage() + self.masks.memory_usage()
    }
}
