//! Numbers and matrices.

use qkvet_prove::exact::{Real, Value};
use qkvet_spec::syntax::{Expr, ExprKind};

use super::earlier_steps::Carried;
use super::fit::{Fit, fit, fits, have_same_extents, tolerate};
use super::marked::Marked;
use super::{Extents, Feedback, Nature};
use crate::answer::{Numbers, unsigned_zero};
use crate::generate::Mistaken;
use crate::question::{Credit, Tolerance};
use crate::student_answer::{
    Form, ParsedNumber, RequestedShape, half_unit, is_within, read_expression, read_numbers,
};

/// The value of a formula as rows of numbers.
pub(super) fn rows_of(value: &Value) -> Option<Vec<Vec<Real>>> {
    let whole = |n: &usize| Real::from(i64::try_from(*n).unwrap_or(i64::MAX));
    Some(match value {
        Value::Number(x) => vec![vec![x.clone()]],
        Value::Index(i) => vec![vec![whole(&(i + 1))]],
        Value::Shape(extents) => vec![extents.iter().map(whole).collect()],
        Value::Matrices(m) => m.data.chunks(m.cols.max(1)).map(<[Real]>::to_vec).collect(),
        Value::Indices(_) => return None,
    })
}

/// The names of what stands side by side in `hcat(hcat(Q, K), V)`.
pub(super) fn blocks<'a>(of: &'a Expr, names: &mut Vec<&'a str>) -> Option<()> {
    match &of.kind {
        ExprKind::Name(name) => names.push(name),
        ExprKind::Apply { function, args, .. } if function == "hcat" => {
            args.iter().try_for_each(|one| blocks(one, names))?;
        }
        _ => return None,
    }
    Some(())
}

/// Whether an answer is what a mistake gives. Decimals of a mistake are rounded already.
fn is_of(mistake: &Numbers, given: &[Vec<ParsedNumber>]) -> bool {
    let same = have_same_extents(&mistake.rows, given);
    let printed = mistake.rows.iter().flatten().zip(mistake.exact.iter().flatten());
    same && printed.zip(given.iter().flatten()).all(|((printed, exact), x)| match mistake.places {
        Some(places) => {
            let exact = read_expression(exact).ok();
            exact.is_some_and(|exact| fit(x, &exact, Some(places)).is_right())
                || unsigned_zero(x.value.digits(places)) == *printed
        }
        None => read_expression(exact).is_ok_and(|exact| fit(x, &exact, None) == Fit::Exact),
    })
}

/// Whether an answer may be what a mistake gives as far as its own decimals tell.
fn may_be(mistake: &Numbers, given: &[Vec<ParsedNumber>], places: Option<usize>) -> bool {
    let same = have_same_extents(&mistake.exact, given);
    let is_near = |x: &ParsedNumber, exact: &Real| match x.form {
        Form::Decimal(stated) => {
            x.is_near(exact, places.map_or(stated, |places| stated.min(places)))
        }
        Form::Expression => x.is(exact),
    };
    let mut cells = mistake.exact.iter().flatten().zip(given.iter().flatten());
    same && cells.all(|(exact, x)| read_expression(exact).is_ok_and(|exact| is_near(x, &exact)))
}

/// A shape with as many leading extents of 1 as the right one has: `(3, 2)` and `(1, 1, 3, 2)` are
/// the same answer.
fn without_ones(
    right: &[Vec<Real>],
    given: &[Vec<ParsedNumber>],
) -> Option<Vec<Vec<ParsedNumber>>> {
    let ([right], [row]) = (right, given) else { return None };
    let one = Real::from(1);
    let extra = row.len().saturating_sub(right.len());
    if extra > 0 {
        let is_padded = row[..extra].iter().all(|x| x.is(&one));
        return is_padded.then(|| vec![row[extra..].to_vec()]);
    }
    let missing = right.len() - row.len();
    let is_one = |x: &Real| x.compare(&one).is_ok_and(std::cmp::Ordering::is_eq);
    // Extents that are padded earn nothing by the padding.
    let is_end = right[missing..].iter().zip(row).all(|(right, x)| x.is(right));
    if missing == 0 || row.is_empty() || !is_end || !right[..missing].iter().all(is_one) {
        return None;
    }
    let one = ParsedNumber::read("1").ok()?;
    Some(vec![std::iter::repeat_n(one, missing).chain(row.iter().cloned()).collect()])
}

