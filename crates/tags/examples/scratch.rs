//! Scratch.
use maskwright_automata::Fuel;
use std::time::Instant;
fn tool(i: usize) -> String {
    let props: Vec<String> = (0..10)
        .map(|p| {
            format!(
                "\"param_{i}_{p}\": {}",
                match p % 5 {
                    0 => "{\"type\": \"string\", \"description\": \"x\"}".to_owned(),
                    1 => "{\"type\": \"integer\", \"minimum\": 0}".to_owned(),
                    2 => "{\"enum\": [\"red\", \"green\", \"blue\"]}".to_owned(),
                    3 => "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}".to_owned(),
                    _ => "{\"type\": \"boolean\"}".to_owned(),
                }
            )
        })
        .collect();
    format!(
        "{{\"type\": \"object\", \"properties\": {{{}}}, \"required\": [\"param_{i}_0\", \"param_{i}_1\"], \"additionalProperties\": false}}",
        props.join(", ")
    )
}
fn main() {
    let fuel = Fuel::unlimited();
    let config = maskwright_json_schema::SchemaConfig::default();
    let schemas: Vec<serde_json::Value> = (0..50).map(|i| serde_json::from_str(&tool(i)).unwrap()).collect();
    let tags: Vec<String> = (0..50).map(|i| format!(r#"{{"type": "tag", "begin": "<tool_call>\n{{\"name\": \"tool_{i}\", \"arguments\": ", "content": {{"type": "json_schema", "json_schema": {}}}, "end": "}}\n</tool_call>"}}"#, tool(i))).collect();
    let tag = format!(
        r#"{{"format": {{"type": "triggered_tags", "triggers": ["<tool_call>"], "excludes": ["<think>", "</think>"], "tags": [{}]}}}}"#,
        tags.join(", ")
    );
    for _ in 0..3 {
        let t = Instant::now();
        for _ in 0..50 {
            for s in &schemas {
                std::hint::black_box(maskwright_json_schema::compile(s, &config, &fuel).unwrap());
            }
        }
        println!("schemas {:?}", t.elapsed() / 50);
        let t = Instant::now();
        for _ in 0..50 {
            std::hint::black_box(maskwright_json_schema::parse_json(&tag, "x").unwrap());
        }
        println!("parse {:?}", t.elapsed() / 50);
        let t = Instant::now();
        for _ in 0..50 {
            std::hint::black_box(maskwright_tags::named_tokens(&tag, &fuel).unwrap());
        }
        println!("parse+read {:?}", t.elapsed() / 50);
        let t = Instant::now();
        for _ in 0..50 {
            std::hint::black_box(maskwright_tags::compile_str(&tag, "x", &config, &fuel).unwrap());
        }
        println!("all {:?}", t.elapsed() / 50);
    }
}
