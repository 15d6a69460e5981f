//! Every detail of an enclosure is true of the same exact output, in one pass over the scores or in
//! the general way.

use crate::numerics_common;

use numerics_common::{Big, Problem, Scale, Sees, big, causal, gaussians, rng};
use qkvet_engine::Products;
use qkvet_engine::enclosure::{Detail, HeadEnclosure, enclose, enclose_as};
use qkvet_engine::head::{EmptyRow, Normalization, Span};
use qkvet_spec::Dtype;

/// More than two blocks of keys.
const LONG: (usize, usize, usize, usize) = (3, 530, 5, 2);

fn distance(exact: &Big, mid: f64) -> Big {
    let difference = exact.clone() - big(mid);
    if difference < big(0.0) { -difference } else { difference }
}

fn check_contains(name: &str, enclosure: &HeadEnclosure, exact: &[Option<Big>]) {
    for (index, exact) in exact.iter().enumerate() {
        let (mid, rad) = (enclosure.mid[index], enclosure.rad[index]);
        match exact {
            None => assert!(
                mid.is_nan() && rad == 0.0,
                "{name}[{index}]: expected NaN, got {mid} ± {rad}"
            ),
            Some(exact) => assert!(
                rad.is_finite() && distance(exact, mid) <= big(rad),
                "{name}[{index}]: {mid} ± {rad:e} misses {}",
                exact.to_f64().value()
            ),
        }
    }
}

/// Checks every detail against the exact output; returns the largest radius in little and in full
/// detail, by faer.
fn check(name: &str, problem: &Problem) -> (f64, f64) {
    let exact = problem.exact();
    let mut largest = (0.0, 0.0);
    for products in Products::ALL {
        let of = |detail| enclose_as(&problem.head(), products, detail);
        let [midpoints, radii, rows, full] =
            [Detail::Midpoints, Detail::Radii, Detail::Rows, Detail::Full].map(of);
        check_contains(&format!("{name}, {products:?}, radii"), &radii, &exact);
        check_contains(&format!("{name}, {products:?}, rows"), &rows, &exact);
        check_contains(&format!("{name}, {products:?}, full"), &full, &exact);
        assert_eq!(
            format!("{:?}", (&rows.rows, &rows.value_abs_sum)),
            format!("{:?}", (&full.rows, &full.value_abs_sum))
        );
        let n = problem.n_q * problem.d_v;
        assert_eq!([midpoints.rad.len(), radii.abar.len(), radii.rows.len()], [0; 3]);
        assert_eq!([midpoints.mid.len(), radii.rad.len(), full.abar.len()], [n; 3]);
        for index in 0..n {
            let mids =
                [&midpoints, &radii, &rows, &full].map(|enclosure| enclosure.mid[index].to_bits());
            assert!(mids == [mids[0]; 4], "{name}[{index}]: midpoints differ");
        }
        if products == Products::Faer {
            let largest_of = |enclosure: &HeadEnclosure| {
                enclosure.rad.iter().fold(0.0f64, |max, rad| max.max(*rad))
            };
            largest = (largest_of(&radii), largest_of(&full));
        }
    }
    largest
}

fn gaussian(seed: u64) -> Problem {
    Problem::gaussian(seed, LONG, Dtype::Float64)
}

/// The same with every logit multiplied.
fn scaled(problem: &Problem, factor: f64) -> Problem {
    let scale = Scale::Given(factor / (problem.d_k as f64).sqrt());
    Problem { scale, ..problem.clone() }
}

#[test]
fn gaussian_data_of_every_format_is_enclosed_in_every_detail() {
    for (seed, dtype) in Dtype::ALL.into_iter().enumerate() {
        let (radii, full) = check(dtype.name(), &Problem::gaussian(seed as u64, LONG, dtype));
        assert!(radii < 1e-12 && full < radii, "{dtype}: {radii:e} and {full:e}");
    }
}

