//! The shape of a network, from a GGUF file's metadata: read, checked, and never trusted beyond it.

use maskwright_vocabulary::gguf::GgufValue;

use crate::{
    error::ModelsError,
    gguf::GgufFile,
    scope::{LayerScopes, Rope, RopePairs, Scope, Span},
};

/// The networks that can be run, with what tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// Llama and all that is stored like it (Mistral, SmolLM2).
    Llama,
    /// Qwen 2 and 2.5.
    Qwen2,
    /// The texts of Gemma 3: windows of attention, and norms before and after every part of a layer.
    Gemma3,
}

/// What the gate of a feed-forward part goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// x / (1 + e^-x).
    Silu,
    /// The Gaussian error linear unit, approximated with the hyperbolic tangent.
    Gelu,
}

impl Architecture {
    const ALL: [Architecture; 3] = [Architecture::Llama, Architecture::Qwen2, Architecture::Gemma3];

    /// Its name in GGUF, which also begins its metadata keys.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
            Architecture::Qwen2 => "qwen2",
            Architecture::Gemma3 => "gemma3",
        }
    }

    /// Which dimensions of a head the rotary embedding turns together.
    pub(crate) fn rope_pairs(self) -> RopePairs {
        match self {
            Architecture::Llama => RopePairs::Neighbours,
            Architecture::Qwen2 | Architecture::Gemma3 => RopePairs::Halves,
        }
    }

    /// The activation of the feed-forward parts.
    pub(crate) fn activation(self) -> Activation {
        match self {
            Architecture::Llama | Architecture::Qwen2 => Activation::Silu,
            Architecture::Gemma3 => Activation::Gelu,
        }
    }

    /// Whether queries, keys and values have biases.
    pub(crate) fn has_biases(self) -> bool {
        self == Architecture::Qwen2
    }

    /// Whether each head of the queries and keys is normed before it is rotated.
    pub(crate) fn has_head_norms(self) -> bool {
        self == Architecture::Gemma3
    }

    /// Whether the results of attention and of the feed-forward part are normed before they are added.
    pub(crate) fn has_post_norms(self) -> bool {
        self == Architecture::Gemma3
    }
}

/// The sizes of a network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetworkConfig {
    pub(crate) architecture: Architecture,
    pub(crate) n_layers: usize,
    pub(crate) n_embedding: usize,
    pub(crate) n_feed_forward: usize,
    pub(crate) n_heads: usize,
    /// Divides `n_heads`: that many query heads share a key and value head.
    pub(crate) n_kv_heads: usize,
    /// Even.
    pub(crate) head_size: usize,
    pub(crate) context_length: usize,
    pub(crate) norm_epsilon: f32,
    /// Embeddings are multiplied by it.
    pub(crate) embedding_scale: f64,
    /// Products of queries and keys are multiplied by it.
    pub(crate) score_scale: f64,
    pub(crate) scopes: LayerScopes,
}

impl NetworkConfig {
    /// Reads the sizes.
    ///
    /// # Errors
    /// If the architecture is not one of those supported, a key is missing or has the wrong type, or the
    /// sizes do not fit together.
    pub(crate) fn from_gguf(gguf: &GgufFile) -> Result<Self, ModelsError> {
        let architecture = architecture(gguf)?;
        let keys = Keys { gguf, prefix: architecture.name() };
        let n_embedding = keys.size("embedding_length")?;
        let n_heads = keys.size("attention.head_count")?;
        let n_kv_heads = keys.optional_size("attention.head_count_kv")?.unwrap_or(n_heads);
        let head_size = keys.optional_size("attention.key_length")?.unwrap_or(n_embedding / n_heads);
        let n_layers = keys.size("block_count")?;
        let score_divisor = match (architecture, n_layers) {
            // Gemma 3 27B divides by another size than that of its heads. No metadata say so; it is known by
            // its layers, as in llama.cpp.
            (Architecture::Gemma3, 62) => n_embedding / n_heads,
            _ => head_size,
        };
        let config = NetworkConfig {
            architecture,
            n_layers,
            n_embedding,
            n_feed_forward: keys.size("feed_forward_length")?,
            n_heads,
            n_kv_heads,
            head_size,
            context_length: keys.size("context_length")?,
            norm_epsilon: keys.number("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-5) as f32,
            embedding_scale: match architecture {
                Architecture::Llama | Architecture::Qwen2 => 1.0,
                Architecture::Gemma3 => (n_embedding as f64).sqrt(),
            },
            score_scale: 1.0 / (score_divisor as f64).sqrt(),
            scopes: keys.scopes(architecture)?,
        };
        config.check(&keys)?;
        Ok(config)
    }

    fn check(&self, keys: &Keys<'_>) -> Result<(), ModelsError> {
        let (n_heads, n_kv_heads, head_size) = (self.n_heads, self.n_kv_heads, self.head_size);
        if !n_heads.is_multiple_of(n_kv_heads) {
            return Err(keys.gguf.error(format!(
                "has {n_heads} heads and {n_kv_heads} key-value heads, which must divide them"
            )));
        }
        if head_size == 0 || head_size % 2 == 1 {
            return Err(keys.gguf.error(format!("has heads of size {head_size}, an even size is needed")));
        }
        for (key, wanted) in [("attention.value_length", head_size), ("rope.dimension_count", head_size)] {
            let given = keys.optional_size(key)?.unwrap_or(wanted);
            if given != wanted {
                let name = keys.name(key);
                return Err(keys
                    .gguf
                    .error(format!("has {name} {given}, only the head size {wanted} can be run")));
            }
        }
        if keys.gguf.value(&keys.name("expert_count")).is_some_and(|value| *value != GgufValue::Integer(0)) {
            return Err(keys.gguf.error("is a mixture of experts, only dense networks can be run"));
        }
        for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
            let cap = keys.number(key)?.unwrap_or(0.0);
            if cap != 0.0 {
                let name = keys.name(key);
                return Err(keys.gguf.error(format!("has {name} {cap}, only networks without can be run")));
            }
        }
        let positive = |number: f64| number > 0.0 && number.is_finite();
        let ropes = self.scopes.distinct().into_iter().map(|scope| scope.rope);
        let mut numbers = ropes.flat_map(|rope| [rope.base, rope.divisor]);
        if !(positive(f64::from(self.norm_epsilon)) && numbers.all(positive)) {
            return Err(keys.gguf.error("has a norm epsilon, rope base or rope factor that is not positive"));
        }
        Ok(())
    }
}

