//! Finding imported grammars: what the caller knows, then what is built in.
//!
//! Reading files is the caller's: this crate asks a [`Resolver`].

use serde::{Deserialize, Serialize};

/// What an `%import` statement or a schema's file asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImportRequest<'a> {
    /// The path with `/` between its names, such as `common.lark`, `sql/names.lark` or `call.json`.
    pub path: &'a str,
    /// For a relative import (`%import .names.NAME`) and for schemas the name of the grammar that imports:
    /// the path is relative to where that is. `None`: the path is looked for in the import paths.
    pub from: Option<&'a str>,
}

/// A grammar or schema that was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ImportedGrammar {
    /// What it is called in messages, and where its own relative imports start from.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Finds imported grammars and schemas; `None` where there is none.
pub type Resolver<'a> = dyn Fn(&ImportRequest<'_>) -> Option<ImportedGrammar> + 'a;

/// Grammars that can be imported everywhere, by path.
const BUILT_IN: [(&str, &str); 1] = [("common.lark", include_str!("../grammars/common.lark"))];

/// Whether `path` is a grammar that can be imported everywhere.
pub(crate) fn is_built_in(path: &str) -> bool {
    BUILT_IN.iter().any(|&(name, _)| name == path)
}

/// The grammars that can be imported everywhere, as import statements name them.
pub(crate) fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().filter_map(|(name, _)| name.strip_suffix(".lark"))
}

/// The grammar that is asked for.
pub(crate) fn find(request: &ImportRequest<'_>, resolver: Option<&Resolver<'_>>) -> Option<ImportedGrammar> {
    resolver.and_then(|resolver| resolver(request)).or_else(|| {
        let &(path, text) =
            BUILT_IN.iter().find(|&&(path, _)| request.from.is_none() && path == request.path)?;
        Some(ImportedGrammar { name: format!("<built in>/{path}"), text: text.to_owned() })
    })
}
