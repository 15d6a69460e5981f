//! Messages of `qkvet-wire/1`, the protocol between qkvet and a program that implements attention;
//! one JSON object a line.
//!
//! Types only. What they mean is in `docs/wire.md`; a reader ignores fields that it does not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Dtype, Quoted};

/// Version of the protocol.
pub const WIRE: u32 = 1;

/// Tensors of more bytes travel by file where both sides can.
pub const INLINE_LIMIT: usize = 256 << 10;

/// Any message of qkvet-wire/1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum WireMessage {
    /// qkvet to the program.
    Request(Request),
    /// The program's answer to `run`.
    RunAnswer(RunAnswer),
    /// The program's answer to `hello`.
    HelloAnswer(HelloAnswer),
}

/// What goes to the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Request {
    /// The first message: who asks, and what it can do.
    Hello(Hello),
    /// One call of attention.
    Run(Run),
    /// The last message: the program ends. There is no answer.
    Stop,
}

/// The first message: who asks, and what it can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// Version of the protocol: 1.
    pub wire: u32,
    /// Name and version of the asking tool.
    pub tool: String,
    /// Ways in which tensors may travel, both directions.
    pub payloads: Vec<Payload>,
    /// A folder for files of this conversation; the asking side removes it in the end.
    pub scratch: String,
    /// Memory for tensors, where the asking side has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPaths>,
    /// What the Python worker of qkvet is to load; no other program is sent this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Two files without a name, as paths that the program can open while the asking side runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryPaths {
    /// Tensors of requests: to be read, or mapped for reading or privately.
    pub requests: String,
    /// Tensors of answers: to be written.
    pub answers: String,
}

/// The answer to `hello`. With `ok: true` it has `wire` and `name`, with `ok: false` a `message`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "if" = {"properties": {"ok": {"const": true}}},
    "then" = {"required": ["wire", "name"]},
    "else" = {"required": ["message"]}
)))]
pub struct HelloAnswer {
    /// Whether the program is ready.
    pub ok: bool,
    /// Version of the protocol that it speaks: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<u32>,
    /// Name of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Quoted>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Quoted>,
    /// The language that it is written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Quoted>,
    /// The device that it computes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Quoted>,
    /// What it offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports: Option<Supports>,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Quoted>,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Quoted>,
    /// What the Python worker of qkvet tells about the function; no other program sends this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<serde_json::Value>,
}

/// What a program offers. What a list leaves out is not asked for; names that the reader does not
/// know are passed over.
///
/// An absent list of options or results stands for those of the first programs, which may not know
/// that there are others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Supports {
    /// Formats of query, key and value: `float64`, `float32`, `bfloat16`, `float16`,
    /// `float8_e4m3fn`, `float8_e5m2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtypes: Option<Vec<String>>,
    /// Options: `scale`, `causal`, `mask`, `bias`, `softcap`, `window`, `sinks`, `alibi_slopes`,
    /// `key_lengths`, `query_lengths`, `packed`; absent: the first four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// Results: `output`, `weights`, `lse`; absent: the first two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<String>>,
    /// Ways in which tensors may travel, `inline`, `file` and `memory`; absent: `inline` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payloads: Option<Vec<String>>,
}

/// How the elements of a tensor travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// In base64 within the message.
    Inline,
    /// As a file in the scratch folder.
    File,
    /// In memory that both sides have open.
    Memory,
}

/// One call of attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Number of the request, echoed in the answer.
    pub seq: u64,
    /// Id of the case, for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Options that are numbers or switches; one that is absent is off.
    pub params: Params,
    /// Results asked for. Reserved for later: `query_gradient`, `key_gradient`, `value_gradient`.
    pub want: Vec<Want>,
    /// `query`, `key`, `value`, and those of the options that are on: `mask`, `bias`, `sinks`,
    /// `alibi_slopes`, `key_lengths`, `query_lengths`, and `query_offsets` with `key_offsets`.
    /// Reserved for later: `output_gradient`.
    pub tensors: BTreeMap<String, WireTensor>,
}

/// Options that are numbers or switches. A program answers `unsupported` to a name that it does not
/// know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Params {
    /// Explicit factor on the scores; absent: one over the root of the width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The same number, exact, in the notation of C's `%a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_hex: Option<String>,
    /// Causal masking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causal: Option<bool>,
    /// Limit `c` of the scaled scores, `c · tanh(score / c)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softcap: Option<f64>,
    /// The same number, exact, in the notation of C's `%a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softcap_hex: Option<String>,
    /// How far a query sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WireWindow>,
}

