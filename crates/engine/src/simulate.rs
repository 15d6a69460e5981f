//! The simulator of executions: runs a meaning in the formats and habits of an execution, with
//! every rounding in its place.
//!
//! This is a target, not a reference: its results are judged like anybody's.

mod across;
mod behavior;
mod rounding;
mod row;
mod scores;
mod tiles;

use qkvet_spec::{
    Call, Dtype, Execution, Fault, LseBase, Meaning, Normalization, Response, SoftmaxOver, Target,
    Tensor,
};

use self::across::{across, over_queries};
use self::behavior::State;
use self::rounding::Formats;
use self::row::{log_sum_exp, row};
use self::scores::scores;
use crate::affects::{AffectedElements, Parts, affects, parts};
use crate::head::Head;
use crate::lowering::{LoweredHead, Maps, ResultName, lower, width_of};
use crate::misfit::fitted;

/// A target built from data: a meaning and an execution, struck by faults where their triggers
/// hold.
#[derive(Clone, Debug)]
pub struct Simulator {
    meaning: Meaning,
    execution: Execution,
    faults: Vec<Fault>,
    state: State,
}

impl Simulator {
    /// A simulator of `meaning` under `execution`.
    pub fn new(meaning: Meaning, execution: Execution) -> Self {
        Self { meaning, execution, faults: Vec::new(), state: State::default() }
    }

    /// The same with one more fault. Of several behaviors only the first shows.
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// One result of a call, without a fault's behavior.
    fn computed(&self, call: &Call, want: ResultName) -> Tensor {
        let with = |set: &[&Fault]| {
            let mut how = (self.meaning.clone(), self.execution.clone());
            for fault in set {
                how = (fault.meaning.apply(&how.0), fault.execution.apply(&how.1));
            }
            simulate(&how.0, &how.1, call, want)
        };
        let Parts { everywhere, rows } = parts(&self.faults.iter().collect::<Vec<_>>(), call);
        rows.iter().fold(with(&everywhere), |result, (set, rows)| mixed(result, &with(set), rows))
    }
}

/// The rows of `wrong` that are struck, and the others of `right`; all of `wrong` where the two
/// have different shapes.
fn mixed(right: Tensor, wrong: &Tensor, rows: &[bool]) -> Tensor {
    if right.shape != wrong.shape {
        return wrong.clone();
    }
    let width = right.data.len() / rows.len().max(1);
    let mut data = right.data;
    for (at, _) in rows.iter().enumerate().filter(|(_, struck)| **struck) {
        data[at * width..(at + 1) * width]
            .copy_from_slice(&wrong.data[at * width..(at + 1) * width]);
    }
    Tensor { data, ..right }
}

impl Target for Simulator {
    fn call(&mut self, call: &Call) -> Response {
        if let Some(misfit) = call.misfit() {
            let is_answered =
                self.faults.iter().any(|fault| affects(fault, call) != AffectedElements::Nothing);
            return match is_answered {
                false => {
                    let shapes = call.misfit_shapes().map(|shapes| shapes.to_string());
                    Response::Refused(shapes.unwrap_or_default().into())
                }
                true => self.call(&fitted(call, misfit)),
            };
        }
        let behaving =
            self.faults.iter().find_map(|fault| Some((fault.behavior?, affects(fault, call))));
        let mut state = std::mem::take(&mut self.state);
        let response = match behaving {
            Some((behavior, struck)) => {
                state.answer(behavior, &struck, call, |call, want| self.computed(call, want))
            }
            None => behavior::plain(call, |want| self.computed(call, want)),
        };
        self.state = state;
        Response::Output(Box::new(response))
    }
}

/// Runs one call.
pub fn simulate(meaning: &Meaning, execution: &Execution, call: &Call, want: ResultName) -> Tensor {
    let (dims, dtype) = (call.dims(), call.dtype());
    let inner = width_of(want, dims);
    let maps = Maps::new(meaning, call);
    let width = if want == ResultName::Output { maps.output_width() } else { inner };
    let columns =
        if want == ResultName::Output { maps.output_columns(width) } else { (0..width).collect() };
    let how = How { meaning, execution, formats: Formats::new(execution, dtype), dtype, want };
    let places = (0..dims.b).flat_map(|item| (0..dims.h_q).map(move |h| (item, h)));
    let lowered: Vec<LoweredHead<'_>> =
        places.map(|(item, h)| lower(meaning, call, item, h, want)).collect();
    let heads: Vec<Head<'_>> = lowered.iter().map(LoweredHead::head).collect();
    let results: Vec<Vec<f64>> = match execution.softmax_over {
        over if over != SoftmaxOver::Keys && want != ResultName::Lse => {
            across(&heads, &how, over, dims.h_q)
        }
        _ => heads.iter().map(|head| run(head, &how)).collect(),
    };
    let rows: Vec<&[f64]> = results
        .iter()
        .flat_map(|head| (0..dims.n_q).map(|i| &head[i * inner..(i + 1) * inner]))
        .collect();
    let shown = maps.output_rows().unwrap_or_else(|| (0..rows.len()).collect());
    let element = |row: &[f64], c: usize| if c < inner { row[c] } else { 0.0 };
    let mut data = Vec::with_capacity(shown.len() * columns.len());
    for at in shown {
        data.extend(columns.iter().map(|c| element(rows[at], *c)));
    }
    let leads = [dims.b, dims.h_q, dims.n_q];
    match want {
        ResultName::Output | ResultName::Weights => {
            Tensor { dtype, shape: [&leads[..], &[width]].concat(), data }
        }
        ResultName::Lse => {
            Tensor { dtype: execution.arithmetic.format(dtype), shape: leads.to_vec(), data }
        }
    }
}

/// What is computed, and how.
#[derive(Clone, Copy)]
struct How<'a> {
    meaning: &'a Meaning,
    execution: &'a Execution,
    formats: Formats,
    dtype: Dtype,
    want: ResultName,
}

/// One head. Products and sums of two numbers of a format with `2p + 2 ≤ 53` are rounded correctly
/// through binary64.
fn run(head: &Head<'_>, how: &How<'_>) -> Vec<f64> {
    let logits = scores(head, how);
    let rows = || (0..head.n_q).map(|i| &logits[i * head.n_k..(i + 1) * head.n_k]);
    let is_tiled = how.execution.tile > 0 || how.execution.splits > 0;
    match (how.want, head.normalization) {
        (ResultName::Lse, _) => rows().map(|logits| log_sum_exp(head, logits, how)).collect(),
        (_, Normalization::OverQueries) => over_queries(head, &logits, how),
        (_, Normalization::OverKeys) if is_tiled => {
            rows().flat_map(|logits| tiles::row(head, logits, how)).collect()
        }
        (_, Normalization::OverKeys | Normalization::None) => {
            rows().flat_map(|logits| row(head, logits, how)).collect()
        }
    }
}

/// The sink. It joins a sum, and without division there is none.
fn joining_sink(head: &Head<'_>) -> Option<f64> {
    head.sink.filter(|_| head.normalization != Normalization::None)
}

/// A natural logarithm in the base of the meaning.
fn in_base(natural: f64, how: &How<'_>) -> f64 {
    let r = |x| how.formats.arithmetic(x);
    match how.meaning.lse_base {
        LseBase::Natural => natural,
        LseBase::Two => r(natural * r(std::f64::consts::LOG2_E)),
        LseBase::NaturalTimesLn2 => r(natural * r(std::f64::consts::LN_2)),
    }
}
