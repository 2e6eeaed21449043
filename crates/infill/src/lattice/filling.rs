//! What a found text puts into the unknown places of a lattice.

use maskwright_vocabulary::TokenId;

/// What a derivation puts into one unknown place. A place of any text can have several, in the order of the
/// text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Filling {
    /// The masked position has the token, or the symbol of the reader that found it.
    Token { position: usize, token: TokenId },
    /// The free piece continues with the text.
    Text { position: usize, bytes: Vec<u8> },
}
