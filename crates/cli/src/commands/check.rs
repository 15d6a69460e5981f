//! One run of `qkvet check`: the main job.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use qkvet_report::{deviation_file, visible};
use qkvet_run::adapters::NamedTarget;
use qkvet_run::config::{CaseSource, Home, NamedClaim};
use qkvet_run::frozen::read_cases;
use qkvet_run::inputs::Inputs;
use qkvet_spec::{
    CaseRecord, Catalog, CheckedLaw, Dtype, Fit, Required, Suite, Summary, Unexpected, Warning,
};

use super::configured::Configuration;
use super::expected::{Expected, read_text};
use super::frozen_cases;
use super::launch::{Manner, Subject, launch, tell_first};
use super::report::last_of;
use super::reports::{check_wishes, write_named};
use super::target_folder::name_of;
use super::{own_laws, scale_out, setup};
use crate::args::{CheckArgs, Engine};
use crate::exit::{Ended, Failure, code};

/// Where a file of deviations comes from.
const SAVED_HINT: &str = "`qkvet check TARGET --save-fault FILE` writes one";

/// Runs it; the exit code.
pub(super) fn check(args: &CheckArgs) -> Result<u8, Failure> {
    let home = setup::home(&args.target, args.on.process.config.as_deref())?;
    let expected = Expected::known(&args.report, &args.target, &home)?;
    Ok(match run_check(args, &home, &expected)? {
        Ended::Run(summary) => code(&summary, args.report.strict),
        Ended::Code(code) => code,
    })
}

/// What a run is for.
pub(super) enum Purpose {
    /// A report.
    Report,
    /// A comparison with another run, which had such cases.
    Compare(Option<Box<SameCases>>),
}

/// What the cases of a run were made from.
pub(super) struct SameCases {
    fit: Option<Fit>,
    most_shapes: Option<usize>,
}

impl SameCases {
    pub(super) fn of(summary: &Summary) -> Self {
        let most_shapes = summary.warnings.iter().find_map(|warning| match warning {
            Warning::FewShapes { most } => Some(*most),
            _ => None,
        });
        Self { fit: summary.run.fit.clone(), most_shapes }
    }

    /// Whether other cases would be asked after them.
    pub(super) fn narrows(&self, other: &Self) -> bool {
        other.fit.is_none() && self.fit.is_some()
            || other.most_shapes.is_none() && self.most_shapes.is_some()
    }
}

/// Runs it and prints the report.
pub(super) fn run_check(
    args: &CheckArgs,
    home: &Home,
    expected: &Expected,
) -> Result<Ended, Failure> {
    run_for(&Purpose::Report, args, home, expected)
}

/// Runs it.
pub(super) fn run_for(
    purpose: &Purpose,
    args: &CheckArgs,
    home: &Home,
    expected: &Expected,
) -> Result<Ended, Failure> {
    check_wishes(&args.report.output)?;
    if let Some(path) = args.save_fault.as_ref().filter(|path| path.exists() && !path.is_file()) {
        return Err(Unexpected::at_path("deviations", path, "a file").got("something else").into());
    }
    let mut catalog = home.catalog()?;
    let configuration = Configuration::of(args, home);
    if !args.quiet {
        configuration.tell();
    }
    let asked = Asked { args, home, expected, purpose, configuration: &configuration };
    match (&args.cases, &args.inputs) {
        (Some(folder), _) => by_frozen_cases(&asked, folder, &catalog),
        (None, Some(path)) => by_inputs(&asked, path, &mut catalog),
        (None, None) => by_suite(&asked, &mut catalog),
    }
}

/// What a run is made from.
#[derive(Clone, Copy)]
struct Asked<'a> {
    args: &'a CheckArgs,
    home: &'a Home,
    expected: &'a Expected,
    purpose: &'a Purpose,
    configuration: &'a Configuration<'a>,
}

