//! Keys that a query does not see and that count all the same: with a finite score, or in the row
//! sum only.
//!
//! Such a key is written as one more key that exactly those queries see. So the enclosure need not
//! know of it.

use std::borrow::Cow;

use qkvet_spec::{EmptyRow, HiddenKeys, Meaning, Stage};

use super::LoweredHead;
use super::terms::sum;
use super::visibility::VisibleKeys;

/// One more key for each column.
pub(super) struct Columns {
    /// For each column the key whose row it has; `None`: zeros.
    keys: Vec<Option<usize>>,
    /// For each column the key whose value it has; `None`: zeros.
    values: Vec<Option<usize>>,
    /// For each query and column what is added to the score.
    bias: Vec<f64>,
    /// For each query and column whether the query sees it.
    seen: Vec<bool>,
}

impl Columns {
    /// A key of value 0 that every query sees with this score.
    pub(super) fn zero_key(n_q: usize, score: f64) -> Self {
        Self { keys: vec![None], values: vec![None], bias: vec![score; n_q], seen: vec![true; n_q] }
    }
}

impl LoweredHead<'_> {
    /// What bias and ALiBi add to the score of key `j` of query `i`, and whether that is a double.
    fn added(&self, i: usize, j: usize) -> (f64, bool) {
        let bias = self.bias.as_ref().map_or(0.0, |bias| bias[i * self.n_k + j]);
        let head = self.head();
        let Some(alibi) = head.slopes_of(i) else { return (bias, true) };
        #[expect(clippy::cast_possible_wrap, reason = "extents are far below 2^63")]
        let distance = (i as i64 + alibi.offset - j as i64).unsigned_abs() as f64;
        let of_slope = -alibi.slope * distance;
        let is_exact = alibi.slope.mul_add(distance, of_slope) == 0.0;
        let (sum, sums) = sum(bias, of_slope);
        (sum, is_exact && sums)
    }

    /// The same with more keys behind its own; ALiBi becomes part of the bias, as the new keys have
    /// no position.
    pub(super) fn with(self, columns: Columns) -> Self {
        let count = columns.keys.len();
        let (n_q, old, new) = (self.n_q, self.n_k, self.n_k + count);
        let mut is_rounded = self.is_rounded;
        let mut bias = Vec::with_capacity(n_q * new);
        let mut seen = Vec::with_capacity(n_q * new);
        for i in 0..n_q {
            for j in 0..old {
                let (entry, is_exact) = self.added(i, j);
                is_rounded |= !is_exact;
                bias.push(entry);
                seen.push(self.visibility.sees(i, j, old));
            }
            bias.extend(&columns.bias[i * count..(i + 1) * count]);
            seen.extend(&columns.seen[i * count..(i + 1) * count]);
        }
        let (key, value) = (self.key.into_owned(), self.value.into_owned());
        Self {
            n_k: new,
            key: Cow::Owned(longer(key, self.d_k, &columns.keys)),
            value: Cow::Owned(longer(value, self.d_v, &columns.values)),
            bias: Some(Cow::Owned(bias)),
            alibi: None,
            alibi_shifts: None,
            visibility: VisibleKeys::Mask(seen),
            is_rounded,
            ..self
        }
    }
}

/// Rows of `width` numbers with more behind them: copies of the given rows, or zeros.
fn longer(mut all: Vec<f64>, width: usize, more: &[Option<usize>]) -> Vec<f64> {
    for from in more {
        match from {
            Some(j) => all.extend_from_within(j * width..(j + 1) * width),
            None => all.resize(all.len() + width, 0.0),
        }
    }
    all
}

/// What the meaning does with keys that a query does not see, and with a query that sees none.
pub(super) fn keep_hidden<'a>(meaning: &Meaning, lowered: LoweredHead<'a>) -> LoweredHead<'a> {
    let (n_q, n_k) = (lowered.n_q, lowered.n_k);
    let sees = |i: usize, j: usize| lowered.visibility.sees(i, j, n_k);
    let is_scored = meaning.stages.contains(&Stage::Bias);
    let hides = || (0..n_q * n_k).any(|at| !sees(at / n_k, at % n_k));
    match meaning.hidden {
        HiddenKeys::ScoreAdded if is_scored && hides() => {
            let mut is_rounded = lowered.is_rounded;
            let mut entry = |at: usize| {
                let bias = lowered.bias.as_ref().map_or(0.0, |bias| bias[at]);
                let hidden = if sees(at / n_k, at % n_k) { 0.0 } else { meaning.hidden_score };
                let (entry, is_exact) = sum(bias, hidden);
                is_rounded |= !is_exact;
                entry
            };
            let bias = (0..n_q * n_k).map(&mut entry).collect();
            LoweredHead {
                bias: Some(Cow::Owned(bias)),
                visibility: VisibleKeys::All,
                is_rounded,
                ..lowered
            }
        }
        HiddenKeys::ScoreReplaced | HiddenKeys::WeightZeroed if is_scored && hides() => {
            let is_replaced = meaning.hidden == HiddenKeys::ScoreReplaced;
            let own: Vec<Option<usize>> = (0..n_k).map(Some).collect();
            let none = vec![None; n_k];
            let mut is_rounded = lowered.is_rounded;
            let mut bias = Vec::with_capacity(n_q * n_k);
            for at in 0..n_q * n_k {
                let (added, is_exact) = lowered.added(at / n_k, at % n_k);
                is_rounded |= !is_replaced && !is_exact;
                bias.push(if is_replaced { meaning.hidden_score } else { added });
            }
            let seen = (0..n_q * n_k).map(|at| !sees(at / n_k, at % n_k)).collect();
            let (keys, values) = if is_replaced { (none, own) } else { (own, none) };
            LoweredHead { is_rounded, ..lowered }.with(Columns { keys, values, bias, seen })
        }
        _ if meaning.empty_row == EmptyRow::First && n_k > 0 && lowered.sink.is_none() => {
            first_key(lowered)
        }
        _ => lowered,
    }
}

/// A query that sees no key sees the first one.
fn first_key(lowered: LoweredHead<'_>) -> LoweredHead<'_> {
    let n_k = lowered.n_k;
    let holds = |at: usize| {
        lowered.visibility.sees(at / n_k, at % n_k, n_k)
            && lowered.bias.as_ref().is_none_or(|bias| bias[at] > f64::NEG_INFINITY)
    };
    let empty: Vec<usize> =
        (0..lowered.n_q).filter(|i| !(i * n_k..(i + 1) * n_k).any(holds)).collect();
    if empty.is_empty() {
        return lowered;
    }
    let mut seen: Vec<bool> =
        (0..lowered.n_q * n_k).map(|at| lowered.visibility.sees(at / n_k, at % n_k, n_k)).collect();
    let mut bias = lowered.bias;
    for i in empty {
        seen[i * n_k] = true;
        if let Some(bias) = &mut bias {
            bias.to_mut()[i * n_k] = 0.0;
        }
    }
    LoweredHead { visibility: VisibleKeys::Mask(seen), bias, ..lowered }
}
