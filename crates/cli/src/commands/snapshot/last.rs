//! The run that is asked: the last one, a report, or shards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use qkvet_report::{ReportFormat, visible};
use qkvet_spec::{Summary, Unexpected};

use super::super::expected::Expected;
use super::super::merge::judge;
use super::super::report::read;
use super::super::reports::{LAST, Live};
use super::super::setup;
use crate::args::{MergeArgs, OutputArgs, ReportArgs, SnapshotFromArgs};
use crate::exit::Failure;

/// A finished run.
pub(super) struct Run {
    pub(super) summary: Summary,
}

pub(super) fn last_run(args: &SnapshotFromArgs) -> Result<Run, Failure> {
    let summary = match args.from.as_slice() {
        [] => read(&Path::new(setup::STORE).join(LAST))?,
        [one] if is_report(one) => read(one)?,
        shards => of_shards(args, shards)?,
    };
    if let Some(target) = args.target.as_ref().filter(|target| **target != summary.run.target) {
        return Err(Unexpected::at("last run", format!("target {target}"))
            .got(summary.run.target)
            .hint(format!("`qkvet snapshot check {target}` runs it"))
            .into());
    }
    Ok(Run { summary })
}

/// A file of JSON, or a folder with a report in it.
fn is_report(path: &Path) -> bool {
    path.join(ReportFormat::Json.file_name()).is_file()
        || path.extension().is_some_and(|extension| extension == "json")
}

fn of_shards(args: &SnapshotFromArgs, shards: &[PathBuf]) -> Result<Summary, Failure> {
    let merge = MergeArgs {
        paths: shards.to_vec(),
        report: ReportArgs {
            verbose: false,
            output: OutputArgs {
                format: ReportFormat::Human,
                report: Vec::new(),
                margins: false,
                run: None,
            },
            strict: false,
            known: None,
            today: None,
        },
        quiet: true,
        target: false,
        process: args.process.clone(),
    };
    let expected = Expected::default().and_snapshot(None, args.exact);
    let stop = Arc::new(AtomicBool::new(false));
    let judged =
        judge(&merge, false, &stop, &mut Live::silent(ReportFormat::Human), Some(&expected))?;
    for name in &judged.gone {
        tell!(
            "notice: {}: expected what the shards ran, got no file\nhint: it is gone since: its cases stand for what it was",
            visible(name)
        );
    }
    Ok(judged.summary)
}
