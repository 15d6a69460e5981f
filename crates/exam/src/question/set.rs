//! Problem sets.

use qkvet_spec::{Formula, SpecError, Unexpected, parse_yaml};
use serde::{Deserialize, Serialize};

use super::Tolerance;
use super::error::Misfit;

/// Questions in order; one file in `specs/exams/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProblemSet {
    /// The id, equal to the file name.
    pub exam: String,
    /// What stands at the top.
    pub title: String,
    /// What stands below it.
    #[serde(default)]
    pub intro: Option<Formula>,
    /// Where problem sets like it were given.
    #[serde(default)]
    pub sources: Vec<String>,
    /// How far numbers that are asked in decimals may be off, in parts that do not say so
    /// themselves; absent: half a unit of the last decimal.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::OneOrMore<super::Band>>")
    )]
    pub tolerance: Option<Tolerance>,
    /// The order of the questions.
    #[serde(default)]
    pub order: Order,
    /// The questions.
    pub questions: Vec<Item>,
}

/// The order of the questions on a sheet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they are listed.
    #[default]
    Listed,
    /// Another one for each variant.
    Shuffled,
}

/// A question of a problem set, or a pool from which each variant takes some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The id of the question.
    #[serde(default)]
    pub question: Option<Formula>,
    /// Parts that are asked, by number from 1, in this order; absent: all.
    #[serde(default)]
    pub parts: Vec<usize>,
    /// What stands above the question here; absent: its own title.
    #[serde(default)]
    pub title: Option<String>,
    /// Points of each part that is asked; absent: those of the question.
    #[serde(default)]
    pub points: Vec<u32>,
    /// In place of a question: questions worth the same, of which each variant has some.
    #[serde(default)]
    pub pool: Vec<Item>,
    /// How many of the pool a variant has; absent: one.
    #[serde(default)]
    pub pick: Option<usize>,
}

impl ProblemSet {
    /// Reads one problem set.
    ///
    /// # Errors
    /// YAML errors with their place; a set without questions.
    pub fn from_yaml(path: &str, source: &str) -> Result<Self, SpecError> {
        let set: Self = parse_yaml(path, source)?;
        if set.questions.is_empty() {
            return Err(Unexpected::at_path("questions", path, "at least one").got("none").into());
        }
        if !set.exam.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') || set.exam.is_empty() {
            let expected = "an id of letters, digits and `-`";
            return Err(Unexpected::at_path("exam", path, expected).quoted(set.exam).into());
        }
        for (at, item) in set.questions.iter().enumerate() {
            let place = format!("questions.{}", at + 1);
            let wrong = |misfit: Misfit| Err(misfit.at(path, source, &place));
            let is_bare = item.parts.is_empty() && item.points.is_empty() && item.title.is_none();
            match (&item.question, item.pool.len()) {
                (Some(_), 0) if item.pick.is_none() => {}
                (None, n) if n > 1 && is_bare => {
                    let pick = item.pick.unwrap_or(1);
                    if !(1..n).contains(&pick) {
                        return wrong(Misfit::Range {
                            low: 1,
                            high: n - 1,
                            of: " for `pick`",
                            got: pick,
                        });
                    }
                    if item.pool.iter().any(|one| one.question.is_none() || !one.pool.is_empty()) {
                        return wrong(Misfit::Item);
                    }
                }
                _ => return wrong(Misfit::Item),
            }
        }
        if let Some(misfit) = set.tolerance.as_ref().and_then(|bands| bands.misfit(true)) {
            return Err(misfit.at(path, source, "tolerance"));
        }
        Ok(set)
    }

    /// Every question that a variant may have, those of pools one after the other.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.questions.iter().flat_map(|item| {
            if item.pool.is_empty() { std::slice::from_ref(item) } else { item.pool.as_slice() }
        })
    }

    /// The questions of a variant as numbers in [`ProblemSet::items`], in the order of its sheet;
    /// `shuffled` gives the numbers below `n` in an order of its own for each name.
    pub(crate) fn asked(&self, shuffled: &dyn Fn(&str, usize) -> Vec<usize>) -> Vec<usize> {
        let (mut asked, mut start) = (Vec::new(), 0);
        for (at, item) in self.questions.iter().enumerate() {
            if item.pool.is_empty() {
                asked.push(start);
                start += 1;
            } else {
                let order = shuffled(&format!("pool {}", at + 1), item.pool.len());
                asked.extend(order.into_iter().take(item.pick.unwrap_or(1)).map(|one| start + one));
                start += item.pool.len();
            }
        }
        match self.order {
            Order::Listed => asked,
            Order::Shuffled => {
                shuffled("order", asked.len()).into_iter().map(|at| asked[at]).collect()
            }
        }
    }
}

impl Item {
    /// The parts that are asked of a question with so many, from 0.
    pub(crate) fn asked_of(&self, n_parts: usize) -> Vec<usize> {
        match self.parts.as_slice() {
            [] => (0..n_parts).collect(),
            parts => parts.iter().map(|part| part - 1).collect(),
        }
    }
}
