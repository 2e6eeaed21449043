//! Texts in which special tokens are written by name.

use crate::{Error, Matcher, TokenId, Tokenizer};

/// A part of a text.
enum Piece<'t> {
    Text(&'t [u8]),
    Token(TokenId),
}

/// How far a text can be read.
#[derive(Debug)]
pub struct ReadText {
    /// How many bytes, from the first on, some text of the grammar begins with.
    pub n_viable: usize,
    /// Why a token was refused, if one was.
    pub refused: Option<String>,
}

/// Reads `text` with `matcher`, as far as that goes. With a tokenizer, the names of its special tokens stand
/// for the tokens.
///
/// # Errors
/// If a limit is reached, or the tokenizer has no tokens for a piece of the text.
pub fn read_text(matcher: &mut Matcher, text: &[u8], special: Option<&Tokenizer>) -> Result<ReadText, Error> {
    let mut n_viable = 0;
    for piece in split(text, special) {
        match piece {
            // By tokens, as the model would: a set of tokens matches no bytes.
            Piece::Text(piece) if let Some(tokenizer) = special => {
                for id in tokenizer.encode_bytes(piece)? {
                    let token = tokenizer.token_bytes(id).unwrap_or_default();
                    if !matcher.accept_token(id)? {
                        n_viable += matcher.validate_bytes(token)?.min(token.len().saturating_sub(1));
                        return Ok(ReadText { n_viable, refused: Some(matcher.explain(id)?) });
                    }
                    n_viable += token.len();
                }
            }
            Piece::Text(piece) => {
                let n_read = matcher.validate_bytes(piece)?;
                matcher.accept_bytes(&piece[..n_read])?;
                n_viable += n_read;
                if n_read < piece.len() {
                    return Ok(ReadText { n_viable, refused: None });
                }
            }
            Piece::Token(id) => {
                if !matcher.accept_token(id)? {
                    return Ok(ReadText { n_viable, refused: Some(matcher.explain(id)?) });
                }
                n_viable += special.and_then(|tokenizer| tokenizer.vocabulary().name(id)).map_or(0, str::len);
            }
        }
    }
    Ok(ReadText { n_viable, refused: None })
}

/// The text between special tokens, and these; the longest name at a place.
fn split<'t>(text: &'t [u8], special: Option<&Tokenizer>) -> Vec<Piece<'t>> {
    let names: Vec<(TokenId, &str)> =
        special.iter().flat_map(|tokenizer| tokenizer.special_tokens()).collect();
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        let named = names.iter().filter(|(_, name)| text[at..].starts_with(name.as_bytes()));
        match named.max_by_key(|(_, name)| name.len()) {
            Some(&(id, name)) => {
                if start < at {
                    pieces.push(Piece::Text(&text[start..at]));
                }
                pieces.push(Piece::Token(id));
                at += name.len();
                start = at;
            }
            None => at += 1,
        }
    }
    if start < text.len() {
        pieces.push(Piece::Text(&text[start..]));
    }
    pieces
}
