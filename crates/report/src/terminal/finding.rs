//! One finding: what is wrong, the fix, the smallest call that shows it, and how to see it again.

use qkvet_spec::{Cause, Dialect, Finding, SourcePlace};
use textwrap::core::display_width;

use super::rows::Rows;
use super::{BOLD, RED, laws};
use crate::text::{count, cut, visible, visible_line};
use crate::words::{self, word as word_of};

/// One finding, as for a file.
pub fn finding(finding: &Finding) -> String {
    let mut rows = Rows::new(None);
    write_finding(&mut rows, finding, None);
    rows.text
}

pub(super) fn write_finding(rows: &mut Rows, finding: &Finding, source: Option<&SourcePlace>) {
    let said = words::told(finding, Dialect::CommandLine);
    let title = visible_line(&said.title);
    rows.headline(&format!("{RED}{}{RED:#}  {BOLD}{title}{BOLD:#}", word_of(finding)));
    if let Some(SourcePlace { path, line }) = source {
        rows.headline(&format!("  --> {}", rows.place(path, *line)));
    }
    // Of a fault the hint says what it does.
    let hint = match &finding.cause {
        Cause::Faults { .. } => "",
        Cause::Convention { .. } | Cause::Precision { .. } => "fix",
        _ => "hint",
    };
    for (label, shown) in [("hint", hint), ("fix", "fix"), ("look", "look")] {
        rows.told(shown, said.row(label).unwrap_or_default());
    }
    rows.row("call", &finding.witness.call);
    rows.listed("", &finding.witness.inputs, " ");
    rows.row("at", &said.at);
    rows.row("expected", &said.expected);
    got(rows, &said.got, &said.beyond);
    rows.told("why", &format!("{} (law {})", finding.law_title, finding.law));
    for label in ["reading", "wrong"] {
        rows.told(label, said.row(label).unwrap_or_default());
    }
    rows.row("stderr", said.row("stderr").unwrap_or_default());
    rows.told(
        "cases",
        &format!(
            "{} of {}{}: {}",
            count(finding.cases),
            count(finding.of),
            said.only,
            laws(&finding.laws)
        ),
    );
    rows.told("cause", said.row("cause").unwrap_or_default());
    let script = finding.script.as_ref().map(|script| format!("python {script}"));
    rows.commands("again", &finding.replay, script.as_deref());
}

/// What came, and how far out it is: behind it where there is room, else below.
fn got(rows: &mut Rows, got: &str, beyond: &str) {
    let got = cut(&visible(got), rows.width);
    let beyond = if beyond.is_empty() { String::new() } else { format!("({beyond})") };
    let is_beside =
        display_width(&got) + 3 + display_width(&beyond) <= rows.width && !got.contains('\n');
    let gap = if beyond.is_empty() { "" } else { ["\n", "   "][usize::from(is_beside)] };
    rows.row("got", &format!("{got}{gap}{beyond}"));
}
