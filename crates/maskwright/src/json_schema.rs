//! JSON Schemas with the documents that they refer to, and where those come from.
//!
//! This module and the imports of Lark grammars are the only places in this crate that read files. A schema
//! that was read from a file may refer to files beside it, and any schema to the files of folders that the
//! caller names. Files anywhere else are never read, whatever a schema says or a link in such a folder leads
//! to.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_error::ErrorKind;
use maskwright_json_schema::{
    CompiledSchema, Documents, SchemaError, compile_with_documents, parse_document,
};
use serde_json::Value;

use crate::Error;

/// The spellings of numbers.
///
/// # Example: one and a half million
///
/// ```
/// use maskwright::json_schema::{Numbers, SchemaConfig};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut config = SchemaConfig::default();
/// let plain = GrammarSource::json_schema(r#"{"type": "integer"}"#, config);
/// let plain = compiler.compile(&plain, &CompileOptions::default())?;
/// config.numbers = Numbers::Any;
/// let any = GrammarSource::json_schema(r#"{"type": "integer"}"#, config);
/// let any = compiler.compile(&any, &CompileOptions::default())?;
/// assert!(plain.check(b"1500000", &Default::default())?.is_valid);
/// assert!(!plain.check(b"1500000.0", &Default::default())?.is_valid);
/// assert!(any.check(b"1500000.0", &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::Numbers;
/// The order of an object's members.
///
/// # Example: that of the schema
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = r#"{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "type": "object"}"#;
/// let schema = GrammarSource::json_schema(schema, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// assert!(grammar.check(br#"{"a": 1, "b": 2}"#, &Default::default())?.is_valid);
/// assert!(!grammar.check(br#"{"b": 2, "a": 1}"#, &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: any
///
/// ```
/// use maskwright::json_schema::{PropertyOrder, SchemaConfig};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut config = SchemaConfig::default();
/// config.property_order = PropertyOrder::Any;
/// let schema = r#"{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "type": "object"}"#;
/// let grammar = compiler.compile(&GrammarSource::json_schema(schema, config), &CompileOptions::default())?;
/// assert!(grammar.check(br#"{"b": 2, "a": 1}"#, &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::PropertyOrder;
/// Says which keywords of a schema are enforced. [`CompiledGrammar::report`](crate::CompiledGrammar::report)
/// gives one.
///
/// # Example: every keyword
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["\"", "a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "string", "x-hint": 1}"#, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// let report = grammar.report().expect("a schema has one");
/// let keywords: Vec<String> = report.entries().map(|entry| entry.keyword.to_string()).collect();
/// assert_eq!(keywords, ["type", "x-hint"]);
/// assert!(report.is_complete(), "`x-hint` is an annotation");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: what is probably misspelt
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "string", "maxLenght": 3}"#, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// for warning in grammar.report().expect("a schema has one").warnings() {
///     assert!(warning.to_string().ends_with("did you mean `maxLength`?"));
/// }
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::Report;
/// A keyword and what became of it: [`Report::entries`] lists them.
///
/// # Example: by JSON pointer
///
/// ```
/// use maskwright::json_schema::Status;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = r#"{"properties": {"age": {"type": "integer", "minimum": 0}}}"#;
/// let schema = GrammarSource::json_schema(schema, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// let of_age = |pointer: &str| pointer == "/properties/age";
/// let mut entries = grammar.report().unwrap().entries().filter(|entry| of_age(&entry.pointer));
/// assert!(entries.all(|entry| *entry.status == Status::Enforced));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: by tool
///
/// ```
/// use maskwright::tool_calls::ToolCallOptions;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let tools = r#"[{"name": "now", "inputSchema": {"type": "object", "maxProperties": 0}}]"#;
/// let source = GrammarSource::tool_calls(tools, ToolCallOptions::new("qwen_3"), Default::default());
/// let grammar = compiler.compile(&source, &CompileOptions::default())?;
/// assert!(grammar.report().unwrap().entries().all(|entry| entry.tool == Some("now")));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::ReportEntry;
pub use maskwright_json_schema::SUPPORTED;
/// The options of [`GrammarSource::json_schema`](crate::GrammarSource::json_schema).
///
/// # Example: not strict
///
/// ```
/// use maskwright::json_schema::SchemaConfig;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = r#"{"type": "string", "pattern": "(a)\\1"}"#;
/// let mut config = SchemaConfig::default();
/// let strict = compiler.compile(&GrammarSource::json_schema(schema, config), &CompileOptions::default());
/// assert_eq!(strict.unwrap_err().keyword(), Some("pattern"));
/// config.strict = false;
/// let grammar = compiler.compile(&GrammarSource::json_schema(schema, config), &CompileOptions::default())?;
/// assert!(!grammar.report().unwrap().is_complete(), "the pattern is left out, and the report says so");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::SchemaConfig;
/// Limits of [`SchemaConfig::limits`].
///
/// # Example: numbers of few digits
///
/// ```
/// use maskwright::json_schema::SchemaConfig;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut config = SchemaConfig::default();
/// config.limits.max_number_digits = Some(3);
/// let schema = GrammarSource::json_schema(r#"{"type": "integer"}"#, config);
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// assert!(grammar.check(b"-123", &Default::default())?.is_valid);
/// assert!(!grammar.check(b"1234", &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: narrow indentation
///
/// ```
/// use maskwright::json_schema::SchemaConfig;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut config = SchemaConfig::default();
/// config.limits.max_indent = 4;
/// let schema = GrammarSource::json_schema(r#"{"type": "array"}"#, config);
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// assert!(grammar.check(b"[\n    1\n]", &Default::default())?.is_valid);
/// assert!(!grammar.check(b"[\n      1\n]", &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::SchemaLimits;
/// How a keyword is enforced, if it is.
///
/// # Example: by the grammar or by each session
///
/// ```
/// use maskwright::json_schema::Status;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = r#"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#;
/// let schema = GrammarSource::json_schema(schema, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// let report = grammar.report().unwrap();
/// let of = |keyword| report.entries().find(|entry| entry.keyword == keyword).map(|entry| entry.status);
/// assert_eq!(of("type"), Some(&Status::Enforced));
/// assert_eq!(of("uniqueItems"), Some(&Status::EnforcedBySession), "a matcher remembers the items");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: not at all, with the reason
///
/// ```
/// use maskwright::json_schema::{SchemaConfig, Status};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut config = SchemaConfig::default();
/// config.strict = false;
/// let schema = GrammarSource::json_schema(r#"{"type": "string", "pattern": "(a)\\1"}"#, config);
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// let entry = grammar.report().unwrap().entries().find(|entry| entry.keyword == "pattern").unwrap();
/// let Status::NotEnforced { reason } = entry.status else { panic!("no pattern has backreferences") };
/// assert!(reason.contains("backreference"));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::Status;
/// How an object is written: as JSON, or as models write arguments.
///
/// # Example: as Qwen writes them
///
/// ```
/// use maskwright::json_schema::{SchemaConfig, Style};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut config = SchemaConfig::default();
/// config.style = Style::QwenXml;
/// let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
/// let grammar = compiler.compile(&GrammarSource::json_schema(schema, config), &CompileOptions::default())?;
/// assert!(grammar.check(b"<parameter=city>Rome</parameter>", &Default::default())?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::Style;
/// What has no effect in a schema: [`Report::warnings`] lists it.
///
/// # Example: a misspelt keyword
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "string", "minLenght": 3}"#, Default::default());
/// let warnings = compiler.compile(&schema, &CompileOptions::default())?.report().unwrap().warnings();
/// assert_eq!((&*warnings[0].keyword, warnings[0].suggestion), ("minLenght", Some("minLength")));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: an unknown format
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "string", "format": "datetime"}"#, Default::default());
/// let warnings = compiler.compile(&schema, &CompileOptions::default())?.report().unwrap().warnings();
/// assert_eq!(warnings[0].format.as_deref(), Some("datetime"));
/// println!("{}", warnings[0]);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::Warning;
/// Where texts of a schema may have white space.
///
/// # Example: none, or as writers of JSON have it
///
/// ```
/// use maskwright::json_schema::{SchemaConfig, Whitespace};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let allows = |whitespace, text: &str| {
///     let mut config = SchemaConfig::default();
///     config.whitespace = whitespace;
///     let schema = GrammarSource::json_schema(r#"{"type": "array"}"#, config);
///     let grammar = compiler.compile(&schema, &CompileOptions::default())?;
///     Ok::<_, maskwright::Error>(grammar.check(text.as_bytes(), &Default::default())?.is_valid)
/// };
/// assert!(allows(Whitespace::Compact, "[1,2]")? && !allows(Whitespace::Compact, "[1, 2]")?);
/// assert!(allows(Whitespace::Flexible, "[1, 2]")? && !allows(Whitespace::Flexible, "[1 , 2]")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: all that JSON allows, or a little of it
///
/// ```
/// use maskwright::json_schema::{SchemaConfig, Whitespace};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let allows = |whitespace, text: &str| {
///     let mut config = SchemaConfig::default();
///     config.whitespace = whitespace;
///     let schema = GrammarSource::json_schema(r#"{"type": "array"}"#, config);
///     let grammar = compiler.compile(&schema, &CompileOptions::default())?;
///     Ok::<_, maskwright::Error>(grammar.check(text.as_bytes(), &Default::default())?.is_valid)
/// };
/// assert!(allows(Whitespace::Any, " [ 1  , 2 ]\n")?);
/// assert!(allows(Whitespace::AtMost(1), "[ 1 ,2]")? && !allows(Whitespace::AtMost(1), "[  1]")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_json_schema::Whitespace;

