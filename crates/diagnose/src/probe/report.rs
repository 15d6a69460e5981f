//! From tallies to fields with their evidence.

use qkvet_spec::{
    Call, Certainty, Dtype, ExplicitScale, Meaning, MeaningPatch, Measured, ProbedField, Quoted,
};

use super::Probed;
use super::field::Field;
use super::hypothesis::{Effect, Hypothesis};
use super::interval::{measure, measured};
use super::prober::{Prober, label};
use super::spans::weighed;
use super::tally::{Seen, Tally};
use super::trials::Trial;

/// Most calls that are listed for one field.
const MAX_LISTED: usize = 6;

/// Everything that was found, in the order in which it was asked.
pub(super) fn report(prober: &Prober<'_>, sums: [ProbedField; 2]) -> Probed {
    let mut fields: Vec<ProbedField> =
        prober.tallies.iter().map(|tally| field(prober, tally)).collect();
    fields.extend(sums);
    fields.extend(format(prober));
    fields.push(inputs(prober));
    let open: Vec<&Field> = prober
        .tallies
        .iter()
        .filter(|tally| tally.open().len() != 1)
        .map(|tally| tally.field)
        .collect();
    let meaning = prober.bases(&open).swap_remove(0).meaning;
    Probed { fields, meaning, calls: prober.asker.calls }
}

fn field(prober: &Prober<'_>, tally: &Tally) -> ProbedField {
    let certainty = tally.certainty();
    let values = match certainty {
        Certainty::None | Certainty::Declined => Vec::new(),
        _ => tally.open(),
    };
    let names = |values: &[usize]| {
        values.iter().map(|value| tally.field.name(*value).to_owned()).collect::<Vec<_>>()
    };
    let (evidence, telling) = evidence(prober, tally, &values);
    let meaning = match values.as_slice() {
        [one] => {
            let standard = Hypothesis::new(Meaning::standard());
            MeaningPatch::between(
                &standard.meaning,
                &standard.with(tally.field.effect(*one)).meaning,
            )
        }
        _ => MeaningPatch::default(),
    };
    ProbedField {
        field: tally.field.id.to_owned(),
        about: tally.field.about.to_owned(),
        certainty,
        values: names(&values),
        standard: tally.field.name(0).to_owned(),
        evidence,
        telling,
        measured: intervals(prober, tally),
        meaning,
    }
}

/// What the values rest on, and which line refutes the standard's value.
fn evidence(prober: &Prober<'_>, tally: &Tally, values: &[usize]) -> (Vec<Quoted>, usize) {
    let (mut lines, mut telling): (Vec<String>, _) = (Vec::new(), 0);
    let format_answer =
        |(call, said): &(Call, Quoted)| format!("{}: {}", label(call), said.display());
    lines.extend(tally.broken.iter().take(MAX_LISTED).map(format_answer));
    match (tally.common().as_slice(), values) {
        ([one], [_]) => {
            let refuted = refutations(prober, tally, *one);
            let calls = tally.telling().count();
            let other = if refuted.len() == 1 {
                "1 other value is"
            } else {
                &format!("{} other values are", refuted.len())
            };
            lines.push(format!("holds the outputs of {calls} calls, {other} refuted"));
            if refuted.first().is_some_and(|(value, _)| *value == 0) {
                telling = lines.len();
            }
            lines.extend(refuted.into_iter().map(|(_, line)| line));
        }
        (_, []) => {
            let (read, refuted) = unexplained(prober, tally);
            lines.extend(read);
            if refuted.is_some() {
                telling = lines.len();
            }
            lines.extend(refuted);
        }
        ([], _) => lines.extend(
            tally.telling().filter(|seen| seen.fit.len() < tally.field.len()).take(MAX_LISTED).map(
                |seen| {
                    let names: Vec<&str> =
                        seen.fit.iter().map(|value| tally.field.name(*value)).collect();
                    format!("{}: {}", label(&prober.trials[seen.trial].0.call), names.join(" or "))
                },
            ),
        ),
        _ => lines.push(format!("{} calls do not tell them apart", tally.telling().count())),
    }
    if let [first, others @ ..] = tally.declined.as_slice() {
        let more = if others.is_empty() {
            String::new()
        } else {
            format!(" (and {} calls more)", others.len())
        };
        lines.push(format_answer(first) + &more);
    }
    (lines.into_iter().map(Quoted::new).collect(), telling)
}

