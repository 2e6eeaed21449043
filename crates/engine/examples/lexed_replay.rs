//! Replays programs token by token under a Lark grammar and compares the verdicts with those of Lark's basic
//! lexer.
//! `cargo run --release -p maskwright-engine --example lexed_replay -- go llama2 [basic|contextual [N]]`; the
//! data folder is `MASKWRIGHT_SHARED`, or `../shared` beside the workspace.
#![allow(clippy::print_stdout, reason = "an example tells what it finds")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, Limits, Matcher};
use maskwright_lark::{Indentation, LarkConfig, LexerKind, parse_lark};
use maskwright_vocabulary::{Mask, Tokenizer, TokenizerOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Error = Box<dyn std::error::Error>;

fn shared() -> PathBuf {
    match std::env::var_os("MASKWRIGHT_SHARED") {
        Some(path) => path.into(),
        None => concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into(),
    }
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let language = arguments.next().ok_or("which language?")?;
    let tokenizer = arguments.next().ok_or("which tokenizer?")?;
    let lexer = match arguments.next().as_deref() {
        None | Some("basic") => LexerKind::Basic,
        Some("contextual") => LexerKind::Contextual,
        Some(other) => return Err(format!("which lexer is {other:?}?").into()),
    };
    let n_programs: usize = arguments.next().map_or(Ok(usize::MAX), |count| count.parse())?;
    let is_python = language == "python";

    let path = shared().join(format!("tokenizers/{tokenizer}/tokenizer.json"));
    let tokenizer = Tokenizer::from_file(&path, &TokenizerOptions::default())?;
    let source = std::fs::read_to_string(shared().join(format!("data/grammars/{language}.lark")))?;
    let compiler = Compiler::new(tokenizer.vocabulary().clone(), Limits::default());
    let start = Instant::now();
    let config =
        LarkConfig { lexer, indentation: is_python.then(Indentation::python), ..LarkConfig::default() };
    let grammar = parse_lark(&source, "grammar.lark", &config, &Fuel::unlimited())?;
    let read = start.elapsed();
    let compiled = match lexer {
        LexerKind::Basic => compiler.compile_lexed(grammar.lexed, grammar.indentation, &Fuel::unlimited())?,
        LexerKind::Contextual | LexerKind::DynamicComplete => {
            compiler.compile_contextual(grammar.lexed, grammar.indentation, &Fuel::unlimited())?
        }
    };
    let compile = start.elapsed();
    let mut mask = Mask::new(tokenizer.vocabulary().n_vocab());
    Matcher::new(&compiled).fill_mask(mask.words_mut())?;
    println!("read {read:?}, compiled {compile:?}, first mask {:?}", start.elapsed() - compile);

    let mut times: Vec<Duration> = Vec::new();
    let mut commits: Vec<Duration> = Vec::new();
    let (mut n_equal, mut n_different) = (0, 0);
    let verdicts = std::fs::read_to_string(shared().join("data/programs/syncode_lark_verdicts.tsv"))?;
    let rows = verdicts.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    for row in rows.filter(|row| row[0] == language).take(n_programs) {
        let path = shared().join("data/programs").join(row[0]).join(row[1]).join(row[2]);
        let mut text = std::fs::read_to_string(&path)?;
        if is_python {
            text.push('\n');
        }
        let mut matcher = Matcher::new(&compiled);
        let mut stuck = None;
        let mut n_read = 0;
        for token in tokenizer.encode_bytes(text.as_bytes())? {
            let begin = Instant::now();
            matcher.fill_mask(mask.words_mut())?;
            times.push(begin.elapsed());
            let begin = Instant::now();
            let is_accepted = matcher.accept_token(token)?;
            commits.push(begin.elapsed());
            assert_eq!(is_accepted, mask.contains(token), "mask and acceptance agree");
            if !is_accepted {
                stuck = Some(n_read);
                break;
            }
            n_read += tokenizer.vocabulary().token_bytes(token).map_or(0, <[u8]>::len);
        }
        let is_word = stuck.is_none() && matcher.is_accepting();
        if is_word == (row[3] == "accept") {
            n_equal += 1;
        } else {
            n_different += 1;
            println!(
                "{}/{}: {} here, {} there, stuck at {stuck:?} of {}",
                row[1],
                row[2],
                is_word,
                row[3],
                text.len()
            );
            if let Some(at) = stuck {
                println!(
                    "  {:?} | {:?}",
                    &text[at.saturating_sub(30)..at],
                    &text[at..(at + 20).min(text.len())]
                );
                println!("  expected {:?}", matcher.expected()?);
            }
        }
    }
    println!("verdicts: {n_equal} equal, {n_different} different");
    print_times("mask", &mut times);
    print_times("commit", &mut commits);
    println!(
        "memory: grammar {} MB, shared {} MB",
        compiled.memory_usage() >> 20,
        compiler.memory_usage() >> 20
    );
    Ok(())
}

fn print_times(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>() / times.len().max(1) as u32;
    let at = |quantile: f64| times[((times.len() - 1) as f64 * quantile) as usize];
    println!(
        "{what}: {} times, mean {mean:?}, p50 {:?}, p99 {:?}, max {:?}",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
