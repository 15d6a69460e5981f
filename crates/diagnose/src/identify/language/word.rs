//! Words, what they are made for, and how a family adds its own.

use qkvet_spec::{
    CallOption, DeviationFormula, Dims, IndexExpr, MeaningPatch, OptionSet, ResultName, Twist,
};

/// A formula that may be what a target computes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) formula: DeviationFormula,
    pub(crate) bits: f64,
    /// Calls without these are no evidence.
    pub(crate) needs: Vec<CallOption>,
    /// Calls with this are none.
    pub(crate) without: Option<CallOption>,
    /// The one result that it changes, if it is one.
    pub(crate) of: Option<ResultName>,
}

/// What the words are made for: the extents and options of the wrong calls.
pub(crate) struct Scope {
    /// Sizes of tiles: those that kernels have, and those that the smallest wrong calls suggest.
    pub(crate) tiles: Vec<usize>,
    /// Options that some wrong call has.
    pub(crate) options: OptionSet,
    /// The one result that is wrong, where calls gave others that are right.
    pub(crate) alone: Option<ResultName>,
    /// Whether some wrong element is no number.
    pub(crate) has_nan: bool,
}

/// Sizes of tiles that kernels have.
const TILES: [usize; 18] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128];

impl Scope {
    pub(crate) fn new(wrong: &[(Dims, OptionSet)], alone: Option<ResultName>) -> Self {
        let most = wrong.iter().map(|(dims, _)| dims.n_k.max(dims.n_q).max(dims.d_k.max(dims.d_v)));
        let most = most.max().unwrap_or(0);
        let mut tiles: Vec<usize> = TILES.into_iter().filter(|size| *size < most).collect();
        // What begins with the smallest wrong extent ends with a tile before it.
        for extent in [|dims: &Dims| dims.n_k, |dims: &Dims| dims.n_q] {
            let least = wrong.iter().map(|(dims, _)| extent(dims)).min().unwrap_or(0);
            tiles.extend([least.saturating_sub(1), least].into_iter().filter(|size| *size > 1));
        }
        tiles.sort_unstable();
        tiles.dedup();
        let is_used = |option: &CallOption| wrong.iter().any(|(_, on)| on.contains(*option));
        let options = CallOption::ALL.into_iter().filter(is_used).collect();
        Self { tiles, options, alone, has_nan: false }
    }

    /// Sizes of tiles that loops have.
    pub(crate) fn powers(&self) -> impl Iterator<Item = usize> {
        self.tiles.iter().copied().filter(|t| t.is_power_of_two())
    }
}

pub(super) struct Words<'a> {
    pub(super) scope: &'a Scope,
    pub(super) words: Vec<Word>,
}

impl Words<'_> {
    fn has(&self, options: &[CallOption]) -> bool {
        options.iter().all(|option| self.scope.options.contains(*option))
    }

    /// Adds a formula of meaning, of a twist, or of both.
    pub(super) fn add(
        &mut self,
        needs: &[CallOption],
        bits: f64,
        meaning: MeaningPatch,
        twist: Option<Twist>,
    ) {
        if self.has(needs) {
            let of = matches!(twist, Some(Twist::Lse { .. })).then_some(ResultName::Lse);
            let formula = DeviationFormula { meaning, twist, result: None };
            let needs = needs.to_vec();
            self.words.push(Word { formula, bits, needs, without: None, of });
        }
    }

    pub(super) fn meaning(&mut self, needs: &[CallOption], bits: f64, meaning: MeaningPatch) {
        self.add(needs, bits, meaning, None);
    }

    pub(super) fn twist(&mut self, needs: &[CallOption], bits: f64, twist: Twist) {
        self.add(needs, bits, MeaningPatch::default(), Some(twist));
    }

    /// Adds a twist with an expression.
    pub(super) fn twist_of(
        &mut self,
        needs: &[CallOption],
        bits: f64,
        text: &str,
        twist: impl Fn(IndexExpr) -> Twist,
    ) {
        if let Some(one) = expr(text) {
            self.twist(needs, bits, twist(one));
        }
    }

    /// Says of the last word that calls with the option are no evidence.
    pub(super) fn without(&mut self, option: CallOption) {
        self.words.iter_mut().last().into_iter().for_each(|word| word.without = Some(option));
    }
}

/// An expression of ours.
///
/// # Panics
/// If it does not parse: the tests go through all.
#[expect(clippy::expect_used, reason = "texts of this folder, all of which a test parses")]
pub(super) fn expr(text: &str) -> Option<IndexExpr> {
    Some(IndexExpr::new(text).expect("an index expression"))
}
