//! The exact family: scores 0 on a chosen set of keys, so low elsewhere that their weights vanish
//! in float64 too.
//!
//! Query `i` of class `c` is `θ·e_c`; coordinate `c` of key `j` is 0 where `j` is alive for the
//! class and `∓κ` elsewhere, with `|scale|·θ·κ ≥ 1100`. A live set has `2^r` keys, values are small
//! integers: every product, sum and quotient of the output is exact in every format, so the
//! tolerance is 0. A sink of score 0 takes the place of a key, one far below is as dead as a key.
//! Softcap undoes the construction: then every key is alive.

use qkvet_spec::{Dims, Dtype, Values};

use crate::CasePlan;
use crate::choice::SinkChoice;
use crate::draw::{coarse_above, power_below};
use crate::routing::{Route, routes};
use crate::source::{Draws, Source};

/// Classes of queries at most.
const CLASSES: usize = 6;

/// Classes of queries at most in the routed family.
const ROUTED_CLASSES: usize = 32;

/// Keys alive for a class at most: sums of as many values up to 4 are exact in bfloat16.
const LIVE: usize = 32;

/// The construction for one case.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    classes: usize,
    theta: f64,
    /// What a dead key holds; 0 where the format cannot hold a score low enough: then every key is
    /// alive.
    dead: f64,
    /// Scores of 0 that are not keys: a sink.
    others: usize,
    routed: bool,
}

/// Which keys are alive: by batch item and key/value head, class, key.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    heads: usize,
    classes: usize,
    sets: Vec<Vec<bool>>,
    /// In the routed family, class and rank of every key, by batch item and key/value head.
    routes: Vec<Vec<Route>>,
}

impl Live {
    /// Column `t` of the value of a key in the routed family: a one in the key's own column, or,
    /// where there are more keys than columns, in that of its rank.
    pub(crate) fn one_hot(&self, item: usize, head: usize, j: usize, t: usize, cols: usize) -> f64 {
        let routes = &self.routes[item * self.heads + head];
        let column = if routes.len() <= cols { j } else { routes[j].rank % cols };
        f64::from(u8::from(column == t))
    }
}

impl Exact {
    /// `scale` is the call's factor on `QKᵀ`; it may be 0.
    pub(crate) fn new(plan: &CasePlan, scale: f64) -> Self {
        let product = if scale == 0.0 { 0.0 } else { coarse_above(1101.0 / scale.abs()) };
        let fits = plan.dtype != Dtype::Float16 || product <= 60_000.0;
        let theta = if product > 0.0 && fits { power_below(product.sqrt()) } else { 64.0 };
        let kappa = if fits && plan.softcap.is_none() { product / theta } else { 0.0 };
        let routed = plan.values == Values::Routed;
        let most = if routed { ROUTED_CLASSES.min(plan.dims.n_k) } else { CLASSES };
        Self {
            classes: plan.dims.d_k.min(most),
            theta,
            dead: if scale > 0.0 { -kappa } else { kappa },
            others: usize::from(plan.sinks == Some(SinkChoice::Near)),
            routed,
        }
    }

    /// Draws the live sets of the keys `name`; extents: batch items, key/value heads, keys.
    pub(crate) fn live(
        &self,
        source: Source,
        name: &str,
        [b, heads, n_k]: [usize; 3],
        d_v: usize,
    ) -> Live {
        let streams = source.variable(&format!("{name} live"));
        let (mut sets, mut all) = (Vec::new(), Vec::new());
        for item in 0..b {
            for head in 0..heads {
                let mut draws = streams.row(item, head, 0);
                let routes =
                    if self.routed { routes(n_k, d_v.min(LIVE), &mut draws) } else { Vec::new() };
                for class in 0..self.classes {
                    sets.push(match () {
                        () if self.dead == 0.0 => vec![true; n_k],
                        () if self.routed => {
                            routes.iter().map(|route| route.class == class).collect()
                        }
                        () => live_set(class, n_k, self.others, &mut draws),
                    });
                }
                all.push(routes);
            }
        }
        Live { heads, classes: self.classes, sets, routes: all }
    }

    /// Rows of the keys: class coordinates by life, the others on a grid that no query looks at.
    pub(crate) fn key(
        &self,
        live: &Live,
        item: usize,
        head: usize,
        j: usize,
        t: usize,
        draws: &mut Draws,
    ) -> f64 {
        if t >= self.classes {
            draws.symmetric(8) / 8.0
        } else if self.alive(live, item, head, t, j) {
            0.0
        } else {
            self.dead
        }
    }

    /// The class of a query that sees the keys `visible` of item and key/value head: one for which
    /// a power of two of them is alive, where there is one.
    pub(crate) fn class(
        &self,
        live: &Live,
        visible: &[bool],
        (item, key_head): (usize, usize),
        draws: &mut Draws,
    ) -> usize {
        let mut classes: Vec<usize> = (0..self.classes).collect();
        draws.shuffle(&mut classes);
        let seen = |class: usize| {
            let alive =
                |(j, sees): (usize, &bool)| *sees && self.alive(live, item, key_head, class, j);
            visible.iter().enumerate().filter(|key| alive(*key)).count()
        };
        let first =
            |good: &dyn Fn(usize) -> bool| classes.iter().copied().find(|class| good(seen(*class)));
        let is_exact = |n: usize| n > 0 && (n + self.others).is_power_of_two();
        first(&is_exact).or_else(|| first(&|n| n > 0)).unwrap_or(classes[0])
    }

    /// Element `t` of a query of `class`.
    pub(crate) fn query(&self, class: usize, t: usize) -> f64 {
        if t == class { self.theta } else { 0.0 }
    }

    /// Whether key `j` is dead for every class of every head that the ranges cover.
    pub(crate) fn dead_for_all(&self, live: &Live, items: &[usize], j: usize) -> bool {
        items.iter().all(|item| {
            (0..live.heads)
                .all(|head| (0..self.classes).all(|class| !self.alive(live, *item, head, class, j)))
        })
    }

    fn alive(&self, live: &Live, item: usize, head: usize, class: usize, j: usize) -> bool {
        live.sets[(item * live.heads + head) * live.classes + class][j]
    }
}

/// `2^r` keys, less `others`: the last one in class 0, the first one in class 1, keys at tile
/// boundaries before all others.
fn live_set(class: usize, n_k: usize, others: usize, draws: &mut Draws) -> Vec<bool> {
    let most = n_k.min(LIVE).ilog2() as usize;
    let count = (1usize << draws.between(0, most)).saturating_sub(others).max(1);
    let mut boundary: Vec<usize> = (0..n_k)
        .filter(|j| *j == 0 || *j + 1 == n_k || (*j >= 15 && (j % 16 == 0 || j % 16 == 15)))
        .collect();
    let mut others: Vec<usize> = (0..n_k).filter(|j| !boundary.contains(j)).collect();
    draws.shuffle(&mut boundary);
    draws.shuffle(&mut others);
    let mut order = match class {
        0 => vec![n_k - 1],
        1 => vec![0],
        _ => Vec::new(),
    };
    // Boundary keys take every other place, so that neither kind is left out.
    for at in 0..n_k {
        order.extend(boundary.get(at));
        order.extend(others.get(at));
    }
    let mut set = vec![false; n_k];
    let mut left = count;
    for j in order {
        if left > 0 && !set[j] {
            set[j] = true;
            left -= 1;
        }
    }
    set
}

/// The factor on `QKᵀ` that a call without a scale uses.
pub(crate) fn default_scale(dims: &Dims) -> f64 {
    1.0 / (dims.d_k as f64).sqrt()
}
