//! From events and summaries to text: the terminal, JSON, pages and what other tools read. A
//! reporter sees no runner.

mod adequacy;
mod doctor;
mod finding_name;
mod format;
mod github;
mod gitlab;
mod glob;
mod groups;
mod html;
mod json;
mod junit;
mod known;
mod known_file;
mod margins;
mod markdown;
mod onnx;
mod probe;
mod progress;
mod quote;
mod sarif;
mod snapshot;
mod stream;
mod terminal;
mod text;

pub use adequacy::{adequacy, adequacy_page};
pub use doctor::{DoctorText, doctor_line};
pub use finding_name::{finding_name, has_cause, titles};
pub use format::{ReportError, ReportFormat, write_as};
pub use github::github;
pub use gitlab::gitlab;
pub use html::html;
pub use json::{json, write_json};
pub use junit::junit;
pub use known::{
    apply_known, check_known, is_about_known, is_day, is_of_no_suite, open_findings, options_of,
    read_known, settled, stale_line, stale_lines,
};
pub use known_file::{add_known, remove_known, write_known};
pub use markdown::{issue, markdown};
pub use onnx::{onnx_json, onnx_text};
pub use probe::{probe_json, probe_text, probe_yaml};
pub use progress::Progress;
pub use sarif::sarif;
pub use snapshot::{
    ChangeGroup, DAMAGED_HINT, PLAIN_DEVICE, Written, accept, change_groups, compare, is_about,
    new_snapshot, read_snapshot, snapshot_diff, snapshot_line, snapshot_text, write_snapshot,
};
pub use stream::{LiveStream, ndjson, write_ndjson, write_ndjson_end};
pub use terminal::{ReportStyle, coverage, exit_line, finding, render, render_in};
pub use text::{hanging, no_command, paragraph, plain, ratio, visible, visible_line};
