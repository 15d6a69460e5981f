//! Some rows of a call are judged as the rows of that call that they are.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_engine::law::{Judge, Outcome, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Binding, Call, CallOptions, Case, Catalog, Dims, Dtype, Execution, Matrices, Meaning, Response,
    Target, Tensor, Verdict, Window,
};

const DIMS: Dims = Dims { b: 2, h_q: 4, h_k: 2, n_q: 9, n_k: 7, d_k: 3, d_v: 2 };

/// Right, but in one row.
struct WrongIn {
    row: usize,
    asked: Vec<Call>,
}

impl Target for WrongIn {
    fn call(&mut self, call: &Call) -> Response {
        self.asked.push(call.clone());
        match Simulator::new(Meaning::standard(), Execution::standard()).call(call) {
            Response::Output(mut output) => {
                let d = call.dims();
                for tensor in std::iter::once(&mut output.output).chain(&mut output.lse) {
                    let width = tensor.shape.get(3).copied().unwrap_or(1);
                    let rows = tensor.data.chunks_exact_mut(width).enumerate();
                    let wrong = rows.filter(|(at, _)| at % d.n_q == self.row);
                    wrong.for_each(|(_, row)| row.iter_mut().for_each(|x| *x += 1.0));
                }
                Response::Output(output)
            }
            other => other,
        }
    }
}

fn judged(
    law: &str,
    rows: Option<&[usize]>,
    options: CallOptions,
    wrong: usize,
) -> (Outcome, Vec<Call>) {
    let number = |at: usize| ((at * 7919) % 101) as f64 / 64.0 - 0.75;
    let matrices = |heads: usize, rows: usize, cols: usize| {
        let data = (0..DIMS.b * heads * rows * cols).map(|at| number(at + rows)).collect();
        Binding::Matrices(Matrices { batch: Some(DIMS.b), heads: Some(heads), rows, cols, data })
    };
    let mut bindings = vec![
        ("Q".to_owned(), matrices(DIMS.h_q, DIMS.n_q, DIMS.d_k)),
        ("K".to_owned(), matrices(DIMS.h_k, DIMS.n_k, DIMS.d_k)),
        ("V".to_owned(), matrices(DIMS.h_k, DIMS.n_k, DIMS.d_v)),
    ];
    bindings.extend(rows.map(|rows| (Case::ROWS.to_owned(), Binding::Indices(rows.to_vec()))));
    let case = Case {
        law: law.to_owned(),
        dtype: Dtype::Float32,
        dims: DIMS,
        options,
        bindings: bindings.into_iter().collect(),
    };
    let (catalog, meaning) = (Catalog::embedded().unwrap(), Meaning::standard());
    let contract = catalog.default_contract(Dtype::Float32).unwrap();
    let mut target = WrongIn { row: wrong, asked: Vec::new() };
    let judge = Judge { meaning: &meaning, contract };
    let outcome = evaluate(&catalog.laws[law], &case, judge, &mut target).unwrap();
    (outcome, target.asked)
}

/// Queries of a call, row by row, of which some are those of another.
fn rows_of(tensor: &Tensor) -> Vec<&[f64]> {
    tensor.data.chunks_exact(tensor.shape[3]).collect()
}

#[test]
fn what_is_wrong_is_found_in_the_rows_that_are_looked_at_alone() {
    let causal = CallOptions { causal: true, ..CallOptions::default() };
    let softcap = CallOptions { softcap: Some(1.5), scale: Some(0.5), ..CallOptions::default() };
    for law in ["value", "log-sum-exp"] {
        for options in [CallOptions::default(), causal.clone(), softcap.clone()] {
            for (rows, wrong, expected) in [
                (None, 99, Verdict::Pass),
                (None, 4, Verdict::Fail),
                (Some([2, 4, 8]), 4, Verdict::Fail),
                (Some([2, 4, 8]), 8, Verdict::Fail),
                (Some([2, 4, 8]), 5, Verdict::Pass),
                (Some([0, 1, 2]), 99, Verdict::Pass),
            ] {
                let (outcome, asked) =
                    judged(law, rows.as_ref().map(|rows| &rows[..]), options.clone(), wrong);
                assert_eq!(outcome.verdict, expected, "{law} {options:?} {rows:?} {wrong}");
                // The target is asked the whole call, and judged by a call of some rows.
                assert!(asked.iter().all(|call| call.dims() == DIMS && call.options == options));
                let record = &outcome.calls[0];
                let n = rows.map_or(DIMS.n_q, |rows| rows.len());
                assert_eq!(record.call.dims(), Dims { n_q: n, ..DIMS });
                if let Some(rows) = rows {
                    let whole = rows_of(&asked[0].query);
                    let some = rows_of(&record.call.query);
                    for (at, query) in some.iter().enumerate() {
                        assert_eq!(*query, whole[at / n * DIMS.n_q + rows[at % n]]);
                    }
                }
            }
        }
    }
}

/// A row knows its place only by its mask, so causal rows see what they saw: row 4 of 9 on 7 keys.
#[test]
fn causal_rows_see_what_they_see_in_the_whole_call() {
    let causal = CallOptions { causal: true, ..CallOptions::default() };
    let (outcome, _) = judged("value", Some(&[1, 4, 8]), causal, 99);
    let options = &outcome.calls[0].call.options;
    let mask = options.mask.as_ref().unwrap();
    assert!(!options.causal);
    assert_eq!(mask.shape, [1, 1, 3, 7]);
    let seen: Vec<usize> =
        mask.data.chunks_exact(7).map(|row| row.iter().filter(|sees| **sees).count()).collect();
    assert_eq!(seen, [0, 3, 7]);
}

/// Options that count rows or have a number for each are not put into a mask: all rows are looked
/// at.
#[test]
fn rows_with_other_options_are_all_looked_at() {
    let window = Window { left: Some(2), right: Some(0) };
    let options = CallOptions { window: Some(window), ..CallOptions::default() };
    let (outcome, _) = judged("value", Some(&[1, 4]), options, 5);
    assert_eq!(outcome.verdict, Verdict::Fail);
    assert_eq!(outcome.calls[0].call.dims(), DIMS);
}

/// A law with variables may have one of that name.
#[test]
fn a_variable_of_another_law_chooses_no_rows() {
    let (outcome, _) = judged("convex-hull", Some(&[1, 4]), CallOptions::default(), 5);
    assert_eq!(outcome.verdict, Verdict::Fail);
}
