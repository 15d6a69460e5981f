//! What a report shows of a finding beyond words: one query of its witness number by number, and a
//! whole head as a picture.

use std::borrow::Cow;
use std::fmt::Write;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Numbers in one line, parted by blanks, `NaN`, `inf` and `-inf` among them: `0.5 1.0 NaN`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers(pub Vec<f64>);

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for (at, x) in self.0.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            // Writing to a string does not fail. The shortest digits that read back to the number.
            let _ = write!(text, "{blank}{x:?}");
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let number = |word: &str| {
            word.parse().map_err(|_| {
                D::Error::custom(format!("numbers: expected numbers and blanks, got `{word}`"))
            })
        };
        text.split_ascii_whitespace().map(number).collect::<Result<_, _>>().map(Self)
    }
}

/// A number; in JSON the text `NaN`, `inf` or `-inf` where it is none of JSON.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

impl PartialEq for Number {
    /// The same bits: NaN is what was seen, and equal to itself.
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Word(NotFinite),
        }
        #[derive(Deserialize)]
        enum NotFinite {
            NaN,
            #[serde(rename = "inf")]
            Infinite,
            #[serde(rename = "-inf")]
            Negative,
        }
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Number(x) => x,
            Written::Word(NotFinite::NaN) => f64::NAN,
            Written::Word(NotFinite::Infinite) => f64::INFINITY,
            Written::Word(NotFinite::Negative) => f64::NEG_INFINITY,
        }))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number; a text where it is none of JSON",
            "anyOf": [{ "type": "number" }, { "enum": ["NaN", "inf", "-inf"] }]
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Numbers {
    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Numbers in one line, parted by blanks: `0.5 1.0 NaN`",
            "type": "string",
            "pattern": r"^((-?inf|NaN|-?[0-9.]+(e-?[0-9]+)?)( |$))*$"
        })
    }
}

/// One query of a call of the witness, from scores to output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkedExample {
    /// The call as the law writes it.
    pub call: String,
    /// The result that is shown: `output`, `weights` or `lse`.
    pub result: String,
    /// Batch item.
    pub item: usize,
    /// Query head.
    pub head: usize,
    /// Query.
    pub query: usize,
    /// Keys that are shown; of many those of most weight.
    pub keys: Vec<usize>,
    /// Number of keys.
    pub n_k: usize,
    /// How the result comes about under the meaning that it was judged by.
    pub expected: Steps,
    /// How it comes about with the cause that is named, where that changes what is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supposed: Option<Steps>,
    /// Columns of the result that are shown; of many those farthest out.
    pub columns: Vec<usize>,
    /// Number of columns.
    pub width: usize,
    /// For each key that is shown its value at each column that is shown; none where the result is
    /// no output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Numbers>,
    /// Midpoints of the enclosures.
    pub exact: Numbers,
    /// How far from the midpoint a result may be: radius and bound together.
    pub allowed: Numbers,
    /// What the target gave.
    pub got: Numbers,
    /// What the cause that is named gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Numbers>,
}

/// One query of one head, a number for each key that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Dot products `q · k_j`.
    pub products: Numbers,
    /// What the stages make of them, in their order.
    pub stages: Vec<StageStep>,
    /// What enters the softmax, −∞ for a key that is hidden.
    pub logits: Numbers,
    /// Weights; of a sink nothing is shown here.
    pub weights: Numbers,
    /// The logit of the sink, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<Numbers>,
}

/// The scores behind one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StageStep {
    /// What is done: `· 0.5`, `softcap 30`, `+ bias`.
    pub stage: String,
    /// Scores behind it.
    pub scores: Numbers,
}

/// A head of a call that shows the finding, small enough to be looked at as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// Case id.
    pub case: String,
    /// Extents, format and options in one line.
    pub call: String,
    /// The call as the law writes it.
    pub label: String,
    /// Batch item.
    pub item: usize,
    /// Query head.
    pub head: usize,
    /// Exact weights, a line of `n_k` numbers for each query, to four digits.
    pub weights: Vec<Numbers>,
    /// Whether a query sees a key: a line of `1` and `0` for each query.
    pub seen: Vec<String>,
    /// Weights with the cause that is named, where it changes what is computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supposed_weights: Vec<Numbers>,
    /// Whether a query sees a key with that cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supposed_seen: Vec<String>,
    /// Distance over bound of every element of the result, a line for each query; `inf` where no
    /// error is allowed, and for NaN.
    pub ratios: Vec<Numbers>,
    /// The result: `output`, `weights` or `lse`.
    pub result: String,
}
