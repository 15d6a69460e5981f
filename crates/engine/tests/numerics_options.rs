//! Enclosures contain the exact output and log-sum-exp under every option of a head, alone and in
//! random combinations.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::numerics_common;

use numerics_common::{Big, Problem, STAGES, Scale, Sees, big, causal, gauss, magnitude, rng};
use qkvet_engine::Products;
use qkvet_engine::enclosure::{HeadEnclosure, SinkWeight, enclose, enclose_with};
use qkvet_engine::head::{Alibi, EmptyRow, Normalization, Span, Stage};
use qkvet_spec::Dtype;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

const SHAPE: (usize, usize, usize, usize) = (4, 17, 6, 3);

/// Elements that were checked, and of how many the radius is finite.
#[derive(Clone, Copy, Default)]
struct Tally {
    checked: usize,
    finite: usize,
}

/// Checks outputs, log-sum-exp and statistics against 240 bits; unknown elements are allowed and
/// counted.
fn check(name: &str, problem: &Problem, products: Products) -> Tally {
    let enclosure = enclose_with(&problem.head(), products);
    let mut tally = Tally::default();
    for (index, exact) in problem.exact().iter().enumerate() {
        let (mid, rad) = (enclosure.mid[index], enclosure.rad[index]);
        let Some(exact) = exact else {
            assert!(mid.is_nan() && rad == 0.0, "{name}[{index}]: expected NaN, got {mid} ± {rad}");
            continue;
        };
        tally.count(name, index, exact, mid, rad);
    }
    check_lse(name, problem, &enclosure, &mut tally);
    if products == Products::FixedOrder {
        check_deviation(name, problem, &enclosure);
    }
    tally
}

impl Tally {
    fn count(&mut self, name: &str, index: usize, exact: &Big, mid: f64, rad: f64) {
        assert!(mid.is_finite() && !rad.is_nan(), "{name}[{index}]: {mid} ± {rad}");
        self.checked += 1;
        if rad == f64::INFINITY {
            return;
        }
        self.finite += 1;
        let distance = magnitude(exact.clone() - big(mid));
        assert!(
            distance <= big(rad),
            "{name}[{index}]: {mid} ± {rad:e} misses by {}",
            distance.to_f64().value()
        );
    }

    fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.finite += other.finite;
    }
}

/// The log-sum-exp, the sizes of the logits and the row sum.
fn check_lse(name: &str, problem: &Problem, enclosure: &HeadEnclosure, tally: &mut Tally) {
    if problem.normalization == Normalization::OverQueries {
        return;
    }
    for (i, (exact, row)) in problem.lse().iter().zip(&enclosure.rows).enumerate() {
        let Some(exact) = exact else {
            assert!(
                row.lse.mid == f64::NEG_INFINITY && row.lse.rad == 0.0,
                "{name} row {i}: {:?}",
                row.lse
            );
            continue;
        };
        tally.count(&format!("{name}, log-sum-exp"), i, exact, row.lse.mid, row.lse.rad);
        let keys: Vec<usize> = (0..problem.n_k).filter(|j| problem.sees(i, *j)).collect();
        let logits: Vec<Big> = keys.iter().map(|j| problem.logit(i, *j)).collect();
        let sink =
            problem.sink.filter(|_| problem.normalization == Normalization::OverKeys).map(big);
        let all = logits.iter().cloned().chain(sink.clone());
        let top = all.reduce(|a, b| if a > b { a } else { b }).unwrap();
        assert_eq!(
            row.sink == SinkWeight::Absent,
            sink.is_none() || (row.visible > 0 && problem.sink.is_none())
        );
        let kept = |z: &Big| z.clone() - top.clone() > big(-599.0);
        for (j, z) in keys.iter().zip(&logits).filter(|(_, z)| kept(z)) {
            let terms = problem.terms(i, *j);
            // Bounds that are off by one rounding of the reference's own conversion still count.
            let bound =
                |x: f64| if x == f64::INFINITY { None } else { Some(big(x * (1.0 + 1e-15))) };
            let within = |x: &Big, limit: f64| {
                bound(limit).is_none_or(|limit| magnitude(x.clone()) <= limit)
            };
            let shrinks = problem.stages.iter().position(|stage| *stage == Stage::Bias)
                < problem.stages.iter().position(|stage| *stage == Stage::Scale);
            assert!(
                within(z, row.final_max),
                "{name} row {i} key {j}: |z| above {:e}",
                row.final_max
            );
            let is_plain = !shrinks || problem.bias.is_none() && problem.alibi.is_none();
            assert!(
                !is_plain || within(&terms, row.logit_max),
                "{name} row {i} key {j}: terms above {:e}",
                row.logit_max
            );
        }
        if problem.normalization == Normalization::OverKeys {
            let ratio = (exact.clone() - top).exp();
            assert!(
                big(row.sum_lower) <= ratio * big(1.0 + 1e-15),
                "{name} row {i}: L is below {}",
                row.sum_lower
            );
        }
    }
}

