//! Schemas over several files, and errors with their places as data.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use maskwright::json_schema::{SchemaConfig, SchemaDocuments};
use maskwright::lark::LarkOptions;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, ErrorKind, GrammarSource, Matcher, TokenId, Tokenizer,
    TokenizerOptions,
};

fn compiler() -> Compiler {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.push(b"</s>".to_vec());
    Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(256)]).expect("a vocabulary"))
}

fn source(schema: &str) -> GrammarSource {
    GrammarSource::json_schema(schema, SchemaConfig::default())
}

fn compile(source: &GrammarSource) -> Result<Arc<CompiledGrammar>, Error> {
    compiler().compile(source, &CompileOptions::default())
}

/// Compiles the schema in a file.
fn compile_file(path: &Path, documents: SchemaDocuments) -> Result<Arc<CompiledGrammar>, Error> {
    let text = fs::read_to_string(path).expect("the file is ours");
    compile(&source(&text).file(path).documents(documents))
}

#[track_caller]
fn accepts(compiled: &Arc<CompiledGrammar>, yes: &str, no: &str) {
    let mut matcher = Matcher::new(compiled);
    assert!(matcher.accept_bytes(yes.as_bytes()).expect("within limits") && matcher.is_accepting(), "{yes}");
    assert!(!Matcher::new(compiled).accept_bytes(no.as_bytes()).expect("within limits"), "{no}");
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }
    folder
}

