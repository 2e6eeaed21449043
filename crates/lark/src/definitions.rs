//! Statements to definitions: imports, overriding, extending, ignoring.
//!
//! A grammar file is read after everything that it imports. What is imported has new names: the names that
//! the import statement gives, and for what those need, the path of the file as a prefix (`common__DIGIT`).
//! A terminal inside a terminal stands for the definition that its own file gave it, so overriding a
//! terminal does not change the imported ones that are made of it, while extending it does.
//!
//! The names matter beyond messages: Lark orders terminals that are otherwise equal by name.

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_syntax::MAX_SOURCE;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::config::{LarkConfig, LarkDialect};
use crate::error::Fault;
use crate::import::{self, ImportRequest, Resolver};
use crate::parser::parse;
use crate::source::{Sources, Span};
use crate::tree::{BodyId, Definition, Import, Name, Node, Schema, Statement, Symbol, Tree};

/// How many files a grammar may be made of, a file counted each time it is imported.
const MAX_FILES: usize = 200;

/// How deeply files may import files.
const MAX_IMPORT_DEPTH: usize = 30;

/// A rule or terminal.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<String>,
    pub(crate) priority: i32,
    /// Its right-hand side; none if it is only declared.
    pub(crate) body: Option<BodyId>,
}

/// Entries by name, in the order of their first definition.
#[derive(Default, Debug)]
pub(crate) struct Entries {
    order: Vec<Entry>,
    by_name: FxHashMap<String, usize>,
}

impl Entries {
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|&at| &self.order[at])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.order.iter()
    }

    /// The names, for suggestions.
    pub(crate) fn names(&self, is_terminal: bool) -> impl Iterator<Item = &str> {
        self.iter()
            .filter(move |entry| entry.name.is_terminal == is_terminal)
            .map(|entry| entry.name.text.as_str())
    }

    /// Adds an entry, in the place of the one of that name if there is one.
    fn put(&mut self, entry: Entry) {
        match self.by_name.get(&entry.name.text) {
            Some(&at) => self.order[at] = entry,
            None => {
                self.by_name.insert(entry.name.text.clone(), self.order.len());
                self.order.push(entry);
            }
        }
    }

    fn retain(self, keeps: impl Fn(&Entry) -> bool) -> Entries {
        let mut entries = Entries::default();
        self.order.into_iter().filter(keeps).for_each(|entry| entries.put(entry));
        entries
    }
}

/// A grammar's definitions, its files read and every name in them found.
#[derive(Debug)]
pub(crate) struct Definitions {
    pub(crate) entries: Entries,
    /// The right-hand sides, by [`BodyId`].
    pub(crate) bodies: Vec<Tree>,
    /// The terminals that are ignored, and where that is said.
    pub(crate) ignored: Vec<(String, Span)>,
}

impl Definitions {
    /// The right-hand side `body`.
    pub(crate) fn body(&self, body: BodyId) -> &Tree {
        &self.bodies[body.0 as usize]
    }
}

/// Reads source number 0 of `sources` and what it imports.
///
/// # Errors
/// Where a file is malformed or missing, a name is not defined or defined twice, a template has the wrong
/// number of arguments.
pub(crate) fn load(
    sources: &mut Sources,
    config: &LarkConfig<'_>,
    fuel: &Fuel,
) -> Result<Definitions, Fault> {
    let mut loader = Loader {
        sources,
        resolver: config.resolver,
        dialect: config.dialect,
        fuel,
        bodies: Vec::new(),
        ignored: Vec::new(),
        schema_files: FxHashMap::default(),
    };
    let entries = loader.file(0, None, 0)?;
    let Loader { bodies, ignored, .. } = loader;
    let definitions = Definitions { entries, bodies, ignored };
    validate(&definitions)?;
    Ok(definitions)
}

/// How the names of an imported file are changed.
struct Mangle<'a> {
    /// The file's path, joined.
    prefix: String,
    /// Whether the file is a grammar that stands as `@name` in rules.
    is_at: bool,
    /// New names of what is imported.
    aliases: &'a FxHashMap<String, String>,
    /// How the importing file's names are changed.
    outer: Option<&'a Mangle<'a>>,
}

