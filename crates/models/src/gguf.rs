//! The header of a GGUF file: metadata and where each tensor lies, checked against the length of the file.
//!
//! GGUF (the ggml project's `docs/gguf.md`): magic, version, counts, key-value pairs, tensor infos, padding,
//! data. Files come from anywhere, so nothing is allocated on the word of the file: strings are capped, arrays
//! are walked over and only their place is kept, and a tensor's extent is checked before its bytes are read.
//! O(header) time; memory for the scalars and names only.
//!
//! Rejected: candle's `gguf_file::Content`. It keeps every array as 32-byte values (a file full of bytes takes
//! 32 times its size), divides by an alignment of 0, multiplies dimensions unchecked, and rewrites strings that
//! are not UTF-8 or end in a zero byte, which would change tokens when a file is requantised.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use candle_core::{
    Device,
    quantized::{GgmlDType, QTensor, ggml_file::qtensor_from_ggml},
};

use crate::error::ModelsError;

const MAX_NAME_BYTES: u64 = 1 << 16;
const MAX_TEXT_BYTES: u64 = 1 << 24;
const MAX_ALIGNMENT: u64 = 1 << 20;
/// Arrays of arrays are legal and unused; a limit keeps the walk off the stack's end.
const MAX_ARRAY_DEPTH: usize = 8;

/// A metadata value; of an array only its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Array { element_type: u32, n_elements: u64, offset: u64 },
}

/// A tensor's type, shape (outermost dimension first) and place in the file.
#[derive(Clone, Debug)]
pub(crate) struct TensorInfo {
    pub(crate) dtype: GgmlDType,
    /// ggml's number for it.
    pub(crate) type_id: u32,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Range<u64>,
}

/// An opened GGUF file whose header has been read and checked.
#[derive(Debug)]
pub(crate) struct GgufFile {
    path: PathBuf,
    reader: BufReader<File>,
    len: u64,
    position: u64,
    metadata: HashMap<String, Value>,
    /// Where each metadata value's bytes begin.
    value_offsets: HashMap<String, u64>,
    /// The bytes of all key-value pairs.
    metadata_bytes: Range<u64>,
    /// In the order of the file.
    tensor_names: Vec<String>,
    tensors: HashMap<String, TensorInfo>,
    alignment: u64,
}

