//! What is known about a law, and how.

use qkvet_spec::syntax::Expr;
use qkvet_spec::{CallOption, CheckedLaw, Proof};

use crate::derive::{self, Derivation, LEMMAS, Move, derive};
use crate::exact::{Search, holds_up_to, says_something, search};
use crate::moments;
pub use crate::open::Open;
use crate::render::{Style, render};
use crate::rewrite::{self, Chain, Found, RULES};
use crate::show::expression;
use crate::tree::{Tree, is_non_negative};
use crate::unfold::{self, Claim, unfold};

/// How much is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It holds for all shapes; the proof was checked by a second route.
    Proved,
    /// It holds for all numbers at every shape whose extents are at most `extent`, or the least
    /// that the law allows; so many instances, with indeterminates for numbers, are all there are.
    ProvedTo {
        /// The largest extent.
        extent: usize,
        /// Instances.
        instances: usize,
    },
    /// It is what the words mean.
    Definition,
    /// It held, exactly, on this many small instances.
    Checked(usize),
    /// It is false.
    Refuted(String),
    /// Neither, and why.
    Unknown(Open),
}

impl Status {
    /// The word in tables and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::ProvedTo { .. } => "proved-small",
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
            Self::ProvedTo { .. } | Self::Checked(_) => claimed == Proof::Exact,
            Self::Refuted(_) | Self::Unknown(_) => false,
        }
    }
}

/// One line of a proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What stands there.
    pub shown: Shown,
    /// How it is to the line before it.
    pub relation: Relation,
    /// Why it follows. Empty for the first line of a chain.
    pub reason: String,
}

/// How a line of a proof is to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Equal, or the first line of a chain.
    Equal,
    /// The line before it is at most this.
    AtMost,
    /// The line before it is at least this.
    AtLeast,
}

impl Relation {
    /// The sign in front of the line.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::AtMost => "≤",
            Self::AtLeast => "≥",
        }
    }
}

/// What stands in a line of a proof.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// An expression, equal to that of the line before.
    Expression(Expr),
    /// An equation of its own.
    Equation(Expr),
}

impl Shown {
    /// As it is printed.
    pub fn text(&self, style: Style) -> String {
        match self {
            Self::Expression(expression) | Self::Equation(expression) => render(expression, style),
        }
    }
}

/// What is known about a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How much.
    pub status: Status,
    /// By which method: what the law claims, but `exact` where only instances say something.
    pub method: Proof,
    /// The proof, as far as it has lines; a line without a reason begins a chain.
    pub lines: Vec<Line>,
}

/// Proves a law by the method that its file names, or refutes it, or says why neither.
pub fn prove(law: &CheckedLaw) -> Outcome {
    let method = law.law.proof;
    let outcome = |status, lines| {
        let by_instances = matches!(status, Status::ProvedTo { .. } | Status::Checked(_));
        Outcome { method: if by_instances { Proof::Exact } else { method }, status, lines }
    };
    if !says_something(law) {
        // Of nothing everything is true.
        return outcome(Status::Unknown(Open::SaysNothing), Vec::new());
    }
    match method {
        // Before a search for what cannot be found, a route that knows nothing of how a law is
        // written out.
        Proof::Rewrite | Proof::Derivation => match on_instances(law, SIZE - 1) {
            refuted @ Status::Refuted(_) => outcome(refuted_or(law, refuted), Vec::new()),
            _ => match by_claims(law) {
                Ok(lines) => outcome(Status::Proved, lines),
                Err(reason) if method == Proof::Rewrite => {
                    let known = refuted_or(law, Status::Unknown(reason));
                    outcome(for_all_numbers(law, known), Vec::new())
                }
                Err(reason) => match for_all_numbers(law, on_instances(law, SIZE)) {
                    Status::Unknown(_) => outcome(Status::Unknown(reason), Vec::new()),
                    known => outcome(known, Vec::new()),
                },
            },
        },
        Proof::Definition if law.expect.is_none() => outcome(Status::Definition, Vec::new()),
        // A definition is what the law's author says it is; that it is not written down wrongly,
        // instances show.
        Proof::Definition => match on_instances(law, SIZE) {
            Status::Checked(_) => outcome(Status::Definition, Vec::new()),
            other => outcome(other, Vec::new()),
        },
        Proof::Moments => match moments::prove(law) {
            Ok(steps) => match moments::check(law, &steps) {
                Ok(()) => outcome(Status::Proved, steps.into_iter().map(equation).collect()),
                Err(error) => outcome(Status::Unknown(error.into()), Vec::new()),
            },
            Err(moments::Reason::Refuted(example)) => {
                outcome(Status::Refuted(example.to_string()), Vec::new())
            }
            Err(reason) => outcome(Status::Unknown(reason.into()), Vec::new()),
        },
        Proof::Exact => match for_all_numbers(law, on_instances(law, SIZE)) {
            Status::Checked(instances) if law.law.options.contains(&CallOption::Softcap) => {
                outcome(Status::Unknown(Open::SoftCap { instances }), Vec::new())
            }
            known => outcome(known, Vec::new()),
        },
    }
}

/// Largest extent of the instances that a law without a proof is tried on.
const SIZE: usize = 3;

/// Refuted by an exact instance, or else `otherwise`.
fn refuted_or(law: &CheckedLaw, otherwise: Status) -> Status {
    match on_instances(law, SIZE) {
        refuted @ Status::Refuted(_) => refuted,
        _ => otherwise,
    }
}

/// Largest extent of the shapes at which a law without a proof for all is decided for all numbers.
const EXTENT: usize = 2;