fn by_suite(asked: &Asked<'_>, catalog: &mut Catalog) -> Result<Ended, Failure> {
    let Asked { args, home, expected, purpose, .. } = *asked;
    let mut suite = setup::suite(catalog, &args.suite)?;
    expected.refuse_other_version(&suite.full_name(), &args.target)?;
    let laws = laws(catalog, &suite, &args.law)?;
    let (target, dtypes) = target(args, home, &suite.dtypes, catalog)?;
    let most_shapes = args.shapes.map(|n| n as usize).or(target.entry.shapes);
    suite.most_shapes = most_shapes.or(suite.most_shapes);
    suite.at.clone_from(&args.at);
    suite.rows = args.rows.map(|n| n as usize);
    if let Purpose::Compare(Some(cases)) = purpose {
        suite.fit.clone_from(&cases.fit);
        suite.most_shapes = cases.most_shapes.or(suite.most_shapes);
    }
    let mut laws: Vec<&CheckedLaw> =
        laws.iter().map(|id| catalog.asking_law(id)).collect::<Result<_, _>>()?;
    if args.rows.is_some() {
        laws.retain(|law| law.says_a_result());
    }
    let has_conventions =
        !args.on.declared.convention.is_empty() || !target.entry.conventions.is_empty();
    let notices = own_laws::notices(&laws, catalog, has_conventions)?;
    let declared = setup::declared(&target, &args.on.declared, &dtypes, catalog)?;
    tell_first(&notices, &declared);
    if let Some(Engine::Ray) = args.scale_out.engine {
        return scale_out::scale_out(args, expected, asked.configuration);
    }
    let cases = CaseSource::Suite { suite: &suite, seed: args.seed };
    let subject = Subject { cases, laws, dtypes, declared };
    judged(asked, catalog, subject, target)
}

fn by_inputs(asked: &Asked<'_>, path: &Path, catalog: &mut Catalog) -> Result<Ended, Failure> {
    let Asked { args, home, .. } = *asked;
    let inputs = Inputs::read(path)?;
    let suite = setup::suite(catalog, &args.suite)?;
    let laws = laws(catalog, &suite, &args.law)?;
    let (target, dtypes) = target(args, home, &inputs.dtypes(), catalog)?;
    let laws: Vec<&CheckedLaw> =
        laws.iter().map(|id| catalog.asking_law(id)).collect::<Result<_, _>>()?;
    let rows = args.rows.map(|n| n as usize);
    let own = inputs.cases(&laws, rows, args.seed)?;
    let rows = rows.or_else(|| inputs.rows());
    let is_asked = |law: &&CheckedLaw| own.iter().any(|own| own.case.law == law.law.law);
    let laws = laws.into_iter().filter(is_asked).collect();
    let declared = setup::declared(&target, &args.on.declared, &dtypes, catalog)?;
    tell_first(&[], &declared);
    let cases = CaseSource::Own { name: &inputs.name, seed: args.seed, rows, cases: &own };
    let subject = Subject { cases, laws, dtypes, declared };
    judged(asked, catalog, subject, target)
}

fn by_frozen_cases(asked: &Asked<'_>, folder: &Path, catalog: &Catalog) -> Result<Ended, Failure> {
    let Asked { args, home, .. } = *asked;
    let frozen = read_cases(folder)?;
    let (target, dtypes) = target(args, home, &frozen_cases::dtypes(&frozen.cases), catalog)?;
    let declared = setup::declared(&target, &args.on.declared, &dtypes, catalog)?;
    let notices = if args.quiet { Vec::new() } else { frozen_cases::notices(&frozen) };
    tell_first(&notices, &declared);
    let (cases, laws) = (frozen_cases::source(&frozen), vec![frozen_cases::law(catalog)?]);
    let subject = Subject { cases, laws, dtypes, declared };
    judged(asked, catalog, subject, target)
}

/// The run, held against a file of deviations and written to one where that is wished for.
fn judged(
    asked: &Asked<'_>,
    catalog: &Catalog,
    subject: Subject<'_>,
    target: NamedTarget,
) -> Result<Ended, Failure> {
    let claim = claim(asked.args, catalog)?;
    let manner = manner(asked, target, claim.as_ref())?;
    let summary = launch(catalog, subject, manner, asked.expected)?;
    save_fault(asked.args, &summary)?;
    Ok(Ended::Run(Box::new(summary)))
}

/// What the target is said to compute.
fn claim(args: &CheckArgs, catalog: &Catalog) -> Result<Option<NamedClaim>, Failure> {
    let Some(path) = &args.claim else { return Ok(None) };
    let text = read_text("deviations", path, Some(SAVED_HINT))?;
    Ok(Some(NamedClaim::read(&path.display().to_string(), &text, catalog)?))
}

