//! From events and summaries to text: the terminal, JSON, pages and what other tools read. A reporter sees no runner.

mod adequacy;
mod doctor;
mod format;
mod github;
mod gitlab;
mod groups;
mod html;
mod json;
mod junit;
mod markdown;
mod onnx;
mod probe;
mod progress;
mod sarif;
mod stream;
mod terminal;
mod text;

pub use adequacy::{adequacy, adequacy_page};
pub use doctor::{DoctorText, doctor_line};
pub use format::{ReportError, ReportFormat, write_as};
pub use github::github;
pub use gitlab::gitlab;
pub use html::html;
pub use json::json;
pub use junit::junit;
pub use markdown::{issue, markdown};
pub use onnx::{onnx_json, onnx_text};
pub use probe::{probe_json, probe_text, probe_yaml};
pub use progress::Progress;
pub use sarif::sarif;
pub use stream::{LiveStream, ndjson, ndjson_end};
pub use terminal::{coverage, exit_line, finding, render};
pub use text::{hanging, no_command, paragraph, plain, ratio, visible};
