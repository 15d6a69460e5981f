//! A request as the worker reads it: every name known, every tensor's bytes there.
#![allow(clippy::disallowed_methods, reason = "I/O, no arithmetic")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_spec::wire::{Params, Run, Status, Want, WireDtype, WireTensor};
use qkvet_spec::{Dims, Dtype};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::arena::Overrun;
use super::copy::FORKED;
use super::structs::{N_RESULTS, TENSORS};
use crate::wire::Memory;

/// Why a call gets no results.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("request: {0}")]
    Request(#[from] serde_json::Error),
    #[error("run before hello")]
    RunBeforeHello,
    #[error("no {name}")]
    UnknownName { name: String },
    #[error("{name}: expected a tensor, got none")]
    NoTensor { name: &'static str },
    #[error("{name}: expected 4 axes, got {got}")]
    Axes { name: &'static str, got: usize },
    #[error("query: expected a floating-point format")]
    NoFloat,
    #[error("{name}: {error}")]
    Bytes { name: String, error: NoBytes },
    #[error("{result} does not fit into memory")]
    TooLarge { result: &'static str },
    #[error("one parameter says the {what}: {one} and {other} cannot be passed")]
    OneParameter { what: &'static str, one: usize, other: usize },
    #[error("a pointer to a mask or bias has no shape: one that does not fit cannot be passed")]
    NoShape,
    #[error("{h_q} query heads, {h_k} key heads: a function that returns void cannot refuse")]
    CannotRefuse { h_q: usize, h_k: usize },
    #[error("the prototype has no `{parameter}`: it takes {implied}")]
    NoParameter { parameter: &'static str, implied: &'static str },
    #[error("the prototype takes {}, not {}", own.name(), dtype.name())]
    Format { own: WireDtype, dtype: WireDtype },
    #[error("the type of `{parameter}` has no room for the number")]
    NoRoom { parameter: String },
    #[error("{symbol} returned {code}")]
    Code { symbol: String, code: i64 },
    #[error("{symbol} returned {code}: expected 0 to 3")]
    UnknownCode { symbol: &'static str, code: i32 },
    /// The library's own words.
    #[error("{reason}")]
    Said { status: Status, reason: String },
    #[error("{FORKED}")]
    Forked,
    #[error("{overrun}")]
    Overrun { overrun: Overrun, heads_fit: bool },
    #[error("wrote nothing to the buffer `{buffer}`")]
    Unwritten { buffer: String },
}

impl NoAnswer {
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Request(_)
            | Self::RunBeforeHello
            | Self::NoTensor { .. }
            | Self::Axes { .. }
            | Self::NoFloat
            | Self::Bytes { .. }
            | Self::UnknownCode { .. }
            | Self::Forked => Status::Error,
            Self::UnknownName { .. }
            | Self::TooLarge { .. }
            | Self::OneParameter { .. }
            | Self::NoShape
            | Self::CannotRefuse { .. }
            | Self::NoParameter { .. }
            | Self::Format { .. }
            | Self::NoRoom { .. } => Status::Unsupported,
            Self::Code { .. } => Status::Refused,
            Self::Said { status, .. } => *status,
            // An error is a right answer to what does not fit; this one is not.
            Self::Overrun { heads_fit: true, .. } => Status::Error,
            Self::Overrun { .. } | Self::Unwritten { .. } => Status::Malformed,
        }
    }
}

/// Why the bytes of a tensor are not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoBytes {
    #[error("expected a tensor that fits into memory")]
    TooLarge,
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    #[error("file {name}: {error}")]
    File { name: String, error: std::io::Error },
    #[error("memory is gone: {error}; a call closed or replaced a file descriptor of the worker")]
    Memory { error: std::io::Error },
    #[error("expected data, or a file of the scratch folder")]
    NoSource,
    #[error("expected {size} bytes, got {got}")]
    Length { size: usize, got: usize },
}

/// Where tensors lie that are not in a message.
#[derive(Default)]
pub(super) struct Room {
    pub(super) scratch: PathBuf,
    pub(super) memory: Option<Memory>,
}

/// A tensor of a request.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) dtype: WireDtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

/// A call of attention.
#[derive(Clone, Debug)]
pub(super) struct DecodedRequest {
    /// Those of query, key and value.
    pub(super) dims: Dims,
    pub(super) dtype: Dtype,
    pub(super) params: Params,
    pub(super) tensors: BTreeMap<String, Sent>,
    pub(super) wants_weights: bool,
    pub(super) wants_lse: bool,
}

/// Every name of a parameter that may stand in a request; those of tensors are those of the struct.
const PARAMS: [&str; 6] = ["scale", "scale_hex", "causal", "softcap", "softcap_hex", "window"];

/// The names of a request, whatever is behind them.
#[derive(Deserialize)]
struct Names {
    params: BTreeMap<String, IgnoredAny>,
    want: Vec<String>,
    tensors: BTreeMap<String, IgnoredAny>,
}

/// Names that this version does not know are declined, not passed over.
pub(super) fn known_names(line: &[u8]) -> Result<(), NoAnswer> {
    let names: Names = serde_json::from_slice(line)?;
    let (tensors, wants) = TENSORS.split_at(TENSORS.len() - N_RESULTS);
    let lists: [(Vec<&String>, &[&str]); 3] = [
        (names.params.keys().collect(), &PARAMS),
        (names.tensors.keys().collect(), tensors),
        (names.want.iter().collect(), wants),
    ];
    match lists
        .iter()
        .find_map(|(found, known)| found.iter().find(|name| !known.contains(&name.as_str())))
    {
        Some(unknown) => Err(NoAnswer::UnknownName { name: (*unknown).clone() }),
        None => Ok(()),
    }
}

impl DecodedRequest {
    /// Reads the tensors of a request.
    pub(super) fn read(run: &Run, room: &Room) -> Result<Self, NoAnswer> {
        let tensors = run.tensors.iter().map(|(name, tensor)| {
            let bytes = bytes(tensor, room)
                .map_err(|error| NoAnswer::Bytes { name: name.clone(), error })?;
            Ok((name.clone(), Sent { dtype: tensor.dtype, shape: tensor.shape.clone(), bytes }))
        });
        let tensors: BTreeMap<String, Sent> = tensors.collect::<Result<_, NoAnswer>>()?;
        let four = |name: &'static str| {
            let sent = tensors.get(name).ok_or(NoAnswer::NoTensor { name })?;
            let shape = <[usize; 4]>::try_from(sent.shape.as_slice());
            shape.map_err(|_| NoAnswer::Axes { name, got: sent.shape.len() })
        };
        let ([b, h_q, n_q, d_k], [_, h_k, n_k, _], [.., d_v]) =
            (four("query")?, four("key")?, four("value")?);
        let format = tensors.get("query").and_then(|query| query.dtype.dtype());
        let dtype = format.ok_or(NoAnswer::NoFloat)?;
        Ok(Self {
            dims: Dims { b, h_q, h_k, n_q, n_k, d_k, d_v },
            dtype,
            params: run.params.clone(),
            tensors,
            wants_weights: run.want.contains(&Want::Weights),
            wants_lse: run.want.contains(&Want::Lse),
        })
    }

    pub(super) fn shape(&self, name: &str) -> &[usize] {
        self.tensors.get(name).map_or(&[], |sent| &sent.shape)
    }

    /// Whether key heads divide query heads, as they do unless a refusal is asked for.
    pub(super) fn heads_fit(&self) -> bool {
        self.dims.h_k > 0 && self.dims.h_q.is_multiple_of(self.dims.h_k)
    }

    /// `1/√d_k` unless another is asked for.
    pub(super) fn scale(&self) -> f64 {
        self.params.scale.unwrap_or_else(|| 1.0 / (self.dims.d_k as f64).sqrt())
    }
}

fn bytes(tensor: &WireTensor, room: &Room) -> Result<Vec<u8>, NoBytes> {
    let size = match tensor.dtype {
        WireDtype::Bool => 1,
        WireDtype::Int64 => 8,
        other => other.dtype().map_or(1, Dtype::size),
    };
    let size = tensor.shape.iter().try_fold(size, |size: usize, n| size.checked_mul(*n));
    let size = size.ok_or(NoBytes::TooLarge)?;
    let bytes = match (&tensor.data, &tensor.file) {
        (Some(data), None) => BASE64.decode(data)?,
        (None, Some(name)) if !name.contains('/') && !name.starts_with('.') => {
            let mut bytes = Vec::new();
            let read = File::open(room.scratch.join(name)).and_then(|mut file| {
                file.seek(SeekFrom::Start(tensor.offset.unwrap_or(0)))?;
                file.take(size as u64).read_to_end(&mut bytes)
            });
            read.map_err(|error| NoBytes::File { name: name.clone(), error })?;
            bytes
        }
        (None, None) => {
            let (memory, offset) =
                room.memory.as_ref().zip(tensor.offset).ok_or(NoBytes::NoSource)?;
            memory.asked(offset, size).map_err(|error| NoBytes::Memory { error })?
        }
        _ => return Err(NoBytes::NoSource),
    };
    if bytes.len() != size {
        return Err(NoBytes::Length { size, got: bytes.len() });
    }
    Ok(bytes)
}
