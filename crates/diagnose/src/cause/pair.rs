//! Two faults at once.

use qkvet_spec::Fault;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::{Cause, Evidence, Seen, tells_apart};

/// Fewer failures than this are explained by some pair by chance.
const FEWEST: usize = 2;
/// Failures that every pair is tried on, the smallest: there are many pairs.
const TRIED: usize = 4;

/// Pairs of `candidates`, or of one of `known` and a candidate, that explain failures.
pub(super) fn pairs<'f>(
    evidence: &Evidence<'_>,
    known: &[&'f Fault],
    candidates: &[&'f Fault],
) -> Vec<Cause<'f>> {
    let wrong = || evidence.failures.iter().flatten().filter(|seen| !seen.is_right);
    let can_show = |fault: &&'f Fault| wrong().any(|seen| seen.is_touched(evidence.base, fault));
    let candidates: Vec<&'f Fault> = candidates.iter().copied().filter(can_show).collect();
    let candidates = candidates.as_slice();
    let with_later =
        |at: usize| candidates[at + 1..].iter().map(move |other| [candidates[at], *other]);
    let with_known = |first: &'f Fault| {
        candidates
            .iter()
            .filter(move |other| other.fault != first.fault)
            .map(move |other| [first, *other])
    };
    let pairs: Vec<[&'f Fault; 2]> = if known.is_empty() {
        (0..candidates.len()).flat_map(with_later).collect()
    } else {
        known.iter().flat_map(|first| with_known(first)).collect()
    };
    let size = |at: &usize| {
        let elements =
            |seen: &Seen<'_>| seen.record.call.query.data.len() * seen.record.call.dims().n_k;
        evidence.failures[*at].iter().map(elements).sum::<usize>()
    };
    let is_poor =
        |at: &usize| !evidence.failures[*at].iter().any(|seen| tells_apart(&seen.record.call));
    let mut tried: Vec<usize> = (0..evidence.failures.len()).collect();
    tried.sort_by_key(|at| (is_poor(at), size(at)));
    tried.truncate(TRIED);
    let explained = |pair: [&'f Fault; 2]| {
        let is_candidate = tried.iter().any(|at| evidence.explains(*at, &pair));
        let cause = is_candidate.then(|| evidence.all_explained(&pair)).flatten();
        cause.filter(|cause| cause.explained.len() >= FEWEST)
    };
    let mut causes: Vec<Cause<'f>> = pairs.into_par_iter().filter_map(explained).collect();
    causes.sort_by(|x, y| x.rank().cmp(&y.rank()));
    causes
}
