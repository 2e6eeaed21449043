//! Scratch.
use std::time::Instant;
use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, Matcher};
use maskwright_vocabulary::{TokenId, Vocabulary};
fn main() {
    let tokens: Vec<Option<Vec<u8>>> = (0..=255u8).map(|b| vec![b]).chain(["</", "think", "</think>", "s>", "hello", " world", "é"].map(|t| t.as_bytes().to_vec())).chain([b"</s>".to_vec()]).map(Some).collect();
    let n = tokens.len() as u32;
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[n - 1], None).unwrap().shared(), Default::default());
    for max in [10u32, 100, 1000, 4096, 100_000, 1_000_000, i32::MAX as u32] {
        let t = Instant::now();
        let tag = format!(r#"{{"format": {{"type": "tag", "begin": "<think>", "content": {{"type": "any_text", "max_chars": {max}}}, "end": "</think>"}}}}"#);
        let tag = if std::env::args().len() > 1 { format!(r#"{{"format": {{"type": "any_text", "max_chars": {max}, "excludes": ["ab"]}}}}"#) } else { tag };
        let c = maskwright_tags::compile_str(&tag, "x", &Default::default(), &Fuel::unlimited()).unwrap();
        let g = compiler.compile(c.grammar, &Fuel::unlimited());
        let g = match g { Ok(g) => g, Err(e) => { println!("{max}: compile {e}"); continue } };
        let mut m = Matcher::new(&g);
        print!("{max}: {:?} ", t.elapsed());
        for (i, b) in b"<think>aa</t b>hello world and so on".iter().enumerate() {
            let t = Instant::now();
            let r = m.mask().map(|m| m.len());
            let e = t.elapsed();
            let a = m.accept_token(TokenId(u32::from(*b)));
            if i < 12 || r.is_err() || a.is_err() { print!("[{:?} {:?} {:?}] ", e, r.map_err(|e| e.to_string()), a.map_err(|e| e.to_string())); }
        }
        println!();
    }
}
