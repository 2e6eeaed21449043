//! One of OpenAI's encodings as an encoder.

use tiktoken_rs::CoreBPE;

use super::Encoder;
use super::saved::SavedEncoder;
use crate::TokenId;

/// Above this many white-space characters in a row, the encoding is not asked: its regular expression steps
/// back over them one by one, and gives up with a panic at a million.
const MAX_WHITE_SPACE: usize = 1 << 16;

/// An encoding with its name.
pub(crate) struct Encoding {
    pub(crate) name: &'static str,
    pub(crate) model: &'static CoreBPE,
}

impl Encoder for Encoding {
    fn encode_exact(&self, text: &str) -> Option<Vec<TokenId>> {
        let mut run = 0;
        for character in text.chars() {
            run = if character.is_whitespace() { run + 1 } else { 0 };
            if run > MAX_WHITE_SPACE {
                return None;
            }
        }
        Some(self.model.encode_ordinary(text).into_iter().map(TokenId).collect())
    }

    fn save(&self) -> SavedEncoder {
        SavedEncoder::Tiktoken(self.name.to_owned())
    }
}
