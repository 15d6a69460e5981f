//! What can be typed.

mod check;
mod grading;
mod init;
mod onnx;
mod output;
mod probe;
mod snapshot;

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use qkvet_exam::export::Target;
use qkvet_prove::render::Style;
use qkvet_run::adapters::library::WORKER_COMMAND;
use qkvet_run::adapters::python::{Arrays, Layout};
use qkvet_run::process::Limits;
use qkvet_spec::{CallOption, Redirects};

#[cfg(test)]
pub(crate) use check::ScaleOutArgs;
pub(crate) use check::{CheckArgs, ChecksArgs, CompareArgs, Engine};
pub(crate) use grading::{
    ExamCheckSolutionArgs, ExamGradeArgs, ExamNewArgs, ExamReadArgs, GradeFormat, SolutionFormat,
};
pub(crate) use init::{Begun, CiArgs, HarnessArgs, HarnessLanguage, InitArgs};
pub(crate) use onnx::OnnxRunArgs;
pub(crate) use output::{OutputArgs, Wish, Wishes};
pub(crate) use probe::{ProbeArgs, ProbeFormat};
pub(crate) use snapshot::{
    KnownAddArgs, KnownCommand, KnownFileArgs, KnownListArgs, KnownPruneArgs, SnapshotAcceptArgs,
    SnapshotCheckArgs, SnapshotCommand, SnapshotDiffArgs, SnapshotFromArgs, SnapshotRecordArgs,
};

/// The name that is used now for an id or a code; that it is another one is said.
#[expect(clippy::unnecessary_wraps, reason = "as clap calls it")]
pub(crate) fn current(name: &str) -> Result<String, Infallible> {
    for old in Redirects::embedded().notices(name) {
        // A notice that cannot be written changes nothing.
        let _ = writeln!(anstream::stderr(), "notice: {old}");
    }
    Ok(Redirects::embedded().current(name).into_owned())
}

/// The command of the process that ends what a killed one leaves behind.
pub(crate) const GUARD: &str = "guard";

