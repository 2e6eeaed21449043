//! The tokens that may end a text, where that depends on the text: strings of the grammar spell some of them.

use maskwright_vocabulary::{TokenId, symbol_text};

use super::Reader;
use crate::EngineError;
use crate::ground::Ends;
use crate::parser::ConfigId;

impl Reader {
    /// The tokens that may end a text at `config`, where it may end, ascending.
    pub(crate) fn ends(&mut self, ends: &Ends, config: ConfigId) -> Result<Vec<TokenId>, EngineError> {
        let mut can_come =
            |symbol: u8| self.step_all(config, &symbol_text(symbol)).map(|after| after.is_some());
        if can_come(ends.any)? {
            return Ok(self.parser().shared.vocabulary.eos_token_ids().to_vec());
        }
        let mut found = Vec::new();
        for (tokens, symbol) in &ends.spelled {
            if can_come(*symbol)? {
                found.extend(tokens);
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Whether only an end can come at `config`.
    pub(crate) fn reads_only_ends(&mut self, ends: &Ends, config: ConfigId) -> Result<bool, EngineError> {
        let [mark, _] = symbol_text(0);
        if self.next_bytes(config)?.iter().any(|byte| byte != mark) {
            return Ok(false);
        }
        match self.step_all(config, &[mark])? {
            None => Ok(true),
            Some(after) => Ok(self.next_bytes(after)?.iter().all(|symbol| symbol >= ends.any)),
        }
    }
}
