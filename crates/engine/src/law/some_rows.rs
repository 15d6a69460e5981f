//! A call of which only some query rows are looked at.
//!
//! Each row of attention stands alone, so it is judged as the call of those rows: with their queries
//! and, where it is causal, a mask that shows them what they see. The target gets the whole call,
//! and of its results those rows are taken.

use std::cell::RefCell;

use qkvet_spec::{BoolTensor, Call, CallOption, Meaning, Normalization, Response, Target, Tensor};

use crate::lowering::{ResultName, lower};

/// Whole calls by those of some rows.
#[derive(Debug, Default)]
pub(super) struct Whole(RefCell<Vec<(Call, Call)>>);

/// Options that mean the same to a row whatever rows are beside it, or are put into a mask.
const ROW_BY_ROW: [CallOption; 4] =
    [CallOption::Scale, CallOption::Causal, CallOption::Softcap, CallOption::Sinks];

impl Whole {
    /// The call of these rows. Where rows do not stand alone, or have options of another kind, the
    /// call itself: all its rows are looked at.
    pub(super) fn of_rows(&self, call: Call, rows: &[usize], meaning: &Meaning) -> Call {
        let is_row_by_row =
            CallOption::ALL.iter().all(|one| !call.options.has(*one) || ROW_BY_ROW.contains(one));
        let d = call.dims();
        if !is_row_by_row
            || meaning.normalization == Normalization::OverQueries
            || rows.last().is_none_or(|last| *last >= d.n_q)
        {
            return call;
        }
        let mut some = Call { query: picked(&call.query, d.n_q, rows), ..call.clone() };
        if call.options.causal {
            let hides = meaning.mask == qkvet_spec::Mask::TrueHides;
            // The same for every item and head.
            let first = lower(meaning, &call, 0, 0, ResultName::Output);
            let head = first.head();
            let pairs = rows.iter().flat_map(|i| (0..d.n_k).map(|j| (*i, j)));
            let data = pairs.map(|(i, j)| head.sees(i, j) != hides).collect();
            some.options.causal = false;
            some.options.mask = Some(BoolTensor { shape: vec![1, 1, rows.len(), d.n_k], data });
        }
        self.0.borrow_mut().push((some.clone(), call));
        some
    }

    /// The whole call, if this is one of some rows.
    fn whole(&self, some: &Call) -> Option<Call> {
        self.0.borrow().iter().find(|(known, _)| known == some).map(|(_, whole)| whole.clone())
    }
}

/// Of the second axis from the right, or of the last of three, these entries.
fn picked(tensor: &Tensor, n_q: usize, rows: &[usize]) -> Tensor {
    let width: usize = tensor.shape.get(3).copied().unwrap_or(1);
    // What has another shape is refused as it is.
    if tensor.shape.get(2) != Some(&n_q)
        || tensor.shape.iter().product::<usize>() != tensor.data.len()
    {
        return tensor.clone();
    }
    let mut data = Vec::with_capacity(tensor.data.len() / n_q.max(1) * rows.len());
    for head in tensor.data.chunks_exact((n_q * width).max(1)) {
        for row in rows {
            data.extend_from_slice(&head[row * width..(row + 1) * width]);
        }
    }
    let mut shape = tensor.shape.clone();
    shape[2] = rows.len();
    Tensor { dtype: tensor.dtype, shape, data }
}

/// The target, asked whole calls in place of those of some rows.
pub(super) struct SomeRows<'a> {
    pub(super) target: &'a mut dyn Target,
    pub(super) whole: &'a Whole,
    pub(super) rows: &'a [usize],
}

impl SomeRows<'_> {
    fn asked(
        &mut self,
        call: &Call,
        ask: impl FnOnce(&mut dyn Target, &Call) -> Response,
    ) -> Response {
        let Some(whole) = self.whole.whole(call) else { return ask(self.target, call) };
        let n_q = whole.dims().n_q;
        match ask(self.target, &whole) {
            Response::Output(mut output) => {
                output.output = picked(&output.output, n_q, self.rows);
                for part in [&mut output.weights, &mut output.lse] {
                    *part = part.take().map(|tensor| picked(&tensor, n_q, self.rows));
                }
                Response::Output(output)
            }
            other => other,
        }
    }
}

impl Target for SomeRows<'_> {
    fn call(&mut self, call: &Call) -> Response {
        self.asked(call, |target, call| target.call(call))
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        self.asked(call, |target, call| target.call_meanwhile(call, work))
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.asked(call, |target, call| target.call_contiguous(call))
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        let mut is_put = true;
        let response = self.asked(call, |target, call| {
            target.call_transposed(call).unwrap_or_else(|| {
                is_put = false;
                Response::NotAsked("no views".into())
            })
        });
        is_put.then_some(response)
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.target.puts_views(&self.whole.whole(call).unwrap_or_else(|| call.clone()))
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.target)
    }
}
