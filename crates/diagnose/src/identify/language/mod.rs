//! The language of formulas: families of words, each with a length in bits and the options without
//! which it says nothing.

mod maps;
mod numbers;
mod options;
mod twists;
mod visible;
mod word;

pub(super) use numbers::{Family, families, shortest};
use qkvet_spec::{DeviationFormula, Dims, OptionSet};
pub(super) use visible::behind;
use word::Words;
pub(super) use word::{Scope, Word};

/// The words that can say something in this scope, in a fixed order.
pub(super) fn words(scope: &Scope) -> Vec<Word> {
    let mut words = Words { scope, words: Vec::new() };
    options::add(&mut words);
    visible::add(&mut words);
    maps::add(&mut words);
    twists::add(&mut words);
    let alone = scope.alone.into_iter().flat_map(|result| {
        words.words.iter().filter(|word| word.of.is_none()).map(move |word| {
            let formula = DeviationFormula { result: Some(result), ..word.formula.clone() };
            Word { formula, bits: word.bits + 2.0, of: Some(result), ..word.clone() }
        })
    });
    let alone: Vec<Word> = alone.collect();
    words.words.extend(alone);
    words.words
}

/// Whether the formula is a word for calls of these extents and options, as it stands. Those with a
/// number that is fitted are none.
pub fn is_word(formula: &DeviationFormula, dims: Dims, options: OptionSet) -> bool {
    let scope = Scope::new(&[(dims, options)], formula.result);
    words(&scope).iter().any(|word| word.formula == *formula)
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOption, ResultName};

    use super::*;

    #[test]
    fn every_word_is_made_and_there_are_thousands() {
        let dims = Dims { b: 3, h_q: 8, h_k: 2, n_q: 130, n_k: 130, d_k: 64, d_v: 64 };
        let options: OptionSet = CallOption::ALL.into_iter().collect();
        let all = words(&Scope::new(&[(dims, options)], None));
        assert!(all.len() > 3000, "{}", all.len());
        let none = words(&Scope::new(&[(dims, OptionSet::default())], None));
        assert!(none.iter().all(|word| word.needs.is_empty()) && none.len() < all.len());
        let lse = words(&Scope::new(&[(dims, options)], Some(ResultName::Lse)));
        assert!(lse.iter().filter(|word| word.formula.result.is_some()).count() > 2000);
    }
}
