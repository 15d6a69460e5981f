//! Named arrays and texts: what a file of tensors holds, whichever container it is in.

use std::str::FromStr;

use indexmap::IndexMap;
use qkvet_engine::digits::Decimal;
use qkvet_engine::format::{decode, encode};
use qkvet_spec::{BoolTensor, Dtype, Tensor};
use serde_json::value::RawValue;

use super::assemble::{Facts, Tensors, assemble};
use super::call::call_of;
use super::document::{decimal, raw};
use super::{FrozenCase, npz, safetensors};
use crate::GenError;
use crate::json::{lay_out, parse};

/// Name of the text that holds all of a case that is not an array.
const CASE: &str = "case";

/// Bounds of a contract are the array of this name and the contract's id.
const BOUNDS: &str = "bounds/";

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// One byte, 0 or 1.
    Bool,
    /// Numbers of a format.
    Float(Dtype),
    /// Storage bits of as many bytes, of a format that the container has no name for.
    Bits(usize),
    /// Whole numbers of as many bytes, with a sign.
    Whole(usize),
}

impl Element {
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Float(dtype) => dtype.size(),
            Self::Bits(size) | Self::Whole(size) => size,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Bool => "bool".to_owned(),
            Self::Float(dtype) => dtype.to_string(),
            Self::Bits(size) => format!("elements of {size} bytes without a name"),
            Self::Whole(size) => format!("whole numbers of {size} bytes"),
        }
    }
}

/// An array: little-endian elements, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) element: Element,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl Array {
    pub(super) fn of(tensor: &Tensor) -> Self {
        let bytes = encode(&tensor.data, tensor.dtype);
        Self { element: Element::Float(tensor.dtype), shape: tensor.shape.clone(), bytes }
    }

    pub(super) fn of_mask(mask: &BoolTensor) -> Self {
        let bytes = mask.data.iter().map(|x| u8::from(*x)).collect();
        Self { element: Element::Bool, shape: mask.shape.clone(), bytes }
    }

    pub(super) fn of_numbers(shape: &[usize], data: &[f64]) -> Self {
        Self {
            element: Element::Float(Dtype::Float64),
            shape: shape.to_vec(),
            bytes: encode(data, Dtype::Float64),
        }
    }

    pub(super) fn of_whole(numbers: &[i64]) -> Self {
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        Self { element: Element::Whole(8), shape: vec![numbers.len()], bytes }
    }

    /// Whole numbers, along one axis.
    pub(super) fn whole_numbers(&self, name: &str) -> Result<Vec<i64>, GenError> {
        self.check_size(name)?;
        let wide = |bytes: &[u8]| -> Option<i64> {
            Some(match *bytes {
                [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
                _ => i64::from_le_bytes(bytes.try_into().ok()?),
            })
        };
        let numbers = match self.element {
            Element::Whole(size) if self.shape.len() == 1 => {
                self.bytes.chunks(size).map(wide).collect::<Option<Vec<_>>>()
            }
            _ => None,
        };
        numbers.ok_or_else(|| {
            let got = format!("{} of shape {:?}", self.element.name(), self.shape);
            GenError::new("array", format!("`{name:.64}`"), "int32 or int64 along one axis", got)
        })
    }

    /// The one number that the array holds.
    pub(super) fn number(&self, name: &str) -> Result<f64, GenError> {
        self.check_size(name)?;
        let numbers = match self.element {
            Element::Float(dtype) => decode(&self.bytes, dtype),
            Element::Whole(size) if self.bytes.len() == size => {
                let flat = Self { shape: vec![1], ..self.clone() };
                flat.whole_numbers(name)?.iter().map(|n| *n as f64).collect()
            }
            _ => Vec::new(),
        };
        match numbers.as_slice() {
            [number] => Ok(*number),
            _ => {
                let got = format!("{} of shape {:?}", self.element.name(), self.shape);
                Err(GenError::new("array", format!("`{name:.64}`"), "one number", got))
            }
        }
    }

    /// Whether the bytes are as many as the shape and the elements ask for.
    pub(super) fn check_size(&self, name: &str) -> Result<(), GenError> {
        let elements = self.shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
        let expected = elements.and_then(|elements| elements.checked_mul(self.element.size()));
        if expected == Some(self.bytes.len()) {
            return Ok(());
        }
        let expected =
            format!("those of {:?} elements of {} bytes", self.shape, self.element.size());
        Err(GenError::new(
            "bytes",
            format!("array `{name:.64}`"),
            expected,
            self.bytes.len().to_string(),
        ))
    }

    /// The tensor that the array holds, its elements being of the format `dtype`.
    pub(super) fn tensor(&self, name: &str, dtype: Dtype) -> Result<Tensor, GenError> {
        let fits = match self.element {
            Element::Float(own) => own == dtype,
            Element::Bits(size) => size == dtype.size(),
            Element::Bool | Element::Whole(_) => false,
        };
        if !fits {
            return Err(GenError::new(
                "format",
                format!("array `{name:.64}`"),
                dtype.name(),
                self.element.name(),
            ));
        }
        self.check_size(name)?;
        Ok(Tensor { dtype, shape: self.shape.clone(), data: decode(&self.bytes, dtype) })
    }

    pub(super) fn mask(&self, name: &str) -> Result<BoolTensor, GenError> {
        let place = format!("array `{name:.64}`");
        if self.element != Element::Bool {
            return Err(GenError::new("format", place, "bool", self.element.name()));
        }
        self.check_size(name)?;
        if let Some(byte) = self.bytes.iter().find(|byte| **byte > 1) {
            return Err(GenError::new("element", place, "0 or 1", byte.to_string()));
        }
        Ok(BoolTensor {
            shape: self.shape.clone(),
            data: self.bytes.iter().map(|byte| *byte == 1).collect(),
        })
    }
}

