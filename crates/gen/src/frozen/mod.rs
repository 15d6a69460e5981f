//! Frozen cases: single calls with certified answers, the same on every machine for ever, readable
//! without qkvet.
//!
//! [`freeze`] turns a case of the law `value` into a [`FrozenCase`]; [`frozen_plans`] says which
//! cases a suite freezes. Text for people and for version control is written and read by
//! [`write_group`] and [`Manifest`], files for programs by [`case_to_safetensors`] and its kin, and
//! outputs that come back by [`output_from_npz`] and its kin. Where the bytes lie is the caller's
//! concern.

mod archive;
mod assemble;
mod call;
mod case_json;
mod document;
mod facts;
mod group;
mod inputs;
mod manifest;
mod names;
mod npy;
mod npz;
mod output;
mod output_json;
mod plans;
mod safetensors;

use indexmap::IndexMap;
use qkvet_engine::Products;
use qkvet_engine::digits::{Answer, answer_bounds_with, answer_with};
use qkvet_spec::{Case, Catalog, Dtype, Meaning};

pub use archive::{case_from_npz, case_from_safetensors, case_to_npz, case_to_safetensors};
pub use call::{call_of, case_of};
pub use case_json::{case_from_json, case_to_json};
pub use group::{
    FrozenGroup, frozen_groups, group_name, read_group, strip_snapshot_header, write_group,
};
pub use inputs::{OwnCase, call_from_npz, call_from_safetensors, call_to_npz};
pub use manifest::{
    GroupEntry, LargerEntry, Manifest, content_hash, read_manifest, write_manifest,
};
pub use output::{
    StoredOutput, output_from_npz, output_from_safetensors, output_to_npz, output_to_safetensors,
};
pub use output_json::{output_from_json, output_to_json};
pub use plans::{FrozenPlans, frozen_plans};

use crate::{GenError, case_id};

/// Version of every document and file of this module.
pub const FROZEN_FORMAT: u32 = 1;

/// One call of attention with its certified answer.
#[derive(Clone, Debug, PartialEq)]
pub struct FrozenCase {
    /// The case's id: the hash of its content, see [`case_id`].
    pub id: String,
    /// A case of the law `value`.
    pub case: Case,
    /// Significant digits of the answer.
    pub digits: u32,
    /// The exact output under the standard meaning, every number correctly rounded to `digits`
    /// digits or exact. Of a case that was read, every number counts as rounded.
    pub answer: Answer,
    /// By contract: how far an output may be from the answer, element by element, infinite where
    /// nothing can be said.
    pub bounds: IndexMap<String, Vec<f64>>,
    /// Fields of conventions that matter here, each with the standard's value: a target that
    /// follows another value of one of them is asked something else by this case and skips it.
    pub conventions: IndexMap<String, String>,
    /// Faults whose output is outside the bound of the default contract, or of the wrong shape.
    pub hunts: Vec<String>,
}

/// Significant digits that are kept for outputs of a format: more than the format can tell apart.
fn digits_of(dtype: Dtype) -> u32 {
    match dtype.size() {
        8 => 17,
        4 => 12,
        _ => 9,
    }
}

/// Freezes a case of the law `value`: answers it under the standard meaning and says whom the
/// answer catches.
///
/// The result depends on the case and the catalog alone: the answer is exact rounding, the bounds
/// come from products in a fixed order.
///
/// # Shapes
/// Answer and bounds: `(b, h_q, n_q, d_v)`, row-major.
///
/// # Error bound
/// The answer is within half a unit of its last digit; each bound covers the contract's own bound,
/// the digits that were cut off and the reader's arithmetic in binary64.
///
/// # Errors
/// A case that is no single call, a format without contract, and what the digits cannot be
/// certified for.
pub fn freeze(catalog: &Catalog, case: &Case) -> Result<FrozenCase, GenError> {
    freeze_with(catalog, case, Products::FixedOrder)
}

/// [`freeze`] with the given matrix products in place of those in a fixed order: a test that
/// nothing depends on them.
///
/// # Errors
/// As [`freeze`].
pub fn freeze_with(
    catalog: &Catalog,
    case: &Case,
    products: Products,
) -> Result<FrozenCase, GenError> {
    let call = call_of(case)?;
    let id = case_id(case);
    let digits = digits_of(case.dtype);
    let standard = Meaning::standard();
    let uncertified = |error: &dyn std::fmt::Display| {
        GenError::new(
            "answer",
            format!("case {id}"),
            format!("{digits} certified digits"),
            error.to_string(),
        )
    };
    let answer =
        answer_with(&standard, &call, digits, products).map_err(|error| uncertified(&error))?;
    let contracts = catalog
        .contracts
        .values()
        .filter(|contract| contract.frozen && contract.dtype == case.dtype);
    let bounds = contracts
        .map(|contract| {
            (
                contract.contract.clone(),
                answer_bounds_with(&standard, &call, contract, &answer, products),
            )
        })
        .collect::<IndexMap<_, _>>();
    let default = catalog.default_contract(case.dtype).map_err(|error| uncertified(&error))?;
    let conventions = facts::conventions(catalog, &call, default, products);
    let hunts = facts::hunts(catalog, &call, &answer, &bounds[&default.contract]);
    Ok(FrozenCase { id, case: case.clone(), digits, answer, bounds, conventions, hunts })
}
