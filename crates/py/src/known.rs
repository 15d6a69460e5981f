//! Known deviations on a run in parts: one for each law and format, as test runners run them.

#![allow(clippy::disallowed_methods, reason = "the file is read here")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use qkvet_gen::plans;
use qkvet_report::{
    apply_known, finding, open_findings, plain, read_known, settled, stale_lines, visible,
};
use qkvet_run::adapters::{mistyped_target, other_names};
use qkvet_run::config::Home;
use qkvet_run::declared::Selection;
use qkvet_spec::{CaseRecord, Chosen, Dtype, KnownFile, Summary};
use serde_json::json;

use crate::names::invalid;

/// A longer file is refused before it is read.
const MAX_BYTES: u64 = 64 << 20;

/// The file that speaks for a target: beside its `qkvet.yaml`, else in the folder or above, as for
/// `qkvet check`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn find_known(target: String, folder: PathBuf) -> Option<PathBuf> {
    Home::of(&target, &folder, None).known_file()
}

/// Whether a file of known deviations can be read.
#[pyfunction]
#[pyo3(name = "read_known")]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn read_known_file(path: PathBuf) -> PyResult<()> {
    read(&path).map(drop)
}

fn read(path: &Path) -> PyResult<KnownFile> {
    let shown = path.display().to_string();
    let fail = |error: std::io::Error| {
        invalid(format!("known deviations at {shown}: expected a readable file, got: {error}"))
    };
    let bytes = std::fs::metadata(path).map_err(fail)?.len();
    if bytes > MAX_BYTES {
        let message =
            format!("known deviations at {shown}: expected at most {MAX_BYTES} bytes, got {bytes}");
        return Err(invalid(message));
    }
    read_known(&shown, &std::fs::read_to_string(path).map_err(fail)?).map_err(invalid)
}

/// What the parts of a run come to, as JSON: `cases`, how many are `wrong` and not known, their
/// `ids`, the text of each open `finding`, why others are `settled`, lines of `stale` entries, and
/// why the target `declined`, if it declined everything.
#[pyfunction]
#[pyo3(signature = (target, parts, path, today))]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn outcome(
    target: String,
    parts: Vec<String>,
    path: Option<PathBuf>,
    today: String,
) -> PyResult<String> {
    let mut summaries = Vec::new();
    for part in &parts {
        summaries.push(serde_json::from_str::<Summary>(part).map_err(invalid)?);
    }
    let mut summary = joined(summaries)?;
    summary.run.target = target;
    if let Some(path) = path {
        let here = std::env::current_dir().unwrap_or_default();
        let others = other_names(&summary.run.target, &Home::of(&summary.run.target, &here, None));
        let (shown, known) = (path.display().to_string(), read(&path)?);
        if let Some(what) = mistyped_target(&known.known, &path, &summary.run.target, &others) {
            return Err(invalid(format!("known deviations at {shown}: {what}")));
        }
        apply_known(&mut summary, &shown, &known, &others, &today);
    }
    // A case that follows another convention has a finding, and its verdict is not one of those
    // that are wrong.
    let has_failing = |one: &CaseRecord| {
        one.finding.and_then(|at| summary.findings.get(at)).is_some_and(|one| one.verdict.fails())
    };
    let is_wrong = |one: &&CaseRecord| (one.verdict.fails() || has_failing(one)) && !one.known;
    let wrong: Vec<&str> =
        summary.records.iter().filter(is_wrong).map(|one| one.id.as_str()).collect();
    let is_declined = !summary.records.iter().any(|one| one.verdict.is_checked());
    let reason = summary.records.iter().find_map(|one| {
        Some(format!(
            "{}: {}",
            one.verdict,
            visible(&one.evidence.as_ref()?.format_got().to_string())
        ))
    });
    let shown = |at: usize| plain(&finding(&summary.findings[at]));
    let told = json!({
        "cases": summary.records.len(),
        "wrong": wrong.len(),
        "ids": wrong,
        "findings": open_findings(&summary).into_iter().map(shown).collect::<Vec<_>>(),
        "settled": settled(&summary).into_values().collect::<Vec<_>>(),
        "stale": stale_lines(&summary),
        "declined": if is_declined { Some(reason.unwrap_or_else(|| "nothing was checked".to_owned())) } else { None },
    });
    Ok(told.to_string())
}

/// One run of all parts, which are of one suite and seed, and of laws and formats of their own
/// each.
fn joined(parts: Vec<Summary>) -> PyResult<Summary> {
    let mut parts = parts.into_iter();
    let mut whole =
        parts.next().ok_or_else(|| invalid("parts of a run: expected one at least, got none"))?;
    for part in parts {
        let before = whole.findings.len();
        whole.findings.extend(part.findings);
        whole.records.extend(part.records.into_iter().map(|mut record| {
            record.finding = record.finding.map(|number| before + number);
            record
        }));
        whole.coverage.laws.extend(part.coverage.laws);
        whole.run.contracts.extend(part.run.contracts);
        whole.stopped = whole.stopped.or(part.stopped);
    }
    whole.run.chosen = chosen(&whole)?;
    Ok(whole)
}

/// What the joined run leaves out of its suite.
fn chosen(whole: &Summary) -> PyResult<Vec<Chosen>> {
    let Selection { suite, laws, dtypes } =
        Selection::new(&whole.run.suite, &[], &[]).map_err(invalid)?;
    let all: BTreeSet<(String, Dtype)> = plans(suite, &laws, &dtypes, whole.run.seed)
        .into_iter()
        .map(|plan| (plan.law, plan.dtype))
        .collect();
    let has = |law: &str, dtype: Dtype| {
        whole.records.iter().any(|one| one.law == law && one.dtype == dtype.name())
    };
    let (mut by_law, mut by_dtype, mut by_part) = (false, false, false);
    for (law, dtype) in &all {
        if has(law, *dtype) {
            continue;
        }
        let no_law = !whole.records.iter().any(|one| one.law == *law);
        let no_dtype = !whole.records.iter().any(|one| one.dtype == dtype.name());
        by_law |= no_law;
        by_dtype |= no_dtype;
        by_part |= !no_law && !no_dtype;
    }
    let found = [(by_law, Chosen::Laws), (by_dtype, Chosen::Dtypes), (by_part, Chosen::Shard)];
    Ok(found.into_iter().filter_map(|(is_so, chosen)| is_so.then_some(chosen)).collect())
}
