//! The engine's session as a [`Constraint`].
//!
//! The one place where decoding meets the engine: a [`Matcher`] makes the masks, a [`Tokenizer`] cuts forced
//! text into the tokens that the model expects. All costs are the engine's.

use maskwright_engine::{Error, Matcher};
use maskwright_vocabulary::{TokenId, Tokenizer, Vocabulary, mask_words};

use crate::constraint::{Constraint, ConstraintError};
use crate::healing::TokenText;

/// A text held to a grammar.
///
/// # Examples
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_decode::{Constraint, GrammarConstraint};
/// use maskwright_engine::{Compiler, Matcher};
/// use maskwright_grammar::Grammar;
/// use maskwright_vocabulary::{TokenId, Tokenizer};
/// let tokens = ["yes", "no", "</s>"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)]).unwrap();
/// let compiler = Compiler::new(tokenizer.vocabulary().clone(), Default::default());
/// let grammar = Grammar::from_regex(Regex::words([*b"no"]));
/// let compiled = compiler.compile(grammar, &Fuel::new(1_000)).unwrap();
/// let mut constraint = GrammarConstraint::new(Matcher::new(&compiled), &tokenizer);
/// assert_eq!(constraint.forced_tokens().unwrap(), [TokenId(1)]);
/// assert!(!constraint.accept_token(TokenId(0)).unwrap());
/// assert!(constraint.accept_token(TokenId(1)).unwrap());
/// assert!(constraint.is_accepting());
/// ```
#[derive(Clone)]
pub struct GrammarConstraint {
    matcher: Matcher,
    tokenizer: Tokenizer,
}

impl GrammarConstraint {
    /// Goes on where `matcher` stands; `tokenizer` is the one whose vocabulary its grammar was compiled for.
    #[must_use]
    pub fn new(matcher: Matcher, tokenizer: &Tokenizer) -> Self {
        GrammarConstraint { matcher, tokenizer: tokenizer.clone() }
    }

    /// The session.
    #[must_use]
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }
}

impl std::fmt::Debug for GrammarConstraint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GrammarConstraint")
            .field("n_steps", &self.matcher.n_steps())
            .field("is_accepting", &self.matcher.is_accepting())
            .finish_non_exhaustive()
    }
}

impl From<Error> for ConstraintError {
    fn from(error: Error) -> Self {
        ConstraintError::new(error)
    }
}

impl Constraint for GrammarConstraint {
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError> {
        if self.matcher.is_terminated() {
            mask.fill(0);
            return Ok(true);
        }
        self.matcher.fill_mask(mask)?;
        // The engine speaks of its own vocabulary; wider masks have ids that it does not allow.
        let n_vocab = self.tokenizer.n_vocab();
        Ok(!self.matcher.mask_is_full() || mask.len() > mask_words(n_vocab) || !n_vocab.is_multiple_of(32))
    }

    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError> {
        Ok(self.matcher.accept_token(id)?)
    }

    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError> {
        Ok(self.matcher.rollback(n_steps)?)
    }

    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError> {
        // Text that no tokens spell is not forced; its mask is empty then, and the loop says so.
        let encode = |bytes: &[u8]| self.tokenizer.encode_bytes(bytes).unwrap_or_default();
        Ok(self.matcher.forced_tokens(encode)?)
    }

    fn accepts_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        Ok(self.matcher.fork().accept_bytes(bytes)?)
    }

    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        Ok(self.matcher.accept_bytes(bytes)?)
    }

    fn is_terminated(&self) -> bool {
        self.matcher.is_terminated()
    }

    fn is_accepting(&self) -> bool {
        self.matcher.is_accepting()
    }
}

impl TokenText for Vocabulary {
    fn n_tokens(&self) -> usize {
        self.n_vocab()
    }

    fn text(&self, id: TokenId) -> Option<&[u8]> {
        self.token_bytes(id)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use maskwright_automata::{Fuel, Regex};
    use maskwright_engine::Compiler;
    use maskwright_grammar::Grammar;

    use super::*;
    use crate::{GenerateConfig, RandomModel, SamplerConfig, generate, is_allowed};

    fn constraint(tokens: &[&str], regex: Regex) -> GrammarConstraint {
        let tokens = tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(0)]).unwrap();
        let compiler = Compiler::new(tokenizer.vocabulary().clone(), Default::default());
        let compiled = compiler.compile(Grammar::from_regex(regex), &Fuel::new(100_000)).unwrap();
        GrammarConstraint::new(Matcher::new(&compiled), &tokenizer)
    }

    #[test]
    fn a_mask_wider_than_the_vocabulary_is_cleared_beyond_it() {
        let mut constraint = constraint(&["</s>", "a", "b"], Regex::literal("ab"));
        let mut mask = [u32::MAX; 3];
        assert!(constraint.fill_mask(&mut mask).unwrap());
        assert_eq!(mask, [0b010, 0, 0]);
    }

    #[test]
    fn the_mask_allows_exactly_what_is_accepted_and_rollback_undoes_the_end() {
        let mut constraint = constraint(&["</s>", "a", "b", "ab"], Regex::words([&b"ab"[..], b"abab"]));
        let mut n_steps = 0;
        while !constraint.is_terminated() {
            let mut mask = [0];
            constraint.fill_mask(&mut mask).unwrap();
            for id in (0..4).map(TokenId) {
                let accepted = constraint.accept_token(id).unwrap();
                assert_eq!(accepted, is_allowed(&mask, id), "{id:?} at step {n_steps}");
                if accepted {
                    constraint.rollback(1).unwrap();
                }
            }
            let best = (0..4).rev().map(TokenId).find(|&id| is_allowed(&mask, id)).unwrap();
            assert!(constraint.accept_token(best).unwrap());
            n_steps += 1;
        }
        assert_eq!(n_steps, 3, "ab, ab, end of text");
        let mut mask = [u32::MAX];
        assert!(constraint.fill_mask(&mut mask).unwrap() && mask == [0], "nothing follows the end");
        constraint.rollback(3).unwrap();
        assert!(!constraint.is_accepting() && constraint.accepts_bytes(b"aba").unwrap());
    }

    #[test]
    fn forced_text_is_not_asked_of_the_model() {
        let tokens = ["</s>", "a", "b", "c", "abc"];
        let mut constraint = constraint(&tokens, Regex::literal("abcabc"));
        let mut model = RandomModel::new(40, 64, 7);
        let config = GenerateConfig {
            eos_ids: vec![TokenId(0)],
            sampler: SamplerConfig::default(),
            ..Default::default()
        };
        let generation = generate(&mut model, Some(&mut constraint), &[TokenId(1)], &config, &mut |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!((generation.tokens, generation.eos_id), (vec![TokenId(4); 2], Some(TokenId(0))));
        assert!(generation.steps.iter().all(|step| step.forced));
    }
}
