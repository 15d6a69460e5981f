//! The report for people fits the terminal that it is for, and in a file no line of it is cut.

#![expect(clippy::disallowed_methods, reason = "reads the report")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use qkvet_report::{
    Detail, ReportStyle, RunEnd, compare, new_snapshot, plain, render, render_in, snapshot_text,
};
use qkvet_spec::{Cause, Declined, Got, Quoted, SourcePlace, Summary, Warning};
use textwrap::core::display_width;

fn summary() -> Summary {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report.json");
    let mut summary: Summary =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the report"))
            .expect("a report");
    let long = "a word that is followed by others and by 注意 and more of them ".repeat(20);
    summary.run.environment.push(Quoted::new(&long));
    summary.warnings.push(Warning::Recorded { text: long.clone().into() });
    if let Cause::Convention { title, .. } = &mut summary.findings[0].cause {
        title.push_str(&format!(" {long}"));
    }
    summary.findings[0].evidence.got =
        Got::Said(Quoted::new("0.1234567890123456789 and a reason why it is what it is, too"));
    let declined = Declined { verdict: None, reason: Quoted::new(long), cases: 3 };
    summary.coverage.declined.push(declined);
    summary
}

/// A line that is there to be copied.
fn is_command(line: &str) -> bool {
    ["  again ", "  or ", "  next "].iter().any(|label| line.starts_with(label))
}

#[test]
fn no_line_is_wider_than_its_terminal() {
    let mut summary = summary();
    summary.snapshot = Some(compare(
        &new_snapshot(&summary.run.target),
        &summary,
        "snapshots/x.yaml",
        None,
        false,
    ));
    let widths = [60, 80, 100, 120, 200];
    for (columns, detail) in
        widths.into_iter().flat_map(|n| [(n, Detail::Full), (n, Detail::Short)])
    {
        let style = ReportStyle {
            columns: Some(columns),
            detail,
            has_margins: true,
            end: Some(RunEnd { elapsed: Duration::from_secs(65), exit: 1 }),
            links: None,
            kept: None,
        };
        let text = plain(&render_in(&summary, style));
        for line in text.lines().filter(|line| !is_command(line)) {
            assert!(
                display_width(line) <= columns,
                "{columns}, {}: {line}\n{text}",
                display_width(line)
            );
        }
        assert!(text.contains("times the bound of contract"), "{text}");
        assert!(text.contains(" 1:05 ") && text.contains("exit 1"), "{text}");
    }
}

#[test]
fn what_a_terminal_has_no_room_for_a_file_has() {
    let summary = summary();
    let words =
        |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let file = words(&plain(&render(&summary)));
    let narrow = ReportStyle { columns: Some(80), ..ReportStyle::default() };
    assert!(plain(&render_in(&summary, narrow)).contains('…'));
    assert!(
        !file.contains('…')
            && file.contains(
                summary.run.environment[summary.run.environment.len() - 1]
                    .display()
                    .to_string()
                    .trim()
            )
    );
    let none: BTreeMap<String, String> = BTreeMap::new();
    let outcome = compare(&new_snapshot("x"), &summary, "s.yaml", None, false);
    // Of a snapshot nothing is cut: what a case was and what it is stand at the end of a line.
    let text = |columns| words(&plain(&snapshot_text(&outcome, &none, columns)));
    assert!(!text(None).contains('…'));
    assert_eq!(text(Some(60)), text(None));
}

#[test]
fn lines_break_where_they_can_be_read() {
    let mut summary = summary();
    summary.findings[0].replay = "qkvet replay c-39c2ea39d879e568".to_owned();
    summary.findings[0].script = Some(".qkvet/cases/c-39c2ea39d879e568.py".to_owned());
    let options = [
        "alibi_slopes",
        "bias",
        "causal",
        "key_lengths",
        "mask",
        "packed",
        "query_lengths",
        "scale",
        "sinks",
    ];
    summary.coverage.options = options.map(|option| (option.to_owned(), 123)).into();
    let at = |columns: usize| {
        let style = ReportStyle { columns: Some(columns), ..ReportStyle::default() };
        plain(&render_in(&summary, style))
    };
    // Two commands are beside each other where there is room, and no terminal breaks one.
    assert!(
        at(120)
            .contains("\n  again     qkvet replay c-39c2ea39d879e568   or  python .qkvet/cases/"),
        "{}",
        at(120)
    );
    let narrow = at(80);
    let below = "\n  again     qkvet replay c-39c2ea39d879e568\n  or        python .qkvet/cases/c-39c2ea39d879e568.py\n";
    assert!(narrow.contains(below), "{narrow}");
    for columns in [60, 80, 100, 120] {
        assert!(
            at(columns).lines().all(|line| !line.trim_start().starts_with('·')),
            "{}",
            at(columns)
        );
    }
}

/// What was covered is not what a person looks for first: a report without findings has four lines,
/// and one with findings ends in a summary that names them all and the next command.
#[test]
fn a_short_report_is_short() {
    let mut summary = summary();
    let short = ReportStyle { columns: Some(100), detail: Detail::Short, ..ReportStyle::default() };
    let text = plain(&render_in(&summary, short));
    let full = plain(&render_in(&summary, ReportStyle { detail: Detail::Full, ..short }));
    for row in ["\n  sizes ", "\n  reference ", "\n  options "] {
        assert!(!text.contains(row) && full.contains(row), "{row}\n{text}");
    }
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(last, "  next      qkvet check mine.py:attention --convention causal=upper-left");
    summary.findings.clear();
    summary.warnings.clear();
    summary.coverage.declined.clear();
    summary.coverage.laws.retain(|_, n| *n > 0);
    summary.counts = BTreeMap::from([("PASS".to_owned(), 613)]);
    let text = plain(&render_in(&summary, short));
    assert!(text.lines().count() <= 4 && text.starts_with("no finding"), "{text}");
}

/// Where a terminal follows links the place of the function is one, and takes no more room.
#[test]
fn a_place_is_a_link_where_links_are_followed() {
    let mut summary = summary();
    summary.run.source = Some(SourcePlace { path: "my code/mine.py".to_owned(), line: 7 });
    let style = ReportStyle { columns: Some(80), ..ReportStyle::default() };
    let linked = render_in(&summary, ReportStyle { links: Some("/w"), ..style });
    let link = "\u{1b}]8;;file:///w/my%20code/mine.py\u{1b}\\my code/mine.py:7\u{1b}]8;;\u{1b}\\";
    assert!(linked.contains(&format!("  --> {link}\n")), "{linked:?}");
    assert_eq!(
        plain(&linked.replace(link, "my code/mine.py:7")),
        plain(&render_in(&summary, style))
    );
    assert!(!render_in(&summary, style).contains("]8;;"));
}
