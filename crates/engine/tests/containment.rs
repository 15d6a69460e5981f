//! The enclosure of a head against arbitrary precision: the exact number is in the ball, for
//! families of data that are hard on it and for any options.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::adversarial;

use std::cell::RefCell;

use adversarial::{CHOICES, Choice, FAMILIES, Hard};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use qkvet_engine::ball::Ball;
use qkvet_engine::digits::{Logarithm, PreciseHead, Width};
use qkvet_engine::enclosure::enclose;

/// Problems of each family.
const CASES: u32 = 60;

/// What a family came to.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    elements: usize,
    unknown: usize,
    /// Largest distance over radius.
    worst: f64,
}

impl Tally {
    /// Takes the enclosure's ball and the sharp one of one number; false when they have nothing in
    /// common.
    fn holds(&mut self, ball: Ball, sharp: Ball) -> bool {
        self.elements += 1;
        if ball.mid.is_nan() || sharp.mid.is_nan() {
            return ball.mid.is_nan() && sharp.mid.is_nan() && ball.rad == 0.0;
        }
        if ball == sharp {
            return true;
        }
        if ball.rad.is_infinite() {
            self.unknown += 1;
            return true;
        }
        let distance = (ball.mid - sharp.mid).abs();
        if ball.rad > 0.0 {
            self.worst = self.worst.max((distance - sharp.rad) / ball.rad);
        }
        // The sharp ball holds the exact number: a distance beyond both radii proves that the other
        // one does not.
        distance * (1.0 - f64::EPSILON) <= (ball.rad + sharp.rad) * (1.0 + f64::EPSILON)
    }
}

/// A row of balls that is wrong, or nothing.
fn check(problem: &Hard, tally: &mut Tally) -> Option<String> {
    let head = problem.head();
    let enclosure = enclose(&head);
    let precise = PreciseHead::new(&head).unwrap();
    for i in 0..problem.n_q {
        let lse = &enclosure.rows[i].lse;
        let ball = Ball { mid: lse.mid, rad: lse.rad, soft: lse.rad };
        let sharp = precise.lse(i, Logarithm::Natural, Width::NEAREST).unwrap();
        if !tally.holds(ball, sharp) {
            return Some(format!(
                "{} [{i}], logarithm of the row sum: {ball:?} lacks {sharp:?}",
                problem.name()
            ));
        }
        let sharp = precise.output(i, Width::NEAREST).unwrap();
        for (c, sharp) in sharp.into_iter().enumerate() {
            let at = i * problem.d_v + c;
            let ball =
                Ball { mid: enclosure.mid[at], rad: enclosure.rad[at], soft: enclosure.rad[at] };
            if !tally.holds(ball, sharp) {
                return Some(format!("{} [{i}, {c}]: {ball:?} lacks {sharp:?}", problem.name()));
            }
        }
    }
    None
}

fn chosen() -> impl Strategy<Value = Vec<Choice>> {
    let all = CHOICES.to_vec();
    prop_oneof![
        2 => Just(Vec::new()),
        5 => proptest::sample::subsequence(all.clone(), 1..=2),
        3 => proptest::sample::subsequence(all, 0..=CHOICES.len()),
    ]
}

fn shape() -> impl Strategy<Value = [usize; 4]> {
    let extent = |most: usize| prop_oneof![1 => 1..=2usize, 4 => 1..=most];
    (
        extent(5),
        extent(28),
        prop_oneof![4 => extent(8), 1 => Just(80)],
        prop_oneof![1 => extent(4), 4 => 16..=48usize],
    )
        .prop_map(|(n_q, n_k, d_k, d_v)| [n_q, n_k, d_k, d_v])
}

#[test]
fn the_exact_number_is_in_every_ball() {
    let mut total = Tally::default();
    for (family, name) in FAMILIES.iter().enumerate() {
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[family as u8; 32]);
        let tally = RefCell::new(Tally::default());
        let problems = (any::<u64>(), shape(), chosen());
        let result =
            TestRunner::new_with_rng(config, rng).run(&problems, |(seed, shape, choices)| {
                let wrong =
                    check(&Hard::new(family, seed, shape, &choices), &mut tally.borrow_mut());
                prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
                Ok(())
            });
        let Tally { elements, unknown, worst } = tally.into_inner();
        assert!(result.is_ok(), "{}", result.unwrap_err());
        println!(
            "{name:42} {elements:6} elements, {unknown:5} unknown, largest |mid − exact|/rad {worst:.3}"
        );
        total.elements += elements;
        total.unknown += unknown;
        total.worst = total.worst.max(worst);
    }
    println!("{} elements, {} unknown, largest {:.3}", total.elements, total.unknown, total.worst);
    assert!(total.elements >= 100_000, "{}", total.elements);
    // Families that overwhelm it are few: a ball that holds everything proves nothing.
    assert!(total.unknown < total.elements / 4, "{} of {}", total.unknown, total.elements);
}
