//! The report as one page: no network, readable without JavaScript, in light and dark.

mod conventions;
mod example;
mod finding;
mod heat;
mod margins;
mod page;
mod plot;
mod shapes;

use qkvet_spec::{CaseRecord, Catalog, Change, KnownOutcome, Summary, Verdict};

use self::conventions::conventions;
use self::finding::finding;
use self::page::{Fact, LawCell, LawRow, Page, Tile};
use self::shapes::Shapes;
use crate::finding_name::titles;
use crate::groups::case_groups;
use crate::known::{failing_findings, settled, stale_lines};
use crate::snapshot::snapshot_text;
use crate::text::{count, cut, no_command_markup, plain, visible};
use crate::words::{english_warnings, title};
use crate::{coverage, exit_line};

/// Findings beyond this are only named: the JSON document has them all.
const MAX_FINDINGS: usize = 100;
/// Findings named beyond those that are shown.
const MAX_NAMED: usize = 1000;
/// Longest name.
const MAX_LEN: usize = 300;
/// Bytes of findings; what does not fit is named.
const MAX_BYTES: usize = 3 << 20;

/// The report as one HTML page; the catalog says what the conventions are.
pub fn html(summary: &Summary, catalog: &Catalog) -> String {
    let run = &summary.run;
    let shapes = Shapes::of(summary);
    let (mut findings, mut bytes) = (Vec::new(), 0);
    for (at, one) in summary.findings.iter().enumerate().take(MAX_FINDINGS) {
        let view = finding(summary, one, at + 1, &shapes);
        bytes += view.approx_bytes();
        if bytes > MAX_BYTES {
            break;
        }
        findings.push(view);
    }
    let rest = summary.findings.iter().skip(findings.len());
    let named: Vec<String> =
        rest.take(MAX_NAMED).map(|one| cut(&visible(&title(one)), MAX_LEN)).collect();
    let unnamed = summary.findings.len() - findings.len() - named.len();
    let mut facts = vec![
        Fact { name: "suite", text: format!("{}, seed {}", run.suite, run.seed) },
        Fact { name: "cases", text: count(run.cases) },
    ];
    let contracts: Vec<String> =
        run.contracts.iter().map(|(dtype, contract)| format!("{dtype} under {contract}")).collect();
    facts.push(Fact { name: "contracts", text: contracts.join(", ") });
    let declared =
        if run.conventions.is_empty() { "none".to_owned() } else { run.conventions.join(", ") };
    facts.push(Fact { name: "declared", text: declared });
    facts.extend(run.environment.iter().map(|text| Fact {
        name: "environment",
        text: visible(&text.display().to_string()).into_owned(),
    }));
    facts.extend(run.configuration.iter().map(|(path, hash)| Fact {
        name: "configuration",
        text: visible(&format!("{path} {hash}")).into_owned(),
    }));
    facts.extend(
        run.source.iter().map(|source| Fact {
            name: "source",
            text: format!("{}:{}", source.path, source.line),
        }),
    );
    let (dtypes, laws) = laws(summary);
    let page = Page {
        target: visible(&run.target).into_owned(),
        tool: visible(&run.tool).into_owned(),
        outcome: visible(plain(&exit_line(summary)).trim()).into_owned(),
        is_bad: is_bad(summary),
        facts,
        tiles: tiles(summary),
        findings,
        named,
        unnamed,
        conventions: conventions(summary, catalog),
        coverage: unindented(&visible(&plain(&coverage(summary)))),
        margins: margins::margins(summary),
        // Of one finding it is the same as that of the finding.
        shapes: if summary.findings.len() == 1 { String::new() } else { shapes.run() },
        dtypes,
        laws,
        warnings: english_warnings(summary).map(|text| visible(&text).into_owned()).collect(),
        settled: settled(summary)
            .into_iter()
            .take(MAX_NAMED)
            .map(|(at, why)| cut(&format!("{}. {why}", at + 1), MAX_LEN))
            .collect(),
        stale: stale_lines(summary),
        snapshot: summary
            .snapshot
            .as_ref()
            .map(|snapshot| plain(&snapshot_text(snapshot, &titles(summary), None))),
    };
    // Whatever slipped through: nothing on the page is hidden.
    no_command_markup(&visible(&page.render())).into_owned()
}

/// Whether something fails.
fn is_bad(summary: &Summary) -> bool {
    let is_stale = summary.known.as_ref().is_some_and(KnownOutcome::is_stale);
    match &summary.snapshot {
        Some(snapshot) => {
            snapshot.count(Change::is_regression) > 0 || snapshot.compared == 0 || is_stale
        }
        None => {
            let is_wrong = |record: &CaseRecord| record.verdict.fails() && !record.known;
            failing_findings(summary) > 0 || summary.records.iter().any(is_wrong) || is_stale
        }
    }
}

/// Rows without the room before their names that they have at a terminal.
fn unindented(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
}

/// How a verdict is colored; its word stands beside it.
fn kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "good",
        verdict if verdict.fails() => "bad",
        Verdict::Suspect | Verdict::Inconclusive | Verdict::Unguarded => "open",
        _ => "none",
    }
}

fn tiles(summary: &Summary) -> Vec<Tile> {
    let tile = |verdict: &Verdict| {
        let n = summary.count(*verdict);
        (n > 0).then(|| Tile { word: verdict.word(), count: count(n), kind: kind(*verdict) })
    };
    Verdict::ALL.iter().filter_map(tile).collect()
}

/// Formats, and a row for each law in the order of the suite.
fn laws(summary: &Summary) -> (Vec<String>, Vec<LawRow>) {
    let groups = case_groups(summary);
    let (mut dtypes, mut laws): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for group in &groups {
        if !dtypes.contains(&group.dtype) {
            dtypes.push(group.dtype);
        }
        if !laws.contains(&group.law) {
            laws.push(group.law);
        }
    }
    let cell = |law: &str, dtype: &str| {
        let Some(group) = groups.iter().find(|group| group.law == law && group.dtype == dtype)
        else {
            return LawCell { text: "–".to_owned(), kind: "none" };
        };
        let wrong = group.count(Verdict::is_finding);
        let open =
            group.count(|verdict| matches!(verdict, Verdict::Suspect | Verdict::Inconclusive));
        let (held, total) = (group.count(|verdict| verdict == Verdict::Pass), group.total());
        match (wrong, open) {
            (0, _) if !group.is_checked() => {
                LawCell { text: format!("{total} not checked"), kind: "none" }
            }
            (0, 0) => LawCell { text: format!("{held} held"), kind: "good" },
            (0, open) => LawCell { text: format!("{held} held, {open} undecided"), kind: "open" },
            (wrong, _) => {
                let checked = group.count(Verdict::is_checked);
                LawCell { text: format!("✗ {wrong} of {checked} wrong"), kind: "bad" }
            }
        }
    };
    let row = |law: &&str| LawRow {
        law: (*law).to_owned(),
        cells: dtypes.iter().map(|dtype| cell(law, dtype)).collect(),
    };
    (dtypes.iter().map(|dtype| (*dtype).to_owned()).collect(), laws.iter().map(row).collect())
}
