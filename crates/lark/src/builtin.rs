//! The built-in grammars, by name.

use crate::{Indentation, LexerKind, Tabs};

/// A grammar that comes with the library.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lark::{LarkConfig, builtin, parse_lark};
/// let json = builtin("json").unwrap();
/// let config = LarkConfig { lexer: json.lexer, ..LarkConfig::default() };
/// assert!(parse_lark(json.text, "json.lark", &config, &Fuel::unlimited()).is_ok());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// The grammar in Lark's language; its start rule is `start`.
    pub text: &'static str,
    /// How it is lexed.
    pub lexer: LexerKind,
    /// What makes indentation in it.
    pub indentation: Option<Indentation>,
}

/// The names of all built-in grammars, sorted.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|&(name, _)| name)
}

/// The built-in grammar `name`.
pub fn builtin(name: &str) -> Option<Builtin> {
    let &(name, text) = TEXTS.iter().find(|(known, _)| *known == name)?;
    let indentation = (name == "python").then(|| Indentation { tabs: Tabs::Apart, ..Indentation::python() });
    Some(Builtin { name, text, lexer: LexerKind::Basic, indentation })
}

/// The grammars by name, sorted.
const TEXTS: &[(&str, &str)] = &[
    ("arithmetic", include_str!("../grammars/arithmetic.lark")),
    ("cpp", include_str!("../grammars/cpp.lark")),
    ("json", include_str!("../grammars/json.lark")),
    ("python", include_str!("../grammars/python.lark")),
    ("smiles", include_str!("../grammars/smiles.lark")),
    ("sql", include_str!("../grammars/sql.lark")),
];
