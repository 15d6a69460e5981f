//! Two targets on the same cases: which of them is wrong where.

use std::collections::BTreeMap;
use std::fmt::Write;

use qkvet_spec::{Finding, Summary, Verdict};
use serde_json::json;

use crate::finding_name::finding_name;
use crate::known::open_findings;
use crate::margins::worst_margin;
use crate::text::{cases, count, ratio, visible_json, visible_line};
use crate::words::title;

/// Name and version of the format.
const FORMAT: &str = "qkvet-comparison/1";

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
    /// One of them, or both, declined the call.
    Declined,
}

/// Two runs on the same cases.
pub struct Comparison<'a> {
    a: &'a Summary,
    b: &'a Summary,
    pairs: BTreeMap<Pair, usize>,
    /// Findings by name, of each of the two.
    findings: BTreeMap<String, [Option<&'a Finding>; 2]>,
}

impl Pair {
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::BothHold, "both_hold", "both hold"),
        (Self::OnlyA, "only_a", "only A is wrong"),
        (Self::OnlyB, "only_b", "only B is wrong"),
        (Self::BothWrong, "both_wrong", "both are wrong"),
        (Self::Undecided, "undecided", "undecided for one of them"),
        (Self::Declined, "declined", "declined by one of them"),
    ];

    fn of(a: Verdict, b: Verdict) -> Self {
        match (a, b) {
            (a, b) if !a.is_checked() || !b.is_checked() => Self::Declined,
            (a, b) if a.is_finding() && b.is_finding() => Self::BothWrong,
            (a, Verdict::Pass) if a.is_finding() => Self::OnlyA,
            (Verdict::Pass, b) if b.is_finding() => Self::OnlyB,
            (Verdict::Pass, Verdict::Pass) => Self::BothHold,
            _ => Self::Undecided,
        }
    }
}

impl<'a> Comparison<'a> {
    /// Compares the cases that both runs have.
    pub fn new(a: &'a Summary, b: &'a Summary) -> Self {
        let of_b: BTreeMap<&str, Verdict> =
            b.records.iter().map(|record| (record.id.as_str(), record.verdict)).collect();
        let mut pairs = BTreeMap::new();
        for record in &a.records {
            if let Some(other) = of_b.get(record.id.as_str()) {
                *pairs.entry(Pair::of(record.verdict, *other)).or_insert(0) += 1;
            }
        }
        let mut findings: BTreeMap<String, [Option<&Finding>; 2]> = BTreeMap::new();
        for (side, summary) in [a, b].into_iter().enumerate() {
            for at in open_findings(summary) {
                let finding = &summary.findings[at];
                findings.entry(finding_name(finding)).or_default()[side].get_or_insert(finding);
            }
        }
        Self { a, b, pairs, findings }
    }

    /// How many cases came to this.
    fn count(&self, pair: Pair) -> usize {
        self.pairs.get(&pair).copied().unwrap_or(0)
    }

    /// How many cases both answered.
    pub fn compared(&self) -> usize {
        self.pairs.iter().filter(|(pair, _)| **pair != Pair::Declined).map(|(_, n)| n).sum()
    }

    /// Whether a case, or the name of a finding, tells them apart.
    pub fn is_different(&self) -> bool {
        self.count(Pair::OnlyA) + self.count(Pair::OnlyB) > 0
            || self.findings.values().any(|sides| sides.iter().any(Option::is_none))
    }

    /// For people.
    pub fn text(&self) -> String {
        let run = &self.a.run;
        let mut out = String::new();
        let mut line = |text: String| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", visible_line(&text));
        };
        line(format!("A  {}", run.target));
        line(format!("B  {}", self.b.run.target));
        let n: usize = self.pairs.values().sum();
        line(format!("{} cases of {}, seed {}", count(n), run.suite, run.seed));
        for (pair, _, words) in Pair::ALL {
            line(format!("  {:>7}  {words}", count(self.count(pair))));
        }
        for sides in self.findings.values() {
            let told = |side: &str, finding: &Finding| {
                let (verdict, title) = (finding.verdict, title(finding));
                format!("{side:6}  {verdict}  {title} ({})", cases(finding.cases))
            };
            match sides {
                [Some(a), Some(_)] => line(told("both", a)),
                [Some(a), None] => line(told("only A", a)),
                [None, Some(b)] => line(told("only B", b)),
                [None, None] => {}
            }
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
        let side = |finding: &Option<&Finding>| {
            finding.map(|finding| {
                json!({
                    "verdict": finding.verdict, "title": title(finding), "cases": finding.cases,
                    "replay": finding.replay,
                })
            })
        };
        let findings = self
            .findings
            .iter()
            .map(|(name, [a, b])| json!({"name": name, "a": side(a), "b": side(b)}));
        let object = json!({
            "format": FORMAT,
            "a": self.a.run.target,
            "b": self.b.run.target,
            "suite": self.a.run.suite,
            "seed": self.a.run.seed,
            "different": self.is_different(),
            "cases": counts,
            "findings": findings.collect::<Vec<_>>(),
            "worst": self.worst(),
        });
        visible_json(object.to_string()) + "\n"
    }

    /// The largest error over its bound that each passed with.
    fn worst(&self) -> [Option<f64>; 2] {
        [self.a, self.b].map(worst_margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_tells_them_apart_where_one_is_proved_wrong_and_the_other_holds() {
        for (a, b, pair) in [
            (Verdict::Pass, Verdict::Pass, Pair::BothHold),
            (Verdict::Fail, Verdict::Pass, Pair::OnlyA),
            (Verdict::Pass, Verdict::Crash, Pair::OnlyB),
            (Verdict::Nondet, Verdict::Fail, Pair::BothWrong),
            (Verdict::Suspect, Verdict::Pass, Pair::Undecided),
            (Verdict::Fail, Verdict::Inconclusive, Pair::Undecided),
            (Verdict::Unsupported, Verdict::Fail, Pair::Declined),
            (Verdict::Pass, Verdict::Refused, Pair::Declined),
        ] {
            assert_eq!(Pair::of(a, b), pair, "{a} {b}");
        }
    }
}
