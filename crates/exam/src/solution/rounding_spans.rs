//! Where the numbers lie that somebody goes on with after a slip.
//!
//! A written decimal stands for any number within half a unit of its last digit, one that was cut
//! off within a whole one; which of them a calculator kept is not known.

use std::collections::HashMap;

use qkvet_prove::exact::{Exact, Real};

use super::chain::Chain;
use super::file::Entry;
use super::names::{STEPS, Step};
use super::stands_for::stands_for;
use crate::student_answer::{Form, ParsedNumber, approximate, half_unit};

/// The decimals of `approximate`.
const ENOUGH: usize = 40;

/// All numbers between two rational ones.
#[derive(Clone, Debug)]
pub(super) struct Span {
    low: Exact,
    high: Exact,
}

/// What was written may be off by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Rounded to the nearest.
    HalfUnit,
    /// Cut off, or rounded the other way.
    Unit,
}

/// Spans of the steps, by letter.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    steps: HashMap<&'static str, Vec<Vec<Span>>>,
}

impl Span {
    /// Around a number.
    fn of(x: &Real) -> Option<Self> {
        let around = |x: &Exact, by: &Exact| Self { low: x - by, high: x + by };
        Some(match x.plain() {
            Ok(x) if x.rational().is_some() => around(x, &0.into()),
            _ => around(approximate(x).ok()?.plain().ok()?, &half_unit(ENOUGH)),
        })
    }

    fn zero() -> Self {
        Self { low: 0.into(), high: 0.into() }
    }

    fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    fn times(&self, other: &Self) -> Option<Self> {
        let ends = [
            (&self.low, &other.low),
            (&self.low, &other.high),
            (&self.high, &other.low),
            (&self.high, &other.high),
        ];
        let ends = ends.map(|(x, y)| x * y);
        Some(Self { low: ends.iter().min()?.clone(), high: ends.iter().max()?.clone() })
    }

    /// `e^x` of all that is between.
    fn exp(&self) -> Option<Self> {
        let low = Self::of(&self.low.exp().ok()?.into())?.low;
        Some(Self { low: low.max(0.into()), high: Self::of(&self.high.exp().ok()?.into())?.high })
    }

    /// Whether a written number stands for one that is between.
    pub(super) fn meets(&self, x: &ParsedNumber, decimals: Option<usize>) -> bool {
        let Ok(value) = x.value.plain() else { return false };
        let nearest = value.clone().clamp(self.low.clone(), self.high.clone());
        stands_for(x, &nearest.into(), decimals)
    }

    /// Whether it is this number alone.
    fn is(&self, x: &ParsedNumber) -> bool {
        self.low == self.high && x.is(&self.low.clone().into())
    }

    /// What a written number stands for.
    fn written(x: &ParsedNumber, decimals: Option<usize>, off: Difference) -> Option<Self> {
        let value = Self::of(&x.value)?;
        let half = radius(x, decimals);
        let by = if off == Difference::Unit { &half + &half } else { half };
        Some(Self { low: &value.low - &by, high: &value.high + &by })
    }

    /// What is in both; the other, if nothing is.
    fn within(self, other: &Self) -> Self {
        let low = self.low.max(other.low.clone());
        let high = self.high.min(other.high.clone());
        if low <= high { Self { low, high } } else { other.clone() }
    }
}

impl Carried {
    /// The values of a chain, nowhere wider than they are known.
    pub(super) fn of(chain: &Chain) -> Option<Self> {
        let mut steps = HashMap::new();
        for step in STEPS.into_iter().filter(|step| chain.has(*step)) {
            steps.insert(step.letter(), spans(&chain.rows(step.letter()).ok()?)?);
        }
        Some(Self { steps })
    }

    /// Where the entries of a step lie; `chain` has what is given.
    pub(super) fn rows(&self, step: Step, chain: &Chain) -> Option<Vec<Vec<Span>>> {
        let rows = |step: Step| self.steps.get(step.letter());
        match step {
            Step::Queries | Step::Keys | Step::Values | Step::Scale => {
                spans(&chain.rows(step.formula()).ok()?)
            }
            Step::Scores => product(rows(Step::Queries)?, &transposed(rows(Step::Keys)?)),
            Step::Scaled => {
                let scale = rows(Step::Scale)?.first()?.first()?;
                rows(Step::Scores)?
                    .iter()
                    .map(|row| row.iter().map(|x| x.times(scale)).collect())
                    .collect()
            }
            Step::Weights => rows(Step::Scaled)?.iter().map(|row| softmax(row)).collect(),
            Step::Output => product(rows(Step::Weights)?, rows(Step::Values)?),
        }
    }

    /// Computes all steps before one that were not written.
    pub(super) fn fill(&mut self, before: Step, chain: &Chain) {
        for step in STEPS.into_iter().filter(|step| *step < before) {
            if !self.steps.contains_key(step.letter())
                && let Some(rows) = self.rows(step, chain)
            {
                self.steps.insert(step.letter(), rows);
            }
        }
    }

