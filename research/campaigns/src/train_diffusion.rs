//! Trains a masked diffusion model from nothing but a seed.
//!
//! The texts are made ([`crate::diffusion_corpus`]), a byte-level BPE tokenizer is trained on them, then the
//! network on a stream of masked canvases. A canvas is a prompt, a separator, a text, EOS, padding;
//! everything behind the separator may be masked. Lengths vary from batch to batch, so that the model learns
//! to spend the positions that it is given.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use maskwright::{TokenId, Tokenizer, TokenizerOptions};
use maskwright_models::DiffusionConfig;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokenizers::decoders::byte_level::ByteLevel as ByteLevelDecoder;
use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, NormalizerWrapper, PostProcessorWrapper, TokenizerBuilder};

use crate::diffusion_corpus::{Sample, samples};
use crate::trainer::{DiffusionTrainer, MaskedBatch};

/// Special tokens, in the order of their ids: 0, 1, 2, 3.
const SPECIAL: [&str; 4] = ["<pad>", "<eos>", "<mask>", "<sep>"];
const PAD: u32 = 0;
const EOS: u32 = 1;
const MASK: u32 = 2;
const SEPARATOR: u32 = 3;

/// The lengths of canvases, in tokens.
const LENGTHS: [usize; 5] = [16, 24, 32, 48, 64];

/// The share of the steps in which the learning rate rises.
const WARM_UP: f64 = 0.03;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder that tokenizer.json, config.json and model.safetensors are written to
    #[arg(long, value_name = "FOLDER", default_value = "target/diffusion")]
    out: PathBuf,
    /// The most steps
    #[arg(long, default_value_t = 4500)]
    steps: usize,
    /// The most minutes; where they end the training before its steps, the weights depend on the machine
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Tokens of a batch
    #[arg(long, default_value_t = 1536)]
    batch_tokens: usize,
    #[arg(long, default_value_t = 2e-3)]
    learning_rate: f64,
    /// Samples in the corpus
    #[arg(long, default_value_t = 60_000)]
    samples: usize,
    #[arg(long, default_value_t = 1000)]
    n_vocab: usize,
    #[arg(long, default_value_t = 128)]
    n_embedding: usize,
    #[arg(long, default_value_t = 4)]
    n_heads: usize,
    #[arg(long, default_value_t = 5)]
    n_layers: usize,
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    std::fs::create_dir_all(&arguments.out)?;
    let corpus = samples(arguments.seed, arguments.samples);
    let tokenizer_json = train_tokenizer(&corpus, arguments.n_vocab)?;
    let tokenizer = Tokenizer::from_json(tokenizer_json.as_bytes(), &TokenizerOptions::default())?;
    let special = SPECIAL.map(|name| tokenizer.special_token_id(name));
    ensure!(
        special == [PAD, EOS, MASK, SEPARATOR].map(|id| Some(TokenId(id))),
        "the special tokens have ids {special:?}"
    );
    std::fs::write(arguments.out.join("tokenizer.json"), &tokenizer_json)?;
    let config = DiffusionConfig {
        n_vocab: tokenizer.n_vocab(),
        n_positions: LENGTHS[LENGTHS.len() - 1],
        n_embedding: arguments.n_embedding,
        n_heads: arguments.n_heads,
        n_layers: arguments.n_layers,
        mask_id: MASK,
        pad_id: PAD,
        separator_id: SEPARATOR,
    };
    std::fs::write(arguments.out.join("config.json"), serde_json::to_string_pretty(&config)? + "\n")?;

    let mut canvases = Canvases::new(&corpus, &tokenizer, arguments.seed)?;
    let mut held_out = Canvases::new(&samples(arguments.seed ^ u64::MAX, 2_000), &tokenizer, arguments.seed)?;
    let held_out: Vec<MaskedBatch> = (0..8).map(|_| held_out.batch(arguments.batch_tokens)).collect();
    let mut trainer = DiffusionTrainer::new(config, arguments.seed)?;
    println!("{} weights, {} canvases, {}", trainer.n_weights(), corpus.len(), canvases.lengths_shown());
    let clock = Instant::now();
    let (mut mean, mut share) = (0.0, 0.0);
    for step in 0.. {
        let rate = arguments.learning_rate * schedule(share);
        let loss = trainer.step(&canvases.batch(arguments.batch_tokens), rate)?;
        ensure!(loss.is_finite(), "the loss is {loss} after {step} steps: lower --learning-rate");
        mean = if step == 0 { loss } else { 0.98 * mean + 0.02 * loss };
        let seconds = clock.elapsed().as_secs_f64();
        share = ((step + 1) as f64 / arguments.steps as f64).max(seconds / (60.0 * arguments.minutes));
        if (step + 1) % 50 == 0 || share >= 1.0 {
            println!("step {} loss {mean:.4} after {seconds:.0} s", step + 1);
        }
        if (step + 1) % 250 == 0 || share >= 1.0 {
            let losses =
                held_out.iter().map(|batch| trainer.loss(batch)).collect::<anyhow::Result<Vec<_>>>()?;
            println!("held out: {:.4}", losses.iter().sum::<f32>() / losses.len() as f32);
            trainer.save(&arguments.out.join("model.safetensors"))?;
        }
        if share >= 1.0 {
            break;
        }
    }
    println!("written to {}", arguments.out.display());
    Ok(())
}

