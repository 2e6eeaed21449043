//! GGUF files: metadata, and where each tensor lies.
//!
//! The format (described by the ggml project in its docs): magic, version, counts, key-value pairs, tensor
//! entries, padding, data; everything little-endian. A vocabulary is in the metadata; a model is in both
//! parts. This module knows neither: `Tokenizer::from_gguf` and the crate `maskwright-models` read what they
//! need through [`GgufFile`].
//!
//! Files are untrusted: nothing is allocated only because the file announces a size. Counts and text have
//! limits, an array is skipped and read when it is asked for, and every length is checked against the length
//! of the file.
//!
//! Rejected: candle's `gguf_file::Content`. It keeps every array as 32-byte values (a file full of bytes
//! takes 32 times its size), divides by an alignment of 0, multiplies dimensions unchecked, and rewrites
//! strings that are not UTF-8 or end in a zero byte, which would change tokens when a file is rewritten.

mod error;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub use error::GgufError;

/// The most metadata entries, and the most tensors; models have up to a hundred and some thousands.
const MAX_ENTRIES: u64 = 1 << 16;

/// The most bytes of text that are read at a time: all keys and texts of the metadata, all names of tensors,
/// or one array. A Gemma file with its `tokenizer.json` inside has 35 MB.
const MAX_TEXT: u64 = 1 << 26;

/// The most elements of an array of texts, and of one that is read.
const MAX_ARRAY_LEN: u64 = 1 << 24;

/// Arrays of arrays are legal and unused; a limit keeps the walk off the stack's end.
const MAX_ARRAY_DEPTH: usize = 8;

const MAX_ALIGNMENT: i128 = 1 << 20;

/// GGUF's number for the type of a text.
const TEXT: u32 = 8;

/// GGUF's number for the type of an array.
const ARRAY: u32 = 9;

/// A metadata value; of an array only its place in the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GgufValue {
    /// A value of any of the integer types.
    Integer(i128),
    /// A value of either floating-point type.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A text. GGUF demands UTF-8; other bytes are replaced.
    Text(String),
    /// An array: GGUF's number for the type of its elements, how many there are, and where the first one
    /// begins.
    Array {
        /// The type of the elements, 0 to 12.
        element_type: u32,
        /// Their number.
        n_elements: u64,
        /// Where they begin, in bytes from the start of the file.
        offset: u64,
    },
}

/// A tensor entry. Nothing in it has been checked against the file's length: that takes the sizes of its
/// type's blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufTensor {
    /// Its name; no other tensor of the file has it.
    pub name: String,
    /// One to four dimensions, the outermost one first.
    pub shape: Vec<u64>,
    /// ggml's number for its type.
    pub type_id: u32,
    /// Where its data begin, in bytes from the start of the file.
    pub offset: u64,
}

/// The tensor entries of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufTensors {
    /// In the order of the file.
    pub entries: Vec<GgufTensor>,
    /// Each tensor's data begin at a multiple of this power of two.
    pub alignment: u64,
}

/// An open GGUF file whose metadata has been read.
///
/// ```no_run
/// use maskwright_vocabulary::gguf::{GgufFile, GgufValue};
/// let mut file = GgufFile::open("model.gguf".as_ref())?;
/// if let Some(GgufValue::Text(name)) = file.value("general.name") {
///     println!("{name}");
/// }
/// println!("{} tensors", file.tensors()?.entries.len());
/// # Ok::<(), maskwright_vocabulary::gguf::GgufError>(())
/// ```
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    reader: BufReader<File>,
    len: u64,
    position: u64,
    /// How many more bytes of text may be read.
    text_left: u64,
    /// Each value, and where its bytes begin.
    values: HashMap<String, (GgufValue, u64)>,
    /// The bytes of all key-value pairs.
    metadata: Range<u64>,
    n_tensors: u64,
}

