//! The routed family: every key belongs to one class of queries and has a rank in it, which is the
//! column in which its value holds a one. So the output of a query of the class reads `1/m` in the
//! columns of the keys that it sees, and 0 elsewhere.

use crate::choice::TILES;
use crate::source::Draws;

/// Where a key is routed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Class of the queries that look at the key; there may be none of that class.
    pub(crate) class: usize,
    /// Number of the key within its class.
    pub(crate) rank: usize,
}

/// Classes of the `n_k` keys in turn, each of `2^r ≤ most` keys: the last key, the first key and
/// those on both sides of every tile boundary in the first classes, then the others in random
/// order.
pub(crate) fn routes(n_k: usize, most: usize, draws: &mut Draws) -> Vec<Route> {
    let mut order = vec![n_k - 1, 0];
    for tile in TILES {
        order.extend((tile..n_k).step_by(tile).flat_map(|j| [j - 1, j]));
    }
    let mut others: Vec<usize> = (0..n_k).collect();
    draws.shuffle(&mut others);
    order.extend(others);
    let size = 1 << draws.between(most.ilog2().min(1) as usize, most.ilog2() as usize);
    let mut routes = vec![None; n_k];
    let (mut class, mut rank, mut left) = (0, 0, n_k);
    // The last classes are smaller powers of two.
    let fitting = |left: usize| if left >= size { size } else { 1 << left.max(1).ilog2() };
    let mut room = fitting(left);
    for j in order {
        if routes[j].is_some() {
            continue;
        }
        routes[j] = Some(Route { class, rank });
        rank += 1;
        if rank == room {
            left -= room;
            (class, rank, room) = (class + 1, 0, fitting(left));
        }
    }
    routes.into_iter().flatten().collect()
}
