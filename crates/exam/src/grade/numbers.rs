//! Numbers and matrices.

use std::borrow::Cow;
use std::collections::BTreeSet;

use qkvet_prove::exact::{Real, Value};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{Expr, ExprKind};

use super::design::assigned;
use super::part::{Marked, Unread};
use crate::answer::{Numbers, unsigned_zero};
use crate::counted::counted;
use crate::generate::Mistaken;
use crate::given::{
    Form, Layout, Node, Stated, ends_within, half_unit, is_fraction_sign, is_within, layout, read_expression,
    ungrouped, unlabelled, with_unit,
};
use crate::question::Credit;

/// How a number stands to the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is that number.
    Exact,
    /// It is at most half a unit of the last asked digit away.
    Rounded,
    /// It is right to so many decimals, which are fewer than asked, but at least half of them.
    Coarse(usize),
    /// It is right to so many decimals, which are fewer than half of those asked: nearly any answer is.
    Vague(usize),
    /// It is less than a unit of the last asked digit away, and the right one goes on behind that digit.
    LastDigit,
    /// It is another number.
    Off,
}

impl Fit {
    pub(super) fn is_right(self) -> bool {
        matches!(self, Self::Exact | Self::Rounded)
    }

    /// Whether it is right as far as it goes, and goes far enough to say something.
    fn is_about(self) -> bool {
        !matches!(self, Self::Vague(_) | Self::Off)
    }
}

/// Fewest decimals that earn something where an exact value is asked.
const FEWEST: usize = 2;

/// Compares a number with the right one, of which `places` decimals are asked, or the exact value.
pub(super) fn fit(x: &Stated, right: &Real, places: Option<usize>) -> Fit {
    if x.is(right) {
        return Fit::Exact;
    }
    if places.is_some_and(|places| x.is_near(right, places)) {
        return Fit::Rounded;
    }
    // 0 tells nothing of a number that is not 0.
    if x.is(&Real::from(0)) {
        return Fit::Off;
    }
    match (x.form, places) {
        (Form::Decimal(stated), _)
            if stated > 0 && places.is_none_or(|places| stated < places) && x.is_near(right, stated) =>
        {
            let is_enough = places.map_or(stated >= FEWEST, |places| 2 * stated >= places);
            if is_enough { Fit::Coarse(stated) } else { Fit::Vague(stated) }
        }
        (Form::Decimal(stated), Some(places)) if stated >= places => {
            let unit = &half_unit(places) + &half_unit(places);
            // What ends there is not rounded, so that no way to round it gives its neighbors.
            if !ends_within(right, places) && is_within(&x.value, right, &unit) { Fit::LastDigit } else { Fit::Off }
        }
        _ => Fit::Off,
    }
}

/// How the entries of a matrix stand to the right ones, row after row; `given` has the extents of `rows`.
///
/// Zeros at the end may be dropped, as programs do: 0.7 beside 1.85 is 0.70 if that is right to two decimals.
fn fits(given: &[Vec<Stated>], rows: &[Vec<Real>], places: Option<usize>) -> Vec<Fit> {
    let decimals = given.iter().flatten().filter_map(|x| match x.form {
        Form::Decimal(stated) => Some(stated),
        Form::Expression => None,
    });
    let decimals: BTreeSet<usize> = decimals.collect();
    let pairs = rows.iter().flatten().zip(given.iter().flatten());
    pairs.map(|(right, x)| fit(&padded(x, right, &decimals), right, places)).collect()
}

/// A number with zeros at its end, so that it has as many decimals as another entry has, if it is right to these.
fn padded<'a>(x: &'a Stated, right: &Real, decimals: &BTreeSet<usize>) -> Cow<'a, Stated> {
    let Form::Decimal(stated) = x.form else { return Cow::Borrowed(x) };
    let mut more = decimals.iter().rev().copied().take_while(|decimals| *decimals > stated);
    match more.find(|decimals| x.is_near(right, *decimals)) {
        Some(decimals) => Cow::Owned(Stated { form: Form::Decimal(decimals), ..x.clone() }),
        None => Cow::Borrowed(x),
    }
}

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

