//! Frozen cases as node tests: folders that the test runners of ONNX and of runtimes read, each
//! with its certified bounds.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::{Path, PathBuf};

use prost::Message;
use qkvet_engine::digits::Decimal;
use qkvet_engine::format;
use qkvet_gen::frozen::{FrozenCase, call_of, group_name};
use qkvet_spec::{Catalog, Dtype, Tensor, Unexpected};
use serde::Serialize;
use serde_json::value::RawValue;

use super::feed::Feed;
use super::node::{NodeTest, Opset, node_test};
use crate::Declined;
use crate::frozen::{empty_folder, write};

/// Version of `bounds.json`.
const BOUNDS_FORMAT: u32 = 1;

/// The folder of a case: what it is called by runners.
pub fn test_name(case: &FrozenCase) -> String {
    let id = case.id.strip_prefix("c-").unwrap_or(&case.id);
    format!("test_attention_{}_{id}", group_name(&case.case).replace('-', "_"))
}

/// A frozen case as a test of the operator Attention.
///
/// # Errors
/// What the operator cannot state.
pub fn test_of(case: &FrozenCase, opset: Opset) -> Result<NodeTest, Declined> {
    node_test(&call_of(&case.case)?, opset)
}

/// Writes node tests into a folder that is empty or not there yet.
#[derive(Debug)]
pub struct NodeTestWriter<'a> {
    folder: PathBuf,
    opset: Opset,
    catalog: &'a Catalog,
}

/// `bounds.json`: how far each element of the first output may be from its exact value.
#[derive(Serialize)]
struct Bounds<'a> {
    format: u32,
    case: &'a str,
    output: &'a str,
    dtype: Dtype,
    shape: &'a [usize],
    /// Significant digits of the answer.
    digits: u32,
    /// The exact output in decimals, row-major, none of which passed through a binary number.
    answer: Vec<Box<RawValue>>,
    /// The contract whose bounds are in `data.json`.
    default_contract: &'a str,
    /// By contract, element by element; `null` where nothing can be said.
    bounds: serde_json::Map<String, serde_json::Value>,
}

/// `data.json`: what ONNX's loader of tests reads in place of its constants.
#[derive(Serialize)]
struct Allowed {
    rtol: f64,
    atol: f64,
}

impl<'a> NodeTestWriter<'a> {
    /// Makes the folder.
    ///
    /// # Errors
    /// A folder that holds something, or cannot be made.
    pub fn create(folder: &Path, opset: Opset, catalog: &'a Catalog) -> Result<Self, Unexpected> {
        empty_folder(folder)?;
        Ok(Self { folder: folder.to_owned(), opset, catalog })
    }

    /// Writes `test_…/model.onnx`, `test_…/test_data_set_0/input_*.pb`, `output_*.pb` and
    /// `bounds.json`, and `test_…/data.json` where the default contract bounds every element.
    ///
    /// The stored output is the exact one rounded to its format; `atol` of `data.json` covers that
    /// rounding, the largest bound and the arithmetic of the comparison.
    ///
    /// # Errors
    /// A file that cannot be written. `Ok(Err(reason))` for a case that the operator cannot state.
    pub fn write(&self, case: &FrozenCase) -> Result<Result<(), Declined>, Unexpected> {
        let NodeTest { model, inputs, present } = match test_of(case, self.opset) {
            Ok(test) => test,
            Err(reason) => return Ok(Err(reason)),
        };
        let folder = self.folder.join(test_name(case));
        let data = folder.join("test_data_set_0");
        std::fs::create_dir_all(&data)
            .map_err(|error| Unexpected::at_path("folder", &data, "to be made").error(error))?;
        write(&folder.join("model.onnx"), model.encode_to_vec())?;
        for (at, feed) in inputs.iter().enumerate() {
            write(&data.join(format!("input_{at}.pb")), feed.proto().encode_to_vec())?;
        }
        let output = stored(case);
        let outputs = std::iter::once(Feed::float("output", &output)).chain(present);
        for (at, feed) in outputs.enumerate() {
            write(&data.join(format!("output_{at}.pb")), feed.proto().encode_to_vec())?;
        }
        let default = self.catalog.default_contract(case.case.dtype);
        let default =
            default.map_err(|error| Unexpected::within_path("contract", &folder, error))?;
        let bounds = bounds(case, &default.contract)
            .map_err(|error| Unexpected::within_path("bounds", &folder, error))?;
        write_json(&data.join("bounds.json"), &bounds)?;
        let largest =
            case.bounds.get(&default.contract).and_then(|bounds| largest(case, &output, bounds));
        if let Some(atol) = largest {
            write_json(&folder.join("data.json"), &Allowed { rtol: 0.0, atol })?;
        }
        Ok(Ok(()))
    }
}

/// The exact output, rounded to the format of the case.
fn stored(case: &FrozenCase) -> Tensor {
    let dtype = case.case.dtype;
    let data =
        case.answer.values.iter().map(|answer| format::round(answer.to_f64(), dtype)).collect();
    Tensor { dtype, shape: case.answer.shape.to_vec(), data }
}

/// `max_i (bound_i + |stored_i − answer_i|)`, with room for a comparison in the arithmetic of the
/// format; `None` if a bound is infinite.
fn largest(case: &FrozenCase, output: &Tensor, bounds: &[f64]) -> Option<f64> {
    let dtype = output.dtype;
    let answers = case.answer.values.iter().map(Decimal::to_f64);
    let each = output
        .data
        .iter()
        .zip(answers)
        .zip(bounds)
        .map(|((stored, answer), bound)| bound + (stored - answer).abs());
    let most = each.fold(0.0, f64::max);
    let room =
        (1.0 + 8.0 * format::unit_roundoff(dtype)) * most + format::smallest_subnormal(dtype);
    room.is_finite().then_some(room)
}

fn bounds<'a>(case: &'a FrozenCase, default_contract: &'a str) -> Result<Bounds<'a>, Unexpected> {
    let decimal = |answer: &Decimal| {
        RawValue::from_string(answer.to_string())
            .map_err(|_| Unexpected::at("element of the answer", "a JSON number").got(answer))
    };
    let row = |bounds: &Vec<f64>| {
        bounds.iter().map(|bound| bound.is_finite().then_some(*bound)).collect::<Vec<_>>()
    };
    Ok(Bounds {
        format: BOUNDS_FORMAT,
        case: &case.id,
        output: "output",
        dtype: case.case.dtype,
        shape: &case.answer.shape,
        digits: case.digits,
        answer: case.answer.values.iter().map(decimal).collect::<Result<_, _>>()?,
        default_contract,
        bounds: case
            .bounds
            .iter()
            .map(|(contract, bounds)| (contract.clone(), row(bounds).into()))
            .collect(),
    })
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Unexpected> {
    let text = serde_json::to_string(value)
        .map_err(|error| Unexpected::within_path("file", path, error))?;
    write(path, text + "\n")
}
