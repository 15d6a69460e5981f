//! Which cases a suite freezes.

use qkvet_spec::{Catalog, Dtype, Suite, VALUE_LAW};

use crate::{CasePlan, GenError, check_suite, plans};

/// Seed of every frozen case: there is one set of them.
pub(super) const SEED: u64 = 0;

/// Plans of the frozen cases of a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrozenPlans {
    /// Small cases, kept as text.
    pub text: Vec<CasePlan>,
    /// Cases over the suite's own shapes, of which the hash is kept.
    pub larger: Vec<CasePlan>,
}

/// The plans that a suite freezes for the given formats, format by format; none where it has no
/// section `frozen`.
///
/// Leaving out a format moves no other plan. The kept cases have the manifest's seed, 0; another
/// gives others of the same kind.
///
/// # Errors
/// A suite that cannot be combined into cases, or a catalog without the law `value`.
pub fn frozen_plans(
    catalog: &Catalog,
    suite: &Suite,
    dtypes: &[Dtype],
    seed: u64,
) -> Result<FrozenPlans, GenError> {
    check_suite(suite)?;
    let Some(frozen) = &suite.frozen else { return Ok(FrozenPlans::default()) };
    let law = catalog.laws.get(VALUE_LAW).ok_or_else(|| {
        GenError::new("law", "catalog", format!("`{VALUE_LAW}`, a single call"), "none")
    })?;
    let values = frozen.values.as_ref().unwrap_or(&suite.values).clone();
    let plain =
        Suite { version: 1, rounds: 1, extended: None, together: None, values, ..suite.clone() };
    let small = Suite { shapes: frozen.shapes.clone(), limit: frozen.limit, ..plain.clone() };
    let shapes = frozen.larger_shapes.as_ref().unwrap_or(&suite.shapes).clone();
    let large = Suite { shapes, limit: Some(frozen.larger), alone: 0, ..plain };
    let larger = if frozen.larger == 0 { Vec::new() } else { plans(&large, &[law], dtypes, seed) };
    Ok(FrozenPlans { text: plans(&small, &[law], dtypes, seed), larger })
}
