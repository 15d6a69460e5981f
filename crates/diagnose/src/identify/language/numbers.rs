//! Families with one free number: it is fitted to wrong results that there are, and then written as
//! the shortest number between its limits.

use qkvet_spec::{
    CallOption, DenominatorForm, DeviationFormula, HiddenKeys, LogitForm, MeaningPatch, StubForm,
    Twist,
};

/// Formulas of one number.
pub(crate) struct Family {
    pub(crate) formula: fn(f64) -> DeviationFormula,
    pub(crate) needs: &'static [CallOption],
    pub(crate) starts: &'static [f64],
    pub(crate) bits: f64,
}

const GAINS: &[f64] = &[0.1, 0.5, 0.9, 1.5, 3.0, 8.0, -1.0];
const SCORES: &[f64] = &[-20.0, -8.0, -3.0, -1.0, 0.0, 1.0];

fn twisted(twist: Twist) -> DeviationFormula {
    DeviationFormula { twist: Some(twist), ..DeviationFormula::default() }
}

fn logits(form: LogitForm) -> DeviationFormula {
    twisted(Twist::Logits { form })
}

fn times(option: CallOption, factor: f64) -> DeviationFormula {
    twisted(Twist::Times { option, factor })
}

fn sum(form: DenominatorForm) -> DeviationFormula {
    twisted(Twist::Denominator { form })
}

fn hidden(option: CallOption, score: f64, added: bool) -> DeviationFormula {
    twisted(Twist::Hidden { option, score, added })
}

fn all_hidden(hidden: HiddenKeys, score: f64) -> DeviationFormula {
    let (hidden, hidden_score) = (Some(hidden), Some(score));
    let meaning = MeaningPatch { hidden, hidden_score, ..MeaningPatch::default() };
    DeviationFormula { meaning, ..DeviationFormula::default() }
}

/// Every family, in a fixed order.
pub(crate) fn families() -> Vec<Family> {
    use CallOption::{AlibiSlopes, Bias, Causal, KeyLengths, Mask, Scale, Sinks, Softcap, Window};
    let family = |needs, starts, bits, formula| Family { formula, needs, starts, bits };
    vec![
        family(&[], GAINS, 4.0, |t| times(Scale, t)),
        family(&[], GAINS, 4.0, |t| logits(LogitForm::Times { factor: t })),
        family(&[], &[0.5, 1.5, 4.0, 10.0, 30.0], 5.0, |t| logits(LogitForm::Clipped { limit: t })),
        family(&[], &[0.5, 1.5, 4.0, 10.0, 30.0], 6.0, |t| {
            logits(LogitForm::ClippedAbove { limit: t })
        }),
        family(&[Softcap], GAINS, 4.0, |t| times(Softcap, t)),
        family(&[Bias], GAINS, 4.0, |t| times(Bias, t)),
        family(&[AlibiSlopes], GAINS, 4.0, |t| times(AlibiSlopes, t)),
        family(&[Sinks], GAINS, 4.0, |t| times(Sinks, t)),
        family(&[Sinks], GAINS, 5.0, |t| sum(DenominatorForm::SinkTimes { factor: t })),
        family(&[], &[1e-3, 0.1, 1.0, 3.0], 5.0, |t| sum(DenominatorForm::Plus { term: t })),
        family(&[], GAINS, 5.0, |t| sum(DenominatorForm::Times { factor: t })),
        family(&[], GAINS, 5.0, |t| twisted(Twist::OutputTimes { factor: t })),
        family(&[], &[0.5], 4.0, |t| {
            twisted(Twist::Stub { form: StubForm::Constant { value: t } })
        }),
        family(&[Mask], SCORES, 5.0, |t| hidden(Mask, t, true)),
        family(&[Mask], SCORES, 5.0, |t| hidden(Mask, t, false)),
        family(&[Causal], SCORES, 5.0, |t| hidden(Causal, t, true)),
        family(&[Causal], SCORES, 5.0, |t| hidden(Causal, t, false)),
        family(&[Window], SCORES, 5.0, |t| hidden(Window, t, true)),
        family(&[Window], SCORES, 5.0, |t| hidden(Window, t, false)),
        family(&[KeyLengths], SCORES, 5.0, |t| hidden(KeyLengths, t, true)),
        family(&[KeyLengths], SCORES, 5.0, |t| hidden(KeyLengths, t, false)),
        family(&[], SCORES, 6.0, |t| all_hidden(HiddenKeys::ScoreAdded, t)),
        family(&[], SCORES, 6.0, |t| all_hidden(HiddenKeys::ScoreReplaced, t)),
    ]
}

/// Limits that are wider, as a share of the number, tell only fractions of the smallest numbers,
/// and still wider ones nothing.
const MAX_WIDTH: [f64; 2] = [0.02, 0.25];
/// Those smallest numbers: below and above.
const SMALLEST: [i32; 2] = [4, 8];

/// Constants that stand in programs by accident.
const CONSTANTS: [f64; 8] = [
    std::f64::consts::LN_2,
    std::f64::consts::LOG2_E,
    std::f64::consts::E,
    std::f64::consts::SQRT_2,
    std::f64::consts::FRAC_1_SQRT_2,
    std::f64::consts::PI,
    std::f64::consts::LN_10,
    1.0 / std::f64::consts::E,
];

/// The shortest number in `low..=high`, and its bits: a constant, a fraction of small numbers, or
/// the shortest decimal. `None` where the limits are so wide that any short number fits.
pub(crate) fn shortest(low: f64, high: f64) -> Option<(f64, f64)> {
    let size = low.abs().max(high.abs());
    if low.is_nan()
        || high.is_nan()
        || low > high
        || !size.is_finite()
        || high - low > MAX_WIDTH[1] * size.max(1e-6)
    {
        return None;
    }
    let is_in = |x: f64| low <= x && x <= high;
    if high - low > MAX_WIDTH[0] * size.max(1e-6) {
        let [most, above] = SMALLEST;
        let mut fractions =
            (1..=most).flat_map(|n| (-above..=above).map(move |m| f64::from(m) / f64::from(n)));
        return fractions.find(|x| *x != 0.0 && is_in(*x)).map(|x| (x, 8.0));
    }
    if let Some(x) = CONSTANTS.iter().flat_map(|x| [*x, -x]).find(|x| is_in(*x)) {
        return Some((x, 5.0));
    }
    for below in 1..=12 {
        let above = (low * f64::from(below)).ceil();
        if above.abs() <= 64.0 && is_in(above / f64::from(below)) {
            return Some((
                above / f64::from(below),
                4.0 + libm::log2(f64::from(below) + above.abs()),
            ));
        }
    }
    for digits in 0..17 {
        let text = format!("{:.digits$e}", low.midpoint(high));
        let x: f64 = text.parse().ok()?;
        if is_in(x) {
            return Some((x, 4.0 + 3.3 * (digits + 1) as f64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_number_between_two_limits() {
        let near = |x: f64| shortest(x - 1e-6, x + 1e-6).map(|(x, _)| x);
        assert_eq!(near(std::f64::consts::LN_2), Some(std::f64::consts::LN_2));
        assert_eq!(near(-10.000_000_4), Some(-10.0));
        assert_eq!(near(1.0 / 3.0), Some(1.0 / 3.0));
        assert_eq!(near(0.731_2), Some(0.731_2));
        assert_eq!(shortest(1.0, 2.0), None);
        assert_eq!(shortest(0.46, 0.54), Some((0.5, 8.0)));
        assert_eq!(shortest(0.55, 0.62), None);
        assert_eq!(shortest(f64::NAN, 2.0), None);
    }
}
