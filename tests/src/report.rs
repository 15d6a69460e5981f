//! The JSON report as tests read it: by its facts.

use std::ops::Deref;

use qkvet_spec::Evidence;
use serde_json::Value;

/// A report of `--format json`.
#[derive(Debug)]
pub struct Report(pub Value);

/// A finding of it.
#[derive(Clone, Debug)]
pub struct Finding(pub Value);

impl Deref for Report {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Deref for Finding {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

/// The text that this is.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value:#}"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl Report {
    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        list(&self["findings"]).cloned().map(Finding)
    }

    /// The first finding.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn first(&self) -> Finding {
        self.findings().next().unwrap_or_else(|| panic!("no finding: {:#}", self.0))
    }

    /// What all findings are called.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.findings().map(|finding| finding.name()).collect()
    }

    /// Whether a finding is called so.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.findings().any(|finding| finding.name() == name)
    }

    /// Names of the findings that fail: they are neither known nor recorded.
    #[must_use]
    pub fn failing(&self) -> Vec<String> {
        let recorded = &self["snapshot"]["recorded_findings"];
        let is_recorded = |at: &usize| list(recorded).any(|one| one == &Value::from(*at));
        let all = self.findings().enumerate().filter(|(at, finding)| {
            finding["known"].as_u64() < finding["cases"].as_u64() && !is_recorded(at)
        });
        all.map(|(_, finding)| finding.name()).collect()
    }

    /// How many cases have the verdict.
    #[must_use]
    pub fn count(&self, verdict: &str) -> u64 {
        self["counts"][verdict].as_u64().unwrap_or(0)
    }

    /// All records.
    pub fn records(&self) -> impl Iterator<Item = &Value> {
        list(&self["records"])
    }

    /// How many laws were checked, of how many.
    #[must_use]
    pub fn laws(&self) -> (usize, usize) {
        let cases = |one: &Value| one.as_u64() > Some(0);
        let laws = self["coverage"]["laws"].as_object();
        laws.map_or((0, 0), |laws| (laws.values().filter(|one| cases(one)).count(), laws.len()))
    }

    /// How many checked cases have the option.
    #[must_use]
    pub fn option(&self, name: &str) -> u64 {
        self["coverage"]["options"][name].as_u64().unwrap_or(0)
    }

    /// Whether a reason for declining has this part.
    #[must_use]
    pub fn declines(&self, part: &str) -> bool {
        list(&self["coverage"]["declined"]).any(|one| text(&one["reason"]).contains(part))
    }

    /// Kinds of changes against the snapshot, each once.
    #[must_use]
    pub fn changes(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            list(&self["snapshot"]["changes"]).map(|one| text(&one["change"])).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// States of the entries of known deviations that are of the target.
    #[must_use]
    pub fn known(&self) -> Vec<&str> {
        list(&self["known"]["entries"]).map(|one| text(&one["state"])).collect()
    }
}

impl Finding {
    /// `QK101`, `causal=upper-left`, the kind of a cause, or the verdict of what broke.
    #[must_use]
    pub fn name(&self) -> String {
        let names = [&self["code"], &self["convention"], &self["cause"]["kind"]];
        let name = names.into_iter().find_map(Value::as_str).unwrap_or_default();
        if name == "broken" { text(&self["verdict"]) } else { name }.to_owned()
    }

    /// How the target broke, as in the report.
    #[must_use]
    pub fn how(&self) -> String {
        self["cause"]["how"].to_string()
    }

    fn evidence(&self) -> Evidence {
        serde_json::from_value(self["evidence"].clone())
            .unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }

    /// Where the witness is wrong.
    #[must_use]
    pub fn place(&self) -> String {
        self.evidence().format_place().to_string()
    }

    /// What was expected there.
    #[must_use]
    pub fn expected(&self) -> String {
        self.evidence().format_expected().to_string()
    }

    /// What came there.
    #[must_use]
    pub fn got(&self) -> String {
        self.evidence().format_got().to_string()
    }

    /// The note of a kind.
    #[must_use]
    pub fn note(&self, kind: &str) -> Option<&Value> {
        list(&self["notes"]).find(|note| note["kind"] == kind)
    }

    /// The layout in memory for which the result is right.
    #[must_use]
    pub fn right_layout(&self) -> Option<&str> {
        self.note("layout").unwrap_or(&self["cause"])["right"].as_str()
    }

    /// The stored case that shows it.
    #[must_use]
    pub fn case(&self) -> &str {
        text(&self["witness"]["case"])
    }

    /// The call of that case.
    #[must_use]
    pub fn call(&self) -> &str {
        text(&self["witness"]["call"])
    }
}
