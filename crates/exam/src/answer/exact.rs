//! The worked steps of a question in exact numbers.

use indexmap::IndexMap;
use qkvet_prove::exact::{Decision, Exact, ExactMatrices, NoValue, Real, Value, Worksheet};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::Expr;

use super::Drawn;
use crate::expr::name;
use crate::taught::plain;

/// Parameters and the values of abbreviations.
#[derive(Clone, Debug)]
pub struct Worked {
    sheet: Worksheet,
}

/// Evaluates the abbreviations of `law`, in order; those in `rounds` are rounded to so many
/// decimals before the next.
///
/// # Errors
/// A formula without an exact value.
pub fn work(
    law: &CheckedLaw,
    drawn: &Drawn,
    rounds: &IndexMap<String, usize>,
) -> Result<Worked, NoValue> {
    work_from(law, drawn, rounds, &IndexMap::new())
}

/// The same with the values that somebody had for some abbreviations.
///
/// # Errors
/// A formula without an exact value.
pub fn work_from(
    law: &CheckedLaw,
    drawn: &Drawn,
    rounds: &IndexMap<String, usize>,
    own: &IndexMap<String, Value>,
) -> Result<Worked, NoValue> {
    let mut worked = Worked::begun_with(drawn, rounds, own)?;
    worked.work_out(law, rounds, &vec![true; law.lets.len()])?;
    Ok(worked)
}

/// The value of a formula under the steps of `law`, those that it needs alone, with the values that
/// somebody had for some of them.
///
/// # Errors
/// A formula without an exact value.
pub(crate) fn worked_value(
    law: &CheckedLaw,
    drawn: &Drawn,
    rounds: &IndexMap<String, usize>,
    own: &IndexMap<String, Value>,
    of: &Expr,
) -> Result<Value, NoValue> {
    let mut worked = Worked::begun_with(drawn, rounds, own)?;
    worked.work_out(law, rounds, &law.lets_needed_by(of))?;
    worked.value(of)
}

impl Worked {
    /// Parameters alone.
    ///
    /// # Errors
    /// A float that is no number.
    pub(crate) fn begun(drawn: &Drawn) -> Result<Self, NoValue> {
        Ok(Self { sheet: drawn.instance()?.into() })
    }

    /// Parameters, and the values that somebody had for some abbreviations; those in `rounds` are
    /// rounded.
    fn begun_with(
        drawn: &Drawn,
        rounds: &IndexMap<String, usize>,
        own: &IndexMap<String, Value>,
    ) -> Result<Self, NoValue> {
        let mut worked = Self::begun(drawn)?;
        for (name, value) in own {
            let value = rounds
                .get(name)
                .map_or(Ok(value.clone()), |places| round(value.clone(), *places))?;
            worked.sheet.set(name, value);
        }
        Ok(worked)
    }

    /// Works out those abbreviations that a formula needs and that have no value yet.
    ///
    /// # Errors
    /// An abbreviation without an exact value.
    pub(crate) fn work_for(&mut self, law: &CheckedLaw, expr: &Expr) -> Result<(), NoValue> {
        self.work_out(law, &IndexMap::new(), &law.lets_needed_by(expr))
    }

    /// Works out all abbreviations that have no value yet.
    ///
    /// # Errors
    /// An abbreviation without an exact value.
    pub(crate) fn work_for_all(&mut self, law: &CheckedLaw) -> Result<(), NoValue> {
        self.work_out(law, &IndexMap::new(), &vec![true; law.lets.len()])
    }

    fn work_out(
        &mut self,
        law: &CheckedLaw,
        rounds: &IndexMap<String, usize>,
        needed: &[bool],
    ) -> Result<(), NoValue> {
        for ((name, expr), is_needed) in law.lets.iter().zip(needed) {
            if !is_needed || self.sheet.has(name) {
                continue;
            }
            let value = self.sheet.value(&plain(expr))?;
            let value =
                rounds.get(name).map_or(Ok(value.clone()), |places| round(value, *places))?;
            self.sheet.set(name, value);
        }
        Ok(())
    }

    /// The value of a formula where the steps are those of another law; `anew` names all that have
    /// other values there, and what the others are is known already or is the same. `own` is the
    /// law of the steps here, which stay as they are.
    ///
    /// # Errors
    /// A formula without an exact value.
    pub(crate) fn instead(
        &mut self,
        own: &CheckedLaw,
        (law, rounds): (&CheckedLaw, &IndexMap<String, usize>),
        anew: &[String],
        of: &Expr,
    ) -> Result<Value, NoValue> {
        let kept: Vec<(&String, Option<Value>)> =
            anew.iter().map(|name| (name, self.sheet.take(name))).collect();
        // A step that is only rounded is not worked out again.
        let place =
            |law: &CheckedLaw, name: &str| law.lets.iter().position(|(other, _)| other == name);
        let known = kept.iter().filter_map(|(name, value)| {
            let (own, new) = (&own.lets[place(own, name)?].1, &law.lets[place(law, name)?].1);
            let is_same = own == new && !anew.iter().any(|other| new.mentions(other));
            Some((*name, value.as_ref().filter(|_| is_same)?, *rounds.get(*name)?))
        });
        let known: Result<Vec<_>, _> = known
            .map(|(name, value, places)| round(value.clone(), places).map(|value| (name, value)))
            .collect();
        let value = known.and_then(|known| {
            for (name, value) in known {
                self.sheet.set(name, value);
            }
            self.work_out(law, rounds, &law.lets_needed_by(of))?;
            self.value(of)
        });
        for (name, value) in kept {
            match value {
                Some(value) => self.sheet.set(name, value),
                None => self.sheet.take(name),
            };
        }
        value
    }

    /// The value of a formula.
    ///
    /// # Errors
    /// A formula without an exact value.
    pub fn value(&self, expr: &Expr) -> Result<Value, NoValue> {
        self.sheet.value(&plain(expr))
    }

    /// Rows and columns of a step that is a matrix.
    pub(crate) fn extents_of(&self, step: &str) -> Option<(usize, usize)> {
        match self.value(&name(step)) {
            Ok(Value::Matrices(m)) => Some((m.rows, m.cols)),
            _ => None,
        }
    }

    /// Whether a condition holds.
    ///
    /// # Errors
    /// One that is not decided.
    pub fn holds(&self, condition: &Expr) -> Result<bool, NoValue> {
        match self.sheet.decide(&plain(condition)) {
            Decision::Holds => Ok(true),
            Decision::Fails(_) => Ok(false),
            Decision::Undecided(reason) => Err(reason),
        }
    }
}

fn round(value: Value, places: usize) -> Result<Value, NoValue> {
    let decimal = |x: &Real| -> Result<Real, NoValue> {
        let digits = x.digits(places);
        let x: f64 = digits
            .parse()
            .map_err(|_| NoValue::Unknown(format!("decimal `{digits}`: expected a number")))?;
        Ok(Exact::try_from(x)?.into())
    };
    Ok(match value {
        Value::Number(x) => Value::Number(decimal(&x)?),
        Value::Matrices(m) => {
            let data = m.data.iter().map(decimal).collect::<Result<_, _>>()?;
            Value::Matrices(ExactMatrices { data, ..m })
        }
        other => other,
    })
}
