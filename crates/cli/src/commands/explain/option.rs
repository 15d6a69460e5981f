//! What a call can be asked for besides query, key and value.

use qkvet_report::paragraph;
use qkvet_run::adapters::python::argument_names;
use qkvet_spec::{CallOption, Catalog};

/// One option or further result of a call.
pub(super) struct Argument {
    /// Its name in signatures and reports.
    name: &'static str,
    /// Absent for a further result.
    option: Option<CallOption>,
    /// Formula and meaning.
    pub(super) meaning: &'static str,
    /// What a target is given.
    value: &'static str,
    /// What holds where it is not given.
    pub(super) absent: &'static str,
}

impl Argument {
    pub(super) fn of(option: CallOption) -> Self {
        let (meaning, value, absent) = match option {
            CallOption::Scale => (
                "scores = scale · QKᵀ",
                "float, also zero or negative",
                "1/√d_k, with d_k the width of a key",
            ),
            CallOption::Causal => (
                "Query i stands at key p = i + n_k − n_q and sees the keys j ≤ p: aligned lower-right.",
                "bool",
                "every key is seen",
            ),
            CallOption::Mask => (
                "true attends; a key that is hidden has no weight",
                "bool, broadcasts to (b, h_q, n_q, n_k)",
                "true",
            ),
            CallOption::Bias => (
                "scores + bias, after scale and softcap; −∞ hides a key",
                "float, broadcasts to (b, h_q, n_q, n_k)",
                "0",
            ),
            CallOption::Softcap => (
                "c · tanh(score / c), after the scale and before bias and mask",
                "float c > 0",
                "scores are not capped",
            ),
            CallOption::Window => (
                "Query i stands at key p = i + n_k − n_q and sees the keys p − left ≤ j ≤ p + right, both ends included.",
                "(left, right), each a whole number or None for an open side",
                "(None, None)",
            ),
            CallOption::Sinks => (
                "weights = exp(logits) / (Σ exp(logits) + exp(sink)): a logit for each query head that has no value. Mask, softcap, bias and window do not apply to it; a query that sees no key gives 0.",
                "float, (h_q,)",
                "no sink",
            ),
            CallOption::AlibiSlopes => (
                "scores − slope · |p − j| with p = i + n_k − n_q, where the bias is added",
                "float, (h_q,)",
                "0",
            ),
            CallOption::KeyLengths => (
                "Batch item b has key_lengths[b] keys; the rest is padding, which no query sees. n_k above is that number.",
                "whole numbers, (b,)",
                "n_k",
            ),
            CallOption::QueryLengths => (
                "Batch item b has query_lengths[b] queries; the rest is padding and gives 0. n_q above is that number.",
                "whole numbers, (b,)",
                "n_q",
            ),
            CallOption::Packed => (
                "Several sequences lie one behind the other: s is the queries from query_offsets[s] to before query_offsets[s + 1] and the keys likewise. A query sees keys of its own sequence only, within which it counts from 0. Never with lengths.",
                "two arguments, whole numbers, (sequences + 1,)",
                "one sequence",
            ),
        };
        Self { name: option.name(), option: Some(option), meaning, value, absent }
    }

    /// Further results.
    const RESULTS: [Self; 2] = [
        Self {
            name: "return_weights",
            option: None,
            meaning: "What leaves the softmax, (b, h_q, n_q, n_k), after the output in the result.",
            value: "bool",
            absent: "the output alone",
        },
        Self {
            name: "return_lse",
            option: None,
            meaning: "log Σ exp(logits), natural, sink included, (b, h_q, n_q); −∞ for a query without key and sink. Last in the result.",
            value: "bool",
            absent: "the output alone",
        },
    ];

    /// The one that goes by this name, in qkvet or in a signature.
    pub(super) fn called(name: &str) -> Option<Self> {
        let all = || CallOption::ALL.into_iter().map(Self::of).chain(Self::RESULTS);
        let own = |one: &Self| {
            one.arguments().iter().any(|(own, names)| *own == name || names.contains(&name))
        };
        all().find(|one| one.name == name).or_else(|| all().find(own))
    }

    /// The arguments that a Python function may take it by: our name of each and all that are
    /// known.
    fn arguments(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let packed = self.option == Some(CallOption::Packed);
        let own = |name: &str| if packed { name.ends_with("_offsets") } else { name == self.name };
        argument_names().into_iter().filter(|(name, _)| own(name)).collect()
    }
}

pub(super) fn explain_argument(argument: Argument, catalog: &Catalog) {
    let Argument { name, option, meaning, value, absent } = argument;
    say!(
        "{} {name}\n\n{}\n",
        if option.is_some() { "option" } else { "result" },
        paragraph(meaning)
    );
    say!("given    {value}");
    say!("absent   {absent}");
    for (_, names) in argument.arguments() {
        say!("argument {}", names.join(" or "));
    }
    let Some(option) = option else { return };
    for convention in
        catalog.conventions.values().filter(|convention| convention.options.contains(&option))
    {
        say!(
            "declare  --convention {}={}: {}",
            convention.field,
            convention.value,
            convention.title
        );
    }
    let laws = catalog.laws.values().filter(|law| law.law.options.contains(&option)).count();
    say!("laws     {laws} of {} range over it", catalog.asking_laws().count());
}
