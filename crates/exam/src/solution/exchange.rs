//! Two rows or two columns that changed places, in a step or in a factor of it.

use qkvet_prove::exact::Real;

use super::chain::Chain;
use super::file::Entry;
use super::names::Step;
use super::remark::Remark;
use super::stands_for::all_stand_for;

/// Rows and columns of which pairs are tried.
const MAX: usize = 16;

/// Two rows or columns that explain every entry by having changed places; `right` has the right
/// entries.
pub(super) fn exchanged(
    step: Step,
    entry: &Entry,
    right: &[Vec<Real>],
    chain: &Chain,
) -> Option<Remark> {
    let is = |rows: &[Vec<Real>]| all_stand_for(entry, rows);
    pairs(right.len())
        .find(|(a, b)| is(&rows_exchanged(right, *a, *b)))
        .map(|pair| Remark::Lines { what: "rows", pair, of: None })
        .or_else(|| {
            let cols = right.first().map_or(0, Vec::len);
            pairs(cols)
                .find(|(a, b)| is(&cols_exchanged(right, *a, *b)))
                .map(|pair| Remark::Lines { what: "columns", pair, of: None })
        })
        .or_else(|| {
            let (left, factor) = step.factors()?;
            let (left, other) = (chain.rows(left).ok()?, chain.rows(factor).ok()?);
            // Rows of `Kᵀ` are columns of `K`.
            let (name, what) =
                factor.strip_suffix(".T").map_or((factor, "rows"), |name| (name, "columns"));
            pairs(other.len())
                .find(|(a, b)| {
                    product(&left, &rows_exchanged(&other, *a, *b)).is_some_and(|rows| is(&rows))
                })
                .map(|pair| Remark::Lines { what, pair, of: Some(name) })
        })
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let n = n.min(MAX);
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
}

fn rows_exchanged(rows: &[Vec<Real>], a: usize, b: usize) -> Vec<Vec<Real>> {
    let mut rows = rows.to_vec();
    rows.swap(a, b);
    rows
}

fn cols_exchanged(rows: &[Vec<Real>], a: usize, b: usize) -> Vec<Vec<Real>> {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(|row| row.swap(a, b));
    rows
}

/// Nothing where a product has no exact form.
fn product(left: &[Vec<Real>], right: &[Vec<Real>]) -> Option<Vec<Vec<Real>>> {
    let cols = right.first()?.len();
    let dot = |row: &[Real], j: usize| {
        row.iter().zip(right).try_fold(Real::from(0), |sum, (x, y)| sum.plus(&x.times(&y[j])?)).ok()
    };
    left.iter().map(|row| (0..cols).map(|j| dot(row, j)).collect()).collect()
}
