//! The report as a stream: one JSON document a line.

use qkvet_spec::{Event, Outcome, StreamLine, Summary};

use crate::text::visible_json;

/// All lines of a finished run. Their schema is `qkvet schema stream`.
///
/// # Errors
/// None in practice: every number in a summary is finite.
pub fn ndjson(summary: &Summary) -> Result<String, serde_json::Error> {
    let started = line(&StreamLine::Started(Box::new(summary.run.clone())))?;
    Ok(started + &ndjson_end(summary)?)
}

/// The lines that end a live stream: warnings, cases, findings, the outcome.
///
/// # Errors
/// None in practice: every number in a summary is finite.
pub fn ndjson_end(summary: &Summary) -> Result<String, serde_json::Error> {
    let warnings = summary.warnings.iter().cloned().map(StreamLine::Warning);
    let cases = summary.records.iter().cloned().map(|record| StreamLine::Case(Box::new(record)));
    let findings = summary.findings.iter().cloned().map(|finding| StreamLine::Finding(Box::new(finding)));
    let finished = StreamLine::Finished(Box::new(Outcome::of(summary)));
    warnings.chain(cases).chain(findings).chain([finished]).map(|one| line(&one)).collect()
}

/// The lines of a run while it runs. The same run has the same lines, whatever the order in which its workers finish.
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
            Event::Notice(text) => StreamLine::Notice(text.clone()),
            Event::Warning(text) => StreamLine::Warning(text.clone()),
            Event::Case { done, total, .. } => {
                let percent = done * 100 / (*total).max(1);
                if percent <= self.last_percent {
                    return Ok(None);
                }
                self.last_percent = percent;
                StreamLine::Progress { done: *done, total: *total }
            }
            Event::Finished(_) => return Ok(None),
        };
        line(&told).map(Some)
    }
}

fn line(one: &StreamLine) -> Result<String, serde_json::Error> {
    serde_json::to_string(one).map(|text| visible_json(text) + "\n")
}
