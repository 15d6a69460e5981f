//! Laws that every generator obeys, checked by independent means.
#![allow(clippy::float_cmp, reason = "generated numbers are exact")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod domain;
mod exact;
mod frozen_files;
mod frozen_text;
mod margin;
mod masks;
mod shrinking;
mod stored;
mod suites;
mod tokens;
mod values;

use qkvet_gen::{CasePlan, GenError, ScaleChoice, build, plans};
use qkvet_spec::{Binding, Case, Catalog, CheckedLaw, Dims, Dtype, Matrices, Values};

fn catalog() -> Catalog {
    Catalog::embedded().unwrap_or_else(|error| panic!("{error}"))
}

fn law(yaml: &str) -> CheckedLaw {
    CheckedLaw::from_yaml("law.yaml", yaml).unwrap_or_else(|error| panic!("{error}"))
}

/// Plans of a suite in the catalog, each with its law.
fn suite_plans<'a>(catalog: &'a Catalog, suite: &str, seed: u64) -> Vec<(&'a CheckedLaw, CasePlan)> {
    let suite = &catalog.suites[suite];
    let laws = catalog.suite_laws(suite).unwrap();
    let plans = plans(suite, &laws, &suite.dtypes, seed);
    plans.into_iter().map(|plan| (&catalog.laws[&plan.law], plan)).collect()
}

fn built(law: &CheckedLaw, plan: &CasePlan) -> Case {
    build(law, plan).unwrap_or_else(|error: GenError| panic!("{error}\n{plan:?}"))
}

/// A plan without options.
fn plain(law: &CheckedLaw, dims: Dims, values: Values) -> CasePlan {
    CasePlan {
        law: law.law.law.clone(),
        dtype: Dtype::Float32,
        dims,
        law_dims: Vec::new(),
        scale: ScaleChoice::Default,
        causal: false,
        mask: None,
        bias: None,
        values,
        tiny: false,
        seed: 7,
    }
}

const DIMS: Dims = Dims { b: 2, h_q: 6, h_k: 2, n_q: 5, n_k: 7, d_k: 12, d_v: 3 };

fn matrices<'a>(case: &'a Case, name: &str) -> &'a Matrices {
    match &case.bindings[name] {
        Binding::Matrices(matrices) => matrices,
        other => panic!("{name}: {other:?}"),
    }
}

/// Row `row` of head `head` of item `item`.
fn row(matrices: &Matrices, item: usize, head: usize, row: usize) -> &[f64] {
    let at = ((item * matrices.heads.unwrap() + head) * matrices.rows + row) * matrices.cols;
    &matrices.data[at..at + matrices.cols]
}

/// Calls `visit(item, query head, query, key, dot product)`; the dot products of generated cases are exact in float64 up to
/// the last place.
fn for_each_score(case: &Case, mut visit: impl FnMut(usize, usize, usize, usize, f64)) {
    let (query, key) = (matrices(case, "Q"), matrices(case, "K"));
    let Dims { b, h_q, h_k, n_q, n_k, .. } = case.dims;
    for item in 0..b {
        for head in 0..h_q {
            for i in 0..n_q {
                for j in 0..n_k {
                    let (q, k) = (row(query, item, head, i), row(key, item, head / (h_q / h_k), j));
                    visit(item, head, i, j, q.iter().zip(k).map(|(x, y)| x * y).sum());
                }
            }
        }
    }
}

fn scale(case: &Case) -> f64 {
    case.options.scale.unwrap_or_else(|| 1.0 / (case.dims.d_k as f64).sqrt())
}

/// The mask's entry for a query and a key; true without a mask.
fn attends(case: &Case, item: usize, head: usize, i: usize, j: usize) -> bool {
    let lower_right = j + case.dims.n_q <= i + case.dims.n_k;
    let masked = case.options.mask.as_ref().is_none_or(|mask| mask.data[offset(&mask.shape, item, head, i, j)]);
    masked && (lower_right || !case.options.causal)
}

/// Position of an entry in a tensor that broadcasts to `(b, h_q, n_q, n_k)`.
fn offset(shape: &[usize], item: usize, head: usize, i: usize, j: usize) -> usize {
    let index = [item, head, i, j];
    let index = &index[4 - shape.len()..];
    shape.iter().zip(index).fold(0, |at, (n, index)| at * n + if *n == 1 { 0 } else { *index })
}
