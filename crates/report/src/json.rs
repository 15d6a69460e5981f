//! The report as one JSON document. Two runs of the same cases give the same bytes: no times, no paths of ours.

use qkvet_spec::Summary;

use crate::text::visible_json;

/// The summary as JSON, pretty-printed, one trailing newline. Its schema is `qkvet schema report`.
///
/// # Errors
/// None in practice: every number in a summary is finite.
pub fn json(summary: &Summary) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(summary).map(|text| visible_json(text) + "\n")
}
