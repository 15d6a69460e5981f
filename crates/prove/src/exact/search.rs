//! The search for a counterexample among small instances.

use std::fmt;

use qkvet_spec::{CheckedLaw, Dims, Packed};

use super::draw::{all_extents, draw, is_possible, volume};
use super::instance::{Instance, Value};
use super::margin::keeps_margins;
use super::matrices::ExactMatrices;
use super::relation::{Decision, Failure, decide};
use super::shrink::shrink;
use super::source::Source;

/// How many instances are drawn of extents up to `size`. Where they only stand beside a proof,
/// small ones, fewer are enough: every option is on in some of them, as a test sees to.
fn count(size: usize) -> usize {
    if size < 3 { 24 } else { 64 }
}

/// What was found about a law on small instances.
#[derive(Clone, Debug)]
pub struct Search {
    /// Instances on which it holds, exactly.
    pub confirmed: usize,
    /// Instances on which it has no exact value.
    pub undecided: usize,
    /// One on which it fails: the law is false.
    pub counterexample: Option<Counterexample>,
}

/// An instance on which a law fails, exactly.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The instance, made as small and simple as could be found.
    pub instance: Instance,
    /// Where the law fails on it.
    pub failure: Failure,
    /// The variables that the law speaks of.
    shown: Vec<String>,
}

/// Tries a law on at most 64 instances, always the same, with extents from 1 to `size`, which
/// counts as 3 at most, and small whole numbers; on at most 24 below 3. The first on which it fails
/// is made smaller.
///
/// Soft caps are never on, since `tanh` has no exact values here: a law that ranges over them is
/// tried without. An extent of the law's own that starts above 4 leaves nothing to try.
pub fn search(law: &CheckedLaw, size: usize) -> Search {
    let size = size.clamp(1, 3);
    let extents: Vec<Dims> =
        all_extents(size).into_iter().filter(|dims| is_possible(law, *dims)).collect();
    let mut search = Search { confirmed: 0, undecided: 0, counterexample: None };
    for (dims, instance) in instances(law, &extents, size) {
        match decide(law, &instance) {
            Decision::Holds => search.confirmed += 1,
            Decision::Undecided(_) => search.undecided += 1,
            Decision::Fails(failure) => {
                let smaller = extents
                    .iter()
                    .copied()
                    .filter(|other| volume(*other) < volume(*dims))
                    .collect::<Vec<_>>();
                let (instance, failure) = shrink(law, (instance, *failure), &smaller, size);
                let shown = ["Q", "K", "V"]
                    .map(str::to_owned)
                    .into_iter()
                    .filter(|name| law.mentions(name));
                let own = law.given.iter().flat_map(|given| given.names.clone());
                let mut shown: Vec<String> = shown.chain(own).collect();
                shown.sort();
                shown.dedup();
                search.counterexample = Some(Counterexample { instance, failure, shown });
                break;
            }
        }
    }
    search
}

/// The instances of a law that are tried, from small to large, evenly.
fn instances<'a>(
    law: &'a CheckedLaw,
    extents: &'a [Dims],
    size: usize,
) -> impl Iterator<Item = (&'a Dims, Instance)> + 'a {
    (0..count(size)).filter_map(move |seed| {
        let dims = extents.get(seed * extents.len() / count(size))?;
        let instance = draw(law, *dims, size, &mut Source::random(seed as u64))
            .ok()
            .filter(|instance| keeps_margins(law, instance))?;
        Some((dims, instance))
    })
}

impl fmt::Display for Counterexample {
    /// The variables, the options that are on, and both sides where they differ, exactly and to
    /// twelve certain decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.shown {
            match (self.instance.values.get(name), self.instance.extents.get(name)) {
                (Some(value), _) => writeln!(f, "{name} = {value}")?,
                (None, Some(n)) => writeln!(f, "{name} = {n}")?,
                (None, None) => {}
            }
        }
        let options = &self.instance.options;
        options.scale.iter().try_for_each(|scale| writeln!(f, "scale = {scale}"))?;
        if options.causal {
            writeln!(f, "causal")?;
        }
        options.mask.iter().try_for_each(|mask| writeln!(f, "mask = {mask}"))?;
        options.bias.iter().try_for_each(|bias| writeln!(f, "bias = {bias}"))?;
        if let Some(window) = options.window {
            let end = |end: Option<usize>| end.map_or("all".to_owned(), |n| n.to_string());
            writeln!(f, "window = {} before, {} behind", end(window.left), end(window.right))?;
        }
        for (name, lengths) in
            [("key_lengths", &options.key_lengths), ("query_lengths", &options.query_lengths)]
        {
            lengths.iter().try_for_each(|lengths| writeln!(f, "{name} = {lengths:?}"))?;
        }
        if let Some(Packed { query_offsets, key_offsets }) = &options.packed {
            writeln!(f, "packed = queries {query_offsets:?}, keys {key_offsets:?}")?;
        }
        for (name, numbers) in [("sinks", &options.sinks), ("alibi_slopes", &options.alibi_slopes)]
        {
            if let Some(numbers) = numbers {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                writeln!(f, "{name} = [{}]", numbers.join(", "))?;
            }
        }
        let Failure { relation, place: [b, h, i, c], left, right } = &self.failure;
        writeln!(f, "not left {relation} right at b={b} h={h} i={i} c={c}")?;
        writeln!(f, "left  = {left} = {}", left.digits(12))?;
        write!(f, "right = {right} = {}", right.digits(12))
    }
}

impl fmt::Display for ExactMatrices {
    /// `[[1, 0], [0, 1]]`; one matrix behind the other for several items or heads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |matrix: usize| {
            let row = |i: usize| {
                let at = (matrix * self.rows + i) * self.cols;
                let row: Vec<String> =
                    self.data.iter().skip(at).take(self.cols).map(ToString::to_string).collect();
                format!("[{}]", row.join(", "))
            };
            format!("[{}]", (0..self.rows).map(row).collect::<Vec<_>>().join(", "))
        };
        let count = self.batch.unwrap_or(1) * self.heads.unwrap_or(1);
        f.write_str(&(0..count).map(rows).collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => x.fmt(f),
            Self::Index(i) => write!(f, "{i}"),
            Self::Indices(rows) | Self::Shape(rows) => write!(f, "{rows:?}"),
            Self::Matrices(m) => m.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOption, Catalog, Proof};

    use super::*;
    use crate::exact::draw::is_on;
    use crate::exact::instance::ExactOptions;

    #[test]
    fn every_option_of_every_law_is_on_in_some_instance_and_off_in_another() {
        let catalog = Catalog::embedded().unwrap();
        for (id, law) in catalog.laws.iter().filter(|(_, law)| law.law.proof != Proof::Moments) {
            for size in [2, 3] {
                let extents: Vec<Dims> =
                    all_extents(size).into_iter().filter(|dims| is_possible(law, *dims)).collect();
                let drawn: Vec<ExactOptions> =
                    instances(law, &extents, size).map(|(_, instance)| instance.options).collect();
                for option in
                    CallOption::ALL.into_iter().filter(|option| law.law.options.contains(option))
                {
                    let on = drawn.iter().filter(|options| is_on(options, option)).count();
                    assert_eq!(on > 0, ExactOptions::knows(option), "{id}: {option:?} at {size}");
                    assert!(on < drawn.len(), "{id}: {option:?} at {size}");
                }
            }
        }
    }
}
