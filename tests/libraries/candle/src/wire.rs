//! The conversation: requests into tensors of candle, an output into an answer.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use candle_core::{DType, Device, Result, Tensor, bail};
use serde_json::{Value, json};

/// Bytes up to which a tensor comes inline.
const INLINE: usize = 256 * 1024;

/// One call.
#[derive(Clone, Debug, Default)]
pub struct Request {
    tensors: Vec<(String, Tensor)>,
    pub scale: Option<f64>,
    pub softcap: Option<f64>,
    pub causal: bool,
    pub window: Option<(Option<usize>, Option<usize>)>,
    pub mask: Option<Tensor>,
    pub bias: Option<Tensor>,
    pub alibi_slopes: Option<Tensor>,
    pub key_lengths: Option<Vec<usize>>,
    pub query_lengths: Option<Vec<usize>>,
    pub query_offsets: Option<Vec<usize>>,
    pub key_offsets: Option<Vec<usize>>,
}

impl Request {
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        match self.tensors.iter().find(|(other, _)| other == name) {
            Some((_, tensor)) => Ok(tensor),
            None => bail!("no tensor {name}"),
        }
    }

    /// The call of one item alone.
    pub fn item(&self, item: usize) -> Result<Self> {
        let of = |tensor: &Tensor| match tensor.dims() {
            [b, _, _, _] if *b > 1 => tensor.narrow(0, item, 1),
            _ => Ok(tensor.clone()),
        };
        let tensors = self.tensors.iter().map(|(name, tensor)| Ok((name.clone(), of(tensor)?)));
        Ok(Self {
            tensors: tensors.collect::<Result<_>>()?,
            mask: self.mask.as_ref().map(of).transpose()?,
            bias: self.bias.as_ref().map(of).transpose()?,
            ..self.clone()
        })
    }

    fn read(message: &Value, scratch: &Path) -> Result<Self> {
        let mut request = Self::default();
        for (name, param) in message["params"].as_object().into_iter().flatten() {
            let side = |side: &str| param[side].as_u64().map(|n| n as usize);
            match name.as_str() {
                "scale" => request.scale = param.as_f64(),
                "softcap" => request.softcap = param.as_f64(),
                "causal" => request.causal = param.as_bool() == Some(true),
                "window" => request.window = Some((side("left"), side("right"))),
                "scale_hex" | "softcap_hex" => {}
                other => bail!("{other}"),
            }
        }
        for (name, tensor) in message["tensors"].as_object().into_iter().flatten() {
            let raw = bytes(tensor, scratch)?;
            let integers = || Some(raw.chunks_exact(8).map(|raw| integer(raw) as usize).collect());
            match name.as_str() {
                "query" | "key" | "value" => request.tensors.push((name.clone(), read(tensor, &raw)?)),
                "mask" => request.mask = Some(read(tensor, &raw)?),
                "bias" => request.bias = Some(read(tensor, &raw)?),
                "alibi_slopes" => request.alibi_slopes = Some(read(tensor, &raw)?),
                "key_lengths" => request.key_lengths = integers(),
                "query_lengths" => request.query_lengths = integers(),
                "query_offsets" => request.query_offsets = integers(),
                "key_offsets" => request.key_offsets = integers(),
                other => bail!("{other}"),
            }
        }
        Ok(request)
    }
}

fn integer(raw: &[u8]) -> u64 {
    raw.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn bytes(tensor: &Value, scratch: &Path) -> Result<Vec<u8>> {
    match (tensor["data"].as_str(), tensor["file"].as_str()) {
        (Some(data), _) => STANDARD.decode(data).map_err(candle_core::Error::wrap),
        (None, Some(file)) => {
            let offset = tensor["offset"].as_u64().unwrap_or(0) as usize;
            let raw = std::fs::read(scratch.join(file))?;
            let shape: usize = shape(tensor).iter().product();
            let size = dtype(tensor)?.size_in_bytes();
            Ok(raw.get(offset..offset + shape * size).map(<[u8]>::to_vec).unwrap_or_default())
        }
        _ => bail!("a tensor without elements"),
    }
}

fn shape(tensor: &Value) -> Vec<usize> {
    tensor["shape"].as_array().into_iter().flatten().filter_map(|n| Some(n.as_u64()? as usize)).collect()
}

fn dtype(tensor: &Value) -> Result<DType> {
    Ok(match tensor["dtype"].as_str().unwrap_or_default() {
        "float32" => DType::F32,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "bool" => DType::U8,
        "int64" => DType::I64,
        other => bail!("{other}"),
    })
}

fn read(tensor: &Value, raw: &[u8]) -> Result<Tensor> {
    Tensor::from_raw_buffer(raw, dtype(tensor)?, &shape(tensor), &Device::Cpu)
}

/// Elements in storage bits, little-endian.
fn written(output: &Tensor) -> Result<(&'static str, Vec<u8>)> {
    let flat = output.flatten_all()?;
    Ok(match output.dtype() {
        DType::F32 => ("float32", flat.to_vec1::<f32>()?.iter().flat_map(|x| x.to_le_bytes()).collect()),
        DType::F16 => ("float16", flat.to_vec1::<half::f16>()?.iter().flat_map(|x| x.to_le_bytes()).collect()),
        DType::BF16 => ("bfloat16", flat.to_vec1::<half::bf16>()?.iter().flat_map(|x| x.to_le_bytes()).collect()),
        other => bail!("an output of {other:?}"),
    })
}

fn answer(message: &Value, scratch: &Path, attention: &impl Fn(&Request) -> Result<Tensor>) -> Value {
    let seq = message["seq"].as_u64().unwrap_or_default();
    if message["want"] != json!(["output"]) {
        return json!({"seq": seq, "status": "unsupported", "reason": "the output alone"});
    }
    let outcome = Request::read(message, scratch).and_then(|request| attention(&request)).and_then(|output| {
        let (dtype, raw) = written(&output)?;
        let mut tensor = json!({"dtype": dtype, "shape": output.dims()});
        if raw.len() <= INLINE {
            tensor["data"] = STANDARD.encode(&raw).into();
        } else {
            let file = format!("{seq}-output.bin");
            std::fs::write(scratch.join(&file), &raw)?;
            tensor["file"] = file.into();
        }
        Ok(tensor)
    });
    match outcome {
        Ok(tensor) => json!({"seq": seq, "status": "ok", "tensors": {"output": tensor}}),
        // An error of candle is that it does not take the call: a wrong result is none.
        Err(error) => {
            let reason = error.to_string();
            json!({"seq": seq, "status": "unsupported", "reason": reason.lines().next()})
        }
    }
}

/// Answers requests until the end.
pub fn converse(options: &str, attention: impl Fn(&Request) -> Result<Tensor>) -> std::io::Result<()> {
    let mut scratch = PathBuf::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let reply = match message["op"].as_str() {
            Some("hello") => {
                scratch = PathBuf::from(message["scratch"].as_str().unwrap_or_default());
                let supports = json!({
                    "dtypes": ["float32", "float16", "bfloat16"],
                    "options": options.split(' ').collect::<Vec<_>>(),
                    "outputs": ["output"],
                    "payloads": ["inline", "file"],
                });
                let version = "candle-nn 0.11.1";
                json!({"ok": true, "wire": 1, "name": "candle", "version": version, "language": "rust", "device": "cpu", "supports": supports})
            }
            Some("run") => answer(&message, &scratch, &attention),
            _ => return Ok(()),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
