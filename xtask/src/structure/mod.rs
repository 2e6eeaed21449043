//! The structure of a crate: circles of files that import each other, where the methods of a type are, and
//! floors.
//!
//! Three checks of `cargo xtask tidy`, the first two against a record of today's numbers. A larger number
//! fails, because the structure got worse; a smaller one fails until the record is lowered, so that it cannot
//! grow again.
//!
//! * [`circles`]: the largest circle of a crate has as many files as [`CIRCLES`] says.
//! * [`methods`]: a crate has as many `impl T` outside of the file or folder of `T` as [`MISPLACED`] says.
//! * [`floors`]: the files of a crate in [`FLOORS`] import only from their own room and from lower floors.
//!
//! The circles and misplaced methods of each crate are printed, whether or not the checks pass, and for a
//! circle the one import that is best dropped. An example:
//!
//! ```text
//! maskwright-syntax: a circle of 2 files: parser.rs, token.rs
//!     none if token.rs did not take `State` from parser.rs
//! maskwright-syntax: `impl Parser` (parser.rs) also in token.rs
//! ```
//!
//! All checks read the sources (`modules`, `resolve`), which takes no build.

mod circles;
mod floors;
mod methods;
mod modules;
mod resolve;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::commands::root;
use floors::Floors;
use modules::Modules;

/// The number of files in the largest circle of each crate. A crate that is not here has no circle.
const CIRCLES: &[(&str, usize)] = &[
    ("maskwright", 3),
    ("maskwright-automata", 3),
    ("maskwright-engine", 2),
    ("maskwright-grammar", 2),
    ("maskwright-lexing", 2),
    ("maskwright-models", 3),
    ("maskwright-syntax", 2),
    ("maskwright-tags", 3),
    ("xtask", 3),
];

/// The number of misplaced `impl T` in each crate. A crate that is not here has none.
const MISPLACED: &[(&str, usize)] = &[
    ("maskwright-automata", 3),
    ("maskwright-decode", 1),
    ("maskwright-grammar", 6),
    ("maskwright-lark", 1),
    ("maskwright-lexing", 5),
    ("maskwright-oracle", 2),
    ("maskwright-syntax", 2),
    ("maskwright-tags", 2),
];

/// The crates that have floors: the rooms of each floor, from the ground up.
const FLOORS: &[(&str, Floors<'_>)] = &[
    (
        "maskwright-engine",
        &[
            &["ground"],
            &["rows", "spelling"],
            &["shared"],
            &["parser"],
            &["bytes", "lexed"],
            &["reader"],
            &["budget", "labels", "likeliest"],
            &["watch"],
            &["session"],
        ],
    ),
    (
        "maskwright-infill",
        &[
            &["ground"],
            &["lattice", "tokens", "rules"],
            &["chart"],
            &["bytes", "lexed"],
            &["answer"],
            &["canvas"],
        ],
    ),
];

/// Checks the crates of `packages` (as `cargo metadata` tells them), those of research/ left out, and prints
/// their structure.
///
/// # Errors
/// A source file is missing, or is not Rust.
#[allow(clippy::print_stderr, reason = "a task tells its outcome")]
pub(crate) fn check(
    packages: &[Value],
    sources: &[(String, String)],
    findings: &mut Vec<String>,
) -> anyhow::Result<()> {
    let sources = sources.iter().map(|(path, source)| (path.as_str(), source.as_str())).collect();
    let (mut sizes, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        for root in roots(package) {
            let modules = Modules::read(&root, &sources)?;
            if let Some((_, floors)) = FLOORS.iter().find(|(package, _)| *package == name) {
                floors::check(name, &modules, floors, findings);
            }
            let structure = Structure::of(&root, &modules);
            structure.lines.iter().for_each(|line| eprintln!("{name}: {line}"));
            let size = sizes.entry(name).or_insert(0);
            *size = structure.largest.max(*size);
            *counts.entry(name).or_insert(0) += structure.n_misplaced;
        }
    }
    let circles = Record {
        name: "CIRCLES",
        entries: CIRCLES,
        counted: "files in its largest circle",
        remedy: "let two files that need each other be one, move what both need into a third one, or pass it as an argument",
    };
    circles.compare(&sizes, findings);
    let misplaced = Record {
        name: "MISPLACED",
        entries: MISPLACED,
        counted: "`impl T` outside the file or folder of `T`",
        remedy: "move it to its type, or make of it functions or methods of another type",
    };
    misplaced.compare(&counts, findings);
    Ok(())
}

/// The paths in the project of the files at which the library and the programs of `package` begin.
fn roots(package: &Value) -> Vec<String> {
    let is_root = |target: &&Value| {
        let kinds = target["kind"].as_array().into_iter().flatten();
        kinds.filter_map(Value::as_str).any(|kind| matches!(kind, "lib" | "cdylib" | "proc-macro" | "bin"))
    };
    let targets = package["targets"].as_array().into_iter().flatten().filter(is_root);
    let path = |target: &Value| {
        let path = Path::new(target["src_path"].as_str()?).strip_prefix(root()).ok()?;
        Some(path.display().to_string().replace('\\', "/"))
    };
    targets.filter_map(path).filter(|path| !path.starts_with("research/")).collect()
}

/// The structure of a library or program.
struct Structure {
    /// The number of files in the largest circle, 0 if there is none.
    largest: usize,
    n_misplaced: usize,
    /// What to print.
    lines: Vec<String>,
}

impl Structure {
    /// Of the modules that begin at the file `root`.
    fn of(root: &str, modules: &Modules) -> Structure {
        let folder = root.rfind('/').map_or(0, |slash| slash + 1);
        let short = |file: usize| &modules.files[file][folder..];
        let imports = circles::imports(modules);
        let circles = circles::circles(&imports);
        let mut lines = Vec::new();
        for circle in &circles {
            let files: Vec<&str> = circle.iter().map(|file| short(*file)).collect();
            lines.push(format!("a circle of {} files: {}", files.len(), files.join(", ")));
            let tie = circles::tie(&imports, circle).filter(|tie| tie.rest < circle.len());
            if let Some(tie) = tie {
                let names: Vec<&str> = tie.names.iter().map(String::as_str).collect();
                let (from, to) = (short(tie.files.0), short(tie.files.1));
                let rest = if tie.rest == 0 { "none".to_owned() } else { format!("{} files", tie.rest) };
                lines.push(format!("    {rest} if {from} did not take `{}` from {to}", names.join("`, `")));
            }
        }
        let misplaced = methods::misplaced(modules);
        for of_type in misplaced.chunk_by(|a, b| a.of == b.of) {
            let mut files: Vec<&str> = of_type.iter().map(|misplaced| short(misplaced.file)).collect();
            files.dedup();
            let of = &of_type[0].of;
            lines.push(format!("`impl {}` ({}) also in {}", of.name, short(of.file), files.join(", ")));
        }
        Structure { largest: circles.first().map_or(0, Vec::len), n_misplaced: misplaced.len(), lines }
    }
}

/// A table of this file.
struct Record {
    name: &'static str,
    entries: &'static [(&'static str, usize)],
    /// What the numbers count.
    counted: &'static str,
    /// What to do about more.
    remedy: &'static str,
}

