//! Numbers and matrices.

use qkvet_prove::exact::{Real, Value};
use qkvet_spec::syntax::{Expr, ExprKind};

use super::design::assigned;
use super::earlier_steps::Carried;
use super::fit::{Fit, fit, fits, have_same_extents};
use super::part::Marked;
use super::{Comma, Extents, Feedback, Nature, NoEntry, Unread};
use crate::answer::{Numbers, unsigned_zero};
use crate::generate::Mistaken;
use crate::question::Credit;
use crate::student_answer::{
    Form, Layout, Node, ParsedNumber, half_unit, is_fraction_sign, is_within, layout,
    read_expression, ungrouped, unlabelled, with_unit,
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

/// What is asked for: how many rows and columns, and how numbers are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestedShape {
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Whether the number is asked for in percent, so that a `%` behind it says nothing.
    pub(super) in_percent: bool,
    /// Whether a column may stand for the only row, and a row for the only column.
    pub(super) turns: bool,
}

/// Matrices side by side that were given by name, `K = [[1], [2]], V = [[3], [4]]` where
/// `hcat(K, V)` is asked, as one matrix.
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
    let of_name =
        |name: &&str| match layout(&entries.iter().find(|(own, _)| own == name)?.1).ok()? {
            Layout::Rows(rows) => Some(rows),
            Layout::One(_) | Layout::Flat(_) => None,
        };
    let all: Vec<Vec<Vec<String>>> = names.iter().map(of_name).collect::<Option<_>>()?;
    let n_rows = all.first().filter(|first| all.iter().all(|one| one.len() == first.len()))?.len();
    let row = |at: usize| {
        Node::List(all.iter().flat_map(|one| one[at].iter().cloned().map(Node::Text)).collect())
    };
    Some(Node::List((0..n_rows).map(row).collect()))
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

/// Entries of an answer by rows, laid out like the right one where a flat list may be either.
pub(super) fn stated(
    given: &Node,
    wanted: RequestedShape,
) -> Result<Vec<Vec<ParsedNumber>>, Unread> {
    let is_one = (wanted.rows, wanted.cols) == (1, 1);
    let plain = match given {
        // One number that is asked "at most" may say so.
        Node::Text(text) if is_one => {
            let text = unlabelled(text).trim_start();
            let bare = text.strip_prefix('≤').or_else(|| text.strip_prefix("<="));
            Some(Node::Text(bare.unwrap_or(text).to_owned()))
        }
        Node::Text(text) => Some(Node::Text(unlabelled(text).to_owned())),
        _ => None,
    };
    let given = plain.as_ref().unwrap_or(given);
    let texts = match (given, layout(given).map_err(Unread::Numbers)?) {
        (Node::Text(text), _) if is_one && ungrouped(text).is_some() => vec![vec![text.clone()]],
        (Node::Text(text), Layout::Flat(cells)) if is_one && is_comma(text, &cells) => {
            return Err(Unread::Comma { text: printable(text) });
        }
        (Node::Text(text), Layout::Flat(cells)) if is_one && is_mixed(text, &cells) => {
            return Err(Unread::Mixed { text: printable(text), parts: cells });
        }
        (_, Layout::One(text)) => vec![vec![text]],
        (_, Layout::Flat(cells)) if wanted.cols == 1 && wanted.rows > 1 => {
            cells.into_iter().map(|cell| vec![cell]).collect()
        }
        (_, Layout::Flat(cells)) => vec![cells],
        // `1; 2; 3` where one row is asked.
        (Node::Text(text), Layout::Rows(rows))
            if wanted.rows == 1
                && rows.len() > 1
                && !text.contains("[[")
                && rows.iter().all(|row| row.len() == 1) =>
        {
            vec![rows.concat()]
        }
        (_, Layout::Rows(rows)) => rows,
    };
    let read = |(i, j): (usize, usize), text: &String| {
        number(text, wanted.in_percent).map_err(|reason| {
            let shown: String = text.chars().take(40).collect();
            let at = (!is_one).then_some((i, j));
            Unread::Entry { text: shown.escape_debug().to_string(), at, reason }
        })
    };
    let has =
        |rows: usize, cols: usize| texts.len() == rows && texts.iter().all(|row| row.len() == cols);
    if let Node::Text(text) = given
        && !has(wanted.rows, wanted.cols)
        && let Some(meant) = with_points(text)
    {
        return Err(Unread::Commas { text: printable(text), meant });
    }
    let texts = match (wanted.rows, wanted.cols) {
        (1, cols) if wanted.turns && cols > 1 && has(cols, 1) => vec![texts.concat()],
        (rows, 1) if wanted.turns && rows > 1 && has(1, rows) => {
            texts.concat().into_iter().map(|text| vec![text]).collect()
        }
        _ => texts,
    };
    let row = |(i, row): (usize, &Vec<String>)| {
        row.iter().enumerate().map(|(j, text)| read((i, j), text)).collect()
    };
    texts.iter().enumerate().map(row).collect()
}

