//! The mask of a lexed configuration.

use std::sync::Arc;

use maskwright_vocabulary::{TokenId, Trie, mask_words};

use super::Lexed;
use crate::EngineError;
use crate::configuration::ConfigId;
use crate::machine::Machine;
use crate::mask_form::{MaskBuilder, MaskForm};

impl Lexed {
    /// The mask of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask(
        &mut self,
        parser: &mut Machine,
        config: ConfigId,
    ) -> Result<Arc<MaskForm>, EngineError> {
        if let Some(known) = self.masks.get(&config) {
            return Ok(known.clone());
        }
        let form = Arc::new(self.compute_mask(parser, config)?);
        if parser.shared.options.use_memo {
            self.memo_bytes += form.memory_usage() + 64;
            self.masks.insert(config, form.clone());
        }
        Ok(form)
    }

    fn compute_mask(&mut self, parser: &mut Machine, config: ConfigId) -> Result<MaskForm, EngineError> {
        let vocabulary = parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(mask_words(vocabulary.n_vocab()));
        if self.configs.is_accepting(config) {
            let eos: Vec<TokenId> = vocabulary.eos_token_ids().iter().map(|&id| TokenId(id)).collect();
            mask.insert_all(&eos);
        }
        let trie = vocabulary.trie();
        let mut stack = vec![(Trie::ROOT, config)];
        while let Some((node, config)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                if let Some(next) = self.step(parser, config, byte)? {
                    mask.insert_all(trie.tokens(child));
                    if trie.n_children(child) > 0 {
                        stack.push((child, next));
                    }
                }
            }
        }
        Ok(mask.finish())
    }
}
