//! The struct of version 1: what `qkvet_attention_v1` is given, as `examples/c/qkvet_abi.h` says.
//! It never changes.

use qkvet_spec::Dtype;
use qkvet_spec::wire::{Status, Supports, WireDtype};

use super::foreign::StructFunction;
use super::interface::{Interface, Prepared};
use super::request::{DecodedRequest, NoAnswer, Sent};
use super::structs::{CallV1, MAX_AXES, TENSORS, TensorV1};
use crate::adapters::python::Layout;

const REASON_SIZE: usize = 256;
/// `kDLCPU` of `DLPack`.
const CPU: i32 = 1;

/// The function that a library has to have.
pub(super) const ATTENTION: &str = "qkvet_attention_v1";
/// The function that it may have.
pub(super) const INFO: &str = "qkvet_info_v1";

impl TensorV1 {
    const NONE: Self = Self {
        data: std::ptr::null_mut(),
        dtype: 0,
        n_axes: 0,
        shape: [0; MAX_AXES],
        stride: [0; MAX_AXES],
        device_type: CPU,
        device_id: 0,
    };

    /// Row-major without gaps.
    fn dense(place: *mut u8, dtype: WireDtype, shape: &[usize]) -> Self {
        let mut tensor = Self { data: place.cast(), dtype: code(dtype), ..Self::NONE };
        let shape = &shape[..shape.len().min(MAX_AXES)];
        tensor.n_axes = u32::try_from(shape.len()).unwrap_or_default();
        let mut stride = 1;
        for (axis, n) in shape.iter().enumerate().rev() {
            let n = i64::try_from(*n).unwrap_or(i64::MAX);
            (tensor.shape[axis], tensor.stride[axis]) = (n, stride);
            stride = stride.saturating_mul(n.max(1));
        }
        tensor
    }

    /// Four axes, those of one element standing for all of `whole`; as it is if it does not fit.
    fn spread(place: *mut u8, sent: &Sent, whole: [usize; 4]) -> Self {
        if sent.shape.len() > 4 {
            return Self::dense(place, sent.dtype, &sent.shape);
        }
        let own: Vec<usize> =
            [1; 4][sent.shape.len()..].iter().chain(&sent.shape).copied().collect();
        let mut tensor = Self::dense(place, sent.dtype, &own);
        if own.iter().zip(whole).all(|(n, m)| *n == m || *n == 1) {
            for axis in (0..4).filter(|axis| own[*axis] != whole[*axis]) {
                (tensor.shape[axis], tensor.stride[axis]) =
                    (i64::try_from(whole[axis]).unwrap_or(i64::MAX), 0);
            }
        }
        tensor
    }
}

/// `DLPack`'s code times 256, and the bits.
fn code(dtype: WireDtype) -> u32 {
    let (code, bits) = match dtype {
        WireDtype::Float64 => (2, 64),
        WireDtype::Float32 => (2, 32),
        WireDtype::Float16 => (2, 16),
        WireDtype::Bfloat16 => (4, 16),
        WireDtype::Float8E4m3fn => (10, 8),
        WireDtype::Float8E5m2 => (12, 8),
        WireDtype::Bool => (6, 8),
        WireDtype::Int64 => (0, 64),
    };
    code * 256 + bits
}

/// A function that takes the struct.
pub(super) struct ByStruct {
    pub(super) function: StructFunction,
    /// What the library says of itself.
    pub(super) supports: Supports,
}

impl Interface for ByStruct {
    fn supports(&self) -> Supports {
        self.supports.clone()
    }

    fn prepare(&self, call: &DecodedRequest) -> Result<Prepared, NoAnswer> {
        let mut prepared = Prepared::default();
        for (name, sent) in &call.tensors {
            prepared.input(name, sent.bytes.clone());
        }
        let d = call.dims;
        let lse =
            if call.dtype == Dtype::Float64 { WireDtype::Float64 } else { WireDtype::Float32 };
        let (rows, own) = ([d.b, d.h_q, d.n_q], WireDtype::from(call.dtype));
        let results = [
            ("output", true, own, Some(d.d_v)),
            ("weights", call.wants_weights, own, Some(d.n_k)),
            ("lse", call.wants_lse, lse, None),
        ];
        for (name, _, dtype, columns) in results.into_iter().filter(|(_, wanted, ..)| *wanted) {
            let shape: Vec<usize> = rows.into_iter().chain(columns).collect();
            prepared.result(name, name, dtype, shape, Layout::Bhnd)?;
        }
        Ok(prepared)
    }

