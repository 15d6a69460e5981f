//! Laws that every generator obeys, checked by independent means.
#![allow(clippy::float_cmp, reason = "generated numbers are exact")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod domain;
mod exact;
mod extended;
mod frozen_files;
mod frozen_text;
mod margin;
mod masks;
mod meetings;
mod missed_by_allclose;
mod plan_strategy;
mod right;
mod shrinking;
mod stored;
mod suites;
mod tokens;
mod values;

use std::sync::LazyLock;

use qkvet_gen::{CasePlan, GenError, ScaleChoice, build, plans};
use qkvet_spec::{
    Binding, CallOption, CallOptions, Case, Catalog, CheckedLaw, Dims, Dtype, Matrices, Values,
};

fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> =
        LazyLock::new(|| Catalog::embedded().expect("the embedded catalog"));
    &CATALOG
}

fn law(yaml: &str) -> CheckedLaw {
    CheckedLaw::from_yaml("law.yaml", yaml).unwrap_or_else(|error| panic!("{error}"))
}

/// Plans of a suite in the catalog, each with its law.
fn suite_plans<'a>(
    catalog: &'a Catalog,
    suite: &str,
    seed: u64,
) -> Vec<(&'a CheckedLaw, CasePlan)> {
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
        softcap: None,
        window: None,
        sinks: None,
        alibi: None,
        sequences: None,
        values,
        tiny: false,
        rows: None,
        seed: 7,
    }
}

/// Whether a plan has what plain ones cannot: an extended option, a further value family.
fn is_extended(plan: &CasePlan) -> bool {
    let plain = [CallOption::Scale, CallOption::Causal, CallOption::Mask, CallOption::Bias];
    matches!(plan.values, Values::Routed | Values::Deep | Values::Stair)
        || CallOption::ALL.iter().any(|option| plan.has(*option) && !plain.contains(option))
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

/// Calls `visit(item, query head, query, key, dot product)`; the dot products of generated cases
/// are exact in float64 up to the last place.
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

/// Whether a query sees a key, from the words of the options: sequence by sequence, the last query
/// at the last key.
fn attends(options: &CallOptions, dims: Dims, [item, head, i, j]: [usize; 4]) -> bool {
    let masked =
        options.mask.as_ref().is_none_or(|mask| mask.data[offset(&mask.shape, [item, head, i, j])]);
    let spans = match &options.packed {
        Some(packed) => {
            packed.query_offsets.windows(2).zip(packed.key_offsets.windows(2)).collect()
        }
        None => Vec::new(),
    };
    let own = spans.iter().find(|(queries, _)| queries[0] <= i && i < queries[1]);
    let (queries, keys) = match own {
        Some((queries, keys)) => (queries[0]..queries[1], keys[0]..keys[1]),
        None => (
            0..options.query_lengths.as_ref().map_or(dims.n_q, |lengths| lengths[item]),
            0..options.key_lengths.as_ref().map_or(dims.n_k, |lengths| lengths[item]),
        ),
    };
    if !queries.contains(&i) || !keys.contains(&j) {
        return false;
    }
    // How far the key lies behind the query's position, counted from the ends of the sequence.
    let (queries_left, keys_left) = (queries.end - i, keys.end - j);
    let ahead = queries_left as i64 - keys_left as i64;
    let window = options.window.unwrap_or_default();
    let near = window.left.is_none_or(|left| -ahead <= left as i64)
        && window.right.is_none_or(|right| ahead <= right as i64);
    masked && near && (ahead <= 0 || !options.causal)
}

/// Position of an entry in a tensor that broadcasts to `(b, h_q, n_q, n_k)`.
fn offset(shape: &[usize], index: [usize; 4]) -> usize {
    let index = &index[4 - shape.len()..];
    shape.iter().zip(index).fold(0, |at, (n, index)| at * n + if *n == 1 { 0 } else { *index })
}
