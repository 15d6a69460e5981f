//! `qkvet check`: what is asked of which targets.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, ValueEnum};
use qkvet_run::record::Shard;
use qkvet_spec::{Dims, Unexpected};

use super::{ReportArgs, TargetArgs, current};

/// The arguments of `check`: targets, and how each is run.
#[derive(Debug, clap::Args)]
#[command(mut_arg("target", |target| {
    let target = target.index(1).required(false).required_unless_present("all");
    target.default_value("").hide_default_value(true)
}))]
pub(crate) struct ChecksArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// More targets, each checked in a run of its own
    #[arg(index = 2, value_name = "TARGET", conflicts_with_all = ["shard", "engine", "save_fault"])]
    pub(crate) more: Vec<String>,
    /// Check every target of qkvet.yaml
    #[arg(long, conflicts_with_all = ["target", "shard", "engine", "save_fault"])]
    pub(crate) all: bool,
    /// Check again whenever a file of a target changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["shard", "engine"])]
    pub(crate) watch: bool,
    /// A run for each target, with the settings that hold for it.
    #[arg(skip)]
    pub(crate) runs: Vec<CheckArgs>,
}

/// What has a meaning for one target alone, and `compare` refuses.
const OF_ONE: [&str; 17] = [
    "claim",
    "engine",
    "known",
    "lf",
    "margins",
    "patience",
    "report",
    "require",
    "resources",
    "save_fault",
    "shard",
    "shard_file",
    "shards",
    "strict",
    "today",
    "verbose",
    "workers",
];

/// What `compare` takes.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("target", |target| target.index(1).value_name("A").help("A target")),
    mut_args(|arg| if OF_ONE.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg })
)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Another target
    #[arg(index = 2, conflicts_with_all = OF_ONE)]
    pub(crate) b: String,
    /// A run for each of the two.
    #[arg(skip)]
    pub(crate) runs: Vec<CheckArgs>,
}

/// One run on one target.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// What to check
    pub(crate) target: String,
    /// Suite: smoke, core, long, or a YAML file
    #[arg(long, default_value = "core", value_name = "ID|FILE", value_parser = current)]
    pub(crate) suite: String,
    /// Judge by the frozen cases of a folder: snapshots/core, or a folder of `qkvet export`
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["suite", "law", "seed"])]
    pub(crate) cases: Option<PathBuf>,
    /// Ask calls of your own: a file .npz or .safetensors of arrays `query`, `key`, `value` and the
    /// options that are on, or a folder of them (docs/inputs.md)
    #[arg(long, value_name = "FILE|FOLDER", conflicts_with_all = ["suite", "cases", "shapes", "at", "shard", "engine"])]
    pub(crate) inputs: Option<PathBuf>,
    /// Only these laws, by id or as a YAML file (repeatable)
    #[arg(long, value_name = "ID|FILE", value_parser = current)]
    pub(crate) law: Vec<String>,
    /// Only these formats: float64, float32, bfloat16, float16
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) dtype: Vec<String>,
    /// Seed of the suite; `random` draws one and says which
    #[arg(long, default_value_t = 0, value_parser = seed)]
    pub(crate) seed: u64,
    /// Workers, each with a target of its own [default: cores for built-in targets, 1 for others]
    #[arg(short, long)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Run only part i of n of the cases, and write what `merge` needs
    #[arg(long, value_name = "I/N", conflicts_with = "cases")]
    pub(crate) shard: Option<Shard>,
    /// Where to write it [default: .qkvet/shards/I-of-N.jsonl]
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) shard_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scale_out: ScaleOutArgs,
    /// Stop at the first finding
    #[arg(short = 'x', long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, hide_possible_values = true, value_parser = BoolishValueParser::new(), value_name = "BOOL")]
    pub(crate) fail_fast: bool,
    /// Ask for N combinations of extents, format and options at most: a compiled function
    /// (torch.compile, jax.jit, Triton) is compiled for each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["cases", "engine"])]
    pub(crate) shapes: Option<u32>,
    /// Add calls of these extents: `n=8192,d=128`. The names are `b`, `h`, `h_q`, `h_k`, `n`, `n_q`,
    /// `n_k`, `d`, `d_k` and `d_v` (repeatable)
    #[arg(long, value_name = "EXTENTS", value_parser = extents, conflicts_with_all = ["cases", "engine", "shapes", "shard"])]
    pub(crate) at: Vec<Dims>,
    /// Judge N query rows of each call, drawn by the seed. Only laws about the result of a single
    /// call are asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["cases", "engine", "shapes", "shard"])]
    pub(crate) rows: Option<u32>,
    /// Look for no formula where no known fault explains wrong results: call the target for the
    /// cases of the suite alone
    #[arg(long)]
    pub(crate) no_identify: bool,
    /// Fail where the target declines a call of the law `value` that lies inside: dtype=FORMAT,
    /// extents, further options. `causal,n_k=1..4096` is an example
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["shard", "engine"])]
    pub(crate) require: Vec<String>,
    /// Begin no case after this time (30s, 2m); the report says how far it came
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["until", "shard", "engine"])]
    pub(crate) time: Option<Duration>,
    /// Run the first N cases alone, in the order in which cases are put
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["shard", "engine"])]
    pub(crate) until: Option<u32>,
    /// Run only the cases that did not hold in the last run here; all of them if there are none
    #[arg(long, visible_alias = "last-failed", conflicts_with_all = ["shard", "engine"])]
    pub(crate) lf: bool,
    /// Keep what the target answers in .qkvet/resume, and begin with the answers of a run that was
    /// cut off
    #[arg(long, conflicts_with_all = ["shard", "engine"])]
    pub(crate) resume: bool,
    /// Write what the target computes instead of attention, as far as findings say it, to a file
    /// for --as
    #[arg(long, value_name = "FILE", conflicts_with_all = ["shard", "engine"])]
    pub(crate) save_fault: Option<PathBuf>,
    /// Judge the target by what such a file says: exit 0 if it returns that and nothing else
    #[arg(long = "as", value_name = "FILE", conflicts_with_all = ["shard", "engine", "lf"])]
    pub(crate) claim: Option<PathBuf>,
    /// Print findings and undecided cases alone, and no progress
    #[arg(short, long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, hide_possible_values = true, value_parser = BoolishValueParser::new(), value_name = "BOOL")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) on: TargetArgs,
}

