//! Whether the matrices of a question stay small enough to be worked out, printed and read.

use qkvet_spec::syntax::{Expr, ExprError, ExprKind};

use super::{Domain, Size};
use crate::answer::{Drawn, extent};
use crate::student_answer::MAX_CELLS;

/// Rows, and columns, of a matrix that is drawn: products of such ones have no more entries than
/// one answer.
const MAX_EXTENT: usize = 64;

/// What is to be done.
const HINT: &str = "give smaller `sizes`, or ask for shapes and counts in numbers alone";

/// The extents at their greatest.
pub(super) fn greatest(sizes: &[(String, Size)]) -> Drawn {
    let mut drawn = Drawn::default();
    drawn.sizes.extend(sizes.iter().map(|(name, size)| (name.clone(), size.high)));
    drawn
}

/// Whether a sheet has room for a parameter.
///
/// # Errors
/// A matrix that is too large.
pub(super) fn of_domain(domain: &Domain, written: &str, greatest: &Drawn) -> Result<(), ExprError> {
    let Some((rows, cols)) = domain.extents() else { return Ok(()) };
    let (Some(rows), Some(cols)) = (extent(rows, greatest), extent(cols, greatest)) else {
        return Ok(());
    };
    if rows.max(cols) <= MAX_EXTENT {
        return Ok(());
    }
    let message =
        format!("matrix: expected at most {MAX_EXTENT} rows and columns, got {rows} × {cols}");
    Err(ExprError::new(0..written.len(), message).hint(HINT))
}

/// Whether the matrices that a formula makes of nothing, as `ones(n, m)` and `eye(n)`, are no
/// larger than an answer may be.
///
/// # Errors
/// The first that is larger.
pub(super) fn of_formula(expr: &Expr, greatest: &Drawn) -> Result<(), ExprError> {
    if let ExprKind::Apply { function, args, .. } = &expr.kind
        && ["ones", "zeros", "eye"].contains(&function.as_str())
    {
        let extents: Vec<usize> = args.iter().filter_map(|arg| extent(arg, greatest)).collect();
        let (rows, cols) = match (function.as_str(), extents.as_slice()) {
            ("eye", [n]) => (*n, *n),
            (_, [n]) => (*n, 1),
            (_, [n, m]) => (*n, *m),
            _ => (0, 0),
        };
        if rows.saturating_mul(cols) > MAX_CELLS {
            let message =
                format!("matrix: expected at most {MAX_CELLS} entries, got {rows} × {cols}");
            return Err(ExprError::new(expr.span.clone(), message).hint(HINT));
        }
    }
    expr.parts().into_iter().try_for_each(|part| of_formula(part, greatest))
}
