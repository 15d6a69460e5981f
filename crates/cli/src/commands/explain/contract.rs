//! Contracts and their modifiers, field by field.

use qkvet_report::paragraph;
use qkvet_spec::{Catalog, Contract, Dtype, Modifier};

use qkvet_run::contracts::rounded_inside;

pub(super) fn explain_contract(contract: &Contract, catalog: &Catalog) {
    let Contract { dtype, dot, softmax, weights, .. } = contract;
    anstream::println!("contract {}\n{}\n\n{}\n", contract.contract, contract.title, paragraph(&contract.about));
    anstream::println!("inputs    {dtype}, output {}, log-sum-exp {}", contract.output(), contract.lse());
    if let Some(operands) = contract.operands {
        anstream::println!("operands  {operands}");
    }
    let cut = if contract.truncates { ", may cut off" } else { "" };
    anstream::println!("products  summed in {dot} with {} bits{cut}", contract.dot_precision());
    let depths = [("scores", contract.depth.scores), ("values", contract.depth.values)];
    for (of, depth) in depths.into_iter().filter_map(|(of, depth)| Some((of, depth?))) {
        anstream::println!("depth     at most {depth} for {of}");
    }
    anstream::println!(
        "softmax   {softmax}, exp within {} units, tanh within {}",
        contract.exp_error,
        contract.tanh_error
    );
    let rounded = if contract.sum_of_rounded { ", which may be what is summed" } else { "" };
    anstream::println!("weights   {weights}{rounded}");
    anstream::println!("roundings {} of inputs, {} of scores", contract.input_roundings, contract.score_roundings);
    match contract.tile {
        Some(tile) => anstream::println!("tile      at least {tile} keys"),
        None => anstream::println!("tile      none: a single pass"),
    }
    let partial = contract.partial.map_or(String::new(), |format| format!(", stored in {format}"));
    anstream::println!("merging   {}{partial}", if contract.merges { "of partial results" } else { "none" });
    if Dtype::CHECKED.contains(dtype) {
        let undeclared = if contract.default { ", or undeclared" } else { "" };
        anstream::println!("use       --contract {}{undeclared}", contract.contract);
        return;
    }
    anstream::println!("use       none yet: `qkvet check` calls in {}", Dtype::CHECKED.map(Dtype::name).join(", "));
    if let Some(name) = rounded_inside(catalog, *dtype) {
        anstream::println!("          a function that takes those and rounds them itself: --contract {name}");
    }
}

pub(super) fn explain_modifier(modifier: &Modifier, catalog: &Catalog) {
    anstream::println!("modifier +{}\n{}\n\n{}\n", modifier.modifier, modifier.title, paragraph(&modifier.about));
    let fits = modifier.fits.as_ref().map_or_else(
        || "every contract".to_owned(),
        |fits| fits.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", "),
    );
    anstream::println!("fits      {fits}");
    for (does, patch) in [("allows", &modifier.allows), ("promises", &modifier.promises)] {
        if !patch.is_empty() {
            anstream::println!("{does:9} {}", patch.fields().join(", "));
        }
    }
    let numbered = modifier.modifier.replace("-N", "-64");
    if let Some(whole) = catalog.behind_a_contract(&numbered) {
        anstream::println!("write     {whole}");
    }
}
