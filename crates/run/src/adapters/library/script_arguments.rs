//! The arguments of a call as a script writes them: those that the worker passes, made by the same
//! code.

use qkvet_spec::{Call, CallOption, Dtype};

use super::arena::Contents;
use super::foreign::Value;
use super::interface::{Argument, Taken};
use super::prototype::{Kind, Number, Parameter, Prototype};
use super::request::{DecodedRequest, Room};
use super::role::Role;
use crate::adapters::python::Layout;
use crate::wire::run_request;

/// A prototype for a script.
pub(crate) struct WrittenCall {
    taken: Taken,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// Query, key or value as the call has it.
    Same(&'static str),
    /// A pointer to these storage bits.
    Input { dtype: &'static str, bytes: Vec<u8> },
    /// A pointer to room for a result.
    Result { dtype: &'static str, shape: Vec<usize> },
    /// A whole number.
    Whole(i128),
    /// A real number.
    Real(f64),
    /// NULL.
    Null,
}

impl WrittenCall {
    /// By the text of the prototype; `None` if it is none.
    pub(crate) fn new(prototype: &str, layout: Layout) -> Option<Self> {
        Prototype::parse(prototype)
            .ok()
            .map(|prototype| Self { taken: Taken { prototype, layout } })
    }

    /// The name of the function.
    pub(crate) fn symbol(&self) -> &str {
        &self.taken.prototype.symbol
    }

    /// The type of its error code in `ctypes`, if it returns one.
    pub(crate) fn returns(&self) -> Option<&'static str> {
        self.taken.prototype.returns.map(plain)
    }

    /// Names of the parameters and their types in `ctypes`, in order.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.taken.prototype.parameters.iter().map(|parameter| {
            let kind = match parameter.kind {
                Kind::Pointer(_) => "c_void_p",
                Kind::Plain(number) => plain(number),
            };
            (parameter.name.as_str(), kind)
        })
    }

    /// Names of the parameters that results are written to, each with the name of the result.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let results =
            self.taken.prototype.parameters.iter().filter(|parameter| parameter.role.is_result());
        results.map(|parameter| (parameter.name.as_str(), parameter.role.name()))
    }

    /// What is passed for each parameter; `None` for a call that the function cannot be put.
    pub(crate) fn arguments(&self, call: &Call) -> Option<Vec<Written>> {
        if !self.has_room(call) {
            return None;
        }
        // All tensors go in the request: no room is looked at.
        let request = run_request(0, None, call, None);
        let request = DecodedRequest::read(&request, &Room::default()).ok()?;
        let prepared = self.taken.prepare(&request).ok()?;
        let one = |(parameter, argument): (&Parameter, &Argument)| match *argument {
            Argument::Buffer(at) => match &prepared.buffers[at].contents {
                Contents::Input(_) if self.is_same(parameter.role) => {
                    Written::Same(parameter.role.name())
                }
                Contents::Input(bytes) => {
                    Written::Input { dtype: pointed(parameter.kind), bytes: bytes.clone() }
                }
                Contents::Result(_) => {
                    let result = prepared.results.iter().find(|result| result.buffer == at);
                    let shape = result.map_or_else(Vec::new, |result| result.shape.clone());
                    Written::Result { dtype: pointed(parameter.kind), shape }
                }
            },
            Argument::Value(value) => match value {
                Value::Pointer(_) => Written::Null,
                Value::Byte(x) => Written::Whole(x.into()),
                Value::I32(x) => Written::Whole(x.into()),
                Value::U32(x) => Written::Whole(x.into()),
                Value::I64(x) => Written::Whole(x.into()),
                Value::U64(x) => Written::Whole(x.into()),
                Value::F32(x) => Written::Real(x.into()),
                Value::F64(x) => Written::Real(x),
            },
        };
        Some(self.taken.prototype.parameters.iter().zip(&prepared.arguments).map(one).collect())
    }

    /// Whether there is a parameter for every option in use and every result that is asked for.
    fn has_room(&self, call: &Call) -> bool {
        let prototype = &self.taken.prototype;
        let fit = prototype.fit();
        CallOption::ALL.into_iter().all(|option| !call.options.has(option) || fit.has(option))
            && (!call.return_weights || prototype.has(Role::Weights))
            && (!call.return_lse || prototype.has(Role::Lse))
    }

    fn is_same(&self, role: Role) -> bool {
        self.taken.layout == Layout::Bhnd && matches!(role, Role::Query | Role::Key | Role::Value)
    }
}

