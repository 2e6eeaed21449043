//! Forced text: what must come next, whatever the model thinks (jump-forward decoding).

use maskwright_vocabulary::{TokenId, Trie, Vocabulary};

use crate::{Error, Matcher};

/// The longest run of forced bytes that is looked for at once.
const MAX_FORCED: usize = 1 << 16;

impl Matcher {
    /// The longest run of bytes that every completion goes on with, up to 64 KiB.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn forced_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut forced = Vec::new();
        if self.is_terminated() {
            return Ok(forced);
        }
        let mut config = self.state.config;
        self.ask(|machine| {
            while forced.len() < MAX_FORCED && !machine.is_accepting(config) {
                let Some(byte) = machine.next_bytes(config)?.as_singleton() else { break };
                let Some(next) = machine.step(config, byte)? else { break };
                forced.push(byte);
                config = next;
            }
            Ok(())
        })?;
        Ok(forced)
    }

    /// Tokens that may be taken without asking the model: the tokenizer's own segmentation of the
    /// [forced bytes](Matcher::forced_bytes), cut before the first place where text to come could be part
    /// of a token that began earlier. `encode` segments bytes; its result must spell them.
    ///
    /// If nothing but an end-of-sequence token may come, that is the one forced token (the least id, if
    /// there are several).
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn forced_tokens(&self, encode: impl Fn(&[u8]) -> Vec<u32>) -> Result<Vec<TokenId>, Error> {
        let vocabulary = self.grammar().vocabulary().clone();
        let forced = self.forced_bytes()?;
        if forced.is_empty() {
            let config = self.state.config;
            let is_end = !self.is_terminated()
                && self.ask(|machine| {
                    Ok(machine.is_accepting(config) && machine.next_bytes(config)?.is_empty())
                })?;
            let eos = vocabulary.eos_token_ids().first().filter(|_| is_end);
            return Ok(eos.map(|&id| TokenId(id)).into_iter().collect());
        }
        let mut ends_text = self.fork();
        let is_end = ends_text.accept_bytes(&forced)?
            && ends_text.ask(|machine| Ok(machine.next_bytes(ends_text.state.config)?.is_empty()))?;
        let n_stable = if is_end { forced.len() } else { stable_prefix(&vocabulary, &forced) };
        let mut tokens = Vec::new();
        let mut position = 0;
        for id in encode(&forced) {
            let token = TokenId(id);
            let Some(bytes) = vocabulary.token_bytes(token) else { break };
            if !forced[position..].starts_with(bytes) || position + bytes.len() > n_stable {
                break;
            }
            position += bytes.len();
            tokens.push(token);
        }
        if self.max_tokens().is_some() {
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