/// Where the shards of one run are run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ScaleOutArgs {
    /// Run shards on a cluster and join them into one report (docs/scale-out.md)
    #[arg(long, value_enum, conflicts_with_all = ["shard", "cases", "jobs"])]
    pub(crate) engine: Option<Engine>,
    /// Workers on the cluster [default: as many as it has room for]
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) workers: Option<u32>,
    /// What each worker needs, such as CPU=1,GPU=0.5 [default: CPU=1]
    #[arg(long, value_delimiter = ',', value_name = "NAME=N", requires = "engine")]
    pub(crate) resources: Vec<String>,
    /// Number of shards: a lost worker loses one [default: 4 a worker]
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) shards: Option<u32>,
    /// Longest time without any worker, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS", requires = "engine")]
    pub(crate) patience: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// The Ray cluster at `RAY_ADDRESS` or on this machine, else a local cluster for this run
    Ray,
}

/// A number, or one that is drawn and told where the word is `random`.
fn seed(text: &str) -> Result<u64, Unexpected> {
    static DRAWN: OnceLock<u64> = OnceLock::new();
    if text == "random" {
        return Ok(*DRAWN.get_or_init(|| {
            let drawn = RandomState::new().hash_one("seed of a suite") >> 32;
            // A notice that cannot be written changes nothing.
            let told = format!("notice: seed {drawn}; `--seed {drawn}` draws the same cases again");
            let _ = writeln!(anstream::stderr(), "{told}");
            drawn
        }));
    }
    let wrong = || Unexpected::at("--seed", "a number from 0 to 2^64 - 1, or `random`").got(text);
    text.parse().map_err(|_| wrong())
}

/// `30s`, `2m`, `1.5h`; a number alone is of seconds.
fn duration(text: &str) -> Result<Duration, Unexpected> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "" | "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let seconds = number.parse().ok().zip(unit).map(|(number, unit): (f64, f64)| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| Unexpected::at("--time", "a time above 0, such as 30s or 2m").quoted(text))
}

/// `b=2,h=8,n=4096,d=128`; what is not said is 1, and 64 for widths.
fn extents(text: &str) -> Result<Dims, Unexpected> {
    let wrong = || Unexpected::at("--at", "extents such as b=2,h=8,n=4096,d=128").quoted(text);
    let mut dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 1, d_k: 64, d_v: 64 };
    for part in text.split(',') {
        let (name, number) = part.split_once('=').ok_or_else(wrong)?;
        let number = number.trim().parse().map_err(|_| wrong())?;
        let places: &mut [&mut usize] = match name.trim() {
            "b" => &mut [&mut dims.b],
            "h" => &mut [&mut dims.h_q, &mut dims.h_k],
            "h_q" => &mut [&mut dims.h_q],
            "h_k" => &mut [&mut dims.h_k],
            "n" => &mut [&mut dims.n_q, &mut dims.n_k],
            "n_q" => &mut [&mut dims.n_q],
            "n_k" => &mut [&mut dims.n_k],
            "d" => &mut [&mut dims.d_k, &mut dims.d_v],
            "d_k" => &mut [&mut dims.d_k],
            "d_v" => &mut [&mut dims.d_v],
            _ => return Err(wrong()),
        };
        places.iter_mut().for_each(|place| **place = number);
    }
    Ok(dims)
}
