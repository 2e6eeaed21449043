//! Grammars in Lark's language: how they are read, and where their imports come from.
//!
//! This module and the documents of JSON Schemas are the only places in this crate that read files: a grammar
//! may import others ([`LarkOptions::import_paths`]). Nothing is read that the caller did not name a folder
//! for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maskwright_automata::Fuel;
use maskwright_error::{ErrorKind, Place};
use maskwright_grammar::SpecialNames;
use maskwright_json_schema::SchemaConfig;
use maskwright_lark::{ImportRequest, ImportedGrammar, LarkConfig, LarkGrammar, builtin, parse_lark};
use maskwright_syntax::nearest_name;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Lark's own notation, or llguidance's.
///
/// # Example: what a terminal matches
///
/// ```
/// use maskwright::lark::{LarkDialect, LarkOptions, LexerKind};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let allows = |dialect| {
///     let mut options = LarkOptions::default();
///     (options.dialect, options.lexer) = (dialect, LexerKind::DynamicComplete);
///     let source = GrammarSource::lark("start: WORD \"b\"\nWORD: /a|ab/", options);
///     let grammar = compiler.compile(&source, &CompileOptions::default())?;
///     Ok::<_, maskwright::Error>(grammar.check(b"abb", &Default::default())?.is_valid)
/// };
/// assert!(!allows(LarkDialect::Lark)?, "Python's `re` takes the first alternative that fits");
/// assert!(allows(LarkDialect::Llguidance)?, "a terminal is all that its pattern can match");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a grammar that was written for llguidance
///
/// ```
/// use maskwright::lark::{LarkDialect, LarkOptions, LexerKind};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut options = LarkOptions::default();
/// (options.dialect, options.lexer) = (LarkDialect::Llguidance, LexerKind::DynamicComplete);
/// let text = "%llguidance {}\nstart: \"it is \" /[0-9]{1,2}/ \" degrees\"";
/// let grammar = compiler.compile(&GrammarSource::lark(text, options), &CompileOptions::default())?;
/// assert!(grammar.check(b"it is 21 degrees", &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_lark::LarkDialect;
/// How a text is split into terminals.
///
/// # Example: a keyword where a name cannot come
///
/// ```
/// use maskwright::lark::{LarkOptions, LexerKind};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let text = "start: \"if\" NAME\nNAME: /[a-z]+/\n%ignore \" \"\n";
/// let allows = |lexer| {
///     let mut options = LarkOptions::default();
///     options.lexer = lexer;
///     let grammar = compiler.compile(&GrammarSource::lark(text, options), &CompileOptions::default())?;
///     Ok::<_, maskwright::Error>(grammar.check(b"ifx", &Default::default())?.is_valid)
/// };
/// assert!(allows(LexerKind::Contextual)?, "at the beginning, only `if` can come");
/// assert!(!allows(LexerKind::Basic)?, "`ifx` is one name");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: no lexer
///
/// ```
/// use maskwright::lark::{LarkOptions, LexerKind};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut options = LarkOptions::default();
/// options.lexer = LexerKind::DynamicComplete;
/// let text = "start: WORD \"s\"\nWORD: /[a-z]+/";
/// let grammar = compiler.compile(&GrammarSource::lark(text, options), &CompileOptions::default())?;
/// assert!(grammar.check(b"grammars", &Default::default())?.is_valid, "a lexer would take the `s` too");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_lark::LexerKind;
/// How tabs count in [`Indentation::tabs`].
///
/// # Example: a grammar with blocks
///
/// ```
/// use maskwright::lark::{Indentation, LarkOptions, Tabs};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut indentation = Indentation::python();
/// indentation.tabs = Tabs::Spaces(4);
/// let mut options = LarkOptions::default();
/// options.indentation = Some(indentation);
/// let text = "start: \"do:\" _NEWLINE _INDENT (NAME _NEWLINE)+ _DEDENT
/// NAME: /[a-z]+/
/// _NEWLINE: /\\n[\\t ]*/
/// %declare _INDENT _DEDENT
/// ";
/// let grammar = compiler.compile(&GrammarSource::lark(text, options), &CompileOptions::default())?;
/// assert!(grammar.check(b"do:\n\ta\n    b\n", &Default::default())?.is_valid, "a tab is four spaces");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_lark::Tabs;
pub use maskwright_lark::{Indentation, builtin_names};

/// What a grammar without a file is called in messages.
pub(crate) const NAMELESS: &str = "grammar.lark";

/// What the names of built-in grammars begin with.
const BUILT_IN: &str = "<built in>/";

