//! Enclosures of whole layers contain the exact output, and no implementation that keeps its
//! contract exceeds the bound of a layer.

use crate::numerics_common;

use numerics_common::simulate::{Machine, Style};
use numerics_common::{Big, Problem, STAGES, Sees, big, gaussians, magnitude, rng};
use qkvet_engine::Products;
use qkvet_engine::format::round;
use qkvet_engine::head::{EmptyRow, RealScale, Span, Visible};
use qkvet_engine::layer::{Layer, LayerHead, Projection, bound_layer, enclose_layer};
use qkvet_spec::{Contract, Dtype};

/// Numbers of a layer: queries, keys, width of the inputs, heads, key heads, widths of key and
/// value, width of the output.
#[derive(Clone, Copy, Debug)]
struct Shape {
    n_q: usize,
    n_k: usize,
    d: usize,
    h: usize,
    g: usize,
    d_k: usize,
    d_v: usize,
    d_out: usize,
}

const SHAPE: Shape = Shape { n_q: 3, n_k: 7, d: 10, h: 4, g: 2, d_k: 5, d_v: 3, d_out: 6 };

struct Data {
    shape: Shape,
    x: [Vec<f64>; 2],
    /// `W_Q`, `W_K`, `W_V`, `W_O` and their biases.
    weights: [Vec<f64>; 4],
    biases: [Option<Vec<f64>>; 4],
    spans: Vec<Span>,
    sink: Option<f64>,
}

impl Data {
    fn new(seed: u64, shape: Shape, has_bias: bool, dtype: Dtype) -> Self {
        let mut rng = rng(seed);
        let widths = Self::widths(shape);
        let mut draw = |n: usize| gaussians(&mut rng, n, 1.0, dtype);
        let x = [draw(shape.n_q * shape.d), draw(shape.n_k * shape.d)];
        let weights = widths
            .map(|(rows, cols)| draw(rows * cols).iter().map(|w| round(w / 4.0, dtype)).collect());
        let biases = widths.map(|(_, cols)| has_bias.then(|| draw(cols)));
        let spans = (0..shape.n_q).map(|i| Span::prefix((i + 3).min(shape.n_k))).collect();
        Self { shape, x, weights, biases, spans, sink: None }
    }

    fn widths(Shape { d, h, g, d_k, d_v, d_out, .. }: Shape) -> [(usize, usize); 4] {
        [(d, h * d_k), (d, g * d_k), (d, g * d_v), (h * d_v, d_out)]
    }

