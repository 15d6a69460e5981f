//! `qkvet prove`: laws proved, confirmed or refuted, without a target.

mod page;
mod proved;

use std::fs;
use std::process::ExitCode;

use qkvet_spec::{Catalog, CheckedLaw, Unexpected};
use serde_json::json;

pub(super) use self::proved::Proved;
use super::setup;
use crate::args::{ProofFormat, ProveArgs};
use crate::exit::{FINDINGS, Failure, HELD};

#[expect(clippy::disallowed_methods, reason = "reads the file that the user names")]
pub(super) fn prove(args: &ProveArgs) -> Result<ExitCode, Failure> {
    if args.steps && !matches!(args.format, ProofFormat::Human) {
        let hint = "`--format markdown` has the steps; `--format json` counts them";
        return Err(Unexpected::at("`--steps`", "`--format human`")
            .got("another")
            .hint(hint)
            .into());
    }
    let mut catalog = setup::catalog()?;
    let mut ids = args.laws.clone();
    if let Some(path) = &args.file {
        let name = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| Unexpected::at_path("file", path, "a readable text").error(error))?;
        ids.push(catalog.add_law(&name, &text)?);
    }
    let laws: Vec<&CheckedLaw> = match ids.as_slice() {
        [] => catalog.laws.values().collect(),
        ids => ids
            .iter()
            .map(|id| Catalog::find("law", &catalog.laws, id))
            .collect::<Result<_, _>>()?,
    };
    let proved: Vec<Proved<'_>> = laws.into_iter().map(Proved::new).collect();
    match args.format {
        ProofFormat::Json => {
            say!("{:#}", json!({"laws": proved.iter().map(Proved::json).collect::<Vec<_>>()}))
        }
        ProofFormat::Markdown => crate::out::say_raw(&page::page(&proved, &catalog)),
        ProofFormat::Human if args.steps => {
            proved.iter().for_each(|one| say!("{}\n", one.derivation(args.style.into())))
        }
        ProofFormat::Human => print_table(&proved),
    }
    let all_reach = proved.iter().all(Proved::reaches);
    Ok(ExitCode::from(if all_reach { HELD } else { FINDINGS }))
}

fn print_table(proved: &[Proved<'_>]) {
    let width = proved.iter().map(|one| one.law.law.law.len()).max().unwrap_or(0).max(3);
    say!(
        "{:width$}  {:12}  {:10}  {:>5}  {:13}  {:>8}",
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
        say!(
            "{id:width$}  {status:12}  {method:10}  {:>5}  {:13}  {milliseconds:5.1} ms",
            one.steps(),
            one.shapes()
        );
    }
    for one in proved.iter().filter(|one| !one.reaches()) {
        say!("\n{}: {}", one.law.law.law, one.conclusion());
    }
    say!("\n{}", counted(proved));
}

/// `3 laws: 1 proved, 1 proved-small, 1 checked`.
fn counted(proved: &[Proved<'_>]) -> String {
    let count = |word: &str| proved.iter().filter(|one| one.outcome.status.name() == word).count();
    let counted: Vec<String> =
        ["proved", "proved-small", "definition", "checked", "refuted", "unknown"]
            .into_iter()
            .map(|word| (word, count(word)))
            .filter(|(_, n)| *n > 0)
            .map(|(word, n)| format!("{n} {word}"))
            .collect();
    format!("{} laws: {}", proved.len(), counted.join(", "))
}
