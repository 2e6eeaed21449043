//! Patterns as instructions: the ordered automaton that is determinised.
//!
//! Pattern nodes become a few instructions each, built from the end to the beginning; a split prefers its
//! first target. No path of instructions leads back to its beginning without reading a byte: a copy of a
//! repetition that matches nothing leaves the repetition (see [`crate::find_prefix`]), so a body that may
//! match the empty word is compiled with two places to go on, one if it read nothing and one if it did. That
//! doubles such a body for each level of nesting; everything counts against the limit on instructions.
//!
//! Rejected: merging equal suffixes of different patterns. Threads know their terminal by their instruction.

mod compile;
mod utf8;

use maskwright_automata::{ByteSet, Fuel};

use crate::{Discipline, LexError, LexerTerminal};

/// How deep a pattern may be nested.
pub(crate) const MAX_DEPTH: u32 = 400;

/// The number of an instruction.
pub(crate) type Pc = u32;

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) enum Inst {
    /// Reads a byte of the set.
    Bytes(ByteSet, Pc),
    /// Reads a byte; the sets are disjoint.
    Sparse(Box<[(ByteSet, Pc)]>),
    /// Goes on at the first, and if that fails at the second.
    Split(Pc, Pc),
    /// Goes on if the automaton at `sub` matches a prefix of what follows (or does not, if `negated`).
    Look { sub: Pc, negated: bool, next: Pc },
    /// Goes on if the text so far ends with a word of the lookbehind (or does not, if `negated`).
    Behind { index: u32, negated: bool, next: Pc },
    /// The pattern has matched; of a terminal, its index.
    Match(u32),
    /// Leads nowhere.
    Fail,
}

/// A terminal's place in the program.
pub(crate) struct TerminalCode {
    pub(crate) id: u32,
    pub(crate) start: Pc,
    /// Its threads are the instructions from `first` on, up to the next terminal's.
    pub(crate) first: Pc,
    /// Less is preferred; matters for [`Discipline::LongestMatch`].
    pub(crate) rank: u32,
    /// Keywords: the instruction that says one has been read, and the keyword's terminal.
    pub(crate) keywords: Box<[(Pc, u32)]>,
    /// See [`LexerTerminal::is_operator`].
    pub(crate) is_operator: bool,
}

/// A lookbehind's place in the program.
pub(crate) struct BehindCode {
    pub(crate) start: Pc,
    pub(crate) end: Pc,
    /// Its threads are the instructions of this range.
    pub(crate) range: std::ops::Range<Pc>,
}

/// All terminals, compiled.
pub(crate) struct Program {
    pub(crate) insts: Vec<Inst>,
    pub(crate) terminals: Box<[TerminalCode]>,
    pub(crate) keyword_starts: Box<[Pc]>,
    pub(crate) behinds: Box<[BehindCode]>,
    /// Lookbehinds that may see what lies before the token, as bits.
    pub(crate) crossing: u64,
    /// Per instruction, the lookbehinds that its continuations ask for, as bits, and [`LOOKS`].
    pub(crate) asks: Box<[u64]>,
    /// Whether there is an assertion anywhere.
    pub(crate) has_assertions: bool,
    /// Per instruction, whether it can lead to a match if assertions are taken to hold.
    pub(crate) productive: Box<[bool]>,
    pub(crate) discipline: Discipline,
    /// Per byte, its class: bytes of one class are told apart by no instruction.
    pub(crate) classes: [u8; 256],
    /// Per class, one of its bytes.
    pub(crate) representatives: Vec<u8>,
}

/// The bit of [`Program::asks`] that says a lookahead can be met.
pub(crate) const LOOKS: u64 = 1 << 63;

impl Program {
    /// Compiles the terminals, O(instructions).
    pub(crate) fn new(
        terminals: &[LexerTerminal],
        discipline: Discipline,
        max_instructions: u32,
        fuel: &Fuel,
    ) -> Result<Program, LexError> {
        compile::compile(terminals, discipline, max_instructions, fuel)
    }

    pub(crate) fn inst(&self, pc: Pc) -> &Inst {
        &self.insts[pc as usize]
    }

    /// Where the thread at `pc` goes on after reading `byte`.
    pub(crate) fn after(&self, pc: Pc, byte: u8) -> Option<Pc> {
        match self.inst(pc) {
            Inst::Bytes(set, next) => set.contains(byte).then_some(*next),
            Inst::Sparse(edges) => edges.iter().find(|(set, _)| set.contains(byte)).map(|&(_, next)| next),
            _ => None,
        }
    }

    /// The index of the terminal that the instruction belongs to.
    pub(crate) fn terminal_of(&self, pc: Pc) -> usize {
        self.terminals.partition_point(|terminal| terminal.first <= pc).saturating_sub(1)
    }
}
