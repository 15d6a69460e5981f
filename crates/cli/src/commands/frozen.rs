//! Frozen cases on the command line: `check --cases`, `export` and `judge`.

use std::path::Path;
use std::process::ExitCode;

use qkvet_gen::build;
use qkvet_gen::frozen::{FrozenCase, LargerEntry, freeze, frozen_plans};
use qkvet_run::adapters::NamedTarget;
use qkvet_run::adapters::OutputFolder;
use qkvet_run::frozen::{CaseWriter, FileFormat, FrozenFolder, read_cases};
use qkvet_run::runner::CaseSource;
use qkvet_spec::{Catalog, CheckedLaw, Dtype, Unexpected};

use super::check::suite;
use super::expected::Expected;
use super::launch::{Manner, Subject, launch};
use super::{onnx, setup};
use crate::args::{self, ExportArgs, JudgeArgs};
use crate::exit::{FINDINGS, Failure, HELD, code};

/// The law that every frozen case belongs to.
pub(super) fn law(catalog: &Catalog) -> Result<&CheckedLaw, Failure> {
    Ok(Catalog::find("law", &catalog.laws, "value")?)
}

/// Frozen cases as a run takes them.
pub(super) fn source(folder: &FrozenFolder) -> CaseSource<'_> {
    let seed = folder.manifest.as_ref().map_or(0, |manifest| manifest.seed);
    CaseSource::Frozen { name: &folder.name, folder: &folder.folder, seed, cases: &folder.cases }
}

/// Formats of the cases, in the order in which they come.
pub(super) fn dtypes(cases: &[FrozenCase]) -> Vec<Dtype> {
    let mut found = Vec::new();
    for case in cases {
        if !found.contains(&case.case.dtype) {
            found.push(case.case.dtype);
        }
    }
    found
}

/// What is not there.
pub(super) fn notices(folder: &FrozenFolder) -> Vec<String> {
    match folder.absent.len() {
        0 => Vec::new(),
        n => {
            vec![format!(
                "{n} larger cases are not in the folder: `qkvet export FOLDER --larger --out OTHER` makes them"
            )]
        }
    }
}

/// `qkvet export`: cases as files.
pub(super) fn export(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let catalog = Catalog::embedded()?;
    let wanted =
        Wanted { cases: &args.cases, dtypes: &args.dtype, seed: args.seed, larger: args.larger };
    let cases = frozen_cases(&catalog, &wanted)?;
    let format = match args.format {
        args::FileFormat::Json => FileFormat::Json,
        args::FileFormat::Npz => FileFormat::Npz,
        args::FileFormat::Safetensors => FileFormat::Safetensors,
        args::FileFormat::OnnxNodeTests => {
            return onnx::export(&catalog, &cases, args.opset, &args.out);
        }
    };
    let writer = CaseWriter::create(&args.out, format)?;
    for case in &cases {
        writer.write(case)?;
    }
    say!("{} cases as {} in {}", cases.len(), format.extension(), args.out.display());
    Ok(ExitCode::from(HELD))
}

/// Which frozen cases.
pub(super) struct Wanted<'a> {
    /// A suite or a folder.
    pub(super) cases: &'a str,
    /// Formats by name; none: all.
    pub(super) dtypes: &'a [String],
    /// Seed of a suite.
    pub(super) seed: u64,
    /// The larger ones too.
    pub(super) larger: bool,
}

