//! The report as one JSON document. Two runs of the same cases give the same bytes: no times, no
//! paths of ours.

use std::io::{self, Write};

use qkvet_spec::{Summary, SummaryDocument};
use serde::Serialize;

use crate::text::{visible_json, visible_json_part};
use crate::words::English;

/// The summary as JSON, pretty-printed, one trailing newline. Its schema is `qkvet schema report`.
///
/// # Errors
/// None in practice: every number in a summary is finite.
pub fn json(summary: &Summary) -> Result<String, serde_json::Error> {
    json_document(&SummaryDocument::new(summary, &English))
}

/// Facts as one JSON document with a trailing newline: a probe, a replay and others, each with a
/// schema of its own.
///
/// # Errors
/// None in practice: every number in them is finite.
pub fn json_document(facts: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(facts).map(|text| visible_json(text) + "\n")
}

/// The same where it is wanted, without the text as a whole: that takes as much room as what it
/// says.
///
/// # Errors
/// Those of `to`.
pub fn write_json(summary: &Summary, to: impl Write) -> io::Result<()> {
    let mut to = Visible(to);
    serde_json::to_writer_pretty(&mut to, &SummaryDocument::new(summary, &English))?;
    to.write_all(b"\n")
}

/// Hides nothing from those who read the document. What comes at once is a whole piece of text, for
/// so `serde_json` writes.
struct Visible<W>(W);

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(visible_json_part(text).as_bytes()),
            Err(_) => self.0.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{Summary, Warning};

    use super::*;

    /// Counts what it is given, and the longest piece.
    #[derive(Default)]
    struct Pieces(Vec<u8>, usize);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(bytes);
            self.1 = self.1.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn kinds_of_later_versions_are_read() {
        let mut report: serde_json::Value =
            serde_json::from_str(include_str!("../tests/report.json")).expect("a report");
        let kind = serde_json::json!({"kind": "of-tomorrow", "more": [1]});
        report["findings"][0]["cause"] = kind.clone();
        report["findings"][0]["notes"] = serde_json::json!([kind]);
        let read: Summary = qkvet_spec::parse_json(&report.to_string()).expect("a report");
        assert_eq!(read.findings[0].cause, qkvet_spec::Cause::Later);
        assert_eq!(read.findings[0].notes, [qkvet_spec::Note::Later]);
        assert!(json(&read).is_ok());
        report["findings"][0]["cause"] =
            serde_json::json!({"kind": "broken", "how": {"melted": 3}});
        report["stopped"] = serde_json::json!({"power": {"volts": 0}});
        let read: Summary = qkvet_spec::parse_json(&report.to_string()).expect("a report");
        let how = qkvet_spec::Breakage::Later(qkvet_spec::Later);
        assert_eq!(read.findings[0].cause, qkvet_spec::Cause::Broken { how });
        assert_eq!(read.stopped, Some(qkvet_spec::Stopped::Later(qkvet_spec::Later)));
        assert!(json(&read).is_ok());
    }

    #[test]
    fn it_is_written_piece_by_piece_and_is_the_same() {
        let text = include_str!("../tests/report.json");
        let mut summary: Summary = serde_json::from_str(text).expect("a report");
        summary.run.target = "##[error]\u{1b}[2J\u{2028}\"\\\u{200b}é##[".to_owned();
        summary.warnings = vec![Warning::Recorded { text: summary.run.target.clone().into() }; 3];
        let whole = json(&summary).expect("a document");
        let mut pieces = Pieces::default();
        write_json(&summary, &mut pieces).expect("no I/O to fail");
        assert_eq!(String::from_utf8(pieces.0).expect("text"), whole);
        assert!(pieces.1 * 4 < whole.len(), "{} of {}", pieces.1, whole.len());
        assert!(
            !whole.contains("##[") && !whole.contains('\u{1b}') && !whole.contains('\u{200b}'),
            "{whole}"
        );
    }
}
