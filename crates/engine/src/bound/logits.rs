//! How far an implementation's logits may be from the exact ones. Derivation:
//! `docs/bounds.md#contract`.

use super::formats::{Formats, growth};
use crate::enclosure::RowStats;
use crate::format::{max_finite, min_normal, unit_roundoff};
use crate::gemm::gamma;
use crate::head::{Alibi, Head, Stage};

/// Sizes of the parts of the kept logits of a row, and of the sink, multiplied by the scale where
/// it comes after them.
pub(super) struct Logits {
    /// Upper bound `A` of `|scale| Σ_t |q_t k_t|`.
    pub(super) dots: f64,
    /// Upper bound `Z` of every number on the way of a logit.
    pub(super) terms: f64,
    /// Upper bound of the capped part; 0 without softcap.
    pub(super) capped: f64,
    /// The cap itself, times the scale where that comes later; 0 without softcap.
    pub(super) cap_size: f64,
    /// `|scale|` and its relative error; 1 and 0 where nothing is scaled.
    scale: f64,
    scale_error: f64,
    /// Upper bound of `Σ_t |q_t k_t|`.
    raw: f64,
    /// Upper bound of the sum before the scale, where bias is added before it.
    unscaled: f64,
    /// By how much ALiBi may be shifted: `|slope · (i + offset)|`, times the scale.
    shift: f64,
    bias_is_scaled: bool,
    has_bias: bool,
    has_alibi: bool,
    cap: Option<f64>,
}

impl Logits {
    /// Of row `i`.
    pub(super) fn new(head: &Head<'_>, i: usize, row: &RowStats) -> Self {
        let place = |stage: Stage| head.stages.iter().position(|one| *one == stage);
        let scaling = place(Stage::Scale);
        let (scale, scale_error) =
            scaling.map_or((1.0, 0.0), |_| (head.scale.value.abs(), head.scale.rel_error));
        let later = |stage: Stage| if scaling > place(stage) { scale } else { 1.0 };
        let bias_is_scaled = place(Stage::Bias).is_some() && scaling > place(Stage::Bias);
        let norms = row.query_norm * row.key_norm;
        let dots = if scaling.is_some() { row.dot_max } else { norms };
        let raw = if scaling.is_some() && scale > 0.0 { row.dot_max / scale } else { norms };
        let cap = head.softcap.filter(|_| place(Stage::Softcap).is_some());
        let alibi = head.slopes_of(i).filter(|_| place(Stage::Bias).is_some());

        let (mut size, mut capped, mut before_bias) = (raw, 0.0, 0.0);
        for stage in head.stages {
            match (stage, cap) {
                (Stage::Scale, _) => size *= scale * (1.0 + scale_error),
                (Stage::Softcap, Some(cap)) => {
                    size = size.min(cap);
                    capped = size * later(Stage::Softcap);
                }
                (Stage::Softcap, None) => {}
                (Stage::Bias, _) => {
                    let later = later(Stage::Bias);
                    before_bias = size * later;
                    size += if later > 0.0 { row.bias_max.max(row.bias_max / later) } else { 0.0 };
                }
            }
        }
        let cap_is_last = cap.is_some() && place(Stage::Softcap) > place(Stage::Bias);
        // Beneath a cap |b| ≤ |x + b| + |x|: its rounding counts as one of each.
        let by_stages = if cap_is_last { size + before_bias } else { size.max(before_bias) };
        let terms = match cap {
            None => row.logit_max,
            Some(_) if cap_is_last && place(Stage::Bias).is_some() => by_stages,
            Some(_) => by_stages.min(row.logit_max),
        };
        let shift = alibi.map_or(0.0, |alibi| shift(head, i, alibi)) * later(Stage::Bias);
        Self {
            dots,
            terms: terms.max(head.sink.map_or(0.0, f64::abs)) + shift,
            capped,
            cap_size: cap.map_or(0.0, |cap| cap * later(Stage::Softcap)),
            scale,
            scale_error,
            raw,
            unscaled: if bias_is_scaled && scale > 0.0 { row.logit_max / scale } else { 0.0 },
            shift,
            bias_is_scaled,
            has_bias: head.bias.is_some(),
            has_alibi: alibi.is_some(),
            cap,
        }
    }