/// What is asked for: how many rows and columns, and how numbers are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Whether the question itself speaks of percent, so that a `%` behind a number says nothing.
    pub(super) in_percent: bool,
    /// Whether a column may stand for the only row, and a row for the only column.
    pub(super) turns: bool,
}

/// Matrices side by side that were given by name, `K = [[1], [2]], V = [[3], [4]]` where `hcat(K, V)` is asked, as one matrix.
pub(super) fn beside(given: &Node, of: &Expr) -> Option<Node> {
    let mut names = Vec::new();
    blocks(of, &mut names)?;
    let entries = match given {
        Node::Text(text) => assigned(text)?,
        Node::Named(entries) => entries.clone(),
        Node::List(_) | Node::Missing => return None,
    };
    if names.len() < 2 || entries.len() != names.len() {
        return None;
    }
    let of_name = |name: &&str| match layout(&entries.iter().find(|(own, _)| own == name)?.1).ok()? {
        Layout::Rows(rows) => Some(rows),
        Layout::One(_) | Layout::Flat(_) => None,
    };
    let all: Vec<Vec<Vec<String>>> = names.iter().map(of_name).collect::<Option<_>>()?;
    let n_rows = all.first().filter(|first| all.iter().all(|one| one.len() == first.len()))?.len();
    let row = |at: usize| Node::List(all.iter().flat_map(|one| one[at].iter().cloned().map(Node::Text)).collect());
    Some(Node::List((0..n_rows).map(row).collect()))
}

/// The names of what stands side by side in `hcat(hcat(Q, K), V)`.
fn blocks<'a>(of: &'a Expr, names: &mut Vec<&'a str>) -> Option<()> {
    match &of.kind {
        ExprKind::Name(name) => names.push(name),
        ExprKind::Apply { function, args, .. } if function == "hcat" => {
            args.iter().try_for_each(|one| blocks(one, names))?;
        }
        _ => return None,
    }
    Some(())
}

/// Entries of an answer by rows, laid out like the right one where a flat list may be either.
pub(super) fn stated(given: &Node, wanted: Wanted) -> Result<Vec<Vec<Stated>>, Unread> {
    let unread = |says: String| {
        Unread::new(says, "write a matrix by rows, [[1, 2], [3, 4]], and numbers as 0.25, 1/4 or exp(1/2)")
    };
    let is_one = (wanted.rows, wanted.cols) == (1, 1);
    let plain = match given {
        Node::Text(text) => Some(Node::Text(unlabelled(text).to_owned())),
        _ => None,
    };
    let given = plain.as_ref().unwrap_or(given);
    let texts = match (given, layout(given).map_err(unread)?) {
        (Node::Text(text), _) if is_one && ungrouped(text).is_some() => vec![vec![text.clone()]],
        (Node::Text(text), Layout::Flat(cells)) if is_one && is_comma(text, &cells) => {
            let shown = text.trim().escape_debug().to_string();
            let hint = format!("write decimals with a point: {}", shown.replace(',', "."));
            return Err(Unread::new(format!("expected one number with a decimal point, got `{shown}`"), &hint));
        }
        (Node::Text(text), Layout::Flat(cells)) if is_one && is_mixed(text, &cells) => {
            let shown = text.trim().escape_debug().to_string();
            let hint = format!("write {}", cells.join(" + "));
            return Err(Unread::new(format!("expected one number, got a whole one and a fraction, `{shown}`"), &hint));
        }
        (_, Layout::One(text)) => vec![vec![text]],
        (_, Layout::Flat(cells)) if wanted.cols == 1 && wanted.rows > 1 => {
            cells.into_iter().map(|cell| vec![cell]).collect()
        }
        (_, Layout::Flat(cells)) => vec![cells],
        // `1; 2; 3` where one row is asked.
        (Node::Text(text), Layout::Rows(rows))
            if wanted.rows == 1 && rows.len() > 1 && !text.contains("[[") && rows.iter().all(|row| row.len() == 1) =>
        {
            vec![rows.concat()]
        }
        (_, Layout::Rows(rows)) => rows,
    };
    let read = |(i, j): (usize, usize), text: &String| {
        number(text, wanted.in_percent).map_err(|unread| {
            let shown: String = text.chars().take(40).collect();
            let place = if is_one {
                format!("`{}`", shown.escape_debug())
            } else {
                format!("entry `{}` in row {}, column {}", shown.escape_debug(), i + 1, j + 1)
            };
            Unread { says: format!("{place}: {}", unread.says), ..unread }
        })
    };
    let has = |rows: usize, cols: usize| texts.len() == rows && texts.iter().all(|row| row.len() == cols);
    let texts = match (wanted.rows, wanted.cols) {
        (1, cols) if wanted.turns && cols > 1 && has(cols, 1) => vec![texts.concat()],
        (rows, 1) if wanted.turns && rows > 1 && has(1, rows) => {
            texts.concat().into_iter().map(|text| vec![text]).collect()
        }
        _ => texts,
    };
    let row = |(i, row): (usize, &Vec<String>)| row.iter().enumerate().map(|(j, text)| read((i, j), text)).collect();
    texts.iter().enumerate().map(row).collect()
}

