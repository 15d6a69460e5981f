//! `qkvet replay CASE`: one case again, from where it was stored or from a token.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_diagnose::{describe_case, describe_inputs};
use qkvet_engine::law::{Judge, Outcome, evaluate};
use qkvet_gen::{case_id, check_case, from_token, is_token};
use qkvet_report::{English, json_document, ratio};
use qkvet_run::adapters::NamedTarget;
use qkvet_run::config::{Declared, Home};
use qkvet_run::frozen::read_cases;
use qkvet_run::run::{RunError, self_test, threads_of};
use qkvet_run::store::{Stored, StoredFinding, read_case};
use qkvet_spec::shape::check_law;
use qkvet_spec::{
    Case, Catalog, CheckedLaw, Contract, Number, Replay, Replayed, Strides, Target, Threads,
    Unexpected, Verdict,
};

use super::setup;
use crate::args::{DocumentFormat, ReplayArgs};
use crate::exit::{FINDINGS, Failure, HELD, NOTHING, TARGET};
use crate::out::write_text;

/// How often a case that was a finding has to be right.
const TURNS: usize = 3;

/// How often a case is asked that showed a finding at times alone.
const MANY_TURNS: usize = 100;

/// A case and what it is judged by.
struct Again {
    case: Case,
    law: CheckedLaw,
    target: NamedTarget,
    /// Conventions in force, `field=value`.
    conventions: Vec<String>,
    contracts: Vec<String>,
    /// What it showed, if it is judged as it was then.
    was: Option<StoredFinding>,
}

pub(super) fn replay(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    self_test()?;
    let stored = match (&args.cases, &args.law) {
        (None, Some(file)) if !is_token(&args.case) => {
            return Err(Unexpected::at(format!("--law {file}"), "a token")
                .quoted(&args.case)
                .hint("a stored case holds its law")
                .into());
        }
        (None, None) if !is_token(&args.case) => {
            Some(read_case(Path::new(setup::STORE), &args.case)?)
        }
        _ => None,
    };
    let name = args.target.as_deref().or(stored.as_ref().map(|stored| stored.target.as_str()));
    let config = config(args, stored.as_ref());
    let home = setup::home(name.unwrap_or_default(), config.as_deref())?;
    let mut catalog = home.catalog()?;
    let again = match (&args.cases, stored) {
        (Some(folder), _) => by_frozen_id(args, folder, &home, &catalog)?,
        (None, Some(stored)) => by_file(args, stored, &home, &catalog)?,
        (None, None) => by_token(args, &home, &mut catalog)?,
    };
    let Again { case, law, target, .. } = &again;
    let Again { conventions, contracts, .. } = &again;
    let declared = Declared::of(&target.entry, conventions, contracts, &[case.dtype], &catalog)?;
    let contract = declared.contract(case.dtype)?;
    let meaning = declared.meaning();
    let mut open = target.open(&meaning)?;
    let id = case_id(case);
    open.target.begin(&id);
    open.target.set_threads(threads_of(&id, &law.law.law));
    let turn = |target: &mut dyn Target| {
        evaluate(law, case, Judge { meaning: &meaning, contract }, target).map_err(RunError::from)
    };
    let mut outcome = turn(open.target.as_mut())?;
    let mut n_calls = outcome.calls.len();
    if let Some(was) = &again.was {
        // A target may be right at first, and wrong once it was called.
        for _ in 1..if was.is_fleeting() { MANY_TURNS } else { TURNS } {
            if !is_right(&outcome) {
                break;
            }
            // It may need several threads.
            open.target.set_threads(Threads::Library);
            outcome = turn(open.target.as_mut())?;
            n_calls += outcome.calls.len();
        }
    }
    let now = again.was.as_ref().and_then(|was| replayed(was, &outcome, n_calls));
    let verdict = outcome.verdict;
    match args.format {
        DocumentFormat::Human => show(&again, contract, &outcome, now),
        DocumentFormat::Json => write_text(&json_document(&Replay {
            target: target.name.clone(),
            law: law.law.law.clone(),
            case: id,
            call: describe_case(law, case),
            conventions: again.conventions.clone(),
            contract: contract.contract.clone(),
            verdict,
            was: again.was.as_ref().map(|was| was.verdict),
            now,
            margin: Number(outcome.margin),
            evidence: outcome.evidence.clone(),
        })?)?,
    }
    Ok(ExitCode::from(
        if outcome.evidence.as_ref().is_some_and(|evidence| evidence.broke_protocol) {
            TARGET
        } else if verdict.is_finding() {
            FINDINGS
        } else {
            match now {
                Some(Replayed::Fixed) => HELD,
                Some(Replayed::Unseen(_) | Replayed::NotCalled) => NOTHING,
                None if verdict.is_checked() => HELD,
                None => NOTHING,
            }
        },
    ))
}

