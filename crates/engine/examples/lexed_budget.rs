//! Measures token budgets under a Lark grammar (basic lexer): random walks within tight limits, which must all
//! end in time, and given texts at a limit of exactly their length, which must never be refused a token.
//! `cargo run --release -p maskwright-engine --example lexed_budget -- truncproof_json llama2 300 [N_TEXTS]`; the data folder is
//! `MASKWRIGHT_SHARED`, or `../shared` beside the workspace.
#![allow(clippy::print_stdout, reason = "an example tells what it finds")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineGrammar, Limits, Matcher, TokenCountStatus};
use maskwright_lark::{Indentation, LarkConfig, LexerKind, parse_lark};
use maskwright_vocabulary::{Mask, TokenId, Tokenizer, TokenizerOptions};

type Error = Box<dyn std::error::Error>;

fn shared() -> PathBuf {
    match std::env::var_os("MASKWRIGHT_SHARED") {
        Some(path) => path.into(),
        None => concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into(),
    }
}

/// A small generator of pseudo-random numbers (xorshift), the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let language = arguments.next().ok_or("which grammar?")?;
    let tokenizer = arguments.next().ok_or("which tokenizer?")?;
    let n_walks: usize = arguments.next().ok_or("how many walks?")?.parse()?;
    let n_programs: usize = arguments.next().map_or(Ok(0), |count| count.parse())?;

    let path = shared().join(format!("tokenizers/{tokenizer}/tokenizer.json"));
    let tokenizer = Tokenizer::from_file(&path, &TokenizerOptions::default())?;
    let source = std::fs::read_to_string(shared().join(format!("data/grammars/{language}.lark")))?;
    let compiler = Compiler::new(tokenizer.vocabulary().clone(), Limits::default());
    let config = LarkConfig {
        lexer: LexerKind::Basic,
        indentation: (language == "python").then(Indentation::python),
        ..LarkConfig::default()
    };
    let begin = Instant::now();
    let grammar = parse_lark(&source, "grammar.lark", &config, &Fuel::unlimited())?;
    let compiled = compiler.compile_lexed(grammar.lexed, grammar.indentation, &Fuel::unlimited())?;
    println!("compiled in {:?}", begin.elapsed());
    let begin = Instant::now();
    let mut mask = Mask::new(tokenizer.vocabulary().n_vocab());
    Matcher::new(&compiled).fill_mask(mask.words_mut())?;
    println!("first mask without a limit {:?}", begin.elapsed());
    let begin = Instant::now();
    let least = Matcher::new(&compiled).tokens_to_finish()?;
    println!("least {least:?} in {:?}", begin.elapsed());
    let begin = Instant::now();
    Matcher::with_max_tokens(&compiled, Some(least.n_tokens))?.fill_mask(mask.words_mut())?;
    println!("first mask within it {:?}", begin.elapsed());

    random_walks(&compiled, n_walks)?;
    if n_programs > 0 {
        replay(&compiled, &tokenizer, &language, n_programs)?;
    }
    println!("memory: grammar {} MB", compiled.memory_usage() >> 20);
    Ok(())
}

/// Texts drawn from the masks under limits from the least to 40 more.
fn random_walks(compiled: &Arc<EngineGrammar>, n_walks: usize) -> Result<(), Error> {
    let least = Matcher::new(compiled).tokens_to_finish()?.n_tokens;
    let mut mask = Mask::new(compiled.vocabulary().n_vocab());
    let (mut times, mut n_exact, mut n_calls) = (Vec::new(), 0usize, 0usize);
    for walk in 0..n_walks {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (walk as u64 + 1));
        let limit = least + walk % 41;
        let mut matcher = Matcher::with_max_tokens(compiled, Some(limit))?;
        let mut n_tokens = 0;
        while !matcher.is_terminated() {
            let begin = Instant::now();
            matcher.fill_mask(mask.words_mut())?;
            times.push(begin.elapsed());
            n_calls += 1;
            n_exact += usize::from(matcher.tokens_to_finish()?.status == TokenCountStatus::Exact);
            let allowed: Vec<TokenId> = mask.iter().collect();
            assert!(!allowed.is_empty() && n_tokens < limit, "walk {walk}: a dead end within {limit}");
            let token = allowed[numbers.below(allowed.len())];
            assert!(matcher.accept_token(token)?, "walk {walk}: a token of the mask is refused");
            n_tokens += 1;
        }
    }
    println!("{n_walks} random walks ended in time; exact {n_exact} of {n_calls} calls");
    print_times("mask within tight limits", &mut times);
    Ok(())
}

