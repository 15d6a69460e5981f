//! Calls of a user's own, as files of arrays: what `qkvet.capture` writes and `numpy.savez` can.

use indexmap::IndexMap;
use qkvet_engine::format::{is_representable, max_finite};
use qkvet_spec::{
    Binding, BoolTensor, Call, CallOptions, Case, CheckedLaw, Dtype, Packed, Tensor, VALUE_LAW,
    Window,
};

use super::archive::{Archive, Array, Element};
use super::call::case_of;
use super::output::dtype;
use super::{npz, safetensors};
use crate::source::Source;
use crate::validate::check_case;
use crate::{GenError, case_id, check_call};

/// The text that names the format of arrays whose container has no name for it.
const DTYPE: &str = "dtype";

/// A call of a user's own as a case of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnCase {
    /// The case's id: the hash of its content, see [`case_id`].
    pub id: String,
    /// The file that the call was read from.
    pub file: String,
    /// The case.
    pub case: Case,
}

impl OwnCase {
    /// A call under one law; with `rows`, so many of its query rows, drawn by `seed`, where the law
    /// says what a single call returns.
    ///
    /// # Errors
    /// A call that the law says nothing of: an option or a variable that it does not have, extents
    /// that its condition leaves out.
    pub fn of(
        call: &Call,
        file: &str,
        law: &CheckedLaw,
        rows: Option<usize>,
        seed: u64,
    ) -> Result<Self, GenError> {
        let is_definition = law.law.law == VALUE_LAW;
        if !is_definition && may_overflow(call) {
            let expected = format!("scores that {} can hold", call.dtype());
            return Err(GenError::new("element", "query and key", expected, "larger ones"));
        }
        // Other laws say which keys are seen, and know of no bias that hides any.
        if !law.says_a_result() && call.options.bias_hides() {
            return Err(GenError::new("element", "bias", "finite numbers", "-inf"));
        }
        let mut case = Case { law: law.law.law.clone(), ..case_of(call) };
        let n_q = case.dims.n_q;
        if let Some(n) = rows.filter(|n| *n < n_q && law.says_a_result()) {
            let rows = Source(seed).draws(Case::ROWS).subset(n_q, n);
            case.bindings.insert(Case::ROWS.to_owned(), Binding::Indices(rows));
        }
        check_case(law, &case)?;
        Ok(Self { id: case_id(&case), file: file.to_owned(), case })
    }
}

/// Whether a score may be larger than any number of the format.
fn may_overflow(call: &Call) -> bool {
    let largest = |tensor: &Tensor| tensor.data.iter().fold(0.0, |max: f64, x| max.max(x.abs()));
    let scale = call.options.scale.map_or(1.0, f64::abs).max(1.0);
    let scores = largest(&call.query) * largest(&call.key) * call.dims().d_k as f64 * scale;
    scores >= max_finite(call.dtype())
}

/// Reads a call from a NumPy archive: arrays `query`, `key` and `value`, with four axes
/// `(b, h, n, d)`, or three or two, without heads and items; and the options that are on, by the
/// names that they have in requests: `scale`, `causal`, `mask`, `bias`, `softcap`, `window` (two
/// numbers, −1 where a side is open), `sinks`, `alibi_slopes`, `key_lengths`, `query_lengths`,
/// `query_offsets` and `key_offsets`. A text `dtype` names a format that NumPy has none for.
///
/// `scale` and `softcap` are rounded to binary32 where the inputs are no wider: that is how they
/// reach a kernel.
///
/// # Errors
/// Anything else, with its place.
pub fn call_from_npz(bytes: &[u8]) -> Result<Call, GenError> {
    call_of_archive(npz::read(bytes)?)
}

/// Reads a call from a safetensors file, of the same arrays.
///
/// # Errors
/// As [`call_from_npz`].
pub fn call_from_safetensors(bytes: &[u8]) -> Result<Call, GenError> {
    call_of_archive(safetensors::read(bytes, DTYPE)?)
}

