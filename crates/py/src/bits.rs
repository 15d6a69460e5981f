//! Arrays as Python hands them over: storage bits, read as tensors.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use qkvet_engine::format;
use qkvet_spec::{BoolTensor, Dtype, Tensor};

/// Format, shape and storage bits (little-endian, row-major) of an array.
pub(crate) type Bits = (String, Vec<usize>, PyBackedBytes);

/// The tensor of some storage bits.
pub(crate) fn tensor(name: &str, (dtype, shape, bits): &Bits) -> PyResult<Tensor> {
    let format = Dtype::from_name(dtype).ok_or_else(|| {
        let known = Dtype::ALL.map(Dtype::name).join(", ");
        PyValueError::new_err(format!("format at {name}: expected one of {known}, got {dtype}"))
    })?;
    let size = shape.iter().try_fold(format.size(), |size, n| size.checked_mul(*n));
    if size != Some(bits.len()) {
        let what = format!(
            "bytes at {name}: expected those of {dtype} of shape {shape:?}, got {}",
            bits.len()
        );
        return Err(PyValueError::new_err(what));
    }
    Ok(Tensor { dtype: format, shape: shape.clone(), data: format::decode(bits, format) })
}

/// The mask of some storage bits.
pub(crate) fn mask((dtype, shape, bits): &Bits) -> PyResult<BoolTensor> {
    if dtype != "bool" {
        let hint = "hint: numbers that are added to the scores are a bias";
        return Err(PyValueError::new_err(format!(
            "format at mask: expected bool, got {dtype}\n{hint}"
        )));
    }
    Ok(BoolTensor { shape: shape.clone(), data: bits.iter().map(|x| *x != 0).collect() })
}
