//! What is known of one law, in print: the one printer of proofs, for `prove`, `explain` and
//! `docs/laws.md`.

use std::time::{Duration, Instant};

use qkvet_prove::outcome::{Line, Outcome, Shown, Status, prove};
use qkvet_prove::render::{Style, render_law};
use qkvet_report::hanging;
use qkvet_spec::CheckedLaw;
use serde_json::{Value, json};

/// A law, what is known of it, and how long it took.
pub(in super::super) struct Proved<'a> {
    pub(super) law: &'a CheckedLaw,
    pub(super) outcome: Outcome,
    pub(super) time: Duration,
}

impl<'a> Proved<'a> {
    #[expect(clippy::disallowed_methods, reason = "shown beside the proof, decides nothing")]
    pub(in super::super) fn new(law: &'a CheckedLaw) -> Self {
        let started = Instant::now();
        let outcome = prove(law);
        Self { law, outcome, time: started.elapsed() }
    }

    /// Whether it is what the law's file claims.
    pub(super) fn reaches(&self) -> bool {
        self.outcome.status.reaches(self.law.law.proof)
    }

    /// Lines that follow from another; the first of each chain does not.
    pub(super) fn steps(&self) -> usize {
        self.outcome.lines.iter().filter(|line| !line.reason.is_empty()).count()
    }

    pub(super) fn shapes(&self) -> String {
        match &self.outcome.status {
            Status::Proved => "all".to_owned(),
            Status::ProvedTo { extent, .. } => format!("≤ {extent}"),
            Status::Checked(instances) => format!("{instances} instances"),
            Status::Definition | Status::Refuted(_) | Status::Unknown(_) => "-".to_owned(),
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut law = json!({
            "id": self.law.law.law,
            "status": self.outcome.status.name(),
            "method": self.outcome.method.name(),
            "steps": self.steps(),
            "shapes": self.shapes(),
        });
        match &self.outcome.status {
            Status::Refuted(example) => law["counterexample"] = json!(example),
            Status::Unknown(reason) => law["reason"] = json!(reason.to_string()),
            Status::Proved | Status::ProvedTo { .. } | Status::Definition | Status::Checked(_) => {}
        }
        law
    }

    /// The law as sentences, in lines that fit an ordinary terminal where the notation has words
    /// and signs to break between.
    pub(in super::super) fn statement(&self, style: Style) -> String {
        let law = render_law(self.law, style);
        let lines = law.lines().map(|line| {
            let indent = line.len() - line.trim_start().len();
            laid_out(&line[..indent], line.trim_start(), &" ".repeat(indent + 2), style)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Every step and its reason, and what they come to.
    pub(in super::super) fn proof(&self, style: Style) -> String {
        let mut lines = Vec::new();
        for Line { shown, relation, reason } in &self.outcome.lines {
            let follows = !reason.is_empty() && matches!(shown, Shown::Expression(_));
            let first = if follows { format!("  {} ", relation.sign()) } else { "    ".to_owned() };
            lines.push(laid_out(&first, &shown.text(style), "      ", style));
            if !reason.is_empty() {
                lines.push(format!("        {reason}"));
            }
        }
        lines.push(self.conclusion());
        lines.join("\n")
    }

    /// Law and proof.
    pub(super) fn derivation(&self, style: Style) -> String {
        let law = &self.law.law;
        let mut text = format!("law {}\n{}\n\n{}\n\n", law.law, law.title, self.statement(style));
        text += &self.proof(style);
        text
    }

    /// What is known in the end, behind what the law's file claims if that is more.
    pub(super) fn conclusion(&self) -> String {
        let known = self.known();
        if self.reaches() {
            known
        } else {
            format!("claims {}; {known}", self.law.law.proof.name())
        }
    }

    fn known(&self) -> String {
        match &self.outcome.status {
            Status::Proved => {
                let of = if self.law.compares_bits() {
                    ", as an equation of real numbers: for the bits a target is asked"
                } else {
                    ""
                };
                format!(
                    "proved for all shapes by {}, checked by a second route{of}",
                    self.outcome.method.name()
                )
            }
            Status::ProvedTo { extent, instances } => format!(
                "proved-small: for all numbers, wherever both sides are defined, at every shape of extents ≤ {extent}; extents that the law begins above it count at their least ({instances} instances with indeterminates). No proof for all shapes"
            ),
            Status::Definition if self.law.expect.is_none() => "true by definition".to_owned(),
            Status::Definition => {
                "taken as a definition; it held exactly on small instances".to_owned()
            }
            Status::Checked(instances) => {
                format!("held exactly on {instances} small instances; no proof for all")
            }
            Status::Refuted(example) => format!("refuted\n{example}"),
            Status::Unknown(reason) => format!("unknown: {reason}"),
        }
    }
}

/// What people read is broken at spaces; what programs read stays on one line.
fn laid_out(first: &str, text: &str, rest: &str, style: Style) -> String {
    match style {
        Style::Unicode | Style::Words => hanging(first, text, rest),
        Style::Latex | Style::Typst | Style::MathMl => format!("{first}{text}"),
    }
}
