//! Where in a result the wrong elements are.

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::CallRecord;
use qkvet_engine::lowering::Want;
use qkvet_spec::{Contract, Meaning};

use crate::spans::spans;

/// Periods at which tiles, vectors and heads repeat.
const PERIODS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Which elements of the output of a call are outside of what the contract allows:
/// `24 of 96 elements: h 1, 3; i 4–5`. `None` where none is, or the output has another shape.
pub fn structure(record: &CallRecord, meaning: &Meaning, contract: &Contract) -> Option<String> {
    if record.call.misfit().is_some() {
        return None;
    }
    let expected = interpret(meaning, &record.call, contract, Want::Output);
    let got = &record.output.output;
    if got.shape != expected.shape || got.data.len() != expected.exact.len() {
        return None;
    }
    let wrong: Vec<bool> =
        got.data.iter().enumerate().map(|(at, x)| !expected.holds(at, *x)).collect();
    described(&wrong, &expected.shape)
}

/// The wrong elements of a tensor, axis by axis.
fn described(wrong: &[bool], shape: &[usize]) -> Option<String> {
    let all = wrong.iter().filter(|wrong| **wrong).count();
    if all == 0 {
        return None;
    }
    let mut axes = Vec::new();
    let mut box_size = 1;
    for (axis, name) in ["b", "h", "i", "c"].into_iter().enumerate().take(shape.len()) {
        let inner: usize = shape[axis + 1..].iter().product();
        let mut is_wrong = vec![false; shape[axis]];
        wrong
            .iter()
            .enumerate()
            .filter(|(_, wrong)| **wrong)
            .for_each(|(at, _)| is_wrong[at / inner % shape[axis]] = true);
        let indices: Vec<usize> = (0..shape[axis]).filter(|at| is_wrong[*at]).collect();
        box_size *= indices.len();
        if indices.len() < shape[axis] {
            axes.push(format!("{name} {} of 0–{}", listed(&indices, shape[axis]), shape[axis] - 1));
        }
    }
    let count = format!("{all} of {} elements", wrong.len());
    let within = if all < box_size { ", within" } else { ":" };
    Some(match axes.is_empty() {
        true => count,
        false => format!("{count}{within} {}", axes.join("; ")),
    })
}

/// Indices as spans, or by a period: `3, 7, 11` of 0–11 is `4n+3`.
fn listed(indices: &[usize], extent: usize) -> String {
    let is_period = |period: &&usize| {
        let first = indices[0];
        let expected = (first..extent).step_by(**period);
        first < **period && indices.len() > 2 && expected.eq(indices.iter().copied())
    };
    match PERIODS.iter().find(is_period) {
        Some(period) if indices[0] == 0 => format!("{period}n"),
        Some(period) => format!("{period}n+{}", indices[0]),
        None => spans(indices),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shape: [usize; 4], is_wrong: impl Fn([usize; 4]) -> bool) -> Option<String> {
        let [b, h, n, d] = shape;
        let place = |at: usize| [at / (h * n * d), at / (n * d) % h, at / d % n, at % d];
        described(&(0..b * h * n * d).map(|at| is_wrong(place(at))).collect::<Vec<_>>(), &shape)
    }

    #[test]
    fn wrong_elements_are_placed_axis_by_axis() {
        let text = |is_wrong: &dyn Fn([usize; 4]) -> bool| shown([2, 4, 12, 3], is_wrong);
        assert_eq!(text(&|_| false), None);
        assert_eq!(text(&|_| true).as_deref(), Some("288 of 288 elements"));
        assert_eq!(text(&|[_, h, ..]| h == 1).as_deref(), Some("72 of 288 elements: h 1 of 0–3"));
        assert_eq!(
            text(&|[b, _, i, c]| b == 1 && i > 7 && c == 0).as_deref(),
            Some("16 of 288 elements: b 1 of 0–1; i 8–11 of 0–11; c 0 of 0–2")
        );
        assert_eq!(
            text(&|[_, _, i, _]| i % 4 == 3).as_deref(),
            Some("72 of 288 elements: i 4n+3 of 0–11")
        );
        assert_eq!(
            text(&|[_, h, i, _]| h == 0 && i == 0 || h == 1 && i == 5).as_deref(),
            Some("12 of 288 elements, within h 0–1 of 0–3; i 0, 5 of 0–11")
        );
    }
}
