//! Two formulas at once, where no single one explains a wrong call: each explains some of its
//! elements and makes no right one wrong, and together they explain all.

use qkvet_engine::plain::Plain;
use qkvet_spec::{DeviationFormula, MeaningPatch};

use super::language::Word;
use super::record::{Record, cost};

/// Multiplications of a call that is looked at.
const MAX_COST: usize = 40_000;
/// Wrong elements of a call: any two words explain one or two.
const MIN_WRONG: usize = 8;
/// Words that explain elements of a call, the shortest first.
const MAX_WORDS: usize = 150;
/// Pairs of them that meet the whole call, and every call.
const MAX_TRIED: usize = 200;
const MAX_PAIRS: usize = 8;

/// A word, and which of the wrong elements of a call it explains.
struct Part<'w> {
    word: &'w Word,
    gains: Vec<bool>,
}

/// Whether a call is one that pairs of words are looked for in.
pub(super) fn is_fit(record: &Record) -> bool {
    let wrong = record.results.iter().map(|one| one.wrong().count()).sum::<usize>();
    cost(&record.call) < MAX_COST && wrong >= MIN_WRONG
}

/// Pairs of words that together explain all of a wrong call, the shortest first; `predict` says what
/// a word says of it.
pub(super) fn compounds(
    words: &[Word],
    record: &Record,
    predict: &dyn Fn(&Word) -> Option<Vec<Plain>>,
) -> Vec<Word> {
    let gains = |word: &Word| gains(record, &predict(word)?);
    let part = |word| {
        let gains = gains(word)?;
        (gains.contains(&true) && gains.contains(&false)).then_some(Part { word, gains })
    };
    let mut parts: Vec<Part<'_>> = words.iter().filter_map(part).collect();
    parts.sort_by(|x, y| x.word.bits.total_cmp(&y.word.bits));
    parts.truncate(MAX_WORDS);
    let mut pairs: Vec<Word> = Vec::new();
    for (at, x) in parts.iter().enumerate() {
        let is_all = |y: &&Part<'_>| x.gains.iter().zip(&y.gains).all(|(x, y)| *x || *y);
        pairs.extend(parts[..at].iter().filter(is_all).filter_map(|y| both(x.word, y.word)));
    }
    pairs.sort_by(|x, y| x.bits.total_cmp(&y.bits));
    pairs.truncate(MAX_TRIED);
    let explains =
        |both: &Word| gains(both).is_some_and(|gains| gains.iter().all(|is_gain| *is_gain));
    pairs.into_iter().filter(explains).take(MAX_PAIRS).collect()
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
