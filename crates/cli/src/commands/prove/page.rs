//! Laws and their proofs as a Markdown page: `docs/laws.md`, or one about a user's own. It has no
//! times in it, so that it is the same bytes everywhere.

use std::fmt::Write as _;

use qkvet_prove::outcome::Status;
use qkvet_prove::render::Style;
use qkvet_spec::Catalog;

use super::{Proved, counted};

/// The folders of `specs/laws/` in the order of the page, and what their laws are about. Others
/// come behind them.
const FAMILIES: [(&str, &str); 13] = [
    ("card", "What attention is known by."),
    ("probability", "The weights of a query are a probability."),
    ("algebra", "What passes through attention, and what it does not notice."),
    ("heads", "Heads and batch items do not meet."),
    ("masks", "Which keys a query sees."),
    ("composition", "Attention put together from parts."),
    ("design", "Queries, keys and values that do what one wants."),
    ("moments", "Random queries, keys and values: means and variances."),
    ("scores", "What enters the softmax."),
    ("softmax", "What the softmax does to rows."),
    ("jacobian", "How weights move with the scores."),
    ("behavior", "What a call does besides computing."),
    ("value", "What attention is."),
];

/// Longer proofs are folded.
const MAX_STEPS_SHOWN: usize = 5;

const PREFACE: &str = "\
# Laws and their proofs

`Q`, `K` and `V` are those of one call: `(b, h_q, n_q, d_k)`, `(b, h_k, n_k, d_k)` and `(b, h_k, n_k, d_v)`. A statement about them
is one about every batch item and head.

| status | means |
|---|---|
| proved | It holds for all shapes, extents from 1, in real numbers. The proof was checked by a second route. |
| proved-small | It holds for all numbers, masks and lengths, wherever both sides are defined, at every shape of extents ≤ 2: decided with indeterminates. Extents that a law begins above 2 count at their least. |
| definition | It is what the words mean, and held exactly on small instances. |
| checked | It held, exactly, on small instances. There is no proof for all. |

In a proof, `softmax(S; mask = M, sinks = s)` is the softmax of each row over the keys that `M` leaves, with a sink in the denominator;
`softcap` is the cap of the case, `query_exists` the column that is 1 for a query, 0 for padding. `attended` is 1 for a query that
has weights at all. `TV(A, B)` is the total variation distance of the rows
of `A` and `B`: half the sum of the magnitudes of the differences, the largest of all rows.

`qkvet explain LAW` shows one of these laws, `qkvet prove LAW --steps --style latex` prints it for LaTeX (or `typst`, `mathml`,
`words`).
";

/// Every law of `proved`, by family.
pub(super) fn page(proved: &[Proved<'_>], catalog: &Catalog) -> String {
    let places: Vec<Place<'_>> = proved.iter().map(|one| Place::of(one, catalog)).collect();
    let mut families: Vec<(&str, &str)> = FAMILIES.to_vec();
    for place in &places {
        if families.iter().all(|(family, _)| *family != place.family) {
            families.push((&place.family, "Laws of your own."));
        }
    }
    let own =
        |family: &str| places.iter().filter(|place| place.family == family).collect::<Vec<_>>();
    families.retain(|(family, _)| !own(family).is_empty());
    let mut page = "<!-- written by `cargo xtask regen` -->\n\n".to_owned();
    page += PREFACE;
    let _ = writeln!(page, "\n{}.\n", counted(proved));
    for (family, _) in &families {
        let ids: Vec<String> =
            own(family).iter().map(|place| format!("[{0}](#{0})", place.id())).collect();
        let _ = writeln!(page, "- **[{family}](#family-{family})** {}", ids.join(" · "));
    }
    for (family, about) in &families {
        let _ =
            writeln!(page, "\n<a id=\"family-{family}\"></a>\n## {}\n\n{about}", capital(family));
        for place in own(family) {
            page += "\n";
            page += &place.section(catalog);
        }
    }
    page
}

/// A law and where it lies.
struct Place<'a> {
    proved: &'a Proved<'a>,
    family: String,
    /// From `docs/`, or as the user named it; empty for one of `specs:`.
    file: String,
}

