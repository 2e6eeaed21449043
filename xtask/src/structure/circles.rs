//! Circles of files that import each other.
//!
//! File `a.rs` imports `b.rs` if a path in `a.rs` names something that `b.rs` defines ([`find`]). Two kinds
//! of paths count: those of private `use` declarations, and those in code, be it `b::run()`, `super::Thing`
//! or a name that a glob brings. Neither `mod b;` nor `pub use b::Thing;` imports anything by itself.
//!
//! A *circle* is a strongly connected component of more than one file: a set in which each file reaches each
//! other one along imports. An example: if `machine.rs` uses `Mask` of `mask.rs`, and `mask.rs` the type
//! `Machine`, both are a circle, and neither can be read, tested or moved without the other.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::Modules;
use super::resolve::find;

/// Which file imports which, with the names: `(a, b)` has what `a` takes from `b`. Files are indices of
/// `Modules::files`.
pub(crate) type Imports = BTreeMap<(usize, usize), BTreeSet<String>>;

/// The import that holds a circle together most.
pub(crate) struct Tie {
    /// The file that imports, and the file that is imported.
    pub(crate) files: (usize, usize),
    /// What is imported.
    pub(crate) names: BTreeSet<String>,
    /// The size of the largest circle without this import; 0 if there is none.
    pub(crate) rest: usize,
}

/// The imports between the files of a crate.
pub(crate) fn imports(modules: &Modules) -> Imports {
    let mut imports = Imports::new();
    for (index, module) in modules.all.iter().enumerate() {
        // A glob counts by itself only if it brings the variants of an enum.
        let paths = module.imports.iter().chain(&module.mentions).chain(&module.globs);
        for path in paths {
            if let Some(item) = find(modules, index, path).filter(|item| item.file != module.file) {
                imports.entry((module.file, item.file)).or_default().insert(item.name);
            }
        }
    }
    imports
}

/// The circles, largest first. Files of one circle are in the order of their indices.
pub(crate) fn circles(imports: &Imports) -> Vec<Vec<usize>> {
    let mut circles = components(imports.keys().copied());
    circles.sort_by_key(|circle| (std::cmp::Reverse(circle.len()), circle.clone()));
    circles
}

/// The import of `circle` without which the largest circle of its files is smallest.
pub(crate) fn tie(imports: &Imports, circle: &[usize]) -> Option<Tie> {
    let is_inside = |(from, to): &(usize, usize)| circle.contains(from) && circle.contains(to);
    let inside: Vec<(usize, usize)> = imports.keys().copied().filter(is_inside).collect();
    let without = |files: &(usize, usize)| {
        let rest = components(inside.iter().copied().filter(|other| other != files));
        let rest = rest.iter().map(Vec::len).max().unwrap_or(0);
        Tie { files: *files, names: imports[files].clone(), rest }
    };
    inside.iter().map(without).min_by_key(|tie| (tie.rest, tie.names.len()))
}

/// The strongly connected components of more than one node, by Tarjan's algorithm (SIAM Journal on Computing
/// 1(2), 1972).
fn components(arrows: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut search = Tarjan::default();
    for (from, to) in arrows {
        search.next.entry(from).or_default().push(to);
    }
    let starts: Vec<usize> = search.next.keys().copied().collect();
    for node in starts {
        if !search.order.contains_key(&node) {
            search.visit(node);
        }
    }
    search.components
}

#[derive(Default)]
struct Tarjan {
    next: BTreeMap<usize, Vec<usize>>,
    /// When each node was first visited.
    order: BTreeMap<usize, usize>,
    /// The nodes that have no component yet.
    open: Vec<usize>,
    components: Vec<Vec<usize>>,
}

