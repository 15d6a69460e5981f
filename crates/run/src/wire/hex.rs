//! Exact numbers in text.

/// `x` in the notation of C's `%a`, exact: `0x1.8p-2`, `-0x0p+0`, `inf`, `nan`.
pub(crate) fn hex_float(x: f64) -> String {
    let sign = if x.is_sign_negative() && !x.is_nan() { "-" } else { "" };
    if !x.is_finite() {
        return if x.is_nan() { "nan".to_owned() } else { format!("{sign}inf") };
    }
    let bits = x.to_bits();
    let (biased, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, i64::try_from(biased).unwrap_or(0) - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_floats() {
        for (x, expected) in [
            (0.25, "0x1p-2"),
            (-1.5, "-0x1.8p+0"),
            (0.0, "0x0p+0"),
            (-0.0, "-0x0p+0"),
            (0.1, "0x1.999999999999ap-4"),
            (f64::MAX, "0x1.fffffffffffffp+1023"),
            (5e-324, "0x0.0000000000001p-1022"),
            (f64::MIN_POSITIVE, "0x1p-1022"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(hex_float(x), expected);
        }
    }
}