/// The type of `ctypes` for a number that is passed.
fn plain(number: Number) -> &'static str {
    match number {
        Number::Real(Dtype::Float32) => "c_float",
        Number::Real(_) => "c_double",
        Number::Bits16 => "c_uint16",
        Number::Byte => "c_uint8",
        Number::I32 => "c_int32",
        Number::U32 => "c_uint32",
        Number::I64 => "c_int64",
        Number::U64 => "c_uint64",
    }
}

/// The format of what a pointer leads to.
fn pointed(kind: Kind) -> &'static str {
    match kind {
        Kind::Pointer(Number::Real(dtype)) => dtype.name(),
        Kind::Pointer(Number::I32 | Number::U32) => "int32",
        Kind::Pointer(Number::I64 | Number::U64) => "int64",
        _ => "bool",
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{BoolTensor, CallOptions, Tensor};

    use super::*;

    fn call(options: CallOptions) -> Call {
        let tensor = |shape: &[usize]| {
            let data = (0..shape.iter().product::<usize>()).map(|n| n as f64).collect();
            Tensor { dtype: Dtype::Float32, shape: shape.to_vec(), data }
        };
        let (query, key, value) =
            (tensor(&[1, 2, 2, 4]), tensor(&[1, 2, 1, 4]), tensor(&[1, 2, 1, 3]));
        Call { query, key, value, options, return_weights: false, return_lse: false }
    }

    const TEXT: &str = "int f(float *o, const float *q, const float *k, const float *v, const uint8_t *mask, \
                        const int32_t *key_lengths, int b, size_t h_q, int h_k, int n_q, int n_k, int d_k, int d_v, float scale)";

    #[test]
    fn what_is_passed_is_written() {
        let written = WrittenCall::new(TEXT, Layout::Bhnd).expect("a prototype");
        assert_eq!((written.symbol(), written.returns()), ("f", Some("c_int32")));
        assert_eq!(written.parameters().nth(7), Some(("h_q", "c_uint64")));
        assert_eq!(written.results().collect::<Vec<_>>(), [("o", "output")]);
        let mask = Some(BoolTensor { shape: vec![2, 1], data: vec![true, false] });
        let options = CallOptions { mask, key_lengths: Some(vec![1]), ..CallOptions::default() };
        let arguments = written.arguments(&call(options)).expect("a call");
        assert_eq!(arguments[0], Written::Result { dtype: "float32", shape: vec![1, 2, 2, 3] });
        assert_eq!(arguments[1], Written::Same("query"));
        assert_eq!(arguments[4], Written::Input { dtype: "bool", bytes: vec![1, 0, 1, 0] });
        assert_eq!(arguments[5], Written::Input { dtype: "int32", bytes: vec![1, 0, 0, 0] });
        assert_eq!(arguments[12..], [Written::Whole(3), Written::Real(0.5)]);
        let off = written.arguments(&call(CallOptions::default())).expect("a call");
        assert_eq!(off[4..6], [Written::Null, Written::Null]);
        // What there is no parameter for cannot be put.
        assert!(
            written
                .arguments(&call(CallOptions { causal: true, ..CallOptions::default() }))
                .is_none()
        );
        assert!(
            written.arguments(&Call { return_lse: true, ..call(CallOptions::default()) }).is_none()
        );
        // Positions before heads are what the function sees.
        let exchanged = WrittenCall::new(TEXT, Layout::Bnhd).expect("a prototype");
        let arguments = exchanged.arguments(&call(CallOptions::default())).expect("a call");
        assert!(
            matches!(&arguments[1], Written::Input { bytes, .. } if bytes[16..20] == 8_f32.to_le_bytes())
        );
    }
}
