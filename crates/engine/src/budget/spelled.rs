//! The fewest tokens that spell a text, symbols included.

use maskwright_automata::meter;
use maskwright_vocabulary::{TokenId, Trie};

use crate::EngineError;
use crate::ground::{NEVER, plus};

/// Units of work that a node of the token trie takes.
const UNITS_PER_NODE: u64 = 1;

/// From each place of a text, the fewest tokens that spell the rest of it, and where the longest one that
/// begins them ends. Symbols are tokens here.
fn numbers(trie: &Trie, text: &[u8]) -> Result<Vec<(u32, usize)>, EngineError> {
    let mut numbers = vec![(NEVER, 0); text.len() + 1];
    numbers[text.len()].0 = 0;
    for start in (0..text.len()).rev() {
        let mut node = Trie::ROOT;
        for (at, &byte) in text.iter().enumerate().skip(start) {
            let Some(child) = trie.child(node, byte) else { break };
            node = child;
            meter::spend(UNITS_PER_NODE)?;
            let n_tokens = plus(numbers[at + 1].0, 1);
            if !trie.tokens(node).is_empty() && n_tokens <= numbers[start].0 {
                numbers[start] = (n_tokens, at + 1);
            }
        }
    }
    Ok(numbers)
}

/// The fewest tokens that spell a word by itself; [`NEVER`] if none do.
///
/// # Errors
/// If the call is out of work.
pub(super) fn fewest_alone(trie: &Trie, word: &[u8]) -> Result<u32, EngineError> {
    Ok(numbers(trie, word)?[0].0)
}

/// The fewest tokens that spell a text, the longest first where there are several ways; `None` if none do.
///
/// # Errors
/// If the call is out of work.
pub(crate) fn spelled(trie: &Trie, text: &[u8]) -> Result<Option<Vec<TokenId>>, EngineError> {
    let numbers = numbers(trie, text)?;
    if numbers[0].0 == NEVER {
        return Ok(None);
    }
    let (mut tokens, mut start) = (Vec::with_capacity(numbers[0].0 as usize), 0);
    while start < text.len() {
        let end = numbers[start].1;
        let node = text[start..end].iter().try_fold(Trie::ROOT, |node, &byte| trie.child(node, byte));
        let Some(&token) = node.and_then(|node| trie.tokens(node).first()) else { return Ok(None) };
        tokens.push(token);
        start = end;
    }
    Ok(Some(tokens))
}
