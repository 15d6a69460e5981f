//! A suite as a test binary: one test for each law and format, in the manner of `cargo test`.

#![allow(clippy::disallowed_methods, reason = "a test binary reads its arguments and environment")]

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial, run};
use qkvet_engine::law::{Judge, evaluate};
use qkvet_gen::{CasePlan, build, plans};
use qkvet_run::adapters::Again;
use qkvet_spec::{Call, CheckedLaw, Dialect, Dtype, Finding, Response, Summary, Target, Verdict};

use crate::Error;
use crate::suite::{Prepared, Suite};
use crate::target::{Own, is_called};

/// Names a case that is run instead of the suite.
const CASE: &str = "QKVET_CASE";
/// Nothing was checked, as the command line says it.
const NOTHING_CHECKED: u8 = 4;
/// Something was named that there is not.
const USAGE: u8 = 2;

/// The cases of one law in one format: a test.
#[derive(Clone, Copy)]
struct Group {
    law: &'static CheckedLaw,
    dtype: Dtype,
}

impl Group {
    fn name(self) -> String {
        format!("{}::{}", self.law.law.law, self.dtype)
    }
}

impl Suite {
    /// Runs it as `cargo test` runs tests, with the arguments of the process. For a test with
    /// `harness = false`.
    ///
    /// Each law in each format is a test, `uniform-attention::float32`. Where an option that it
    /// needs is not offered, it is ignored. Where every call is refused, it fails: what is not
    /// offered is to be declared. `QKVET_CASE` in the environment names one case to be run instead.
    pub fn main(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let again = |again: &Again<'_>| {
            format!("{CASE}='{}' cargo test --test {}", again.token, own_name())
        };
        let trials =
            self.prepared(again).and_then(|prepared| trials(Arc::new(prepared), &arguments));
        let trials = match trials {
            Ok(trials) => trials,
            Err(error) => return refused(&error),
        };
        quiet();
        let all = trials.len();
        let conclusion = run(&arguments, trials);
        // One that was chosen may be ignored.
        let is_chosen =
            arguments.filter.is_some() || !arguments.skip.is_empty() || arguments.ignored;
        if !arguments.list && !is_chosen && conclusion.num_ignored == all as u64 {
            return nothing_checked();
        }
        conclusion.exit_code()
    }
}

#[expect(clippy::print_stderr, reason = "a test binary tells people")]
fn refused(error: &Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(USAGE)
}

#[expect(clippy::print_stderr, reason = "a test binary tells people")]
fn nothing_checked() -> ExitCode {
    eprintln!("nothing was checked: the implementation offers nothing that the suite asks for");
    ExitCode::from(NOTHING_CHECKED)
}

/// What a target says while it panics is told by its finding.
fn quiet() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_called() {
            told(info);
        }
    }));
}

/// What `cargo test --test` calls this binary: its file without the hash.
fn own_name() -> String {
    let file = std::env::current_exe().unwrap_or_default();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.rsplit_once('-').map_or(stem.clone(), |(name, _)| name.to_owned())
}

fn trials(suite: Arc<Prepared>, arguments: &Arguments) -> Result<Vec<Trial>, Error> {
    if let Ok(text) = std::env::var(CASE) {
        return Ok(vec![replay(suite, &text)?]);
    }
    let groups = suite.groups(arguments);
    // Which tests have nothing to ask is seen when they run, unless someone wants to know before.
    let is_asked_before = arguments.list || arguments.ignored;
    let mut trials = Vec::new();
    for (group, plans) in groups {
        let ignored = is_asked_before && !suite.asks(group, &plans)?;
        let suite = Arc::clone(&suite);
        let trial = Trial::ignorable_test(group.name(), move || suite.concluded(group));
        trials.push(trial.with_ignored_flag(ignored));
    }
    Ok(trials)
}

