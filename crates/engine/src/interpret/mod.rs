//! The interpreter of meanings: what a call must return, as balls, under a meaning and a contract.

mod fallback;
mod keeps;
mod reference;
mod second_opinion;

use qkvet_spec::{Call, Contract, Dims, Dtype, EmptyLse, LseBase, Meaning};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use self::fallback::{Budget, MAX_WEIGHTS, recompute};
pub use self::keeps::certainly_passes;
pub use self::reference::{Reference, References};
pub use self::second_opinion::second_opinion;

use crate::ball::Ball;
use crate::bound::{Bound, bound, lse_bound_in};
use crate::enclosure::{Detail, HeadEnclosure, Lse, MIN_WEIGHTS, RowStats, enclose_together};
use crate::gemm::Products;
use crate::lowering::{LoweredHead, Maps, ResultName, lower, width_of};
use crate::selftest::rounds_conventionally;

/// The exact output of a call, enclosed, and how far an implementation under a contract may be from
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// `(b, h_q, n_q, width)`.
    pub shape: [usize; 4],
    /// Format of the result under the contract; of weights and of a log-sum-exp the least precise
    /// one that is allowed.
    pub dtype: Dtype,
    /// The enclosure, row-major.
    pub exact: Vec<Ball>,
    /// Proved bound of the contract, ∞ where a format of it may overflow.
    pub hard: Vec<f64>,
    /// Probabilistic bound of the contract, ∞ where the proved one is what any weights leave.
    pub probable: Vec<f64>,
    /// Where each row comes from, `(b, h_q, n_q)`.
    pub rows: Vec<Reference>,
    /// Whether a row has no hard bound because a format of the contract may overflow on the way,
    /// `(b, h_q, n_q)`: then NaN refutes nothing.
    pub overflows: Vec<bool>,
}

impl Expected {
    /// Whether an implementation under the contract may return `x` for element `at`. NaN is no
    /// number to return, see [`Expected::allows_nan`].
    pub fn holds(&self, at: usize, x: f64) -> bool {
        if x.is_nan() && self.allows_nan(at) {
            return true;
        }
        (x - self.exact[at].mid).abs() <= self.exact[at].rad + self.hard[at]
    }

    /// Whether the contract says anything about the weights that made element `at`.
    pub fn bounds_weights(&self, at: usize) -> bool {
        self.hard[at].is_finite() && self.probable[at].is_finite()
    }

    /// Whether nothing speaks against NaN for element `at`: nothing is known of it, or a format may
    /// overflow on the way.
    pub fn allows_nan(&self, at: usize) -> bool {
        self.exact[at].rad.is_infinite()
            || self.hard[at].is_infinite() && self.overflows[at / self.shape[3]]
    }
}

/// As many heads at a time as there are threads: what a head takes need not be there for all of
/// them. Heads that share keys and values are never apart.
fn heads_at_once(dims: Dims) -> usize {
    let group = dims.h_q / dims.h_k.max(1);
    let least = if dims.n_q * dims.n_k < MIN_WEIGHTS { 1 } else { rayon::current_num_threads() };
    least.next_multiple_of(group.max(1))
}

/// What comes of each item, on the threads of the pool unless heads are small.
fn mapped<T: Send, R: Send>(
    items: Vec<T>,
    dims: Dims,
    what: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    if items.len() == 1 || dims.n_q * dims.n_k < MIN_WEIGHTS {
        items.into_iter().map(what).collect()
    } else {
        items.into_par_iter().map(what).collect()
    }
}

/// Encloses what `call` means and bounds what an implementation under `contract` may return for it.
///
/// # Shapes
/// `(b, h_q, n_q, d_v)` for [`ResultName::Output`] (the width as the meaning says), `(b, h_q, n_q, n_k)`
/// for [`ResultName::Weights`], `(b, h_q, n_q, 1)` for [`ResultName::Lse`].
///
/// # Error bound
/// Radii as in `docs/bounds.md#output`, bounds as in `docs/bounds.md#contract`. Where the radius of
/// a row exceeds the bound, the row is computed again in arbitrary precision
/// (`docs/bounds.md#fallback`), and `rows` says so.
pub fn interpret(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    want: ResultName,
) -> Expected {
    interpret_with(meaning, call, contract, want, Products::Faer)
}

/// [`interpret`] with the given matrix products: with [`Products::FixedOrder`] every number is the
/// same on every machine.
pub fn interpret_with(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    want: ResultName,
    products: Products,
) -> Expected {
    enclosed(meaning, call, contract, want, products, &mut |_| true).0
}

/// Looks at the rows that are there after some heads; false ends the rest.
pub type GoesOn<'a> = &'a mut dyn FnMut(&Expected) -> bool;

/// [`interpret`] for as long as `goes_on` says so; `None` once it does not. Where the meaning puts
/// rows in another order it is not asked.
pub fn interpret_while(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    want: ResultName,
    goes_on: GoesOn<'_>,
) -> Option<Expected> {
    let (expected, is_whole) = enclosed(meaning, call, contract, want, Products::Faer, goes_on);
    is_whole.then_some(expected)
}

