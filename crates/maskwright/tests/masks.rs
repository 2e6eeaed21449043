//! The same masks in every language: `testdata/masks/pairs.jsonl` has grammars with texts as tokens, and for
//! each a number made of all masks along the text. The tests of C, of Python and of JavaScript compare theirs
//! with it.
//!
//! `MASKWRIGHT_WRITE_MASKS=1` writes the file anew, from the cases of the other test data.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use maskwright::{CompileOptions, Compiler, TokenId, Tokenizer, bindings, mask_words};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// A token a line: its bytes in hexadecimal, and `special` or `end` after them.
fn tokenizer(vocabulary: &str) -> Tokenizer {
    let (mut tokens, mut special, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (line, id) in vocabulary.lines().zip((0..).map(TokenId)) {
        let mut words = line.split(' ');
        let hex = words.next().unwrap();
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        tokens.push(bytes.collect());
        match words.next() {
            Some("special") => special.push(id),
            Some("end") => ends.push(id),
            _ => {}
        }
    }
    Tokenizer::from_tokens_with_special(tokens, &ends, &special).unwrap()
}

/// FNV-1a over the words of the masks before each token and after the last, least byte first.
fn masks(compiler: &Compiler, pair: &Value) -> Result<String, maskwright::Error> {
    let text = |name: &str| pair[name].as_str().unwrap();
    let source = bindings::source(text("kind"), text("source"), &pair["options"].to_string())?;
    let grammar = compiler.compile(&source, &CompileOptions::default())?;
    let mut matcher = grammar.matcher();
    let mut words = vec![0; mask_words(compiler.tokenizer().n_vocab())];
    let mut number = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |words: &[u32]| {
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            number = (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for id in pair["tokens"].as_array().unwrap() {
        matcher.fill_mask(&mut words)?;
        add(&words);
        assert!(matcher.accept_token(TokenId(id.as_u64().unwrap() as u32))?, "token {id} of {pair}");
    }
    matcher.fill_mask(&mut words)?;
    add(&words);
    Ok(format!("{number:016x}"))
}

#[test]
fn masks_are_those_of_the_record() {
    if std::env::var_os("MASKWRIGHT_WRITE_MASKS").is_some() {
        write();
    }
    let read = |name: &str| std::fs::read_to_string(folder().join("masks").join(name)).unwrap();
    let compiler = Compiler::new(&tokenizer(&read("vocabulary.txt")));
    let pairs = read("pairs.jsonl");
    let mut n_pairs = 0;
    for pair in pairs.lines() {
        let pair: Value = serde_json::from_str(pair).unwrap();
        assert_eq!(masks(&compiler, &pair).unwrap(), pair["masks"], "{pair}");
        n_pairs += 1;
    }
    assert_eq!(n_pairs, 500);
}

/// Where `MASKWRIGHT_VERDICTS` names a file, writes what becomes of the official JSON Schema suite and of
/// some 300 schemas of MaskBench: the tests of JavaScript compare theirs with it.
#[test]
fn verdicts_for_other_languages() {
    let Some(path) = std::env::var_os("MASKWRIGHT_VERDICTS") else { return };
    let Some(data) = maskwright_oracle::shared("data") else { return };
    let mut cases: Vec<(Value, Vec<Value>)> = Vec::new();
    let tests = |case: &Value| -> Vec<Value> {
        case["tests"].as_array().into_iter().flatten().map(|test| test["data"].clone()).collect()
    };
    let mut folders: Vec<PathBuf> = paths(&data.join("json-schema-test-suite/tests"));
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(paths(&path));
            continue;
        }
        let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        cases.extend(all.as_array().unwrap().iter().map(|case| (case["schema"].clone(), tests(case))));
    }
    let maskbench = paths(&data.join("maskbench"));
    let lines: Vec<String> = maskbench
        .iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    for line in lines.iter().step_by(12) {
        let case: Value = serde_json::from_str(line).unwrap();
        cases.push((case["schema"].clone(), tests(&case)));
    }
    assert!(cases.len() > 1_500, "{}", cases.len());
    let tokens = (0..=255u8).map(|byte| vec![byte]).chain([b"</s>".to_vec()]).collect();
    let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap());
    let mut written = String::new();
    for (schema, texts) in cases {
        let schema = schema.to_string();
        let texts: Vec<String> = texts.iter().map(Value::to_string).collect();
        let source = bindings::source("json_schema", &schema, "").unwrap();
        let compiled = compiler.compile(&source, &CompileOptions::default());
        let accepted = |text: &String| match &compiled {
            Ok(grammar) => {
                let mut matcher = grammar.matcher();
                match matcher.accept_bytes(text.as_bytes()) {
                    Ok(accepted) => json!(accepted && matcher.is_accepting()),
                    Err(error) => bindings::kind(error.kind()).into(),
                }
            }
            Err(error) => bindings::kind(error.kind()).into(),
        };
        let verdicts: Vec<Value> = texts.iter().map(accepted).collect();
        writeln!(written, "{}", json!({"schema": schema, "texts": texts, "verdicts": verdicts})).unwrap();
    }
    std::fs::write(path, written).unwrap();
}

