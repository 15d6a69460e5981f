//! What is common to the ways into a library: what a call lays out, and how a function of a
//! prototype is given it.

use qkvet_engine::format;
use qkvet_spec::wire::{Supports, WireDtype};
use qkvet_spec::{Alike, CallOption, Dtype, Fit};

use super::arena::{Buffer, Contents};
use super::foreign::{Function, Value};
use super::prototype::{Kind, Number, Parameter, Prototype};
use super::request::{DecodedRequest, NoAnswer, Sent};
use super::role::Role;
use crate::adapters::python::Layout;

/// A way into a library.
pub(super) trait Interface {
    /// What the function offers.
    fn supports(&self) -> Supports;

    /// The memory of a call, or why it cannot be made.
    fn prepare(&self, call: &DecodedRequest) -> Result<Prepared, NoAnswer>;

    /// Makes the call; `places` are the addresses of the buffers.
    fn invoke(
        &self,
        call: &DecodedRequest,
        prepared: &Prepared,
        places: &[*mut u8],
    ) -> Result<(), NoAnswer>;
}

/// What is laid out for a call.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) buffers: Vec<Buffer>,
    /// In the order of the parameters.
    pub(super) arguments: Vec<Argument>,
    pub(super) results: Vec<Outcome>,
}

/// What is passed for a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    /// The address of a buffer.
    Buffer(usize),
    /// A number, or NULL.
    Value(Value),
}

/// A result and the buffer that it is in.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) buffer: usize,
    pub(super) dtype: WireDtype,
    /// Axes as on the wire.
    pub(super) shape: Vec<usize>,
    /// Whether heads and positions are to be exchanged.
    pub(super) is_exchanged: bool,
}

impl Prepared {
    pub(super) fn input(&mut self, name: &str, bytes: Vec<u8>) -> usize {
        self.buffers.push(Buffer { name: name.to_owned(), contents: Contents::Input(bytes) });
        self.buffers.len() - 1
    }

    /// Room for a result; heads and positions exchanged if `layout` says so of it.
    pub(super) fn result(
        &mut self,
        name: &str,
        result: &'static str,
        dtype: WireDtype,
        shape: Vec<usize>,
        layout: Layout,
    ) -> Result<usize, NoAnswer> {
        let size = dtype.dtype().map_or(1, Dtype::size);
        let n_bytes = shape.iter().try_fold(size, |size: usize, n| size.checked_mul(*n));
        // Half of what can be addressed leaves room for guards.
        let n_bytes = n_bytes.filter(|n_bytes| *n_bytes < usize::MAX / 4);
        let n_bytes = n_bytes.ok_or(NoAnswer::TooLarge { result })?;
        let buffer = self.buffers.len();
        self.buffers.push(Buffer { name: name.to_owned(), contents: Contents::Result(n_bytes) });
        let is_exchanged = layout == Layout::Bnhd && result == "output";
        self.results.push(Outcome { name: result, buffer, dtype, shape, is_exchanged });
        Ok(buffer)
    }
}

/// The bytes of `(b, x, y, d)` as those of `(b, y, x, d)`; elements of `size` bytes.
pub(super) fn exchanged(bytes: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let [b, x, y, d] = shape else { return bytes.to_vec() };
    let row = d * size;
    let mut out = Vec::with_capacity(bytes.len());
    for (item, j, i) in
        (0..*b).flat_map(|item| (0..*y).flat_map(move |j| (0..*x).map(move |i| (item, j, i))))
    {
        let at = ((item * x + i) * y + j) * row;
        out.extend_from_slice(&bytes[at..at + row]);
    }
    out
}

/// A function by its prototype.
pub(super) struct ByPrototype {
    pub(super) taken: Taken,
    pub(super) function: Function,
}

/// What a function takes: its parameters, and the order of axes.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) prototype: Prototype,
    pub(super) layout: Layout,
}

impl Interface for ByPrototype {
    fn supports(&self) -> Supports {
        supports_of(&self.taken.prototype)
    }