/// The learning rate's factor after a share of the steps: up in a line, down in half a cosine.
fn schedule(share: f64) -> f64 {
    if share < WARM_UP {
        return (share + 1e-3) / WARM_UP;
    }
    0.5 * (1.0 + (std::f64::consts::PI * (share - WARM_UP) / (1.0 - WARM_UP)).cos())
}

/// A byte-level BPE tokenizer without pre-tokenization, so that tokens go across words and punctuation; as
/// the text of a tokenizer.json.
fn train_tokenizer(corpus: &[Sample], n_vocab: usize) -> anyhow::Result<String> {
    let build = || -> tokenizers::Result<String> {
        let byte_level = ByteLevel::new(false, true, false);
        let mut tokenizer = TokenizerBuilder::new()
            .with_model(BPE::default())
            .with_normalizer(None::<NormalizerWrapper>)
            .with_pre_tokenizer(Some(byte_level))
            .with_post_processor(None::<PostProcessorWrapper>)
            .with_decoder(Some(ByteLevelDecoder::default()))
            .build()?;
        let mut trainer = BpeTrainerBuilder::new()
            .vocab_size(n_vocab)
            .show_progress(false)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .max_token_length(Some(6))
            .special_tokens(SPECIAL.map(|name| AddedToken::from(name, true)).to_vec())
            .build();
        let texts = corpus.iter().take(20_000).flat_map(|sample| [sample.prompt, &sample.text]);
        tokenizer.train(&mut trainer, texts)?;
        tokenizer.to_string(false)
    };
    build().map_err(|error| anyhow!(error)).context("the tokenizer cannot be trained")
}

/// Encoded samples and a stream of masked batches from them.
struct Canvases {
    /// Prompt and separator, then text and EOS; by length.
    samples: Vec<(usize, Vec<TokenId>)>,
    rng: ChaCha8Rng,
}

impl Canvases {
    fn new(corpus: &[Sample], tokenizer: &Tokenizer, seed: u64) -> anyhow::Result<Canvases> {
        let mut samples = Vec::new();
        for sample in corpus {
            let mut ids = tokenizer.encode(sample.prompt)?;
            ids.push(TokenId(SEPARATOR));
            let n_prompt = ids.len();
            ids.extend(tokenizer.encode(&sample.text)?);
            ids.push(TokenId(EOS));
            samples.push((n_prompt, ids));
        }
        samples.sort_by_key(|(_, ids)| ids.len());
        Ok(Canvases { samples, rng: ChaCha8Rng::seed_from_u64(seed) })
    }

