//! Schemas over several documents, what reports and warnings say, and errors as data.

mod support;

use maskwright_automata::Fuel;
use maskwright_json_schema::{
    CompiledSchema, Documents, SchemaConfig, SchemaError, Status, compile_str, compile_with_documents,
    parse_document,
};
use support::{Automata, Recogniser};

fn compiled(schema: &str) -> Result<CompiledSchema, SchemaError> {
    compile_str(schema, &SchemaConfig::default(), &Fuel::new(10_000_000))
}

fn among(schema: &str, base: &str, documents: &[(&str, &str)]) -> Result<CompiledSchema, SchemaError> {
    let mut all = Documents::default();
    all.set_base(base);
    for (uri, text) in documents {
        all.insert(*uri, parse_document(text, uri)?);
    }
    let schema = parse_document(schema, base)?;
    compile_with_documents(&schema, &all, &SchemaConfig::default(), &Fuel::new(10_000_000))
}

#[track_caller]
fn accepts(compiled: &CompiledSchema, yes: &[&str], no: &[&str]) {
    let mut recogniser = Recogniser::new(&compiled.grammar);
    let mut automata = Automata::default();
    for (texts, is_word) in [(yes, true), (no, false)] {
        for text in texts {
            assert_eq!(recogniser.read(text, &mut automata).1, is_word, "{text}");
        }
    }
}

