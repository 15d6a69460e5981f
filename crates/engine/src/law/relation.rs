//! What a relation decides: it is refuted iff no values in the balls satisfy it.

use qkvet_spec::{Evidence, Verdict};

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

/// A number and its radius as text, the radius rounded up to two digits.
pub(super) fn show(ball: Ball) -> String {
    if ball.rad == 0.0 || ball.mid.is_nan() {
        show_number(ball.mid)
    } else {
        format!("{} ± {}", show_number(ball.mid), show_radius(ball.rad))
    }
}

/// Shortest text that reads back as the same number.
pub(super) fn show_number(x: f64) -> String {
    let plain = format!("{x}");
    if plain.len() <= 20 { plain } else { format!("{x:e}") }
}

/// Two digits, never less than the number.
fn show_radius(x: f64) -> String {
    if !x.is_finite() {
        return "∞".to_owned();
    }
    // Rounding to two digits changes less than 5 %.
    let text = format!("{x:.1e}");
    if text.parse::<f64>().is_ok_and(|shown| shown < x) {
        format!("{:.1e}", x * 1.05)
    } else {
        text
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

/// Decides one entry from its excess: `distance` beyond which radius?
fn grade(distance: f64, hard: f64, soft: f64) -> (Verdict, f64) {
    let margin = if hard > 0.0 && hard.is_finite() { distance / hard } else { 0.0 };
    // A NaN distance fails: nothing that is not a number lies within a bound. Without one nothing
    // is known.
    if distance.is_nan() && !hard.is_infinite() || distance > hard {
        (
            Verdict::Fail,
            if hard > 0.0 && !distance.is_nan() { distance / hard } else { f64::INFINITY },
        )
    } else if hard.is_infinite() {
        (Verdict::Inconclusive, 0.0)
    } else if distance > soft {
        (Verdict::Suspect, margin)
    } else {
        (Verdict::Pass, margin)
    }
}

/// `x == y` for one entry. NaN equals NaN: a NaN on one side is an expectation or a result, not a
/// failure to compare.
fn equal(x: Ball, y: Ball) -> (Verdict, f64) {
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

/// Whether two numbers may be the same.
pub(super) fn is_equal(x: Ball, y: Ball) -> bool {
    equal(x, y).0 != Verdict::Fail
}

/// `x <= y` for one entry; the margin counts only what exceeds.
fn at_most(x: Ball, y: Ball) -> (Verdict, f64) {
    if x.mid.is_nan() && y.mid.is_nan() {
        return (Verdict::Pass, 0.0);
    }
    let gap = Gap::new(x, y);
    if x.mid <= y.mid {
        if gap.hard.is_infinite() { (Verdict::Inconclusive, 0.0) } else { (Verdict::Pass, 0.0) }
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

/// The relations of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    AtMost,
    AtLeast,
    SameBits,
}

/// Texts of both sides, for the evidence.
pub(super) struct Sides<'a> {
    pub(super) left: &'a str,
    pub(super) right: &'a str,
}

/// Decides a relation entry by entry; leads and extents must already agree.
pub(super) fn decide(
    relation: Relation,
    left: &BallMatrices,
    right: &BallMatrices,
    sides: &Sides<'_>,
) -> Decision {
    decide_at(relation, left, right, sides).0
}

/// The same, and which entry is shown.
pub(super) fn decide_at(
    relation: Relation,
    left: &BallMatrices,
    right: &BallMatrices,
    sides: &Sides<'_>,
) -> (Decision, Option<usize>) {
    let mut shown = None;
    let (left, right) = (left.zip(right, |x, _| x), left.zip(right, |_, y| y));
    let mut decision = Decision::pass();
    for (at, (x, y)) in left.data.iter().zip(&right.data).enumerate() {
        let (verdict, margin) = match relation {
            Relation::Equal => equal(*x, *y),
            Relation::AtMost => at_most(*x, *y),
            Relation::AtLeast => at_most(*y, *x),
            Relation::SameBits => same_bits(*x, *y),
        };
        let largest = decision.margin.max(margin);
        let worst = decision.evidence.is_none() || margin > decision.margin;
        if verdict != Verdict::Pass && (worst || verdict != decision.verdict) {
            let evidence = relation.evidence((*x, *y), margin, sides, &left.place(at));
            let one = Decision { verdict, margin, evidence: Some(evidence) };
            let joined = if decision.verdict == verdict { one } else { decision.and(one) };
            if joined.verdict == verdict {
                shown = Some(at);
            }
            decision = joined;
        }
        decision.margin = largest;
    }
    (decision, shown)
}

impl Relation {
    /// What one entry shows.
    fn evidence(
        self,
        (x, y): (Ball, Ball),
        margin: f64,
        sides: &Sides<'_>,
        place: &str,
    ) -> Evidence {
        let (expected, got, bound) = match self {
            Self::SameBits => (
                format!("the bits of {} = {}", sides.right, show_number(y.mid)),
                show_number(x.mid),
                Some(0.0),
            ),
            _ => {
                let symbol = match self {
                    Self::AtMost => "at most ",
                    Self::AtLeast => "at least ",
                    _ => "",
                };
                let bound = Some(Gap::new(x, y).hard).filter(|bound| bound.is_finite());
                (format!("{symbol}{}   ({})", show(y), sides.right), show(x), bound)
            }
        };
        let place = format!("{} at {place}", sides.left);
        let ratio = margin.is_finite().then_some(margin);
        Evidence { ratio, bound, relation: true, ..Evidence::new(place, expected, got) }
    }
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
        let sides = Sides { left: "x", right: "y" };
        let decision = decide(Relation::Equal, &m(&[0.0, 1.0, 0.0]), &m(&[0.0, 3.0, 0.0]), &sides);
        assert_eq!(decision.verdict, Verdict::Fail);
        assert!(decision.evidence.is_some_and(|evidence| evidence.place.contains("c=1")));
    }
}
