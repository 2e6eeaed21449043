//! Schemas over several files, and errors with their places as data.

use std::fs;
use std::path::Path;

use maskwright::{
    CompileOptions, CompiledSchema, Compiler, Error, ErrorKind, LarkOptions, Matcher, SchemaConfig,
    SchemaDocuments, Tokenizer, TokenizerOptions,
};

fn compiler() -> Compiler {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.push(b"</s>".to_vec());
    Compiler::new(&Tokenizer::from_tokens(tokens, &[256]).expect("a vocabulary"))
}

fn compile(schema: &str, options: &CompileOptions) -> Result<CompiledSchema, Error> {
    compiler().compile_json_schema(schema, &SchemaConfig::default(), options)
}

/// Compiles the schema in a file.
fn compile_file(path: &Path, documents: SchemaDocuments) -> Result<CompiledSchema, Error> {
    let options = CompileOptions { file: Some(path.to_path_buf()), documents, ..Default::default() };
    compile(&fs::read_to_string(path).expect("the file is ours"), &options)
}

#[track_caller]
fn accepts(compiled: &CompiledSchema, yes: &str, no: &str) {
    let mut matcher = Matcher::new(&compiled.grammar);
    assert!(matcher.accept_bytes(yes.as_bytes()).expect("within limits") && matcher.is_accepting(), "{yes}");
    assert!(!Matcher::new(&compiled.grammar).accept_bytes(no.as_bytes()).expect("within limits"), "{no}");
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
    let error = compile(&text, &CompileOptions::default()).err().unwrap();
    assert_eq!((error.kind(), error.pointer()), (ErrorKind::Schema, Some("")));
    assert!(error.hint().unwrap().contains("--schema-dir"));
}

/// What the infiller reads again is what was compiled, though the files are gone.
#[test]
fn infilling_keeps_the_documents() {
    let folder = folder(&[("main.json", r#"{"$ref": "two.json"}"#), ("two.json", r#"{"const": 2}"#)]);
    let compiled = compile_file(&folder.path().join("main.json"), SchemaDocuments::default()).unwrap();
    drop(folder);
    assert!(compiled.grammar.infiller(&CompileOptions::default()).is_ok());
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
    let options = CompileOptions { file: Some(main), ..Default::default() };
    assert!(compile(&absolute, &options).is_err());
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
    let options = CompileOptions { documents, ..Default::default() };
    accepts(&compile(r#"{"$ref": "https://x.test/w"}"#, &options).unwrap(), "\"w\"", "\"v\"");
    accepts(&compile(r#"{"$ref": "list.json"}"#, &options).unwrap(), "[\"w\"]", "[]");
    let error = compile(r#"{"$ref": "broken.json"}"#, &options).err().unwrap();
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
    let compiler = compiler();
    let plain = CompileOptions::default();
    let error = compiler.compile_regex("a(b", &plain).unwrap_err();
    assert_eq!((error.line(), error.column(), error.path(), error.pointer()), (Some(1), Some(2), None, None));
    let options = CompileOptions { file: Some("undef.gbnf".into()), ..Default::default() };
    let error = compiler.compile_gbnf("root ::= a\na ::= bb\n", &options).unwrap_err();
    assert_eq!((error.line(), error.column(), error.path()), (Some(2), Some(7), Some("undef.gbnf".as_ref())));
    assert!(error.to_string().contains("undef.gbnf:2:7"), "{error}");
    let lark = |file: Option<&str>| {
        let options = LarkOptions { file: file.map(Into::into), ..LarkOptions::default() };
        compiler.compile_lark("start: itm\nitem: \"x\"\n", &options, &plain).unwrap_err()
    };
    let error = lark(Some("x.lark"));
    assert_eq!((error.line(), error.column(), error.path()), (Some(1), Some(8), Some("x.lark".as_ref())));
    assert_eq!((error.hint(), lark(None).path()), (Some("did you mean `item`?"), None));
    let error = compile("{\"type\": ]", &plain).err().unwrap();
    assert_eq!((error.line(), error.column(), error.pointer()), (Some(1), Some(10), None));
    let error = compile(r#"{"items": {"pattern": "a("}}"#, &plain).err().unwrap();
    assert_eq!((error.line(), error.column()), (Some(1), Some(2)));
    assert_eq!((error.pointer(), error.keyword()), (Some("/items"), Some("pattern")));
    let error = compiler.compile_choice::<&str>(&[], &plain).unwrap_err();
    assert_eq!((error.line(), error.column()), (None, None));
}

/// The settings file was taken for the tokenizer, and a folder is none.
#[test]
fn what_is_no_tokenizer_has_a_hint() {
    let folder = folder(&[("tokenizer_config.json", "{}"), ("other/tokenizer.json", "{")]);
    let error = |name: &str| {
        let path = folder.path().join(name);
        let error = Tokenizer::from_file(&path, &TokenizerOptions::default()).err().map(Error::from).unwrap();
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
