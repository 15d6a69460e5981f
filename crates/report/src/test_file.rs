//! Findings as a file of tests for a repository: each test puts its case again, and fails until the
//! finding is gone.

use std::collections::BTreeSet;
use std::fmt::Write;

use qkvet_spec::{Cause, Finding, Summary, Verdict, WRITTEN};

use crate::finding_name::finding_name;
use crate::known::open_findings;
use crate::text::{free_name, no_command, visible_json, visible_line};
use crate::words::title;

/// Tests of one file.
const MAX: usize = 1000;

/// How a language writes them.
struct Language {
    comment: &'static str,
    /// What stands before the tests.
    head: &'static str,
    /// A test from its name, title and command, the last two quoted.
    test: fn(&str, &str, &str) -> String,
    quoted: fn(&str) -> String,
}

const PYTEST: Language = Language {
    comment: "#",
    head: r#"
import os
import shlex
import shutil
import subprocess
import sys


def asked_again(command):
    found = shutil.which("qkvet")
    program = [found] if found else [sys.executable, "-m", "qkvet"]
    # The functions under test are loaded by this Python.
    environment = {"QKVET_PYTHON": sys.executable, **os.environ}
    words = program + shlex.split(command)[1:]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
"#,
    test: |name, title, command| {
        format!("\n\ndef test_{name}():\n    {title}\n    asked_again({command})\n")
    },
    // A text of JSON is one of Python.
    quoted: |text| visible_json(serde_json::Value::from(text).to_string()),
};

const CARGO_TEST: Language = Language {
    comment: "//",
    head: r#"
use std::process::Command;

fn asked_again(command: &str) {
    let done = Command::new("sh").args(["-c", command]).output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
}
"#,
    test: |name, title, command| {
        format!("\n#[doc = {title}]\n#[test]\nfn {name}() {{\n    asked_again({command});\n}}\n")
    },
    // What would be a command of a runner is told apart before it is one of Rust.
    quoted: |text| format!("{text:?}").replace("##[", "#\\u{23}["),
};

/// A file for pytest.
pub fn pytest(summary: &Summary) -> String {
    PYTEST.file(summary)
}

/// A file for `tests/` of a Rust package.
pub fn cargo_test(summary: &Summary) -> String {
    CARGO_TEST.file(summary)
}

impl Language {
    fn file(&self, summary: &Summary) -> String {
        let open = open_findings(summary).into_iter().map(|at| &summary.findings[at]);
        // What comes and goes may pass at once.
        let comes_and_goes = |one: &Finding| {
            one.verdict == Verdict::Nondet || matches!(one.cause, Cause::Intermittent)
        };
        let is_asked = |one: &&Finding| one.replay_anywhere.is_some() && !comes_and_goes(one);
        let (asked, others): (Vec<&Finding>, Vec<&Finding>) = open.partition(is_asked);
        let mut out = String::new();
        let mut comment = |text: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{} {}", self.comment, visible_line(text));
        };
        comment(&format!("{WRITTEN} findings in {}.", summary.run.target));
        comment("A test puts one case again and fails until its finding is gone.");
        comment(
            "Run them in the folder in which `qkvet check` ran. `qkvet` has to be in the PATH.",
        );
        comment("QKVET_PYTHON names the Python of a target, if it is not the active one.");
        let left_out = others.len() + asked.len().saturating_sub(MAX);
        if left_out > 0 {
            comment(&format!(
                "Left out: {left_out} of {} findings. They come and go, no command can put their \
                 cases, or there are too many.",
                others.len() + asked.len()
            ));
        }
        if asked.is_empty() {
            comment("There is nothing to test.");
        } else {
            out.push_str(self.head);
        }
        let mut taken = BTreeSet::new();
        for finding in asked.into_iter().take(MAX) {
            let title = format!("{} {}", finding.verdict, title(finding));
            let command = finding.replay_anywhere.as_deref().unwrap_or_default();
            let name = name(finding, &mut taken);
            out.push_str(&(self.test)(
                &name,
                &(self.quoted)(&visible_line(&title)),
                &(self.quoted)(command),
            ));
        }
        no_command(&out).into_owned()
    }
}

/// A name of a function that no other finding has.
fn name(finding: &Finding, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = finding_name(finding).chars().map(plain).take(80).collect();
    let begin = if name.starts_with(|c: char| c.is_ascii_digit()) { "case_" } else { "" };
    free_name(&format!("{begin}{name}"), '_', taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A literal stays one in a file that no runner takes for a command.
    #[test]
    fn what_would_be_a_command_is_still_a_literal() {
        for Language { quoted, .. } in [PYTEST, CARGO_TEST] {
            let text = quoted("##[error]::warning::");
            assert_eq!(no_command(&text).matches("\\[").count(), 0, "{text}");
        }
        assert_eq!((CARGO_TEST.quoted)("##[2]"), "\"#\\u{23}[2]\"");
    }
}
