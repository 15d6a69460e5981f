//! A file of known deviations as text. What people wrote there, comments too, stays as it is where
//! that can be.

use std::fmt::Write;

use qkvet_spec::{KnownDeviation, KnownFile, parse_yaml};

use crate::quote::scalar;

const HEAD: &str = "# Known deviations: findings that somebody looked at and that may stay for now (docs/snapshots.md).
# `qkvet check` fails when one is gone, expired or about nothing.
";

/// The file with these entries.
pub fn write_known(known: &KnownFile) -> String {
    let entries: String = known.known.iter().map(|entry| item(entry, "  ")).collect();
    if entries.is_empty() {
        format!("{HEAD}known: []\n")
    } else {
        format!("{HEAD}known:\n{entries}")
    }
}

/// An entry as an item of a list.
fn item(entry: &KnownDeviation, indent: &str) -> String {
    let KnownDeviation { target, suite, law, case, option, dtype, finding, reason, link, expires } =
        entry;
    let fields = [
        ("target", target.as_ref()),
        ("suite", suite.as_ref()),
        ("law", law.as_ref()),
        ("case", case.as_ref()),
        ("option", option.as_ref()),
        ("dtype", dtype.as_ref()),
        ("finding", Some(finding)),
        ("reason", Some(reason)),
        ("link", link.as_ref()),
        ("expires", expires.as_ref()),
    ];
    let mut out = String::new();
    let mut lead = format!("{indent}- ");
    for (name, value) in fields {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{lead}{name}: {}", scalar(value));
            lead = format!("{indent}  ");
        }
    }
    out
}

/// The text with more entries at its end.
pub fn add_known(text: &str, known: &KnownFile, entries: &[KnownDeviation]) -> String {
    let mut wanted = known.clone();
    wanted.known.extend_from_slice(entries);
    let indent: String = items(text).first().map_or("  ", |(_, _, indent)| indent).to_owned();
    let mut edited = text.trim_end().to_owned();
    if known.known.is_empty() {
        edited = edited.trim_end_matches("[]").trim_end().to_owned();
    }
    edited.push('\n');
    entries.iter().for_each(|entry| edited.push_str(&item(entry, &indent)));
    kept(edited, &wanted)
}

/// The text without the entries that `is_gone` names by their number, from 0.
pub fn remove_known(text: &str, known: &KnownFile, is_gone: &dyn Fn(usize) -> bool) -> String {
    let stay = known
        .known
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_gone(*at))
        .map(|(_, entry)| entry.clone());
    let wanted = KnownFile { known: stay.collect() };
    let lines: Vec<&str> = text.lines().collect();
    let gone: Vec<(usize, usize, &str)> = items(text)
        .into_iter()
        .enumerate()
        .filter(|(at, _)| is_gone(*at))
        .map(|(_, item)| item)
        .collect();
    let gone: std::collections::BTreeSet<usize> =
        gone.into_iter().flat_map(|(first, end, _)| first..end).collect();
    let is_left = |at: &usize| !gone.contains(at);
    let mut edited: String =
        (0..lines.len()).filter(is_left).map(|at| format!("{}\n", lines[at])).collect();
    if wanted.known.is_empty() {
        edited = edited.replacen("known:\n", "known: []\n", 1);
    }
    kept(edited, &wanted)
}

/// The edited text if it says what is wanted, else the file written anew.
fn kept(edited: String, wanted: &KnownFile) -> String {
    match parse_yaml::<KnownFile>("", &edited) {
        Ok(read) if read == *wanted => edited,
        _ => write_known(wanted),
    }
}

/// Items of the list: first line, line behind the last, what stands before the dash. Comments
/// before an item belong to it.
fn items(text: &str) -> Vec<(usize, usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(list) = lines.iter().position(|line| line.trim_end() == "known:") else {
        return Vec::new();
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(first) = (list + 1..lines.len()).find(|at| lines[*at].trim_start().starts_with("- "))
    else {
        return Vec::new();
    };
    let before = &lines[first][..indent(lines[first])];
    let is_item = |at: &usize| {
        lines[*at].trim_start().starts_with("- ") && indent(lines[*at]) == before.len()
    };
    let dashes: Vec<usize> = (first..lines.len()).filter(is_item).collect();
    // The comments right above an item.
    let start = |dash: usize| {
        let is_comment = |at: &usize| {
            lines[*at].trim_start().starts_with('#') && indent(lines[*at]) >= before.len()
        };
        let above = (list + 1..dash).rev().take_while(is_comment).count();
        dash - above
    };
    let starts: Vec<usize> = dashes.iter().map(|dash| start(*dash)).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts.iter().copied().zip(ends).map(|(first, end)| (first, end, before)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> KnownFile {
        parse_yaml("known.yaml", text).expect(text)
    }

    fn entry(law: &str) -> KnownDeviation {
        KnownDeviation {
            law: Some(law.to_owned()),
            finding: "QK221".to_owned(),
            reason: "a: \"b\" # c".to_owned(),
            ..KnownDeviation::default()
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let known = KnownFile { known: vec![entry("value"), entry("causal-*")] };
        let text = write_known(&known);
        assert_eq!(read(&text), known);
        assert!(text.contains("reason: \"a: \\\"b\\\" # c\""), "{text}");
        assert_eq!(read(&write_known(&KnownFile::default())), KnownFile::default());
    }

    #[test]
    fn comments_stay() {
        let text = "# ours\nknown:\n# about this\n- law: value\n  finding: QK221\n  reason: r  # why\n\n# about that\n- law: repeatability\n  finding: NONDET\n  reason: s\n";
        let known = read(text);
        let more = add_known(text, &known, &[entry("more")]);
        assert!(more.starts_with(text) && read(&more).known.len() == 3, "{more}");
        let less = remove_known(text, &known, &|at| at == 0);
        assert_eq!(
            less,
            "# ours\nknown:\n# about that\n- law: repeatability\n  finding: NONDET\n  reason: s\n"
        );
        let none = remove_known(text, &known, &|_| true);
        assert!(none.starts_with("# ours\n") && read(&none).known.is_empty(), "{none}");
        let first = add_known(&none, &KnownFile::default(), &[entry("first")]);
        assert!(first.starts_with("# ours\n") && read(&first).known == [entry("first")], "{first}");
    }

    #[test]
    fn another_form_is_written_anew() {
        let text = "known: [{law: value, finding: QK221, reason: r}]\n";
        let known = read(text);
        assert_eq!(read(&add_known(text, &known, &[entry("more"), entry("most")])).known.len(), 3);
        assert!(read(&remove_known(text, &known, &|_| true)).known.is_empty());
    }
}
