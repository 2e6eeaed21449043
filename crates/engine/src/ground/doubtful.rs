//! The tokens that a watch doubts: those after which a text of a grammar with a watch may have no completion.
//!
//! Found once for each vocabulary and family of watches, by a look at every token.

use maskwright_grammar::{Doubt, Watch};
use maskwright_vocabulary::{TokenId, Vocabulary};

/// The tokens of a vocabulary that a watch [doubts](maskwright_grammar::Watch::doubt), whatever was there or
/// where it keeps something.
#[derive(Default)]
pub(crate) struct DoubtfulTokens {
    doubted: ByDoubt,
    beginning: ByDoubt,
}

/// Tokens that matter whatever was there, and those that do where something is kept.
#[derive(Default)]
struct ByDoubt {
    always: Vec<TokenId>,
    kept: Vec<TokenId>,
}

impl ByDoubt {
    fn add(&mut self, token: TokenId, doubt: Doubt) {
        match doubt {
            Doubt::Never => {}
            Doubt::Kept => self.kept.push(token),
            Doubt::Always => self.always.push(token),
        }
    }

    fn tokens(&self, is_idle: bool) -> impl Iterator<Item = &TokenId> {
        let kept = if is_idle { &[][..] } else { &self.kept };
        self.always.iter().chain(kept)
    }
}

impl DoubtfulTokens {
    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let lists = [&self.doubted, &self.beginning].map(|by| by.always.capacity() + by.kept.capacity());
        lists.iter().sum::<usize>() * size_of::<TokenId>() + size_of::<DoubtfulTokens>()
    }

    /// Takes time in the vocabulary.
    pub(crate) fn of(watch: &dyn Watch, vocabulary: &Vocabulary) -> DoubtfulTokens {
        let mut doubtful = DoubtfulTokens::default();
        for id in 0..vocabulary.n_vocab() as u32 {
            let Some(bytes) = vocabulary.text(TokenId(id)) else { continue };
            doubtful.doubted.add(TokenId(id), watch.doubt(bytes));
            doubtful.beginning.add(TokenId(id), watch.begins(bytes));
        }
        doubtful
    }

    /// Tokens after which there may be no completion.
    pub(crate) fn doubted(&self, is_idle: bool) -> impl Iterator<Item = &TokenId> {
        self.doubted.tokens(is_idle)
    }

    /// Tokens after which the text may be at risk.
    pub(crate) fn beginning(&self, is_idle: bool) -> impl Iterator<Item = &TokenId> {
        self.beginning.tokens(is_idle)
    }
}
