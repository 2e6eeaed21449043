//! The modules of a crate, read from its sources: what each one defines, imports and names.
//!
//! [`Modules::read`] parses `src/lib.rs` or `src/main.rs` and each file that a `mod x;` names. It knows both
//! layouts, `x.rs` and `x/mod.rs`, and modules in braces. Code under `#[cfg(test)]` is left out. An example,
//! the module of `a.rs`:
//!
//! ```text
//! pub use b::Thing;              names: Thing is b::Thing
//! use crate::c;                  names: c is crate::c      imports: crate::c
//! mod b;                         children: b
//! struct Mine;                   items: Mine
//! fn f(x: Mine) { c::run(x) }    items: f                  mentions: Mine, c::run
//! impl Mine {}                   impls: Mine
//! ```
//!
//! A `use` inside a function belongs to its module, as if it stood there. In the arguments of macros, paths
//! of at least two names are found; a single name may be anything. The attribute `#[path]` is not followed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use syn::buffer::{Cursor, TokenBuffer};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemImpl, ItemMod, ItemUse, Macro, Meta, Token, Type, UseTree};

/// The names of a path, outermost first: `["crate", "rows", "Row"]`.
pub(crate) type Names = Vec<String>;

/// The modules of one crate.
pub(crate) struct Modules {
    /// The paths of the files in the project. The first one is `lib.rs` or `main.rs`.
    pub(crate) files: Vec<String>,
    /// All modules. The first one is the root.
    pub(crate) all: Vec<Module>,
}

/// What stands in a module.
#[derive(Default)]
pub(crate) struct Module {
    /// Its file, as an index of `Modules::files`.
    pub(crate) file: usize,
    /// The module around it, as an index of `Modules::all`. The root has itself.
    pub(crate) parent: usize,
    /// The modules that it declares.
    pub(crate) children: BTreeMap<String, usize>,
    /// The names of the other items that it defines.
    pub(crate) items: BTreeSet<String>,
    /// The names that its `use` declarations bring, private ones included, each with its path.
    pub(crate) names: Vec<(String, Names)>,
    /// The paths of its globs: `a` for `use a::*`.
    pub(crate) globs: Vec<Names>,
    /// The paths of its private `use` declarations, globs left out.
    pub(crate) imports: BTreeSet<Names>,
    /// The paths in its code.
    pub(crate) mentions: BTreeSet<Names>,
    /// The types of its `impl T` blocks that implement no trait.
    pub(crate) impls: Vec<Names>,
}

impl Modules {
    /// Reads the crate whose `lib.rs` or `main.rs` is `root`. `sources` has the text of each file by its
    /// path.
    ///
    /// # Errors
    /// A file that is declared does not exist, or is not Rust.
    pub(crate) fn read(root: &str, sources: &BTreeMap<&str, &str>) -> anyhow::Result<Modules> {
        let modules = Modules { files: Vec::new(), all: vec![Module::default()] };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut reader = Reader { sources, modules, module: 0, folder: folder.to_owned(), failure: None };
        reader.read_file(0, root.to_owned(), folder.to_owned())?;
        reader.failure.map_or(Ok(reader.modules), Err)
    }
}

struct Reader<'a> {
    sources: &'a BTreeMap<&'a str, &'a str>,
    modules: Modules,
    /// The module that is being read.
    module: usize,
    /// Where the files of its children are.
    folder: String,
    /// The first failure; a visitor cannot return it.
    failure: Option<anyhow::Error>,
}

