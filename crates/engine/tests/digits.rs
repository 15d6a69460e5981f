//! Certified digits against a naive formula at 900 bits, and against what is known of ties,
//! rational rows and bounds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::float_cmp, reason = "digits are exact")]

use crate::numerics_common;

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use numerics_common::{gaussians, rng};
use qkvet_engine::Products;
use qkvet_engine::digits::{Answer, Decimal, DigitsError, answer, answer_bounds};
use qkvet_engine::format::round;
use qkvet_engine::interpret::{interpret, interpret_with};
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{
    BoolTensor, Call, CallOptions, Contract, DefaultScale, Depth, Dtype, EmptyRow, ExplicitScale,
    IndexExpr, Meaning, Normalization, Stage, Tensor,
};

type Big = FBig<HalfEven, 2>;

/// Working precision of the naive formula.
const BITS: usize = 900;

fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(BITS).value()
}

fn tensor(dtype: Dtype, shape: [usize; 4], data: Vec<f64>) -> Tensor {
    Tensor { dtype, shape: shape.to_vec(), data }
}

/// A call of one head.
fn call(
    dtype: Dtype,
    (n_q, n_k, d_k, d_v): (usize, usize, usize, usize),
    data: [Vec<f64>; 3],
) -> Call {
    let [query, key, value] = data;
    Call {
        query: tensor(dtype, [1, 1, n_q, d_k], query),
        key: tensor(dtype, [1, 1, n_k, d_k], key),
        value: tensor(dtype, [1, 1, n_k, d_v], value),
        return_weights: false,
        return_lse: false,
        options: CallOptions::default(),
    }
}

fn gaussian(seed: u64, shape: (usize, usize, usize, usize), dtype: Dtype) -> Call {
    let (n_q, n_k, d_k, d_v) = shape;
    let mut rng = rng(seed);
    call(
        dtype,
        shape,
        [n_q * d_k, n_k * d_k, n_k * d_v].map(|n| gaussians(&mut rng, n, 1.0, dtype)),
    )
}

/// The output of one head under the standard meaning, straight from the definition; biases are
/// full, masks are not read.
fn naive(call: &Call) -> Vec<Big> {
    let d = call.dims();
    let scale = call.options.scale.map_or_else(|| big(1.0) / big(d.d_k as f64).sqrt(), big);
    let zero = || big(0.0);
    let mut outputs = Vec::new();
    for i in 0..d.n_q {
        let limit = if call.options.causal { (i + 1 + d.n_k).saturating_sub(d.n_q) } else { d.n_k };
        let bias =
            |j: usize| call.options.bias.as_ref().map_or(0.0, |bias| bias.data[i * d.n_k + j]);
        let seen: Vec<usize> = (0..limit).filter(|j| bias(*j) > f64::NEG_INFINITY).collect();
        let logit = |j: &usize| {
            let products = (0..d.d_k)
                .map(|t| big(call.query.data[i * d.d_k + t]) * big(call.key.data[j * d.d_k + t]));
            products.fold(zero(), |sum, product| sum + product) * scale.clone() + big(bias(*j))
        };
        let logits: Vec<Big> = seen.iter().map(logit).collect();
        let top = logits.iter().cloned().reduce(|x, y| if x > y { x } else { y });
        let weights: Vec<Big> =
            logits.into_iter().map(|z| (z - top.clone().unwrap()).exp()).collect();
        let total = weights.iter().cloned().fold(zero(), |sum, weight| sum + weight);
        for c in 0..d.d_v {
            let terms = seen
                .iter()
                .zip(&weights)
                .map(|(j, weight)| weight * big(call.value.data[j * d.d_v + c]));
            let sum = terms.fold(zero(), |sum, term| sum + term);
            outputs.push(if seen.is_empty() { zero() } else { sum / total.clone() });
        }
    }
    outputs
}

/// Digits and power of ten of the last one, of a decimal text.
fn parts(text: &str) -> (String, i64) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    (mantissa.replace('.', ""), exponent.parse::<i64>().unwrap() - fraction)
}

fn power_of_ten(exponent: i64) -> Big {
    let power = big(10.0).powi(exponent.unsigned_abs().into());
    if exponent < 0 { big(1.0) / power } else { power }
}