/// Whether a comma stands where a decimal point should: digits on both sides of a single one, without brackets.
fn is_comma(text: &str, cells: &[String]) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let text = text.trim();
    let bare = text.trim_start_matches(['-', '−', '+']);
    cells.len() == 2 && bare.split_once(',').is_some_and(|(whole, fraction)| is_digits(whole) && is_digits(fraction))
}

/// Whether a fraction stands behind a whole number, with nothing but space between, as in `45 9/16`.
fn is_mixed(text: &str, cells: &[String]) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_fraction =
        |text: &str| text.split_once('/').is_some_and(|(over, under)| is_digits(over) && is_digits(under));
    let is_plain = !text.contains([',', ';', '[', '(', '{', '\n']);
    is_plain
        && matches!(cells, [whole, fraction] if is_digits(whole) && (is_fraction(fraction) || fraction.chars().all(is_fraction_sign)))
}

/// One number, whose digits may stand in groups; without what it is counted in.
fn number(text: &str, in_percent: bool) -> Result<Stated, Unread> {
    let hint = "write a matrix by rows, [[1, 2], [3, 4]], and numbers as 0.25, 1/4 or exp(1/2)";
    let text = unlabelled(text);
    // As it was typed, so that a comma between digits can be told from a point.
    let plain = |text: &str| -> Result<Stated, String> {
        let read = Stated::read(ungrouped(text).as_deref().unwrap_or(text))?;
        Ok(Stated { text: text.trim().to_owned(), ..read })
    };
    let hint = if text.contains(['=', '≈']) {
        "write the number alone, without = or ≈, as 0.25, 1/4 or exp(1/2)"
    } else {
        hint
    };
    let unit = match with_unit(text) {
        None => return plain(text).map_err(|reason| Unread::new(reason, hint)),
        Some((number, "%")) if in_percent => return plain(number).map_err(|reason| Unread::new(reason, hint)),
        Some(unit) => unit,
    };
    let number = ungrouped(unit.0).unwrap_or_else(|| unit.0.to_owned());
    Err(match unit.1 {
        "%" => Unread::new(
            "expected the number itself, got one in percent",
            &format!("the question does not ask for percent: write {number}/100, or its decimals"),
        ),
        unit => Unread::new(
            format!("expected a number alone, got `{}` behind it", unit.escape_debug()),
            &format!("write {number} without `{}`", unit.escape_debug()),
        ),
    })
}

/// Whether an answer is what a mistake gives. Decimals of a mistake are rounded already.
fn is_of(mistake: &Numbers, given: &[Vec<Stated>]) -> bool {
    let same = mistake.rows.len() == given.len() && mistake.rows.iter().zip(given).all(|(x, y)| x.len() == y.len());
    let printed = mistake.rows.iter().flatten().zip(mistake.exact.iter().flatten());
    same && printed.zip(given.iter().flatten()).all(|((printed, exact), x)| match mistake.places {
        Some(places) => {
            let exact = read_expression(exact).ok();
            exact.is_some_and(|exact| fit(x, &exact, Some(places)).is_right())
                || unsigned_zero(x.value.digits(places)) == *printed
        }
        None => read_expression(exact).is_ok_and(|exact| x.is(&exact)),
    })
}