impl<'a> Place<'a> {
    fn of(proved: &'a Proved<'a>, catalog: &Catalog) -> Self {
        let id = &proved.law.law.law;
        match Catalog::file("laws", id) {
            Some(file) => {
                let family = file.split('/').rev().nth(1).unwrap_or_default().to_owned();
                Self { proved, family, file: format!("../{file}") }
            }
            None => {
                let file = catalog.law_files.get(id).cloned().unwrap_or_default();
                Self { proved, family: "own".to_owned(), file }
            }
        }
    }

    fn id(&self) -> &str {
        &self.proved.law.law.law
    }

    fn section(&self, catalog: &Catalog) -> String {
        let law = &self.proved.law.law;
        let statement = self.proved.statement(Style::Unicode);
        let mut text =
            format!("### {}\n\n{}.\n\n```text\n{statement}\n```\n\n", law.law, law.title);
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "- {name}: {value}");
        };
        row("status", self.status());
        if self.proved.law.asks() {
            let options: Vec<&str> = law.options.iter().map(|option| option.name()).collect();
            row("options", if options.is_empty() { "none".to_owned() } else { options.join(", ") });
            let faults: Vec<String> = law.catches.iter().map(|id| fault(id, catalog)).collect();
            row("catches", if faults.is_empty() { "none".to_owned() } else { faults.join(", ") });
        } else {
            row("asks", "no target".to_owned());
        }
        if let Some(contrast) = &law.contrast {
            row("beside", contrast.clone());
        }
        if !law.sources.is_empty() {
            row("from", law.sources.join(", "));
        }
        if !self.file.is_empty() {
            row("file", format!("[{}]({})", self.file.trim_start_matches("../"), self.file));
        }
        text += &self.proof();
        text
    }

    fn status(&self) -> String {
        let (outcome, steps) = (&self.proved.outcome, self.proved.steps());
        let by = format!("by {}", outcome.method.name());
        match &outcome.status {
            Status::Proved => {
                format!(
                    "proved {by}, {steps} step{}, for all shapes",
                    if steps == 1 { "" } else { "s" }
                )
            }
            Status::ProvedTo { extent, .. } => {
                format!("proved-small {by}, for all numbers at every shape of extents ≤ {extent}")
            }
            Status::Definition => "definition".to_owned(),
            Status::Checked(instances) => format!("checked {by}, on {instances} instances"),
            Status::Refuted(_) => "refuted".to_owned(),
            Status::Unknown(_) => "unknown".to_owned(),
        }
    }

    /// A proof that says no more than the status is left out.
    fn proof(&self) -> String {
        let steps = self.proved.steps();
        let says_more = steps > 0
            || matches!(self.proved.outcome.status, Status::Refuted(_) | Status::Unknown(_));
        let proof = format!("```text\n{}\n```\n", self.proved.proof(Style::Unicode));
        match steps {
            _ if !says_more => String::new(),
            0..=MAX_STEPS_SHOWN => format!("\n{proof}"),
            _ => format!(
                "\n<details><summary>The proof in {steps} steps</summary>\n\n{proof}\n</details>\n"
            ),
        }
    }
}

/// The code of a fault, linked to its file, and its id.
fn fault(id: &str, catalog: &Catalog) -> String {
    let code = catalog.faults.get(id).map_or("", |fault| &fault.code);
    match Catalog::file("faults", id) {
        Some(file) => format!("[{code}](../{file}) {id}"),
        None => format!("{code} {id}"),
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_place() {
        let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        let known = |family: &str| FAMILIES.iter().any(|(known, _)| *known == family);
        for id in catalog.laws.keys() {
            let file = Catalog::file("laws", id).unwrap_or_else(|| panic!("{id}: no file"));
            assert!(
                file.split('/').rev().nth(1).is_some_and(known),
                "{file}: expected a family of `FAMILIES`"
            );
        }
        assert!(!known("own"));
    }
}
