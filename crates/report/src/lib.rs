//! From events to text: the terminal and JSON. A reporter sees events and summaries, never the runner.

mod adequacy;
mod doctor;
mod json;
mod onnx;
mod probe;
mod progress;
mod terminal;
mod text;

pub use adequacy::{adequacy, adequacy_page};
pub use doctor::{DoctorText, doctor_line};
pub use json::json;
pub use onnx::{onnx_json, onnx_text};
pub use probe::{probe_json, probe_text, probe_yaml};
pub use progress::Progress;
pub use terminal::{coverage, exit_line, finding, render};
pub use text::{hanging, paragraph, plain, ratio};
