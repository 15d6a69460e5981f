//! Ids: a hash of everything that a case or a call holds.

use qkvet_spec::{Binding, BoolTensor, Call, CallOptions, Case, Matrices, Output, Tensor};
use sha2::{Digest, Sha256};

use crate::choice::is_extended;
use crate::extent::as_array;

/// The id of a case: `c-` and 16 hexadecimal digits of the SHA-256 of its canonical bytes.
///
/// The bytes depend on content alone: variables are taken in order of name, floats by their bits
/// (−0 is not 0).
pub fn case_id(case: &Case) -> String {
    let mut bytes = Bytes(Sha256::new());
    bytes.text("qkvet-case-1");
    bytes.text(&case.law);
    bytes.text(case.dtype.name());
    as_array(&case.dims).into_iter().for_each(|n| bytes.size(n));
    bytes.some(case.options.scale.as_ref(), |bytes, scale| bytes.floats(&[*scale]));
    bytes.size(usize::from(case.options.causal));
    bytes.some(case.options.mask.as_ref(), Bytes::mask);
    bytes.some(case.options.bias.as_ref(), Bytes::tensor);
    let mut names: Vec<&String> = case.bindings.keys().collect();
    names.sort_unstable();
    bytes.size(names.len());
    for name in names {
        bytes.text(name);
        bytes.binding(&case.bindings[name]);
    }
    bytes.extended(&case.options, false);
    format!("c-{}", bytes.head(8))
}

/// The id of a call: 32 hexadecimal digits of the SHA-256 of its canonical bytes, in which floats
/// stand by their bits.
///
/// Two calls share an id exactly if a target is given the same bits for both, barring a collision
/// of 128 bits.
pub fn call_id(call: &Call) -> String {
    let mut bytes = Bytes(Sha256::new());
    bytes.text("qkvet-call-1");
    [&call.query, &call.key, &call.value].into_iter().for_each(|tensor| bytes.tensor(tensor));
    bytes.some(call.options.scale.as_ref(), |bytes, scale| bytes.floats(&[*scale]));
    bytes.size(usize::from(call.options.causal));
    bytes.some(call.options.mask.as_ref(), Bytes::mask);
    bytes.some(call.options.bias.as_ref(), Bytes::tensor);
    bytes.size(usize::from(call.return_weights));
    bytes.extended(&call.options, call.return_lse);
    bytes.head(16)
}

/// What the calls of a case gave: 32 hexadecimal digits of the SHA-256 of formats, shapes and bits.
/// −0 is not 0; every NaN is the same.
pub fn outputs_digest<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> String {
    let mut bytes = Bytes(Sha256::new());
    bytes.text("qkvet-outputs-1");
    let result = |bytes: &mut Bytes, tensor: &Tensor| {
        bytes.text(tensor.dtype.name());
        bytes.sizes(&tensor.shape);
        let data: Vec<f64> =
            tensor.data.iter().map(|x| if x.is_nan() { f64::NAN } else { *x }).collect();
        bytes.floats(&data);
    };
    for Output { output, weights, lse, inputs_unchanged: _, handling: _ } in outputs {
        result(&mut bytes, output);
        bytes.some(weights.as_ref(), result);
        bytes.some(lse.as_ref(), result);
    }
    bytes.head(16)
}

/// Writes values so that no two different sequences give the same bytes: every length comes first.
struct Bytes(Sha256);

impl Bytes {
    /// The first bytes of the digest in hexadecimal.
    fn head(self, n_bytes: usize) -> String {
        self.0.finalize().iter().take(n_bytes).map(|byte| format!("{byte:02x}")).collect()
    }

