//! One finding of the page.

use qkvet_spec::{Dialect, Finding, FindingKind, Summary};

use super::example::{ExampleView, example};
use super::heat::{Figure, pictures};
use super::shapes::Shapes;
use crate::markdown::issue;
use crate::text::{count, visible};
use crate::words::told;
use crate::words::word;

/// Laws named in a line.
const MAX_LAWS: usize = 12;

/// What the template shows of a finding.
pub(super) struct FindingView {
    pub(super) number: usize,
    pub(super) word: &'static str,
    pub(super) kind: &'static str,
    pub(super) title: String,
    /// Names and what is said of them.
    pub(super) rows: Vec<(&'static str, String)>,
    /// Code, not prose, names and texts.
    pub(super) evidence: Vec<(&'static str, String)>,
    pub(super) commands: Vec<String>,
    pub(super) script: Option<String>,
    pub(super) example: Option<ExampleView>,
    /// What the pictures are of.
    pub(super) pictured: String,
    pub(super) figures: Vec<Figure>,
    /// Where in the space of shapes it shows; may be empty.
    pub(super) shapes: String,
    pub(super) issue: String,
    /// What the filter looks at.
    pub(super) search: String,
}

impl FindingView {
    /// About how long it is in the page.
    pub(super) fn approx_bytes(&self) -> usize {
        let figures: usize = self.figures.iter().map(|figure| figure.svg.len()).sum();
        4096 + self.issue.len() * 2 + figures + self.shapes.len()
    }
}

/// The view of finding `number`, from 1.
pub(super) fn finding(
    summary: &Summary,
    finding: &Finding,
    number: usize,
    shapes: &Shapes,
) -> FindingView {
    let told = told(finding, Dialect::CommandLine);
    let shown = |text: &String| visible(text).into_owned();
    let cases = format!("{} of {}{}", count(finding.cases), count(finding.of), told.only);
    let mut rows = vec![("cases", cases)];
    let (from_target, more): (Vec<_>, Vec<_>) =
        told.more.iter().partition(|(label, _)| *label == "stderr");
    rows.extend(more.into_iter().map(|(label, text)| (*label, shown(text))));
    rows.push(("law", format!("{}: {}", finding.law, finding.law_title)));
    rows.push(("laws broken", laws(finding)));
    let mut seen = vec![("witness", shown(&finding.witness.call))];
    seen.extend(finding.witness.inputs.iter().map(|input| ("", shown(input))));
    seen.extend([
        ("at", shown(&told.at)),
        ("expected", shown(&told.expected)),
        ("got", shown(&told.got)),
        ("error", shown(&told.beyond)),
    ]);
    seen.extend(from_target.into_iter().map(|(label, text)| (*label, shown(text))));
    seen.retain(|(label, text)| label.is_empty() || !text.is_empty());
    let mut commands = vec![shown(&finding.replay)];
    commands
        .extend(finding.replay_anywhere.iter().filter(|one| **one != finding.replay).map(shown));
    commands.extend(finding.script.iter().map(|script| format!("python {}", visible(script))));
    let word = word(finding);
    let mut search =
        vec![word, &told.title, &finding.witness.call, &finding.witness.case, &finding.contract];
    search.extend(finding.laws.keys().map(String::as_str));
    search.extend(["cause", "hint"].into_iter().filter_map(|label| told.row(label)));
    let search = visible(&search.join(" ")).to_lowercase();
    FindingView {
        number,
        word,
        kind: if finding.kind == FindingKind::Verdict { "bad" } else { "open" },
        title: shown(&told.title),
        rows,
        evidence: seen,
        commands,
        script: finding.script_text.as_ref().map(shown),
        example: finding.example.as_deref().map(example),
        pictured: finding.picture.as_deref().map_or_else(String::new, |picture| {
            let call = format!("{}, b={}, h={}", picture.label, picture.item, picture.head);
            visible(&format!("{call}, of case {} ({})", picture.case, picture.call)).into_owned()
        }),
        figures: finding.picture.as_deref().map(pictures).unwrap_or_default(),
        shapes: shapes.finding(finding, number - 1),
        issue: issue(summary, finding),
        search,
    }
}

fn laws(finding: &Finding) -> String {
    let mut all: Vec<(&String, &usize)> = finding.laws.iter().collect();
    all.sort_by_key(|(law, n)| (std::cmp::Reverse(**n), law.as_str()));
    let mut shown: Vec<String> =
        all.iter().take(MAX_LAWS).map(|(law, n)| format!("{law} {n}")).collect();
    if all.len() > MAX_LAWS {
        shown.push(format!("{} more", all.len() - MAX_LAWS));
    }
    shown.join(", ")
}