/// `Σ w|v|` is attention to `|V|`; `Σ w|v − O|` attention to `|V − O|`, and what a sink weighs
/// times `|O|`.
fn check_deviation(name: &str, problem: &Problem, enclosure: &HeadEnclosure) {
    let with_values = |value: Vec<f64>| Problem { value, ..problem.clone() }.exact();
    let abar = with_values(problem.value.iter().map(|v| v.abs()).collect());
    for (index, bound) in enclosure.abar.iter().enumerate() {
        if let Some(abar) = &abar[index] {
            assert!(
                *bound == f64::INFINITY || *abar <= big(*bound),
                "{name}[{index}]: Σ w|v| is above {bound:e}"
            );
        }
    }
    if problem.normalization != Normalization::OverKeys || problem.d_v == 0 || problem.n_q == 0 {
        return;
    }
    let (exact, ones) = (problem.exact(), with_values(vec![1.0; problem.value.len()]));
    let i = problem.n_q - 1;
    let index = i * problem.d_v;
    if enclosure.rows[i].visible == 0 || enclosure.deviation[index] == f64::INFINITY {
        return;
    }
    let output = exact[index].clone().unwrap().to_f64().value();
    let of_keys = with_values(problem.value.iter().map(|v| (v - output).abs()).collect())[index]
        .clone()
        .unwrap();
    let of_sink = (big(1.0) - ones[index].clone().unwrap()) * big(output.abs());
    // Differences and the output were rounded: allow for it.
    let largest = problem.value.iter().fold(0.0f64, |max, v| max.max(v.abs()));
    let bound = enclosure.deviation[index] + largest * f64::EPSILON * 8.0 + 1e-300;
    assert!(of_keys + of_sink <= big(bound), "{name} row {i}: the deviation is above {bound:e}");
}

fn gaussian(seed: u64) -> Problem {
    Problem::gaussian(seed, SHAPE, Dtype::Float64)
}

fn both(name: &str, problem: &Problem) -> Tally {
    let [mut tally, other] =
        Products::ALL.map(|products| check(&format!("{name}, {products:?}"), problem, products));
    tally.add(other);
    tally
}

/// Checks that everything is known, and returns the largest radius.
fn known(name: &str, problem: &Problem) -> f64 {
    let tally = both(name, problem);
    assert_eq!(tally.finite, tally.checked, "{name}");
    let enclosure = enclose(&problem.head());
    enclosure.rad.iter().fold(0.0, |max: f64, rad| max.max(*rad))
}

fn orders() -> Vec<Vec<Stage>> {
    let [a, b, c] = STAGES;
    let mut orders = vec![vec![], vec![a], vec![b], vec![c]];
    for pair in [[a, b], [b, a], [a, c], [c, a], [b, c], [c, b]] {
        orders.push(pair.to_vec());
    }
    for order in [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
        orders.push(order.to_vec());
    }
    orders
}

fn biases(rng: &mut ChaCha8Rng, n: usize, special: f64) -> Vec<f64> {
    (0..n).map(|_| if rng.random_range(0..5) == 0 { special } else { 2.0 * gauss(rng) }).collect()
}