/// Whether a decimal text is `exact`, rounded to `digits` digits; the naive value may err by
/// `2^−800` of itself.
fn is_rounded(text: &str, exact: &Big, digits: u32) -> bool {
    let (significand, exponent) = parts(text);
    let magnitude = significand.trim_start_matches('-').trim_start_matches('0');
    let value = Big::from_parts(significand.parse().unwrap(), 0).with_precision(BITS).value()
        * power_of_ten(exponent);
    let abs = |x: Big| if x < big(0.0) { -x } else { x };
    let slack = abs(exact.clone()) * Big::from_parts(1.into(), -800);
    let first = exponent + magnitude.len() as i64 - 1;
    let half_unit = if magnitude.len() > digits as usize {
        big(0.0)
    } else {
        power_of_ten(first - i64::from(digits) + 1) / big(2.0)
    };
    abs(value - exact.clone()) <= half_unit + slack
}

/// Every digit of an answer, against the naive formula; and that a wrong last digit would be
/// noticed.
fn check(name: &str, call: &Call, digits: u32) -> Answer {
    let answer = answer(&Meaning::standard(), call, digits).unwrap();
    let naive = naive(call);
    assert_eq!(answer.values.len(), naive.len(), "{name}");
    for (at, (decimal, exact)) in answer.values.iter().zip(&naive).enumerate() {
        let text = decimal.to_string();
        let shown = exact.to_f64().value();
        assert!(
            is_rounded(&text, exact, digits),
            "{name}[{at}]: {text} for {shown:e} at {digits} digits"
        );
        let (significand, _) = parts(&text);
        if significand.trim_start_matches(['-', '0']).len() == digits as usize
            && !decimal.is_exact()
        {
            let last = text.split('e').next().unwrap().len() - 1;
            for digit in "0123456789".chars().filter(|digit| !text[last..].starts_with(*digit)) {
                let wrong = format!("{}{digit}{}", &text[..last], &text[last + 1..]);
                assert!(
                    !is_rounded(&wrong, exact, digits),
                    "{name}[{at}]: {wrong} instead of {text} was not noticed"
                );
            }
        }
        let distance = (shown - decimal.to_f64()).abs();
        assert!(
            distance <= decimal.error() + f64::EPSILON * shown.abs() + 5e-324,
            "{name}[{at}]: {distance:e}"
        );
    }
    answer
}

fn texts(answer: &Answer) -> Vec<String> {
    answer.values.iter().map(Decimal::to_string).collect()
}

#[test]
fn gaussian_data_of_every_format_and_number_of_digits() {
    for (dtype, digits) in
        [(Dtype::Float64, 17), (Dtype::Float32, 12), (Dtype::Bfloat16, 9), (Dtype::Float16, 1)]
    {
        let shape = (3, 11, 5, 4);
        check("plain", &gaussian(1, shape, dtype), digits);
        check(
            "causal",
            &Call {
                options: CallOptions { causal: true, ..CallOptions::default() },
                ..gaussian(2, shape, dtype)
            },
            digits,
        );
        check(
            "more queries than keys",
            &Call {
                options: CallOptions { causal: true, ..CallOptions::default() },
                ..gaussian(3, (5, 3, 4, 2), dtype)
            },
            digits,
        );
        check(
            "scale",
            &Call {
                options: CallOptions { scale: Some(-0.3), ..CallOptions::default() },
                ..gaussian(4, shape, dtype)
            },
            digits,
        );
        check("power of four", &gaussian(5, (2, 7, 16, 3), dtype), digits);
        check("forty digits", &gaussian(6, (1, 4, 3, 2), dtype), 40);
        let mut rng = rng(7);
        let mut bias = gaussians(&mut rng, 33, 2.0, dtype);
        bias.iter_mut().step_by(5).for_each(|b| *b = f64::NEG_INFINITY);
        let bias = Some(tensor(dtype, [1, 1, 3, 11], bias));
        check(
            "bias",
            &Call {
                options: CallOptions { bias: bias.clone(), ..CallOptions::default() },
                ..gaussian(8, shape, dtype)
            },
            digits,
        );
        check(
            "bias on a rational scale",
            &Call {
                options: CallOptions { bias, ..CallOptions::default() },
                ..gaussian(9, (3, 11, 9, 4), dtype)
            },
            digits,
        );
    }
}

