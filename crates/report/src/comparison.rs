//! Two targets on the same cases: which of them is wrong where.

use std::collections::BTreeMap;
use std::fmt::Write;

use qkvet_spec::{CaseRecord, Finding, Summary, Verdict};
use serde_json::json;

use crate::finding_name::finding_name;
use crate::known::open_findings;
use crate::margins::worst_margin;
use crate::terminal::declined;
use crate::text::{cases, count, ratio, visible_json, visible_line};
use crate::words::{english_warnings, title};

/// Name and version of the format.
const FORMAT: &str = "qkvet-comparison/1";
/// What the two are called.
const SIDES: [&str; 2] = ["A", "B"];
/// Reasons that people are told of what one of them declined.
const MAX_REASONS: usize = 3;

/// What the two came to in one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pair {
    /// Both results lie within their bounds.
    BothHold,
    /// The first is wrong.
    OnlyA,
    /// The second is wrong.
    OnlyB,
    /// Both are wrong.
    BothWrong,
    /// One of them, or both, could not be decided.
    Undecided,
    /// The first declined the call.
    DeclinedByA,
    /// The second did.
    DeclinedByB,
    /// Both did.
    DeclinedByBoth,
    /// A run ended before.
    NotRun,
}

/// What a target came to in one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Holds,
    Wrong,
    Undecided,
    Declined,
    NotRun,
}

/// The findings of one name that a target has.
#[derive(Clone, Copy)]
struct Named<'a> {
    first: &'a Finding,
    cases: usize,
    /// Those of its cases that the other one did not answer.
    alone: usize,
}

/// Two runs on the same cases.
pub struct Comparison<'a> {
    sides: [&'a Summary; 2],
    pairs: BTreeMap<Pair, usize>,
    /// Findings by name, of each of the two.
    findings: BTreeMap<String, [Option<Named<'a>>; 2]>,
}

impl Came {
    fn of(record: &CaseRecord) -> Self {
        match record.verdict {
            Verdict::Skipped => Self::NotRun,
            verdict if !verdict.is_checked() => Self::Declined,
            // What follows a convention that nobody declared holds by it, and is a finding.
            verdict if verdict.is_finding() || record.finding.is_some() => Self::Wrong,
            Verdict::Pass => Self::Holds,
            _ => Self::Undecided,
        }
    }

    fn is_answer(self) -> bool {
        !matches!(self, Self::Declined | Self::NotRun)
    }
}

impl Pair {
    const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::BothHold, "both_hold", "both hold"),
        (Self::OnlyA, "only_a", "only A is wrong"),
        (Self::OnlyB, "only_b", "only B is wrong"),
        (Self::BothWrong, "both_wrong", "both are wrong"),
        (Self::Undecided, "undecided", "undecided for one of them"),
        (Self::DeclinedByA, "declined_by_a", "declined by A"),
        (Self::DeclinedByB, "declined_by_b", "declined by B"),
        (Self::DeclinedByBoth, "declined_by_both", "declined by both"),
        (Self::NotRun, "not_run", "not run with one of them"),
    ];

    fn of(a: Came, b: Came) -> Self {
        match (a, b) {
            (Came::NotRun, _) | (_, Came::NotRun) => Self::NotRun,
            (Came::Declined, Came::Declined) => Self::DeclinedByBoth,
            (Came::Declined, _) => Self::DeclinedByA,
            (_, Came::Declined) => Self::DeclinedByB,
            (Came::Wrong, Came::Wrong) => Self::BothWrong,
            (Came::Wrong, Came::Holds) => Self::OnlyA,
            (Came::Holds, Came::Wrong) => Self::OnlyB,
            (Came::Holds, Came::Holds) => Self::BothHold,
            (Came::Undecided, _) | (_, Came::Undecided) => Self::Undecided,
        }
    }

    fn is_answered(self) -> bool {
        self < Self::DeclinedByA
    }
}

