//! A whole text into tokens, by the definition.

use std::ops::Range;

use crate::{LexError, LexState, Lexer};

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its terminal's id.
    pub terminal: u32,
    /// The bytes it takes.
    pub range: Range<usize>,
}

/// The tokens of `text` one after the other; and the place where no terminal matches, if there is one.
///
/// All matches are followed with their guards until one is left: O(bytes read), where a token is read again
/// after its end as far as the lexer must look.
///
/// # Errors
/// A limit of the lexer is reached.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Discipline, Flags, Lexer, LexerLimits, LexerTerminal, parse_python, tokenize};
/// let fuel = Fuel::new(100_000);
/// let terminal = |id, source| Ok::<_, maskwright_lexing::PatternError>(
///     LexerTerminal::new(id, parse_python(source, Flags::default(), &fuel)?));
/// let terminals = [terminal(0, r"\d+(?!\.)")?, terminal(1, r"\d+\.\d+")?, terminal(2, " ")?];
/// let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel)?;
/// let (tokens, stuck) = tokenize(&lexer, b"12 3.4!")?;
/// let terminals: Vec<u32> = tokens.iter().map(|token| token.terminal).collect();
/// assert_eq!((terminals.as_slice(), stuck), (&[0, 2, 1][..], Some(6)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tokenize(lexer: &Lexer, text: &[u8]) -> Result<(Vec<Token>, Option<usize>), LexError> {
    let (mut tokens, mut at, mut start) = (Vec::new(), 0, lexer.start());
    while at < text.len() {
        let Some((token, end)) = next_token(lexer, start, text, at)? else {
            return Ok((tokens, Some(at)));
        };
        at = token.range.end;
        start = lexer.restart(end)?;
        tokens.push(token);
    }
    Ok((tokens, None))
}

/// The token of `text` at byte `at`, where the lexer is in the state `start`, and the state at its end.
fn next_token(
    lexer: &Lexer,
    start: LexState,
    text: &[u8],
    at: usize,
) -> Result<Option<(Token, LexState)>, LexError> {
    struct Candidate {
        terminal: u32,
        end: usize,
        state: LexState,
        /// `None`: nothing can refute it any more.
        guard: Option<LexState>,
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut reading = Some(start);
    for (offset, &byte) in text.iter().enumerate().skip(at) {
        let mut standing = Vec::with_capacity(candidates.len());
        for mut candidate in candidates {
            if let Some(guard) = candidate.guard {
                candidate.guard = lexer.step(guard, byte)?;
            }
            if !candidate.guard.is_some_and(|guard| lexer.refutes(guard)) {
                standing.push(candidate);
            }
        }
        candidates = standing;
        if let Some(state) = reading {
            reading = lexer.step(state, byte)?;
        }
        if let Some(state) = reading {
            candidates.extend(lexer.accepts(state).iter().map(|accept| Candidate {
                terminal: accept.terminal,
                end: offset + 1,
                state,
                guard: Some(accept.guard),
            }));
        } else if candidates.iter().all(|candidate| candidate.guard.is_none()) {
            break;
        }
    }
    candidates.retain(|candidate| !candidate.guard.is_some_and(|guard| lexer.refutes_at_end(guard)));
    debug_assert!(candidates.len() <= 1, "of all matches one stands at most");
    Ok(candidates
        .pop()
        .map(|candidate| (Token { terminal: candidate.terminal, range: at..candidate.end }, candidate.state)))
}
