//! What a relation decides: it is refuted iff no values in the balls satisfy it.

use qkvet_spec::{
    Approx, Aspect, Element, Evidence, Expectation, Got, Number, Origin, Place, Relates, Verdict,
};

use super::matrices::BallMatrices;
use crate::ball::Ball;

/// How one relation came out.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    /// Largest distance over bound, among entries with a bound.
    pub(super) margin: f64,
    /// The worst entry, when the verdict is not a pass.
    pub(super) evidence: Option<Evidence>,
}

impl Decision {
    pub(super) fn pass() -> Self {
        Self { verdict: Verdict::Pass, margin: 0.0, evidence: None }
    }

    /// Refuted, nothing being measured.
    pub(super) fn fail(evidence: Evidence) -> Self {
        Self { verdict: Verdict::Fail, margin: 0.0, evidence: Some(evidence) }
    }

    /// Both must hold.
    pub(super) fn and(self, other: Self) -> Self {
        let rank = |verdict| match verdict {
            Verdict::Fail => 3,
            Verdict::Suspect => 2,
            Verdict::Inconclusive => 1,
            _ => 0,
        };
        let margin = self.margin.max(other.margin);
        let worse = if rank(other.verdict) > rank(self.verdict) { other } else { self };
        Self { margin, ..worse }
    }
}

/// Distance of two balls' midpoints, from below, and the sum of their radii, from above.
struct Gap {
    distance: f64,
    hard: f64,
    soft: f64,
}

impl Gap {
    fn new(x: Ball, y: Ball) -> Self {
        let difference = x - y;
        let bound = x + Ball { mid: 0.0, ..y };
        Self {
            distance: difference.mid.abs() * (1.0 - f64::EPSILON),
            hard: bound.rad,
            soft: bound.soft,
        }
    }
}

/// Decides one entry from its excess: `distance` beyond which radius? An infinite `soft` radius says
/// nothing about weights, whatever any weights leave of the `hard` one.
fn grade(distance: f64, hard: f64, soft: f64) -> (Verdict, f64) {
    let margin = if hard > 0.0 && hard.is_finite() { distance / hard } else { 0.0 };
    // A NaN distance fails: nothing that is not a number lies within a bound. Without one nothing
    // is known.
    if distance.is_nan() && !hard.is_infinite() || distance > hard {
        (
            Verdict::Fail,
            if hard > 0.0 && !distance.is_nan() { distance / hard } else { f64::INFINITY },
        )
    } else if !(hard.is_finite() && soft.is_finite()) {
        (Verdict::Inconclusive, 0.0)
    } else if distance > soft {
        (Verdict::Suspect, margin)
    } else {
        (Verdict::Pass, margin)
    }
}

/// `x == y` for one entry. NaN equals NaN: a NaN on one side is an expectation or a result, not a
/// failure to compare.
pub(super) fn equal(x: Ball, y: Ball) -> (Verdict, f64) {
    if x.mid.is_nan() && y.mid.is_nan() {
        return (Verdict::Pass, 0.0);
    }
    #[expect(clippy::float_cmp, reason = "equal infinities have distance NaN")]
    if x.mid.is_infinite() && x.mid == y.mid {
        return (Verdict::Pass, 0.0);
    }
    let gap = Gap::new(x, y);
    grade(gap.distance, gap.hard, gap.soft)
}

/// `x <= y` for one entry; the margin counts only what exceeds.
fn at_most(x: Ball, y: Ball) -> (Verdict, f64) {
    if x.mid.is_nan() && y.mid.is_nan() {
        return (Verdict::Pass, 0.0);
    }
    let gap = Gap::new(x, y);
    if x.mid <= y.mid {
        let is_known = gap.hard.is_finite() && gap.soft.is_finite();
        (if is_known { Verdict::Pass } else { Verdict::Inconclusive }, 0.0)
    } else {
        grade(gap.distance, gap.hard, gap.soft)
    }
}

/// Bit equality with ±0 equal and NaN equal to NaN.
fn same_bits(x: Ball, y: Ball) -> (Verdict, f64) {
    #[expect(clippy::float_cmp, reason = "bit equality is the law")]
    let same = x.mid == y.mid || (x.mid.is_nan() && y.mid.is_nan());
    if same { (Verdict::Pass, 0.0) } else { (Verdict::Fail, f64::INFINITY) }
}

/// A call or an expression as a whole.
pub(super) fn place(of: impl Into<String>) -> Place {
    Place { of: of.into(), its_output: false, what: Aspect::Whole }
}

/// What is compared with what, for the evidence.
pub(super) struct Sides {
    /// What came; the element is put in.
    pub(super) left: Place,
    pub(super) right: Origin,
}

/// Decides a relation entry by entry; leads and extents must already agree. It is inconclusive where
/// every entry is.
pub(super) fn decide(
    relation: Relates,
    left: &BallMatrices,
    right: &BallMatrices,
    sides: &Sides,
) -> Decision {
    decide_at(relation, left, right, sides).0
}

