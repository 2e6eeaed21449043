//! A GGUF file as a model: its metadata, and its tensors as candle has them.
//!
//! The file itself is read by [`maskwright_vocabulary::gguf`]. Here the tensors' sizes are computed from
//! their types and checked against the length of the file before any of their bytes are read.

use std::{collections::HashMap, ops::Range, path::Path};

use candle_core::{
    Device,
    quantized::{GgmlDType, QTensor, ggml_file::qtensor_from_ggml},
};
use maskwright_vocabulary::gguf::{self, GgufTensor, GgufValue};

use crate::error::ModelsError;

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
    file: gguf::GgufFile,
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
        let mut file = gguf::GgufFile::open(path)?;
        let gguf::GgufTensors { entries, alignment, .. } = file.tensors()?;
        let mut tensor_names = Vec::new();
        let mut tensors = HashMap::new();
        for entry in entries {
            let info = tensor_info(&entry, file.n_bytes())
                .map_err(|problem| ModelsError::file(path, format!("tensor {} {problem}", entry.name)))?;
            tensors.insert(entry.name.clone(), info);
            tensor_names.push(entry.name);
        }
        Ok(GgufFile { file, tensor_names, tensors, alignment })
    }

    /// The value of a key, if it is there.
    pub(crate) fn value(&self, key: &str) -> Option<&GgufValue> {
        self.file.value(key)
    }

    /// The file, to read what is no tensor.
    pub(crate) fn file(&mut self) -> &mut gguf::GgufFile {
        &mut self.file
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
        Ok(self.file.bytes(info.bytes.clone())?)
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

    /// An error about this file.
    pub(crate) fn error(&self, problem: impl std::fmt::Display) -> ModelsError {
        ModelsError::file(self.file.path(), problem)
    }
}

/// The tensor in a file of `len` bytes, or what is wrong with it.
fn tensor_info(entry: &GgufTensor, len: u64) -> Result<TensorInfo, String> {
    let &GgufTensor { ref shape, type_id, offset, .. } = entry;
    let dtype = dtype_of(type_id).ok_or_else(|| {
        format!(
            "is of type {type_id}; F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q2_K to Q6_K can be read"
        )
    })?;
    let n_bytes = n_bytes(dtype, shape).filter(|&n_bytes| n_bytes <= len).ok_or_else(|| {
        format!("has shape {shape:?} in {dtype:?}, which no tensor in {len} bytes can have")
    })?;
    let end = offset.checked_add(n_bytes).filter(|&end| end <= len).ok_or_else(|| {
        format!("is truncated: it needs {n_bytes} bytes at offset {offset}, the file has {len} bytes")
    })?;
    let shape = shape.iter().map(|&dim| usize::try_from(dim)).collect::<Result<_, _>>();
    let shape = shape.map_err(|_| "is larger than this machine's memory")?;
    Ok(TensorInfo { dtype, type_id, shape, bytes: offset..end })
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

/// The size of a tensor: whole blocks along the innermost dimension. `None` if that is not so, or on
/// overflow.
fn n_bytes(dtype: GgmlDType, shape: &[u64]) -> Option<u64> {
    let block_size = dtype.block_size() as u64;
    let innermost = *shape.last()?;
    if !innermost.is_multiple_of(block_size) {
        return None;
    }
    let n_elements = shape.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))?;
    (n_elements / block_size).checked_mul(dtype.type_size() as u64)
}
