//! Where the methods of a type are.
//!
//! An `impl T { .. }` belongs into the *place* of `T`, which is the file that defines `T` and the folder of
//! that file's modules:
//!
//! | `T` is defined in | its place |
//! |---|---|
//! | `a/b.rs` | `a/b.rs`, and all files under `a/b/` |
//! | `a/mod.rs` | all files under `a/` |
//! | `lib.rs`, `main.rs` | that file only, or its place would be the whole crate |
//!
//! An example: `impl Machine` in `mask.rs`, where `machine.rs` defines `Machine`, is *misplaced*. Nothing in
//! `machine.rs` tells its reader about it. `impl Trait for T` may stand anywhere. An `impl dyn Trait`, and
//! one that a macro makes, is not looked at.

use super::modules::Modules;
use super::resolve::{Definition, find};

/// A misplaced `impl T`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Misplaced {
    /// The type.
    pub(crate) of: Definition,
    /// The file of the `impl`, as an index of `Modules::files`.
    pub(crate) file: usize,
}

/// All misplaced `impl T` of a crate, those of one type together.
pub(crate) fn misplaced(modules: &Modules) -> Vec<Misplaced> {
    let mut misplaced = Vec::new();
    for (index, module) in modules.all.iter().enumerate() {
        for of in module.impls.iter().filter_map(|path| find(modules, index, path)) {
            if !is_in_place(&modules.files, of.file, module.file) {
                misplaced.push(Misplaced { of, file: module.file });
            }
        }
    }
    misplaced.sort();
    misplaced
}

/// Whether `file` belongs to the place of what the file `home` defines.
fn is_in_place(files: &[String], home: usize, file: usize) -> bool {
    let stem = files[home].trim_end_matches(".rs").trim_end_matches("/mod");
    // The first file is `lib.rs` or `main.rs`. Others have a folder of their name.
    home == file || home != 0 && files[file].strip_prefix(stem).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The misplaced ones as `Type of home in file`.
    fn read(sources: &[(&str, &str)]) -> Vec<String> {
        let sources: BTreeMap<&str, &str> = sources.iter().copied().collect();
        let modules = Modules::read("src/lib.rs", &sources).unwrap();
        let file = |file: usize| modules.files[file].trim_start_matches("src/");
        let line = |it: &Misplaced| format!("{} of {} in {}", it.of.name, file(it.of.file), file(it.file));
        misplaced(&modules).iter().map(line).collect()
    }

    #[test]
    fn a_type_has_its_file_and_the_folder_of_that_file() {
        let sources = [
            ("src/lib.rs", "mod a; mod b; mod bc; pub struct Root; impl Root {}"),
            ("src/a/mod.rs", "mod inner; mod other; pub struct A; impl A {} impl inner::Inner {}"),
            ("src/a/inner.rs", "mod deep; pub struct Inner; impl Inner {} impl super::A {}"),
            (
                "src/a/inner/deep.rs",
                "use super::Inner; impl Inner {} impl super::super::A {} impl crate::Root {}",
            ),
            (
                "src/a/other.rs",
                "use super::inner::Inner as Renamed; impl Renamed {} impl Clone for Renamed {}",
            ),
            ("src/b.rs", "pub struct B<T>(T); mod braces { impl<T: Copy> super::B<T> {} }"),
            (
                "src/bc.rs",
                "use crate::b::*; impl B<u32> {} impl Drop for B<u32> {} #[cfg(test)] impl B<u64> {}",
            ),
        ];
        assert_eq!(
            read(&sources),
            [
                "Root of lib.rs in a/inner/deep.rs",
                "Inner of a/inner.rs in a/mod.rs",
                "Inner of a/inner.rs in a/other.rs",
                "B of b.rs in bc.rs",
            ]
        );
    }
}