#[test]
fn spread_logits_and_cancellation() {
    let dtype = Dtype::Float64;
    for size in [30.0, 300.0, 3000.0, 10_000.0] {
        let keys = [0.0, -0.25, -0.5, -1.0].map(|x| x * size);
        // The value that is not 0 sits on the lowest logit alone in the first column.
        let values = vec![0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 1.0, 1e-3];
        let data = [vec![1.0], keys.to_vec(), values];
        let answer = check(
            "spread",
            &Call {
                options: CallOptions { scale: Some(1.0), ..CallOptions::default() },
                ..call(dtype, (1, 4, 1, 2), data)
            },
            17,
        );
        let exponent = -size / std::f64::consts::LN_10;
        let text = answer.values[0].to_string();
        let got: f64 = text.split_once('e').unwrap().1.parse().unwrap();
        assert!((got - exponent).abs() <= 1.5, "{text}");
    }
    let near = [1.0, 1.0f64.next_up(), 1.0f64.next_down(), 1.0];
    let data = [vec![1.0], near.to_vec(), vec![1.0, -1.0, 1.0, -1.0]];
    check("cancellation of near weights", &call(dtype, (1, 4, 1, 1), data), 17);
    let data = [vec![1e8], near.to_vec(), vec![1e300, -1e300, 1e-300, 1e300]];
    check("huge and tiny values", &call(dtype, (1, 4, 1, 1), data), 12);
}

#[test]
fn keys_far_below_weigh_nothing_and_do_not_stop_anything() {
    let lowest = -f64::from(f32::MAX);
    let data = [vec![1.0], vec![0.0, 0.5, 0.0], vec![1.0, 0.0, 2.0, 0.0, 4.0, 8.0]];
    let bias = Some(tensor(Dtype::Float64, [1, 1, 1, 3], vec![0.0, 0.0, lowest]));
    let answer = answer(
        &Meaning::standard(),
        &Call {
            options: CallOptions { bias, ..CallOptions::default() },
            ..call(Dtype::Float64, (1, 3, 1, 2), data)
        },
        12,
    )
    .unwrap();
    assert_eq!(texts(&answer)[1], "0");
    assert!(!answer.values[1].is_exact() && answer.values[1].error() == 5e-324);
    assert!(!answer.values[0].is_exact() && texts(&answer)[0].starts_with("1.62"));
}

/// One query, logits `logit`, values `value`.
fn row(logit: &[f64], value: &[f64]) -> Call {
    let n = logit.len();
    Call {
        options: CallOptions { scale: Some(1.0), ..CallOptions::default() },
        ..call(Dtype::Float64, (1, n, 1, 1), [vec![1.0], logit.to_vec(), value.to_vec()])
    }
}

fn one(call: &Call, digits: u32) -> Decimal {
    answer(&Meaning::standard(), call, digits).unwrap().values.remove(0)
}

#[test]
fn rational_elements_are_found_exactly() {
    let exact = |call: &Call, digits: u32, text: &str| {
        let decimal = one(call, digits);
        assert_eq!((decimal.to_string().as_str(), decimal.is_exact()), (text, true));
        assert_eq!(decimal.error(), 0.0);
    };
    exact(&row(&[3.0, 3.0], &[1.0, 2.0]), 1, "1.5");
    exact(&row(&[0.0], &[0.1]), 55, "0.1000000000000000055511151231257827021181583404541015625");
    // The same mean in each of two groups of different logits.
    exact(&row(&[0.0, 1.0, 0.0, 1.0, 1.0], &[1.0, 2.0, 3.0, 4.0, 0.0]), 9, "2");
    exact(&row(&[0.0, 1.0, 0.0, 1.0], &[1.0, -0.5, -1.0, 0.5]), 9, "0");
    exact(&row(&[5.0; 5], &[1.0, 0.0, 0.0, 0.0, 0.0]), 9, "0.2");
    let third = one(&row(&[5.0; 3], &[1.0, 0.0, 0.0]), 9);
    assert_eq!((third.to_string().as_str(), third.is_exact()), ("0.333333333", false));
    // Almost the same mean: transcendental, although no binary64 sum could tell.
    let almost = one(&row(&[0.0, 1.0], &[1.0, 1.0f64.next_up()]), 17);
    assert_eq!((almost.to_string().as_str(), almost.is_exact()), ("1.0000000000000002", false));
    // Logits that are equal as numbers, though made of different products.
    let equal = call(
        Dtype::Float64,
        (1, 2, 3, 1),
        [vec![1.0, 2.0, 3.0], vec![3.0, 0.0, 0.0, 0.0, 0.0, 1.0], vec![1.0, 4.0]],
    );
    exact(&equal, 9, "2.5");
    // 3/√3 from a score against 3/√3 from a bias is equal, 1/√3 and its nearest binary64 number are
    // not.
    let bias = |b: f64| Some(tensor(Dtype::Float64, [1, 1, 1, 2], vec![0.0, b]));
    let with_bias = |d_k: usize, b: f64| {
        let key = [vec![1.0], vec![0.0; 2 * d_k - 1]].concat();
        let query = [vec![1.0], vec![0.0; d_k - 1]].concat();
        Call {
            options: CallOptions { bias: bias(b), ..CallOptions::default() },
            ..call(Dtype::Float64, (1, 2, d_k, 1), [query, key, vec![1.0, 4.0]])
        }
    };
    exact(&with_bias(4, 0.5), 9, "2.5");
    assert!(!one(&with_bias(3, 1.0 / 3f64.sqrt()), 9).is_exact());
    assert!(!one(&with_bias(9, 1.0 / 3.0), 9).is_exact());
}

