//! The boundary of a failure in the space of calls: what all cases that show it have in common and
//! few others.

use std::collections::BTreeSet;

use qkvet_spec::{CallOption, Condition, Dims, Dtype, Extent, Predicate};

/// Where a case lies.
#[derive(Clone, Debug)]
pub struct Place {
    /// Extents.
    pub dims: Dims,
    /// Format.
    pub dtype: Dtype,
    /// Options in use.
    pub options: Vec<CallOption>,
}

/// Moduli by which tiles and vectors divide extents.
const MODULI: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];
/// A boundary is told if one as narrow would be there by chance in at most one of so many runs.
const CHANCES: f64 = 100.0;

/// What is drawn at once for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Draw<'a> {
    Format(Dtype),
    /// Options are drawn anew for every shape.
    Options(&'a [CallOption], [usize; 7]),
    Extents([usize; 7]),
}

const HEADS: [Extent; 2] = [Extent::HQ, Extent::HK];
const LENGTHS: [Extent; 2] = [Extent::NQ, Extent::NK];
const WIDTHS: [Extent; 2] = [Extent::DK, Extent::DV];

fn holds(predicate: Predicate, place: &Place) -> bool {
    let n = |extent: Extent| extent.of(place.dims);
    match predicate {
        Predicate::Format(dtype) => place.dtype == dtype,
        Predicate::With(option) => place.options.contains(&option),
        Predicate::Without(option) => !place.options.contains(&option),
        Predicate::Less(x, y) => n(x) < n(y),
        Predicate::Different(x, y) => n(x) != n(y),
        Predicate::Equal(x, y) => n(x) == n(y),
        Predicate::Multiple(x, m) => n(x).is_multiple_of(m),
        Predicate::NoMultiple(x, m) => !n(x).is_multiple_of(m),
        Predicate::AtLeast(x, least) => n(x) >= least,
        Predicate::AtMost(x, most) => n(x) <= most,
    }
}

/// What of a place was drawn at once with what the predicate speaks of.
fn draw(predicate: Predicate, place: &Place) -> Draw<'_> {
    let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = place.dims;
    let extents = [b, h_q, h_k, n_q, n_k, d_k, d_v];
    match predicate {
        Predicate::Format(_) => Draw::Format(place.dtype),
        Predicate::With(_) | Predicate::Without(_) => Draw::Options(&place.options, extents),
        _ => Draw::Extents(extents),
    }
}

/// Every predicate that is tried; limits are those of the failing cases.
fn tried(failing: &[Place]) -> Vec<Predicate> {
    let mut all: Vec<Predicate> = Dtype::CHECKED.into_iter().map(Predicate::Format).collect();
    all.extend(CallOption::ALL.into_iter().map(Predicate::With));
    all.extend(CallOption::ALL.into_iter().map(Predicate::Without));
    for [x, y] in [HEADS, LENGTHS, WIDTHS] {
        all.extend([
            Predicate::Less(x, y),
            Predicate::Less(y, x),
            Predicate::Different(x, y),
            Predicate::Equal(x, y),
        ]);
    }
    for extent in LENGTHS.into_iter().chain(WIDTHS) {
        all.extend(MODULI.map(|m| Predicate::NoMultiple(extent, m)));
        all.extend(MODULI.map(|m| Predicate::Multiple(extent, m)));
    }
    for extent in Extent::ALL {
        let extents = || failing.iter().map(|place| extent.of(place.dims));
        all.extend(extents().min().map(|least| Predicate::AtLeast(extent, least)));
        all.extend(extents().max().map(|most| Predicate::AtMost(extent, most)));
    }
    all
}

