//! The factor on the scores, from choices to a real number.

use qkvet_spec::{Call, DefaultScale, ExplicitScale, Meaning};

use super::Maps;
use crate::head::RealScale;

/// The factor on the scores, as a real number; a relative error beside the radicand 1 says that the
/// true factor is not a double.
pub(super) fn scale(meaning: &Meaning, call: &Call) -> RealScale {
    let Some(given) = call.options.scale else { return default(meaning, call, 1.0) };
    match meaning.explicit_scale {
        ExplicitScale::Used => RealScale::exact(given),
        ExplicitScale::Ignored => default(meaning, call, 1.0),
        ExplicitScale::TimesDefault => default(meaning, call, given),
        ExplicitScale::Absolute => RealScale::exact(given.abs()),
        ExplicitScale::OneMeansDefault if given.to_bits() == 1f64.to_bits() => {
            default(meaning, call, 1.0)
        }
        ExplicitScale::OneMeansDefault => RealScale::exact(given),
        ExplicitScale::Squared => {
            rounded(given * given, given.mul_add(given, -(given * given)) == 0.0)
        }
        ExplicitScale::Inverted => rounded(1.0 / given, (1.0 / given).mul_add(given, -1.0) == 0.0),
    }
}

/// The default scale times `factor`.
fn default(meaning: &Meaning, call: &Call, factor: f64) -> RealScale {
    let m = Maps::new(meaning, call).count(&meaning.scale_of) as u128;
    match meaning.default_scale {
        DefaultScale::InverseSqrt => RealScale::over_root(factor, m),
        DefaultScale::Inverse => RealScale::over_root(factor, m * m),
        DefaultScale::InverseFloorSqrt => RealScale::over_root(factor, m.isqrt() * m.isqrt()),
        // √m = m/√m.
        DefaultScale::Sqrt => RealScale::over_root(factor * m as f64, m),
        DefaultScale::One => RealScale::over_root(factor, 1),
    }
}

/// A factor that is this double, or half a unit of its last place away from it at most.
fn rounded(value: f64, is_exact: bool) -> RealScale {
    let rel_error = match () {
        () if is_exact => 0.0,
        () if value.is_normal() => f64::EPSILON / 2.0,
        () => f64::INFINITY,
    };
    RealScale { rel_error, ..RealScale::exact(value) }
}
