//! The changes one group after the other, and a person who decides.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};

use qkvet_report::{ChangeGroup, change_groups, visible_line};
use qkvet_spec::{CaseChange, Change, SnapshotOutcome, Unexpected};

/// Cases of a group that are shown at once.
const MAX_SHOWN: usize = 5;

/// What the keys do.
const HELP: &str = "  a  accept: the snapshot takes over what the run found for these cases
  s  skip: the snapshot stays as it is, and the next check tells them again
  l  show all cases of the group
  q  quit: this group and the rest are skipped; what was accepted is written
  ?  this list";

/// What becomes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Accept,
    Skip,
}

/// How it is asked.
pub(super) struct Manner<'m> {
    /// Whether cases that are no more are asked about too.
    pub(super) prune: bool,
    /// Titles of faults by their codes.
    pub(super) titles: &'m BTreeMap<String, String>,
    /// Width of the terminal.
    pub(super) columns: usize,
}

/// Asks about each group at a terminal.
pub(super) fn review<'a>(
    outcome: &'a SnapshotOutcome,
    manner: &Manner<'_>,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Vec<(ChangeGroup<'a>, Choice)>, Unexpected> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let hint = "--all or --only PATTERN takes changes over without asking; `qkvet snapshot diff` shows them";
        return Err(Unexpected::at("snapshot accept", "a terminal to ask at")
            .got("none")
            .hint(hint));
    }
    ask(outcome, manner, input, output)
        .map_err(|error| Unexpected::within("snapshot accept", error))
}

fn ask<'a>(
    outcome: &'a SnapshotOutcome,
    manner: &Manner<'_>,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> std::io::Result<Vec<(ChangeGroup<'a>, Choice)>> {
    let groups: Vec<ChangeGroup<'a>> = change_groups(outcome)
        .into_iter()
        .filter(|group| manner.prune || group.change != Change::Missing)
        .collect();
    let (mut decided, total) = (Vec::new(), groups.len());
    let mut is_over = false;
    for (number, group) in groups.into_iter().enumerate() {
        if is_over {
            decided.push((group, Choice::Skip));
            continue;
        }
        let (n, noun) = (group.cases.len(), if group.cases.len() == 1 { "case" } else { "cases" });
        let head = format!(
            "{} of {total}  {}: {}",
            number + 1,
            group.change.name(),
            group.named(manner.titles)
        );
        writeln!(output, "\n{}", broken(&head, manner.columns))?;
        writeln!(
            output,
            "{}",
            broken(&format!("  {n} {noun}: {}", visible_line(&group.laws())), manner.columns)
        )?;
        let line =
            |one: &CaseChange| broken(&format!("  {}", ChangeGroup::line(one)), manner.columns);
        group.cases.iter().take(MAX_SHOWN).try_for_each(|one| writeln!(output, "{}", line(one)))?;
        if n > MAX_SHOWN {
            writeln!(output, "  and {} more", n - MAX_SHOWN)?;
        }
        let choice = loop {
            write!(output, "[a]ccept  [s]kip  show a[l]l  [q]uit without the rest  [?] > ")?;
            output.flush()?;
            let mut answer = String::new();
            if input.read_line(&mut answer)? == 0 {
                is_over = true;
                break Choice::Skip;
            }
            match answer.trim() {
                "a" | "accept" => break Choice::Accept,
                "s" | "skip" => break Choice::Skip,
                "l" | "all" => {
                    group.cases.iter().try_for_each(|one| writeln!(output, "{}", line(one)))?
                }
                "q" | "quit" => {
                    is_over = true;
                    break Choice::Skip;
                }
                "?" | "help" | "h" => writeln!(output, "{HELP}")?,
                _ => writeln!(output, "expected a, s, l, q or ?")?,
            }
        };
        decided.push((group, choice));
    }
    Ok(decided)
}