/// Whether an answer may be what a mistake gives as far as its own decimals tell.
fn may_be(mistake: &Numbers, given: &[Vec<Stated>], places: Option<usize>) -> bool {
    let same = mistake.exact.len() == given.len() && mistake.exact.iter().zip(given).all(|(x, y)| x.len() == y.len());
    let is_near = |x: &Stated, exact: &Real| match x.form {
        Form::Decimal(stated) => x.is_near(exact, places.map_or(stated, |places| stated.min(places))),
        Form::Expression => x.is(exact),
    };
    let mut cells = mistake.exact.iter().flatten().zip(given.iter().flatten());
    same && cells.all(|(exact, x)| read_expression(exact).is_ok_and(|exact| is_near(x, &exact)))
}

/// Whether a matrix says little: all of its rows are equal to some decimals, or all of its columns.
pub(super) fn is_even(rows: &[Vec<Real>], places: usize) -> bool {
    let printed: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|x| unsigned_zero(x.digits(places))).collect()).collect();
    let cols = printed.first().map_or(0, Vec::len);
    let same_rows = printed.len() > 1 && printed.iter().all(|row| *row == printed[0]);
    let same_cols = cols > 1 && printed.iter().all(|row| row.iter().all(|x| *x == row[0]));
    same_rows || same_cols
}

/// Whether all numbers are whole to some decimals, as what a saturated softmax gives of whole values.
pub(super) fn is_whole(rows: &[Vec<Real>], places: usize) -> bool {
    let whole = |x: &Real| x.digits(places).split_once('.').is_none_or(|(_, rest)| rest.bytes().all(|c| c == b'0'));
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
    /// What follows from the student's own earlier answers, and from which.
    pub(super) follows: Option<(Vec<Vec<Real>>, String)>,
}