/// Why each other value is out, one place a value; that of the standard, which has number 0, comes
/// first.
fn refutations(prober: &Prober<'_>, tally: &Tally, decided: usize) -> Vec<(usize, String)> {
    let bases = prober.bases(&[tally.field]);
    let others = (0..tally.field.len()).filter(|value| *value != decided);
    let refuted = |value: usize| {
        let (name, effect) = (tally.field.name(value), tally.field.effect(value));
        let mut calls = tally.telling().filter(|seen| !seen.fit.contains(&value));
        calls.find_map(|seen| {
            let place = refutation(prober, seen, &bases[0].with(effect))?;
            Some((value, format!("{name} is refuted: {place}")))
        })
    };
    others.filter_map(refuted).collect()
}

/// `n_q=3 n_k=7 causal at [b=0, h=0, i=0, c=1]: needs 0.25 ± 1e-7, got 0.2`.
fn refutation(prober: &Prober<'_>, seen: &Seen, hypothesis: &Hypothesis) -> Option<String> {
    let (trial, output) = &prober.trials[seen.trial];
    let evidence = hypothesis.refuted(trial, output, prober.contract, &label(&trial.call))?;
    let (place, got) = (evidence.format_place(), evidence.format_got());
    Some(format!("{place}: needs {}, got {got}", evidence.format_needed()))
}

/// The first call that no value holds: what was read, and what the standard needs.
fn unexplained(prober: &Prober<'_>, tally: &Tally) -> (Option<String>, Option<String>) {
    let Some(seen) = tally.seen.iter().find(|seen| seen.fit.is_empty()) else {
        return (None, None);
    };
    let (trial, output) = &prober.trials[seen.trial];
    let bases = prober.bases(&[tally.field]);
    let standard = bases[0].with(tally.field.effect(0));
    let refuted = refutation(prober, seen, &standard)
        .map(|place| format!("{} is refuted: {place}", tally.field.name(0)));
    let read = weighed(trial, output).map(|keys| format!("{}: {keys}", label(&trial.call)));
    (read, refuted)
}

/// Intervals of numbers that a field is about.
fn intervals(prober: &Prober<'_>, tally: &Tally) -> Vec<Measured> {
    let of = |what: fn(&Trial) -> String, range, set: fn(&mut qkvet_spec::Call, f64)| {
        let base = prober.bases(&[]).swap_remove(0);
        let base =
            base.with(Effect::Meaning(|meaning| meaning.explicit_scale = ExplicitScale::Used));
        let one = |seen: &Seen| {
            let (trial, output) = &prober.trials[seen.trial];
            let interval = measure(&base, &trial.call, output, prober.contract, range, set)?;
            Some(measured(what(trial), interval))
        };
        tally.seen.iter().filter_map(one).collect()
    };
    match tally.field.id {
        "default_scale" => of(
            |trial| format!("scale at d_k={} d_v={}", trial.call.dims().d_k, trial.call.dims().d_v),
            (-64.0, 64.0),
            |call, x| call.options.scale = Some(x),
        ),
        "explicit_scale" => of(
            |trial| {
                format!(
                    "scale given {} at d_k={}",
                    trial.call.options.scale.unwrap_or_default(),
                    trial.call.dims().d_k
                )
            },
            (-64.0, 64.0),
            |call, x| call.options.scale = Some(x),
        ),
        "softcap" => of(
            |trial| {
                format!(
                    "softcap given {} at d_k={}",
                    trial.call.options.softcap.unwrap_or_default(),
                    trial.call.dims().d_k
                )
            },
            (1.0 / 64.0, 64.0),
            |call, x| call.options.softcap = Some(x),
        ),
        _ => Vec::new(),
    }
}

/// The format of what came back.
fn format(prober: &Prober<'_>) -> Option<ProbedField> {
    let expected = prober.contract.output();
    let formats: Vec<String> = prober.asker.formats.iter().map(Dtype::to_string).collect();
    let certainty = match formats.len() {
        0 => return None,
        1 => Certainty::Decided,
        _ => Certainty::Mixed,
    };
    Some(fact("output_format", "format of the output", certainty, formats, &expected.to_string()))
}

/// Whether calls write into what they are given.
fn inputs(prober: &Prober<'_>) -> ProbedField {
    let certainty = if prober.trials.is_empty() { Certainty::Declined } else { Certainty::Decided };
    let value = if prober.asker.overwrites { "overwritten" } else { "unchanged" };
    let values = if prober.trials.is_empty() { Vec::new() } else { vec![value.to_owned()] };
    fact("inputs", "query, key, value, mask and bias after a call", certainty, values, "unchanged")
}

fn fact(
    field: &str,
    about: &str,
    certainty: Certainty,
    values: Vec<String>,
    standard: &str,
) -> ProbedField {
    ProbedField {
        field: field.to_owned(),
        about: about.to_owned(),
        certainty,
        values,
        standard: standard.to_owned(),
        evidence: vec!["seen in every answer".into()],
        telling: 0,
        measured: Vec::new(),
        meaning: MeaningPatch::default(),
    }
}