#[test]
fn windows_of_every_kind_are_enclosed_across_blocks_of_keys() {
    for (seed, spans) in [
        vec![(0, 530), (0, 1), (0, 0)],
        vec![(0, 256), (0, 257), (0, 512)],
        vec![(3, 250), (255, 257), (300, 300)],
        vec![(100, 530), (529, 530), (256, 512)],
        vec![(240, 290), (240, 290), (7, 300)],
    ]
    .into_iter()
    .enumerate()
    {
        let spans = spans.into_iter().map(|(start, end)| Span { start, end }).collect();
        let problem = Problem {
            sees: Sees::Spans(spans),
            empty_row: EmptyRow::Mean,
            ..gaussian(seed as u64)
        };
        check(&format!("windows {seed}"), &problem);
    }
    for shape in [(70, 5, 4, 2), (40, 40, 4, 2), (20, 300, 4, 1)] {
        let problem = Problem {
            sees: causal(shape.0, shape.1),
            ..Problem::gaussian(1, shape, Dtype::Float32)
        };
        check(&format!("causal {shape:?}"), &problem);
    }
}

#[test]
fn logits_on_both_sides_of_what_needs_a_shift_are_enclosed() {
    for factor in [1e-3, 3.0, -5.0, 9.0, 10.0, 40.0, 300.0, 1e6] {
        check(&format!("logits times {factor}"), &scaled(&gaussian(3), factor));
    }
    // All logits near −95: the exponentials are small, and so is their sum.
    let mut low = Problem { scale: Scale::Given(1.0), ..gaussian(4) };
    low.key.iter_mut().for_each(|k| *k *= 0.01);
    low.query.iter_mut().for_each(|q| *q *= 0.01);
    low.query.iter_mut().step_by(LONG.2).for_each(|q| *q = -9.5);
    low.key.iter_mut().step_by(LONG.2).for_each(|k| *k = 9.9);
    check("all logits low", &low);
    let high = Problem { scale: Scale::Given(-1.0), ..low.clone() };
    check("all logits high", &high);
    for (size, limit) in [(1e-300, 1e-260), (1e-150, 1e-162), (1e300, 1e288)] {
        let value = gaussians(&mut rng(5), LONG.1 * LONG.3, size, Dtype::Float64);
        for problem in [&low, &high] {
            let (radii, _) = check(
                &format!("values of {size:e}"),
                &Problem { value: value.clone(), ..problem.clone() },
            );
            assert!(radii <= limit, "values of {size:e}: {radii:e}");
        }
    }
}

/// One key holds nearly all of the weight: then the range of the values hardly matters.
#[test]
fn a_dominant_key_makes_the_radius_small_in_one_pass_too() {
    let mut problem = Problem {
        scale: Scale::Given(1.0),
        ..Problem::gaussian(6, (2, 300, 3, 2), Dtype::Float64)
    };
    problem.query = vec![9.0, 0.1, 0.3, 9.1, 0.2, 0.1];
    problem.key.iter_mut().for_each(|k| *k *= 0.1);
    problem.key[3 * 17] = 10.0;
    let (radii, full) = check("dominant key", &problem);
    let mut even = problem.clone();
    even.key[3 * 17] = 0.0;
    let (radii_even, _) = check("no dominant key", &even);
    assert!(
        radii < 1e-13 && full <= radii && radii_even < 1e-12,
        "{radii:e} {full:e} {radii_even:e}"
    );
    let spread = problem
        .value
        .iter()
        .map(|v| v * 1e4)
        .zip(0..)
        .map(|(v, at)| if at / 2 == 17 { 1.0 } else { v });
    let (radii, _) =
        check("dominant key, wide values", &Problem { value: spread.collect(), ..problem });
    assert!(radii < 1e-8, "{radii:e}");
}

