//! One row of a call in arbitrary precision, whatever the enclosure says: what a verdict is held
//! against before it is shown.

use qkvet_spec::{Call, LseBase, Meaning};

use crate::ball::Ball;
use crate::digits::{Logarithm, PreciseHead, Width};
use crate::head::Head;
use crate::lowering::{Maps, ResultName, lower, width_of};

/// The exact numbers of one row of a result, from integers alone: neither faer, nor the enclosure,
/// nor a rounded operation has a part in them. What the call means (which keys a query sees, which
/// head reads which) is lowered as for the enclosure.
///
/// # Shapes
/// `place` is `(item, h, i)`; → as many balls as the result has columns, one for a log-sum-exp.
///
/// # Error bound
/// That of one evaluation with 128 bits, [`Width::ONE_EVALUATION`]: `docs/bounds.md#digits`.
///
/// # Edge cases
/// `None` where there is no such route: inputs that are not finite, weights that are not normalized
/// over keys, results that the meaning puts elsewhere, empty rows of a log-sum-exp and one in
/// another unit than that of its base.
pub fn second_opinion(
    meaning: &Meaning,
    call: &Call,
    want: ResultName,
    place: [usize; 3],
) -> Option<Vec<Ball>> {
    let [item, h, i] = place;
    let maps = Maps::new(meaning, call);
    let is_moved = want == ResultName::Output
        && (maps.output_rows().is_some() || maps.output_width() != width_of(want, call.dims()));
    let lowered = lower(meaning, call, item, h, want);
    if is_moved || lowered.is_rounded() {
        return None;
    }
    let head = lowered.head();
    let columns = if want == ResultName::Output {
        maps.output_columns(head.d_v)
    } else {
        (0..head.d_v).collect()
    };
    let precise = PreciseHead::new(&head).ok()?;
    if want != ResultName::Lse {
        let row = precise.output(i, Width::ONE_EVALUATION).ok()?;
        return columns.into_iter().map(|c| row.get(c).copied()).collect();
    }
    let base = match meaning.lse_base {
        LseBase::Natural => Logarithm::Natural,
        LseBase::Two => Logarithm::Binary,
        LseBase::NaturalTimesLn2 => return None,
    };
    if is_empty(&head, &precise, i) {
        return None;
    }
    precise.lse(i, base, Width::ONE_EVALUATION).ok().map(|ball| vec![ball])
}

fn is_empty(head: &Head<'_>, precise: &PreciseHead<'_>, i: usize) -> bool {
    precise.visible(i) == 0 && head.sink.is_none()
}