impl Mangle<'_> {
    fn apply(&self, name: &str) -> String {
        let mangled = match (self.aliases.get(name), name.strip_prefix('_')) {
            (Some(alias), _) => alias.clone(),
            (None, Some(hidden)) => format!("_{}__{hidden}", self.prefix),
            (None, None) => format!("{}__{name}", self.prefix),
        };
        self.outer.map_or(mangled.clone(), |outer| outer.apply(&mangled))
    }
}

/// What is imported from one file, all import statements taken together.
struct ImportedFile {
    span: Span,
    is_relative: bool,
    is_at: bool,
    path: Vec<String>,
    names: Vec<Name>,
    aliases: FxHashMap<String, String>,
}

struct Loader<'a> {
    sources: &'a mut Sources,
    resolver: Option<&'a Resolver<'a>>,
    dialect: LarkDialect,
    fuel: &'a Fuel,
    bodies: Vec<Tree>,
    ignored: Vec<(String, Span)>,
    /// By the file that names it, and how: the text of a schema's file.
    schema_files: FxHashMap<(u32, String), Arc<str>>,
}

impl Loader<'_> {
    /// The entries of source number `source`, with their names changed.
    fn file(&mut self, source: u32, mangle: Option<&Mangle<'_>>, depth: usize) -> Result<Entries, Fault> {
        let statements = parse(self.sources.get(source).1, source, self.fuel)?;
        let mut entries = Entries::default();
        for import in imported_files(&statements)? {
            self.import(&import, &mut entries, source, mangle, depth)?;
        }
        for statement in statements {
            match statement {
                Statement::Define(definition) => self.define(definition, false, mangle, &mut entries)?,
                Statement::Override(definition) => self.define(definition, true, mangle, &mut entries)?,
                Statement::Extend(definition) => self.extend(definition, mangle, &entries)?,
                // What an imported grammar ignores is its own affair.
                Statement::Ignore(tree) if mangle.is_none() => self.ignore(tree, &mut entries)?,
                Statement::Declare(names) => {
                    for name in names {
                        let name = mangled(name, mangle);
                        refuse_second(&name, &entries)?;
                        entries.put(Entry { name, parameters: Vec::new(), priority: 0, body: None });
                    }
                }
                Statement::Ignore(tree) if mangle.is_some_and(|mangle| mangle.is_at) => {
                    let message = "`%ignore` in a grammar that another one uses as `@name` is not supported";
                    return Err(Fault::new(tree.span, message)
                        .with_hint("ignore it in the first grammar: that holds in all of them"));
                }
                Statement::Llguidance(span) if self.dialect == LarkDialect::Lark => {
                    let message = "`%llguidance` stands only in grammars of llguidance's dialect";
                    return Err(Fault::new(span, message).with_hint(
                        "read the grammar with the option dialect \"llguidance\", or leave the line out",
                    ));
                }
                Statement::Ignore(_) | Statement::Import(_) | Statement::Llguidance(_) => {}
            }
        }
        for entry in entries.iter().filter(|entry| entry.name.is_terminal) {
            if let Some(body) = entry.body {
                resolve_terminals(&mut self.bodies[body.0 as usize], &entries)?;
            }
        }
        Ok(entries)
    }

    fn import(
        &mut self,
        import: &ImportedFile,
        entries: &mut Entries,
        source: u32,
        mangle: Option<&Mangle<'_>>,
        depth: usize,
    ) -> Result<(), Fault> {
        let shown = import.path.join(".");
        if depth == MAX_IMPORT_DEPTH {
            return Err(Fault::limit(
                import.span,
                format!("imports nested more than {MAX_IMPORT_DEPTH} deep"),
            )
            .with_hint("does a grammar import itself?"));
        }
        let path = format!("{}.lark", import.path.join("/"));
        let from = import.is_relative.then(|| self.sources.get(source).0);
        let request = ImportRequest { path: &path, from };
        let Some(file) = import::find(&request, self.resolver) else {
            let dot = if import.is_relative { "." } else { "" };
            let fault = Fault::new(import.span, format!("no grammar `{dot}{shown}` is found"));
            return Err(if import::is_built_in(&path) {
                fault.with_hint(format!(
                    "the built-in grammar is imported without the dot: `%import {shown}.NAME`"
                ))
            } else {
                fault.suggesting(&shown, import::built_in_names())
            });
        };
        let number = self.sources.add(&file.name, &file.text);
        if number as usize == MAX_FILES {
            return Err(Fault::limit(import.span, format!("a grammar of more than {MAX_FILES} files")));
        }
        let at = if import.is_at { "@" } else { "" };
        let prefix = format!("{at}{}", import.path.join("__"));
        let inner = Mangle { prefix, is_at: import.is_at, aliases: &import.aliases, outer: mangle };
        let imported = self.file(number, Some(&inner), depth + 1)?;
        for name in &import.names {
            if imported.get(&inner.apply(&name.text)).is_none() {
                let message = format!("the grammar `{shown}` has no `{}`", name.text);
                let statements = parse(self.sources.get(number).1, number, self.fuel)?;
                let candidates = statements.iter().filter_map(|statement| match statement {
                    Statement::Define(definition) => Some(definition.name.text.as_str()),
                    _ => None,
                });
                return Err(Fault::new(name.span, message).suggesting(&name.text, candidates));
            }
        }
        let used = self.used(&imported, import.names.iter().map(|name| inner.apply(&name.text)));
        for entry in imported.retain(|entry| used.contains(&entry.name.text)).order {
            if entries.get(&entry.name.text).is_some() {
                let message = format!("`{}` is imported twice, from different grammars", entry.name.text);
                return Err(Fault::new(import.span, message)
                    .with_hint("give one of them another name: `%import grammar.NAME -> OTHER`"));
            }
            entries.put(entry);
        }
        Ok(())
    }

    /// The names that `roots` lead to through rules. A terminal needs no names: it has its parts.
    fn used(&self, entries: &Entries, roots: impl Iterator<Item = String>) -> FxHashSet<String> {
        let mut used: FxHashSet<String> = FxHashSet::default();
        let mut waiting: Vec<String> = roots.collect();
        while let Some(name) = waiting.pop() {
            let Some(entry) = entries.get(&name) else { continue };
            if !used.insert(name) || entry.name.is_terminal {
                continue;
            }
            let Some(body) = entry.body else { continue };
            self.bodies[body.0 as usize].visit(&mut |tree| {
                if let Node::Symbol(Symbol { name, .. }) | Node::Instance(name, _) = &tree.node {
                    waiting.push(name.text.clone());
                }
            });
        }
        used
    }

    fn define(
        &mut self,
        definition: Definition,
        is_override: bool,
        mangle: Option<&Mangle<'_>>,
        entries: &mut Entries,
    ) -> Result<(), Fault> {
        let Definition { name, parameters, priority, mut body } = definition;
        let shown = name.text.clone();
        let name = mangled(name, mangle);
        if !is_override {
            refuse_second(&name, entries)?;
        } else if entries.get(&name.text).is_none() {
            let candidates = entries.names(name.is_terminal);
            return Err(Fault::new(name.span, format!("`{shown}` is overridden but was not defined before"))
                .suggesting(&shown, candidates));
        }
        mangle_body(&mut body, mangle);
        let parameters = parameters.into_iter().map(|parameter| mangled(parameter, mangle).text).collect();
        let body = Some(self.add(body)?);
        entries.put(Entry { name, parameters, priority, body });
        Ok(())
    }

    fn extend(
        &mut self,
        definition: Definition,
        mangle: Option<&Mangle<'_>>,
        entries: &Entries,
    ) -> Result<(), Fault> {
        let Definition { name, parameters, mut body, .. } = definition;
        let name = mangled(name, mangle);
        let Some(entry) = entries.get(&name.text) else {
            return Err(Fault::new(
                name.span,
                format!("`{}` is extended but was not defined before", name.text),
            )
            .suggesting(&name.text, entries.names(name.is_terminal)));
        };
        let parameters: Vec<String> =
            parameters.into_iter().map(|parameter| mangled(parameter, mangle).text).collect();
        if entry.parameters != parameters {
            let message = format!(
                "`{}` is extended with other parameters: it has {{{}}}",
                name.text,
                entry.parameters.join(", ")
            );
            return Err(Fault::new(name.span, message));
        }
        let Some(base) = entry.body else {
            let message = format!("`{}` is extended but only declared, without a definition", name.text);
            return Err(Fault::new(name.span, message));
        };
        mangle_body(&mut body, mangle);
        self.read_schemas(&mut body)?;
        if let Node::Alternatives(alternatives) = &mut self.bodies[base.0 as usize].node {
            alternatives.insert(0, body);
        }
        Ok(())
    }

    fn ignore(&mut self, tree: Tree, entries: &mut Entries) -> Result<(), Fault> {
        let span = tree.span;
        if let Some(name) = single_terminal(&tree) {
            self.ignored.push((name.to_owned(), span));
            return Ok(());
        }
        let text = format!("__IGNORE_{}", self.ignored.len());
        self.ignored.push((text.clone(), span));
        let name = Name { text, span, is_terminal: true };
        let body = Some(self.add(tree)?);
        entries.put(Entry { name, parameters: Vec::new(), priority: 0, body });
        Ok(())
    }

    fn add(&mut self, mut body: Tree) -> Result<BodyId, Fault> {
        self.read_schemas(&mut body)?;
        self.bodies.push(body);
        let id = u32::try_from(self.bodies.len() - 1);
        Ok(BodyId(id.expect("the tokens of each file and the files are limited")))
    }

    /// Reads the files of JSON Schemas.
    fn read_schemas(&mut self, tree: &mut Tree) -> Result<(), Fault> {
        let span = tree.span;
        if let Node::Schema(Schema::File(path)) = &tree.node {
            let text = self.schema_file(path, span)?;
            tree.node = Node::Schema(Schema::Text(text));
        }
        tree.parts_mut().iter_mut().try_for_each(|part| self.read_schemas(part))
    }

    /// The text of a schema's file, which is looked for beside the grammar and then in the import paths.
    fn schema_file(&mut self, path: &str, span: Span) -> Result<Arc<str>, Fault> {
        let key = (span.source, path.to_owned());
        if let Some(known) = self.schema_files.get(&key) {
            return Ok(known.clone());
        }
        if self.schema_files.len() == MAX_FILES {
            return Err(Fault::limit(span, format!("schemas in more than {MAX_FILES} files")));
        }
        let is_inside = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', ':', '\0']);
        if !path.split('/').all(is_inside) {
            return Err(Fault::new(span, format!("the file {path:?} of a schema"))
                .with_hint("name a file beside the grammar or in the import paths, or in a folder below: \"schemas/call.json\""));
        }
        let (importer, _) = self.sources.get(span.source);
        let file = [Some(importer), None]
            .iter()
            .find_map(|&from| import::find(&ImportRequest { path, from }, self.resolver))
            .ok_or_else(|| Fault::new(span, format!("no file {path:?} is found")))?;
        if file.text.len() > MAX_SOURCE {
            return Err(Fault::limit(span, format!("a schema of more than {MAX_SOURCE} bytes")));
        }
        self.fuel.spend(file.text.len() as u64).map_err(|error| Fault::fuel(span, error))?;
        let text: Arc<str> = file.text.into();
        self.schema_files.insert(key, text.clone());
        Ok(text)
    }
}