/// Real programs at exactly their length.
fn replay(
    compiled: &Arc<EngineGrammar>,
    tokenizer: &Tokenizer,
    language: &str,
    n_programs: usize,
) -> Result<(), Error> {
    let mut mask = Mask::new(compiled.vocabulary().n_vocab());
    let mut plain = Mask::new(compiled.vocabulary().n_vocab());
    let (mut tight, mut far, mut unlimited) = (Vec::new(), Vec::new(), Vec::new());
    let (mut n_texts, mut n_exact, mut n_calls) = (0, 0usize, 0usize);
    for text in texts(language)?.into_iter().take(n_programs) {
        let tokens = tokenizer.encode_bytes(text.as_bytes())?;
        if Matcher::new(compiled).accept_tokens(&tokens)? < tokens.len() {
            continue;
        }
        let mut without = Matcher::new(compiled);
        let mut loose = Matcher::with_max_tokens(compiled, Some(1_000_000))?;
        let mut matcher = Matcher::with_max_tokens(compiled, Some(tokens.len() + 1))?;
        for (position, &token) in tokens.iter().enumerate() {
            let begin = Instant::now();
            without.fill_mask(plain.words_mut())?;
            unlimited.push(begin.elapsed());
            let begin = Instant::now();
            matcher.fill_mask(mask.words_mut())?;
            tight.push(begin.elapsed());
            assert!(mask.contains(token), "token {position} of {} is refused: {text:?}", tokens.len());
            let begin = Instant::now();
            loose.fill_mask(mask.words_mut())?;
            far.push(begin.elapsed());
            assert!(mask.words() == plain.words(), "a far limit changes nothing");
            n_calls += 1;
            n_exact += usize::from(matcher.tokens_to_finish()?.status == TokenCountStatus::Exact);
            let are_accepted = without.accept_token(token)? && loose.accept_token(token)?;
            assert!(are_accepted && matcher.accept_token(token)?);
        }
        n_texts += 1;
    }
    println!("{n_texts} texts fit their own length; exact {n_exact} of {n_calls} calls");
    print_times("mask without a limit", &mut unlimited);
    print_times("mask within the length", &mut tight);
    print_times("mask within a far limit", &mut far);
    Ok(())
}

/// Programs that Lark accepts; for other grammars some texts of their own.
fn texts(language: &str) -> Result<Vec<String>, Error> {
    let own: &[&str] = match language {
        "truncproof_json" | "json" => &[
            r#"{"name":"Ada","born":1815,"tags":["a","b\u00e9"],"nested":{"x":[[1,2.5e3],[]],"ok":true},"none":null}"#,
            r#"[ {"id" : 1 , "price" : 10.50}, {"id" : 2 , "price" : -3} ]"#,
        ],
        "truncproof_c" | "c" => &[
            "int max(int a, int b) {\n  if (a > b) { return a; } else { return b; }\n}\n",
            "float f(float x) { float y = x * (2 + g(x, 1)); while (y > 10) { y = y - 1; } return y; }",
        ],
        _ => &[],
    };
    let mut texts: Vec<String> = own.iter().map(|&text| text.to_owned()).collect();
    let verdicts = std::fs::read_to_string(shared().join("data/programs/syncode_lark_verdicts.tsv"))?;
    let rows = verdicts.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    for row in rows.filter(|row| row[0] == language && row[3] == "accept") {
        let path = shared().join("data/programs").join(row[0]).join(row[1]).join(row[2]);
        let end = if language == "python" { "\n" } else { "" };
        texts.push(std::fs::read_to_string(&path)? + end);
    }
    Ok(texts)
}

fn print_times(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    if times.is_empty() {
        return;
    }
    let mean = times.iter().sum::<Duration>() / times.len().max(1) as u32;
    let at = |quantile: f64| times[((times.len() - 1) as f64 * quantile) as usize];
    println!(
        "{what}: {} times, mean {mean:?}, p50 {:?}, p90 {:?}, p99 {:?}, max {:?}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}