    fn lengths_shown(&self) -> String {
        let at = |share: f64| self.samples[((self.samples.len() - 1) as f64 * share) as usize].1.len();
        format!("of {} tokens in the median, {} at most", at(0.5), at(1.0))
    }

    /// Canvases of one length, about `n_tokens` tokens in all.
    fn batch(&mut self, n_tokens: usize) -> MaskedBatch {
        let length = LENGTHS[self.rng.random_range(0..LENGTHS.len())];
        let first = self.samples.partition_point(|(_, ids)| ids.len() * 3 < length);
        let end = self.samples.partition_point(|(_, ids)| ids.len() <= length).max(first + 1);
        let mut batch = MaskedBatch { n_rows: (n_tokens / length).max(1), ..MaskedBatch::default() };
        for row in 0..batch.n_rows {
            let (n_prompt, ids) = &self.samples[self.rng.random_range(first..end)];
            let share: f64 = self.rng.random();
            let surely = self.rng.random_range(*n_prompt..length);
            for position in 0..length {
                let token = ids.get(position).map_or(PAD, |id| id.0);
                let is_masked = position >= *n_prompt && (position == surely || self.rng.random_bool(share));
                batch.ids.push(if is_masked { MASK } else { token });
                if is_masked {
                    batch.masked.push((row * length + position) as u32);
                    batch.targets.push(token);
                }
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use maskwright_decode::DiffusionModel;
    use maskwright_models::MaskedDiffusionModel;

    use super::*;

    #[test]
    fn a_short_training_writes_a_model_that_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = Arguments {
            out: folder.path().to_path_buf(),
            steps: 3,
            minutes: 60.0,
            batch_tokens: 128,
            learning_rate: 1e-3,
            samples: 300,
            n_vocab: 300,
            n_embedding: 16,
            n_heads: 2,
            n_layers: 1,
            seed: 1,
        };
        run(&arguments).unwrap();
        let mut model = MaskedDiffusionModel::from_folder(folder.path()).unwrap();
        let tokenizer =
            Tokenizer::from_file(&folder.path().join("tokenizer.json"), &TokenizerOptions::default())
                .unwrap();
        assert_eq!(tokenizer.n_vocab(), model.n_vocab());
        assert_eq!((tokenizer.eos_token_ids(), model.mask_id()), (&[TokenId(EOS)][..], TokenId(MASK)));
        let text = r#"{"name":"Ada Brown","age":7}"#;
        let ids = tokenizer.encode(text).unwrap();
        assert!(ids.len() < text.len() && tokenizer.decode(&ids) == text.as_bytes());
        assert_eq!(model.forward(&[&ids]).unwrap()[0].n_rows(), ids.len());
    }

    #[test]
    fn batches_hide_what_they_ask_for() {
        let corpus = samples(1, 400);
        let tokenizer = train_tokenizer(&corpus, 400).unwrap();
        let tokenizer = Tokenizer::from_json(tokenizer.as_bytes(), &TokenizerOptions::default()).unwrap();
        let mut canvases = Canvases::new(&corpus, &tokenizer, 1).unwrap();
        for _ in 0..50 {
            let batch = canvases.batch(256);
            let length = batch.ids.len() / batch.n_rows;
            assert!(LENGTHS.contains(&length) && batch.n_rows == 256 / length);
            let masked = (0..batch.ids.len() as u32).filter(|&index| batch.ids[index as usize] == MASK);
            assert_eq!(masked.collect::<Vec<_>>(), batch.masked);
            assert!(batch.masked.len() >= batch.n_rows && batch.masked.len() == batch.targets.len());
            assert!(!batch.targets.contains(&MASK) && !batch.targets.contains(&SEPARATOR));
        }
    }

    #[test]
    fn the_learning_rate_rises_and_falls() {
        assert!(schedule(0.0) < 0.1 && schedule(WARM_UP) > 0.99 && schedule(1.0) < 1e-6);
        assert!(schedule(0.5) < schedule(0.25));
    }
}
