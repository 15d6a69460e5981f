//! Problems of one head that are hard on an enclosure: families of data, each with any options.

#![allow(dead_code, reason = "every test file uses a part of it")]

use qkvet_engine::format::round;
use qkvet_engine::head::{Alibi, EmptyRow, Head, Normalization, RealScale, Span, Stage, Visible};
use qkvet_spec::Dtype;

/// A stream of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let (a, b) = (self.unit(), self.unit());
        (-2.0 * libm::log(1.0 - a)).sqrt() * libm::cos(std::f64::consts::TAU * b)
    }

    fn normals(&mut self, n: usize, size: f64, dtype: Dtype) -> Vec<f64> {
        (0..n).map(|_| round(size * self.normal(), dtype)).collect()
    }
}

/// Something that can be done to any problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Spans from the first key to a diagonal.
    Causal,
    /// Spans of a few keys around a diagonal, some of them empty.
    Window,
    /// A random mask; some rows see nothing.
    Mask,
    /// A bias, some of whose entries hide.
    Bias,
    /// A bias that is scaled.
    BiasFirst,
    /// No scale among the stages.
    NoScale,
    /// A cap behind the scale.
    Softcap,
    /// Stages in any order.
    Stages,
    /// Biases by distance.
    Alibi,
    /// A logit without a value.
    Sink,
    /// Sums that are not divided.
    Undivided,
    /// Weights divided along the queries.
    OverQueries,
}

/// Every choice whose outputs arbitrary precision knows.
pub(crate) const CHOICES: [Choice; 10] = [
    Choice::Causal,
    Choice::Window,
    Choice::Mask,
    Choice::Bias,
    Choice::BiasFirst,
    Choice::NoScale,
    Choice::Softcap,
    Choice::Stages,
    Choice::Alibi,
    Choice::Sink,
];

/// The others.
pub(crate) const NORMALIZATIONS: [Choice; 2] = [Choice::Undivided, Choice::OverQueries];

/// The families of data, by name.
pub(crate) const FAMILIES: [&str; 27] = [
    "gauss float64",
    "gauss float32",
    "gauss bfloat16, exact dot products",
    "irrational scale",
    "logits of 1e2",
    "logits of 1e4",
    "logits of 1e8",
    "big common logit, tiny spread",
    "keys that are nearly alike, large norms",
    "cancelling dot products",
    "values around 1e6",
    "values of 1e300",
    "subnormal values",
    "queries of 1e150, keys of 1e-150",
    "subnormal products",
    "logits around the cut-off",
    "one key",
    "keys of width 1",
    "equal values",
    "alternating values of 1e10",
    "small integers, many ties",
    "queries of zeros",
    "dead keys",
    "sentinel biases",
    "tiny scale",
    "negative scale",
    "many keys",
];

#[derive(Clone, Debug)]
pub(crate) enum Sees {
    All,
    Spans(Vec<Span>),
    Mask(Vec<bool>),
}

/// A head that owns its data.
#[derive(Clone, Debug)]
pub(crate) struct Hard {
    pub(crate) family: usize,
    pub(crate) n_q: usize,
    pub(crate) n_k: usize,
    pub(crate) d_k: usize,
    pub(crate) d_v: usize,
    pub(crate) query: Vec<f64>,
    pub(crate) key: Vec<f64>,
    pub(crate) value: Vec<f64>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) scale: RealScale,
    pub(crate) softcap: Option<f64>,
    pub(crate) bias: Option<Vec<f64>>,
    pub(crate) alibi: Option<Alibi>,
    pub(crate) alibi_shifts: Option<Vec<i64>>,
    pub(crate) sink: Option<f64>,
    pub(crate) sees: Sees,
    pub(crate) normalization: Normalization,
    pub(crate) empty_row: EmptyRow,
}

impl Hard {
    /// A problem of a family with the given choices, made from a seed.
    pub(crate) fn new(family: usize, seed: u64, shape: [usize; 4], choices: &[Choice]) -> Self {
        let mut random = Random::new(seed);
        let mut problem = Self::plain(family, &mut random, shape);
        for choice in choices {
            problem.choose(*choice, &mut random);
        }
        problem
    }