fn printable(text: &str) -> String {
    text.trim().escape_debug().to_string()
}

/// Whether a comma stands where a decimal point should: digits on both sides of a single one,
/// without brackets.
fn is_comma(text: &str, cells: &[String]) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let text = text.trim();
    let bare = text.trim_start_matches(['-', '−', '+']);
    cells.len() == 2
        && bare
            .split_once(',')
            .is_some_and(|(whole, fraction)| is_digits(whole) && is_digits(fraction))
}

/// `-3,07; -1,463` with points, if every number between its semicolons has one comma between
/// digits.
fn with_points(text: &str) -> Option<String> {
    let inner = text.trim().trim_matches(['[', ']', '(', ')']);
    let parts: Vec<&str> = inner.split(';').map(str::trim).collect();
    let is_it = |part: &&str| {
        let bare = part.trim_start_matches(['-', '−', '+']);
        let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        bare.split_once(',')
            .is_some_and(|(whole, fraction)| is_digits(whole) && is_digits(fraction))
    };
    let meant = || parts.iter().map(|part| part.replace(',', ".")).collect::<Vec<_>>().join(", ");
    (parts.len() > 1 && parts.iter().all(is_it)).then(|| format!("[{}]", meant()))
}

/// Whether a fraction stands behind a whole number, with nothing but space between, as in
/// `45 9/16`.
fn is_mixed(text: &str, cells: &[String]) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_fraction = |text: &str| {
        text.split_once('/').is_some_and(|(over, under)| is_digits(over) && is_digits(under))
    };
    let is_plain = !text.contains([',', ';', '[', '(', '{', '\n']);
    is_plain
        && matches!(cells, [whole, fraction] if is_digits(whole) && (is_fraction(fraction) || fraction.chars().all(is_fraction_sign)))
}

/// One number, whose digits may stand in groups; without what it is counted in.
fn number(text: &str, in_percent: bool) -> Result<ParsedNumber, NoEntry> {
    let text = unlabelled(text);
    // As it was typed, so that a comma between digits can be told from a point.
    let plain = |number: &str| {
        let read = ParsedNumber::read(ungrouped(number).as_deref().unwrap_or(number));
        let has_sign = text.contains(['=', '≈']);
        let read = read.map_err(|reason| NoEntry::Read { reason, has_sign })?;
        Ok(ParsedNumber { text: number.trim().to_owned(), ..read })
    };
    let (number, unit) = match with_unit(text) {
        None => return plain(text),
        Some((number, "%")) if in_percent => return plain(number),
        Some(unit) => unit,
    };
    let number = ungrouped(number).unwrap_or_else(|| number.to_owned());
    Err(match unit {
        "%" => NoEntry::Percent { number },
        unit => NoEntry::Unit { number, unit: unit.escape_debug().to_string() },
    })
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
    /// What the student's own earlier answers make of it; only asked of what is not right.
    pub(super) carried: &'a dyn Fn() -> Vec<Carried>,
}

