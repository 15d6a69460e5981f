//! Masks and biases in their broadcast forms, sinks and slopes by head.

use qkvet_spec::{BoolTensor, BroadcastForm, Dims, Dtype, MaskPattern, Tensor};

use crate::choice::{AlibiChoice, SinkChoice};
use crate::source::{Draws, Source, Streams};

/// Extents of a mask or bias of this form, as they are given to the call.
pub(crate) fn form_shape(form: BroadcastForm, dims: &Dims) -> Vec<usize> {
    match form {
        BroadcastForm::Full => vec![dims.b, dims.h_q, dims.n_q, dims.n_k],
        BroadcastForm::PerItem => vec![dims.b, 1, dims.n_q, dims.n_k],
        BroadcastForm::PerHead => vec![1, dims.h_q, dims.n_q, dims.n_k],
        BroadcastForm::Shared => vec![dims.n_q, dims.n_k],
        BroadcastForm::PerKey => vec![dims.b, 1, 1, dims.n_k],
    }
}

/// Extents of a form with the axes that it leaves out as 1: items, heads, rows, keys.
pub(crate) fn four_axes(shape: &[usize]) -> [usize; 4] {
    let mut axes = [1; 4];
    for (axis, n) in axes.iter_mut().rev().zip(shape.iter().rev()) {
        *axis = *n;
    }
    axes
}

/// Draws a mask. Every row of it sees a key, except in the pattern that is about rows that see
/// nothing.
pub(crate) fn draw_mask(
    pattern: MaskPattern,
    form: BroadcastForm,
    dims: &Dims,
    source: Source,
) -> BoolTensor {
    let shape = form_shape(form, dims);
    let [items, heads, rows, n_k] = four_axes(&shape);
    let streams = source.variable("mask");
    let empty = empty_rows(items * heads * rows, &mut streams.row(items, heads, 0));
    let lengths = lengths(items, n_k, &mut streams.row(items, heads, 1));
    let mut data = Vec::with_capacity(items * heads * rows * n_k);
    for (item, length) in lengths.into_iter().enumerate() {
        for head in 0..heads {
            let blocks = Blocks::draw(rows, n_k, &mut streams.row(item, head, rows));
            for i in 0..rows {
                let mut draws = streams.row(item, head, i);
                let row = data.len() / n_k;
                match pattern {
                    MaskPattern::Random => random_row(n_k, &mut draws, &mut data),
                    MaskPattern::EmptyRows if empty[row] => data.extend((0..n_k).map(|_| false)),
                    MaskPattern::EmptyRows => random_row(n_k, &mut draws, &mut data),
                    MaskPattern::Blocks => data.extend((0..n_k).map(|j| blocks.join(i, j))),
                    MaskPattern::Strided => {
                        let phase = (i + item + head) % n_k.min(3);
                        data.extend((0..n_k).map(|j| j % 3 == phase));
                    }
                    MaskPattern::LeadingBlock => data.extend((0..n_k).map(|j| j >= n_k / 2)),
                    MaskPattern::Padding => data.extend((0..n_k).map(|j| j < length)),
                }
            }
        }
    }
    BoolTensor { shape, data }
}

/// A fair coin for each key, and one key that is seen in any case.
fn random_row(n_k: usize, draws: &mut Draws, data: &mut Vec<bool>) {
    let seen = draws.below(n_k);
    data.extend((0..n_k).map(|j| draws.one_in(2) || j == seen));
}

/// About a third of the rows, at least one.
fn empty_rows(rows: usize, draws: &mut Draws) -> Vec<bool> {
    let sure = draws.below(rows);
    (0..rows).map(|row| draws.one_in(3) || row == sure).collect()
}

/// How many keys each item keeps: different numbers as far as there are any, the first not all.
fn lengths(items: usize, n_k: usize, draws: &mut Draws) -> Vec<usize> {
    let mut all: Vec<usize> = (1..n_k.max(2)).collect();
    draws.shuffle(&mut all);
    all.insert(1, n_k);
    (0..items).map(|item| all[item % all.len()]).collect()
}

