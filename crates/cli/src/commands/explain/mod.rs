//! `qkvet explain`: one word that stands in a report, a specification or a call, in full.

mod config;
mod contract;
mod finding;
mod flag;
mod glossary;
mod known;
mod language;
mod option;
mod verdict;
mod word;

use std::process::ExitCode;

use qkvet_prove::render::Style;
use qkvet_report::json_document;
use qkvet_spec::{
    CallOption, Catalog, CheckedLaw, Convention, Dtype, Fault, FaultFamily, Suite, Unexpected,
};
use serde_json::json;

use self::config::{CONFIG, explain_config};
use self::contract::{explain_contract, explain_modifier};
use self::finding::{explain_uncoded, uncoded};
use self::flag::explain_flag;
use self::glossary::Term;
use self::known::unknown;
use self::option::{Argument, explain_argument};
use self::verdict::{explain_word, words};
use self::word::{called, explain_of_language};
use super::prove::Proved;
use super::setup;
use crate::args::DocumentFormat;
use crate::exit::Failure;
use crate::out::write_text;

/// The word for the whole of the language of laws.
const LANGUAGE: &str = "language";
/// Columns before what a label says.
const LABEL: usize = 14;

pub(super) fn explain(name: Option<&str>, format: DocumentFormat) -> Result<ExitCode, Failure> {
    let Some(name) = name else {
        known::list(&setup::catalog()?);
        return Ok(ExitCode::SUCCESS);
    };
    if format == DocumentFormat::Json {
        let document = document(name, &setup::catalog()?)?;
        write_text(&json_document(&document)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if name == CONFIG {
        explain_config()?;
        return Ok(ExitCode::SUCCESS);
    }
    let catalog = setup::catalog()?;
    let by_code = |fault: &&Fault| fault.code.eq_ignore_ascii_case(name);
    let as_declared = |one: &&Convention| format!("{}={}", one.field, one.value) == name;
    // A modifier may be written as it stands behind a contract.
    let modifier = name.trim_start_matches('+').trim();
    let of_language = called(name);
    if let Some(fault) = catalog.faults.get(name).or_else(|| catalog.faults.values().find(by_code))
    {
        explain_fault(fault, &catalog);
    } else if let Some(law) = catalog.laws.get(name) {
        explain_law(law);
    } else if let Some(convention) =
        catalog.conventions.get(name).or_else(|| catalog.conventions.values().find(as_declared))
    {
        explain_convention(convention);
    } else if let Some(suite) = catalog.suites.get(name) {
        explain_suite(suite, &catalog)?;
    } else if let Some((word, text)) = words().find(|(word, _)| word.eq_ignore_ascii_case(name)) {
        explain_word(word, text);
    } else if let Some(finding) = uncoded(name) {
        explain_uncoded(finding);
    } else if name == LANGUAGE {
        crate::out::say_raw(&language::page(&catalog));
    } else if let Some(term) = Term::called(name) {
        term.explain();
        // `law` is a field of a law too.
        of_language.iter().for_each(|word| {
            say!();
            explain_of_language(word, &catalog);
        });
    } else if let Some(argument) = Argument::called(name) {
        explain_argument(argument, &catalog);
        // `mask` is a domain too.
        of_language.iter().for_each(|word| {
            say!();
            explain_of_language(word, &catalog);
        });
    } else if !of_language.is_empty() {
        of_language.iter().enumerate().for_each(|(at, word)| {
            if at > 0 {
                say!();
            }
            explain_of_language(word, &catalog);
        });
    } else if catalog.contracts.contains_key(name) || modifier.contains('+') {
        explain_contract(&catalog.contract(name)?, &catalog);
    } else if let Ok(modifier) = catalog.modifier(modifier) {
        explain_modifier(&modifier, &catalog);
    } else if let Some(modifier) = catalog.modifiers.get(modifier) {
        // One that waits for its number.
        explain_modifier(modifier, &catalog);
    } else if let Some(family) = catalog.families.get(name) {
        explain_family(family, &catalog);
        return Ok(ExitCode::SUCCESS);
    } else if let Some(dtype) = setup::dtype(name) {
        explain_dtype(dtype, &catalog);
    } else if !explain_flag(name) {
        return Err(unknown(name, &catalog).into());
    }
    // `scale` is an option and a family of faults.
    if let Some(family) = catalog.families.get(name) {
        say!();
        explain_family(family, &catalog);
    }
    Ok(ExitCode::SUCCESS)
}

/// What has a file in `specs/`, under its kind: `{"fault": {...}}`.
fn document(name: &str, catalog: &Catalog) -> Result<serde_json::Value, Failure> {
    let by_code = |fault: &&Fault| fault.code.eq_ignore_ascii_case(name);
    let fault = catalog.faults.get(name).or_else(|| catalog.faults.values().find(by_code));
    Ok(if let Some(fault) = fault {
        json!({ "fault": fault })
    } else if let Some(law) = catalog.laws.get(name) {
        json!({ "law": law.law })
    } else if let Some(convention) = catalog.conventions.get(name) {
        json!({ "convention": convention })
    } else if let Some(suite) = catalog.suites.get(name) {
        json!({ "suite": suite })
    } else if let Some(family) = catalog.families.get(name) {
        json!({ "family": family })
    } else if catalog.contracts.contains_key(name) || name.contains('+') {
        json!({ "contract": catalog.contract(name)? })
    } else {
        let expected = "a law, fault, family of faults, convention, contract or suite";
        return Err(Unexpected::at(format!("JSON of `{name}`"), expected).into());
    })
}

fn explain_dtype(dtype: Dtype, catalog: &Catalog) {
    let (bits, size) = (dtype.precision(), 8 * dtype.size());
    say!("data type {dtype}\n\n{size} bits, {bits} of them significant\n");
    for contract in catalog.contracts.values().filter(|contract| contract.dtype == dtype) {
        say!("contract  {}: {}", contract.contract, contract.title);
    }
    if Dtype::CHECKED.contains(&dtype) {
        say!("use       --dtype {dtype}");
    }
}

fn explain_family(family: &FaultFamily, catalog: &Catalog) {
    say!("faults: {}\n{}\n", family.family, family.title);
    say!("{}\n{}", labeled("look", &family.look), labeled("fix", &family.fix));
    for fault in catalog.faults.values().filter(|fault| fault.family == family.family) {
        say!("{}         {}: {}", fault.code, fault.fault, fault.title);
    }
}

/// A text in lines of at most 110 columns, beside its label.
fn labeled(label: &str, text: &str) -> String {
    let rest = " ".repeat(LABEL);
    let first = format!("{label:LABEL$}");
    textwrap::fill(
        text,
        textwrap::Options::new(110).initial_indent(&first).subsequent_indent(&rest),
    )
}

fn explain_fault(fault: &Fault, catalog: &Catalog) {
    say!("{} {}\n{}\n\n{}", fault.code, fault.fault, fault.title, fault.tell);
    if let Some(family) = catalog.families.get(&fault.family) {
        say!("{}\n{}", labeled("look", &family.look), labeled("fix", &family.fix));
        say!(
            "{}",
            labeled("family", &format!("{} (`qkvet explain {}`)", family.title, family.family))
        );
    }
    if let Some(when) = &fault.when {
        say!("strikes when  {}", when.text());
    }
    if let Some(when) = &fault.equivalent_when {
        say!("harmless when {}", when.text());
    }
    for seen in &fault.seen {
        say!("seen in       {seen}");
    }
    if fault.student {
        say!("students make it");
    }
    for law in catalog.laws.values().filter(|law| law.law.catches.contains(&fault.fault)) {
        say!("breaks law    {}", law.law.law);
    }
    say!("try           qkvet check builtin:fault/{}", fault.fault);
}

fn explain_law(checked: &CheckedLaw) {
    let law = &checked.law;
    say!("law {}\n{}\n", law.law, law.title);
    for (name, domain) in &law.given {
        say!("given   {name}: {}", domain.text);
    }
    for (name, value) in &law.lets {
        say!("let     {name} = {}", value.text);
    }
    if let Some(condition) = &law.condition {
        say!("where   {}", condition.text());
    }
    match (&law.expect, law.observe) {
        (Some(expect), _) => say!("expect  {}", expect.text),
        (None, Some(observe)) => say!("observe {}", observe.name()),
        (None, None) => {}
    }
    if let Some(misfit) = law.misfit {
        say!("misfit  {}", misfit.name());
    }
    if checked.asks() {
        let options: Vec<&str> = law.options.iter().map(|option| option.name()).collect();
        say!("options {}", if options.is_empty() { "none".to_owned() } else { options.join(", ") });
        let catches =
            if law.catches.is_empty() { "none".to_owned() } else { law.catches.join(", ") };
        say!("catches {catches}");
    }
    say!("true by {}", law.proof.name());
    if let Some(contrast) = &law.contrast {
        say!("beside  {contrast}");
    }
    for source in &law.sources {
        say!("from    {source}");
    }
    let proved = Proved::new(checked);
    say!("\n{}\n\n{}", proved.statement(Style::Unicode), proved.proof(Style::Unicode));
}

fn explain_convention(convention: &Convention) {
    let Convention { field, value, title, standard, .. } = convention;
    say!("convention {field}={value}\n{title}\nstandard: {standard}");
    for seen in &convention.seen {
        say!("seen in  {seen}");
    }
    say!("declare  --convention {field}={value}");
}

fn explain_suite(suite: &Suite, catalog: &Catalog) -> Result<(), Failure> {
    say!("suite {}\n{}\n", suite.suite, suite.title);
    let laws = catalog.suite_laws(suite)?;
    let cases = qkvet_gen::plans(suite, &laws, &suite.dtypes, 0).len();
    say!("cases    {cases}");
    let named: Vec<&str> = laws.iter().map(|law| law.law.law.as_str()).collect();
    let all = named.len() == catalog.asking_laws().count();
    say!("laws     {}", if all { format!("all {}", named.len()) } else { named.join(", ") });
    let formats: Vec<&str> = suite.dtypes.iter().map(|dtype| dtype.name()).collect();
    say!("formats  {}", formats.join(", "));
    let queries = suite.shapes.iter().map(|dims| dims.n_q);
    let keys = suite.shapes.iter().map(|dims| dims.n_k);
    if let (Some(least), Some(most), Some(fewest), Some(longest)) =
        (queries.clone().min(), queries.max(), keys.clone().min(), keys.max())
    {
        say!("shapes   {}, n_q {least}–{most}, n_k {fewest}–{longest}", suite.shapes.len());
    }
    let beyond =
        if suite.extended.is_some() { CallOption::ALL.as_slice() } else { &CallOption::ALL[..4] };
    let options: Vec<&str> = beyond.iter().map(|option| option.name()).collect();
    say!("options  {}", options.join(", "));
    if let Some(frozen) = &suite.frozen {
        say!("frozen   version {}, {} shapes", frozen.version, frozen.shapes.len());
    }
    say!("use      qkvet check TARGET --suite {}", suite.suite);
    Ok(())
}
