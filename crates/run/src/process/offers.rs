//! What a program says of itself, and whether that is what a call needs.

use qkvet_spec::wire::{HelloAnswer, Supports};
use qkvet_spec::{
    Call, CallOption, Dtype, Fit, Quoted, ResultName, UnknownOffer, Warning, nearest,
};

use crate::Declined;
use crate::wire::quoted;

/// Options of a program that lists none: those of the first programs, which could not list what
/// they did not know.
const FIRST_OPTIONS: [&str; 4] = ["scale", "causal", "mask", "bias"];

/// All results.
const OUTPUTS: [&str; 3] = ["output", "weights", "lse"];

/// Unknown names that are told.
const MAX_UNKNOWN: usize = 5;

/// Results of a program that lists none.
const FIRST_OUTPUTS: [&str; 2] = ["output", "weights"];

/// Whether the program offers what the call needs.
pub(crate) fn offered(supports: Option<&Supports>, call: &Call) -> Result<(), Declined> {
    let (options, outputs) = lists(supports);
    let dtypes = supports.and_then(|supports| supports.dtypes.as_ref());
    let declined = |name: &'static str, list: &'static str, is_listed: bool| {
        if is_listed { Declined::NotListed { name, list } } else { Declined::NoList { name, list } }
    };
    let dtype = call.dtype().name();
    if dtypes.is_some() && !lists_name(dtypes, &[], dtype) {
        return Err(declined(dtype, "dtypes", true));
    }
    let on = |option: &CallOption| call.options.has(*option);
    if let Some(option) = CallOption::ALL
        .iter()
        .filter(|x| on(x))
        .find(|x| !lists_name(options, &FIRST_OPTIONS, x.name()))
    {
        return Err(declined(option.name(), "options", options.is_some()));
    }
    let results = [("output", true), ("weights", call.return_weights), ("lse", call.return_lse)];
    match results.iter().find(|(name, on)| *on && !lists_name(outputs, &FIRST_OUTPUTS, name)) {
        Some((result, _)) => Err(declined(result, "outputs", outputs.is_some())),
        None => Ok(()),
    }
}

/// The options and the results that a program lists, if it lists them.
fn lists(supports: Option<&Supports>) -> (Option<&Vec<String>>, Option<&Vec<String>>) {
    supports.map_or((None, None), |one| (one.options.as_ref(), one.outputs.as_ref()))
}

/// Whether the name is in the list, or in the first programs' where there is none.
fn lists_name(list: Option<&Vec<String>>, first: &[&str], name: &str) -> bool {
    list.map_or(first.contains(&name), |list| list.iter().any(|listed| listed == name))
}

/// What a suite is made to fit for a program.
pub(crate) fn taken(supports: Option<&Supports>) -> Fit {
    let (options, outputs) = lists(supports);
    let takes = |option: &CallOption| lists_name(options, &FIRST_OPTIONS, option.name());
    let results = OUTPUTS.iter().zip(ResultName::ALL);
    let returned = results.filter(|(name, _)| lists_name(outputs, &FIRST_OUTPUTS, name));
    Fit {
        options: Some(CallOption::ALL.into_iter().filter(takes).collect()),
        results: Some(returned.map(|(_, result)| result).collect()),
        ..Fit::default()
    }
}

/// What a program offers under names that are not known here: they are passed over, and may be
/// slips.
pub(crate) fn unknown(supports: &Supports) -> Option<Warning> {
    let of = |list: &'static str, names: &Option<Vec<String>>, known: &[&str]| {
        let unknown = names.iter().flatten().filter(|name| !known.contains(&name.as_str()));
        let offer = |name: &String| UnknownOffer {
            list,
            name: quoted(name.as_bytes()),
            nearest: nearest(name, known.iter().copied()).map(str::to_owned),
        };
        unknown.map(offer).collect::<Vec<_>>()
    };
    let options: Vec<&str> = CallOption::ALL.iter().map(|option| option.name()).collect();
    let dtypes: Vec<&str> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
    let mut first = [
        of("dtypes", &supports.dtypes, &dtypes),
        of("options", &supports.options, &options),
        of("outputs", &supports.outputs, &OUTPUTS),
        of("payloads", &supports.payloads, &["inline", "file", "memory"]),
    ]
    .concat();
    let more = first.len().saturating_sub(MAX_UNKNOWN);
    first.truncate(MAX_UNKNOWN);
    (!first.is_empty()).then_some(Warning::UnknownOffers { first, more })
}

/// `libattn 1.4, c, on cpu`, and what it says to support.
pub(crate) fn describe(greeting: &HelloAnswer) -> Vec<Quoted> {
    let HelloAnswer { name, version, language, device, supports, .. } = greeting;
    let parts = [("", name), (" ", version), (", ", language), (", on ", device)];
    let parts =
        parts.into_iter().filter_map(|(between, said)| Some((between, said.as_ref()?.display())));
    let line: String = parts.map(|(between, said)| format!("{between}{said}")).collect();
    let lists = supports.as_ref().map_or_else(Vec::new, |supports| {
        vec![
            ("formats", &supports.dtypes),
            ("options", &supports.options),
            ("results", &supports.outputs),
        ]
    });
    let listed = |(what, list): (&str, &Option<Vec<String>>)| {
        let names = list.as_ref()?.join(" ");
        Some(format!("{what} {}", if names.is_empty() { "none" } else { &names }))
    };
    let supports: Vec<String> = lists.into_iter().filter_map(listed).collect();
    let supports = (!supports.is_empty()).then(|| format!("supports {}", supports.join(", ")));
    std::iter::once(line).chain(supports).map(Quoted::new).collect()
}
