//! What a student's own answers to earlier parts make of later ones.

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, Real, Value};

use super::fit::{Fit, fit, fits, have_same_extents, is_half_right};
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
    /// Whether these are right, and only rounded.
    pub(super) is_rounded: bool,
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
    /// Notes the answer to a part as a step, if it can be carried on: it earned something or is a
    /// known mistake, at least half of it is right or it is that mistake or follows, and it leaves
    /// something to compute.
    pub(super) fn note(
        &mut self,
        wanted: &RequestedStep<'_>,
        id: &str,
        given: &[Vec<ParsedNumber>],
        (is_known, follows): (bool, bool),
    ) {
        let RequestedStep { name, rows, places, is_number } = *wanted;
        let fits = if have_same_extents(rows, given) {
            fits(given, rows, places)
        } else {
            vec![Fit::Difference]
        };
        let kind = if fits.iter().all(|fit| *fit != Fit::Difference) {
            if fits.iter().all(|fit| *fit == Fit::Exact) || !fits.iter().all(|fit| fit.is_about()) {
                return;
            }
            Kind::Rounded
        } else if follows {
            Kind::Follows
        } else if is_known || is_half_right(given, rows, places) {
            Kind::Wrong
        } else {
            return;
        };
        let unrounded = given.iter().zip(rows).map(|(given, rows)| {
            let exact = |(x, right): (&ParsedNumber, &Real)| {
                if fit(x, right, places).is_right() { right.clone() } else { x.value.clone() }
            };
            given.iter().zip(rows).map(exact).collect()
        });
        let unrounded: Vec<Vec<Real>> = unrounded.collect();
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
        let with = |steps: &[&Step], is_unrounded: bool| {
            let values = steps.iter().map(|step| {
                (
                    step.name.clone(),
                    if is_unrounded { &step.unrounded } else { &step.written }.clone(),
                )
            });
            rows_with(&values.collect())
        };
        let from = |steps: &[&Step]| {
            let mut ids: Vec<String> = steps.iter().map(|step| step.id.clone()).collect();
            ids.dedup();
            ids
        };
        let all = of(&[Kind::Wrong, Kind::Follows, Kind::Rounded]);
        let rounded: Vec<&Step> =
            of(&[Kind::Rounded]).into_iter().filter(|step| !is_asked(step)).collect();
        let all: Vec<&Step> = all.into_iter().filter(|step| !is_asked(step)).collect();
        let mut carried = Vec::new();
        if !wrong.is_empty() {
            // As written; from the slip on without rounding; and as written with what is right too.
            for (steps, is_unrounded) in
                [(&wrong, false), (&of(&[Kind::Wrong]), true), (&all, false)]
            {
                carried.extend(with(steps, is_unrounded).map(|rows| Carried {
                    rows,
                    from: from(&wrong),
                    is_rounded: false,
                }));
            }
        } else if !rounded.is_empty() {
            carried.extend(with(&rounded, false).map(|rows| Carried {
                rows,
                from: from(&rounded),
                is_rounded: true,
            }));
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
