//! Floors: which files of a crate may import which.
//!
//! A crate with floors is a list of them, from the ground up. A floor has *rooms*, each a module next to
//! `lib.rs` with its folder. A file may import from its own room and from lower floors; rooms of one floor do
//! not know each other. An example:
//!
//! ```text
//! FLOORS: [["ground"], ["bytes", "lexed"], ["reader"]]
//!
//! lexed/mod.rs imports ground/error.rs    fine
//! lexed/mod.rs imports bytes/mod.rs       a finding: another room of the floor
//! bytes/mod.rs imports reader.rs          a finding: a higher floor
//! ```
//!
//! `lib.rs` itself is the roof: it may import whatever it likes, and no other file may import from it.

use super::circles::imports;
use super::modules::Modules;

/// The rooms of each floor, from the ground up.
pub(crate) type Floors<'a> = &'a [&'a [&'a str]];

/// What is wrong with the crate `package`, whose modules are `modules`, as findings.
pub(crate) fn check(package: &str, modules: &Modules, floors: Floors<'_>, findings: &mut Vec<String>) {
    let folder = modules.files[0].rfind('/').map_or(0, |slash| slash + 1);
    let short = |file: usize| &modules.files[file][folder..];
    let is_in = |file: &str, room: &str| {
        file.strip_prefix(room).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let roof = (floors.len(), "");
    // The number of a file's floor, and its room.
    let place = |file: usize| match file {
        0 => Some(roof),
        _ => floors.iter().enumerate().find_map(|(floor, rooms)| {
            rooms.iter().find(|room| is_in(short(file), room)).map(|room| (floor, *room))
        }),
    };
    for file in (0..modules.files.len()).filter(|file| place(*file).is_none()) {
        findings.push(format!("crate `{package}`: {} is in no room of FLOORS", short(file)));
    }
    for room in floors.iter().copied().flatten() {
        if !(0..modules.files.len()).any(|file| is_in(short(file), room)) {
            findings.push(format!("crate `{package}`: FLOORS names the room {room}, which has no file"));
        }
    }
    for ((from, to), names) in imports(modules) {
        let (Some(own), Some(other)) = (place(from), place(to)) else { continue };
        if own != other && own.0 <= other.0 {
            let names = names.into_iter().collect::<Vec<_>>().join("`, `");
            findings.push(format!(
                "crate `{package}`: {} takes `{names}` from {}, which is not on a lower floor: move it down, or pass it as an argument",
                short(from),
                short(to)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn imports_go_down() {
        let sources = BTreeMap::from([
            ("x/src/lib.rs", "mod ground; mod bytes; mod lexed; mod reader; mod cellar; pub use ground::E;"),
            ("x/src/ground.rs", "mod error; mod by; pub struct E; fn f(_: by::B) { crate::reader::read() }"),
            ("x/src/ground/error.rs", "pub struct Error;"),
            ("x/src/ground/by.rs", "use super::error::Error; pub struct B(Error);"),
            ("x/src/bytes.rs", "use crate::E; pub struct Bytes(E);"),
            ("x/src/lexed.rs", "use crate::bytes::Bytes; pub struct Lexed(Bytes);"),
            ("x/src/reader.rs", "use crate::{E, bytes::Bytes, lexed::Lexed}; pub fn read() {}"),
            ("x/src/cellar.rs", "use crate::reader::read;"),
        ]);
        let modules = Modules::read("x/src/lib.rs", &sources).unwrap();
        let floors: Floors<'_> = &[&["ground"], &["bytes", "lexed"], &["reader"], &["attic"]];
        let mut findings = Vec::new();
        check("x", &modules, floors, &mut findings);
        let remedy = "which is not on a lower floor: move it down, or pass it as an argument";
        assert_eq!(
            findings,
            [
                "crate `x`: cellar.rs is in no room of FLOORS".to_owned(),
                "crate `x`: FLOORS names the room attic, which has no file".to_owned(),
                format!("crate `x`: ground.rs takes `read` from reader.rs, {remedy}"),
                format!("crate `x`: lexed.rs takes `Bytes` from bytes.rs, {remedy}"),
            ]
        );
    }
}
