//! Value families: how one element of a query, key or value is drawn.

use qkvet_engine::format::round;
use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{Dtype, Values};

use crate::source::Draws;

/// What a matrix stands for in the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Query.
    Query,
    /// Key, or tokens that are query, key and value at once.
    Key,
    /// Value.
    Value,
}

impl Role {
    /// The role of a law's own matrix: as wide as a key, or a value.
    pub(crate) fn of_width(cols: &Expr) -> Self {
        if matches!(&cols.kind, ExprKind::Name(name) if name == "d_k") {
            Self::Key
        } else {
            Self::Value
        }
    }
}

/// A value family, set up for one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    values: Values,
    tiny: bool,
    dtype: Dtype,
    /// Factor on queries that gives the scores the standard deviation of the family.
    spread: f64,
    /// Common offset of the keys.
    offset: f64,
    /// Largest magnitude of a query or key: no score overflows the format.
    cap: f64,
    /// First coordinate of query and key that alone makes the scores lofty.
    lofty: (f64, f64),
    /// By how much the first coordinates of lofty and deep keys differ.
    step: f64,
    /// First element of a query, and the others, in the stair family.
    stair: (f64, f64),
}

/// Scores of the lofty family lie above this: `e^score` overflows where the maximum is not
/// subtracted.
///
/// `e^x` overflows at 710 in float64, at 89 in float32 and bfloat16, at 12 in float16 where
/// exponentials are float16 too.
fn lofty_score(dtype: Dtype, tall: bool) -> f64 {
    match dtype {
        Dtype::Float64 => 800.0,
        Dtype::Float32 | Dtype::Bfloat16 => 112.0,
        Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => {
            if tall {
                112.0
            } else {
                26.0
            }
        }
    }
}

/// Scores of the deep family lie near minus this: below −50000 and in the range of float16 for
/// float16, beyond it for bfloat16; for several keys in two-byte formats as far down as their
/// loosest contracts still bound the weights.
fn deep_score(dtype: Dtype, keys: usize) -> f64 {
    match dtype {
        Dtype::Bfloat16 if keys > 1 => 20.0,
        Dtype::Float16 if keys > 1 => 80.0,
        Dtype::Bfloat16 => 81_920.0,
        _ => 57_344.0,
    }
}

/// First query element, and the others, of the stair family: where a format has few bits, such that
/// its loosest contract still bounds the weights (the first product makes a score of about 8 in
/// bfloat16 and 64 in float16).
fn stair_query(dtype: Dtype, scale: f64) -> (f64, f64) {
    let other = match dtype {
        Dtype::Bfloat16 => nearest_power(8.0 / (256.0 * scale.abs())),
        Dtype::Float16 => nearest_power(64.0 / (2048.0 * scale.abs())),
        _ => 1.0,
    };
    (16.0 * other, other)
}

impl Family {
    /// `scale` is the factor on `QKᵀ` that the family reckons with, not 0; a query sees `keys` keys
    /// at most.
    pub(crate) fn new(
        values: Values,
        tiny: bool,
        dtype: Dtype,
        [d_k, keys]: [usize; 2],
        scale: f64,
        setup: &mut Draws,
    ) -> Self {
        let d_k = d_k as f64;
        // Where a format has few bits, scores stay where its loosest contract still bounds the
        // weights: a bound that says nothing finds nothing.
        let (coarse, narrow) = (dtype == Dtype::Bfloat16, dtype.size() == 2);
        let deviation = match values {
            Values::Peaked => {
                if coarse {
                    3.0
                } else {
                    8.0
                }
            }
            Values::Lofty | Values::Deep => 0.5,
            // The product of two log-normal numbers deviates by e².
            Values::Heavy => 1.0 / 7.4,
            _ => 1.0,
        };
        let spread = nearest_power(deviation / (scale.abs() * d_k.sqrt()));
        let lofty = lofty_score(dtype, setup.one_in(2));
        let score = if values == Values::Deep { -deep_score(dtype, keys) } else { lofty };
        // No dot product may overflow float16, where scores are often kept before they are scaled.
        let most = if dtype == Dtype::Float16 && values == Values::Deep {
            57_344.0
        } else {
            f64::INFINITY
        };
        let product = (score.abs() / scale.abs()).min(most);
        let query = nearest_power(product.sqrt());
        // The eighth on top covers the differences between keys; tokens that are query and key at
        // once take the key's.
        let key = match values {
            Values::Deep => product / query,
            _ => coarse_above((product / query).max(product.sqrt()) * 1.125),
        };
        Self {
            values,
            tiny,
            dtype,
            spread: if values == Values::Heavy && !narrow { 1.0 } else { spread },
            offset: if coarse { 1.0 } else { 4.0 },
            cap: power_below((32_768.0 / d_k).sqrt()).min(64.0),
            lofty: (query.copysign(scale) * score.signum(), key),
            // A large scale makes large differences of small ones.
            step: if scale > 1.0 { nearest_power(1.0 / scale) / 8.0 } else { 1.0 / 8.0 },
            stair: stair_query(dtype, scale),
        }
    }

