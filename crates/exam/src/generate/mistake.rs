//! What comes out when a mistake is made.

use indexmap::IndexMap;
use qkvet_spec::syntax::Expr;
use qkvet_spec::{Catalog, Meaning};
use serde::{Deserialize, Serialize};

use crate::answer::{Drawn, Numbers, Worked, enclosed, of_value, rounded, work};
use crate::question::{CheckedMistake, CheckedPart, CheckedQuestion, Slip};

/// Decimals by which answers without any are told apart where a mistake has no rational value.
pub(crate) const PLACES: usize = 6;

/// A mistake and the numbers that it gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistaken {
    /// The mistake in words.
    pub says: String,
    /// What comes out.
    pub numbers: Numbers,
}

/// The answer to a part with a mistake in it.
///
/// # Errors
/// Why the mistake has no value here.
pub fn mistaken(
    mistake: &CheckedMistake,
    (question, part): (&CheckedQuestion, &CheckedPart),
    drawn: &Drawn,
    worked: &Worked,
    places: Option<usize>,
    catalog: &Catalog,
) -> Result<Mistaken, String> {
    let of = part.of.as_ref().ok_or("expected an answer with a value")?;
    let numbers = match &mistake.slip {
        Slip::Fault(fault) => {
            let check = part.beside.as_ref().ok_or("expected a `check`")?;
            let meaning = fault.meaning.apply(&Meaning::standard());
            let balls = enclosed(&question.law, check, drawn, &meaning, catalog)?;
            rounded(&balls, places.unwrap_or(PLACES))?
        }
        Slip::Steps { law, rounds } => {
            let worked = work(law, drawn, rounds).map_err(|error| error.to_string())?;
            printed(&worked, of, places)?
        }
        Slip::Answer(gives) => printed(worked, gives, places)?,
    };
    Ok(Mistaken { says: mistake.says.clone(), numbers })
}

/// The numbers of a formula; a mistake may make a rational answer irrational.
fn printed(worked: &Worked, of: &Expr, places: Option<usize>) -> Result<Numbers, String> {
    let value = worked.value(of).map_err(|error| error.to_string())?;
    of_value(&value, places).or_else(|_| of_value(&value, Some(PLACES)))
}

/// No step is rounded.
pub(crate) fn nothing() -> IndexMap<String, usize> {
    IndexMap::new()
}
