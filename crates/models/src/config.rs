//! The shape of a network, from a GGUF file's metadata: read, checked, and never trusted beyond it.

use maskwright_vocabulary::gguf::GgufValue;

use crate::{error::ModelsError, gguf::GgufFile};

/// The networks that can be run, with what tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// Llama and all that is stored like it (Mistral, SmolLM2): rotates neighbouring pairs of a head.
    Llama,
    /// Qwen 2 and 2.5: biases on query, key and value; rotates the halves of a head.
    Qwen2,
}

impl Architecture {
    const ALL: [Architecture; 2] = [Architecture::Llama, Architecture::Qwen2];

    /// Its name in GGUF, which also begins its metadata keys.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
            Architecture::Qwen2 => "qwen2",
        }
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
    pub(crate) rope_base: f64,
    /// Positions are divided by it (linear scaling).
    pub(crate) rope_divisor: f64,
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
        let config = NetworkConfig {
            architecture,
            n_layers: keys.size("block_count")?,
            n_embedding,
            n_feed_forward: keys.size("feed_forward_length")?,
            n_heads,
            n_kv_heads,
            head_size,
            context_length: keys.size("context_length")?,
            norm_epsilon: keys.number("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-5) as f32,
            rope_base: keys.number("rope.freq_base")?.unwrap_or(10_000.0),
            rope_divisor: keys.rope_divisor()?,
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
        let positive = |number: f64| number > 0.0 && number.is_finite();
        if !(positive(f64::from(self.norm_epsilon))
            && positive(self.rope_base)
            && positive(self.rope_divisor))
        {
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
        let known = Architecture::ALL.map(Architecture::name).join(" and ");
        gguf.error(format!("is a network of architecture {given:?}, {known} can be run"))
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