/// A JSON Schema as text. Made from text, or from a value, which keeps the order of its keys.
///
/// # Example: from text
///
/// ```
/// use maskwright::GrammarSource;
/// let schema = GrammarSource::json_schema(r#"{"type": "boolean"}"#, Default::default());
/// assert!(schema.grammar(&Default::default()).is_ok());
/// ```
///
/// # Example: from a value
///
/// ```
/// use maskwright::GrammarSource;
/// use serde_json::json;
/// let schema = GrammarSource::json_schema(json!({"enum": [1, "two", null]}), Default::default());
/// assert!(schema.grammar(&Default::default()).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct SchemaText(pub(crate) String);

impl From<String> for SchemaText {
    fn from(text: String) -> SchemaText {
        SchemaText(text)
    }
}

impl From<&str> for SchemaText {
    fn from(text: &str) -> SchemaText {
        SchemaText(text.to_owned())
    }
}

impl From<&String> for SchemaText {
    fn from(text: &String) -> SchemaText {
        SchemaText(text.clone())
    }
}

impl From<Value> for SchemaText {
    fn from(schema: Value) -> SchemaText {
        SchemaText(schema.to_string())
    }
}

impl From<&Value> for SchemaText {
    fn from(schema: &Value) -> SchemaText {
        SchemaText(schema.to_string())
    }
}

