//! Grammars over the tokens of a lexer.
//!
//! A front end whose language splits a text into tokens before it parses (Lark) makes a [`LexedGrammar`]:
//! rules over terminal ids, and beside them what the lexer knows of each terminal. What that is, is the
//! lexer's affair, so it is a type parameter here: this crate sees ids and names.

use crate::{Grammar, TerminalId};

/// A grammar over tokens.
///
/// The ids `0..terminals.len()` are terminals that the lexer finds in the text, in the order of `terminals`;
/// the ids after them are the `declared` ones, which something between lexer and parser makes (an
/// indentation). `rules.terminals()` has a language for each id by form only: it is a distinct word made of
/// the terminal's number and name, and says nothing of what the terminal matches.
///
/// ```
/// use maskwright_grammar::{GrammarBuilder, LexedGrammar, TerminalId};
/// let names = ["NUMBER".to_owned(), "PLUS".to_owned()];
/// let mut builder = GrammarBuilder::new();
/// let ids = LexedGrammar::<String>::placeholders(&mut builder, &names);
/// let sum = builder.declare("sum");
/// let more = builder.seq(&[ids[1], ids[0]]);
/// let more = builder.repeat(more, 0, None);
/// let body = builder.seq(&[ids[0], more]);
/// builder.define(sum, body);
/// let rules = builder.finish(sum).unwrap();
/// let grammar =
///     LexedGrammar { rules, terminals: names.to_vec(), declared: vec![], ignored: vec![TerminalId::from_index(1)] };
/// assert_eq!(grammar.n_terminals(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct LexedGrammar<T> {
    /// The rules; their terminals are names only.
    pub rules: Grammar,
    /// What the lexer finds, by terminal id.
    pub terminals: Vec<T>,
    /// The names of the terminals that are no part of the text; their ids follow those of `terminals`.
    pub declared: Vec<String>,
    /// The terminals whose tokens the parser does not get; sorted and distinct.
    pub ignored: Vec<TerminalId>,
}

impl<T> LexedGrammar<T> {
    /// How many terminal ids there are, the declared ones included.
    pub fn n_terminals(&self) -> usize {
        self.terminals.len() + self.declared.len()
    }

    /// The id of the declared terminal called `name`.
    pub fn declared_id(&self, name: &str) -> Option<TerminalId> {
        let at = self.declared.iter().position(|declared| declared == name)?;
        Some(TerminalId::from_index(self.terminals.len() + at))
    }

    /// Adds a terminal for each of `names` to `builder`, which must have none yet; the terminals' ids are
    /// the places of their names.
    pub fn placeholders(
        builder: &mut crate::GrammarBuilder,
        names: &[impl AsRef<str>],
    ) -> Vec<crate::ExprId> {
        names
            .iter()
            .enumerate()
            .map(|(id, name)| builder.literal(format!("{id}:{}", name.as_ref())))
            .collect()
    }
}
