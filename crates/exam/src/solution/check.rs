//! A solution step by step.

use qkvet_prove::exact::{Exact, NoValue, Real};
use serde::Serialize;

use super::chain::Chain;
use super::entries::{all_stand_for, broken_laws, slips, wrong};
use super::names::{Slip, Step};
use super::written::{Entry, Written};
use crate::counted::counted;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedStep {
    /// Its name.
    pub step: &'static str,
    /// Where it stands.
    pub place: String,
    /// What was found.
    pub found: Found,
    /// What the slip is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip: Option<Slip>,
    /// What is to be said of it.
    pub says: Vec<String>,
}

/// A solution, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

/// Values that a step is held against: what it should follow from, and the words for it.
struct Bases {
    /// From the right values.
    truth: Chain,
    /// From the numbers as they were written.
    own: Chain,
    /// From the same way without rounding.
    unrounded: Chain,
}

/// Checks a solution.
pub fn check(written: &Written) -> CheckedSolution {
    let given = Chain::given(written);
    let mut bases = Bases { truth: given.clone(), own: given.clone(), unrounded: given };
    let mut steps = Vec::new();
    for (step, entry) in &written.steps {
        let found = bases.step(*step, entry);
        let (found, slip, says) = found.unwrap_or_else(|reason| bases.alone(*step, entry, &reason));
        steps.push(CheckedStep { step: step.name(), place: entry.place.clone(), found, slip, says });
    }
    let first = steps.iter().find(|step| step.found == Found::Slip).map(|step| step.step);
    let undecided = steps.iter().filter(|step| step.found == Found::Undecided).count();
    CheckedSolution { solution: written.title.clone(), first, undecided, steps }
}

impl Bases {
    /// Checks one step, and goes on with what was written.
    fn step(&mut self, step: Step, entry: &Entry) -> Result<(Found, Option<Slip>, Vec<String>), NoValue> {
        for chain in [&mut self.truth, &mut self.own, &mut self.unrounded] {
            chain.fill(step)?;
        }
        let stated = entry.values();
        let right = self.truth.rows(step.formula());
        let (found, exactly) = self.judge(step, entry)?;
        self.own.set(step, &stated);
        self.unrounded.set(step, exactly.as_ref().unwrap_or(&stated));
        // What is given beside a step, such as the scale, is the truth.
        if !self.truth.has(step) {
            self.truth.set(step, &right?);
        }
        Ok(found)
    }

    /// What can be said of a step whose right value has no exact form here: whether it breaks a law, and whether it follows from what
    /// is written before it.
    fn alone(&mut self, step: Step, entry: &Entry, reason: &NoValue) -> (Found, Option<Slip>, Vec<String>) {
        let laws = broken_laws(step, entry, &self.own);
        let own = self.own.fill(step).and_then(|()| self.own.rows(step.formula()));
        let stated = entry.values();
        self.own.set(step, &stated);
        self.unrounded.set(step, &stated);
        let extents = own.as_ref().ok().and_then(|own| other_extents(entry, own));
        match own {
            _ if !laws.is_empty() => (Found::Slip, Some(Slip::Arithmetic), laws),
            _ if extents.is_some() => (Found::Slip, Some(Slip::Extents), extents.into_iter().collect()),
            Ok(own) if all_stand_for(entry, &own) => {
                let says = "follows from what is written before it, of which not all was decided".to_owned();
                (Found::Follows, None, vec![says])
            }
            _ => (Found::Undecided, None, vec![reason.to_string()]),
        }
    }

    /// What is found in a step, and its value before it was rounded.
    #[expect(clippy::type_complexity, reason = "found, slip and words, and a matrix")]
    fn judge(
        &self,
        step: Step,
        entry: &Entry,
    ) -> Result<((Found, Option<Slip>, Vec<String>), Option<Vec<Vec<Real>>>), NoValue> {
        let formula = step.formula();
        let right = self.truth.rows(formula)?;
        let exactly = self.unrounded.rows(formula)?;
        if all_stand_for(entry, &exactly) {
            let found = if all_stand_for(entry, &right) {
                (Found::Right, None, Vec::new())
            } else {
                (Found::Follows, None, vec!["follows from the steps before it".to_owned()])
            };
            return Ok((found, Some(exactly)));
        }
        let own = self.own.rows(formula);
        if own.as_ref().is_ok_and(|own| all_stand_for(entry, own)) {
            let says = std::iter::once("numbers were rounded before going on".to_owned());
            let says = says.chain(from_rounded(entry, &exactly)).collect();
            return Ok(((Found::Slip, Some(Slip::EarlyRounding), says), Some(exactly)));
        }
        if all_stand_for(entry, &right) {
            let says = vec!["right, though it does not follow from what is written before it".to_owned()];
            return Ok(((Found::Right, None, says), Some(right)));
        }
        if let Some((slip, says, value)) = self.named(step, entry, &exactly) {
            let says = std::iter::once(says).chain(broken_laws(step, entry, &self.own)).collect();
            return Ok(((Found::Slip, Some(slip), says), Some(value)));
        }
        // One rounding that explains every entry comes before a cause for each.
        if let Some((what, places)) = self.rounded_unseen(step, entry) {
            let decimals = counted(places, "decimal");
            let says = std::iter::once(format!("numbers were rounded before going on: {what} to {decimals}"));
            let says = says.chain(from_rounded(entry, &exactly)).collect();
            return Ok(((Found::Slip, Some(Slip::EarlyRounding), says), Some(exactly)));
        }
        let laws = broken_laws(step, entry, &self.own);
        if let Some(says) = other_extents(entry, &exactly) {
            return Ok(((Found::Slip, Some(Slip::Extents), vec![says]), None));
        }
        // The fewest wrong entries say most.
        let mut best = (wrong(entry, &exactly), &exactly, &self.unrounded);
        for (rows, chain) in own.as_ref().ok().map(|own| (own, &self.own)).into_iter().chain([(&right, &self.truth)]) {
            let at = wrong(entry, rows);
            if at.len() < best.0.len() {
                best = (at, rows, chain);
            }
        }
        let (slip, says) = slips(step, entry, best.1, &best.0, best.2);
        Ok(((Found::Slip, Some(slip), says.into_iter().chain(laws).collect()), None))
    }

