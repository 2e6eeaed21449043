//! What a generation is held to.

use maskwright::{CompiledGrammar, Matcher, Message, Tokenizer, Vocabulary};
use maskwright_decode::{Constraint, FinishReason, GrammarConstraint, PrefixConstraint, Unconstrained};

use crate::prompt::Prompt;

/// What holds the text: a grammar, the end of the prompt that is to be written again, both or nothing.
pub(crate) enum Held<'v> {
    Nothing,
    Prompt(PrefixConstraint<Unconstrained, &'v Vocabulary>),
    Grammar(PrefixConstraint<GrammarConstraint, &'v Vocabulary>),
}

impl<'v> Held<'v> {
    pub(crate) fn new(matcher: Option<Matcher>, prompt: &Prompt, tokenizer: &'v Tokenizer) -> Held<'v> {
        let (healed, vocabulary) = (prompt.healed.clone(), &**tokenizer.vocabulary());
        match matcher {
            Some(matcher) => {
                let inner = GrammarConstraint::new(matcher, tokenizer);
                Held::Grammar(PrefixConstraint::new(inner, healed, vocabulary))
            }
            None if healed.is_empty() => Held::Nothing,
            None => {
                let inner = Unconstrained::new(tokenizer.eos_token_ids().to_vec());
                Held::Prompt(PrefixConstraint::new(inner, healed, vocabulary))
            }
        }
    }

    pub(crate) fn constraint(&mut self) -> Option<&mut dyn Constraint> {
        match self {
            Held::Nothing => None,
            Held::Prompt(constraint) => Some(constraint),
            Held::Grammar(constraint) => Some(constraint),
        }
    }

    /// Whether the text so far may be the whole text.
    pub(crate) fn is_accepting(&self) -> bool {
        match self {
            Held::Nothing => true,
            Held::Prompt(constraint) => constraint.is_accepting(),
            Held::Grammar(constraint) => constraint.is_accepting(),
        }
    }

    /// Whether a text that ended for `reason` is complete: in the language or, without a grammar, ended by
    /// the model.
    pub(crate) fn is_complete(&self, reason: FinishReason) -> bool {
        match self {
            Held::Grammar(_) => self.is_accepting(),
            Held::Nothing | Held::Prompt(_) => reason.is_complete(),
        }
    }

    /// What the text says, if it is complete and a message that may have calls of tools.
    pub(crate) fn message(&self, grammar: Option<&CompiledGrammar>) -> Option<Message> {
        let grammar = grammar.filter(|grammar| grammar.kind() == "tool_calls")?;
        let Held::Grammar(constraint) = self else { return None };
        let matcher = constraint.inner().matcher();
        // What took too much work to find out is not said.
        let events = grammar.events().ok().filter(|_| self.is_accepting())?;
        events.of_whole(matcher).ok().map(|events| Message::of(&events))
    }

    /// What could have come next.
    pub(crate) fn expected(&self) -> anyhow::Result<Vec<String>> {
        Ok(match self {
            Held::Nothing | Held::Prompt(_) => vec!["any text".to_owned()],
            Held::Grammar(constraint) => constraint.inner().matcher().expected()?,
        })
    }
}
