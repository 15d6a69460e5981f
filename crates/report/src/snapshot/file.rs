//! Snapshots as text: always in the same order, a case a line, so that a change of one case is a
//! change of one line.

use std::fmt::Write;

use indexmap::IndexMap;
use qkvet_spec::{
    Redirects, SNAPSHOT_FORMAT, Snapshot, SnapshotEntry, SnapshotPart, SpecError, Unexpected,
    parse_large_yaml, suite_name,
};

use super::parts::n_cases;
use crate::quote::{quoted, scalar};

/// What stands on top.
const HEAD: &str = "# What the cases of a target came to: verdict, error in units of its bound as a power of two, finding.
# `qkvet snapshot accept` writes this file and `qkvet snapshot check` compares with it; read its changes, do not edit it.
";

/// What to do about a file that cannot be read: none is ever replaced.
pub const DAMAGED_HINT: &str = "take it from version control again, or remove it first: `qkvet snapshot record TARGET` then writes it anew";

/// Reads a snapshot, with the names that laws and faults have now.
///
/// # Errors
/// YAML that does not fit, another format, the same part twice; a file that is cut off, or with
/// other cases than it says.
pub fn read_snapshot(path: &str, source: &str) -> Result<Snapshot, SpecError> {
    if source.trim().is_empty() {
        return Err(damaged(path, "cases", "an empty file"));
    }
    if !source.ends_with('\n') {
        return Err(damaged(path, "a line break at its end", "none: the file is cut off"));
    }
    if let Some(line) = source.lines().position(is_conflict) {
        let hint = "take one side (`git checkout --ours FILE`, or `--theirs`), and take over what `qkvet snapshot check` then finds with `qkvet snapshot accept`";
        return Err(Unexpected::at(format!("snapshot at {path}:{}", line + 1), "cases")
            .got("a merge that is not resolved")
            .hint(hint)
            .into());
    }
    let mut snapshot: Snapshot = parse_large_yaml(path, source).map_err(|error| {
        if has_no_end(source) {
            return cut_off(path);
        }
        error.hint(DAMAGED_HINT)
    })?;
    if !snapshot.is_old() {
        check_whole(path, &snapshot)?;
    }
    for (at, part) in snapshot.parts.iter().enumerate() {
        if snapshot.parts[..at].iter().any(|other| super::parts::is_same(other, part)) {
            let hint = "two branches recorded it; keep one and run `qkvet snapshot check`";
            return Err(Unexpected::at(place(path, part), "once").got("twice").hint(hint).into());
        }
    }
    snapshot.parts.iter_mut().for_each(rename);
    Ok(snapshot)
}

/// Gives laws, suite and findings the names that they have now: a new name is no change of a case.
fn rename(part: &mut SnapshotPart) {
    let current = |name: &str| Redirects::embedded().current(name).into_owned();
    // A name without a version is of the first.
    part.suite = suite_name(&current(&part.suite), 1);
    part.findings = part.findings.drain(..).map(|(code, title)| (current(&code), title)).collect();
    let mut cases = IndexMap::<String, IndexMap<_, _>>::new();
    for (law, mut entries) in part.cases.drain(..) {
        for finding in entries.values_mut().filter_map(|entry| entry.finding.as_mut()) {
            *finding = finding.split('+').map(current).collect::<Vec<_>>().join("+");
        }
        cases.entry(current(&law)).or_default().extend(entries);
    }
    part.cases = cases;
}

/// Whether git left the line between two sides of a merge.
fn is_conflict(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark)) || line == "======="
}

fn cut_off(path: &str) -> SpecError {
    damaged(path, "`end: true` as its last line", "none: the file is cut off")
}

fn damaged(path: &str, expected: &str, got: &str) -> SpecError {
    Unexpected::at_path("snapshot", path, expected).got(got).hint(DAMAGED_HINT).into()
}

fn place(path: &str, part: &SnapshotPart) -> String {
    let SnapshotPart { device, suite, seed, dtype, contract, .. } = part;
    format!(
        "part at {path} (device {device}, suite {suite}, seed {seed}, {dtype} under {contract})"
    )
}

/// Whether the text is one of ours that lacks its last line, which may leave any part of it without
/// a field.
fn has_no_end(source: &str) -> bool {
    let has = |start: &str| source.lines().any(|line| line.starts_with(start));
    let is_ours = if has("format:") {
        has(&format!("format: {SNAPSHOT_FORMAT}"))
    } else {
        HEAD.starts_with(source)
    };
    is_ours && !has("end:")
}

