//! Every word that can be explained, by kind.

use qkvet_report::hanging;
use qkvet_run::adapters::python::argument_names;
use qkvet_spec::{Catalog, Dtype, Unexpected, Word, nearest};

use super::config::CONFIG;
use super::finding::UNCODED;
use super::glossary::GLOSSARY;
use super::verdict::words;
use super::{LANGUAGE, flag};

const OF_LAWS: &str = "of laws";

/// Words of one kind.
struct Kind {
    name: &'static str,
    words: Vec<String>,
    /// What lists them, where they are many.
    list: Option<&'static str>,
}

fn kinds(catalog: &Catalog) -> Vec<Kind> {
    let kind = |name, words: Vec<String>, list| Kind { name, words, list };
    let shown = |name, words| kind(name, words, None);
    let [commands, flags] = flag::names();
    let arguments = argument_names().into_iter().flat_map(|(_, names)| names).map(str::to_owned);
    let language = Word::all().into_iter().map(|word| word.name);
    let codes = catalog.faults.values().map(|fault| fault.code.clone());
    vec![
        shown("terms", GLOSSARY.iter().map(|one| one.word.to_owned()).collect()),
        shown("verdicts", words().map(|(word, _)| word.to_owned()).collect()),
        shown("findings", UNCODED.iter().map(|one| one.name.to_owned()).collect()),
        shown("options", arguments.collect()),
        shown("data types", Dtype::ALL.map(|dtype| dtype.name().to_owned()).into()),
        shown("commands", commands),
        shown("flags", flags),
        shown("settings", vec![CONFIG.to_owned()]),
        kind("codes", codes.collect(), Some("qkvet list faults")),
        kind("faults", catalog.faults.keys().cloned().collect(), Some("qkvet list faults")),
        shown("families", catalog.families.keys().cloned().collect()),
        kind("laws", catalog.laws.keys().cloned().collect(), Some("qkvet list laws")),
        kind(
            "conventions",
            catalog.conventions.keys().cloned().collect(),
            Some("qkvet list conventions"),
        ),
        kind(
            "contracts",
            catalog.contracts.keys().cloned().collect(),
            Some("qkvet list contracts"),
        ),
        kind(
            "modifiers",
            catalog.modifiers.keys().cloned().collect(),
            Some("qkvet list contracts"),
        ),
        shown("suites", catalog.suites.keys().cloned().collect()),
        kind(
            OF_LAWS,
            std::iter::once(LANGUAGE.to_owned())
                .chain(language.filter(|word| word.len() > 2))
                .collect(),
            Some("qkvet explain language"),
        ),
    ]
}

/// All kinds, each with its words or with what lists them.
pub(super) fn list(catalog: &Catalog) {
    say!("`qkvet explain WORD` explains these words:\n");
    for Kind { name, words, list } in kinds(catalog) {
        let text = match list {
            Some(list) => format!("{} words: `{list}`", words.len()),
            None => words.join(", "),
        };
        say!("{}", hanging(&format!("{name:12}"), &text, &" ".repeat(12)));
    }
}

/// The error for a word that is unknown, with the nearest one that is known.
pub(super) fn unknown(name: &str, catalog: &Catalog) -> Unexpected {
    let kinds = kinds(catalog);
    // A word of a law is short, and near to many: it comes last.
    let (of_laws, others): (Vec<&Kind>, Vec<&Kind>) =
        kinds.iter().partition(|kind| kind.name == OF_LAWS);
    let near = |name: &str, kinds: &[&Kind]| {
        let known = kinds.iter().flat_map(|kind| &kind.words).map(String::as_str);
        nearest(name, known).map(str::to_owned)
    };
    let found = near(name, &others)
        .or_else(|| near(&name.to_uppercase(), &others))
        .or_else(|| near(name, &of_laws));
    let hint = found.map_or_else(
        || "`qkvet explain` lists all words".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Unexpected::at(format!("`{name}`"), "a word that qkvet prints").hint(hint)
}
