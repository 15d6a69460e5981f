//! Numbers of cases by name, as files have them: any of them can be added without overflow.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// No run has more cases; 2^23 such numbers can be added.
const MAX_CASES: usize = 1 << 40;

/// Reads numbers of cases by name.
pub(crate) fn tally<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<BTreeMap<String, usize>, D::Error> {
    let tally = BTreeMap::<String, usize>::deserialize(source)?;
    match tally.iter().find(|(_, cases)| **cases > MAX_CASES) {
        None => Ok(tally),
        Some((name, cases)) => Err(D::Error::custom(format!(
            "cases of `{name}`: expected at most {MAX_CASES}, got {cases}"
        ))),
    }
}

/// Reads one number of cases.
pub(crate) fn cases<'de, D: Deserializer<'de>>(source: D) -> Result<usize, D::Error> {
    let cases = usize::deserialize(source)?;
    if cases > MAX_CASES {
        return Err(D::Error::custom(format!("cases: expected at most {MAX_CASES}, got {cases}")));
    }
    Ok(cases)
}