    fn plain(family: usize, random: &mut Random, [n_q, n_k, d_k, d_v]: [usize; 4]) -> Self {
        let name = FAMILIES[family];
        let dtype = match name {
            "gauss float32" => Dtype::Float32,
            "gauss bfloat16, exact dot products" => Dtype::Bfloat16,
            _ => Dtype::Float64,
        };
        let n_k = match name {
            "one key" => 1,
            "many keys" => 300 + 40 * n_k,
            _ => n_k,
        };
        let d_k = if name == "keys of width 1" { 1 } else { d_k };
        let n_q = if name == "many keys" { 1 } else { n_q };
        let (query_size, key_size, value_size) = match name {
            "logits of 1e2" => (10.0, 10.0, 1.0),
            "logits of 1e4" => (100.0, 100.0, 1.0),
            "logits of 1e8" => (1e4, 1e4, 1.0),
            "values of 1e300" => (1.0, 1.0, 1e300),
            "subnormal values" => (1.0, 1.0, 1e-310),
            "queries of 1e150, keys of 1e-150" => (1e150, 1e-150, 1.0),
            "subnormal products" => (1e-160, 1e-160, 1.0),
            "logits around the cut-off" => (40.0, 30.0, 1.0),
            "tiny scale" => (1e5, 1e5, 1.0),
            _ => (1.0, 1.0, 1.0),
        };
        let mut query = random.normals(n_q * d_k, query_size, dtype);
        let mut key = random.normals(n_k * d_k, key_size, dtype);
        let mut value = random.normals(n_k * d_v, value_size, dtype);
        let mut bias = None;
        let mut scale = RealScale::exact(0.125);
        match name {
            "irrational scale" => scale = RealScale::over_root(1.0 + random.unit(), 80),
            "big common logit, tiny spread" => {
                query.iter_mut().for_each(|x| *x = 1e5 * (1.0 + 1e-3 * *x));
                key.iter_mut().for_each(|x| *x = 1.0 + 1e-12 * *x);
            }
            "keys that are nearly alike, large norms" => {
                query.iter_mut().for_each(|x| *x *= 1e3);
                let first = key[..d_k].to_vec();
                key.iter_mut().enumerate().for_each(|(at, x)| *x = first[at % d_k] + 1e-6 * *x);
            }
            "cancelling dot products" => {
                let half = d_k / 2;
                for row in query.chunks_mut(d_k) {
                    row.iter_mut().for_each(|x| *x *= 1e4);
                    (0..half).for_each(|t| row[half + t] = row[t]);
                }
                for row in key.chunks_mut(d_k) {
                    (0..half).for_each(|t| row[half + t] = -row[t] * (1.0 + 1e-9 * row[half + t]));
                }
            }
            "values around 1e6" => value.iter_mut().for_each(|x| *x += 1e6),
            "equal values" => value.fill(0.5),
            "alternating values of 1e10" => {
                value.iter_mut().for_each(|x| *x += if random.unit() < 0.5 { 1e10 } else { -1e10 });
            }
            "small integers, many ties" => {
                for data in [&mut query, &mut key, &mut value] {
                    data.iter_mut().for_each(|x| *x = x.round());
                }
            }
            "queries of zeros" => query.fill(0.0),
            "dead keys" => {
                query.fill(0.0);
                bias = Some(
                    (0..n_q * n_k).map(|at| if at % 3 == 0 { 0.0 } else { -1200.0 }).collect(),
                );
            }
            "sentinel biases" => {
                let lowest = -f64::from(f32::MAX);
                bias = Some(
                    (0..n_q * n_k)
                        .map(|_| if random.unit() < 0.5 { lowest } else { random.normal() })
                        .collect(),
                );
            }
            "tiny scale" => scale = RealScale::exact(1e-11 * random.normal()),
            "negative scale" => scale = RealScale::over_root(-1.5, 3),
            _ => {}
        }
        Self {
            family,
            n_q,
            n_k,
            d_k,
            d_v,
            query,
            key,
            value,
            stages: vec![Stage::Scale, Stage::Softcap, Stage::Bias],
            scale,
            softcap: None,
            bias,
            alibi: None,
            alibi_shifts: None,
            sink: None,
            sees: Sees::All,
            normalization: Normalization::OverKeys,
            empty_row: EmptyRow::Zero,
        }
    }

    /// The problem whose output is the weights of this one: its values are the rows of the
    /// identity.
    pub(crate) fn of_weights(&self) -> Self {
        let n = self.n_k;
        let value = (0..n * n).map(|at| if at % n == at / n { 1.0 } else { 0.0 }).collect();
        Self { value, d_v: n, ..self.clone() }
    }

