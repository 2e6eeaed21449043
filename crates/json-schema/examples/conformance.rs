//! Replays MaskBench and the official JSON Schema test suite:
//! `conformance DIR [schema|any] [--lenient] [--limit=N] [--misses]`.
//!
//! `DIR` holds `maskbench/*.jsonl` and `json-schema-test-suite/tests`, or one of them. Instances are written
//! as `json.dumps(…, ensure_ascii=False)` does, in the order given; alternatives are limited to `N`. Prints
//! what is refused by keyword, how many instances are judged right, the times of compilation, and with
//! `--misses` each wrong one. Exits with 1 if an invalid instance is accepted although the report says that
//! everything is enforced.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

#[path = "../tests/instances/mod.rs"]
mod instances;
#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use instances::written;
use maskwright_automata::Fuel;
use maskwright_json_schema::{
    CompiledSchema, Documents, Numbers, PropertyOrder, SchemaConfig, SchemaError, compile_with_documents,
};
use serde_json::{Value, json};
use support::{Automata, Recogniser};

const FUEL: u64 = 16_000_000;

const DRAFTS: [(&str, &str); 5] = [
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
];

/// Files about keywords that are annotations here, as the specification allows.
const ANNOTATIONS: [&str; 1] = ["draft7/content"];

/// What was counted.
#[derive(Default)]
struct Table {
    n_schemas: usize,
    n_taken: usize,
    /// Schemas of which the report says that a keyword is not enforced.
    n_loosened: usize,
    n_wrong_acceptances: usize,
    n_all_right: usize,
    /// Instances of schemas that were not taken.
    n_not_judged: usize,
    valid: (usize, usize),
    invalid: (usize, usize),
    refused: BTreeMap<String, usize>,
    times: Vec<(Duration, String)>,
    misses: Vec<String>,
}

impl Table {
    fn add(
        &mut self,
        name: &str,
        compiled: Result<CompiledSchema, SchemaError>,
        time: Duration,
        tests: &[Value],
        automata: &mut Automata,
    ) {
        self.n_schemas += 1;
        self.times.push((time, name.to_string()));
        let compiled = match compiled {
            Ok(compiled) => Some(compiled),
            Err(error) if error.is_unsatisfiable() => None,
            Err(error) => {
                let kind = if error.is_limit() {
                    "limit"
                } else if error.is_unsupported() {
                    "unsupported"
                } else {
                    "malformed"
                };
                *self.refused.entry(format!("{} ({kind})", error.keyword().unwrap_or("-"))).or_default() += 1;
                self.misses.push(format!("not taken: {name}: {error}"));
                self.n_not_judged += tests.len();
                return;
            }
        };
        self.n_taken += 1;
        let is_complete = compiled.as_ref().is_none_or(|compiled| compiled.report.is_complete());
        self.n_loosened += usize::from(!is_complete);
        let mut recogniser = compiled.as_ref().map(|compiled| Recogniser::new(&compiled.grammar));
        let mut is_right = true;
        for test in tests {
            let text = written(&test["data"]);
            let (at, is_accepted) =
                recogniser.as_mut().map_or((0, false), |recogniser| recogniser.read(&text, automata));
            let is_valid = test["valid"] == true;
            let counts = if is_valid { &mut self.valid } else { &mut self.invalid };
            counts.1 += 1;
            if is_accepted == is_valid {
                counts.0 += 1;
                continue;
            }
            is_right = false;
            let is_annotation = ANNOTATIONS.iter().any(|file| name.contains(file));
            self.n_wrong_acceptances += usize::from(is_accepted && is_complete && !is_annotation);
            let wrong = if is_valid { "valid, but refused" } else { "INVALID, BUT ACCEPTED" };
            let description = test["description"].as_str().unwrap_or_default();
            let tail: String = text.chars().take(400).collect();
            self.misses.push(format!("{wrong}: {name}: {description}: at byte {at}: {tail}"));
        }
        self.n_all_right += usize::from(is_right);
    }

    fn print(&mut self, title: &str, shows_misses: bool) {
        println!("{title}");
        println!("  schemas taken      {} of {}", self.n_taken, self.n_schemas);
        if self.n_loosened > 0 {
            println!("  of them loosened   {}", self.n_loosened);
        }
        println!("  all instances right {} of {}", self.n_all_right, self.n_schemas);
        println!("  valid accepted     {} of {}", self.valid.0, self.valid.1);
        println!("  invalid refused    {} of {}", self.invalid.0, self.invalid.1);
        let (n_right, n_judged) = (self.valid.0 + self.invalid.0, self.valid.1 + self.invalid.1);
        println!(
            "  instances right    {n_right} of {}, those not judged included",
            n_judged + self.n_not_judged
        );
        for (keyword, n) in &self.refused {
            println!("    not taken for {keyword:32} {n}");
        }
        self.times.sort();
        let n = self.times.len();
        if let Some(((longest, name), (median, _))) = self.times.last().zip(self.times.get(n / 2)) {
            let p99 = self.times[n * 99 / 100].0;
            println!("  compile p50 {median:?}, p99 {p99:?}, max {longest:?} ({name})");
        }
        for (time, name) in self.times.iter().rev().take(6).filter(|(time, _)| time.as_millis() >= 50) {
            println!("    slow: {time:?} {name}");
        }
        if shows_misses {
            for miss in &self.misses {
                println!("  {miss}");
            }
        }
    }