/// Whether all is there that the file says.
fn check_whole(path: &str, snapshot: &Snapshot) -> Result<(), SpecError> {
    let format = &snapshot.format;
    if format != SNAPSHOT_FORMAT {
        let hint = "another version of qkvet wrote it: use that one, or remove the file and record it anew";
        return Err(Unexpected::at_path("format", path, SNAPSHOT_FORMAT)
            .quoted(format!("{format:.40}"))
            .hint(hint)
            .into());
    }
    if !snapshot.end {
        return Err(cut_off(path));
    }
    for part in &snapshot.parts {
        let (total, n) = (part.total, n_cases(part));
        if total == Some(n) {
            continue;
        }
        let said = total.map_or_else(
            || "a `total` of cases".to_owned(),
            |total| format!("{total} cases (its `total`)"),
        );
        let wrong = Unexpected::at(place(path, part), said).got(n);
        return Err(if total.is_some_and(|total| total < n) {
            wrong.hint(format!(
                "if two branches that added cases were merged, look at them and write `total: {n}` there"
            ))
        } else {
            wrong.hint("lines were lost, by a merge for example").hint(DAMAGED_HINT)
        }
        .into());
    }
    Ok(())
}

/// A snapshot with nothing in it.
pub fn new_snapshot(target: &str) -> Snapshot {
    Snapshot {
        format: SNAPSHOT_FORMAT.to_owned(),
        target: target.to_owned(),
        parts: Vec::new(),
        end: true,
    }
}

/// The file.
pub fn write_snapshot(snapshot: &Snapshot) -> String {
    let mut out =
        format!("{HEAD}format: {SNAPSHOT_FORMAT}\ntarget: {}\n", scalar(&snapshot.target));
    let mut parts: Vec<&SnapshotPart> =
        snapshot.parts.iter().filter(|part| !part.cases.is_empty()).collect();
    parts.sort_by_key(|part| {
        (&part.device, &part.suite, part.seed, &part.dtype, &part.contract, &part.conventions)
    });
    out.push_str(if parts.is_empty() { "parts: []\n" } else { "parts:\n" });
    for part in parts {
        write_part(&mut out, part);
    }
    out.push_str("end: true\n");
    out
}

fn write_part(out: &mut String, part: &SnapshotPart) {
    let SnapshotPart {
        device,
        suite,
        seed,
        dtype,
        contract,
        conventions,
        qkvet,
        findings,
        total: _,
        cases,
    } = part;
    let mut line = |indent: usize, text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{:indent$}{text}", "");
    };
    line(2, format!("- device: {}", scalar(device)));
    line(4, format!("suite: {}", scalar(suite)));
    line(4, format!("seed: {seed}"));
    line(4, format!("dtype: {}", scalar(dtype)));
    line(4, format!("contract: {}", scalar(contract)));
    let declared: Vec<String> = conventions.iter().map(|one| scalar(one)).collect();
    line(4, format!("conventions: [{}]", declared.join(", ")));
    line(4, format!("qkvet: {}", quoted(qkvet)));
    let mut known: Vec<_> = findings.iter().collect();
    known.sort();
    if !known.is_empty() {
        line(4, "findings:".to_owned());
        known
            .into_iter()
            .for_each(|(code, title)| line(6, format!("{}: {}", scalar(code), quoted(title))));
    }
    line(4, format!("total: {}", n_cases(part)));
    line(4, "cases:".to_owned());
    let mut laws: Vec<_> = cases.iter().filter(|(_, entries)| !entries.is_empty()).collect();
    laws.sort_by_key(|(law, _)| law.as_str());
    for (law, entries) in laws {
        line(6, format!("{}:", scalar(law)));
        let mut entries: Vec<(&String, &SnapshotEntry)> = entries.iter().collect();
        entries.sort_by_key(|(id, _)| id.as_str());
        entries
            .into_iter()
            .for_each(|(id, entry)| line(8, format!("{}: {}", scalar(id), written(entry))));
    }
}

/// The entry as it is, unless it came from elsewhere and could be taken for something else.
fn written(entry: &SnapshotEntry) -> String {
    let text = entry.to_string();
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '^' | '-' | '+' | ':' | '.' | '_' | '=');
    let ends_well = !text.ends_with(':') && !text.contains(": ");
    if ends_well && text.chars().all(is_plain) { text } else { quoted(&text) }
}
