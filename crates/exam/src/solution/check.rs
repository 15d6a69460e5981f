//! A solution step by step.

use std::collections::HashSet;

use qkvet_prove::exact::{Exact, NoValue, Real};
use serde::Serialize;

use crate::Place;

use super::chain::Chain;
use super::entries::{beside, broken_laws, slips, wrong};
use super::file::{Entry, WrittenSolution};
use super::names::{Mistake, Step};
use super::remark::{Base, Remark};
use super::rounding_spans::{Carried, Difference, Span};
use super::stands_for::all_stand_for;

/// What was found in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// The right value.
    Right,
    /// What follows from the steps before it, which are not right.
    Follows,
    /// A slip.
    Slip,
    /// No exact value to hold it against.
    Undecided,
}

/// One step, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedStep {
    /// Its name.
    pub step: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What was found.
    pub found: Found,
    /// What the slip is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip: Option<Mistake>,
    /// What is to be said of it.
    pub says: Vec<Remark>,
}

/// A solution, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedSolution {
    /// Its name.
    pub solution: String,
    /// The first step with a slip.
    pub first: Option<&'static str>,
    /// How many steps were not decided.
    pub undecided: usize,
    /// All steps that were written.
    pub steps: Vec<CheckedStep>,
}

/// Numbers by rows.
type Rows = Vec<Vec<Real>>;

/// What was found in a step, the slip, and what is to be said of it.
type Judged = (Found, Option<Mistake>, Vec<Remark>);

/// Values that a step is held against: what it should follow from, and the words for it.
struct Bases {
    /// From the right values.
    truth: Chain,
    /// From the numbers as they were written.
    own: Chain,
    /// From the same way without rounding.
    unrounded: Chain,
    /// From all that written decimals stand for, once there is a slip among them.
    carried: Option<Carried>,
    /// Whether each slip has a name that gives its numbers.
    is_known: bool,
}

/// Checks a solution.
pub fn check(written: &WrittenSolution) -> CheckedSolution {
    let given = Chain::given(written);
    let mut bases = Bases {
        truth: given.clone(),
        own: given.clone(),
        unrounded: given,
        carried: None,
        is_known: true,
    };
    let mut steps = Vec::new();
    for (step, entry) in &written.steps {
        let found = bases.step(*step, entry);
        let (found, slip, says) = found.unwrap_or_else(|reason| bases.alone(*step, entry, reason));
        steps.push(CheckedStep {
            step: step.name(),
            place: entry.place.clone(),
            found,
            slip,
            says,
        });
    }
    let first = steps.iter().find(|step| step.found == Found::Slip).map(|step| step.step);
    let undecided = steps.iter().filter(|step| step.found == Found::Undecided).count();
    CheckedSolution { solution: written.title.clone(), first, undecided, steps }
}

impl Bases {
    /// Checks one step, and goes on with what was written.
    fn step(&mut self, step: Step, entry: &Entry) -> Result<Judged, NoValue> {
        for chain in [&mut self.truth, &mut self.own, &mut self.unrounded] {
            chain.fill(step)?;
        }
        if let Some(carried) = &mut self.carried {
            carried.fill(step, &self.unrounded);
        }
        let stated = entry.values();
        let right = self.truth.rows(step.formula());
        let computed =
            self.carried.as_ref().and_then(|carried| carried.rows(step, &self.unrounded));
        let (found, exactly) = self.judge(step, entry, computed.as_deref())?;
        self.carry(step, entry, (found.1, exactly.as_deref()), computed);
        self.own.set(step, &stated);
        self.unrounded.set(step, exactly.as_ref().unwrap_or(&stated));
        // What is given beside a step, such as the scale, is the truth.
        if !self.truth.has(step) {
            self.truth.set(step, &right?);
        }
        Ok(found)
    }

    /// Goes on with all that the numbers of a step stand for, once there is a slip.
    fn carry(
        &mut self,
        step: Step,
        entry: &Entry,
        (slip, exactly): (Option<Mistake>, Option<&[Vec<Real>]>),
        computed: Option<Vec<Vec<Span>>>,
    ) {
        if self.carried.is_none() && slip.is_some() {
            self.carried = Carried::of(&self.unrounded);
        }
        let Some(carried) = &mut self.carried else { return };
        match (slip, exactly) {
            // Numbers that came from rounded ones may look right.
            (Some(Mistake::EarlyRounding), _) => {
                carried.set(step, entry, None, Difference::HalfUnit)
            }
            // Another slip may give the same digits.
            (Some(_), Some(value)) => return carried.set_for(step, entry, value),
            _ => {
                let computed = computed.or_else(|| carried.rows(step, &self.unrounded));
                let off = if slip == Some(Mistake::NotNearest) {
                    Difference::Unit
                } else {
                    Difference::HalfUnit
                };
                carried.set(step, entry, computed.as_deref(), off);
            }
        }
        self.is_known &= slip.is_none() || carried.is_known();
    }

