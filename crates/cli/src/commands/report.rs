//! `qkvet report`: the report of a finished run in another format.

#![allow(clippy::disallowed_methods, reason = "the report is read here and nowhere else")]

use std::path::Path;
use std::process::ExitCode;

use qkvet_report::{ReportFormat, render, write_as};
use qkvet_spec::{Catalog, Summary};

use super::launch::write_text;
use super::reports::{check_wishes, write_files};
use crate::args::RerenderArgs;
use crate::exit::Failure;

/// A longer file is refused before it is read.
const MOST_BYTES: u64 = 1 << 30;

pub(super) fn report(args: &RerenderArgs) -> Result<ExitCode, Failure> {
    check_wishes(&args.output)?;
    let summary = read(&args.from)?;
    let catalog = Catalog::embedded()?;
    let text = match args.output.format {
        ReportFormat::Human => render(&summary),
        format => write_as(format, &summary, &catalog).map_err(|error| Failure::Usage(error.to_string()))?,
    };
    // Who wants files alone gets no other report.
    if args.output.report.is_empty() || args.output.format != ReportFormat::Human {
        write_text(&text)?;
    }
    write_files(&summary, &catalog, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// The report in a file, or in `report.json` of a folder.
pub(super) fn read(from: &Path) -> Result<Summary, Failure> {
    let path = if from.is_dir() { from.join(ReportFormat::Json.file_name()) } else { from.to_owned() };
    let hint = "hint: `qkvet check` leaves one in .qkvet/last; shards are joined by `qkvet merge`";
    let fail = |got: String| {
        Failure::Usage(format!("report at {}: expected a JSON report, got: {got}\n{hint}", path.display()))
    };
    let about = std::fs::metadata(&path).map_err(|error| fail(error.to_string()))?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(fail(format!("no file of at most {MOST_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| fail(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| fail(without_types(&error.to_string())))
}

/// The message of a parser with what a document has in it in place of types of Rust.
fn without_types(message: &str) -> String {
    let Some((before, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    let (expected, place) = expected.split_at(expected.find(" at line ").unwrap_or(expected.len()));
    let expected = match expected.split(' ').next() {
        Some("struct" | "internally" | "map") => "an object",
        Some("usize" | "u64" | "u32" | "u16" | "u8") => "a whole number",
        Some("i64" | "i32" | "f64") => "a number",
        Some("sequence" | "tuple") => "a list",
        _ => expected,
    };
    format!("{before}, expected {expected}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_rust_are_not_told() {
        let told = |text: &str| {
            let error = serde_json::from_str::<Summary>(text).expect_err("no report");
            without_types(&error.to_string())
        };
        assert_eq!(told("[]"), "invalid length 0, expected an object at line 1 column 2");
        assert_eq!(told("\"x\""), "invalid type: string \"x\", expected an object at line 1 column 3");
        assert_eq!(told("{\"run\":3}"), "invalid type: integer `3`, expected an object at line 1 column 8");
        assert_eq!(told("{}"), "missing field `run` at line 1 column 2");
    }
}
