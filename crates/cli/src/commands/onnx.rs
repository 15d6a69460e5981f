//! `qkvet onnx run` and the export of node tests: frozen cases in the words of the operator
//! Attention.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use qkvet_gen::frozen::FrozenCase;
use qkvet_report::{English, Progress, json_document, onnx_text};
use qkvet_run::adapters::NamedTarget;
use qkvet_run::adapters::onnx::{Allowance, BackendConfig, NodeTestWriter, Opset, split, test_of};
use qkvet_run::config::{CaseSource, Declared, RunConfig, TargetEntry};
use qkvet_run::process::{Limits, Watch};
use qkvet_run::run::run;
use qkvet_spec::{Catalog, FindingDocument, OnnxOutcome, OnnxReport, Summary, Unexpected};

use super::frozen_cases::{self, Wanted};
use super::launch::{stop_on_interrupt, tell_first};
use super::setup;
use crate::args::{DocumentFormat, OnnxRunArgs};
use crate::exit::{FINDINGS, Failure, HELD, INTERRUPTED, NOTHING, TARGET, of_stopped};
use crate::out::is_live;
use crate::out::write_text;

/// `qkvet onnx run`.
pub(super) fn run_backend(args: &OnnxRunArgs) -> Result<ExitCode, Failure> {
    let catalog = Catalog::embedded()?;
    let opset = opset(args.opset)?;
    let wanted =
        Wanted { cases: &args.cases, dtypes: &args.dtype, options: &[], seed: 0, larger: false };
    let (stated, left_out) = stated(frozen_cases::frozen_cases(&catalog, &wanted)?, opset);
    if stated.is_empty() {
        let place = format!("cases of {}", args.cases);
        return Err(Unexpected::at(place, "some that the operator states").got("none").into());
    }
    let dtypes = frozen_cases::dtypes(&stated);
    let declared = Declared::of(&TargetEntry::default(), &[], &args.contract, &dtypes, &catalog)?;
    tell_first(&[], &declared);
    let contract_of = |dtype| Some(declared.contracts.get(&dtype)?.contract.as_str());
    let allowance = Allowance::of(&stated, contract_of);
    let stop = stop_on_interrupt();
    let mut progress = Progress::new(is_live(), args.quiet);
    let watch = Watch::new(Arc::clone(&stop), progress.teller());
    let target = target(args, opset, watch, &allowance)?;
    progress.note(&format!("loading {}", target.name));
    let pass = |cases: &[FrozenCase], progress: &mut Progress| -> Result<Summary, Failure> {
        put(&catalog, &target, cases, &declared, (&args.cases, &stop), progress)
    };
    let summary = pass(&stated, &mut progress)?;
    let told = |summary: &Summary| -> Vec<FindingDocument<'static>> {
        let one = |finding| FindingDocument::new(finding, &English).into_owned();
        summary.findings.iter().map(one).collect()
    };
    let first = split(&summary, &stated, &allowance, opset, told(&summary), left_out.clone());
    let report = if first.count(OnnxOutcome::WithinAllowance) == 0 || first.interrupted {
        first
    } else {
        // What lies within the allowance is listed, and must not blur what explains the others.
        let is_apart = |id: &str| {
            first.cases.iter().any(|x| x.id == id && x.outcome == OnnxOutcome::WithinAllowance)
        };
        let others: Vec<FrozenCase> =
            stated.iter().filter(|case| !is_apart(&case.id)).cloned().collect();
        let findings = if first.count(OnnxOutcome::Disagrees) + first.count(OnnxOutcome::Broke) == 0
        {
            Vec::new()
        } else {
            told(&pass(&others, &mut progress)?)
        };
        split(&summary, &stated, &allowance, opset, findings, left_out)
    };
    write_text(&match args.format {
        DocumentFormat::Human => onnx_text(&report),
        DocumentFormat::Json => json_document(&report)?,
    })?;
    Ok(ExitCode::from(code(&report, &summary, args.strict)))
}

