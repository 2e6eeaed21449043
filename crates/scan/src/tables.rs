//! What a grammar has for its lexer, beside rules: terminals, those that are ignored, indentation.

use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel};
use maskwright_grammar::{Layout, TerminalFacts, TerminalId};
use maskwright_lexing::{
    Choice, Discipline, LexError, Lexer, LexerLimits, LexerTerminal, TerminalSet, terminals_within,
};
use rustc_hash::FxHashMap;

use crate::bits::{Bits, insert, n_words};

/// The lexer of a grammar; not changed by reading.
pub struct LexerTables {
    /// The lexer, with all its states.
    pub lexer: Arc<Lexer>,
    /// What the lexer was made from.
    terminals: Vec<LexerTerminal>,
    /// How many terminals there are, the declared ones included.
    pub n_terminals: usize,
    /// By terminal id, the declared ones included.
    pub names: Vec<String>,
    /// The same as messages call them, if not by their names.
    pub labels: Vec<String>,
    /// The terminals whose tokens the parser does not get.
    pub ignored: Vec<TerminalId>,
    /// What makes indentation, if something does.
    pub layout: Option<Layout>,
    /// The terminals that are read in a way of their own: those of the layout.
    pub hidden: Bits,
    /// Whether only those terminals compete that the parser can read; otherwise all do.
    pub is_contextual: bool,
    /// Of the contextual discipline: [`Lexer::rivals`].
    pub rivals: Arc<[TerminalSet]>,
}

impl LexerTables {
    /// `terminals` are the lexer's, in its order; `names` are those of all terminals, the declared ones
    /// included. Makes all states of the lexer.
    ///
    /// # Errors
    /// If a limit of the lexer is reached, or the work is cancelled through `fuel`.
    pub fn new(
        terminals: Vec<LexerTerminal>,
        names: Vec<String>,
        ignored: Vec<TerminalId>,
        layout: Option<Layout>,
        is_contextual: bool,
        fuel: &Fuel,
    ) -> Result<LexerTables, LexError> {
        let discipline = match is_contextual {
            true => Discipline::LongestMatch,
            false => Discipline::LeftmostFirst,
        };
        let lexer = Arc::new(Lexer::new(&terminals, discipline, LexerLimits::default(), fuel)?);
        let n_terminals = names.len();
        let mut hidden: Bits = vec![0; n_words(n_terminals)].into();
        for terminal in layout.iter().flat_map(|layout| [layout.newline, layout.indent, layout.dedent]) {
            insert(&mut hidden, terminal.index());
        }
        let rivals = if is_contextual { fuel.metered(|| lexer.rivals())?.into() } else { Arc::default() };
        fuel.hold(lexer.memory_usage());
        Ok(LexerTables {
            lexer,
            terminals,
            n_terminals,
            labels: names.clone(),
            names,
            ignored,
            layout,
            hidden,
            is_contextual,
            rivals,
        })
    }

    /// The same for texts whose bytes are all in `bytes`.
    ///
    /// # Errors
    /// As [`new`](LexerTables::new).
    pub fn within(&self, bytes: &ByteSet, fuel: &Fuel) -> Result<LexerTables, LexError> {
        let terminals = terminals_within(&self.terminals, bytes);
        let (names, ignored, layout) = (self.names.clone(), self.ignored.clone(), self.layout.clone());
        let tables = LexerTables::new(terminals, names, ignored, layout, self.is_contextual, fuel)?;
        Ok(LexerTables { labels: self.labels.clone(), ..tables })
    }

    /// Whether some token of the lexer may contain one of `bytes`. `false` is always right.
    pub fn may_read(&self, bytes: &ByteSet) -> bool {
        self.terminals.iter().any(|terminal| terminal.pattern.may_read(bytes))
    }

    /// Whether the parser gets no token of `terminal`, inside of brackets or outside.
    #[inline]
    pub fn is_ignored(&self, terminal: TerminalId, is_nested: bool) -> bool {
        self.ignored.contains(&terminal) || (is_nested && self.is_newline(terminal))
    }

    /// Whether tokens of `terminal` end lines.
    #[inline]
    pub fn is_newline(&self, terminal: TerminalId) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.newline == terminal)
    }

    /// By byte, its class, and by class, one of its bytes. Bytes of a class are alike to the lexer; if it
    /// `counts_blanks`, blanks and newline characters are in classes of their own.
    pub(crate) fn byte_classes(&self, counts_blanks: bool) -> ([u8; 256], Vec<u8>) {
        let is_counted =
            |byte| counts_blanks && self.layout.is_some() && matches!(byte, b'\n' | b' ' | b'\t');
        let mut ids = FxHashMap::default();
        let (mut classes, mut representatives) = ([0; 256], Vec::new());
        for byte in 0..=255 {
            let key = (self.lexer.byte_classes()[usize::from(byte)], is_counted(byte).then_some(byte));
            let class = *ids.entry(key).or_insert(representatives.len() as u8);
            if usize::from(class) == representatives.len() {
                representatives.push(byte);
            }
            classes[usize::from(byte)] = class;
        }
        (classes, representatives)
    }

    /// What the grammar passes must know of the terminals: which of them the lexer can find.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub fn facts(&self, fuel: &Fuel) -> Result<impl Fn(TerminalId) -> TerminalFacts + use<>, LexError> {
        // A terminal that the lexer never finds, or that matches nothing by itself, has no token.
        let choice = if self.is_contextual { Choice::Each } else { Choice::Best };
        let found = fuel.metered(|| self.lexer.possible(choice))?;
        // Indentation comes with line ends.
        let made = self.layout.as_ref().filter(|layout| found.contains(layout.newline.index() as u32));
        let made = made.map(|layout| [layout.indent, layout.dedent]);
        Ok(move |terminal: TerminalId| TerminalFacts {
            is_nullable: false,
            has_proper_words: found.contains(terminal.index() as u32)
                || made.is_some_and(|made| made.contains(&terminal)),
        })
    }
}
