//! Frozen cases on the command line: `check --cases`, `export` and `judge`.

use std::process::ExitCode;

use qkvet_run::adapters::NamedTarget;
use qkvet_run::adapters::OutputFolder;
use qkvet_run::frozen::{CaseWriter, FileFormat, read_cases};
use qkvet_spec::{Catalog, Required};

use super::expected::Expected;
use super::frozen_cases::{Wanted, dtypes, frozen_cases, law, notices, source};
use super::launch::{Manner, Subject, launch, tell_first};
use super::{onnx, setup};
use crate::args::{self, ExportArgs, JudgeArgs};
use crate::exit::{FINDINGS, Failure, HELD, code};

/// `qkvet export`: cases as files.
pub(super) fn export(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let catalog = Catalog::embedded()?;
    let ExportArgs { cases, dtype, options, seed, larger, .. } = args;
    let wanted = Wanted { cases, dtypes: dtype, options, seed: *seed, larger: *larger };
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

/// `qkvet judge`: outputs that came back.
pub(super) fn judge(args: &JudgeArgs) -> Result<ExitCode, Failure> {
    let home = setup::home("", None)?;
    let catalog = home.catalog()?;
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
    let declared = setup::declared(&target, &args.declared, &dtypes, &catalog)?;
    let expected = Expected::known(&args.report, &target.name, &home)?;
    tell_first(&notices, &declared);
    let subject = Subject { cases: source(&folder), laws: vec![law(&catalog)?], dtypes, declared };
    let manner = Manner {
        target,
        jobs: None,
        fail_fast: false,
        time: None,
        until: None,
        only: None,
        identifies: true,
        required: Required::default(),
        claim: None,
        store: None,
        shard: None,
        shard_file: None,
        quiet: false,
        silent: true,
        configuration: None,
        journal: None,
        unreported: false,
        report: &args.report,
    };
    let code = code(&launch(&catalog, subject, manner, &expected)?, args.report.strict);
    let incomplete = args.report.strict && missing > 0;
    Ok(ExitCode::from(if incomplete && code == HELD { FINDINGS } else { code }))
}