fn windows(rng: &mut ChaCha8Rng, (n_q, n_k): (usize, usize)) -> Sees {
    let mut span = || {
        let start = rng.random_range(0..=n_k);
        Span { start, end: rng.random_range(start..=n_k) }
    };
    Sees::Spans((0..n_q).map(|_| span()).collect())
}

/// A random combination of options, often an unpleasant one.
fn combination(rng: &mut ChaCha8Rng) -> Problem {
    let (n_q, n_k) = (rng.random_range(1..5), rng.random_range(0..18));
    let mut pick = |n: usize| rng.random_range(0..n);
    let shape = (n_q, n_k, pick(7), 1 + pick(9));
    let (scale, cap, bias, slope, sink) = (pick(8), pick(6), pick(6), pick(7), pick(9));
    let (order, sees, normalization, values) = (pick(16), pick(5), pick(8), pick(6));
    let (spread, duplicates) = (pick(5), pick(5));
    let mut problem = Problem::gaussian(rng.random(), shape, Dtype::Float64);
    let factor = [1.0, 1e-3, 30.0, 1e3, 1e6][spread];
    problem.query.iter_mut().for_each(|q| *q *= factor);
    if duplicates == 0 {
        (shape.2..n_k * shape.2)
            .for_each(|x| problem.key[x] = problem.key[x % shape.2] * (1.0 + 1e-15 * x as f64));
    }
    let irrational = gauss(rng);
    problem.scale = match scale {
        0 => Scale::Given(irrational),
        1 => Scale::Given([0.25, -0.5, 1.0][shape.3 % 3]),
        2 => Scale::Given([0.0, 1e-300, -1e-5][shape.3 % 3]),
        _ => Scale::InverseSqrt,
    };
    problem.softcap =
        [None, None, Some(30.0), Some(0.7), Some([1e-300, 1e300][shape.3 % 2]), Some(1e4)][cap];
    let n = n_q * n_k;
    problem.bias = match bias {
        0 => Some(biases(rng, n, f64::NEG_INFINITY)),
        1 => Some(biases(rng, n, -f64::from(f32::MAX))),
        2 => Some(biases(rng, n, -1e5)),
        3 => Some(biases(rng, n, 0.0)),
        _ => None,
    };
    let slope = [0.125, 0.3, -0.1, 1e6, -1e-300][slope.min(4)];
    let offset = [0, n_k as i64, -3, 1 << 40, i64::MIN + 7][sink.min(4)];
    problem.alibi = (values < 3).then_some(Alibi { slope, offset });
    problem.sink = [
        None,
        None,
        None,
        None,
        Some(0.0),
        Some(irrational),
        Some(-700.0),
        Some(900.0),
        Some(-1e6),
    ][sink];
    problem.stages = orders()[order].clone();
    problem.sees = match sees {
        0 => causal(n_q, n_k),
        1 => windows(rng, (n_q, n_k)),
        2 => Sees::Mask((0..n).map(|_| rng.random_range(0..3) > 0).collect()),
        _ => Sees::All,
    };
    problem.normalization = match normalization {
        0 => Normalization::None,
        1 => Normalization::OverQueries,
        _ => Normalization::OverKeys,
    };
    problem.empty_row = [EmptyRow::Zero, EmptyRow::Nan, EmptyRow::Mean][spread % 3];
    match values {
        0 => problem.value.iter_mut().for_each(|v| *v += 1e6),
        1 => problem.value.iter_mut().for_each(|v| *v *= 1e300),
        2 => problem.value.iter_mut().for_each(|v| *v *= 1e-310),
        _ => {}
    }
    problem
}

#[test]
fn random_combinations_of_all_options_are_enclosed() {
    let mut rng = rng(1);
    let mut tally = Tally::default();
    for trial in 0..1600 {
        let problem = combination(&mut rng);
        let products = Products::ALL[trial % 2];
        tally.add(check(&format!("trial {trial} of {problem:?}"), &problem, products));
    }
    println!("{} elements, {} of them known", tally.checked, tally.finite);
    assert!(tally.checked >= 20_000, "only {} elements", tally.checked);
    assert!(
        tally.finite * 10 >= tally.checked * 6,
        "only {} of {} are known",
        tally.finite,
        tally.checked
    );
}

