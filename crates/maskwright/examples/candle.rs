//! Masks on candle's tensors: two texts in one batch, with a grammar each.
//!
//! `cargo run -p maskwright --example candle`. On a GPU it is the same: the masks go to the device of the
//! logits.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod stand_in;

use std::error::Error;

use candle_core::{DType, Device, Tensor};
use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, mask_contains};
use stand_in::{END, noise};

/// The width of the model's hidden layer.
const WIDTH: usize = 16;

/// A network of one layer with made-up weights. It says something, but nothing sensible.
struct Model {
    embedding: Tensor,
    head: Tensor,
}

impl Model {
    fn new(n_vocab: usize, device: &Device) -> candle_core::Result<Model> {
        let weights = |place| {
            let weights = (0..n_vocab * WIDTH).map(|n| noise(place, n) - 0.5).collect();
            Tensor::from_vec(weights, (n_vocab, WIDTH), device)
        };
        Ok(Model { embedding: weights(1)?, head: weights(2)?.t()?.contiguous()? })
    }

    /// The logits after the last token of each text, of shape (texts, vocabulary).
    fn logits(&self, last: &[TokenId]) -> candle_core::Result<Tensor> {
        let ids: Vec<u32> = last.iter().map(|id| id.0).collect();
        let ids = Tensor::from_vec(ids, last.len(), self.embedding.device())?;
        self.embedding.index_select(&ids, 0)?.tanh()?.matmul(&self.head)
    }
}

/// The logits, with minus infinity for every token that a matcher's mask does not have.
fn masked(logits: &Tensor, matchers: &mut [Matcher]) -> Result<Tensor, Box<dyn Error>> {
    let (n_texts, n_vocab) = logits.dims2()?;
    let mut allowed = Vec::with_capacity(n_texts * n_vocab);
    for matcher in matchers {
        let mask = matcher.mask()?;
        // A model's logits may be wider than its vocabulary; what lies beyond is no token.
        allowed.extend((0..n_vocab as u32).map(|id| u8::from(mask_contains(mask.words(), TokenId(id)))));
    }
    let allowed = Tensor::from_vec(allowed, (n_texts, n_vocab), logits.device())?;
    let never = Tensor::full(f32::NEG_INFINITY, (n_texts, n_vocab), logits.device())?;
    Ok(allowed.where_cond(&logits.to_dtype(DType::F32)?, &never)?)
}

/// Writes both texts, a token of each at every step.
pub fn main() -> Result<(), Box<dyn Error>> {
    let tokenizer = stand_in::bytes()?;
    let compiler = Compiler::new(&tokenizer);
    let options = CompileOptions::default();
    let sources = [
        GrammarSource::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        GrammarSource::json_schema(
            r#"{"type": "array", "items": {"type": "integer"}, "minItems": 2}"#,
            Default::default(),
        ),
    ];
    let grammars =
        sources.iter().map(|source| compiler.compile(source, &options)).collect::<Result<Vec<_>, _>>()?;
    let config = MatcherConfig::with_max_tokens(30);
    let mut matchers =
        grammars.iter().map(|grammar| grammar.matcher_with(&config)).collect::<Result<Vec<_>, _>>()?;

    let model = Model::new(tokenizer.n_vocab(), &Device::Cpu)?;
    let mut last = vec![END; matchers.len()];
    while matchers.iter().any(|matcher| !matcher.is_terminated()) {
        let logits = masked(&model.logits(&last)?, &mut matchers)?;
        // Or sample: the masked logits go wherever logits go.
        for (n, id) in logits.argmax(1)?.to_vec1::<u32>()?.into_iter().enumerate() {
            // A text that has ended keeps its row, whose mask has the token that ends texts.
            if !matchers[n].is_terminated() {
                last[n] = TokenId(id);
                assert!(matchers[n].accept_token(last[n])?);
            }
        }
    }
    for (grammar, matcher) in grammars.iter().zip(&matchers) {
        let text = matcher.text();
        println!("{}", String::from_utf8_lossy(&text));
        assert!(grammar.check(&text, &Default::default())?.is_valid && matcher.n_tokens() <= 30);
    }
    Ok(())
}
