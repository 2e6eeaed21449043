//! The form of saved bytes: a name and a version, a digest of the content, and the content.
//!
//! The digest finds damage, not malice. Whatever the bytes, reading them ends in an error or a value, in
//! memory in proportion to their number; what the value says has to be checked by whoever asked for it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

const N_DIGEST: usize = 32;

/// What saved bytes begin with: seven bytes of a name and the version of the form.
pub type Magic = [u8; 8];

/// Why saved bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// They begin with another name.
    OtherKind,
    /// They are of another version.
    OtherVersion,
    /// The digest is not that of the content.
    Damaged,
    /// The content is no such value.
    Malformed,
}

impl Refused {
    /// Why, in words; `what` is what the bytes should have been, in the plural.
    pub fn reason(self, what: &str) -> String {
        match self {
            Refused::OtherKind => format!("these are no {what}"),
            Refused::OtherVersion => {
                format!("the {what} have the form of another version; save them anew with this one")
            }
            Refused::Damaged => format!("the {what} are damaged: their digest is not that of their content"),
            Refused::Malformed => format!("the {what} have parts or sizes that they cannot have"),
        }
    }
}

/// Writes a value; `None` if it has a part that cannot be written.
pub fn write(magic: &Magic, value: &impl Serialize) -> Option<Vec<u8>> {
    let content = postcard::to_allocvec(value).ok()?;
    Some([&magic[..], &Sha256::digest(&content), &content].concat())
}

/// Reads a value that [`write`] wrote.
///
/// # Errors
/// If it is not such a value.
pub fn read<T: DeserializeOwned>(magic: &Magic, bytes: &[u8]) -> Result<T, Refused> {
    let (found, rest) = bytes.split_at_checked(magic.len()).ok_or(Refused::OtherKind)?;
    if found != magic {
        let has_name = found[..magic.len() - 1] == magic[..magic.len() - 1];
        return Err(if has_name { Refused::OtherVersion } else { Refused::OtherKind });
    }
    let (digest, content) = rest.split_at_checked(N_DIGEST).ok_or(Refused::Damaged)?;
    if digest != Sha256::digest(content).as_slice() {
        return Err(Refused::Damaged);
    }
    match postcard::take_from_bytes(content) {
        Ok((value, [])) => Ok(value),
        _ => Err(Refused::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: Magic = *b"mwtests\x01";

    #[test]
    fn what_is_read_is_what_was_written_or_refused() {
        let value = (7_u32, vec!["a".to_owned(), String::new()]);
        let bytes = write(&MAGIC, &value).unwrap();
        assert_eq!(read(&MAGIC, &bytes), Ok(value));
        type Value = (u32, Vec<String>);
        assert_eq!(read::<Value>(b"mwtests\x02", &bytes), Err(Refused::OtherVersion));
        assert_eq!(read::<Value>(b"mwother\x01", &bytes), Err(Refused::OtherKind));
        assert_eq!(read::<(u32, u32, u32, u32, u32, u32)>(&MAGIC, &bytes), Err(Refused::Malformed));
        assert_eq!(read::<u32>(&MAGIC, &bytes), Err(Refused::Malformed), "something is left over");
        for cut in 0..bytes.len() {
            assert!(read::<Value>(&MAGIC, &bytes[..cut]).is_err());
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert!(read::<Value>(&MAGIC, &damaged).is_err());
        }
    }
}