/// The largest document that is read from a file, in bytes; the largest schemas in public use have a tenth of
/// it.
const MAX_FILE_LEN: u64 = 1 << 24;

/// The most bytes that are read from files for one schema.
const MAX_TOTAL_LEN: u64 = 1 << 26;

/// The most files that are read for one schema.
const MAX_FILES: usize = 4096;

/// The documents that the `$ref`s of a schema may lead to, besides the schema itself. Cheap to clone.
///
/// A document is found by the address it gives itself (`$id`), by the address it was given under, or by its
/// file name.
///
/// # Example: a document by its name
///
/// ```
/// use maskwright::json_schema::SchemaDocuments;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
/// let tokens = ["\"", "a", "1", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let mut documents = SchemaDocuments::default();
/// documents.insert("name.json", r#"{"type": "string"}"#)?;
/// let schema = GrammarSource::json_schema(r#"{"$ref": "name.json"}"#, Default::default()).documents(documents);
/// let compiled = compiler.compile(&schema, &CompileOptions::default())?;
/// assert!(Matcher::new(&compiled).accept_bytes(b"\"a\"")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: the files of a folder
///
/// ```no_run
/// use maskwright::GrammarSource;
/// use maskwright::json_schema::SchemaDocuments;
/// let mut documents = SchemaDocuments::default();
/// documents.add_folder("schemas".as_ref())?;
/// let schema = r#"{"$ref": "address.json"}"#;
/// let grammar = GrammarSource::json_schema(schema, Default::default()).documents(documents).grammar(&Default::default())?;
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SchemaDocuments {
    known: Arc<Documents>,
    /// Folders whose files may be read, with what is below them; each without links in its path.
    folders: Vec<PathBuf>,
    read: Budget,
    /// Why documents that exist could not be read, by URI.
    broken: BTreeMap<String, String>,
}