/// Contiguous blocks: ends (exclusive) of the blocks of rows and of keys.
struct Blocks {
    rows: Vec<usize>,
    keys: Vec<usize>,
}

impl Blocks {
    fn draw(rows: usize, n_k: usize, draws: &mut Draws) -> Self {
        if rows == 1 {
            // One row belongs to one of the blocks: what lies before and behind it is hidden.
            let keys = cuts(n_k, n_k.min(3), draws);
            let own = draws.below(keys.len());
            return Self { rows: (0..keys.len()).map(|at| usize::from(at >= own)).collect(), keys };
        }
        let count = rows.min(n_k).min(3);
        Self { rows: cuts(rows, count, draws), keys: cuts(n_k, count, draws) }
    }

    fn join(&self, i: usize, j: usize) -> bool {
        let block = |ends: &[usize], at: usize| ends.iter().position(|end| at < *end);
        block(&self.rows, i) == block(&self.keys, j)
    }
}

/// Ends of `count` non-empty blocks of `n` items.
fn cuts(n: usize, count: usize, draws: &mut Draws) -> Vec<usize> {
    let mut ends: Vec<usize> =
        draws.subset(n - 1, count - 1).into_iter().map(|at| at + 1).collect();
    ends.push(n);
    ends
}

/// Draws a bias: multiples of 1/8 up to 4, now and then −8.
pub(crate) fn draw_bias(form: BroadcastForm, dims: &Dims, dtype: Dtype, source: Source) -> Tensor {
    bias_by(form, dims, dtype, &source.variable("bias"), |draws, _, _| {
        let x = draws.symmetric(32) / 8.0;
        if draws.one_in(16) { -8.0 } else { x }
    })
}

/// A bias of this form, element by element: `draw(draws, item, j)`; `item` is `None` where one
/// entry serves every item.
pub(crate) fn bias_by(
    form: BroadcastForm,
    dims: &Dims,
    dtype: Dtype,
    streams: &Streams,
    draw: impl Fn(&mut Draws, Option<usize>, usize) -> f64,
) -> Tensor {
    let shape = form_shape(form, dims);
    let [items, heads, rows, n_k] = four_axes(&shape);
    let mut data = Vec::with_capacity(items * heads * rows * n_k);
    for item in 0..items {
        for head in 0..heads {
            for i in 0..rows {
                let mut draws = streams.row(item, head, i);
                let item = (items == dims.b).then_some(item);
                data.extend((0..n_k).map(|j| draw(&mut draws, item, j)));
            }
        }
    }
    Tensor { dtype, shape, data }
}

/// A sink for each query head, `(h_q,)`. With `exact` those that leave an exact row exact: 0 or out
/// of sight.
pub(crate) fn draw_sinks(
    choice: SinkChoice,
    dims: &Dims,
    dtype: Dtype,
    exact: bool,
    source: Source,
) -> Tensor {
    let streams = source.variable("sinks");
    let draw = |h: usize| match (choice, exact) {
        (SinkChoice::Near, true) => 0.0,
        (SinkChoice::Far, true) => -2048.0,
        (SinkChoice::Near, false) => streams.row(0, h, 0).symmetric(8) / 2.0,
        (SinkChoice::Far, false) => {
            [-64.0, 64.0, -2048.0, 1024.0][(streams.row(0, 0, 0).below(4) + h) % 4]
        }
    };
    Tensor { dtype, shape: vec![dims.h_q], data: (0..dims.h_q).map(draw).collect() }
}

/// A slope for each query head, `(h_q,)`.
pub(crate) fn slopes(choice: AlibiChoice, dims: &Dims, dtype: Dtype) -> Tensor {
    Tensor { dtype, shape: vec![dims.h_q], data: (0..dims.h_q).map(|h| choice.slope(h)).collect() }
}