/// Decides, with proof, whether an implementation of attention computes what it claims.
#[derive(Debug, Parser)]
#[command(
    name = "qkvet",
    version,
    after_help = "Examples:\n  qkvet check builtin:flash\n  qkvet check path/to/file.py:attention\n\nExit codes: 0 held, 1 findings, 2 usage or specification, 3 target could not be started or broke the\nprotocol, 4 nothing was checked, 5 qkvet contradicts itself, 130 interrupted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a target against the laws of attention
    #[command(
        after_help = "Targets:\n  path/file.py:fn      a Python function (query, key, value, *, scale, causal, mask, bias, ...)\n  package.module:fn    the same by module\n  exec:./program args  any program that speaks qkvet-wire/1 (docs/wire.md, `qkvet doctor`)\n  lib:./libattn.so     a function of a shared library, by --call 'C PROTOTYPE' or qkvet_abi.h (docs/native.md)\n  onnx:model.onnx      a model of ONNX, by ONNX Runtime (docs/onnx.md)\n  onnx-backend:NAME    a backend of ONNX, asked by models of one node: onnxruntime, onnx.reference, MODULE:CLASS\n  NAME                 an entry of qkvet.yaml\n  builtin:standard     the simulator of the standard meaning\n  builtin:flash        an independent tiled online-softmax implementation\n  builtin:fault/ID     the simulator with one fault (`qkvet list faults`), or FILE.yaml of --save-fault"
    )]
    Check(ChecksArgs),
    /// Compare two targets on the same cases: which is wrong where
    #[command(
        after_help = "The cases fit A. A wrong result is proved wrong; where one target alone is wrong, the result of the\nother lies within its bound. Exit codes: 0 no case tells them apart, 1 some do, 2 usage, 3 target, 4 nothing was\ncompared."
    )]
    Compare(CompareArgs),
    /// Join the shards that `check --shard` wrote, and report as one run
    Merge(MergeArgs),
    /// Write the report of a finished run in another format
    #[command(
        after_help = "Every `check` and `merge` keeps its report in .qkvet/last/report.json; `--report json=FILE` and `--format json`\nwrite it elsewhere. Exit codes: 0 written, 2 usage or no report."
    )]
    Report(RerenderArgs),
    /// Keep what the cases of a target came to, and compare later runs with it
    #[command(
        after_help = "The file is made for reviews: a case a line, errors as powers of two of their bounds, no date (docs/snapshots.md)."
    )]
    Snapshot {
        /// What to do
        #[command(subcommand)]
        what: SnapshotCommand,
    },
    /// Findings that were looked at and may stay for now: qkvet.known.yaml
    #[command(
        after_help = "`qkvet check` reads the file. What it covers does not fail; an entry that is gone, expired or about nothing does."
    )]
    Known {
        /// What to do
        #[command(subcommand)]
        what: KnownCommand,
    },
    /// Run one case again: a stored one or a token
    Replay(ReplayArgs),
    /// Write cases with their certified answers, for machines where qkvet is not installed
    #[command(
        after_help = "A case is one file, its inputs and options beside the answer and its bounds. Run your attention on each and\nwrite one file a case with an array `output`, named like the case; then `qkvet judge CASES OUTPUTS`."
    )]
    Export(ExportArgs),
    /// Judge outputs that were computed elsewhere from exported or frozen cases
    Judge(JudgeArgs),
    /// Hold the whole conversation with a program once and show it
    #[command(
        after_help = "For programs (exec:./program) and Python functions. Every message is shown, the first wrong field marked, and\neach answer judged. Exit codes: 0 all is well, 1 an answer is wrong, 3 not started or not of the protocol."
    )]
    Doctor(DoctorArgs),
    /// Find out which conventions a target follows: layout, scale, causal corner, mask, heads
    #[command(
        after_help = "Each field is decided if one known value holds every output and all others are refuted; mixed if different calls\nsay different values, which is a fault; none if no known value holds. A probe proposes and excuses nothing.\nExit codes: 0 all is decided, 1 something is mixed, none or broken, 2 usage or specification, 3 target could not be\nstarted, 4 everything was declined."
    )]
    Probe(ProbeArgs),
    /// Prove laws without a target: all of them, or those named
    #[command(
        after_help = "What is proved holds for all shapes, and its proof is checked by a second route. What is decided for all numbers,\nbut for extents up to 2 alone, is called proved-small; what is only confirmed on exact small instances, checked.\nExit codes: 0 every law reaches what its file claims, 1 one does not, 2 usage or specification."
    )]
    Prove(ProveArgs),
    /// Make exams from problem sets, with keys whose every digit is certified, and verify keys
    #[command(
        after_help = "`build` draws variants until no modelled mistake leads to the key. Sheets go to DIR/student, keys to DIR/key, which\nonly its owner can read; sheets hold neither answers nor the seed. The same seed gives the same bytes.\nExit codes: 0 done, 1 `verify` found something wrong, 2 usage, specification, or no good numbers."
    )]
    Exam {
        /// What to do
        #[command(subcommand)]
        what: ExamCommand,
    },
    /// Show which faults a suite notices, by which laws, in which formats
    #[command(
        after_help = "Every fault of `qkvet list faults` is run through the suite by the simulator; what survives is listed with the reason.\nExit codes: 0 every fault that can be noticed is, 1 one survives or a right target fails, 2 usage."
    )]
    Adequacy(AdequacyArgs),
    /// ONNX: put cases to a backend
    Onnx {
        #[command(subcommand)]
        what: Onnx,
    },
    /// List laws, faults, conventions, contracts or suites
    List {
        /// What to list; without, the kinds
        what: Option<Listed>,
    },
    /// Explain a word that qkvet prints: a code, verdict, term, option, flag, law, fault, contract
    Explain {
        /// The word, such as QK221, SUSPECT, bound, softcap, --strict, `language` for the words of
        /// laws, `config` for settings; without, a list of all words
        #[arg(value_parser = current, allow_hyphen_values = true)]
        name: Option<String>,
        /// Output; JSON for what has a file in `specs/`
        #[arg(long, value_enum, default_value = "human")]
        format: DocumentFormat,
    },
    /// Write a qkvet.yaml, or the beginning of something else
    #[command(args_conflicts_with_subcommands = true)]
    Init(InitArgs),
    /// Answer qkvet-wire/1 with a function of a shared library: what `lib:` starts
    #[command(name = WORKER_COMMAND, hide = true)]
    NativeWorker {
        #[arg(allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// End what a `qkvet` that was killed leaves behind: what the process of each run starts
    #[command(name = GUARD, hide = true)]
    Guard,
    /// Print the completion script of a shell
    #[command(
        after_help = "bash:  qkvet completions bash > ~/.local/share/bash-completion/completions/qkvet\nzsh:   qkvet completions zsh > ~/.zfunc/_qkvet   (a folder of fpath)\nfish:  qkvet completions fish > ~/.config/fish/completions/qkvet.fish"
    )]
    Completions {
        /// Shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the JSON Schema of a file format
    Schema {
        /// law, fault, convention, contract, modifier, suite, report, stream, probe, replay, doctor,
        /// onnx-report, wire, config, snapshot, known, known-list or deviations
        name: Option<String>,
        /// List the names
        #[arg(long)]
        list: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Onnx {
    /// Run frozen cases through a backend, as models of one node Attention, and split them five
    /// ways
    #[command(
        after_help = "ok: within the certified bound. unsupported: not offered. refused: a valid model or input was refused. disagrees:\noutside the bound. within allowance: outside the bound, and inside rtol 1e-3, atol 1e-7 of ONNX's own runner.\nExit codes: 0 all that ran is ok, 1 something disagrees, is within the allowance only or broke, 2 usage, 3 the backend\ncould not be loaded, 4 everything was declined. `qkvet check onnx-backend:NAME` puts every law to it (docs/onnx.md)."
    )]
    Run(OnnxRunArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProveArgs {
    /// Ids of laws (`qkvet list laws`); none: all
    #[arg(value_name = "LAW")]
    pub(crate) laws: Vec<String>,
    /// Print every step and its reason, for people
    #[arg(long)]
    pub(crate) steps: bool,
    /// A law file of your own
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Notation of --steps
    #[arg(long, value_enum, default_value = "unicode", requires = "steps")]
    pub(crate) style: Notation,
    /// Output
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ProofFormat,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ExamCommand {
    /// Build variants of a problem set: sheets and keys
    Build(ExamBuildArgs),
    /// Derive every answer of an exam again, by another route, and compare every file
    Verify {
        /// Folder that `qkvet exam build` wrote
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Write an exam that was built in the format of a learning management system, as notebooks or
    /// as a table
    #[command(
        after_help = export_formats()
    )]
    Export(ExamExportArgs),
    /// List problem sets and questions that are built in
    List,
    /// Write the beginning of a problem set, or of a worked solution
    New(ExamNewArgs),
    /// Show how the answers of a submission are understood, without a key
    #[command(after_help = "Exit codes: 0 answers were found, 2 usage, 4 none were found.")]
    Read(ExamReadArgs),
    /// Grade submissions with the keys of an exam
    #[command(
        after_help = "Submissions are YAML (`build` writes a template beside each sheet), JSON, CSV with a row a student and columns\nstudent, variant, 1a, 1b, and notebooks. An answer that is not read for certain is\nleft to a person and counted as that. Keys are verified first.\nExit codes: 0 graded, 2 usage or a wrong key, 4 nothing could be graded."
    )]
    Grade(ExamGradeArgs),
    /// Find the first slip of a worked solution and name it
    #[command(
        after_help = "`qkvet exam new --solution FILE` writes an example. Exit codes: 0 no slip, 1 slips, 2 usage or no solution."
    )]
    CheckSolution(ExamCheckSolutionArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExamExportArgs {
    /// Folder that `qkvet exam build` wrote
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Format
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(Target::all().map(|(_, name, _)| name)))]
    pub(crate) to: String,
    /// Percent that an entered number or shape earns that a known mistake gives (moodle, qti21;
    /// absent: as in grade)
    #[arg(long, value_name = "PERCENT", value_parser = PERCENTS)]
    pub(crate) mistakes_earn: Option<String>,
    /// Percent that an option earns that a known mistake gives (moodle, qti21, prairielearn; 0 if
    /// not said)
    #[arg(long, value_name = "PERCENT", value_parser = PERCENTS)]
    pub(crate) options_earn: Option<String>,
    /// Folder to write to: new or empty
    #[arg(long, value_name = "OUT")]
    pub(crate) out: PathBuf,
}