    /// What can be said of a step whose right value has no exact form here: whether it breaks a
    /// law, and whether it follows from what is written before it.
    fn alone(&mut self, step: Step, entry: &Entry, reason: NoValue) -> Judged {
        let laws = broken_laws(step, entry, &self.own);
        let own = self.own.fill(step).and_then(|()| self.own.rows(step.formula()));
        let stated = entry.values();
        self.own.set(step, &stated);
        self.unrounded.set(step, &stated);
        if let Some(carried) = &mut self.carried {
            carried.set(step, entry, None, Difference::HalfUnit);
        }
        let extents = own.as_ref().ok().and_then(|own| other_extents(entry, own));
        match own {
            _ if !laws.is_empty() => (Found::Slip, Some(Mistake::Arithmetic), laws),
            _ if extents.is_some() => {
                (Found::Slip, Some(Mistake::Extents), extents.into_iter().collect())
            }
            Ok(own) if all_stand_for(entry, &own) => {
                (Found::Follows, None, vec![Remark::FollowsUndecided])
            }
            _ => (Found::Undecided, None, vec![Remark::Undecided(reason)]),
        }
    }

    /// What is found in a step, and its value before it was rounded.
    fn judge(
        &self,
        step: Step,
        entry: &Entry,
        computed: Option<&[Vec<Span>]>,
    ) -> Result<(Judged, Option<Rows>), NoValue> {
        let formula = step.formula();
        let right = self.truth.rows(formula)?;
        let exactly = self.unrounded.rows(formula)?;
        if all_stand_for(entry, &exactly) {
            let found = if all_stand_for(entry, &right) {
                (Found::Right, None, Vec::new())
            } else {
                (Found::Follows, None, vec![Remark::Follows])
            };
            return Ok((found, Some(exactly)));
        }
        let decimals = entry.decimals();
        let follows = |i: usize, j: usize| {
            let span = computed.and_then(|rows| rows.get(i)?.get(j));
            span.is_some_and(|span| span.meets(&entry.rows[i][j], decimals))
        };
        let wrong_in =
            |rows: &[Vec<Real>]| wrong(entry, rows).into_iter().filter(|(i, j)| !follows(*i, *j));
        let fits = other_extents(entry, &exactly).is_none();
        if all_stand_for(entry, &right) {
            let is_told = !fits || wrong_in(&exactly).next().is_some();
            let says = is_told.then_some(Remark::RightAlone);
            return Ok(((Found::Right, None, says.into_iter().collect()), Some(right)));
        }
        // Entries that are right, or may follow, are no slip.
        let from_truth: HashSet<_> = wrong(entry, &right).into_iter().collect();
        let unlike: Vec<_> =
            wrong(entry, &exactly).into_iter().filter(|at| from_truth.contains(at)).collect();
        let accused = |rows: &[Vec<Real>]| -> Vec<(usize, usize)> {
            wrong_in(rows).filter(|at| unlike.contains(at)).collect()
        };
        let own = self.own.rows(formula);
        let is_rounded = own.as_ref().is_ok_and(|own| all_stand_for(entry, own));
        let is_seen = is_rounded && self.is_known && !unlike.is_empty();
        if fits && !is_seen && accused(&exactly).is_empty() {
            return Ok(((Found::Follows, None, vec![Remark::Follows]), None));
        }
        let early = |source, laws: Vec<Remark>| {
            let says = std::iter::once(Remark::Rounded(source));
            let says = says.chain(from_rounded(entry, &exactly, &unlike)).chain(laws).collect();
            (Found::Slip, Some(Mistake::EarlyRounding), says)
        };
        if is_rounded {
            return Ok((early(None, Vec::new()), Some(exactly)));
        }
        if let Some((slip, says, value)) = self.named(step, entry, &exactly) {
            let says = std::iter::once(says).chain(broken_laws(step, entry, &self.own)).collect();
            return Ok(((Found::Slip, Some(slip), says), Some(value)));
        }
        // One rounding that explains every entry comes before a cause for each.
        if let Some(source) = self.rounded_unseen(step, entry) {
            return Ok((early(Some(source), Vec::new()), Some(exactly)));
        }
        let laws = broken_laws(step, entry, &self.own);
        if let Some(says) = other_extents(entry, &exactly) {
            return Ok(((Found::Slip, Some(Mistake::Extents), vec![says]), None));
        }
        // Some come from rounded numbers, and no other is wrong.
        if own.as_ref().is_ok_and(|own| accused(own).is_empty()) {
            return Ok((early(None, laws), Some(exactly)));
        }
        // The fewest wrong entries say most.
        let mut best = (accused(&exactly), &exactly, &self.unrounded);
        for (rows, chain) in
            own.as_ref().ok().map(|own| (own, &self.own)).into_iter().chain([(&right, &self.truth)])
        {
            let at = accused(rows);
            if !at.is_empty() && at.len() < best.0.len() {
                best = (at, rows, chain);
            }
        }
        let (slip, says) = slips(step, entry, best.1, &best.0, best.2);
        Ok(((Found::Slip, Some(slip), says.into_iter().chain(laws).collect()), None))
    }