    fn size(&mut self, n: usize) {
        self.0.update((n as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.size(text.len());
        self.0.update(text.as_bytes());
    }

    fn floats(&mut self, data: &[f64]) {
        self.size(data.len());
        let mut buffer = Vec::with_capacity(8 * data.len());
        data.iter().for_each(|x| buffer.extend_from_slice(&x.to_bits().to_le_bytes()));
        self.0.update(&buffer);
    }

    fn sizes(&mut self, sizes: &[usize]) {
        self.size(sizes.len());
        sizes.iter().for_each(|n| self.size(*n));
    }

    fn some<T>(&mut self, value: Option<&T>, write: impl Fn(&mut Self, &T)) {
        self.size(usize::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn mask(&mut self, mask: &BoolTensor) {
        self.sizes(&mask.shape);
        let bytes: Vec<u8> = mask.data.iter().map(|x| u8::from(*x)).collect();
        self.size(bytes.len());
        self.0.update(&bytes);
    }

    fn tensor(&mut self, tensor: &Tensor) {
        self.text(tensor.dtype.name());
        self.sizes(&tensor.shape);
        self.floats(&tensor.data);
    }

    /// Softcap, window, sinks, ALiBi, lengths, packed sequences and whether the log-sum-exp is
    /// asked for; nothing where all are off, so that what is written before ends there.
    fn extended(&mut self, options: &CallOptions, return_lse: bool) {
        let CallOptions {
            softcap,
            window,
            sinks,
            alibi_slopes,
            key_lengths,
            query_lengths,
            packed,
            ..
        } = options;
        if !return_lse && !options.on().iter().any(is_extended) {
            return;
        }
        self.text("extended");
        self.some(softcap.as_ref(), |bytes, softcap| bytes.floats(&[*softcap]));
        self.some(window.as_ref(), |bytes, window| {
            bytes.some(window.left.as_ref(), |bytes, n| bytes.size(*n));
            bytes.some(window.right.as_ref(), |bytes, n| bytes.size(*n));
        });
        self.some(sinks.as_ref(), Self::tensor);
        self.some(alibi_slopes.as_ref(), Self::tensor);
        self.some(key_lengths.as_ref(), |bytes, lengths| bytes.sizes(lengths));
        self.some(query_lengths.as_ref(), |bytes, lengths| bytes.sizes(lengths));
        self.some(packed.as_ref(), |bytes, packed| {
            bytes.sizes(&packed.query_offsets);
            bytes.sizes(&packed.key_offsets);
        });
        self.size(usize::from(return_lse));
    }

    fn binding(&mut self, binding: &Binding) {
        match binding {
            Binding::Dim(n) => {
                self.size(0);
                self.size(*n);
            }
            Binding::Index(n) => {
                self.size(1);
                self.size(*n);
            }
            Binding::Indices(all) => {
                self.size(2);
                self.sizes(all);
            }
            Binding::Real(x) => {
                self.size(3);
                self.floats(&[*x]);
            }
            Binding::Matrices(Matrices { batch, heads, rows, cols, data }) => {
                self.size(4);
                self.some(batch.as_ref(), |bytes, n| bytes.size(*n));
                self.some(heads.as_ref(), |bytes, n| bytes.size(*n));
                self.sizes(&[*rows, *cols]);
                self.floats(data);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{Dtype, Packed, Window};

    use super::*;

    #[test]
    fn a_digest_tells_bits_shapes_and_results_apart() {
        let tensor =
            |x: f64| Tensor { dtype: Dtype::Float32, shape: vec![1, 1, 1, 1], data: vec![x] };
        let one = Output::of(tensor(0.0));
        let all = [
            vec![one.clone()],
            vec![one.clone(), one.clone()],
            vec![Output { output: tensor(-0.0), ..one.clone() }],
            vec![Output { output: tensor(f64::NAN), ..one.clone() }],
            vec![Output { output: Tensor { dtype: Dtype::Float16, ..tensor(0.0) }, ..one.clone() }],
            vec![Output { output: Tensor { shape: vec![1], ..tensor(0.0) }, ..one.clone() }],
            vec![Output { weights: Some(tensor(0.0)), ..one.clone() }],
            vec![Output { lse: Some(tensor(0.0)), ..one.clone() }],
        ];
        let digests: std::collections::BTreeSet<String> = all.iter().map(outputs_digest).collect();
        assert_eq!(digests.len(), all.len());
        let minus = vec![Output { output: tensor(-f64::NAN), ..one }];
        assert_eq!(outputs_digest(&minus), outputs_digest(&all[3]));
    }

    #[test]
    fn whatever_a_target_can_see_changes_the_id_of_a_call() {
        let tensor =
            |x: f64| Tensor { dtype: Dtype::Float32, shape: vec![1, 1, 1, 1], data: vec![x] };
        let mask = BoolTensor { shape: vec![1, 1], data: vec![true] };
        let plain = Call {
            query: tensor(0.0),
            key: tensor(1.0),
            value: tensor(2.0),
            return_weights: false,
            return_lse: false,
            options: CallOptions::default(),
        };
        let others = [
            plain.clone(),
            Call { query: tensor(-0.0), ..plain.clone() },
            Call { key: tensor(2.0), value: tensor(1.0), ..plain.clone() },
            Call { value: Tensor { dtype: Dtype::Float64, ..tensor(2.0) }, ..plain.clone() },
            Call { value: Tensor { shape: vec![1, 1], ..tensor(2.0) }, ..plain.clone() },
            Call {
                options: CallOptions { scale: Some(1.0), ..CallOptions::default() },
                ..plain.clone()
            },
            Call {
                options: CallOptions { causal: true, ..CallOptions::default() },
                ..plain.clone()
            },
            Call {
                options: CallOptions { mask: Some(mask.clone()), ..CallOptions::default() },
                ..plain.clone()
            },
            Call {
                options: CallOptions {
                    mask: Some(BoolTensor { data: vec![false], ..mask }),
                    ..CallOptions::default()
                },
                ..plain.clone()
            },
            Call {
                options: CallOptions { bias: Some(tensor(0.0)), ..CallOptions::default() },
                ..plain.clone()
            },
            Call { return_weights: true, ..plain.clone() },
            Call { return_lse: true, ..plain.clone() },
        ];
        let one = Some(tensor(0.0));
        let both = vec![0, 1];
        let extended = [
            CallOptions { softcap: Some(1.0), ..CallOptions::default() },
            CallOptions { softcap: Some(2.0), ..CallOptions::default() },
            CallOptions { window: Some(Window::default()), ..CallOptions::default() },
            CallOptions {
                window: Some(Window { left: Some(0), right: None }),
                ..CallOptions::default()
            },
            CallOptions {
                window: Some(Window { left: None, right: Some(0) }),
                ..CallOptions::default()
            },
            CallOptions { sinks: one.clone(), ..CallOptions::default() },
            CallOptions { alibi_slopes: one.clone(), ..CallOptions::default() },
            CallOptions { sinks: one.clone(), alibi_slopes: one, ..CallOptions::default() },
            CallOptions { key_lengths: Some(vec![1]), ..CallOptions::default() },
            CallOptions { query_lengths: Some(vec![1]), ..CallOptions::default() },
            CallOptions { query_lengths: Some(vec![0]), ..CallOptions::default() },
            CallOptions { packed: Some(Packed::default()), ..CallOptions::default() },
            CallOptions {
                packed: Some(Packed { query_offsets: both.clone(), key_offsets: vec![] }),
                ..CallOptions::default()
            },
            CallOptions {
                packed: Some(Packed { query_offsets: vec![], key_offsets: both }),
                ..CallOptions::default()
            },
        ];
        let others: Vec<Call> = others
            .into_iter()
            .chain(extended.map(|options| Call { options, ..plain.clone() }))
            .collect();
        let ids: std::collections::BTreeSet<String> = others.iter().map(call_id).collect();
        assert_eq!(ids.len(), others.len());
        assert!(ids.iter().all(|id| id.len() == 32));
        assert_eq!(call_id(&plain), call_id(&plain.clone()));
    }
}
