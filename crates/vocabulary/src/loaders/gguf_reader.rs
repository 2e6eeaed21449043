//! The key-value part of a GGUF file's header.
//!
//! The format (ggml's docs/gguf.md): magic `GGUF`, version, number of tensors, number of pairs, then the pairs,
//! each a string, a type and a value; everything little-endian. Only the values asked for are kept; the others are
//! skipped over. Every count and length is checked against what is left of the file before memory is taken.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::TokenizerError;

/// The most pairs a header may have; real ones have 20 to 60.
const MAX_PAIRS: u64 = 1 << 16;

/// The longest key or string that is kept, in bytes; chat templates have some 10 KB.
const MAX_STRING_LEN: u64 = 1 << 24;

/// The most elements of an array that is kept.
const MAX_ARRAY_LEN: u64 = 1 << 24;

/// A value of a GGUF header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GgufValue {
    /// Any of the integer types, where it is not too large.
    Integer(i64),
    /// Either of the floating-point types.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A string; GGUF says UTF-8, and invalid bytes are replaced.
    String(String),
    /// An array of strings.
    Strings(Vec<String>),
    /// An array of integers or booleans.
    Integers(Vec<i64>),
    /// An array of floating-point numbers.
    Floats(Vec<f32>),
}

/// The pairs whose key starts with `prefix`.
///
/// # Errors
/// If the file is not GGUF version 2 or 3, is truncated, or a limit is reached.
pub(crate) fn read_metadata(
    path: &Path,
    prefix: &str,
) -> Result<FxHashMap<String, GgufValue>, TokenizerError> {
    let file = File::open(path).map_err(TokenizerError::io)?;
    let n_bytes = file.metadata().map_err(TokenizerError::io)?.len();
    let mut reader = Reader { input: BufReader::with_capacity(1 << 16, file), left: n_bytes };
    if reader.bytes(4)? != b"GGUF" {
        return Err(TokenizerError::invalid("not a GGUF file: it does not begin with \"GGUF\""));
    }
    let version = reader.u32()?;
    if !(2..=3).contains(&version) {
        return Err(TokenizerError::invalid(format!("GGUF version {version}; supported are 2 and 3")));
    }
    reader.u64()?; // the number of tensors
    let n_pairs = reader.u64()?;
    if n_pairs > MAX_PAIRS {
        return Err(TokenizerError::limit(format!("the header has {n_pairs} entries"), MAX_PAIRS as usize));
    }
    let mut pairs = FxHashMap::default();
    for _ in 0..n_pairs {
        let key = reader.string()?;
        let value_type = reader.u32()?;
        let value = reader.value(value_type, key.starts_with(prefix)).map_err(|error| error.in_key(&key))?;
        if let Some(value) = value {
            pairs.insert(key, value);
        }
    }
    Ok(pairs)
}

const ARRAY: u32 = 9;
const STRING: u32 = 8;