/// Schemas of SchemaStore name their siblings by file name, though they give themselves an address on the
/// web.
#[test]
fn a_sibling_is_found_by_its_file_name_beside_a_schema_with_an_address() {
    let schema = r#"{"$id": "https://json.schemastore.org/main.json", "$ref": "thing.json#/definitions/x"}"#;
    let thing = r#"{"definitions": {"x": {"$ref": "word.json"}}}"#;
    let word = r#"{"$id": "https://elsewhere.test/w.json", "const": "w"}"#;
    let documents = [("s/thing.json", thing), ("s/word.json", word)];
    accepts(&among(schema, "s/main.json", &documents).unwrap(), &["\"w\""], &["\"v\"", "1"]);
    // By its own address too, and that comes first.
    let by_id = r#"{"$ref": "https://elsewhere.test/w.json"}"#;
    accepts(&among(by_id, "s/main.json", &documents).unwrap(), &["\"w\""], &["1"]);
    let nearer = r#"{"$id": "https://elsewhere.test/main.json", "$ref": "w.json"}"#;
    let documents = [documents[1], ("s/w.json", r#"{"const": 2}"#)];
    accepts(&among(nearer, "s/main.json", &documents).unwrap(), &["\"w\""], &["2"]);
}

#[test]
fn anchors_of_a_document_with_an_address_are_found_by_its_file_name() {
    let schema = r##"{"$ref": "a.json#here"}"##;
    let other = r#"{"$id": "https://x.test/a", "$defs": {"y": {"$anchor": "here", "type": "null"}}}"#;
    accepts(&among(schema, "", &[("a.json", other)]).unwrap(), &["null"], &["1"]);
}

/// `../x.json` must not be read as `x.json` beside the schema, which is another document.
#[test]
fn a_reference_out_of_the_folder_is_not_the_sibling_of_that_name() {
    let error = among(r#"{"$ref": "../x.json"}"#, "main.json", &[("x.json", "true")]).unwrap_err();
    assert_eq!(error.missing_document(), Some("../x.json"));
    let compiled =
        among(r#"{"$ref": "../x.json"}"#, "d/main.json", &[("x.json", r#"{"const": 1}"#)]).unwrap();
    accepts(&compiled, &["1"], &["2"]);
}

#[test]
fn a_plain_name_comes_after_the_file_beside_the_schema() {
    let mut documents = Documents::default();
    documents.set_base("s/main.json");
    documents.insert_named("x.json", "common/x.json", parse_document(r#"{"const": 1}"#, "x").unwrap());
    let schema = parse_document(r#"{"$ref": "x.json"}"#, "x").unwrap();
    let compile = |documents: &Documents| {
        compile_with_documents(&schema, documents, &SchemaConfig::default(), &Fuel::unlimited()).unwrap()
    };
    accepts(&compile(&documents), &["1"], &["2"]);
    documents.insert("s/x.json", parse_document(r#"{"const": 2}"#, "x").unwrap());
    accepts(&compile(&documents), &["2"], &["1"]);
}

#[test]
fn a_missing_document_says_how_to_give_it() {
    let error = among(r#"{"items": {"$ref": "thing.json#/x"}}"#, "", &[]).unwrap_err();
    assert_eq!((error.pointer(), error.keyword()), ("/items", Some("$ref")));
    assert_eq!(error.missing_document(), Some("thing.json"));
    let hint = error.hint().unwrap();
    assert!(hint.contains("documents={\"thing.json\": ...}") && hint.contains("--schema-dir"), "{hint}");
    assert!(error.to_string().contains(hint));
}

#[test]
fn all_missing_documents_are_named_once() {
    let schema = r##"{
        "properties": {"a": {"$ref": "a.json#/x"}, "b": {"$ref": "given.json"}},
        "items": [{"$ref": "a.json"}, {"anyOf": [{"$ref": "#/$defs/used"}, {"$ref": "https://x.test/b#y"}]}],
        "$defs": {"used": {"$ref": "c.json"}, "unused": {"$ref": "d.json"}}
    }"##;
    let given = r#"{"not": {"$ref": "sub/e.json"}}"#;
    let error = among(schema, "", &[("given.json", given)]).unwrap_err();
    let missing: Vec<_> = error
        .missing_documents()
        .iter()
        .map(|missing| (missing.name.as_str(), missing.pointer.as_str()))
        .collect();
    let expected = [
        ("a.json", "/properties/a"),
        ("sub/e.json", "given.json#/not"),
        ("c.json", "/$defs/used"),
        ("https://x.test/b", "/items/1/anyOf/1"),
    ];
    assert_eq!(missing, expected);
    assert_eq!((error.pointer(), error.keyword()), ("/properties/a", Some("$ref")));
    let told = error.to_string();
    for (name, pointer) in &expected[1..] {
        assert!(told.contains(&format!("\"{name}\" ({pointer})")), "{told}");
    }
    let hint = error.hint().unwrap();
    for way in ["documents={", "strict=False", "--schema-dir", "--lenient"] {
        assert!(hint.contains(way), "{hint}");
    }
}

/// The report came in the order in which the grammar needs the schemas: c, b, a.
#[test]
fn the_report_is_in_the_order_of_the_text() {
    let schema = r##"{
        "type": "object",
        "properties": {"c": {"type": "string", "minLength": 1}, "b": {"$ref": "#/$defs/z"}, "a": {"type": "null"}},
        "required": ["a"],
        "$defs": {"z": {"contentEncoding": "base64", "contentMediaType": "image/png"}}
    }"##;
    let report = compiled(schema).unwrap().report;
    let told: Vec<String> =
        report.entries().map(|entry| format!("{} {}", entry.pointer, entry.keyword)).collect();
    let expected = [
        " type",
        " properties",
        "/properties/c type",
        "/properties/c minLength",
        "/properties/b $ref",
        "/properties/a type",
        " required",
        "/$defs/z contentEncoding",
        "/$defs/z contentMediaType",
    ];
    assert_eq!(told, expected);
    assert!(report.entries().skip(7).all(|entry| *entry.status == Status::Annotation));
}

#[test]
fn entries_of_other_documents_follow() {
    let schema = r#"{"anyOf": [{"$ref": "b.json"}, {"$ref": "a.json"}], "type": "string"}"#;
    let documents = [("a.json", r#"{"minLength": 1}"#), ("b.json", r#"{"maxLength": 1}"#)];
    let report = among(schema, "", &documents).unwrap().report;
    let told: Vec<_> = report.entries().map(|entry| entry.keyword.to_owned()).collect();
    assert_eq!(told, ["anyOf", "$ref", "$ref", "type", "minLength", "maxLength"]);
}

/// `propertes` and `minLenght` were let pass without a word.
#[test]
fn misspelt_keywords_and_unknown_formats_are_warned_about() {
    let schema = r#"{"propertes": {}, "properties": {
        "e": {"type": "string", "format": "emial", "minLenght": 3},
        "i": {"type": "integer", "format": "int32"}, "j": {"type": "integer", "format": "int32"},
        "u": {"type": "string", "format": "email", "x-hint": 1, "title": "t", "default": 1, "deprecated": true,
              "markdownDescription": "m", "divisibleBy": 2, "contentEncoding": "base64"}}}"#;
    let report = compiled(schema).unwrap().report;
    let told: Vec<String> = report.warnings().iter().map(ToString::to_string).collect();
    let expected = [
        "`propertes` at the root is no keyword of JSON Schema, so it has no effect: did you mean `properties`?",
        "the format \"emial\" at /properties/e is not known, so it is not checked: did you mean \"email\"?",
        "`minLenght` at /properties/e is no keyword of JSON Schema, so it has no effect: did you mean `minLength`?",
        "the format \"int32\" at /properties/i and one more place is not known, so it is not checked",
    ];
    assert_eq!(told, expected);
    let suggestions: Vec<_> = report.entries().filter_map(|entry| entry.suggestion).collect();
    assert_eq!(suggestions, ["properties", "email", "minLength"]);
}

#[test]
fn a_keyword_of_a_later_draft_is_no_misspelling() {
    let schema =
        r#"{"$schema": "http://json-schema.org/draft-04/schema#", "const": 1, "id": "x", "contains": {}}"#;
    assert!(compiled(schema).unwrap().report.warnings().is_empty());
}

/// Thousands of unknown formats are one warning, and of many different ones only some are told.
#[test]
fn warnings_are_limited() {
    let formats = |name: fn(usize) -> String| {
        let items: Vec<String> = (0..5_000).map(|i| format!(r#"{{"format": "{}"}}"#, name(i))).collect();
        format!(r#"{{"prefixItems": [{}]}}"#, items.join(","))
    };
    let same = compiled(&formats(|_| "int32".to_owned())).unwrap().report.warnings();
    assert_eq!((same.len(), same[0].n_places), (1, 5_000));
    let different = compiled(&formats(|i| format!("odd{i}"))).unwrap().report.warnings();
    assert_eq!(different.len(), 20);
}

/// A pattern's error told a column, but not the pattern.
#[test]
fn an_error_in_a_pattern_has_both_places_and_shows_the_pattern() {
    let schema = r#"{"properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}"#;
    let error = compiled(schema).unwrap_err();
    assert_eq!((error.pointer(), error.keyword()), ("/properties/a", Some("pattern")));
    assert_eq!((error.line(), error.column()), (Some(1), Some(4)));
    assert!(error.to_string().contains("\n 1 | (a)\\1\n"), "{error}");
}

/// Which bounds leave nothing was not told.
#[test]
fn contradictory_bounds_tell_their_values() {
    for (schema, parts) in [
        (r#"{"type": "integer", "minimum": 10, "maximum": 5}"#, ["`minimum` 10", "`maximum` 5"]),
        (
            r#"{"type": "number", "exclusiveMinimum": 1.5, "maximum": 1.5}"#,
            ["`exclusiveMinimum` 1.5", "`maximum` 1.5"],
        ),
        (
            r#"{"type": "string", "minLength": 3, "maxLength": 2}"#,
            ["it is 3, greater", "`maxLength`, which is 2"],
        ),
        (
            r#"{"type": "array", "minItems": 3, "maxItems": 2}"#,
            ["it is 3, greater", "`maxItems`, which is 2"],
        ),
    ] {
        let error = compiled(schema).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