#[test]
fn options_are_enclosed_in_little_detail() {
    let shape = (4, 40, 6, 3);
    let base = Problem::gaussian(7, shape, Dtype::Float32);
    let bias: Vec<f64> = gaussians(&mut rng(8), 160, 2.0, Dtype::Float32);
    let mask: Vec<bool> = (0..160).map(|at| at % 3 > 0 && at / 40 != 2).collect();
    let mut hiding = bias.clone();
    hiding.iter_mut().step_by(5).for_each(|b| *b = f64::NEG_INFINITY);
    let peaked = scaled(&base, 400.0);
    for (name, problem) in [
        ("bias", Problem { bias: Some(bias), ..base.clone() }),
        (
            "mask",
            Problem { sees: Sees::Mask(mask.clone()), empty_row: EmptyRow::Nan, ..base.clone() },
        ),
        ("hiding bias", Problem { bias: Some(hiding), ..base.clone() }),
        ("sink", Problem { sink: Some(0.5), ..base.clone() }),
        ("low sink", Problem { sink: Some(-900.0), ..base.clone() }),
        ("high sink", Problem { sink: Some(900.0), ..base.clone() }),
        ("sink and mask", Problem { sink: Some(1.0), sees: Sees::Mask(mask), ..peaked.clone() }),
        ("cap", Problem { softcap: Some(2.0), ..base.clone() }),
        ("peaked", peaked.clone()),
        ("not divided", Problem { normalization: Normalization::None, ..base.clone() }),
        ("not divided, peaked", Problem { normalization: Normalization::None, ..peaked }),
    ] {
        let (radii, full) = check(name, &problem);
        assert!(radii < 1e-9 && full <= radii * 1.01, "{name}: {radii:e} and {full:e}");
    }
}

/// Zero logits are exact and stay so, whether every product vanishes or they cancel.
#[test]
fn rows_of_equal_weights_stay_exact() {
    let mut problem = Problem::gaussian(9, (2, 256, 2, 2), Dtype::Float64);
    problem.value = (0..512).map(|at| f64::from(at % 9 - 4)).collect();
    // Small enough for one pass.
    problem.key = (0..512).map(|at| [1.0, -1.0][at % 2] * (at / 2) as f64 / 64.0).collect();
    for query in [vec![0.0; 4], vec![3.0; 4]] {
        let problem = Problem { query, ..problem.clone() };
        assert_eq!(check("equal weights", &problem), (0.0, 0.0));
        assert!(enclose(&problem.head()).rows.iter().all(|row| row.exact.is_some()));
    }
}

/// The log-sum-exp of a row in one pass, against the shifted one that a bias of zeros asks for.
#[test]
fn facts_of_a_row_agree_between_one_pass_and_the_general_way() {
    for factor in [1.0, -4.0, 12.0] {
        let problem = Problem { sees: causal(3, 530), ..scaled(&gaussian(10), factor) };
        let general = Problem { bias: Some(vec![0.0; 3 * 530]), ..problem.clone() };
        let (one, general) = (enclose(&problem.head()), enclose(&general.head()));
        for (one, general) in one.rows.iter().zip(&general.rows) {
            let apart = (one.lse.mid - general.lse.mid).abs();
            assert!(
                one.lse.rad < 1e-12 && apart <= one.lse.rad + general.lse.rad,
                "{:?} {:?}",
                one.lse,
                general.lse
            );
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            assert!(
                near(one.sum_lower, general.sum_lower),
                "{} {}",
                one.sum_lower,
                general.sum_lower
            );
            assert!(
                near(one.weight_norm, general.weight_norm),
                "{} {}",
                one.weight_norm,
                general.weight_norm
            );
            assert!(
                near(one.logit_max, general.logit_max),
                "{} {}",
                one.logit_max,
                general.logit_max
            );
            assert!(
                near(one.final_max, general.final_max),
                "{} {}",
                one.final_max,
                general.final_max
            );
            assert_eq!((one.visible, one.dropped), (general.visible, general.dropped));
        }
    }
}
