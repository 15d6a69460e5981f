//! What a build threw away, and why.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use indexmap::IndexMap;

use super::{Answer, Instance, Reject};

/// The draws of one question in all variants of an exam.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draws {
    /// The id of the question.
    pub question: String,
    /// Variants that were kept.
    pub kept: usize,
    /// Draws that were thrown away, by reason, the most frequent first.
    pub thrown: Vec<(String, usize)>,
    /// Least and greatest load of a variant.
    pub load: (usize, usize),
    /// Parts, from 1, whose answers are the same in all variants.
    pub same: Vec<usize>,
    /// Values of mistakes that were held against a tolerance, those of draws that were thrown away
    /// for one included, and how many of them it admits.
    pub mistakes: (usize, usize),
}

/// Draws of all questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    draws: IndexMap<String, Draws>,
    /// The first answer to each part of each question.
    answers: BTreeMap<(String, usize), Answer>,
}

impl Report {
    /// Takes an instance that is kept, with what was thrown away before it.
    pub(crate) fn note(&mut self, kept: &Instance<'_>) {
        let id = &kept.question.question.question;
        let draws = self.draws.entry(id.clone()).or_insert_with(|| Draws {
            question: id.clone(),
            load: (usize::MAX, 0),
            ..Draws::default()
        });
        draws.kept += 1;
        for part in &kept.parts {
            if !matches!(part.answer, Answer::Numbers { .. } | Answer::Largest(_)) {
                continue;
            }
            let number = part.part;
            match self.answers.entry((id.clone(), number)) {
                Entry::Vacant(first) => {
                    first.insert(part.answer.clone());
                    draws.same.push(number);
                }
                Entry::Occupied(first) if !first.get().looks_like(&part.answer) => {
                    draws.same.retain(|same| *same != number);
                }
                Entry::Occupied(_) => {}
            }
        }
        let load = kept.load();
        draws.load = (draws.load.0.min(load), draws.load.1.max(load));
        for part in &kept.parts {
            if !kept.written(part).0.tolerance().0.is_empty() {
                draws.mistakes.0 += part.mistakes.len();
            }
        }
        for reason in &kept.thrown {
            if matches!(reason, Reject::Admitted { .. }) {
                draws.mistakes = (draws.mistakes.0 + 1, draws.mistakes.1 + 1);
            }
            let reason = reason.kind();
            match draws.thrown.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, n)) => *n += 1,
                None => draws.thrown.push((reason, 1)),
            }
        }
        draws.thrown.sort_by(|(x, n), (y, m)| m.cmp(n).then_with(|| x.cmp(y)));
    }

    /// The draws of each question, in the order in which a variant had it first.
    pub fn questions(&self) -> impl Iterator<Item = &Draws> {
        self.draws.values()
    }
}

impl Draws {
    /// How many draws were thrown away.
    pub fn n_thrown(&self) -> usize {
        self.thrown.iter().map(|(_, n)| n).sum()
    }
}
