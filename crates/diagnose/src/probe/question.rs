//! The questions, in the order in which they are asked: which fields their calls tell apart. What a
//! later question needs, an earlier one has settled.

use qkvet_engine::lowering::ResultName;
use qkvet_spec::{CallOptions, Dims, Packed, Window};

use super::field::{
    ALIBI, BIAS, BIAS_AXES, CAUSAL, DEFAULT_SCALE, EMPTY_LSE, EMPTY_ROW, EXPLICIT_SCALE, Field,
    HEAD_MAP, KEY_ITEM, KEY_LENGTHS, KEYS, LAYOUT, LENGTH_ANCHOR, LSE_BASE, MASK, MASK_AXES,
    NORMALIZATION, OUTPUT_WIDTH, PACKED, QUERY_HEAD, QUERY_INDEX, QUERY_LENGTHS, SINKS, SOFTCAP,
    SOFTCAP_ORDER, VALUE_INDEX, VALUES, WINDOW, ZERO_KEYS,
};
use super::trials::{Trial, Trials, call, one_hot, uniform};

/// Calls and the fields that they tell apart.
#[derive(Debug)]
pub(super) struct Question {
    /// The first is what is asked about, the others are what its calls depend on besides.
    pub(super) fields: &'static [&'static Field],
    pub(super) calls: fn(&Trials) -> Vec<Trial>,
    /// Earlier fields that these calls need not obey: what holds for a bias need not hold for
    /// ALiBi.
    pub(super) apart: &'static [&'static Field],
}

impl Question {
    const fn new(fields: &'static [&'static Field], calls: fn(&Trials) -> Vec<Trial>) -> Self {
        Self { fields, calls, apart: &[] }
    }

    /// The fields of which earlier answers do not count here.
    pub(super) fn without(&self) -> Vec<&'static Field> {
        self.fields.iter().chain(self.apart).copied().collect()
    }
}

/// What is known of the bias.
const BIAS_STAGE: &[&Field] = &[&BIAS, &SOFTCAP, &SOFTCAP_ORDER];

/// Asked first, in a shape that fits both layouts.
pub(super) static FIRST: Question =
    Question::new(&[&LAYOUT, &NORMALIZATION, &ZERO_KEYS, &KEYS], square);

/// Asked when the bench is chosen.
pub(super) static QUESTIONS: &[Question] = &[
    Question::new(&[&KEYS, &ZERO_KEYS, &NORMALIZATION, &OUTPUT_WIDTH], long),
    Question::new(&[&NORMALIZATION, &OUTPUT_WIDTH], plain),
    Question::new(&[&OUTPUT_WIDTH], wide),
    Question::new(&[&HEAD_MAP, &KEY_ITEM], constant),
    Question::new(&[&KEY_ITEM], items),
    Question::new(&[&VALUES], negative),
    Question::new(&[&DEFAULT_SCALE, &VALUE_INDEX], sloped),
    Question::new(&[&QUERY_HEAD, &QUERY_INDEX, &VALUE_INDEX], routed),
    Question::new(&[&EXPLICIT_SCALE], scaled),
    Question::new(&[&MASK], masked),
    Question::new(&[&EMPTY_ROW, &MASK], masked_rows),
    Question::new(&[&MASK_AXES], spread_masks),
    Question::new(&[&CAUSAL, &EMPTY_ROW], causal),
    Question::new(&[&WINDOW, &EMPTY_ROW], windows),
    Question::new(&[&KEY_LENGTHS], key_lengths),
    Question::new(&[&QUERY_LENGTHS, &EMPTY_ROW], query_lengths),
    Question::new(&[&LENGTH_ANCHOR], anchored_lengths),
    Question::new(&[&PACKED], packed),
    Question::new(&[&BIAS], biased),
    Question::new(&[&BIAS_AXES], spread_biases),
    Question::new(&[&SOFTCAP], capped),
    Question::new(&[&SOFTCAP_ORDER], capped_and_biased),
    Question::new(&[&SINKS], sinks),
    Question { apart: BIAS_STAGE, ..Question::new(&[&ALIBI], alibi) },
    Question { apart: BIAS_STAGE, ..Question::new(&[&LENGTH_ANCHOR], alibi_lengths) },
    Question::new(&[&LSE_BASE], lse),
    Question::new(&[&EMPTY_LSE, &EMPTY_ROW], empty_lse),
];

