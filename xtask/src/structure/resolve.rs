//! Which item a path names, and which file defines it.
//!
//! [`find`] follows `use` declarations to the definition. An example: `crate::a::Thing` in any file, where
//! `a/mod.rs` has `pub use b::Item as Thing`, is `Item` of the file `a/b.rs`. Private `use` declarations and
//! globs are followed in the same way, since a child module sees them by `super::`.
//!
//! Limits: visibility is not checked, and a type and a value of one name are not told apart. So a local
//! variable counts as the function of the same name that a glob brings.

use super::modules::{Modules, Names};

/// An item that is no module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    /// The file that defines it, as an index of `Modules::files`.
    pub(crate) file: usize,
    /// The name that it has there.
    pub(crate) name: String,
}

/// The item that `path` names in the module `from` (an index of `Modules::all`).
///
/// The variant of an enum counts as the enum, and a method as its type. If a module has no item of the name,
/// because a macro makes it, then the module's file is taken to define it. `None` if the path ends at a
/// module, or belongs to another crate.
pub(crate) fn find(modules: &Modules, from: usize, path: &[String]) -> Option<Definition> {
    Search { modules, asked: Vec::new() }.path(from, path)?.item
}

/// What a name stands for. A module and a function may share one. Neither: something of another crate.
#[derive(Default)]
struct Found {
    module: Option<usize>,
    item: Option<Definition>,
}

impl Found {
    fn module(module: usize) -> Found {
        Found { module: Some(module), item: None }
    }

    fn is_something(&self) -> bool {
        self.module.is_some() || self.item.is_some()
    }
}

struct Search<'a> {
    modules: &'a Modules,
    /// The names that were looked up, each with its module. Declarations may refer to each other in a circle.
    asked: Vec<(usize, String)>,
}

