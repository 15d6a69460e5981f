//! The second route for steps: every equation of a proof, by numbers and by adding up outcomes.

use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

use super::points::{STEP_BUDGET, Search};
use super::value::Reading;
use super::{Step, conjuncts};
use crate::render::{Style, render};

/// Why a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// What the law says stands in no step.
    #[error("proof: expected a step that says {0}")]
    Missing(String),
    /// An equation is false for some numbers.
    #[error("step {step}: expected an equation, got {got}")]
    False {
        /// Its number, from 1.
        step: usize,
        /// The numbers.
        got: String,
    },
    /// An equation could not be tried.
    #[error("step {step}: expected an equation of numbers, got {got}")]
    Untried {
        /// Its number, from 1.
        step: usize,
        /// The equation.
        got: String,
    },
}

/// Checks that every step is an equation that holds at all numbers tried, expected values added up
/// outcome by outcome, and that what the law says is among them.
///
/// # Errors
/// The first step that is false or cannot be tried; a statement of the law that no step makes.
pub fn check(law: &CheckedLaw, steps: &[Step]) -> Result<(), CheckError> {
    let mut stated = Vec::new();
    law.expect.iter().for_each(|statement| conjuncts(statement, &mut stated));
    let shown = |expr: &Expr| render(expr, Style::Unicode);
    for statement in &stated {
        if let ExprKind::Binary(BinaryOp::Eq, left, right) = &statement.kind {
            let (left, right) = (shown(left), shown(right));
            let is_said = |step: &Step| shown(&step.left) == left && shown(&step.right) == right;
            if left != right && !steps.iter().any(is_said) {
                return Err(CheckError::Missing(format!("{left} = {right}")));
            }
        }
    }
    let degree = degree(law, &stated);
    for (at, step) in steps.iter().enumerate() {
        let mut search = Search::new(law, degree, STEP_BUDGET);
        match search.difference(&step.left, &step.right) {
            Some(found) => {
                return Err(CheckError::False { step: at + 1, got: format!("{step}: {found}") });
            }
            None if search.agreed == 0 => {
                return Err(CheckError::Untried { step: at + 1, got: step.to_string() });
            }
            None => {}
        }
    }
    Ok(())
}

/// The highest power of one random entry that the law speaks of; the highest known where it is not
/// read.
fn degree(law: &CheckedLaw, stated: &[&Expr]) -> u32 {
    let read = || {
        let mut reading = Reading::of(law).ok()?;
        let formula = law.law.expect.as_ref()?;
        for statement in stated {
            if let ExprKind::Binary(_, left, right) = &statement.kind {
                reading.number(left, &formula.text).ok()?;
                reading.number(right, &formula.text).ok()?;
            }
        }
        Some(reading.degree)
    };
    read().unwrap_or(super::points::MAX_MOMENT)
}
