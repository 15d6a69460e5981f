//! Messages of `qkvet-wire/1`: one JSON object a line, storage bits in base64. Encoding and validation only, no pipes.
//!
//! A reply is checked before it is believed: sequence number, status, format name and payload length against the shape.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::{BoolTensor, Call, Dtype, Output, Response, Tensor};
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub(crate) const WIRE: u32 = 1;

/// A tensor on its way to a target.
#[derive(Serialize)]
struct Sent<'a> {
    dtype: &'a str,
    shape: &'a [usize],
    data: String,
}

impl<'a> Sent<'a> {
    fn float(tensor: &'a Tensor) -> Self {
        let bits = format::encode(&tensor.data, tensor.dtype);
        Self { dtype: tensor.dtype.name(), shape: &tensor.shape, data: BASE64.encode(bits) }
    }

    fn bool(tensor: &'a BoolTensor) -> Self {
        let bits: Vec<u8> = tensor.data.iter().map(|x| u8::from(*x)).collect();
        Self { dtype: "bool", shape: &tensor.shape, data: BASE64.encode(bits) }
    }
}

#[derive(Serialize)]
struct Run<'a> {
    op: &'static str,
    seq: u64,
    params: BTreeMap<&'static str, serde_json::Value>,
    want: Vec<&'static str>,
    tensors: BTreeMap<&'static str, Sent<'a>>,
}

/// The request that asks for one call. An option that the call leaves out is not named.
pub(crate) fn run_request(seq: u64, call: &Call) -> Result<Vec<u8>, serde_json::Error> {
    let mut params = BTreeMap::new();
    if let Some(scale) = call.scale {
        params.insert("scale", scale.into());
        params.insert("scale_hex", hex_float(scale).into());
    }
    if call.causal {
        params.insert("causal", true.into());
    }
    let mut want = vec!["output"];
    if call.return_weights {
        want.push("weights");
    }
    let mut tensors = BTreeMap::from([
        ("query", Sent::float(&call.query)),
        ("key", Sent::float(&call.key)),
        ("value", Sent::float(&call.value)),
    ]);
    if let Some(mask) = &call.mask {
        tensors.insert("mask", Sent::bool(mask));
    }
    if let Some(bias) = &call.bias {
        tensors.insert("bias", Sent::float(bias));
    }
    line(&Run { op: "run", seq, params, want, tensors })
}

/// A message with its line break.
pub(crate) fn line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `x` in the notation of C's `%a`, exact: `0x1.8p-2`, `-0x0p+0`, `inf`, `nan`.
pub(crate) fn hex_float(x: f64) -> String {
    let sign = if x.is_sign_negative() && !x.is_nan() { "-" } else { "" };
    if !x.is_finite() {
        return if x.is_nan() { "nan".to_owned() } else { format!("{sign}inf") };
    }
    let bits = x.to_bits();
    let (biased, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, i64::try_from(biased).unwrap_or(0) - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

#[derive(Deserialize)]
struct Received<'a> {
    dtype: String,
    shape: Vec<usize>,
    #[serde(borrow)]
    data: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    seq: u64,
    status: String,
    reason: Option<String>,
    #[serde(default)]
    fatal: bool,
    #[serde(default = "yes")]
    inputs_unchanged: bool,
    #[serde(borrow, default)]
    tensors: BTreeMap<String, Received<'a>>,
}

fn yes() -> bool {
    true
}

/// A reply that was understood.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    /// What the target answered.
    pub(crate) response: Response,
    /// The process is not to be used again.
    pub(crate) fatal: bool,
}

/// Reads the answer to request `seq`.
///
/// # Errors
/// A sentence if the line is not an answer to that request: the conversation is out of step and cannot go on.
pub(crate) fn parse_reply(line: &[u8], seq: u64, weights: bool) -> Result<Reply, String> {
    let answer: Answer<'_> = serde_json::from_slice(line)
        .map_err(|e| format!("reply to request {seq}: expected a JSON answer, got {}: {e}", quoted(line)))?;
    if answer.seq != seq {
        return Err(format!("reply to request {seq}: expected seq {seq}, got {}", answer.seq));
    }
    let reason = answer.reason.unwrap_or_else(|| "no reason given".to_owned());
    let response = match answer.status.as_str() {
        "ok" => match output(&answer.tensors, weights, answer.inputs_unchanged) {
            Ok(output) => Response::Output(Box::new(output)),
            Err(reason) => Response::Malformed(reason),
        },
        "unsupported" => Response::Unsupported(reason),
        "refused" => Response::Refused(reason),
        "error" => Response::Error(reason),
        "malformed" => Response::Malformed(reason),
        status => {
            return Err(format!(
                "reply to request {seq}: expected status ok, unsupported, refused, error or malformed, got `{status}`"
            ));
        }
    };
    Ok(Reply { response, fatal: answer.fatal })
}