/// Values that tell layouts apart: a column for each position, one for each head.
fn square(bench: &Trials) -> Vec<Trial> {
    let dims = Dims { b: 2, h_q: 3, h_k: 3, n_q: 5, n_k: 5, d_k: 8, d_v: 8 };
    let value = |[_, h, j, c]: [usize; 4]| one_hot(c, j) + one_hot(c, dims.n_k + h);
    let call = call(bench.dtype, dims, |_| 0.0, |_| 1.0, value);
    vec![Trial { call, want: ResultName::Output, reads_keys: false }]
}

pub(super) fn plain(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| bench.uniform(dims, CallOptions::default()))
}

/// Numbers of keys beyond the usual tiles, not a multiple of them. The values are the binary digits
/// of `j + 1`.
fn long(bench: &Trials) -> Vec<Trial> {
    let long = |n_k: usize| {
        let one = bench.shapes[0];
        let dims = Dims { b: 1, h_q: one.h_k, n_q: 2, n_k, ..one };
        let digits = |[_, _, j, c]: [usize; 4]| f64::from(u8::from(c < 8 && (j + 1) >> c & 1 == 1));
        Trial {
            call: call(bench.dtype, dims, |_| 0.0, |_| 1.0, digits),
            want: ResultName::Output,
            reads_keys: false,
        }
    };
    [20, 37, 100, 150].map(long).into()
}

/// Values of another width than keys, narrower and wider, whatever the bench.
fn wide(bench: &Trials) -> Vec<Trial> {
    let [one, other] = bench.shapes;
    let shapes = [Dims { d_v: one.d_k * 2, ..one }, Dims { d_k: other.d_v * 2, ..other }];
    shapes.map(|dims| bench.uniform(dims, CallOptions::default())).into()
}

/// Values that are the same for all keys: a column for each batch item and key/value head.
fn constant(bench: &Trials) -> Vec<Trial> {
    let constant = |dims: Dims| {
        let value = |[item, h, _, c]: [usize; 4]| one_hot(c, item * dims.h_k + h);
        Trial {
            call: call(bench.dtype, dims, |_| 0.0, |_| 1.0, value),
            want: ResultName::Output,
            reads_keys: false,
        }
    };
    bench.grouped().map(constant).into()
}

/// Values that are the same for all keys and heads: a column for each batch item.
fn items(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let value = |[item, _, _, c]: [usize; 4]| one_hot(c, item);
        Trial {
            call: call(bench.dtype, dims, |_| 0.0, |_| 1.0, value),
            want: ResultName::Output,
            reads_keys: false,
        }
    })
}

fn negative(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let mut trial = uniform(bench.dtype, dims);
        trial.call.value.data.iter_mut().for_each(|v| *v = -*v);
        Trial { reads_keys: false, ..trial }
    })
}

/// Each query agrees with one key, another one for each item, head and row.
fn routed(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let query =
            |[item, h, i, t]: [usize; 4]| 64.0 * one_hot(t, (3 * item + 2 * h + i) % dims.n_k);
        let key = |[_, _, j, t]: [usize; 4]| one_hot(t, j);
        let value = |[_, _, j, c]: [usize; 4]| one_hot(c, j);
        Trial {
            call: call(bench.dtype, dims, query, key, value),
            want: ResultName::Output,
            reads_keys: false,
        }
    })
}

