//! The attention that `candle_nn::attention` publishes for the CPU, behind qkvet-wire/1
//! (docs/wire.md).
//!
//! The first argument says which function and how: `flash` is `flash_attn` on all items at once,
//! `item` the same for one item after the other, `upper` as `item` with `AttnMask::causal()`, which
//! has no number of keys before the queries, `varlen` is `flash_attn_varlen_cpu`, `unfused` is
//! `flash_attn_varlen_unfused`. What candle says it does not take is answered `unsupported`.

mod wire;

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use candle_nn::attention::{AttnMask, flash_attn, flash_attn_varlen_cpu, flash_attn_varlen_unfused};

use wire::Request;

/// Which function, and how it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Flash,
    Item,
    Upper,
    Varlen,
    Unfused,
}

fn main() -> std::io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let (form, options) = match name.as_str() {
        "flash" => (Form::Flash, "scale causal mask bias softcap"),
        "item" => (Form::Item, "scale causal mask bias softcap"),
        "upper" => (Form::Upper, "scale causal mask bias softcap"),
        "varlen" => (Form::Varlen, "scale causal window alibi_slopes key_lengths query_lengths packed"),
        "unfused" => (Form::Unfused, "scale causal window alibi_slopes key_lengths query_lengths packed"),
        other => {
            return Err(std::io::Error::other(format!("expected flash, item, upper, varlen or unfused, got {other:?}")));
        }
    };
    wire::converse(options, |request| match form {
        Form::Flash => flash(request, form),
        Form::Item | Form::Upper => items(request, form),
        Form::Varlen | Form::Unfused => packed(request, form),
    })
}

/// candle wants a scale, and one width for query, key and value. It panics where key heads do not
/// divide query heads.
fn scale(request: &Request) -> Result<f32> {
    let (heads, key_heads) = (request.tensor("query")?.dim(1)?, request.tensor("key")?.dim(1)?);
    if key_heads == 0 || heads % key_heads != 0 {
        bail!("{heads} query heads are no multiple of {key_heads} key heads");
    }
    let width = request.tensor("query")?.dim(3)?;
    if request.tensor("value")?.dim(3)? != width {
        bail!("value has the width of query and key, (B, KV_S, KV_H, D)");
    }
    Ok(request.scale.unwrap_or(1.0 / (width as f64).sqrt()) as f32)
}

/// `flash_attn` takes `(B, S, H, D)` and gives `(B, H, S, D)`; for one item it gives float32
/// whatever it was given.
fn flash(request: &Request, form: Form) -> Result<Tensor> {
    let scale = scale(request)?;
    let [q, k, v] = ["query", "key", "value"].map(|name| request.tensor(name)?.transpose(1, 2)?.contiguous());
    let (q, k, v) = (q?, k?, v?);
    let mask = mask(request, q.dim(1)?, k.dim(1)?, form)?;
    let softcap = request.softcap.map(|softcap| softcap as f32);
    let output = match q.dtype() {
        DType::F32 => call::<f32>(&q, &k, &v, scale, mask, softcap),
        DType::F16 => call::<half::f16>(&q, &k, &v, scale, mask, softcap),
        DType::BF16 => call::<half::bf16>(&q, &k, &v, scale, mask, softcap),
        other => bail!("no attention for {other:?}"),
    }?;
    output.to_dtype(q.dtype())
}

fn call<T: WithDType + num_traits::Float>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    scale: f32,
    mask: AttnMask,
    softcap: Option<f32>,
) -> Result<Tensor> {
    flash_attn::<T>(q, k, v, scale, mask, None, softcap)
}

/// One mask for all heads, with numbers: booleans are written as 0 and −∞.
fn mask(request: &Request, n_q: usize, n_k: usize, form: Form) -> Result<AttnMask> {
    let of_call = request.mask.as_ref().or(request.bias.as_ref());
    match (of_call, request.causal) {
        (None, false) => Ok(AttnMask::None),
        (None, true) if form == Form::Upper => Ok(AttnMask::causal()),
        (None, true) if n_k < n_q => bail!("kv_offset, the number of keys before the queries, is not negative"),
        (None, true) => Ok(AttnMask::causal_with_offset(n_k - n_q)),
        (Some(_), true) => bail!("AttnMask is a mask or causal"),
        (Some(_), false) => {
            if request.mask.is_some() && request.bias.is_some() {
                bail!("one tensor for mask and bias");
            }
            let numbers = match (&request.mask, &request.bias) {
                (Some(mask), _) => {
                    let shown = Tensor::zeros(mask.shape(), DType::F32, &Device::Cpu)?;
                    let hidden = Tensor::full(f32::NEG_INFINITY, mask.shape(), &Device::Cpu)?;
                    mask.where_cond(&shown, &hidden)?
                }
                (None, Some(bias)) => bias.clone(),
                (None, None) => bail!("no mask"),
            };
            let numbers = one_for_all(&numbers)?.broadcast_as((n_q, n_k))?.contiguous()?;
            Ok(AttnMask::Mask(numbers.to_dtype(request.tensor("query")?.dtype())?))
        }
    }
}