/// How a grammar in Lark's language is read.
///
/// # Example: the lexer, and indentation
///
/// ```
/// use maskwright::lark::{Indentation, LarkOptions, LexerKind};
/// let mut options = LarkOptions::default();
/// assert_eq!(options.start, "start");
/// options.lexer = LexerKind::Basic;
/// options.indentation = Some(Indentation::python());
/// ```
///
/// # Example: grammars that another one refers to
///
/// ```
/// use maskwright::lark::LarkOptions;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut options = LarkOptions::default();
/// options.grammars.insert("numbers".to_owned(), "NUMBER: /[0-9]+/".to_owned());
/// let text = "%import numbers.NUMBER\nstart: NUMBER (\",\" NUMBER)*";
/// let grammar = compiler.compile(&GrammarSource::lark(text, options), &CompileOptions::default())?;
/// assert!(grammar.check(b"1,23", &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LarkOptions {
    /// The rule of whole texts.
    pub start: String,
    /// Which terminals are considered at a point of the text.
    pub lexer: LexerKind,
    /// Whose dialect the grammar is in.
    pub dialect: LarkDialect,
    /// The terminals that make indentation part of the grammar.
    pub indentation: Option<Indentation>,
    /// How JSON Schemas in the grammar (`%json`) are read. What cannot be enforced is an error, strict or
    /// not.
    pub schemas: SchemaConfig,
    /// The folders in which imported grammars and schemas are looked for, before those that are built in
    /// (`common`). Relative imports are looked for beside the grammar's [file](crate::GrammarSource::file),
    /// or here if it has none.
    #[serde(skip)]
    pub import_paths: Vec<PathBuf>,
    /// Grammars that are found before any file, by name or as `name.lark`; they read no files themselves.
    /// `@name` stands for the rule `start` of one.
    pub grammars: BTreeMap<String, String>,
}

impl LarkOptions {
    /// The grammar among [`grammars`](LarkOptions::grammars) that a path names.
    pub(crate) fn known(&self, path: &str) -> Option<&String> {
        self.grammars.get(path).or_else(|| self.grammars.get(path.strip_suffix(".lark")?))
    }
}

impl Default for LarkOptions {
    fn default() -> LarkOptions {
        LarkOptions {
            start: "start".to_owned(),
            lexer: LexerKind::default(),
            dialect: LarkDialect::default(),
            indentation: None,
            schemas: SchemaConfig::default(),
            import_paths: Vec::new(),
            grammars: BTreeMap::new(),
        }
    }
}

/// The grammars and schemas that a grammar imports, by who imports them (`None`: any) and by path.
pub(crate) type Imports = BTreeMap<(Option<String>, String), ImportedGrammar>;

/// Reads a grammar in Lark's language, and returns its imports too. Reads imports from `imports` if given,
/// otherwise from files. Strings also match the special tokens in `special` that they name.
pub(crate) fn parse(
    source: &str,
    file: Option<&Path>,
    options: &LarkOptions,
    imports: Option<&Imports>,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<(LarkGrammar, Imports), Error> {
    let name = file.map_or(NAMELESS.into(), Path::to_string_lossy);
    let found = RefCell::new(Imports::new());
    let resolver = |request: &ImportRequest<'_>| {
        let key = (request.from.map(str::to_owned), request.path.to_owned());
        let imported = match imports {
            Some(known) => known.get(&key).cloned(),
            None => resolve(request, file, options),
        }?;
        found.borrow_mut().insert(key, imported.clone());
        Some(imported)
    };
    let config = LarkConfig {
        start: options.start.clone(),
        lexer: options.lexer,
        dialect: options.dialect,
        indentation: options.indentation.clone(),
        schemas: options.schemas,
        special: special.clone(),
        resolver: Some(&resolver),
    };
    let grammar = parse_lark(source, &name, &config, fuel).map_err(|error| {
        let name = error.source_name();
        let path = (name != NAMELESS && !name.starts_with(BUILT_IN)).then(|| PathBuf::from(name));
        Error::from(error).in_file(path.as_deref())
    })?;
    Ok((grammar, found.into_inner()))
}

/// Reads the built-in grammar `name`.
pub(crate) fn parse_builtin(name: &str, fuel: &Fuel) -> Result<LarkGrammar, Error> {
    let Some(known) = builtin(name) else { return Err(no_builtin(name)) };
    let config = LarkConfig { lexer: known.lexer, indentation: known.indentation, ..LarkConfig::default() };
    Ok(parse_lark(known.text, &format!("{BUILT_IN}{name}.lark"), &config, fuel)?)
}

/// No built-in grammar is called `name`.
fn no_builtin(name: &str) -> Error {
    let known: Vec<&str> = builtin_names().collect();
    let message = format!("no built-in grammar is called {name:?}, expected one of {}", known.join(", "));
    match nearest_name(name, known) {
        Some((_, meant)) => with_hint(&message, &format!("did you mean `{meant}`?")),
        None => Error::message(ErrorKind::Grammar, message),
    }
}

/// An error about a grammar, with a hint.
pub(crate) fn with_hint(message: &str, hint: &str) -> Error {
    Error::message(ErrorKind::Grammar, format!("{message}\nHelp: {hint}"))
        .at(Place { hint: Some(hint.to_owned()), ..Place::default() })
}

/// Finds an imported grammar or schema: a relative one beside the file that imports it, others in the import
/// paths.
fn resolve(
    request: &ImportRequest<'_>,
    file: Option<&Path>,
    options: &LarkOptions,
) -> Option<ImportedGrammar> {
    if let Some(text) = options.known(request.path) {
        return Some(ImportedGrammar { name: request.path.to_owned(), text: text.clone() });
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some(ImportedGrammar { name: path.to_string_lossy().into_owned(), text })
    };
    match request.from {
        // Its caller has named no folder for it.
        Some(importer) if options.known(importer).is_some() => None,
        Some(importer) if file.is_some() || importer != NAMELESS => {
            read(Path::new(importer).parent()?.join(request.path))
        }
        _ => options.import_paths.iter().find_map(|folder| read(folder.join(request.path))),
    }
}