    fn invoke(
        &self,
        call: &DecodedRequest,
        prepared: &Prepared,
        places: &[*mut u8],
    ) -> Result<(), NoAnswer> {
        let (q, k) = (call.shape("query"), call.shape("key"));
        let scores = [q[0], q[1], q[2], k[2]];
        let tensor = |name: &str| {
            let Some(at) = prepared.buffers.iter().position(|buffer| buffer.name == name) else {
                return TensorV1::NONE;
            };
            if let Some(result) = prepared.results.iter().find(|result| result.buffer == at) {
                return TensorV1::dense(places[at], result.dtype, &result.shape);
            }
            let sent = &call.tensors[name];
            match name {
                "mask" | "bias" => TensorV1::spread(places[at], sent, scores),
                _ => TensorV1::dense(places[at], sent.dtype, &sent.shape),
            }
        };
        let window = call.params.window;
        let side = |n: Option<usize>| n.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX));
        let mut reason = [0_u8; REASON_SIZE];
        let given = CallV1 {
            struct_size: size_of::<CallV1>() as u64,
            tensors: TENSORS.map(tensor),
            scale: call.scale(),
            softcap: call.params.softcap.unwrap_or(0.0),
            window_left: side(window.and_then(|window| window.left)),
            window_right: side(window.and_then(|window| window.right)),
            has_scale: i32::from(call.params.scale.is_some()),
            causal: i32::from(call.params.causal == Some(true)),
            reason: reason.as_mut_ptr().cast(),
            reason_size: REASON_SIZE as u64,
        };
        let returned = self.function.call(&given);
        let text: Vec<u8> = reason.iter().copied().take_while(|byte| *byte != 0).collect();
        let reason =
            String::from_utf8_lossy(if text.is_empty() { b"no reason was given" } else { &text });
        let said = |status| Err(NoAnswer::Said { status, reason: reason.into_owned() });
        match returned {
            0 => Ok(()),
            1 => said(Status::Unsupported),
            2 => said(Status::Refused),
            3 => said(Status::Error),
            code => Err(NoAnswer::UnknownCode { symbol: ATTENTION, code }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_struct_is_that_of_the_header() {
        // 64-bit: three words and sixteen numbers; fourteen of them between the size and the rest.
        assert_eq!(size_of::<TensorV1>(), 8 + 8 + 2 * 64 + 8);
        assert_eq!(size_of::<CallV1>(), 8 + 14 * size_of::<TensorV1>() + 4 * 8 + 8 + 16);
        let header = include_str!("../../../../../examples/c/qkvet_abi.h");
        let body =
            header.split_once("struct qkvet_call_v1 {").unwrap().1.split_once("\n};").unwrap().0;
        let declared =
            body.lines().filter_map(|line| line.trim().strip_prefix("struct qkvet_tensor_v1 "));
        let names: Vec<&str> = declared.filter_map(|rest| rest.split(';').next()).collect();
        assert_eq!(names, TENSORS);
    }

    #[test]
    fn masks_have_strides_of_nothing_where_they_are_spread() {
        let sent = |shape: &[usize]| Sent {
            dtype: WireDtype::Bool,
            shape: shape.to_vec(),
            bytes: Vec::new(),
        };
        let check = |shape: &[usize], expected_shape: [i64; 4], expected_stride: [i64; 4]| {
            let tensor = TensorV1::spread(std::ptr::null_mut(), &sent(shape), [2, 3, 4, 5]);
            assert_eq!(
                (&tensor.shape[..4], &tensor.stride[..4]),
                (&expected_shape[..], &expected_stride[..])
            );
        };
        check(&[4, 5], [2, 3, 4, 5], [0, 0, 5, 1]);
        check(&[2, 1, 1, 5], [2, 3, 4, 5], [5, 0, 0, 1]);
        check(&[2, 3, 4, 5], [2, 3, 4, 5], [60, 20, 5, 1]);
        check(&[3, 5], [1, 1, 3, 5], [15, 15, 5, 1]);
    }
}
