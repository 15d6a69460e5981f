//! What is known about a law, and how.

use qkvet_spec::syntax::Expr;
use qkvet_spec::{CheckedLaw, Proof};

use crate::rewrite::{self, Chain, Found, RULES};
use crate::show::expression;
use crate::tree::is_non_negative;
use crate::unfold::{Claim, Relation, unfold};

/// How much is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It holds for all shapes; the proof was checked by a second route.
    Proved,
    /// It is what the words mean.
    Definition,
    /// It held, exactly, on this many small instances.
    Checked(usize),
    /// It is false.
    Refuted(String),
    /// Neither, and why.
    Unknown(String),
}

impl Status {
    /// The word in tables and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Definition => "definition",
            Self::Checked(_) => "checked",
            Self::Refuted(_) => "refuted",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Whether it is at least what a law that claims this method says of itself.
    pub fn reaches(&self, claimed: Proof) -> bool {
        match self {
            Self::Proved => true,
            Self::Definition => claimed == Proof::Definition,
            Self::Checked(_) => claimed == Proof::Exact,
            Self::Refuted(_) | Self::Unknown(_) => false,
        }
    }
}

/// One line of a proof: what stands there, and why it follows from the line before.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The expression; equal to the one before it unless the reason says otherwise.
    pub expression: Expr,
    /// Why. Empty for the first line of a chain.
    pub reason: String,
}

/// What is known about a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How much.
    pub status: Status,
    /// By which method.
    pub method: Proof,
    /// The proof, as far as it has lines; a line without a reason begins a chain.
    pub lines: Vec<Line>,
}

/// Proves a law by the method that its file names, or refutes it, or says why neither.
pub fn prove(law: &CheckedLaw) -> Outcome {
    let method = law.law.proof;
    let outcome = |status, lines| Outcome { status, method, lines };
    match method {
        Proof::Rewrite => match by_rewriting(law) {
            Ok(lines) => outcome(Status::Proved, lines),
            Err(reason) => outcome(refuted_or(law, Status::Unknown(reason)), Vec::new()),
        },
        Proof::Definition => outcome(refuted_or(law, Status::Definition), Vec::new()),
        Proof::Moments | Proof::Exact | Proof::Derivation => {
            outcome(refuted_or(law, Status::Unknown("no method yet".to_owned())), Vec::new())
        }
    }
}

fn refuted_or(_law: &CheckedLaw, otherwise: Status) -> Status {
    otherwise
}

fn by_rewriting(law: &CheckedLaw) -> Result<Vec<Line>, String> {
    let claims = unfold(law).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for claim in &claims {
        match claim.relation {
            Relation::NonNegative if is_non_negative(&claim.left) => {
                lines.push(Line { expression: expression(&claim.left), reason: String::new() });
                let reason = "not negative: weights are not, nor are sums and products of what is not";
                lines.push(Line { expression: expression(&claim.right), reason: reason.to_owned() });
            }
            Relation::NonNegative => return Err(format!("the sign of {} is not known", claim.left)),
            Relation::Equal => lines.extend(chain_lines(&checked_chain(claim)?)),
        }
    }
    Ok(lines)
}

/// A chain that the checker has walked too.
fn checked_chain(claim: &Claim) -> Result<Chain, String> {
    match rewrite::prove(&claim.left, &claim.right, &claim.names) {
        Found::Chain(chain) => {
            rewrite::check(&chain, &claim.right, &claim.names).map_err(|error| error.to_string())?;
            Ok(chain)
        }
        Found::Saturated => Err("the rules say nothing more, which is no disproof".to_owned()),
        Found::Limit => Err("no proof within the limits of the search".to_owned()),
        Found::Unsound => Err("the rules contradict each other".to_owned()),
    }
}

/// The steps that a person would write: those that change what is printed.
fn chain_lines(chain: &Chain) -> Vec<Line> {
    let mut lines = vec![Line { expression: expression(&chain.start), reason: String::new() }];
    for step in &chain.steps {
        let reason = RULES.iter().find(|rule| rule.name == step.rule).map_or("", |rule| rule.reason);
        let line = Line { expression: expression(&step.after), reason: reason.to_owned() };
        if lines.last().is_none_or(|last| flat(&last.expression) != flat(&line.expression)) {
            lines.push(line);
        }
    }
    lines
}

/// What is printed of an expression: products and sums without the parentheses that associativity leaves out.
fn flat(expression: &Expr) -> String {
    crate::render::render(expression, crate::render::Style::Unicode)
}
