//! Separated and opposed keys: the margin, by exact arithmetic over every pair of heads.

use qkvet_spec::{Binding, Dims};

use crate::{built, catalog, matrices, row, suite_plans};

/// `x` in units of 2^−16, exactly.
fn fixed(x: f64) -> i128 {
    let scaled = x * 65_536.0;
    assert_eq!(scaled.fract(), 0.0);
    scaled as i128
}

fn check(seed: u64) -> usize {
    let catalog = catalog();
    let mut pairs = 0;
    for (law, plan) in suite_plans(catalog, "core", seed) {
        let sign = match plan.law.as_str() {
            "copy-under-large-norm-keys" => 1,
            "ignored-under-large-norm-keys" => -1,
            _ => continue,
        };
        let case = built(law, &plan);
        let (Binding::Index(large), Binding::Real(margin)) =
            (&case.bindings["j"], &case.bindings["t"])
        else {
            panic!()
        };
        let (query, key) = (matrices(&case, "Q"), matrices(&case, "K"));
        let dot = |q: &[f64], k: &[f64]| {
            q.iter().zip(k).map(|(x, y)| fixed(*x) * fixed(*y)).sum::<i128>()
        };
        let Dims { b, h_q, h_k, n_q, n_k, d_k, .. } = case.dims;
        for item in 0..b {
            for (head, key_head) in
                (0..h_q).flat_map(|head| (0..h_k).map(move |key_head| (head, key_head)))
            {
                for (i, other) in (0..n_q).flat_map(|i| (0..n_k).map(move |j| (i, j))) {
                    if other == *large {
                        continue;
                    }
                    let q = row(query, item, head, i);
                    // In units of 2^−32.
                    let gap = dot(q, row(key, item, key_head, *large))
                        - dot(q, row(key, item, key_head, other));
                    let margin = fixed(*margin) << 16;
                    match case.options.scale {
                        Some(scale) => {
                            let gap = sign * gap * fixed(scale);
                            assert!(gap >= margin << 16, "{gap} {margin} {plan:?}");
                        }
                        None => {
                            // gap / √d_k ≥ margin, squared.
                            let gap = sign * gap;
                            assert!(
                                gap > 0 && gap * gap >= margin * margin * d_k as i128,
                                "{gap} {margin} {plan:?}"
                            );
                        }
                    }
                    pairs += 1;
                }
            }
        }
    }
    pairs
}

#[test]
fn the_margin_holds_for_every_query_and_every_pair_of_heads() {
    assert!(check(0) > 10_000);
    assert!(check(1) > 10_000);
}
