//! Enclosures contain the exact output, for many families of data and masks, and are narrow.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::numerics_common;

use numerics_common::{Big, Problem, Scale, Sees, big, causal, gauss, gaussians, rng};
use qkvet_engine::Products;
use qkvet_engine::enclosure::{Detail, HeadEnclosure, enclose, enclose_as, enclose_with};
use qkvet_engine::head::{EmptyRow, Normalization, Span};
use qkvet_spec::Dtype;
use rand::RngExt;

const SHAPE: (usize, usize, usize, usize) = (5, 19, 8, 3);

/// Checks every element against the exact output, with both kinds of products; returns the largest
/// finite radius.
fn check(name: &str, problem: &Problem) -> f64 {
    let exact = problem.exact();
    let radii = Products::ALL.map(|products| {
        let enclosure = enclose_with(&problem.head(), products);
        check_enclosure(&format!("{name}, {products:?}"), problem, &enclosure, &exact)
    });
    radii[0].max(radii[1])
}

fn check_enclosure(
    name: &str,
    problem: &Problem,
    enclosure: &HeadEnclosure,
    exact: &[Option<Big>],
) -> f64 {
    assert_eq!(enclosure.mid.len(), exact.len(), "{name}");
    let mut largest = 0.0f64;
    for (index, exact) in exact.iter().enumerate() {
        let (mid, rad) = (enclosure.mid[index], enclosure.rad[index]);
        assert!(!rad.is_nan(), "{name}[{index}]");
        let Some(exact) = exact else {
            assert!(mid.is_nan() && rad == 0.0, "{name}[{index}]: expected NaN, got {mid} ± {rad}");
            continue;
        };
        assert!(mid.is_finite() && rad.is_finite(), "{name}[{index}]: {mid} ± {rad}");
        let distance = distance(exact, mid);
        assert!(
            distance <= big(rad),
            "{name}[{index}]: {mid} ± {rad:e} misses by {}",
            distance.to_f64().value()
        );
        largest = largest.max(rad);
    }
    check_auxiliary(name, problem, enclosure, exact);
    largest
}

fn distance(exact: &Big, mid: f64) -> Big {
    let difference = exact.clone() - big(mid);
    if difference < big(0.0) { -difference } else { difference }
}

/// `Σ w|v|` is itself attention to `|V|`, and `Σ w|v − O|` attention to `|V − O|`.
fn check_auxiliary(
    name: &str,
    problem: &Problem,
    enclosure: &HeadEnclosure,
    exact: &[Option<Big>],
) {
    let with_values = |values: Vec<f64>| Problem { value: values, ..problem.clone() }.exact();
    let abar = with_values(problem.value.iter().map(|v| v.abs()).collect());
    for (index, bound) in enclosure.abar.iter().enumerate() {
        if let Some(abar) = &abar[index] {
            assert!(*abar <= big(*bound), "{name}[{index}]: Σ w|v| is above {bound:e}");
        }
    }
    if problem.normalization != Normalization::OverKeys || problem.d_v == 0 {
        return;
    }
    for i in 0..problem.n_q {
        let index = i * problem.d_v;
        let Some(output) = &exact[index] else { continue };
        let output = output.to_f64().value();
        let deviations = problem.value.iter().map(|v| (v - output).abs()).collect();
        let exact = with_values(deviations)[index].clone().unwrap();
        // The output was rounded: allow for it.
        let bound = enclosure.deviation[index] + output.abs() * f64::EPSILON * 8.0 + 1e-300;
        let is_empty = enclosure.rows[i].visible == 0;
        assert!(is_empty || exact <= big(bound), "{name} row {i}: Σ w|v − O| is above {bound:e}");
    }
}

fn gaussian(seed: u64) -> Problem {
    Problem::gaussian(seed, SHAPE, Dtype::Float64)
}

#[test]
fn gaussian_data_of_every_format_is_enclosed_to_1e_minus_12() {
    for (seed, dtype) in Dtype::ALL.into_iter().enumerate() {
        let radius = check(dtype.name(), &Problem::gaussian(seed as u64, SHAPE, dtype));
        assert!(radius < 1e-13, "{dtype}: {radius:e}");
    }
    let radius = check("larger", &Problem::gaussian(9, (2, 300, 16, 2), Dtype::Float64));
    assert!(radius < 1e-12, "{radius:e}");
}

