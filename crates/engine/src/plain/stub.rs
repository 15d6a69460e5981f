//! What is returned where attention is not computed.

use qkvet_spec::{Call, IndexEnv, StubForm, Twist};

use super::row::Row;
use crate::head::Head;

/// The output of a column where attention is not computed.
pub(super) fn stub(
    twist: Option<&Twist>,
    call: &Call,
    head: &Head<'_>,
    row: &Row,
    env: IndexEnv,
    c: usize,
) -> Option<(f64, f64)> {
    let Some(Twist::Stub { form }) = twist else { return None };
    let sum = |seen: &dyn Fn(usize) -> bool| {
        let all = (0..head.n_k).filter(|j| seen(*j)).map(|j| head.value_row(j)[c]);
        all.fold((0.0, 0.0), |(sum, size), v| (sum + v, size + v.abs()))
    };
    let n = head.n_k.max(1) as f64;
    Some(match form {
        StubForm::NotANumber => (f64::NAN, 0.0),
        StubForm::Constant { value } => (*value, value.abs()),
        StubForm::MeanOfValues => {
            let (all, size) = sum(&|_| true);
            (all / n, size * (n + 2.0) / n)
        }
        StubForm::SumOfVisible => {
            let (all, size) = sum(&|j| row.visible[j]);
            (all, size * n)
        }
        StubForm::ValueRow { row } => {
            let at = row.eval(&env).and_then(|row| usize::try_from(row).ok());
            match at.filter(|at| *at < head.n_k) {
                Some(at) => (head.value_row(at)[c], 0.0),
                None => (f64::NAN, 0.0),
            }
        }
        StubForm::Query => {
            let width = call.dims().d_k;
            let i = usize::try_from(env.i).unwrap_or(0);
            (if c < width { head.query_row(i)[c] } else { f64::NAN }, 0.0)
        }
    })
}
