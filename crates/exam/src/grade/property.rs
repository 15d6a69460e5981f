//! Whether a design has its property: exactly, and where that decides nothing by enclosures.

use std::sync::LazyLock;

use indexmap::IndexMap;
use qkvet_engine::ball::Ball;
use qkvet_prove::exact::{NoValue, Value};
use qkvet_prove::render::{Style, render};
use qkvet_spec::Catalog;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, parse};

use super::Failure;
use super::part::WorkedQuestion;
use crate::answer::{
    Bounded, Drawn, Parameter, Worked, bounded, enclosed_all, of_value, rounded, standard,
    work_from,
};
use crate::expr::{binary, matrix};
use crate::generate::nothing;
use crate::print::{called, numbered};
use crate::student_answer::ends_within;

/// Decimals that a sheet prints values with in its words.
const SHEET: usize = 4;

/// Decimals of both sides of an inequality that fails: the first with which they differ.
const SHOWN: [usize; 4] = [6, 12, 24, 40];

/// Digits of a whole number that is exact in binary64.
const EXACT: usize = 15;

/// What is known of an answer.
pub(super) enum Decided {
    /// It has the property.
    Has,
    /// It does not, and which inequality fails.
    Lacks(Vec<Failure>),
    /// Neither is certain, and why.
    Undecided(NoValue),
}

/// Decides `distance ≤ most` with `own` where the example stood, each inequality of it by the route
/// that can. What is within the bound that the sheet prints has the property too.
pub(super) fn decide(
    asked: &WorkedQuestion<'_>,
    own: &IndexMap<String, Value>,
    distance: &Expr,
    most: &Expr,
) -> Decided {
    // What ends is printed to its end by who wrote the question, and not rounded by the sheet.
    let printed = asked
        .worked
        .value(most)
        .ok()
        .filter(|value| !ends(value))
        .and_then(|value| side(&value, SHEET));
    let within = printed.as_deref().and_then(exactly);
    let most = (most, within.as_ref());
    let bounds = bounded(distance);
    let worked = work_from(&asked.question.law, asked.drawn, &nothing(), own);
    let in_numbers = |bound| exact(asked, worked.as_ref().map_err(Clone::clone)?, bound, most);
    let mut said: Vec<Result<Said, NoValue>> = bounds.iter().map(in_numbers).collect();
    let (at, open): (Vec<usize>, Vec<&Bounded>) =
        (0..).zip(&bounds).filter(|(at, _)| said[*at].is_err()).unzip();
    if !open.is_empty() {
        let enclosed = enclosed(asked, own, &open, most).unwrap_or_default();
        for (at, decided) in at.into_iter().zip(enclosed) {
            if let Some(decided) = decided {
                said[at] = Ok(decided);
            }
        }
    }
    let mut fails = Vec::new();
    let mut open = None;
    for said in said {
        match said {
            Ok(failure) => fails.extend(failure),
            Err(reason) => open = open.or(Some(reason)),
        }
    }
    match open {
        _ if !fails.is_empty() => Decided::Lacks(fails),
        Some(reason) => Decided::Undecided(reason),
        None => Decided::Has,
    }
}

/// What is said of an inequality that fails; nothing of one that holds.
type Said = Option<Failure>;

/// The exact route; an error where it decides nothing.
fn exact(
    asked: &WorkedQuestion<'_>,
    worked: &Worked,
    bound: &Bounded,
    (most, within): (&Expr, Option<&Expr>),
) -> Result<Said, NoValue> {
    let is_within = |most: &Expr| worked.holds(&at_most(&bound.of, most));
    if within.is_some_and(|within| is_within(within) == Ok(true)) || is_within(most)? {
        return Ok(None);
    }
    let (left, right) = sides(worked, &bound.of, most);
    Ok(Some(failure(asked.drawn, bound, most, (left, right))))
}

/// Both sides to so many decimals that they differ, each digit certain.
fn sides(worked: &Worked, left: &Expr, right: &Expr) -> (String, String) {
    let at = |places: usize| {
        let of = |expr: &Expr| {
            worked.value(expr).ok().and_then(|value| side(&value, places)).unwrap_or_default()
        };
        (of(left), of(right))
    };
    SHOWN.map(at).into_iter().find(|(left, right)| left != right).unwrap_or_else(|| at(SHOWN[0]))
}