/// The formats of `exam export`, a line each.
fn export_formats() -> String {
    let line = |(_, name, about): (Target, &str, &str)| format!("  {name:12}  {about}\n");
    format!(
        "Formats:\n{}\nWhat holds answers is below OUT/key, for its owner alone. An answer that a format cannot hold is an error.",
        Target::all().map(line).collect::<String>()
    )
}

/// The options of calls, and the word for none.
fn export_options() -> PossibleValuesParser {
    PossibleValuesParser::new(CallOption::ALL.map(CallOption::name).into_iter().chain(["none"]))
}

/// Whole percents that Moodle knows.
const PERCENTS: [&str; 13] =
    ["0", "5", "10", "20", "25", "30", "40", "50", "60", "70", "75", "80", "90"];

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExamBuildArgs {
    /// Problem set: a file, or the id of one that is built in; questions of your own lie in a
    /// folder `questions` beside the file
    #[arg(value_name = "SET")]
    pub(crate) set: PathBuf,
    /// How many variants
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) variants: u32,
    /// Seed of all numbers: who knows it has the keys, and a short one is soon found by trying
    /// [default: a new one, which the keys tell]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Folder to write to: new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Make accessible PDFs of sheets and keys too (a program built with the feature `pdf`)
    #[arg(long)]
    pub(crate) pdf: bool,
}

