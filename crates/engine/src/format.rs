//! Number formats: rounding to them, their storage bits and their defining constants.
//!
//! Values of every format are held as `f64`, which contains them all. Rounding goes directly from
//! `f64` to the format, so there is no double rounding. The names and parameters of the formats are
//! in [`Dtype`].

use qkvet_spec::{Dtype, Format};

/// `x` rounded to the nearest number of the format, ties to even.
///
/// Beyond the largest finite number (plus half a spacing) the result is infinite, or NaN in a
/// format without infinities, as `ml_dtypes` does (other libraries saturate); below the normal
/// range spacing is constant (gradual underflow). NaN stays NaN and the sign of zero is kept.
///
/// # Error bound
/// `|round(x) − x| ≤ max(u·|x|, η)` when the result is finite, with `u` = [`unit_roundoff`] and
/// `η` = half of [`smallest_subnormal`].
pub fn round(x: f64, format: impl Into<Format>) -> f64 {
    match format.into() {
        Format::Float64 => x,
        Format::Float32 => f64::from(x as f32),
        narrow => round_narrow(x, narrow),
    }
}

/// Whether rounding to the format leaves `x` as it is. NaN belongs to every format, infinities to
/// those that have them.
#[expect(clippy::float_cmp, reason = "representable means unchanged by rounding")]
pub fn is_representable(x: f64, format: impl Into<Format>) -> bool {
    x.is_nan() || round(x, format) == x
}

/// Little-endian storage bits of the values, each first rounded to the format.
pub fn encode(values: &[f64], dtype: Dtype) -> Vec<u8> {
    fn bytes<const N: usize>(values: &[f64], of: impl Fn(f64) -> [u8; N]) -> Vec<u8> {
        values.iter().map(|x| of(*x)).collect::<Vec<_>>().into_flattened()
    }

    match dtype {
        Dtype::Float64 => bytes(values, f64::to_le_bytes),
        Dtype::Float32 => bytes(values, |x| (x as f32).to_le_bytes()),
        Dtype::Bfloat16 | Dtype::Float16 => {
            bytes(values, |x| narrow_bits(round(x, dtype), dtype).to_le_bytes())
        }
        #[expect(clippy::cast_possible_truncation, reason = "the storage bits of 8-bit formats")]
        Dtype::Float8E4m3fn | Dtype::Float8E5m2 => {
            values.iter().map(|x| narrow_bits(round(*x, dtype), dtype) as u8).collect()
        }
    }
}

/// Values of little-endian storage bits. Bytes of an incomplete last element are ignored.
pub fn decode(bytes: &[u8], dtype: Dtype) -> Vec<f64> {
    match dtype {
        Dtype::Float64 => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        Dtype::Float32 => {
            bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
        }
        Dtype::Bfloat16 | Dtype::Float16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|b| narrow_value(u16::from_le_bytes(*b), dtype))
            .collect(),
        Dtype::Float8E4m3fn | Dtype::Float8E5m2 => {
            bytes.iter().map(|b| narrow_value(u16::from(*b), dtype)).collect()
        }
    }
}

/// Unit roundoff `u = 2^−p`: the relative error of one rounding in the normal range.
pub fn unit_roundoff(format: impl Into<Format>) -> f64 {
    pow2(-significant_bits(format))
}

/// Smallest positive normal number.
pub fn min_normal(format: impl Into<Format>) -> f64 {
    pow2(format.into().min_exponent())
}

/// Smallest positive number, a subnormal: the spacing of numbers below the normal range.
pub fn smallest_subnormal(format: impl Into<Format>) -> f64 {
    let format = format.into();
    pow2(format.min_exponent() - significant_bits(format) + 1)
}

/// Absolute error of rounding below the normal range: half a spacing, or for formats whose
/// subnormals are often flushed to zero the smallest normal number.
pub fn underflow(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => smallest_subnormal(dtype) / 2.0,
        Dtype::Float64 | Dtype::Float32 | Dtype::Bfloat16 => min_normal(dtype),
    }
}

/// Largest finite number.
pub fn max_finite(format: impl Into<Format>) -> f64 {
    let format = format.into();
    // Without infinities the last place is that of NaN.
    let beyond = if format.has_infinities() { 1 } else { 2 };
    (2.0 - pow2(beyond - significant_bits(format))) * pow2(format.max_exponent())
}

