//! Failures by the faults that explain them.

use qkvet_spec::{Fault, Meaning};

use crate::cause::{Cause, Records, Room, cause, contradicting, pairs, together};
use crate::sample_evenly::sample_evenly;

/// A fault is named when it explains at least one in this many of the failures looked at.
pub const MIN_SHARE: usize = 3;
/// Two faults of which neither is known from other failures are named when they explain so many of
/// so many: there are so many pairs that one of them explains a half of anything.
const MIN_SHARE_OF_TWO: (usize, usize) = (3, 4);
/// Failures looked at in search of a fault.
const MAX: usize = 60;

/// Failures that the same fault explains, or the same two together.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// The fault. Of two, the one that is named for the first time comes first.
    pub faults: Vec<&'a Fault>,
    /// Numbers of the failures.
    pub members: Vec<usize>,
    /// How many failures no other fault explained before.
    pub of: usize,
    /// How many of the calls that came out right contradict it for certain.
    pub contradicted: usize,
    /// What comes next to it: a fault, or two, and of how many failures that were looked at it
    /// explains how many.
    pub rival: Option<(Vec<&'a Fault>, usize, usize)>,
}

/// Names faults as long as one explains a good part of the failures that are left, then as long as
/// two do together.
pub fn named<'a>(
    failures: &Records<'_>,
    passing: &Records<'_>,
    base: &Meaning,
    faults: &[&'a Fault],
) -> Vec<Named<'a>> {
    // A case without recorded calls is explained by nothing.
    let mut left: Vec<usize> =
        (0..failures.len()).filter(|at| !failures[*at].0.is_empty()).collect();
    let mut found: Vec<Named<'a>> = Vec::new();
    while !left.is_empty() {
        let looked_at: Vec<_> = sample_evenly(&left, MAX).map(|at| failures[*at]).collect();
        let explained =
            |causes: &Vec<Cause<'a>>| causes.first().map_or(0, |best| best.explained.len());
        let is_enough = |causes: &Vec<Cause<'a>>| explained(causes) * MIN_SHARE >= looked_at.len();
        let is_most = |causes: &Vec<Cause<'a>>| {
            let (some, of) = MIN_SHARE_OF_TWO;
            explained(causes) * of >= looked_at.len() * some
        };
        let known: Vec<&'a Fault> =
            found.iter().flat_map(|named| named.faults.iter().copied()).collect();
        let all = || faults.iter().copied();
        let alone = || Some(cause(&looked_at, passing, base, all()));
        let beside =
            || (!known.is_empty()).then(|| pairs(&looked_at, passing, base, &known, all()));
        let both = || Some(pairs(&looked_at, passing, base, &[], all()));
        let causes = alone()
            .filter(is_enough)
            .or_else(|| beside().filter(is_enough))
            .or_else(|| both().filter(is_most));
        let Some(causes) = causes else { break };
        let best = &causes[0];
        let records: Vec<_> = left.iter().map(|at| failures[*at]).collect();
        let Some(explained) = together(&records, base, &best.faults) else { break };
        let members: Vec<usize> = explained.explained.iter().map(|at| left[*at]).collect();
        let rival = causes
            .get(1)
            .map(|rival| (rival.faults.clone(), rival.explained.len(), looked_at.len()));
        let mut faults = best.faults.clone();
        faults.sort_by_key(|fault| known.iter().any(|named| named.fault == fault.fault));
        let of = left.len();
        left.retain(|at| !members.contains(at));
        let contradicted = match best.contradicted {
            0 => 0,
            _ => contradicting(passing, base, &best.faults, Room::OfRight).count(),
        };
        found.push(Named { faults, members, of, contradicted, rival });
    }
    found
}
