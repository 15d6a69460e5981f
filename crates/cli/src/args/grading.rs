//! Arguments of the commands that mark: `exam grade`, `exam check-solution`, and `exam new`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExamNewArgs {
    /// Id of the problem set, such as week-3; with `--solution` a file to write
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Write the beginning of a worked solution instead
    #[arg(long)]
    pub(crate) solution: bool,
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExamReadArgs {
    /// A submission: YAML, JSON, CSV or a notebook
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExamGradeArgs {
    /// Submissions: files, or folders of them
    #[arg(value_name = "SUBMISSIONS", required = true)]
    pub(crate) submissions: Vec<PathBuf>,
    /// A key of JSON, or a folder of the keys of all variants
    #[arg(long, value_name = "KEY")]
    pub(crate) key: PathBuf,
    /// How the result is written
    #[arg(long, value_enum, default_value = "csv")]
    pub(crate) format: GradeFormat,
    /// File to write to; with `gradescope` a folder, a file a student [default: stdout]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GradeFormat {
    /// A line for each part and each total
    Csv,
    /// Everything, as one document
    Json,
    /// The document of Gradescope's autograder, one a student
    Gradescope,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExamCheckSolutionArgs {
    /// The solution, as steps in YAML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How the result is written
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: SolutionFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SolutionFormat {
    /// For people
    Human,
    /// One JSON document
    Json,
}