#[test]
fn ties_of_rational_elements_go_to_even() {
    // 0.03125 is dyadic: it is printed in full, whatever was asked.
    assert_eq!(one(&row(&[0.0; 2], &[0.0625, 0.0]), 1).to_string(), "0.03125");
    // 0.1 ends within one digit, 0.25 is dyadic, 0.35 and 0.45 are neither.
    let fifth =
        |numerator: f64| one(&row(&[0.0; 5], &[numerator, 0.0, 0.0, 0.0, 0.0]), 1).to_string();
    assert_eq!([0.5, 1.25, 1.75, 2.25].map(fifth), ["0.1", "0.25", "0.4", "0.4"]);
    // 53 digits would be too many.
    let long = one(&row(&[0.0], &[1.0 + f64::EPSILON]), 4);
    assert_eq!((long.to_string().as_str(), long.is_exact()), ("1", false));
}

#[test]
fn digits_of_another_program() {
    // Python, decimal module, 60 digits: logits 1/√3, -2/√3, 0.25 - 1/√3, values 1, 10, -3; and
    // e^-10000 / (1 + e^-10000).
    let data = [
        vec![1.0, 0.0, 0.0],
        vec![1.0, 0.0, 0.0, -2.0, 0.0, 0.0, -1.0, 0.0, 0.0],
        vec![1.0, 10.0, -3.0],
    ];
    let bias = Some(tensor(Dtype::Float64, [1, 1, 1, 3], vec![0.0, 0.0, 0.25]));
    let three = Call {
        options: CallOptions { bias, ..CallOptions::default() },
        ..call(Dtype::Float64, (1, 3, 3, 1), data)
    };
    assert_eq!(one(&three, 40).to_string(), "0.9833323231955700049531927329808816189535");
    assert_eq!(
        one(&row(&[0.0, -10_000.0], &[0.0, 1.0]), 30).to_string(),
        "1.13548386531473609854093887507e-4343"
    );
}

#[test]
fn masks_and_empty_rows() {
    let mask =
        Some(BoolTensor { shape: vec![3, 2], data: vec![true, false, false, false, true, true] });
    let data = [vec![1.0, 1.0, 1.0], vec![0.0, 1.0], vec![0.5, 2.0]];
    let masked = Call {
        options: CallOptions { mask, scale: Some(1.0), ..CallOptions::default() },
        ..call(Dtype::Float64, (3, 2, 1, 1), data)
    };
    let of = |empty_row| answer(&Meaning { empty_row, ..Meaning::standard() }, &masked, 6);
    // (0.5 + 2e)/(1 + e) = 2 - 1.5/(1 + e), 1 + e = 3.718281828
    assert_eq!(texts(&of(EmptyRow::Zero).unwrap()), ["0.5", "0", "1.59659"]);
    assert_eq!(texts(&of(EmptyRow::Mean).unwrap()), ["0.5", "1.25", "1.59659"]);
    assert_eq!(of(EmptyRow::Nan), Err(DigitsError::EmptyRow { b: 0, h: 0, i: 1 }));
}

