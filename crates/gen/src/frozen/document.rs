//! A frozen case as a document: what `serde` reads and writes.

use std::str::FromStr;

use qkvet_engine::digits::Decimal;
use qkvet_spec::{Dims, Dtype};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::assemble::{Facts, Tensors, assemble};
use super::call::call_of;
use super::names::Unique;
use super::{FROZEN_FORMAT, FrozenCase};
use crate::GenError;
use crate::json::{FloatRows, MaskRows, check_rows, width};

/// A case, in the order in which a person reads it: what it is, what goes in, what must come out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseDocument {
    pub(super) id: String,
    law: String,
    dims: Dims,
    conventions: Unique<String>,
    hunts: Vec<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    scale: Option<f64>,
    causal: bool,
    query: FloatRows,
    key: FloatRows,
    value: FloatRows,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<MaskRows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bias: Option<FloatRows>,
    digits: u32,
    answer: DecimalRows,
    bounds: Unique<BoundRows>,
}

impl CaseDocument {
    pub(super) fn new(frozen: &FrozenCase) -> Result<Self, GenError> {
        let call = call_of(&frozen.case)?;
        let Facts { id, law, dims, conventions, hunts, scale, causal, digits, .. } =
            Facts::of(frozen);
        let shape = &frozen.answer.shape;
        let bounds = frozen
            .bounds
            .iter()
            .map(|(contract, data)| (contract.clone(), BoundRows::new(shape, data)));
        Ok(Self {
            id,
            law,
            dims,
            conventions,
            hunts,
            scale,
            causal,
            query: FloatRows::new(&call.query.shape, &call.query.data),
            key: FloatRows::new(&call.key.shape, &call.key.data),
            value: FloatRows::new(&call.value.shape, &call.value.data),
            mask: call.options.mask.as_ref().map(|mask| MaskRows::new(&mask.shape, &mask.data)),
            bias: call.options.bias.as_ref().map(|bias| FloatRows::new(&bias.shape, &bias.data)),
            digits,
            answer: DecimalRows::new(shape, &frozen.answer.values)?,
            bounds: Unique(bounds.collect()),
        })
    }

    pub(super) fn case(self, dtype: Dtype) -> Result<FrozenCase, GenError> {
        let id = self.id.clone();
        let in_case = |error: GenError| error.of_case(&id);
        let facts = Facts {
            format: FROZEN_FORMAT,
            id: self.id,
            law: self.law,
            dtype,
            dims: self.dims,
            conventions: self.conventions,
            hunts: self.hunts,
            scale: self.scale,
            causal: self.causal,
            digits: self.digits,
            decimals: None,
        };
        let bounds = self.bounds.0.into_iter().map(|(contract, rows)| {
            let bounds = rows.bounds(&format!("bounds of {contract:.64}"))?;
            Ok((contract, bounds))
        });
        let tensors = Tensors {
            query: self.query.tensor("query", dtype).map_err(in_case)?,
            key: self.key.tensor("key", dtype).map_err(in_case)?,
            value: self.value.tensor("value", dtype).map_err(in_case)?,
            mask: self.mask.map(|mask| mask.tensor("mask")).transpose().map_err(in_case)?,
            bias: self.bias.map(|bias| bias.tensor("bias", dtype)).transpose().map_err(in_case)?,
            answer: self.answer.decimals().map_err(in_case)?,
            bounds: bounds.collect::<Result<_, GenError>>().map_err(in_case)?,
        };
        assemble(facts, tensors)
    }
}

/// A decimal in its own text.
pub(super) fn raw(decimal: &Decimal) -> Result<Box<RawValue>, GenError> {
    RawValue::from_string(decimal.to_string())
        .map_err(|_| GenError::new("element", "answer", "a JSON number", format!("{decimal:.64}")))
}

pub(super) fn decimal(raw: &RawValue, place: &str) -> Result<Decimal, GenError> {
    Decimal::from_str(raw.get())
        .map_err(|_| GenError::new("element", place, "a number", format!("`{:.64}`", raw.get())))
}

/// Certified decimals, row by row, in their own text: they never pass through a binary number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecimalRows {
    shape: Vec<usize>,
    rows: Vec<Vec<Box<RawValue>>>,
}

impl DecimalRows {
    fn new(shape: &[usize], values: &[Decimal]) -> Result<Self, GenError> {
        let rows = values.chunks(width(shape)).map(|row| row.iter().map(raw).collect());
        Ok(Self { shape: shape.to_vec(), rows: rows.collect::<Result<_, _>>()? })
    }

    fn decimals(self) -> Result<(Vec<usize>, Vec<Decimal>), GenError> {
        check_rows(&self.shape, self.rows.iter().map(Vec::len), "answer")?;
        let decimal =
            |(row, raw): (usize, &RawValue)| decimal(raw, &format!("row {row} of answer"));
        let entries = self
            .rows
            .iter()
            .enumerate()
            .flat_map(|(row, entries)| entries.iter().map(move |raw| (row, &**raw)));
        Ok((self.shape, entries.map(decimal).collect::<Result<_, _>>()?))
    }
}

/// Bounds, row by row; `null` where nothing can be said.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundRows {
    shape: Vec<usize>,
    rows: Vec<Vec<Option<f64>>>,
}

impl BoundRows {
    fn new(shape: &[usize], bounds: &[f64]) -> Self {
        let row =
            |row: &[f64]| row.iter().map(|bound| bound.is_finite().then_some(*bound)).collect();
        Self { shape: shape.to_vec(), rows: bounds.chunks(width(shape)).map(row).collect() }
    }

    fn bounds(self, place: &str) -> Result<(Vec<usize>, Vec<f64>), GenError> {
        check_rows(&self.shape, self.rows.iter().map(Vec::len), place)?;
        let bounds =
            self.rows.iter().flatten().map(|bound| bound.unwrap_or(f64::INFINITY)).collect();
        Ok((self.shape, bounds))
    }
}
