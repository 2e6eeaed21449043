//! The arguments of `Compiler.compile_lark` that say how a text becomes tokens.

use maskwright::lark::{Indentation, LarkDialect, LarkOptions, LexerKind, Tabs};
use pyo3::prelude::*;

use crate::arguments::{FilePath, List, OfGrammar};
use crate::errors::invalid;

/// The options with a lexer by name, indentation and the folders of imports.
pub(crate) fn options(
    lexer: Option<&str>,
    dialect: &str,
    indentation: Option<&Bound<'_, PyAny>>,
    import_paths: List<FilePath<OfGrammar>>,
) -> PyResult<LarkOptions> {
    let mut options = LarkOptions::default();
    options.dialect = match dialect {
        "lark" => LarkDialect::Lark,
        "llguidance" => LarkDialect::Llguidance,
        other => {
            return Err(invalid(format!("dialect is {other:?}, expected \"lark\" or \"llguidance\"")));
        }
    };
    options.lexer = match lexer {
        None if options.dialect == LarkDialect::Llguidance => LexerKind::DynamicComplete,
        None | Some("contextual") => LexerKind::Contextual,
        Some("basic") => LexerKind::Basic,
        Some("dynamic_complete") => LexerKind::DynamicComplete,
        Some(other) => {
            return Err(invalid(format!(
                "lexer is {other:?}, expected \"contextual\", \"basic\" or \"dynamic_complete\""
            )));
        }
    };
    options.indentation = indentation.map(names_of_indentation).transpose()?;
    options.import_paths = import_paths.0.into_iter().map(|path| path.0).collect();
    Ok(options)
}

/// The terminals of indentation, from the argument of `compile_lark`.
fn names_of_indentation(indentation: &Bound<'_, PyAny>) -> PyResult<Indentation> {
    type Names = (Vec<String>, String, String, Vec<String>, Vec<String>, u32);
    let module = indentation.py().import("maskwright._indentation")?;
    let names: Names = module.call_method1("names", (indentation,))?.extract()?;
    let mut made = Indentation::python();
    let tab_len;
    (made.newline, made.indent, made.dedent, made.open, made.close, tab_len) = names;
    made.tabs = Tabs::Spaces(tab_len);
    Ok(made)
}