impl Right<'_> {
    pub(super) fn mark(&self, given: &[Vec<ParsedNumber>]) -> Marked {
        let is_same_shape = have_same_extents(&self.rows, given);
        let fits: Vec<Fit> =
            if is_same_shape { fits(given, &self.rows, self.places) } else { Vec::new() };
        if is_same_shape && fits.iter().all(|fit| fit.is_right()) {
            let all_exact = self.places.is_some() && fits.iter().all(|fit| *fit == Fit::Exact);
            return Marked::right(if all_exact { Feedback::Exact } else { Feedback::Nothing });
        }
        let carried = (self.carried)();
        if let Some(from) = self.follows(&carried, given) {
            let from = from.to_vec();
            return Marked::follows(self.credit.follows, Feedback::Follows { from });
        }
        let is_about = is_same_shape && fits.iter().all(|fit| fit.is_about());
        if let Some((mistake, share)) =
            self.mistakes.iter().find(|(mistake, _)| is_of(&mistake.numbers, given))
        {
            let share = share.unwrap_or(self.credit.mistake);
            let says = mistake.says.clone();
            return Marked::partial(share, Feedback::Mistake { says, coarse: false });
        }
        if !is_same_shape {
            return self.other_extents(given);
        }
        if is_about {
            let fewest = fits
                .iter()
                .filter_map(|fit| if let Fit::Coarse(stated) = fit { Some(*stated) } else { None })
                .min();
            let Some(stated) = fewest else {
                return Marked::partial(self.credit.coarse, Feedback::NotNearest);
            };
            // What may be a mistake as well earns no more than the mistake does; an answer that is
            // off in its last asked digit alone is told apart by it.
            let alike = |(mistake, _): &&(&Mistaken, Option<f64>)| {
                may_be(&mistake.numbers, given, self.places)
            };
            let of = |(mistake, share): &(&Mistaken, Option<f64>)| {
                (share.unwrap_or(self.credit.mistake), mistake.says.clone())
            };
            let least =
                self.mistakes.iter().filter(alike).map(of).min_by(|(x, _), (y, _)| x.total_cmp(y));
            let (share, perhaps) = match least {
                Some((share, mistake)) => (share.min(self.credit.coarse), Some(mistake)),
                None => (self.credit.coarse, None),
            };
            return Marked::partial(
                share,
                Feedback::Coarse { stated, asked: self.places, perhaps },
            );
        }
        if let Some(carried) =
            carried.iter().find(|carried| carried.is_rounded && self.comes_from(carried, given))
        {
            // Who answered the earlier part has no less for it.
            let share = self.credit.mistake.max(self.some(&fits, given).share);
            return Marked::partial(share, Feedback::Rounded { from: carried.from.clone() });
        }
        self.coarse_mistake(given).unwrap_or_else(|| self.some(&fits, given))
    }

    /// The parts from whose answers it follows.
    fn follows<'b>(
        &self,
        carried: &'b [Carried],
        given: &[Vec<ParsedNumber>],
    ) -> Option<&'b [String]> {
        let is_it = |carried: &&Carried| {
            !carried.is_rounded
                && have_same_extents(&carried.rows, given)
                && carried
                    .rows
                    .iter()
                    .flatten()
                    .zip(given.iter().flatten())
                    .all(|(x, y)| self.follows_from(x, y))
        };
        carried.iter().find(is_it).map(|carried| carried.from.as_slice())
    }

    fn comes_from(&self, carried: &Carried, given: &[Vec<ParsedNumber>]) -> bool {
        have_same_extents(&carried.rows, given)
            && fits(given, &carried.rows, self.places).iter().all(|fit| fit.is_right())
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
            ([right], [row]) if self.is_shape => {
                let one = Real::from(1);
                let missing = right.len().saturating_sub(row.len());
                let is_one = |x: &Real| x.compare(&one).is_ok_and(std::cmp::Ordering::is_eq);
                // `(3, 2)` for `(1, 1, 3, 2)`: what is said is right.
                let is_end = missing > 0
                    && right[..missing].iter().all(is_one)
                    && right[missing..].iter().zip(row).all(|(right, x)| x.is(right));
                let is_end = is_end && !row.is_empty();
                let says = Feedback::Extents { expected: right.len(), got: n, is_end };
                if is_end { Marked::partial(self.credit.coarse, says) } else { Marked::wrong(says) }
            }
            ([right], _) if right.len() == 1 => Marked::wrong(Feedback::OneNumber { got: n }),
            _ if self.is_turned(given) => Marked::wrong(Feedback::Turned),
            _ => {
                let (expected, got) = (Extents::of(&self.rows), Extents::of(given));
                Marked::wrong(Feedback::Matrix { expected, got })
            }
        }
    }

    /// Whether an answer is the right one with rows for columns.
    fn is_turned(&self, given: &[Vec<ParsedNumber>]) -> bool {
        let (rows, cols) = (self.rows.len(), self.rows.first().map_or(0, Vec::len));
        given.len() == cols
            && given.iter().all(|row| row.len() == rows)
            && (0..rows).all(|i| {
                (0..cols).all(|j| fit(&given[j][i], &self.rows[i][j], self.places).is_about())
            })
    }

    /// A step from rounded numbers may be off by a unit.
    fn follows_from(&self, right: &Real, x: &ParsedNumber) -> bool {
        match self.places {
            Some(places) => is_within(&x.value, right, &(&half_unit(places) + &half_unit(places))),
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
        let nature = self.nature(fits, &all, cols);
        if let ([_], [(x, right)]) = (fits, all.as_slice()) {
            let comma = with_a_point(&x.text)
                .filter(|point| fit(point, right, self.places).is_about())
                .map(|point| Comma {
                    text: x.text.clone(),
                    read: ungrouped(&x.text).unwrap_or_default(),
                    meant: point.text,
                });
            return Marked::wrong(Feedback::Number { nature, comma });
        }
        let right = fits.iter().filter(|fit| fit.is_right()).count();
        let about = fits.len() - wrong.len() - right;
        let says = Feedback::Entries { nature, right: right + about, coarse: about > 0, wrong };
        if right + about == 0 {
            return Marked::wrong(says);
        }
        #[expect(clippy::cast_precision_loss, reason = "at most some thousands")]
        let share = (right as f64 + self.credit.coarse * about as f64) / fits.len() as f64;
        Marked::partial(self.credit.entries * share, says)
    }

    /// What is wrong in the entries that are.
    fn nature(&self, fits: &[Fit], all: &[(&ParsedNumber, &Real)], cols: usize) -> Nature {
        let opposite = |(x, right): &(&ParsedNumber, &Real)| {
            right.negated().is_ok_and(|other| fit(x, &other, self.places).is_about())
        };
        let is_transposed = || {
            self.rows.len() == cols
                && cols > 1
                && (0..cols).all(|i| {
                    (0..cols)
                        .all(|j| fit(all[i * cols + j].0, &self.rows[j][i], self.places).is_right())
                })
        };
        let is_few = |fit: &Fit| fit.is_about() || matches!(fit, Fit::Vague(_));
        if all.len() > 1 && all.iter().all(opposite) {
            Nature::Signs
        } else if is_transposed() {
            Nature::Transposed
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

/// A number with one comma, which stands between groups of three digits, read as if that were its
/// point.
fn with_a_point(text: &str) -> Option<ParsedNumber> {
    let is_grouped =
        text.matches(',').count() == 1 && !text.contains('.') && ungrouped(text).is_some();
    if is_grouped { ParsedNumber::read(&text.replace(',', ".")).ok() } else { None }
}

/// The option whose numbers were typed.
pub(super) fn choice_of(choices: &[Numbers], given: &Node) -> Option<usize> {
    choices.iter().position(|choice| {
        let cols = choice.rows.first().map_or(0, Vec::len);
        let wanted =
            RequestedShape { rows: choice.rows.len(), cols, in_percent: false, turns: false };
        stated(given, wanted).is_ok_and(|given| is_of(choice, &given))
    })
}
