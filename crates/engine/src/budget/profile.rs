//! The profile of a configuration: its allowed tokens by the number of tokens that complete the text after
//! each.
//!
//! The masks of all limits are read from it: with N tokens left, those tokens are allowed whose number is
//! below N. If after `[1` the profile is `]`: 1, `1`: 2, `,`: 3, then with 3 tokens left `]` and `1` are
//! allowed. (There is no token `1]` here; with one, `,` would stand at 2.)

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

    /// The number of tokens that completes the text whichever allowed token comes next; `None` if some cannot
    /// be completed.
    pub(crate) fn most(&self) -> Option<u32> {
        self.groups.last().map_or(Some(0), |&(cost, _)| (cost != NEVER).then_some(cost))
    }

    /// The tokens after which fewer than `n_left` tokens complete the text.
    pub(crate) fn tokens_within(&self, n_left: u32, n_words: usize) -> MaskForm {
        let mut mask = MaskBuilder::new(n_words);
        for (_, group) in self.groups.iter().take_while(|&&(cost, _)| cost < n_left) {
            mask.union(group);
        }
        mask.finish()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.groups.iter().map(|(_, mask)| mask.memory_usage() + 24).sum::<usize>() + 64
    }
}
