//! Grammars in Lark's language: how they are read, and where their imports come from.
//!
//! This module and the documents of JSON Schemas are the only places in this crate that read files: a grammar may import
//! others ([`LarkOptions::import_paths`]). Nothing is read that the caller did not name a folder for.

use std::path::{Path, PathBuf};

use maskwright_automata::Fuel;
use maskwright_json_schema::SchemaConfig;
use maskwright_lark::{
    ImportRequest, ImportedGrammar, Indentation, LarkConfig, LarkGrammar, LexerKind, builtin, builtin_names,
    parse_lark,
};

use crate::Error;

/// What a grammar without a file is called in messages.
const NAMELESS: &str = "grammar.lark";

/// What the names of built-in grammars begin with.
const BUILT_IN: &str = "<built in>/";

/// Whether a source of this name was read from a file.
pub(crate) fn is_file(name: &str) -> bool {
    name != NAMELESS && !name.starts_with(BUILT_IN)
}

/// How a grammar in Lark's language is read.
///
/// ```
/// use maskwright::{Indentation, LarkOptions, LexerKind};
/// let options = LarkOptions { lexer: LexerKind::Basic, indentation: Some(Indentation::python()), ..Default::default() };
/// assert_eq!(options.start, "start");
/// ```
#[derive(Clone, Debug)]
pub struct LarkOptions {
    /// The rule of whole texts.
    pub start: String,
    /// Which terminals compete for the next token.
    pub lexer: LexerKind,
    /// The terminals that make indentation part of the grammar.
    pub indentation: Option<Indentation>,
    /// How JSON Schemas in the grammar (`%json`) are read; what is not enforced is an error, strict or not, but that keys which a
    /// schema does not name may occur twice, and then count twice for `minProperties` and `maxProperties`.
    pub schemas: SchemaConfig,
    /// The file that the grammar was read from: what messages call it, and beside which its relative imports
    /// (`%import .names.NAME`) and schemas (`%json "call.json"`) are looked for. Without it they are looked for in
    /// `import_paths`.
    pub file: Option<PathBuf>,
    /// The folders in which imported grammars and schemas are looked for, before those that are built in (`common`).
    pub import_paths: Vec<PathBuf>,
}

impl Default for LarkOptions {
    fn default() -> LarkOptions {
        LarkOptions {
            start: "start".to_owned(),
            lexer: LexerKind::default(),
            indentation: None,
            schemas: SchemaConfig::default(),
            file: None,
            import_paths: Vec::new(),
        }
    }
}

/// Reads a grammar in Lark's language.
pub(crate) fn parse(source: &str, options: &LarkOptions, fuel: &Fuel) -> Result<LarkGrammar, Error> {
    let name = options.file.as_ref().map_or(NAMELESS.into(), |file| file.to_string_lossy());
    let resolver = |request: &ImportRequest<'_>| resolve(request, options);
    let config = LarkConfig {
        start: options.start.clone(),
        lexer: options.lexer,
        indentation: options.indentation.clone(),
        schemas: options.schemas,
        resolver: Some(&resolver),
    };
    Ok(parse_lark(source, &name, &config, fuel)?)
}

/// Reads the built-in grammar `name`.
pub(crate) fn parse_builtin(name: &str, fuel: &Fuel) -> Result<LarkGrammar, Error> {
    let Some(known) = builtin(name) else {
        let names: Vec<&str> = builtin_names().collect();
        return Err(Error::no_builtin(name, &names));
    };
    let config = LarkConfig { lexer: known.lexer, indentation: known.indentation, ..LarkConfig::default() };
    Ok(parse_lark(known.text, &format!("{BUILT_IN}{name}.lark"), &config, fuel)?)
}

/// Finds an imported grammar or schema: a relative one beside the file that imports it, others in the import paths.
fn resolve(request: &ImportRequest<'_>, options: &LarkOptions) -> Option<ImportedGrammar> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some(ImportedGrammar { name: path.to_string_lossy().into_owned(), text })
    };
    match request.from {
        Some(importer) if options.file.is_some() || importer != NAMELESS => {
            read(Path::new(importer).parent()?.join(request.path))
        }
        _ => options.import_paths.iter().find_map(|folder| read(folder.join(request.path))),
    }
}