    /// Roundings in the softmax format, of a number of size `Z` each, that ALiBi and softcap put
    /// between a logit and its maximum.
    pub(super) fn option_roundings(&self) -> usize {
        let of = |there: bool, count: usize| if there { count } else { 0 };
        of(self.has_alibi, 10) + of(self.cap.is_some(), 12)
    }

    /// Roundings of a score in the format of the inputs: where scores are stored at all, so are the
    /// quotient, the tangent and the product of a softcap, and what ALiBi adds and its sum.
    pub(super) fn score_roundings(&self, formats: &Formats) -> u32 {
        let of = |there: bool, count: u32| if there { count } else { 0 };
        match formats.score_roundings {
            0 => 0,
            declared => declared + of(self.has_alibi, 2) + of(self.cap.is_some(), 3),
        }
    }

    fn score_growth(&self, formats: &Formats) -> f64 {
        growth(self.score_roundings(formats), unit_roundoff(formats.input))
    }

    /// Error of so many roundings that underflow by `unit` each. What a softcap loses in its
    /// quotient and in its tangent counts as often as the cap says.
    fn underflow(&self, roundings: f64, unit: f64) -> f64 {
        (roundings + 2.0 * self.cap.unwrap_or(0.0)) * unit * self.magnification()
    }

    /// Bound of `|ẑ − z|` for the kept keys of row `i`, up to what all keys have in common,
    /// exponential arguments included; and the part of it by which a logit may differ from itself,
    /// once as the maximum and once in the exponential.
    pub(super) fn error(
        &self,
        head: &Head<'_>,
        i: usize,
        row: &RowStats,
        formats: &Formats,
    ) -> [f64; 2] {
        let factor = self.magnification();
        let is_exact = formats.dot_is_exact(i, row);
        let dots = if self.dots == 0.0 {
            0.0
        } else {
            let flushed =
                if is_exact { 0.0 } else { 2.0 * head.d_k as f64 * formats.dot_underflow * factor };
            (formats.dot_growth(head.d_k, is_exact) + self.scale_error) * self.dots
                + self.input_underflow(head, row, formats)
                + flushed
        };
        let size = self.terms + dots;
        if size == 0.0 {
            return [0.0; 2];
        }
        let stored = self.score_roundings(formats);
        let scores = match stored {
            0 => 0.0,
            _ => {
                self.score_growth(formats) * size
                    + self.underflow(f64::from(stored), formats.input_underflow)
            }
        };
        let roundings = if self.has_bias { 18 } else { 14 } + self.option_roundings();
        let softmax = gamma(roundings, unit_roundoff(formats.softmax)) * (size + scores)
            + self.underflow(roundings as f64, min_normal(formats.softmax));
        let caps =
            2.0 * formats.tanh_error * (self.capped + dots + scores) + self.made_tangents(formats);
        let caps = if self.cap.is_some() { caps } else { 0.0 };
        let bias = if self.bias_is_scaled { self.scale_error * row.bias_max } else { 0.0 };
        let before = dots + scores + softmax + caps + bias;
        // A shift is the difference of two logits; that of a key from itself is 0.
        let shift = match formats.step_unit {
            0.0 => 0.0,
            unit => 2.0 * unit * (self.terms + before) + formats.input_underflow,
        };
        [before + shift, softmax + caps]
    }

    /// What the absolute error of a tangent does to the difference of two logits.
    fn made_tangents(&self, formats: &Formats) -> f64 {
        2.0 * formats.tanh_absolute * self.cap_size
    }