impl Reader<'_> {
    fn read_file(&mut self, module: usize, path: String, folder: String) -> anyhow::Result<()> {
        let Some(source) = self.sources.get(path.as_str()) else { bail!("{path} does not exist") };
        let file = syn::parse_file(source).with_context(|| format!("{path} cannot be parsed"))?;
        self.modules.all[module].file = self.modules.files.len();
        self.modules.files.push(path);
        if !is_for_tests(&file.attrs) {
            self.read_items(module, folder, &file.items);
        }
        Ok(())
    }

    fn read_items(&mut self, module: usize, folder: String, items: &[Item]) {
        let outer =
            (std::mem::replace(&mut self.module, module), std::mem::replace(&mut self.folder, folder));
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            if let Some(name) = name(item) {
                self.now().items.insert(name);
            }
            if let Item::Impl(ItemImpl { trait_: None, self_ty, .. }) = item
                && let Type::Path(path) = &**self_ty
            {
                let names = names(&path.path);
                self.now().impls.push(names);
            }
            self.visit_item(item);
        }
        (self.module, self.folder) = outer;
    }

    fn now(&mut self) -> &mut Module {
        &mut self.modules.all[self.module]
    }

    /// Reads a `use` declaration from `tree` on, after the names `before`.
    fn read_use(&mut self, tree: &UseTree, before: &[String], is_reexport: bool) {
        let with = |name: &syn::Ident| {
            let name = name.unraw().to_string();
            let own = (name != "self").then_some(name);
            before.iter().cloned().chain(own).collect::<Names>()
        };
        let (path, name) = match tree {
            UseTree::Path(path) => return self.read_use(&path.tree, &with(&path.ident), is_reexport),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.read_use(tree, before, is_reexport));
            }
            UseTree::Glob(_) => return self.now().globs.push(before.to_vec()),
            UseTree::Rename(rename) => (with(&rename.ident), rename.rename.unraw().to_string()),
            UseTree::Name(name) => {
                let path = with(&name.ident);
                let name = path.last().cloned().unwrap_or_default();
                (path, name)
            }
        };
        if !is_reexport {
            self.now().imports.insert(path.clone());
        }
        if name != "_" {
            self.now().names.push((name, path));
        }
    }

    /// Finds the paths in the arguments of a macro.
    fn read_tokens(&mut self, mut cursor: Cursor<'_>) {
        while !cursor.eof() {
            if let Some((name, mut rest)) = cursor.ident() {
                let mut path = vec![name.unraw().to_string()];
                while let Some((name, after)) = after_colons(rest).and_then(Cursor::ident) {
                    path.push(name.unraw().to_string());
                    rest = after;
                }
                if path.len() > 1 {
                    self.now().mentions.insert(path);
                }
                cursor = rest;
            } else if let Some((inside, _, _, rest)) = cursor.any_group() {
                self.read_tokens(inside);
                cursor = rest;
            } else if let Some((_, rest)) = cursor.token_tree() {
                cursor = rest;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let name = item.ident.unraw().to_string();
        let folder = if self.folder.is_empty() { name.clone() } else { format!("{}/{name}", self.folder) };
        let child = self.modules.all.len();
        let file = self.now().file;
        self.modules.all.push(Module { file, parent: self.module, ..Module::default() });
        self.now().children.insert(name, child);
        if let Some((_, items)) = &item.content {
            return self.read_items(child, folder, items);
        }
        let flat = format!("{folder}.rs");
        let path = if self.sources.contains_key(flat.as_str()) { flat } else { format!("{folder}/mod.rs") };
        if let Err(failure) = self.read_file(child, path, folder) {
            self.failure.get_or_insert(failure);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        // `use ::x` names another crate.
        if item.leading_colon.is_none() {
            self.read_use(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.now().mentions.insert(names(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        visit::visit_macro(self, item);
        self.read_tokens(TokenBuffer::new2(item.tokens.clone()).begin());
    }

    // Neither names what code uses: `#[derive(Debug)]`, `pub(in crate::a)`.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

/// What stands after `::`, if `cursor` is there.
fn after_colons(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, rest) = cursor.punct()?;
    let (second, rest) = rest.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(rest)
}

fn names(path: &syn::Path) -> Names {
    path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect()
}

/// The name that `item` defines in its module. A module is no such item.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        // `macro_rules!`.
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(ident.unraw().to_string())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether one of `attributes` is a `#[cfg(..)]` that holds in tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|meta| needs_test(&meta))
    })
}

/// Whether a condition holds in tests only: `test`, `all(test, unix)`.
fn needs_test(condition: &Meta) -> bool {
    let parts = |list: &syn::MetaList| {
        let parse = syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated;
        list.parse_args_with(parse).unwrap_or_default()
    };
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => parts(list).iter().any(needs_test),
        Meta::List(list) if list.path.is_ident("any") => {
            let parts = parts(list);
            !parts.is_empty() && parts.iter().all(needs_test)
        }
        _ => false,
    }
}
