//! Arbitrary precision of a head with every option: against the definition at 900 bits with another
//! library's functions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::float_cmp, reason = "what is exact is exact")]

use crate::adversarial;

use adversarial::{CHOICES, Choice, FAMILIES, Hard, Random};
use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use qkvet_engine::ball::Ball;
use qkvet_engine::digits::{DigitsError, Logarithm, MAX_BITS, PreciseHead, Width};
use qkvet_engine::head::{Alibi, EmptyRow, Normalization, RealScale, Stage};

type Big = FBig<HalfEven, 2>;

const BITS: usize = 900;

fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(BITS).value()
}

fn abs(x: &Big) -> Big {
    if *x < big(0.0) { -x.clone() } else { x.clone() }
}

/// `e^x`; what is below `e^−20000` counts as nothing.
fn exp(x: Big) -> Big {
    if x < big(-20_000.0) { big(0.0) } else { x.exp() }
}

/// `c·tanh(x/c)`.
fn capped(x: &Big, cap: f64) -> Big {
    let e = exp(-abs(x) * big(2.0) / big(cap));
    let size = big(cap) * (big(1.0) - e.clone()) / (big(1.0) + e);
    if *x < big(0.0) { -size } else { size }
}

fn logit(p: &Hard, i: usize, j: usize) -> Big {
    let terms = (0..p.d_k).map(|t| big(p.query[i * p.d_k + t]) * big(p.key[j * p.d_k + t]));
    let mut x = terms.fold(big(0.0), |sum, term| sum + term);
    for stage in &p.stages {
        match stage {
            Stage::Scale => x = x * big(p.scale.factor) / big(p.scale.radicand as f64).sqrt(),
            Stage::Softcap => x = p.softcap.map_or(x.clone(), |cap| capped(&x, cap)),
            Stage::Bias => {
                x += big(p.bias.as_ref().map_or(0.0, |bias| bias[i * p.n_k + j]));
                if let Some(alibi) = p.alibi {
                    let distance = (p.position(i) - j as i64).abs();
                    x -= big(alibi.slope) * big(distance as f64);
                }
            }
        }
    }
    x
}

/// Outputs of a row, with `Σ w|v|` of each, and the logarithm of the row sum; nothing for an empty
/// row.
fn naive(p: &Hard, i: usize) -> Option<(Vec<(Big, Big)>, Big)> {
    let seen: Vec<usize> = (0..p.n_k).filter(|j| p.sees(i, *j)).collect();
    let logits: Vec<Big> = seen.iter().map(|j| logit(p, i, *j)).collect();
    let all = logits.iter().cloned().chain(p.sink.map(big));
    let top = all.clone().reduce(|x, y| if x > y { x } else { y })?;
    let total = all.map(|z| exp(z - top.clone())).fold(big(0.0), |sum, weight| sum + weight);
    let weights: Vec<Big> =
        logits.into_iter().map(|z| exp(z - top.clone()) / total.clone()).collect();
    let output = |c: usize| {
        let terms =
            || seen.iter().zip(&weights).map(|(j, weight)| weight * big(p.value[j * p.d_v + c]));
        let sum =
            |terms: &mut dyn Iterator<Item = Big>| terms.fold(big(0.0), |sum, term| sum + term);
        (sum(&mut terms()), sum(&mut terms().map(|term| abs(&term))))
    };
    Some(((0..p.d_v).map(output).collect(), total.ln() + top))
}

/// Half a spacing of the midpoint and a little is the most that a ball may be off.
fn is_sharp(ball: Ball) -> bool {
    ball.rad <= (ball.mid.abs().next_up() - ball.mid.abs()) * 0.501 || ball.rad == 5e-324
}

fn assert_holds(ball: Ball, exact: &Big, slack: &Big, what: &str) {
    let distance = abs(&(big(ball.mid) - exact.clone()));
    assert!(distance <= big(ball.rad) + slack.clone(), "{what}: {} ± {:e}", ball.mid, ball.rad);
}