/// The other route: both sides in balls, of each inequality what is certain. Nothing where the
/// answer is not exact in binary64.
fn enclosed(
    asked: &WorkedQuestion<'_>,
    own: &IndexMap<String, Value>,
    bounds: &[&Bounded],
    (most, within): (&Expr, Option<&Expr>),
) -> Option<Vec<Option<Said>>> {
    static CATALOG: LazyLock<Option<Catalog>> = LazyLock::new(|| Catalog::embedded().ok());
    let mut law = asked.question.law.clone();
    for (name, value) in own {
        let at = law.lets.iter().position(|(other, _)| other == name)?;
        law.lets[at].1 = literal(value)?;
    }
    let exprs: Vec<&Expr> =
        bounds.iter().map(|bound| &bound.of).chain([most]).chain(within).collect();
    let balls = enclosed_all(&law, &exprs, asked.drawn, standard(), CATALOG.as_ref()?).ok()?;
    let balls: Vec<Option<Ball>> = balls
        .into_iter()
        .map(|ball| ball.ok().and_then(|rows| rows.1.first()?.first().copied()))
        .collect();
    let (left, right) = balls.split_at_checked(bounds.len())?;
    let right: Vec<Ball> = right.iter().copied().collect::<Option<_>>()?;
    let digits = |ball: Ball, places| {
        rounded(&(true, vec![vec![ball]]), places).ok()?.rows.first()?.first().cloned()
    };
    let decided = |(bound, left): (&&Bounded, &Option<Ball>)| {
        let left = (*left)?;
        if right.iter().any(|right| left.high() <= right.low()) {
            return Some(None);
        }
        if !right.iter().all(|right| left.low() > right.high()) {
            return None;
        }
        let shown = [6, 9, 12, 5, 4, 3, 2, 1, 0].into_iter().find_map(|places| {
            let sides = (digits(left, places)?, digits(*right.first()?, places)?);
            (sides.0 != sides.1).then_some(sides)
        });
        Some(Some(failure(asked.drawn, bound, most, shown.unwrap_or_default())))
    };
    Some(bounds.iter().zip(left).map(decided).collect())
}

/// A value as a formula.
pub(super) fn literal(value: &Value) -> Option<Expr> {
    let numbers = of_value(value, Some(0)).ok()?;
    let is_exact = |text: &String| {
        text.split(|c: char| !c.is_ascii_digit()).all(|digits| digits.len() <= EXACT)
    };
    if !numbers.exact.iter().flatten().all(is_exact) {
        return None;
    }
    if numbers.scalar {
        return parse(numbers.exact.first()?.first()?).ok();
    }
    parse(&matrix(&numbers.exact, &|cell| format!("({cell})"))).ok()
}

/// What is said of an inequality that fails.
fn failure(drawn: &Drawn, bound: &Bounded, most: &Expr, sides: (String, String)) -> Failure {
    let mut inequality = numbered(with_numbers(at_most(&bound.shown, most), drawn), drawn);
    called(&mut inequality);
    let inequality = render(&inequality, Style::Unicode);
    Failure { inequality, sides: Some(sides).filter(|(left, right)| left != right) }
}

fn at_most(left: &Expr, right: &Expr) -> Expr {
    binary(BinaryOp::Le, left.clone(), right.clone())
}

/// A formula with the sheet's numbers for the names of those that are drawn.
fn with_numbers(mut expr: Expr, drawn: &Drawn) -> Expr {
    fn fill(expr: &mut Expr, drawn: &Drawn) {
        expr.parts_mut().into_iter().for_each(|part| fill(part, drawn));
        let ExprKind::Name(name) = &expr.kind else { return };
        #[expect(clippy::cast_precision_loss, reason = "extents are small")]
        let number = match (drawn.parameters.get(name), drawn.size(name)) {
            (Some(Parameter::Number(x)), _) if *x >= 0.0 => Some(*x),
            (None, Some(extent)) => Some(extent as f64),
            _ => None,
        };
        if let Some(x) = number {
            expr.kind = ExprKind::Number(x);
        }
    }
    fill(&mut expr, drawn);
    expr
}

/// Whether it is a number whose decimals end.
fn ends(value: &Value) -> bool {
    matches!(value, Value::Number(x) if ends_within(x, EXACT))
}

/// A number to so many decimals.
fn side(value: &Value, places: usize) -> Option<String> {
    of_value(value, Some(places)).ok()?.rows.first()?.first().cloned()
}

/// A decimal as a fraction.
fn exactly(decimal: &str) -> Option<Expr> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    parse(&format!("{whole}{fraction} / 1{}", "0".repeat(fraction.len()))).ok()
}
