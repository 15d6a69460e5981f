//! What `qkvet init` takes.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// What `qkvet init` begins.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    #[command(subcommand)]
    pub(crate) what: Option<Begun>,
    /// What to check: the target of the first entry
    #[arg(long, default_value = "builtin:flash")]
    pub(crate) target: String,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("service").required(true).args(["github", "gitlab"])))]
pub(crate) struct CiArgs {
    /// GitHub Actions: .github/workflows/qkvet.yml
    #[arg(long)]
    pub(crate) github: bool,
    /// GitLab CI: .gitlab-ci.yml
    #[arg(long)]
    pub(crate) gitlab: bool,
    /// The entry of qkvet.yaml to check [default: its first]
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,
    /// File to write to instead, such as .gitlab/qkvet.yml, to be included by .gitlab-ci.yml
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Begun {
    /// The file of a CI service that checks on every push
    #[command(
        after_help = "The file is commented and meant to be changed. What it runs is `qkvet check` with the profile `ci` of qkvet.yaml, which\n`qkvet init` writes, and reports for the service."
    )]
    Ci(CiArgs),
    /// A program that speaks qkvet-wire/1, with one function to fill in
    #[command(
        after_help = "Nothing is written over. The function that comes with it is right and slow: build the program, check it, then put\nyour own in its place."
    )]
    Harness(HarnessArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HarnessArgs {
    /// Language
    #[arg(long, value_enum)]
    pub(crate) lang: HarnessLanguage,
    /// Folder to write to, made if it is not there
    #[arg(default_value = "qkvet-harness", value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HarnessLanguage {
    C,
    Cpp,
    Rust,
    Python,
    Go,
    Js,
}