/// Arrays and texts by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Archive {
    pub(super) texts: IndexMap<String, String>,
    pub(super) arrays: IndexMap<String, Array>,
}

impl Archive {
    /// Takes an array out, or says that it is missing.
    pub(super) fn take(&mut self, name: &str) -> Result<Array, GenError> {
        self.arrays
            .shift_remove(name)
            .ok_or_else(|| GenError::new("array", format!("`{name}`"), "one", "none"))
    }

    /// Everything must have been taken.
    pub(super) fn check_empty(&self) -> Result<(), GenError> {
        match self.arrays.keys().chain(self.texts.keys()).next() {
            Some(name) => {
                Err(GenError::new("array", "file", "known names only", format!("`{name:.64}` too")))
            }
            None => Ok(()),
        }
    }
}

fn case_archive(frozen: &FrozenCase) -> Result<Archive, GenError> {
    let call = call_of(&frozen.case)?;
    let mut arrays = IndexMap::new();
    let mut add = |name: &str, array: Array| arrays.insert(name.to_owned(), array);
    add("query", Array::of(&call.query));
    add("key", Array::of(&call.key));
    add("value", Array::of(&call.value));
    call.options.mask.iter().for_each(|mask| drop(add("mask", Array::of_mask(mask))));
    call.options.bias.iter().for_each(|bias| drop(add("bias", Array::of(bias))));
    // An answer below binary64's smallest numbers is 0 here, whatever its sign.
    let answer: Vec<f64> =
        frozen.answer.values.iter().map(|decimal| decimal.to_f64() + 0.0).collect();
    add("answer", Array::of_numbers(&frozen.answer.shape, &answer));
    for (contract, bounds) in &frozen.bounds {
        add(&format!("{BOUNDS}{contract}"), Array::of_numbers(&frozen.answer.shape, bounds));
    }
    arrays.iter().try_for_each(|(name, array)| array.check_size(name))?;
    let texts = |decimals: &[Decimal]| decimals.iter().map(Decimal::to_string).collect::<Vec<_>>();
    let is_lossy = texts(&nearest(&answer)?) != texts(&frozen.answer.values);
    let decimals = is_lossy
        .then(|| frozen.answer.values.iter().map(raw).collect::<Result<_, _>>())
        .transpose()?;
    let facts = Facts { decimals, ..Facts::of(frozen) };
    let texts = IndexMap::from([(CASE.to_owned(), lay_out(&facts))]);
    Ok(Archive { texts, arrays })
}

/// The shortest decimals that binary64 reads as these numbers.
fn nearest(data: &[f64]) -> Result<Vec<Decimal>, GenError> {
    let decimal = |x: &f64| {
        Decimal::from_str(&format!("{x:e}"))
            .map_err(|_| GenError::new("element", "answer", "finite numbers", format!("{x:?}")))
    };
    data.iter().map(decimal).collect()
}

