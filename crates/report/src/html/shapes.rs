//! Where in the space of shapes cases fail: numbers of queries and of keys, of the run and of each
//! finding.

use std::collections::BTreeMap;

use qkvet_spec::{Dims, Finding, Summary};

use super::plot::{HEIGHT, Plot, WIDTH};
use crate::text::count;

/// Places that are drawn of a run, and of a finding: a page has one run and many findings.
const MAX: usize = 2000;
const MAX_OF_FINDING: usize = 300;

/// Cases with as many queries and keys.
#[derive(Clone, Copy, Default)]
struct Place {
    held: usize,
    wrong: usize,
}

/// Numbers of queries and keys.
type Pair = (usize, usize);

/// The checked cases of a run by pair: how many held, how many are wrong, and of those how many
/// show each finding.
pub(super) struct Shapes {
    by_pair: BTreeMap<Pair, Cases>,
}

#[derive(Default)]
struct Cases {
    all: Place,
    findings: BTreeMap<usize, usize>,
}

impl Shapes {
    pub(super) fn of(summary: &Summary) -> Self {
        let mut by_pair: BTreeMap<Pair, Cases> = BTreeMap::new();
        for record in summary.records.iter().filter(|record| record.verdict.is_checked()) {
            let cases = by_pair.entry(pair(record.dims)).or_default();
            if record.verdict.is_finding() {
                cases.all.wrong += 1;
            } else {
                cases.all.held += 1;
            }
            if let Some(finding) = record.finding {
                *cases.findings.entry(finding).or_default() += 1;
            }
        }
        Self { by_pair }
    }

    /// The plot of the run; empty where no case is wrong.
    pub(super) fn run(&self) -> String {
        let places = self.by_pair.iter().map(|(pair, cases)| (*pair, cases.all)).collect();
        let words = Words {
            title: "Where cases are wrong, by numbers of queries and keys",
            what: "Cases are wrong",
            crosses: "some wrong",
        };
        plot(&places, None, &words, MAX)
    }

    /// The plot of a finding by its number: pairs at which cases or the smallest witness, which
    /// need not be a case of the suite, show it, and pairs at which all cases held. Empty where no
    /// case is said to show it.
    pub(super) fn finding(&self, finding: &Finding, number: usize) -> String {
        let mut places: BTreeMap<Pair, Place> = BTreeMap::new();
        for (pair, cases) in &self.by_pair {
            let wrong = cases.findings.get(&number).copied().unwrap_or(0);
            if wrong + cases.all.held > 0 {
                places.insert(*pair, Place { wrong, held: cases.all.held });
            }
        }
        let witness = pair(finding.witness.dims);
        // A witness was made smaller, where cases of the suite may have held: it shows the finding
        // all the same.
        if places.values().any(|place| place.wrong > 0) {
            let place = places.entry(witness).or_default();
            place.wrong = place.wrong.max(1);
        }
        let words = Words {
            title: "Where this finding shows, by numbers of queries and keys",
            what: "Cases show this finding",
            crosses: "some show it",
        };
        plot(&places, Some(witness), &words, MAX_OF_FINDING)
    }
}

fn pair(dims: Dims) -> Pair {
    (dims.n_q, dims.n_k)
}

/// What a plot says.
struct Words {
    title: &'static str,
    what: &'static str,
    crosses: &'static str,
}

/// Crosses where some are wrong, circles where all held, a square around the smallest witness.
fn plot(
    places: &BTreeMap<Pair, Place>,
    witness: Option<Pair>,
    words: &Words,
    most: usize,
) -> String {
    let n_wrong: usize = places.values().map(|place| place.wrong).sum();
    if n_wrong == 0 {
        return String::new();
    }
    let Words { title, what, crosses } = words;
    let log = |n: usize| libm::log2(n.max(1) as f64);
    let largest = |of: fn(&Pair) -> usize| {
        log(places.keys().chain(&witness).map(of).max().unwrap_or(1)).max(1.0)
    };
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
        let about = format!(
            "n_q={n_q}, n_k={n_k}: {} wrong of {}",
            count(place.wrong),
            count(place.wrong + place.held)
        );
        if place.wrong > 0 {
            plot.cross(across(*n_k), up(*n_q), &about);
        } else {
            plot.mark(0, across(*n_k), up(*n_q), &about);
        }
    }
    if let Some((n_q, n_k)) = witness {
        plot.ring(across(n_k), up(n_q), &format!("n_q={n_q}, n_k={n_k}: the smallest witness"));
    }
    let wrong = places.values().filter(|place| place.wrong > 0).count();
    let square = if witness.is_some() { "; the square is around the smallest witness" } else { "" };
    let about = format!(
        "{what} at {} of {} pairs of numbers of queries and keys, shown by crosses; circles are pairs where all held{square}",
        count(wrong),
        count(places.len())
    );
    let axes = ("number of keys (log)", "number of queries (log)", *crosses);
    plot.svg(title, &about, axes, &["all held".to_owned()], witness.map(|_| "smallest witness"))
}
