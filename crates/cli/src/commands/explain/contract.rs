//! Contracts and their modifiers, field by field.

use qkvet_report::paragraph;
use qkvet_spec::{Catalog, Contract, Dtype, Modifier};

use qkvet_run::config::rounded_inside;

pub(super) fn explain_contract(contract: &Contract, catalog: &Catalog) {
    let Contract { dtype, dot, softmax, weights, .. } = contract;
    say!("contract {}\n{}\n\n{}\n", contract.contract, contract.title, paragraph(&contract.about));
    say!("inputs    {dtype}, output {}, log-sum-exp {}", contract.output(), contract.lse());
    if let Some(operands) = contract.operands {
        say!("operands  {operands}");
    }
    let cut = if contract.truncates { ", may cut off" } else { "" };
    say!("products  summed in {dot} with {} bits{cut}", contract.dot_precision());
    let depths = [("scores", contract.depth.scores), ("values", contract.depth.values)];
    for (of, depth) in depths.into_iter().filter_map(|(of, depth)| Some((of, depth?))) {
        say!("depth     at most {depth} for {of}");
    }
    say!(
        "softmax   {softmax}, exp within {} units, tanh within {}",
        contract.exp_error,
        contract.tanh_error
    );
    let rounded = if contract.sum_of_rounded { ", which may be what is summed" } else { "" };
    say!("weights   {weights}{rounded}");
    say!(
        "roundings {} of inputs, {} of scores",
        contract.input_roundings,
        contract.score_roundings
    );
    match contract.tile {
        Some(tile) => say!("tile      at least {tile} keys"),
        None => say!("tile      none: a single pass"),
    }
    let partial = contract.partial.map_or(String::new(), |format| format!(", stored in {format}"));
    say!("merging   {}{partial}", if contract.merges { "of partial results" } else { "none" });
    if Dtype::CHECKED.contains(dtype) {
        let undeclared = if contract.default { ", or undeclared" } else { "" };
        say!("use       --contract {}{undeclared}", contract.contract);
        return;
    }
    say!(
        "use       none yet: `qkvet check` calls in {}",
        Dtype::CHECKED.map(Dtype::name).join(", ")
    );
    if let Some(name) = rounded_inside(catalog, *dtype) {
        say!("          a function that takes those and rounds them itself: --contract {name}");
    }
}

pub(super) fn explain_modifier(modifier: &Modifier, catalog: &Catalog) {
    say!("modifier +{}\n{}\n\n{}\n", modifier.modifier, modifier.title, paragraph(&modifier.about));
    let fits = modifier.fits.as_ref().map_or_else(
        || "every contract".to_owned(),
        |fits| fits.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", "),
    );
    say!("fits      {fits}");
    for (does, patch) in [("allows", &modifier.allows), ("promises", &modifier.promises)] {
        if !patch.is_empty() {
            say!("{does:9} {}", patch.fields().join(", "));
        }
    }
    let numbered = modifier.modifier.replace("-N", "-64");
    if let Some(whole) = catalog.behind_a_contract(&numbered) {
        say!("write     {whole}");
    }
}
