//! Tensors as rows of a document.

use qkvet_spec::{BoolTensor, Dtype, Tensor};
use serde::{Deserialize, Serialize};

use crate::GenError;

/// A mask: one string of 0 and 1 for each row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MaskRows {
    shape: Vec<usize>,
    rows: Vec<String>,
}

impl MaskRows {
    pub(crate) fn new(shape: &[usize], data: &[bool]) -> Self {
        let row = |row: &[bool]| row.iter().map(|x| if *x { '1' } else { '0' }).collect();
        Self { shape: shape.to_vec(), rows: data.chunks(width(shape)).map(row).collect() }
    }

    pub(crate) fn tensor(self, place: &str) -> Result<BoolTensor, GenError> {
        check_rows(&self.shape, self.rows.iter().map(String::len), place)?;
        let bit = |c: char| match c {
            '0' => Ok(false),
            '1' => Ok(true),
            other => Err(GenError::new("element", place, "0 or 1", format!("{other:?}"))),
        };
        let data =
            self.rows.iter().flat_map(|row| row.chars().map(bit)).collect::<Result<_, _>>()?;
        Ok(BoolTensor { shape: self.shape, data })
    }
}

/// Numbers, row by row; `null` is −∞, which JSON has no number for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FloatRows {
    shape: Vec<usize>,
    rows: Vec<Vec<Entry>>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "Option<f64>", into = "Option<f64>")]
struct Entry(f64);

impl From<Option<f64>> for Entry {
    fn from(number: Option<f64>) -> Self {
        Self(number.unwrap_or(f64::NEG_INFINITY))
    }
}

impl From<Entry> for Option<f64> {
    fn from(Entry(number): Entry) -> Self {
        number.is_finite().then_some(number)
    }
}

impl FloatRows {
    pub(crate) fn new(shape: &[usize], data: &[f64]) -> Self {
        Self {
            shape: shape.to_vec(),
            rows: data
                .chunks(width(shape))
                .map(|row| row.iter().copied().map(Entry).collect())
                .collect(),
        }
    }

    pub(crate) fn tensor(self, place: &str, dtype: Dtype) -> Result<Tensor, GenError> {
        check_rows(&self.shape, self.rows.iter().map(Vec::len), place)?;
        Ok(Tensor {
            dtype,
            shape: self.shape,
            data: self.rows.iter().flatten().map(|entry| entry.0).collect(),
        })
    }
}

pub(crate) fn width(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1).max(1)
}

/// Whether there are as many rows of the right length as the shape says.
pub(crate) fn check_rows(
    shape: &[usize],
    lengths: impl ExactSizeIterator<Item = usize>,
    place: &str,
) -> Result<(), GenError> {
    let (cols, outer) = shape.split_last().unwrap_or((&1, &[]));
    let rows = outer.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
    if rows != Some(lengths.len()) {
        let expected = format!("the rows of {shape:?}");
        return Err(GenError::new("rows", place, expected, lengths.len().to_string()));
    }
    for (at, length) in lengths.enumerate() {
        if length != *cols {
            return Err(GenError::new(
                "elements",
                format!("row {at} of {place}"),
                cols.to_string(),
                length.to_string(),
            ));
        }
    }
    Ok(())
}