/// The same, and which entry is shown.
pub(super) fn decide_at(
    relation: Relates,
    left: &BallMatrices,
    right: &BallMatrices,
    sides: &Sides,
) -> (Decision, Option<usize>) {
    let mut shown = None;
    let (left, right) = (left.zip(right, |x, _| x), left.zip(right, |_, y| y));
    let (mut is_decided, mut undecided) = (false, None);
    let mut decision = Decision::pass();
    for (at, (x, y)) in left.data.iter().zip(right.data.iter()).enumerate() {
        let (verdict, margin) = match relation {
            Relates::Equal => equal(*x, *y),
            Relates::AtMost => at_most(*x, *y),
            Relates::AtLeast => at_most(*y, *x),
            Relates::Bits => same_bits(*x, *y),
        };
        if verdict == Verdict::Inconclusive {
            undecided = undecided.or(Some((at, *x, *y)));
            continue;
        }
        is_decided = true;
        let largest = decision.margin.max(margin);
        let worst = decision.evidence.is_none() || margin > decision.margin;
        if verdict != Verdict::Pass && (worst || verdict != decision.verdict) {
            let evidence = evidence(relation, (*x, *y), margin, sides, left.element(at));
            let one = Decision { verdict, margin, evidence: Some(evidence) };
            let joined = if decision.verdict == verdict { one } else { decision.and(one) };
            if joined.verdict == verdict {
                shown = Some(at);
            }
            decision = joined;
        }
        decision.margin = largest;
    }
    match undecided {
        Some((at, x, y)) if !is_decided => {
            let evidence = evidence(relation, (x, y), 0.0, sides, left.element(at));
            let verdict = Verdict::Inconclusive;
            (Decision { verdict, margin: 0.0, evidence: Some(evidence) }, Some(at))
        }
        _ => (decision, shown),
    }
}

/// What one entry shows.
fn evidence(
    relation: Relates,
    (x, y): (Ball, Ball),
    margin: f64,
    sides: &Sides,
    element: Element,
) -> Evidence {
    let number = |ball: Ball| Approx { value: Number(ball.mid), error: Number(ball.rad) };
    let exact = |ball: Ball| number(Ball::exact(ball.mid));
    let (expected, got, bound) = match relation {
        Relates::Bits => (exact(y), exact(x), Some(0.0)),
        _ => {
            let bound = Some(Gap::new(x, y).hard).filter(|bound| bound.is_finite());
            (number(y), number(x), bound)
        }
    };
    let place = Place { what: Aspect::Element(element), ..sides.left.clone() };
    let from = sides.right.clone();
    let expected = Expectation::Number { relation, number: expected, from };
    let ratio = margin.is_finite().then_some(margin);
    Evidence { ratio, bound, relation: true, ..Evidence::new(place, expected, Got::Number(got)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(mid: f64, rad: f64, soft: f64) -> Ball {
        Ball { mid, rad, soft }
    }

    #[test]
    fn equality_is_refuted_only_beyond_both_radii() {
        assert_eq!(equal(ball(1.0, 0.2, 0.1), ball(1.15, 0.1, 0.1)).0, Verdict::Pass);
        assert_eq!(equal(ball(1.0, 0.2, 0.1), ball(1.25, 0.1, 0.1)).0, Verdict::Suspect);
        assert_eq!(equal(ball(1.0, 0.2, 0.1), ball(1.35, 0.1, 0.1)).0, Verdict::Fail);
        assert_eq!(
            equal(ball(1.0, f64::INFINITY, f64::INFINITY), ball(9.0, 0.0, 0.0)).0,
            Verdict::Inconclusive
        );
    }

    #[test]
    fn nan_never_passes_for_a_number() {
        let nan = Ball::exact(f64::NAN);
        assert_eq!(
            equal(ball(f64::NAN, 1e9, 1e9), Ball::exact(0.0)),
            (Verdict::Fail, f64::INFINITY)
        );
        assert_eq!(
            equal(ball(f64::NAN, f64::INFINITY, f64::INFINITY), Ball::exact(0.0)).0,
            Verdict::Inconclusive
        );
        assert_eq!(at_most(nan, Ball::exact(1.0)).0, Verdict::Fail);
        assert_eq!(equal(nan, nan).0, Verdict::Pass);
        assert_eq!(equal(Ball::exact(0.0), nan).0, Verdict::Fail);
    }

    #[test]
    fn bits_ignore_the_sign_of_zero() {
        assert_eq!(same_bits(Ball::exact(0.0), Ball::exact(-0.0)).0, Verdict::Pass);
        assert_eq!(same_bits(Ball::exact(1.0), Ball::exact(1.0 + f64::EPSILON)).0, Verdict::Fail);
    }

    #[test]
    fn the_worst_entry_is_shown() {
        let m = |xs: &[f64]| BallMatrices::plain(1, xs.len(), |_, c| xs[c]);
        let sides = Sides { left: place("x"), right: Origin::Expression("y".to_owned()) };
        let decision = decide(Relates::Equal, &m(&[0.0, 1.0, 0.0]), &m(&[0.0, 3.0, 0.0]), &sides);
        assert_eq!(decision.verdict, Verdict::Fail);
        assert!(decision.evidence.is_some_and(|evidence| {
            matches!(evidence.place.what, Aspect::Element(Element { c: 1, .. }))
        }));
    }
}
