//! Literals of Python that give back every bit.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format::encode;
use qkvet_spec::{BoolTensor, Call, Tensor, Window};

/// How arrays are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Lists of decimals, for people.
    Decimals,
    /// Base64 of little-endian bits.
    Packed,
}

/// A text. Python reads the escapes of JSON as JSON does.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `True` or `False`.
pub(crate) fn python(on: bool) -> &'static str {
    if on { "True" } else { "False" }
}

/// A text, or `None`.
pub(crate) fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "None".to_owned(), string)
}

/// `["a", "b"]`.
pub(crate) fn list(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let texts = texts.into_iter().map(|text| string(text.as_ref()));
    format!("[{}]", texts.collect::<Vec<_>>().join(", "))
}

/// `{"a": "b"}`.
pub(crate) fn dict<K: AsRef<str>, V: AsRef<str>>(
    texts: impl IntoIterator<Item = (K, V)>,
) -> String {
    let pair =
        |(key, value): (K, V)| format!("{}: {}", string(key.as_ref()), string(value.as_ref()));
    format!("{{{}}}", texts.into_iter().map(pair).collect::<Vec<_>>().join(", "))
}

/// A number: the shortest decimal that reads back to it, `nan`, `inf`.
pub(crate) fn float(x: f64) -> String {
    if x == 0.0 {
        // Without a point it would be the whole number, which has no sign.
        return if x.is_sign_negative() { "-0.0" } else { "0" }.to_owned();
    }
    if !x.is_finite() {
        return if x.is_nan() {
            "nan"
        } else if x > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_owned();
    }
    let (plain, scientific) = (format!("{x}"), format!("{x:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

/// Numbers, which the script reads by `numbers`.
pub(crate) fn floats(data: impl Iterator<Item = f64>, style: Style) -> String {
    match style {
        Style::Decimals => format!("[{}]", data.map(float).collect::<Vec<_>>().join(", ")),
        Style::Packed => packed(&data.flat_map(f64::to_le_bytes).collect::<Vec<u8>>()),
    }
}

/// `(2, 3)`; one extent has a comma, as Python wants it.
pub(crate) fn shape(extents: &[usize]) -> String {
    let joined = extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    if extents.len() == 1 { format!("({joined},)") } else { format!("({joined})") }
}

/// The arguments of `make`: format, shape, numbers or storage bits.
pub(crate) fn tensor(tensor: &Tensor, style: Style) -> String {
    let data = match style {
        Style::Decimals => floats(tensor.data.iter().copied(), style),
        Style::Packed => packed(&encode(&tensor.data, tensor.dtype)),
    };
    array(tensor.dtype.name(), &tensor.shape, &data)
}

/// The same of a mask.
pub(crate) fn mask(mask: &BoolTensor, style: Style) -> String {
    let bytes: Vec<u8> = mask.data.iter().map(|x| u8::from(*x)).collect();
    let data = match style {
        Style::Decimals => floats(bytes.iter().map(|x| f64::from(*x)), style),
        Style::Packed => packed(&bytes),
    };
    array("bool", &mask.shape, &data)
}

/// The arguments of `make` for storage bits.
pub(crate) fn bytes(dtype: &str, extents: &[usize], bits: &[u8]) -> String {
    array(dtype, extents, &packed(bits))
}

fn array(dtype: &str, extents: &[usize], data: &str) -> String {
    format!("(\"{dtype}\", {}, {data})", shape(extents))
}

fn packed(bytes: &[u8]) -> String {
    format!("\"{}\"", BASE64.encode(bytes))
}

/// Lengths and offsets as arguments of `make`.
fn whole_numbers(numbers: &[usize], style: Style) -> String {
    let data = match style {
        Style::Decimals => {
            format!("[{}]", numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
        }
        Style::Packed => {
            packed(&numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()).collect::<Vec<u8>>())
        }
    };
    array("int64", &[numbers.len()], &data)
}

/// `(2, None)`.
fn window(window: Window) -> String {
    let side = |n: Option<usize>| n.map_or_else(|| "None".to_owned(), |n| n.to_string());
    format!("({}, {})", side(window.left), side(window.right))
}

/// The options of a call that are on, by name.
pub(crate) fn options(call: &Call, style: Style) -> Vec<(String, String)> {
    let options = &call.options;
    let float_tensor = |x: &Option<Tensor>| x.as_ref().map(|x| tensor(x, style));
    let all = [
        ("scale", options.scale.map(float)),
        ("causal", options.causal.then(|| python(true).to_owned())),
        ("mask", options.mask.as_ref().map(|x| mask(x, style))),
        ("bias", float_tensor(&options.bias)),
        ("softcap", options.softcap.map(float)),
        ("window", options.window.map(window)),
        ("sinks", float_tensor(&options.sinks)),
        ("alibi_slopes", float_tensor(&options.alibi_slopes)),
    ];
    let whole = call.whole_numbers().map(|(name, x)| (name, whole_numbers(x, style)));
    let on = all.into_iter().filter_map(|(name, literal)| Some((name, literal?)));
    on.chain(whole).map(|(name, literal)| (name.to_owned(), literal)).collect()
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Dtype;

    use super::*;

    #[test]
    fn numbers_are_shortest_and_keep_the_sign_of_zero() {
        let all = [
            0.0,
            -0.0,
            1.0,
            0.5,
            -1e300,
            5e-324,
            f64::from(0.1f32),
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        assert_eq!(
            floats(all.into_iter(), Style::Decimals),
            "[0, -0.0, 1, 0.5, -1e300, 5e-324, 0.10000000149011612, nan, inf, -inf]"
        );
        assert_eq!(floats([1.0].into_iter(), Style::Packed), "\"AAAAAAAA8D8=\"");
    }

    #[test]
    fn arrays_name_format_and_shape() {
        let x = Tensor { dtype: Dtype::Bfloat16, shape: vec![1, 2], data: vec![1.0, -2.0] };
        assert_eq!(tensor(&x, Style::Decimals), "(\"bfloat16\", (1, 2), [1, -2])");
        assert_eq!(tensor(&x, Style::Packed), "(\"bfloat16\", (1, 2), \"gD8AwA==\")");
        let x = BoolTensor { shape: vec![2], data: vec![true, false] };
        assert_eq!(mask(&x, Style::Decimals), "(\"bool\", (2,), [1, 0])");
        assert_eq!(mask(&x, Style::Packed), "(\"bool\", (2,), \"AQA=\")");
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(string("a \"b\"\n\\ é"), "\"a \\\"b\\\"\\n\\\\ é\"");
    }
}
