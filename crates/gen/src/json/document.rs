//! The document as types: what `serde` reads and writes.

use std::fmt;

use indexmap::IndexMap;
use qkvet_spec::{Binding, CallOptions, Dims, Dtype, Matrices, Packed, Tensor, Window};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::rows::{FloatRows, MaskRows, check_rows};
use crate::GenError;
use crate::validate::{check_elements, is_variable};

/// A stored case.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) law: String,
    pub(super) dtype: Dtype,
    pub(super) dims: Dims,
    pub(super) options: Options,
    pub(super) bindings: Bindings,
}

/// Options that are on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
    causal: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<MaskRows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bias: Option<FloatRows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    softcap: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    /// One number for each query head, as the slopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sinks: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alibi_slopes: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_lengths: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query_lengths: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packed: Option<Packed>,
}

impl Options {
    pub(super) fn new(options: &CallOptions) -> Self {
        let by_head = |tensor: &Option<Tensor>| tensor.as_ref().map(|tensor| tensor.data.clone());
        Self {
            scale: options.scale,
            causal: options.causal,
            mask: options.mask.as_ref().map(|mask| MaskRows::new(&mask.shape, &mask.data)),
            bias: options.bias.as_ref().map(|bias| FloatRows::new(&bias.shape, &bias.data)),
            softcap: options.softcap,
            window: options.window,
            sinks: by_head(&options.sinks),
            alibi_slopes: by_head(&options.alibi_slopes),
            key_lengths: options.key_lengths.clone(),
            query_lengths: options.query_lengths.clone(),
            packed: options.packed.clone(),
        }
    }

    pub(super) fn options(self, dtype: Dtype) -> Result<CallOptions, GenError> {
        let by_head = |data: Option<Vec<f64>>| {
            data.map(|data| Tensor { dtype, shape: vec![data.len()], data })
        };
        Ok(CallOptions {
            scale: self.scale,
            causal: self.causal,
            mask: self.mask.map(|mask| mask.tensor("mask")).transpose()?,
            bias: self.bias.map(|bias| bias.tensor("bias", dtype)).transpose()?,
            softcap: self.softcap,
            window: self.window,
            sinks: by_head(self.sinks),
            alibi_slopes: by_head(self.alibi_slopes),
            key_lengths: self.key_lengths,
            query_lengths: self.query_lengths,
            packed: self.packed,
        })
    }
}

/// The value of a variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Value {
    Dim(usize),
    Index(usize),
    Indices(Vec<usize>),
    Real(f64),
    Matrices(MatrixRows),
}

/// Matrices, rows inside heads inside items.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatrixRows {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heads: Option<usize>,
    rows: usize,
    cols: usize,
    data: Vec<Vec<f64>>,
}

impl Value {
    fn new(binding: &Binding) -> Self {
        match binding {
            Binding::Dim(n) => Self::Dim(*n),
            Binding::Index(n) => Self::Index(*n),
            Binding::Indices(all) => Self::Indices(all.clone()),
            Binding::Real(x) => Self::Real(*x),
            Binding::Matrices(Matrices { batch, heads, rows, cols, data }) => {
                Self::Matrices(MatrixRows {
                    batch: *batch,
                    heads: *heads,
                    rows: *rows,
                    cols: *cols,
                    data: data.chunks((*cols).max(1)).map(<[f64]>::to_vec).collect(),
                })
            }
        }
    }

    fn binding(self, dtype: Dtype, place: &str) -> Result<Binding, GenError> {
        Ok(match self {
            Self::Dim(n) => Binding::Dim(n),
            Self::Index(n) => Binding::Index(n),
            Self::Indices(all) => Binding::Indices(all),
            Self::Real(x) => {
                check_elements(&[x], dtype, place)?;
                Binding::Real(x)
            }
            Self::Matrices(MatrixRows { batch, heads, rows, cols, data }) => {
                let shape = [batch.unwrap_or(1), heads.unwrap_or(1), rows, cols];
                check_rows(&shape, data.iter().map(Vec::len), place)?;
                let data = data.concat();
                check_elements(&data, dtype, place)?;
                Binding::Matrices(Matrices { batch, heads, rows, cols, data })
            }
        })
    }
}

/// Variables in order of declaration; a name that comes twice is an error.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Bindings(IndexMap<String, Value>);

impl Bindings {
    pub(super) fn new(bindings: &IndexMap<String, Binding>) -> Self {
        Self(bindings.iter().map(|(name, binding)| (name.clone(), Value::new(binding))).collect())
    }

    pub(super) fn bindings(self, dtype: Dtype) -> Result<IndexMap<String, Binding>, GenError> {
        let named = |(name, value): (String, Value)| {
            let binding = value.binding(dtype, &format!("variable `{name}`"))?;
            Ok((name, binding))
        };
        self.0.into_iter().map(named).collect()
    }
}

impl<'de> Deserialize<'de> for Bindings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BindingsVisitor)
    }
}

struct BindingsVisitor;

impl<'de> Visitor<'de> for BindingsVisitor {
    type Value = Bindings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variables by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Bindings, A::Error> {
        let mut bindings = IndexMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if !is_variable(&name) {
                return Err(A::Error::custom(format!(
                    "variable `{name:.32}`: expected a short word"
                )));
            }
            if bindings.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "variable `{name}`: expected once, got twice"
                )));
            }
            let value = map.next_value()?;
            bindings.insert(name, value);
        }
        Ok(Bindings(bindings))
    }
}
