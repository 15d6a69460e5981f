//! The language of laws as a Markdown page: `docs/language.md`.

use std::fmt::Write as _;

use qkvet_spec::{CallOption, Catalog, CheckedLaw, Word, WordKind};

use super::option::Argument;

const PREFACE: &str = "\
# The language of laws

A law is a file of these fields, its formulas are made of these words. [your-own-law.md](your-own-law.md) shows how one is written,
[laws.md](laws.md) has all that are built in. `qkvet explain row` prints one entry of this page, `qkvet explain language` the page.

What a matrix is: `a matrix (b, h_q, n_q, d_k)` stands for one of n_q rows and d_k columns for each batch item and query head, `a matrix
(n, m)` for one that is the same for all. One of h_k heads that meets one of h_q heads is read once for every query head. Types are
checked before anything runs. Beside each word stands a law that uses it, `none` where no law that is built in does.
";

/// Every word of the language, by kind.
pub(super) fn page(catalog: &Catalog) -> String {
    let mut page = format!("<!-- written by `cargo xtask regen` -->\n\n{PREFACE}");
    page += "\nThe uses below speak of these variables.\n\n| variable | domain |\n|---|---|\n";
    for (name, domain) in Word::examples() {
        let _ = writeln!(page, "| `{name}` | `{domain}` |");
    }
    let all = Word::all();
    for kind in WordKind::ALL {
        let words: Vec<&Word> = all.iter().filter(|word| word.kind == kind).collect();
        let (title, about) = section(kind);
        let _ = writeln!(page, "\n## {title}\n\n{about}\n");
        let has_types = words.iter().any(|word| word.types().is_some());
        page += if has_types {
            "| use | meaning | of | is | law |\n|---|---|---|---|---|\n"
        } else {
            "| use | meaning | law |\n|---|---|---|\n"
        };
        for word in words {
            let law = law_of(word.law(catalog.laws.values()));
            let _ = writeln!(
                page,
                "| `{}` | {} |{} {law} |",
                word.usage,
                cell(&word.meaning),
                types(word, has_types)
            );
        }
        if kind == WordKind::Function {
            page += &options(catalog);
        }
    }
    page
}

fn section(kind: WordKind) -> (&'static str, &'static str) {
    match kind {
        WordKind::Field => ("Fields", "What stands in the file of a law. The file name is its id."),
        WordKind::Name => {
            ("Names", "There without being declared. `given:` may declare `Q`, `K` and `V` again.")
        }
        WordKind::Domain => (
            "Domains",
            "What a variable of `given:` ranges over. Two names, `(Q, K)`, share one domain.",
        ),
        WordKind::Function => ("Functions", "`E` and `Var` take brackets."),
        WordKind::Operator => (
            "Operators",
            "From loose to tight: `or`, `and`, `not`, relations, `+` and `-`, the others, a sign in front, `.T`.",
        ),
        WordKind::Relation => ("Relations", "A statement is one, or several joined by `and`."),
        WordKind::Proof => (
            "Methods of proof",
            "How a law says that it is known to be true. `qkvet prove` has to reach it.",
        ),
        WordKind::Observation => {
            ("Observations", "What a law may observe instead of stating something.")
        }
        WordKind::Misfit => ("Misfits", "What does not fit in a call that has to be refused."),
    }
}

/// Types of the parts and of the whole, as two cells.
fn types(word: &Word, has_types: bool) -> String {
    match word.types() {
        Some((parts, whole)) => {
            let parts: Vec<String> =
                parts.iter().map(|(part, ty)| format!("`{part}` {}", cell(ty))).collect();
            format!(" {} | {} |", parts.join("<br>"), cell(&whole))
        }
        None if has_types => " | |".to_owned(),
        None => String::new(),
    }
}

fn options(catalog: &Catalog) -> String {
    let mut page = "\n## Options of a call\n\n\
        `options:` lists those that a law ranges over; all others are off. A call gets the case's unless it says otherwise: `scale=` and\n\
        `softcap=` a number, `mask=` and `bias=` a matrix (n_q, n_k) of the call, and any option `off`.\n\n\
        | option | meaning | absent | law |\n|---|---|---|---|\n"
        .to_owned();
    for option in CallOption::ALL {
        let Argument { meaning, absent, .. } = Argument::of(option);
        let ranging = catalog.laws.values().filter(|law| law.law.options.contains(&option));
        let law = law_of(ranging.min_by_key(|law| law.law.options.len()));
        let _ = writeln!(page, "| `{option}` | {} | {} | {law} |", cell(meaning), cell(absent));
    }
    page
}

fn law_of(law: Option<&CheckedLaw>) -> String {
    law.map_or_else(|| "none".to_owned(), |law| format!("[{0}](laws.md#{0})", law.law.law))
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