    /// One row: what is taken, and of all instances how many are judged right.
    fn print_row(&self, title: &str) {
        let (n_right, n_judged) = (self.valid.0 + self.invalid.0, self.valid.1 + self.invalid.1);
        println!(
            "  {title:24} schemas {:4} of {:4}, valid {:4} of {:4}, invalid {:4} of {:4}, right {n_right} of {}",
            self.n_taken,
            self.n_schemas,
            self.valid.0,
            self.valid.1,
            self.invalid.0,
            self.invalid.1,
            n_judged + self.n_not_judged
        );
    }

    fn add_all(&mut self, other: Table) {
        self.n_schemas += other.n_schemas;
        self.n_taken += other.n_taken;
        self.n_loosened += other.n_loosened;
        self.n_wrong_acceptances += other.n_wrong_acceptances;
        self.n_all_right += other.n_all_right;
        self.n_not_judged += other.n_not_judged;
        self.valid = (self.valid.0 + other.valid.0, self.valid.1 + other.valid.1);
        self.invalid = (self.invalid.0 + other.invalid.0, self.invalid.1 + other.invalid.1);
        for (keyword, n) in other.refused {
            *self.refused.entry(keyword).or_default() += n;
        }
        self.times.extend(other.times);
        self.misses.extend(other.misses);
    }
}

fn timed(
    schema: &Value,
    documents: &Documents,
    config: &SchemaConfig,
) -> (Result<CompiledSchema, SchemaError>, Duration) {
    let start = (cpu_time(), Instant::now());
    let compiled = compile_with_documents(schema, documents, config, &Fuel::new(FUEL));
    let elapsed = start.1.elapsed();
    let time = match (start.0, cpu_time()) {
        // The system counts in ticks.
        (Some(start), Some(end)) if elapsed.as_millis() >= 20 => end.saturating_sub(start),
        _ => elapsed,
    };
    (compiled, time)
}

/// The processor time of this thread, where the system tells: what else the machine does is not in it.
fn cpu_time() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = told.split_whitespace().next()?.parse().ok()?;
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

/// The documents that the suite serves at `http://localhost:1234/`.
fn remotes(root: &Path) -> Documents {
    let mut documents = Documents::default();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(below) = path.strip_prefix(root) {
                let text = std::fs::read_to_string(&path).expect("readable");
                let document: Value = serde_json::from_str(&text).expect("a remote document is JSON");
                documents.insert(format!("http://localhost:1234/{}", below.display()), document);
            }
        }
    }
    documents
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let shows_misses = arguments.iter().any(|argument| argument == "--misses");
    let strict = !arguments.iter().any(|argument| argument == "--lenient");
    let limit = arguments.iter().find_map(|argument| argument.strip_prefix("--limit=")?.parse().ok());
    arguments.retain(|argument| !argument.starts_with("--"));
    let Some(folder) = arguments.first().map(PathBuf::from) else {
        eprintln!("usage: conformance DIR [schema|any] [--lenient] [--misses] [--limit=N]");
        return ExitCode::FAILURE;
    };
    let property_order = match arguments.get(1).map(String::as_str) {
        None | Some("schema") => PropertyOrder::Schema,
        Some("any") => PropertyOrder::Any,
        Some(other) => {
            eprintln!("the order is `schema` or `any`, given {other}");
            return ExitCode::FAILURE;
        }
    };
    let mut config = SchemaConfig::default();
    config.property_order = property_order;
    config.numbers = Numbers::Any;
    config.strict = strict;
    config.limits.max_alternatives = limit.unwrap_or(config.limits.max_alternatives);
    let mut automata = Automata::default();
    let mut n_wrong = 0;
    let mut table = Table::default();
    for file in files(&folder.join("maskbench"), "jsonl") {
        let text = std::fs::read_to_string(&file).expect("readable");
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).expect("a line is JSON");
            let (compiled, time) = timed(&case["schema"], &Documents::default(), &config);
            let name = case["id"].as_str().unwrap_or_default();
            table.add(name, compiled, time, case["tests"].as_array().map_or(&[], |t| t), &mut automata);
        }
    }
    if table.n_schemas > 0 {
        table.print("MaskBench", shows_misses);
        n_wrong += table.n_wrong_acceptances;
    }
    let suite = folder.join("json-schema-test-suite/tests");
    let documents = remotes(&folder.join("json-schema-test-suite/remotes"));
    for (title, below) in [
        ("official suite, required", ""),
        ("official suite, optional", "optional"),
        ("official suite, formats", "optional/format"),
    ] {
        let mut total = Table::default();
        for (draft, uri) in DRAFTS {
            let mut table = Table::default();
            for file in files(&suite.join(draft).join(below), "json") {
                let text = std::fs::read_to_string(&file).expect("readable");
                let groups: Value = serde_json::from_str(&text).expect("a file is JSON");
                for group in groups.as_array().into_iter().flatten() {
                    let mut schema = group["schema"].clone();
                    if let Value::Object(schema) = &mut schema {
                        schema.entry("$schema").or_insert(json!(uri));
                    }
                    let (compiled, time) = timed(&schema, &documents, &config);
                    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                    let name =
                        format!("{draft}/{stem}: {}", group["description"].as_str().unwrap_or_default());
                    let tests = group["tests"].as_array().map_or(&[][..], |t| t);
                    table.add(&name, compiled, time, tests, &mut automata);
                }
            }
            if table.n_schemas > 0 {
                table.print_row(&format!("{draft} {below}"));
            }
            total.add_all(table);
        }
        if total.n_schemas > 0 {
            total.print(title, shows_misses);
            n_wrong += total.n_wrong_acceptances;
        }
    }
    if n_wrong > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
