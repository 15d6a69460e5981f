//! The boundary of a failure in the space of calls: what all cases that show it have in common and
//! few others.

use std::collections::BTreeSet;
use std::fmt;

use qkvet_spec::{CallOption, Dims, Dtype};

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

/// What all failing cases have in common, and how many cases that have it fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// `n_k mod 64 ≠ 0`.
    pub text: String,
    /// Failing cases.
    pub failing: usize,
    /// Failing and passing cases there.
    pub there: usize,
}

/// Moduli by which tiles and vectors divide extents.
const MODULI: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];
/// A boundary is told if one as narrow would be there by chance in at most one of so many runs.
const CHANCES: f64 = 100.0;

#[derive(Clone, Copy, Debug)]
enum Condition {
    Format(Dtype),
    With(CallOption),
    Without(CallOption),
    /// One extent against another.
    Less(Extent, Extent),
    Different(Extent, Extent),
    Equal(Extent, Extent),
    Multiple(Extent, usize),
    NoMultiple(Extent, usize),
    AtLeast(Extent, usize),
    AtMost(Extent, usize),
}

/// What is drawn at once for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Draw<'a> {
    Format(Dtype),
    /// Options are drawn anew for every shape.
    Options(&'a [CallOption], [usize; 7]),
    Extents([usize; 7]),
}

#[derive(Clone, Copy, Debug)]
struct Extent(&'static str, fn(Dims) -> usize);

const B: Extent = Extent("b", |d| d.b);
const HEADS: [Extent; 2] = [Extent("h_q", |d| d.h_q), Extent("h_k", |d| d.h_k)];
const LENGTHS: [Extent; 2] = [Extent("n_q", |d| d.n_q), Extent("n_k", |d| d.n_k)];
const WIDTHS: [Extent; 2] = [Extent("d_k", |d| d.d_k), Extent("d_v", |d| d.d_v)];

impl Condition {
    fn holds(self, place: &Place) -> bool {
        let n = |extent: Extent| extent.1(place.dims);
        match self {
            Self::Format(dtype) => place.dtype == dtype,
            Self::With(option) => place.options.contains(&option),
            Self::Without(option) => !place.options.contains(&option),
            Self::Less(x, y) => n(x) < n(y),
            Self::Different(x, y) => n(x) != n(y),
            Self::Equal(x, y) => n(x) == n(y),
            Self::Multiple(x, m) => n(x).is_multiple_of(m),
            Self::NoMultiple(x, m) => !n(x).is_multiple_of(m),
            Self::AtLeast(x, least) => n(x) >= least,
            Self::AtMost(x, most) => n(x) <= most,
        }
    }

    /// What of a place was drawn at once with what the condition speaks of.
    fn draw(self, place: &Place) -> Draw<'_> {
        let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = place.dims;
        let extents = [b, h_q, h_k, n_q, n_k, d_k, d_v];
        match self {
            Self::Format(_) => Draw::Format(place.dtype),
            Self::With(_) | Self::Without(_) => Draw::Options(&place.options, extents),
            _ => Draw::Extents(extents),
        }
    }

    /// Every condition that is tried; limits are those of the failing cases.
    fn all(failing: &[Place]) -> Vec<Self> {
        let mut all: Vec<Self> = Dtype::CHECKED.into_iter().map(Self::Format).collect();
        all.extend(CallOption::ALL.into_iter().map(Self::With));
        all.extend(CallOption::ALL.into_iter().map(Self::Without));
        for [x, y] in [HEADS, LENGTHS, WIDTHS] {
            all.extend([
                Self::Less(x, y),
                Self::Less(y, x),
                Self::Different(x, y),
                Self::Equal(x, y),
            ]);
        }
        for extent in LENGTHS.into_iter().chain(WIDTHS) {
            all.extend(MODULI.map(|m| Self::NoMultiple(extent, m)));
            all.extend(MODULI.map(|m| Self::Multiple(extent, m)));
        }
        for extent in [B].into_iter().chain(HEADS).chain(LENGTHS).chain(WIDTHS) {
            let extents = || failing.iter().map(|place| extent.1(place.dims));
            all.extend(extents().min().map(|least| Self::AtLeast(extent, least)));
            all.extend(extents().max().map(|most| Self::AtMost(extent, most)));
        }
        all
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(dtype) => write!(f, "{dtype}"),
            Self::With(option) => write!(f, "{option} is used"),
            Self::Without(option) => write!(f, "{option} is not used"),
            Self::Less(x, y) => write!(f, "{} < {}", x.0, y.0),
            Self::Different(x, y) => write!(f, "{} ≠ {}", x.0, y.0),
            Self::Equal(x, y) => write!(f, "{} = {}", x.0, y.0),
            Self::Multiple(x, m) => write!(f, "{} mod {m} = 0", x.0),
            Self::NoMultiple(x, m) => write!(f, "{} mod {m} ≠ 0", x.0),
            Self::AtLeast(x, least) => write!(f, "{} ≥ {least}", x.0),
            Self::AtMost(x, most) => write!(f, "{} ≤ {most}", x.0),
        }
    }
}

