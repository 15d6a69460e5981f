//! What a target takes of extents, asked before a suite is drawn.

use qkvet_spec::{Alike, CallOption, Dims, Dtype, Extent, Fit, Response, Target};

use crate::adapters::OpenTarget;
use crate::config::{CaseSource, RunConfig};
use crate::small::small_call;

/// What most targets take.
const DIMS: Dims = Dims { b: 2, h_q: 2, h_k: 2, n_q: 3, n_k: 3, d_k: 4, d_v: 4 };
/// Lengths and widths that kernels of fixed sizes are made for, the smallest first.
const LENGTHS: [usize; 4] = [DIMS.n_q, 16, 64, 128];
const WIDTHS: [usize; 5] = [DIMS.d_k, 16, 32, 64, 128];

/// What the target says that it takes, and what small calls show besides: extents that have to be
/// equal, or sizes that are the only ones. It is the target's demand if calls that differ in that
/// alone are declined, whichever of the two extents is the larger one.
pub(super) fn fit(config: &RunConfig<'_>, open: &mut OpenTarget) -> Option<Fit> {
    let adapter = &config.target.adapter;
    let is_foreign = adapter.max_restarts().is_some() || adapter.in_process().is_some();
    // What was recorded cannot be asked. A compiled target compiles for the few small calls that it
    // answers: without them most of its shapes might be such as it declines.
    let is_asked = is_foreign && open.unanswered.is_none();
    let told = open.fit.clone();
    // Who died or hung when its axes were looked for would do so again.
    let is_drawn = matches!(config.cases, CaseSource::Suite { .. });
    if !is_asked || !is_drawn || open.target.take_ended() {
        return told;
    }
    let fit = told.unwrap_or_default();
    let can_be_put = |option: &CallOption| matches!(option, CallOption::Mask | CallOption::Bias);
    if !fit.always.iter().all(can_be_put) {
        return fit.if_any();
    }
    let found = asked(open.target.as_mut(), fit, &config.dtypes).if_any();
    // A process that died of it is no case's.
    let _ = open.target.take_ended();
    found
}

/// The same, without what would leave out calls that the target is required to answer: it is asked
/// for the options that it lacks, and for all sizes of an extent of which several are required.
pub(super) fn required(config: &RunConfig<'_>, fit: Option<Fit>) -> Option<Fit> {
    let required = &config.required;
    if required.is_empty() {
        return fit;
    }
    let fit = fit?;
    let options = fit.options.clone().map(|mut options| {
        let lacking = required.options.iter().filter(|one| !options.contains(one));
        let lacking: Vec<CallOption> = lacking.copied().collect();
        options.extend(lacking);
        options
    });
    // An extent of which only one number is required may be that number.
    let is_met = |extent: Extent, fixed: usize| {
        let named = required.extents.iter().filter(|(one, ..)| *one == extent);
        named.into_iter().all(|(_, low, high)| (*low, *high) == (fixed, fixed))
    };
    let kept = |extent: Extent, fixed: Option<usize>| fixed.filter(|n| is_met(extent, *n));
    let is_open = |extent: Extent| {
        required.extents.iter().any(|(one, low, high)| *one == extent && low < high)
    };
    let mut alike = fit.alike;
    alike.retain(|alike| {
        let both = match alike {
            Alike::Heads => [Extent::HQ, Extent::HK],
            Alike::Lengths => [Extent::NQ, Extent::NK],
            Alike::Widths => [Extent::DK, Extent::DV],
        };
        !both.into_iter().any(is_open)
    });
    let fit = Fit {
        b: kept(Extent::B, fit.b),
        h_q: kept(Extent::HQ, fit.h_q),
        h_k: kept(Extent::HK, fit.h_k),
        n_q: kept(Extent::NQ, fit.n_q),
        n_k: kept(Extent::NK, fit.n_k),
        d_k: kept(Extent::DK, fit.d_k),
        d_v: kept(Extent::DV, fit.d_v),
        alike,
        options,
        ..fit
    };
    fit.if_any()
}

