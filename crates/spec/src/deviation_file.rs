//! Files of deviations: what a target computes in place of the standard, kept to hold it against.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    DeviationFormula, IndexExpr, MeaningPatch, ResultName, SpecError, Twist, Unexpected, parse_yaml,
};

/// Extents are not larger, and what is made of them need not be.
const MAX_DIGITS: usize = 6;

/// What a target computes in place of the standard, in a file: all of it at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviationFile {
    /// The deviations.
    pub deviations: Vec<SavedDeviation>,
}

/// A deviation in a file: a fault of the atlas, or a formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SavedDeviation {
    /// Id or code of the fault; absent: `formula`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What is computed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "formula")]
    pub formula: Option<DeviationFormula>,
    /// Where the formula holds, by the call, or by `item`, `h`, `i` and `c`; absent: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<IndexExpr>,
}

/// A formula of which no field is passed over.
fn formula<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DeviationFormula>, D::Error> {
    let mut fields = serde_json::Map::deserialize(from)?;
    let meaning = match fields.remove("meaning") {
        Some(meaning) => MeaningPatch::deserialize(meaning).map_err(D::Error::custom)?,
        None => MeaningPatch::default(),
    };
    let result = match fields.remove("result") {
        Some(result) => Some(ResultName::deserialize(result).map_err(D::Error::custom)?),
        None => None,
    };
    let twist = match fields.is_empty() {
        true => None,
        false => {
            let twist = Twist::deserialize(serde_json::Value::Object(fields));
            Some(twist.map_err(D::Error::custom)?)
        }
    };
    Ok(Some(DeviationFormula { meaning, twist, result }))
}

impl DeviationFile {
    /// Reads it.
    ///
    /// # Errors
    /// YAML that does not fit, a whole number that is too long.
    pub fn from_yaml(path: &str, source: &str) -> Result<Self, SpecError> {
        let is_long = |number: &&str| {
            let digits = number.chars().filter(char::is_ascii_digit).count();
            // Those of other bases are not told by their digits.
            digits > MAX_DIGITS || number.starts_with('0') && number.contains(['x', 'o', 'b'])
        };
        let words = source.split(|c: char| !c.is_ascii_alphanumeric() && !['.', '_'].contains(&c));
        let is_whole =
            |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('.');
        if let Some(number) = words.filter(is_whole).find(is_long) {
            let expected = format!("whole numbers of {MAX_DIGITS} digits at most");
            return Err(Unexpected::at_path("deviations", path, expected).got(number).into());
        }
        parse_yaml(path, source)
    }

    /// The file as text, without comments.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_yaml(&self) -> Result<String, Unexpected> {
        serde_yaml::to_string(self).map_err(|error| Unexpected::within("deviations", error))
    }
}