/// One run on frozen cases.
fn put(
    catalog: &Catalog,
    target: &NamedTarget,
    cases: &[FrozenCase],
    declared: &Declared<'_>,
    (name, stop): (&str, &AtomicBool),
    progress: &mut Progress,
) -> Result<Summary, Failure> {
    let source = CaseSource::Frozen { name, folder: Path::new(name), seed: 0, cases };
    let config = RunConfig {
        laws: vec![frozen_cases::law(catalog)?],
        contracts: declared.by_dtype(),
        dtypes: frozen_cases::dtypes(cases),
        store: Some(PathBuf::from(setup::STORE)),
        ..RunConfig::of(&English, catalog, target, source, stop)
    };
    Ok(run(&config, &mut |event| progress.event(&event))?)
}

/// The cases that the operator can state, and why the others cannot be.
fn stated(cases: Vec<FrozenCase>, opset: Opset) -> (Vec<FrozenCase>, BTreeMap<String, usize>) {
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let mut stated = Vec::new();
    for case in cases {
        match test_of(&case, opset) {
            Ok(_) => stated.push(case),
            Err(reason) => *left_out.entry(reason.to_string()).or_default() += 1,
        }
    }
    (stated, left_out)
}

fn opset(version: i64) -> Result<Opset, Unexpected> {
    Opset::from_version(version).ok_or_else(|| Unexpected::at("--opset", "23 or 24").got(version))
}

/// The backend under the name by which `check`, `probe` and `replay` find it again.
fn target(
    args: &OnnxRunArgs,
    opset: Opset,
    watch: Watch,
    allowance: &Allowance,
) -> Result<NamedTarget, Failure> {
    let python = setup::python(&args.process);
    let name = format!("{}@{}", args.backend, opset.version());
    let mut config = BackendConfig::parse(&name, &setup::current_folder()?, &python)
        .map_err(|error| error.inside(format_args!("--backend {}", args.backend)))?;
    config.device.clone_from(&args.device);
    config.allowance = allowance.clone();
    let limits = Limits { watch, ..setup::limits(&args.process)? };
    Ok(NamedTarget { limits, ..NamedTarget::new(format!("onnx-backend:{name}"), config) })
}

fn code(report: &OnnxReport, summary: &Summary, strict: bool) -> u8 {
    let count = |outcomes: &[OnnxOutcome]| {
        outcomes.iter().map(|outcome| report.count(*outcome)).sum::<usize>()
    };
    let broke_protocol = summary
        .records
        .iter()
        .filter_map(|record| record.evidence.as_ref())
        .any(|x| x.broke_protocol);
    let code = match () {
        () if report.interrupted => INTERRUPTED,
        () if broke_protocol => TARGET,
        () if count(&[
            OnnxOutcome::Disagrees,
            OnnxOutcome::WithinAllowance,
            OnnxOutcome::Broke,
        ]) > 0 =>
        {
            FINDINGS
        }
        () if count(&[OnnxOutcome::Ok, OnnxOutcome::Undecided]) == 0 => NOTHING,
        () if strict && count(&[OnnxOutcome::Undecided]) > 0 => FINDINGS,
        () => HELD,
    };
    of_stopped(report.stopped.as_ref(), code)
}

/// `qkvet export --format onnx-node-tests`.
pub(super) fn export(
    catalog: &Catalog,
    cases: &[FrozenCase],
    version: i64,
    out: &Path,
) -> Result<ExitCode, Failure> {
    let writer = NodeTestWriter::create(out, opset(version)?, catalog)?;
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let mut written = 0;
    for case in cases {
        match writer.write(case)? {
            Ok(()) => written += 1,
            Err(reason) => *left_out.entry(reason.to_string()).or_default() += 1,
        }
    }
    say!("{written} node tests of opset {version} in {}", out.display());
    for (reason, n) in &left_out {
        say!("  left out {n}: {reason}");
    }
    if written == 0 {
        let got = format!("none of {} cases", cases.len());
        let expected = "some that the operator states";
        return Err(Unexpected::at("node tests", expected).got(got).into());
    }
    Ok(ExitCode::from(HELD))
}