/// Keys that a query sees before its own position and behind it, both included; `null`: all of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireWindow {
    /// Keys before the query's position.
    pub left: Option<usize>,
    /// Keys behind it.
    pub right: Option<usize>,
}

/// A result that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// `(b, h_q, n_q, d_v)`.
    Output,
    /// `(b, h_q, n_q, n_k)`.
    Weights,
    /// `(b, h_q, n_q)`.
    Lse,
}

/// A tensor: storage bits, little-endian, row-major without gaps; either `data`, or `file`, or
/// `offset` alone, which is a place in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("oneOf" = [
    {"required": ["data"]},
    {"required": ["file"]},
    {"required": ["offset"], "not": {"anyOf": [{"required": ["data"]}, {"required": ["file"]}]}}
])))]
pub struct WireTensor {
    /// Format of an element.
    pub dtype: WireDtype,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// The elements in base64.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "of_data")]
    pub data: Option<String>,
    /// Name of a file in the scratch folder, without folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where the elements begin in the file or in memory, in bytes; absent: 0 of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

fn of_data<S: Serializer>(data: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    data.as_deref().map(AsItIs).serialize(to)
}

/// A text of JSON that is written as it is where it has nothing to escape. Base64 has nothing, and
/// is most of a message: looking at each of its characters takes longer than some targets do.
#[derive(Clone, Copy, Debug)]
pub struct AsItIs<'a>(pub &'a str);

impl Serialize for AsItIs<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let is_plain = !self.0.contains('\\');
        match RawValue::from_string(format!("\"{}\"", self.0)) {
            Ok(raw) if is_plain => raw.serialize(to),
            _ => self.0.serialize(to),
        }
    }
}

/// Format of an element on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WireDtype {
    /// IEEE binary64.
    #[serde(rename = "float64")]
    Float64,
    /// IEEE binary32.
    #[serde(rename = "float32")]
    Float32,
    /// The upper half of binary32.
    #[serde(rename = "bfloat16")]
    Bfloat16,
    /// IEEE binary16.
    #[serde(rename = "float16")]
    Float16,
    /// Eight bits: 4 of exponent, 3 of fraction, no infinities.
    #[serde(rename = "float8_e4m3fn")]
    Float8E4m3fn,
    /// Eight bits: 5 of exponent, 2 of fraction.
    #[serde(rename = "float8_e5m2")]
    Float8E5m2,
    /// One byte, 0 or 1.
    #[serde(rename = "bool")]
    Bool,
    /// Whole numbers in two's complement: lengths and offsets.
    #[serde(rename = "int64")]
    Int64,
}

impl WireDtype {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Bfloat16 => "bfloat16",
            Self::Float16 => "float16",
            Self::Float8E4m3fn => "float8_e4m3fn",
            Self::Float8E5m2 => "float8_e5m2",
            Self::Bool => "bool",
            Self::Int64 => "int64",
        }
    }

    /// The number format; `None` for truth values and whole numbers.
    pub fn dtype(self) -> Option<Dtype> {
        Dtype::from_name(self.name())
    }
}

impl From<Dtype> for WireDtype {
    fn from(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Float64 => Self::Float64,
            Dtype::Float32 => Self::Float32,
            Dtype::Bfloat16 => Self::Bfloat16,
            Dtype::Float16 => Self::Float16,
            Dtype::Float8E4m3fn => Self::Float8E4m3fn,
            Dtype::Float8E5m2 => Self::Float8E5m2,
        }
    }
}

/// The answer to `run`. With status `ok` it has `tensors`, otherwise a `reason`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "if" = {"properties": {"status": {"const": "ok"}}},
    "then" = {"required": ["tensors"]},
    "else" = {"required": ["reason"]}
)))]
pub struct RunAnswer {
    /// Number of the request that is answered.
    pub seq: u64,
    /// How it went.
    pub status: Status,
    /// In words, for every status but `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Quoted>,
    /// The results: those that were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tensors: BTreeMap<String, WireTensor>,
    /// Whether the process is of no use after this: it is ended and started anew.
    #[serde(default)]
    pub fatal: bool,
    /// `false` if the call changed one of its tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_unchanged: Option<bool>,
    /// How long the call itself took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanoseconds: Option<u64>,
    /// What the Python worker of qkvet tells about the call; no other program sends this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<serde_json::Value>,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The results are there.
    Ok,
    /// Not offered: an option, a format, a size.
    Unsupported,
    /// Offered, but this input is declined.
    Refused,
    /// It went wrong.
    Error,
    /// The function under test returned what is not a tensor.
    Malformed,
}
