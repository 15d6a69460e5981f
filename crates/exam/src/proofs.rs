//! Proofs of the laws that questions draw on.

use std::collections::BTreeMap;

use qkvet_prove::outcome::{Line, Outcome, Shown, Status, prove};
use qkvet_spec::syntax::Expr;
use qkvet_spec::{Catalog, SpecError};

use crate::error::ExamError;
use crate::optionless::{optionless, written_out};
use crate::question::{AnswerSpec, CheckedQuestion};

/// A law that a question draws on, with its proof.
#[derive(Clone, Debug)]
pub struct Proven {
    /// What it says in words.
    pub title: String,
    /// What is proved, abbreviations written out; absent where only behaviour is observed.
    pub statement: Option<Expr>,
    /// The proof, as far as it has lines.
    pub lines: Vec<Line>,
}

/// Proofs of the laws that questions draw on, by id.
pub type Proofs = BTreeMap<String, Proven>;

/// Proves the laws that the questions draw on.
///
/// # Errors
/// A law that is not proved.
pub fn proofs(questions: &[&CheckedQuestion], catalog: &Catalog) -> Result<Proofs, ExamError> {
    let mut proofs = Proofs::new();
    for question in questions {
        for part in &question.question.parts {
            let id = match &part.answer {
                AnswerSpec::Proof(proof) => &proof.law,
                AnswerSpec::Expression(expression) => match &expression.law {
                    Some(law) => law,
                    None => continue,
                },
                _ => continue,
            };
            if proofs.contains_key(id) {
                continue;
            }
            let law = Catalog::find("law", &catalog.laws, id).map_err(SpecError::from)?;
            let is_proved = |outcome: &Outcome| {
                matches!(outcome.status, Status::Proved | Status::ProvedTo { .. })
            };
            // Questions are about attention without options, unless the law says nothing of that.
            let bare = optionless(law)
                .map(|law| (prove(&law), law))
                .filter(|(outcome, _)| is_proved(outcome));
            let (outcome, law) = bare.unwrap_or_else(|| (prove(law), law.clone()));
            if !is_proved(&outcome) {
                return Err(ExamError::Unproved {
                    question: question.question.question.clone(),
                    law: id.clone(),
                    got: outcome.status.name().to_owned(),
                });
            }
            let Outcome { mut lines, .. } = outcome;
            for Line { shown: Shown::Expression(expr) | Shown::Equation(expr), .. } in &mut lines {
                written_out(expr, &law.lets);
            }
            let mut statement = law.expect.clone();
            statement.iter_mut().for_each(|statement| written_out(statement, &law.lets));
            proofs.insert(id.clone(), Proven { title: law.law.title.clone(), statement, lines });
        }
    }
    Ok(proofs)
}
