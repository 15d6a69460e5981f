//! Answers as a shard file holds them: storage bits in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::{Breakage, Dtype, Handling, Output, Quoted, Response, Tensor, Trouble};
use serde::{Deserialize, Serialize};

/// One answer as it is written, and whether it was the last of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredAnswer {
    pub(super) response: StoredResponse,
    pub(super) ended: bool,
}

/// One answer, and whether it was the last of its process.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answer.
    pub response: Response,
    /// Whether the process ended with it.
    pub ended: bool,
}

impl StoredAnswer {
    /// Nothing for a call that was not made.
    pub(super) fn new(response: &Response, ended: bool) -> Option<Self> {
        Some(Self { response: StoredResponse::new(response)?, ended })
    }

    /// # Errors
    /// A tensor whose data does not fit its format and shape.
    pub(super) fn answered(self) -> Result<Answered, TensorError> {
        Ok(Answered { response: self.response.response()?, ended: self.ended })
    }
}

/// A stored tensor whose data does not fit its format and shape.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum TensorError {
    #[error("{name}: expected base64, got: {error}")]
    NoBase64 { name: &'static str, error: base64::DecodeError },
    #[error("{name}: expected the elements of {stored} {shape:?}, got {got} bytes")]
    Length { name: &'static str, stored: Dtype, shape: Vec<usize>, got: usize },
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) enum StoredResponse {
    Output {
        output: StoredTensor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<StoredTensor>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lse: Option<StoredTensor>,
        inputs_unchanged: bool,
        #[serde(default, skip_serializing_if = "Handling::is_plain")]
        handling: Handling,
    },
    Unsupported(Quoted),
    Refused(Quoted),
    Error(Quoted),
    Malformed(Quoted),
    Crash(StoredTrouble),
    Timeout(StoredTrouble),
    Broken(StoredTrouble),
}

/// What went wrong with a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredTrouble {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    how: Option<Breakage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<Quoted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<Quoted>,
    // Older recordings have the whole as a text, and the field of a message.
    #[serde(default, skip_serializing)]
    what: Option<Quoted>,
    #[serde(default, skip_serializing)]
    field: Option<Quoted>,
}

/// A tensor by its storage bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredTensor {
    dtype: Dtype,
    shape: Vec<usize>,
    data: String,
    /// The elements are in float64, for some are not numbers of the format that was claimed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    wide: bool,
}

impl StoredResponse {
    fn new(response: &Response) -> Option<Self> {
        Some(match response {
            Response::Output(output) => Self::Output {
                output: StoredTensor::new(&output.output),
                weights: output.weights.as_ref().map(StoredTensor::new),
                lse: output.lse.as_ref().map(StoredTensor::new),
                inputs_unchanged: output.inputs_unchanged,
                handling: output.handling,
            },
            Response::Unsupported(reason) => Self::Unsupported(reason.clone()),
            Response::Refused(reason) => Self::Refused(reason.clone()),
            Response::Error(reason) => Self::Error(reason.clone()),
            Response::Malformed(reason) => Self::Malformed(reason.clone()),
            Response::Crash(trouble) => Self::Crash(trouble.into()),
            Response::Timeout(trouble) => Self::Timeout(trouble.into()),
            Response::Broken(trouble) => Self::Broken(trouble.into()),
            Response::NotAsked(_) => return None,
        })
    }

    fn response(self) -> Result<Response, TensorError> {
        Ok(match self {
            Self::Output { output, weights, lse, inputs_unchanged, handling } => {
                Response::Output(Box::new(Output {
                    output: output.tensor("output")?,
                    weights: weights.map(|weights| weights.tensor("weights")).transpose()?,
                    lse: lse.map(|lse| lse.tensor("lse")).transpose()?,
                    inputs_unchanged,
                    handling,
                }))
            }
            Self::Unsupported(reason) => Response::Unsupported(reason),
            Self::Refused(reason) => Response::Refused(reason),
            Self::Error(reason) => Response::Error(reason),
            Self::Malformed(reason) => Response::Malformed(reason),
            Self::Crash(trouble) => Response::Crash(trouble.into()),
            Self::Timeout(trouble) => Response::Timeout(trouble.into()),
            Self::Broken(trouble) => Response::Broken(trouble.into()),
        })
    }
}

impl From<&Trouble> for StoredTrouble {
    fn from(trouble: &Trouble) -> Self {
        let Trouble { how, detail, stderr } = trouble.clone();
        Self { how: Some(how), detail, stderr, what: None, field: None }
    }
}

impl From<StoredTrouble> for Trouble {
    fn from(StoredTrouble { how, detail, stderr, what, field }: StoredTrouble) -> Self {
        match (how, field) {
            (Some(how), _) => Self { how, detail, stderr },
            (None, Some(field)) => Self { how: Breakage::Protocol { field }, detail: what, stderr },
            (None, None) => {
                Self { how: Breakage::Said(what.unwrap_or_default()), detail: None, stderr }
            }
        }
    }
}

impl StoredTensor {
    fn new(tensor: &Tensor) -> Self {
        let wide = !tensor.data.iter().all(|x| format::is_representable(*x, tensor.dtype));
        let bits = format::encode(&tensor.data, if wide { Dtype::Float64 } else { tensor.dtype });
        Self { dtype: tensor.dtype, shape: tensor.shape.clone(), data: BASE64.encode(bits), wide }
    }

    fn tensor(self, name: &'static str) -> Result<Tensor, TensorError> {
        let Self { dtype, shape, data, wide } = self;
        let stored = if wide { Dtype::Float64 } else { dtype };
        let bytes = BASE64.decode(data).map_err(|error| TensorError::NoBase64 { name, error })?;
        let expected = shape.iter().try_fold(stored.size(), |size, n| size.checked_mul(*n));
        if expected != Some(bytes.len()) {
            return Err(TensorError::Length { name, stored, shape, got: bytes.len() });
        }
        Ok(Tensor { dtype, shape, data: format::decode(&bytes, stored) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_is_stored_with_every_bit() {
        let tensor = |dtype, shape: &[usize], data: &[f64]| Tensor {
            dtype,
            shape: shape.to_vec(),
            data: data.to_vec(),
        };
        let lse = tensor(Dtype::Float32, &[1, 1, 2], &[f64::NEG_INFINITY, f64::from(0.1f32)]);
        for lse in [None, Some(lse)] {
            let response = Response::Output(Box::new(Output {
                weights: Some(tensor(Dtype::Float16, &[1, 1, 2, 1], &[0.0, 1.0])),
                lse,
                ..Output::of(tensor(Dtype::Float16, &[1, 1, 2, 1], &[-0.0, 0.25]))
            }));
            let stored = StoredAnswer::new(&response, false).expect("an answer").response;
            let text = serde_json::to_string(&stored).expect("JSON");
            let read: StoredResponse = serde_json::from_str(&text).expect("JSON");
            assert_eq!(read.response(), Ok(response));
        }
    }
}
