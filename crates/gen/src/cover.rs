//! Covering arrays: few rows in which every combination of `t` choices occurs (greedy, row by row,
//! deterministic).

/// One choice to be made in every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    /// Number of levels; a factor without levels is never chosen.
    pub(crate) levels: usize,
    /// An earlier factor that must not be at level 0 for this one to mean anything (no mask, no
    /// mask form).
    pub(crate) needs: Option<usize>,
    /// Levels below this one are plain. Where any factor has a level that is not, every row has one
    /// too.
    pub(crate) plain: usize,
}

impl Factor {
    /// A factor that needs no other and has plain levels only.
    pub(crate) fn free(levels: usize) -> Self {
        Self { levels, needs: None, plain: levels }
    }
}

/// The factors of which a row must have one above its plain levels.
fn special(factors: &[Factor]) -> Vec<usize> {
    (0..factors.len()).filter(|at| factors[*at].plain < factors[*at].levels).collect()
}

/// Whether the choices leave no special factor that could be above its plain levels.
fn is_plain(factors: &[Factor], special: &[usize], level: impl Fn(usize) -> Option<usize>) -> bool {
    !special.is_empty()
        && special.iter().all(|at| level(*at).is_some_and(|level| level < factors[*at].plain))
}

/// A level for every factor; `None` where it means nothing.
pub(crate) type Row = Vec<Option<usize>>;

/// A factor and its level.
type Choice = (usize, usize);

/// Combinations of one size in their order, and which of them no row has yet.
struct Uncovered {
    all: Vec<Vec<Choice>>,
    /// Those before this one are covered.
    next: usize,
    /// By [`Uncovered::place`].
    is_open: Vec<bool>,
    /// Where the levels of each factor start among those of all.
    starts: Vec<usize>,
    levels: usize,
}

impl Uncovered {
    fn new(factors: &[Factor], strength: usize) -> Self {
        let mut levels = 0;
        let starts = factors.iter().map(|factor| {
            levels += factor.levels;
            levels - factor.levels
        });
        let starts = starts.collect();
        let mut all = Vec::new();
        combinations(factors, strength, 0, &mut Vec::new(), &mut all);
        let is_open = vec![false; levels.pow(strength as u32)];
        let mut uncovered = Self { all, next: 0, is_open, starts, levels };
        for at in 0..uncovered.all.len() {
            let place = uncovered.place(uncovered.all[at].iter().copied());
            uncovered.is_open[place] = true;
        }
        uncovered
    }

    /// A number of its own for each combination, ascending by factor.
    fn place(&self, combination: impl Iterator<Item = Choice>) -> usize {
        combination
            .fold(0, |place, (factor, level)| place * self.levels + self.starts[factor] + level)
    }

    /// Whether no row has the combination together with one more choice.
    fn has(&self, combination: &[Choice], more: Choice) -> bool {
        let (before, after) =
            combination.split_at(combination.partition_point(|(factor, _)| *factor < more.0));
        self.is_open[self.place(before.iter().copied().chain([more]).chain(after.iter().copied()))]
    }

    /// The first that no row has.
    fn first(&mut self) -> Option<&[Choice]> {
        while !self.is_open[self.place(self.all.get(self.next)?.iter().copied())] {
            self.next += 1;
        }
        Some(&self.all[self.next])
    }
}

/// Rows in which every admissible combination of `strength` factors' levels occurs (at most 3;
/// fewer factors, fewer).
pub(crate) fn covering_array(factors: &[Factor], strength: usize) -> Vec<Row> {
    let strength =
        strength.clamp(1, 3).min(factors.iter().filter(|factor| factor.levels > 0).count());
    let mut uncovered = Uncovered::new(factors, strength);
    let mut used: Vec<Vec<usize>> = factors.iter().map(|factor| vec![0; factor.levels]).collect();
    let mut rows = Vec::new();
    while let Some(first) = uncovered.first().map(<[Choice]>::to_vec) {
        let row = next_row(factors, strength, &first, &uncovered, &used);
        let active: Vec<Choice> = assigned(&row).collect();
        subsets(&active, strength, &mut |chosen| {
            let place = uncovered.place(chosen.iter().copied());
            uncovered.is_open[place] = false;
        });
        active.iter().for_each(|(factor, level)| used[*factor][*level] += 1);
        rows.push(row);
    }
    rows
}