#[test]
fn stages_in_every_order_are_enclosed_tightly() {
    let mut rng = rng(2);
    for (seed, stages) in orders().into_iter().enumerate() {
        for softcap in [None, Some(1.5), Some(50.0)] {
            let base = Problem { stages: stages.clone(), softcap, ..gaussian(seed as u64) };
            let bias = Some(biases(&mut rng, SHAPE.0 * SHAPE.1, -1.0));
            let alibi = Some(Alibi { slope: 0.3, offset: 2 });
            let radius =
                known(&format!("{stages:?} {softcap:?}"), &Problem { bias, alibi, ..base });
            assert!(radius < 1e-13, "{stages:?} {softcap:?}: {radius:e}");
        }
    }
    let stages = vec![Stage::Bias, Stage::Scale];
    for scale in [1.0 / 3.0, -0.7, 0.0, 1e-300] {
        for special in [f64::NEG_INFINITY, -f64::from(f32::MAX), 7.0] {
            let bias = Some(biases(&mut rng, SHAPE.0 * SHAPE.1, special));
            let problem =
                Problem { stages: stages.clone(), scale: Scale::Given(scale), bias, ..gaussian(3) };
            // Under a negative scale the sentinel is by far the largest, and infinitely uncertain.
            let expected = if scale < 0.0 && special < -1e30 { f64::INFINITY } else { 1e-12 };
            let name = format!("bias before the scale {scale}, {special}");
            assert!(expected == f64::INFINITY || known(&name, &problem) < expected, "{name}");
        }
    }
}

#[test]
fn sentinels_behind_a_cap_are_dropped_and_before_it_are_capped() {
    let mut rng = rng(4);
    for seed in 0..3 {
        let bias = Some(biases(&mut rng, SHAPE.0 * SHAPE.1, -f64::from(f32::MAX)));
        for stages in [
            vec![Stage::Scale, Stage::Softcap, Stage::Bias],
            vec![Stage::Scale, Stage::Bias, Stage::Softcap],
        ] {
            let problem =
                Problem { stages, softcap: Some(20.0), bias: bias.clone(), ..gaussian(seed) };
            let radius = known("sentinel and cap", &problem);
            assert!(radius < 1e-12, "{radius:e}");
        }
    }
}

#[test]
fn a_cap_forgives_errors_of_what_it_flattens() {
    let mut problem = Problem { softcap: Some(20.0), ..gaussian(5) };
    problem.query.iter_mut().for_each(|q| *q *= 1e9);
    let radius = known("logits of 1e9 under a cap", &problem);
    assert!(radius < 1e-12, "{radius:e}");
    for cap in [1e-300, 5e-324, 1e300, f64::MAX] {
        let radius = known(&format!("cap {cap:e}"), &Problem { softcap: Some(cap), ..gaussian(6) });
        assert!(radius < 1e-13, "cap {cap:e}: {radius:e}");
    }
    for cap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let enclosure = enclose(&Problem { softcap: Some(cap), ..gaussian(6) }.head().to_owned());
        assert!(enclosure.rad.iter().all(|rad| *rad == f64::INFINITY), "cap {cap}");
    }
}

#[test]
fn slopes_of_every_size_are_enclosed() {
    for slope in [0.5, -0.5, 0.1, 1e5, -1e5, 1e300, 0.0, 1e-310] {
        for offset in [0, 5, -40, 1 << 30, i64::MAX, i64::MIN] {
            let problem = Problem { alibi: Some(Alibi { slope, offset }), ..gaussian(7) };
            both(&format!("slope {slope:e} offset {offset}"), &problem);
            if slope.abs() < 1.0 && offset.unsigned_abs() < 1 << 20 {
                let radius = known("alibi", &problem);
                assert!(radius < 1e-12, "slope {slope} offset {offset}: {radius:e}");
            }
        }
    }
    let hides_nothing = Problem { alibi: Some(Alibi { slope: 1e4, offset: 0 }), ..gaussian(7) };
    assert!(
        enclose(&hides_nothing.head())
            .rows
            .iter()
            .all(|row| row.visible == SHAPE.1 && row.dropped > 0)
    );
}

