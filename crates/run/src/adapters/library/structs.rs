//! The structs of version 1 as C sees them: `examples/c/qkvet_abi.h`. They never change.

use std::ffi::{c_char, c_void};

pub(super) const MAX_AXES: usize = 8;

/// `struct qkvet_tensor_v1`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct TensorV1 {
    pub(super) data: *mut c_void,
    pub(super) dtype: u32,
    pub(super) n_axes: u32,
    pub(super) shape: [i64; MAX_AXES],
    pub(super) stride: [i64; MAX_AXES],
    pub(super) device_type: i32,
    pub(super) device_id: i32,
}

/// `struct qkvet_call_v1`.
#[repr(C)]
pub(super) struct CallV1 {
    pub(super) struct_size: u64,
    /// In the order of [`TENSORS`].
    pub(super) tensors: [TensorV1; TENSORS.len()],
    pub(super) scale: f64,
    pub(super) softcap: f64,
    pub(super) window_left: i64,
    pub(super) window_right: i64,
    pub(super) has_scale: i32,
    pub(super) causal: i32,
    pub(super) reason: *mut c_char,
    pub(super) reason_size: u64,
}

/// `struct qkvet_capabilities_v1`.
#[repr(C)]
pub(super) struct CapabilitiesV1 {
    pub(super) struct_size: u64,
    /// Name, version, device, dtypes, options, outputs.
    pub(super) texts: [*const c_char; 6],
}

/// How many of [`TENSORS`] are results.
pub(super) const N_RESULTS: usize = 3;

/// The tensors of the struct, in its order; the last ones are results.
pub(super) const TENSORS: [&str; 14] = [
    "query",
    "key",
    "value",
    "mask",
    "bias",
    "sinks",
    "alibi_slopes",
    "key_lengths",
    "query_lengths",
    "query_offsets",
    "key_offsets",
    "output",
    "weights",
    "lse",
];