impl GgufFile {
    /// Opens a file and reads its metadata. Takes time linear in them, and memory for keys, numbers and
    /// texts.
    ///
    /// # Errors
    /// If it cannot be read, is no GGUF file of version 2 or 3, contradicts itself or its length, or reaches
    /// a limit.
    pub fn open(path: &Path) -> Result<GgufFile, GgufError> {
        let io = |problem| move |error| GgufError::io(path, problem, error);
        let file = File::open(path).map_err(io("cannot be opened"))?;
        let metadata = file.metadata().map_err(io("cannot be read"))?;
        if !metadata.is_file() {
            return Err(GgufError::invalid(path, "is not a file".to_owned()));
        }
        let mut gguf = GgufFile {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(1 << 16, file),
            len: metadata.len(),
            position: 0,
            text_left: MAX_TEXT,
            values: HashMap::new(),
            metadata: 0..0,
            n_tensors: 0,
        };
        gguf.read_metadata()?;
        Ok(gguf)
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file, in bytes.
    pub fn n_bytes(&self) -> u64 {
        self.len
    }

    /// The value of a key, if it is there.
    pub fn value(&self, key: &str) -> Option<&GgufValue> {
        self.values.get(key).map(|(value, _)| value)
    }

    /// Where the value of a key begins, in bytes from the start of the file; its type's four bytes come
    /// before it.
    pub fn value_offset(&self, key: &str) -> Option<u64> {
        self.values.get(key).map(|&(_, offset)| offset)
    }

    /// The number of keys, and where they and their values lie in the file.
    pub fn metadata(&self) -> (usize, Range<u64>) {
        (self.values.len(), self.metadata.clone())
    }

    /// Reads the tensor entries, which come after the metadata.
    ///
    /// # Errors
    /// As for [`open`](GgufFile::open).
    pub fn tensors(&mut self) -> Result<GgufTensors, GgufError> {
        let alignment = match self.value("general.alignment") {
            None => 32,
            Some(&GgufValue::Integer(alignment @ 1..=MAX_ALIGNMENT)) if alignment & (alignment - 1) == 0 => {
                alignment as u64
            }
            Some(other) => {
                return Err(self.error(format!("has general.alignment {other:?}, a power of two is needed")));
            }
        };
        self.seek(self.metadata.end)?;
        let mut entries = Vec::new();
        for _ in 0..self.n_tensors {
            entries.push(self.tensor_entry()?);
        }
        let start = self.position.next_multiple_of(alignment);
        for entry in &mut entries {
            entry.offset = start.checked_add(entry.offset).ok_or_else(|| {
                self.error(format!("is truncated: tensor {} begins at offset {}", entry.name, entry.offset))
            })?;
        }
        let mut names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(self.error(format!("has two tensors {}", pair[0]))),
            None => Ok(GgufTensors { entries, alignment }),
        }
    }

    /// Reads an array of texts; `None` if there is none of that name.
    ///
    /// # Errors
    /// If reading fails or a limit is reached.
    pub fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, GgufError> {
        let Some((TEXT, n)) = self.seek_array(key)? else { return Ok(None) };
        (0..n).map(|_| self.text(key)).collect::<Result<_, _>>().map(Some)
    }