impl Prepared {
    /// Every law and format with cases, in the order of the suite. A single test that is named
    /// exactly is made alone: test runners start a process for each.
    fn groups(&self, arguments: &Arguments) -> Vec<(Group, Vec<CasePlan>)> {
        let only = arguments.filter.as_ref().filter(|_| arguments.exact && !arguments.list);
        let chosen = |group: &Group| only.is_none_or(|name| *name == group.name());
        let selection = &self.selection;
        let of_law = |law: &'static CheckedLaw| {
            selection.dtypes.iter().map(move |dtype| Group { law, dtype: *dtype })
        };
        let all: Vec<Group> =
            selection.laws.iter().copied().flat_map(of_law).filter(chosen).collect();
        let laws: Vec<&CheckedLaw> = selection
            .laws
            .iter()
            .copied()
            .filter(|law| all.iter().any(|one| one.law.law.law == law.law.law))
            .collect();
        let made = plans(selection.suite, &laws, &selection.dtypes, self.seed);
        let of = |group: Group| {
            let own = |plan: &&CasePlan| plan.law == group.law.law.law && plan.dtype == group.dtype;
            (group, made.iter().filter(own).cloned().collect::<Vec<_>>())
        };
        all.into_iter().map(of).filter(|(_, plans)| !plans.is_empty()).collect()
    }

    /// Whether a case of the group asks for nothing but what is offered, as far as its first call
    /// tells.
    fn asks(&self, group: Group, plans: &[CasePlan]) -> Result<bool, Error> {
        let meaning = self.declared.meaning();
        let judge = Judge { meaning: &meaning, contract: self.declared.contract(group.dtype)? };
        for plan in plans {
            let case = build(group.law, plan)?;
            let outcome = evaluate(group.law, &case, judge, &mut Asked(&self.own))?;
            if outcome.verdict != Verdict::Unsupported {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs a group.
    fn concluded(&self, group: Group) -> Result<Completion, Failed> {
        let summary = self.run(vec![group.law], vec![group.dtype])?;
        let conclusion = concluded(&summary);
        let Some(reason) = self.known(&group.law.law.law) else { return conclusion };
        match conclusion {
            Err(_) => Ok(Completion::Completed),
            Ok(Completion::Completed) => {
                Err(format!("known to fail, and nothing is wrong with it: {reason}").into())
            }
            ignored => ignored,
        }
    }
}

/// Whether the cases of a group hold, or why they say nothing.
fn concluded(summary: &Summary) -> Result<Completion, Failed> {
    let failing: Vec<&Finding> =
        summary.findings.iter().filter(|finding| finding.verdict.fails()).collect();
    if !failing.is_empty() {
        return Err(failing
            .into_iter()
            .map(|finding| qkvet_report::finding_text(finding, Dialect::RustSuite))
            .collect::<Vec<_>>()
            .join("\n\n")
            .into());
    }
    if summary.checked() > 0 {
        return Ok(Completion::Completed);
    }
    let reasons = summary.coverage.format_declined();
    if summary.counts.contains_key(Verdict::Refused.word()) {
        let hint = "hint: what is not offered is left out of `supports`, or answered with Declined::unsupported";
        return Err(format!("nothing was checked: {reasons}\n{hint}").into());
    }
    Ok(Completion::ignored_with(reasons.to_string()))
}

/// Declines what is not offered, and answers nothing.
struct Asked<'a>(&'a Own);

impl Target for Asked<'_> {
    fn call(&mut self, call: &Call) -> Response {
        match self.0.asked(call) {
            Ok(_) => Response::NotAsked("".into()),
            Err(lacks) => Response::Unsupported(lacks.to_string().into()),
        }
    }
}

/// The test of one case.
fn replay(suite: Arc<Prepared>, token: &str) -> Result<Trial, Error> {
    let (law, case) = suite.case(token)?;
    let name = format!("{}::{}", case.law, case.dtype);
    Ok(Trial::ignorable_test(name, move || {
        let judgment = suite.judged(law, &case)?;
        let text = qkvet_report::judgment(&judgment, Dialect::RustSuite);
        match judgment.verdict {
            Verdict::Pass | Verdict::Suspect | Verdict::Inconclusive => Ok(Completion::Completed),
            Verdict::Unsupported => Ok(Completion::ignored_with(
                judgment.evidence.map_or(text, |seen| seen.format_got().to_string()),
            )),
            _ => Err(text.into()),
        }
    }))
}