    fn heads(&self) -> Vec<LayerHead<'_>> {
        let head = |h: usize| LayerHead {
            key_head: h * self.shape.g / self.shape.h,
            stages: &STAGES,
            scale: RealScale::inverse_sqrt(self.shape.d_k),
            softcap: None,
            bias: None,
            alibi: None,
            sink: self.sink,
            visible: Visible::Spans(&self.spans),
            empty_row: EmptyRow::Zero,
        };
        (0..self.shape.h).map(head).collect()
    }

    fn layer<'a>(&'a self, heads: &'a [LayerHead<'a>]) -> Layer<'a> {
        let widths = Self::widths(self.shape);
        let map = |k: usize| Projection {
            rows: widths[k].0,
            cols: widths[k].1,
            weight: &self.weights[k],
            bias: self.biases[k].as_deref(),
        };
        let Shape { n_q, n_k, d_k, d_v, .. } = self.shape;
        let (x_q, x_kv) = (&self.x[0], &self.x[1]);
        Layer {
            n_q,
            n_k,
            d_k,
            d_v,
            x_q,
            x_kv,
            w_q: map(0),
            w_k: map(1),
            w_v: map(2),
            w_o: map(3),
            heads,
        }
    }

    /// `x W_k + b_k` with what multiplies and adds handed in.
    fn project<T: Clone>(
        &self,
        k: usize,
        x: &[T],
        zero: &T,
        mul: impl Fn(&T, f64) -> T,
        add: impl Fn(&T, &T) -> T,
    ) -> Vec<T> {
        let (rows, cols) = Self::widths(self.shape)[k];
        let cell = |row: &[T], c: usize| {
            let terms = row.iter().enumerate().map(|(t, x)| mul(x, self.weights[k][t * cols + c]));
            terms.fold(zero.clone(), |sum, term| add(&sum, &term))
        };
        let rows_of_x = x.chunks_exact(rows.max(1));
        rows_of_x.flat_map(|row| (0..cols).map(|c| cell(row, c)).collect::<Vec<_>>()).collect()
    }

    fn exact(&self) -> Vec<Big> {
        let Shape { n_q, h, g, d_k, d_v, .. } = self.shape;
        let project = |k: usize, x: &[Big]| {
            let mut y = self.project(
                k,
                x,
                &big(0.0),
                |x, w| x.clone() * big(w),
                |a, b| a.clone() + b.clone(),
            );
            let cols = Self::widths(self.shape)[k].1;
            if let Some(bias) = &self.biases[k] {
                y.iter_mut().enumerate().for_each(|(at, y)| *y = y.clone() + big(bias[at % cols]));
            }
            y
        };
        let x = self.x.clone().map(|x| x.into_iter().map(big).collect::<Vec<_>>());
        let (query, key, value) = (project(0, &x[0]), project(1, &x[1]), project(2, &x[1]));
        let mut inner = Vec::new();
        for i in 0..n_q {
            for head in 0..h {
                let kv = head * g / h;
                let dot = |j: usize| {
                    let terms = (0..d_k).map(|t| {
                        query[(i * h + head) * d_k + t].clone()
                            * key[(j * g + kv) * d_k + t].clone()
                    });
                    terms.fold(big(0.0), |sum, term| sum + term) / big(d_k as f64).sqrt()
                };
                let weights: Vec<Big> = (0..self.spans[i].end).map(|j| dot(j).exp()).collect();
                let sink = self.sink.map_or(big(0.0), |sink| big(sink).exp());
                let total = weights.iter().fold(sink, |sum, w| sum + w.clone());
                inner.extend((0..d_v).map(|c| {
                    let terms = weights
                        .iter()
                        .enumerate()
                        .map(|(j, w)| w.clone() * value[(j * g + kv) * d_v + c].clone());
                    terms.fold(big(0.0), |sum, term| sum + term) / total.clone()
                }));
            }
        }
        project(3, &inner)
    }

    /// An implementation: sums in `dot`, results in `dtype`, heads by the machine.
    fn run(&self, contract: &Contract, style: Style) -> Vec<f64> {
        let Shape { n_q, n_k, h, g, d_k, d_v, .. } = self.shape;
        let dot = |x: f64| round(x, contract.dot);
        let project = |k: usize, x: &[f64]| -> Vec<f64> {
            let cols = Self::widths(self.shape)[k].1;
            let sums = self.project(k, x, &0.0, |x, w| dot(x * w), |a, b| dot(a + b));
            let bias = |at: usize| self.biases[k].as_ref().map_or(0.0, |bias| bias[at % cols]);
            let stored = sums.iter().map(|x| round(*x, contract.dtype)).enumerate();
            stored.map(|(at, x)| round(dot(x + bias(at)), contract.dtype)).collect()
        };
        let (query, key, value) =
            (project(0, &self.x[0]), project(1, &self.x[1]), project(2, &self.x[1]));
        let columns = |xs: &[f64], heads: usize, head: usize, width: usize| -> Vec<f64> {
            xs.chunks_exact(heads * width)
                .flat_map(|row| row[head * width..(head + 1) * width].to_vec())
                .collect()
        };
        let mut inner = vec![0.0; n_q * h * d_v];
        for head in 0..h {
            let kv = head * g / h;
            let problem = Problem {
                query: columns(&query, h, head, d_k),
                key: columns(&key, g, kv, d_k),
                value: columns(&value, g, kv, d_v),
                sees: Sees::Spans(self.spans.clone()),
                ..Problem::gaussian(0, (n_q, n_k, d_k, d_v), contract.dtype)
            };
            let scale = problem.head().scale.value;
            let output = Machine { contract, style, rng: rng(head as u64) }.run(&problem, scale);
            for (at, x) in output.iter().enumerate() {
                inner[(at / d_v * h + head) * d_v + at % d_v] = *x;
            }
        }
        project(3, &inner)
    }
}

fn styles(contract: &Contract) -> Vec<Style> {
    let style = |online: bool, reverse: bool| Style {
        online,
        tile: contract.tile.unwrap_or(16),
        base_two: reverse,
        reverse,
        ..Style::PLAIN
    };
    let mut styles = vec![style(false, false), style(false, true)];
    styles.extend(contract.tile.map(|_| style(true, false)));
    styles
}