fn architecture(gguf: &GgufFile) -> Result<Architecture, ModelsError> {
    let Some(GgufValue::Text(given)) = gguf.value("general.architecture") else {
        return Err(gguf.error("has no general.architecture"));
    };
    Architecture::ALL.into_iter().find(|known| known.name() == given).ok_or_else(|| {
        let [others @ .., last] = Architecture::ALL.map(Architecture::name);
        let others = others.join(", ");
        gguf.error(format!("is a network of architecture {given:?}, {others} and {last} can be run"))
    })
}

/// The metadata keys of one architecture.
struct Keys<'a> {
    gguf: &'a GgufFile,
    prefix: &'static str,
}

impl Keys<'_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.prefix)
    }

    /// A size that must be there: at least 1 and at most 2^31.
    fn size(&self, key: &str) -> Result<usize, ModelsError> {
        let missing = || self.gguf.error(format!("has no {}", self.name(key)));
        self.optional_size(key)?.ok_or_else(missing)
    }

    fn optional_size(&self, key: &str) -> Result<Option<usize>, ModelsError> {
        let size = match self.gguf.value(&self.name(key)) {
            None => return Ok(None),
            Some(&GgufValue::Integer(size)) => Some(size),
            Some(_) => None,
        };
        match size {
            Some(size @ 1..=0x8000_0000) => Ok(Some(size as usize)),
            _ => {
                Err(self.gguf.error(format!("has a {} that is not a number from 1 to 2^31", self.name(key))))
            }
        }
    }

    fn number(&self, key: &str) -> Result<Option<f64>, ModelsError> {
        match self.gguf.value(&self.name(key)) {
            None => Ok(None),
            Some(&GgufValue::Float(number)) => Ok(Some(number)),
            Some(other) => {
                Err(self.gguf.error(format!("has {} {other:?}, a number is needed", self.name(key))))
            }
        }
    }

    fn scopes(&self, architecture: Architecture) -> Result<LayerScopes, ModelsError> {
        let base = self.number("rope.freq_base")?.unwrap_or(10_000.0);
        let all = Scope { span: Span::All, rope: Rope { base, divisor: self.rope_divisor()? } };
        Ok(match architecture {
            Architecture::Llama | Architecture::Qwen2 => LayerScopes::Same(all),
            Architecture::Gemma3 => {
                let span = Span::Window(self.size("attention.sliding_window")?);
                // Only the layers that attend to all tokens scale positions.
                let base = self.number("rope.freq_base_swa")?.unwrap_or(10_000.0);
                let window = Scope { span, rope: Rope { base, divisor: 1.0 } };
                let period = self.optional_size("attention.sliding_window_pattern")?.unwrap_or(6);
                LayerScopes::Periodic { period, others: window, every_nth: all }
            }
        })
    }

    fn rope_divisor(&self) -> Result<f64, ModelsError> {
        let kind = match self.gguf.value(&self.name("rope.scaling.type")) {
            Some(GgufValue::Text(kind)) => kind.as_str(),
            _ => "none",
        };
        match kind {
            "none" => Ok(1.0),
            "linear" => Ok(self.number("rope.scaling.factor")?.unwrap_or(1.0)),
            _ => Err(self.gguf.error(format!("scales positions by {kind:?}, none and linear can be run"))),
        }
    }
}
