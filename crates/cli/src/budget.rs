//! The limit on tokens as a guarantee: a text that is complete within it.
//!
//! What counts is what the model writes: forced tokens too (the matcher gives none that do not fit), the
//! tokens that write the end of a healed prompt again, and the end-of-sequence token. The model's context is
//! a limit as well.
//!
//! The tokens of a healed prompt's end are the model's choice, and the matcher does not see them; they are at
//! most as many as its bytes. So the matcher gets what these leave, and where that is too little for the
//! shortest text, the prompt is not healed.
//!
//! Rejected: counting the healed tokens as they come. The minimum would then be over tokens that begin in the
//! prompt, for the sake of a few tokens at the tightest limits.

use std::sync::Arc;

use anyhow::bail;
use maskwright::{CompiledGrammar, Matcher, MatcherConfig};

use crate::prompt::Prompt;

/// What the text may take.
pub(crate) struct TokenLimits {
    /// The user's limit.
    pub(crate) max_tokens: usize,
    /// The most tokens of prompt and text together.
    pub(crate) context_length: usize,
}

/// A text that is about to be written.
pub(crate) struct Start {
    pub(crate) prompt: Prompt,
    pub(crate) matcher: Matcher,
    /// What the user should know about the limit.
    pub(crate) remark: Option<&'static str>,
}

/// A matcher whose text is complete within the limits, and the prompt that it follows: not healed where there
/// is no room for it.
///
/// # Errors
/// If the limits are too small for the grammar; the message says how many tokens are enough.
pub(crate) fn start(
    grammar: &Arc<CompiledGrammar>,
    limits: &TokenLimits,
    prompt: Prompt,
) -> anyhow::Result<Start> {
    let needed = grammar.matcher().tokens_to_finish()?.n_tokens;
    let limit_after = |n_prompt| limits.max_tokens.min(limits.context_length.saturating_sub(n_prompt));
    let limit = limit_after(prompt.ids.len()).saturating_sub(prompt.healed.len());
    if limit >= needed {
        let matcher = grammar.matcher_with(&MatcherConfig::with_max_tokens(limit))?;
        return Ok(Start { prompt, matcher, remark: None });
    }
    let remark = (!prompt.healed.is_empty())
        .then_some("the limit on tokens leaves no room to heal the end of the prompt");
    let prompt = Prompt::unhealed(prompt.whole);
    let limit = limit_after(prompt.ids.len());
    if limit < needed && limits.max_tokens >= needed {
        let (n_prompt, context_length) = (prompt.ids.len(), limits.context_length);
        bail!(
            "the model's context of {context_length} tokens after the prompt's {n_prompt} is too small for the \
             grammar: {needed} are enough"
        );
    }
    let matcher = grammar.matcher_with(&MatcherConfig::with_max_tokens(limit))?;
    Ok(Start { prompt, matcher, remark })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
    use maskwright_decode::{
        FinishReason, GenerateConfig, GrammarConstraint, PrefixConstraint, RandomModel, generate,
    };

    use super::*;

    const LISTS: &str = r#"root ::= "[" (item ("," item)*)? "]"
item ::= root | "\"" [ab]* "\"" | "1""#;

    fn tokenizer() -> Tokenizer {
        let tokens = [
            "</s>", "[", "]", ",", "\"", "a", "b", "1", "x", "\",", "\"]", "[[", "],", "ab", "x[", "xx[\"",
            "1,",
        ];
        Tokenizer::from_tokens(tokens.map(|token| token.as_bytes().to_vec()).to_vec(), &[TokenId(0)]).unwrap()
    }

    #[test]
    fn every_text_of_random_logits_is_complete_within_the_limit() {
        let tokenizer = tokenizer();
        let grammar = Compiler::new(&tokenizer)
            .compile(&GrammarSource::gbnf(LISTS), &CompileOptions::default())
            .unwrap();
        for seed in 0..600 {
            let max_tokens = 3 + (seed as usize % 9);
            let limits = TokenLimits { max_tokens, context_length: 12 };
            let healed = [&b""[..], b"x", b"xx", b"xxx"][seed as usize / 3 % 4];
            let prompt = Prompt {
                ids: vec![TokenId(8)],
                healed: healed.to_vec(),
                whole: vec![TokenId(8); 1 + healed.len()],
            };
            let Start { prompt, matcher, remark } = start(&grammar, &limits, prompt).unwrap();
            assert_eq!(remark.is_none(), healed.is_empty() || max_tokens >= 3 + healed.len());
            assert_eq!(prompt.healed, if remark.is_none() { healed } else { b"" });
            let inner = GrammarConstraint::new(matcher, &tokenizer);
            let vocabulary = &**tokenizer.vocabulary();
            let mut constraint = PrefixConstraint::new(inner, prompt.healed.clone(), vocabulary);
            let jump_forward = seed % 2 == 0;
            let config = GenerateConfig {
                max_tokens,
                eos_ids: vec![TokenId(0)],
                jump_forward,
                ..GenerateConfig::default()
            };
            let mut model = RandomModel::new(tokenizer.n_vocab(), limits.context_length, seed);
            let on_token = &mut |_: &_| ControlFlow::Continue(());
            let written =
                generate(&mut model, Some(&mut constraint), &prompt.ids, &config, on_token).unwrap();
            assert_eq!(written.finish_reason, FinishReason::Eos, "seed {seed}");
            assert!(written.steps.len() <= max_tokens);
            let text = tokenizer.decode(&written.tokens);
            let mut judge = grammar.matcher();
            let text = text.strip_prefix(&*prompt.healed).unwrap();
            assert!(judge.accept_bytes(text).unwrap() && judge.is_accepting());
        }
    }

    #[test]
    fn a_limit_below_the_minimum_says_the_minimum() {
        let tokenizer = tokenizer();
        let grammar = Compiler::new(&tokenizer)
            .compile(&GrammarSource::gbnf(LISTS), &CompileOptions::default())
            .unwrap();
        let error = |max_tokens, context_length, n_prompt| {
            let limits = TokenLimits { max_tokens, context_length };
            start(&grammar, &limits, Prompt::unhealed(vec![TokenId(8); n_prompt])).err().unwrap().to_string()
        };
        assert!(error(2, 100, 1).contains("2 tokens are too few for the grammar: 3 are enough"));
        let message = error(100, 12, 10);
        assert!(
            message.contains("context of 12 tokens after the prompt's 10")
                && message.contains("3 are enough")
        );
        let limits = TokenLimits { max_tokens: 3, context_length: 12 };
        let healed = Prompt { ids: vec![TokenId(8)], healed: b"x".to_vec(), whole: vec![TokenId(8); 2] };
        let Start { prompt, matcher, .. } = start(&grammar, &limits, healed).unwrap();
        assert_eq!(
            (prompt.ids, prompt.healed.len(), matcher.max_tokens()),
            (vec![TokenId(8); 2], 0, Some(3))
        );
    }
}