/// Starts from one uncovered combination and gives every other factor the level that covers most
/// that is new.
fn next_row(
    factors: &[Factor],
    strength: usize,
    first: &[Choice],
    uncovered: &Uncovered,
    used: &[Vec<usize>],
) -> Row {
    let mut row: Row = vec![None; factors.len()];
    first.iter().for_each(|(factor, level)| row[*factor] = Some(*level));
    let on: Vec<usize> = (0..factors.len())
        .filter(|at| row[*at].is_some())
        .filter_map(|at| factors[at].needs)
        .collect();
    let special = special(factors);
    for at in 0..factors.len() {
        let off = factors[at].needs.is_some_and(|needed| row[needed].unwrap_or(0) == 0);
        if row[at].is_some() || off {
            continue;
        }
        let others: Vec<Choice> = assigned(&row).collect();
        // The last factor that can keep the row from being plain does.
        let is_last = special.contains(&at)
            && is_plain(factors, &special, |other| if other == at { Some(0) } else { row[other] });
        let lowest = if is_last { factors[at].plain } else { usize::from(on.contains(&at)) };
        let score = |level: usize| {
            let mut new = 0usize;
            subsets(&others, strength - 1, &mut |chosen| {
                new += usize::from(uncovered.has(chosen, (at, level)));
            });
            (new, std::cmp::Reverse(used[at][level]), std::cmp::Reverse(level))
        };
        row[at] = (lowest..factors[at].levels).max_by_key(|level| score(*level));
    }
    row
}

/// At most `limit` row numbers, ascending: first rows that together hold every level, then evenly
/// spread ones. `rotation` says where to start, so that different groups keep different rows.
pub(crate) fn sample_evenly(
    factors: &[Factor],
    rows: &[Row],
    limit: usize,
    rotation: usize,
) -> Vec<usize> {
    if rows.len() <= limit {
        return (0..rows.len()).collect();
    }
    let mut is_missing: Vec<Vec<bool>> =
        factors.iter().map(|factor| vec![true; factor.levels]).collect();
    let order: Vec<usize> = (0..rows.len()).map(|at| (at + rotation) % rows.len()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < limit {
        let gain = |at: &usize| {
            assigned(&rows[*at]).filter(|(factor, level)| is_missing[*factor][*level]).count()
        };
        let gains = order.iter().rev().map(|at| (gain(at), *at));
        let Some((1.., best)) = gains.max_by_key(|(gain, _)| *gain) else { break };
        assigned(&rows[best]).for_each(|(factor, level)| is_missing[factor][level] = false);
        chosen.push(best);
    }
    let rest: Vec<usize> = order.into_iter().filter(|at| !chosen.contains(at)).collect();
    let more = limit - chosen.len();
    chosen.extend((0..more).map(|at| rest[at * rest.len() / more]));
    chosen.sort_unstable();
    chosen
}

fn assigned(row: &Row) -> impl Iterator<Item = Choice> + '_ {
    row.iter().enumerate().filter_map(|(factor, level)| Some((factor, (*level)?)))
}

fn combinations(
    factors: &[Factor],
    strength: usize,
    from: usize,
    chosen: &mut Vec<Choice>,
    all: &mut Vec<Vec<Choice>>,
) {
    if chosen.len() == strength {
        let level =
            |at: usize| chosen.iter().find(|(factor, _)| *factor == at).map(|(_, level)| *level);
        if strength > 0 && !is_plain(factors, &special(factors), level) {
            all.push(chosen.clone());
        }
        return;
    }
    for at in from..factors.len() {
        let off = factors[at]
            .needs
            .is_some_and(|needed| factors[needed].levels < 2 || chosen.contains(&(needed, 0)));
        if off {
            continue;
        }
        for level in 0..factors[at].levels {
            chosen.push((at, level));
            combinations(factors, strength, at + 1, chosen, all);
            chosen.pop();
        }
    }
}

