//! Calls that others made: what of them must fit before anything is said of an answer.

use qkvet_engine::format::is_representable;
use qkvet_spec::{Call, CallOptions, Dtype, Tensor};

use crate::GenError;
use crate::validate::{at_least_binary32, check_broadcast, check_extended_values};

/// Checks a call that was not made from a case: four axes each for query, key and value, of one
/// format, that fit together, and options of fitting shapes. Numbers of query, key and value may be
/// any; those of the options are finite, of a bias also −∞, and need no more than the wider of the
/// format and binary32, in which attention is computed.
///
/// # Errors
/// The first thing that does not fit.
pub fn check_call(call: &Call) -> Result<(), GenError> {
    for (place, tensor) in [("query", &call.query), ("key", &call.key), ("value", &call.value)] {
        if tensor.shape.len() != 4 || tensor.shape.contains(&0) {
            let got = format!("{:?}", tensor.shape);
            return Err(GenError::new("shape", place, "four axes, none of them empty", got));
        }
        check_length(tensor, place)?;
        if tensor.dtype != call.query.dtype {
            return Err(GenError::new(
                "format",
                place,
                call.query.dtype.name(),
                tensor.dtype.name(),
            ));
        }
    }
    if let Some(got) = call.misfit_shapes() {
        return Err(GenError::new(
            "shapes",
            "query, key and value",
            "ones that fit together",
            got.to_string(),
        ));
    }
    let (dims, options) = (call.dims(), &call.options);
    for (place, number) in [("scale", options.scale), ("softcap", options.softcap)] {
        if let Some(number) =
            number.filter(|number| !number.is_finite() || (place == "softcap" && *number <= 0.0))
        {
            let expected = if place == "softcap" { "a number above 0" } else { "a finite number" };
            return Err(GenError::new("number", place, expected, format!("{number:?}")));
        }
    }
    if let Some(mask) = &options.mask {
        check_broadcast(&mask.shape, mask.data.len(), &dims, "mask")?;
    }
    if let Some(bias) = &options.bias {
        check_broadcast(&bias.shape, bias.data.len(), &dims, "bias")?;
        check_numbers(bias, call.dtype(), true, "bias")?;
    }
    for (place, tensor) in [("sinks", &options.sinks), ("alibi_slopes", &options.alibi_slopes)] {
        let Some(tensor) = tensor else { continue };
        if tensor.shape != [dims.h_q] {
            let expected = format!("[{}], one number a query head", dims.h_q);
            return Err(GenError::new("shape", place, expected, format!("{:?}", tensor.shape)));
        }
        check_length(tensor, place)?;
        check_numbers(tensor, call.dtype(), false, place)?;
    }
    let rest = CallOptions { softcap: None, sinks: None, alibi_slopes: None, ..options.clone() };
    check_extended_values(&rest, &dims, call.dtype())
}

fn check_length(tensor: &Tensor, place: &str) -> Result<(), GenError> {
    let product = tensor.shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
    if product == Some(tensor.data.len()) {
        return Ok(());
    }
    Err(GenError::new(
        "elements",
        place,
        format!("those of shape {:?}", tensor.shape),
        tensor.data.len().to_string(),
    ))
}

fn check_numbers(
    tensor: &Tensor,
    format: Dtype,
    allows_hidden: bool,
    place: &str,
) -> Result<(), GenError> {
    let widest = at_least_binary32(format);
    let is_allowed = |x: f64| {
        (x.is_finite() && is_representable(x, widest)) || (allows_hidden && x == f64::NEG_INFINITY)
    };
    match tensor.data.iter().find(|x| !is_allowed(**x)) {
        Some(x) => Err(GenError::new(
            "element",
            place,
            format!("finite numbers of {widest}"),
            format!("{x:?}"),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{BoolTensor, Window};

    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        Tensor {
            dtype: Dtype::Float32,
            shape: shape.to_vec(),
            data: vec![0.5; shape.iter().product()],
        }
    }

    fn call(options: CallOptions) -> Call {
        Call {
            query: tensor(&[1, 4, 3, 2]),
            key: tensor(&[1, 2, 5, 2]),
            value: tensor(&[1, 2, 5, 6]),
            options,
            return_weights: false,
            return_lse: false,
        }
    }

    fn check(call: &Call, expected: &str) {
        let got = check_call(call).map_or_else(|error| error.to_string(), |()| String::new());
        assert!(got.contains(expected) && got.is_empty() == expected.is_empty(), "{got}");
    }

    #[test]
    fn what_fits_passes() {
        check(&call(CallOptions::default()), "");
        let hidden = Tensor { data: vec![f64::NEG_INFINITY; 5], ..tensor(&[1, 5]) };
        check(
            &call(CallOptions { scale: Some(0.1), bias: Some(hidden), ..CallOptions::default() }),
            "",
        );
        check(
            &Call {
                query: Tensor { data: vec![f64::NAN; 24], ..tensor(&[1, 4, 3, 2]) },
                ..call(CallOptions::default())
            },
            "",
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let with = |options| call(options);
        let off = CallOptions::default;
        check(
            &Call { query: tensor(&[4, 3, 2]), ..call(off()) },
            "shape at query: expected four axes",
        );
        check(&Call { key: tensor(&[1, 2, 0, 2]), ..call(off()) }, "shape at key");
        check(
            &Call { query: tensor(&[1, 3, 3, 2]), ..call(off()) },
            "3 query heads, 2 key/value heads",
        );
        check(
            &Call { key: tensor(&[1, 2, 5, 3]), ..call(off()) },
            "queries of width 2, keys of width 3",
        );
        let half = Tensor { dtype: Dtype::Float16, ..tensor(&[1, 2, 5, 6]) };
        check(
            &Call { value: half, ..call(off()) },
            "format at value: expected float32, got float16",
        );
        check(&with(CallOptions { scale: Some(f64::NAN), ..off() }), "number at scale");
        check(
            &with(CallOptions { softcap: Some(0.0), ..off() }),
            "number at softcap: expected a number above 0",
        );
        let mask = BoolTensor { shape: vec![2, 5], data: vec![true; 10] };
        check(&with(CallOptions { mask: Some(mask), ..off() }), "a mask of shape (2, 5)");
        let wide = Tensor { dtype: Dtype::Float64, data: vec![0.1; 5], ..tensor(&[1, 5]) };
        check(
            &with(CallOptions { bias: Some(wide), ..off() }),
            "element at bias: expected finite numbers of float32",
        );
        check(
            &with(CallOptions { sinks: Some(tensor(&[2])), ..off() }),
            "shape at sinks: expected [4]",
        );
        check(
            &with(CallOptions { key_lengths: Some(vec![6]), ..off() }),
            "length at key_lengths: expected 0 to 5",
        );
        check(&with(CallOptions { window: Some(Window::default()), ..off() }), "window");
    }
}
