//! The report as a stream: one JSON document a line.

use std::io::{self, Write};

use qkvet_spec::{Event, FindingDocument, Outcome, StreamLine, Summary, Words};

use crate::text::visible_json;
use crate::words::{English, english_warnings, notice};

/// All lines of a finished run. Their schema is `qkvet schema stream`.
///
/// # Errors
/// None in practice: every number in a summary is finite.
pub fn ndjson(summary: &Summary) -> Result<String, serde_json::Error> {
    let mut text = Vec::new();
    write_ndjson(summary, &mut text).map_err(serde_json::Error::io)?;
    String::from_utf8(text).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

/// The same where they are wanted, one after the other: together they take as much room as what
/// they say.
///
/// # Errors
/// Those of `to`.
pub fn write_ndjson(summary: &Summary, mut to: impl Write) -> io::Result<()> {
    write_line(&StreamLine::Started(Box::new(summary.run.clone())), &mut to)?;
    write_ndjson_end(summary, to)
}

/// The lines that end a live stream: warnings, cases, findings, the outcome.
///
/// # Errors
/// Those of `to`.
pub fn write_ndjson_end(summary: &Summary, mut to: impl Write) -> io::Result<()> {
    let warnings = english_warnings(summary).map(|text| StreamLine::Warning(text.into()));
    let cases = summary.records.iter().cloned().map(|record| StreamLine::Case(Box::new(record)));
    let findings = summary.findings.iter().map(|finding| {
        StreamLine::Finding(Box::new(FindingDocument::new(finding, &English).into_owned()))
    });
    warnings.chain(cases).chain(findings).try_for_each(|one| write_line(&one, &mut to))?;
    write_line(&StreamLine::Finished(Box::new(Outcome::of(summary))), &mut to)
}

/// The lines of a run while it runs. The same run has the same lines, whatever the order in which
/// its workers finish.
#[derive(Debug, Default)]
pub struct LiveStream {
    last_percent: usize,
}

impl LiveStream {
    /// The line that tells an event, if one does: progress is told by the percent.
    ///
    /// # Errors
    /// None in practice: every number in an event is finite.
    pub fn event(&mut self, event: &Event) -> Result<Option<String>, serde_json::Error> {
        let told = match event {
            Event::Started(run) => StreamLine::Started(run.clone()),
            Event::Notice(one) => StreamLine::Notice(notice(one).to_string().into()),
            Event::Warning(one) => StreamLine::Warning(English.warning(one).to_string().into()),
            Event::Case { done, total, .. } => {
                let percent = done * 100 / (*total).max(1);
                if percent <= self.last_percent {
                    return Ok(None);
                }
                self.last_percent = percent;
                StreamLine::Progress { done: *done, total: *total }
            }
            Event::Proposal(proposal) => StreamLine::Proposal(proposal.clone()),
            Event::Finished(_) => return Ok(None),
        };
        line(&told).map(Some)
    }
}

fn line(one: &StreamLine) -> Result<String, serde_json::Error> {
    serde_json::to_string(one).map(|text| visible_json(text) + "\n")
}

fn write_line(one: &StreamLine, to: &mut impl Write) -> io::Result<()> {
    to.write_all(line(one)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of what it is given.
    struct Pieces(Vec<usize>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn it_is_written_line_by_line_and_is_the_same() {
        let summary: Summary =
            serde_json::from_str(include_str!("../tests/report.json")).expect("a report");
        let lines = ndjson(&summary).expect("lines");
        let mut pieces = Pieces(Vec::new());
        write_ndjson(&summary, &mut pieces).expect("no I/O to fail");
        assert_eq!(pieces.0, lines.split_inclusive('\n').map(str::len).collect::<Vec<_>>());
        assert_eq!(
            pieces.0.len(),
            2 + summary.warnings.len() + summary.records.len() + summary.findings.len()
        );
    }
}
