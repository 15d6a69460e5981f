//! The same bits for every number of threads.

use crate::numerics_common;

use numerics_common::{Problem, causal, gaussians, rng};
use qkvet_engine::Products;
use qkvet_engine::enclosure::{Detail, HeadEnclosure, enclose_as, enclose_together};
use qkvet_engine::head::{Head, RealScale, Span, Visible};
use qkvet_spec::Dtype;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

fn bytes(enclosure: &HeadEnclosure) -> Vec<u8> {
    let parts = [
        &enclosure.mid,
        &enclosure.rad,
        &enclosure.abar,
        &enclosure.deviation,
        &enclosure.product_norm,
        &enclosure.value_abs_sum,
    ];
    let numbers = parts.into_iter().flatten().flat_map(|x| x.to_le_bytes());
    numbers.chain(format!("{:?}", enclosure.rows).into_bytes()).collect()
}

#[test]
fn one_two_and_three_threads_give_the_same_bytes() {
    let plain = Problem::gaussian(1, (300, 333, 9, 5), Dtype::Float64);
    let biased = Problem {
        bias: Some(gaussians(&mut rng(2), 300 * 333, 1.0, Dtype::Float64)),
        ..plain.clone()
    };
    let problems = [Problem { sees: causal(300, 333), ..plain.clone() }, plain, biased];
    let jobs: Vec<_> = problems
        .iter()
        .flat_map(|problem| Products::ALL.map(|products| (problem, products)))
        .flat_map(|(problem, products)| {
            [Detail::Radii, Detail::Rows, Detail::Full].map(|detail| (problem, products, detail))
        })
        .collect();
    // Parallel over heads, as callers are, and over the rows of each.
    let all = |threads: usize| -> Vec<Vec<u8>> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let jobs = jobs.clone().into_par_iter();
            jobs.map(|(problem, products, detail)| {
                bytes(&enclose_as(&problem.head(), products, detail))
            })
            .collect()
        })
    };
    let by_one = all(1);
    assert!(by_one.iter().all(|bytes| bytes.len() > 300 * 5 * 16));
    for threads in [2, 3] {
        let differing =
            all(threads).iter().zip(&by_one).position(|(bytes, by_one)| bytes != by_one);
        assert_eq!(differing, None, "{threads} threads");
    }
}

/// Neighbors that share keys and values are one problem: each has the bytes that it has alone, with
/// others beside it that share nothing.
#[test]
fn heads_that_share_keys_have_the_bytes_that_they_have_alone() {
    let plain = Problem::gaussian(1, (50, 333, 9, 5), Dtype::Float64);
    let other = Problem::gaussian(2, (50, 333, 9, 5), Dtype::Float64);
    let queries: Vec<Vec<f64>> =
        (3..6).map(|seed| gaussians(&mut rng(seed), 50 * 9, 1.0, Dtype::Float64)).collect();
    let ends: Vec<Span> = (1..=50).map(Span::prefix).collect();
    let windows: Vec<Span> = (0..50).map(|i| Span { start: 3 * i, end: 3 * i + 40 }).collect();
    let (plain, other) = (plain.head(), other.head());
    // All but the last two have the keys and values of the first.
    let heads = [
        plain,
        Head { query: &queries[0], visible: Visible::Spans(&ends), ..plain },
        Head { query: &queries[1], visible: Visible::Spans(&windows), ..plain },
        Head { query: &queries[2], sink: Some(0.5), ..plain },
        Head { scale: RealScale::exact(0.3), ..plain },
        other,
        Head { value: other.value, ..plain },
    ];
    for products in Products::ALL {
        for detail in [Detail::Radii, Detail::Rows, Detail::Full] {
            let together = enclose_together(&heads, products, detail);
            assert_eq!(together.len(), heads.len());
            for (at, (head, got)) in heads.iter().zip(&together).enumerate() {
                let alone = enclose_as(head, products, detail);
                assert!(bytes(got) == bytes(&alone), "{products:?} {detail:?} head {at}");
            }
        }
    }
}