impl Search<'_> {
    /// What `path` names in the module `from`; `None` if its first name is unknown.
    fn path(&mut self, from: usize, path: &[String]) -> Option<Found> {
        let mut module = from;
        let mut found = Found::module(from);
        for (index, name) in path.iter().enumerate() {
            found = match name.as_str() {
                "crate" => Found::module(0),
                "self" => found,
                "super" => Found::module(self.modules.all[module].parent),
                name => match self.name(module, name) {
                    Some(next) => next,
                    None if index == 0 => return None,
                    None => {
                        let made = Definition { file: self.modules.all[module].file, name: name.to_owned() };
                        return Some(Found { module: None, item: found.item.or(Some(made)) });
                    }
                },
            };
            match found.module {
                Some(next) => module = next,
                // The rest names a variant, a method, or something of another crate.
                None => break,
            }
        }
        Some(found)
    }

    /// What `name` stands for in `module`; `None` if it is unknown there.
    fn name(&mut self, module: usize, name: &str) -> Option<Found> {
        let place = &self.modules.all[module];
        let own = || Definition { file: place.file, name: name.to_owned() };
        let mut found =
            Found { module: place.children.get(name).copied(), item: place.items.contains(name).then(own) };
        if self.asked.iter().any(|(place, asked)| *place == module && asked == name) {
            return found.is_something().then_some(found);
        }
        self.asked.push((module, name.to_owned()));
        let mut is_known = found.is_something();
        for (_, path) in place.names.iter().filter(|(own, _)| own == name) {
            let named = self.path(module, path).unwrap_or_default();
            found = Found { module: found.module.or(named.module), item: found.item.or(named.item) };
            is_known = true;
        }
        if is_known {
            return Some(found);
        }
        let from_glob = |path: &Names| {
            let module = self.path(module, path)?.module?;
            self.name(module, name)
        };
        place.globs.iter().find_map(from_glob)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Where `path`, in the module of the file `from`, is defined.
    fn defined(sources: &[(&str, &str)], from: &str, path: &str) -> Option<String> {
        let sources: BTreeMap<&str, &str> = sources.iter().copied().collect();
        let modules = Modules::read("lib.rs", &sources).unwrap();
        let module = modules.all.iter().position(|module| modules.files[module.file] == from).unwrap();
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        find(&modules, module, &path).map(|item| modules.files[item.file].clone())
    }

    #[test]
    fn reexports_are_followed_to_the_definition() {
        let sources = [
            ("lib.rs", "mod a; mod user; pub use a::Thing; pub(crate) use a::Renamed as Other;"),
            ("a/mod.rs", "mod b; mod c; pub use b::Thing; pub use b::Thing as Renamed; pub use c::*;"),
            ("a/b.rs", "pub struct Thing;"),
            ("a/c.rs", "mod d; pub use self::d::*; pub fn near() {}"),
            ("a/c/d.rs", "pub enum Far { One }"),
            ("user.rs", ""),
        ];
        let at = |path: &str| defined(&sources, "user.rs", path);
        for path in
            ["crate::a::Thing", "crate::a::b::Thing", "crate::a::Renamed", "crate::Thing", "super::Other"]
        {
            assert_eq!(at(path).as_deref(), Some("a/b.rs"), "{path}");
        }
        assert_eq!(at("crate::a::near").as_deref(), Some("a/c.rs"));
        assert_eq!(at("crate::a::Far::One").as_deref(), Some("a/c/d.rs"));
        assert_eq!(at("crate::a::Thing::method").as_deref(), Some("a/b.rs"));
    }

    #[test]
    fn what_is_unknown_is_in_the_file_of_its_module() {
        let sources = [
            ("lib.rs", "mod a; mod user; pub use a::Made;"),
            ("a.rs", "make!(Made);"),
            ("user.rs", "use std::fmt; use crate::a;"),
        ];
        let at = |path: &str| defined(&sources, "user.rs", path);
        assert_eq!(at("crate::a::Made").as_deref(), Some("a.rs"));
        assert_eq!(at("crate::Made").as_deref(), Some("a.rs"));
        assert_eq!(at("a::Made").as_deref(), Some("a.rs"));
        assert_eq!(at("crate::macro_of_the_root").as_deref(), Some("lib.rs"));
        // A module is no item, and other crates have no files here.
        for path in ["crate::a", "super", "fmt::Debug", "std::fmt", "serde::Serialize", "local"] {
            assert_eq!(at(path), None, "{path}");
        }
    }

    #[test]
    fn super_and_self_name_modules_inside_of_modules() {
        let sources = [
            ("lib.rs", "mod a; struct Root;"),
            (
                "a/mod.rs",
                "mod b; use b::Private; struct Own; mod inner { pub(crate) mod deep { pub struct Deep; } mod file; }",
            ),
            ("a/b.rs", "pub struct Private;"),
            ("a/inner/file.rs", ""),
        ];
        let at = |path: &str| defined(&sources, "a/inner/file.rs", path);
        assert_eq!(at("super::deep::Deep").as_deref(), Some("a/mod.rs"));
        assert_eq!(at("super::super::Own").as_deref(), Some("a/mod.rs"));
        assert_eq!(at("super::super::super::Root").as_deref(), Some("lib.rs"));
        assert_eq!(at("super::super::Private").as_deref(), Some("a/b.rs"));
        assert_eq!(defined(&sources, "a/mod.rs", "self::b::Private").as_deref(), Some("a/b.rs"));
    }

    #[test]
    fn a_module_and_a_function_may_share_a_name() {
        let sources = [
            ("lib.rs", "mod run; pub use run::run; mod user;"),
            ("run.rs", "pub fn run() {} pub struct Run;"),
            ("user.rs", ""),
        ];
        assert_eq!(defined(&sources, "user.rs", "crate::run").as_deref(), Some("run.rs"));
        assert_eq!(defined(&sources, "user.rs", "crate::run::Run").as_deref(), Some("run.rs"));
    }

    #[test]
    fn declarations_in_a_circle_end() {
        let sources = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub use crate::b::*; pub use crate::b::Lost;"),
            ("b.rs", "pub use crate::a::*; pub use crate::a::Lost;"),
        ];
        assert_eq!(defined(&sources, "lib.rs", "a::Unknown").as_deref(), Some("a.rs"));
        assert!(defined(&sources, "lib.rs", "a::Lost").is_some());
    }
}