/// The call as a NumPy archive that [`call_from_npz`] reads.
///
/// # Errors
/// None in practice.
pub fn call_to_npz(call: &Call) -> Result<Vec<u8>, GenError> {
    let mut arrays = IndexMap::new();
    let mut add = |name: &str, array: Array| drop(arrays.insert(name.to_owned(), array));
    let options = &call.options;
    call.numbers().for_each(|(name, tensor)| add(name, Array::of(tensor)));
    options.mask.iter().for_each(|mask| add("mask", Array::of_mask(mask)));
    for (name, number) in [("scale", options.scale), ("softcap", options.softcap)] {
        number.into_iter().for_each(|number| add(name, Array::of_numbers(&[], &[number])));
    }
    if options.causal {
        add("causal", Array::of_mask(&BoolTensor { shape: Vec::new(), data: vec![true] }));
    }
    let side = |side: Option<usize>| side.map_or(-1, |n| n as i64);
    let window = options.window.map(|window| vec![side(window.left), side(window.right)]);
    window.into_iter().for_each(|sides| add("window", Array::of_whole(&sides)));
    for (name, numbers) in call.whole_numbers() {
        let numbers: Vec<i64> = numbers.iter().map(|n| *n as i64).collect();
        add(name, Array::of_whole(&numbers));
    }
    let texts = IndexMap::from([(DTYPE.to_owned(), call.dtype().name().to_owned())]);
    npz::write(&Archive { texts, arrays })
}

fn call_of_archive(mut archive: Archive) -> Result<Call, GenError> {
    let named = archive.texts.shift_remove(DTYPE).map(|name| dtype(&name)).transpose()?;
    let query = archive.take("query")?;
    let format = match (named, query.element) {
        (Some(named), Element::Bits(_)) => named,
        (Some(named), Element::Float(own)) if named != own => {
            let place = "array `query`";
            return Err(GenError::new("format", place, named.name(), own.name()));
        }
        (_, Element::Float(own)) => own,
        (_, _) => {
            let expected =
                "floating-point numbers, or bits of the format that a text `dtype` names";
            return Err(GenError::new("format", "array `query`", expected, query.element.name()));
        }
    };
    let whole = |array: Array, name: &str| -> Result<Tensor, GenError> {
        let mut tensor = array.tensor(name, format)?;
        // One head of three axes, one item besides of two.
        match tensor.shape.len() {
            2 => tensor.shape.splice(0..0, [1, 1]).for_each(drop),
            3 => tensor.shape.insert(1, 1),
            _ => {}
        }
        Ok(tensor)
    };
    let query = whole(query, "query")?;
    let key = whole(archive.take("key")?, "key")?;
    let value = whole(archive.take("value")?, "value")?;
    for (name, tensor) in [("query", &query), ("key", &key), ("value", &value)] {
        if let Some(x) = tensor.data.iter().find(|x| !x.is_finite()) {
            let place = format!("array `{name}`");
            return Err(GenError::new("element", place, "finite numbers", format!("{x:?}")));
        }
    }
    let mut optional = |name: &str| archive.arrays.shift_remove(name);
    let narrow = |x: f64| match Dtype::Float32.precision() >= format.precision() {
        true => f64::from(x as f32),
        false => x,
    };
    let mask = optional("mask").map(|array| array.mask("mask")).transpose()?;
    let mask = mask.map(|mask| BoolTensor { shape: broadcast(mask.shape), ..mask });
    let tensors = |name: &str, array: Option<Array>| array.map(|it| of_format(it, name, format));
    let bias = tensors("bias", optional("bias")).transpose()?;
    let bias = bias.map(|bias| Tensor { shape: broadcast(bias.shape), ..bias });
    let sinks = tensors("sinks", optional("sinks")).transpose()?;
    let alibi_slopes = tensors("alibi_slopes", optional("alibi_slopes")).transpose()?;
    let scale = optional("scale").map(|array| array.number("scale")).transpose()?.map(narrow);
    let softcap = optional("softcap").map(|array| array.number("softcap")).transpose()?.map(narrow);
    let causal = optional("causal").map(|array| array.mask("causal")).transpose()?;
    let causal = match causal.map(|causal| causal.data) {
        None => false,
        Some(data) if data.len() == 1 => data[0],
        Some(data) => {
            let got = format!("{} truth values", data.len());
            return Err(GenError::new("array", "`causal`", "one truth value", got));
        }
    };
    let mut numbers =
        |name: &str| optional(name).map(|array| array.whole_numbers(name)).transpose();
    let counts = |name: &str, numbers: Option<Vec<i64>>| {
        let count = |n: i64| {
            usize::try_from(n).map_err(|_| {
                let place = format!("array `{name}`");
                GenError::new("number", place, "0 or more", n.to_string())
            })
        };
        numbers.map(|all| all.into_iter().map(count).collect::<Result<Vec<_>, _>>()).transpose()
    };
    let window = match numbers("window")?.as_deref() {
        None => None,
        Some([left, right]) if *left >= -1 && *right >= -1 => {
            let side = |n: i64| usize::try_from(n).ok();
            Some(Window { left: side(*left), right: side(*right) })
        }
        Some(all) => {
            let got = format!("{:?}", &all[..all.len().min(4)]);
            let expected = "two numbers, left and right, -1 where a side is open";
            return Err(GenError::new("array", "`window`", expected, got));
        }
    };
    let key_lengths = counts("key_lengths", numbers("key_lengths")?)?;
    let query_lengths = counts("query_lengths", numbers("query_lengths")?)?;
    let query_offsets = counts("query_offsets", numbers("query_offsets")?)?;
    let key_offsets = counts("key_offsets", numbers("key_offsets")?)?;
    let packed = match (query_offsets, key_offsets) {
        (None, None) => None,
        (Some(query_offsets), Some(key_offsets)) => Some(Packed { query_offsets, key_offsets }),
        _ => {
            let expected = "both of `query_offsets` and `key_offsets`, or none";
            return Err(GenError::new("array", "packed sequences", expected, "one"));
        }
    };
    archive.check_empty()?;
    let options = CallOptions {
        scale,
        causal,
        mask,
        bias,
        softcap,
        window: window.filter(|window| *window != Window::default()),
        sinks,
        alibi_slopes,
        key_lengths,
        query_lengths,
        packed,
    };
    let call = Call { query, key, value, options, return_weights: false, return_lse: false };
    check_call(&call)?;
    Ok(call)
}