fn mangled(mut name: Name, mangle: Option<&Mangle<'_>>) -> Name {
    if let Some(mangle) = mangle {
        name.text = mangle.apply(&name.text);
    }
    name
}

fn mangle_body(body: &mut Tree, mangle: Option<&Mangle<'_>>) {
    if let Some(mangle) = mangle {
        body.visit_names_mut(&mut |name| name.text = mangle.apply(&name.text));
    }
}

fn refuse_second(name: &Name, entries: &Entries) -> Result<(), Fault> {
    if entries.get(&name.text).is_none() {
        return Ok(());
    }
    Err(Fault::new(name.span, format!("`{}` is defined twice", name.text))
        .with_hint("`%override` replaces a definition, `%extend` adds alternatives to it"))
}

/// The name of the terminal that is all of `tree`.
fn single_terminal(tree: &Tree) -> Option<&str> {
    match &tree.node {
        Node::Alternatives(parts) | Node::Sequence(parts) => match parts.as_slice() {
            [part] => single_terminal(part),
            _ => None,
        },
        Node::Symbol(symbol) if symbol.name.is_terminal => Some(&symbol.name.text),
        _ => None,
    }
}

/// The files that import statements name, in the order of their first import.
fn imported_files(statements: &[Statement]) -> Result<Vec<ImportedFile>, Fault> {
    let mut files: Vec<ImportedFile> = Vec::new();
    let mut by_path: FxHashMap<(&[String], bool), usize> = FxHashMap::default();
    for statement in statements {
        let Statement::Import(Import { span, is_relative, is_at, path, names }) = statement else { continue };
        let at = *by_path.entry((path, *is_at)).or_insert(files.len());
        if at == files.len() {
            files.push(ImportedFile {
                span: *span,
                is_relative: *is_relative,
                is_at: *is_at,
                path: path.clone(),
                names: Vec::new(),
                aliases: FxHashMap::default(),
            });
        }
        let file = &mut files[at];
        if file.is_relative != *is_relative {
            let message = format!("`{}` is imported with and without a dot before it", path.join("."));
            return Err(Fault::new(*span, message));
        }
        for (name, alias) in names {
            file.aliases.insert(name.text.clone(), alias.clone());
            file.names.push(name.clone());
        }
    }
    Ok(files)
}