/// The narrowest condition, or two together, that every failing case meets, where more than half of
/// the cases that meet it fail.
///
/// A condition that a share `q` of all cases meets is met by all `n` failing ones by chance with
/// probability `qⁿ`, and one of `c` conditions with at most `c·qⁿ`: nothing is told unless that is
/// below 1/100, and of two conditions unless it is for each among the cases that meet the other.
/// Counted are different draws of what the condition speaks of: extents, options or formats. It
/// describes these cases and proves nothing of others.
pub fn boundary(failing: &[Place], passing: &[Place]) -> Option<Boundary> {
    let mut conditions = Condition::all(failing);
    let tried = conditions.len() as f64;
    conditions.retain(|one| failing.iter().all(|place| one.holds(place)));
    let total = failing.len() + passing.len();
    let meets = |place: &Place, set: &[Condition]| set.iter().all(|one| one.holds(place));
    // Cases with the same extents are one draw of extents, however many they are.
    let is_chance = |added: Condition, set: &[Condition]| {
        let drawn: BTreeSet<Draw<'_>> = failing.iter().map(|place| added.draw(place)).collect();
        let counted = |set: &[Condition]| {
            let all = failing.iter().chain(passing).filter(|place| meets(place, set));
            all.map(|place| added.draw(place)).collect::<BTreeSet<_>>().len() as f64
        };
        let share = counted(&[set, &[added]].concat()) / counted(set);
        drawn.iter().fold(tried, |chance, _| chance * share) * CHANCES >= 1.0
    };
    let found = |set: &[Condition]| {
        let there = passing.iter().filter(|place| meets(place, set)).count() + failing.len();
        (there < total && there < 2 * failing.len()).then(|| {
            let text = set.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
            Boundary { text, failing: failing.len(), there }
        })
    };
    let alone = |one: Condition| found(&[one]).filter(|_| !is_chance(one, &[]));
    let both = |[x, y]: [Condition; 2]| {
        found(&[x, y]).filter(|_| !is_chance(x, &[y]) && !is_chance(y, &[x]))
    };
    let one = conditions.iter().filter_map(|one| alone(*one)).min_by_key(|found| found.there);
    let is_all = |found: &Boundary| found.there == found.failing;
    if one.as_ref().is_some_and(is_all) {
        return one;
    }
    let pairs = conditions
        .iter()
        .enumerate()
        .flat_map(|(at, x)| conditions[at + 1..].iter().map(|y| [*x, *y]));
    let two = pairs.filter_map(both).min_by_key(|found| found.there);
    match (one, two) {
        (Some(one), Some(two)) if two.there < one.there => Some(two),
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

    fn split(fails: impl Fn(&Place) -> bool) -> Option<Boundary> {
        let shapes =
            (0..240).map(|at| [1 + at % 11, 1 + at * 7 % 130, 8 + 8 * (at % 3), 8 + 8 * (at % 5)]);
        let (failing, passing) = places(shapes).into_iter().partition::<Vec<_>, _>(fails);
        boundary(&failing, &passing)
    }

    #[test]
    fn the_boundary_between_failing_and_passing_cases_is_found() {
        let text = |fails: &dyn Fn(&Place) -> bool| {
            split(fails).map(|found| (found.text, found.there - found.failing))
        };
        let found = |text: &str| Some((text.to_owned(), 0));
        assert_eq!(text(&|place| !place.dims.n_k.is_multiple_of(64)), None, "nearly every case");
        assert_eq!(text(&|place| place.dims.n_k.is_multiple_of(4)), found("n_k mod 4 = 0"));
        assert_eq!(text(&|place| place.dims.n_k > 64), found("n_k ≥ 65"));
        assert_eq!(text(&|place| place.dims.n_q > place.dims.n_k), found("n_k < n_q"));
        let is_causal = |place: &Place| place.options.contains(&CallOption::Causal);
        assert_eq!(text(&is_causal), found("causal is used"));
        assert_eq!(
            text(&|place| is_causal(place) && !place.dims.n_k.is_multiple_of(2)),
            found("causal is used and n_k mod 2 ≠ 0")
        );
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