/// The same query everywhere, `q·k_j = 2j`: the weights rise with the keys, the faster the larger
/// the scale.
pub(super) fn slope(bench: &Trials, dims: Dims, options: CallOptions) -> Trial {
    let query = |[_, _, _, t]: [usize; 4]| 2.0 * one_hot(t, 0);
    let key = |[_, _, j, t]: [usize; 4]| j as f64 * one_hot(t, 0);
    let value = |[_, _, j, c]: [usize; 4]| one_hot(c, j);
    let mut call = call(bench.dtype, dims, query, key, value);
    call.options = options;
    Trial { call, want: ResultName::Output, reads_keys: false }
}

pub(super) fn sloped(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| slope(bench, dims, CallOptions::default()))
}

pub(super) fn scaled(bench: &Trials) -> Vec<Trial> {
    let scaled = |scale: f64| {
        bench.each(|bench, dims| {
            slope(bench, dims, CallOptions { scale: Some(scale), ..CallOptions::default() })
        })
    };
    [0.75, -0.5].map(scaled).concat()
}

/// A pattern in which every query sees keys and misses keys, alike for all items and heads.
fn masked(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
        bench.uniform(
            dims,
            CallOptions {
                mask: Trials::mask(&full, |[_, _, i, j]| (i + j) % 3 == 0),
                ..CallOptions::default()
            },
        )
    })
}

/// A row of the mask that is false throughout, one that is true, and others.
fn striped(bench: &Trials, dims: Dims) -> Trial {
    let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
    let at = |[_, _, i, j]: [usize; 4]| i == 0 || (i > 1 && (i + j) % 3 == 0);
    bench.uniform(dims, CallOptions { mask: Trials::mask(&full, at), ..CallOptions::default() })
}

fn masked_rows(bench: &Trials) -> Vec<Trial> {
    bench.each(striped)
}

/// The shapes that a mask or bias may have: all axes, two axes, one that counts.
fn forms(dims: Dims) -> [[usize; 4]; 4] {
    let Dims { b, h_q, n_q, n_k, .. } = dims;
    [[b, h_q, n_q, n_k], [1, 1, n_q, n_k], [b, 1, 1, n_k], [1, h_q, 1, n_k]]
}

/// Another pattern for each item and head, in every form.
fn spread_masks(bench: &Trials) -> Vec<Trial> {
    let at = |[item, h, i, j]: [usize; 4]| j == 0 || (5 * item + 3 * h + i + j) % 4 < 2;
    let of = |dims: Dims| {
        forms(dims).map(|form| {
            bench.uniform(
                dims,
                CallOptions { mask: Trials::mask(short(&form), at), ..CallOptions::default() },
            )
        })
    };
    bench.shapes.map(of).concat()
}

/// The short form of a shape whose first two axes are 1.
fn short(form: &[usize; 4]) -> &[usize] {
    if form[..2] == [1, 1] { &form[2..] } else { form }
}

fn causal(bench: &Trials) -> Vec<Trial> {
    let square = Dims { n_q: bench.shapes[0].n_k, ..bench.shapes[0] };
    [bench.shapes[0], bench.shapes[1], square]
        .map(|dims| bench.uniform(dims, CallOptions { causal: true, ..CallOptions::default() }))
        .into()
}

fn windows(bench: &Trials) -> Vec<Trial> {
    let of = |(left, right)| {
        bench.each(|bench, dims| {
            bench.uniform(
                dims,
                CallOptions { window: Some(Window { left, right }), ..CallOptions::default() },
            )
        })
    };
    [(Some(1), Some(1)), (Some(2), Some(0)), (None, Some(1))].map(of).concat()
}

/// Another number for each item, from 1 to all.
fn lengths(b: usize, n: usize) -> Vec<usize> {
    (0..b).map(|item| n - (2 * item + n - 3) % n).collect()
}

fn key_lengths(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        bench.uniform(
            dims,
            CallOptions { key_lengths: Some(lengths(dims.b, dims.n_k)), ..CallOptions::default() },
        )
    })
}

