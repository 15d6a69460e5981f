//! An output as a JSON document, for programs that have nothing better.

use qkvet_engine::format::is_representable;
use qkvet_spec::Tensor;
use serde::{Deserialize, Serialize};

use super::FROZEN_FORMAT;
use super::assemble::check_format;
use super::names::check_id;
use super::output::{StoredOutput, dtype};
use crate::GenError;
use crate::json::{check_rows, lay_out, parse, width};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputDocument {
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    dtype: String,
    output: Rows,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    shape: Vec<usize>,
    rows: Vec<Vec<Number>>,
}

/// A number, or the word for one that JSON does not have.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Other(Word),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Nan,
    Inf,
    #[serde(rename = "-inf")]
    NegativeInf,
}

impl Number {
    fn new(x: f64) -> Self {
        match x {
            x if x.is_finite() => Self::Finite(x),
            x if x.is_nan() => Self::Other(Word::Nan),
            x if x > 0.0 => Self::Other(Word::Inf),
            _ => Self::Other(Word::NegativeInf),
        }
    }

    fn value(self) -> f64 {
        match self {
            Self::Finite(x) => x,
            Self::Other(Word::Nan) => f64::NAN,
            Self::Other(Word::Inf) => f64::INFINITY,
            Self::Other(Word::NegativeInf) => f64::NEG_INFINITY,
        }
    }
}

/// An output as `{"format": 1, "id": ..., "dtype": ..., "output": {"shape": ..., "rows": ...}}`:
/// row by row, `"nan"`, `"inf"` and `"-inf"` in quotes.
///
/// # Errors
/// A tensor whose elements are not as many as its shape says, an id that is none.
pub fn output_to_json(id: &str, output: &Tensor) -> Result<String, GenError> {
    check_id(id, "`id`")?;
    let rows = output
        .data
        .chunks(width(&output.shape))
        .map(|row| row.iter().map(|x| Number::new(*x)).collect());
    let rows = Rows { shape: output.shape.clone(), rows: rows.collect() };
    check_rows(&rows.shape, rows.rows.iter().map(Vec::len), "output")?;
    let document = OutputDocument {
        format: FROZEN_FORMAT,
        id: Some(id.to_owned()),
        dtype: output.dtype.name().to_owned(),
        output: rows,
    };
    Ok(lay_out(&document))
}

/// Reads an output from a JSON document; `id` may be absent.
///
/// # Errors
/// Anything but what [`output_to_json`] writes, with its place; elements that the format does not
/// have.
pub fn output_from_json(text: &str) -> Result<StoredOutput, GenError> {
    let document: OutputDocument = parse(text, "an output")?;
    check_format(document.format)?;
    document.id.iter().try_for_each(|id| check_id(id, "`id`"))?;
    let dtype = dtype(&document.dtype)?;
    let Rows { shape, rows } = document.output;
    check_rows(&shape, rows.iter().map(Vec::len), "output")?;
    let data: Vec<f64> = rows.iter().flatten().map(|number| number.value()).collect();
    if let Some(x) = data.iter().find(|x| !is_representable(**x, dtype)) {
        return Err(GenError::new(
            "element",
            "output",
            format!("numbers of {dtype}"),
            format!("{x:?}"),
        ));
    }
    Ok(StoredOutput { id: document.id, output: Tensor { dtype, shape, data } })
}
