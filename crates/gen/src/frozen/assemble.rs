//! From the parts of a stored frozen case, whatever they were stored in, to a case that can be
//! trusted.

use indexmap::IndexMap;
use qkvet_engine::digits::{Answer, Decimal};
use qkvet_spec::{BoolTensor, Call, CallOptions, Dims, Dtype, Tensor, VALUE_LAW};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call::{call_of, case_of};
use super::names::{Unique, check_id, check_word};
use super::{FROZEN_FORMAT, FrozenCase};
use crate::validate::check_dims;
use crate::{GenError, case_id};

/// More digits than anybody can use.
const MAX_DIGITS: u32 = 40;

/// Everything but tensors: a document of its own in files that hold tensors in binary.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Facts {
    pub(super) format: u32,
    pub(super) id: String,
    pub(super) law: String,
    pub(super) dtype: Dtype,
    pub(super) dims: Dims,
    pub(super) conventions: Unique<String>,
    pub(super) hunts: Vec<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) scale: Option<f64>,
    pub(super) causal: bool,
    pub(super) digits: u32,
    /// The answer's decimals, where binary64 does not give them back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decimals: Option<Vec<Box<RawValue>>>,
}

impl Facts {
    pub(super) fn of(frozen: &FrozenCase) -> Self {
        Self {
            format: FROZEN_FORMAT,
            id: frozen.id.clone(),
            law: frozen.case.law.clone(),
            dtype: frozen.case.dtype,
            dims: frozen.case.dims,
            conventions: Unique(frozen.conventions.clone()),
            hunts: frozen.hunts.clone(),
            scale: frozen.case.options.scale,
            causal: frozen.case.options.causal,
            digits: frozen.digits,
            decimals: None,
        }
    }
}

/// Everything else.
#[derive(Clone, Debug)]
pub(super) struct Tensors {
    pub(super) query: Tensor,
    pub(super) key: Tensor,
    pub(super) value: Tensor,
    pub(super) mask: Option<BoolTensor>,
    pub(super) bias: Option<Tensor>,
    pub(super) answer: (Vec<usize>, Vec<Decimal>),
    pub(super) bounds: IndexMap<String, (Vec<usize>, Vec<f64>)>,
}

/// Checks a document's version of the format.
pub(super) fn check_format(format: u32) -> Result<(), GenError> {
    if format == FROZEN_FORMAT {
        return Ok(());
    }
    Err(GenError::new("document", "`format`", FROZEN_FORMAT.to_string(), format.to_string()))
}

/// The extents of a tensor with four axes.
pub(super) fn shape_of(dims: &Dims, name: &str) -> [usize; 4] {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = *dims;
    match name {
        "query" => [b, h_q, n_q, d_k],
        "key" => [b, h_k, n_k, d_k],
        "value" => [b, h_k, n_k, d_v],
        _ => [b, h_q, n_q, d_v],
    }
}

/// Puts a case together; every shape, element and word is checked, and the id must be the
/// content's.
pub(super) fn assemble(facts: Facts, tensors: Tensors) -> Result<FrozenCase, GenError> {
    check_id(&facts.id, "`id`")?;
    let id = facts.id.clone();
    checked(facts, tensors).map_err(|error| error.of_case(&id))
}

fn checked(facts: Facts, tensors: Tensors) -> Result<FrozenCase, GenError> {
    check_format(facts.format)?;
    if facts.law != VALUE_LAW {
        return Err(GenError::new(
            "law",
            "`law`",
            format!("`{VALUE_LAW}`"),
            format!("`{:.64}`", facts.law),
        ));
    }
    check_dims(&facts.dims, "`dims`")?;
    if !(1..=MAX_DIGITS).contains(&facts.digits) {
        return Err(GenError::new(
            "number",
            "`digits`",
            format!("1 to {MAX_DIGITS}"),
            facts.digits.to_string(),
        ));
    }
    for (field, value) in &facts.conventions.0 {
        check_word(field, "`conventions`")?;
        check_word(value, "`conventions`")?;
    }
    facts.hunts.iter().try_for_each(|fault| check_word(fault, "`hunts`"))?;
    let Tensors { query, key, value, mask, bias, answer: (answer_shape, values), bounds } = tensors;
    for (name, tensor) in [("query", &query), ("key", &key), ("value", &value)] {
        check_shape(name, &tensor.shape, tensor.data.len(), &facts.dims)?;
        if tensor.dtype != facts.dtype {
            return Err(GenError::new("format", name, facts.dtype.name(), tensor.dtype.name()));
        }
    }
    check_shape("answer", &answer_shape, values.len(), &facts.dims)?;
    if let Some(decimal) = values.iter().find(|decimal| !decimal.to_f64().is_finite()) {
        return Err(GenError::new(
            "element",
            "answer",
            "numbers that binary64 can hold",
            format!("{decimal:.64}"),
        ));
    }
    let mut allowed = IndexMap::new();
    for (contract, (shape, data)) in bounds {
        let place = format!("bounds of {contract:.64}");
        check_word(&contract, "`bounds`")?;
        check_shape(&place, &shape, data.len(), &facts.dims)?;
        if let Some(bound) = data.iter().find(|bound| bound.is_nan() || **bound < 0.0) {
            return Err(GenError::new(
                "bound",
                place,
                "numbers that are not negative",
                format!("{bound:?}"),
            ));
        }
        allowed.insert(contract, data);
    }
    let call = Call {
        query,
        key,
        value,
        return_weights: false,
        return_lse: false,
        options: CallOptions {
            scale: facts.scale,
            causal: facts.causal,
            mask,
            bias,
            ..CallOptions::default()
        },
    };
    let case = case_of(&call);
    call_of(&case)?;
    let id = case_id(&case);
    if id != facts.id {
        return Err(GenError::new(
            "id",
            "`id`",
            format!("`{id}`, the content's"),
            format!("`{}`", facts.id),
        ));
    }
    // The text does not say which numbers are exact; taken as rounded, none claims more than is
    // known.
    let values = values.into_iter().map(|decimal| decimal.rounded_to(facts.digits)).collect();
    Ok(FrozenCase {
        id,
        case,
        digits: facts.digits,
        answer: Answer { shape: shape_of(&facts.dims, "answer"), values },
        bounds: allowed,
        conventions: facts.conventions.0,
        hunts: facts.hunts,
    })
}

fn check_shape(name: &str, shape: &[usize], elements: usize, dims: &Dims) -> Result<(), GenError> {
    let expected = shape_of(dims, name);
    if shape != expected {
        return Err(GenError::new("shape", name, format!("{expected:?}"), format!("{shape:?}")));
    }
    let product: usize = expected.iter().product();
    if product == elements {
        return Ok(());
    }
    Err(GenError::new("elements", name, product.to_string(), elements.to_string()))
}
