//! `qkvet snapshot` and `qkvet known` as typed.

use std::path::PathBuf;

use clap::Subcommand;

use super::{CheckArgs, DocumentFormat, ProcessArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Run a target and write what its cases came to
    #[command(
        after_help = "What is recorded for cases that this run does not have stays. Refused under CI.\nExit codes: 0 written, 2 usage, 3 target could not be started, 4 nothing was checked, 130 interrupted."
    )]
    Record(SnapshotRecordArgs),
    /// Run a target on the suite of now, and put what its cases came to in place of those of another
    /// version of the suite
    #[command(
        after_help = "What the other version showed and this one does not is named, and stays in the file. Refused under CI.\nExit codes: 0 done, 1 something of the other version is not shown, 2 usage, 3 target could not be started,\n4 nothing was checked, 130 interrupted."
    )]
    Upgrade(SnapshotRecordArgs),
    /// Run a target, or join shards of it, and compare with its snapshot; nothing is written
    #[command(
        after_help = "Regressions: a worse verdict, a new finding, an error more than one power of two up and above all that was recorded\nfor its law and format; with --exact other bits. Exit codes: 0 no regression (with --strict: no change), 1 regressions,\n2 usage or no snapshot, 3 target could not be started, 4 nothing was compared, 130 interrupted."
    )]
    Check(SnapshotCheckArgs),
    /// Show every difference between the snapshot and the last run
    Diff(SnapshotDiffArgs),
    /// Take over what the last run found: asks about each group of changes at a terminal
    #[command(
        after_help = "Only cases that the run had are replaced; a missing case is removed by --prune after a whole run alone.\nRefused under CI. Exit codes: 0 done, 2 usage."
    )]
    Accept(SnapshotAcceptArgs),
}

/// Which snapshot.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SnapshotPlaceArgs {
    /// The file [default: snapshots/TARGET.qkvet.yaml beside qkvet.yaml, or else here]
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
    /// What stands for the device in the snapshot, such as cuda-sm90 [default: that of the target,
    /// else cpu]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) device_name: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotRecordArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    #[command(flatten)]
    pub(crate) place: SnapshotPlaceArgs,
    /// Keep a hash of the bits of all outputs of cases that pass
    #[arg(long)]
    pub(crate) exact: bool,
    /// After a whole run, remove entries of cases that are no more
    #[arg(long)]
    pub(crate) prune: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotCheckArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    #[command(flatten)]
    pub(crate) place: SnapshotPlaceArgs,
    /// Compare bits too, where they were recorded
    #[arg(long)]
    pub(crate) exact: bool,
    /// Run nothing: join the shards in this folder or file, as `qkvet merge` does (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["shard", "engine"])]
    pub(crate) from: Vec<PathBuf>,
}

/// Which run.
#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotFromArgs {
    /// The target that was run [default: that of the run]
    pub(crate) target: Option<String>,
    /// A JSON report, or shards as `qkvet merge` reads them (repeatable) [default:
    /// .qkvet/last/report.json]
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: SnapshotPlaceArgs,
    /// Hash the outputs in the shards
    #[arg(long, requires = "from")]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotDiffArgs {
    #[command(flatten)]
    pub(crate) from: SnapshotFromArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotAcceptArgs {
    #[command(flatten)]
    pub(crate) from: SnapshotFromArgs,
    /// Everything, without asking
    #[arg(long)]
    pub(crate) all: bool,
    /// Without asking what fits this pattern of a law, case id or finding (repeatable)
    #[arg(long, value_name = "PATTERN", conflicts_with = "all")]
    pub(crate) only: Vec<String>,
    /// Remove entries of cases that a whole run has no more
    #[arg(long)]
    pub(crate) prune: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KnownCommand {
    /// Add entries for what the last run found, or one that is described by flags
    #[command(
        after_help = "Patterns know * and ?. Without --law, --case, --option and --dtype there is an entry for each finding of the last run,\nor for the one that --finding names."
    )]
    Add(Box<KnownAddArgs>),
    /// List the entries, and what the last run said of them
    List(KnownListArgs),
    /// Remove entries that the last run found gone or about nothing
    Prune(KnownPruneArgs),
}

/// Which file.
#[derive(Debug, clap::Args)]
pub(crate) struct KnownFileArgs {
    /// The file [default: qkvet.known.yaml beside qkvet.yaml, or here or above]
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// The day on which entries are looked at [default: today]
    #[arg(long, value_name = "DAY")]
    pub(crate) today: Option<String>,
    /// The report of the run that is asked
    #[arg(long, default_value = ".qkvet/last", value_name = "FILE|DIR")]
    pub(crate) from: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KnownAddArgs {
    #[command(flatten)]
    pub(crate) file: KnownFileArgs,
    /// Why the deviation may stay
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Code, title or verdict of the finding
    #[arg(long, value_name = "PATTERN")]
    pub(crate) finding: Option<String>,
    /// Target
    #[arg(long, value_name = "PATTERN")]
    pub(crate) target: Option<String>,
    /// Law
    #[arg(long, value_name = "PATTERN", requires = "finding")]
    pub(crate) law: Option<String>,
    /// Case id
    #[arg(long, value_name = "PATTERN", requires = "finding")]
    pub(crate) case: Option<String>,
    /// Option that the call uses, such as causal
    #[arg(long, value_name = "PATTERN", requires = "finding")]
    pub(crate) option: Option<String>,
    /// Number format
    #[arg(long, value_name = "PATTERN", requires = "finding")]
    pub(crate) dtype: Option<String>,
    /// Where it is followed up
    #[arg(long, value_name = "URL")]
    pub(crate) link: Option<String>,
    /// Last day on which it holds, such as 2027-01-31
    #[arg(long, value_name = "DAY")]
    pub(crate) expires: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KnownListArgs {
    #[command(flatten)]
    pub(crate) file: KnownFileArgs,
    /// Output; JSON has the schema known-list
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KnownPruneArgs {
    #[command(flatten)]
    pub(crate) file: KnownFileArgs,
}
