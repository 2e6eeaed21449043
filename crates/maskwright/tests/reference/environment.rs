//! Environment variables: each one that the product reads is on the page.

use std::collections::BTreeMap;
use std::path::Path;

use crate::page;

/// Where the product's sources are.
const FOLDERS: [&str; 5] = ["crates", "python/python/maskwright", "python/src", "js/src", "js/package"];
/// Folders that are no part of it.
const OTHERS: [&str; 8] = ["oracle", "tests", "benches", "examples", "node_modules", "target", "pkg", "test"];
/// What reads a variable; its name follows, or the name of a constant.
const READERS: [&str; 9] = [
    "env::var(\"",
    "env::var_os(\"",
    "std::env::var_os(",
    "os.environ.get(\"",
    "os.environ[\"",
    "os.environ.setdefault(",
    "os.getenv(\"",
    "process.env.",
    "os.environ.keys() & {\"",
];
/// What begins like our variables and is none: guards of C headers.
const NONE: [&str; 1] = ["MASKWRIGHT_H"];

/// The sources below a folder.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !OTHERS.contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if [".rs", ".py", ".js", ".mjs", ".ts", ".h"].iter().any(|end| name.ends_with(end)) {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

/// The variables that a source names: ours, and others that it reads.
fn variables(source: &str) -> Vec<String> {
    let name = |at: usize| source[at..].split(|c| !is_of_name(c)).next().unwrap().to_owned();
    let ours = source.match_indices("MASKWRIGHT_").map(|(at, _)| name(at));
    let read =
        READERS.iter().flat_map(|reader| source.match_indices(reader).map(|(at, _)| name(at + reader.len())));
    let constant = |read: String| {
        let value =
            [": &str = \"", " = \""].iter().find_map(|sign| source.split_once(&format!("{read}{sign}")));
        value.map_or(read, |(_, rest)| rest.split('"').next().unwrap_or_default().to_owned())
    };
    let read = read.filter(|name| !name.is_empty()).map(constant);
    ours.chain(read).collect()
}

#[test]
fn every_variable_is_on_the_page() {
    let mut found = Vec::new();
    for folder in FOLDERS {
        sources(&page::path(folder), &mut found);
    }
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    for (path, source) in &found {
        for name in variables(source) {
            // A prefix, as in `MASKWRIGHT_*`, is none.
            if !name.ends_with('_') && !NONE.contains(&name.as_str()) {
                named.entry(name).or_insert_with(|| path.clone());
            }
        }
    }
    for name in [
        "HF_ENDPOINT",
        "MASKWRIGHT_CACHE",
        "MIMALLOC_PURGE_DELAY",
        "PROMETHEUS_MULTIPROC_DIR",
        "RAYON_NUM_THREADS",
    ] {
        assert!(named.contains_key(name), "{name} is not found: {named:?}");
    }
    let text = std::fs::read_to_string(page::path("docs/reference/environment.md")).unwrap();
    let is_there = |name: &str| text.contains(&format!("`{name}`"));
    let missing: Vec<_> = named.iter().filter(|(name, _)| !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/reference/environment.md lacks {missing:?}");
    let ours = text.split('`').skip(1).step_by(2).filter(|name| name.starts_with("MASKWRIGHT_"));
    let ours = ours.map(|name| name.split('=').next().unwrap());
    let gone: Vec<&str> = ours.filter(|name| !name.ends_with('_') && !named.contains_key(*name)).collect();
    assert!(gone.is_empty(), "nothing reads {gone:?}");
}

/// What the page says of servers is in the source.
#[test]
fn values_of_servers_are_those_of_the_source() {
    let source = page::path("python/python/maskwright/integrations/_serving/options.py");
    let source = std::fs::read_to_string(source).unwrap();
    let page = std::fs::read_to_string(page::path("docs/reference/environment.md")).unwrap();
    let (_, table) = source.split_once("_VARIABLES: dict").unwrap();
    let (table, _) = table.split_once("\n}").unwrap();
    let mut n_variables = 0;
    for line in table.lines().filter(|line| line.contains("(\"MASKWRIGHT_")) {
        let (field, rest) = line.trim().trim_start_matches('"').split_once('"').unwrap();
        let variable = rest.split('"').nth(1).unwrap();
        let row = page.lines().find(|row| row.starts_with(&format!("| `{variable}` "))).unwrap();
        let (_, default) = source.split_once(&format!("\n    {field}: ")).unwrap();
        let default = default.lines().next().unwrap().rsplit(" = ").next().unwrap();
        let default = match default.replace('_', "").trim_matches('"') {
            "None" => "one".to_owned(),
            "True" => "`1`".to_owned(),
            "False" => "`0`".to_owned(),
            "192 << 20" => format!("`{}`", 192 << 20),
            value => format!("`{value}`"),
        };
        let cell = row.split('|').nth(3).unwrap();
        assert!(cell.contains(&default), "{variable}: {default} is not in {cell:?}");
        if let Some(expected) = rest.rsplit('"').nth(1).filter(|text| text.contains(' ')) {
            let n_digits = expected.chars().filter(char::is_ascii_digit);
            let values = row.split('|').nth(2).unwrap();
            assert!(
                n_digits.into_iter().all(|digit| values.contains(digit)),
                "{variable}: {expected}, {values}"
            );
        }
        n_variables += 1;
    }
    assert!(n_variables >= 15, "{n_variables} variables");
}
