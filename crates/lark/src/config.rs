//! What a caller chooses, and what it gets.

use std::fmt;

use maskwright_grammar::{Grammar, Layout, LexedGrammar, SpecialNames, Tabs};
use maskwright_json_schema::SchemaConfig;
use maskwright_lexing::LarkTerminal;
use serde::{Deserialize, Serialize};

use crate::import::Resolver;

/// Which terminals compete for the next token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum LexerKind {
    /// Those that can come next in some sentence which begins with the tokens before, and the ignored ones.
    /// Of their matches, each the one that Python's `re` finds, the longest is the token; among equally long
    /// ones that of the highest priority, then strings before regular expressions, then in Lark's order.
    /// Strings of punctuation lose to no longer ones of their kind: `>>` is one operator or two brackets, and
    /// the rules decide.
    ///
    /// (Lark's own contextual lexer asks the state of its LALR parser, which may be sure of less, and takes
    /// the first match in its order, not the longest.)
    #[default]
    Contextual,
    /// All of them, everywhere: Lark's `lexer="basic"`.
    Basic,
    /// None: the rules decide alone, as with Lark's `parser="earley", lexer="dynamic_complete"`. A text is in
    /// the language iff it can be split in any way into words of terminals, and of ignored terminals between
    /// them, that the rules derive. A word of a terminal is the match that Python's `re` finds for it at that
    /// place, where assertions (`\b`, `(?!...)`, `$`) see the whole text. As in Lark, every prefix of that
    /// match is tried too, as a text of its own, and what the pattern matches there is also a word. A word of
    /// an ignored terminal is the match alone: a comment `/;[^\n]*/` runs to the end of its line. A grammar
    /// whose words depend on the text around them beyond the limits is refused. Priorities have no effect,
    /// indentation is refused. JSON Schemas in a grammar (`%json`) need it.
    DynamicComplete,
}

/// Whose dialect a grammar is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LarkDialect {
    /// Lark's.
    #[default]
    Lark,
    /// llguidance's, as far as Lark has it: with [`LexerKind::DynamicComplete`], a terminal is all that its
    /// pattern can match, in whatever order of trying, and this may be the empty text. (A pattern with
    /// assertions is read as in Lark.)
    Llguidance,
}

/// The names of the terminals that make indentation part of a grammar.
///
/// After a `newline` token outside of brackets, the blanks at its end are the new line's indentation: more
/// than before makes an `indent`, less makes a `dedent` for every block that ends.
///
/// # Example: Python's
///
/// ```
/// # mod maskwright { pub use maskwright_lark as lark; }
/// use maskwright::lark::{Indentation, Tabs};
/// let python = Indentation::python();
/// assert_eq!((python.newline, python.tabs), (vec!["_NEWLINE".to_owned(), "_NL".to_owned()], Tabs::Spaces(8)));
/// ```
///
/// # Example: other names
///
/// ```
/// # mod maskwright { pub use maskwright_lark as lark; }
/// use maskwright::lark::{Indentation, Tabs};
/// let mut indentation = Indentation::python();
/// indentation.newline = vec!["NEWLINE".to_owned()];
/// indentation.tabs = Tabs::Spaces(4);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Indentation {
    /// Names for the terminal of a line end and the blanks after it: the first that the rules use or, if they
    /// use none, the first that the grammar defines.
    pub newline: Vec<String>,
    /// The declared terminal of a block's start.
    pub indent: String,
    /// The declared terminal of a block's end.
    pub dedent: String,
    /// The terminals that suspend indentation until they are closed; what the grammar lacks is skipped.
    pub open: Vec<String>,
    /// The terminals that close what one of `open` opened.
    pub close: Vec<String>,
    /// How tabs count.
    pub tabs: Tabs,
}

impl Indentation {
    /// Python's indentation, with the names that Lark grammars use: those of Lark's `PythonIndenter`
    /// (`_NEWLINE`, `_INDENT`, `_DEDENT`, and Lark's names for `(`, `[`, `{`), and also `_NL`.
    pub fn python() -> Indentation {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Indentation {
            newline: names(&["_NEWLINE", "_NL"]),
            indent: "_INDENT".to_owned(),
            dedent: "_DEDENT".to_owned(),
            open: names(&["LPAR", "LSQB", "LBRACE"]),
            close: names(&["RPAR", "RSQB", "RBRACE"]),
            tabs: Tabs::Spaces(8),
        }
    }
}

/// What [`parse_lark`](crate::parse_lark) needs to know besides the grammar.
///
/// ```
/// use maskwright_lark::{LarkConfig, LexerKind};
/// let config = LarkConfig { lexer: LexerKind::Basic, ..LarkConfig::default() };
/// assert_eq!(config.start, "start");
/// ```
#[derive(Clone)]
pub struct LarkConfig<'a> {
    /// The rule of whole texts.
    pub start: String,
    /// Which terminals compete.
    pub lexer: LexerKind,
    /// Whether indentation makes tokens.
    pub indentation: Option<Indentation>,
    /// How the JSON Schemas in the grammar are read. Strictly in any case; but keys that a schema does not
    /// name may occur twice, since it takes a session over JSON alone to see to that, and then count twice
    /// for `minProperties` and `maxProperties`.
    pub schemas: SchemaConfig,
    /// Names of special tokens. A string in a rule, or one that is a whole terminal, is also read with the
    /// tokens that it names; it stays one token of the lexer. Other strings in terminals, and patterns, are
    /// read only as text.
    pub special: SpecialNames,
    /// Whose dialect it is.
    pub dialect: LarkDialect,
    /// Finds the grammars and schemas that are imported, before the built-in ones; files are the caller's to
    /// read.
    pub resolver: Option<&'a Resolver<'a>>,
}

impl Default for LarkConfig<'_> {
    fn default() -> Self {
        LarkConfig {
            start: "start".to_owned(),
            lexer: LexerKind::default(),
            indentation: None,
            schemas: SchemaConfig::default(),
            special: SpecialNames::default(),
            dialect: LarkDialect::default(),
            resolver: None,
        }
    }
}

impl fmt::Debug for LarkConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LarkConfig")
            .field("start", &self.start)
            .field("lexer", &self.lexer)
            .field("indentation", &self.indentation)
            .field("schemas", &self.schemas)
            .field("special", &self.special)
            .field("dialect", &self.dialect)
            .field("has_resolver", &self.resolver.is_some())
            .finish()
    }
}

/// A grammar in Lark's language, read.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lark::{LarkConfig, parse_lark};
/// let source = "start: WORD+\n%import common (WORD, WS)\n%ignore WS\n";
/// let grammar = parse_lark(source, "words.lark", &LarkConfig::default(), &Fuel::unlimited()).unwrap();
/// let names: Vec<&str> = grammar.lexed.terminals.iter().map(|terminal| &*terminal.name).collect();
/// assert_eq!(names, ["WORD", "WS"]);
/// assert_eq!(grammar.lexed.ignored.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct LarkGrammar {
    /// The rules and the terminals; these are in the order in which Lark's lexer tries them.
    pub lexed: LexedGrammar<LarkTerminal>,
    /// The terminals as regular expressions of Python's `re`, by id, for messages.
    pub regexps: Vec<String>,
    /// Which terminals compete.
    pub lexer: LexerKind,
    /// What indentation makes, if it makes tokens.
    pub indentation: Option<Layout>,
    /// The texts of the grammar without a lexer, with [`LexerKind::DynamicComplete`] and only then.
    pub over_bytes: Option<Grammar>,
}
