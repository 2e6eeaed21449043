//! Times canvases and templates on real texts and a real vocabulary, and verifies them.
//!
//! `cargo run --release -p maskwright-infill --example measure -- GRAMMAR TOKENIZER.json TEXTS [N_TEXTS] [N_POSITIONS]`
//!
//! GRAMMAR is a GBNF file, a Lark file (for the basic lexer), or the name of a built-in grammar. TEXTS is a
//! file with a word of the grammar on each line, a folder with one in each file, or a file of JSON lines
//! whose `splits` are the pieces of a template; what is not in the language is passed over and counted. For
//! 75, 50, 25 and 0% of a text's tokens known it reports the cold check (a new canvas, what the grammar and
//! vocabulary share kept), a mask, and the check after a set, as medians and maxima in milliseconds. The
//! canvas of a word must be possible and its true tokens in every mask, or the run fails. Questions that
//! reach a limit are counted.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use maskwright_automata::Fuel;
use maskwright_infill::{Canvas, CanvasConfig, Error, Hole, InfillLimits, Infiller, Part, Template};
use maskwright_lark::{LarkConfig, LexerKind, builtin, parse_lark};
use maskwright_vocabulary::{TokenId, Tokenizer, TokenizerOptions, Vocabulary, mask_contains, mask_words};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Masks of each canvas.
const N_MASKS: usize = 4;

/// A small generator of choices; the same ones each time.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// What was measured at one share of known tokens.
#[derive(Default)]
struct Times {
    cold: Vec<Duration>,
    masks: Vec<Duration>,
    sets: Vec<Duration>,
    n_limits: usize,
}

#[allow(clippy::print_stdout, reason = "its report")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grammar, tokenizer, texts, numbers @ ..] = &arguments[..] else {
        anyhow::bail!("usage: measure GRAMMAR TOKENIZER.json TEXTS [N_TEXTS] [N_POSITIONS]");
    };
    let number = |index: usize, otherwise: usize| numbers.get(index).map_or(Ok(otherwise), |n| n.parse());
    let (n_texts, n_positions) = (number(0, 20)?, number(1, 32)?);
    let tokenizer = Tokenizer::from_file(std::path::Path::new(tokenizer), &TokenizerOptions::default())?;
    let vocabulary = tokenizer.vocabulary().clone();
    let start = Instant::now();
    let infiller = infiller(grammar, &vocabulary)?;
    println!("{} tokens, compiled in {:.1} ms", vocabulary.n_vocab(), ms(start.elapsed()));
    if texts.ends_with(".jsonl") {
        return templates(&infiller, texts, n_texts);
    }
    let mut words = Vec::new();
    let mut n_not_words = 0;
    for text in read_texts(texts)? {
        if words.len() == n_texts {
            break;
        }
        let tokens = tokenizer.encode(&text)?;
        if tokens.is_empty() || tokens.len() > n_positions {
            continue;
        }
        let all: Vec<Option<TokenId>> = tokens.iter().copied().map(Some).collect();
        if Canvas::new(&infiller, &all, CanvasConfig::default())?.is_possible()? {
            words.push(tokens);
        } else {
            n_not_words += 1;
        }
    }
    println!("{} words of at most {n_positions} tokens, {n_not_words} texts are none", words.len());
    let mut choices = Choices(1);
    for known in [75, 50, 25, 0] {
        let mut times = Times::default();
        for tokens in &words {
            match measure(&infiller, tokens, known, &mut choices, &mut times) {
                Err(error) if error.downcast_ref::<Error>().is_some_and(Error::is_limit) => {
                    times.n_limits += 1;
                }
                other => other?,
            }
        }
        println!(
            "{known:3}% known, {} canvases: cold {}; mask {}; set {}; {} reached a limit",
            times.cold.len(),
            summary(&mut times.cold),
            summary(&mut times.masks),
            summary(&mut times.sets),
            times.n_limits,
        );
    }
    Ok(())
}

fn infiller(grammar: &str, vocabulary: &std::sync::Arc<Vocabulary>) -> anyhow::Result<Infiller> {
    let fuel = Fuel::unlimited();
    let lark = |text: &str, config: &LarkConfig<'_>| {
        let read = parse_lark(text, grammar, config, &fuel)?;
        Ok(Infiller::lexed(
            &read.lexed,
            read.indentation.as_ref(),
            vocabulary.clone(),
            InfillLimits::default(),
            &fuel,
        )?)
    };
    if let Some(known) = builtin(grammar) {
        let config =
            LarkConfig { lexer: known.lexer, indentation: known.indentation, ..LarkConfig::default() };
        return lark(known.text, &config);
    }
    let source = std::fs::read_to_string(grammar).with_context(|| grammar.to_owned())?;
    if grammar.ends_with(".lark") {
        return lark(&source, &LarkConfig { lexer: LexerKind::Basic, ..LarkConfig::default() });
    }
    let read = maskwright_syntax::parse_gbnf(&source, grammar, &fuel)?;
    Ok(Infiller::new(&read, vocabulary.clone(), InfillLimits::default(), &fuel)?)
}

