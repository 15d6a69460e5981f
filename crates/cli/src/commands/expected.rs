//! What a run is held against beside the laws: known deviations and a snapshot.

#![allow(clippy::disallowed_methods, reason = "the files and the day are read here")]

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use qkvet_report::{
    DAMAGED_HINT, apply_known, compare, is_about_known, is_day, other_version, read_known,
    read_snapshot, visible,
};
use qkvet_run::adapters::{mistyped_target, other_names};
use qkvet_run::config::{Home, Seen};
use qkvet_spec::{KnownDeviation, KnownFile, Snapshot, Summary, Unexpected};

use crate::args::ReportArgs;
use crate::exit::Failure;

/// A longer file is refused before it is read.
const MAX_BYTES: u64 = 64 << 20;

/// Read before a run and laid over its outcome.
#[derive(Default)]
pub(super) struct Expected {
    known: Option<Known>,
    snapshot: Option<Comparison>,
    /// Whether the run hashes what comes back.
    pub(super) exact: bool,
}

/// A file of known deviations, and what it is held against.
struct Known {
    /// The file, as it is shown.
    path: String,
    file: KnownFile,
    today: String,
    /// Other names of the target.
    others: Vec<String>,
}

/// A snapshot to compare with.
pub(super) struct Comparison {
    pub(super) path: PathBuf,
    pub(super) snapshot: Snapshot,
    pub(super) device: Option<String>,
}

impl Expected {
    /// Known deviations: those of the flag, else those that are found.
    pub(super) fn known(args: &ReportArgs, target: &str, home: &Home) -> Result<Self, Failure> {
        let today = today(args.today.as_deref())?;
        let Some(path) = args.known.clone().or_else(|| home.known_file()) else {
            return Ok(Self::default());
        };
        let file = read_known_file(&path)?;
        let others = other_names(target, home);
        if let Some(what) = mistyped_target(&file.known, &path, target, &others) {
            return Err(Unexpected::within_path("known deviations", shown(&path), what).into());
        }
        Ok(Self {
            known: Some(Known { path: shown(&path), file, today, others }),
            ..Self::default()
        })
    }

    /// The same and a snapshot, with bits or without.
    pub(super) fn and_snapshot(self, comparison: Option<Comparison>, exact: bool) -> Self {
        Self { snapshot: comparison, exact, ..self }
    }

    /// Whether there are known deviations.
    pub(super) fn has_known(&self) -> bool {
        self.known.is_some()
    }

    /// Whether a finding that is seen first may be one that does not fail: known, or recorded. Its
    /// cause is not known yet.
    pub(super) fn may_settle(&self, target: &str, seen: &Seen<'_>) -> bool {
        let Seen { law, dtype, case, options, .. } = *seen;
        let is_known = self.known.iter().any(|Known { file, today, others, .. }| {
            let names: Vec<String> =
                std::iter::once(target.to_owned()).chain(others.iter().cloned()).collect();
            let holds =
                |entry: &&KnownDeviation| entry.expires.as_ref().is_none_or(|day| day >= today);
            file.known
                .iter()
                .filter(holds)
                .any(|entry| is_about_known(entry, &names, [law, case, dtype], options))
        });
        let parts = self.snapshot.iter().flat_map(|comparison| &comparison.snapshot.parts);
        let mut recorded = parts
            .filter(|part| part.dtype == dtype)
            .filter_map(|part| part.cases.get(law)?.get(case));
        is_known || recorded.any(|entry| entry.verdict.is_finding())
    }

    /// Refuses a snapshot that has cases of another version of the suite and none of this one: they
    /// could not be compared.
    pub(super) fn refuse_other_version(&self, suite: &str, target: &str) -> Result<(), Failure> {
        let Some(Comparison { path, snapshot, .. }) = &self.snapshot else { return Ok(()) };
        let Some(other) = other_version(snapshot, suite) else { return Ok(()) };
        let hint = format!(
            "`qkvet snapshot upgrade {}` records anew and says what changed; `--suite {other}` runs the cases of then",
            visible(target)
        );
        let expected = format!("cases of suite {suite}");
        let wrong = Unexpected::at_path("snapshot", shown(path), expected);
        Err(wrong.got(format!("those of {other}")).hint(hint).into())
    }

    /// Says in the summary what is known and what is different.
    pub(super) fn apply(&self, summary: &mut Summary) {
        if let Some(Known { path, file, today, others }) = &self.known {
            apply_known(summary, path, file, others, today);
        }
        if let Some(Comparison { path, snapshot, device }) = &self.snapshot {
            let outcome = compare(snapshot, summary, &shown(path), device.as_deref(), self.exact);
            summary.snapshot = Some(outcome);
        }
    }
}

/// Reads one file of known deviations.
pub(super) fn read_known_file(path: &Path) -> Result<KnownFile, Failure> {
    Ok(read_known(&shown(path), &read_text("known deviations", path, None)?)?)
}

/// Reads a snapshot.
pub(super) fn read_snapshot_file(path: &Path) -> Result<Snapshot, Failure> {
    Ok(read_snapshot(&shown(path), &read_text("snapshot", path, Some(DAMAGED_HINT))?)?)
}

/// A text of bearable length.
pub(super) fn read_text(what: &str, path: &Path, hint: Option<&str>) -> Result<String, Unexpected> {
    let wrong = Unexpected {
        hints: hint.into_iter().map(str::to_owned).collect(),
        ..Unexpected::at_path(what, shown(path), "a readable file")
    };
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(wrong.error("a folder")),
        Ok(about) if !about.is_file() => Err(wrong.error("no regular file")),
        Ok(about) if about.len() > MAX_BYTES => {
            Err(wrong.error(format!("{} bytes, more than {MAX_BYTES}", about.len())))
        }
        _ => std::fs::read_to_string(path).map_err(|error| wrong.error(unreadable(&error))),
    }
}

/// Why a text cannot be read.
pub(super) fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::InvalidData => "bytes that are no text (UTF-8)".to_owned(),
        _ => error.to_string(),
    }
}

/// The path as it is written from the current folder, with `/` between folders.
pub(super) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}

/// Today, `2027-01-31`, or the day that is given in its place.
pub(super) fn today(given: Option<&str>) -> Result<String, Unexpected> {
    if let Some(day) = given {
        if is_day(day) {
            return Ok(day.to_owned());
        }
        return Err(Unexpected::at("--today", "a day such as 2027-01-31").quoted(day));
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(day_of(since.as_secs() / 86_400))
}

/// The day of the Gregorian calendar so many days after the first of 1970, in UTC.
fn day_of(days: u64) -> String {
    // Counted from the first of March of the year 0, so that a leap day is the last one of its
    // year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

/// Whether this is a job of a continuous integration, which writes nothing that belongs to the
/// repository.
pub(super) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

/// Refuses under CI what writes into the repository.
pub(super) fn refuse_under_ci(command: &str, hint: &str) -> Result<(), Unexpected> {
    if is_ci() {
        let got = "CI, where files of the repository are not written";
        return Err(Unexpected::at(command, "a developer's machine").got(got).hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted() {
        for (days, day) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_454, "2026-01-01"),
            (20_818, "2026-12-31"),
            (21_243, "2028-02-29"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(day_of(days), day);
            assert!(is_day(day));
        }
        assert!(today(Some("2027-02-29")).is_err() && today(Some("2028-02-29")).is_ok());
        assert!(today(None).is_ok_and(|day| is_day(&day)));
    }
}
