//! Grammars in GBNF, named by the file that they were read from.

use std::path::Path;

use maskwright_automata::Fuel;
use maskwright_grammar::Grammar;

use crate::Error;

/// What a grammar without a file is called in messages.
const NAMELESS: &str = "grammar.gbnf";

/// Reads a grammar in GBNF.
///
/// # Errors
/// If the grammar is wrong, or a limit is reached.
pub(crate) fn parse(source: &str, file: Option<&Path>, fuel: &Fuel) -> Result<Grammar, Error> {
    let name = file.map_or(NAMELESS.into(), Path::to_string_lossy);
    maskwright_syntax::parse_gbnf(source, &name, fuel).map_err(|error| Error::from(error).in_file(file))
}
