//! Entries of a step, one by one, and the laws that they must obey.

use qkvet_prove::exact::{Exact, Real};

use super::chain::Chain;
use super::exchange::exchanged;
use super::file::Entry;
use super::names::{Mistake, Step};
use super::remark::{Cause, Remark};
use super::rounding_spans::radius;
use super::stands_for::stands_for;
use crate::student_answer::{Form, ParsedNumber, is_within};

/// Entries that do not, by row and column.
pub(super) fn wrong(entry: &Entry, rows: &[Vec<Real>]) -> Vec<(usize, usize)> {
    let decimals = entry.decimals();
    let mut wrong = Vec::new();
    for (i, (written, right)) in entry.rows.iter().zip(rows).enumerate() {
        for (j, (x, y)) in written.iter().zip(right).enumerate() {
            if !stands_for(x, y, decimals) {
                wrong.push((i, j));
            }
        }
    }
    wrong
}

/// A value to read beside a written number: in decimals, as many as it has and so many that they
/// differ, beside decimals; else exact, if it is rational and short.
pub(super) fn beside(value: &Real, x: &ParsedNumber, decimals: Option<usize>) -> String {
    let places = match x.form {
        Form::Decimal(0) => decimals,
        Form::Decimal(places) => Some(places),
        Form::Expression => None,
    };
    let exact = || {
        value
            .plain()
            .ok()
            .and_then(Exact::rational)
            .map(|x| x.to_string())
            .filter(|text| text.len() <= 8)
    };
    match (places, exact()) {
        (None, Some(text)) => text,
        (places, _) => {
            let least = places.unwrap_or(4);
            let differs =
                |text: &String| ParsedNumber::read(text).is_ok_and(|read| !read.is(&x.value));
            let texts = (least..=least.max(40)).map(|places| value.digits(places));
            texts.clone().find(differs).or_else(|| texts.clone().next()).unwrap_or_default()
        }
    }
}

/// Whether a number was cut off or rounded the other way: it is less than a unit of its last digit
/// from the value.
fn is_cut(x: &ParsedNumber, value: &Real, decimals: Option<usize>) -> bool {
    let half = radius(x, decimals);
    let unit = Real::from(&half + &half);
    let less = |x: &Real, y: &Real| Some(x.compare(&y.plus(&unit).ok()?).ok()?.is_lt());
    less(&x.value, value) == Some(true) && less(value, &x.value) == Some(true)
}

/// What is wrong in the entries at `wrong`, of which `right` has the right ones.
pub(super) fn slips(
    step: Step,
    entry: &Entry,
    right: &[Vec<Real>],
    wrong: &[(usize, usize)],
    chain: &Chain,
) -> (Mistake, Vec<Remark>) {
    let decimals = entry.decimals();
    let is = |i: usize, j: usize, value: &Real| stands_for(&entry.rows[i][j], value, decimals);
    let told = |at: (usize, usize), causes: Vec<Cause>, perhaps| {
        let (x, right) = (&entry.rows[at.0][at.1], &right[at.0][at.1]);
        let (expected, got) = (beside(right, x, decimals), x.text.clone());
        Remark::Entry { at, causes, perhaps, expected, got }
    };
    let is_cut = |(i, j): &(usize, usize)| is_cut(&entry.rows[*i][*j], &right[*i][*j], decimals);
    if wrong.iter().all(is_cut) {
        let says = wrong.iter().map(|at| told(*at, vec![Cause::NotNearest], false));
        return (Mistake::NotNearest, shortened(says.collect()));
    }
    let (n, m) = (right.len(), right.first().map_or(0, Vec::len));
    if n == m && n > 1 && (0..n).all(|i| (0..n).all(|j| is(i, j, &right[j][i]))) {
        return (Mistake::Transposed, vec![Remark::Transposed]);
    }
    if let [(i, j), (k, l)] = *wrong
        && is(i, j, &right[k][l])
        && is(k, l, &right[i][j])
    {
        return (Mistake::EntriesExchanged, vec![Remark::Entries([(i, j), (k, l)])]);
    }
    if let Some(says) = exchanged(step, entry, right, chain) {
        return (Mistake::EntriesExchanged, vec![says]);
    }
    let cause = |at: &(usize, usize)| {
        if is_cut(at) {
            return vec![Cause::NotNearest];
        }
        let (i, j) = *at;
        causes(step, chain, &right[i][j], (i, j), &|other| is(i, j, other))
    };
    let causes: Vec<Vec<Cause>> = wrong.iter().map(cause).collect();
    // Beside an entry that has no cause of its own, those of others are guesses.
    let perhaps = causes.iter().any(Vec::is_empty);
    let mut kinds = causes.iter().flat_map(|causes| {
        let other = causes.is_empty().then_some(Mistake::Arithmetic);
        causes.iter().map(|cause| cause.slip()).chain(other)
    });
    let first = kinds.next().unwrap_or(Mistake::Arithmetic);
    let kind = if kinds.all(|kind| kind == first) { first } else { Mistake::Arithmetic };
    let says = wrong.iter().zip(causes).map(|(at, causes)| told(*at, causes, perhaps));
    (kind, shortened(says.collect()))
}

fn shortened(mut says: Vec<Remark>) -> Vec<Remark> {
    if says.len() > 6 {
        let more = says.len() - 5;
        says.truncate(5);
        says.push(Remark::More(more));
    }
    says
}

