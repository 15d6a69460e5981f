//! How many digits sums keep: an estimate from sums that are exact only if enough of them are kept.

use qkvet_engine::format::is_representable;
use qkvet_engine::lowering::ResultName;
use qkvet_spec::{
    Certainty, Contract, Dims, Dtype, Format, MeaningPatch, Output, ProbedField, Quoted, Target,
};

use super::asker::{Answer, Asker};
use super::trials::{RUNGS, Trial, Trials, call, one_hot};

/// Orders of `2^p, 1, −2^p, 0`: whether neighbors or every second addend are summed first, in some
/// order 1 meets 2^p.
const ORDERS: [[i32; 4]; 6] =
    [[2, 1, -2, 0], [2, -2, 1, 0], [1, 0, 2, -2], [2, 0, 1, -2], [1, 2, 0, -2], [0, 1, -2, 2]];

/// The addend that stands for `code` under the exponent of batch item `item`: `p = item + 1`.
fn addend(code: i32, item: usize) -> f64 {
    let large = (0..=item).fold(1.0, |power, _| power * 2.0);
    match code {
        2 => large,
        -2 => -large,
        other => f64::from(other),
    }
}

/// How many exponents are tried: those that the format holds and one accumulator or another does
/// not.
fn exponents(dtype: Dtype) -> usize {
    match dtype {
        Dtype::Float64 => 56,
        Dtype::Float16 | Dtype::Float8E4m3fn | Dtype::Float8E5m2 => 15,
        Dtype::Float32 | Dtype::Bfloat16 => 30,
    }
}

/// The sums of weighted values: four keys of weight 1/4, one column an order. Item `p − 1` keeps
/// its 1 if each of its first columns is 1/4.
fn of_values(bench: &Trials) -> Trial {
    let dims =
        Dims { b: exponents(bench.dtype), h_q: 1, h_k: 1, n_q: 1, n_k: 4, ..bench.shapes[0] };
    let value =
        |[item, _, j, c]: [usize; 4]| ORDERS.get(c).map_or(0.0, |order| addend(order[j], item));
    Trial {
        call: call(bench.dtype, dims, |_| 0.0, |_| 1.0, value),
        want: ResultName::Output,
        reads_keys: false,
    }
}

/// The dot products: key `j` has its score in order `j`, the last key has score 0. Item `p − 1`
/// keeps its 1 if the keys weigh alike and more than the last.
fn of_scores(bench: &Trials) -> Trial {
    let dims =
        Dims { b: exponents(bench.dtype), h_q: 1, h_k: 1, n_q: 1, n_k: 7, ..bench.shapes[0] };
    let query = |[.., t]: [usize; 4]| f64::from(u8::from(t < 4));
    let key = |[item, _, j, t]: [usize; 4]| match (ORDERS.get(j), t < 4) {
        (Some(order), true) => addend(order[t], item),
        _ => 0.0,
    };
    let value = |[_, _, j, c]: [usize; 4]| one_hot(c, j);
    Trial {
        call: call(bench.dtype, dims, query, key, value),
        want: ResultName::Output,
        reads_keys: false,
    }
}

fn keeps_value(row: &[f64]) -> bool {
    #[expect(clippy::float_cmp, reason = "the sum is exact or it is not")]
    row[..ORDERS.len()].iter().all(|x| *x == 0.25)
}

/// A score of 1 beside 0 makes a weight larger by a factor of `e^(1/d_k)` at least; weights of
/// equal scores are equal but for the last digits.
fn keeps_score(row: &[f64]) -> bool {
    let (keys, last) = (&row[..ORDERS.len()], row[ORDERS.len()]);
    let (least, most) =
        keys.iter().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    // Half of the way between the two: neither is near it.
    least > last && most - least < (least - last) / 2.0
}

/// What a sum of so many digits is called, if it has a name.
fn named(bits: usize) -> String {
    let name = match bits {
        8 => "bfloat16",
        11 => "float16",
        24 => "float32",
        53 => "float64",
        _ => return format!("{bits} bits"),
    };
    format!("{name} ({bits} bits)")
}

/// The digits that sums keep, as an estimate.
pub(super) fn accumulation(asker: &mut Asker<'_>, bench: &Trials) -> [ProbedField; 2] {
    let field =
        |asker: &mut Asker<'_>, id: &str, about: &str, trial: Trial, keeps: fn(&[f64]) -> bool| {
            let (certainty, values, evidence) = match asker.ask(&trial.call) {
                Answer::Output(output) => read(&trial, &output, keeps),
                Answer::Declined(reason) => (Certainty::Declined, Vec::new(), reason),
                Answer::Broken(reason) => (Certainty::Broken, Vec::new(), reason),
            };
            ProbedField {
                field: id.to_owned(),
                about: about.to_owned(),
                certainty,
                values,
                standard: String::new(),
                evidence: vec![evidence],
                telling: 0,
                measured: Vec::new(),
                meaning: MeaningPatch::default(),
            }
        };
    [
        field(
            asker,
            "value_sums",
            "digits that the sum of weighted values keeps",
            of_values(bench),
            keeps_value,
        ),
        field(
            asker,
            "score_sums",
            "digits that the dot product of query and key keeps",
            of_scores(bench),
            keeps_score,
        ),
    ]
}