/// Two items, four query heads on two key/value heads.
fn grouped() -> Call {
    let mut rng = rng(11);
    let mut make = |shape: [usize; 4]| {
        tensor(
            Dtype::Float32,
            shape,
            gaussians(&mut rng, shape.iter().product(), 1.0, Dtype::Float32),
        )
    };
    Call {
        query: make([2, 4, 3, 5]),
        key: make([2, 2, 6, 5]),
        value: make([2, 2, 6, 2]),
        ..gaussian(0, (1, 1, 1, 1), Dtype::Float32)
    }
}

#[test]
fn every_choice_of_a_meaning_agrees_with_its_enclosure() {
    let map = |text: &str| IndexExpr::new(text).unwrap();
    let standard = Meaning::standard();
    let bias_first = vec![Stage::Bias, Stage::Scale];
    let meanings = [
        standard.clone(),
        Meaning { default_scale: DefaultScale::Inverse, ..standard.clone() },
        Meaning { scale_of: IndexExpr::new("d_v").unwrap(), ..standard.clone() },
        Meaning { default_scale: DefaultScale::One, ..standard.clone() },
        Meaning { explicit_scale: ExplicitScale::TimesDefault, ..standard.clone() },
        Meaning { explicit_scale: ExplicitScale::Ignored, ..standard.clone() },
        Meaning { stages: bias_first.clone(), ..standard.clone() },
        Meaning { stages: bias_first, default_scale: DefaultScale::Inverse, ..standard.clone() },
        Meaning { zero_keys: map("2"), ..standard.clone() },
        Meaning { keys: map("n_k - 1"), head_map: map("h % h_k"), ..standard.clone() },
        Meaning { output_width: map("d_v + 1"), ..standard.clone() },
        Meaning { output_width: map("1"), value_index: map("n_k - 1 - j"), ..standard.clone() },
    ];
    let bias =
        tensor(Dtype::Float32, [1, 4, 1, 6], gaussians(&mut rng(3), 24, 1.0, Dtype::Float32));
    for meaning in &meanings {
        for scale in [None, Some(0.4)] {
            for bias in [None, Some(bias.clone())] {
                let call = Call {
                    options: CallOptions { scale, bias, causal: true, ..CallOptions::default() },
                    ..grouped()
                };
                let answer = answer(meaning, &call, 12).unwrap();
                let expected = interpret(meaning, &call, &contract(), ResultName::Output);
                assert_eq!(
                    (answer.shape, answer.values.len()),
                    (expected.shape, expected.exact.len())
                );
                for (decimal, ball) in answer.values.iter().zip(&expected.exact) {
                    let distance = (decimal.to_f64() - ball.mid).abs();
                    let allowed = (decimal.error() + ball.rad) * (1.0 + 1e-9) + 1e-300;
                    assert!(
                        distance <= allowed,
                        "{meaning:?}: {decimal} against {} ± {}",
                        ball.mid,
                        ball.rad
                    );
                }
            }
        }
    }
}

fn contract() -> Contract {
    Contract {
        contract: "float32".to_owned(),
        title: String::new(),
        dtype: Dtype::Float32,
        output: None,
        wider_output: false,
        lse: None,
        default: true,
        frozen: false,
        storage: None,
        operands: None,
        dot: Dtype::Float32,
        dot_bits: None,
        truncates: false,
        depth: Depth::default(),
        softmax: Dtype::Float32,
        input_roundings: 2,
        score_roundings: 0,
        weights: Dtype::Float32,
        stored_steps: false,
        sum_of_rounded: true,
        divides_last: false,
        exp_error: 4,
        tanh_error: 4,
        tile: Some(2),
        merges: true,
        partial: None,
        about: String::new(),
    }
}