/// Calls `visit` with every subset of `count` items, in order.
fn subsets(items: &[Choice], count: usize, visit: &mut dyn FnMut(&[Choice])) {
    fn go(
        items: &[Choice],
        count: usize,
        chosen: &mut Vec<Choice>,
        visit: &mut dyn FnMut(&[Choice]),
    ) {
        if count == 0 {
            return visit(chosen);
        }
        for at in 0..items.len() {
            chosen.push(items[at]);
            go(&items[at + 1..], count - 1, chosen, visit);
            chosen.pop();
        }
    }
    go(items, count, &mut Vec::new(), visit);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent of the implementation: every admissible combination, by nested loops over all
    /// factor sets.
    fn missing(factors: &[Factor], rows: &[Row], strength: usize) -> usize {
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..strength {
            sets = sets
                .into_iter()
                .flat_map(|set| {
                    let from = set.last().map_or(0, |last| last + 1);
                    (from..factors.len()).map(move |next| [set.clone(), vec![next]].concat())
                })
                .collect();
        }
        let mut missing = 0;
        for set in sets {
            let mut levels: Vec<Vec<usize>> = vec![Vec::new()];
            for at in &set {
                levels = levels
                    .into_iter()
                    .flat_map(|chosen| {
                        (0..factors[*at].levels)
                            .map(move |level| [chosen.clone(), vec![level]].concat())
                    })
                    .collect();
            }
            for chosen in levels {
                let admissible = set.iter().all(|at| {
                    factors[*at].needs.is_none_or(|needed| {
                        factors[needed].levels > 1
                            && set
                                .iter()
                                .zip(&chosen)
                                .all(|(other, level)| *other != needed || *level > 0)
                    })
                });
                let special: Vec<usize> = (0..factors.len())
                    .filter(|at| factors[*at].plain < factors[*at].levels)
                    .collect();
                let chosen_plain = |at: &usize| {
                    set.iter()
                        .zip(&chosen)
                        .any(|(other, level)| other == at && *level < factors[*at].plain)
                };
                let admissible =
                    admissible && (special.is_empty() || !special.iter().all(chosen_plain));
                let held = rows
                    .iter()
                    .any(|row| set.iter().zip(&chosen).all(|(at, level)| row[*at] == Some(*level)));
                missing += usize::from(admissible && !held);
            }
        }
        missing
    }

    fn factors(levels: &[usize]) -> Vec<Factor> {
        let mut all: Vec<Factor> = levels.iter().map(|levels| Factor::free(*levels)).collect();
        if all.len() > 5 {
            all[5].needs = Some(4);
        }
        all
    }

    #[test]
    fn every_combination_occurs() {
        let check = |levels: &[usize], strength: usize, most: usize| {
            let factors = factors(levels);
            let rows = covering_array(&factors, strength);
            assert_eq!(missing(&factors, &rows, strength), 0, "{levels:?} {strength}");
            assert!(rows.len() <= most, "{levels:?} {strength}: {} rows", rows.len());
            for row in &rows {
                for (factor, level) in factors.iter().zip(row) {
                    assert!(level.is_none_or(|level| level < factor.levels));
                    let off = factor.needs.is_some_and(|needed| row[needed].unwrap_or(0) == 0);
                    assert_eq!(level.is_none(), off || factor.levels == 0);
                }
            }
        };
        check(&[3, 4, 2], 1, 4);
        check(&[3, 4, 2], 2, 13);
        check(&[3, 3, 3, 3], 2, 12);
        check(&[17, 8, 6, 2, 7, 5, 6], 2, 150);
        check(&[4, 3, 2, 2, 3, 2, 2], 3, 60);
        check(&[5, 1, 1, 1, 1, 0, 1], 2, 5);
        check(&[1, 1, 1, 1, 1, 0, 1], 2, 1);
        check(&[2], 3, 2);
    }

    #[test]
    fn no_row_is_plain_where_any_could_be_special() {
        for (plain, strength) in [
            (&[(1, 2)][..], 2),
            (&[(1, 1), (7, 1)], 2),
            (&[(1, 6), (7, 1), (8, 1), (9, 1)], 2),
            (&[(8, 1)], 3),
        ] {
            let mut factors = factors(&[5, 8, 3, 2, 3, 2, 3, 4, 3, 5]);
            plain.iter().for_each(|(at, plain)| factors[*at].plain = *plain);
            let rows = covering_array(&factors, strength);
            assert_eq!(missing(&factors, &rows, strength), 0, "{plain:?}");
            let is_special = |row: &Row| {
                plain.iter().any(|(at, plain)| row[*at].is_some_and(|level| level >= *plain))
            };
            assert!(rows.iter().all(is_special), "{plain:?}");
        }
    }

    #[test]
    fn thinning_keeps_every_level_it_can() {
        let factors = factors(&[17, 8, 6, 2, 7, 5, 6]);
        let rows = covering_array(&factors, 2);
        for (limit, rotation) in [(28, 0), (28, 77), (20, 5)] {
            let chosen = sample_evenly(&factors, &rows, limit, rotation);
            assert_eq!(chosen.len(), limit);
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
            let kept: Vec<Row> = chosen.iter().map(|at| rows[*at].clone()).collect();
            assert_eq!(missing(&factors, &kept, 1), 0, "{limit} {rotation}");
        }
        assert_eq!(sample_evenly(&factors, &rows, 2, 3).len(), 2);
        assert_ne!(sample_evenly(&factors, &rows, 2, 3), sample_evenly(&factors, &rows, 2, 40));
    }
}