    /// What of the steps before was rounded, and to how many decimals, though it is written with more, or not at all: what is written
    /// follows from that.
    fn rounded_unseen(&self, step: Step, entry: &Entry) -> Option<(&'static str, usize)> {
        let mut tries = [3, 2, 1].into_iter().flat_map(|places| {
            let chains = [&self.unrounded, &self.own].into_iter();
            chains.flat_map(move |chain| step.sources().iter().map(move |source| (places, chain, *source)))
        });
        tries.find_map(|(places, chain, (steps, what))| {
            let rows = chain.coarser(steps, places).and_then(|chain| chain.rows(step.formula())).ok()?;
            all_stand_for(entry, &rows).then_some((what, places))
        })
    }

    /// A mistake that gives what is written, from any of the bases.
    fn named(&self, step: Step, entry: &Entry, exactly: &[Vec<Real>]) -> Option<(Slip, String, Vec<Vec<Real>>)> {
        let bases = [
            (&self.unrounded, ""),
            (&self.own, " (from rounded numbers)"),
            (&self.truth, " (and it follows from the right numbers, not from those written before it)"),
        ];
        for (chain, from) in bases {
            for (slip, formula, says) in step.mistakes() {
                // A formula that does not fit these extents is no candidate.
                let Ok(rows) = chain.rows(formula) else { continue };
                if all_stand_for(entry, &rows) && !same(&rows, exactly) {
                    return Some((*slip, format!("{says}{from}"), rows));
                }
            }
            if step == Step::Weights
                && let Some((slip, says, rows)) = other_softmax(chain, entry)
            {
                return Some((slip, format!("{says}{from}"), rows));
            }
        }
        None
    }
}

/// The first entry that shows rounded numbers before it.
fn from_rounded(entry: &Entry, exactly: &[Vec<Real>]) -> Option<String> {
    let (i, j) = *wrong(entry, exactly).first()?;
    let (written, right) = (&entry.rows[i][j].text, exactly[i][j].digits(entry.decimals().unwrap_or(0)));
    let place = format!("entry ({}, {})", i + 1, j + 1);
    Some(format!("{place}: {written} comes from rounded numbers, {right} from unrounded ones"))
}

/// What is to be said of a step that has other extents than its value.
fn other_extents(entry: &Entry, value: &[Vec<Real>]) -> Option<String> {
    let (expected, got) = ((value.len(), value.first().map_or(0, Vec::len)), entry.extents());
    (got != expected).then(|| format!("expected {} × {} numbers, got {} × {}", expected.0, expected.1, got.0, got.1))
}

fn same(x: &[Vec<Real>], y: &[Vec<Real>]) -> bool {
    x.len() == y.len()
        && x.iter().zip(y).all(|(x, y)| {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.compare(y).is_ok_and(std::cmp::Ordering::is_eq))
        })
}

/// Weights by other rules: over the whole matrix, without the sum, the largest alone.
fn other_softmax(chain: &Chain, entry: &Entry) -> Option<(Slip, String, Vec<Vec<Real>>)> {
    let scores = chain.rows("S").ok()?;
    let powers: Vec<Vec<Exact>> =
        scores.iter().map(|row| row.iter().map(Real::exp).collect::<Result<_, _>>()).collect::<Result<_, _>>().ok()?;
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
        largest.push((0..row.len()).map(|at| Exact::from(i64::from(at == best))).collect::<Vec<_>>());
    }
    [
        (Slip::WrongAxis, "the softmax ran over the whole matrix, not over rows", over_all),
        (Slip::NoSoftmax, "the exponentials were not divided by their sum", powers),
        (Slip::NoSoftmax, "only the largest score was kept", largest),
    ]
    .into_iter()
    .map(|(slip, says, rows)| (slip, says.to_owned(), plain(&rows)))
    .find(|(_, _, rows)| all_stand_for(entry, rows))
}