/// The kernel reads `(S, KV_S)`, whatever the mask has in front of that.
fn one_for_all(mask: &Tensor) -> Result<Tensor> {
    if mask.rank() == 2 {
        return Ok(mask.clone());
    }
    let masks = mask.to_dtype(DType::F32)?.flatten_to(1)?.to_vec3::<f32>()?;
    if masks.iter().any(|one| *one != masks[0]) {
        bail!("one mask of (S, KV_S) for all heads");
    }
    mask.flatten_to(1)?.get(0)
}

/// One call for each item.
fn items(request: &Request, form: Form) -> Result<Tensor> {
    let n_items = request.tensor("query")?.dim(0)?;
    let outputs = (0..n_items).map(|item| flash(&request.item(item)?, form)).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&outputs, 0)
}

/// Items, or packed sequences, one after the other in `(total, H, D)`.
fn packed(request: &Request, form: Form) -> Result<Tensor> {
    let scale = scale(request)?;
    let (b, h_q, n_q, width) = request.tensor("query")?.dims4()?;
    let n_k = request.tensor("key")?.dim(2)?;
    let lengths = |given: &Option<Vec<usize>>, n: usize| given.clone().unwrap_or_else(|| vec![n; b]);
    let differences = |offsets: &Vec<usize>| offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    let (q_lengths, k_lengths, whole) = match (&request.query_offsets, &request.key_offsets) {
        (Some(q), Some(k)) => (differences(q), differences(k), true),
        _ => (lengths(&request.query_lengths, n_q), lengths(&request.key_lengths, n_k), false),
    };
    // Rows of each item beyond its length are padding and are left out.
    let rows = |name: &str, lengths: &[usize]| -> Result<Tensor> {
        let x = request.tensor(name)?.transpose(1, 2)?.contiguous()?;
        if whole {
            return x.squeeze(0);
        }
        let of = |(item, length): (usize, &usize)| x.get(item)?.narrow(0, 0, *length);
        Tensor::cat(&lengths.iter().enumerate().map(of).collect::<Result<Vec<_>>>()?, 0)
    };
    let (q, k, v) = (rows("query", &q_lengths)?, rows("key", &k_lengths)?, rows("value", &k_lengths)?);
    let counts = |lengths: &[usize]| {
        Tensor::from_vec(lengths.iter().map(|n| *n as u32).collect::<Vec<_>>(), lengths.len(), &Device::Cpu)
    };
    let slopes = request.alibi_slopes.as_ref().map(|slopes| slopes.to_dtype(DType::F32)).transpose()?;
    // A side that is left out: no left side with a right side is an error, no right side with a
    // left one counts as 0.
    let (left, right) = match request.window {
        None => (None, None),
        Some((left, right)) => (Some(left.unwrap_or(n_q + n_k)), Some(right.unwrap_or(n_q + n_k))),
    };
    let run = if form == Form::Varlen { flash_attn_varlen_cpu } else { flash_attn_varlen_unfused };
    let (q_counts, k_counts) = (counts(&q_lengths)?, counts(&k_lengths)?);
    let causal = request.causal;
    let output = run(&q, &k, &v, slopes.as_ref(), &q_counts, &k_counts, n_q, n_k, scale, causal, left, right)?;
    // Queries of the padding are not computed; what stands for them is 0.
    let zeros = Tensor::zeros((b, n_q, h_q, width), output.dtype(), &Device::Cpu)?;
    let filled = if whole { output.unsqueeze(0)? } else { scatter(&zeros, &output, &q_lengths)? };
    filled.transpose(1, 2)?.contiguous()
}

fn scatter(zeros: &Tensor, rows: &Tensor, lengths: &[usize]) -> Result<Tensor> {
    let mut begin = 0;
    let mut items = Vec::new();
    for (item, length) in lengths.iter().enumerate() {
        let padding = zeros.get(item)?.narrow(0, *length, zeros.dim(1)? - length)?;
        items.push(Tensor::cat(&[&rows.narrow(0, begin, *length)?, &padding], 0)?);
        begin += length;
    }
    Tensor::stack(&items, 0)
}