/// Whether a matrix says little: all of its rows are equal to some decimals, or all of its columns.
pub(super) fn is_even(rows: &[Vec<Real>], places: usize) -> bool {
    let printed: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|x| unsigned_zero(x.digits(places))).collect())
        .collect();
    let cols = printed.first().map_or(0, Vec::len);
    let same_rows = printed.len() > 1 && printed.iter().all(|row| *row == printed[0]);
    let same_cols = cols > 1 && printed.iter().all(|row| row.iter().all(|x| *x == row[0]));
    same_rows || same_cols
}

/// Whether all numbers are whole to some decimals, as what a saturated softmax gives of whole
/// values.
pub(super) fn is_whole(rows: &[Vec<Real>], places: usize) -> bool {
    let whole = |x: &Real| {
        x.digits(places).split_once('.').is_none_or(|(_, rest)| rest.bytes().all(|c| c == b'0'))
    };
    rows.iter().flatten().all(whole)
}

/// What is needed to mark numbers.
pub(super) struct Right<'a> {
    /// By rows.
    pub(super) rows: Vec<Vec<Real>>,
    /// Whether they are extents.
    pub(super) is_shape: bool,
    /// Decimals asked.
    pub(super) places: Option<usize>,
    /// What mistakes give, and the share of each.
    pub(super) mistakes: Vec<(&'a Mistaken, Option<f64>)>,
    /// The rule.
    pub(super) credit: Credit,
    /// How far numbers may be off.
    pub(super) tolerance: &'a Tolerance,
    /// What the numbers that the sheet prints make of the answer, where it rounds them.
    pub(super) printed: &'a dyn Fn() -> Option<Vec<Vec<Real>>>,
    /// What the student's own earlier answers make of it; only asked of what is not right.
    pub(super) carried: &'a dyn Fn() -> Vec<Carried>,
}

