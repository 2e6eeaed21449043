//! Grammars as text, for `debug ir`.

use std::fmt;

use maskwright_grammar::TokenSet;
use maskwright_lexing::{LarkTerminal, PatternNode};

use crate::LarkGrammar;

impl fmt::Display for LarkGrammar {
    /// The rules, one a line, with terminals by name; then the terminals in the order in which the lexer
    /// tries them, with their patterns as Python's `re` reads them, and what is special about them.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_lark::{LarkConfig, parse_lark};
    /// let source = "start: WORD+\nWORD: /[a-z]+/\nSPACE: \" \"\n%ignore SPACE\n";
    /// let grammar = parse_lark(source, "words.lark", &LarkConfig::default(), &Fuel::unlimited()).unwrap();
    /// let shown = grammar.to_string();
    /// assert!(shown.starts_with("*start ::= (WORD){1,}\n"), "{shown}");
    /// assert!(shown.contains("WORD: /[a-z]+/\n") && shown.contains("SPACE: /\\ / (ignored)\n"), "{shown}");
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        f.write_str(&self.lexed.rules.show_with(|terminal| names[terminal.index()].to_owned()))?;
        for (id, (terminal, regexp)) in self.lexed.terminals.iter().zip(&self.regexps).enumerate() {
            if names_tokens(terminal) {
                writeln!(f, "{}: (a token of the vocabulary)", terminal.name)?;
                continue;
            }
            write!(f, "{}: /", terminal.name)?;
            for c in regexp.chars() {
                if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
            }
            f.write_str("/")?;
            if terminal.priority != 0 {
                write!(f, " (priority {})", terminal.priority)?;
            }
            let is_ignored = self.lexed.ignored.iter().any(|ignored| ignored.index() == id);
            f.write_str(if is_ignored { " (ignored)\n" } else { "\n" })?;
        }
        for name in &self.lexed.declared {
            let what = if name.starts_with('%') { "a JSON Schema" } else { "declared" };
            writeln!(f, "{name}: ({what})")?;
        }
        Ok(())
    }
}

/// Whether the terminal is a set of tokens.
fn names_tokens(terminal: &LarkTerminal) -> bool {
    match terminal.pattern.node() {
        PatternNode::Literal(word) => TokenSet::of_word(word).is_some(),
        _ => false,
    }
}

impl LarkGrammar {
    /// The names of the terminals by id, the declared ones included.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let lexed = self.lexed.terminals.iter().map(|terminal| terminal.name.as_str());
        lexed.chain(self.lexed.declared.iter().map(String::as_str))
    }
}
