//! The id of a token, and how many ids there may be.
//!
//! An id is an index in the model's logits. What a token spells, [`Vocabulary`](crate::Vocabulary) knows.

/// A token of a vocabulary: its index in the model's logits.
///
/// # Example: from a model's numbers
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::TokenId;
/// let ids: Vec<TokenId> = [15, 339, 2].map(TokenId).to_vec();
/// assert_eq!(u32::from(ids[1]), 339);
/// ```
///
/// # Example: as an index
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::TokenId;
/// let logits = [0.25, 0.5, 1.5];
/// assert_eq!(logits[TokenId(2).index()], 1.5);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TokenId(pub u32);

/// The most ids a vocabulary may have; the widest models have some 260,000.
pub const MAX_VOCABULARY: usize = 1 << 22;

impl TokenId {
    /// The id as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for TokenId {
    fn from(id: u32) -> TokenId {
        TokenId(id)
    }
}

impl From<TokenId> for u32 {
    fn from(token: TokenId) -> u32 {
        token.0
    }
}
