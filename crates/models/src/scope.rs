//! What the tokens of a layer attend to, and how the layer encodes their positions.
//!
//! Most networks have one scope: every token attends to all tokens before it. Gemma 3 has two, with rotary
//! embeddings of their own: five layers of six attend to a window of the last tokens, the sixth attends to
//! all. A pass prepares each scope once ([`ScopeTable::pass`]), and all layers of that scope share the
//! result.
//!
//! Keys before the window stay in the cache. A layer reads a part of them, so a cache of any scope is
//! truncated by one number.
//!
//! Source: Su et al. 2021 (rotary embedding). Rotary angles are computed for the positions of the pass, not
//! tabulated: a table for a context of 131,072 takes 64 MB, and the angles of one token cost less than one of
//! its 30 layers' norms.

use candle_core::{Device, Result, Tensor};
use candle_nn::rotary_emb::{rope, rope_i};

/// The scope of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scope {
    pub(crate) span: Span,
    pub(crate) rope: Rope,
}

/// Which tokens before it a token attends to; it always attends to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// All of them.
    All,
    /// The last ones, as many as given (at least 1), itself included.
    Window(usize),
}

impl Span {
    /// The first position that the token at `position` attends to.
    fn first_seen(self, position: usize) -> usize {
        match self {
            Span::All => 0,
            Span::Window(n_tokens) => (position + 1).saturating_sub(n_tokens),
        }
    }
}

/// A rotary embedding. Pair i of a head turns by base^(-2i / head size) / divisor for each position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rope {
    pub(crate) base: f64,
    pub(crate) divisor: f64,
}

/// Which dimensions of a head are turned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RopePairs {
    /// 2i and 2i + 1.
    Neighbours,
    /// i and i + half the head's size.
    Halves,
}

/// The scopes of a network's layers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LayerScopes {
    /// All layers have the same scope.
    Same(Scope),
    /// Layers number `period`, 2 × `period` and so on, counted from 1, have one scope, the others another.
    Periodic { period: usize, others: Scope, every_nth: Scope },
}

impl LayerScopes {
    /// The different scopes.
    pub(crate) fn distinct(&self) -> Vec<Scope> {
        match *self {
            LayerScopes::Same(scope) => vec![scope],
            LayerScopes::Periodic { others, every_nth, .. } => vec![others, every_nth],
        }
    }

    /// Which of the [distinct](Self::distinct) scopes a layer has; both are counted from 0.
    pub(crate) fn index_of(&self, layer: usize) -> usize {
        match *self {
            LayerScopes::Same(_) => 0,
            LayerScopes::Periodic { period, .. } => usize::from((layer + 1).is_multiple_of(period)),
        }
    }
}

/// A scope with the frequencies of its rotary embedding.
#[derive(Debug)]
pub(crate) struct ScopeTable {
    span: Span,
    pairs: RopePairs,
    /// One angle per unit of position for each pair of a head's dimensions.
    frequencies: Vec<f64>,
}

impl ScopeTable {
    /// The table for heads of twice as many dimensions as there are `factors`, by which frequencies are
    /// divided.
    pub(crate) fn new(scope: Scope, pairs: RopePairs, factors: &[f32]) -> Self {
        let Scope { span, rope } = scope;
        let frequency = |(pair, &factor): (usize, &f32)| {
            let exponent = -(pair as f64) / factors.len() as f64;
            rope.base.powf(exponent) / f64::from(factor) / rope.divisor
        };
        ScopeTable { span, pairs, frequencies: factors.iter().enumerate().map(frequency).collect() }
    }

    /// Prepares a pass over several segments, each of `n_new` tokens after `n_before` others, given as pairs
    /// `(n_before, n_new)`.
    pub(crate) fn pass(&self, segments: &[(usize, usize)]) -> Result<ScopePass> {
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for &(n_before, n_new) in segments {
            for position in n_before..n_before + n_new {
                for frequency in &self.frequencies {
                    let (s, c) = (position as f64 * frequency).sin_cos();
                    cos.push(c as f32);
                    sin.push(s as f32);
                }
            }
        }
        let shape = (cos.len() / self.frequencies.len(), self.frequencies.len());
        let visible = segments.iter().map(|&(n_before, n_new)| Visible::new(self.span, n_before, n_new));
        Ok(ScopePass {
            pairs: self.pairs,
            cos: Tensor::from_vec(cos, shape, &Device::Cpu)?,
            sin: Tensor::from_vec(sin, shape, &Device::Cpu)?,
            visible: visible.collect::<Result<_>>()?,
        })
    }
}

/// What all layers of a scope need for one pass.
pub(crate) struct ScopePass {
    pairs: RopePairs,
    /// Cosines of every row's angles: (rows, half a head).
    cos: Tensor,
    /// Sines, likewise.
    sin: Tensor,
    /// One per segment.
    pub(crate) visible: Vec<Visible>,
}

impl ScopePass {
    /// Turns heads (heads, rows, head size) by the positions of their rows.
    pub(crate) fn rotate(&self, heads: &Tensor) -> Result<Tensor> {
        let heads = heads.unsqueeze(0)?;
        match self.pairs {
            RopePairs::Neighbours => rope_i(&heads, &self.cos, &self.sin)?.squeeze(0),
            RopePairs::Halves => rope(&heads, &self.cos, &self.sin)?.squeeze(0),
        }
    }
}

/// The keys that the new tokens of a segment attend to.
pub(crate) struct Visible {
    /// The first key that one of them attends to.
    first: usize,
    /// What is added to the scores (new tokens, keys from the first one); `None` for a single token, which
    /// attends to all these keys.
    mask: Option<Tensor>,
}

impl Visible {
    fn new(span: Span, n_before: usize, n_new: usize) -> Result<Self> {
        let first = span.first_seen(n_before);
        if n_new == 1 {
            return Ok(Visible { first, mask: None });
        }
        let n_keys = n_before + n_new - first;
        let mut mask = vec![f32::NEG_INFINITY; n_new * n_keys];
        for (position, row) in (n_before..).zip(mask.chunks_mut(n_keys)) {
            row[span.first_seen(position) - first..=position - first].fill(0.0);
        }
        let mask = Tensor::from_vec(mask, (n_new, n_keys), &Device::Cpu)?;
        Ok(Visible { first, mask: Some(mask) })
    }

    /// Of all keys or values (heads, all tokens, head size), those from the first one on.
    pub(crate) fn of(&self, all: &Tensor) -> Result<Tensor> {
        all.narrow(1, self.first, all.dim(1)? - self.first)
    }

    /// Sets the scores of the keys that a token does not attend to to minus infinity. The shape is (heads,
    /// new tokens, keys from the first visible one).
    pub(crate) fn hide(&self, scores: &Tensor) -> Result<Tensor> {
        match &self.mask {
            None => Ok(scores.clone()),
            Some(mask) => scores.broadcast_add(mask),
        }
    }
}
