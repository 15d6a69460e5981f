//! The other route: the engine's enclosures, which know nothing of exact numbers.

use std::sync::LazyLock;

use qkvet_engine::ball::Ball;
use qkvet_engine::law::{Enclosed, Judge, enclose, enclose_all};
use qkvet_spec::syntax::Expr;
use qkvet_spec::{Binding, Catalog, CheckedLaw, Dtype, Meaning, SpecError};

use super::form::read;
use super::numbers::unsigned_zero;
use super::{AnswerError, Drawn, Numbers};
use crate::taught::{is_taught, named_rows, plain, row_name};

/// Rows of balls, and whether they are one number.
pub(crate) type Balls = (bool, Vec<Vec<Ball>>);

/// The meaning of attention.
pub(crate) fn standard() -> &'static Meaning {
    static STANDARD: LazyLock<Meaning> = LazyLock::new(Meaning::standard);
    &STANDARD
}

/// Encloses a formula of a question: rows of balls, and whether it is one number.
///
/// # Errors
/// A formula without a value, or no contract for binary64.
pub fn enclosed(
    law: &CheckedLaw,
    expr: &Expr,
    drawn: &Drawn,
    meaning: &Meaning,
    catalog: &Catalog,
) -> Result<Balls, AnswerError> {
    enclosed_all(law, &[expr], drawn, meaning, catalog)?
        .pop()
        .unwrap_or(Err(AnswerError::NoFormula))
}

/// [`enclosed`] for several formulas.
///
/// # Errors
/// No contract for binary64; of each formula, that it has no value.
pub(crate) fn enclosed_all(
    law: &CheckedLaw,
    exprs: &[&Expr],
    drawn: &Drawn,
    meaning: &Meaning,
    catalog: &Catalog,
) -> Result<Vec<Result<Balls, AnswerError>>, SpecError> {
    let contract = catalog.default_contract(Dtype::Float64)?;
    let mut case = drawn.case(&law.law.law);
    let judge = Judge { meaning, contract };
    let balls =
        |all: Vec<Result<Enclosed, _>>| all.into_iter().map(|one| Ok(balls(one?))).collect();
    if !exprs.iter().copied().chain(law.lets.iter().map(|(_, expr)| expr)).any(is_taught) {
        return Ok(balls(enclose_all(law, exprs, &case, judge)));
    }
    // The engine knows rows by name alone.
    let mut numbers = Vec::new();
    let mut known = |expr: &Expr| named_rows(&plain(expr), &mut numbers);
    let mut own = law.clone();
    own.lets.iter_mut().for_each(|(_, expr)| *expr = known(expr));
    let exprs: Vec<Expr> = exprs.iter().map(|expr| known(expr)).collect();
    for n in numbers {
        case.bindings.insert(row_name(n), Binding::Index(n - 1));
    }
    let exprs: Vec<&Expr> = exprs.iter().collect();
    Ok(balls(enclose_all(&own, &exprs, &case, judge)))
}

fn balls(enclosed: Enclosed) -> Balls {
    #[expect(clippy::cast_precision_loss, reason = "extents and indices are small")]
    let whole = |n: i64| Ball::exact(n as f64);
    match enclosed {
        Enclosed::Number(x) => (true, vec![vec![x]]),
        Enclosed::Index(i) => (true, vec![vec![whole(i64::try_from(i + 1).unwrap_or(i64::MAX))]]),
        Enclosed::Shape(extents) => (false, vec![extents.into_iter().map(whole).collect()]),
        Enclosed::Matrix { cols, data, .. } => {
            (false, data.chunks(cols.max(1)).map(<[Ball]>::to_vec).collect())
        }
    }
}

/// The numbers in balls, rounded to so many decimals, ties away from 0.
///
/// # Errors
/// A ball whose ends round to different decimals.
pub fn rounded(
    (scalar, rows): &(bool, Vec<Vec<Ball>>),
    places: usize,
) -> Result<Numbers, AnswerError> {
    let digits = |x: &Ball| {
        let (low, high) = (decimal(x.low(), places), decimal(x.high(), places));
        if low == high { Ok(low) } else { Err(AnswerError::Decimals { low, high }) }
    };
    let printed: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(digits).collect()).collect::<Result<_, _>>()?;
    Ok(Numbers { scalar: *scalar, places: Some(places), exact: printed.clone(), rows: printed })
}

