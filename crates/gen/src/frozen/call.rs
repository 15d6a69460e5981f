//! Between a call and the case of the law `value` that stands for it.

use indexmap::IndexMap;
use qkvet_spec::{Binding, Call, Case, Matrices, Tensor, VALUE_LAW};

use crate::GenError;
use crate::choice::is_extended;
use crate::validate::{check_dims, check_elements, check_option_values};

/// The one call of a case of the law `value`: `Q`, `K`, `V` and the options as they are.
///
/// # Errors
/// A case of another law, other options than scale, causal, mask and bias, other variables than
/// `Q`, `K` and `V`, shapes that do not fit the extents, elements that the format does not have.
pub fn call_of(case: &Case) -> Result<Call, GenError> {
    if case.law != VALUE_LAW {
        return Err(GenError::new(
            "law",
            "case",
            format!("`{VALUE_LAW}`, a single call"),
            format!("`{:.64}`", case.law),
        ));
    }
    check_dims(&case.dims, "dims")?;
    let d = case.dims;
    let tensor = |name: &str, heads: usize, rows: usize, cols: usize| {
        let place = format!("variable `{name}`");
        let expected = format!("matrices ({}, {heads}, {rows}, {cols})", d.b);
        match case.bindings.get(name) {
            Some(Binding::Matrices(m))
                if (m.batch, m.heads, m.rows, m.cols) == (Some(d.b), Some(heads), rows, cols)
                    && m.data.len() == d.b * heads * rows * cols =>
            {
                check_elements(&m.data, case.dtype, &place)?;
                Ok(Tensor {
                    dtype: case.dtype,
                    shape: vec![d.b, heads, rows, cols],
                    data: m.data.clone(),
                })
            }
            Some(_) => Err(GenError::new("value", place, expected, "another")),
            None => Err(GenError::new("value", place, expected, "none")),
        }
    };
    let (query, key) = (tensor("Q", d.h_q, d.n_q, d.d_k)?, tensor("K", d.h_k, d.n_k, d.d_k)?);
    let value = tensor("V", d.h_k, d.n_k, d.d_v)?;
    if let Some(name) = case.bindings.keys().find(|name| !["Q", "K", "V"].contains(&name.as_str()))
    {
        return Err(GenError::new("variable", "case", "Q, K and V", format!("`{name:.32}` too")));
    }
    if let Some(option) = case.options.on().iter().find(|option| is_extended(*option)) {
        let expected = "scale, causal, mask and bias, which frozen cases hold";
        return Err(GenError::new("option", "case", expected, format!("`{option}`")));
    }
    check_option_values(&case.options, &d, case.dtype)?;
    Ok(Call {
        query,
        key,
        value,
        options: case.options.clone(),
        return_weights: false,
        return_lse: false,
    })
}

/// The case of the law `value` that makes this call; its [`case_id`](crate::case_id) is the call's
/// id.
///
/// The three tensors have four axes each, as every [`Call`] has.
pub fn case_of(call: &Call) -> Case {
    let matrices = |tensor: &Tensor| {
        let axis = |at: usize| tensor.shape.get(at).copied().unwrap_or(1);
        let data = tensor.data.clone();
        let m = Matrices {
            batch: Some(axis(0)),
            heads: Some(axis(1)),
            rows: axis(2),
            cols: axis(3),
            data,
        };
        Binding::Matrices(m)
    };
    let named = [("Q", &call.query), ("K", &call.key), ("V", &call.value)];
    let bindings: IndexMap<String, Binding> =
        named.into_iter().map(|(name, tensor)| (name.to_owned(), matrices(tensor))).collect();
    Case {
        law: VALUE_LAW.to_owned(),
        dtype: call.dtype(),
        dims: call.dims(),
        options: call.options.clone(),
        bindings,
    }
}