/// What was read so far.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    n_files: usize,
    n_bytes: u64,
}

impl SchemaDocuments {
    /// Adds a document, given as JSON text, under the URI by which references name it.
    ///
    /// # Errors
    /// If the text is not JSON, is nested more than 127 deep or repeats a key; with line and column.
    pub fn insert(&mut self, uri: &str, schema: &str) -> Result<(), Error> {
        let document = parse_document(schema, uri)?;
        Arc::make_mut(&mut self.known).insert(uri, document);
        Ok(())
    }

    /// Adds every `*.json` in a folder, not those in folders below it. References find them by their `$id` or
    /// by file name. A file that is no JSON is left out; a reference to it says why. A link out of the folder
    /// is left out too.
    ///
    /// # Errors
    /// If the folder cannot be read, or all folders together have more than 4,096 such files or more than 64
    /// MiB of them.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), Error> {
        let failed = |kind, message: String| {
            Error::message(kind, format!("{}: {message}", folder.display())).in_file(Some(folder))
        };
        let unreadable =
            |error: std::io::Error| failed(ErrorKind::Schema, format!("cannot read the folder: {error}"));
        self.folders.push(folder.canonicalize().map_err(unreadable)?);
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            names.extend(name.into_string().ok().filter(|name| name.ends_with(".json")));
        }
        let known = Arc::make_mut(&mut self.known);
        for name in names {
            let path = folder.join(&name);
            match self.read.within(&self.folders, &path) {
                Ok(document) => known.insert_named(&name, &uri_of(&path), document),
                Err(Unread::Limit) => {
                    let message =
                        format!("more than {MAX_FILES} schemas, or more than {MAX_TOTAL_LEN} bytes of them");
                    return Err(failed(ErrorKind::Limit, message));
                }
                // Read again, and told, if a reference leads to it.
                Err(Unread::Broken(_) | Unread::Missing) => {}
            }
        }
        Ok(())
    }
}

impl SchemaDocuments {
    /// These documents, and the files that the relative references of `schema`, read from `file`, and theirs
    /// lead to. No more are read for what is returned.
    pub(crate) fn gathered(&self, schema: &Value, file: Option<&Path>) -> SchemaDocuments {
        let mut known = self.known.clone();
        let mut broken = BTreeMap::new();
        if file.is_some() || !self.folders.is_empty() {
            self.gather(schema, file, &mut known, &mut broken);
        }
        SchemaDocuments { known, broken, ..SchemaDocuments::default() }
    }

    fn gather(
        &self,
        schema: &Value,
        file: Option<&Path>,
        known: &mut Arc<Documents>,
        broken: &mut BTreeMap<String, String>,
    ) {
        let mut folders = self.folders.clone();
        let mut base = String::new();
        if let Some(file) = file {
            base = uri_of(file);
            Arc::make_mut(known).set_base(base.as_str());
            let beside = match file.parent() {
                Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
                Some(folder) => folder,
                None => Path::new("."),
            };
            folders.extend(beside.canonicalize());
        }
        let mut budget = self.read;
        let mut seen = BTreeSet::from([base.clone()]);
        let mut work: Vec<(String, String)> = Documents::referred(schema, &base).into_iter().collect();
        while let Some((uri, name)) = work.pop() {
            if known.contains(&uri) || !seen.insert(uri.clone()) {
                continue;
            }
            let Some(path) = Documents::path_of_uri(&uri).map(PathBuf::from) else { continue };
            let mut read = budget.within(&folders, &path);
            if matches!(read, Err(Unread::Missing)) && !name.contains('/') && !known.has_name(&name) {
                // A file of that name in a named folder is broken, or was added after `add_folder`. Reading
                // it now says why.
                let mut named = self.folders.iter().map(|folder| folder.join(&name));
                read = named
                    .find_map(|path| match budget.within(&folders, &path) {
                        Err(Unread::Missing) => None,
                        read => Some(read),
                    })
                    .unwrap_or(read);
            }
            match read {
                Ok(document) => {
                    work.extend(Documents::referred(&document, &uri));
                    Arc::make_mut(known).insert(uri, document);
                }
                Err(Unread::Missing) => {}
                Err(Unread::Broken(why)) => {
                    broken.insert(uri, why);
                }
                Err(Unread::Limit) => {
                    let why = format!(
                        "more than {MAX_FILES} files, or {MAX_TOTAL_LEN} bytes in all, would be read"
                    );
                    broken.insert(uri, why);
                }
            }
        }
    }

