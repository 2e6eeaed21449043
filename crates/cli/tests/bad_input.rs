//! Bad usage and bad input: exit code 2, and a message that says where and what. Nothing on standard output.

mod common;

use std::path::Path;

use common::{maskwright, maskwright_with, shared, stories};

/// Runs with bad input.
#[track_caller]
fn refused(arguments: &[&str], parts: &[&str]) {
    let run = maskwright(arguments).exits(2).says(parts);
    assert_eq!(run.stdout, "", "nothing was generated");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

/// A file in `folder` with this content.
fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("the folder is ours");
    path.display().to_string()
}

#[test]
fn usage() {
    refused(&["check", "--text", "a"], &["no grammar is given", "--regex", "--tools"]);
    refused(&["check", "--regex", "a", "--gbnf", "b", "--text", "a"], &["cannot be used with"]);
    refused(&["generate", "--regex", "a", "-p", "x", "--temperature", "-1"], &["temperature", "-1"]);
    refused(&["generate", "--regex", "a", "-p", "x", "--top-p", "2"], &["top_p", "at most 1"]);
    refused(&["generate", "--regex", "a", "-p", "x", "--strategy", "oracle"], &["greedy", "sample"]);
    refused(&["generate", "-p", "x", "--describe"], &["--describe needs a grammar"]);
    refused(&["mask", "--regex", "a"], &["--tokenizer", "--model"]);
    refused(&["mask", "--regex", "a", "--tokenizer", "gpt2", "--explain", "50257"], &["no token 50257"]);
    refused(&["pull", "no-such-model"], &["no-such-model", "smollm2"]);
    for kind in ["flexible", "compact"] {
        let schema =
            ["check", "--json-schema", "{}", "--text", "1", "--max-whitespace", "2", "--whitespace", kind];
        refused(&schema, &["--max-whitespace goes with --whitespace any"]);
    }
    refused(&["check", "--json-schema", "{}", "--text", "1", "--max-whitespace=-1"], &["--max-whitespace"]);
}

/// Exit code 1 means that a text is not in the language.
#[cfg(unix)]
#[test]
fn a_reader_that_has_left_is_no_verdict() {
    let arguments = ["mask", "--tokenizer", "gpt2", "--regex", "(?s).*", "--limit", "0"];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_maskwright"))
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(141), ""));
}

#[test]
fn broken_patterns() {
    refused(&["check", "--regex", "a(b", "--text", "a"], &["1:2", "a(b"]);
    refused(&["check", "--regex", "[z-a]", "--text", "a"], &["[z-a]"]);
    refused(&["check", "--regex", r"(a)\1", "--text", "a"], &[r"(a)\1"]);
    // A pattern that makes backtracking engines hang is an ordinary one here.
    maskwright(&["check", "--regex", "^(a+)+$", "--text", &"a".repeat(5_000)]).exits(0);
    maskwright(&["check", "--regex", "^(a+)+$", "--text", &("a".repeat(5_000) + "!")]).exits(1);
}