    fn prepare(&self, call: &DecodedRequest) -> Result<Prepared, NoAnswer> {
        self.taken.prepare(call)
    }

    fn invoke(
        &self,
        _call: &DecodedRequest,
        prepared: &Prepared,
        places: &[*mut u8],
    ) -> Result<(), NoAnswer> {
        let value = |argument: &Argument| match argument {
            Argument::Buffer(idx) => Value::Pointer(places[*idx]),
            Argument::Value(value) => *value,
        };
        let values: Vec<Value> = prepared.arguments.iter().map(value).collect();
        match self.function.call(&values) {
            0 => Ok(()),
            code => {
                let symbol = &self.taken.prototype.symbol;
                Err(NoAnswer::Code { symbol: symbol.clone(), code })
            }
        }
    }
}

impl Taken {
    /// The memory of a call, or why it cannot be made.
    pub(super) fn prepare(&self, call: &DecodedRequest) -> Result<Prepared, NoAnswer> {
        self.fits(call)?;
        let mut prepared = Prepared::default();
        for parameter in &self.prototype.parameters {
            let argument = self.argument(parameter, call, &mut prepared)?;
            prepared.arguments.push(argument);
        }
        Ok(prepared)
    }

    /// Whether the sizes of a call can be said with the parameters that there are.
    fn fits(&self, call: &DecodedRequest) -> Result<(), NoAnswer> {
        let (q, k, v) = (call.shape("query"), call.shape("key"), call.shape("value"));
        let scores = [q[0], q[1], q[2], k[2]];
        let spreads = |name: &str| {
            let shape = call.shape(name);
            matches!(shape.len(), 0 | 2 | 4)
                && shape.iter().rev().zip(scores.iter().rev()).all(|(n, m)| n == m || *n == 1)
        };
        let pairs = [
            ("width of queries and keys", q[3], k[3]),
            ("number of keys and values", k[2], v[2]),
            ("number of key and value heads", k[1], v[1]),
            ("number of items of queries and keys", q[0], k[0]),
            ("number of items of keys and values", k[0], v[0]),
        ];
        if let Some((what, one, other)) = pairs.into_iter().find(|(_, one, other)| one != other) {
            return Err(NoAnswer::OneParameter { what, one, other });
        }
        if !spreads("mask") || !spreads("bias") {
            return Err(NoAnswer::NoShape);
        }
        let d = call.dims;
        if !call.heads_fit() {
            return match self.prototype.returns {
                Some(_) => Ok(()),
                None => Err(NoAnswer::CannotRefuse { h_q: d.h_q, h_k: d.h_k }),
            };
        }
        let has = |role: Role| self.prototype.has(role);
        let lacks = [
            (Role::Batch, d.b, 1, "one item"),
            (Role::QueryHeads, d.h_q, 1, "one query head"),
            (Role::KeyHeads, d.h_k, d.h_q, "as many key heads as query heads"),
            (Role::Queries, d.n_q, d.n_k, "as many queries as keys"),
            (Role::Keys, d.n_k, d.n_q, "as many keys as queries"),
            (Role::ValueWidth, d.d_v, d.d_k, "values as wide as keys"),
        ];
        let missing = lacks.into_iter().find(|(role, n, implied, _)| !has(*role) && n != implied);
        match missing {
            // Positions stands for both.
            Some((role, _, _, implied)) => {
                Err(NoAnswer::NoParameter { parameter: role.name(), implied })
            }
            None => Ok(()),
        }
    }

