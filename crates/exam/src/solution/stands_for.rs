//! Whether written numbers stand for exact ones.

use qkvet_prove::exact::Real;

use super::file::Entry;
use crate::student_answer::{Form, ParsedNumber};

/// Whether a written number stands for a value: digits within half a unit of the last, everything
/// else exactly.
pub(super) fn stands_for(x: &ParsedNumber, value: &Real, decimals: Option<usize>) -> bool {
    if x.is(value) {
        return true;
    }
    match x.form {
        // A value whose exact form is too long is known to 40 decimals.
        Form::Expression => x.is_near(value, 36),
        Form::Decimal(0) => match decimals {
            Some(decimals) => x.is_near(value, decimals),
            // Whole numbers alone are exact; of what is not rational they stand for what is nearly
            // whole.
            None => {
                value.plain().is_ok_and(|value| value.rational().is_none()) && x.is_near(value, 1)
            }
        },
        Form::Decimal(stated) => x.is_near(value, stated),
    }
}

/// Whether all entries stand for those of a matrix.
pub(super) fn all_stand_for(entry: &Entry, rows: &[Vec<Real>]) -> bool {
    let decimals = entry.decimals();
    entry.rows.len() == rows.len()
        && entry.rows.iter().zip(rows).all(|(x, y)| x.len() == y.len())
        && entry
            .rows
            .iter()
            .flatten()
            .zip(rows.iter().flatten())
            .all(|(x, y)| stands_for(x, y, decimals))
}
