//! The worked steps of a question in exact numbers.

use indexmap::IndexMap;
use qkvet_prove::exact::{Decision, Exact, ExactMatrices, Instance, NoValue, Real, Value, decide, evaluate};
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::Expr;

use super::Drawn;

/// Parameters and the value of every abbreviation.
#[derive(Clone, Debug)]
pub struct Worked {
    /// The law without its abbreviations: their values are among those of the instance.
    law: CheckedLaw,
    instance: Instance,
}

/// Evaluates the abbreviations of `law`, in order; those in `rounds` are rounded to so many decimals before the next.
///
/// # Errors
/// A formula without an exact value.
pub fn work(law: &CheckedLaw, drawn: &Drawn, rounds: &IndexMap<String, usize>) -> Result<Worked, NoValue> {
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
    let bare = CheckedLaw { lets: Vec::new(), ..law.clone() };
    let mut worked = Worked { law: bare, instance: drawn.instance()? };
    for (name, expr) in &law.lets {
        let mut value = match own.get(name) {
            Some(own) => own.clone(),
            None => worked.value(expr)?,
        };
        if let Some(places) = rounds.get(name) {
            value = round(value, *places)?;
        }
        worked.instance.values.insert(name.clone(), value);
    }
    Ok(worked)
}

impl Worked {
    /// The value of a formula.
    ///
    /// # Errors
    /// A formula without an exact value.
    pub fn value(&self, expr: &Expr) -> Result<Value, NoValue> {
        evaluate(&self.law, expr, &self.instance)
    }

    /// Whether a condition holds.
    ///
    /// # Errors
    /// One that is not decided.
    pub fn holds(&self, condition: &Expr) -> Result<bool, NoValue> {
        let law = CheckedLaw { expect: Some(condition.clone()), ..self.law.clone() };
        match decide(&law, &self.instance) {
            Decision::Holds => Ok(true),
            Decision::Fails(_) => Ok(false),
            Decision::Undecided(reason) => Err(reason),
        }
    }
}

fn round(value: Value, places: usize) -> Result<Value, NoValue> {
    let decimal = |x: &Real| -> Result<Real, NoValue> {
        let digits = x.digits(places);
        let x: f64 = digits.parse().map_err(|_| NoValue::Unknown(format!("decimal `{digits}`: expected a number")))?;
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