#[test]
fn causal_masks_of_both_aspects_are_enclosed() {
    for (n_q, n_k) in [(3, 9), (9, 3), (6, 6), (70, 5)] {
        for empty_row in [EmptyRow::Zero, EmptyRow::Nan, EmptyRow::Mean] {
            let problem = Problem {
                sees: causal(n_q, n_k),
                empty_row,
                ..Problem::gaussian(1, (n_q, n_k, 4, 2), Dtype::Float32)
            };
            check(&format!("causal {n_q}×{n_k} {empty_row:?}"), &problem);
        }
    }
}

#[test]
fn masks_and_biases_are_enclosed() {
    for seed in 0..4 {
        let mut rng = rng(100 + seed);
        let n = SHAPE.0 * SHAPE.1;
        let mask: Vec<bool> =
            (0..n).map(|x| x / SHAPE.1 != 2 && rng.random_range(0..3) > 0).collect();
        let bias: Vec<f64> = (0..n).map(|_| 3.0 * gauss(&mut rng)).collect();
        let hiding: Vec<f64> = bias
            .iter()
            .map(|b| if rng.random_range(0..4) == 0 { f64::NEG_INFINITY } else { *b })
            .collect();
        let sentinel = bias
            .iter()
            .map(|b| if rng.random_range(0..4) == 0 { -f64::from(f32::MAX) } else { *b })
            .collect();
        let masked = Problem { sees: Sees::Mask(mask), empty_row: EmptyRow::Nan, ..gaussian(seed) };
        check("mask", &masked);
        check("bias", &Problem { bias: Some(bias.clone()), ..gaussian(seed) });
        check("bias and mask", &Problem { bias: Some(bias.clone()), ..masked.clone() });
        check("hiding bias", &Problem { bias: Some(hiding.clone()), ..masked.clone() });
        check(
            "hiding bias, causal",
            &Problem { bias: Some(hiding), sees: causal(SHAPE.0, SHAPE.1), ..gaussian(seed) },
        );
        let radius = check("sentinel bias", &Problem { bias: Some(sentinel), ..gaussian(seed) });
        assert!(radius < 1e-12, "huge negative biases must not matter: {radius:e}");
    }
}

#[test]
fn poison_in_hidden_keys_and_values_does_not_matter() {
    let mut problem =
        Problem { sees: Sees::Spans([12, 3, 0, 12, 7].map(Span::prefix).to_vec()), ..gaussian(3) };
    let clean = enclose(&problem.head());
    problem.key[12 * SHAPE.2..].fill(1e300);
    problem.value[12 * SHAPE.3..].fill(-1e300);
    let poisoned = enclose(&problem.head());
    assert_eq!(clean.mid, poisoned.mid);
    for (clean, poisoned) in clean.rad.iter().zip(&poisoned.rad) {
        assert!(*poisoned <= clean * 1.5, "{clean:e} grew to {poisoned:e}");
    }
}

/// A value that is no number spoils its column in the rows that see it, and nothing else.
#[test]
fn values_that_are_not_finite_spoil_the_rows_that_see_them_alone() {
    let spans = [12, 3, 0, 9, 7].map(Span::prefix).to_vec();
    let mask: Vec<bool> =
        spans.iter().flat_map(|span| (0..SHAPE.1).map(|j| j < span.end)).collect();
    for sees in [Sees::Spans(spans.clone()), Sees::Mask(mask)] {
        let mut problem = Problem { sees, ..gaussian(3) };
        for (j, c, poison) in
            [(8, 0, f64::NAN), (10, 1, f64::INFINITY), (SHAPE.1 - 1, 2, f64::NEG_INFINITY)]
        {
            problem.value[j * SHAPE.3 + c] = 0.0;
            let clean = enclose(&problem.head());
            problem.value[j * SHAPE.3 + c] = poison;
            for detail in [Detail::Radii, Detail::Rows, Detail::Full] {
                let poisoned = enclose_as(&problem.head(), Products::Faer, detail);
                for (i, span) in spans.iter().enumerate() {
                    let index = i * SHAPE.3 + c;
                    if span.end > j {
                        assert!(poisoned.rad[index].is_infinite(), "{detail:?} row {i}");
                    } else {
                        let distance = (poisoned.mid[index] - clean.mid[index]).abs();
                        assert!(
                            distance <= poisoned.rad[index] + clean.rad[index],
                            "{detail:?} row {i}"
                        );
                        assert!(
                            poisoned.rad[index] < 1e-12,
                            "{detail:?} row {i}: {:e}",
                            poisoned.rad[index]
                        );
                    }
                }
            }
            problem.value[j * SHAPE.3 + c] = 0.0;
        }
    }
}