/// With weights that differ, so that a query that sees all keys is not one that sees none and gives
/// their mean.
fn query_lengths(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        slope(
            bench,
            dims,
            CallOptions {
                query_lengths: Some(lengths(dims.b, dims.n_q)),
                ..CallOptions::default()
            },
        )
    })
}

fn anchored_lengths(bench: &Trials) -> Vec<Trial> {
    let of = |options: CallOptions| {
        bench.each(|bench, dims| {
            let key_lengths = Some(lengths(dims.b, dims.n_k));
            bench.uniform(dims, CallOptions { key_lengths, ..options.clone() })
        })
    };
    let window = Some(Window { left: Some(1), right: Some(1) });
    [
        CallOptions { causal: true, ..CallOptions::default() },
        CallOptions { window, ..CallOptions::default() },
    ]
    .map(of)
    .concat()
}

fn packed(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let offsets = |n: usize| vec![0, n / 3, n];
        let packed = Packed { query_offsets: offsets(dims.n_q), key_offsets: offsets(dims.n_k) };
        bench.uniform(
            Dims { b: 1, ..dims },
            CallOptions { packed: Some(packed), ..CallOptions::default() },
        )
    })
}

/// From −2 to 2.
fn bias(i: usize, j: usize) -> f64 {
    ((2 * i + 3 * j) % 5) as f64 - 2.0
}

fn biased(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
        let bias = Some(bench.tensor(&full, |[_, _, i, j]| bias(i, j)));
        Trial {
            reads_keys: false,
            ..bench.uniform(dims, CallOptions { bias, ..CallOptions::default() })
        }
    })
}

fn spread_biases(bench: &Trials) -> Vec<Trial> {
    let of = |dims: Dims| {
        forms(dims).map(|form| {
            let bias =
                Some(bench.tensor(short(&form), |[item, h, i, j]| bias(item + 4 * h + i, j)));
            Trial {
                reads_keys: false,
                ..bench.uniform(dims, CallOptions { bias, ..CallOptions::default() })
            }
        })
    };
    bench.shapes.map(of).concat()
}

pub(super) fn capped(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        slope(bench, dims, CallOptions { softcap: Some(2.0), ..CallOptions::default() })
    })
}

fn capped_and_biased(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let full = [dims.b, dims.h_q, dims.n_q, dims.n_k];
        let bias = Some(bench.tensor(&full, |[_, _, i, j]| bias(i, j)));
        slope(bench, dims, CallOptions { softcap: Some(2.0), bias, ..CallOptions::default() })
    })
}

fn sinks(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let sinks = Some(bench.tensor(&[dims.h_q], |[.., h]| (h % 5) as f64 - 1.0));
        bench.uniform(dims, CallOptions { sinks, ..CallOptions::default() })
    })
}

fn slopes(bench: &Trials, dims: Dims) -> CallOptions {
    CallOptions {
        alibi_slopes: Some(bench.tensor(&[dims.h_q], |[.., h]| (h + 1) as f64 / 4.0)),
        ..CallOptions::default()
    }
}

fn alibi(bench: &Trials) -> Vec<Trial> {
    bench
        .each(|bench, dims| Trial { reads_keys: false, ..bench.uniform(dims, slopes(bench, dims)) })
}

fn alibi_lengths(bench: &Trials) -> Vec<Trial> {
    bench.each(|bench, dims| {
        let key_lengths = Some(lengths(dims.b, dims.n_k));
        let options = CallOptions { key_lengths, ..slopes(bench, dims) };
        Trial { reads_keys: false, ..bench.uniform(dims, options) }
    })
}

/// The log-sum-exp beside the output.
fn with_lse(mut trial: Trial) -> Trial {
    trial.call.return_lse = true;
    Trial { want: ResultName::Lse, reads_keys: false, ..trial }
}

fn lse(bench: &Trials) -> Vec<Trial> {
    plain(bench).into_iter().map(with_lse).collect()
}