#[test]
#[expect(clippy::float_cmp, reason = "these values are exact")]
fn sinks_of_every_size_are_enclosed() {
    for sink in [0.0, 1.0, -3.5, 599.0, 601.0, -601.0, 1e5, -1e5, 1e300, -1e300] {
        for (n_q, n_k) in [(4, 17), (3, 1), (2, 0), (1, 2)] {
            for empty_row in [EmptyRow::Zero, EmptyRow::Nan, EmptyRow::Mean] {
                let shape = (n_q, n_k, 3, 2);
                let problem = Problem {
                    sink: Some(sink),
                    empty_row,
                    ..Problem::gaussian(8, shape, Dtype::Float64)
                };
                let radius = known(&format!("sink {sink:e} {n_q}×{n_k}"), &problem);
                assert!(radius < 1e-13, "sink {sink:e}: {radius:e}");
                let hidden = Problem { sees: Sees::Mask(vec![false; n_q * n_k]), ..problem };
                let enclosure = enclose(&hidden.head());
                assert!(
                    enclosure.mid.iter().chain(&enclosure.rad).all(|x| *x == 0.0),
                    "no key: 0 exactly"
                );
                assert!(enclosure.rows.iter().all(|row| row.lse.mid == sink && row.lse.rad == 0.0));
                both("no key but a sink", &hidden);
            }
        }
    }
    for sink in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let enclosure = enclose(&Problem { sink: Some(sink), ..gaussian(8) }.head().to_owned());
        assert!(enclosure.rad.iter().all(|rad| *rad == f64::INFINITY), "sink {sink}");
        assert!(enclosure.rows.iter().all(|row| row.lse.rad == f64::INFINITY), "sink {sink}");
    }
}

#[test]
fn one_key_beside_a_sink_is_not_copied() {
    let sees = Sees::Spans(vec![Span { start: 3, end: 4 }; SHAPE.0]);
    let problem = Problem { sink: Some(0.5), sees, ..gaussian(9) };
    assert!(known("one key and a sink", &problem) > 0.0);
    assert!(known("one key", &Problem { sink: None, ..problem }) == 0.0);
}

#[test]
fn a_sink_of_logit_0_is_one_more_live_key() {
    let mut problem = Problem::gaussian(10, (2, 7, 3, 2), Dtype::Float64);
    problem.query.fill(0.0);
    problem.value.iter_mut().for_each(|v| *v = v.round());
    problem.sink = Some(0.0);
    let enclosure = enclose(&problem.head());
    assert!(known("seven keys and a sink", &problem) == 0.0, "eight equal weights are exact");
    assert!(
        enclosure.rows.iter().all(|row| row.exact.as_ref().is_some_and(|exact| exact.live == 8))
    );
    problem.sink = Some(-2000.0);
    let enclosure = enclose(&problem.head());
    assert!(
        enclosure
            .rows
            .iter()
            .all(|row| row.exact.as_ref().is_some_and(|exact| (exact.live, exact.dead) == (7, 1)))
    );
    both("a dead sink", &problem);
    problem.sink = Some(1.0);
    assert!(enclose(&problem.head()).rows.iter().all(|row| row.exact.is_none()));
    problem.sink = None;
    let capped = Problem { softcap: Some(5.0), ..problem.clone() };
    assert!(
        enclose(&capped.head()).rows.iter().all(|row| row.exact.is_none()),
        "not under a softcap"
    );
    let slanted = Problem { alibi: Some(Alibi { slope: 1.0, offset: 0 }), ..problem };
    assert!(enclose(&slanted.head()).rows.iter().all(|row| row.exact.is_none()));
}