    fn argument(
        &self,
        parameter: &Parameter,
        call: &DecodedRequest,
        prepared: &mut Prepared,
    ) -> Result<Argument, NoAnswer> {
        let d = call.dims;
        let whole = |n: usize| i64::try_from(n).ok();
        let switch = |on: bool| number(i64::from(on), parameter.kind);
        let window = call.params.window;
        let side = |of: fn(&qkvet_spec::wire::WireWindow) -> Option<usize>| {
            window
                .as_ref()
                .and_then(of)
                .map_or(Some(-1), whole)
                .and_then(|n| number(n, parameter.kind))
        };
        let extent = |n: usize| whole(n).and_then(|n| number(n, parameter.kind));
        let value = match parameter.role {
            Role::Query | Role::Key | Role::Value => {
                let sent = &call.tensors[parameter.role.name()];
                self.has_format(sent.dtype)?;
                let bytes = match self.layout {
                    Layout::Bnhd => exchanged(&sent.bytes, &sent.shape, call.dtype.size()),
                    _ => sent.bytes.clone(),
                };
                return Ok(Argument::Buffer(prepared.input(&parameter.name, bytes)));
            }
            Role::Mask | Role::Bias | Role::Sinks | Role::AlibiSlopes => {
                return self.option(parameter, call, prepared);
            }
            Role::KeyLengths | Role::QueryLengths | Role::QueryOffsets | Role::KeyOffsets => {
                return option_of_wholes(parameter, call, prepared);
            }
            Role::Output | Role::Weights | Role::Lse => {
                let columns = [(Role::Output, d.d_v), (Role::Weights, d.n_k)];
                let columns =
                    columns.iter().find(|(role, _)| *role == parameter.role).map(|(_, n)| *n);
                let shape: Vec<usize> = [d.b, d.h_q, d.n_q].into_iter().chain(columns).collect();
                let Kind::Pointer(Number::Real(dtype)) = parameter.kind else {
                    return Err(unpassable(parameter));
                };
                let result = parameter.role.name();
                let idx =
                    prepared.result(&parameter.name, result, dtype.into(), shape, self.layout)?;
                return Ok(Argument::Buffer(idx));
            }
            Role::Batch => extent(d.b),
            Role::QueryHeads => extent(d.h_q),
            Role::KeyHeads => extent(d.h_k),
            Role::Queries => extent(d.n_q),
            Role::Keys | Role::Positions => extent(d.n_k),
            Role::KeyWidth => extent(d.d_k),
            Role::ValueWidth => extent(d.d_v),
            Role::Sequences => {
                extent(call.shape("query_offsets").first().map_or(0, |n| n.saturating_sub(1)))
            }
            Role::Scale => real(call.scale(), parameter.kind, call.dtype),
            Role::Softcap => real(call.params.softcap.unwrap_or(0.0), parameter.kind, call.dtype),
            Role::Causal => switch(call.params.causal == Some(true)),
            Role::WindowLeft => side(|window| window.left),
            Role::WindowRight => side(|window| window.right),
        };
        value.map(Argument::Value).ok_or_else(|| unpassable(parameter))
    }

    fn has_format(&self, dtype: WireDtype) -> Result<(), NoAnswer> {
        let own = WireDtype::from(self.prototype.dtype);
        if dtype == own { Ok(()) } else { Err(NoAnswer::Format { own, dtype }) }
    }

    /// A mask, bias or row of numbers, spread to its whole shape; NULL if it is off.
    fn option(
        &self,
        parameter: &Parameter,
        call: &DecodedRequest,
        prepared: &mut Prepared,
    ) -> Result<Argument, NoAnswer> {
        let Some(sent) = call.tensors.get(parameter.role.name()) else { return Ok(NULL) };
        let bytes = match (parameter.kind, sent.dtype.dtype()) {
            (Kind::Pointer(Number::Byte), None) => sent.bytes.clone(),
            (Kind::Pointer(Number::Real(dtype)), Some(from)) if dtype == from => sent.bytes.clone(),
            (Kind::Pointer(Number::Real(dtype)), Some(from)) => {
                let numbers = format::decode(&sent.bytes, from);
                if !numbers.iter().all(|x| format::is_representable(*x, dtype)) {
                    return Err(unpassable(parameter));
                }
                format::encode(&numbers, dtype)
            }
            _ => return Err(unpassable(parameter)),
        };
        let is_row = matches!(parameter.role, Role::Sinks | Role::AlibiSlopes);
        let d = call.dims;
        let bytes = if is_row { bytes } else { spread(&bytes, sent, [d.b, d.h_q, d.n_q, d.n_k]) };
        Ok(Argument::Buffer(prepared.input(&parameter.name, bytes)))
    }
}