/// Two axes or four: what is missing is 1 in front, as arrays broadcast.
fn broadcast(mut shape: Vec<usize>) -> Vec<usize> {
    while !matches!(shape.len(), 2 | 4..) {
        shape.insert(0, 1);
    }
    shape
}

/// Numbers of an option in the format of the inputs, in which they have to be exact.
fn of_format(array: Array, name: &str, format: Dtype) -> Result<Tensor, GenError> {
    let own = match array.element {
        Element::Float(own) => own,
        _ => format,
    };
    let tensor = array.tensor(name, own)?;
    let is_exact = |x: &f64| !x.is_finite() || is_representable(*x, format);
    match tensor.data.iter().find(|x| !is_exact(x)) {
        Some(x) => {
            let expected = format!("numbers of {format}, the format of the inputs");
            Err(GenError::new("element", format!("array `{name}`"), expected, format!("{x:?}")))
        }
        None => Ok(Tensor { dtype: format, ..tensor }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of 2 items, 4 and 2 heads, 3 queries and 5 keys with every option that goes together.
    fn call(dtype: Dtype, is_packed: bool) -> Call {
        let tensor = |shape: &[usize]| {
            let n: usize = shape.iter().product();
            let data = (0..n).map(|at| (at % 7) as f64 / 4.0 - 0.5).collect();
            Tensor { dtype, shape: shape.to_vec(), data }
        };
        let mut bias = tensor(&[2, 1, 3, 5]);
        bias.data[4] = f64::NEG_INFINITY;
        let packed = Packed { query_offsets: vec![0, 1, 3], key_offsets: vec![0, 5, 5] };
        let lengths = |n| Some(vec![n, 0]).filter(|_| !is_packed);
        let options = CallOptions {
            scale: Some(0.25),
            causal: true,
            mask: Some(BoolTensor {
                shape: vec![3, 5],
                data: (0..15).map(|n| n % 4 > 0).collect(),
            }),
            bias: Some(bias),
            softcap: Some(3.5),
            window: Some(Window { left: None, right: Some(2) }),
            sinks: Some(tensor(&[4])),
            alibi_slopes: Some(tensor(&[4])),
            key_lengths: lengths(5),
            query_lengths: lengths(2),
            packed: is_packed.then_some(packed),
        };
        let (query, key) = (tensor(&[2, 4, 3, 8]), tensor(&[2, 2, 5, 8]));
        let value = tensor(&[2, 2, 5, 6]);
        Call { query, key, value, options, return_weights: false, return_lse: false }
    }

    #[test]
    fn a_call_comes_back_from_its_file() {
        for dtype in Dtype::CHECKED {
            for is_packed in [false, true] {
                let call = call(dtype, is_packed);
                let bytes = call_to_npz(&call).unwrap();
                assert_eq!(call_from_npz(&bytes).unwrap(), call);
                // The other container has a name for each format, and as many arrays as one likes.
                let of_format = |array: Array| match array.element {
                    Element::Bits(_) => Array { element: Element::Float(dtype), ..array },
                    _ => array,
                };
                let Archive { arrays, .. } = npz::read(&bytes).unwrap();
                let arrays =
                    arrays.into_iter().map(|(name, array)| (name, of_format(array))).collect();
                let archive = Archive { texts: IndexMap::new(), arrays };
                let bytes = safetensors::write(&archive).unwrap();
                assert_eq!(call_from_safetensors(&bytes).unwrap(), call);
            }
        }
    }
}