impl Right<'_> {
    pub(super) fn mark(&self, given: &[Vec<ParsedNumber>]) -> Marked {
        let trimmed = if self.is_shape { without_ones(&self.rows, given) } else { None };
        let given = trimmed.as_deref().unwrap_or(given);
        let is_same_shape = have_same_extents(&self.rows, given);
        let fits = if is_same_shape { self.fits(given, &self.rows) } else { Vec::new() };
        if is_same_shape && fits.iter().all(|fit| fit.is_right()) {
            let all_exact = self.places.is_some() && fits.iter().all(|fit| *fit == Fit::Exact);
            let is_off = fits.iter().any(|fit| matches!(fit, Fit::Band(_)));
            return Marked::right(match (all_exact, is_off) {
                (true, _) => Feedback::Exact,
                (_, true) => Feedback::Tolerated { perhaps: None },
                _ => Feedback::Nothing,
            });
        }
        if is_same_shape
            && let Some(rows) = (self.printed)()
            && self.fits(given, &rows).iter().all(|fit| fit.is_right())
        {
            return Marked::right(Feedback::Printed);
        }
        let carried = (self.carried)();
        if let Some(from) = self.follows(&carried, given) {
            let from = from.to_vec();
            return Marked::follows(self.credit.follows, Feedback::Follows { from });
        }
        let is_about = is_same_shape && fits.iter().all(|fit| fit.is_about());
        if let Some(at) =
            self.mistakes.iter().position(|(mistake, _)| is_of(&mistake.numbers, given))
        {
            let (mistake, share) = &self.mistakes[at];
            let share = share.unwrap_or(self.credit.mistake);
            let says = mistake.says.clone();
            let marked = Marked::partial(share, Feedback::Mistake { says, coarse: false });
            return Marked { mistake: Some(at), ..marked };
        }
        if !is_about && !self.is_shape && self.is_turned(given) {
            return Marked::partial(self.credit.mistake, Feedback::Turned);
        }
        if !is_same_shape {
            return self.other_extents(given);
        }
        if is_about {
            let share = fits.iter().map(|fit| fit.share(self.credit.coarse)).fold(1.0, f64::min);
            let fewest = fits
                .iter()
                .filter_map(|fit| if let Fit::Coarse(stated) = fit { Some(*stated) } else { None })
                .min();
            let is_off = fits.iter().any(|fit| matches!(fit, Fit::Band(_)));
            if fewest.is_none() && !is_off {
                return Marked::partial(share, Feedback::NotNearest);
            }
            // What may be a mistake as well earns no more than the mistake does; an answer that is
            // off in its last asked digit alone is told apart by it.
            let alike = |(mistake, _): &&(&Mistaken, Option<f64>)| {
                may_be(&mistake.numbers, given, self.places)
                    || is_off && self.is_near(&mistake.numbers, given, share)
            };
            let of = |(mistake, share): &(&Mistaken, Option<f64>)| {
                (share.unwrap_or(self.credit.mistake), mistake.says.clone())
            };
            let least =
                self.mistakes.iter().filter(alike).map(of).min_by(|(x, _), (y, _)| x.total_cmp(y));
            let (share, perhaps) = match least {
                Some((least, mistake)) => (share.min(least), Some(mistake)),
                None => (share, None),
            };
            return Marked::partial(
                share,
                match fewest {
                    Some(stated) if !is_off => {
                        Feedback::Coarse { stated, asked: self.places, perhaps }
                    }
                    _ => Feedback::Tolerated { perhaps },
                },
            );
        }
        self.coarse_mistake(given).unwrap_or_else(|| self.some(&fits, given))
    }

    /// How the entries stand to others of the same extents.
    fn fits(&self, given: &[Vec<ParsedNumber>], rows: &[Vec<Real>]) -> Vec<Fit> {
        let mut fits = fits(given, rows, self.places);
        tolerate(&mut fits, (given, rows), self.places, (self.tolerance, self.credit.coarse));
        fits
    }

    /// Whether an answer is as near to what a mistake gives as the right one may be for a share.
    fn is_near(&self, mistake: &Numbers, given: &[Vec<ParsedNumber>], share: f64) -> bool {
        let is_near = |(x, exact): (&ParsedNumber, &String)| {
            let Ok(exact) = read_expression(exact) else { return false };
            let earns = self.tolerance.share(&x.value, &exact, self.places);
            earns.is_some_and(|earned| earned >= share)
        };
        have_same_extents(&mistake.exact, given)
            && given.iter().flatten().zip(mistake.exact.iter().flatten()).all(is_near)
    }

    /// The parts from whose answers it follows.
    fn follows<'b>(
        &self,
        carried: &'b [Carried],
        given: &[Vec<ParsedNumber>],
    ) -> Option<&'b [String]> {
        let is_it = |carried: &&Carried| {
            have_same_extents(&carried.rows, given)
                && carried
                    .rows
                    .iter()
                    .flatten()
                    .zip(given.iter().flatten())
                    .all(|(x, y)| self.follows_from(x, y))
        };
        carried.iter().find(is_it).map(|carried| carried.from.as_slice())
    }

    /// What one mistake alone gives, with fewer decimals than asked.
    fn coarse_mistake(&self, given: &[Vec<ParsedNumber>]) -> Option<Marked> {
        let is_it = |mistake: &Numbers| {
            let exact = mistake
                .exact
                .iter()
                .map(|row| row.iter().map(|x| read_expression(x).ok()).collect());
            let Some(exact) = exact.collect::<Option<Vec<Vec<Real>>>>() else { return false };
            let is_about = |fit: &Fit| fit.is_right() || matches!(fit, Fit::Coarse(_));
            have_same_extents(&exact, given)
                && fits(given, &exact, self.places).iter().all(is_about)
        };
        let mut alike = self.mistakes.iter().filter(|(mistake, _)| is_it(&mistake.numbers));
        let (Some((mistake, share)), None) = (alike.next(), alike.next()) else { return None };
        let share = share.unwrap_or(self.credit.mistake) * self.credit.coarse;
        let says = mistake.says.clone();
        Some(Marked::partial(share, Feedback::Mistake { says, coarse: true }))
    }

    /// An answer of another size than asked.
    fn other_extents(&self, given: &[Vec<ParsedNumber>]) -> Marked {
        let n: usize = given.iter().map(Vec::len).sum();
        match (self.rows.as_slice(), given) {
            ([right], [_]) if self.is_shape => {
                Marked::wrong(Feedback::Extents { expected: right.len(), got: n })
            }
            _ => {
                let (expected, got) = (Extents::of(&self.rows), Extents::of(given));
                Marked::wrong(Feedback::Matrix { expected, got })
            }
        }
    }

    /// Whether an answer is the right one with rows for columns.
    fn is_turned(&self, given: &[Vec<ParsedNumber>]) -> bool {
        let (rows, cols) = (self.rows.len(), self.rows.first().map_or(0, Vec::len));
        if rows * cols < 2 {
            return false;
        }
        given.len() == cols
            && given.iter().all(|row| row.len() == rows)
            && (0..rows).all(|i| {
                (0..cols).all(|j| fit(&given[j][i], &self.rows[i][j], self.places).is_about())
            })
    }

    /// A step from rounded numbers may be off by a unit.
    fn follows_from(&self, right: &Real, x: &ParsedNumber) -> bool {
        match self.places {
            Some(places) => {
                is_within(&x.value, right, &(&half_unit(places) + &half_unit(places)))
                    || self.tolerance.share(&x.value, right, self.places) == Some(1.0)
            }
            None => fit(x, right, None) == Fit::Exact,
        }
    }

    /// An answer with wrong entries.
    fn some(&self, fits: &[Fit], given: &[Vec<ParsedNumber>]) -> Marked {
        let cols = self.rows.first().map_or(1, Vec::len).max(1);
        let wrong: Vec<(usize, usize)> = fits
            .iter()
            .enumerate()
            .filter(|(_, fit)| !fit.is_about())
            .map(|(at, _)| (at / cols, at % cols))
            .collect();
        let all: Vec<(&ParsedNumber, &Real)> =
            given.iter().flatten().zip(self.rows.iter().flatten()).collect();
        let nature = self.nature(fits, &all);
        if fits.len() == 1 {
            return Marked::wrong(Feedback::Number { nature });
        }
        let right = fits.iter().filter(|fit| fit.is_right()).count();
        let about = fits.len() - wrong.len() - right;
        let says = Feedback::Entries { nature, right: right + about, coarse: about > 0, wrong };
        if right + about == 0 {
            return Marked::wrong(says);
        }
        #[expect(clippy::cast_precision_loss, reason = "at most some thousands")]
        let share =
            fits.iter().map(|fit| fit.share(self.credit.coarse)).sum::<f64>() / fits.len() as f64;
        Marked::partial(self.credit.entries * share, says)
    }

    /// What is wrong in the entries that are.
    fn nature(&self, fits: &[Fit], all: &[(&ParsedNumber, &Real)]) -> Nature {
        let opposite = |(x, right): &(&ParsedNumber, &Real)| {
            right.negated().is_ok_and(|other| fit(x, &other, self.places).is_about())
        };
        let is_few = |fit: &Fit| fit.is_about() || matches!(fit, Fit::Vague(_));
        if all.len() > 1 && all.iter().all(opposite) {
            Nature::Signs
        } else if all.iter().zip(fits).all(|(pair, fit)| fit.is_about() || opposite(pair)) {
            Nature::Sign
        } else if fits.iter().all(is_few) && self.places.is_none() {
            Nature::TooFew
        } else if fits.iter().all(is_few) {
            Nature::FewerThanHalf
        } else {
            Nature::Other
        }
    }
}

/// The option whose numbers were typed.
pub(super) fn choice_of(choices: &[Numbers], given: &str) -> Option<usize> {
    let is_it = |choice: &Numbers| {
        let (rows, cols) = (choice.rows.len(), choice.rows.first().map_or(0, Vec::len));
        let asked = RequestedShape { rows, cols, ..RequestedShape::default() };
        read_numbers(given, &asked).is_ok_and(|given| is_of(choice, &given))
    };
    choices.iter().position(is_it)
}