const NULL: Argument = Argument::Value(Value::Pointer(std::ptr::null_mut()));

fn unpassable(parameter: &Parameter) -> NoAnswer {
    NoAnswer::NoRoom { parameter: parameter.name.clone() }
}

/// Lengths or offsets; NULL if they are off.
fn option_of_wholes(
    parameter: &Parameter,
    call: &DecodedRequest,
    prepared: &mut Prepared,
) -> Result<Argument, NoAnswer> {
    let Some(sent) = call.tensors.get(parameter.role.name()) else { return Ok(NULL) };
    let numbers = sent
        .bytes
        .chunks_exact(8)
        .map(|bytes| bytes.try_into().map(i64::from_le_bytes).unwrap_or_default());
    let is_wide = matches!(parameter.kind, Kind::Pointer(Number::I64 | Number::U64));
    let bytes = if is_wide {
        sent.bytes.clone()
    } else {
        let narrow: Option<Vec<[u8; 4]>> =
            numbers.map(|n| i32::try_from(n).ok().map(i32::to_le_bytes)).collect();
        narrow.ok_or_else(|| unpassable(parameter))?.concat()
    };
    Ok(Argument::Buffer(prepared.input(&parameter.name, bytes)))
}

/// A tensor of 2 or 4 axes at its whole shape.
fn spread(bytes: &[u8], sent: &Sent, whole: [usize; 4]) -> Vec<u8> {
    let size = bytes.len().checked_div(sent.shape.iter().product()).unwrap_or(0);
    let ones = [1; 4];
    let own: Vec<usize> =
        ones[..4 - sent.shape.len().min(4)].iter().chain(&sent.shape).copied().collect();
    let mut out = Vec::with_capacity(whole.iter().product::<usize>() * size);
    let at = |axis: usize, idx: usize| if own[axis] == 1 { 0 } else { idx };
    for b in 0..whole[0] {
        for h in 0..whole[1] {
            for i in 0..whole[2] {
                for j in 0..whole[3] {
                    let flat =
                        ((at(0, b) * own[1] + at(1, h)) * own[2] + at(2, i)) * own[3] + at(3, j);
                    out.extend_from_slice(&bytes[flat * size..(flat + 1) * size]);
                }
            }
        }
    }
    out
}

/// A whole number as an argument, if its type holds it.
fn number(n: i64, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Plain(Number::Byte) => u8::try_from(n).ok().map(Value::Byte),
        Kind::Plain(Number::I32) => i32::try_from(n).ok().map(Value::I32),
        Kind::Plain(Number::U32) => u32::try_from(n).ok().map(Value::U32),
        Kind::Plain(Number::I64) => Some(Value::I64(n)),
        Kind::Plain(Number::U64) => u64::try_from(n).ok().map(Value::U64),
        _ => None,
    }
}

/// A real number as an argument. A `float` is rounded to where the tensors are no more exact than
/// it; where they are, it has to be exact.
fn real(x: f64, kind: Kind, dtype: Dtype) -> Option<Value> {
    let is_exact = format::is_representable(x, Dtype::Float32);
    match kind {
        Kind::Plain(Number::Real(Dtype::Float64)) => Some(Value::F64(x)),
        Kind::Plain(Number::Real(Dtype::Float32)) if is_exact || dtype != Dtype::Float64 => {
            Some(Value::F32(format::round(x, Dtype::Float32) as f32))
        }
        _ => None,
    }
}

/// The ways in which tensors come to the worker.
pub(super) fn payloads(has_memory: bool) -> Vec<String> {
    let all = [("inline", true), ("file", true), ("memory", has_memory)];
    all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect()
}

