//! Where in the space of shapes cases fail: numbers of queries and of keys.

use std::collections::BTreeMap;

use qkvet_spec::Summary;

use super::plot::{HEIGHT, Plot, WIDTH, extent};
use crate::text::count;

/// Places that are drawn.
const MOST: usize = 2000;

/// Cases with as many queries and keys.
#[derive(Default)]
struct Place {
    held: usize,
    wrong: usize,
}

/// The plot; empty where no case is wrong.
pub(super) fn shapes(summary: &Summary) -> String {
    let mut places: BTreeMap<(usize, usize), Place> = BTreeMap::new();
    for record in summary.records.iter().filter(|record| record.verdict.is_checked()) {
        let (Some(n_q), Some(n_k)) = (extent(&record.call, "n_q"), extent(&record.call, "n_k")) else { continue };
        let place = places.entry((n_q, n_k)).or_default();
        if record.verdict.is_finding() { place.wrong += 1 } else { place.held += 1 }
    }
    let n_wrong: usize = places.values().map(|place| place.wrong).sum();
    if n_wrong == 0 {
        return String::new();
    }
    let log = |n: usize| libm::log2(n.max(1) as f64);
    let most = |of: fn(&(usize, usize)) -> usize| log(places.keys().map(of).max().unwrap_or(1)).max(1.0);
    let (right, top) = (most(|place| place.1), most(|place| place.0));
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
    for ((n_q, n_k), place) in places.iter().take(MOST) {
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
        "Cases are wrong at {} of {} pairs of numbers of queries and keys, shown by crosses; circles are pairs where all held",
        count(wrong),
        count(places.len())
    );
    let axes = ("number of keys (log)", "number of queries (log)", "some wrong");
    plot.svg("Where cases are wrong, by numbers of queries and keys", &about, axes, &["all held".to_owned()])
}