/// Every row of a problem; gives the number of elements.
fn check(p: &Hard) -> usize {
    let head = p.head();
    let precise = PreciseHead::new(&head).unwrap();
    let mut count = 0;
    for i in 0..p.n_q {
        let what = format!("{} row {i}", p.name());
        let (balls, wide) =
            (precise.output(i, Width::NEAREST), precise.output(i, Width::ONE_EVALUATION));
        let (balls, wide) = (balls.unwrap(), wide.unwrap());
        let lse = |of| precise.lse(i, of, Width::NEAREST).unwrap();
        let (natural, binary) = (lse(Logarithm::Natural), lse(Logarithm::Binary));
        count += balls.len() + 2;
        let Some((outputs, sum)) = naive(p, i) else {
            assert_eq!(
                (natural, binary),
                (Ball::exact(f64::NEG_INFINITY), Ball::exact(f64::NEG_INFINITY))
            );
            continue;
        };
        let tiny = Big::from_parts(1.into(), -700);
        for (c, ((ball, wide), (exact, size))) in balls.iter().zip(&wide).zip(&outputs).enumerate()
        {
            // Dropped exponentials, and the roundings of 900 bits.
            let slack = size * tiny.clone() + Big::from_parts(1.into(), -25_000);
            assert_holds(*ball, exact, &slack, &what);
            assert_holds(*wide, exact, &slack, &what);
            assert!(is_sharp(*ball), "{what} column {c}: {} ± {:e}", ball.mid, ball.rad);
            let allowed = size * Big::from_parts(1.into(), -126);
            let spacing = wide.mid.abs().next_up() - wide.mid.abs();
            assert!(
                big(wide.rad) <= allowed + big(0.501 * spacing) + big(5e-324),
                "{what}: {:e}",
                wide.rad
            );
        }
        let slack = (abs(&sum) + big(1.0)) * tiny;
        assert_holds(natural, &sum, &slack, &what);
        assert_holds(binary, &(sum.clone() / big(2.0).ln()), &slack, &what);
        assert!(is_sharp(natural) && is_sharp(binary), "{what}: {natural:?} {binary:?}");
    }
    count
}

#[test]
fn every_family_with_every_choice_agrees_with_the_definition() {
    let mut count = 0;
    for family in (0..FAMILIES.len()).filter(|family| FAMILIES[*family] != "many keys") {
        count += check(&Hard::new(family, 1, [2, 5, 4, 2], &[]));
        for (seed, choice) in CHOICES.iter().enumerate() {
            count += check(&Hard::new(family, seed as u64, [2, 5, 4, 2], &[*choice]));
        }
        for seed in 0..6 {
            let mut random = Random::new(1000 + seed);
            let chosen: Vec<Choice> = CHOICES.into_iter().filter(|_| random.unit() < 0.5).collect();
            count += check(&Hard::new(family, seed, [2, 6, 3, 2], &chosen));
        }
    }
    assert!(count > 2000, "{count}");
}

/// One query 1 against keys, scale 1.
fn row(logit: &[f64], value: &[f64]) -> Hard {
    let plain = Hard::new(0, 0, [1, logit.len(), 1, value.len() / logit.len()], &[]);
    Hard {
        query: vec![1.0],
        key: logit.to_vec(),
        value: value.to_vec(),
        scale: RealScale::exact(1.0),
        ..plain
    }
}

fn lse(p: &Hard, of: Logarithm) -> Ball {
    PreciseHead::new(&p.head()).unwrap().lse(0, of, Width::NEAREST).unwrap()
}

fn output(p: &Hard) -> Ball {
    PreciseHead::new(&p.head()).unwrap().output(0, Width::NEAREST).unwrap()[0]
}

