//! A text read by a matcher in every way there is, which must agree.

use std::sync::Arc;

use anyhow::Context;
use maskwright::{CompiledGrammar, Compiler, Error, Mask, Matcher, TokenId, Tokenizer};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::judge::Verdict;
use crate::table::shortened;

/// Tokens drawn at each place and tried, of those that are allowed, and of those that are not.
const N_TRIED: usize = 3;
/// The most tokens of a completion.
const MAX_COMPLETION: usize = 4096;

/// A compiled grammar and the tokenizer of its vocabulary.
pub(super) struct Reader {
    grammar: Arc<CompiledGrammar>,
    tokenizer: Tokenizer,
}

/// What came of reading a text.
pub(super) struct Read {
    pub(super) verdict: Verdict,
    /// How many of its bytes some text of the language begins with.
    pub(super) n_bytes: usize,
    pub(super) n_tokens: usize,
}

impl Reader {
    pub(super) fn new(grammar: Arc<CompiledGrammar>, compiler: &Compiler) -> Reader {
        Reader { grammar, tokenizer: compiler.tokenizer().clone() }
    }

    /// The tokens of `text`.
    pub(super) fn tokens(&self, text: &str) -> anyhow::Result<Vec<&[u8]>> {
        let ids = self.tokenizer.encode_bytes(text.as_bytes())?;
        ids.into_iter().map(|id| self.tokenizer.token_bytes(id).context("a token has bytes")).collect()
    }

    /// Reads `text` byte by byte and token by token; what is not as it should be is added to `failures`.
    pub(super) fn read(
        &self,
        text: &str,
        rng: &mut ChaCha8Rng,
        failures: &mut Vec<String>,
    ) -> anyhow::Result<Read> {
        let (verdict, n_bytes) = self.by_bytes(text);
        let ids = self.tokenizer.encode_bytes(text.as_bytes())?;
        let (by_tokens, n_tokens) = self.by_tokens(&ids, rng, failures);
        if verdict.is_accepting() != by_tokens.is_accepting() {
            failures.push(format!("{verdict:?} by bytes, {by_tokens:?} by tokens"));
        }
        Ok(Read { verdict, n_bytes, n_tokens })
    }

    fn by_bytes(&self, text: &str) -> (Verdict, usize) {
        let mut matcher = Matcher::new(&self.grammar);
        for (at, byte) in text.bytes().enumerate() {
            match matcher.accept_bytes(&[byte]) {
                Ok(true) => {}
                Ok(false) => return (Verdict::Refuses(format!("byte {at} of {}", text.len())), at),
                Err(error) => return (Verdict::GivesUp(format!("byte {at}: {error}")), at),
            }
        }
        let verdict =
            if matcher.is_accepting() { Verdict::Accepts } else { Verdict::Refuses("incomplete".to_owned()) };
        (verdict, text.len())
    }

    /// With the masks at each token of those that are read.
    fn by_tokens(
        &self,
        ids: &[TokenId],
        rng: &mut ChaCha8Rng,
        failures: &mut Vec<String>,
    ) -> (Verdict, usize) {
        let mut matcher = Matcher::new(&self.grammar);
        for (at, id) in ids.iter().copied().enumerate() {
            let read = self.try_mask(&mut matcher, rng, failures).and_then(|mask| {
                let is_accepted = matcher.accept_token(id)?;
                if mask.contains(id) != is_accepted {
                    failures.push(format!("token {at}: its mask and whether it is accepted differ"));
                }
                Ok(is_accepted)
            });
            match read {
                Ok(true) => {}
                Ok(false) => return (Verdict::Refuses(format!("token {at} of {}", ids.len())), at + 1),
                Err(error) => return (Verdict::GivesUp(format!("token {at}: {error}")), at + 1),
            }
        }
        let verdict = match self.try_mask(&mut matcher, rng, failures) {
            Err(error) => Verdict::GivesUp(format!("at its end: {error}")),
            Ok(_) if matcher.is_accepting() => Verdict::Accepts,
            Ok(_) => Verdict::Refuses("incomplete".to_owned()),
        };
        (verdict, ids.len() + 1)
    }

    /// The mask, some tokens of which are tried.
    fn try_mask(
        &self,
        matcher: &mut Matcher,
        rng: &mut ChaCha8Rng,
        failures: &mut Vec<String>,
    ) -> Result<Mask, Error> {
        let mask = matcher.mask()?;
        let is_end = |id: TokenId| self.tokenizer.eos_token_ids().contains(&id);
        if mask.is_empty() {
            failures.push(format!("step {}: no token is allowed", matcher.n_steps()));
        }
        if self.tokenizer.eos_token_ids().iter().any(|&id| mask.contains(id) != matcher.is_accepting()) {
            failures.push(format!("step {}: the mask is wrong about the end", matcher.n_steps()));
        }
        let n_vocab = self.tokenizer.n_vocab() as u32;
        for is_allowed in [true, false] {
            // The next one behind a random place that is, or is not.
            for _ in 0..N_TRIED {
                let begin = rng.random_range(0..n_vocab);
                let tried = (0..n_vocab).map(|offset| TokenId((begin + offset) % n_vocab));
                let Some(id) = tried.filter(|&id| !is_end(id)).find(|&id| mask.contains(id) == is_allowed)
                else {
                    break;
                };
                let said = match matcher.validate_tokens(&[id]) {
                    Ok(n_valid) if (n_valid == 1) == is_allowed => continue,
                    Ok(_) => "the opposite".to_owned(),
                    Err(error) => error.to_string(),
                };
                let token = self.tokenizer.token_bytes(id).unwrap_or_default().escape_ascii();
                let mask = if is_allowed { "allows" } else { "forbids" };
                failures.push(format!(
                    "step {}: the mask {mask} \"{token}\", accepting says {said}",
                    matcher.n_steps()
                ));
            }
        }
        Ok(mask)
    }

    /// What was read of a refused text, with the shortest completion of it; `None` if there is nothing to
    /// complete.
    pub(super) fn completed(
        &self,
        text: &str,
        read: &Read,
        failures: &mut Vec<String>,
    ) -> anyhow::Result<Option<String>> {
        if !matches!(read.verdict, Verdict::Refuses(_)) {
            return Ok(None);
        }
        let mut matcher = Matcher::new(&self.grammar);
        let prefix = &text.as_bytes()[..read.n_bytes];
        if !matcher.accept_bytes(prefix)? {
            failures.push(format!("{} bytes are read one by one, and not at once", read.n_bytes));
            return Ok(None);
        }
        let tokens = match matcher.finish() {
            Ok(tokens) => tokens,
            Err(error) if error.is_limit() => return Ok(None),
            Err(error) => {
                failures.push(format!("no completion after {} bytes: {error}", read.n_bytes));
                return Ok(None);
            }
        };
        if tokens.len() > MAX_COMPLETION {
            return Ok(None);
        }
        let mut whole = prefix.to_vec();
        for token in tokens {
            if !self.tokenizer.eos_token_ids().contains(&token) {
                whole.extend_from_slice(self.tokenizer.token_bytes(token).unwrap_or_default());
            }
        }
        match String::from_utf8(whole) {
            Ok(whole) => Ok(Some(whole)),
            Err(error) => {
                let whole = error.as_bytes().escape_ascii().to_string();
                failures.push(format!("the completion is not UTF-8: {:?}", shortened(&whole, 400)));
                Ok(None)
            }
        }
    }
}