/// What became of a finding that does not show. Whether calls decided that were declined then is
/// not asked: as many have to be answered as then.
fn replayed(was: &StoredFinding, outcome: &Outcome, n_calls: usize) -> Option<Replayed> {
    if is_right(outcome) && was.is_fleeting() {
        return Some(Replayed::Unseen(n_calls));
    }
    match outcome.verdict {
        Verdict::Pass => Some(Replayed::Fixed),
        Verdict::Unsupported if was.calls > 0 && outcome.calls.len() >= was.calls => {
            Some(Replayed::Fixed)
        }
        Verdict::Unsupported | Verdict::Refused => Some(Replayed::NotCalled),
        _ => None,
    }
}

/// The flag's `qkvet.yaml`, else the one that declared the target then, where it is still there.
fn config(args: &ReplayArgs, stored: Option<&Stored>) -> Option<PathBuf> {
    let then = || stored.and_then(|stored| stored.config.clone()).filter(|path| path.is_file());
    args.on.process.config.clone().or_else(then)
}

/// A case that was stored, on the target that it was stored for unless another is named.
fn by_file(
    args: &ReplayArgs,
    stored: Stored,
    home: &Home,
    catalog: &Catalog,
) -> Result<Again, Failure> {
    let law = check_law(stored.law.clone())
        .map_err(|error| error.inside(format_args!("law at {}", args.case)))?;
    let case = stored.case(&law, &args.case)?;
    check_case(&law, &case).map_err(|error| Unexpected::within_path("case", &args.case, error))?;
    let target = match &args.target {
        // The file of a stored case does not speak for another target.
        Some(name) => {
            let home = setup::home(name, args.on.process.config.as_deref())?;
            setup::target(&home, name, &args.on, None, &[case.dtype], catalog)?
        }
        None => {
            let as_then = Some(&stored.call);
            setup::target(home, &stored.target, &args.on, as_then, &[case.dtype], catalog)?
        }
    };
    let as_then = args.target.is_none()
        && args.on.declared.convention.is_empty()
        && args.on.declared.contract.is_empty();
    Ok(Again {
        case,
        law,
        target,
        conventions: [stored.conventions.as_slice(), &args.on.declared.convention].concat(),
        contracts: match args.on.declared.contract.as_slice() {
            [] => vec![stored.contract],
            flags => flags.to_vec(),
        },
        was: stored.finding.filter(|_| as_then),
    })
}

/// A frozen case by its id, on the target that is named.
fn by_frozen_id(
    args: &ReplayArgs,
    folder: &Path,
    home: &Home,
    catalog: &Catalog,
) -> Result<Again, Failure> {
    let frozen = read_cases(folder)?;
    let case = frozen.cases.iter().find(|case| case.id == args.case).ok_or_else(|| {
        let expected = format!("an id of {}", folder.display());
        Unexpected::at(format!("case {}", args.case), expected).got("none of its cases")
    })?;
    let law = Catalog::find("law", &catalog.laws, &case.case.law)?.clone();
    let name = args.target.as_deref().unwrap_or_default();
    Ok(Again {
        case: case.case.clone(),
        law,
        target: setup::target(home, name, &args.on, None, &[case.case.dtype], catalog)?,
        conventions: args.on.declared.convention.clone(),
        contracts: args.on.declared.contract.clone(),
        was: None,
    })
}

