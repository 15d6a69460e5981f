//! Requests: a call as a message, its tensors in base64 or as files.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::wire::{
    Hello, INLINE_LIMIT, Params, Payload, Run, WIRE, Want, WireDtype, WireTensor, WireWindow,
};
use qkvet_spec::{BoolTensor, Call, Packed, Tensor};
use serde::Serialize;

use super::hex::hex_float;
use super::scratch::Scratch;

/// The first message.
pub(crate) fn hello(
    scratch: &Scratch,
    python: Option<serde_json::Map<String, serde_json::Value>>,
) -> Hello {
    Hello {
        wire: WIRE,
        tool: concat!("qkvet ", env!("CARGO_PKG_VERSION")).to_owned(),
        payloads: vec![Payload::Inline, Payload::File],
        scratch: scratch.path().display().to_string(),
        python,
    }
}

/// The request that asks for one call. An option that the call leaves out is not named. With a
/// folder for `files` large tensors go as files, as long as those can be written.
pub(crate) fn run_request(
    seq: u64,
    case: Option<&str>,
    call: &Call,
    files: Option<&Scratch>,
) -> Run {
    let options = &call.options;
    let params = Params {
        scale: options.scale,
        scale_hex: options.scale.map(hex_float),
        causal: options.causal.then_some(true),
        softcap: options.softcap,
        softcap_hex: options.softcap.map(hex_float),
        window: options.window.map(|window| WireWindow { left: window.left, right: window.right }),
    };
    let beside = [(Want::Weights, call.return_weights), (Want::Lse, call.return_lse)];
    let want = std::iter::once(Want::Output)
        .chain(beside.into_iter().filter_map(|(want, on)| on.then_some(want)));
    let mut tensors = BTreeMap::new();
    let mut add = |name: &str, (dtype, shape, bits): (WireDtype, &[usize], Vec<u8>)| {
        let shape = shape.to_vec();
        let file = files.filter(|_| bits.len() > INLINE_LIMIT);
        let file = file.and_then(|files| files.write(&format!("{seq}-{name}.bin"), &bits));
        let data = file.is_none().then(|| BASE64.encode(&bits));
        tensors.insert(name.to_owned(), WireTensor { dtype, shape, data, file, offset: None });
    };
    add("query", float(&call.query));
    add("key", float(&call.key));
    add("value", float(&call.value));
    if let Some(mask) = &options.mask {
        add("mask", bool(mask));
    }
    for (name, tensor) in [
        ("bias", &options.bias),
        ("sinks", &options.sinks),
        ("alibi_slopes", &options.alibi_slopes),
    ] {
        tensor.iter().for_each(|tensor| add(name, float(tensor)));
    }
    for (name, numbers) in whole_numbers(call) {
        let bits = numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()).collect();
        add(name, (WireDtype::Int64, &[numbers.len()], bits));
    }
    Run { seq, case: case.map(str::to_owned), params, want: want.collect(), tensors }
}

/// The tensors of a call that hold lengths and offsets, those that are on.
pub(crate) fn whole_numbers(call: &Call) -> impl Iterator<Item = (&'static str, &[usize])> {
    let options = &call.options;
    let offsets = |of: fn(&Packed) -> &Vec<usize>| options.packed.as_ref().map(of);
    [
        ("key_lengths", options.key_lengths.as_ref()),
        ("query_lengths", options.query_lengths.as_ref()),
        ("query_offsets", offsets(|packed| &packed.query_offsets)),
        ("key_offsets", offsets(|packed| &packed.key_offsets)),
    ]
    .into_iter()
    .filter_map(|(name, numbers)| Some((name, numbers?.as_slice())))
}

fn float(tensor: &Tensor) -> (WireDtype, &[usize], Vec<u8>) {
    (tensor.dtype.into(), &tensor.shape, format::encode(&tensor.data, tensor.dtype))
}

fn bool(tensor: &BoolTensor) -> (WireDtype, &[usize], Vec<u8>) {
    (WireDtype::Bool, &tensor.shape, tensor.data.iter().map(|x| u8::from(*x)).collect())
}

/// A message with its line break.
pub(crate) fn line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}
