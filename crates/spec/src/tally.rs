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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_number_of_cases_is_refused() {
        let read = |text: &str| {
            tally(&mut serde_json::Deserializer::from_str(text)).map_err(|e| e.to_string())
        };
        assert_eq!(read(r#"{"PASS": 1099511627776}"#).expect("a tally")["PASS"], MAX_CASES);
        let error = read(r#"{"PASS": 18446744073709551615}"#).expect_err("too many");
        assert!(
            error.starts_with(
                "cases of `PASS`: expected at most 1099511627776, got 18446744073709551615"
            ),
            "{error}"
        );
    }
}