/// A schema in a file finds its siblings by file name, and they find theirs.
#[test]
fn files_beside_a_schema_are_found() {
    let folder = folder(&[
        ("main.json", r#"{"$id": "https://x.test/main", "$ref": "parts/a b.json#/definitions/one"}"#),
        ("parts/a b.json", r#"{"definitions": {"one": {"$ref": "../two.json"}}}"#),
        ("two.json", r#"{"const": 2}"#),
        ("unrelated.json", "this is no JSON"),
    ]);
    let main = folder.path().join("main.json");
    accepts(&compile_file(&main, SchemaDocuments::default()).unwrap(), "2", "3");
    let text = fs::read_to_string(&main).unwrap();
    let error = compile(&source(&text)).err().unwrap();
    assert_eq!((error.kind(), error.pointer()), (ErrorKind::Schema, Some("")));
    assert!(error.hint().unwrap().contains("--schema-dir"));
}

/// What the infiller reads again is what was compiled, though the files are gone.
#[test]
fn infilling_keeps_the_documents() {
    let folder = folder(&[("main.json", r#"{"$ref": "two.json"}"#), ("two.json", r#"{"const": 2}"#)]);
    let compiled = compile_file(&folder.path().join("main.json"), SchemaDocuments::default()).unwrap();
    drop(folder);
    assert!(compiled.infiller(&CompileOptions::default()).is_ok());
}

/// Nothing outside of the schema's folder is read, unless the folder is named.
#[test]
fn files_outside_of_the_folder_are_not_read() {
    let folder = folder(&[
        ("s/main.json", r#"{"$ref": "../secret.json"}"#),
        ("s/secret.json", r#"{"const": 1}"#),
        ("secret.json", r#"{"const": 2}"#),
    ]);
    let main = folder.path().join("s/main.json");
    let error = compile_file(&main, SchemaDocuments::default()).err().unwrap();
    assert_eq!((error.keyword(), error.path()), (Some("$ref"), Some(&*main)));
    let mut documents = SchemaDocuments::default();
    documents.add_folder(folder.path()).unwrap();
    accepts(&compile_file(&main, documents).unwrap(), "2", "1");
    let absolute = format!(r#"{{"$ref": "{}"}}"#, folder.path().join("secret.json").display());
    assert!(compile(&source(&absolute).file(main)).is_err());
}

/// A link to a folder elsewhere leads out of the folder too.
#[cfg(unix)]
#[test]
fn links_to_other_folders_are_not_followed() {
    let elsewhere = folder(&[("x.json", "true")]);
    let folder = folder(&[("main.json", r#"{"$ref": "link/x.json"}"#)]);
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("link")).unwrap();
    assert!(compile_file(&folder.path().join("main.json"), SchemaDocuments::default()).is_err());
}

/// A link to a file elsewhere was read, beside a schema and in a named folder.
#[cfg(unix)]
#[test]
fn links_to_files_elsewhere_are_not_followed() {
    let elsewhere = folder(&[("secret.json", r#"{"const": 1}"#)]);
    let folder = folder(&[
        ("main.json", r#"{"$ref": "secret.json"}"#),
        ("inside.json", r#"{"$ref": "linked.json"}"#),
        ("parts/one.json", r#"{"const": 1}"#),
    ]);
    let link = std::os::unix::fs::symlink::<std::path::PathBuf, std::path::PathBuf>;
    link(elsewhere.path().join("secret.json"), folder.path().join("secret.json")).unwrap();
    link("parts/one.json".into(), folder.path().join("linked.json")).unwrap();
    let compile = |name: &str, documents| compile_file(&folder.path().join(name), documents);
    assert_eq!(compile("main.json", SchemaDocuments::default()).err().unwrap().keyword(), Some("$ref"));
    accepts(&compile("inside.json", SchemaDocuments::default()).unwrap(), "1", "2");
    let mut documents = SchemaDocuments::default();
    documents.add_folder(folder.path()).unwrap();
    assert!(compile("main.json", documents.clone()).is_err());
    documents.add_folder(elsewhere.path()).unwrap();
    accepts(&compile("main.json", documents).unwrap(), "1", "2");
}

#[test]
fn the_documents_of_a_folder_are_found_by_identifier_and_by_name() {
    let folder = folder(&[
        ("word.json", r#"{"$id": "https://x.test/w", "const": "w", "type": "string"}"#),
        ("list.json", r#"{"items": {"$ref": "word.json"}, "type": "array", "minItems": 1}"#),
        ("broken.json", "{\n \"type\": \"string\",}"),
        ("readme.txt", "no schema"),
    ]);
    let mut documents = SchemaDocuments::default();
    documents.add_folder(folder.path()).unwrap();
    let compile = |schema: &str| compile(&source(schema).documents(documents.clone()));
    accepts(&compile(r#"{"$ref": "https://x.test/w"}"#).unwrap(), "\"w\"", "\"v\"");
    accepts(&compile(r#"{"$ref": "list.json"}"#).unwrap(), "[\"w\"]", "[]");
    let error = compile(r#"{"$ref": "broken.json"}"#).err().unwrap();
    let hint = error.hint().unwrap();
    assert!(hint.contains("broken.json: the schema is not JSON: trailing comma at line 2"), "{hint}");
    assert!(error.to_string().contains(hint));
    assert_eq!(error.to_string().matches("Help: ").count(), 1, "one hint: {error}");
    let missing = folder.path().join("no-such-folder");
    let error = SchemaDocuments::default().add_folder(&missing).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, Some(&*missing)));
}

/// A folder of too many documents is an error instead of a long wait.
#[test]
fn a_folder_of_too_many_documents_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..4_097 {
        fs::write(folder.path().join(format!("{i}.json")), "true").unwrap();
    }
    let error = SchemaDocuments::default().add_folder(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

/// The last file could take the total beyond the limit.
#[test]
fn folders_of_too_many_bytes_are_refused() {
    let of_sizes = |sizes: &[u64]| {
        let folder = tempfile::tempdir().unwrap();
        for (i, mebibytes) in sizes.iter().enumerate() {
            let file = fs::File::create(folder.path().join(format!("{i}.json"))).unwrap();
            file.set_len(mebibytes << 20).unwrap();
        }
        folder
    };
    let (whole, half) = (of_sizes(&[16, 16, 10, 10]), of_sizes(&[10, 10]));
    let mut documents = SchemaDocuments::default();
    documents.add_folder(whole.path()).unwrap();
    assert_eq!(documents.add_folder(half.path()).unwrap_err().kind(), ErrorKind::Limit);
}

/// A file that names a pipe was read until somebody wrote into it.
#[cfg(target_os = "linux")]
#[test]
fn devices_are_not_read() {
    let folder = folder(&[("main.json", r#"{"$ref": "endless.json"}"#)]);
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless.json")).unwrap();
    assert!(compile_file(&folder.path().join("main.json"), SchemaDocuments::default()).is_err());
}

/// Every kind of source tells line, column and file the same way.
#[test]
fn errors_tell_their_places() {
    let error = compile(&GrammarSource::regex("a(b")).unwrap_err();
    assert_eq!((error.line(), error.column(), error.path(), error.pointer()), (Some(1), Some(2), None, None));
    let error = compile(&GrammarSource::gbnf("root ::= a\na ::= bb\n").file("undef.gbnf")).unwrap_err();
    assert_eq!((error.line(), error.column(), error.path()), (Some(2), Some(7), Some("undef.gbnf".as_ref())));
    assert!(error.to_string().contains("undef.gbnf:2:7"), "{error}");
    let lark = GrammarSource::lark("start: itm\nitem: \"x\"\n", LarkOptions::default());
    let error = compile(&lark.clone().file("x.lark")).unwrap_err();
    assert_eq!((error.line(), error.column(), error.path()), (Some(1), Some(8), Some("x.lark".as_ref())));
    assert_eq!((error.hint(), compile(&lark).unwrap_err().path()), (Some("did you mean `item`?"), None));
    let error = compile(&source("{\"type\": ]")).err().unwrap();
    assert_eq!((error.line(), error.column(), error.pointer()), (Some(1), Some(10), None));
    let error = compile(&source(r#"{"items": {"pattern": "a("}}"#)).err().unwrap();
    assert_eq!((error.line(), error.column()), (Some(1), Some(2)));
    assert_eq!((error.pointer(), error.keyword()), (Some("/items"), Some("pattern")));
    let error = compile(&GrammarSource::choice([""; 0])).unwrap_err();
    assert_eq!((error.line(), error.column()), (None, None));
}

/// The settings file was taken for the tokenizer, and a folder is none.
#[test]
fn what_is_no_tokenizer_has_a_hint() {
    let folder = folder(&[("tokenizer_config.json", "{}"), ("other/tokenizer.json", "{")]);
    let error = |name: &str| {
        let path = folder.path().join(name);
        let error = Tokenizer::from_file(&path, &TokenizerOptions::default()).err().unwrap();
        assert_eq!(error.path(), Some(&*path));
        error
    };
    let settings = error("tokenizer_config.json");
    assert!(settings.hint().unwrap().contains("tokenizer.json beside it"));
    assert!(settings.to_string().contains("tokenizer.json beside it"));
    assert!(error("other").hint().unwrap().contains("other/tokenizer.json"));
    assert!(error("").hint().unwrap().contains("this is a folder"));
    let cut = error("other/tokenizer.json");
    assert_eq!((cut.line(), cut.hint()), (Some(1), None));
}
