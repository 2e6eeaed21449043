//! The front end for grammars in Lark's language: text in, typed lexed grammar out.
//!
//! [`parse_lark`] reads a grammar as the documentation of Lark defines it and gives a [`LarkGrammar`]: rules
//! over terminal ids, and terminals as ordered patterns. Nothing here runs a lexer or a parser. The passes, a
//! file each:
//!
//! tokens (`token`) → statements (`parser`, `tree`) → definitions, imports read and names found
//! (`definitions`, `import`) → texts of terminals (`terminals`, `pattern_text`) → rules without templates and
//! literals (`rules`) → what is used (`used`) → the grammar (`compile`), and where no lexer is wanted, the
//! same over bytes (`over_bytes`, `in_context`).
//!
//! Beyond Lark, `%json {...}` in a rule, or as a rule or terminal of its own, is the texts of that JSON
//! Schema, and `%json "call.json"` those of the schema in that file. Schemas are read, and must be right,
//! also where nothing uses them. From llguidance: `x{2,5}`, `x{2}`, `x{2,}` and `x{,5}`, `@name` for the rule
//! `start` of a grammar that the caller gave, and in its own dialect `%llguidance {...}`.
//!
//! Only recognition counts: aliases, priorities of rules and what shapes trees are read and have no effect.
//! Which terminals compete, and in which order, is Lark's to the letter, since that is part of the language.
//! Every failure is a [`SyntaxError`] with its place.
//!
//! Accepted beyond Lark: alternatives of a rule that are the same twice. Refused beyond Lark: imports of
//! names that are not there, even where nothing uses them; names of mixed case, which Lark takes for two
//! names (`aB` for `a B`). The built-in grammars are read by [`builtin()`]; of the grammars that come with
//! Lark, `common` can be imported.

mod builtin;
mod compile;
mod config;
mod definitions;
mod error;
mod first_bytes;
mod import;
mod in_context;
mod indentation;
mod over_bytes;
mod parser;
mod pattern_text;
mod render;
mod rules;
mod source;
mod strings;
mod terminals;
mod token;
mod tree;
mod used;

pub use builtin::{Builtin, builtin, builtin_names};
pub use compile::parse_lark;
pub use config::{Indentation, LarkConfig, LarkDialect, LarkGrammar, LexerKind};
pub use import::{ImportRequest, ImportedGrammar, Resolver};
pub use maskwright_grammar::Tabs;
pub use maskwright_syntax::SyntaxError;
pub use strings::lark_strings;