/// A case that the token holds, by a law of the catalog or a file, on the target that is named.
fn by_token(args: &ReplayArgs, home: &Home, catalog: &mut Catalog) -> Result<Again, Failure> {
    let case = from_token(&args.case)?;
    if let Some(file) = &args.law {
        let place = format!("--law {file}");
        let source = setup::yaml_file(file)?
            .ok_or_else(|| Unexpected::at(&place, "a YAML file, ending in .yaml or .yml"))?;
        let id = catalog.add_law(file, &source)?;
        if id != case.law {
            let expected = format!("the law `{}` of the token", case.law);
            return Err(Unexpected::at(place, expected).quoted(id).into());
        }
    }
    let law = Catalog::find("law", &catalog.laws, &case.law)
        .map_err(|error| error.hint("--law FILE gives a law that is not built in"))?
        .clone();
    check_case(&law, &case).map_err(|error| Unexpected::within("case of the token", error))?;
    let name = args.target.clone().map_or_else(|| setup::only_target(home), Ok)?;
    let target = setup::target(home, &name, &args.on, None, &[case.dtype], catalog)?;
    let (conventions, contracts) =
        (args.on.declared.convention.clone(), args.on.declared.contract.clone());
    Ok(Again { case, law, target, conventions, contracts, was: None })
}

/// Whether what was answered is right, where something was: a later call of the case may be
/// declined.
fn is_right(outcome: &Outcome) -> bool {
    outcome.verdict == Verdict::Pass
        || outcome.verdict == Verdict::Unsupported && !outcome.calls.is_empty()
}

fn show(again: &Again, contract: &Contract, outcome: &Outcome, now: Option<Replayed>) {
    let law = &again.law;
    let word = match now {
        Some(Replayed::Fixed) => "FIXED",
        Some(Replayed::Unseen(_)) => "UNSEEN",
        Some(Replayed::NotCalled) | None => outcome.verdict.word(),
    };
    say!("{word}  {}: {}", law.law.law, law.law.title);
    if let (Some(was), Some(now)) = (&again.was, now) {
        say!("  was       {}  {}", was.verdict, was.title(&English));
        match now {
            Replayed::Fixed => {}
            Replayed::Unseen(n) => {
                say!(
                    "  now       not seen again in {n} calls, which proves nothing: it showed at times alone"
                );
            }
            Replayed::NotCalled => {
                say!(
                    "  now       cannot be judged: the target declines a call that it answered, or was to answer, then"
                );
            }
        }
    }
    say!("  case      {} on {}", case_id(&again.case), again.target.name);
    if !again.conventions.is_empty() {
        say!("  declared  {}", again.conventions.join(", "));
    }
    say!("  call      {}", describe_case(law, &again.case));
    for line in describe_inputs(law, &again.case) {
        say!("            {line}");
    }
    for record in
        outcome.calls.iter().filter(|record| record.output.handling.strides == Strides::Transposed)
    {
        say!("  views     {}: the axes lie in another order in memory", record.label);
    }
    if let (Some(Replayed::Fixed | Replayed::Unseen(_)), Some(evidence)) = (now, &outcome.evidence)
    {
        say!("  unasked   {}: {}, as then", evidence.format_place(), evidence.format_got());
    } else if let Some(evidence) = &outcome.evidence {
        say!("  at        {}", evidence.format_place());
        say!("  expected  {}", evidence.format_expected());
        say!("  got       {}", evidence.format_got());
        if let Some(stderr) = evidence.format_stderr() {
            say!("  stderr    {stderr}");
        }
    }
    if let Some(margin) = margin(outcome) {
        say!("  margin    {margin}");
    }
    say!("  contract  {}", contract.contract);
}

/// How near the bound the target came, or how far beyond.
fn margin(outcome: &Outcome) -> Option<String> {
    match outcome.verdict {
        // A call that was refused came near nothing.
        Verdict::Pass if outcome.calls.is_empty() => None,
        Verdict::Pass | Verdict::Suspect => {
            Some(format!("worst error {} of its bound", ratio(outcome.margin)))
        }
        Verdict::Fail => {
            Some(format!("{} times the bound", ratio(outcome.evidence.as_ref()?.ratio?)))
        }
        _ => None,
    }
}
