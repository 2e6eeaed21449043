//! `maskwright check`, `mask` and `debug`: verdicts, places, lists.

mod common;

use common::{example, maskwright, maskwright_with, shared};

#[test]
fn members_and_strangers_of_each_notation() {
    let person = r#"{"name": "Ada", "age": 36, "email": "ada@math.org", "hobbies": ["music"]}"#;
    let schema = example("person.schema.json");
    maskwright(&["check", "--json-schema", &schema, "--text", person]).exits(0).says(&["is in the language"]);
    let arithmetic = example("arithmetic.gbnf");
    maskwright(&["check", "--gbnf", &arithmetic, "--text", "2 * (3 + 4) - 5"]).exits(0);
    maskwright(&["check", "--gbnf", &arithmetic, "--text", "2 * (3 + 04)"]).exits(1);
    maskwright(&["check", "--regex", "a*b", "--text", "aab"]).exits(0);
    maskwright(&["check", "--text", "maybe", "--choice", "yes", "no"]).exits(1).says(&["yes", "no"]);
}

/// A date pattern should not allow Arabic digits.
#[test]
fn classes_of_regular_expressions_are_of_ascii() {
    let check = |more: &[&str], text: &str| maskwright(&[&["check", "--text", text], more].concat());
    check(&["--regex", r"\d{2}"], "19").exits(0);
    check(&["--regex", r"\d{2}"], "१९").exits(1);
    check(&["--regex", r"\d{2}", "--unicode"], "१९").exits(0);
    check(&["--regex", r"(?u)\d{2}"], "१९").exits(0);
    check(&["--regex", r"\d{2}", "--dialect", "rust"], "१९").exits(0);
    check(&["--regex", r"\d{2}", "--dialect", "ecma"], "१९").exits(1);
    check(&["--regex", r"\d{2}(?<=19)\Z", "--dialect", "python"], "19").exits(0);
    check(&["--regex", "a", "--dialect", "ecma", "--unicode"], "a")
        .exits(2)
        .says(&["--unicode with", r"\p{Nd}"]);
    check(&["--regex", "a", "--dialect", "python", "--unicode"], "a")
        .exits(2)
        .says(&["leave --unicode away"]);
    check(&["--grammar", "sql", "--unicode"], "a").exits(2).says(&["go with --regex"]);
}

#[test]
fn a_stranger_is_told_where_it_leaves_the_language() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ada.json");
    std::fs::write(&path, "{\n  \"name\": \"Adä\",\n  \"age\": 200,\n}").unwrap();
    let path = path.display().to_string();
    let schema = example("person.schema.json");
    let run = maskwright(&["check", "--json-schema", &schema, &path]).exits(1);
    assert_eq!(run.stdout, "");
    let run = run.says(&[
        "ada.json:3:12",
        "at /age: 200 is above \"maximum\": 120",
        "3 |   \"age\": 200,",
        "expected",
    ]);
    // The mark stands under the character.
    let lines: Vec<&str> = run.stderr.lines().collect();
    let at = lines.iter().position(|line| line.contains("\"age\"")).unwrap();
    let column = lines[at + 1].find('^').unwrap();
    assert_eq!(&lines[at][column..=column], "0");

    let run = maskwright(&["check", "--json-schema", &schema, &path, "--json"]).exits(1);
    let verdict = run.json();
    assert_eq!(
        (&verdict["line"], &verdict["column"], &verdict["offset"]),
        (&3.into(), &12.into(), &31.into())
    );
    assert_eq!((&verdict["is_member"], &verdict["is_prefix"]), (&false.into(), &false.into()));
}

#[test]
fn white_space_is_as_asked_for() {
    let check = |text: &str, options: &[&str]| {
        let schema = r#"{"type": "array", "items": {"type": "integer"}}"#;
        maskwright(&[&["check", "--json-schema", schema, "--text", text], options].concat())
    };
    for text in ["[1,2]", "[1, 2]", "[ 1, 2 ]", "[\n\t1,\n\t2\n]"] {
        check(text, &[]).exits(0);
        check(text, &["--whitespace", "flexible"]).exits(0);
        check(text, &["--whitespace", "any"]).exits(0);
        check(text, &["--max-whitespace", "2"]).exits(0);
    }
    check("[ 1, 2]", &[]).exits(1);
    check("[1, 2]", &["--whitespace", "compact"]).exits(1);
    check("[ 1 ,2]", &["--max-whitespace", "1"]).exits(0);
    check("[1,  2]", &["--max-whitespace", "1", "--whitespace", "any"]).exits(1);
}

