//! A call as a test of the operator Attention: a model of one node, its inputs, and what its other
//! outputs are.

use qkvet_spec::{BoolTensor, Call, CallOption, Tensor};

use super::feed::{Element, Feed, rows, written_out};
use super::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto,
};
use crate::Declined;

/// The version of the file format that is written: every runtime that knows the operator reads it.
const IR_VERSION: i64 = 10;

/// A version of the operators of ONNX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opset {
    /// The first with Attention.
    #[default]
    V23,
    /// Adds `nonpad_kv_seqlen`, the numbers of keys that exist.
    V24,
}

impl Opset {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::V23, Self::V24];

    /// Its number.
    pub fn version(self) -> i64 {
        match self {
            Self::V23 => 23,
            Self::V24 => 24,
        }
    }

    /// The version of a number.
    pub fn from_version(version: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|opset| opset.version() == version)
    }
}

/// A model of one node, and what goes in.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTest {
    /// The model.
    pub model: ModelProto,
    /// Its inputs, in order.
    pub inputs: Vec<Feed>,
    /// Its outputs after the first, which is the result of the call: keys and values with those of
    /// the past, as they were given.
    pub present: Vec<Feed>,
}

/// States a call in the words of the operator: heads on an axis of their own, the standard's
/// meaning by what the text of the operator says.
///
/// Causal masking is aligned upper-left there, unless there is a past: with fewer queries than keys
/// the keys before those of the queries go as `past_key` and `past_value`. A mask beside a bias is
/// −∞ in it.
///
/// # Errors
/// What the operator of this version cannot state.
pub fn node_test(call: &Call, opset: Opset) -> Result<NodeTest, Declined> {
    let past = past(call, opset)?;
    let attributes = attributes(call)?;
    let (n_q, n_k) = (call.dims().n_q, call.dims().n_k);
    let (new, old) = (|x: &Tensor| rows(x, past, n_k), |x: &Tensor| rows(x, 0, past));
    let named = [
        ("query", Some(Feed::float("query", &call.query))),
        ("key", Some(Feed::float("key", &new(&call.key)))),
        ("value", Some(Feed::float("value", &new(&call.value)))),
        ("attn_mask", attn_mask(call, n_q, n_k)),
        ("past_key", (past > 0).then(|| Feed::float("past_key", &old(&call.key)))),
        ("past_value", (past > 0).then(|| Feed::float("past_value", &old(&call.value)))),
        (
            "nonpad_kv_seqlen",
            call.options.key_lengths.as_ref().map(|lengths| {
                Feed::whole("nonpad_kv_seqlen", Element::Int64, vec![lengths.len()], lengths)
            }),
        ),
    ];
    let last = named.iter().rposition(|(_, feed)| feed.is_some()).unwrap_or_default();
    let input = named[..=last]
        .iter()
        .map(|(name, feed)| feed.as_ref().map_or("", |_| *name).to_owned())
        .collect();
    let inputs: Vec<Feed> = named.into_iter().filter_map(|(_, feed)| feed).collect();
    let present = if past > 0 {
        vec![Feed::float("present_key", &call.key), Feed::float("present_value", &call.value)]
    } else {
        Vec::new()
    };
    let element = Element::Float(call.dtype()).code();
    let d = call.dims();
    let info = |feed: &Feed| {
        ValueInfoProto::tensor(&feed.name, feed.element.code(), feed.shape.iter().map(|n| Some(*n)))
    };
    let output = ValueInfoProto::tensor("output", element, [d.b, d.h_q, d.n_q, d.d_v].map(Some));
    let outputs: Vec<ValueInfoProto> =
        std::iter::once(output).chain(present.iter().map(info)).collect();
    let node = NodeProto {
        input,
        output: outputs.iter().map(|output| output.name.clone()).collect(),
        op_type: "Attention".to_owned(),
        attribute: attributes,
        ..NodeProto::default()
    };
    let graph = GraphProto {
        node: vec![node],
        name: "attention".to_owned(),
        input: inputs.iter().map(info).collect(),
        output: outputs,
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: "qkvet".to_owned(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: opset.version() }],
    };
    Ok(NodeTest { model, inputs, present })
}

