//! What a target gave back for a case, as a file of its own: written by any program, judged later.

use indexmap::IndexMap;
use qkvet_spec::{Dtype, Tensor};

use super::archive::{Archive, Array, Element};
use super::names::check_id;
use super::{npz, safetensors};
use crate::GenError;

const OUTPUT: &str = "output";
const ID: &str = "id";
const DTYPE: &str = "dtype";

/// The output that a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredOutput {
    /// Id of the case, where the file says it; else the file's name must.
    pub id: Option<String>,
    /// The output as it is stored: its shape and format are a claim, its elements may be NaN or
    /// infinite.
    pub output: Tensor,
}

fn archive(id: &str, output: &Tensor) -> Result<Archive, GenError> {
    check_id(id, "`id`")?;
    let array = Array::of(output);
    array.check_size(OUTPUT)?;
    let texts = IndexMap::from([(ID.to_owned(), id.to_owned())]);
    Ok(Archive { texts, arrays: IndexMap::from([(OUTPUT.to_owned(), array)]) })
}

fn stored(mut archive: Archive) -> Result<StoredOutput, GenError> {
    let id = archive.texts.shift_remove(ID);
    id.iter().try_for_each(|id| check_id(id, "`id`"))?;
    let array = archive.take(OUTPUT)?;
    let dtype = match (archive.texts.shift_remove(DTYPE), array.element) {
        (Some(name), _) => dtype(&name)?,
        (None, Element::Float(dtype)) => dtype,
        (None, Element::Whole(_)) => {
            let expected = "floating-point numbers, or uint views of them";
            let place = format!("array `{OUTPUT}`");
            return Err(GenError::new("format", place, expected, array.element.name()));
        }
        (None, _) => {
            return Err(GenError::new(
                "format",
                "`dtype`",
                "a text that names the format of the output",
                "none",
            ));
        }
    };
    archive.check_empty()?;
    Ok(StoredOutput { id, output: array.tensor(OUTPUT, dtype)? })
}

/// The format of this name.
pub(super) fn dtype(name: &str) -> Result<Dtype, GenError> {
    Dtype::from_name(name).ok_or_else(|| {
        let known = Dtype::ALL.map(Dtype::name).join(", ");
        GenError::new("format", "`dtype`", format!("one of {known}"), format!("`{name:.32}`"))
    })
}

/// An output as a safetensors file: the tensor `output`, metadata `id`. NaN is stored as the quiet
/// NaN.
///
/// # Errors
/// A tensor whose elements are not as many as its shape says, an id that is none.
pub fn output_to_safetensors(id: &str, output: &Tensor) -> Result<Vec<u8>, GenError> {
    safetensors::write(&archive(id, output)?)
}

/// Reads an output from a safetensors file with the one tensor `output`; the metadata `id` may be
/// absent, and others are not looked at.
///
/// # Errors
/// Other tensors, a format that is none of floating-point numbers, sizes that do not fit.
pub fn output_from_safetensors(bytes: &[u8]) -> Result<StoredOutput, GenError> {
    stored(safetensors::read(bytes, ID)?)
}

/// An output as a NumPy archive: the array `output`, texts `id` and `dtype`. bfloat16 and float8
/// come as unsigned integers.
///
/// # Errors
/// A tensor whose elements are not as many as its shape says, an id that is none.
pub fn output_to_npz(id: &str, output: &Tensor) -> Result<Vec<u8>, GenError> {
    let mut archive = archive(id, output)?;
    archive.texts.insert(DTYPE.to_owned(), output.dtype.name().to_owned());
    npz::write(&archive)
}

/// Reads an output from a NumPy archive: `numpy.savez(file, output=output, dtype="bfloat16")`. The
/// text `id` may be absent, and `dtype` where NumPy has a name for the format.
///
/// # Errors
/// Other entries, compressed entries, a format that is none of floating-point numbers, sizes that
/// do not fit.
pub fn output_from_npz(bytes: &[u8]) -> Result<StoredOutput, GenError> {
    stored(npz::read(bytes)?)
}