#[test]
fn bounds_are_those_of_the_contract_and_of_the_digits() {
    let (standard, call) = (Meaning::standard(), grouped());
    for digits in [2, 12] {
        let answer = answer(&standard, &call, digits).unwrap();
        let bounds = answer_bounds(&standard, &call, &contract(), &answer);
        let expected =
            interpret_with(&standard, &call, &contract(), ResultName::Output, Products::FixedOrder);
        for ((bound, decimal), (ball, hard)) in
            bounds.iter().zip(&answer.values).zip(expected.exact.iter().zip(&expected.hard))
        {
            // The worst output that the contract admits is within the bound of what is printed, and
            // little more is.
            let worst = (ball.mid - decimal.to_f64()).abs() + hard;
            assert!(*bound >= worst - ball.rad, "{bound:e} below {worst:e}");
            assert!(*bound <= (hard + decimal.error()) * 1.011 + 1e-16, "{bound:e} for {hard:e}");
            assert_eq!(*bound, format!("{bound:.2e}").parse::<f64>().unwrap());
        }
        // Parsed decimals know their error again.
        let values = answer
            .values
            .iter()
            .map(|d| d.to_string().parse::<Decimal>().unwrap().rounded_to(digits));
        assert_eq!(Answer { values: values.collect(), ..answer.clone() }, answer);
    }
}

#[test]
fn a_bound_of_nothing_needs_exact_digits() {
    let strict = Contract { merges: false, ..contract() };
    let bound = |value: &[f64], digits: u32| {
        let n = value.len();
        let value: Vec<f64> = value.iter().map(|v| round(*v, Dtype::Float32)).collect();
        let call = call(Dtype::Float32, (1, n, 1, 1), [vec![0.0], vec![0.0; n], value]);
        let answer = answer(&Meaning::standard(), &call, digits).unwrap();
        answer_bounds(&Meaning::standard(), &call, &strict, &answer)[0]
    };
    assert_eq!(bound(&[1.0, 2.0], 12), 0.0);
    assert_eq!(bound(&[0.1], 27), 0.0);
    // This one has more than 40 digits: what is printed is 1e-9, which is not the binary32 number.
    assert_eq!(bound(&[1e-9], 3), 5.01e-12);
    assert_eq!(bound(&[3e38, 3e38, 3e38, 3e38], 12), f64::INFINITY);
}

#[test]
fn what_has_no_digits_is_an_error() {
    let standard = Meaning::standard();
    let plain = row(&[0.0, 1.0], &[1.0, 2.0]);
    for digits in [0, 1001] {
        assert_eq!(answer(&standard, &plain, digits), Err(DigitsError::Digits { got: digits }));
    }
    for got in [Normalization::OverQueries, Normalization::None] {
        let meaning = Meaning { normalization: got, ..standard.clone() };
        assert_eq!(answer(&meaning, &plain, 9), Err(DigitsError::Normalization { got }));
    }
    let infinite = row(&[0.0, f64::INFINITY], &[1.0, 2.0]);
    let not_finite = |what, index, got| Err(DigitsError::NotFinite { what, index, got });
    assert_eq!(answer(&standard, &infinite, 9), not_finite("key", 1, f64::INFINITY));
    let scaled = Call {
        options: CallOptions { scale: Some(f64::NEG_INFINITY), ..CallOptions::default() },
        ..plain.clone()
    };
    assert_eq!(answer(&standard, &scaled, 9), not_finite("scale", 0, f64::NEG_INFINITY));
    let bias = |b: f64| Some(tensor(Dtype::Float64, [1, 1, 1, 2], vec![0.0, b]));
    let infinite = Call {
        options: CallOptions { bias: bias(f64::INFINITY), ..CallOptions::default() },
        ..plain.clone()
    };
    assert_eq!(answer(&standard, &infinite, 9), not_finite("bias", 1, f64::INFINITY));
    let hiding = Call {
        options: CallOptions {
            bias: bias(f64::NEG_INFINITY),
            scale: Some(-1.0),
            ..CallOptions::default()
        },
        ..plain
    };
    assert_eq!(texts(&answer(&standard, &hiding, 9).unwrap()), ["1"]);
    let scaled_bias =
        Meaning { stages: vec![Stage::Bias, Stage::Scale, Stage::Softcap], ..standard };
    assert_eq!(
        answer(&scaled_bias, &hiding, 9),
        Err(DigitsError::NotHiding { index: 1, scale: -1.0 })
    );
    let message = DigitsError::NotHiding { index: 1, scale: -1.0 }.to_string();
    assert_eq!(message, "bias at 1: expected -inf times a positive scale, got a scale of -1");
}