/// How many keys go as past; an error where the call cannot be stated.
fn past(call: &Call, opset: Opset) -> Result<usize, Declined> {
    let options = &call.options;
    if call.misfit().is_some() {
        return Err(Declined::NoModel);
    }
    let none = [
        (CallOption::Window, "a window only from version 25 on"),
        (CallOption::Sinks, "no sinks"),
        (CallOption::AlibiSlopes, "no slopes"),
        (CallOption::QueryLengths, "no lengths of queries"),
        (CallOption::Packed, "no packed sequences"),
    ];
    if let Some((option, has)) = none.into_iter().find(|(option, _)| options.has(*option)) {
        return Err(Declined::NotOfOperator { option, has });
    }
    if call.return_weights || call.return_lse {
        let result = if call.return_weights { "weights" } else { "lse" };
        return Err(Declined::OnlyOutput { result });
    }
    if options.key_lengths.is_some() {
        if opset < Opset::V24 {
            return Err(Declined::NoLengths);
        }
        if options.causal {
            return Err(Declined::CausalLengths);
        }
    }
    let (n_q, n_k) = (call.dims().n_q, call.dims().n_k);
    match (options.causal, n_k.checked_sub(n_q)) {
        (true, None) => Err(Declined::UpperLeft),
        (true, Some(past)) => Ok(past),
        (false, _) => Ok(0),
    }
}

/// `is_causal`, `scale` and `softcap`, where they are not what their absence means.
fn attributes(call: &Call) -> Result<Vec<AttributeProto>, Declined> {
    let options = &call.options;
    let mut attributes = Vec::new();
    if options.causal {
        attributes.push(AttributeProto::int("is_causal", 1));
    }
    for (option, number) in [("scale", options.scale), ("softcap", options.softcap)] {
        let Some(number) = number else { continue };
        let single = number as f32;
        if f64::from(single).to_bits() != number.to_bits() {
            return Err(Declined::NotFloat32 { option, number });
        }
        if number < 0.0 {
            return Err(Declined::Negative { option, number });
        }
        attributes.push(AttributeProto::float(option, single));
    }
    Ok(attributes)
}

/// Mask and bias as the one input that the operator has for both.
///
/// Their last axis is written out, for a shorter one would be filled up with −∞.
fn attn_mask(call: &Call, n_q: usize, n_k: usize) -> Option<Feed> {
    const NAME: &str = "attn_mask";
    let queries =
        |shape: &[usize]| if shape.len() < 2 || shape[shape.len() - 2] == 1 { 1 } else { n_q };
    match (&call.options.mask, &call.options.bias) {
        (None, None) => None,
        (Some(mask), None) => {
            let (shape, data) = written_out(&mask.shape, &mask.data, queries(&mask.shape), n_k);
            Some(Feed::truth(NAME, Element::Bool, &BoolTensor { shape, data }))
        }
        (None, Some(bias)) => {
            let (shape, data) = written_out(&bias.shape, &bias.data, queries(&bias.shape), n_k);
            Some(Feed::float(NAME, &Tensor { dtype: bias.dtype, shape, data }))
        }
        (Some(mask), Some(bias)) => Some(Feed::float(NAME, &hidden(mask, bias, n_q, n_k))),
    }
}