fn output(tensors: &BTreeMap<String, Received<'_>>, weights: bool, inputs_unchanged: bool) -> Result<Output, String> {
    let find = |name: &str| match tensors.get(name) {
        Some(received) => tensor(name, received),
        None => Err(format!("{name}: expected a tensor, got none")),
    };
    let weights = if weights { Some(find("weights")?) } else { None };
    Ok(Output { output: find("output")?, weights, inputs_unchanged })
}

fn tensor(name: &str, received: &Received<'_>) -> Result<Tensor, String> {
    let dtype = Dtype::from_name(&received.dtype).ok_or_else(|| {
        format!("{name}: expected float64, float32, bfloat16 or float16, got dtype {}", received.dtype)
    })?;
    let bytes =
        BASE64.decode(received.data.as_bytes()).map_err(|e| format!("{name}: expected base64 data, got {e}"))?;
    let expected = received.shape.iter().try_fold(dtype.size(), |size, n| size.checked_mul(*n));
    if expected != Some(bytes.len()) {
        let expected = expected.map_or_else(|| "more than can be addressed".to_owned(), |n| n.to_string());
        return Err(format!(
            "{name}: expected {expected} bytes for {dtype} of shape {:?}, got {}",
            received.shape,
            bytes.len()
        ));
    }
    Ok(Tensor { dtype, shape: received.shape.clone(), data: format::decode(&bytes, dtype) })
}

/// The beginning of some foreign bytes, fit for a message.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let head: String = String::from_utf8_lossy(&bytes[..bytes.len().min(240)]).trim_end().chars().take(80).collect();
    format!("{head:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_floats() {
        for (x, expected) in [
            (0.25, "0x1p-2"),
            (-1.5, "-0x1.8p+0"),
            (0.0, "0x0p+0"),
            (-0.0, "-0x0p+0"),
            (0.1, "0x1.999999999999ap-4"),
            (f64::MAX, "0x1.fffffffffffffp+1023"),
            (5e-324, "0x0.0000000000001p-1022"),
            (f64::MIN_POSITIVE, "0x1p-1022"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(hex_float(x), expected);
        }
    }

    fn check(line: &str, expected: &str) {
        let got = match parse_reply(line.as_bytes(), 3, false) {
            Ok(reply) => format!("{:?}", reply.response),
            Err(reason) => format!("protocol: {reason}"),
        };
        assert!(got.contains(expected), "{line}\n  expected {expected}\n  got {got}");
    }

    #[test]
    fn replies() {
        let ok = |tensor: &str| format!(r#"{{"seq":3,"status":"ok","new":[1],"tensors":{{"output":{tensor}}}}}"#);
        check(&ok(r#"{"dtype":"float32","shape":[1],"data":"AACAPw=="}"#), "data: [1.0]");
        check(&ok(r#"{"dtype":"bfloat16","shape":[1,2],"data":"gD+APw=="}"#), "data: [1.0, 1.0]");
        check(&ok(r#"{"dtype":"float16","shape":[0,9],"data":""}"#), "data: []");
        check(
            &ok(r#"{"dtype":"float32","shape":[2],"data":"AACAPw=="}"#),
            "expected 8 bytes for float32 of shape [2], got 4",
        );
        let huge = r#"{"dtype":"float64","shape":[4294967296,4294967296,9],"data":""}"#;
        check(&ok(huge), "more than can be addressed");
        check(&ok(r#"{"dtype":"int64","shape":[1],"data":""}"#), "got dtype int64");
        check(&ok(r#"{"dtype":"float32","shape":[1],"data":"A*"}"#), "expected base64 data");
        check(
            &ok(r#"{"dtype":"float32","shape":[-1],"data":""}"#),
            "protocol: reply to request 3: expected a JSON answer",
        );
        check(r#"{"seq":3,"status":"ok"}"#, "Malformed(\"output: expected a tensor, got none\")");
        check(r#"{"seq":4,"status":"ok"}"#, "protocol: reply to request 3: expected seq 3, got 4");
        check(r#"{"seq":3,"status":"fine"}"#, "got `fine`");
        check(r#"{"seq":3,"status":"refused","reason":"n_k = 0"}"#, "Refused(\"n_k = 0\")");
        check(r#"{"seq":3,"sta"#, "protocol: reply to request 3: expected a JSON answer, got \"{\\\"seq");
        check("[1", "protocol");
    }
}
