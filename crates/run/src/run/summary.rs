//! What was checked, counted.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::{
    CallOption, Chosen, ClaimOutcome, Coverage, Declined, Finding, OptionSet, Quoted,
    REPORT_FORMAT, RunInfo, Stopped, Strides, Summary, Verdict, Warning,
};

use super::case::JudgedCase;
use crate::config::RunConfig;

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

/// The report: what was run, the cases, and the findings with the numbers of the cases that show
/// each.
pub(super) fn summary(
    config: &RunConfig<'_>,
    run: RunInfo,
    mut cases: Vec<JudgedCase<'_>>,
    findings: Vec<(Finding, Vec<usize>)>,
    stopped: Option<Stopped>,
) -> Summary {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut coverage =
        Coverage { unchecked: UNCHECKED.map(str::to_owned).to_vec(), ..Coverage::default() };
    if run.is_layer {
        coverage.unchecked.push(UNCHECKED_OF_LAYERS.to_owned());
    }
    let has = |strides: Strides| move |case: &&JudgedCase<'_>| case.handling.strides == strides;
    let declined = cases.iter().filter(has(Strides::Declined)).count();
    let mut on_views = cases.iter().filter(has(Strides::Transposed));
    if !on_views.any(|case| case.verdict().is_checked()) {
        // First, for the report says of the last ones that no version checks them.
        let unchecked = if declined > 0 { DECLINED_STRIDED_INPUTS } else { NO_STRIDED_INPUTS };
        coverage.unchecked.insert(0, unchecked.to_owned());
    }
    if declined > 0 {
        let reason = Quoted::new(STRIDES_DECLINED);
        coverage.declined.push(Declined { verdict: None, reason, cases: declined });
    }
    let reused = cases.iter().filter(|case| case.handling.reuses_result).count();
    for law in &config.laws {
        coverage.laws.insert(law.law.law.clone(), 0);
    }
    for dtype in &config.dtypes {
        coverage.dtypes.insert(dtype.to_string(), 0);
    }
    for option in CallOption::ALL {
        coverage.options.insert(option.to_string(), 0);
    }
    let claim = config.claim.map(|named| outcome(&named.file, &cases));
    let mut met = BTreeSet::new();
    for case in &cases {
        let verdict = case.verdict();
        *counts.entry(verdict.word().to_owned()).or_default() += 1;
        if matches!(verdict, Verdict::Unsupported | Verdict::Refused) {
            // One reason with changing extents is one line: the first as it was written.
            let evidence = case.record.evidence.as_ref();
            let reason = evidence.map_or(Quoted::new(""), |it| it.said(usize::MAX));
            let verdict = Some(verdict);
            let is_like =
                |one: &&mut Declined| one.verdict == verdict && one.reason.is_like(&reason);
            match coverage.declined.iter_mut().find(is_like) {
                Some(one) => one.cases += 1,
                None => coverage.declined.push(Declined { verdict, reason, cases: 1 }),
            }
        }
        if verdict.is_checked() {
            cover(&mut coverage, case);
            met.insert(on(case));
        }
    }
    coverage.apart = apart(&met);
    for (number, (_, members)) in findings.iter().enumerate() {
        // Undeclared conventions come first: a case shows what is wrong with it besides, if
        // something is.
        members.iter().for_each(|at| cases[*at].record.finding = Some(number));
    }
    let mut warnings = config.target.adapter.warnings(&config.target.limits.watch);
    if reused > 0 {
        warnings.push(Warning::ResultReused { cases: reused });
    }
    warnings.extend(run.chosen.iter().filter_map(|chosen| match chosen {
        Chosen::First { of } => Some(Warning::Cut { cases: run.cases, of: *of }),
        Chosen::Failed => Some(Warning::OnlyFailed),
        Chosen::Shapes { most } => Some(Warning::FewShapes { most: *most }),
        Chosen::Rows { n } => Some(Warning::SomeRows { n: *n, seed: run.seed }),
        _ => None,
    }));
    Summary {
        format: REPORT_FORMAT.to_owned(),
        run,
        counts,
        findings: findings.into_iter().map(|(finding, _)| finding).collect(),
        coverage,
        interrupted: stopped == Some(Stopped::Interrupted),
        other_configuration: false,
        stopped,
        warnings,
        known: None,
        snapshot: None,
        claim,
        records: cases.into_iter().map(|case| case.record).collect(),
    }
}

/// What a file of deviations explains and contradicts.
fn outcome(file: &str, cases: &[JudgedCase<'_>]) -> ClaimOutcome {
    let of = |says: bool| cases.iter().filter(move |case| case.claimed == Some(says));
    ClaimOutcome {
        file: file.to_owned(),
        explained: of(true).count(),
        contradicted: of(false).count(),
        first: of(false).map(|case| case.record.id.clone()).next(),
    }
}

/// The options that a case has.
fn on(case: &JudgedCase<'_>) -> OptionSet {
    CallOption::ALL.into_iter().filter(|option| case.planned.uses(*option)).collect()
}

/// Pairs of options that some of these sets have, and none both.
fn apart(met: &BTreeSet<OptionSet>) -> Vec<(CallOption, CallOption)> {
    let have = |one: CallOption, two: CallOption| {
        met.iter().any(|on| on.contains(one) && on.contains(two))
    };
    let all: Vec<CallOption> = CallOption::ALL.into_iter().filter(|one| have(*one, *one)).collect();
    let pairs =
        all.iter().enumerate().flat_map(|(at, one)| all[..at].iter().map(move |two| (*two, *one)));
    pairs.filter(|(one, two)| !one.excludes(*two) && !have(*one, *two)).collect()
}

fn cover(coverage: &mut Coverage, case: &JudgedCase<'_>) {
    let JudgedCase { planned, record, .. } = case;
    *coverage.laws.entry(record.law.clone()).or_default() += 1;
    *coverage.dtypes.entry(record.dtype.clone()).or_default() += 1;
    for option in on(case).iter() {
        *coverage.options.entry(option.to_string()).or_default() += 1;
    }
    for (reference, rows) in case.references.iter() {
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
    if record.verdict == Verdict::Pass {
        let margin = coverage.margins.entry(record.dtype.clone()).or_default();
        *margin = margin.max(record.margin.unwrap_or_default());
    }
}
