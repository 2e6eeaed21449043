//! Whole texts against a grammar, by the definitions alone: the basic lexer, indentation, Earley.

use maskwright_automata::Fuel;
use maskwright_grammar::{Layout, TerminalId};
use maskwright_lark::LarkGrammar;
use maskwright_lexing::{Discipline, Lexer, LexerLimits, lark_terminals, tokenize};

use super::Recognizer;

/// A grammar with its basic lexer and a recogniser.
pub(crate) struct Checker {
    grammar: LarkGrammar,
    lexer: Lexer,
    recognizer: Recognizer,
}

impl Checker {
    pub(crate) fn new(grammar: LarkGrammar) -> Checker {
        let fuel = Fuel::new(1 << 30);
        let ignored = grammar.lexed.ignored.iter().map(|id| id.index() as u32).collect();
        let terminals = lark_terminals(&grammar.lexed.terminals, &ignored, &fuel).unwrap();
        let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel).unwrap();
        let recognizer = Recognizer::new(&grammar.lexed);
        Checker { grammar, lexer, recognizer }
    }

    /// Whether `text` is in the grammar's language under the basic lexer.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        let (tokens, stuck) = tokenize(&self.lexer, text.as_bytes()).unwrap();
        if stuck.is_some() {
            return false;
        }
        let ignored = &self.grammar.lexed.ignored;
        let tokens = tokens
            .into_iter()
            .map(|token| (TerminalId::from_index(token.terminal as usize), &text[token.range]))
            .filter(|(id, _)| !ignored.contains(id));
        let ids = match &self.grammar.indentation {
            None => Some(tokens.map(|(id, _)| id).collect()),
            Some(indentation) => indented(tokens, indentation),
        };
        ids.is_some_and(|ids| self.recognizer.accepts_ids(&ids))
    }
}

/// The tokens with those of indentation; `None` if a line is indented like no block around it.
fn indented<'a>(
    tokens: impl Iterator<Item = (TerminalId, &'a str)>,
    indentation: &Layout,
) -> Option<Vec<TerminalId>> {
    let mut ids = Vec::new();
    let mut widths = vec![0];
    let mut n_open = 0usize;
    for (id, text) in tokens {
        if id != indentation.newline {
            n_open += usize::from(indentation.open.contains(&id));
            n_open = n_open.checked_sub(usize::from(indentation.close.contains(&id)))?;
            ids.push(id);
        } else if n_open == 0 {
            ids.push(id);
            let blanks = &text[text.rfind('\n')? + 1..];
            let width = blanks.bytes().fold(0, |width, blank| indentation.tabs.wider(width, blank));
            if indentation.tabs.is_deeper(width, *widths.last()?) {
                widths.push(width);
                ids.push(indentation.indent);
            }
            while width < *widths.last()? {
                widths.pop();
                ids.push(indentation.dedent);
            }
            if width != *widths.last()? {
                return None;
            }
        }
    }
    ids.extend((1..widths.len()).map(|_| indentation.dedent));
    Some(ids)
}
