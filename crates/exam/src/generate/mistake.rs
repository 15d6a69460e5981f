//! What comes out when a mistake is made.

use indexmap::IndexMap;
use qkvet_prove::exact::Value;
use qkvet_spec::Catalog;
use serde::{Deserialize, Serialize};

use crate::answer::{AnswerError, Drawn, Numbers, Printed, Worked, enclosed, rounded, standard};
use crate::question::{CheckedMistake, CheckedPart, CheckedQuestion, MistakeEffect};

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

/// What a mistake gives, the exact values not yet written out.
pub(super) enum Gives {
    /// Exact.
    Printed(Printed),
    /// Rounded by the engine.
    Rounded(Numbers),
}

impl Gives {
    pub(super) fn rows(&self) -> &[Vec<String>] {
        match self {
            Self::Printed(printed) => printed.rows(),
            Self::Rounded(numbers) => &numbers.rows,
        }
    }

    pub(super) fn numbers(self) -> Numbers {
        match self {
            Self::Printed(printed) => printed.numbers(),
            Self::Rounded(numbers) => numbers,
        }
    }
}

/// The answer to a part with a mistake in it.
///
/// # Errors
/// Why the mistake has no value here.
pub(super) fn gives(
    mistake: &CheckedMistake,
    (question, part): (&CheckedQuestion, &CheckedPart),
    drawn: &Drawn,
    worked: &mut Worked,
    places: Option<usize>,
    catalog: &Catalog,
) -> Result<Gives, AnswerError> {
    let of = part.of.as_ref().ok_or(AnswerError::NoFormula)?;
    // Decimals need no exact value where the engine is sure of every digit, which takes a tenth of
    // the time.
    let by_engine = |law, expr| {
        let balls = enclosed(law, expr, drawn, standard(), catalog).ok()?;
        rounded(&balls, places?).ok()
    };
    let decimals = match &mistake.slip {
        MistakeEffect::Steps { law, rounds, .. } if rounds.is_empty() && places.is_some() => {
            by_engine(law, of)
        }
        MistakeEffect::Answer(gives) if places.is_some() => by_engine(&question.law, gives),
        _ => None,
    };
    if let Some(decimals) = decimals {
        return Ok(Gives::Rounded(decimals));
    }
    let value = match &mistake.slip {
        MistakeEffect::Fault(meaning) => {
            let check = part.beside.as_ref().ok_or(AnswerError::NoFormula)?;
            let balls = enclosed(&question.law, check, drawn, meaning, catalog)?;
            return Ok(Gives::Rounded(rounded(&balls, places.unwrap_or(PLACES))?));
        }
        MistakeEffect::Steps { law, rounds, anew } => {
            worked.instead(&question.law, (law, rounds), anew, of)
        }
        MistakeEffect::Answer(gives) => {
            worked.work_for(&question.law, gives).and_then(|()| worked.value(gives))
        }
    };
    Ok(Gives::Printed(printed(value?, places)?))
}

/// The numbers of a formula; a mistake may make a rational answer irrational.
fn printed(value: Value, places: Option<usize>) -> Result<Printed, AnswerError> {
    match places {
        Some(_) => Printed::new(value, places),
        None => Printed::new(value.clone(), None).or_else(|_| Printed::new(value, Some(PLACES))),
    }
}

/// Whether two answers of the same shape, rounded to so many places, differ by no more than a unit
/// of the last place anywhere: a slip in the last digit would be told as the mistake.
pub(super) fn is_near(key: &[Vec<String>], other: &[Vec<String>], places: usize) -> bool {
    // In units of the last place.
    let units = |text: &String| -> Option<i128> {
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        (decimals == places).then(|| text.replace('.', "").parse().ok()).flatten()
    };
    let near = |(x, y): (&String, &String)| match (units(x), units(y)) {
        (Some(x), Some(y)) => x.abs_diff(y) <= 1,
        _ => x == y,
    };
    key.len() == other.len()
        && key
            .iter()
            .zip(other)
            .all(|(key, other)| key.len() == other.len() && key.iter().zip(other).all(near))
}

/// No step is rounded.
pub(crate) fn nothing() -> IndexMap<String, usize> {
    IndexMap::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_near_where_every_entry_is() {
        let rows = |text: &str| -> Vec<Vec<String>> {
            text.split(';').map(|row| row.split(' ').map(str::to_owned).collect()).collect()
        };
        let near = |x: &str, y: &str| is_near(&rows(x), &rows(y), 4);
        assert!(near("0.4972", "0.4971") && near("0.4972 1.0000", "0.4973 0.9999"));
        assert!(!near("0.4972", "0.4974") && !near("0.4972 1.0000", "0.4972 0.9998"));
        assert!(!near("1.0000", "1.0000 1.0000") && !near("1.0000;1.0000", "1.0000"));
    }
}
