//! `qkvet prove`: laws proved, confirmed or refuted, without a target.

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use qkvet_prove::outcome::{Outcome, Shown, Status, prove as prove_law};
use qkvet_prove::render::{Style, render_law};
use qkvet_spec::{Catalog, CheckedLaw};
use serde_json::{Value, json};

use crate::args::{Format, ProveArgs};
use crate::exit::{FINDINGS, Failure, HELD};

#[expect(clippy::disallowed_methods, reason = "reads the file that the user names")]
pub(super) fn prove(args: &ProveArgs) -> Result<ExitCode, Failure> {
    let mut catalog = Catalog::embedded()?;
    let mut ids = args.laws.clone();
    if let Some(path) = &args.file {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| Failure::Usage(format!("file {name}: {error}")))?;
        ids.push(catalog.add_law(&name, &text)?);
    }
    let laws: Vec<&CheckedLaw> = match ids.as_slice() {
        [] => catalog.laws.values().collect(),
        ids => ids.iter().map(|id| Catalog::find("law", &catalog.laws, id)).collect::<Result<_, _>>()?,
    };
    let proved: Vec<Proved<'_>> = laws.into_iter().map(Proved::new).collect();
    match args.format {
        Format::Json => {
            anstream::println!("{:#}", json!({"laws": proved.iter().map(Proved::json).collect::<Vec<_>>()}))
        }
        Format::Human if args.steps => proved.iter().for_each(|one| one.print_steps(args.style.into())),
        Format::Human => print_table(&proved),
    }
    let all_reach = proved.iter().all(Proved::reaches);
    Ok(ExitCode::from(if all_reach { HELD } else { FINDINGS }))
}

/// A law, what is known of it, and how long it took.
struct Proved<'a> {
    law: &'a CheckedLaw,
    outcome: Outcome,
    time: Duration,
}

impl<'a> Proved<'a> {
    #[expect(clippy::disallowed_methods, reason = "shown beside the proof, decides nothing")]
    fn new(law: &'a CheckedLaw) -> Self {
        let started = Instant::now();
        let outcome = prove_law(law);
        Self { law, outcome, time: started.elapsed() }
    }

    fn reaches(&self) -> bool {
        self.outcome.status.reaches(self.law.law.proof)
    }

    /// Lines that follow from another; the first of each chain does not.
    fn steps(&self) -> usize {
        self.outcome.lines.iter().filter(|line| !line.reason.is_empty()).count()
    }

    fn shapes(&self) -> String {
        match &self.outcome.status {
            Status::Proved => "all".to_owned(),
            Status::Checked(instances) => format!("{instances} instances"),
            Status::Definition | Status::Refuted(_) | Status::Unknown(_) => "-".to_owned(),
        }
    }

    fn json(&self) -> Value {
        let mut law = json!({
            "id": self.law.law.law,
            "status": self.outcome.status.name(),
            "method": self.outcome.method.name(),
            "steps": self.steps(),
            "shapes": self.shapes(),
        });
        match &self.outcome.status {
            Status::Refuted(example) => law["counterexample"] = json!(example),
            Status::Unknown(reason) => law["reason"] = json!(reason),
            Status::Proved | Status::Definition | Status::Checked(_) => {}
        }
        law
    }

    fn print_steps(&self, style: Style) {
        let law = &self.law.law;
        anstream::println!("law {}\n{}\n\n{}\n", law.law, law.title, render_law(self.law, style));
        for line in &self.outcome.lines {
            let text = line.shown.text(style);
            match (&line.shown, line.reason.as_str()) {
                (_, "") => anstream::println!("    {text}"),
                (Shown::Expression(_), reason) => {
                    anstream::println!("  {} {text}\n        {reason}", line.relation.sign());
                }
                (Shown::Equation(_), reason) => anstream::println!("    {text}\n        {reason}"),
            }
        }
        anstream::println!("{}\n", self.conclusion());
    }

    fn conclusion(&self) -> String {
        match &self.outcome.status {
            Status::Proved => {
                let bits = self.law.law.expect.as_ref().is_some_and(|expect| expect.text.contains("same_bits"));
                let of = if bits { ", as an equation of real numbers: for the bits a target is asked" } else { "" };
                format!("proved for all shapes by {}, checked by a second route{of}", self.outcome.method.name())
            }
            Status::Definition => "true by definition".to_owned(),
            Status::Checked(instances) => format!("held exactly on {instances} small instances; no proof for all"),
            Status::Refuted(example) => format!("refuted\n{example}"),
            Status::Unknown(reason) => format!("unknown: {reason}"),
        }
    }
}

fn print_table(proved: &[Proved<'_>]) {
    let width = proved.iter().map(|one| one.law.law.law.len()).max().unwrap_or(0).max(3);
    anstream::println!(
        "{:width$}  {:10}  {:10}  {:>5}  {:13}  {:>8}",
        "law",
        "status",
        "method",
        "steps",
        "shapes",
        "time"
    );
    for one in proved {
        let (status, method) = (one.outcome.status.name(), one.outcome.method.name());
        let milliseconds = one.time.as_secs_f64() * 1e3;
        let id = &one.law.law.law;
        anstream::println!(
            "{id:width$}  {status:10}  {method:10}  {:>5}  {:13}  {milliseconds:5.1} ms",
            one.steps(),
            one.shapes()
        );
    }
    for one in proved.iter().filter(|one| !one.reaches()) {
        anstream::println!("\n{}: claims {}; {}", one.law.law.law, one.law.law.proof.name(), one.conclusion());
    }
    let count = |name: &str| proved.iter().filter(|one| one.outcome.status.name() == name).count();
    let counted: Vec<String> = ["proved", "definition", "checked", "refuted", "unknown"]
        .into_iter()
        .map(|name| (name, count(name)))
        .filter(|(_, n)| *n > 0)
        .map(|(name, n)| format!("{n} {name}"))
        .collect();
    anstream::println!("\n{} laws: {}", proved.len(), counted.join(", "));
}
