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

/// Says which keywords of a schema are enforced. [`CompiledGrammar::report`](crate::CompiledGrammar::report)
/// gives one.
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
pub use maskwright_json_schema::Report;
pub use maskwright_json_schema::{
    Numbers, PropertyOrder, ReportEntry, SchemaConfig, SchemaLimits, Status, Style, Warning, Whitespace,
};

/// A JSON Schema as text. Made from text, or from a value, which keeps the order of its keys.
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