/// Text in lines that the terminal does not break.
fn broken(text: &str, columns: usize) -> String {
    let options = textwrap::Options::new(columns.max(20)).subsequent_indent("    ");
    textwrap::wrap(text, options.word_splitter(textwrap::WordSplitter::NoHyphenation)).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> SnapshotOutcome {
        let change = |change, case: &str, recorded: &str, found: &str| CaseChange {
            change,
            law: "value".to_owned(),
            dtype: "float32".to_owned(),
            case: case.to_owned(),
            recorded: recorded.parse().ok(),
            found: found.parse().ok(),
        };
        SnapshotOutcome {
            file: "x".to_owned(),
            device: "cpu".to_owned(),
            exact: false,
            compared: 3,
            left_out: 0,
            not_asked: Vec::new(),
            not_recorded: Vec::new(),
            recorded_findings: Vec::new(),
            changes: vec![
                change(Change::Worse, "c-1", "PASS 2^-3", "FAIL 2^3 QK221"),
                change(Change::Worse, "c-2", "PASS 2^-3", "FAIL 2^3 QK222"),
                change(Change::Better, "c-3", "FAIL 2^3", "PASS 2^-3"),
                change(Change::Missing, "c-4", "PASS 0", ""),
            ],
        }
    }

    #[test]
    fn lines_fit_the_terminal() {
        let mut outcome = outcome();
        outcome.changes[0].recorded = "PASS 2^-3 convention:empty-row=nan".parse().ok();
        outcome.changes[0].law = "masked-keys-cannot-matter".to_owned();
        let titles = BTreeMap::from([(
            "QK221".to_owned(),
            "key and value heads are chosen by remainder".to_owned(),
        )]);
        for columns in [60, 80, 120] {
            let (mut told, manner) =
                (Vec::new(), Manner { prune: false, titles: &titles, columns });
            ask(&outcome, &manner, &mut "l\na\ns\ns\n".as_bytes(), &mut told)
                .expect("no I/O to fail");
            let told = String::from_utf8(told).expect("text");
            let asks = |line: &&str| line.starts_with("[a]ccept");
            assert!(
                told.lines().filter(|line| !asks(line)).all(|line| line.chars().count() <= columns),
                "{told}"
            );
            assert!(told.contains("FAIL 2^3 QK221"), "{told}");
        }
    }

    #[test]
    fn each_group_is_asked_about() {
        let outcome = outcome();
        let choices = |answers: &str, prune| {
            let mut told = Vec::new();
            let titles = BTreeMap::from([("QK221".to_owned(), "heads by remainder".to_owned())]);
            let manner = Manner { prune, titles: &titles, columns: 100 };
            let decided =
                ask(&outcome, &manner, &mut answers.as_bytes(), &mut told).expect("no I/O to fail");
            let told = String::from_utf8(told).expect("text");
            assert!(
                told.contains("PASS → FAIL QK221 (heads by remainder)\n  1 case: value 1\n"),
                "{told}"
            );
            (
                decided
                    .iter()
                    .map(|(group, choice)| (group.cases[0].case.as_str(), *choice))
                    .collect::<Vec<_>>(),
                told,
            )
        };
        let (decided, told) = choices("s\nwhat\na\n?\nl\na\n", false);
        assert_eq!(
            decided,
            [("c-1", Choice::Skip), ("c-2", Choice::Accept), ("c-3", Choice::Accept)].map(|x| x)
        );
        assert!(
            told.contains("expected a, s, l, q or ?")
                && told.contains("  s  skip: ")
                && told.contains("1 of 3  worse verdict"),
            "{told}"
        );
        let (decided, _) = choices("a\nq\n", true);
        assert_eq!(decided.iter().filter(|(_, choice)| *choice == Choice::Accept).count(), 1);
        assert_eq!(decided.len(), 4);
        // The end of the input is no yes.
        let (decided, _) = choices("", false);
        assert!(decided.iter().all(|(_, choice)| *choice == Choice::Skip));
    }
}
