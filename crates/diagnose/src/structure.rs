//! Where in a result the wrong elements are.

use qkvet_engine::interpret::interpret;
use qkvet_engine::law::CallRecord;
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{Contract, Indices, Meaning, WrongAxis, WrongElements};

/// Periods at which tiles, vectors and heads repeat.
const PERIODS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Which elements of the output of a call are outside of what the contract allows. `None` where
/// none is, or the output has another shape.
pub fn structure(
    record: &CallRecord,
    meaning: &Meaning,
    contract: &Contract,
) -> Option<WrongElements> {
    if record.call.misfit().is_some() {
        return None;
    }
    let expected = interpret(meaning, &record.call, contract, ResultName::Output);
    let got = &record.output.output;
    if got.shape != expected.shape || got.data.len() != expected.exact.len() {
        return None;
    }
    let wrong: Vec<bool> =
        got.data.iter().enumerate().map(|(at, x)| !expected.holds(at, *x)).collect();
    described(&wrong, &expected.shape)
}

/// The wrong elements of a tensor, axis by axis.
fn described(wrong: &[bool], shape: &[usize]) -> Option<WrongElements> {
    let all = wrong.iter().filter(|wrong| **wrong).count();
    if all == 0 {
        return None;
    }
    let mut axes = Vec::new();
    let mut box_size = 1;
    for (axis, name) in ['b', 'h', 'i', 'c'].into_iter().enumerate().take(shape.len()) {
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
            let at = listed(&indices, shape[axis]);
            axes.push(WrongAxis { axis: name, extent: shape[axis], at });
        }
    }
    Some(WrongElements { wrong: all, of: wrong.len(), axes, is_whole: all == box_size })
}

/// Indices as spans, or by a period.
fn listed(indices: &[usize], extent: usize) -> Indices {
    let is_period = |period: &&usize| {
        let first = indices[0];
        let expected = (first..extent).step_by(**period);
        first < **period && indices.len() > 2 && expected.eq(indices.iter().copied())
    };
    match PERIODS.iter().find(is_period) {
        Some(step) => Indices::Every { first: indices[0], step: *step },
        None => {
            let spans = indices.chunk_by(|one, next| one + 1 == *next);
            Indices::Spans(spans.map(|span| [span[0], span[span.len() - 1]]).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_wrong: impl Fn([usize; 4]) -> bool) -> Option<WrongElements> {
        let shape @ [b, h, n, d] = [2, 4, 12, 3];
        let place = |at: usize| [at / (h * n * d), at / (n * d) % h, at / d % n, at % d];
        described(&(0..b * h * n * d).map(|at| is_wrong(place(at))).collect::<Vec<_>>(), &shape)
    }

    #[test]
    fn wrong_elements_are_placed_axis_by_axis() {
        let spans = |axis, extent, at: &[[usize; 2]]| WrongAxis {
            axis,
            extent,
            at: Indices::Spans(at.to_vec()),
        };
        let found = |wrong, axes, is_whole| Some(WrongElements { wrong, of: 288, axes, is_whole });
        assert_eq!(shown(|_| false), None);
        assert_eq!(shown(|_| true), found(288, vec![], true));
        assert_eq!(shown(|[_, h, ..]| h == 1), found(72, vec![spans('h', 4, &[[1, 1]])], true));
        let [item, row] = [spans('b', 2, &[[1, 1]]), spans('i', 12, &[[8, 11]])];
        assert_eq!(
            shown(|[b, _, i, c]| b == 1 && i > 7 && c == 0),
            found(16, vec![item, row, spans('c', 3, &[[0, 0]])], true)
        );
        let every = Indices::Every { first: 3, step: 4 };
        assert_eq!(
            shown(|[_, _, i, _]| i % 4 == 3),
            found(72, vec![WrongAxis { axis: 'i', extent: 12, at: every }], true)
        );
        let [head, row] = [spans('h', 4, &[[0, 1]]), spans('i', 12, &[[0, 0], [5, 5]])];
        assert_eq!(
            shown(|[_, h, i, _]| h == 0 && i == 0 || h == 1 && i == 5),
            found(12, vec![head, row], false)
        );
    }
}
