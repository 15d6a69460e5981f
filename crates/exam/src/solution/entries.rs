//! Entries of a step, one by one, and the laws that they must obey.

use qkvet_prove::exact::{Exact, Real};

use super::chain::Chain;
use super::exchanged::exchanged;
use super::names::{Slip, Step};
use super::written::Entry;
use crate::given::{Form, Stated, half_unit, is_within};

/// Whether a written number stands for a value: digits within half a unit of the last, everything else exactly.
pub(super) fn stands_for(x: &Stated, value: &Real, decimals: Option<usize>) -> bool {
    if x.is(value) {
        return true;
    }
    match x.form {
        // A value whose exact form is too long is known to 40 decimals.
        Form::Expression => x.is_near(value, 36),
        Form::Decimal(0) => match decimals {
            Some(decimals) => x.is_near(value, decimals),
            // Whole numbers alone are exact; of what is not rational they stand for what is nearly whole.
            None => value.plain().is_ok_and(|value| value.rational().is_none()) && x.is_near(value, 1),
        },
        Form::Decimal(stated) => x.is_near(value, stated),
    }
}

/// Whether all entries stand for those of a matrix.
pub(super) fn all_stand_for(entry: &Entry, rows: &[Vec<Real>]) -> bool {
    let decimals = entry.decimals();
    entry.rows.len() == rows.len()
        && entry.rows.iter().zip(rows).all(|(x, y)| x.len() == y.len())
        && entry.rows.iter().flatten().zip(rows.iter().flatten()).all(|(x, y)| stands_for(x, y, decimals))
}

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

/// A value to read: exact if it is rational and short, else in decimals.
pub(super) fn shown(x: &Real) -> String {
    match x.plain().ok().and_then(Exact::rational).map(|x| x.to_string()) {
        Some(text) if text.len() <= 8 => text,
        _ => x.digits(4),
    }
}

/// What is wrong in the entries at `wrong`, of which `right` has the right ones.
pub(super) fn slips(
    step: Step,
    entry: &Entry,
    right: &[Vec<Real>],
    wrong: &[(usize, usize)],
    chain: &Chain,
) -> (Slip, Vec<String>) {
    let decimals = entry.decimals();
    let is = |i: usize, j: usize, value: &Real| stands_for(&entry.rows[i][j], value, decimals);
    let (n, m) = (right.len(), right.first().map_or(0, Vec::len));
    if n == m && n > 1 && (0..n).all(|i| (0..n).all(|j| is(i, j, &right[j][i]))) {
        return (Slip::Transposed, vec!["rows and columns are exchanged".to_owned()]);
    }
    if let [(i, j), (k, l)] = *wrong
        && is(i, j, &right[k][l])
        && is(k, l, &right[i][j])
    {
        let says = format!("entries ({}, {}) and ({}, {}) are exchanged", i + 1, j + 1, k + 1, l + 1);
        return (Slip::EntriesExchanged, vec![says]);
    }
    if let Some(says) = exchanged(step, entry, right, chain) {
        return (Slip::EntriesExchanged, vec![says]);
    }
    let mut kinds = Vec::new();
    let mut says = Vec::new();
    for (i, j) in wrong.iter().copied() {
        let place = format!("entry ({}, {})", i + 1, j + 1);
        let (written, value) = (&entry.rows[i][j].text, &right[i][j]);
        let told = format!("expected {}, got {written}", shown(value));
        if value.negated().is_ok_and(|other| is(i, j, &other)) {
            kinds.push(Slip::SignError);
            says.push(format!("sign error in {place}: {told}"));
        } else if let Some((kind, what)) = term(step, chain, value, (i, j), &|other| is(i, j, other)) {
            kinds.push(kind);
            says.push(format!("{what} in {place}: {told}"));
        } else {
            kinds.push(Slip::Arithmetic);
            says.push(format!("another value in {place}: {told}"));
        }
    }
    if says.len() > 6 {
        let more = says.len() - 5;
        says.truncate(5);
        says.push(format!("and {more} entries more"));
    }
    let first = kinds.first().copied().unwrap_or(Slip::Arithmetic);
    (if kinds.iter().all(|kind| *kind == first) { first } else { Slip::Arithmetic }, says)
}