/// What is expected, and whether that is of all heads.
fn enclosed(
    meaning: &Meaning,
    call: &Call,
    contract: &Contract,
    want: ResultName,
    products: Products,
    goes_on: GoesOn<'_>,
) -> (Expected, bool) {
    let dims = call.dims();
    let inner = width_of(want, dims);
    let maps = Maps::new(meaning, call);
    let width = if want == ResultName::Output { maps.output_width() } else { inner };
    let columns =
        if want == ResultName::Output { maps.output_columns(width) } else { (0..width).collect() };
    let total = dims.b * dims.h_q * dims.n_q * width;
    let mut expected = Expected {
        shape: [dims.b, dims.h_q, dims.n_q, width],
        dtype: match want {
            ResultName::Output => contract.output(),
            ResultName::Weights => call.dtype(),
            ResultName::Lse => contract.lse(),
        },
        exact: Vec::with_capacity(total),
        hard: Vec::with_capacity(total),
        probable: Vec::with_capacity(total),
        rows: Vec::with_capacity(dims.b * dims.h_q * dims.n_q),
        overflows: Vec::with_capacity(dims.b * dims.h_q * dims.n_q),
    };
    let order = maps.output_rows();
    let mut budget = Budget(MAX_WEIGHTS);
    let heads: Vec<(usize, usize)> =
        (0..dims.b).flat_map(|item| (0..dims.h_q).map(move |h| (item, h))).collect();
    let bounded = |(lowered, mut enclosure): (&LoweredHead<'_>, HeadEnclosure)| {
        let mut allowed = bound(&lowered.head(), &enclosure, contract);
        // Threads are others' too: a library may have changed how they round.
        let is_known = !lowered.is_rounded() && rounds_conventionally();
        if !is_known {
            unknown(&mut enclosure, &mut allowed);
        }
        (enclosure, allowed, is_known)
    };
    for heads in heads.chunks(heads_at_once(dims)) {
        let lowered = mapped(heads.to_vec(), dims, |(item, h)| lower(meaning, call, item, h, want));
        let problems: Vec<_> = lowered.iter().map(LoweredHead::head).collect();
        let enclosures = enclose_together(&problems, products, Detail::Full);
        let bounded = mapped(lowered.iter().zip(enclosures).collect(), dims, bounded);
        for (lowered, (mut enclosure, mut allowed, is_known)) in lowered.iter().zip(bounded) {
            let head = lowered.head();
            let mut none = Budget(0);
            let budget = if is_known { &mut budget } else { &mut none };
            expected.rows.extend(recompute(
                &head,
                &mut enclosure,
                &mut allowed,
                contract,
                want,
                budget,
            ));
            expected.overflows.extend(&allowed.overflows);
            for i in 0..dims.n_q {
                if want == ResultName::Lse {
                    expected.exact.push(lse_ball(meaning, &enclosure.rows[i]));
                    expected.hard.push(lse_bound_in(meaning.lse_base, allowed.lse_hard[i]));
                    expected.probable.push(lse_bound_in(meaning.lse_base, allowed.lse_probable[i]));
                    continue;
                }
                for c in columns.iter().copied() {
                    let at = i * inner + c;
                    let (ball, hard, probable) = if c < inner {
                        let rad = enclosure.rad[at];
                        (
                            Ball { mid: enclosure.mid[at], rad, soft: rad },
                            allowed.hard[at],
                            allowed.probable[at],
                        )
                    } else {
                        (Ball::exact(0.0), 0.0, 0.0)
                    };
                    expected.exact.push(ball);
                    expected.hard.push(hard);
                    expected.probable.push(probable);
                }
            }
        }
        if order.is_none() && !goes_on(&expected) {
            return (expected, false);
        }
    }
    let expected = match order {
        Some(rows) => rearranged(&expected, &rows),
        None => expected,
    };
    (expected, true)
}

/// Nothing is known of a head whose numbers were rounded on the way here.
fn unknown(enclosure: &mut HeadEnclosure, allowed: &mut Bound) {
    enclosure.rad.fill(f64::INFINITY);
    enclosure.rows.iter_mut().for_each(|row| row.lse.rad = f64::INFINITY);
    for bounds in
        [&mut allowed.hard, &mut allowed.probable, &mut allowed.lse_hard, &mut allowed.lse_probable]
    {
        bounds.fill(f64::INFINITY);
    }
}

/// Row `rows[at]` in the place of each row.
fn rearranged(expected: &Expected, rows: &[usize]) -> Expected {
    fn of<T: Copy>(all: &[T], width: usize, rows: &[usize]) -> Vec<T> {
        let row = |row: &usize| &all[row * width..(row + 1) * width];
        rows.iter().map(row).collect::<Vec<_>>().concat()
    }

    let width = expected.shape[3];
    Expected {
        exact: of(&expected.exact, width, rows),
        hard: of(&expected.hard, width, rows),
        probable: of(&expected.probable, width, rows),
        rows: rows.iter().map(|row| expected.rows[*row]).collect(),
        overflows: rows.iter().map(|row| expected.overflows[*row]).collect(),
        ..*expected
    }
}

/// The log-sum-exp of a row in the base of the meaning.
fn lse_ball(meaning: &Meaning, row: &RowStats) -> Ball {
    let Lse { mid, rad } = row.lse;
    let natural = Ball { mid, rad, soft: rad };
    match (mid.is_infinite(), meaning.lse_base) {
        (true, _) if meaning.empty_lse == EmptyLse::Infinity => Ball::exact(f64::INFINITY),
        (true, _) if meaning.empty_lse == EmptyLse::Zero => Ball::exact(0.0),
        // So is ln 2 of a number in [1/2, 1).
        (false, LseBase::NaturalTimesLn2) => {
            let rad = f64::EPSILON / 4.0;
            natural * Ball { mid: std::f64::consts::LN_2, rad, soft: rad }
        }
        (true, _) | (false, LseBase::Natural) => natural,
        // log₂e is half a unit of the last place of a number in [1, 2) away from its double at
        // most.
        (false, LseBase::Two) => {
            let rad = f64::EPSILON / 2.0;
            natural * Ball { mid: std::f64::consts::LOG2_E, rad, soft: rad }
        }
    }
}