/// The format of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// For people
    Human,
    /// One JSON document (`qkvet schema`)
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProofFormat {
    /// For people
    Human,
    /// One JSON document on stdout
    Json,
    /// A page, such as docs/laws.md or docs/adequacy.md
    Markdown,
}

/// How mathematics is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Notation {
    Unicode,
    Latex,
    Typst,
    #[value(name = "mathml")]
    MathMl,
    /// For screen readers
    Words,
}

impl From<Notation> for Style {
    fn from(notation: Notation) -> Self {
        match notation {
            Notation::Unicode => Self::Unicode,
            Notation::Latex => Self::Latex,
            Notation::Typst => Self::Typst,
            Notation::MathMl => Self::MathMl,
            Notation::Words => Self::Words,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listed {
    Laws,
    Faults,
    Conventions,
    Contracts,
    Suites,
}

/// How it claims to compute.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeclaredArgs {
    /// Declare a convention other than the standard, such as causal=upper-left (repeatable)
    #[arg(long, value_name = "FIELD=VALUE")]
    pub(crate) convention: Vec<String>,
    /// Judge by this contract (`qkvet list contracts`), or contract+modifier as in
    /// bf16-flash+split-kv, instead of the loosest of its format (repeatable)
    #[arg(long, value_name = "ID", value_parser = current)]
    pub(crate) contract: Vec<String>,
}

/// How a target in a process of its own is found and waited for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProcessArgs {
    /// Python interpreter [default: the active virtual environment, else python3]
    #[arg(long, env = "QKVET_PYTHON", value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Longest time for one call, in seconds
    #[arg(long, default_value_t = Limits::TIMEOUT.as_secs_f64(), value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) timeout: f64,
    /// Longest time for loading the target, in seconds
    #[arg(long, default_value_t = Limits::START_TIMEOUT.as_secs_f64(), value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) start_timeout: f64,
    /// Memory that a process of the target may hold, in MiB; it is ended beyond it (Linux)
    #[arg(long, default_value_t = Limits::MEMORY, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) memory: u64,
    /// Configuration file [default: qkvet.yaml in the folder of the target or a parent]
    #[arg(long, env = "QKVET_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Profile of the configuration file: defaults for flags [default: the profile `default`]
    #[arg(long, env = "QKVET_PROFILE", value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

/// What comes out.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print the coverage, too: formats, options, sizes, laws, reference rows
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Fail on undecided cases, too: SUSPECT, INCONCLUSIVE, missing outputs
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, hide_possible_values = true, value_parser = BoolishValueParser::new(), value_name = "BOOL")]
    pub(crate) strict: bool,
    /// File of known deviations, which do not fail [default: qkvet.known.yaml next to qkvet.yaml, or
    /// here or above]
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// The day on which known deviations are looked at [default: today]
    #[arg(long, value_name = "DAY")]
    pub(crate) today: Option<String>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) declared: DeclaredArgs,
    /// Array library of a Python target; default: what its module imports
    #[arg(long, value_parser = PossibleValuesParser::new(["numpy", "torch", "jax"]).try_map(|name| serde_json::from_value::<Arrays>(name.into())))]
    pub(crate) arrays: Option<Arrays>,
    /// Axes of query, key, value and output; default: of a Python function the first of bhnd, bnd
    /// and nd that it takes, else bhnd
    #[arg(long, value_parser = PossibleValuesParser::new(Layout::ALL.map(Layout::name)).try_map(|name| serde_json::from_value::<Layout>(name.into())))]
    pub(crate) layout: Option<Layout>,
    /// Device of torch and jax arrays, such as cuda:0
    #[arg(long)]
    pub(crate) device: Option<String>,
    /// Prototype of the function of a lib: target [default: `qkvet_abi.h`, docs/native.md]
    #[arg(long, value_name = "C PROTOTYPE")]
    pub(crate) call: Option<String>,
    /// Option that a model of an onnx: target has as a constant and none of its attributes tells:
    /// causal, scale=X, softcap=X, heads=Q,K (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) constant: Vec<String>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FileFormat {
    /// Readable text; any language has a parser
    Json,
    /// NumPy archives
    Npz,
    /// Tensors with their true formats
    Safetensors,
    /// Folders test_*/ with a model of one node, inputs, outputs and bounds, as the test runners of
    /// ONNX read them
    OnnxNodeTests,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// A suite (smoke, core, or a YAML file with a section `frozen`), or a folder of frozen cases
    #[arg(default_value = "core", value_name = "SUITE|FOLDER")]
    pub(crate) cases: String,
    /// Format of the files
    #[arg(long, value_enum, default_value = "npz")]
    pub(crate) format: FileFormat,
    /// Version of the operators of onnx-node-tests: 23 or 24
    #[arg(long, default_value_t = 23)]
    pub(crate) opset: i64,
    /// Folder to write to; it must be empty or not there yet
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Only these number formats
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) dtype: Vec<String>,
    /// Only calls that have no other options than these; `none`: calls without any
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = export_options())]
    pub(crate) options: Vec<String>,
    /// Seed of a suite: another one gives fresh cases
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The suite's larger cases too
    #[arg(long)]
    pub(crate) larger: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JudgeArgs {
    /// Folder of frozen cases
    pub(crate) cases: PathBuf,
    /// Folder with one file a case, named like the case, that holds an array `output`
    pub(crate) outputs: PathBuf,
    /// Only these number formats
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) dtype: Vec<String>,
    #[command(flatten)]
    pub(crate) declared: DeclaredArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// Shard files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Print findings and undecided cases alone, and no progress
    #[arg(short, long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, hide_possible_values = true, value_parser = BoolishValueParser::new(), value_name = "BOOL")]
    pub(crate) quiet: bool,
    /// Put calls that no shard asked to the target itself
    #[arg(long)]
    pub(crate) target: bool,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RerenderArgs {
    /// A JSON report, or a folder with report.json
    #[arg(long, default_value = ".qkvet/last", value_name = "FILE|DIR")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Write the page, `html`, too and open it in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AdequacyArgs {
    /// Suite
    #[arg(long, default_value = "core", value_name = "ID", value_parser = current)]
    pub(crate) suite: String,
    /// Only these laws (repeatable)
    #[arg(long, value_name = "ID", value_parser = current)]
    pub(crate) law: Vec<String>,
    /// Only these faults (repeatable)
    #[arg(long, value_name = "ID", value_parser = current)]
    pub(crate) fault: Vec<String>,
    /// Only these formats [default: float32,bfloat16,float16]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) dtype: Vec<String>,
    /// Seed of the suite
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Output
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ProofFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// A program, exec:./program, or a Python function
    pub(crate) target: String,
    /// Output
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: DocumentFormat,
    #[command(flatten)]
    pub(crate) on: TargetArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Id that `qkvet check` printed in this folder, a file, or a token (qk1:...)
    pub(crate) case: String,
    /// Another target than the one it failed on; for a token the target, by default the only one of
    /// qkvet.yaml
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Folder of frozen cases that the id is of, such as snapshots/core
    #[arg(long, value_name = "FOLDER", requires = "target")]
    pub(crate) cases: Option<PathBuf>,
    /// The law of a token, where it is not built in
    #[arg(long, value_name = "FILE")]
    pub(crate) law: Option<String>,
    /// Output
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: DocumentFormat,
    #[command(flatten)]
    pub(crate) on: TargetArgs,
}