/// A float with so many decimals, ties away from 0.
fn decimal(x: f64, places: usize) -> String {
    // Half a unit of the last place is left over where `x` is a whole multiple of `2^−(places + 1)`
    // and its decimals end in 5.
    let parts = (0..=places).fold(x, |parts, _| parts * 2.0);
    let is_tie = || format!("{x:.places$}", places = places + 1).ends_with('5');
    let x = match (parts.fract() == 0.0 && is_tie(), x > 0.0) {
        (false, _) => x,
        (true, true) => x.next_up(),
        (true, false) => x.next_down(),
    };
    unsigned_zero(format!("{x:.places$}"))
}

/// Whether printed numbers are those in the balls: each decimal within half a unit of its last
/// place, each exact value in its ball.
///
/// # Errors
/// The first number that is another; else one for which its ball is too wide.
pub fn agrees(
    numbers: &Numbers,
    (_, rows): &(bool, Vec<Vec<Ball>>),
    evaluate: &dyn Fn(&str) -> Option<Ball>,
) -> Result<(), AnswerError> {
    let shape = |rows: &[Vec<String>]| rows.iter().map(Vec::len).collect::<Vec<_>>();
    // A number and a matrix of one are the same here.
    if shape(&numbers.rows) != rows.iter().map(Vec::len).collect::<Vec<_>>()
        || shape(&numbers.exact) != shape(&numbers.rows)
    {
        return Err(AnswerError::Extents);
    }
    let mut undecided = Ok(());
    for (i, row) in rows.iter().enumerate() {
        for (j, ball) in row.iter().enumerate() {
            let (printed, exact) = (&numbers.rows[i][j], &numbers.exact[i][j]);
            let (row, column) = (i + 1, j + 1);
            let wrong = |got: &String| {
                Err(AnswerError::Other { row, column, expected: ball.mid, got: got.clone() })
            };
            let Some(value) = evaluate(exact) else { return wrong(exact) };
            let apart = (value - *ball).abs();
            if apart.low() > 0.0 {
                return wrong(exact);
            }
            let Some(unit) = units(printed, numbers.places, *ball, evaluate) else {
                return wrong(printed);
            };
            if unit.low() > 1.0 {
                return wrong(printed);
            }
            // Exactly half a unit off is a tie; ties go away from 0, and the exact route has seen
            // to that. What is no number or has no bound is not narrow.
            let is_narrow = ball.mid.is_finite()
                && apart.high() <= 1e-6 * (1.0 + ball.mid.abs())
                && unit.high() <= 1.0 + 1e-9;
            if !is_narrow {
                undecided = Err(AnswerError::Wide { row, column, printed: printed.clone() });
            }
        }
    }
    undecided
}

