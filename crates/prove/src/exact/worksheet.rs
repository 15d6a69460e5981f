//! Values worked out one after the other.

use qkvet_spec::syntax::Expr;

use super::evaluate::Evaluator;
use super::instance::{Instance, NoValue, Value};
use super::relation::{Decision, decide_on};

/// An instance to which values are added by name, for the formulas that follow. The standard
/// meaning, as of [`evaluate`](super::evaluate()).
#[derive(Clone, Debug)]
pub struct Worksheet(Evaluator);

impl From<Instance> for Worksheet {
    /// An instance without masks and biases: those are options of calls, which belong to laws.
    fn from(instance: Instance) -> Self {
        Self(Evaluator { instance })
    }
}

impl Worksheet {
    /// Whether a name has a value.
    pub fn has(&self, name: &str) -> bool {
        self.0.instance.values.contains_key(name)
    }

    /// Gives a name a value; what it had before comes back.
    pub fn set(&mut self, name: &str, value: Value) -> Option<Value> {
        match self.0.instance.values.get_mut(name) {
            Some(known) => Some(std::mem::replace(known, value)),
            None => self.0.instance.values.insert(name.to_owned(), value),
        }
    }

    /// Takes the value of a name away.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.instance.values.swap_remove(name)
    }

    /// The value of a formula.
    ///
    /// # Errors
    /// A formula without a value in exact numbers.
    pub fn value(&self, expr: &Expr) -> Result<Value, NoValue> {
        self.0.value(expr)
    }

    /// Decides a statement by exact comparison.
    pub fn decide(&self, statement: &Expr) -> Decision {
        decide_on(&self.0, statement)
    }
}