#[test]
fn scales_of_every_kind_are_enclosed() {
    for scale in [1.0 / 3.0, -0.7, 0.0, -2.0, 4.0, 1e-300] {
        let radius = check(
            &format!("scale {scale}"),
            &Problem { scale: Scale::Given(scale), ..gaussian(4) },
        );
        assert!(radius < 1e-12, "scale {scale}: {radius:e}");
    }
    for d_k in [0, 1, 3, 4, 5, 16] {
        check(&format!("1/√{d_k}"), &Problem::gaussian(5, (2, 7, d_k, 2), Dtype::Float64));
    }
}

#[test]
fn large_and_delicate_logits_are_enclosed() {
    for size in [10.0, 1e3, 1e6, 1e8] {
        let mut problem = gaussian(6);
        problem.query.iter_mut().for_each(|q| *q *= size);
        check(&format!("logits of {size:e}"), &problem);
    }
    // A common offset of 1e5 with a spread of 1e-12, from a first coordinate that all keys share.
    let mut offset = Problem { scale: Scale::Given(1.0), ..gaussian(7) };
    for row in offset.query.chunks_exact_mut(SHAPE.2).chain(offset.key.chunks_exact_mut(SHAPE.2)) {
        row.iter_mut().for_each(|x| *x *= 1e-6);
        row[0] = 316.0;
    }
    check("common offset", &offset);
    let mut near = gaussian(8);
    for j in 1..SHAPE.1 {
        for t in 0..SHAPE.2 {
            near.key[j * SHAPE.2 + t] = near.key[t] * (1.0 + 1e-15 * j as f64);
        }
    }
    check("near duplicate keys", &near);
    let mut cancelling = gaussian(9);
    for row in cancelling.query.chunks_exact_mut(2) {
        row[1] = row[0] * (1.0 + 1e-14);
    }
    for row in cancelling.key.chunks_exact_mut(2) {
        row[1] = -row[0];
    }
    check("cancelling dot products", &cancelling);
    let mut spread = gaussian(10);
    spread.query.iter_mut().for_each(|q| *q *= 500.0);
    check("spread of 500", &spread);
}

#[test]
fn extreme_values_are_enclosed() {
    let mut rng = rng(11);
    let n = SHAPE.1 * SHAPE.3;
    let offset: Vec<f64> = (0..n).map(|_| 1e6 + gauss(&mut rng)).collect();
    for size in [1e300, 1e-310, 1e10] {
        let value = gaussians(&mut rng, n, size, Dtype::Float64);
        check(&format!("values of {size:e}"), &Problem { value, ..gaussian(12) });
    }
    check("value offset", &Problem { value: offset, ..gaussian(12) });
    check("constant values", &Problem { value: vec![-0.1; n], ..gaussian(12) });
    let mut opposite = gaussian(13);
    opposite.query.iter_mut().for_each(|q| *q *= 1e150);
    opposite.key.iter_mut().for_each(|k| *k *= 1e-150);
    check("1e150 times 1e-150", &opposite);
    let mut tiny = gaussian(14);
    tiny.query.iter_mut().for_each(|q| *q *= 1e-200);
    tiny.key.iter_mut().for_each(|k| *k *= 1e-120);
    check("subnormal products", &tiny);
}