/// What is known, or more if the law is decided for all numbers at small shapes.
fn for_all_numbers(law: &CheckedLaw, known: Status) -> Status {
    match known {
        Status::Checked(_) | Status::Unknown(_) => match holds_up_to(law, EXTENT) {
            Some(instances) => Status::ProvedTo { extent: EXTENT, instances },
            None => known,
        },
        known => known,
    }
}

/// What exact values on small instances say.
fn on_instances(law: &CheckedLaw, size: usize) -> Status {
    let Search { confirmed, undecided, counterexample } = search(law, size);
    match counterexample {
        Some(example) => Status::Refuted(example.to_string()),
        None if confirmed > 0 => Status::Checked(confirmed),
        None if undecided == 0 => Status::Unknown(Open::NoInstance),
        None => Status::Unknown(Open::Undecided { undecided }),
    }
}

fn equation(step: moments::Step) -> Line {
    Line {
        shown: Shown::Equation(step.equation()),
        relation: Relation::Equal,
        reason: step.reason.to_owned(),
    }
}

/// The proofs of the claims of a law, each checked; inequalities only where the law's file says
/// `derivation`.
fn by_claims(law: &CheckedLaw) -> Result<Vec<Line>, Open> {
    let claims = unfold(law)?;
    let mut lines = Vec::new();
    for claim in &claims {
        match claim.relation {
            unfold::Relation::NonNegative if is_non_negative(&claim.left) => {
                lines.push(Line {
                    shown: shown(&claim.left),
                    relation: Relation::Equal,
                    reason: String::new(),
                });
                let reason =
                    "not negative: weights are not, nor are sums and products of what is not";
                lines.push(Line {
                    shown: shown(&claim.right),
                    relation: Relation::AtLeast,
                    reason: reason.to_owned(),
                });
            }
            unfold::Relation::Equal => lines.extend(chain_lines(&checked_chain(claim)?)),
            unfold::Relation::AtMost if law.law.proof == Proof::Derivation => {
                lines.extend(derivation_lines(&checked_derivation(
                    claim,
                    (&claim.left, &claim.right),
                )?));
            }
            unfold::Relation::NonNegative if law.law.proof == Proof::Derivation => {
                lines.extend(derivation_lines(&checked_derivation(
                    claim,
                    (&claim.right, &claim.left),
                )?));
            }
            unfold::Relation::NonNegative => {
                return Err(Open::Sign { of: claim.left.to_string() });
            }
            unfold::Relation::AtMost => return Err(Open::Inequality),
        }
    }
    Ok(lines)
}

/// A chain that the checker has walked too.
fn checked_chain(claim: &Claim) -> Result<Chain, Open> {
    match rewrite::prove(&claim.left, &claim.right, &claim.names) {
        Found::Chain(chain) => {
            rewrite::check(&chain, &claim.right, &claim.names)?;
            Ok(chain)
        }
        Found::Saturated => Err(Open::Saturated),
        Found::Limit => Err(Open::Limit),
        Found::Unsound => Err(Open::Unsound),
    }
}

/// A derivation that the checker has walked too.
fn checked_derivation(claim: &Claim, sides: (&Tree, &Tree)) -> Result<Derivation, Open> {
    let Some(derivation) = derive(sides, &claim.names, &claim.facts) else {
        return Err(Open::NoLemmas);
    };
    derive::check(&derivation, sides, &claim.names, &claim.facts)?;
    Ok(derivation)
}

fn chain_lines(chain: &Chain) -> Vec<Line> {
    let steps =
        chain.steps.iter().map(|step| (&step.after, Relation::Equal, rule_reason(&step.rule)));
    let lines = lines(&chain.start, steps);
    if lines.len() > 1 {
        return lines;
    }
    // Nothing printed changes: the sides differ in parentheses, or not at all.
    let end = chain.steps.last().map_or(&chain.start, |step| &step.after);
    let reason = if chain.steps.is_empty() {
        "the same, written out"
    } else {
        "matrix products are associative"
    };
    let end = Line { shown: shown(end), relation: Relation::Equal, reason: reason.to_owned() };
    lines.into_iter().chain([end]).collect()
}

fn derivation_lines(derivation: &Derivation) -> Vec<Line> {
    let apart = if derivation.upward { Relation::AtMost } else { Relation::AtLeast };
    let steps = derivation.steps.iter().map(|step| match &step.by {
        Move::Rule { name, .. } => (&step.after, Relation::Equal, rule_reason(name)),
        Move::Lemma(name) => {
            let reason =
                LEMMAS.iter().find(|lemma| lemma.name == name).map_or("", |lemma| lemma.reason);
            (&step.after, apart, reason)
        }
        Move::Arithmetic => (&step.after, Relation::Equal, "numbers collected"),
        Move::More => (&step.after, apart, "what one side has more is not negative"),
    });
    lines(&derivation.start, steps)
}

/// The steps that a person would write: those that change what is printed.
fn lines<'a>(
    start: &Tree,
    steps: impl Iterator<Item = (&'a Tree, Relation, &'static str)>,
) -> Vec<Line> {
    let mut lines =
        vec![Line { shown: shown(start), relation: Relation::Equal, reason: String::new() }];
    for (after, relation, reason) in steps {
        let line = Line { shown: shown(after), relation, reason: reason.to_owned() };
        if lines
            .last()
            .is_none_or(|last| last.shown.text(Style::Unicode) != line.shown.text(Style::Unicode))
        {
            lines.push(line);
        }
    }
    lines
}

fn rule_reason(name: &str) -> &'static str {
    if name == rewrite::COLLECTED {
        return "sums are commutative; multiples of one matrix add up";
    }
    RULES.iter().find(|rule| rule.name == name).map_or("", |rule| rule.reason)
}

fn shown(tree: &Tree) -> Shown {
    Shown::Expression(expression(tree))
}
