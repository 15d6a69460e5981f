//! What the calls say of one field: the values that fit each of them, and what follows from all.

use qkvet_spec::{Call, Certainty, Quoted};

use super::field::Field;

/// What was learnt of one field so far.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) field: &'static Field,
    /// Calls that the target answered.
    pub(super) seen: Vec<Seen>,
    /// Why others were declined.
    pub(super) declined: Vec<(Call, Quoted)>,
    /// How others broke.
    pub(super) broken: Vec<(Call, Quoted)>,
}

/// What one call says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Number of the trial.
    pub(super) trial: usize,
    /// Numbers of the values that hold its output.
    pub(super) fit: Vec<usize>,
    /// Whether the call was made for this field.
    pub(super) asked: bool,
}

impl Tally {
    pub(super) fn new(field: &'static Field) -> Self {
        Self { field, seen: Vec::new(), declined: Vec::new(), broken: Vec::new() }
    }

    /// The calls that count. One that no known value holds says nothing of a field for which it was
    /// not made.
    pub(super) fn telling(&self) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(|seen| seen.asked || !seen.fit.is_empty())
    }

    /// The values that hold every call.
    pub(super) fn common(&self) -> Vec<usize> {
        (0..self.field.len())
            .filter(|value| self.telling().all(|seen| seen.fit.contains(value)))
            .collect()
    }

    /// The values that single calls single out.
    pub(super) fn claimed(&self) -> Vec<usize> {
        let says = |value: &usize| self.telling().any(|seen| seen.fit == [*value]);
        (0..self.field.len()).filter(says).collect()
    }

    /// How sure the answer is; a broken call is told whatever the others say.
    pub(super) fn certainty(&self) -> Certainty {
        match (self.verdict(), self.broken.is_empty()) {
            (Certainty::Decided | Certainty::Undecided | Certainty::Declined, false) => {
                Certainty::Broken
            }
            (verdict, _) => verdict,
        }
    }

    /// What the calls say that were answered.
    fn verdict(&self) -> Certainty {
        let is_empty = self.telling().next().is_none();
        match self.common().len() {
            _ if is_empty && self.seen.is_empty() => Certainty::Declined,
            _ if is_empty || self.telling().any(|seen| seen.fit.is_empty()) => Certainty::None,
            0 => Certainty::Mixed,
            1 => Certainty::Decided,
            _ => Certainty::Undecided,
        }
    }

    /// The values that are still open: what later questions reckon with. Empty if nothing is known.
    pub(super) fn open(&self) -> Vec<usize> {
        match self.verdict() {
            Certainty::Decided | Certainty::Undecided => self.common(),
            Certainty::Mixed => self.claimed(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::field::MASK;
    use crate::probe::question::plain;
    use crate::probe::trials::{RUNGS, Trials};
    use qkvet_spec::Dtype;

    fn tally(fits: &[(&[usize], bool)]) -> Tally {
        let seen = |(trial, (fit, asked)): (usize, &(&[usize], bool))| Seen {
            trial,
            fit: fit.to_vec(),
            asked: *asked,
        };
        Tally { seen: fits.iter().enumerate().map(seen).collect(), ..Tally::new(&MASK) }
    }

    #[test]
    fn calls_agree_or_do_not() {
        let check = |fits: &[(&[usize], bool)], certainty, open: &[usize]| {
            let tally = tally(fits);
            assert_eq!((tally.certainty(), tally.open()), (certainty, open.to_vec()), "{fits:?}");
        };
        check(&[], Certainty::Declined, &[]);
        check(&[(&[0, 1], true), (&[1, 2], true)], Certainty::Decided, &[1]);
        check(&[(&[0, 1], true)], Certainty::Undecided, &[0, 1]);
        check(&[(&[0], true), (&[1], true), (&[0, 1, 2], true)], Certainty::Mixed, &[0, 1]);
        check(&[(&[0], true), (&[], true)], Certainty::None, &[]);
        // A call that was made for another field.
        check(&[(&[0], true), (&[], false)], Certainty::Decided, &[0]);
        check(&[(&[], false)], Certainty::None, &[]);
    }

    #[test]
    fn a_broken_call_is_told() {
        let of = |fits: &[(&[usize], bool)]| {
            let call = plain(&Trials::new(Dtype::Float32, RUNGS[0])).swap_remove(0).call;
            Tally { broken: vec![(call, "crash".into())], ..tally(fits) }.certainty()
        };
        assert_eq!(of(&[]), Certainty::Broken);
        assert_eq!(of(&[(&[0], true)]), Certainty::Broken);
        assert_eq!(of(&[(&[0], true), (&[1], true)]), Certainty::Mixed);
    }
}