#[test]
fn logarithms_of_row_sums_that_are_rational_are_exact() {
    assert_eq!(lse(&row(&[0.3], &[1.0]), Logarithm::Natural), Ball::exact(0.3));
    assert_eq!(lse(&row(&[0.0; 8], &[1.0; 8]), Logarithm::Binary), Ball::exact(3.0));
    assert_eq!(lse(&row(&[0.0], &[1.0]), Logarithm::Binary), Ball::exact(0.0));
    for (logits, of) in [
        (&[0.0; 3][..], Logarithm::Binary),
        (&[0.0; 2], Logarithm::Natural),
        (&[0.3], Logarithm::Binary),
    ] {
        let ball = lse(&row(logits, &vec![1.0; logits.len()]), of);
        assert!(ball.rad > 0.0 && is_sharp(ball), "{logits:?}: {ball:?}");
    }
    // A cap changes what is not 0.
    let capped =
        |x: f64| lse(&Hard { softcap: Some(2.0), ..row(&[x], &[1.0]) }, Logarithm::Natural);
    assert_eq!(capped(0.0), Ball::exact(0.0));
    assert_eq!(capped(2.0).mid, 2.0 * libm::tanh(1.0));
    let huge = lse(
        &Hard { query: vec![1e300], key: vec![1e300], ..row(&[1.0], &[1.0]) },
        Logarithm::Natural,
    );
    assert_eq!((huge.mid, huge.rad), (f64::MAX, f64::INFINITY));
}

#[test]
fn digits_of_logarithms_are_those_of_another_program() {
    // Python, decimal module, 60 digits: ln(e + e² + e³), that over ln 2, and ln(3)/ln(2).
    let digits = |p: &Hard, of, digits| {
        let head = p.head();
        PreciseHead::new(&head).unwrap().lse_digits(0, of, digits).unwrap().unwrap().to_string()
    };
    let three = row(&[1.0, 2.0, 3.0], &[1.0; 3]);
    assert_eq!(digits(&three, Logarithm::Natural, 40), "3.407605964444380304482919904545070451473");
    assert_eq!(digits(&three, Logarithm::Binary, 40), "4.916136226207560830243676978214069030557");
    assert_eq!(
        digits(&row(&[0.0; 3], &[1.0; 3]), Logarithm::Binary, 30),
        "1.58496250072115618145373894395"
    );
    assert_eq!(digits(&row(&[0.0; 4], &[1.0; 4]), Logarithm::Binary, 30), "2");
    let head = three.head();
    let none = PreciseHead::new(&head).unwrap().lse_digits(0, Logarithm::Natural, 0);
    assert_eq!(none, Err(DigitsError::Digits { got: 0 }));
}

#[test]
fn a_sink_is_a_key_of_value_zero() {
    // Equal to the logit of the keys: 3/4 of the mean.
    assert_eq!(
        output(&Hard { sink: Some(0.25), ..row(&[0.25; 3], &[1.0, 2.0, 3.0]) }),
        Ball::exact(1.5)
    );
    // Different: transcendental.
    let ball = output(&Hard { sink: Some(0.0), ..row(&[0.25; 3], &[1.0, 2.0, 3.0]) });
    assert!(ball.rad > 0.0 && is_sharp(ball) && ball.mid > 1.5, "{ball:?}");
    // All values 0: it does not matter.
    assert_eq!(
        output(&Hard { sink: Some(7.0), ..row(&[0.25, 1.0], &[0.0, 0.0]) }),
        Ball::exact(0.0)
    );
    // A row that sees nothing is 0, whatever the policy, and its sum is the sink.
    let hidden = |sink| Hard {
        bias: Some(vec![f64::NEG_INFINITY; 2]),
        empty_row: EmptyRow::Nan,
        sink,
        ..row(&[0.25, 1.0], &[1.0, 5.0])
    };
    assert_eq!(output(&hidden(Some(0.5))), Ball::exact(0.0));
    assert_eq!(lse(&hidden(Some(0.5)), Logarithm::Natural), Ball::exact(0.5));
    assert!(output(&hidden(None)).mid.is_nan() && output(&hidden(None)).rad == 0.0);
    let mean = output(&Hard { empty_row: EmptyRow::Mean, ..hidden(None) });
    assert_eq!(mean, Ball::exact(3.0));
    // Far above all: nothing but what the keys still weigh.
    let ball = output(&Hard { sink: Some(700.0), ..row(&[0.0], &[1.0]) });
    assert_eq!(ball.mid, libm::exp(-700.0));
}

