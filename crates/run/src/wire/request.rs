//! Requests: a call as a message, its tensors in base64 or as files.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::wire::{
    AsItIs, Hello, INLINE_LIMIT, Params, Payload, Run, WIRE, Want, WireDtype, WireTensor,
    WireWindow,
};
use qkvet_spec::{BoolTensor, Call, Tensor};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::hex::hex_float;
use super::memory::Memory;
use super::scratch::Scratch;

/// The first message.
pub(crate) fn hello(scratch: &Scratch, python: Option<serde_json::Map<String, Value>>) -> Hello {
    let memory = scratch.memory.as_ref().map(Memory::paths);
    let payloads =
        [(Payload::Inline, true), (Payload::File, true), (Payload::Memory, memory.is_some())];
    Hello {
        wire: WIRE,
        tool: concat!("qkvet ", env!("CARGO_PKG_VERSION")).to_owned(),
        payloads: payloads.into_iter().filter_map(|(payload, on)| on.then_some(payload)).collect(),
        scratch: scratch.path().display().to_string(),
        memory,
        python,
    }
}

/// The request that asks for one call. An option that the call leaves out is not named. Tensors go
/// in memory, or large ones as files, as the program takes them and there is room for them, else
/// inline.
pub(crate) fn run_request(
    seq: u64,
    case: Option<&str>,
    call: &Call,
    room: Option<(Payload, &Scratch)>,
) -> Run {
    let (params, want) = params(call);
    let files = room.filter(|(payload, _)| *payload != Payload::Inline).map(|(_, scratch)| scratch);
    let memory = room.filter(|(payload, _)| *payload == Payload::Memory);
    let memory = memory.and_then(|(_, scratch)| scratch.memory.as_ref());
    let mut end = 0;
    let tensors = tensors(call).into_iter().map(|(name, dtype, shape, bits)| {
        let offset = memory.and_then(|memory| memory.ask(&bits, &mut end));
        let files = files.filter(|_| offset.is_none() && bits.len() > INLINE_LIMIT);
        let file = files.and_then(|files| files.write(&format!("{seq}-{name}.bin"), &bits));
        let is_inline = offset.is_none() && file.is_none();
        let data = is_inline.then(|| BASE64.encode(&bits));
        (name.to_owned(), WireTensor { dtype, shape: shape.to_vec(), data, file, offset })
    });
    Run { seq, case: case.map(str::to_owned), params, want, tensors: tensors.collect() }
}

/// A request without a call, for a worker that is fed something else.
pub(crate) fn empty_run(seq: u64, case: Option<&str>) -> Run {
    let case = case.map(str::to_owned);
    Run { seq, case, params: Params::default(), want: Vec::new(), tensors: BTreeMap::new() }
}

/// A request with what only workers of ours are told.
#[derive(Serialize)]
pub(crate) struct RunLine<'a> {
    pub(crate) op: &'static str,
    #[serde(flatten)]
    pub(crate) run: Run,
    #[serde(flatten)]
    pub(crate) ours: WorkerFields<'a>,
}

/// What workers of ours take beyond what the wire says.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct WorkerFields<'a> {
    /// On how many threads the call computes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<&'static str>,
    /// How query, key and value lie in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lies: Option<&'static str>,
    /// Order of the axes of query, key, value and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) layout: Option<&'static str>,
    /// What is fed to a graph in place of the tensors of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) onnx: Option<Changed<'a>>,
}

/// The options of a call that are no tensors, and the results that it asks for.
pub fn params(call: &Call) -> (Params, Vec<Want>) {
    let options = &call.options;
    let params = Params {
        scale: options.scale,
        scale_hex: options.scale.map(hex_float),
        causal: options.causal.then_some(true),
        softcap: options.softcap,
        softcap_hex: options.softcap.map(hex_float),
        window: options.window.map(|window| WireWindow { left: window.left, right: window.right }),
    };
    let want =
        [(Want::Output, true), (Want::Weights, call.return_weights), (Want::Lse, call.return_lse)];
    (params, want.into_iter().filter_map(|(want, on)| on.then_some(want)).collect())
}

/// A tensor of a call: name, format, shape and storage bits.
pub type TensorBits<'a> = (&'static str, WireDtype, Cow<'a, [usize]>, Vec<u8>);

/// The tensors of a call, those that are on.
pub fn tensors(call: &Call) -> Vec<TensorBits<'_>> {
    let floats = call.numbers().map(|(name, Tensor { dtype, shape, data })| {
        (name, (*dtype).into(), shape.into(), format::encode(data, *dtype))
    });
    let mask = call.options.mask.iter().map(|BoolTensor { shape, data }| {
        let bits = data.iter().map(|x| u8::from(*x)).collect();
        ("mask", WireDtype::Bool, shape.into(), bits)
    });
    let whole = call.whole_numbers().map(|(name, numbers)| {
        let bits = numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()).collect();
        (name, WireDtype::Int64, vec![numbers.len()].into(), bits)
    });
    floats.chain(mask).chain(whole).collect()
}

/// A message that is no struct: the data of its tensors are written as they are here too.
#[derive(Clone, Copy)]
pub(crate) struct Changed<'a>(pub(crate) &'a Value);

impl Serialize for Changed<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                to.collect_map(fields.iter().map(|(name, value)| (name, Changed(value))))
            }
            Value::String(text) => AsItIs(text).serialize(to),
            other => other.serialize(to),
        }
    }
}

/// A message with its line break.
pub(crate) fn line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}