/// What is in a folder, in the order of names.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| {
        path.is_dir() || path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl")
    });
    paths
}

/// A grammar and a text of it.
struct Case {
    kind: &'static str,
    source: String,
    options: Value,
    text: String,
}

/// Cases of all kinds of grammars, from the other test data.
fn cases() -> Vec<Case> {
    let lines = |path: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder().join(path)).unwrap();
        text.lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let texts = |case: &Value| -> Vec<String> {
        let yes = case["yes"].as_array().into_iter().flatten();
        yes.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut cases = Vec::new();
    let mut add = |kind, source: &str, options: &Value, texts: Vec<String>| {
        let (source, options) = (source.to_owned(), options.clone());
        cases.extend(texts.into_iter().map(|text| Case {
            kind,
            source: source.clone(),
            options: options.clone(),
            text,
        }));
    };
    for name in [
        "types",
        "objects",
        "arrays",
        "strings",
        "numbers",
        "combinations",
        "references",
        "formats",
        "distinct-items",
        "unevaluated",
        "members",
    ] {
        for case in lines(&format!("json-schema/{name}.jsonl")) {
            add("json_schema", &case["schema"].to_string(), &json!({}), texts(&case));
        }
    }
    for case in lines("json-schema/any-order.jsonl") {
        add("json_schema", &case["schema"].to_string(), &json!({"property_order": "any"}), texts(&case));
    }
    for case in lines("syntax/regexes.jsonl") {
        add("regex", case["pattern"].as_str().unwrap(), &json!({"dialect": case["dialect"]}), texts(&case));
    }
    for name in ["tags", "text", "combinators", "json"] {
        for case in lines(&format!("structural-tags/{name}.jsonl")) {
            add("structural_tag", &json!({"format": case["format"]}).to_string(), &json!({}), texts(&case));
        }
    }
    let tools = std::fs::read_to_string(folder().join("tools/tools.json")).unwrap();
    for format in maskwright::tool_calls::tool_formats() {
        let path = folder().join(format!("tools/{}.json", format.name));
        let Ok(recorded) = std::fs::read_to_string(path) else { continue };
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        let of_tools: Vec<String> = recorded["cases"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|case| {
                case["name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with("one_call") || name.starts_with("two_calls"))
            })
            .filter_map(|case| case["text"].as_str().map(str::to_owned))
            .collect();
        add("tool_calls", &tools, &json!({"format": format.name}), of_tools);
    }
    for (kind, source, options, all) in [
        ("choice", r#"["red", "green", "greenish"]"#, json!({}), ["red", "green", "greenish"]),
        ("gbnf", "root ::= (\"a\" root \"b\")? [cd]*", json!({}), ["", "aacbb", "acdb"]),
        (
            "lark",
            "start: (WORD | NUMBER)+\nWORD: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore \" \"",
            json!({}),
            ["a1 b", "12", "x y z"],
        ),
        (
            "lark",
            "%llguidance {}\nstart: \"f(\" %json {\"type\": \"array\"} \")\"",
            json!({"dialect": "llguidance"}),
            ["f([])", "f([1, {}])", "f([[\"a\"]])"],
        ),
        (
            "lark",
            "start: \"if\" NAME \":\" _NEWLINE _INDENT NAME _NEWLINE _DEDENT\nNAME: /[a-z]+/\n_NEWLINE: /\\n */\n%declare _INDENT _DEDENT\n%ignore \" \"",
            json!({"indentation": "python"}),
            ["if a:\n  b\n", "if x:\n b\n", "if a :\n    cd\n"],
        ),
        ("builtin", "json", json!({}), ["[1, {\"a\": null}]", "\"x\"", "{\"a\": [true, 1.5]}"]),
        ("builtin", "sql", json!({}), ["SELECT a FROM t", "SELECT 1", "DELETE FROM t WHERE a = 1"]),
        ("builtin", "arithmetic", json!({}), ["1+2*3", "(4)", "1-(2)"]),
    ] {
        add(kind, source, &options, all.map(str::to_owned).to_vec());
    }
    cases
}

/// The names of special tokens in texts of tool calls.
fn names(cases: &[Case]) -> Vec<String> {
    let mut names = BTreeMap::new();
    for case in cases.iter().filter(|case| case.kind == "tool_calls") {
        for (at, _) in case.text.match_indices("<|") {
            if let Some(end) = case.text[at..].find("|>") {
                names.insert(case.text[at..at + end + 2].to_owned(), ());
            }
        }
    }
    names.into_keys().collect()
}

/// All bytes, what ends a text, special tokens, and the strings that save most tokens in the texts.
fn vocabulary(cases: &[Case]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        for start in case.text.char_indices().map(|(at, _)| at) {
            for n in 2..=8 {
                let end =
                    case.text[start..].char_indices().nth(n).map_or(case.text.len(), |(at, _)| start + at);
                *counts.entry(&case.text[start..end]).or_default() += 1;
            }
        }
    }
    let mut ranked: Vec<(&str, usize)> = counts.into_iter().filter(|(text, _)| text.len() > 1).collect();
    ranked.sort_by_key(|&(text, count)| (std::cmp::Reverse(count * (text.len() - 1)), text));
    let mut lines = String::new();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for byte in 0..=255u8 {
        writeln!(lines, "{}", hex(&[byte])).unwrap();
    }
    writeln!(lines, "{} end", hex(b"</s>")).unwrap();
    for name in names(cases) {
        writeln!(lines, "{} special", hex(name.as_bytes())).unwrap();
    }
    for (text, _) in ranked.into_iter().take(1200) {
        writeln!(lines, "{}", hex(text.as_bytes())).unwrap();
    }
    lines
}

fn write() {
    let cases = cases();
    let vocabulary = vocabulary(&cases);
    let tokenizer = tokenizer(&vocabulary);
    let compiler = Compiler::new(&tokenizer);
    let end = tokenizer.eos_token_ids()[0];
    let mut made: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for case in &cases {
        let mut tokens = tokenizer.encode_with_special(&case.text).unwrap();
        let source = bindings::source(case.kind, &case.source, &case.options.to_string());
        let Ok(grammar) = source.and_then(|source| compiler.compile(&source, &CompileOptions::default()))
        else {
            continue;
        };
        let mut matcher = grammar.matcher();
        if tokens.len() > 120
            || matcher.accept_tokens(&tokens).unwrap() < tokens.len()
            || !matcher.is_accepting()
        {
            continue;
        }
        if matcher.accept_token(end).unwrap() {
            tokens.push(end);
        }
        let tokens: Vec<u32> = tokens.iter().map(|token| token.0).collect();
        let mut pair =
            json!({"kind": case.kind, "source": case.source, "options": case.options, "tokens": tokens});
        pair["masks"] = masks(&compiler, &pair).unwrap().into();
        made.entry(case.kind).or_default().push(pair.to_string());
    }
    // So many of each kind, spread over all that there are.
    let wanted = [
        ("json_schema", 200),
        ("regex", 90),
        ("structural_tag", 80),
        ("tool_calls", 106),
        ("choice", 3),
        ("gbnf", 3),
        ("lark", 9),
        ("builtin", 9),
    ];
    let mut lines = String::new();
    for (kind, n) in wanted {
        let all = &made[kind];
        assert!(all.len() >= n, "{} of {kind}, wanted {n}", all.len());
        for at in 0..n {
            writeln!(lines, "{}", all[at * all.len() / n]).unwrap();
        }
    }
    std::fs::create_dir_all(folder().join("masks")).unwrap();
    std::fs::write(folder().join("masks/vocabulary.txt"), vocabulary).unwrap();
    std::fs::write(folder().join("masks/pairs.jsonl"), lines).unwrap();
}
