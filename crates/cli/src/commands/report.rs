//! `qkvet report`: the report of a finished run in another format.

#![allow(clippy::disallowed_methods, reason = "the report is read here and nowhere else")]

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use qkvet_report::{ReportFormat, ReportStyle, render_in};
use qkvet_spec::{Catalog, REPORT_FORMAT, Summary, Unexpected, parse_json};
use serde_json::Value;

use super::expected::unreadable;
use super::reports::{LAST, check_wishes, wish_page, write_files, write_out};
use super::setup::STORE;
use crate::args::RerenderArgs;
use crate::exit::Failure;
use crate::out::write_text;
use crate::out::{columns, links};

/// A longer file is refused before it is read.
const MAX_BYTES: u64 = 1 << 30;

pub(super) fn report(args: &RerenderArgs) -> Result<ExitCode, Failure> {
    let mut output = args.output.clone();
    check_wishes(&output)?;
    let summary = read(&args.from)?;
    let page = args.open.then(|| wish_page(&mut output)).transpose()?;
    let catalog = Catalog::embedded()?;
    match output.format {
        // Who wants files alone gets no other report.
        ReportFormat::Human if !output.report.is_empty() && !output.margins => {}
        ReportFormat::Human => {
            let links = links();
            let style = ReportStyle {
                links: links.as_deref(),
                columns: columns(),
                has_margins: output.margins,
                ..ReportStyle::default()
            };
            write_text(&render_in(&summary, style))?;
        }
        format => write_out(format, &summary, &catalog)?,
    }
    write_files(&summary, &catalog, &output)?;
    if let Some(path) = page {
        let wrong = || Unexpected::at_path("report", &path, "a program that opens it");
        // A browser that is not open yet lives on.
        open::that_detached(&path).map_err(|error| wrong().error(error))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest report of a target among those that are kept here.
pub(super) fn last_of(target: &str) -> Option<Summary> {
    let last = Path::new(STORE).join(LAST);
    let inner = std::fs::read_dir(&last).into_iter().flatten();
    let inner: Vec<PathBuf> = inner.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let kept = |folder: PathBuf| {
        let path = folder.join(ReportFormat::Json.file_name());
        Some((std::fs::metadata(&path).ok()?.modified().ok()?, path))
    };
    let mut kept: Vec<_> = std::iter::once(last).chain(inner).filter_map(kept).collect();
    kept.sort();
    let reports = kept.iter().rev().filter_map(|(_, path)| read(path).ok());
    reports.into_iter().find(|summary| summary.run.target == target)
}

/// The report in a file, or in `report.json` of a folder.
pub(super) fn read(from: &Path) -> Result<Summary, Unexpected> {
    let path =
        if from.is_dir() { from.join(ReportFormat::Json.file_name()) } else { from.to_owned() };
    let hint = "`qkvet check` leaves one in .qkvet/last, or in .qkvet/last/TARGET for each of several \
                targets; shards are joined by `qkvet merge`";
    let wrong = |expected: &str| Unexpected::at_path("report", &path, expected).hint(hint);
    let fail = |got: String| wrong("a JSON report").error(got);
    let unread = |error: std::io::Error| {
        let got = match error.kind() {
            ErrorKind::NotFound => "none".to_owned(),
            _ => unreadable(&error),
        };
        wrong("a readable file").got(got)
    };
    let about = std::fs::metadata(&path).map_err(unread)?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(fail(format!("no file of at most {MAX_BYTES} bytes")));
    }
    if about.len() == 0 {
        return Err(fail("an empty file".to_owned()));
    }
    let file = File::open(&path).map_err(unread)?;
    // Not read as a whole first: the text of a long report takes as much room as what it says.
    serde_json::from_reader(BufReader::new(file)).or_else(|_| {
        let text = std::fs::read_to_string(&path).map_err(|error| fail(unreadable(&error)))?;
        let document = parse_json::<Value>(&text).unwrap_or_default();
        if let Some(format) = document["format"].as_str().filter(|one| *one != REPORT_FORMAT) {
            return Err(wrong(&format!("the format {REPORT_FORMAT}"))
                .quoted(format)
                .hint("run `qkvet check` again, or read it with the version that wrote it"));
        }
        parse_json(&text).map_err(|error| fail(error.to_string()))
    })
}