/// The narrowest condition, or two together, that every failing case meets, where more than half of
/// the cases that meet it fail.
///
/// A condition that a share `q` of all cases meets is met by all `n` failing ones by chance with
/// probability `qⁿ`, and one of `c` conditions with at most `c·qⁿ`: nothing is told unless that is
/// below 1/100, and of two conditions unless it is for each among the cases that meet the other.
/// Counted are different draws of what the condition speaks of: extents, options or formats. It
/// describes these cases and proves nothing of others.
pub fn boundary(failing: &[Place], passing: &[Place]) -> Option<Condition> {
    let mut conditions = tried(failing);
    let n_tried = conditions.len() as f64;
    conditions.retain(|one| failing.iter().all(|place| holds(*one, place)));
    let total = failing.len() + passing.len();
    let meets = |place: &Place, set: &[Predicate]| set.iter().all(|one| holds(*one, place));
    // Cases with the same extents are one draw of extents, however many they are.
    let is_chance = |added: Predicate, set: &[Predicate]| {
        let drawn: BTreeSet<Draw<'_>> = failing.iter().map(|place| draw(added, place)).collect();
        let counted = |set: &[Predicate]| {
            let all = failing.iter().chain(passing).filter(|place| meets(place, set));
            all.map(|place| draw(added, place)).collect::<BTreeSet<_>>().len() as f64
        };
        let share = counted(&[set, &[added]].concat()) / counted(set);
        drawn.iter().fold(n_tried, |chance, _| chance * share) * CHANCES >= 1.0
    };
    let found = |set: &[Predicate]| {
        let of = passing.iter().filter(|place| meets(place, set)).count() + failing.len();
        (of < total && of < 2 * failing.len()).then(|| Condition {
            all: set.to_vec(),
            wrong: failing.len(),
            of,
        })
    };
    let alone = |one: Predicate| found(&[one]).filter(|_| !is_chance(one, &[]));
    let both = |[x, y]: [Predicate; 2]| {
        found(&[x, y]).filter(|_| !is_chance(x, &[y]) && !is_chance(y, &[x]))
    };
    let one = conditions.iter().filter_map(|one| alone(*one)).min_by_key(|found| found.of);
    let is_all = |found: &Condition| found.of == found.wrong;
    if one.as_ref().is_some_and(is_all) {
        return one;
    }
    let pairs = conditions
        .iter()
        .enumerate()
        .flat_map(|(at, x)| conditions[at + 1..].iter().map(|y| [*x, *y]));
    let two = pairs.filter_map(both).min_by_key(|found| found.of);
    match (one, two) {
        (Some(one), Some(two)) if two.of < one.of => Some(two),
        (Some(one), _) => Some(one),
        (None, two) => two,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [CallOption; 5] = [
        CallOption::Causal,
        CallOption::Mask,
        CallOption::Bias,
        CallOption::Scale,
        CallOption::Softcap,
    ];

    /// Places with options that have nothing to do with their extents.
    fn places(shapes: impl Iterator<Item = [usize; 4]>) -> Vec<Place> {
        let place = |(at, [n_q, n_k, d_k, d_v]): (usize, [usize; 4])| {
            let bits = at.wrapping_mul(0x9e37_79b9) >> 9;
            let used =
                OPTIONS.into_iter().enumerate().filter(|(number, _)| bits >> number & 1 == 1);
            Place {
                dims: Dims { b: 1, h_q: 2, h_k: 1, n_q, n_k, d_k, d_v },
                dtype: Dtype::Float32,
                options: used.map(|(_, option)| option).collect(),
            }
        };
        shapes.enumerate().map(place).collect()
    }

    fn split(fails: impl Fn(&Place) -> bool) -> Option<Condition> {
        let shapes =
            (0..240).map(|at| [1 + at % 11, 1 + at * 7 % 130, 8 + 8 * (at % 3), 8 + 8 * (at % 5)]);
        let (failing, passing) = places(shapes).into_iter().partition::<Vec<_>, _>(fails);
        boundary(&failing, &passing)
    }

    #[test]
    fn the_boundary_between_failing_and_passing_cases_is_found() {
        assert_eq!(split(|place| !place.dims.n_k.is_multiple_of(64)), None, "nearly every case");
        let (queries, keys) = (Extent::NQ, Extent::NK);
        let exactly = |all: &[Predicate], fails: &dyn Fn(&Place) -> bool| {
            let condition = split(fails).expect("a condition");
            assert_eq!((condition.all.as_slice(), condition.of), (all, condition.wrong));
        };
        exactly(&[Predicate::Multiple(keys, 4)], &|place| place.dims.n_k.is_multiple_of(4));
        exactly(&[Predicate::AtLeast(keys, 65)], &|place| place.dims.n_k > 64);
        exactly(&[Predicate::Less(keys, queries)], &|place| place.dims.n_q > place.dims.n_k);
        let is_causal = |place: &Place| place.options.contains(&CallOption::Causal);
        let causal = Predicate::With(CallOption::Causal);
        exactly(&[causal], &is_causal);
        exactly(&[causal, Predicate::NoMultiple(keys, 2)], &|place| {
            is_causal(place) && !place.dims.n_k.is_multiple_of(2)
        });
    }

    #[test]
    fn what_may_be_chance_is_not_told() {
        let mut left = 2;
        let mut once = |_: &Place| {
            left -= i32::from(left > 0);
            left > 0
        };
        let shapes = (0..20).map(|at| [1 + at % 5, 3 + at, 8, 8]);
        let (failing, passing) = places(shapes).into_iter().partition::<Vec<_>, _>(&mut once);
        assert_eq!(failing.len(), 1);
        assert_eq!(boundary(&failing, &passing), None);
        assert_eq!(boundary(&[], &passing), None);
        assert_eq!(split(|_| true), None);
    }
}
