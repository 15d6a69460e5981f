//! Names of folders and files for targets.

use std::collections::BTreeSet;

use qkvet_report::{ReportFormat, free_name};

/// Characters of a name: those of a path are four bytes at most, and 255 bytes are a name's.
const MAX_LENGTH: usize = 56;

/// A name of a folder for a target that no other one of `taken`, and no report, has.
pub(super) fn name_of(target: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = target.chars().map(plain).collect();
    let name = match name.trim_start_matches(['.', '-']) {
        "" => "target",
        name => name,
    };
    let is_report = ReportFormat::ALL.iter().any(|format| format.file_name() == name);
    let begin = if is_report { "target-" } else { "" };
    let name: String = begin.chars().chain(name.chars()).take(MAX_LENGTH).collect();
    free_name(&name, '-', taken)
}

/// The same in letters, digits and `_`: a name that Python and Rust can load.
pub(super) fn module_name_of(target: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name_of(target, &mut BTreeSet::new()).chars().map(plain).collect();
    let begin = if name.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    free_name(&format!("{begin}{name}"), '_', taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_each_has_its_own() {
        let mut taken = BTreeSet::new();
        let all = ["a/b.py:f", "a-b.py:f", "../x y", "a/b.py:f", "..", ".", "report.json"];
        let names = all.map(|target| name_of(target, &mut taken));
        let expected = ["a-b.py-f", "a-b.py-f-2", "x-y", "a-b.py-f-3"];
        assert_eq!(names[..4], expected);
        assert_eq!(names[4..], ["target", "target-2", "target-report.json"]);
        assert_eq!(name_of("A-B.py:f", &mut taken), "A-B.py-f-4");
        assert_eq!(name_of(&"ä".repeat(500), &mut taken).len(), 2 * MAX_LENGTH);
        let mut taken = BTreeSet::new();
        let modules =
            ["a/b.py:f", "a-b.py:f", "4.py:f", "ä"].map(|t| module_name_of(t, &mut taken));
        assert_eq!(modules, ["a_b_py_f", "a_b_py_f_2", "_4_py_f", "_"]);
    }
}
