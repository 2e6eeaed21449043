//! The tokens that may end a text, where that depends on the text: strings of the grammar spell some of them.

use maskwright_vocabulary::{TokenId, symbol_text};

use crate::EngineError;
use crate::ground::Ends;
use crate::parser::ConfigId;
use crate::reader::Reader;

/// The tokens that may end a text at `config`, where it may end, ascending.
pub(crate) fn ends_at(
    reader: &mut Reader,
    ends: &Ends,
    config: ConfigId,
) -> Result<Vec<TokenId>, EngineError> {
    let mut can_come =
        |symbol: u8| reader.step_all(config, &symbol_text(symbol)).map(|after| after.is_some());
    if can_come(ends.any)? {
        return Ok(reader.parser().shared.vocabulary.eos_token_ids().to_vec());
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
pub(crate) fn only_ends_at(reader: &mut Reader, ends: &Ends, config: ConfigId) -> Result<bool, EngineError> {
    let [mark, _] = symbol_text(0);
    if reader.next_bytes(config)?.iter().any(|byte| byte != mark) {
        return Ok(false);
    }
    match reader.step_all(config, &[mark])? {
        None => Ok(true),
        Some(after) => Ok(reader.next_bytes(after)?.iter().all(|symbol| symbol >= ends.any)),
    }
}
