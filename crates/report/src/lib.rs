//! From events to text: the terminal and JSON. A reporter sees events and summaries, never the runner.

mod doctor;
mod json;
mod progress;
mod terminal;
mod text;

pub use doctor::{DoctorText, doctor_line};
pub use json::json;
pub use progress::Progress;
pub use terminal::{coverage, exit_line, finding, render};
pub use text::{hanging, paragraph, ratio};
