//! A request as the worker reads it: every name known, every tensor's bytes there.
#![allow(clippy::disallowed_methods, reason = "I/O, no arithmetic")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_spec::wire::{Params, Run, Status, Want, WireDtype, WireTensor};
use qkvet_spec::{Dims, Dtype};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Why a call gets no results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declined {
    pub(super) status: Status,
    pub(super) reason: String,
}

impl Declined {
    pub(super) fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    pub(super) fn unsupported(reason: impl Into<String>) -> Self {
        Self::new(Status::Unsupported, reason)
    }
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
pub(super) struct Posed {
    /// Those of query, key and value.
    pub(super) dims: Dims,
    pub(super) dtype: Dtype,
    pub(super) params: Params,
    pub(super) tensors: BTreeMap<String, Sent>,
    pub(super) wants_weights: bool,
    pub(super) wants_lse: bool,
}

/// Every name that may stand in a request.
const PARAMS: [&str; 6] = ["scale", "scale_hex", "causal", "softcap", "softcap_hex", "window"];
const TENSORS: [&str; 11] = [
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
];
const WANTS: [&str; 3] = ["output", "weights", "lse"];

/// The names of a request, whatever is behind them.
#[derive(Deserialize)]
struct Names {
    params: BTreeMap<String, IgnoredAny>,
    want: Vec<String>,
    tensors: BTreeMap<String, IgnoredAny>,
}

/// Names that this version does not know are declined, not passed over.
pub(super) fn known_names(line: &[u8]) -> Result<(), Declined> {
    let names: Names = serde_json::from_slice(line)
        .map_err(|error| Declined::new(Status::Error, format!("request: {error}")))?;
    let lists: [(Vec<&String>, &[&str]); 3] = [
        (names.params.keys().collect(), &PARAMS),
        (names.tensors.keys().collect(), &TENSORS),
        (names.want.iter().collect(), &WANTS),
    ];
    match lists
        .iter()
        .find_map(|(found, known)| found.iter().find(|name| !known.contains(&name.as_str())))
    {
        Some(unknown) => Err(Declined::unsupported(format!("no {unknown}"))),
        None => Ok(()),
    }
}

impl Posed {
    /// Reads the tensors of a request; files lie in `scratch`.
    pub(super) fn read(run: &Run, scratch: &Path) -> Result<Self, Declined> {
        let wrong = |reason: String| Declined::new(Status::Error, reason);
        let tensors = run.tensors.iter().map(|(name, tensor)| {
            let bytes =
                bytes(tensor, scratch).map_err(|error| wrong(format!("{name}: {error}")))?;
            Ok((name.clone(), Sent { dtype: tensor.dtype, shape: tensor.shape.clone(), bytes }))
        });
        let tensors: BTreeMap<String, Sent> = tensors.collect::<Result<_, Declined>>()?;
        let four = |name: &str| {
            let sent = tensors
                .get(name)
                .ok_or_else(|| wrong(format!("{name}: expected a tensor, got none")))?;
            let shape = <[usize; 4]>::try_from(sent.shape.as_slice());
            shape.map_err(|_| wrong(format!("{name}: expected 4 axes, got {}", sent.shape.len())))
        };
        let ([b, h_q, n_q, d_k], [_, h_k, n_k, _], [.., d_v]) =
            (four("query")?, four("key")?, four("value")?);
        let format = tensors.get("query").and_then(|query| query.dtype.dtype());
        let dtype =
            format.ok_or_else(|| wrong("query: expected a floating-point format".to_owned()))?;
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

fn bytes(tensor: &WireTensor, scratch: &Path) -> Result<Vec<u8>, String> {
    let size = match tensor.dtype {
        WireDtype::Bool => 1,
        WireDtype::Int64 => 8,
        other => other.dtype().map_or(1, Dtype::size),
    };
    let size = tensor.shape.iter().try_fold(size, |size: usize, n| size.checked_mul(*n));
    let size = size.ok_or("expected a tensor that fits into memory")?;
    let bytes = match (&tensor.data, &tensor.file) {
        (Some(data), None) => BASE64.decode(data).map_err(|error| error.to_string())?,
        (None, Some(name)) if !name.contains('/') && !name.starts_with('.') => {
            let mut bytes = Vec::new();
            let read = File::open(scratch.join(name)).and_then(|mut file| {
                file.seek(SeekFrom::Start(tensor.offset.unwrap_or(0)))?;
                file.take(size as u64).read_to_end(&mut bytes)
            });
            read.map_err(|error| format!("file {name}: {error}"))?;
            bytes
        }
        _ => return Err("expected data, or a file of the scratch folder".to_owned()),
    };
    if bytes.len() != size {
        return Err(format!("expected {size} bytes, got {}", bytes.len()));
    }
    Ok(bytes)
}
