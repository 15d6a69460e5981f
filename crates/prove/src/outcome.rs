//! What is known about a law, and how.

use qkvet_spec::syntax::Expr;
use qkvet_spec::{CheckedLaw, Proof};

use crate::exact::{Search, search};
use crate::moments;
use crate::render::{Style, render};
use crate::rewrite::{self, Chain, Found, RULES};
use crate::show::expression;
use crate::tree::{Tree, is_non_negative};
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

/// One line of a proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What stands there.
    pub shown: Shown,
    /// Why it follows. Empty for the first line of a chain.
    pub reason: String,
}

/// What stands in a line of a proof.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// An expression, equal to that of the line before.
    Expression(Expr),
    /// An equation of its own, as text.
    Equation(String),
}

impl Shown {
    /// As it is printed.
    pub fn text(&self, style: Style) -> String {
        match self {
            Self::Expression(expression) => render(expression, style),
            Self::Equation(text) => text.clone(),
        }
    }
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
            // A third route, which knows nothing of how the law was written out.
            Ok(lines) => match on_instances(law, SIZE - 1) {
                Status::Refuted(example) => {
                    let reason = format!("the rules and an exact instance contradict each other:\n{example}");
                    outcome(Status::Unknown(reason), Vec::new())
                }
                Status::Proved | Status::Definition | Status::Checked(_) | Status::Unknown(_) => {
                    outcome(Status::Proved, lines)
                }
            },
            Err(reason) => outcome(refuted_or(law, Status::Unknown(reason)), Vec::new()),
        },
        Proof::Definition if law.expect.is_none() => outcome(Status::Definition, Vec::new()),
        // Smaller instances are enough to see that a definition is written down wrongly.
        Proof::Definition => match on_instances(law, SIZE - 1) {
            Status::Checked(_) => outcome(Status::Definition, Vec::new()),
            other => outcome(other, Vec::new()),
        },
        Proof::Moments if has_large_number(law) => {
            outcome(Status::Unknown(format!("numbers above {LARGEST} in domains are not tried")), Vec::new())
        }
        Proof::Moments => match moments::prove(law) {
            Ok(steps) => outcome(Status::Proved, steps.into_iter().map(equation).collect()),
            Err(moments::Reason::Refuted(example)) => outcome(Status::Refuted(example.to_string()), Vec::new()),
            Err(reason) => outcome(Status::Unknown(reason.to_string()), Vec::new()),
        },
        Proof::Exact | Proof::Derivation => outcome(on_instances(law, SIZE), Vec::new()),
    }
}

/// Largest extent of the instances that a law without a proof is tried on.
const SIZE: usize = 3;

/// Largest number in the domains of a law about moments: entries are counted one by one.
const LARGEST: u64 = 64;

fn has_large_number(law: &CheckedLaw) -> bool {
    let digits = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .any(|digits| !digits.is_empty() && digits.parse::<u64>().map_or(true, |n| n > LARGEST))
    };
    law.law.given.values().chain(law.law.lets.values()).chain(&law.law.expect).any(|formula| digits(&formula.text))
}

/// Refuted by an exact instance, or else `otherwise`.
fn refuted_or(law: &CheckedLaw, otherwise: Status) -> Status {
    match on_instances(law, SIZE) {
        refuted @ Status::Refuted(_) => refuted,
        Status::Proved | Status::Definition | Status::Checked(_) | Status::Unknown(_) => otherwise,
    }
}

/// What exact values on small instances say.
fn on_instances(law: &CheckedLaw, size: usize) -> Status {
    let Search { confirmed, undecided, counterexample } = search(law, size);
    match counterexample {
        Some(example) => Status::Refuted(example.to_string()),
        None if confirmed > 0 => Status::Checked(confirmed),
        None => Status::Unknown(format!("none of {undecided} small instances has exact values on both sides")),
    }
}

fn equation(step: moments::Step) -> Line {
    Line { shown: Shown::Equation(format!("{} = {}", step.left, step.right)), reason: step.reason.to_owned() }
}

fn by_rewriting(law: &CheckedLaw) -> Result<Vec<Line>, String> {
    let claims = unfold(law).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for claim in &claims {
        match claim.relation {
            Relation::NonNegative if is_non_negative(&claim.left) => {
                lines.push(Line { shown: shown(&claim.left), reason: String::new() });
                let reason = "not negative: weights are not, nor are sums and products of what is not";
                lines.push(Line { shown: shown(&claim.right), reason: reason.to_owned() });
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
    let mut lines = vec![Line { shown: shown(&chain.start), reason: String::new() }];
    for step in &chain.steps {
        let reason = RULES.iter().find(|rule| rule.name == step.rule).map_or("", |rule| rule.reason);
        let line = Line { shown: shown(&step.after), reason: reason.to_owned() };
        if lines.last().is_none_or(|last| last.shown.text(Style::Unicode) != line.shown.text(Style::Unicode)) {
            lines.push(line);
        }
    }
    if lines.len() == 1 {
        // Nothing printed changes: the sides differ in parentheses, or not at all.
        let end = chain.steps.last().map_or(&chain.start, |step| &step.after);
        let reason = if chain.steps.is_empty() { "the same, written out" } else { "matrix products are associative" };
        lines.push(Line { shown: shown(end), reason: reason.to_owned() });
    }
    lines
}

fn shown(tree: &Tree) -> Shown {
    Shown::Expression(expression(tree))
}