    /// Reads one text of an array of texts; `None` if there is no such array or element. Takes time linear in
    /// `index`.
    ///
    /// # Errors
    /// As for [`texts`](GgufFile::texts).
    pub fn text_at(&mut self, key: &str, index: u64) -> Result<Option<String>, GgufError> {
        match self.seek_array(key)? {
            Some((TEXT, n)) if index < n => {
                for _ in 0..index {
                    self.skip_text(key)?;
                }
                self.text(key).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reads an array of integers or booleans; `None` if there is none of that name. A number
    /// beyond `i64` becomes `i64::MAX`.
    ///
    /// # Errors
    /// As for [`texts`](GgufFile::texts).
    pub fn integers(&mut self, key: &str) -> Result<Option<Vec<i64>>, GgufError> {
        self.numbers(key, |value| match value {
            GgufValue::Integer(value) => Some(i64::try_from(value).unwrap_or(i64::MAX)),
            GgufValue::Bool(value) => Some(value.into()),
            _ => None,
        })
    }

    /// Reads an array of floating-point numbers; `None` if there is none of that name.
    ///
    /// # Errors
    /// As for [`texts`](GgufFile::texts).
    pub fn floats(&mut self, key: &str) -> Result<Option<Vec<f32>>, GgufError> {
        self.numbers(key, |value| match value {
            GgufValue::Float(value) => Some(value as f32),
            _ => None,
        })
    }

    /// Reads a part of the file, into memory of its size.
    ///
    /// # Errors
    /// If it is not all there.
    pub fn bytes(&mut self, range: Range<u64>) -> Result<Vec<u8>, GgufError> {
        self.seek(range.start)?;
        let n = self.check_room(range.end.saturating_sub(range.start), "data")?;
        let mut bytes = vec![0; n];
        self.fill(&mut bytes, "data")?;
        Ok(bytes)
    }

    fn error(&self, problem: String) -> GgufError {
        GgufError::invalid(&self.path, problem)
    }

    fn unreadable(&self, error: std::io::Error) -> GgufError {
        GgufError::io(&self.path, "cannot be read", error)
    }

    fn limit(&self, what: String, limit: u64) -> GgufError {
        GgufError::limit(&self.path, what, limit)
    }
}

/// Reading the parts of the header.
impl GgufFile {
    fn read_metadata(&mut self) -> Result<(), GgufError> {
        let magic: [u8; 4] = self.array("its header")?;
        if &magic != b"GGUF" {
            let magic = magic.escape_ascii();
            return Err(self.error(format!("is not a GGUF file: it begins with \"{magic}\"")));
        }
        let version = self.u32("its header")?;
        if !(2..=3).contains(&version) {
            return Err(self.error(format!("is GGUF version {version}, versions 2 and 3 can be read")));
        }
        self.n_tensors = self.u64("its header")?;
        let n_values = self.u64("its header")?;
        for (n, what) in [(n_values, "metadata"), (self.n_tensors, "tensor")] {
            if n > MAX_ENTRIES {
                return Err(self.limit(format!("{n} {what} entries are announced"), MAX_ENTRIES));
            }
        }
        let start = self.position;
        for _ in 0..n_values {
            let key = self.text("the name of a metadata entry")?;
            let value_type = self.u32(&key)?;
            let offset = self.position;
            let value = self.value_of(value_type, &key, 0)?;
            if self.values.contains_key(&key) {
                return Err(self.error(format!("has two values for {key}")));
            }
            self.values.insert(key, (value, offset));
        }
        self.metadata = start..self.position;
        Ok(())
    }

    /// A tensor entry, with the offset that it has within the data.
    fn tensor_entry(&mut self) -> Result<GgufTensor, GgufError> {
        let name = self.text("the name of a tensor")?;
        let n_dims = self.u32(&name)?;
        if !(1..=4).contains(&n_dims) {
            return Err(self.error(format!("tensor {name} has {n_dims} dimensions, 1 to 4 are allowed")));
        }
        let mut shape = Vec::new();
        for _ in 0..n_dims {
            shape.push(self.u64(&name)?);
        }
        // The file lists the innermost dimension first.
        shape.reverse();
        let type_id = self.u32(&name)?;
        let offset = self.u64(&name)?;
        Ok(GgufTensor { name, shape, type_id, offset })
    }

    fn value_of(&mut self, value_type: u32, key: &str, depth: usize) -> Result<GgufValue, GgufError> {
        Ok(GgufValue::Integer(match value_type {
            0 => self.array::<1>(key)?[0].into(),
            1 => i8::from_le_bytes(self.array(key)?).into(),
            2 => u16::from_le_bytes(self.array(key)?).into(),
            3 => i16::from_le_bytes(self.array(key)?).into(),
            4 => self.u32(key)?.into(),
            5 => i32::from_le_bytes(self.array(key)?).into(),
            6 => return Ok(GgufValue::Float(f32::from_le_bytes(self.array(key)?).into())),
            7 => return Ok(GgufValue::Bool(self.array::<1>(key)?[0] != 0)),
            TEXT => return self.text(key).map(GgufValue::Text),
            ARRAY => {
                let element_type = self.u32(key)?;
                let n_elements = self.u64(key)?;
                let offset = self.position;
                self.skip_elements(element_type, n_elements, key, depth)?;
                return Ok(GgufValue::Array { element_type, n_elements, offset });
            }
            10 => self.u64(key)?.into(),
            11 => i64::from_le_bytes(self.array(key)?).into(),
            12 => return Ok(GgufValue::Float(f64::from_le_bytes(self.array(key)?))),
            _ => return Err(self.error(format!("{key} is of type {value_type}, types 0 to 12 exist"))),
        }))
    }

    fn skip_elements(&mut self, element_type: u32, n: u64, key: &str, depth: usize) -> Result<(), GgufError> {
        let n_bytes = match element_type {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            TEXT | ARRAY => {
                // A text has at least a length, an array a type and a length.
                self.check_room(n.saturating_mul(8), key)?;
                self.check_elements(n, key)?;
                if element_type == ARRAY && depth >= MAX_ARRAY_DEPTH {
                    return Err(self.error(format!("{key} holds arrays more than {MAX_ARRAY_DEPTH} deep")));
                }
                for _ in 0..n {
                    if element_type == TEXT {
                        self.skip_text(key)?;
                    } else {
                        self.value_of(ARRAY, key, depth + 1)?;
                    }
                }
                return Ok(());
            }
            _ => {
                let problem = format!("{key} has elements of type {element_type}, types 0 to 12 exist");
                return Err(self.error(problem));
            }
        };
        self.skip(n.saturating_mul(n_bytes), key)
    }

    /// Goes to the first element of an array that is to be read: their type and number.
    fn seek_array(&mut self, key: &str) -> Result<Option<(u32, u64)>, GgufError> {
        let Some(&GgufValue::Array { element_type, n_elements, offset }) = self.value(key) else {
            return Ok(None);
        };
        self.check_elements(n_elements, key)?;
        self.seek(offset)?;
        Ok(Some((element_type, n_elements)))
    }

    fn numbers<T>(
        &mut self,
        key: &str,
        number: impl Fn(GgufValue) -> Option<T>,
    ) -> Result<Option<Vec<T>>, GgufError> {
        let Some((element_type, n)) = self.seek_array(key)? else { return Ok(None) };
        if [TEXT, ARRAY].contains(&element_type) {
            return Ok(None);
        }
        (0..n).map(|_| self.value_of(element_type, key, 0).map(&number)).collect()
    }
}

/// Reading bytes; `position` follows the reader, and `what` is where in the file it is, for messages.
impl GgufFile {
    fn check_elements(&self, n: u64, key: &str) -> Result<(), GgufError> {
        match n {
            ..=MAX_ARRAY_LEN => Ok(()),
            _ => Err(self.limit(format!("{key} has {n} elements"), MAX_ARRAY_LEN)),
        }
    }

    /// Checks that the file has `n` bytes more; `n` as a length.
    fn check_room(&self, n: u64, what: &str) -> Result<usize, GgufError> {
        let left = self.len.saturating_sub(self.position);
        if n > left {
            let problem = format!("is truncated: {what} needs {n} bytes more, {left} are left");
            return Err(self.error(problem));
        }
        usize::try_from(n).map_err(|_| self.error("is larger than this machine's memory".to_owned()))
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<(), GgufError> {
        self.check_room(bytes.len() as u64, what)?;
        self.reader.read_exact(bytes).map_err(|error| self.unreadable(error))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], GgufError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32, GgufError> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, GgufError> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn text(&mut self, what: &str) -> Result<String, GgufError> {
        let n = self.u64(what)?;
        let length = self.check_room(n, what)?;
        if n > self.text_left {
            let total = n.saturating_add(MAX_TEXT - self.text_left);
            let problem = format!("{what} is {n} bytes long, which makes {total} bytes of text");
            return Err(self.limit(problem, MAX_TEXT));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes, what)?;
        self.text_left -= n;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn skip_text(&mut self, what: &str) -> Result<(), GgufError> {
        let n = self.u64(what)?;
        self.skip(n, what)
    }

    fn skip(&mut self, n: u64, what: &str) -> Result<(), GgufError> {
        self.check_room(n, what)?;
        let distance = i64::try_from(n).map_err(|_| self.error("is too large".to_owned()))?;
        self.reader.seek_relative(distance).map_err(|error| self.unreadable(error))?;
        self.position += n;
        Ok(())
    }

    /// Moves to `position`, and resets the limit on text.
    fn seek(&mut self, position: u64) -> Result<(), GgufError> {
        self.reader.seek(SeekFrom::Start(position)).map_err(|error| self.unreadable(error))?;
        self.position = position;
        self.text_left = MAX_TEXT;
        Ok(())
    }
}
