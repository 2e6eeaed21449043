//! Lark grammars and built-in ones on the command line.

mod common;

use common::{example, maskwright, shared};

#[test]
fn built_in_grammars_tell_members_from_strangers() {
    let cases = [
        ("arithmetic", "2 * (3 + x)", "2 * (3 + )"),
        ("cpp", "int f(int a) { return a; }", "int f(int a) { return a }"),
        ("json", r#"{"a": [1, null]}"#, "{'a': 1}"),
        ("python", "def f(x):\n    return x\n", "def f(x):\nreturn x\n"),
        ("smiles", "CC(=O)O", "C((C"),
        ("sql", "SELECT a FROM t WHERE b = 1", "SELECT FROM t"),
    ];
    for (name, member, stranger) in cases {
        maskwright(&["check", "--grammar", name, "--text", member]).exits(0).says(&["in the language"]);
        maskwright(&["check", "--grammar", name, "--text", stranger]).exits(1).says(&["expected"]);
    }
    maskwright(&["check", "--grammar", "cobol", "--text", "a"])
        .exits(2)
        .says(&["cobol", "python, smiles, sql"]);
}

#[test]
fn lark_files_are_read_with_their_imports() {
    let tasks = example("tasks.lark");
    let basic = ["--lark", &tasks, "--lexer", "basic"];
    let text = "todo:\n- [ ] Buy milk.\n- [x] Call Ada.\n";
    maskwright(&[&["check", "--text", text], &basic[..]].concat()).exits(0);
    maskwright(&["check", "--text", text, "--lark", &tasks]).exits(0);
    maskwright(&[&["check", "--text", "todo:\n- [?] Buy milk.\n"], &basic[..]].concat())
        .exits(1)
        .says(&["the text:2:4", "expected"]);
    maskwright(&[&["check", "--start", "task", "--text", "- [ ] Buy milk.\n"], &basic[..]].concat()).exits(0);

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    file("words.lark", "WORD: /[a-z]+/\n");
    let relative = file("relative.lark", "start: WORD\n%import .words.WORD\n");
    let absolute = file("absolute.lark", "start: WORD\n%import words.WORD\n");
    let check = |lark: &str, more: &[&str]| {
        maskwright(&[&["check", "--lexer", "basic", "--text", "abc", "--lark", lark], more].concat())
    };
    check(&relative, &[]).exits(0);
    check(&absolute, &[]).exits(2).says(&["absolute.lark:2:", "words"]);
    check(&absolute, &["--import-path", &folder.path().display().to_string()]).exits(0);

    let blocks = file(
        "blocks.lark",
        "start: (_NL | line)*\nline: NAME \":\" _NL _INDENT line+ _DEDENT | NAME _NL\nNAME: /[a-z]+/\n\
         _NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT\n",
    );
    let blocks = ["check", "--lark", &blocks, "--lexer", "basic", "--indentation", "python", "--text"];
    maskwright(&[&blocks[..], &["a:\n  b\n  c\nd\n"]].concat()).exits(0);
    maskwright(&[&blocks[..], &["a:\nb\n"]].concat()).exits(1);
    maskwright(&[&blocks[..], &["a:\n  b\n c\n"]].concat())
        .exits(1)
        .says(&["the text:3:2", "expected white space"]);

    let named = file(
        "named.lark",
        "start: (EOL | line)*\nline: NAME \":\" EOL IN line+ OUT | NAME EOL\nNAME: /[a-z]+/\n\
         EOL: /(\\r?\\n[\\t ]*)+/\n%declare IN OUT\n",
    );
    let indented = |names: &str| {
        maskwright(&["check", "--lark", &named, "--indentation", names, "--text", "a:\n  b\n  c\nd\n"])
    };
    indented(r#"{"newline": "EOL", "indent": "IN", "dedent": "OUT", "tab_len": 4}"#).exits(0);
    indented("python").exits(2).says(&["`_NEWLINE` or `_NL`", "`EOL`"]);
    indented(r#"{"new": "EOL"}"#)
        .exits(2)
        .says(&["\"new\"", "newline, indent, dedent, open, close, tab_len"]);
    indented(r#"{"open": "LPAR"}"#).exits(2).says(&["open is", "a list"]);
    indented("go").exits(2).says(&["expected `python`", "JSON"]);
}

#[test]
fn broken_lark_grammars_are_located() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.lark");
    let check = |grammar: &str, parts: &[&str]| {
        std::fs::write(&path, grammar).unwrap();
        let path = path.display().to_string();
        let run =
            maskwright(&["check", "--lexer", "basic", "--text", "a", "--lark", &path]).exits(2).says(parts);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    };
    check("start: itm\nitem: \"a\"\n", &["broken.lark:1:8", "did you mean `item`"]);
    check("start: A\nA: /(/\n", &["broken.lark:2:"]);
    check("start: \"a\" start\n", &["no text"]);
    let tasks = example("tasks.lark");
    maskwright(&["check", "--text", "a", "--lark", &tasks]).exits(1).says(&["expected `todo`"]);
    maskwright(&["check", "--text", "a", "--regex", "a", "--lexer", "basic"]).exits(2).says(&["--lark"]);
    maskwright(&["check", "--text", "a", "--grammar", "sql", "--lark", &tasks])
        .exits(2)
        .says(&["cannot be used"]);
}

#[test]
fn masks_and_stages_of_lexed_grammars() {
    let run = maskwright(&[
        "mask",
        "--tokenizer",
        "gpt2",
        "--grammar",
        "sql",
        "--prefix",
        "SELECT a F",
        "--limit",
        "0",
        "--json",
    ]);
    let value = run.exits(0).json();
    let has = |text: &str| value["tokens"].as_array().unwrap().iter().any(|token| token["text"] == text);
    assert!(has("ROM"), "{value}");
    let ir = maskwright(&["debug", "ir", "--grammar", "arithmetic"]).exits(0).stdout;
    assert!(ir.contains("*start ::=") && ir.contains("\nWS: /") && ir.contains("(ignored)"), "{ir}");
    let cfg = maskwright(&["debug", "cfg", "--grammar", "arithmetic"]).exits(0).stdout;
    assert!(cfg.contains(", start") && cfg.contains(" NUMBER"), "{cfg}");
    let rows = maskwright(&["debug", "rows", "--grammar", "arithmetic", "--prefix", "1"]).exits(0).stdout;
    assert!(
        rows.contains("NUMBER: always accepted; ") && rows.contains("NUMBER RPAR: always rejected; "),
        "{rows}"
    );
    maskwright(&["debug", "rows", "--grammar", "json", "--prefix", "x"]).exits(1).says(&["byte 0"]);
    maskwright(&["debug", "dfa", "--grammar", "json"]).exits(2).says(&["ir, cfg and rows"]);
}

#[test]
fn token_by_token_agrees_with_byte_by_byte() {
    let Some(tokenizer) = shared("tokenizers/smollm2/tokenizer.json") else { return };
    let texts = [
        ("SELECT a, b FROM t WHERE a <> 'x y'", 0),
        ("SELECT a, b FROM t WHERE a <> 'x y", 1),
        ("SELECT", 1),
    ];
    for (text, code) in texts {
        let arguments = ["check", "--grammar", "sql", "--text", text, "--tokenizer", &tokenizer];
        maskwright(&arguments).exits(code);
        maskwright(&arguments[..5]).exits(code);
    }
}