#[test]
fn every_small_extent_is_enclosed() {
    for n_q in 0..3 {
        for n_k in 0..3 {
            for (d_k, d_v) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3)] {
                for normalization in
                    [Normalization::OverKeys, Normalization::None, Normalization::OverQueries]
                {
                    for empty_row in [EmptyRow::Zero, EmptyRow::Nan, EmptyRow::Mean] {
                        let base = Problem::gaussian(15, (n_q, n_k, d_k, d_v), Dtype::Float64);
                        let problem = Problem { normalization, empty_row, ..base };
                        check(
                            &format!("{n_q} {n_k} {d_k} {d_v} {normalization:?} {empty_row:?}"),
                            &problem,
                        );
                        let sees = Sees::Mask(vec![false; n_q * n_k]);
                        check("all hidden", &Problem { sees, ..problem.clone() });
                        check("prefix", &Problem { sees: causal(n_q, n_k), ..problem });
                    }
                }
            }
        }
    }
}

#[test]
fn one_visible_key_is_copied_exactly() {
    let problem = Problem { sees: Sees::Spans(vec![Span::prefix(1); SHAPE.0]), ..gaussian(16) };
    assert!(check("one key", &problem) == 0.0);
}

#[test]
fn other_normalizations_are_enclosed() {
    for normalization in [Normalization::None, Normalization::OverQueries] {
        for seed in 20..23 {
            let problem = Problem { normalization, ..gaussian(seed) };
            let radius = check(&format!("{normalization:?}"), &problem);
            assert!(radius < 1e-12, "{normalization:?}: {radius:e}");
            check("causal", &Problem { sees: causal(SHAPE.0, SHAPE.1), ..problem.clone() });
            let mut peaked = problem.clone();
            peaked.query.iter_mut().for_each(|q| *q *= 300.0);
            check("peaked", &peaked);
            let bias = (0..SHAPE.0 * SHAPE.1)
                .map(|x| if x % 3 == 0 { f64::NEG_INFINITY } else { x as f64 / 50.0 });
            check("bias", &Problem { bias: Some(bias.collect()), ..problem });
        }
    }
}

/// Zeros sum to 0 whatever the weights: no underflow is charged. Under softmax over queries nothing
/// is claimed of this.
#[test]
fn a_column_whose_visible_values_are_zeros_is_zero() {
    let mut problem = Problem { sees: causal(SHAPE.0, SHAPE.1), ..gaussian(24) };
    let (n_k, d_v) = (SHAPE.1, SHAPE.3);
    (0..n_k - 1).for_each(|j| problem.value[j * d_v] = 0.0);
    let capped = Problem { softcap: Some(2.0), ..problem.clone() };
    let undivided = Problem { normalization: Normalization::None, ..problem.clone() };
    for (name, problem) in [("plain", &problem), ("capped", &capped), ("undivided", &undivided)] {
        check(name, problem);
        for detail in [Detail::Radii, Detail::Full] {
            let rad = enclose_as(&problem.head(), Products::Faer, detail).rad;
            for i in 0..SHAPE.0 {
                let sees_all = i == SHAPE.0 - 1;
                assert_eq!(rad[i * d_v] > 0.0, sees_all, "{name} {detail:?} row {i}");
                assert!(rad[i * d_v + 1] > 0.0, "{name} {detail:?} row {i}");
            }
        }
        let mut unknown = problem.clone();
        unknown.value[0] = f64::NAN;
        assert!(enclose(&unknown.head()).rad[0].is_infinite(), "{name}");
    }
}

#[test]
fn overflow_gives_an_infinite_radius_and_never_nan() {
    let overflow = |query: f64, key: f64, value: f64| {
        let mut problem = gaussian(30);
        problem.query.fill(query);
        problem.key.fill(key);
        problem.key[0] = -key;
        problem.value.fill(value);
        problem
    };
    for (query, key, value) in
        [(1e200, 1e200, 1.0), (1e308, 1.0, 1.0), (1e308, -1e308, 1.0), (0.0, 1.0, 1.7e308)]
    {
        for normalization in
            [Normalization::OverKeys, Normalization::None, Normalization::OverQueries]
        {
            let problem = Problem { normalization, ..overflow(query, key, value) };
            let enclosure = enclose(&problem.head());
            assert!(
                enclosure.rad.iter().all(|rad| *rad == f64::INFINITY),
                "{query:e} {key:e} {value:e} {normalization:?}"
            );
            assert!(enclosure.mid.iter().all(|mid| mid.is_finite()));
        }
    }
}
