//! The laws of attention on the attention of this package.

use ndarray::{ArrayView4, ArrayViewD, NdFloat, ShapeError};
use ndarray_attention::{Options, attention};
use qkvet::{Attention, Call, CallOption, Declined, Element, Supports, Tensor};

struct Ndarray;

impl<T: Element + NdFloat> Attention<T> for Ndarray {
    fn attention(&self, call: &Call<'_, T>, output: &mut [T]) -> Result<(), Declined> {
        let options = Options {
            scale: call.scale.and_then(T::from),
            causal: call.causal,
            mask: call.mask.map(of_any_shape).transpose()?,
            bias: call.bias.map(of_any_shape).transpose()?,
        };
        let (query, key, value) = (of_four_axes(call.query)?, of_four_axes(call.key)?, of_four_axes(call.value)?);
        let found = attention(query, key, value, &options).map_err(Declined::refused)?;
        output.iter_mut().zip(&found).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn supports(&self) -> Supports {
        Supports::options([CallOption::Scale, CallOption::Causal, CallOption::Mask, CallOption::Bias]).misfits()
    }
}

fn of_four_axes<T>(tensor: Tensor<'_, T>) -> Result<ArrayView4<'_, T>, ShapeError> {
    ArrayView4::from_shape((tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]), tensor.data)
}

fn of_any_shape<T>(tensor: Tensor<'_, T>) -> Result<ArrayViewD<'_, T>, ShapeError> {
    ArrayViewD::from_shape(tensor.shape, tensor.data)
}

qkvet::attention_tests!(Ndarray, f32, f64);