fn read_texts(path: &str) -> anyhow::Result<Vec<String>> {
    if !std::fs::metadata(path).with_context(|| path.to_owned())?.is_dir() {
        return Ok(std::fs::read_to_string(path)?.lines().map(str::to_owned).collect());
    }
    let mut files: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    files.sort_by_key(std::fs::DirEntry::path);
    files.iter().map(|file| Ok(std::fs::read_to_string(file.path())?)).collect()
}

/// One canvas of a word: cold, then four positions, each with its mask, and set to the true token.
fn measure(
    infiller: &Infiller,
    tokens: &[TokenId],
    known: usize,
    choices: &mut Choices,
    times: &mut Times,
) -> anyhow::Result<()> {
    let positions: Vec<Option<TokenId>> =
        tokens.iter().map(|&token| (choices.below(100) < known).then_some(token)).collect();
    let start = Instant::now();
    let mut canvas = Canvas::new(infiller, &positions, CanvasConfig::default())?;
    let is_possible = canvas.is_possible()?;
    times.cold.push(start.elapsed());
    ensure!(is_possible, "a canvas of a word is called impossible: {positions:?}");
    let mut mask = vec![0; mask_words(infiller.vocabulary().n_vocab())];
    for _ in 0..N_MASKS {
        let open: Vec<usize> = (0..tokens.len()).filter(|&at| canvas.positions()[at].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let at = open[choices.below(open.len())];
        let start = Instant::now();
        canvas.fill_mask(at, &mut mask, false)?;
        times.masks.push(start.elapsed());
        ensure!(mask_contains(&mask, tokens[at]), "token {at} of {tokens:?} is not in its mask");
        let start = Instant::now();
        ensure!(canvas.set(at, tokens[at])? && canvas.is_possible()?, "token {at} of {tokens:?} is refused");
        times.sets.push(start.elapsed());
    }
    Ok(())
}

/// Templates of fixed pieces with any text between them.
#[allow(clippy::print_stdout, reason = "its report")]
fn templates(infiller: &Infiller, path: &str, n_texts: usize) -> anyhow::Result<()> {
    let source = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    for n_regions in 1..=3 {
        let (mut times, mut n_impossible, mut n_limits) = (Vec::new(), 0, 0);
        for line in source.lines() {
            let row: serde_json::Value = serde_json::from_str(line)?;
            let strings = |name: &str| -> Vec<Vec<u8>> {
                let list = row[name].as_array().map(Vec::as_slice).unwrap_or_default();
                list.iter().filter_map(|text| Some(text.as_str()?.as_bytes().to_vec())).collect()
            };
            let (splits, removed) = (strings("splits"), strings("removed_spans"));
            if removed.len() != n_regions || times.len() == n_texts {
                continue;
            }
            let mut parts: Vec<Part> = Vec::new();
            for (index, split) in splits.iter().enumerate() {
                parts.extend((index > 0).then_some(Part::Hole(Hole::Any)));
                parts.push(Part::Text(split.clone()));
            }
            let whole: Vec<u8> = splits
                .iter()
                .zip(removed.iter().map(Some).chain([None]))
                .flat_map(|(split, removed)| [split.clone(), removed.cloned().unwrap_or_default()].concat())
                .collect();
            let start = Instant::now();
            let is_possible = Template::new(infiller, parts)?.is_possible();
            let time = start.elapsed();
            match is_possible {
                Err(error) if error.is_limit() => n_limits += 1,
                Err(error) => return Err(error.into()),
                Ok(true) => times.push(time),
                Ok(false) => {
                    let is_word = Template::new(infiller, vec![Part::Text(whole)])?.is_possible()?;
                    ensure!(!is_word, "a template of a word is called impossible: {line}");
                    n_impossible += 1;
                }
            }
        }
        println!(
            "{n_regions} regions, {} templates: cold {}; {n_impossible} are not of the language; {n_limits} reached a limit",
            times.len(),
            summary(&mut times),
        );
    }
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn summary(times: &mut [Duration]) -> String {
    times.sort_unstable();
    if times.is_empty() {
        return "-".to_owned();
    }
    let at = |share: usize| ms(times[(times.len() - 1) * share / 100]);
    format!("p50 {:.2} p99 {:.1} max {:.1} ms", at(50), at(99), at(100))
}