impl Record {
    /// Compares with the numbers of today. A number that is smaller is a finding too, so that it does not
    /// grow again.
    fn compare(&self, today: &BTreeMap<&str, usize>, findings: &mut Vec<String>) {
        let Record { name, entries, counted, remedy } = self;
        for (package, now) in today {
            let entry = entries.iter().find(|(other, _)| other == package);
            let record = entry.map_or(0, |(_, record)| *record);
            let has = format!("crate `{package}` has {now} {counted}");
            if *now > record {
                findings.push(format!("{has}, more than the {record} of {name}: {remedy}"));
            } else if *now < record {
                findings.push(format!(
                    "{has}, fewer than the {record} of {name}: lower this record in xtask/src/structure/mod.rs (every step lowers them)"
                ));
            }
        }
        for (package, _) in entries.iter().filter(|(package, _)| !today.contains_key(package)) {
            findings
                .push(format!("{name} in xtask/src/structure/mod.rs names `{package}`, which is no crate"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_may_neither_be_exceeded_nor_be_too_high() {
        let entries = &[("same", 4), ("more", 4), ("fewer", 4), ("gone", 4)];
        let record = Record { name: "TABLE", entries, counted: "files", remedy: "split" };
        let today = BTreeMap::from([("same", 4), ("more", 5), ("fewer", 3), ("none", 0), ("new", 2)]);
        let mut findings = Vec::new();
        record.compare(&today, &mut findings);
        assert_eq!(
            findings,
            [
                "crate `fewer` has 3 files, fewer than the 4 of TABLE: lower this record in xtask/src/structure/mod.rs (every step lowers them)",
                "crate `more` has 5 files, more than the 4 of TABLE: split",
                "crate `new` has 2 files, more than the 0 of TABLE: split",
                "TABLE in xtask/src/structure/mod.rs names `gone`, which is no crate",
            ]
        );
    }

    #[test]
    fn the_structure_of_a_crate_is_told_in_lines() {
        let sources = BTreeMap::from([
            ("x/src/lib.rs", "mod machine; mod mask;"),
            ("x/src/machine.rs", "use crate::mask::Mask; pub struct Machine(Mask);"),
            (
                "x/src/mask.rs",
                "use crate::machine::Machine; pub struct Mask; impl Machine {} impl Machine {}",
            ),
        ]);
        let root = "x/src/lib.rs";
        let structure = Structure::of(root, &Modules::read(root, &sources).unwrap());
        assert_eq!((structure.largest, structure.n_misplaced), (2, 2));
        assert_eq!(
            structure.lines,
            [
                "a circle of 2 files: machine.rs, mask.rs",
                "    none if machine.rs did not take `Mask` from mask.rs",
                "`impl Machine` (machine.rs) also in mask.rs",
            ]
        );
    }
}
