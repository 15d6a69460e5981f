//! What `qkvet probe` takes.

use clap::ValueEnum;

use super::TargetArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct ProbeArgs {
    /// What to probe, as for `qkvet check`
    pub(crate) target: String,
    /// Format of query, key and value: float64, float32, bfloat16 or float16
    #[arg(long, default_value = "float32", value_name = "FORMAT")]
    pub(crate) dtype: String,
    /// Output
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ProbeFormat,
    #[command(flatten)]
    pub(crate) on: TargetArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProbeFormat {
    /// For people, with the YAML at the end
    Human,
    /// One JSON document on stdout
    Json,
    /// Conventions for qkvet.yaml and the patch of the standard, evidence in comments
    Yaml,
}