    /// Whether all spans are numbers.
    pub(super) fn is_known(&self) -> bool {
        let most = &half_unit(ENOUGH) + &half_unit(ENOUGH);
        self.steps.values().flatten().flatten().all(|span| &span.high - &span.low <= most)
    }

    /// Goes on with what was written for a value, if it is that value exactly; else with all that
    /// it stands for.
    pub(super) fn set_for(&mut self, step: Step, entry: &Entry, value: &[Vec<Real>]) {
        let is_exact =
            entry.rows.iter().flatten().zip(value.iter().flatten()).all(|(x, value)| x.is(value));
        if is_exact {
            self.put(step, spans(value))
        } else {
            self.set(step, entry, None, Difference::HalfUnit)
        }
    }

    fn put(&mut self, step: Step, rows: Option<Vec<Vec<Span>>>) {
        match rows {
            Some(rows) => self.steps.insert(step.letter(), rows),
            None => self.steps.remove(step.letter()),
        };
    }

    /// Goes on with what was written. A row that follows lies where it was computed as well; one
    /// entry of another row that seems to follow may have changed in digits that are not seen.
    pub(super) fn set(
        &mut self,
        step: Step,
        entry: &Entry,
        computed: Option<&[Vec<Span>]>,
        off: Difference,
    ) {
        let decimals = entry.decimals();
        let right = entry.rows.iter().flatten().zip(computed.into_iter().flatten().flatten());
        let mut right = right.filter(|(x, span)| span.meets(x, decimals)).peekable();
        // Where all that is right is exactly so, nothing was rounded.
        let is_exact = right.peek().is_some() && right.all(|(x, span)| span.is(x));
        let written = |x: &ParsedNumber, off| {
            if is_exact { Span::of(&x.value) } else { Span::written(x, decimals, off) }
        };
        let rows = entry.rows.iter().enumerate().map(|(i, row)| {
            let computed = computed.and_then(|rows| rows.get(i)).filter(|spans| {
                spans.len() == row.len()
                    && spans.iter().zip(row).all(|(span, x)| span.meets(x, decimals))
            });
            let span = |(j, x)| match computed {
                Some(spans) => written(x, Difference::HalfUnit).map(|span| span.within(&spans[j])),
                None => written(x, off),
            };
            row.iter().enumerate().map(span).collect()
        });
        let rows = rows.collect();
        self.put(step, rows);
    }
}

/// How far from a written number the one can be that it stands for.
pub(super) fn radius(x: &ParsedNumber, decimals: Option<usize>) -> Exact {
    match x.form {
        Form::Decimal(0) => decimals.map_or(Exact::from(0), half_unit),
        Form::Decimal(decimals) => half_unit(decimals),
        Form::Expression => Exact::from(0),
    }
}

fn spans(rows: &[Vec<Real>]) -> Option<Vec<Vec<Span>>> {
    rows.iter().map(|row| row.iter().map(Span::of).collect()).collect()
}

fn transposed(rows: &[Vec<Span>]) -> Vec<Vec<Span>> {
    let cols = rows.first().map_or(0, Vec::len);
    (0..cols).map(|j| rows.iter().map(|row| row[j].clone()).collect()).collect()
}

/// Nothing of factors that do not fit.
fn product(left: &[Vec<Span>], right: &[Vec<Span>]) -> Option<Vec<Vec<Span>>> {
    let cols = right.first()?.len();
    if left.iter().any(|row| row.len() != right.len()) {
        return None;
    }
    let dot = |row: &[Span], j: usize| {
        row.iter().zip(right).try_fold(Span::zero(), |sum, (x, y)| Some(sum.plus(&x.times(&y[j])?)))
    };
    left.iter().map(|row| (0..cols).map(|j| dot(row, j)).collect()).collect()
}

/// A weight grows with its own score, and falls with each other.
fn softmax(row: &[Span]) -> Option<Vec<Span>> {
    // The largest is taken off, so that 40 decimals of the powers are enough.
    let most = row.iter().map(|x| &x.high).max()?;
    let powers: Vec<Span> = row
        .iter()
        .map(|x| Span { low: &x.low - most, high: &x.high - most }.exp())
        .collect::<Option<_>>()?;
    let weight = |at: usize| {
        let others = powers.iter().enumerate().filter(|(j, _)| *j != at).map(|(_, x)| x);
        let others = others.fold(Span::zero(), |sum, x| sum.plus(x));
        let power = &powers[at];
        // Nothing at all has no share of nothing.
        let share = |x: &Exact, others: &Exact| {
            if x.is_zero() { Ok(0.into()) } else { x.divide(&(x + others)) }
        };
        Some(Span {
            low: share(&power.low, &others.high).ok()?,
            high: share(&power.high, &others.low).ok()?,
        })
    };
    (0..row.len()).map(weight).collect()
}