/// The bias, −∞ where the mask hides; its first two axes as the two need them.
fn hidden(mask: &BoolTensor, bias: &Tensor, n_q: usize, n_k: usize) -> Tensor {
    let (mask_shape, seen) = written_out(&mask.shape, &mask.data, n_q, n_k);
    let (bias_shape, added) = written_out(&bias.shape, &bias.data, n_q, n_k);
    let outer = |shape: &[usize]| match shape {
        [b, h, _, _] => [*b, *h],
        _ => [1, 1],
    };
    let (of_mask, of_bias) = (outer(&mask_shape), outer(&bias_shape));
    let [b, h] = [of_mask[0].max(of_bias[0]), of_mask[1].max(of_bias[1])];
    let tile = n_q * n_k;
    let at = |[own_b, own_h]: [usize; 2], item: usize, head: usize| {
        let (item, head) = (if own_b == 1 { 0 } else { item }, if own_h == 1 { 0 } else { head });
        (item * own_h + head) * tile
    };
    let mut data = Vec::with_capacity(b * h * tile);
    for item in 0..b {
        for head in 0..h {
            let (mask_at, bias_at) = (at(of_mask, item, head), at(of_bias, item, head));
            let one =
                |x: usize| if seen[mask_at + x] { added[bias_at + x] } else { f64::NEG_INFINITY };
            data.extend((0..tile).map(one));
        }
    }
    Tensor { dtype: bias.dtype, shape: vec![b, h, n_q, n_k], data }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOptions, Dtype, Window};

    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let data = (0..shape.iter().product::<usize>()).map(|n| n as f64).collect();
        Tensor { dtype: Dtype::Float32, shape: shape.to_vec(), data }
    }

    fn call(n_q: usize, n_k: usize, options: CallOptions) -> Call {
        let (query, key, value) =
            (tensor(&[1, 1, n_q, 2]), tensor(&[1, 1, n_k, 2]), tensor(&[1, 1, n_k, 3]));
        Call { query, key, value, options, return_weights: false, return_lse: false }
    }

    fn names(test: &NodeTest) -> Vec<&str> {
        test.model
            .graph
            .as_ref()
            .map_or_else(Vec::new, |graph| graph.node[0].input.iter().map(String::as_str).collect())
    }

    #[test]
    fn causal_with_fewer_queries_than_keys_has_a_past() {
        let test = node_test(
            &call(2, 5, CallOptions { causal: true, ..CallOptions::default() }),
            Opset::V23,
        )
        .unwrap();
        assert_eq!(names(&test), ["query", "key", "value", "", "past_key", "past_value"]);
        let shapes: Vec<&[usize]> = test.inputs.iter().map(|feed| feed.shape.as_slice()).collect();
        assert_eq!(shapes[1..], [&[1, 1, 2, 2], &[1, 1, 2, 3], &[1, 1, 3, 2], &[1, 1, 3, 3]]);
        assert_eq!(test.present[0].shape, [1, 1, 5, 2]);
        let square = node_test(
            &call(5, 5, CallOptions { causal: true, ..CallOptions::default() }),
            Opset::V23,
        )
        .unwrap();
        assert_eq!(names(&square), ["query", "key", "value"]);
    }

    #[test]
    fn a_mask_beside_a_bias_is_in_it() {
        let mask = BoolTensor { shape: vec![1, 2], data: vec![true, false] };
        let options = CallOptions {
            mask: Some(mask),
            bias: Some(tensor(&[1, 1, 2, 1])),
            ..CallOptions::default()
        };
        let test = node_test(&call(2, 2, options), Opset::V23).unwrap();
        let feed = &test.inputs[3];
        assert_eq!(
            (feed.element, feed.shape.as_slice()),
            (Element::Float(Dtype::Float32), &[1, 1, 2, 2][..])
        );
        assert_eq!(
            qkvet_engine::format::decode(&feed.bytes, Dtype::Float32),
            [0.0, f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY]
        );
    }

    #[test]
    fn what_the_operator_cannot_state_is_said() {
        let check = |call: &Call, opset, expected: &str| {
            let told = node_test(call, opset).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        };
        let with = |change: &dyn Fn(&mut CallOptions)| {
            let mut options = CallOptions::default();
            change(&mut options);
            call(3, 2, options)
        };
        check(&with(&|x| x.causal = true), Opset::V23, "more queries than keys");
        check(&with(&|x| x.scale = Some(0.1)), Opset::V23, "float32, which 0.1 is not");
        check(&with(&|x| x.scale = Some(-0.5)), Opset::V23, "negative");
        check(&with(&|x| x.window = Some(Window::default())), Opset::V24, "from version 25 on");
        check(&with(&|x| x.key_lengths = Some(vec![1])), Opset::V23, "from version 24 on");
        assert!(node_test(&with(&|x| x.key_lengths = Some(vec![1])), Opset::V24).is_ok());
    }
}
