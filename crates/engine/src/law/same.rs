//! Whether two answers are the same.

use qkvet_spec::Tensor;

use super::call::CallRecord;

/// Whether two answers to a call have the same numbers.
pub(super) fn is_same(x: &CallRecord, y: &CallRecord) -> bool {
    match (x.asked().tensor(), y.asked().tensor()) {
        (Some(x), Some(y)) => x.shape == y.shape && first_difference(x, y).is_none(),
        (x, y) => x.is_none() == y.is_none(),
    }
}

/// The first elements that differ; NaN is NaN and the sign of zero does not count.
pub(super) fn first_difference(x: &Tensor, y: &Tensor) -> Option<(usize, f64, f64)> {
    #[expect(clippy::float_cmp, reason = "two runs of one call either agree or do not")]
    let differ = |(_, (x, y)): &(usize, (&f64, &f64))| x != y && !(x.is_nan() && y.is_nan());
    let found =
        if x.shape == y.shape { x.data.iter().zip(&y.data).enumerate().find(differ) } else { None };
    found.map(|(at, (x, y))| (at, *x, *y))
}