/// Decimals that must be the numbers beside them.
fn same_numbers(decimals: &[Box<RawValue>], data: &[f64]) -> Result<Vec<Decimal>, GenError> {
    let values =
        decimals.iter().map(|raw| decimal(raw, "`decimals`")).collect::<Result<Vec<_>, _>>()?;
    let bits = |x: f64| (x + 0.0).to_bits();
    if values.iter().map(|value| bits(value.to_f64())).eq(data.iter().map(|x| bits(*x))) {
        return Ok(values);
    }
    Err(GenError::new("numbers", "`decimals`", "those of the array `answer`", "others"))
}

fn case_of_archive(mut archive: Archive) -> Result<FrozenCase, GenError> {
    let facts = archive.texts.shift_remove(CASE).ok_or_else(|| {
        GenError::new("text", format!("`{CASE}`"), "the facts of a frozen case", "none")
    })?;
    let mut facts: Facts = parse(&facts, "the facts of a frozen case")?;
    let dtype = facts.dtype;
    let (query, key, value) =
        (archive.take("query")?, archive.take("key")?, archive.take("value")?);
    let mask = archive.arrays.shift_remove("mask").map(|mask| mask.mask("mask")).transpose()?;
    let bias =
        archive.arrays.shift_remove("bias").map(|bias| bias.tensor("bias", dtype)).transpose()?;
    let answer = archive.take("answer")?.tensor("answer", Dtype::Float64)?;
    let values = match facts.decimals.take() {
        None => nearest(&answer.data)?,
        Some(decimals) => same_numbers(&decimals, &answer.data)?,
    };
    let mut bounds = IndexMap::new();
    let mut names: Vec<String> =
        archive.arrays.keys().filter(|name| name.starts_with(BOUNDS)).cloned().collect();
    names.sort_unstable();
    for name in names {
        let Tensor { shape, data, .. } = archive.take(&name)?.tensor(&name, Dtype::Float64)?;
        bounds.insert(name[BOUNDS.len()..].to_owned(), (shape, data));
    }
    archive.check_empty()?;
    let tensors = Tensors {
        query: query.tensor("query", dtype)?,
        key: key.tensor("key", dtype)?,
        value: value.tensor("value", dtype)?,
        mask,
        bias,
        answer: (answer.shape, values),
        bounds,
    };
    assemble(facts, tensors)
}

/// The case as a safetensors file: tensors `query`, `key`, `value`, `mask` and `bias` where they
/// are on, `answer` and `bounds/<contract>` in float64 (infinite where nothing can be said);
/// everything else as JSON in the metadata `case`.
///
/// The answer is the certified decimal rounded to float64; the bounds allow for it. Where that
/// loses digits, the decimals are in the metadata too. The same case gives the same bytes.
///
/// # Errors
/// A case that is no call of attention.
pub fn case_to_safetensors(frozen: &FrozenCase) -> Result<Vec<u8>, GenError> {
    safetensors::write(&case_archive(frozen)?)
}

/// Reads a case from a safetensors file.
///
/// # Errors
/// Anything but what [`case_to_safetensors`] writes, with its place; an id that is not the
/// content's.
pub fn case_from_safetensors(bytes: &[u8]) -> Result<FrozenCase, GenError> {
    case_of_archive(safetensors::read(bytes, CASE)?)
}

/// The case as a NumPy archive: arrays named as in [`case_to_safetensors`], everything else as JSON
/// in the text `case`. bfloat16 and float8 have no name in NumPy: their storage bits come as
/// unsigned integers of the same size.
///
/// Entries are stored, not compressed, without times: the same case gives the same bytes.
///
/// # Errors
/// A case that is no call of attention.
pub fn case_to_npz(frozen: &FrozenCase) -> Result<Vec<u8>, GenError> {
    npz::write(&case_archive(frozen)?)
}

/// Reads a case from a NumPy archive.
///
/// # Errors
/// Anything but what [`case_to_npz`] writes, with its place; an id that is not the content's.
pub fn case_from_npz(bytes: &[u8]) -> Result<FrozenCase, GenError> {
    case_of_archive(npz::read(bytes)?)
}