/// `2^exponent`; 0 below the subnormals, infinite above the finite numbers.
pub(crate) fn pow2(exponent: i32) -> f64 {
    match exponent {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..1024 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

/// `p` of the format as a signed number.
fn significant_bits(format: impl Into<Format>) -> i32 {
    format.into().precision() as i32
}

/// Rounds the 53-bit significand of `x` at the spacing that the format has there.
fn round_narrow(x: f64, format: Format) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    if exponent >= format.min_exponent() && exponent < 1023 {
        // Nearly all numbers: half a unit of the last place, less what makes an even one stay, is
        // carried through the significand and into the exponent.
        let dropped = 53 - significant_bits(format);
        let is_odd = bits >> dropped & 1;
        let rounded = (bits + (1 << (dropped - 1)) - 1 + is_odd) >> dropped << dropped;
        let rounded = f64::from_bits(rounded);
        if rounded.abs() <= max_finite(format) {
            return rounded;
        }
    }
    let bits = x.abs().to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let overflow = if format.has_infinities() { f64::INFINITY.copysign(x) } else { f64::NAN };
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if x.is_infinite() {
        return overflow;
    }
    // f64 subnormals lie far below half of any narrow format's smallest number.
    let spacing_exponent = exponent.max(format.min_exponent()) - significant_bits(format) + 1;
    let dropped_bits = spacing_exponent - (exponent - 52);
    let magnitude = if exponent == -1023 || dropped_bits > 53 {
        0.0
    } else {
        let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
        let floor = significand >> dropped_bits;
        let rest = significand & ((1 << dropped_bits) - 1);
        let half = 1 << (dropped_bits - 1);
        let up = rest > half || (rest == half && floor & 1 == 1);
        (floor + u64::from(up)) as f64 * pow2(spacing_exponent)
    };
    if magnitude > max_finite(format) { overflow } else { magnitude.copysign(x) }
}

/// Position of the sign in the storage bits of a narrow format.
fn sign_position(dtype: Dtype) -> i32 {
    8 * dtype.size() as i32 - 1
}

/// Storage bits of a number of a narrow format. NaN becomes the positive quiet NaN, or the only
/// one.
fn narrow_bits(x: f64, dtype: Dtype) -> u16 {
    let mantissa_bits = significant_bits(dtype) - 1;
    let sign = u16::from(x.is_sign_negative()) << sign_position(dtype);
    let infinity = ((1u16 << (sign_position(dtype) - mantissa_bits)) - 1) << mantissa_bits;
    if x.is_nan() {
        let quiet = if dtype.has_infinities() {
            1 << (mantissa_bits - 1)
        } else {
            (1 << mantissa_bits) - 1
        };
        return infinity | quiet;
    }
    if x.is_infinite() {
        return sign | infinity;
    }
    let smallest = smallest_subnormal(dtype);
    if x.abs() < min_normal(dtype) {
        return sign | (x.abs() / smallest) as u16;
    }
    let bits = x.abs().to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = ((bits >> (52 - mantissa_bits)) & ((1 << mantissa_bits) - 1)) as u16;
    sign | (((exponent - dtype.min_exponent() + 1) as u16) << mantissa_bits) | mantissa
}

/// Value of the storage bits of a narrow format.
fn narrow_value(bits: u16, dtype: Dtype) -> f64 {
    let mantissa_bits = significant_bits(dtype) - 1;
    let all_ones = (1 << mantissa_bits) - 1;
    let mantissa = bits & all_ones;
    let sign = 1 << sign_position(dtype);
    let field = i32::from((bits & (sign - 1)) >> mantissa_bits);
    let largest_field = (1 << (sign_position(dtype) - mantissa_bits)) - 1;
    let is_special = field == largest_field && (dtype.has_infinities() || mantissa == all_ones);
    let magnitude = if is_special {
        if mantissa == 0 { f64::INFINITY } else { f64::NAN }
    } else if field == 0 {
        f64::from(mantissa) * smallest_subnormal(dtype)
    } else {
        f64::from(mantissa | (1 << mantissa_bits))
            * pow2(field - 1 + dtype.min_exponent() - mantissa_bits)
    };
    if bits & sign == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "rounding is exact")]
mod tests {
    use super::*;

    const NARROW: [Dtype; 4] =
        [Dtype::Bfloat16, Dtype::Float16, Dtype::Float8E4m3fn, Dtype::Float8E5m2];

