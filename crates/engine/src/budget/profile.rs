//! The profile of a configuration: its allowed tokens by the least number of tokens that complete the text after each.
//!
//! The masks of all limits are read from it: with N tokens left, those tokens are allowed whose number is below N. If after
//! `[1` the profile is `]`: 1, `1`: 2, `,`: 3, then with 3 tokens left `]` and `1` are allowed (without a token `1]`, which would do
//! two things at once).

use maskwright_vocabulary::TokenId;

use crate::ground::{MaskBuilder, MaskForm, NEVER};

/// Allowed tokens by what completing the text after them takes; ascending, disjoint or not.
#[derive(Default, Debug)]
pub(crate) struct Profile {
    groups: Vec<(u32, MaskForm)>,
}

impl Profile {
    /// The profile of groups that are ascending.
    pub(crate) fn new(groups: Vec<(u32, MaskForm)>) -> Profile {
        Profile { groups }
    }

    /// The number of tokens that completes the text whichever allowed token comes next; `None` if some cannot be
    /// completed.
    pub(crate) fn most(&self) -> Option<u32> {
        self.groups.last().map_or(Some(0), |&(cost, _)| (cost != NEVER).then_some(cost))
    }

    /// The same of those tokens after which the text can be completed; 0 if there are none.
    pub(crate) fn most_of_completed(&self) -> u32 {
        self.groups.iter().rev().map(|&(cost, _)| cost).find(|&cost| cost != NEVER).unwrap_or(0)
    }

    /// The number of tokens that completes the text after the best of the allowed tokens.
    pub(crate) fn least(&self) -> Option<u32> {
        self.groups.first().map(|&(cost, _)| cost)
    }

    /// The tokens after which fewer than `n_left` tokens complete the text.
    pub(crate) fn mask(&self, n_left: u32, n_words: usize) -> MaskForm {
        let mut mask = MaskBuilder::new(n_words);
        for (_, group) in self.groups.iter().take_while(|&&(cost, _)| cost < n_left) {
            mask.union(group);
        }
        mask.finish()
    }

    /// The same, those first that leave the most over; at most `most` of them.
    pub(crate) fn tokens_within(&self, n_left: u32, most: usize) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        for (_, group) in self.groups.iter().take_while(|&&(cost, _)| cost < n_left) {
            tokens.extend(group.first_tokens(most - tokens.len()));
            if tokens.len() == most {
                break;
            }
        }
        tokens
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.groups.iter().map(|(_, mask)| mask.memory_usage() + 24).sum::<usize>() + 64
    }
}
