//! Times canvases on real texts and a real vocabulary.
//!
//! `cargo run --release -p maskwright-infill --example measure -- GRAMMAR.gbnf TOKENIZER.json TEXTS [N_TEXTS] [N_POSITIONS]`
//!
//! Each line of TEXTS is a word of the grammar (others are passed over). For 0, 25, 50 and 75% of its tokens known it
//! reports the cold check (a new canvas, what the grammar and vocabulary share kept), a mask, and the check after
//! a set, as medians and maxima in milliseconds. The true tokens must be in every mask.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use maskwright_automata::Fuel;
use maskwright_infill::{Canvas, CanvasConfig, Infiller};
use maskwright_vocabulary::{TokenId, Tokenizer, TokenizerOptions, mask_contains, mask_words};

/// A small generator of choices; the same ones each time.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[allow(clippy::print_stdout, reason = "its report")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grammar, tokenizer, texts, numbers @ ..] = &arguments[..] else {
        anyhow::bail!("usage: measure GRAMMAR.gbnf TOKENIZER.json TEXTS [N_TEXTS] [N_POSITIONS]");
    };
    let number = |index: usize, otherwise: usize| numbers.get(index).map_or(Ok(otherwise), |n| n.parse());
    let (n_texts, n_positions) = (number(0, 20)?, number(1, 32)?);
    let source = std::fs::read_to_string(grammar).with_context(|| grammar.clone())?;
    let grammar = maskwright_syntax::parse_gbnf(&source, grammar, &Fuel::new(10_000_000))?;
    let tokenizer = Tokenizer::from_file(std::path::Path::new(tokenizer), &TokenizerOptions::default())?;
    let vocabulary = tokenizer.vocabulary().clone();
    let start = Instant::now();
    let infiller = Infiller::new(&grammar, vocabulary.clone(), Default::default(), &Fuel::unlimited())?;
    println!("{} tokens, compiled in {:.1} ms", vocabulary.n_vocab(), ms(start.elapsed()));
    let texts = std::fs::read_to_string(texts).with_context(|| texts.clone())?;
    let mut choices = Choices(1);
    for known in [75, 50, 25, 0] {
        let (mut cold, mut masks, mut sets) = (Vec::new(), Vec::new(), Vec::new());
        let mut n_masked = 0;
        for text in texts.lines() {
            if cold.len() == n_texts {
                break;
            }
            let tokens: Vec<TokenId> = tokenizer.encode(text)?.into_iter().map(TokenId).collect();
            if tokens.len() > n_positions {
                continue;
            }
            let mut positions: Vec<Option<TokenId>> =
                tokens.iter().map(|&token| (choices.below(100) < known).then_some(token)).collect();
            // The rest of the canvas is masked, as a model gets it.
            positions.resize(n_positions, None);
            let start = Instant::now();
            let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default())?;
            let is_possible = canvas.is_possible()?;
            let time = start.elapsed();
            if !is_possible {
                let all: Vec<Option<TokenId>> = tokens.iter().copied().map(Some).collect();
                ensure!(!Canvas::new(&infiller, &all, CanvasConfig::default())?.is_possible()?, "{text}");
                continue;
            }
            cold.push(time);
            let mut mask = vec![0; mask_words(vocabulary.n_vocab())];
            for _ in 0..4 {
                let open: Vec<usize> =
                    (0..tokens.len()).filter(|&at| canvas.positions()[at].is_none()).collect();
                if open.is_empty() {
                    break;
                }
                let at = open[choices.below(open.len())];
                let start = Instant::now();
                canvas.fill_bitmask(at, &mut mask)?;
                masks.push(start.elapsed());
                ensure!(mask_contains(&mask, tokens[at]), "token {at} of {text}");
                n_masked += mask.iter().map(|word| word.count_ones() as usize).sum::<usize>();
                let start = Instant::now();
                ensure!(canvas.set(at, tokens[at])? && canvas.is_possible()?, "{text}");
                sets.push(start.elapsed());
            }
        }
        println!(
            "{known:3}% known, {} canvases of {n_positions}: cold {}; mask {}; set {}; {} tokens a mask",
            cold.len(),
            summary(&mut cold),
            summary(&mut masks),
            summary(&mut sets),
            n_masked / masks.len().max(1)
        );
    }
    println!("{infiller:?}");
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn summary(times: &mut [Duration]) -> String {
    times.sort_unstable();
    match times {
        [] => "-".to_owned(),
        [.., last] => {
            let last = ms(*last);
            format!("p50 {:.2} max {last:.1} ms", ms(times[times.len() / 2]))
        }
    }
}