/// How many half units of its last place a printed number is from a ball; an exact one is 0 or 2
/// away. `None` for what is no number with so many decimals, all reals from 0 where binary64 cannot
/// say.
fn units(
    printed: &str,
    places: Option<usize>,
    ball: Ball,
    evaluate: &dyn Fn(&str) -> Option<Ball>,
) -> Option<Ball> {
    let Some(places) = places else {
        let apart = (evaluate(printed)? - ball).abs();
        return Some(if apart.low() > 0.0 { Ball::exact(2.0) } else { Ball::exact(0.0) });
    };
    let (whole, fraction) = printed.split_once('.')?;
    if fraction.len() != places || places > 15 {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    if !digits.strip_prefix('-').unwrap_or(&digits).chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    // More digits than binary64 holds are not decided.
    let Some(digits) = digits.parse::<i64>().ok().filter(|digits| digits.unsigned_abs() < 1 << 53)
    else {
        return Some(Ball::between(0.0, f64::INFINITY));
    };
    #[expect(clippy::cast_precision_loss, reason = "larger ones are not decided")]
    let scaled = digits as f64;
    let unit = (0..places).fold(Ball::exact(1.0), |power, _| power * Ball::exact(10.0));
    Some((Ball::exact(scaled) - ball * unit).abs() * Ball::exact(2.0))
}

/// A law without variables, in which numbers are evaluated.
static LAW_OF_NUMBERS: LazyLock<Option<CheckedLaw>> = LazyLock::new(|| {
    let text = "law: number\ntitle: number\nexpect: 1 <= 2\nproof: definition\ncatches: []\n";
    CheckedLaw::from_yaml("number", text).ok()
});

/// The value of a number written in the law language, enclosed; `None` for what is no number, all
/// reals where it has more digits than binary64 holds.
pub(crate) fn ball_of(text: &str, catalog: &Catalog) -> Option<Ball> {
    // What has no exact form stands with fifty decimals, of which binary64 holds the nearest number.
    if let Some(near) = text.strip_prefix('~') {
        let near: f64 = near.parse().ok()?;
        return Some(Ball::between(near.next_down(), near.next_up()));
    }
    let expr = read(text).ok()?;
    if text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 15) {
        return Some(Ball::between(f64::NEG_INFINITY, f64::INFINITY));
    }
    let contract = catalog.default_contract(Dtype::Float64).ok()?;
    let case = Drawn::default().case("number");
    match enclose(LAW_OF_NUMBERS.as_ref()?, &expr, &case, Judge { meaning: standard(), contract }) {
        Ok(Enclosed::Number(x)) => Some(x),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use qkvet_engine::ball::Ball;

    use super::{agrees, decimal};
    use crate::answer::{AnswerError, Numbers};

    fn judged(printed: &str, places: Option<usize>, ball: Ball) -> Result<(), AnswerError> {
        let rows = vec![vec![printed.to_owned()]];
        let numbers = Numbers { scalar: true, places, exact: rows.clone(), rows };
        let value = |text: &str| text.parse().ok().map(Ball::exact);
        agrees(&numbers, &(true, vec![vec![ball]]), &value)
    }

    #[test]
    fn an_enclosure_that_is_too_wide_decides_nothing() {
        let near = |mid: f64, rad: f64| Ball { mid, rad, soft: rad };
        assert_eq!(judged("0.125", Some(3), near(0.125, 1e-9)), Ok(()));
        assert!(matches!(
            judged("0.126", Some(3), near(0.125, 1e-9)),
            Err(AnswerError::Other { .. })
        ));
        assert!(matches!(
            judged("0.1x5", Some(3), near(0.125, 1e-9)),
            Err(AnswerError::Other { .. })
        ));
        for (printed, places, ball) in [
            ("0.125", Some(3), near(0.125, 0.01)),
            ("0.125", Some(3), near(0.0, f64::INFINITY)),
            ("0.125", Some(3), near(f64::NAN, 0.0)),
            // Exact ones are held to the same.
            ("3", None, near(3.0, 0.01)),
            ("3", None, near(3.0, f64::INFINITY)),
            ("3", None, near(f64::NAN, 0.0)),
            // More digits than binary64 holds.
            ("235385266837019985.408", Some(3), near(2.353_852_668_370_199_8e17, 64.0)),
        ] {
            assert!(
                matches!(judged(printed, places, ball), Err(AnswerError::Wide { .. })),
                "{printed} in {ball:?}"
            );
        }
    }

    #[test]
    fn ties_go_away_from_zero_and_nothing_else_does() {
        for (x, places, text) in [
            (0.125, 2, "0.13"),
            (-0.125, 2, "-0.13"),
            (0.375, 2, "0.38"),
            (2.5, 0, "3"),
            (0.5, 0, "1"),
            (-0.0625, 3, "-0.063"),
            (-0.0, 2, "0.00"),
            (-0.001, 2, "0.00"),
            // The floats beside the decimals are not ties.
            (0.15, 1, "0.1"),
            (0.35, 1, "0.3"),
            (0.45, 1, "0.5"),
            (1.005, 2, "1.00"),
        ] {
            assert_eq!(decimal(x, places), text, "{x}");
        }
    }
}