#[test]
fn broken_grammars_and_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let gbnf = |content: &str| file(folder, "broken.gbnf", content.as_bytes());
    refused(&["check", "--text", "a", "--gbnf", &gbnf("root ::= \"a\n")], &["broken.gbnf", "1:"]);
    refused(&["check", "--text", "a", "--gbnf", &gbnf("root ::= other")], &["broken.gbnf", "other"]);
    refused(&["check", "--text", "a", "--gbnf", &gbnf("other ::= \"a\"")], &["broken.gbnf", "root"]);
    refused(&["check", "--text", "a", "--gbnf", &gbnf("root ::= \"a\" root")], &["broken.gbnf"]);

    let schema = |content: &str| file(folder, "broken.json", content.as_bytes());
    refused(&["check", "--text", "1", "--json-schema", &schema("{\"type\": ")], &["broken.json", "line 1"]);
    let unknown = schema(r#"{"properties": {"a": {"type": "text"}}}"#);
    refused(&["check", "--text", "1", "--json-schema", &unknown], &["broken.json", "/properties/a", "type"]);
    let unsatisfiable = schema(r#"{"type": "integer", "minimum": 3, "maximum": 2}"#);
    refused(&["check", "--text", "1", "--json-schema", &unsatisfiable], &["broken.json"]);
    let unsupported = schema(r#"{"items": {"not": {"uniqueItems": true}}}"#);
    refused(&["check", "--text", "1", "--json-schema", &unsupported], &["/items", "uniqueItems"]);
    let lenient = ["check", "--text", "[]", "--lenient", "--json-schema", &unsupported];
    maskwright(&lenient).exits(0).says(&["note", "/items", "`uniqueItems`", "not enforced"]);
    let slow = schema(r#"{"type": "string", "pattern": "(a+)+$"}"#);
    let text = format!("\"{}\"", "a".repeat(2_000));
    maskwright(&["check", "--text", &text, "--json-schema", &slow]).exits(0);
    let nested = schema(&("[".repeat(10_000) + &"]".repeat(10_000)));
    refused(&["check", "--text", "1", "--json-schema", &nested], &["broken.json", "recursion limit"]);
}

#[test]
fn missing_files() {
    refused(&["check", "--json-schema", "no-such.json", "--text", "1"], &["no-such.json"]);
    refused(&["check", "--gbnf", "no-such.gbnf", "--text", "1"], &["no-such.gbnf"]);
    refused(&["check", "--regex", "a", "no-such.txt"], &["no-such.txt"]);
    refused(&["generate", "--regex", "a", "-p", "x", "--model", "no-such.gguf"], &["no-such.gguf"]);
    refused(&["generate", "--regex", "a", "-p", "x", "--model", "nosuch"], &["nosuch", "smollm2"]);
    refused(&["mask", "--regex", "a", "--tokenizer", "no-such/tokenizer.json"], &["no-such/tokenizer.json"]);
    refused(&["mask", "--regex", "a", "--tokenizer", "gpt9"], &["gpt9"]);
}

#[test]
fn broken_models_and_tokenizers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let gguf = file(folder, "broken.gguf", b"this is no model");
    refused(&["generate", "--regex", "a", "-p", "x", "--model", &gguf], &["broken.gguf"]);
    refused(&["mask", "--regex", "a", "--tokenizer", &gguf], &["broken.gguf"]);
    let tokenizer = file(folder, "tokenizer.json", b"{\"model\": 1}");
    refused(&["mask", "--regex", "a", "--tokenizer", &tokenizer], &["tokenizer.json"]);
    let latin = file(folder, "latin.gbnf", b"root ::= \"\xE9\"");
    refused(&["check", "--gbnf", &latin, "--text", "a"], &["latin.gbnf", "UTF-8", "byte 10"]);
    let Some(model) = stories() else { return };
    let whole = std::fs::read(model).unwrap();
    let cut = file(folder, "cut.gguf", &whole[..whole.len() / 2]);
    refused(&["generate", "--regex", "a", "-p", "x", "--model", &cut], &["cut.gguf"]);
}

#[test]
fn prompts() {
    let Some(model) = stories() else { return };
    let generate = ["generate", "--model", &model, "--choice", "a", "b"];
    let run = maskwright_with(&generate, b"").exits(2).says(&["prompt is empty", "-p"]);
    assert_eq!(run.stdout, "");
    maskwright_with(&generate, b"\xFF").exits(2).says(&["not UTF-8", "byte 0"]);
    let long = "word ".repeat(2_000);
    refused(&[&generate[..], &["-p", &long]].concat(), &["tokens", "at most 512"]);
    refused(&[&generate[..], &["-p", "a", "--system", "b"]].concat(), &["chat template"]);
    // Nothing at all is a prompt where it is asked for: the model begins a text.
    maskwright(&[&generate[..], &["--raw", "-p", ""]].concat()).exits(0);
}

#[test]
fn ids_that_are_special_are_explained() {
    let Some(tokenizer) = shared("tokenizers/smollm2/tokenizer.json") else { return };
    let run = maskwright(&["mask", "--tokenizer", &tokenizer, "--regex", "a", "--explain", "1"]).exits(0);
    assert!(run.stdout.contains("refused"), "{}", run.stdout);
}

/// The headline said `undef.gbnf`, the frame `grammar.gbnf:2:15`.
#[test]
fn errors_of_gbnf_name_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "undef.gbnf", b"root ::= item\nitem ::= \"a\" other\n");
    let run = maskwright(&["check", "--text", "a", "--gbnf", &path]).exits(2).says(&["undef.gbnf:2:14"]);
    assert!(!run.stderr.contains("grammar.gbnf"), "{}", run.stderr);
}

