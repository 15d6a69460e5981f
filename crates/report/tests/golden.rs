//! What every text format makes of a small report that does not change.

#![expect(clippy::disallowed_methods, reason = "reads the report")]

use std::path::Path;

use qkvet_report::{ReportFormat, issue, write_as};
use qkvet_spec::{Catalog, Summary};

fn summary() -> Summary {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report.json");
    let text = std::fs::read_to_string(path).expect("the report");
    serde_json::from_str(&text).expect("a report")
}

#[test]
fn formats_stay_as_they_are() {
    let (summary, catalog) = (summary(), Catalog::embedded().expect("a catalog"));
    for format in ReportFormat::ALL {
        // The page is looked at by tests of its own, and the document is where it comes from.
        if !matches!(format, ReportFormat::Html | ReportFormat::Json) {
            insta::assert_snapshot!(
                format.name(),
                write_as(format, &summary, &catalog).expect("a report")
            );
        }
    }
}

#[test]
fn an_issue_stays_as_it_is() {
    let summary = summary();
    insta::assert_snapshot!("issue", issue(&summary, &summary.findings[0]));
}

#[test]
fn the_document_reads_back() {
    let (summary, catalog) = (summary(), Catalog::embedded().expect("a catalog"));
    let text = write_as(ReportFormat::Json, &summary, &catalog).expect("a report");
    let again: Summary = serde_json::from_str(&text).expect("a report");
    assert_eq!(write_as(ReportFormat::Json, &again, &catalog).expect("a report"), text);
    let page = |summary: &Summary| write_as(ReportFormat::Html, summary, &catalog).expect("a page");
    assert_eq!(page(&summary), page(&again));
}