#[test]
fn a_text_that_ends_too_early_says_what_is_missing() {
    let run = maskwright(&["check", "--regex", "ab*c", "--text", "abb"]).exits(1);
    run.says(&["the text:1:4", "ends too early", "expected"]);
    let verdict = maskwright(&["check", "--regex", "ab*c", "--text", "abb", "--json"]).exits(1).json();
    assert_eq!((&verdict["is_prefix"], &verdict["is_member"]), (&true.into(), &false.into()));
    maskwright_with(&["check", "--regex", "ab*c"], b"abb\n").exits(1).says(&["input:1:4", "ends too early"]);
}

#[test]
fn a_last_line_end_counts_only_where_the_grammar_has_it() {
    let check = |pattern: &str, text: &[u8]| maskwright_with(&["check", "--regex", pattern], text).code;
    assert_eq!(check("a", b"a\n"), Some(0));
    assert_eq!(check("a", b"a\r\n"), Some(0));
    assert_eq!(check("a", b"a\n\n"), Some(1));
    assert_eq!(check("a\n", b"a\n"), Some(0));
    assert_eq!(check("a\n", b"a"), Some(1));
    maskwright_with(&["check", "--regex", "a"], b"a\n").says(&["without its last line end"]);
    maskwright(&["check", "--regex", "a", "--text", "a\n"]).exits(1);
}

#[test]
fn bytes_that_are_no_text_are_strangers_and_no_accident() {
    let run = maskwright_with(&["check", "--regex", ".*"], b"ab\xFF").exits(1);
    run.says(&[":1:3", "\\xff", "cannot come here"]);
    maskwright_with(&["check", "--regex", "(?s).*"], "äß漢😀".as_bytes()).exits(0);
    maskwright_with(&["check", "--regex", "a?"], b"").exits(0);
}