impl GgufFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// If it cannot be read, is no GGUF file of version 2 or 3, or its header contradicts itself or the
    /// length of the file.
    pub(crate) fn open(path: &Path) -> Result<Self, ModelsError> {
        let file = File::open(path).map_err(|e| ModelsError::file(path, "cannot be opened").because(e))?;
        let metadata = file.metadata().map_err(|e| ModelsError::file(path, "cannot be read").because(e))?;
        if !metadata.is_file() {
            return Err(ModelsError::file(path, "is not a file"));
        }
        let mut gguf = GgufFile {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(1 << 16, file),
            len: metadata.len(),
            position: 0,
            metadata: HashMap::new(),
            value_offsets: HashMap::new(),
            metadata_bytes: 0..0,
            tensor_names: Vec::new(),
            tensors: HashMap::new(),
            alignment: 32,
        };
        gguf.read_header()?;
        Ok(gguf)
    }

    /// The value of a key, if it is there.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// Where the value of a key begins in the file.
    pub(crate) fn value_offset(&self, key: &str) -> Option<u64> {
        self.value_offsets.get(key).copied()
    }

    /// The number of keys and the bytes of all of them.
    pub(crate) fn metadata_bytes(&self) -> (usize, Range<u64>) {
        (self.metadata.len(), self.metadata_bytes.clone())
    }

    /// Names of all tensors, in the order of the file.
    pub(crate) fn tensor_names(&self) -> &[String] {
        &self.tensor_names
    }

    /// What is known of a tensor.
    pub(crate) fn tensor_info(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// The alignment of tensor data: a power of two.
    pub(crate) fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Reads the bytes of a tensor.
    ///
    /// # Errors
    /// If there is no such tensor, or reading fails.
    pub(crate) fn tensor_bytes(&mut self, name: &str) -> Result<Vec<u8>, ModelsError> {
        let info = self.tensors.get(name).ok_or_else(|| self.error(format!("has no tensor {name}")))?;
        let range = info.bytes.clone();
        self.bytes(range)
    }

    /// Reads a tensor.
    ///
    /// # Errors
    /// As [`tensor_bytes`](Self::tensor_bytes).
    pub(crate) fn tensor(&mut self, name: &str) -> Result<QTensor, ModelsError> {
        let bytes = self.tensor_bytes(name)?;
        let info = &self.tensors[name];
        qtensor_from_ggml(info.dtype, &bytes, info.shape.clone(), &Device::Cpu)
            .map_err(|e| self.error(format!("tensor {name} cannot be used")).because(e))
    }

    /// Reads a part of the file.
    ///
    /// # Errors
    /// If it is not all there.
    pub(crate) fn bytes(&mut self, range: Range<u64>) -> Result<Vec<u8>, ModelsError> {
        self.seek(range.start)?;
        let n_bytes = range.end.saturating_sub(range.start);
        self.check_room(n_bytes, "data")?;
        let n_bytes =
            usize::try_from(n_bytes).map_err(|_| self.error("is larger than this machine's memory"))?;
        let mut bytes = vec![0; n_bytes];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The `index`-th string of an array of strings; `None` if there is no such array or element.
    ///
    /// # Errors
    /// If reading fails, or the string is absurdly long or not UTF-8.
    pub(crate) fn array_text(&mut self, key: &str, index: u64) -> Result<Option<String>, ModelsError> {
        let Some(&Value::Array { element_type: 8, n_elements, offset }) = self.metadata.get(key) else {
            return Ok(None);
        };
        if index >= n_elements {
            return Ok(None);
        }
        self.seek(offset)?;
        for _ in 0..index {
            let n_bytes = self.u64()?;
            self.skip(n_bytes)?;
        }
        self.text(MAX_NAME_BYTES, key).map(Some)
    }

    /// An error about this file.
    pub(crate) fn error(&self, problem: impl std::fmt::Display) -> ModelsError {
        ModelsError::file(&self.path, problem)
    }
}

/// Reading the header.
impl GgufFile {
    fn read_header(&mut self) -> Result<(), ModelsError> {
        let mut magic = [0; 4];
        self.fill(&mut magic)?;
        if &magic != b"GGUF" {
            return Err(
                self.error(format!("is not a GGUF file: it begins with \"{}\"", magic.escape_ascii()))
            );
        }
        let version = self.u32()?;
        if !(2..=3).contains(&version) {
            return Err(self.error(format!("is GGUF version {version}, versions 2 and 3 can be read")));
        }
        let n_tensors = self.u64()?;
        let n_values = self.u64()?;
        // The least that an entry takes: a name's length, a type and a value; or a name's length, the number
        // of dimensions, a type and an offset.
        self.check_room(n_values.saturating_mul(13), "metadata entries")?;
        self.check_room(n_tensors.saturating_mul(24), "tensor entries")?;

        let start = self.position;
        for _ in 0..n_values {
            let key = self.text(MAX_NAME_BYTES, "the name of a metadata entry")?;
            let value_type = self.u32()?;
            let offset = self.position;
            let value = self.value_of(value_type, &key, 0)?;
            if self.metadata.insert(key.clone(), value).is_some() {
                return Err(self.error(format!("has two values for {key}")));
            }
            self.value_offsets.insert(key, offset);
        }
        self.metadata_bytes = start..self.position;
        self.alignment = match self.metadata.get("general.alignment") {
            None => 32,
            Some(&Value::Unsigned(alignment))
                if alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT =>
            {
                alignment
            }
            Some(other) => {
                return Err(self.error(format!("has general.alignment {other:?}, a power of two is needed")));
            }
        };

        let mut offsets = Vec::new();
        for _ in 0..n_tensors {
            offsets.push(self.tensor_entry()?);
        }
        let data_start = self.position.next_multiple_of(self.alignment);
        for (name, offset) in self.tensor_names.iter().zip(offsets) {
            let info = self.tensors.get_mut(name).expect("every name was entered with its tensor");
            let start = data_start.checked_add(offset);
            let end = start.and_then(|start| start.checked_add(info.bytes.end));
            let (Some(start), Some(end)) = (start, end.filter(|&end| end <= self.len)) else {
                let (n_bytes, len) = (info.bytes.end, self.len);
                let problem = format!(
                    "is cut off: tensor {name} needs {n_bytes} bytes at offset {offset} of the data, the file has {len} bytes"
                );
                return Err(ModelsError::file(&self.path, problem));
            };
            info.bytes = start..end;
        }
        Ok(())
    }

    /// Enters a tensor with its size as `bytes.end`; returns its offset in the data.
    fn tensor_entry(&mut self) -> Result<u64, ModelsError> {
        let name = self.text(MAX_NAME_BYTES, "the name of a tensor")?;
        let n_dims = self.u32()?;
        if !(1..=4).contains(&n_dims) {
            return Err(self.error(format!("tensor {name} has {n_dims} dimensions, 1 to 4 are allowed")));
        }
        let mut shape = Vec::new();
        for _ in 0..n_dims {
            shape.push(self.u64()?);
        }
        // GGUF lists the innermost dimension first.
        shape.reverse();
        let type_id = self.u32()?;
        let dtype = dtype_of(type_id).ok_or_else(|| {
            self.error(format!(
                "tensor {name} is of type {type_id}; F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q2_K to Q6_K can be read"
            ))
        })?;
        let offset = self.u64()?;
        let n_bytes = n_bytes(dtype, &shape).filter(|&n_bytes| n_bytes <= self.len).ok_or_else(|| {
            self.error(format!(
                "tensor {name} has shape {shape:?} in {dtype:?}, which no tensor in {} bytes can have",
                self.len
            ))
        })?;
        let shape = shape.iter().map(|&dim| usize::try_from(dim)).collect::<Result<_, _>>();
        let shape =
            shape.map_err(|_| self.error(format!("tensor {name} is larger than this machine's memory")))?;
        let info = TensorInfo { dtype, type_id, shape, bytes: 0..n_bytes };
        if self.tensors.insert(name.clone(), info).is_some() {
            return Err(self.error(format!("has two tensors {name}")));
        }
        self.tensor_names.push(name);
        Ok(offset)
    }

    fn value_of(&mut self, value_type: u32, key: &str, depth: usize) -> Result<Value, ModelsError> {
        Ok(match value_type {
            0 => Value::Unsigned(u64::from(self.array::<1>()?[0])),
            1 => Value::Signed(i64::from(i8::from_le_bytes(self.array()?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.array()?))),
            3 => Value::Signed(i64::from(i16::from_le_bytes(self.array()?))),
            4 => Value::Unsigned(u64::from(self.u32()?)),
            5 => Value::Signed(i64::from(i32::from_le_bytes(self.array()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.array()?))),
            7 => Value::Bool(self.array::<1>()?[0] != 0),
            8 => Value::Text(self.text(MAX_TEXT_BYTES, key)?),
            9 => {
                let element_type = self.u32()?;
                let n_elements = self.u64()?;
                let offset = self.position;
                self.skip_elements(element_type, n_elements, key, depth)?;
                Value::Array { element_type, n_elements, offset }
            }
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.array()?)),
            12 => Value::Float(f64::from_le_bytes(self.array()?)),
            _ => return Err(self.error(format!("{key} is of type {value_type}, types 0 to 12 exist"))),
        })
    }

    fn skip_elements(
        &mut self,
        element_type: u32,
        n: u64,
        key: &str,
        depth: usize,
    ) -> Result<(), ModelsError> {
        let n_bytes = match element_type {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 => {
                self.check_room(n.saturating_mul(8), key)?;
                for _ in 0..n {
                    let n_bytes = self.u64()?;
                    self.skip(n_bytes)?;
                }
                return Ok(());
            }
            9 if depth < MAX_ARRAY_DEPTH => {
                self.check_room(n.saturating_mul(12), key)?;
                for _ in 0..n {
                    self.value_of(9, key, depth + 1)?;
                }
                return Ok(());
            }
            9 => return Err(self.error(format!("{key} holds arrays more than {MAX_ARRAY_DEPTH} deep"))),
            _ => {
                return Err(
                    self.error(format!("{key} has elements of type {element_type}, types 0 to 12 exist"))
                );
            }
        };
        self.skip(n.saturating_mul(n_bytes))
    }
}