    fn choose(&mut self, choice: Choice, random: &mut Random) {
        let (n_q, n_k) = (self.n_q, self.n_k);
        match choice {
            Choice::Causal => {
                let prefix = |i: usize| Span::prefix((i + 1 + n_k).saturating_sub(n_q).min(n_k));
                self.sees = Sees::Spans((0..n_q).map(prefix).collect());
            }
            Choice::Window => {
                let mut span = |i: usize| {
                    let start = random.below(i + 2).min(n_k);
                    Span { start, end: (start + random.below(n_k + 1)).min(n_k) }
                };
                self.sees = Sees::Spans((0..n_q).map(&mut span).collect());
                self.empty_row = EmptyRow::Mean;
            }
            Choice::Mask => {
                self.sees = Sees::Mask((0..n_q * n_k).map(|_| random.unit() < 0.6).collect())
            }
            Choice::Bias => {
                let mut entry =
                    || if random.unit() < 0.2 { f64::NEG_INFINITY } else { 3.0 * random.normal() };
                self.bias = Some((0..n_q * n_k).map(|_| entry()).collect());
            }
            Choice::BiasFirst => {
                self.bias = Some((0..n_q * n_k).map(|_| 3.0 * random.normal()).collect());
                self.stages = vec![Stage::Bias, Stage::Scale, Stage::Softcap];
            }
            Choice::NoScale => self.stages.retain(|stage| *stage != Stage::Scale),
            Choice::Softcap => self.softcap = Some([0.5, 5.0, 30.0, 50.0, 1e3][random.below(5)]),
            Choice::Stages => {
                for at in (1..self.stages.len()).rev() {
                    self.stages.swap(at, random.below(at + 1));
                }
                self.stages.truncate(self.stages.len() - random.below(2));
            }
            Choice::Alibi => {
                let slope = [0.5, 0.003_906_25, -0.1, 7.0][random.below(4)];
                self.alibi = Some(Alibi { slope, offset: n_k as i64 - n_q as i64 });
                // Packed sequences: every query has its own place.
                let shift = |random: &mut Random| random.below(2 * n_k + 1) as i64 - n_k as i64;
                self.alibi_shifts =
                    (random.below(2) == 1).then(|| (0..n_q).map(|_| shift(random)).collect());
            }
            Choice::Sink => {
                self.sink =
                    Some([0.0, 1.0, -3.0, 20.0, 700.0, -700.0][random.below(6)] * random.unit())
            }
            Choice::Undivided => self.normalization = Normalization::None,
            Choice::OverQueries => self.normalization = Normalization::OverQueries,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        FAMILIES[self.family]
    }

    pub(crate) fn head(&self) -> Head<'_> {
        Head {
            n_q: self.n_q,
            n_k: self.n_k,
            d_k: self.d_k,
            d_v: self.d_v,
            query: &self.query,
            key: &self.key,
            value: &self.value,
            stages: &self.stages,
            scale: self.scale,
            softcap: self.softcap,
            bias: self.bias.as_deref(),
            alibi: self.alibi,
            alibi_shifts: self.alibi_shifts.as_deref(),
            sink: self.sink,
            visible: match &self.sees {
                Sees::All => Visible::All,
                Sees::Spans(spans) => Visible::Spans(spans),
                Sees::Mask(mask) => Visible::Mask(mask),
            },
            normalization: self.normalization,
            empty_row: self.empty_row,
        }
    }

    /// Where query `i` stands among the keys as far as ALiBi is concerned.
    pub(crate) fn position(&self, i: usize) -> i64 {
        let shift = self.alibi_shifts.as_ref().map_or(0, |shifts| shifts[i]);
        i as i64 + self.alibi.map_or(0, |alibi| alibi.offset) + shift
    }

    pub(crate) fn sees(&self, i: usize, j: usize) -> bool {
        let sees = match &self.sees {
            Sees::All => true,
            Sees::Spans(spans) => spans[i].contains(j),
            Sees::Mask(mask) => mask[i * self.n_k + j],
        };
        // A bias that no stage adds hides nothing.
        let bias = self.bias.as_ref().filter(|_| self.stages.contains(&Stage::Bias));
        sees && bias.is_none_or(|bias| bias[i * self.n_k + j] > f64::NEG_INFINITY)
    }
}
