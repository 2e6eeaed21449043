//! What the examples ask in place of a language model, so that they run anywhere.
//!
//! It knows one text by heart, its script. After the longest ending of the text so far that is in the script,
//! it likes the token that follows there; all else is noise, the same each time. Its tokens are single bytes.

#![allow(dead_code, reason = "no example needs all of it")]

use maskwright::{Error, TokenId, Tokenizer, mask_contains};

/// The token that ends a text.
pub(crate) const END: TokenId = TokenId(256);
/// The token that a diffusion model reads at a masked position.
pub(crate) const BLANK: TokenId = TokenId(257);

/// A tokenizer of single bytes, with [`END`] and [`BLANK`].
pub(crate) fn bytes() -> Result<Tokenizer, Error> {
    let bytes = (0..=255).map(|byte| vec![byte]);
    let tokens = bytes.chain([b"</s>".to_vec(), b"<mask>".to_vec()]).collect();
    Tokenizer::from_tokens_with_special(tokens, &[END], &[BLANK])
}

/// The stand-in for a model.
pub(crate) struct StandIn {
    script: Vec<TokenId>,
}

impl StandIn {
    /// One that knows `script`, and then ends the text.
    pub(crate) fn new(script: &str) -> StandIn {
        let bytes = script.bytes().map(|byte| TokenId(byte.into()));
        StandIn { script: bytes.chain([END]).collect() }
    }

    /// The logits of the token after `ids`: a model's forward pass.
    pub(crate) fn logits(&self, ids: &[TokenId]) -> Vec<f32> {
        let mut logits: Vec<f32> = (0..258).map(|token| noise(ids.len(), token)).collect();
        // How many tokens before the place in the script are those that the text ends with.
        let n_alike = |at: usize| {
            let (script, text) = (self.script[..at].iter().rev(), ids.iter().rev());
            script.zip(text).take_while(|(a, b)| a == b).count()
        };
        for (at, &token) in self.script.iter().enumerate() {
            let logit = &mut logits[token.index()];
            *logit = logit.max(n_alike(at) as f32 + 1.0);
        }
        logits
    }
}

/// A number from 0 to 1 that looks random: a hash of the two.
pub(crate) fn noise(place: usize, token: usize) -> f32 {
    let mut hash = (place as u64) << 32 | token as u64;
    for _ in 0..2 {
        hash = (hash ^ hash >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 40) as f32 / (1 << 24) as f32
}

/// The likeliest token of those that the mask allows: a sampler at temperature zero.
pub(crate) fn likeliest(logits: &[f32], mask: &[u32]) -> TokenId {
    let ids = (0..logits.len() as u32).map(TokenId).filter(|&id| mask_contains(mask, id));
    ids.max_by(|a, b| logits[a.index()].total_cmp(&logits[b.index()])).expect("a mask allows some token")
}
