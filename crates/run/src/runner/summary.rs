//! What was checked, counted.

use std::collections::BTreeMap;

use qkvet_spec::{
    CallOption, CaseRecord, Coverage, Declined, Finding, Quoted, REPORT_FORMAT, RunInfo, Stopped,
    Strides, Summary, Verdict,
};

use super::RunConfig;
use super::planned::Planned;
use super::state::Done;

/// What no version so far checks.
const UNCHECKED: [&str; 2] = ["gradients", "dropout"];

/// What is checked of functions that are called in Python, on arrays that have strides, where the
/// shapes of a case say so.
const NO_STRIDED_INPUTS: &str = "strided inputs (no result from any)";

/// The same of a function that raises an exception on all of them.
const DECLINED_STRIDED_INPUTS: &str = "strided inputs (declined by an exception)";

/// Why those are not checked of a function that raises an exception.
const STRIDES_DECLINED: &str =
    "strided inputs: an exception was raised, and contiguous ones were given";

/// What is not checked of a layer besides: its projections are asked to copy.
const UNCHECKED_OF_LAYERS: &str = "weights other than 0 and 1";

/// What callers should know of results that do not last.
const RESULT_REUSED: &str = "the function returned the memory of its earlier result, which was still in use and is lost: a caller has to copy what is to be kept";

pub(super) fn summary(
    config: &RunConfig<'_>,
    run: RunInfo,
    cases: &[Planned<'_>],
    (done, shown): (Vec<Done>, &[Option<usize>]),
    findings: Vec<Finding>,
    stopped: Option<&Stopped>,
) -> Summary {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut coverage =
        Coverage { unchecked: UNCHECKED.map(str::to_owned).to_vec(), ..Coverage::default() };
    if run.is_layer {
        coverage.unchecked.push(UNCHECKED_OF_LAYERS.to_owned());
    }
    let declined = done.iter().filter(|done| done.handling.strides == Strides::Declined).count();
    if !done
        .iter()
        .any(|done| done.verdict.is_checked() && done.handling.strides == Strides::Transposed)
    {
        // First, for the report says of the last ones that no version checks them.
        let unchecked = if declined > 0 { DECLINED_STRIDED_INPUTS } else { NO_STRIDED_INPUTS };
        coverage.unchecked.insert(0, unchecked.to_owned());
    }
    if declined > 0 {
        let reason = Quoted::new(STRIDES_DECLINED);
        coverage.declined.push(Declined { verdict: None, reason, cases: declined });
    }
    let reused = done.iter().filter(|done| done.handling.reuses_result).count();
    for law in &config.laws {
        coverage.laws.insert(law.law.law.clone(), 0);
    }
    for dtype in &config.dtypes {
        coverage.dtypes.insert(dtype.to_string(), 0);
    }
    for option in CallOption::ALL {
        coverage.options.insert(option.to_string(), 0);
    }
    for (done, planned) in done.iter().zip(cases) {
        *counts.entry(done.verdict.word().to_owned()).or_default() += 1;
        if matches!(done.verdict, Verdict::Unsupported | Verdict::Refused) {
            // One reason with changing extents is one line: the first as it was written.
            let reason = done.evidence.as_ref().map_or(Quoted::new(""), |it| it.said(usize::MAX));
            let verdict = Some(done.verdict);
            let is_like =
                |one: &&mut Declined| one.verdict == verdict && one.reason.is_like(&reason);
            match coverage.declined.iter_mut().find(is_like) {
                Some(one) => one.cases += 1,
                None => coverage.declined.push(Declined { verdict, reason, cases: 1 }),
            }
        }
        if done.verdict.is_checked() {
            cover(&mut coverage, done, planned);
        }
    }
    let shown = shown.iter().copied().chain(std::iter::repeat(None));
    let records = done.into_iter().zip(cases).zip(shown);
    let records =
        records.map(|((done, planned), finding)| record(done, planned, finding)).collect();
    let mut warnings = config.target.adapter.warnings(&config.target.limits.watch);
    if reused > 0 {
        let cases = if reused == 1 { "case" } else { "cases" };
        warnings.push(format!("{RESULT_REUSED} (seen in {reused} {cases})"));
    }
    let interrupted = stopped == Some(&Stopped::Interrupted);
    let stopped = stopped.cloned();
    Summary {
        format: REPORT_FORMAT.to_owned(),
        run,
        counts,
        findings,
        coverage,
        stopped,
        interrupted,
        warnings,
        known: None,
        snapshot: None,
        records,
    }
}

fn cover(coverage: &mut Coverage, done: &Done, planned: &Planned<'_>) {
    *coverage.laws.entry(planned.law().to_owned()).or_default() += 1;
    *coverage.dtypes.entry(planned.dtype().to_string()).or_default() += 1;
    for option in CallOption::ALL.into_iter().filter(|option| planned.uses(*option)) {
        *coverage.options.entry(option.to_string()).or_default() += 1;
    }
    for (reference, rows) in done.references.iter() {
        *coverage.references.entry(reference.to_string()).or_default() += rows;
    }
    let d = planned.dims();
    for (name, n) in [
        ("b", d.b),
        ("h_q", d.h_q),
        ("h_k", d.h_k),
        ("n_q", d.n_q),
        ("n_k", d.n_k),
        ("d_k", d.d_k),
        ("d_v", d.d_v),
    ] {
        let range = coverage.sizes.entry(name.to_owned()).or_insert((n, n));
        *range = (range.0.min(n), range.1.max(n));
    }
    if done.verdict == Verdict::Pass {
        let margin = coverage.margins.entry(planned.dtype().to_string()).or_default();
        *margin = margin.max(done.margin);
    }
}

fn record(done: Done, planned: &Planned<'_>, finding: Option<usize>) -> CaseRecord {
    let measured = matches!(done.verdict, Verdict::Pass | Verdict::Suspect | Verdict::Fail)
        && done.margin.is_finite();
    CaseRecord {
        id: done.id,
        law: planned.law().to_owned(),
        dtype: planned.dtype().to_string(),
        call: done.call,
        dims: done.dims,
        options: done.options,
        verdict: done.verdict,
        margin: measured.then_some(done.margin),
        evidence: done.evidence,
        replay: None,
        finding,
        known: false,
        digest: done.digest,
    }
}