/// The size of a value of a scalar type, in bytes.
fn scalar_size(value_type: u32) -> Option<u64> {
    match value_type {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// What went wrong inside a pair, before its key is known.
enum ReadError {
    Truncated { wanted: u64, left: u64 },
    TooLarge { what: &'static str, given: u64, limit: u64 },
    UnknownType(u32),
    Io(std::io::Error),
}

impl ReadError {
    fn in_key(self, key: &str) -> TokenizerError {
        let place = if key.is_empty() { "the header".to_owned() } else { format!("the entry {key:?}") };
        match self {
            ReadError::Truncated { wanted, left } => TokenizerError::invalid(format!(
                "{place} needs {wanted} bytes more, and the file has {left} left: it is truncated or damaged"
            )),
            ReadError::TooLarge { what, given, limit } => {
                TokenizerError::limit(format!("{place} has {given} {what}"), limit as usize)
            }
            ReadError::UnknownType(value_type) => {
                TokenizerError::invalid(format!("{place} has the type {value_type}; GGUF has 0 to 12"))
            }
            ReadError::Io(error) => TokenizerError::io(error),
        }
    }
}

impl From<ReadError> for TokenizerError {
    fn from(error: ReadError) -> TokenizerError {
        error.in_key("")
    }
}

struct Reader<R> {
    input: R,
    /// Bytes of the file not read yet.
    left: u64,
}

impl<R: Read> Reader<R> {
    /// Checks that the file has `n` bytes more, and counts them as read.
    fn take(&mut self, n: u64) -> Result<(), ReadError> {
        match self.left.checked_sub(n) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(ReadError::Truncated { wanted: n, left: self.left }),
        }
    }

    fn bytes(&mut self, n: u64) -> Result<Vec<u8>, ReadError> {
        self.take(n)?;
        let mut bytes = vec![0; n as usize];
        self.input.read_exact(&mut bytes).map_err(ReadError::Io)?;
        Ok(bytes)
    }

    fn skip(&mut self, n: u64) -> Result<(), ReadError> {
        self.take(n)?;
        let n_read =
            std::io::copy(&mut self.input.by_ref().take(n), &mut std::io::sink()).map_err(ReadError::Io)?;
        if n_read < n { Err(ReadError::Truncated { wanted: n, left: n_read }) } else { Ok(()) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        self.take(N as u64)?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(ReadError::Io)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_le_bytes)
    }

    fn string(&mut self) -> Result<String, ReadError> {
        let n = self.u64()?;
        if n > self.left {
            return Err(ReadError::Truncated { wanted: n, left: self.left });
        }
        if n > MAX_STRING_LEN {
            return Err(ReadError::TooLarge { what: "bytes in a string", given: n, limit: MAX_STRING_LEN });
        }
        let bytes = self.bytes(n)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn skip_string(&mut self) -> Result<(), ReadError> {
        let n = self.u64()?;
        self.skip(n)
    }

    /// A value; `None` where it is not to be kept.
    fn value(&mut self, value_type: u32, keep: bool) -> Result<Option<GgufValue>, ReadError> {
        match value_type {
            ARRAY => self.elements(keep),
            STRING if keep => Ok(Some(GgufValue::String(self.string()?))),
            STRING => self.skip_string().map(|()| None),
            _ => self.scalar(value_type).map(|value| Some(value).filter(|_| keep)),
        }
    }

    fn scalar(&mut self, value_type: u32) -> Result<GgufValue, ReadError> {
        let integer = match value_type {
            0 => self.array::<1>()?[0].into(),
            1 => i8::from_le_bytes(self.array()?).into(),
            2 => u16::from_le_bytes(self.array()?).into(),
            3 => i16::from_le_bytes(self.array()?).into(),
            4 => u32::from_le_bytes(self.array()?).into(),
            5 => i32::from_le_bytes(self.array()?).into(),
            6 => return Ok(GgufValue::Float(f32::from_le_bytes(self.array()?).into())),
            7 => return Ok(GgufValue::Bool(self.array::<1>()?[0] != 0)),
            10 => i64::try_from(self.u64()?).unwrap_or(i64::MAX),
            11 => i64::from_le_bytes(self.array()?),
            12 => return Ok(GgufValue::Float(f64::from_le_bytes(self.array()?))),
            _ => return Err(ReadError::UnknownType(value_type)),
        };
        Ok(GgufValue::Integer(integer))
    }

    fn elements(&mut self, keep: bool) -> Result<Option<GgufValue>, ReadError> {
        let element_type = self.u32()?;
        let n = self.u64()?;
        // A string takes at least the eight bytes of its length.
        let size = if element_type == STRING { Some(8) } else { scalar_size(element_type) };
        // Arrays of arrays are in the format, but no file in use has them.
        let size = size.ok_or(ReadError::UnknownType(element_type))?;
        let wanted = n.saturating_mul(size);
        if wanted > self.left {
            return Err(ReadError::Truncated { wanted, left: self.left });
        }
        if !keep {
            if element_type != STRING {
                return self.skip(wanted).map(|()| None);
            }
            for _ in 0..n {
                self.skip_string()?;
            }
            return Ok(None);
        }
        if n > MAX_ARRAY_LEN {
            return Err(ReadError::TooLarge { what: "elements", given: n, limit: MAX_ARRAY_LEN });
        }
        let value = match element_type {
            STRING => GgufValue::Strings((0..n).map(|_| self.string()).collect::<Result<_, _>>()?),
            6 | 12 => {
                let mut floats = Vec::with_capacity(n as usize);
                for _ in 0..n {
                    if let GgufValue::Float(value) = self.scalar(element_type)? {
                        floats.push(value as f32);
                    }
                }
                GgufValue::Floats(floats)
            }
            _ => {
                let mut integers = Vec::with_capacity(n as usize);
                for _ in 0..n {
                    match self.scalar(element_type)? {
                        GgufValue::Integer(value) => integers.push(value),
                        GgufValue::Bool(value) => integers.push(value.into()),
                        _ => return Err(ReadError::UnknownType(element_type)),
                    }
                }
                GgufValue::Integers(integers)
            }
        };
        Ok(Some(value))
    }
}