/// What a prototype offers.
fn supports_of(prototype: &Prototype) -> Supports {
    let has = |role: Role| prototype.has(role);
    let options = [
        ("scale", Role::Scale),
        ("causal", Role::Causal),
        ("mask", Role::Mask),
        ("bias", Role::Bias),
        ("softcap", Role::Softcap),
        ("window", Role::WindowLeft),
        ("sinks", Role::Sinks),
        ("alibi_slopes", Role::AlibiSlopes),
        ("key_lengths", Role::KeyLengths),
        ("query_lengths", Role::QueryLengths),
        ("packed", Role::Sequences),
    ];
    let outputs = [("output", Role::Output), ("weights", Role::Weights), ("lse", Role::Lse)];
    let listed = |known: &[(&str, Role)]| {
        Some(
            known
                .iter()
                .filter(|(_, role)| has(*role))
                .map(|(name, _)| (*name).to_owned())
                .collect(),
        )
    };
    Supports {
        dtypes: Some(vec![prototype.dtype.name().to_owned()]),
        options: listed(&options),
        outputs: listed(&outputs),
        payloads: None,
    }
}

impl Prototype {
    /// What calls it can be made with: extents that it has no parameter for are 1, or those of
    /// another one.
    pub(super) fn fit(&self) -> Fit {
        let lacks = |role: Role| !self.has(role);
        let one = |role: Role| lacks(role).then_some(1);
        let alike = [
            (Alike::Heads, lacks(Role::KeyHeads)),
            (Alike::Lengths, lacks(Role::Queries) || lacks(Role::Keys)),
            (Alike::Widths, lacks(Role::ValueWidth)),
        ];
        let options = supports_of(self).options;
        let has = |option: &CallOption| options.iter().flatten().any(|name| name == option.name());
        Fit {
            b: one(Role::Batch),
            h_q: one(Role::QueryHeads),
            alike: alike
                .into_iter()
                .filter(|(_, is_one)| *is_one)
                .map(|(alike, _)| alike)
                .collect(),
            options: Some(CallOption::ALL.into_iter().filter(has).collect()),
            ..Fit::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_positions_are_exchanged() {
        // (1, 2, 3, 1) of two-byte elements.
        let bytes = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5];
        let there = exchanged(&bytes, &[1, 2, 3, 1], 2);
        assert_eq!(there, [0, 0, 3, 3, 1, 1, 4, 4, 2, 2, 5, 5]);
        assert_eq!(exchanged(&there, &[1, 3, 2, 1], 2), bytes);
    }

    #[test]
    fn masks_are_spread() {
        let sent = |shape: &[usize]| Sent {
            dtype: WireDtype::Bool,
            shape: shape.to_vec(),
            bytes: Vec::new(),
        };
        assert_eq!(spread(&[1, 0], &sent(&[2, 1]), [1, 2, 2, 2]), [1, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!(spread(&[1, 0], &sent(&[1, 2, 1, 1]), [2, 2, 1, 1]), [1, 0, 1, 0]);
        assert_eq!(spread(&[], &sent(&[2, 0]), [1, 1, 2, 0]), [0u8; 0]);
    }

    #[test]
    fn numbers_that_a_type_cannot_hold_are_declined() {
        let float = Kind::Plain(Number::Real(Dtype::Float32));
        assert_eq!(real(0.25, float, Dtype::Float64), Some(Value::F32(0.25)));
        assert_eq!(real(0.1, float, Dtype::Float64), None);
        assert_eq!(real(0.1, float, Dtype::Float32), Some(Value::F32(0.1)));
        assert_eq!(number(-1, Kind::Plain(Number::U32)), None);
        assert_eq!(number(-1, Kind::Plain(Number::I32)), Some(Value::I32(-1)));
        assert_eq!(number(1 << 40, Kind::Plain(Number::I32)), None);
    }
}