fn empty_lse(bench: &Trials) -> Vec<Trial> {
    let causal =
        bench.uniform(bench.shapes[1], CallOptions { causal: true, ..CallOptions::default() });
    [causal, striped(bench, bench.shapes[0])].map(with_lse).into()
}

#[cfg(test)]
mod tests {
    use qkvet_engine::interpret::interpret;
    use qkvet_spec::{Catalog, Contract, Dtype, Meaning};

    use super::*;
    use crate::probe::hypothesis::Hypothesis;
    use crate::probe::trials::{RUNGS, swapped};

    fn contract(dtype: Dtype) -> Contract {
        let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        catalog.default_contract(dtype).unwrap_or_else(|error| panic!("{error}")).clone()
    }

    /// Whether no output is within the bounds of both.
    fn are_disjoint(
        one: &Hypothesis,
        other: &Hypothesis,
        trial: &Trial,
        contract: &Contract,
    ) -> bool {
        let allowed = |hypothesis: &Hypothesis| {
            let expected = interpret(&hypothesis.meaning, &trial.call, contract, trial.want);
            let each = expected
                .exact
                .iter()
                .zip(&expected.hard)
                .map(|(ball, hard)| (ball.mid, ball.rad + hard));
            (expected.shape, each.collect::<Vec<_>>())
        };
        let ((shape, one), (other_shape, other)) = (allowed(one), allowed(other));
        let apart = |((x, r), (y, s)): (&(f64, f64), &(f64, f64))| {
            x.to_bits() != y.to_bits() && ((x - y).is_nan() || (x - y).abs() > r + s)
        };
        shape != other_shape || one.iter().zip(&other).any(apart)
    }

    #[test]
    fn some_call_tells_every_two_values_apart() {
        let standard = Hypothesis::new(Meaning::standard());
        for dtype in [Dtype::Float64, Dtype::Float32] {
            for rung in [RUNGS[0], RUNGS[2]] {
                let (bench, contract) = (Trials::new(dtype, rung), contract(dtype));
                let mut fields: Vec<&Field> =
                    QUESTIONS.iter().flat_map(|question| question.fields).copied().collect();
                fields.dedup_by_key(|field| field.id);
                for field in fields {
                    let asks =
                        |one: &&Question| one.fields.iter().any(|other| other.id == field.id);
                    let questions = QUESTIONS.iter().filter(asks);
                    let trials: Vec<Trial> =
                        questions.flat_map(|question| (question.calls)(&bench)).collect();
                    for (at, one) in (0..field.len()).map(|at| (at, field.name(at))) {
                        for (other_at, other) in (0..at).map(|at| (at, field.name(at))) {
                            let [x, y] = [at, other_at].map(|at| standard.with(field.effect(at)));
                            let is_told =
                                trials.iter().any(|trial| are_disjoint(&x, &y, trial, &contract));
                            assert!(
                                is_told,
                                "{dtype}, {}: no call tells {one} and {other} apart",
                                field.id
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_call_tells_layouts_apart() {
        let bench = Trials::new(Dtype::Float32, RUNGS[0]);
        let trial = square(&bench).swap_remove(0);
        let contract = contract(Dtype::Float32);
        let given = interpret(&Meaning::standard(), &trial.call, &contract, ResultName::Output);
        let call = crate::probe::trials::swapped_call(&trial.call);
        let read = interpret(&Meaning::standard(), &call, &contract, ResultName::Output);
        let mids = read.exact.iter().map(|ball| ball.mid).collect();
        let read = swapped(&qkvet_spec::Tensor {
            dtype: Dtype::Float32,
            shape: read.shape.into(),
            data: mids,
        });
        let apart = |((ball, hard), x): ((&qkvet_engine::ball::Ball, &f64), &f64)| {
            (ball.mid - x).abs() > ball.rad + 2.0 * hard
        };
        assert!(given.exact.iter().zip(&given.hard).zip(&read.data).any(apart));
    }
}