    /// The storage bytes of every pattern, and their values.
    fn all_patterns(dtype: Dtype) -> (Vec<u8>, Vec<f64>) {
        let bytes: Vec<u8> = match dtype.size() {
            1 => (0..=u8::MAX).collect(),
            _ => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        };
        let values = decode(&bytes, dtype);
        (bytes, values)
    }

    #[test]
    fn every_narrow_pattern_survives_a_round_trip() {
        for dtype in NARROW {
            let (bytes, values) = all_patterns(dtype);
            assert_eq!(values.len(), 1 << (8 * dtype.size()));
            for (pattern, value) in bytes.chunks(dtype.size()).zip(values) {
                let encoded = encode(&[value], dtype);
                if value.is_nan() {
                    assert!(decode(&encoded, dtype)[0].is_nan());
                } else {
                    assert_eq!(encoded, pattern, "{dtype} {value:e}");
                    assert_eq!(round(value, dtype).to_bits(), value.to_bits());
                }
            }
        }
    }

    #[test]
    fn between_neighbours_rounding_picks_the_nearer_and_ties_go_to_even() {
        for dtype in NARROW {
            let patterns = all_patterns(dtype).1;
            let positive = &patterns[..patterns.len() / 2];
            for (pattern, pair) in positive.windows(2).enumerate() {
                let (low, high) = (pair[0], pair[1]);
                if !high.is_finite() {
                    break;
                }
                let midpoint = f64::midpoint(low, high);
                let even = if pattern % 2 == 0 { low } else { high };
                for sign in [1.0, -1.0] {
                    assert_eq!(round(sign * midpoint, dtype).to_bits(), (sign * even).to_bits());
                    assert_eq!(
                        round(sign * midpoint.next_down(), dtype).to_bits(),
                        (sign * low).to_bits()
                    );
                    assert_eq!(
                        round(sign * midpoint.next_up(), dtype).to_bits(),
                        (sign * high).to_bits()
                    );
                }
            }
        }
    }

