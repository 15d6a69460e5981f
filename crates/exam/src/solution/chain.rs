//! The values of all steps, from one or another beginning.

use std::sync::LazyLock;

use indexmap::IndexMap;
use qkvet_prove::exact::{ExactMatrices, Instance, NoValue, NotExact, Real, Value, evaluate};
use qkvet_spec::CheckedLaw;
use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::syntax::parse;

use super::file::{Entry, WrittenSolution};
use super::names::{STEPS, Step};
use crate::student_answer::{approximate, rounded};

/// A law without variables: the values of formulas are those of the instance.
static LAW: LazyLock<Option<CheckedLaw>> = LazyLock::new(|| {
    let text = "law: solution\ntitle: solution\nexpect: 1 <= 2\nproof: definition\ncatches: []\n";
    CheckedLaw::from_yaml("solution", text).ok()
});

/// Values by letter.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    instance: Instance,
}

/// A matrix, of a number one of one.
fn value_of(entry: &Entry, is_number: bool) -> Value {
    let data: Vec<Real> = entry.rows.iter().flatten().map(|x| x.value.clone()).collect();
    let (rows, cols) = entry.extents();
    match data.first() {
        Some(x) if is_number => Value::Number(x.clone()),
        _ => Value::Matrices(ExactMatrices { batch: None, heads: None, rows, cols, data }),
    }
}

/// A value with something done to each of its numbers.
fn each(value: &Value, to: &dyn Fn(&Real) -> Result<Real, NotExact>) -> Result<Value, NotExact> {
    Ok(match value {
        Value::Number(x) => Value::Number(to(x)?),
        Value::Matrices(m) => {
            let data = m.data.iter().map(to).collect::<Result<_, _>>()?;
            Value::Matrices(ExactMatrices { data, ..m.clone() })
        }
        other => other.clone(),
    })
}

impl Chain {
    /// What is given, without steps.
    pub(super) fn given(written: &WrittenSolution) -> Self {
        let mut instance = Instance::default();
        for (name, entry) in &written.given {
            let letter = if name == "scale" { "s" } else { name.as_str() };
            instance.values.insert(letter.to_owned(), value_of(entry, name == "scale"));
        }
        let cols = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|name| written.given.get(*name))
                .map_or(1, |entry| entry.extents().1)
        };
        let rows = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|name| written.given.get(*name))
                .map_or(1, |entry| entry.extents().0)
        };
        let extents: IndexMap<&str, usize> = [
            ("n_q", rows(["Q", "X"])),
            ("n_k", rows(["K", "X"])),
            ("d_k", cols(["Q", "W_Q"])),
            ("d_v", cols(["V", "W_V"])),
        ]
        .into();
        for name in DIMENSIONS {
            instance.extents.insert(name.to_owned(), extents.get(name).copied().unwrap_or(1));
        }
        Self { instance }
    }

    /// Whether a step has a value already.
    pub(super) fn has(&self, step: Step) -> bool {
        self.instance.values.contains_key(step.letter())
    }

    /// The value of a formula in the letters. Where exact forms get too long, 40 decimals of the
    /// letters stand for them.
    fn value(&self, formula: &str) -> Result<Value, NoValue> {
        let unknown =
            || NoValue::Unknown(format!("formula `{formula}`: expected one of the law language"));
        let expr = parse(formula).map_err(|_| unknown())?;
        let law = LAW.as_ref().ok_or_else(unknown)?;
        match evaluate(law, &expr, &self.instance) {
            Err(NoValue::Number(NotExact::Long | NotExact::NestedExponential(_))) => {
                let mut instance = self.instance.clone();
                for value in instance.values.values_mut() {
                    *value = each(value, &approximate)?;
                }
                evaluate(law, &expr, &instance)
            }
            other => other,
        }
    }

    /// The same by rows.
    pub(super) fn rows(&self, formula: &str) -> Result<Vec<Vec<Real>>, NoValue> {
        Ok(match self.value(formula)? {
            Value::Number(x) => vec![vec![x]],
            Value::Matrices(m) => m.data.chunks(m.cols.max(1)).map(<[Real]>::to_vec).collect(),
            _ => return Err(NoValue::Unknown(format!("formula `{formula}`: expected numbers"))),
        })
    }

    /// The same chain with the numbers of some steps rounded to so many decimals.
    pub(super) fn coarser(&self, steps: &[Step], places: usize) -> Result<Self, NoValue> {
        let mut chain = self.clone();
        for step in steps {
            if let Some(value) = chain.instance.values.get_mut(step.letter()) {
                *value = each(value, &|x| rounded(x, places))?;
            }
        }
        Ok(chain)
    }

    /// Sets a step.
    pub(super) fn set(&mut self, step: Step, rows: &[Vec<Real>]) {
        let cols = rows.first().map_or(0, Vec::len);
        let data: Vec<Real> = rows.iter().flatten().cloned().collect();
        let value = match (step, data.first()) {
            (Step::Scale, Some(x)) => Value::Number(x.clone()),
            _ => Value::Matrices(ExactMatrices {
                batch: None,
                heads: None,
                rows: rows.len(),
                cols,
                data,
            }),
        };
        self.instance.values.insert(step.letter().to_owned(), value);
    }

    /// Computes all steps before one that have no value yet.
    pub(super) fn fill(&mut self, before: Step) -> Result<(), NoValue> {
        for step in STEPS.into_iter().filter(|step| *step < before) {
            if !self.has(step) {
                let rows = self.rows(step.formula())?;
                self.set(step, &rows);
            }
        }
        Ok(())
    }
}