    /// Element `t` of a row.
    pub(crate) fn element(&self, role: Role, row: usize, t: usize, draws: &mut Draws) -> f64 {
        if self.tiny {
            let one = draws.one_in(if role == Role::Value { 2 } else { 3 });
            return f64::from(u8::from(one));
        }
        let x = match (self.values, role) {
            (Values::Grid, _) => self.grid(draws),
            (Values::Exact | Values::Routed, Role::Value) => draws.symmetric(4),
            (Values::Exact | Values::Routed, _) => draws.symmetric(8) / 8.0,
            (Values::Peaked, Role::Query) => self.normal(draws) * self.spread,
            (Values::Small, Role::Value) => self.normal(draws) / 64.0,
            (Values::Large, Role::Value) => {
                // Sums of several such values stay within float16.
                let power = if self.dtype == Dtype::Float16 { 11 } else { 17 };
                self.normal(draws) * f64::from(1u32 << power)
            }
            (Values::Offset, Role::Key) => self.normal(draws) + self.offset,
            (Values::Offset, Role::Value) => self.normal(draws) + 16.0,
            (Values::Heavy, _) => {
                let magnitude = (libm::exp(draws.normal()) * 64.0).round() / 64.0;
                let cap = if role == Role::Value { 64.0 } else { self.cap };
                let factor = if role == Role::Query { self.spread } else { 1.0 };
                draws.sign() * (magnitude + self.tail(draws)).min(cap) * factor
            }
            (Values::Lofty | Values::Deep, Role::Query) if t == 0 => self.lofty.0,
            (Values::Lofty | Values::Deep, Role::Query) => {
                self.normal(draws).clamp(-2.0, 2.0) * self.spread
            }
            (Values::Lofty | Values::Deep, Role::Key) if t == 0 => {
                self.lofty.1 + draws.symmetric(2) * self.step
            }
            (Values::Lofty | Values::Deep, Role::Key) => self.normal(draws).clamp(-2.0, 2.0),
            (Values::Stair, Role::Query) => {
                if t == 0 {
                    self.stair.0
                } else {
                    self.stair.1
                }
            }
            (Values::Stair, Role::Key) if t == 0 => {
                if self.dtype == Dtype::Bfloat16 {
                    16.0
                } else {
                    128.0
                }
            }
            (Values::Stair, Role::Key) => f64::from(u8::from(row.is_multiple_of(2))),
            _ => self.normal(draws),
        };
        round(x, self.dtype)
    }

    /// A multiple of 1/8 from −2 to 2; 0 or 1 in the last step of shrinking.
    pub(crate) fn grid(&self, draws: &mut Draws) -> f64 {
        if self.tiny { f64::from(u8::from(draws.one_in(2))) } else { draws.symmetric(16) / 8.0 }
    }

    /// Standard normal with as many significant bits as the format has use for.
    fn normal(&self, draws: &mut Draws) -> f64 {
        let x = draws.normal();
        x + self.tail(draws)
    }

    /// Bits below 1/256, from the word stream itself: exact on every platform.
    fn tail(&self, draws: &mut Draws) -> f64 {
        let word = draws.bits(40);
        match self.dtype {
            Dtype::Float64 => word as f64 / (1u64 << 48) as f64 - 1.0 / 512.0,
            Dtype::Float32 => (word >> 28) as f64 / f64::from(1u32 << 20) - 1.0 / 512.0,
            Dtype::Bfloat16 | Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => 0.0,
        }
    }
}

/// The largest power of two up to `x > 0`.
pub(crate) fn power_below(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000)
}

/// The power of two within a factor √2 of `x > 0`.
pub(crate) fn nearest_power(x: f64) -> f64 {
    let below = power_below(x);
    if x > below * std::f64::consts::SQRT_2 { 2.0 * below } else { below }
}

/// The smallest number of four significant bits that is at least `x > 0`.
pub(crate) fn coarse_above(x: f64) -> f64 {
    let unit = power_below(x) / 8.0;
    (x / unit).ceil() * unit
}
