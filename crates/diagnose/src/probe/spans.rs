//! The keys that queries weigh, read off an output whose values are the identity, as spans for
//! people.

use qkvet_spec::{Dims, Output, spans};

use super::trials::Trial;

/// Longest reading, in rows.
const MAX_ROWS: usize = 8;

/// `i=0: 0–3; i=1: 0–4` for the first item and head, and whether all others weigh the same keys.
/// `None` where columns of the output are not weights, or some number is neither a weight nor none.
pub(super) fn weighed(trial: &Trial, output: &Output) -> Option<String> {
    let Dims { b, h_q, n_q, n_k, d_v, .. } = trial.call.dims();
    let data = &output.output.data;
    if !trial.reads_keys || output.output.shape != [b, h_q, n_q, d_v] {
        return None;
    }
    // Every key that is weighed has the same weight, 1/n_k or more.
    let weighs =
        |x: f64| if x == 0.0 { Some(false) } else { (x * 2.0 * n_k as f64 >= 1.0).then_some(true) };
    let row = |row: usize| {
        data[row * d_v..][..n_k].iter().map(|x| weighs(*x)).collect::<Option<Vec<bool>>>()
    };
    let rows: Vec<Vec<bool>> = (0..b * h_q * n_q).map(row).collect::<Option<_>>()?;
    let keys = |row: &[bool]| (0..row.len()).filter(|key| row[*key]).collect::<Vec<usize>>();
    let texts = rows
        .iter()
        .take(n_q.min(MAX_ROWS))
        .enumerate()
        .map(|(i, row)| format!("i={i}: {}", spans(&keys(row))));
    let more = if n_q > MAX_ROWS { "; …" } else { "" };
    let alike = rows.chunks(n_q).all(|head| head == &rows[..n_q]);
    let whose =
        if alike { "every item and head" } else { "[b=0, h=0]; other items or heads differ" };
    Some(format!("keys weighed by {whose}: {}{more}", texts.collect::<Vec<_>>().join("; ")))
}
