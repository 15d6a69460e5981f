//! Where in the space of shapes cases fail: numbers of queries and of keys, of the run and of each finding.

use std::collections::BTreeMap;

use qkvet_spec::{Finding, Summary};

use super::plot::{HEIGHT, Plot, WIDTH, extent};
use crate::text::count;

/// Places that are drawn of a run, and of a finding: a page has one run and many findings.
const MOST: usize = 2000;
const MOST_OF_FINDING: usize = 300;

/// Cases with as many queries and keys.
#[derive(Default)]
struct Place {
    held: usize,
    wrong: usize,
}

/// Numbers of queries and keys.
type Pair = (usize, usize);

/// The checked cases of a run by law and pair: how many held, how many are wrong, and of those how many show each finding.
pub(super) struct Shapes<'a> {
    by_law: BTreeMap<&'a str, BTreeMap<Pair, Cases>>,
}

#[derive(Default)]
struct Cases {
    all: Place,
    findings: BTreeMap<usize, usize>,
}

impl<'a> Shapes<'a> {
    pub(super) fn of(summary: &'a Summary) -> Self {
        let mut by_law: BTreeMap<&str, BTreeMap<Pair, Cases>> = BTreeMap::new();
        for record in summary.records.iter().filter(|record| record.verdict.is_checked()) {
            let (Some(n_q), Some(n_k)) = (extent(&record.call, "n_q"), extent(&record.call, "n_k")) else { continue };
            let cases = by_law.entry(&record.law).or_default().entry((n_q, n_k)).or_default();
            let is_wrong = record.verdict.is_finding();
            if is_wrong {
                cases.all.wrong += 1
            } else {
                cases.all.held += 1
            }
            if let Some(finding) = record.finding {
                *cases.findings.entry(finding).or_default() += 1;
            }
        }
        Self { by_law }
    }

    /// The plot of the run; empty where no case is wrong.
    pub(super) fn run(&self) -> String {
        let mut places: BTreeMap<Pair, Place> = BTreeMap::new();
        for (pair, cases) in self.by_law.values().flatten() {
            let place = places.entry(*pair).or_default();
            place.wrong += cases.all.wrong;
            place.held += cases.all.held;
        }
        let all = ("Cases are wrong", "all held", "some wrong");
        plot(&places, "Where cases are wrong, by numbers of queries and keys", all, MOST)
    }

    /// The plot of a finding by its number, over the cases of the laws that it broke: those that show it beside those that held.
    /// Empty where no case is said to show it.
    pub(super) fn finding(&self, finding: &Finding, number: usize) -> String {
        let mut places: BTreeMap<Pair, Place> = BTreeMap::new();
        let broken = self.by_law.iter().filter(|(law, _)| finding.laws.contains_key(**law));
        for (pair, cases) in broken.flat_map(|(_, places)| places) {
            let shows = cases.findings.get(&number).copied().unwrap_or(0);
            if shows + cases.all.held > 0 {
                let place = places.entry(*pair).or_default();
                place.wrong += shows;
                place.held += cases.all.held;
            }
        }
        let words = ("Cases of the laws that it broke show this finding", "all held", "shown by some");
        plot(&places, "Where this finding shows, by numbers of queries and keys", words, MOST_OF_FINDING)
    }
}

/// Crosses where some are wrong, circles where all held.
fn plot(places: &BTreeMap<Pair, Place>, title: &str, words: (&str, &str, &str), most: usize) -> String {
    let n_wrong: usize = places.values().map(|place| place.wrong).sum();
    if n_wrong == 0 {
        return String::new();
    }
    let (what, held, shown) = words;
    let log = |n: usize| libm::log2(n.max(1) as f64);
    let largest = |of: fn(&Pair) -> usize| log(places.keys().map(of).max().unwrap_or(1)).max(1.0);
    let (right, top) = (largest(|place| place.1), largest(|place| place.0));
    let across = |n_k: usize| 20.0 + (WIDTH - 40.0) * log(n_k) / right;
    let up = |n_q: usize| HEIGHT - 14.0 - (HEIGHT - 28.0) * log(n_q) / top;
    let mut plot = Plot::default();
    for power in 0..usize::BITS {
        let n = 1_usize << power;
        if log(n) > right && log(n) > top {
            break;
        }
        if log(n) <= right {
            plot.tick_across(across(n), &n.to_string());
        }
        if log(n) <= top {
            plot.tick_up(up(n), &n.to_string());
        }
    }
    for ((n_q, n_k), place) in places.iter().take(most) {
        let about =
            format!("n_q={n_q}, n_k={n_k}: {} wrong of {}", count(place.wrong), count(place.wrong + place.held));
        if place.wrong > 0 {
            plot.cross(across(*n_k), up(*n_q), &about);
        } else {
            plot.mark(0, across(*n_k), up(*n_q), &about);
        }
    }
    let wrong = places.values().filter(|place| place.wrong > 0).count();
    let about = format!(
        "{what} at {} of {} pairs of numbers of queries and keys, shown by crosses; circles are pairs where {held}",
        count(wrong),
        count(places.len())
    );
    let axes = ("number of keys (log)", "number of queries (log)", shown);
    plot.svg(title, &about, axes, &[held.to_owned()])
}