/// Writes what findings say of the target.
fn save_fault(args: &CheckArgs, summary: &Summary) -> Result<(), Failure> {
    let Some(path) = &args.save_fault else { return Ok(()) };
    let (text, unnamed) = deviation_file(summary)?;
    let shown = path.display();
    match text {
        Some(text) => {
            write_named("deviations", path, &text)?;
            let target = visible(&args.target);
            tell!(
                "{shown} is written; `qkvet check {target} --as {shown}` holds the target against it"
            );
            if unnamed > 0 {
                tell!(
                    "notice: {unnamed} of the findings do not say what is computed, and are not in it"
                );
            }
        }
        None if unnamed == 0 => tell!("notice: there is no finding, and {shown} is not written"),
        None => tell!("notice: no finding says what is computed, and {shown} is not written"),
    }
    Ok(())
}

fn manner<'a>(
    asked: &Asked<'a>,
    target: NamedTarget,
    claim: Option<&'a NamedClaim>,
) -> Result<Manner<'a>, Failure> {
    let args = asked.args;
    let required = match &args.require[..] {
        // What one of them declines is told as that.
        _ if matches!(asked.purpose, Purpose::Compare(_)) => Required::default(),
        [] if args.shard.is_some() && target.entry.requires.is_some() => {
            tell!("notice: what the entry requires is not looked at in a shard");
            Required::default()
        }
        [] => target.entry.requires.clone().unwrap_or_default(),
        parts => Required::of(parts, "--require")?,
    };
    Ok(Manner {
        required,
        target,
        jobs: args.jobs,
        fail_fast: args.fail_fast,
        time: args.time,
        until: args.until.map(|n| n as usize),
        only: args.lf.then(|| failed_before(args)).flatten(),
        identifies: !args.no_identify,
        claim,
        store: Some(PathBuf::from(setup::STORE)),
        journal: args.resume.then(|| journal(&args.target)),
        shard: args.shard,
        shard_file: args.shard_file.clone(),
        quiet: args.quiet,
        silent: args.quiet,
        configuration: Some(asked.configuration),
        unreported: matches!(asked.purpose, Purpose::Compare(_)),
        report: &args.report,
    })
}

/// The path of the journal, as [`Journal::of`] takes it.
///
/// [`Journal::of`]: qkvet_run::record::Journal::of
fn journal(target: &str) -> PathBuf {
    Path::new(setup::STORE).join("resume").join(name_of(target, &mut BTreeSet::new()))
}

/// Ids of the cases of the target that did not hold in the last run here. Where there are none, that
/// is said, and all cases are run.
fn failed_before(args: &CheckArgs) -> Option<BTreeSet<String>> {
    let target = &args.target;
    let last = last_of(target);
    if last.is_none() {
        tell!("notice: no run of {} is kept here: all cases are run", visible(target));
        return None;
    }
    let records = last.iter().flat_map(|summary| &summary.records);
    // What follows a convention that nobody declared holds by it.
    let is_failed = |record: &&CaseRecord| record.verdict.is_finding() || record.finding.is_some();
    let failed = records.filter(is_failed);
    let failed: BTreeSet<String> = failed.map(|record| record.id.clone()).collect();
    if failed.is_empty() {
        tell!("notice: no case of {} failed in the last run here: all are run", visible(target));
    }
    Some(failed).filter(|failed| !failed.is_empty())
}

/// Ids of the laws to run; laws from files join the catalog.
fn laws(catalog: &mut Catalog, suite: &Suite, only: &[String]) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for name in only {
        match setup::yaml_file(name)? {
            Some(source) => ids.push(catalog.add_law(name, &source)?),
            None => ids.push(Catalog::find("law", &catalog.laws, name)?.law.law.clone()),
        }
    }
    if only.is_empty() {
        ids = catalog.suite_laws(suite)?.iter().map(|law| law.law.law.clone()).collect();
    }
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

/// The target, and the formats of the run: the flag's, else those of its entry, else those of the
/// cases.
fn target(
    args: &CheckArgs,
    home: &Home,
    present: &[Dtype],
    catalog: &Catalog,
) -> Result<(NamedTarget, Vec<Dtype>), Failure> {
    let chosen = setup::dtypes(&args.dtype)?;
    let target = setup::target(home, &args.target, &args.on, None, &chosen, catalog)?;
    let undeclared = || target.entry.dtypes.clone().unwrap_or_else(|| present.to_vec());
    let dtypes = if chosen.is_empty() { undeclared() } else { chosen };
    Ok((target, dtypes))
}