#[test]
fn token_by_token_agrees_with_byte_by_byte() {
    let Some(tokenizer) = shared("tokenizers/smollm2/tokenizer.json") else { return };
    let schema = example("tool-call.schema.json");
    let texts = [
        (r#"{"tool": "set_timer", "minutes": 10}"#, 0),
        (r#"{"tool": "set_timer", "minutes": 0}"#, 1),
        (r#"{"tool": "get_weather", "city": "Ålesund", "unit": "celsius"}"#, 0),
        (r#"{"tool": "get_weather", "city": "Ålesund", "unit": "kelvin"}"#, 1),
    ];
    for (text, code) in texts {
        let bytes =
            maskwright(&["check", "--json-schema", &schema, "--text", text, "--json"]).exits(code).json();
        let arguments =
            ["check", "--json-schema", &schema, "--text", text, "--json", "--tokenizer", &tokenizer];
        let tokens = maskwright(&arguments).exits(code).json();
        assert_eq!(bytes["offset"], tokens["offset"]);
        assert_eq!(tokens["token"].is_string(), code == 1, "{tokens}");
    }
}

#[test]
fn the_mask_is_the_tokens_that_may_come() {
    let arguments = ["mask", "--tokenizer", "gpt2", "--prefix", "ye", "--choice", "yes", "no", "yesterday"];
    let value = maskwright(&[&arguments[..], &["--json"]].concat()).exits(0).json();
    let tokens: Vec<&str> =
        value["tokens"].as_array().unwrap().iter().map(|token| token["text"].as_str().unwrap()).collect();
    assert_eq!((tokens, &value["n_allowed"]), (vec!["s", "st", "ster", "ste"], &4.into()));

    let run = maskwright(&arguments).exits(0).says(&["4 of 50257 tokens are allowed"]);
    assert_eq!(run.stdout.lines().count(), 4);
    assert!(run.stdout.contains("\"ster\""));
    let run =
        maskwright(&[&arguments[..], &["--limit", "1"]].concat()).exits(0).says(&["3 of them not shown"]);
    assert_eq!(run.stdout.lines().count(), 1);

    // 82 is "s", 64 is "a".
    let run = maskwright(&[&arguments[..], &["--explain", "82", "64"]].concat()).exits(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].contains("is allowed") && lines[1].contains("refused") && lines[1].contains("expected"));

    // A token may be given by its text.
    let run = maskwright(&[&arguments[..], &["--explain", "s", " world"]].concat()).exits(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].contains("82") && lines[0].contains("is allowed"), "{lines:?}");
    assert!(lines[1].contains("995") && lines[1].contains("refused"), "{lines:?}");
    maskwright(&[&arguments[..], &["--explain", "s, world"]].concat())
        .exits(2)
        .says(&["not one token but 3", "995 \" world\""]);

    let ended = maskwright(&["mask", "--tokenizer", "gpt2", "--prefix", "no", "--choice", "no", "--json"]);
    assert_eq!(ended.exits(0).json()["tokens"], serde_json::json!([{"id": 50256, "is_end_of_text": true}]));
    maskwright(&["mask", "--tokenizer", "gpt2", "--prefix", "nx", "--choice", "no"])
        .exits(1)
        .says(&["leaves it at byte 1", "expected"]);
}

#[test]
fn every_stage_can_be_printed() {
    let arithmetic = example("arithmetic.gbnf");
    let ir = maskwright(&["debug", "ir", "--gbnf", &arithmetic]).exits(0).stdout;
    assert!(ir.contains("*root ::=") && ir.contains("product ::="), "{ir}");
    let cfg = maskwright(&["debug", "cfg", "--gbnf", &arithmetic]).exits(0).stdout;
    assert!(cfg.contains(", start") && cfg.contains("state") && cfg.contains("terminal 0"), "{cfg}");
    let dfa = maskwright(&["debug", "dfa", "--regex", "ab|ac"]).exits(0).stdout;
    assert!(dfa.contains("terminal 0") && dfa.contains("(end)"), "{dfa}");
    // a, then one state behind it, then the end.
    assert_eq!(dfa.lines().filter(|line| line.contains("state ")).count(), 3, "{dfa}");
    let rows = maskwright(&["debug", "rows", "--regex", "[0-9]+", "--tokenizer", "gpt2"]).exits(0).stdout;
    assert!(rows.contains("tokens inside") && rows.contains("exits"), "{rows}");
    maskwright(&["debug", "rows", "--regex", "[0-9]+", "--prefix", "x"]).exits(1).says(&["byte 0"]);
    maskwright(&["debug", "dfa", "--regex", "a", "--terminal", "9"]).exits(2).says(&["no terminal 9"]);
}

/// Structural tags and special tokens, which the text has by name.
#[test]
fn structural_tags_and_special_tokens() {
    let tag = r#"{"format": {"type": "tag", "begin": "<f=", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": ">"}}"#;
    maskwright(&["check", "--structural-tag", tag, "--text", "<f=12>"]).exits(0);
    maskwright(&["check", "--structural-tag", tag, "--text", "<f=x>"])
        .exits(1)
        .says(&["\"x\" cannot come here"]);
    maskwright(&["check", "--structural-tag", r#"{"format": {"type": "tga"}}"#, "--text", ""])
        .exits(2)
        .says(&["/format", "tag"]);
    let ended = r#"root ::= [a-z]+ <|endofprompt|> [0-9]"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ended.gbnf").display().to_string();
    std::fs::write(&path, ended).unwrap();
    let special = ["check", "--gbnf", &path, "--tokenizer", "o200k_base", "--special", "--text"];
    maskwright(&[&special[..], &["abc<|endofprompt|>1"]].concat()).exits(0);
    maskwright(&[&special[..], &["abc1"]].concat()).exits(1).says(&["<|endofprompt|>"]);
    maskwright(&["check", "--gbnf", &path, "--tokenizer", "o200k_base", "--text", "abc<|endofprompt|>1"])
        .exits(1);
    maskwright(&[
        "mask",
        "--gbnf",
        &path,
        "--tokenizer",
        "o200k_base",
        "--special",
        "--prefix",
        "abc<|endofprompt|>",
    ])
    .exits(0);
    let why = [
        "mask",
        "--gbnf",
        &path,
        "--tokenizer",
        "o200k_base",
        "--prefix",
        "a",
        "--explain",
        "<|endofprompt|>",
    ];
    assert!(maskwright(&why).exits(0).stdout.contains("is allowed"));
}

#[test]
fn a_schema_is_checked_without_a_text() {
    let person = example("person.schema.json");
    maskwright(&["check", "--schema", &person]).exits(0).says(&["every keyword is enforced"]);
    let back = r#"{"properties": {"a": {"pattern": "(a)\\1"}}, "maxProperties": 2}"#;
    let run = maskwright(&["check", "--schema", back]).exits(1);
    let run = run.says(&["`pattern` at /properties/a is not enforced", "backreference"]);
    assert_eq!(run.stdout, "");
    let run = maskwright(&["check", "--schema", back, "--json"]).exits(1);
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told["is_enforced"], false);
    let keywords = told["keywords"].as_array().unwrap();
    let of = |keyword: &str| keywords.iter().find(|entry| entry["keyword"] == keyword).unwrap();
    assert_eq!(
        (&of("pattern")["pointer"], &of("pattern")["status"]),
        (&"/properties/a".into(), &"not enforced".into())
    );
    assert_eq!(of("maxProperties")["status"], "enforced");
    maskwright_with(&["check", "--schema", "-"], b"{\"type\": \"integer\"}").exits(0);
    maskwright(&["check", "--schema", r#"{"type": "text"}"#]).exits(2).says(&["`type` at the root"]);
    maskwright(&["check", "--schema", "no-such-file.json"]).exits(2).says(&["no-such-file.json"]);
    for more in [["--text", "1"], ["--regex", "a"], ["--json-schema", "true"], ["--tokenizer", "gpt2"]] {
        maskwright(&[&["check", "--schema", &person][..], &more].concat())
            .exits(2)
            .says(&["cannot be used with"]);
    }
}
