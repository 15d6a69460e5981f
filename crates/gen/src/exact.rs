//! The exact family: scores 0 on a chosen set of keys, so low elsewhere that their weights vanish in float64 too.
//!
//! Query `i` of class `c` is `θ·e_c`; coordinate `c` of key `j` is 0 where `j` is alive for the class and `∓κ` elsewhere,
//! with `|scale|·θ·κ ≥ 1100`. A live set has `2^r` keys, values are small integers: every product, sum and quotient of the
//! output is exact in every format, so the tolerance is 0.

use qkvet_spec::{Dims, Dtype};

use crate::draw::{coarse_above, power_below};
use crate::options::Visible;
use crate::source::{Draws, Source};

/// Classes of queries at most.
const CLASSES: usize = 6;

/// Keys alive for a class at most: sums of as many values up to 4 are exact in bfloat16.
const LIVE: usize = 32;

/// The construction for one case.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    classes: usize,
    theta: f64,
    /// What a dead key holds; 0 where the format cannot hold a score low enough: then every key is alive.
    dead: f64,
}

/// Which keys are alive: by batch item and key/value head, class, key.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    heads: usize,
    n_k: usize,
    sets: Vec<Vec<bool>>,
}

impl Exact {
    /// `scale` is the call's factor on `QKᵀ`; it may be 0.
    pub(crate) fn new(dtype: Dtype, d_k: usize, scale: f64) -> Self {
        let product = if scale == 0.0 { 0.0 } else { coarse_above(1101.0 / scale.abs()) };
        let fits = dtype != Dtype::Float16 || product <= 60_000.0;
        let theta = if product > 0.0 && fits { power_below(product.sqrt()) } else { 64.0 };
        let kappa = if fits { product / theta } else { 0.0 };
        Self { classes: d_k.min(CLASSES), theta, dead: if scale > 0.0 { -kappa } else { kappa } }
    }

    /// Draws the live sets of the keys `name`.
    pub(crate) fn live(&self, source: Source, name: &str, b: usize, heads: usize, n_k: usize) -> Live {
        let streams = source.variable(&format!("{name} live"));
        let mut sets = Vec::new();
        for item in 0..b {
            for head in 0..heads {
                let mut draws = streams.row(item, head, 0);
                for class in 0..self.classes {
                    let set = if self.dead == 0.0 { vec![true; n_k] } else { live_set(class, n_k, &mut draws) };
                    sets.push(set);
                }
            }
        }
        Live { heads, n_k, sets }
    }

    /// Rows of the keys: class coordinates by life, the others on a grid that no query looks at.
    pub(crate) fn key(&self, live: &Live, item: usize, head: usize, j: usize, t: usize, draws: &mut Draws) -> f64 {
        if t >= self.classes {
            draws.symmetric(8) / 8.0
        } else if self.alive(live, item, head, t, j) {
            0.0
        } else {
            self.dead
        }
    }

    /// The class of a query: one for which a power of two of the keys that it sees is alive, where there is one.
    pub(crate) fn class(
        &self,
        live: &Live,
        visible: &Visible<'_>,
        item: usize,
        head: usize,
        i: usize,
        draws: &mut Draws,
    ) -> usize {
        let dims = visible.dims;
        let key_head = head * dims.h_k / dims.h_q;
        let mut classes: Vec<usize> = (0..self.classes).collect();
        draws.shuffle(&mut classes);
        let seen = |class: usize| {
            (0..live.n_k)
                .filter(|j| visible.sees(item, head, i, *j) && self.alive(live, item, key_head, class, *j))
                .count()
        };
        let first = |good: &dyn Fn(usize) -> bool| classes.iter().copied().find(|class| good(seen(*class)));
        first(&usize::is_power_of_two).or_else(|| first(&|n| n > 0)).unwrap_or(classes[0])
    }

    /// Element `t` of a query of `class`.
    pub(crate) fn query(&self, class: usize, t: usize) -> f64 {
        if t == class { self.theta } else { 0.0 }
    }

    /// Whether key `j` is dead for every class of every head that the ranges cover.
    pub(crate) fn dead_for_all(&self, live: &Live, items: &[usize], j: usize) -> bool {
        items.iter().all(|item| {
            (0..live.heads).all(|head| (0..self.classes).all(|class| !self.alive(live, *item, head, class, j)))
        })
    }

    fn alive(&self, live: &Live, item: usize, head: usize, class: usize, j: usize) -> bool {
        live.sets[(item * live.heads + head) * self.classes + class][j]
    }
}

/// `2^r` keys: the last one in class 0, the first one in class 1, keys at tile boundaries before all others.
fn live_set(class: usize, n_k: usize, draws: &mut Draws) -> Vec<bool> {
    let most = n_k.min(LIVE).ilog2() as usize;
    let count = 1 << draws.between(0, most);
    let mut boundary: Vec<usize> =
        (0..n_k).filter(|j| *j == 0 || *j + 1 == n_k || (*j >= 15 && (j % 16 == 0 || j % 16 == 15))).collect();
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
