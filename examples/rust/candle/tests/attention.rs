//! The laws of attention on candle's kernel for the CPU.

use candle_attention_tests::attention;
use candle_core::{Device, Result, Tensor};
use qkvet::{Attention, Call, CallOption, Declined, Supports};

struct Candle;

impl Attention for Candle {
    fn attention(&self, call: &Call<'_, f32>, output: &mut [f32]) -> std::result::Result<(), Declined> {
        // What candle does not take is an error of candle, and not offered.
        let found = called(call).map_err(Declined::unsupported)?;
        output.copy_from_slice(&found);
        Ok(())
    }

    fn supports(&self) -> Supports {
        Supports::options([CallOption::Scale, CallOption::Causal, CallOption::Mask, CallOption::Bias])
    }
}

fn called(call: &Call<'_, f32>) -> Result<Vec<f32>> {
    let of = |tensor: qkvet::Tensor<'_, f32>| Tensor::from_slice(tensor.data, tensor.shape, &Device::Cpu);
    let bias = bias(call)?;
    let scale = call.scale_or_default() as f32;
    let output = attention(&of(call.query)?, &of(call.key)?, &of(call.value)?, scale, call.causal, bias.as_ref())?;
    output.contiguous()?.flatten_all()?.to_vec1()
}

/// Mask and bias in one `(n_q, n_k)`, where it is the same for all items and heads.
fn bias(call: &Call<'_, f32>) -> Result<Option<Tensor>> {
    if call.mask.is_none() && call.bias.is_none() {
        return Ok(None);
    }
    let dims = call.dims();
    let at = |indices: [usize; 4]| {
        let shown = call.mask.is_none_or(|mask| mask.at(indices));
        if shown { call.bias.map_or(0.0, |bias| bias.at(indices)) } else { f32::NEG_INFINITY }
    };
    let of = |item: usize, head: usize| -> Vec<f32> {
        (0..dims.n_q).flat_map(|i| (0..dims.n_k).map(move |j| [item, head, i, j])).map(at).collect()
    };
    let first = of(0, 0);
    if (0..dims.b).any(|item| (0..dims.h_q).any(|head| of(item, head) != first)) {
        candle_core::bail!("one mask of (S, KV_S) for all heads");
    }
    Tensor::from_vec(first, (dims.n_q, dims.n_k), &Device::Cpu).map(Some)
}

qkvet::attention_tests!(Candle);