/// How many exponents keep their 1, the smallest first; `None` for an output of another shape.
fn kept(trial: &Trial, output: &Output, keeps: fn(&[f64]) -> bool) -> Option<usize> {
    match output.output.shape[..] {
        [items, 1, 1, width] if items == trial.call.dims().b && width > ORDERS.len() => {
            Some(output.output.data.chunks(width).take_while(|row| keeps(row)).count())
        }
        _ => None,
    }
}

/// Whether what is multiplied is rounded to `narrow`: a single key has weight 1, and each value,
/// which has more digits than that, comes back as one of its neighbors there. At most one call a
/// shape until one is answered.
pub fn operands_keep(target: &mut dyn Target, contract: &Contract, narrow: Format) -> bool {
    let dtype = contract.dtype;
    let ulp = |format: Format| libm::ldexp(1.0, 1 - format.precision().cast_signed());
    // Numbers from 1 to 2 whose last digit is 1, and such beyond the range of float16.
    let (fine, coarse) = (ulp(dtype.into()), ulp(narrow));
    let size = |c: usize| [1.0, libm::exp2(20.0), libm::exp2(-30.0)][c % 3];
    let value = |[item, head, _, c]: [usize; 4]| {
        let spread = 0.618_033_988_749_895 * (1 + item + 7 * head + 31 * c) as f64;
        (1.0 + ((spread.fract() / (2.0 * fine)).floor() * 2.0 + 1.0) * fine) * size(c)
    };
    let mut asker = Asker::new(target, contract);
    let answer = RUNGS.into_iter().find_map(|rung| {
        let dims = Dims { n_q: 1, n_k: 1, ..Trials::new(dtype, rung).shapes[0] };
        let call = call(dtype, dims, |_| 1.0, |_| 1.0, value);
        match asker.ask(&call) {
            Answer::Output(output) => Some((call, output)),
            Answer::Declined(_) | Answer::Broken(_) => None,
        }
    });
    let Some((call, output)) = answer else { return false };
    let Dims { b, h_q, h_k, d_v, .. } = call.dims();
    let given = (0..b * h_q).flat_map(|head| {
        let (item, head) = (head / h_q, head % h_q / (h_q / h_k));
        (0..d_v).map(move |c| value([item, head, 0, c]))
    });
    let is_near = |(at, (x, given)): (usize, (&f64, f64))| {
        is_representable(*x, narrow) && (x - given).abs() < coarse * size(at % d_v)
    };
    output.output.shape[..] == [b, h_q, 1, d_v]
        && output.output.data.iter().zip(given).enumerate().all(is_near)
}

/// Whether sums of weighted values, or dot products of query and key, keep the digits of `narrow`
/// and no more: `2^p + 1 − 2^p` is 1 for each `p` below its precision and 0 at it. At most two
/// calls a shape until they are answered.
pub fn sums_keep(target: &mut dyn Target, contract: &Contract, narrow: Format) -> bool {
    let mut asker = Asker::new(target, contract);
    let mut keeps = |trial: fn(&Trials) -> Trial, keeps: fn(&[f64]) -> bool| {
        let answered = RUNGS.into_iter().find_map(|rung| {
            let trial = trial(&Trials::new(contract.dtype, rung));
            match asker.ask(&trial.call) {
                Answer::Output(output) => Some(kept(&trial, &output, keeps)),
                Answer::Declined(_) | Answer::Broken(_) => None,
            }
        });
        answered.flatten().is_some_and(|kept| kept + 1 == narrow.precision() as usize)
    };
    keeps(of_values, keeps_value) || keeps(of_scores, keeps_score)
}

fn read(
    trial: &Trial,
    output: &Output,
    keeps: fn(&[f64]) -> bool,
) -> (Certainty, Vec<String>, Quoted) {
    let Some(kept) = kept(trial, output, keeps) else {
        let shape = format!("output of shape {:?}", output.output.shape);
        return (Certainty::None, Vec::new(), shape.into());
    };
    let b = trial.call.dims().b;
    if kept == b {
        let text =
            format!("2^p + 1 − 2^p = 1 in each of {} orders for all p up to {b}", ORDERS.len());
        return (Certainty::Estimate, vec![format!("more than {b} bits")], text.into());
    }
    let at = kept + 1;
    let evidence = format!(
        "2^p + 1 − 2^p = 1 in each of {} orders for p below {at}, not for {at}",
        ORDERS.len()
    );
    (Certainty::Estimate, vec![named(kept + 1)], evidence.into())
}
