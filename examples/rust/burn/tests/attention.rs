//! The laws of attention on burn's module, on the CPU.

use burn_attention_tests::attention;
use burn_tensor::ops::AttentionModuleOptions;
use burn_tensor::{Device, Tensor, TensorData};
use qkvet::{Attention, Call, CallOption, Declined, Dims, Supports};

struct Burn;

impl Attention for Burn {
    fn attention(&self, call: &Call<'_, f32>, output: &mut [f32]) -> Result<(), Declined> {
        let device = Device::flex();
        let of = |tensor: qkvet::Tensor<'_, f32>| {
            Tensor::<4>::from_data(TensorData::new(tensor.data.to_vec(), tensor.shape.to_vec()), &device)
        };
        // Masks and biases are written out: burn takes them whole.
        let Dims { b, h_q, n_q, n_k, .. } = call.dims();
        let rows = || (0..b).flat_map(move |item| (0..h_q).flat_map(move |h| (0..n_q).map(move |i| (item, h, i))));
        let whole = || rows().flat_map(move |(item, h, i)| (0..n_k).map(move |j| [item, h, i, j]));
        let hidden = call.mask.map(|mask| {
            let hidden: Vec<bool> = whole().map(|at| !mask.at(at)).collect();
            Tensor::from_data(TensorData::new(hidden, vec![b, h_q, n_q, n_k]), &device)
        });
        let bias = call.bias.map(|bias| {
            let bias: Vec<f32> = whole().map(|at| bias.at(at)).collect();
            Tensor::from_data(TensorData::new(bias, vec![b, h_q, n_q, n_k]), &device)
        });
        let options = AttentionModuleOptions { scale: call.scale, softcap: call.softcap, is_causal: call.causal };
        let found = attention(of(call.query), of(call.key), of(call.value), hidden, bias, options);
        output.copy_from_slice(
            &found.into_data().to_vec::<f32>().map_err(|error| Declined::refused(format!("{error:?}")))?,
        );
        Ok(())
    }

    fn supports(&self) -> Supports {
        use CallOption::{Bias, Causal, Mask, Scale, Softcap};
        Supports::options([Scale, Causal, Mask, Bias, Softcap])
    }
}

qkvet::attention_tests!(Burn);
