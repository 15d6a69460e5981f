//! Functions of the law language in balls: statements that hold, and the same made false.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Binding, CallOptions, Case, Catalog, CheckedLaw, Dims, Dtype, Execution, Matrices, Meaning,
    Tensor, Verdict,
};

fn case() -> Case {
    let matrices = |heads: usize, rows: usize, data: &[f64]| {
        let cols = data.len() / (heads * rows);
        Binding::Matrices(Matrices {
            batch: Some(1),
            heads: Some(heads),
            rows,
            cols,
            data: data.to_vec(),
        })
    };
    let numbers = |data: &[f64]| Tensor {
        dtype: Dtype::Float32,
        shape: vec![data.len()],
        data: data.to_vec(),
    };
    Case {
        law: "x".to_owned(),
        dtype: Dtype::Float32,
        dims: Dims { b: 1, h_q: 2, h_k: 2, n_q: 2, n_k: 1, d_k: 2, d_v: 2 },
        options: CallOptions {
            alibi_slopes: Some(numbers(&[0.5, 0.25])),
            sinks: Some(numbers(&[3.0, 4.0])),
            ..CallOptions::default()
        },
        bindings: [
            ("Q".to_owned(), matrices(2, 2, &[1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0])),
            ("K".to_owned(), matrices(2, 1, &[1.0, 1.0, -3.0, 4.0])),
            ("V".to_owned(), matrices(2, 1, &[2.0, -1.0, 2.0, -1.0])),
            ("j".to_owned(), Binding::Index(0)),
        ]
        .into(),
    }
}

fn verdict(statement: &str, case: &Case) -> Verdict {
    let text = format!(
        "law: x\ntitle: t\ngiven: {{j: index(1)}}\noptions: [sinks, alibi_slopes]\nproof: definition\ncatches: []\n\
         expect: attention(Q, K, V) == exact(Q, K, V) and {statement}\n"
    );
    let law = CheckedLaw::from_yaml("x.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
    let (catalog, meaning) = (Catalog::embedded().unwrap(), Meaning::standard());
    let judge =
        Judge { meaning: &meaning, contract: catalog.default_contract(Dtype::Float32).unwrap() };
    let mut target = Simulator::new(meaning.clone(), Execution::standard());
    evaluate(&law, case, judge, &mut target).unwrap().verdict
}

#[test]
fn what_holds_passes_and_what_does_not_fails() {
    let case = case();
    for (holds, fails) in [
        ("split_heads(combine_heads(Q), h_q) == Q", "split_heads(combine_heads(Q), h_q) == 2 * Q"),
        (
            "row(combine_heads(Q), j) @ ones(h_q * d_k) == 10 * ones(1)",
            "row(combine_heads(Q), j) @ ones(h_q * d_k) == 11 * ones(1)",
        ),
        // The larger of √2 and 5.
        ("norm_2(K) == 5", "norm_2(K) == 4.9"),
        (
            "diag(row(V, j)) @ ones(d_v) == row(V, j).T",
            "diag(row(V, j)) @ ones(d_v) == 2 * row(V, j).T",
        ),
        ("log(exp(2)) == 2", "log(exp(2)) == 2.000001"),
        // Two queries and one key: the distances are 1 and 0.
        (
            "sum(head(alibi, j), axis=rows) @ ones(n_k) == -0.5 * ones(1)",
            "sum(head(alibi, j), axis=rows) @ ones(n_k) == -0.25 * ones(1)",
        ),
        ("head(sinks, j) == 3 * ones(1)", "head(sinks, j) == 4 * ones(1)"),
    ] {
        assert_eq!(verdict(holds, &case), Verdict::Pass, "{holds}");
        assert_eq!(verdict(fails, &case), Verdict::Fail, "{fails}");
    }
}