/// Says of every terminal in a terminal which definition it is.
fn resolve_terminals(tree: &mut Tree, entries: &Entries) -> Result<(), Fault> {
    if let Node::Symbol(Symbol { name, target: target @ None }) = &mut tree.node {
        if !name.is_terminal {
            return Err(Fault::new(name.span, format!("the rule `{}` inside a terminal", name.text))
                .with_hint("a terminal is made of strings, patterns and terminals; make it a rule (lower case) to use rules"));
        }
        let Some(entry) = entries.get(&name.text) else {
            return Err(undefined(name, entries));
        };
        let Some(body) = entry.body else {
            return Err(Fault::new(
                name.span,
                format!("`{}` is only declared: it has no pattern", name.text),
            ));
        };
        *target = Some(body);
    }
    tree.parts_mut().iter_mut().try_for_each(|part| resolve_terminals(part, entries))
}

fn undefined(name: &Name, entries: &Entries) -> Fault {
    let kind = if name.is_terminal { "terminal" } else { "rule" };
    Fault::new(name.span, format!("the {kind} `{}` is used but not defined", name.text))
        .suggesting(&name.text, entries.names(name.is_terminal))
}

/// Checks every name and every use of a template, also in what is not used.
fn validate(definitions: &Definitions) -> Result<(), Fault> {
    let entries = &definitions.entries;
    for entry in entries.iter() {
        for (at, parameter) in entry.parameters.iter().enumerate() {
            if entries.get(parameter).is_some() || entry.parameters[..at].contains(parameter) {
                let message = format!(
                    "`{}` has the parameter `{parameter}`, which is also a rule or twice there",
                    entry.name.text
                );
                return Err(Fault::new(entry.name.span, message));
            }
        }
        let Some(body) = entry.body.map(|body| definitions.body(body)) else {
            if !entry.name.is_terminal {
                return Err(Fault::new(
                    entry.name.span,
                    format!("the rule `{}` is declared but not defined", entry.name.text),
                ));
            }
            continue;
        };
        if entry.name.is_terminal {
            continue;
        }
        let mut fault = None;
        body.visit(&mut |tree| {
            if fault.is_none() {
                fault = validate_use(tree, entry, entries).err();
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    for (name, span) in &definitions.ignored {
        let name = Name { text: name.clone(), span: *span, is_terminal: true };
        match entries.get(&name.text) {
            None => return Err(undefined(&name, entries)),
            Some(Entry { body: None, .. }) => {
                return Err(Fault::new(
                    *span,
                    format!("`{}` is only declared: it can't be ignored", name.text),
                ));
            }
            Some(Entry { body: Some(body), .. }) if definitions.body(*body).as_schema().is_some() => {
                return Err(Fault::new(*span, "the texts of a JSON Schema can't be ignored"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn validate_use(tree: &Tree, user: &Entry, entries: &Entries) -> Result<(), Fault> {
    let (name, n_arguments) = match &tree.node {
        Node::Symbol(symbol) => (&symbol.name, 0),
        Node::Instance(name, arguments) => (name, arguments.len()),
        _ => return Ok(()),
    };
    if user.parameters.contains(&name.text) {
        return Ok(());
    }
    let entry = entries.get(&name.text).ok_or_else(|| undefined(name, entries))?;
    let expected = entry.parameters.len();
    // A template without arguments is fine as an argument itself; elsewhere its instances are checked.
    if n_arguments != expected && n_arguments > 0 {
        let message = format!("`{}` with {n_arguments} arguments, it has {expected}", name.text);
        return Err(Fault::new(tree.span, message));
    }
    Ok(())
}
