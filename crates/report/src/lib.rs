//! From events and summaries to text: the terminal, JSON, pages and what other tools read. A
//! reporter sees no runner.

#[cfg(feature = "formats")]
mod adequacy;
#[cfg(feature = "formats")]
mod comparison;
mod deviation;
#[cfg(feature = "formats")]
mod deviation_file;
#[cfg(feature = "formats")]
mod doctor;
#[cfg(feature = "formats")]
mod finding_name;
#[cfg(feature = "formats")]
mod format;
#[cfg(feature = "formats")]
mod github;
#[cfg(feature = "formats")]
mod gitlab;
#[cfg(feature = "formats")]
mod glob;
#[cfg(feature = "formats")]
mod groups;
#[cfg(feature = "formats")]
mod html;
#[cfg(feature = "formats")]
mod json;
#[cfg(feature = "formats")]
mod junit;
#[cfg(feature = "formats")]
mod known;
#[cfg(feature = "formats")]
mod known_file;
#[cfg(feature = "formats")]
mod margins;
#[cfg(feature = "formats")]
mod markdown;
#[cfg(feature = "formats")]
mod onnx;
#[cfg(feature = "formats")]
mod probe;
#[cfg(feature = "formats")]
mod progress;
#[cfg(feature = "formats")]
mod quote;
mod repair;
#[cfg(feature = "formats")]
mod sarif;
#[cfg(feature = "formats")]
mod snapshot;
#[cfg(feature = "formats")]
mod stream;
#[cfg(feature = "formats")]
mod terminal;
#[cfg(feature = "formats")]
mod test_file;
#[cfg(feature = "formats")]
mod text;
#[cfg(feature = "formats")]
mod verdict;
mod words;

#[cfg(feature = "formats")]
pub use adequacy::{adequacy, adequacy_page};
#[cfg(feature = "formats")]
pub use comparison::Comparison;
#[cfg(feature = "formats")]
pub use deviation_file::deviation_file;
#[cfg(feature = "formats")]
pub use doctor::{DoctorText, doctor_line};
#[cfg(feature = "formats")]
pub use finding_name::{INTERMITTENT, LAYOUT, THREADS, UNEXPLAINED, finding_name, titles};
#[cfg(feature = "formats")]
pub use format::{ReportFormat, write_as};
#[cfg(feature = "formats")]
pub use github::github;
#[cfg(feature = "formats")]
pub use gitlab::gitlab;
#[cfg(feature = "formats")]
pub use html::html;
#[cfg(feature = "formats")]
pub use json::{json, json_document, write_json};
#[cfg(feature = "formats")]
pub use junit::junit;
#[cfg(feature = "formats")]
pub use known::{
    apply_known, check_known, is_about_known, is_day, is_of_no_suite, open_findings, read_known,
    settled, stale_line, stale_lines,
};
#[cfg(feature = "formats")]
pub use known_file::{add_known, remove_known, write_known};
#[cfg(feature = "formats")]
pub use markdown::{issue, markdown};
#[cfg(feature = "formats")]
pub use onnx::onnx_text;
#[cfg(feature = "formats")]
pub use probe::{probe_text, probe_yaml};
#[cfg(feature = "formats")]
pub use progress::Progress;
#[cfg(feature = "formats")]
pub use sarif::sarif;
#[cfg(feature = "formats")]
pub use snapshot::{
    AcceptedChanges, ChangeGroup, DAMAGED_HINT, PLAIN_DEVICE, Upgrade, accept, change_groups,
    compare, is_about, new_snapshot, other_version, read_snapshot, snapshot_diff, snapshot_line,
    snapshot_text, upgrade, write_snapshot,
};
#[cfg(feature = "formats")]
pub use stream::{LiveStream, ndjson, write_ndjson, write_ndjson_end};
#[cfg(feature = "formats")]
pub use terminal::{Detail, ReportStyle, RunEnd, coverage, exit_line, finding, render, render_in};
#[cfg(feature = "formats")]
pub use test_file::{cargo_test, pytest};
#[cfg(feature = "formats")]
pub use text::{free_name, hanging, no_command, paragraph, plain, ratio, visible, visible_line};
#[cfg(feature = "formats")]
pub use verdict::verdict;
pub use words::{English, finding_text, judgment};
