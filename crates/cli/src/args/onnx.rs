//! `qkvet onnx run` as typed.

use super::{DocumentFormat, ProcessArgs};

#[derive(Debug, clap::Args)]
pub(crate) struct OnnxRunArgs {
    /// onnxruntime, onnx.reference, or MODULE or MODULE:CLASS with prepare(model, device) as in
    /// onnx.backend.base
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: String,
    /// A suite with a section `frozen`, or a folder of frozen cases
    #[arg(default_value = "core", value_name = "SUITE|FOLDER")]
    pub(crate) cases: String,
    /// Version of the operators: 23 or 24
    #[arg(long, default_value_t = 23)]
    pub(crate) opset: i64,
    /// Only these number formats
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) dtype: Vec<String>,
    /// Judge by this contract instead of the loosest of its format (repeatable)
    #[arg(long, value_name = "ID", value_parser = super::current)]
    pub(crate) contract: Vec<String>,
    /// Device by the words of backends: CPU, CUDA:1
    #[arg(long)]
    pub(crate) device: Option<String>,
    /// Report on stdout; JSON has the schema onnx-report
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: DocumentFormat,
    /// Fail on undecided cases, too: SUSPECT, INCONCLUSIVE
    #[arg(long)]
    pub(crate) strict: bool,
    /// No progress on stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}
