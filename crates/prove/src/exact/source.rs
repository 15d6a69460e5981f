//! Where instances take their numbers and choices from: at random, or every choice in turn.

use super::matrices::{ExactMatrices, Lead};
use super::number::Exact;

/// A fixed sequence of choices.
pub(super) enum Source {
    /// Pseudo-random: `SplitMix64`. Every fourth instance is without options.
    Random {
        /// What the next number is made of.
        state: u64,
        /// Whether options may be on.
        has_options: bool,
    },
    /// Every choice, one sequence after the other; numbers are indeterminates.
    Every {
        /// The choice taken and how many there were, in order.
        choices: Vec<(usize, usize)>,
        /// Choices taken in this sequence.
        taken: usize,
        /// Indeterminates of this sequence.
        symbols: u32,
    },
}

impl Source {
    pub(super) fn random(seed: u64) -> Self {
        Self::Random { state: seed, has_options: !seed.is_multiple_of(4) }
    }

    pub(super) fn every() -> Self {
        Self::Every { choices: Vec::new(), taken: 0, symbols: 0 }
    }

    /// Whether another sequence of choices is left; the source is then at its beginning.
    pub(super) fn next_sequence(&mut self) -> bool {
        let Self::Every { choices, taken, symbols } = self else { return false };
        (*taken, *symbols) = (0, 0);
        while let Some((choice, count)) = choices.pop() {
            if choice + 1 < count {
                choices.push((choice + 1, count));
                return true;
            }
        }
        false
    }

    /// Whether options may be on.
    pub(super) fn has_options(&self) -> bool {
        !matches!(self, Self::Random { has_options: false, .. })
    }

    /// Whether every choice is taken in turn.
    pub(super) fn is_every(&self) -> bool {
        matches!(self, Self::Every { .. })
    }

    /// A whole number below `n`, which is small, or 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        match self {
            Self::Random { state, .. } => {
                let n = u64::try_from(n.max(1)).unwrap_or(u64::MAX);
                usize::try_from((random(state) >> 16) % n).unwrap_or(0)
            }
            Self::Every { choices, taken, .. } => {
                if *taken == choices.len() {
                    choices.push((0, n.max(1)));
                }
                *taken += 1;
                choices[*taken - 1].0
            }
        }
    }

    /// One time in `n`.
    pub(super) fn rarely(&mut self, n: usize) -> bool {
        let n = if self.is_every() { 2 } else { n };
        self.below(n) == 0
    }

    /// A whole number from −2 to 2.
    pub(super) fn entry(&mut self) -> i64 {
        i64::try_from(self.below(5)).unwrap_or(0) - 2
    }

    /// Any number: a whole one from −2 to 2, or an indeterminate.
    pub(super) fn number(&mut self) -> Exact {
        match self {
            Self::Random { .. } => self.entry().into(),
            Self::Every { symbols, .. } => {
                *symbols += 1;
                Exact::symbol(*symbols)
            }
        }
    }

    /// One of these numbers, or an indeterminate.
    pub(super) fn one_of<const N: usize>(&mut self, numbers: [f64; N]) -> Option<Exact> {
        if self.is_every() {
            Some(self.number())
        } else {
            Exact::try_from(numbers[self.below(N)]).ok()
        }
    }

    pub(super) fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    pub(super) fn matrices(&mut self, lead: Lead, rows: usize, cols: usize) -> ExactMatrices {
        let count = lead.0.unwrap_or(1) * lead.1.unwrap_or(1) * rows * cols;
        let data = (0..count).map(|_| self.number().into()).collect();
        ExactMatrices { batch: lead.0, heads: lead.1, rows, cols, data }
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_of_choices_comes_once() {
        let mut source = Source::every();
        let mut seen = Vec::new();
        loop {
            let first = source.below(2);
            seen.push((
                first,
                if first == 0 { source.below(3) } else { 9 },
                source.number().to_string(),
            ));
            if !source.next_sequence() {
                break;
            }
        }
        let places: Vec<_> = seen.iter().map(|(x, y, _)| (*x, *y)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 9)]);
        assert!(seen.iter().all(|(.., number)| number == "x1"));
    }
}