impl Right<'_> {
    pub(super) fn mark(&self, given: &[Vec<Stated>]) -> Marked {
        let of_right = (self.rows.len(), self.rows.iter().map(Vec::len).collect::<Vec<_>>());
        let of_given = (given.len(), given.iter().map(Vec::len).collect::<Vec<_>>());
        let is_same_shape = of_right == of_given;
        let fits: Vec<Fit> = if is_same_shape { fits(given, &self.rows, self.places) } else { Vec::new() };
        if is_same_shape && fits.iter().all(|fit| fit.is_right()) {
            let all_exact = self.places.is_some() && fits.iter().all(|fit| *fit == Fit::Exact);
            return Marked::right(if all_exact { "equal to the exact value" } else { "" });
        }
        if let Some((rows, from)) = &self.follows
            && rows.len() == given.len()
            && rows.iter().zip(given).all(|(x, y)| x.len() == y.len())
            && rows.iter().flatten().zip(given.iter().flatten()).all(|(x, y)| self.follows_from(x, y))
        {
            return Marked::follows(
                self.credit.follows,
                format!("not the right value; it follows from the answer to {from}"),
            );
        }
        let is_about = is_same_shape && fits.iter().all(|fit| fit.is_about());
        if let Some((mistake, share)) = self.mistakes.iter().find(|(mistake, _)| is_of(&mistake.numbers, given)) {
            let share = share.unwrap_or(self.credit.mistake);
            return Marked { mistake: Some(mistake.says.clone()), ..Marked::partial(share, mistake.says.clone()) };
        }
        if !is_same_shape {
            return self.other_extents(given);
        }
        if is_about {
            let fewest =
                fits.iter().filter_map(|fit| if let Fit::Coarse(stated) = fit { Some(*stated) } else { None }).min();
            let says = match (fewest, self.places) {
                (Some(stated), Some(places)) => {
                    format!("right, but to {} where {places} are asked", counted(stated, "decimal"))
                }
                (Some(stated), None) => {
                    format!("right to {}, but the exact value is asked", counted(stated, "decimal"))
                }
                (None, _) => "the last digit is wrong: not rounded to the nearest".to_owned(),
            };
            // What may be a mistake as well earns no more than the mistake does; an answer that is off in its last asked digit
            // alone is told apart by it.
            let alike = |(mistake, _): &&(&Mistaken, Option<f64>)| {
                fewest.is_some() && may_be(&mistake.numbers, given, self.places)
            };
            let of = |(mistake, share): &(&Mistaken, Option<f64>)| {
                (share.unwrap_or(self.credit.mistake), mistake.says.clone())
            };
            let least = self.mistakes.iter().filter(alike).map(of).min_by(|(x, _), (y, _)| x.total_cmp(y));
            return match least {
                Some((share, mistake)) => Marked::partial(
                    share.min(self.credit.coarse),
                    format!("{says}; with so few it may also be a mistake: {mistake}"),
                ),
                None => Marked::partial(self.credit.coarse, says),
            };
        }
        self.coarse_mistake(given).unwrap_or_else(|| self.some(&fits, given))
    }

    /// What one mistake alone gives, with fewer decimals than asked.
    fn coarse_mistake(&self, given: &[Vec<Stated>]) -> Option<Marked> {
        let is_it = |mistake: &Numbers| {
            let exact = mistake.exact.iter().map(|row| row.iter().map(|x| read_expression(x).ok()).collect());
            let Some(exact) = exact.collect::<Option<Vec<Vec<Real>>>>() else { return false };
            let is_same = exact.len() == given.len() && exact.iter().zip(given).all(|(x, y)| x.len() == y.len());
            let is_about = |fit: &Fit| fit.is_right() || matches!(fit, Fit::Coarse(_));
            is_same && fits(given, &exact, self.places).iter().all(is_about)
        };
        let mut alike = self.mistakes.iter().filter(|(mistake, _)| is_it(&mistake.numbers));
        let (Some((mistake, share)), None) = (alike.next(), alike.next()) else { return None };
        let share = share.unwrap_or(self.credit.mistake) * self.credit.coarse;
        let says = format!("{}; fewer decimals than asked", mistake.says);
        Some(Marked { mistake: Some(mistake.says.clone()), ..Marked::partial(share, says) })
    }

    /// An answer of another size than asked.
    fn other_extents(&self, given: &[Vec<Stated>]) -> Marked {
        let n: usize = given.iter().map(Vec::len).sum();
        match (self.rows.as_slice(), given) {
            ([right], [row]) if self.is_shape => {
                let says = format!("expected {} extents, got {n}", right.len());
                let one = Real::from(1);
                let missing = right.len().saturating_sub(row.len());
                let is_one = |x: &Real| x.compare(&one).is_ok_and(std::cmp::Ordering::is_eq);
                // `(3, 2)` for `(1, 1, 3, 2)`: what is said is right.
                let is_end = missing > 0
                    && right[..missing].iter().all(is_one)
                    && right[missing..].iter().zip(row).all(|(right, x)| x.is(right));
                if is_end && !row.is_empty() {
                    return Marked::partial(
                        self.credit.coarse,
                        format!("{says}: the first, which are 1, are left out"),
                    );
                }
                Marked::wrong(says)
            }
            ([right], _) if right.len() == 1 => {
                Marked::wrong(format!("expected one number, got {}", counted(n, "number")))
            }
            _ => {
                let of = |rows: usize, cols: Vec<usize>| match cols.first() {
                    Some(first) if cols.iter().all(|n| n == first) => format!("{rows} × {first}"),
                    _ => format!("{rows} rows of different length"),
                };
                let expected = of(self.rows.len(), self.rows.iter().map(Vec::len).collect());
                let got = of(given.len(), given.iter().map(Vec::len).collect());
                Marked::wrong(format!("expected a matrix of {expected}, got {got}"))
            }
        }
    }

    /// Whether an answer is right as far as it goes.
    pub(super) fn is_about(&self, given: &[Vec<Stated>]) -> bool {
        self.rows.len() == given.len()
            && self.rows.iter().zip(given).all(|(x, y)| x.len() == y.len())
            && fits(given, &self.rows, self.places).iter().all(|fit| *fit != Fit::Off)
    }

    /// Whether at least half of the entries are right.
    pub(super) fn is_half_right(&self, given: &[Vec<Stated>]) -> bool {
        let pairs = || self.rows.iter().flatten().zip(given.iter().flatten());
        2 * pairs().filter(|(right, x)| fit(x, right, self.places).is_right()).count() >= pairs().count()
    }

    /// A step from rounded numbers may be off by a unit.
    fn follows_from(&self, right: &Real, x: &Stated) -> bool {
        match self.places {
            Some(places) => is_within(&x.value, right, &(&half_unit(places) + &half_unit(places))),
            None => x.is(right),
        }
    }

    /// An answer with wrong entries.
    fn some(&self, fits: &[Fit], given: &[Vec<Stated>]) -> Marked {
        let cols = self.rows.first().map_or(1, Vec::len).max(1);
        let wrong: Vec<String> = fits
            .iter()
            .enumerate()
            .filter(|(_, fit)| !fit.is_right())
            .map(|(at, _)| format!("({}, {})", at / cols + 1, at % cols + 1))
            .collect();
        let all: Vec<(&Stated, &Real)> = given.iter().flatten().zip(self.rows.iter().flatten()).collect();
        let opposite =
            |(x, right): &(&Stated, &Real)| right.negated().is_ok_and(|other| fit(x, &other, self.places).is_right());
        let is_transposed = || {
            self.rows.len() == cols
                && self.rows.len() > 1
                && (0..cols).all(|i| (0..cols).all(|j| fit(&given[i][j], &self.rows[j][i], self.places).is_right()))
        };
        let nature = if wrong.len() > 1 && all.iter().all(opposite) {
            "every sign is the other way"
        } else if is_transposed() {
            "rows and columns are exchanged"
        } else if all.iter().zip(fits).all(|(pair, fit)| fit.is_right() || opposite(pair)) {
            "wrong sign"
        } else if fits.iter().all(|fit| fit.is_right() || matches!(fit, Fit::Vague(_))) {
            "fewer than half of the decimals asked"
        } else if fits.iter().all(|fit| fit.is_right() || matches!(fit, Fit::Vague(_) | Fit::Coarse(_))) {
            "fewer decimals than asked"
        } else {
            "another value"
        };
        if fits.len() == 1
            && let Some((x, right)) = all.first()
            && let Some(point) = with_a_point(&x.text)
            && fit(&point, right, self.places).is_about()
        {
            let read = ungrouped(&x.text).unwrap_or_default();
            return Marked::wrong(format!(
                "{nature}: `{}` is read as {read}, a comma between groups of three digits; were it a decimal comma it would \
                 be about right: write {}",
                x.text.escape_debug(),
                point.text
            ));
        }
        if fits.len() == 1 {
            return Marked::wrong(nature.to_owned());
        }
        let shown = if wrong.len() > 6 {
            format!("{} and {} more", wrong[..6].join(", "), wrong.len() - 6)
        } else {
            wrong.join(", ")
        };
        let right = fits.len() - wrong.len();
        let says = format!("{right} of {} entries are right; {nature} in {shown}", fits.len());
        if right == 0 {
            return Marked::wrong(says);
        }
        #[expect(clippy::cast_precision_loss, reason = "at most some thousands")]
        let share = right as f64 / fits.len() as f64;
        Marked::partial(self.credit.entries * share, says)
    }
}

