//! What a student's own answers to earlier parts make of later ones.

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, Real, Value};

use super::fit::{Fit, fit, fits, have_same_extents};
use crate::student_answer::ParsedNumber;

/// A step of the solution as a student gave it.
struct Step {
    name: String,
    /// The part.
    id: String,
    /// The numbers as they are written.
    written: Value,
    /// The same with what is right to its last digit unrounded, as a calculator keeps it.
    unrounded: Value,
    kind: Kind,
}

/// How a step stands to the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It is wrong.
    Wrong,
    /// It follows from one that is wrong.
    Follows,
    /// It is right, but rounded.
    Rounded,
}

/// What a part would be with own steps in the place of the right ones.
pub(super) struct Carried {
    pub(super) rows: Vec<Vec<Real>>,
    /// The parts whose answers these are.
    pub(super) from: Vec<String>,
}

/// The rows of a part with these values in the place of the right ones.
type RowsWith<'a> = &'a dyn Fn(&IndexMap<String, Value>) -> Option<Vec<Vec<Real>>>;

/// Own steps, in the order of the parts.
#[derive(Default)]
pub(super) struct Own {
    steps: Vec<Step>,
}

/// A step that a part asks for: its name, its right numbers, and whether it is a number and no
/// matrix.
pub(super) struct RequestedStep<'a> {
    pub(super) name: &'a str,
    pub(super) rows: &'a [Vec<Real>],
    pub(super) places: Option<usize>,
    pub(super) is_number: bool,
}

impl Own {
    /// Notes the answer to a part as a step that is carried on, whatever it earned, if it leaves
    /// something to compute. A known mistake is carried on with its exact numbers, too.
    pub(super) fn note(
        &mut self,
        wanted: &RequestedStep<'_>,
        id: &str,
        given: &[Vec<ParsedNumber>],
        (mistake, follows): (Option<&[Vec<Real>]>, bool),
    ) {
        let RequestedStep { name, rows, places, is_number } = *wanted;
        if !have_same_extents(rows, given) {
            return;
        }
        let fits = fits(given, rows, places);
        let kind = if fits.iter().all(|fit| *fit == Fit::Exact) {
            return;
        } else if fits.iter().all(|fit| fit.is_about()) {
            Kind::Rounded
        } else if follows {
            Kind::Follows
        } else {
            Kind::Wrong
        };
        // Of 0 nothing is left to compute.
        if is_number && given.iter().flatten().all(|x| x.is(&Real::from(0))) {
            return;
        }
        let unrounded = given.iter().zip(rows).map(|(given, rows)| {
            let exact = |(x, right): (&ParsedNumber, &Real)| {
                if fit(x, right, places).is_right() { right.clone() } else { x.value.clone() }
            };
            given.iter().zip(rows).map(exact).collect()
        });
        let unrounded: Vec<Vec<Real>> =
            mistake.map_or_else(|| unrounded.collect(), <[Vec<Real>]>::to_vec);
        let written: Vec<Vec<Real>> =
            given.iter().map(|row| row.iter().map(|x| x.value.clone()).collect()).collect();
        let values = value(&written, rows, is_number).zip(value(&unrounded, rows, is_number));
        if let Some((written, unrounded)) = values {
            self.steps.push(Step {
                name: name.to_owned(),
                id: id.to_owned(),
                written,
                unrounded,
                kind,
            });
        }
    }

    /// What own steps make of a part that asks for the steps `asked`, by `rows_with`, which puts
    /// values in the place of the right ones.
    pub(super) fn carried(&self, asked: &[&str], rows_with: RowsWith<'_>) -> Vec<Carried> {
        let is_asked = |step: &&Step| asked.contains(&step.name.as_str());
        let of = |kinds: &[Kind]| -> Vec<&Step> {
            self.steps.iter().filter(|step| kinds.contains(&step.kind)).collect()
        };
        let wrong = of(&[Kind::Wrong, Kind::Follows]);
        if wrong.iter().any(is_asked) {
            return Vec::new();
        }
        let with = |steps: &[(&Step, bool)]| {
            let value = |(step, is_written): &(&Step, bool)| {
                let value = if *is_written { &step.written } else { &step.unrounded };
                (step.name.clone(), value.clone())
            };
            rows_with(&steps.iter().map(value).collect())
        };
        let rounded: Vec<&Step> =
            of(&[Kind::Rounded]).into_iter().filter(|step| !is_asked(step)).collect();
        // The slips as they are written or exactly, with what follows from them or without it, and
        // with what is right as it is written or exactly.
        let mut carried = Vec::new();
        for (wrong, is_written) in
            [(&wrong, true), (&of(&[Kind::Wrong]), false), (&of(&[Kind::Wrong]), true)]
        {
            for rounded in [&Vec::new(), &rounded] {
                let all = wrong.iter().map(|step| (*step, is_written));
                let all: Vec<(&Step, bool)> =
                    all.chain(rounded.iter().map(|step| (*step, true))).collect();
                if all.is_empty() {
                    continue;
                }
                let cause = if wrong.is_empty() { rounded } else { wrong };
                let mut from: Vec<String> = cause.iter().map(|step| step.id.clone()).collect();
                from.dedup();
                carried.extend(with(&all).map(|rows| Carried { rows, from }));
            }
        }
        carried
    }
}

/// Numbers as a step, if they have the extents of the right ones.
fn value(own: &[Vec<Real>], right: &[Vec<Real>], is_number: bool) -> Option<Value> {
    let same = have_same_extents(own, right);
    let cols = right.first().map(Vec::len)?;
    let data: Vec<Real> = own.iter().flatten().cloned().collect();
    if is_number {
        return data.into_iter().next().filter(|_| same).map(Value::Number);
    }
    same.then(|| {
        Value::Matrices(ExactMatrices { batch: None, heads: None, rows: right.len(), cols, data })
    })
}