/// What alone explains an entry: its sign, or a term of a product that has the other sign, is
/// missing, or is there twice. More than two that fit explain nothing.
fn causes(
    step: Step,
    chain: &Chain,
    value: &Real,
    at: (usize, usize),
    is: &dyn Fn(&Real) -> bool,
) -> Vec<Cause> {
    if value.negated().is_ok_and(|other| is(&other)) {
        return vec![Cause::Sign];
    }
    let mut causes = terms(step, chain, value, at, is).unwrap_or_default();
    if causes.len() > 2 {
        causes.clear();
    }
    causes
}

/// Terms that explain an entry.
fn terms(
    step: Step,
    chain: &Chain,
    value: &Real,
    (i, j): (usize, usize),
    is: &dyn Fn(&Real) -> bool,
) -> Option<Vec<Cause>> {
    let (left, right) = step.factors()?;
    let (left, right) = (chain.rows(left).ok()?, chain.rows(right).ok()?);
    let mut causes = Vec::new();
    for (k, (x, y)) in
        left.get(i)?.iter().zip(right.iter().filter_map(|row| row.get(j))).enumerate()
    {
        let term = x.times(y).ok()?;
        if term.compare(&0.into()).ok()?.is_eq() {
            continue;
        }
        let minus = term.negated().ok()?;
        let without = value.plus(&minus).ok()?;
        let others = [
            (Cause::TermSign(k), without.plus(&minus).ok()?),
            (Cause::MissingTerm(k), without),
            (Cause::TwiceTerm(k), value.plus(&term).ok()?),
        ];
        causes.extend(others.into_iter().filter(|(_, other)| is(other)).map(|(cause, _)| cause));
    }
    Some(causes)
}

/// Laws that the written numbers break, whatever they were made from.
pub(super) fn broken_laws(step: Step, entry: &Entry, chain: &Chain) -> Vec<Remark> {
    match step {
        Step::Scores => rank_law(entry, chain).into_iter().collect(),
        Step::Weights => row_laws(entry),
        Step::Output => range_law(entry, chain),
        _ => Vec::new(),
    }
}

/// `rank(Q Kᵀ) ≤ d_k`.
fn rank_law(entry: &Entry, chain: &Chain) -> Option<Remark> {
    let width = chain.rows("Q").ok()?.first()?.len();
    let mut rows: Vec<Vec<Exact>> = Vec::new();
    for row in &entry.rows {
        rows.push(row.iter().map(|x| x.value.plain().cloned()).collect::<Result<_, _>>().ok()?);
    }
    if rows.iter().flatten().any(|x| x.rational().is_none()) {
        return None;
    }
    let rank = rank(rows)?;
    (rank > width).then_some(Remark::Rank { rank, width })
}

/// The rank by elimination, exactly.
fn rank(mut rows: Vec<Vec<Exact>>) -> Option<usize> {
    let cols = rows.first()?.len();
    let mut rank = 0;
    for col in 0..cols {
        let Some(pivot) = (rank..rows.len()).find(|row| !rows[*row][col].is_zero()) else {
            continue;
        };
        rows.swap(rank, pivot);
        let inverse = rows[rank][col].inverse().ok()?;
        let pivot = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let factor = &row[col] * &inverse;
            for (x, y) in row.iter_mut().zip(&pivot) {
                *x = &*x - &(&factor * y);
            }
        }
        rank += 1;
    }
    Some(rank)
}

/// Weights are not negative, and each row sums to 1 as far as it was rounded.
fn row_laws(entry: &Entry) -> Vec<Remark> {
    let mut says = Vec::new();
    let decimals = entry.decimals();
    for (i, row) in entry.rows.iter().enumerate() {
        if row.iter().any(|x| x.value.compare(&0.into()).is_ok_and(std::cmp::Ordering::is_lt)) {
            says.push(Remark::Negative(i));
        }
        let mut sum = Real::from(0);
        let mut most = Exact::from(0);
        for x in row {
            let Ok(next) = sum.plus(&x.value) else { return says };
            sum = next;
            most = &most + &radius(x, decimals);
        }
        if !is_within(&sum, &1.into(), &most) {
            // A sum of decimals has the digits of the longest.
            let longest = row.iter().max_by_key(|x| match x.form {
                Form::Decimal(places) => places,
                Form::Expression => usize::MAX,
            });
            let sum = longest.map(|x| match x.form {
                Form::Decimal(places) => sum.digits(places),
                Form::Expression => beside(&sum, x, None),
            });
            says.push(Remark::Sum { row: i, sum: sum.unwrap_or_default() });
        }
    }
    says
}

/// Each output is between the least and the greatest value of its column.
fn range_law(entry: &Entry, chain: &Chain) -> Vec<Remark> {
    let Ok(values) = chain.rows("V") else { return Vec::new() };
    let mut says = Vec::new();
    for (i, row) in entry.rows.iter().enumerate() {
        for (j, x) in row.iter().enumerate() {
            let column: Vec<&Real> = values.iter().filter_map(|row| row.get(j)).collect();
            let decimals = match x.form {
                Form::Decimal(0) => entry.decimals().unwrap_or(0),
                Form::Decimal(decimals) => decimals,
                Form::Expression => 12,
            };
            let near = column.iter().any(|value| x.is_near(value, decimals));
            let all = |order: fn(std::cmp::Ordering) -> bool| {
                !column.is_empty()
                    && column.iter().all(|value| x.value.compare(value).is_ok_and(order))
            };
            if !near && (all(std::cmp::Ordering::is_gt) || all(std::cmp::Ordering::is_lt)) {
                says.push(Remark::Outside((i, j)));
            }
        }
    }
    says
}