/// Frozen cases, read from a folder or made from a suite.
pub(super) fn frozen_cases(
    catalog: &Catalog,
    args: &Wanted<'_>,
) -> Result<Vec<FrozenCase>, Failure> {
    let dtypes_wanted =
        if args.dtypes.is_empty() { None } else { Some(setup::dtypes(args.dtypes)?) };
    let wanted = |dtype: Dtype| dtypes_wanted.as_ref().is_none_or(|wanted| wanted.contains(&dtype));
    let mut cases = Vec::new();
    if Path::new(args.cases).is_dir() {
        let folder = read_cases(Path::new(args.cases))?;
        cases.extend(folder.cases.iter().filter(|case| wanted(case.case.dtype)).cloned());
        if args.larger
            && let Some(manifest) = &folder.manifest
        {
            let suite = suite(catalog, &manifest.suite)?;
            let absent: Vec<&LargerEntry> =
                folder.absent.iter().filter(|entry| wanted(entry.dtype)).collect();
            cases.extend(larger_of(catalog, &suite, manifest.seed, &absent)?);
        }
    } else {
        let suite = suite(catalog, args.cases)?;
        let dtypes: Vec<Dtype> =
            suite.dtypes.iter().copied().filter(|dtype| wanted(*dtype)).collect();
        let plans = frozen_plans(catalog, &suite, &dtypes, args.seed)?;
        let larger = if args.larger { plans.larger } else { Vec::new() };
        for plan in plans.text.iter().chain(&larger) {
            let case = build(law(catalog)?, plan)?;
            cases.push(freeze(catalog, &case)?);
        }
    }
    if cases.is_empty() {
        let place = format!("cases of {}", args.cases);
        return Err(Unexpected::at(place, "some to write").got("none of these formats").into());
    }
    Ok(cases)
}

/// The larger cases that a manifest lists, made again and compared with their hashes.
fn larger_of(
    catalog: &Catalog,
    suite: &qkvet_spec::Suite,
    seed: u64,
    absent: &[&LargerEntry],
) -> Result<Vec<FrozenCase>, Failure> {
    let mut cases = Vec::new();
    for plan in frozen_plans(catalog, suite, &suite.dtypes, seed)?.larger {
        let case = build(law(catalog)?, &plan)?;
        let id = qkvet_gen::case_id(&case);
        let Some(entry) = absent.iter().find(|entry| entry.id == id) else { continue };
        let frozen = freeze(catalog, &case)?;
        entry.check(&FileFormat::Safetensors.case_bytes(&frozen)?)?;
        cases.push(frozen);
    }
    if cases.len() != absent.len() {
        let missing =
            absent.iter().filter(|entry| !cases.iter().any(|case| case.id == entry.id)).count();
        let place = format!("larger cases of {}", suite.suite);
        return Err(Unexpected::at(place, format!("{} of the manifest", absent.len()))
            .got(format!("{missing} that this version does not make"))
            .into());
    }
    Ok(cases)
}

/// `qkvet judge`: outputs that came back.
pub(super) fn judge(args: &JudgeArgs) -> Result<ExitCode, Failure> {
    let catalog = setup::catalog(None, None)?;
    let folder = read_cases(&args.cases)?;
    let outputs = OutputFolder::open(&args.outputs)?;
    let present = dtypes(&folder.cases);
    let dtypes = if args.dtype.is_empty() { present } else { setup::dtypes(&args.dtype)? };
    let asked: Vec<&str> = folder
        .cases
        .iter()
        .filter(|case| dtypes.contains(&case.case.dtype))
        .map(|case| case.id.as_str())
        .collect();
    let given: Vec<&str> = outputs.ids().collect();
    let missing = asked.iter().filter(|id| !given.contains(*id)).count();
    let mut notices = notices(&folder);
    if missing > 0 {
        notices.push(format!(
            "{missing} of {} cases have no output: nothing is known of them",
            asked.len()
        ));
    }
    let strangers: Vec<&&str> =
        given.iter().filter(|id| !folder.cases.iter().any(|case| case.id == **id)).collect();
    if let Some(first) = strangers.first() {
        let cases = args.cases.display();
        notices.push(format!(
            "{} outputs belong to no case of {cases}, {first} first",
            strangers.len()
        ));
    }
    let target = NamedTarget::new(args.outputs.display().to_string(), outputs);
    let subject = Subject { cases: source(&folder), laws: vec![law(&catalog)?], dtypes, notices };
    let manner = Manner {
        target,
        conventions: &args.declared.convention,
        contracts: &args.declared.contract,
        jobs: None,
        fail_fast: false,
        store: None,
        shard: None,
        shard_file: None,
        quiet: false,
        silent: true,
        report: args.report.clone(),
    };
    let expected = Expected::known(&args.report, &args.outputs.display().to_string(), None)?;
    let code = code(&launch(&catalog, subject, manner, &expected)?, args.report.strict);
    let incomplete = args.report.strict && missing > 0;
    Ok(ExitCode::from(if incomplete && code == HELD { FINDINGS } else { code }))
}