impl Tarjan {
    /// Visits `node` and what it reaches; returns the earliest open node that it reaches, by its order.
    fn visit(&mut self, node: usize) -> usize {
        let order = self.order.len();
        self.order.insert(node, order);
        let n_before = self.open.len();
        self.open.push(node);
        let mut earliest = order;
        for next in self.next.get(&node).cloned().unwrap_or_default() {
            earliest = match self.order.get(&next) {
                None => earliest.min(self.visit(next)),
                Some(order) if self.open.contains(&next) => earliest.min(*order),
                Some(_) => earliest,
            };
        }
        if earliest == order {
            let mut component = self.open.split_off(n_before);
            component.sort_unstable();
            if component.len() > 1 {
                self.components.push(component);
            }
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports as lines `a.rs -> b.rs`, and the circles.
    fn read(sources: &[(&str, &str)]) -> (Vec<String>, Vec<Vec<String>>) {
        let sources: BTreeMap<&str, &str> = sources.iter().copied().collect();
        let modules = Modules::read("lib.rs", &sources).unwrap();
        let imports = imports(&modules);
        let name = |file: usize| modules.files[file].clone();
        let mut lines: Vec<String> =
            imports.keys().map(|(from, to)| format!("{} -> {}", name(*from), name(*to))).collect();
        lines.sort();
        let named = |circle: Vec<usize>| circle.into_iter().map(name).collect();
        (lines, circles(&imports).into_iter().map(named).collect())
    }

    #[test]
    fn a_parent_that_only_hands_names_on_imports_nothing() {
        let sources = [
            ("lib.rs", "mod a; pub use a::Thing;"),
            ("a/mod.rs", "mod b; mod c; pub use b::Thing; pub(crate) use c::*;"),
            ("a/b.rs", "pub struct Thing;"),
            ("a/c.rs", "use crate::Thing; use super::Thing as Same; pub fn f(_: Thing, _: Same) {}"),
        ];
        let (lines, circles) = read(&sources);
        assert_eq!(lines, ["a/c.rs -> a/b.rs"]);
        assert!(circles.is_empty());
    }

    #[test]
    fn a_parent_that_uses_what_it_hands_on_imports_it() {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::Thing; fn f(_: Thing) { c::run() }"),
            ("a.rs", "pub struct Thing;"),
            ("b.rs", "use super::*; fn g(_: Thing) { f() }"),
            ("c.rs", "pub fn run() {}"),
        ];
        let (lines, circles) = read(&sources);
        assert_eq!(lines, ["b.rs -> a.rs", "b.rs -> lib.rs", "lib.rs -> a.rs", "lib.rs -> c.rs"]);
        assert!(circles.is_empty());
    }

    #[test]
    fn paths_count_wherever_they_stand() {
        let sources = [
            ("lib.rs", "mod a; mod types; mod calls; mod macros; mod traits; mod kinds; mod user;"),
            ("a.rs", "use crate::user;"),
            ("types.rs", "pub struct T;"),
            ("calls.rs", "pub fn run() {}"),
            ("macros.rs", "pub const N: u32 = 1;"),
            ("traits.rs", "pub trait Trait {}"),
            ("kinds.rs", "pub enum Kind { One }"),
            (
                "user.rs",
                "struct S(Vec<crate::types::T>);
                 fn f() { use crate::traits::Trait as _; use super::kinds::Kind::*; super::calls::run(); }
                 fn g() -> String { format!(\"{}\", [crate::macros::N]) }",
            ),
        ];
        let (lines, _) = read(&sources);
        // `a.rs` imports a module and takes nothing from it.
        let used = ["calls", "kinds", "macros", "traits", "types"];
        assert_eq!(lines, used.map(|name| format!("user.rs -> {name}.rs")));
    }

    #[test]
    fn tests_do_not_count() {
        let sources = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod left_out; #[cfg(all(test, unix))] use a::A;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            (
                "b.rs",
                "use crate::a::A; pub struct B; #[cfg(test)] fn f() { crate::c() }
                      impl B { #[cfg(test)] fn g() { crate::c() } #[cfg(not(test))] fn h(_: super::d) {} }",
            ),
        ];
        let (lines, circles) = read(&sources);
        assert_eq!(lines, ["b.rs -> a.rs", "b.rs -> lib.rs"]);
        assert!(circles.is_empty());
    }

    #[test]
    fn circles_are_found_through_both_layouts_and_inner_modules() {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a.rs", "mod inner { use crate::b::B; pub struct A; } pub use inner::A;"),
            ("b/mod.rs", "pub mod deep; use crate::c::C; pub struct B;"),
            ("b/deep.rs", "pub struct Deep;"),
            ("c.rs", "use crate::{a::A, b::deep::Deep}; pub struct C;"),
            ("d.rs", "use super::e::E; pub struct D;"),
            ("e.rs", "use super::d::D; pub struct E;"),
        ];
        let (_, circles) = read(&sources);
        assert_eq!(circles, [vec!["a.rs", "b/mod.rs", "c.rs"], vec!["d.rs", "e.rs"]]);
    }

    #[test]
    fn the_tie_of_a_circle_is_the_import_that_opens_it() {
        // Two groups in which every file imports every other one, and an import there and two back.
        let groups = [[1, 2, 3], [4, 5, 6]];
        let inside = groups.iter().flat_map(|group| group.iter().flat_map(|a| group.map(|b| (*a, b))));
        let pairs = inside.chain([(3, 4), (5, 2), (6, 1)]);
        let imports: Imports = pairs.map(|pair| (pair, BTreeSet::new())).collect();
        assert_eq!(circles(&imports), [[1, 2, 3, 4, 5, 6]]);
        let tie = tie(&imports, &[1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!((tie.files, tie.rest), ((3, 4), 3));
    }
}