#[test]
fn windows_and_packed_sequences_see_only_their_keys() {
    let (n_q, n_k) = (150, 170);
    let window = |i: usize| Span { start: i.saturating_sub(3), end: (i + 2).min(n_k) };
    let packed = |i: usize| Span { start: i / 50 * 50, end: (i / 50 + 1) * 50 };
    let mut problem = Problem::gaussian(11, (n_q, n_k, 2, 1), Dtype::Float64);
    for (name, spans) in [
        ("window", (0..n_q).map(window).collect()),
        ("packed", (0..n_q).map(packed).collect::<Vec<_>>()),
    ] {
        problem.sees = Sees::Spans(spans.clone());
        let by_spans = enclose(&problem.head());
        let mask = spans.iter().flat_map(|span| (0..n_k).map(|j| span.contains(j))).collect();
        let by_mask =
            enclose(&Problem { sees: Sees::Mask(mask), ..problem.clone() }.head().to_owned());
        for (index, (a, b)) in by_spans.mid.iter().zip(&by_mask.mid).enumerate() {
            assert!((a - b).abs() <= by_spans.rad[index] + by_mask.rad[index], "{name} {index}");
            assert!(
                by_spans.rad[index] <= by_mask.rad[index] * 1.5,
                "{name} {index}: as narrow as by a mask"
            );
            let (sum, dense) = (by_spans.value_abs_sum[index], by_mask.value_abs_sum[index]);
            assert!((sum - dense).abs() <= 1e-12 * dense, "{name} {index}: {sum} {dense}");
        }
        // What a row does not see does not matter, though its neighbors see it.
        let mut poisoned = problem.clone();
        poisoned.key[100 * 2..].fill(1e300);
        poisoned.value[100..].fill(1e300);
        let enclosure = enclose(&poisoned.head());
        for i in (0..n_q).filter(|i| spans[*i].end <= 100) {
            // All rows share one scaling of the squares, so the variance may no longer help.
            assert!(
                enclosure.rad[i] <= by_spans.rad[i] * 20.0,
                "{name} row {i}: {:e}",
                enclosure.rad[i]
            );
            assert!(
                enclosure.value_abs_sum[i] <= by_spans.value_abs_sum[i] * 1.001,
                "{name} row {i}"
            );
        }
    }
    let small = Problem { sees: windows(&mut rng(12), (SHAPE.0, SHAPE.1)), ..gaussian(12) };
    known("random spans", &small);
}

#[test]
fn the_logarithm_of_the_row_sum_is_certified_and_narrow() {
    let problem = gaussian(13);
    both("log-sum-exp", &problem);
    assert!(enclose(&problem.head()).rows.iter().all(|row| row.lse.rad < 2e-14));
    let one = Problem { sees: Sees::Spans(vec![Span::prefix(1); SHAPE.0]), ..problem.clone() };
    assert!(enclose(&one.head()).rows.iter().all(|row| row.lse.rad < 1e-14));
    let mut equal = Problem { scale: Scale::Given(1.0), ..problem };
    equal.query.fill(0.0);
    let equal = Problem { sees: Sees::Spans(vec![Span::prefix(1); SHAPE.0]), ..equal };
    assert!(
        enclose(&equal.head()).rows.iter().all(|row| row.lse.mid == 0.0 && row.lse.rad < 1e-300)
    );
}

#[test]
fn every_small_extent_is_enclosed_under_all_options() {
    for (n_q, n_k, d_k, d_v) in (0..81).map(|x| (x / 27, x / 9 % 3, x / 3 % 3, x % 3)) {
        let base = Problem::gaussian(16, (n_q, n_k, d_k, d_v), Dtype::Float64);
        let (softcap, alibi) = (Some(2.0), Some(Alibi { slope: 0.3, offset: 1 }));
        let all = Problem {
            softcap,
            alibi,
            sink: Some(0.3),
            bias: Some(vec![0.25; n_q * n_k]),
            ..base.clone()
        };
        for normalization in
            [Normalization::OverKeys, Normalization::None, Normalization::OverQueries]
        {
            both("no sink", &Problem { normalization, sink: None, ..all.clone() });
            both("all", &Problem { normalization, ..all.clone() });
        }
        both(
            "empty spans",
            &Problem { sees: Sees::Spans(vec![Span { start: n_k, end: n_k }; n_q]), ..all },
        );
    }
}
