//! Forced text: what must come next, whatever the model thinks (jump-forward decoding).

use maskwright_vocabulary::{TokenId, Trie, Vocabulary};

use super::shown::unless_out_of_work;
use crate::ground::{TextPart, text_parts, written};
use crate::{EngineError, Error, ErrorKind, Matcher};

/// A part of what is forced.
enum Forced {
    Text(Vec<u8>),
    /// A token that the grammar names.
    Token(TokenId),
}

/// The longest run of forced bytes that is looked for at once.
const MAX_FORCED: usize = 1 << 16;

impl Matcher {
    /// The longest run of bytes that every completion begins with, up to 64 KiB. A token that the grammar
    /// names by its id is in it as the tokenizer writes it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn forced_bytes(&self) -> Result<Vec<u8>, Error> {
        let vocabulary = self.grammar().vocabulary();
        let mut bytes = Vec::new();
        for part in self.forced()? {
            match part {
                Forced::Text(text) => bytes.extend(text),
                Forced::Token(token) => bytes.extend_from_slice(&written(vocabulary, token)),
            }
        }
        Ok(bytes)
    }

    /// What every completion begins with.
    fn forced(&self) -> Result<Vec<Forced>, EngineError> {
        let mut forced = Vec::new();
        if self.is_terminated() {
            return Ok(Vec::new());
        }
        let mut config = self.state.config;
        // What was read before the work was spent is forced all the same.
        let read = self.call_meter().run(|| {
            self.ask(|machine| {
                while forced.len() < MAX_FORCED && !machine.reader.is_accepting(config) {
                    let Some(byte) = machine.reader.next_bytes(config)?.as_singleton() else { break };
                    let Some(next) = machine.reader.step(config, byte)? else { break };
                    forced.push(byte);
                    config = next;
                }
                Ok(())
            })
        });
        unless_out_of_work(read)?;
        Ok(self.parts(&forced))
    }

    /// The parts of a text of the engine, up to the first symbol that stands for several tokens.
    fn parts(&self, text: &[u8]) -> Vec<Forced> {
        let named = self.grammar().named();
        let parts = text_parts(text).map_while(|part| match part {
            TextPart::Text(text) => Some(Forced::Text(text.to_vec())),
            TextPart::Symbol(symbol) => named?.only(symbol).map(Forced::Token),
        });
        parts.collect()
    }

    /// Tokens that may be taken without asking the model: the tokenizer's own segmentation of the
    /// [forced bytes](Matcher::forced_bytes), cut before the first place where text to come could be part
    /// of a token that began earlier. `encode` segments bytes; its result must spell them.
    ///
    /// If nothing but an end-of-sequence token may come, that is the one forced token (the least id, if
    /// there are several).
    ///
    /// With a limit on the work of a mask, none where that does not suffice.
    ///
    /// # Errors
    /// If another limit is reached.
    pub fn forced_tokens(&self, encode: impl Fn(&[u8]) -> Vec<TokenId>) -> Result<Vec<TokenId>, Error> {
        match self.call_meter().run(|| self.all_forced_tokens(encode)) {
            Err(error) if self.mask_work.is_some() && error.kind() == ErrorKind::Limit => Ok(Vec::new()),
            tokens => tokens,
        }
    }

    fn all_forced_tokens(&self, encode: impl Fn(&[u8]) -> Vec<TokenId>) -> Result<Vec<TokenId>, Error> {
        let vocabulary = self.grammar().vocabulary().clone();
        let forced = self.forced()?;
        if forced.is_empty() {
            let config = self.state.config;
            let ends = self.grammar().named().and_then(|named| named.ends());
            let is_end = !self.is_terminated()
                && self.ask(|machine| {
                    let is_over = match ends {
                        None => machine.reader.next_bytes(config)?.is_empty(),
                        Some(ends) => machine.reader.reads_only_ends(ends, config)?,
                    };
                    Ok(machine.reader.is_accepting(config) && is_over)
                })?;
            let eos = if is_end { self.end_tokens(config)?.first().copied() } else { None };
            return Ok(eos.into_iter().collect());
        }
        let mut tokens = Vec::new();
        let mut after = self.fork();
        for (index, part) in forced.iter().enumerate() {
            let text = match part {
                Forced::Token(token) => {
                    tokens.push(*token);
                    after.accept_token(*token)?;
                    continue;
                }
                Forced::Text(text) => text,
            };
            // No token reaches beyond the end of the text, and none into a token that is named by its id.
            let is_last = index + 1 == forced.len()
                && !(after.accept_bytes(text)?
                    && after.ask(|machine| Ok(machine.reader.next_bytes(after.state.config)?.is_empty()))?);
            let n_stable = if is_last { stable_prefix(&vocabulary, text) } else { text.len() };
            let mut position = 0;
            for token in encode(text) {
                let Some(bytes) = vocabulary.token_bytes(token) else { break };
                if !text[position..].starts_with(bytes) || position + bytes.len() > n_stable {
                    break;
                }
                position += bytes.len();
                tokens.push(token);
            }
            if position < text.len() {
                break;
            }
            if index + 1 < forced.len() {
                after.accept_bytes(text)?;
            }
        }
        if self.counts_tokens() {
            // The tokenizer's segmentation may take more tokens than are left.
            tokens.truncate(self.validate_tokens(&tokens)?);
        }
        Ok(tokens)
    }
}

/// The length of the longest prefix of `text` that no token reaches beyond the end of `text` from: from no
/// place before it is the rest of `text` a proper prefix of a token.
fn stable_prefix(vocabulary: &Vocabulary, text: &[u8]) -> usize {
    let trie = vocabulary.trie();
    let first = text.len().saturating_sub(vocabulary.max_token_bytes());
    (first..text.len())
        .find(|&position| {
            let node = text[position..].iter().try_fold(Trie::ROOT, |node, &byte| trie.child(node, byte));
            node.is_some_and(|node| trie.n_children(node) > 0)
        })
        .unwrap_or(text.len())
}