/// A comma too many was told as "line 2 column 1", with nothing to see.
#[test]
fn a_schema_that_is_not_json_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "person.json", b"{\n  \"type\": \"object\",\n}");
    let says = ["person.json:3:1", "trailing comma at line 3 column 1", " 3 | }", "after the last item"];
    refused(&["check", "--text", "1", "--json-schema", &path], &says);
    let path = file(folder.path(), "pattern.json", br#"{"items": {"pattern": "(a)\\1"}}"#);
    let says = ["pattern.json", "/items", "column 4", r" 1 | (a)\1"];
    refused(&["check", "--text", "1", "--json-schema", &path], &says);
}

/// A reference to a sibling by its file name ended in "leads out of the document", and there was no way to
/// give it.
#[test]
fn references_to_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let common = folder.path().join("common");
    std::fs::create_dir(&common).unwrap();
    file(folder.path(), "beside.json", br#"{"const": 1}"#);
    file(&common, "named.json", br#"{"$id": "https://x.test/n", "const": 2}"#);
    file(&common, "broken.json", b"{");
    let schema = |reference: &str| {
        let content = format!(r#"{{"$ref": "{reference}"}}"#);
        file(folder.path(), "schema.json", content.as_bytes())
    };
    let common = common.display().to_string();
    maskwright(&["check", "--text", "1", "--json-schema", &schema("beside.json")]).exits(0);
    maskwright(&["check", "--text", "2", "--json-schema", &schema("beside.json")]).exits(1);
    for reference in ["named.json", "https://x.test/n"] {
        let path = schema(reference);
        maskwright(&["check", "--text", "2", "--json-schema", &path, "--schema-dir", &common]).exits(0);
        refused(
            &["check", "--text", "2", "--json-schema", &path],
            &["schema.json", "`$ref`", "--schema-dir"],
        );
    }
    let path =
        file(folder.path(), "two.json", br#"{"items": {"$ref": "x.json"}, "not": {"$ref": "y.json"}}"#);
    let says = ["x.json", "\"y.json\" (/not)", "--schema-dir", "--lenient"];
    refused(&["check", "--text", "2", "--json-schema", &path], &says);
    let path = schema("broken.json");
    let says = ["broken.json: the schema is not JSON", "line 1"];
    refused(&["check", "--text", "2", "--json-schema", &path, "--schema-dir", &common], &says);
    let missing = ["check", "--text", "2", "--json-schema", &path, "--schema-dir", "no-such-folder"];
    refused(&missing, &["no-such-folder"]);
    refused(&["check", "--text", "2", "--regex", "2", "--schema-dir", &common], &["--json-schema"]);
}

/// A schema on the command line or in a pipe was "No such file or directory".
#[test]
fn schemas_need_no_file() {
    let check = |schema: &str, text: &str, stdin: &[u8]| {
        maskwright_with(&["check", "--json-schema", schema, "--text", text], stdin)
    };
    let integer = r#" {"type": "integer"}"#;
    check(integer, "1", b"").exits(0);
    check(integer, "x", b"").exits(1);
    check("-", "1", integer.as_bytes()).exits(0);
    check("-", "x", integer.as_bytes()).exits(1);
    check("true", "[{}]", b"").exits(0);
    check("false", "1", b"").exits(2).says(&["<json>: "]);
    // A file is one by its path.
    let folder = tempfile::tempdir().unwrap();
    check(&file(folder.path(), "{}", b"false"), "1", b"").exits(2).says(&["{}: "]);

    check(r#"{"type": "text"}"#, "1", b"").exits(2).says(&["<json>: `type`", "at the root"]);
    check(r#"{"type": }"#, "1", b"").exits(2).says(&["<json>: ", "1 | {\"type\": }"]);
    check("-", "1", b"{,}").exits(2).says(&["standard input: ", "1 | {,}"]);
    check("-", "1", b"\xFF").exits(2).says(&["standard input: not UTF-8 text from byte 0 on"]);
    check(r#"{"propertes": {}}"#, "1", b"").exits(0).says(&["warning", "<json>: `propertes`"]);
    // Files are read only beside a schema's file, and in the folders that are named.
    file(folder.path(), "beside.json", br#"{"const": 1}"#);
    let reference = r#"{"$ref": "beside.json"}"#;
    check(reference, "1", b"").exits(2).says(&["<json>", "beside.json", "--schema-dir"]);
    let named = folder.path().display().to_string();
    let named = ["check", "--json-schema", reference, "--text", "1", "--schema-dir", &named];
    maskwright(&named).exits(0);
    // Standard input is one thing only.
    let twice = ["check", "--json-schema", "-"];
    maskwright_with(&twice, b"{}").exits(2).says(&["no text is given", "was read as the schema"]);
}

/// Misspelt keywords were accepted, and the command line said nothing of them.
#[test]
fn misspelt_keywords_are_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "x.json", br#"{"propertes": {}, "format": "int32", "x-order": 1}"#);
    let run = maskwright(&["check", "--text", "1", "--json-schema", &path]).exits(0);
    let run = run.says(&["warning:", "did you mean `properties`?", "\"int32\" at the root is not known"]);
    assert!(!run.stderr.contains("x-order"), "{}", run.stderr);
}

/// Names that are nearly right got a list of what there is, or nothing.
#[test]
fn misspelt_names_have_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, content: &[u8]| file(folder.path(), name, content);
    let says = ["unknown model \"smollm\"", "did you mean `smollm2`?"];
    refused(&["generate", "--regex", "a", "-p", "x", "--model", "smollm"], &says);
    refused(&["pull", "smolm2"], &["did you mean `smollm2`?"]);
    let run = maskwright(&["pull", "llama"]).exits(2);
    assert!(!run.stderr.contains("did you mean"), "{}", run.stderr);
    refused(&["check", "--grammar", "jsn", "--text", "1"], &["\"jsn\"", "did you mean `json`?"]);
    let lark = file("list.lark", b"start: value*\nvalue: \"a\"\n");
    let says = ["there is no rule `values`", "did you mean `value`?"];
    refused(&["check", "--lark", &lark, "--start", "values", "--text", "a"], &says);
    let gbnf = file("list.gbnf", b"root ::= valu*\nvalue ::= \"a\"\n");
    refused(&["check", "--gbnf", &gbnf, "--text", "a"], &["`valu`", "did you mean `value`?"]);
    let gbnf = file("list.gbnf", b"rot ::= \"a\"\n");
    refused(&["check", "--gbnf", &gbnf, "--text", "a"], &["did you mean `root` where `rot` is?"]);
    let gbnf = file("list.gbnf", b"list ::= \"a\"\n");
    refused(&["check", "--gbnf", &gbnf, "--text", "a"], &["call the rule of whole texts `root`"]);
}

/// Settings of a tokenizer were read as one, and a folder was "Is a directory".
#[test]
fn what_is_no_tokenizer_has_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "tokenizer_config.json", b"{}");
    let says = ["tokenizer_config.json", "give the tokenizer.json beside it"];
    refused(&["mask", "--regex", "a", "--tokenizer", &path], &says);
    let path = folder.path().display().to_string();
    refused(&["mask", "--regex", "a", "--tokenizer", &path], &["tokenizer.json"]);
}
