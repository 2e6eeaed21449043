//! Scratch.
use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, Matcher};
use maskwright_vocabulary::Vocabulary;
use serde_json::Value;
#[test]
fn probe() {
    let mut tokens: Vec<Option<Vec<u8>>> = (0..=255u8).map(|b| Some(vec![b])).collect();
    tokens.push(Some(b"</s>".to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens, &[256], None).unwrap().shared();
    let compiler = Compiler::new(vocabulary, Default::default());
    let mut n = 0;
    let mut config = maskwright_json_schema::SchemaConfig::default();
    config.whitespace = maskwright_json_schema::Whitespace::AtMost(u32::MAX);
    for file in ["envelope", "text", "combinators", "tags", "tokens", "json"] {
        let text = std::fs::read_to_string(format!("/tmp/h/cases/testdata/structural-tags/{file}.jsonl")).unwrap();
        for (i, line) in text.lines().enumerate() {
            let case: Value = serde_json::from_str(line).unwrap();
            let name = format!("{file}:{}", i + 1);
            let mut tag = case.get("document").or(case.get("legacy")).cloned().unwrap_or_else(|| serde_json::json!({"type": "structural_tag", "format": case["format"]}));
            let source = if let Value::String(s) = &tag { s.clone() } else { if case.get("legacy").is_some() { tag["type"] = "structural_tag".into(); } tag.to_string() };
            let result = maskwright_tags::compile_str(&source, "tag", &config, &Fuel::new(10_000_000));
            n += 1;
            match (case["error"].as_str(), result) {
                (Some(at), Err(e)) => if e.pointer() != at { eprintln!("{name}: {at} but {:?}: {e}", e.pointer()) },
                (Some(at), Ok(_)) => eprintln!("{name}: no error {at}: {source}"),
                (None, Err(e)) => eprintln!("{name}: {e}"),
                (None, Ok(compiled)) => {
                    let grammar = match compiler.compile(compiled.grammar, &Fuel::new(10_000_000)) { Ok(g) => g, Err(e) => { eprintln!("{name}: {e}"); continue } };
                    for (key, want) in [("yes", true), ("no", false)] {
                        for text in case[key].as_array().into_iter().flatten() {
                            let plain = text.get("text").unwrap_or(text);
                            let plain = match plain { Value::String(s) => s.clone(), Value::Array(parts) if parts.iter().all(|p| p.is_string() || p[0].is_string() && !p[0].as_str().unwrap().starts_with('<')) => parts.iter().map(|p| p.as_str().unwrap_or_else(|| p[0].as_str().unwrap())).collect(), _ => continue };
                            let mut m = Matcher::new(&grammar);
                            let got = m.accept_bytes(plain.as_bytes()).unwrap() && m.is_accepting();
                            if got != want { eprintln!("{name}: {key} {plain:?} {source} {:?}", text.get("why")); }
                        }
                    }
                }
            }
        }
    }
    eprintln!("{n} cases");
}