    /// Whether logit errors, relative to the terms of a logit, leave every dropped key `e^−448`
    /// below the largest.
    pub(super) fn dropped_is_safe(
        &self,
        head: &Head<'_>,
        row: &RowStats,
        formats: &Formats,
    ) -> bool {
        self.relative_error(head, formats) * row.dropped_ratio <= 0.25
            && self.input_underflow(head, row, formats)
                + gamma(32, unit_roundoff(formats.softmax)) * self.shift
                + self.made_tangents(formats)
                <= 1.0
    }

    /// Relative error of a logit with respect to `|scale| Σ_t |q_t k_t| + |bias|`, whatever the
    /// key.
    fn relative_error(&self, head: &Head<'_>, formats: &Formats) -> f64 {
        let dots = formats.dot_growth(head.d_k, false) + self.scale_error;
        let tanh = if self.cap.is_some() { 2.0 * formats.tanh_error } else { 0.0 };
        (1.0 + dots)
            * (1.0 + self.score_growth(formats))
            * (1.0 + gamma(18 + self.option_roundings(), unit_roundoff(formats.softmax)) + tanh)
            * (1.0 + 2.0 * formats.step_unit)
            - 1.0
    }

    /// Error of a dot product when elements of query and key are rounded below the normal range.
    fn input_underflow(&self, head: &Head<'_>, row: &RowStats, formats: &Formats) -> f64 {
        let unit = formats.input_roundings * formats.input_underflow + formats.operand_underflow;
        let width = head.d_k as f64;
        (unit * width.sqrt() * (row.query_norm + row.key_norm) + unit * unit * width)
            * self.magnification()
            * 1.01
    }

    /// By how much the scale may enlarge an absolute error, or an element into which it is folded.
    fn magnification(&self) -> f64 {
        (self.scale * (1.0 + self.scale_error)).max(1.0)
    }

    /// Whether no format of the contract overflows before the values are met.
    pub(super) fn fit(&self, head: &Head<'_>, row: &RowStats, formats: &Formats) -> bool {
        let factor = self.magnification();
        let inputs = if formats.input_roundings > 0.0 {
            row.query_norm.max(row.key_norm) * factor
        } else {
            0.0
        };
        let operands = if formats.operands.format().is_some() {
            row.query_norm.max(row.key_norm) * factor
        } else {
            0.0
        };
        let largest = self.terms.max(self.dots).max(self.unscaled);
        let scores = if formats.score_roundings > 0 { self.raw.max(largest) } else { 0.0 };
        let cap_fits = self.cap.is_none_or(|cap| {
            4.0 * cap <= max_finite(formats.softmax) && cap >= 4.0 * min_normal(formats.softmax)
        });
        inputs <= max_finite(formats.input) / 2.0
            && formats.operands.format().is_none_or(|format| operands <= max_finite(format) / 2.0)
            && row.query_norm * row.key_norm * factor <= max_finite(formats.dot) / 2.0
            && scores * (1.0 + self.relative_error(head, formats).max(1e-3))
                <= max_finite(formats.input)
            && 4.0 * largest <= max_finite(formats.softmax)
            && cap_fits
            && (row.visible as f64) <= max_finite(formats.softmax) / 2.0
            && (formats.step_unit == 0.0 || (row.visible as f64) <= max_finite(formats.input) / 2.0)
    }
}

/// How much larger than the logit's own terms the numbers may be from which ALiBi is made:
/// `−slope·(i + offset)` is common to a row, so `slope·j` may stand for the distance; beside a bias
/// it may be larger than their sum.
fn shift(head: &Head<'_>, i: usize, alibi: Alibi) -> f64 {
    let position = i as f64 + alibi.offset as f64;
    let farthest = position.abs().max((position - head.n_k as f64).abs());
    let beside = if head.bias.is_some() { 2.0 * farthest } else { 0.0 };
    alibi.slope.abs() * (position.abs() + beside) * (1.0 + 4.0 * f64::EPSILON)
}