impl<'a> Comparison<'a> {
    /// Compares the cases that both runs have.
    pub fn new(a: &'a Summary, b: &'a Summary) -> Self {
        let sides = [a, b];
        let [of_a, of_b] = sides.map(|summary| {
            let came = summary.records.iter().map(|record| (record.id.as_str(), Came::of(record)));
            came.collect::<BTreeMap<&str, Came>>()
        });
        // A case that one run alone has was not run with the other one.
        let of =
            |came: &BTreeMap<&str, Came>, id: &str| came.get(id).copied().unwrap_or(Came::NotRun);
        let mut pairs = BTreeMap::new();
        for id in of_a.keys().chain(of_b.keys().filter(|id| !of_a.contains_key(*id))) {
            *pairs.entry(Pair::of(of(&of_a, id), of(&of_b, id))).or_insert(0) += 1;
        }
        let mut findings: BTreeMap<String, [Option<Named<'_>>; 2]> = BTreeMap::new();
        for (side, (summary, other)) in [(a, &of_b), (b, &of_a)].into_iter().enumerate() {
            let mut alone = vec![0; summary.findings.len()];
            for record in summary.records.iter().filter(|it| !of(other, &it.id).is_answer()) {
                record.finding.and_then(|at| alone.get_mut(at)).into_iter().for_each(|n| *n += 1);
            }
            for at in open_findings(summary) {
                let first = &summary.findings[at];
                let all = findings.entry(finding_name(first)).or_default();
                let named = all[side].get_or_insert(Named { first, cases: 0, alone: 0 });
                named.cases += first.cases;
                named.alone += alone[at];
            }
        }
        Self { sides, pairs, findings }
    }

    /// How many cases came to this.
    fn count(&self, pair: Pair) -> usize {
        self.pairs.get(&pair).copied().unwrap_or(0)
    }

    /// How many cases both answered.
    pub fn compared(&self) -> usize {
        self.pairs.iter().filter(|(pair, _)| pair.is_answered()).map(|(_, n)| n).sum()
    }

    /// Whether a case, or the name of a finding, tells them apart.
    pub fn is_different(&self) -> bool {
        self.count(Pair::OnlyA) + self.count(Pair::OnlyB) > 0
            || self.findings.values().any(|sides| sides.iter().any(Option::is_none))
    }

    /// For people.
    pub fn text(&self) -> String {
        let run = &self.sides[0].run;
        let mut out = String::new();
        let mut line = |text: String| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", visible_line(&text));
        };
        for (side, summary) in SIDES.iter().zip(self.sides) {
            line(format!("{side}  {}", summary.run.target));
        }
        let n: usize = self.pairs.values().sum();
        line(format!("{} cases of {}, seed {}", count(n), run.suite, run.seed));
        for (pair, _, words) in Pair::ALL {
            line(format!("  {:>7}  {words}", count(self.count(pair))));
        }
        for sides in self.findings.values() {
            let shown = |named: &Named<'_>, other: &str| {
                let alone = match named.alone {
                    0 => String::new(),
                    n => format!(", {} of them not answered by {other}", count(n)),
                };
                format!("{}{alone}", cases(named.cases))
            };
            let (side, of, shown) = match sides {
                [Some(a), Some(b)] => {
                    ("both", a, format!("A {}; B {}", shown(a, "B"), shown(b, "A")))
                }
                [Some(a), None] => ("only A", a, shown(a, "B")),
                [None, Some(b)] => ("only B", b, shown(b, "A")),
                [None, None] => continue,
            };
            line(format!("{side:6}  {}  {} ({shown})", of.first.verdict, title(of.first)));
        }
        for (side, summary) in SIDES.iter().zip(self.sides) {
            for one in declined(summary).into_iter().take(MAX_REASONS) {
                line(format!("{side} declined {}: {}", cases(one.cases), one.reason.display()));
            }
            if let Some(stopped) = &summary.stopped {
                line(format!("{side} stopped: {stopped}"));
            }
            english_warnings(summary).for_each(|text| line(format!("{side} warning: {text}")));
        }
        let [a, b] = self.worst();
        let of = |worst: Option<f64>| worst.map_or("none".to_owned(), ratio);
        line(format!("worst error over its bound: A {}, B {}", of(a), of(b)));
        out
    }

    /// For programs: one object in one line.
    pub fn json(&self) -> String {
        let counts: BTreeMap<&str, usize> =
            Pair::ALL.into_iter().map(|(pair, name, _)| (name, self.count(pair))).collect();
        let side = |named: &Option<Named<'_>>| {
            named.map(|Named { first, cases, alone }| {
                json!({
                    "verdict": first.verdict, "title": title(first), "cases": cases,
                    "not_answered_by_the_other": alone, "replay": first.replay,
                })
            })
        };
        let findings = self
            .findings
            .iter()
            .map(|(name, [a, b])| json!({"name": name, "a": side(a), "b": side(b)}));
        let [a, b] = self.sides;
        let object = json!({
            "format": FORMAT,
            "a": a.run.target,
            "b": b.run.target,
            "suite": a.run.suite,
            "seed": a.run.seed,
            "different": self.is_different(),
            "cases": counts,
            "findings": findings.collect::<Vec<_>>(),
            "stopped": [&a.stopped, &b.stopped],
            "warnings": self.sides.map(|side| english_warnings(side).collect::<Vec<_>>()),
            "worst": self.worst(),
        });
        visible_json(object.to_string()) + "\n"
    }

    /// The largest error over its bound that each passed with.
    fn worst(&self) -> [Option<f64>; 2] {
        self.sides.map(worst_margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_tells_them_apart_where_one_is_proved_wrong_and_the_other_holds() {
        use Came::{Declined, Holds, NotRun, Undecided, Wrong};
        for (a, b, pair) in [
            (Holds, Holds, Pair::BothHold),
            (Wrong, Holds, Pair::OnlyA),
            (Holds, Wrong, Pair::OnlyB),
            (Wrong, Wrong, Pair::BothWrong),
            (Undecided, Holds, Pair::Undecided),
            (Wrong, Undecided, Pair::Undecided),
            (Declined, Wrong, Pair::DeclinedByA),
            (Holds, Declined, Pair::DeclinedByB),
            (Declined, Declined, Pair::DeclinedByBoth),
            (NotRun, Declined, Pair::NotRun),
            (Wrong, NotRun, Pair::NotRun),
        ] {
            assert_eq!(Pair::of(a, b), pair, "{a:?} {b:?}");
            assert_eq!(pair.is_answered(), a.is_answer() && b.is_answer(), "{pair:?}");
        }
    }
}