/// A term of a product that has the other sign, is missing, or is there twice.
fn term(
    step: Step,
    chain: &Chain,
    value: &Real,
    (i, j): (usize, usize),
    is: &dyn Fn(&Real) -> bool,
) -> Option<(Slip, String)> {
    let (left, right) = step.factors()?;
    let (left, right) = (chain.rows(left).ok()?, chain.rows(right).ok()?);
    for (k, (x, y)) in left.get(i)?.iter().zip(right.iter().filter_map(|row| row.get(j))).enumerate() {
        let term = x.times(y).ok()?;
        if term.compare(&0.into()).ok()?.is_eq() {
            continue;
        }
        let minus = term.negated().ok()?;
        let without = value.plus(&minus).ok()?;
        for (kind, other, what) in [
            (Slip::SignError, without.plus(&minus).ok()?, "sign error in term"),
            (Slip::TermError, without, "missing term"),
            (Slip::TermError, value.plus(&term).ok()?, "twice the term"),
        ] {
            if is(&other) {
                return Some((kind, format!("{what} {}", k + 1)));
            }
        }
    }
    None
}

/// Laws that the written numbers break, whatever they were made from.
pub(super) fn broken_laws(step: Step, entry: &Entry, chain: &Chain) -> Vec<String> {
    match step {
        Step::Scores => rank_law(entry, chain).into_iter().collect(),
        Step::Weights => row_laws(entry),
        Step::Output => range_law(entry, chain),
        _ => Vec::new(),
    }
}

/// `rank(Q Kᵀ) ≤ d_k`.
fn rank_law(entry: &Entry, chain: &Chain) -> Option<String> {
    let width = chain.rows("Q").ok()?.first()?.len();
    let mut rows: Vec<Vec<Exact>> = Vec::new();
    for row in &entry.rows {
        rows.push(row.iter().map(|x| x.value.plain().cloned()).collect::<Result<_, _>>().ok()?);
    }
    if rows.iter().flatten().any(|x| x.rational().is_none()) {
        return None;
    }
    let rank = rank(rows)?;
    let law = "the rank of Q Kᵀ is at most d_k";
    (rank > width)
        .then(|| format!("the rank of these scores is {rank}, but {law} = {width}: no queries and keys have them"))
}

/// The rank by elimination, exactly.
fn rank(mut rows: Vec<Vec<Exact>>) -> Option<usize> {
    let cols = rows.first()?.len();
    let mut rank = 0;
    for col in 0..cols {
        let Some(pivot) = (rank..rows.len()).find(|row| !rows[*row][col].is_zero()) else { continue };
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
fn row_laws(entry: &Entry) -> Vec<String> {
    let mut says = Vec::new();
    let decimals = entry.decimals();
    for (i, row) in entry.rows.iter().enumerate() {
        if row.iter().any(|x| x.value.compare(&0.into()).is_ok_and(std::cmp::Ordering::is_lt)) {
            says.push(format!("row {} has a negative weight", i + 1));
        }
        let mut sum = Real::from(0);
        let mut most = Exact::from(0);
        for x in row {
            let Ok(next) = sum.plus(&x.value) else { return says };
            sum = next;
            most = match x.form {
                Form::Decimal(0) => &most + &decimals.map_or(Exact::from(0), half_unit),
                Form::Decimal(decimals) => &most + &half_unit(decimals),
                Form::Expression => most,
            };
        }
        if !is_within(&sum, &1.into(), &most) {
            says.push(format!("row {} sums to {}, not to 1", i + 1, shown(&sum)));
        }
    }
    says
}

/// Each output is between the least and the greatest value of its column.
fn range_law(entry: &Entry, chain: &Chain) -> Vec<String> {
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
                !column.is_empty() && column.iter().all(|value| x.value.compare(value).is_ok_and(order))
            };
            if !near && (all(std::cmp::Ordering::is_gt) || all(std::cmp::Ordering::is_lt)) {
                says.push(format!("entry ({}, {}) is outside the values that it is a mean of", i + 1, j + 1));
            }
        }
    }
    says
}
