//! Formats of a report by name, and the one function that writes any of them.

use qkvet_spec::{Catalog, Summary};

use crate::html::html;
use crate::{
    cargo_test, github, gitlab, json, junit, markdown, ndjson, plain, pytest, render, sarif,
    verdict,
};

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// For people, at a terminal.
    Human,
    /// One JSON document, from which all others can be made.
    Json,
    /// A JSON document a line.
    Ndjson,
    /// A page for a step summary, a comment or an issue.
    Markdown,
    /// One page that needs nothing else.
    Html,
    /// JUnit's XML.
    Junit,
    /// Commands of GitHub workflows that annotate a change.
    Github,
    /// The code quality report of GitLab.
    Gitlab,
    /// SARIF 2.1.0.
    Sarif,
    /// One small JSON object.
    Verdict,
    /// A test of pytest for each finding.
    Pytest,
    /// A test of Rust for each finding.
    CargoTest,
}

impl ReportFormat {
    /// Every format.
    pub const ALL: [Self; 12] = [
        Self::Human,
        Self::Json,
        Self::Ndjson,
        Self::Markdown,
        Self::Html,
        Self::Junit,
        Self::Github,
        Self::Gitlab,
        Self::Sarif,
        Self::Verdict,
        Self::Pytest,
        Self::CargoTest,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Junit => "junit",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Sarif => "sarif",
            Self::Verdict => "verdict",
            Self::Pytest => "pytest",
            Self::CargoTest => "cargo-test",
        }
    }

    /// Whether reports of several runs may follow each other.
    pub fn is_sequence(self) -> bool {
        matches!(self, Self::Human | Self::Ndjson | Self::Markdown | Self::Github | Self::Verdict)
    }

    /// Whether it is a source of tests.
    pub fn is_of_tests(self) -> bool {
        matches!(self, Self::Pytest | Self::CargoTest)
    }

    /// What it is, for a list.
    pub fn about(self) -> &'static str {
        match self {
            Self::Human => "for people, at a terminal",
            Self::Json => "one JSON document, from which all others can be made",
            Self::Ndjson => "a JSON document a line, as they come",
            Self::Markdown => "a page for a step summary, a comment or an issue",
            Self::Html => "one page that needs nothing else",
            Self::Junit => "JUnit's XML",
            Self::Github => "annotations of a GitHub workflow",
            Self::Gitlab => "GitLab's code quality report",
            Self::Sarif => "SARIF 2.1.0",
            Self::Verdict => "one JSON object below 2 KB: what a program needs to act",
            Self::Pytest => "a file for pytest: a test for each finding",
            Self::CargoTest => "a file for `cargo test`: a test for each finding",
        }
    }

    /// The name of its file where none is given: always the same, so that others find it.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Human => "report.txt",
            Self::Json => "report.json",
            Self::Ndjson => "report.ndjson",
            Self::Markdown => "report.md",
            Self::Html => "report.html",
            Self::Junit => "junit.xml",
            Self::Github => "github.txt",
            Self::Gitlab => "gitlab.json",
            Self::Sarif => "report.sarif",
            Self::Verdict => "verdict.json",
            Self::Pytest => "test_findings.py",
            Self::CargoTest => "findings.rs",
        }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// The report in a format; the catalog says what the conventions are.
///
/// # Errors
/// None in practice: every number of a summary is finite.
pub fn write_as(
    format: ReportFormat,
    summary: &Summary,
    catalog: &Catalog,
) -> serde_json::Result<String> {
    Ok(match format {
        ReportFormat::Human => plain(&render(summary)),
        ReportFormat::Json => json(summary)?,
        ReportFormat::Ndjson => ndjson(summary)?,
        ReportFormat::Markdown => markdown(summary),
        ReportFormat::Html => html(summary, catalog),
        ReportFormat::Junit => junit(summary),
        ReportFormat::Github => github(summary),
        ReportFormat::Gitlab => gitlab(summary)?,
        ReportFormat::Sarif => sarif(summary)?,
        ReportFormat::Verdict => verdict(summary)?,
        ReportFormat::Pytest => pytest(summary),
        ReportFormat::CargoTest => cargo_test(summary),
    })
}