    /// Compiles a schema whose references lead to these documents.
    ///
    /// # Errors
    /// As [`compile_with_documents`].
    pub(crate) fn compile(
        &self,
        schema: &Value,
        config: &SchemaConfig,
        fuel: &Fuel,
    ) -> Result<CompiledSchema, SchemaError> {
        compile_with_documents(schema, &self.known, config, fuel).map_err(|error| {
            // If documents are missing because they could not be read, the hint says why.
            let broken = error.missing_documents().iter().filter_map(|missing| self.broken.get(&missing.uri));
            let why: Vec<&str> = broken.map(String::as_str).collect();
            match why.as_slice() {
                [] => error,
                why => {
                    let why = why.join("\n");
                    error.with_hint_on_missing(why)
                }
            }
        })
    }

    /// What there is, without the folders.
    pub(crate) fn known(&self) -> &Documents {
        &self.known
    }
}

impl From<Documents> for SchemaDocuments {
    fn from(known: Documents) -> SchemaDocuments {
        SchemaDocuments { known: Arc::new(known), ..SchemaDocuments::default() }
    }
}

/// Why a document was not read.
enum Unread {
    /// It is not there, or not in a folder that may be read.
    Missing,
    /// It is there and no JSON document, with the reason.
    Broken(String),
    /// Too much was read already.
    Limit,
}

impl Budget {
    /// Reads a document in one of `folders` or below; links in `path` are followed first. No path in
    /// `folders` has links.
    fn within(&mut self, folders: &[PathBuf], path: &Path) -> Result<Value, Unread> {
        let Ok(real) = path.canonicalize() else { return Err(Unread::Missing) };
        match folders.iter().any(|folder| real.starts_with(folder)) {
            true => self.document(path),
            false => Err(Unread::Missing),
        }
    }

    /// Reads a document.
    fn document(&mut self, path: &Path) -> Result<Value, Unread> {
        let name = path.display();
        // A pipe or device could be read for ever.
        if !path.is_file() {
            return Err(Unread::Missing);
        }
        if self.n_files >= MAX_FILES || self.n_bytes >= MAX_TOTAL_LEN {
            return Err(Unread::Limit);
        }
        let limit = MAX_FILE_LEN.min(MAX_TOTAL_LEN - self.n_bytes);
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Err(Unread::Broken(format!("{name} cannot be read: {error}")));
        }
        self.n_files += 1;
        self.n_bytes += bytes.len() as u64;
        if bytes.len() as u64 > limit {
            return Err(match limit {
                MAX_FILE_LEN => {
                    Unread::Broken(format!("{name} has more than the limit of {MAX_FILE_LEN} bytes"))
                }
                _ => Unread::Limit,
            });
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(Unread::Broken(format!("{name} is not UTF-8 text")));
        };
        parse_document(&text, &name.to_string()).map_err(|error| {
            // The first line says what is wrong and where.
            let message = error.to_string();
            Unread::Broken(format!("{name}: {}", message.lines().next().unwrap_or_default()))
        })
    }
}

/// The URI of a file.
fn uri_of(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() };
    Documents::uri_of_path(&text)
}