    #[test]
    fn the_boundary_to_infinity_is_half_a_spacing_above_the_largest_number() {
        for dtype in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16, Dtype::Float8E5m2] {
            let largest = max_finite(dtype);
            let half_spacing = pow2(dtype.max_exponent() - significant_bits(dtype));
            let boundary = largest + half_spacing;
            assert_eq!(round(boundary, dtype), f64::INFINITY);
            assert_eq!(round(-boundary, dtype), f64::NEG_INFINITY);
            assert_eq!(round(boundary.next_down(), dtype), largest);
            assert_eq!(round(f64::MAX, dtype), f64::INFINITY);
        }
        assert_eq!(max_finite(Dtype::Float16), 65504.0);
        assert_eq!(max_finite(Dtype::Float32), f64::from(f32::MAX));
        assert_eq!(max_finite(Dtype::Float64), f64::MAX);
    }

    /// TF32 is binary32 without its last 13 bits, and has its range.
    #[test]
    fn tf32_keeps_eleven_bits() {
        let u = pow2(-11);
        assert_eq!(
            (unit_roundoff(Format::Tf32), min_normal(Format::Tf32)),
            (u, min_normal(Dtype::Float32))
        );
        assert_eq!(
            [1.0 + u, 1.0 + 3.0 * u, 1.0 + 2.0 * u].map(|x| round(x, Format::Tf32)),
            [1.0, 1.0 + 4.0 * u, 1.0 + 2.0 * u]
        );
        assert_eq!(round((1.0 + u).next_up(), Format::Tf32), 1.0 + 2.0 * u);
        assert_eq!(smallest_subnormal(Format::Tf32), pow2(-136));
        assert_eq!(max_finite(Format::Tf32), (2.0 - 2.0 * u) * pow2(127));
        assert_eq!(round(f64::from(f32::MAX), Format::Tf32), f64::INFINITY);
    }

    #[test]
    fn special_values_keep_their_nature() {
        for dtype in Dtype::ALL {
            assert!(round(f64::NAN, dtype).is_nan());
            assert!(is_representable(f64::NAN, dtype));
            assert!(decode(&encode(&[f64::NAN], dtype), dtype)[0].is_nan());
            for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY] {
                let (rounded, stored) = (round(x, dtype), decode(&encode(&[x], dtype), dtype)[0]);
                if x.is_infinite() && !dtype.has_infinities() {
                    assert!(rounded.is_nan() && stored.is_nan() && !is_representable(x, dtype));
                } else {
                    assert_eq!((rounded.to_bits(), stored.to_bits()), (x.to_bits(), x.to_bits()));
                }
            }
        }
        for dtype in NARROW {
            assert_eq!(round(-5e-324, dtype).to_bits(), (-0.0f64).to_bits());
            assert_eq!(round(smallest_subnormal(dtype) / 2.0, dtype), 0.0);
            assert_eq!(
                round((smallest_subnormal(dtype) / 2.0).next_up(), dtype),
                smallest_subnormal(dtype)
            );
        }
        assert!(!is_representable(1.0 + pow2(-8), Dtype::Bfloat16));
        assert!(is_representable(1.0 + pow2(-7), Dtype::Bfloat16));
    }

    #[test]
    fn constants_are_those_of_the_hardware_formats() {
        assert_eq!(unit_roundoff(Dtype::Float64), f64::EPSILON / 2.0);
        assert_eq!(unit_roundoff(Dtype::Float32), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(min_normal(Dtype::Float32), f64::from(f32::MIN_POSITIVE));
        assert_eq!(smallest_subnormal(Dtype::Float64), 5e-324);
        assert_eq!(smallest_subnormal(Dtype::Float32), f64::from(f32::from_bits(1)));
        assert_eq!(smallest_subnormal(Dtype::Float16), pow2(-24));
        assert_eq!(smallest_subnormal(Dtype::Bfloat16), pow2(-133));
    }

    /// Patterns and roundings as `ml_dtypes` has them.
    #[test]
    fn eight_bit_formats_are_those_of_ml_dtypes() {
        let e4m3fn = |bits: u8| decode(&[bits], Dtype::Float8E4m3fn)[0];
        let facts =
            [(0x01, 0.001953125), (0x07, 0.013671875), (0x08, 0.015625), (0x38, 1.0), (0x3c, 1.5)];
        for (bits, value) in
            facts.into_iter().chain([(0x7b, 352.0), (0x7c, 384.0), (0x7e, 448.0), (0xfe, -448.0)])
        {
            assert_eq!(e4m3fn(bits), value, "{bits:#x}");
        }
        assert!(e4m3fn(0x7f).is_nan() && e4m3fn(0xff).is_nan() && e4m3fn(0x80).is_sign_negative());
        let round = |x: f64| super::round(x, Dtype::Float8E4m3fn);
        // The tie with the place of NaN goes to the even neighbor, which is 448.
        assert_eq!(
            [round(464.0), round(-464.0), round(18.5), round(19.0), round(pow2(-10))],
            [448.0, -448.0, 18.0, 20.0, 0.0]
        );
        assert!(
            round(464.0f64.next_up()).is_nan()
                && round(480.0).is_nan()
                && round(f64::NEG_INFINITY).is_nan()
        );
        assert_eq!(encode(&[f64::NAN, 1e9, 448.0], Dtype::Float8E4m3fn), [0x7f, 0x7f, 0x7e]);

        let e5m2 = |bits: u8| decode(&[bits], Dtype::Float8E5m2)[0];
        let facts = [
            (0x01, pow2(-16)),
            (0x07, 7.0 * pow2(-16)),
            (0x08, pow2(-13)),
            (0x3c, 1.0),
            (0x7b, 57344.0),
        ];
        for (bits, value) in
            facts.into_iter().chain([(0x38, 0.5), (0x7c, f64::INFINITY), (0xfc, f64::NEG_INFINITY)])
        {
            assert_eq!(e5m2(bits), value, "{bits:#x}");
        }
        assert!([0x7d, 0x7e, 0x7f, 0xfd].into_iter().all(|bits| e5m2(bits).is_nan()));
        let round = |x: f64| super::round(x, Dtype::Float8E5m2);
        assert_eq!(
            [round(464.0), round(480.0), round(18.5), round(61440.0)],
            [448.0, 512.0, 20.0, f64::INFINITY]
        );
        assert_eq!(round(61440.0f64.next_down()), 57344.0);
        assert_eq!(encode(&[f64::NAN, 1e9, -1.0], Dtype::Float8E5m2), [0x7e, 0x7c, 0xbc]);
        assert_eq!(
            (max_finite(Dtype::Float8E4m3fn), max_finite(Dtype::Float8E5m2)),
            (448.0, 57344.0)
        );
        // Its patterns are the upper halves of binary16.
        let half = |bits: u8| decode(&[0, bits], Dtype::Float16)[0];
        assert!(
            (0..=u8::MAX).all(
                |bits| e5m2(bits) == half(bits) || (e5m2(bits).is_nan() && half(bits).is_nan())
            )
        );
    }
}