/// Reading the parts of values; `position` follows the reader.
impl GgufFile {
    fn check_room(&self, n_bytes: u64, what: &str) -> Result<(), ModelsError> {
        let left = self.len.saturating_sub(self.position);
        if n_bytes > left {
            let problem =
                format!("is cut off: {n_bytes} bytes or more of {what} are announced, {left} are left");
            return Err(self.error(problem));
        }
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ModelsError> {
        self.check_room(bytes.len() as u64, "its header or data")?;
        self.reader.read_exact(bytes).map_err(|e| self.error("cannot be read").because(e))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelsError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ModelsError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, ModelsError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self, max_bytes: u64, what: &str) -> Result<String, ModelsError> {
        let n_bytes = self.u64()?;
        if n_bytes > max_bytes {
            return Err(
                self.error(format!("{what} is {n_bytes} bytes long, at most {max_bytes} are allowed"))
            );
        }
        self.check_room(n_bytes, what)?;
        let mut bytes = vec![0; usize::try_from(n_bytes).expect("capped above")];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|e| self.error(format!("{what} is not UTF-8")).because(e))
    }

    fn skip(&mut self, n_bytes: u64) -> Result<(), ModelsError> {
        self.check_room(n_bytes, "an array")?;
        let distance = i64::try_from(n_bytes).map_err(|_| self.error("is too large"))?;
        self.reader.seek_relative(distance).map_err(|e| self.error("cannot be read").because(e))?;
        self.position += n_bytes;
        Ok(())
    }

    fn seek(&mut self, position: u64) -> Result<(), ModelsError> {
        self.reader.seek(SeekFrom::Start(position)).map_err(|e| self.error("cannot be read").because(e))?;
        self.position = position;
        Ok(())
    }
}

/// The types that candle has matrix products for, by ggml's numbers.
fn dtype_of(type_id: u32) -> Option<GgmlDType> {
    Some(match type_id {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        _ => return None,
    })
}

/// The size of a tensor: whole blocks along the innermost dimension. `None` if that is not so, or on overflow.
fn n_bytes(dtype: GgmlDType, shape: &[u64]) -> Option<u64> {
    let block_size = dtype.block_size() as u64;
    let innermost = *shape.last()?;
    if !innermost.is_multiple_of(block_size) {
        return None;
    }
    let n_elements = shape.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))?;
    (n_elements / block_size).checked_mul(dtype.type_size() as u64)
}