fn asked(target: &mut dyn Target, fit: Fit, dtypes: &[Dtype]) -> Fit {
    let Some((dtype, mut fit)) = answered(target, &fit, dtypes) else { return fit };
    let Dims { h_q, n_q, d_k, .. } = DIMS;
    let unlike = [
        (Alike::Lengths, Dims { n_k: n_q + 2, ..DIMS }, Dims { n_q: n_q + 2, ..DIMS }),
        (Alike::Widths, Dims { d_v: 2 * d_k, ..DIMS }, Dims { d_k: 2 * d_k, ..DIMS }),
        (Alike::Heads, Dims { h_q: 2 * h_q, ..DIMS }, Dims { h_q: 2 * h_q, ..DIMS }),
    ];
    for (alike, one, other) in unlike {
        let same = fit.apply(&DIMS);
        let mut is_declined = |dims: &Dims| {
            let dims = fit.apply(dims);
            dims != same && takes(target, &fit, dims, dtype) == Some(false)
        };
        if !fit.alike.contains(&alike) && is_declined(&one) && (one == other || is_declined(&other))
        {
            fit.alike.push(alike);
        }
    }
    fit
}

/// A format in which a call is answered, and the sizes that this takes.
fn answered(target: &mut dyn Target, fit: &Fit, dtypes: &[Dtype]) -> Option<(Dtype, Fit)> {
    for dtype in dtypes {
        if takes(target, fit, fit.apply(&DIMS), *dtype)? {
            return Some((*dtype, fit.clone()));
        }
    }
    let dtype = *dtypes.first()?;
    for one in [None, Some(1)] {
        for n in LENGTHS {
            for d in WIDTHS {
                let only = |size: usize, usual: usize| (size != usual).then_some(size);
                let (n, d) = (only(n, DIMS.n_q), only(d, DIMS.d_k));
                let sized = Fit {
                    b: fit.b.or(one),
                    h_q: fit.h_q.or(one),
                    h_k: fit.h_k.or(one),
                    n_q: fit.n_q.or(n),
                    n_k: fit.n_k.or(n),
                    d_k: fit.d_k.or(d),
                    d_v: fit.d_v.or(d),
                    ..fit.clone()
                };
                if sized != *fit && takes(target, fit, sized.apply(&DIMS), dtype)? {
                    return Some((dtype, sized));
                }
            }
        }
    }
    None
}

/// Whether a call of these extents is answered; `None` if the target can tell nothing more.
fn takes(target: &mut dyn Target, fit: &Fit, dims: Dims, dtype: Dtype) -> Option<bool> {
    match target.call(&small_call(dims, dtype, &fit.always)) {
        Response::Output(_) => Some(true),
        Response::Unsupported(_) | Response::Refused(_) | Response::Error(_) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{Call, Handling, Output};

    use super::*;

    /// Takes calls by their extents.
    struct Picky(fn(&Dims) -> bool);

    impl Target for Picky {
        fn call(&mut self, call: &Call) -> Response {
            if !(self.0)(&call.dims()) {
                return Response::Refused("not this one".into());
            }
            let output = call.value.clone();
            let handling = Handling::default();
            let (weights, lse, inputs_unchanged) = (None, None, true);
            Response::Output(Box::new(Output { output, weights, lse, inputs_unchanged, handling }))
        }
    }

    fn found(takes: fn(&Dims) -> bool) -> String {
        asked(&mut Picky(takes), Fit::default(), &[Dtype::Float32]).to_string()
    }

    #[test]
    fn what_extents_are_taken_is_found() {
        assert_eq!(found(|_| true), "");
        assert_eq!(found(|dims| dims.n_q == dims.n_k), "n_k=n_q");
        assert_eq!(found(|dims| dims.n_q <= dims.n_k), "");
        assert_eq!(found(|dims| dims.d_k == dims.d_v && dims.h_q == dims.h_k), "d_v=d_k, h_k=h_q");
        assert_eq!(found(|dims| dims.d_k == 64 && dims.d_v == 64), "d_k=64 d_v=64");
        let kernel = |dims: &Dims| (dims.b, dims.n_q, dims.n_k, dims.d_k) == (1, 128, 128, 64);
        assert_eq!(found(kernel), "b=1 h_q=1 h_k=1 n_q=128 n_k=128 d_k=64 d_v=64");
        assert_eq!(found(|_| false), "");
    }
}