/// A number with one comma, which stands between groups of three digits, read as if that were its point.
fn with_a_point(text: &str) -> Option<Stated> {
    let is_grouped = text.matches(',').count() == 1 && !text.contains('.') && ungrouped(text).is_some();
    if is_grouped { Stated::read(&text.replace(',', ".")).ok() } else { None }
}

/// Where in a law an abbreviation alone is the value: the step that an answer gives.
pub(super) fn step_of<'a>(law: &'a CheckedLaw, of: &Expr) -> Option<&'a str> {
    let ExprKind::Name(name) = &of.kind else { return None };
    law.lets.iter().map(|(name, _)| name.as_str()).find(|step| step == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No rounding makes another number of one that ends where it is asked for.
    #[test]
    fn the_last_digit_is_one_of_two_only_where_the_number_goes_on() {
        for (x, right, expected) in [
            ("0.0029", "0.003", Fit::Rounded),
            ("0.002", "0.003", Fit::Off),
            ("0.004", "0.003", Fit::Off),
            ("0.0021", "0.003", Fit::Off),
            ("0.707", "sqrt(2)/2", Fit::Rounded),
            ("0.708", "sqrt(2)/2", Fit::LastDigit),
            ("0.333", "1/3", Fit::Rounded),
            ("0.334", "1/3", Fit::LastDigit),
            ("0.332", "1/3", Fit::Off),
        ] {
            let right = Stated::read(right).unwrap().value;
            assert_eq!(fit(&Stated::read(x).unwrap(), &right, Some(3)), expected, "{x}");
        }
    }
}
