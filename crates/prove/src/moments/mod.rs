//! Laws about expected values and variances, for all means, standard deviations and extents.
//!
//! [`prove`] reads both sides of an equation as polynomials (`poly`, `value`) and finds `E` and
//! `Var` by linearity, independence and the moments of a normal entry (`variance`). A second route
//! (`points`) shares none of that: it puts in numbers and adds up all outcomes of a distribution
//! with few values that has the same moments.

mod check;
mod expression;
mod points;
mod poly;
mod root;
mod value;
mod variance;

use std::collections::BTreeSet;
use std::fmt;

use dashu_ratio::RBig;
use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind};

pub use check::{CheckError, check};
use expression::{Expression, binary};
use points::{BUDGET, MAX_MOMENT, Search};
use poly::TooLarge;
use value::Reading;

use crate::render::{Style, render};

/// One equation of a proof and why it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its left side.
    pub left: Expr,
    /// Its right side.
    pub right: Expr,
    /// Why they are equal.
    pub reason: &'static str,
}

impl Step {
    /// The equation.
    pub fn equation(&self) -> Expr {
        binary(BinaryOp::Eq, self.left.clone(), self.right.clone())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}    {}", render(&self.equation(), Style::Unicode), self.reason)
    }
}

/// The steps of a proof as far as it goes. None is printed with the same side twice, and none
/// stands there twice.
#[derive(Debug, Default)]
struct Steps {
    steps: Vec<Step>,
    /// The sides of each, in print.
    shown: BTreeSet<(String, String)>,
}

impl Steps {
    /// Adds a step that says something new.
    fn push(&mut self, left: &impl Expression, right: &impl Expression, reason: &'static str) {
        let step = Step { left: left.expression(), right: right.expression(), reason };
        let sides = (render(&step.left, Style::Unicode), render(&step.right, Style::Unicode));
        if sides.0 != sides.1 && self.shown.insert(sides) {
            self.steps.push(step);
        }
    }
}

/// Numbers for which a law is false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// Extents and numbers of the law.
    pub values: Vec<(String, RBig)>,
    /// The exact value of the left side there.
    pub left: RBig,
    /// The exact value of the right side there.
    pub right: RBig,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> =
            self.values.iter().map(|(name, x)| format!("{name} = {x}")).collect();
        let at =
            if values.is_empty() { String::new() } else { format!("at {}, ", values.join(", ")) };
        write!(f, "{at}the left side is {}, the right side {}", self.left, self.right)
    }
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The law is false.
    #[error("false: {0}")]
    Refuted(Counterexample),
    /// The method does not decide it.
    #[error("not decided by moments: {0}")]
    Unknown(#[from] Undecided),
}

/// Why the method does not decide a law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// It is about more than numbers.
    #[error("the law observes a call")]
    Call,
    /// A part that polynomials do not have.
    #[error("`{part}` {form}")]
    Form {
        /// The part, as it is written.
        part: String,
        /// What it is or may be.
        form: &'static str,
    },
    /// An index stands where a number should.
    #[error("an index is no number")]
    Index,
    /// A polynomial that is too long.
    #[error("a product has too many terms")]
    TooManyTerms,
    /// A sum in a sum.
    #[error("a sum of sums over two indices")]
    SumOfSums,
    /// Two random factors that are sums.
    #[error("a product of two random sums")]
    ProductOfSums,
    /// A variance of a sum times something.
    #[error("the variance of a product with a random sum")]
    VarianceOfProduct,
    /// Entries that may be the same.
    #[error("whether {left} and {right} are one entry or two")]
    Same {
        /// One entry.
        left: String,
        /// The other one.
        right: String,
    },
    /// Entries that may depend on each other.
    #[error("whether {left} and {right} are independent")]
    Dependent {
        /// One entry.
        left: String,
        /// The other one.
        right: String,
    },
    /// A power that is too high.
    #[error("moment {n} of an entry, where {MAX_MOMENT} can be checked")]
    Moment {
        /// The power.
        n: u32,
    },
    /// No numbers to compare the sides at.
    #[error("no numbers at which both sides are rational, of extents up to 64")]
    NoNumbers,
    /// The polynomials are equal, and numbers tell the sides apart.
    #[error("the two routes differ: {0}")]
    Routes(Box<Counterexample>),
    /// The polynomials differ, and no numbers tell the sides apart.
    #[error("the sides are {left} and {right}, and no numbers tried tell them apart")]
    Sides {
        /// The left polynomial.
        left: String,
        /// The right polynomial.
        right: String,
    },
}

impl From<TooLarge> for Undecided {
    fn from(_: TooLarge) -> Self {
        Self::TooManyTerms
    }
}

/// Proves a law that equates polynomials in numbers, extents, square roots, `E[...]` and
/// `Var[...]`: step by step, for all values of its variables.
///
/// `E[Σ_t f_t] = Σ_t E[f_t]`; `Var[c + Σ_t f_t] = Σ_t (E[f_t²] − E[f_t]²)` for terms that share no
/// random entry; `E[Π x] = Π E[x]` for different entries; `E[xⁿ] = μ E[xⁿ⁻¹] + (n − 1) σ² E[xⁿ⁻²]`
/// for a normal entry.
///
/// # Errors
/// [`Reason::Refuted`] with numbers at which both sides differ, exactly. [`Reason::Unknown`] for
/// what is no such equation, for powers of an entry above the fifth, and where the two routes do
/// not agree.
pub fn prove(law: &CheckedLaw) -> Result<Vec<Step>, Reason> {
    let (Some(statement), Some(formula)) = (&law.expect, &law.law.expect) else {
        return Err(Undecided::Call.into());
    };
    let mut reading = Reading::of(law)?;
    let mut equations = Vec::new();
    conjuncts(statement, &mut equations);
    for equation in equations {
        let ExprKind::Binary(BinaryOp::Eq, left, right) = &equation.kind else {
            return Err(Undecided::of(equation, &formula.text, "is no equation").into());
        };
        let x = reading.number(left, &formula.text)?;
        let y = reading.number(right, &formula.text)?;
        let equal = x.equals(&y).map_err(Undecided::from)?;
        let mut search = Search::new(law, reading.degree, BUDGET);
        match (equal, search.difference(left, right)) {
            (true, None) if search.agreed > 0 => {}
            (true, None) => {
                return Err(Undecided::NoNumbers.into());
            }
            (false, Some(found)) => return Err(Reason::Refuted(found)),
            (true, Some(found)) => {
                return Err(Undecided::Routes(Box::new(found)).into());
            }
            (false, None) => {
                let (left, right) = (x.to_string(), y.to_string());
                return Err(Undecided::Sides { left, right }.into());
            }
        }
        reading.steps.push(&**left, &x, "collecting terms");
        reading.steps.push(&**right, &y, "collecting terms");
        reading.steps.push(&**left, &**right, "both sides are one polynomial");
    }
    Ok(reading.steps.steps)
}

fn conjuncts<'a>(expr: &'a Expr, all: &mut Vec<&'a Expr>) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::And, x, y) => {
            conjuncts(x, all);
            conjuncts(y, all);
        }
        _ => all.push(expr),
    }
}
