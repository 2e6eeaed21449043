//! Scratch.
use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
use std::time::{Duration, Instant};
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
    let path = std::env::args().nth(1).unwrap();
    let kind = std::env::args().nth(2).unwrap_or("one".into());
    let tokenizer = Tokenizer::from_file(std::path::Path::new(&path), &Default::default()).unwrap();
    let compiler = Compiler::new(&tokenizer);
    let tags: Vec<String> = (0..50).map(|i| format!(r#"{{"type": "tag", "begin": "<tool_call>\n{{\"name\": \"tool_{i}\", \"arguments\": ", "content": {{"type": "json_schema", "json_schema": {}}}, "end": "}}\n</tool_call>"}}"#, tool(i))).collect();
    let format = match kind.as_str() {
        "one" => format!(r#"{{"type": "triggered_tags", "triggers": ["<tool_call>"], "excludes": ["<think>", "</think>"], "tags": [{}]}}"#, tags.join(", ")),
        "many" => format!(r#"{{"type": "dispatch", "rules": [{}]}}"#, (0..50).map(|i| format!(r#"["<function=tool_{i}>", {{"type": "sequence", "elements": [{{"type": "json_schema", "json_schema": {}}}, {{"type": "const_string", "value": "</function>"}}]}}]"#, tool(i))).collect::<Vec<_>>().join(", ")),
        _ => unreachable!(),
    };
    let tag = format!(
        r#"{{"type": "structural_tag", "format": {{"type": "sequence", "elements": [{{"type": "tag", "begin": "<think>", "content": {{"type": "any_text"}}, "end": "</think>"}}, {format}]}}}}"#
    );
    println!("{} bytes", tag.len());
    let source = GrammarSource::structural_tag(tag.clone(), Default::default());
    let mut best = Duration::MAX;
    let mut compiled = None;
    for _ in 0..20 {
        let start = Instant::now();
        compiled = Some(compiler.compile(&source, &CompileOptions::default()).unwrap());
        best = best.min(start.elapsed());
    }
    let start = Instant::now();
    for _ in 0..20 {
        source.grammar(&CompileOptions::default()).unwrap();
    }
    println!("compile best {best:?}, grammar alone {:?}", start.elapsed() / 20);
    let compiled = compiled.unwrap();
    let call = if kind == "one" {
        "I will look it up <b>now</b> for x<y. <tool_call>\n{\"name\": \"tool_17\", \"arguments\": {\"param_17_0\": \"Paris, the city of light\", \"param_17_1\": 5, \"param_17_2\": \"green\", \"param_17_3\": [\"a\", \"bcd\"]}}\n</tool_call> Done, and again. <tool_call>\n{\"name\": \"tool_3\", \"arguments\": {\"param_3_0\": \"x\", \"param_3_1\": 12}}\n</tool_call> And a long text that says nothing much, 1 < 2 and <p>more</p>."
    } else {
        "I will look it up <b>now</b> for x<y. <function=tool_17>{\"param_17_0\": \"Paris, the city of light\", \"param_17_1\": 5, \"param_17_2\": \"green\"}</function> Done <function=tool_3>{\"param_3_0\": \"x\", \"param_3_1\": 12}</function> end <fun> 1 < 2."
    };
    let text = format!(
        "<think>Let me think about this. What <does> the user want? It is 5 < 6, so </thin.\n\nOk</think>{call}"
    );
    let ids = tokenizer.encode(&text).unwrap();
    for round in 0..3 {
        let mut matcher = Matcher::new(&compiled);
        let mut times = Vec::new();
        for &id in &ids {
            let start = Instant::now();
            let n = matcher.mask().unwrap().len();
            let t = start.elapsed();
            let start = Instant::now();
            assert!(matcher.accept_token(TokenId(id)).unwrap(), "{id}");
            times.push((t, start.elapsed(), n, id));
        }
        assert!(matcher.is_accepting());
        let mut sorted: Vec<_> = times.iter().map(|t| t.0).collect();
        sorted.sort();
        println!(
            "round {round}: {} tokens, mean {:?}, p50 {:?}, p99 {:?}, max {:?}; accept mean {:?}",
            sorted.len(),
            sorted.iter().sum::<Duration>() / sorted.len() as u32,
            sorted[sorted.len() / 2],
            sorted[sorted.len() * 99 / 100],
            sorted.last().unwrap(),
            times.iter().map(|t| t.1).sum::<Duration>() / times.len() as u32
        );
        if round == 0 {
            let mut worst: Vec<_> = times.iter().enumerate().collect();
            worst.sort_by_key(|t| std::cmp::Reverse(t.1.0));
            for (at, (t, _, n, _)) in worst.iter().take(25) {
                println!(
                    "   {t:?} before {:?} n {n}",
                    String::from_utf8_lossy(&tokenizer.decode(&ids[*at..(*at + 1)]))
                );
            }
        }
    }
}