#[test]
fn layers_are_enclosed() {
    for seed in 0..6 {
        for has_bias in [false, true] {
            for sink in [None, Some(0.5)] {
                let data = Data { sink, ..Data::new(seed, SHAPE, has_bias, Dtype::Float64) };
                let heads = data.heads();
                let exact = data.exact();
                for products in Products::ALL {
                    let enclosure = enclose_layer(&data.layer(&heads), products);
                    for (index, exact) in exact.iter().enumerate() {
                        let (mid, rad) = (enclosure.mid[index], enclosure.rad[index]);
                        let distance = magnitude(exact.clone() - big(mid));
                        assert!(
                            distance <= big(rad) && rad < 1e-11,
                            "seed {seed} [{index}]: {mid} ± {rad:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn implementations_of_layers_stay_within_the_bound() {
    let catalog = qkvet_spec::Catalog::embedded().unwrap();
    // Projections that are stored in eight bits, or made of operands that are, leave nothing to be
    // said.
    let said =
        |contract: &&qkvet_spec::Contract| contract.output.is_none() && contract.operands.is_none();
    for contract in catalog.contracts.values().filter(said) {
        let mut worst = 0.0f64;
        for seed in 0..12 {
            let data = Data::new(seed, SHAPE, seed % 2 == 0, contract.dtype);
            let heads = data.heads();
            let layer = data.layer(&heads);
            let (enclosure, bound) = (
                enclose_layer(&layer, Products::FixedOrder),
                bound_layer(&layer, contract, Products::FixedOrder),
            );
            for style in styles(contract) {
                for (index, x) in data.run(contract, style).iter().enumerate() {
                    let error = ((x - enclosure.mid[index]).abs() - enclosure.rad[index]).max(0.0);
                    assert!(
                        bound[index].is_finite() && error <= bound[index],
                        "{}: {error:e}",
                        contract.contract
                    );
                    worst = worst.max(error / bound[index]);
                }
            }
        }
        println!("{}: {worst:.4} of the bound of a layer", contract.contract);
        // In float64 the enclosure is as wide as the errors.
        assert!(
            worst > 1e-3 || contract.dtype == Dtype::Float64,
            "{}: at most {worst:e} of the bound is reached",
            contract.contract
        );
    }
}

#[test]
fn a_layer_with_another_scale_is_refuted() {
    let contract = qkvet_spec::Catalog::embedded().unwrap().contracts["f32"].clone();
    let data = Data::new(1, SHAPE, true, contract.dtype);
    let mut heads = data.heads();
    let outputs = data.run(&contract, styles(&contract)[0]);
    heads.iter_mut().for_each(|head| head.scale = RealScale::exact(0.4));
    let layer = data.layer(&heads);
    let (enclosure, bound) =
        (enclose_layer(&layer, Products::Faer), bound_layer(&layer, &contract, Products::Faer));
    let is_refuted = |(index, x): (usize, &f64)| {
        (x - enclosure.mid[index]).abs() > enclosure.rad[index] + bound[index]
    };
    assert!(outputs.iter().enumerate().any(is_refuted));
}

#[test]
fn layers_of_every_small_extent_are_bounded() {
    let contract = qkvet_spec::Catalog::embedded().unwrap().contracts["f32"].clone();
    for (n_q, n_k, d, h) in (0..24).map(|x| (x / 12, x / 6 % 2, x / 3 % 2, x % 3)) {
        for (d_k, d_v, d_out) in [(0, 1, 1), (1, 0, 2), (2, 1, 0), (1, 1, 1)] {
            let shape = Shape { n_q, n_k, d, h, g: h, d_k, d_v, d_out };
            let data = Data::new(3, shape, true, Dtype::Float32);
            let heads = data.heads();
            let layer = data.layer(&heads);
            let enclosure = enclose_layer(&layer, Products::Faer);
            assert_eq!(enclosure.mid.len(), n_q * d_out);
            assert!(
                enclosure
                    .rad
                    .iter()
                    .chain(&bound_layer(&layer, &contract, Products::Faer))
                    .all(|x| x.is_finite())
            );
        }
    }
}