    /// What of the steps before was rounded, and to how many decimals, though it is written with
    /// more, or not at all: what is written follows from that.
    fn rounded_unseen(&self, step: Step, entry: &Entry) -> Option<(&'static str, usize)> {
        let mut tries = [3, 2, 1].into_iter().flat_map(|places| {
            let chains = [&self.unrounded, &self.own].into_iter();
            chains.flat_map(move |chain| {
                step.sources().iter().map(move |source| (places, chain, *source))
            })
        });
        tries.find_map(|(places, chain, (steps, what))| {
            let rows =
                chain.coarser(steps, places).and_then(|chain| chain.rows(step.formula())).ok()?;
            all_stand_for(entry, &rows).then_some((what, places))
        })
    }

    /// A mistake that gives what is written, from any of the bases.
    fn named(
        &self,
        step: Step,
        entry: &Entry,
        exactly: &[Vec<Real>],
    ) -> Option<(Mistake, Remark, Vec<Vec<Real>>)> {
        let bases = [
            (&self.unrounded, Base::Steps),
            (&self.own, Base::Rounded),
            (&self.truth, Base::Right),
        ];
        for (chain, base) in bases {
            for (slip, formula, says) in step.mistakes() {
                // A formula that does not fit these extents is no candidate.
                let Ok(rows) = chain.rows(formula) else { continue };
                if all_stand_for(entry, &rows) && !same(&rows, exactly) {
                    return Some((*slip, Remark::Mistake { says, base }, rows));
                }
            }
            if step == Step::Weights
                && let Some((slip, says, rows)) = other_softmax(chain, entry)
            {
                return Some((slip, Remark::Mistake { says, base }, rows));
            }
        }
        None
    }
}

/// The first entry that shows rounded numbers before it.
fn from_rounded(entry: &Entry, exactly: &[Vec<Real>], unlike: &[(usize, usize)]) -> Option<Remark> {
    let at = *unlike.first()?;
    let x = &entry.rows[at.0][at.1];
    let right = beside(&exactly[at.0][at.1], x, entry.decimals());
    Some(Remark::FromRounded { at, written: x.text.clone(), right })
}

/// What is to be said of a step that has other extents than its value.
fn other_extents(entry: &Entry, value: &[Vec<Real>]) -> Option<Remark> {
    let (expected, got) = ((value.len(), value.first().map_or(0, Vec::len)), entry.extents());
    (got != expected).then_some(Remark::Extents { expected, got })
}

fn same(x: &[Vec<Real>], y: &[Vec<Real>]) -> bool {
    x.len() == y.len()
        && x.iter().zip(y).all(|(x, y)| {
            x.len() == y.len()
                && x.iter().zip(y).all(|(x, y)| x.compare(y).is_ok_and(std::cmp::Ordering::is_eq))
        })
}

/// Weights by other rules: over the whole matrix, without the sum, the largest alone.
fn other_softmax(chain: &Chain, entry: &Entry) -> Option<(Mistake, &'static str, Vec<Vec<Real>>)> {
    let scores = chain.rows("S").ok()?;
    let powers: Vec<Vec<Exact>> = scores
        .iter()
        .map(|row| row.iter().map(Real::exp).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()
        .ok()?;
    let plain = |rows: &[Vec<Exact>]| -> Vec<Vec<Real>> {
        rows.iter().map(|row| row.iter().cloned().map(Real::from).collect()).collect()
    };
    let all = powers.iter().flatten().fold(Exact::from(0), |sum, x| &sum + x);
    let over_all: Vec<Vec<Exact>> = powers
        .iter()
        .map(|row| row.iter().map(|x| x.divide(&all)).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()
        .ok()?;
    let mut largest = Vec::new();
    for row in &scores {
        let mut best = 0;
        for at in 1..row.len() {
            if row[at].compare(&row[best]).ok()?.is_gt() {
                best = at;
            }
        }
        largest
            .push((0..row.len()).map(|at| Exact::from(i64::from(at == best))).collect::<Vec<_>>());
    }
    [
        (Mistake::WrongAxis, "the softmax ran over the whole matrix, not over rows", over_all),
        (Mistake::NoSoftmax, "the exponentials were not divided by their sum", powers),
        (Mistake::NoSoftmax, "only the largest score was kept", largest),
    ]
    .into_iter()
    .map(|(slip, says, rows)| (slip, says, plain(&rows)))
    .find(|(_, _, rows)| all_stand_for(entry, rows))
}
