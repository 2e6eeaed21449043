//! Limits: their defaults, what is said where one is reached, and the fixed ones of the sources.

use maskwright::infill::{CanvasConfig, Hole, Part};
use maskwright::json_schema::SchemaLimits;
use maskwright::{
    Canvas, CompileOptions, Compiler, Error, ErrorKind, GrammarSource, Limits, Matcher, Template,
};

use crate::formats::bytes;
use crate::page::{self, Blocks, code, message, table};

/// A limit of a compiler: its name, its unit, what it bounds, and what becomes of a call that reaches it.
type Row = (&'static str, &'static str, &'static str, Reached);

enum Reached {
    /// The call fails, as this one does.
    Fails(fn(&Limits) -> Error, u64),
    /// No call fails.
    Goes(&'static str),
}

fn all() -> [Row; 14] {
    use Reached::{Fails, Goes};
    let dropped = "What can be made again is dropped.";
    [
        (
            "compile_work",
            "work units, some 0.1 µs each",
            "One compilation.",
            Fails(
                |limits| compile(GrammarSource::gbnf(r#"root ::= "a" [0-9]+ "b""#), limits).unwrap_err(),
                10,
            ),
        ),
        (
            "compile_bytes",
            "bytes",
            "One compilation, beside what it shares with others.",
            Fails(
                |limits| compile(GrammarSource::gbnf(r#"root ::= "a" [0-9]+ "b""#), limits).unwrap_err(),
                100,
            ),
        ),
        (
            "mask_work",
            "work units, some 20 ns each",
            "One mask, and one call that accepts or checks tokens.",
            Goes(
                "The mask has the tokens that are proven to be allowed by then, and its status is \"bound\". \
                 [More](../guides/limits.md#limits-on-work).",
            ),
        ),
        (
            "infill_work",
            "work units, 10 to 35 ns each",
            "The first question about a canvas or template, and an exact mask of one.",
            Fails(
                |limits| {
                    let grammar = compile(GrammarSource::builtin("json"), limits).unwrap();
                    let hole = vec![Part::Text(b"[".to_vec()), Part::Hole(Hole::Any)];
                    Template::complete(&mut grammar.template(hole).unwrap()).unwrap_err()
                },
                10,
            ),
        ),
        (
            "max_positions",
            "positions",
            "A canvas; or the fixed pieces and tokens of a template.",
            Fails(
                |limits| {
                    let grammar = compile(GrammarSource::regex("a+"), limits).unwrap();
                    let infiller = grammar.infiller(&CompileOptions::default()).unwrap();
                    Canvas::new(&infiller, &[None; 3], CanvasConfig::default()).unwrap_err()
                },
                2,
            ),
        ),
        (
            "memory_bytes",
            "bytes",
            "All grammars and caches of a compiler together.",
            Goes(
                "The grammars that were used longest ago drop what they can make again, then the shared caches are \
                 dropped. What living grammars and sessions need stays.",
            ),
        ),
        (
            "max_threads",
            "readings",
            "The readings of one ambiguous text that a session follows at once.",
            Fails(|limits| read(&ambiguous(), &"a".repeat(400), limits), 100),
        ),
        (
            "max_calls",
            "calls",
            "The rules that may begin at one byte, counted for each reading.",
            Fails(|limits| read(&ambiguous(), &"a".repeat(400), limits), 1_000),
        ),
        (
            "max_states",
            "states",
            "The automaton of one terminal: a pattern, or a string of a schema.",
            Fails(|limits| read(&GrammarSource::regex("(a|b)*a(a|b){12}"), &"ab".repeat(40), limits), 10),
        ),
        (
            "max_residue_size",
            "visited nodes",
            "One step of a terminal's automaton.",
            Fails(|limits| read(&GrammarSource::regex("(a|b)*a(a|b){12}"), &"ab".repeat(40), limits), 10),
        ),
        (
            "liveness_fuel",
            "visited nodes",
            "One search for a word of an intersection or complement.",
            Fails(|limits| read(&GrammarSource::ecma_regex("(?=.*[0-9].*[a-z])[^x]{8}"), "a1b", limits), 1),
        ),
        ("row_cache_bytes", "bytes", "What terminals say about the vocabulary.", Goes(dropped)),
        (
            "automaton_bytes",
            "bytes",
            "The automata of a compiler.",
            Goes("New grammars start on fresh ones."),
        ),
        ("machine_bytes", "bytes", "One grammar's masks and other answers.", Goes(dropped)),
    ]
}

fn ambiguous() -> GrammarSource {
    GrammarSource::gbnf(r#"root ::= "a" root root | "a" root | "a""#)
}

fn compile(
    source: GrammarSource,
    limits: &Limits,
) -> Result<std::sync::Arc<maskwright::CompiledGrammar>, Error> {
    Compiler::with_limits(&bytes(), limits.clone()).compile(&source, &CompileOptions::default())
}

/// The error of reading a text.
fn read(source: &GrammarSource, text: &str, limits: &Limits) -> Error {
    let grammar = match compile(source.clone(), limits) {
        Ok(grammar) => grammar,
        Err(error) => return error,
    };
    let mut matcher = Matcher::new(&grammar);
    let read = matcher.accept_bytes(text.as_bytes()).and_then(|_| matcher.mask());
    read.err().unwrap_or_else(|| panic!("{text:?} is read within the limits"))
}

/// Names and values of a type whose fields are all public.
fn fields(debug: &str) -> Vec<(String, String)> {
    let inside = debug.split_once('{').unwrap().1.trim_end_matches(['}', ' ']);
    let fields = inside.split(", ").map(|field| {
        let (name, value) = field.trim().split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    });
    fields.collect()
}

/// A number as people read it; of bytes, with a larger unit in brackets.
fn number(value: &str, unit: &str) -> String {
    let Ok(value) = value.parse::<u64>() else {
        return if value == "None" { "none".to_owned() } else { value.to_owned() };
    };
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    let plain = groups.join(",");
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB")]
        .into_iter()
        .find(|(unit, _)| value >= *unit && value % unit == 0);
    match units {
        Some((size, name)) if unit == "bytes" => format!("{plain} ({} {name})", value / size),
        _ => plain,
    }
}

fn set(limits: &mut Limits, name: &str, value: u64) {
    match name {
        "compile_work" => limits.compile_work = value,
        "compile_bytes" => limits.compile_bytes = value,
        "infill_work" => limits.infill_work = value,
        "max_positions" => limits.max_positions = value as usize,
        "max_threads" => limits.max_threads = value as usize,
        "max_calls" => limits.max_calls = value as usize,
        "max_states" => limits.max_states = value as u32,
        "max_residue_size" => limits.max_residue_size = value,
        "liveness_fuel" => limits.liveness_fuel = value,
        other => panic!("{other}"),
    }
}

/// A constant of a source file: a number, a shift, or a product of these.
fn constant(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(page::path(&format!("crates/{file}"))).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains(&format!("const {name}:")))
        .unwrap_or_else(|| panic!("{file} {name}"));
    let value = line.split_once(" = ").unwrap().1.trim_end_matches(';').replace('_', "");
    match value.split_once(" << ") {
        Some((one, bits)) => one.parse::<u64>().unwrap() << bits.parse::<u32>().unwrap(),
        None if value == "u32::MAX" => u64::from(u32::MAX),
        None => value.parse().unwrap_or_else(|_| panic!("{line}")),
    }
}

/// A table of fixed limits: what, where it is, and its unit.
fn fixed(rows: &[(&str, &str, &str, &str)]) -> String {
    let rows = rows.iter().map(|(what, file, name, unit)| {
        let value = number(&constant(file, name).to_string(), unit);
        let value = match value.split_once(" (") {
            Some((bytes, rest)) => format!("{bytes} {unit} ({rest}"),
            None => format!("{value} {unit}").trim_end().to_owned(),
        };
        vec![(*what).to_owned(), value]
    });
    table(&["what", "at most"], &rows.collect::<Vec<_>>())
}

#[test]
fn limits() {
    let defaults = fields(&format!("{:?}", Limits::default()));
    let python = std::fs::read_to_string(page::path("python/src/limits.rs")).unwrap();
    let (_, advanced) = python.split_once("const ADVANCED_LIMITS").unwrap();
    let (advanced, _) = advanced.split_once("];").unwrap();
    let mut rows = Vec::new();
    for (name, unit, bounds, reached) in all() {
        let default = &defaults.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1;
        let what = match reached {
            Reached::Goes(what) => what.to_owned(),
            Reached::Fails(call, value) => {
                let mut limits = Limits::default();
                set(&mut limits, name, value);
                let error = call(&limits);
                assert_eq!((error.kind(), error.limit()), (ErrorKind::Limit, Some((name, value))), "{error}");
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                let hint = error.hint().filter(|hint| !first.contains(hint)).map(|hint| format!(": {hint}"));
                format!("An error: *{}*", message(&format!("{first}{}", hint.unwrap_or_default())))
            }
        };
        let python = if advanced.contains(&format!("\"{name}\"")) { code("advanced") } else { String::new() };
        rows.push(vec![code(name), python, bounds.to_owned(), unit.to_owned(), number(default, unit), what]);
    }
    assert_eq!(rows.len(), defaults.len(), "{defaults:?}");
    let mut blocks = Blocks::default();
    let head = ["limit", "in Python under", "what it bounds", "unit", "default", "when it is reached"];
    blocks.add("Compiler", &table(&head, &rows));
    blocks.add("Schemas", &schemas());
    blocks.add(
        "Fixed",
        &fixed(&[
            ("ids of a vocabulary", "vocabulary/src/token_id.rs", "MAX_VOCABULARY", ""),
            ("a token", "vocabulary/src/loaders/tokens.rs", "MAX_TOKEN_LEN", "bytes"),
            ("all tokens together", "vocabulary/src/loaders/tokens.rs", "MAX_TOTAL_LEN", "bytes"),
            ("a tokenizer.json", "vocabulary/src/loaders/hugging_face.rs", "MAX_FILE_LEN", "bytes"),
            ("a text in a GGUF file's metadata", "vocabulary/src/gguf.rs", "MAX_TEXT", "bytes"),
            ("entries of a GGUF file's metadata", "vocabulary/src/gguf.rs", "MAX_ENTRIES", ""),
            ("a file that a schema refers to", "maskwright/src/json_schema.rs", "MAX_FILE_LEN", "bytes"),
            ("all files that a schema refers to", "maskwright/src/json_schema.rs", "MAX_TOTAL_LEN", "bytes"),
            ("their number", "maskwright/src/json_schema.rs", "MAX_FILES", "files"),
            (
                "the exponent of a number in a schema",
                "json-schema/src/numbers/decimal.rs",
                "MAX_EXPONENT",
                "",
            ),
            ("formats within formats of a structural tag", "tags/src/read.rs", "MAX_DEPTH", "deep"),
            ("a string of a structural tag that ends text", "tags/src/needles.rs", "MAX_NEEDLE", "bytes"),
            (
                "forced bytes that are found at once",
                "engine/src/session/matcher/forced.rs",
                "MAX_FORCED",
                "bytes",
            ),
            ("positions of a likeliest text", "engine/src/session/matcher/likeliest.rs", "MAX_POSITIONS", ""),
        ]),
    );
    blocks.check("limits.md");
}

/// The limits of a JSON Schema's front end.
fn schemas() -> String {
    let what = |name: &str| match name {
        "max_indent" => "The widest indentation of flexible white space, in blanks; half as many tabs.",
        "max_alternatives" => {
            "The alternatives of one schema after its `anyOf`, `oneOf` and `allOf` are multiplied out."
        }
        "max_depth" => {
            "How deep `$ref`, `allOf`, `anyOf` and `oneOf` lead from one to the next without a property or an item."
        }
        "max_number_digits" => {
            "The digits of a number before its point, after it and in its power of ten, so that no model writes digits \
             without end."
        }
        "max_digits" => "The digits of a bound of a number, in plain notation.",
        "max_remainders" => "The states that the remainders by the divisors of `multipleOf` take.",
        other => panic!("{other} is not described"),
    };
    let rows = fields(&format!("{:?}", SchemaLimits::default())).into_iter().map(|(name, value)| {
        let means = what(&name).to_owned();
        vec![code(&name), means, number(&value, "")]
    });
    table(&["limit", "what it bounds", "default"], &rows.collect::<Vec<_>>())
}

/// The limits at the ends of the pages of notations are those of their parsers.
#[test]
fn limits_of_notations() {
    let page = |name: &str| std::fs::read_to_string(page::path(&format!("docs/reference/{name}"))).unwrap();
    for (name, file, limit, shown) in [
        ("gbnf.md", "syntax/src/lib.rs", "MAX_SOURCE", "| the grammar | 64 MiB |"),
        ("gbnf.md", "syntax/src/lib.rs", "MAX_DEPTH", "| parentheses within parentheses | 250 |"),
        ("gbnf.md", "syntax/src/gbnf/mod.rs", "MAX_REPEATS", "| 8 |"),
        ("lark.md", "syntax/src/lib.rs", "MAX_SOURCE", "| a grammar's file | 64 MiB,"),
        ("lark.md", "lark/src/token.rs", "MAX_TOKENS", " 1,048,576 tokens of the notation |"),
        ("lark.md", "lark/src/definitions.rs", "MAX_FILES", "| 200 |"),
        ("lark.md", "lark/src/definitions.rs", "MAX_IMPORT_DEPTH", "| 30 deep |"),
        ("lark.md", "lark/src/parser.rs", "MAX_DEPTH", "| groups within groups | 200 |"),
        ("lark.md", "lark/src/terminals.rs", "MAX_DEPTH", "| terminals made of terminals | 250 deep,"),
        ("lark.md", "lark/src/terminals.rs", "MAX_TEXT", " 1 MiB of pattern |"),
        ("lark.md", "lark/src/compile.rs", "MAX_TERMINALS", "| 8,192 |"),
        ("lark.md", "lark/src/rules.rs", "MAX_INSTANCES", "| 10,000 |"),
        ("regex.md", "syntax/src/regex/mod.rs", "MAX_PATTERN", "| the pattern | 65,536 bytes |"),
        ("regex.md", "syntax/src/lib.rs", "MAX_DEPTH", "| groups within groups | 250 "),
        ("regex.md", "lexing/src/python.rs", "MAX_DEPTH", "Lark: 200) |"),
        ("regex.md", "syntax/src/regex/rust.rs", "MAX_NAMED", "| 2,000 |"),
        ("regex.md", "syntax/src/regex/pattern.rs", "MAX_RANGES", "| 131,072 |"),
        ("regex.md", "syntax/src/regex/neighbour.rs", "MAX_CELLS", "| 16; "),
        ("regex.md", "lexing/src/bounded.rs", "MAX_CELLS", " 62 |"),
        ("regex.md", "lexing/src/bounded.rs", "MAX_LENGTH", "| 512 characters |"),
        ("regex.md", "syntax/src/regex/lower.rs", "MAX_COPIES", "| 256 |"),
    ] {
        let value = constant(file, limit);
        let (plain, short) = (number(&value.to_string(), ""), number(&(value >> 20).to_string(), ""));
        assert!(
            shown.contains(&plain) || shown.contains(&format!(" {short} MiB")),
            "{name} {limit}: {plain}, {shown}"
        );
        assert!(page(name).contains(shown), "{name} has no {shown:?}");
    }
}