#[test]
fn ties_of_capped_logits_are_found_exactly() {
    // 2·0.5 and 1 make the same argument of the cap; the same mean of the other group makes the
    // output rational.
    let p = Hard {
        query: vec![1.0, 2.0],
        key: vec![1.0, 0.0, 0.0, 0.5, 3.0, 0.0],
        value: vec![1.0, 3.0, 2.0],
        d_k: 2,
        softcap: Some(0.7),
        ..row(&[0.0; 3], &[0.0; 3])
    };
    assert_eq!(output(&p), Ball::exact(2.0));
    // Behind the cap a bias makes a difference again.
    let biased = Hard { bias: Some(vec![0.0, 0.5, 0.0]), ..p.clone() };
    assert!(output(&biased).rad > 0.0);
    // A scale of 0 behind the cap makes all alike.
    let stages = vec![Stage::Softcap, Stage::Scale];
    let flat =
        Hard { stages, scale: RealScale::exact(0.0), value: vec![1.0, 2.0, 6.0], ..p.clone() };
    assert_eq!(output(&flat), Ball::exact(3.0));
    // Logits of both signs of a cap so small that all are ±c.
    let saturated = Hard { softcap: Some(1e-300), ..row(&[5.0, -5.0], &[1.0, -1.0]) };
    assert_eq!(output(&saturated).mid, 1e-300);
}

#[test]
fn a_search_under_a_cap_ends() {
    // 2.5 + e^−20002.5 rounds up to 3, which 16384 bits do not show. Without a cap the search goes
    // on until they do.
    let tie = |softcap| Hard {
        bias: Some(vec![2.5, 0.0]),
        stages: vec![Stage::Softcap, Stage::Bias],
        softcap,
        ..row(&[0.0, -20_000.0], &[1.0, 1.0])
    };
    let digits = |softcap| {
        let p = tie(softcap);
        let head = p.head();
        PreciseHead::new(&head)
            .unwrap()
            .lse_digits(0, Logarithm::Natural, 1)
            .map(|digits| digits.unwrap().to_string())
    };
    assert_eq!(digits(None), Ok("3".to_owned()));
    assert_eq!(digits(Some(1e9)), Err(DigitsError::Undecided { bits: MAX_BITS }));
    let message = DigitsError::Undecided { bits: MAX_BITS }.to_string();
    assert_eq!(
        message,
        "element under a softcap at 16384 bits: expected two ends that agree, got undecided ones"
    );
    // A ball needs no decision.
    let ball = lse(&tie(Some(1e9)), Logarithm::Natural);
    assert!(ball.mid == 2.5 && ball.rad > 0.0 && is_sharp(ball), "{ball:?}");
}

#[test]
fn distances_beyond_any_double_are_exact() {
    let far = Alibi { slope: 1.0, offset: i64::MAX };
    let p = Hard { alibi: Some(far), ..row(&[0.0, 0.0], &[1.0, 3.0]) };
    // The later key is nearer by one.
    let e = std::f64::consts::E;
    assert!((output(&p).mid - (1.0 + 3.0 * e) / (1.0 + e)).abs() < 1e-15);
}

#[test]
fn what_has_no_real_value_is_an_error() {
    let plain = row(&[0.0, 1.0], &[1.0, 2.0]);
    let error = |p: &Hard| PreciseHead::new(&p.head()).map(|_| ()).unwrap_err();
    let not_finite = |what, index, got| DigitsError::NotFinite { what, index, got };
    assert_eq!(
        error(&Hard { softcap: Some(0.0), ..plain.clone() }),
        DigitsError::Softcap { got: 0.0 }
    );
    let sink = Hard { sink: Some(f64::INFINITY), ..plain.clone() };
    assert_eq!(error(&sink), not_finite("sink", 0, f64::INFINITY));
    let alibi = Some(Alibi { slope: f64::NEG_INFINITY, offset: 0 });
    assert_eq!(error(&Hard { alibi, ..plain.clone() }), not_finite("slope", 0, f64::NEG_INFINITY));
    let mut head = plain.head();
    head.normalization = Normalization::None;
    let got = PreciseHead::new(&head).map(|_| ()).unwrap_err();
    assert_eq!(got, DigitsError::Normalization { got: Normalization::None });
}
