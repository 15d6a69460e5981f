//! Two formulas at once, where no single one explains a wrong call: each explains some of its
//! elements and makes no right one wrong, and together they explain all.

use qkvet_engine::plain::Plain;
use qkvet_spec::{DeviationFormula, MeaningPatch};

use super::language::Word;
use super::layer::Layer;
use super::record::Record;
use super::search::Known;

/// Wrong calls that are looked at, and multiplications of each.
const MAX_CALLS: usize = 2;
const MAX_COST: usize = 60_000;
/// Words that explain elements of a call, the shortest first.
const MAX_WORDS: usize = 150;
/// Pairs of them that meet every call.
const MAX_PAIRS: usize = 8;

/// A word, and which of the wrong elements of a call it explains.
struct Part<'w> {
    word: &'w Word,
    gains: Vec<bool>,
}

impl Known<'_> {
    /// Pairs of words that together explain all of a wrong call, the shortest first.
    pub(super) fn compounds(&self, words: &[Word], tried: &[&Record]) -> Vec<Word> {
        let mut found: Vec<Word> = Vec::new();
        let affordable = tried.iter().filter(|record| super::record::cost(&record.call) < MAX_COST);
        for record in affordable.take(MAX_CALLS) {
            let mut parts: Vec<Part<'_>> =
                words.iter().filter_map(|word| self.part(word, record)).collect();
            parts.sort_by(|x, y| x.word.bits.total_cmp(&y.word.bits));
            parts.truncate(MAX_WORDS);
            for (at, x) in parts.iter().enumerate() {
                for y in &parts[..at] {
                    let is_all = x.gains.iter().zip(&y.gains).all(|(x, y)| *x || *y);
                    if let Some(both) = is_all.then(|| both(x.word, y.word)).flatten()
                        && self.explains(&both, record)
                        && !found.iter().any(|known| known.formula == both.formula)
                    {
                        found.push(both);
                    }
                }
            }
        }
        found.sort_by(|x, y| x.bits.total_cmp(&y.bits));
        found.truncate(MAX_PAIRS);
        found
    }

    /// What a word explains of a call, if that is something but not all, and it makes nothing wrong.
    fn part<'w>(&self, word: &'w Word, record: &Record) -> Option<Part<'w>> {
        if !self.concerns(word, record) {
            return None;
        }
        let predicted = self.predicted(record, &Layer::always(&word.formula))?;
        let gains = gains(record, &predicted)?;
        (gains.contains(&true) && gains.contains(&false)).then_some(Part { word, gains })
    }

    fn explains(&self, word: &Word, record: &Record) -> bool {
        let predicted = self.predicted(record, &Layer::always(&word.formula));
        let gains = predicted.and_then(|predicted| gains(record, &predicted));
        gains.is_some_and(|gains| gains.iter().all(|is_gain| *is_gain))
    }
}

/// Which of the wrong elements a prediction holds; `None` if it does not hold one that is right.
fn gains(record: &Record, predicted: &[Plain]) -> Option<Vec<bool>> {
    let mut found = Vec::new();
    for (one, other) in record.results.iter().zip(predicted) {
        for at in (0..one.got.len()).filter(|at| one.tells[*at]) {
            match (one.is_held[at], one.holds(other, at, record.tiny)) {
                (true, true) => {}
                (true, false) => return None,
                (false, holds) => found.push(holds),
            }
        }
    }
    Some(found)
}

/// Both words as one; `None` where they change the same field, or both are twists.
fn both(x: &Word, y: &Word) -> Option<Word> {
    let meaning = MeaningPatch::joined(&x.formula.meaning, &y.formula.meaning)?;
    let is_one = |x: bool, y: bool| !(x && y);
    let is_joined = x.formula.result == y.formula.result
        && x.of == y.of
        && is_one(x.formula.twist.is_some(), y.formula.twist.is_some())
        && is_one(x.without.is_some(), y.without.is_some());
    let twist = x.formula.twist.clone().or_else(|| y.formula.twist.clone());
    is_joined.then(|| Word {
        formula: DeviationFormula { meaning, twist, result: x.formula.result },
        bits: x.bits + y.bits + 1.0,
        needs: x.needs.iter().chain(&y.needs).copied().collect(),
        without: x.without.or(y.without),
        of: x.of,
    })
}
