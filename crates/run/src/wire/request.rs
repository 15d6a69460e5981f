//! Requests: a call as a message, its tensors in base64 or as files.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::wire::{Hello, INLINE_LIMIT, Params, Payload, Run, WIRE, Want, WireDtype, WireTensor};
use qkvet_spec::{BoolTensor, Call, Tensor};
use serde::Serialize;

use super::hex::hex_float;
use super::scratch::Scratch;

/// The first message.
pub(crate) fn hello(scratch: &Scratch, python: Option<serde_json::Map<String, serde_json::Value>>) -> Hello {
    Hello {
        wire: WIRE,
        tool: concat!("qkvet ", env!("CARGO_PKG_VERSION")).to_owned(),
        payloads: vec![Payload::Inline, Payload::File],
        scratch: scratch.path().display().to_string(),
        python,
    }
}

/// The request that asks for one call. An option that the call leaves out is not named. With [`Payload::File`] large tensors
/// go as files, as long as those can be written.
pub(crate) fn run_request(seq: u64, case: Option<&str>, call: &Call, scratch: &Scratch, payload: Payload) -> Run {
    let params =
        Params { scale: call.scale, scale_hex: call.scale.map(hex_float), causal: call.causal.then_some(true) };
    let mut want = vec![Want::Output];
    if call.return_weights {
        want.push(Want::Weights);
    }
    let mut tensors = BTreeMap::new();
    let mut add = |name: &str, (dtype, shape, bits): (WireDtype, &[usize], Vec<u8>)| {
        let shape = shape.to_vec();
        let file = (payload == Payload::File && bits.len() > INLINE_LIMIT)
            .then(|| scratch.write(&format!("{seq}-{name}.bin"), &bits))
            .flatten();
        let data = file.is_none().then(|| BASE64.encode(&bits));
        tensors.insert(name.to_owned(), WireTensor { dtype, shape, data, file, offset: None });
    };
    add("query", float(&call.query));
    add("key", float(&call.key));
    add("value", float(&call.value));
    if let Some(mask) = &call.mask {
        add("mask", bool(mask));
    }
    if let Some(bias) = &call.bias {
        add("bias", float(bias));
    }
    Run { seq, case: case.map(str::to_owned), params, want, tensors }
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
