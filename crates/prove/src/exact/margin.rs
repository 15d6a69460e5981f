//! Queries and keys whose scores are apart by a margin: `separated` and `opposed`.

use dashu_int::IBig;
use qkvet_spec::{CheckedLaw, Dims, Domain};

use super::draw::real;
use super::instance::{Instance, Value};
use super::matrices::Place;
use super::number::Exact;
use super::source::Source;

/// Factor on the scores of an instance.
fn scale(instance: &Instance, d_k: usize) -> Option<Exact> {
    match &instance.options.scale {
        Some(scale) => Some(scale.clone()),
        None => Exact::from(i64::try_from(d_k).ok()?).sqrt().ok()?.inverse().ok(),
    }
}

/// The smallest whole number that is no less than a rational.
fn ceiling(x: &Exact) -> Option<i64> {
    let (n, d) = x.rational()?.into_parts();
    let d = IBig::from(d);
    i64::try_from(-super::interval::floor_div(&-n, &d)).ok()
}

/// `Q` and `K` such that `sign · scale · q_i·(k_j − k_l) ≥ margin` for every query `i` and every
/// other key `l`.
///
/// All queries of a head's group are positive multiples of one vector `u`, and `k_j` is that far
/// along it: `m · u·u ≥ margin / scale + max u·k_l`, `k_j = m·u` (for the opposite sign with `−u`).
pub(super) fn draw_margin(
    instance: &mut Instance,
    d: Dims,
    j: &str,
    margin: &str,
    sign: i64,
    source: &mut Source,
) -> Option<()> {
    let Some(Value::Index(j)) = instance.values.get(j) else { return None };
    let j = Some(*j).filter(|j| *j < d.n_k)?;
    // √d_k ≤ d_k, so that the margin is kept with a rational number of steps.
    let over = match &instance.options.scale {
        Some(scale) => scale.inverse().ok()?,
        None => Exact::from(i64::try_from(d.d_k).ok()?),
    };
    let reach = real(instance, margin)? * &over;
    let mut query = source.matrices((Some(d.b), Some(d.h_q)), d.n_q, d.d_k);
    let mut key = source.matrices((Some(d.b), Some(d.h_k)), d.n_k, d.d_k);
    let group = d.h_q / d.h_k;
    for b in 0..d.b {
        for h in 0..d.h_k {
            let mut u: Vec<i64> = (0..d.d_k).map(|_| source.entry()).collect();
            if u.iter().all(|x| *x == 0) {
                u[0] = 1;
            }
            for row in (h * group..(h + 1) * group)
                .flat_map(|h| (0..d.n_q).map(move |i| (b * d.h_q + h) * d.n_q + i))
            {
                let factor = 1 + i64::try_from(source.below(2)).ok()?;
                (0..d.d_k).for_each(|t| query.data[row * d.d_k + t] = (factor * u[t]).into());
            }
            let first = (b * d.h_k + h) * d.n_k;
            let mut furthest = i64::MIN;
            for l in (0..d.n_k).filter(|l| *l != j) {
                let mut product = 0;
                for (t, u) in u.iter().enumerate() {
                    let entry = source.entry();
                    key.data[(first + l) * d.d_k + t] = entry.into();
                    product += sign * u * entry;
                }
                furthest = furthest.max(product);
            }
            let length = u.iter().map(|x| x * x).sum::<i64>();
            let steps = match furthest {
                i64::MIN => 1,
                furthest => ceiling(&(&reach + &furthest.into()).divide(&length.into()).ok()?)?,
            };
            (0..d.d_k)
                .for_each(|t| key.data[(first + j) * d.d_k + t] = (sign * steps * u[t]).into());
        }
    }
    instance.values.insert("Q".to_owned(), Value::Matrices(query));
    instance.values.insert("K".to_owned(), Value::Matrices(key));
    Some(())
}

/// Whether the margins that the law asks for are kept, by exact comparison.
pub(super) fn keeps_margins(law: &CheckedLaw, instance: &Instance) -> bool {
    law.given.iter().all(|given| match &given.domain {
        Domain::Separated { j, margin } => keeps(instance, j, margin, 1).unwrap_or(false),
        Domain::Opposed { j, margin } => keeps(instance, j, margin, -1).unwrap_or(false),
        _ => true,
    })
}

fn keeps(instance: &Instance, j: &str, margin: &str, sign: i64) -> Option<bool> {
    let margin = real(instance, margin)?;
    let (Some(Value::Index(j)), Some(Value::Matrices(query)), Some(Value::Matrices(key))) =
        (instance.values.get(j), instance.values.get("Q"), instance.values.get("K"))
    else {
        return None;
    };
    let factor = &scale(instance, query.cols)? * &sign.into();
    let score = |[b, h, i, l]: Place| {
        let mut sum = Exact::from(0);
        for t in 0..query.cols {
            let product = query.plain_at([b, h, i, t], query.heads).ok()?
                * key.plain_at([b, h, l, t], query.heads).ok()?;
            sum = &sum + &product;
        }
        Some(&sum * &factor)
    };
    for (b, h) in (0..query.batch.unwrap_or(1))
        .flat_map(|b| (0..query.heads.unwrap_or(1)).map(move |h| (b, h)))
    {
        for (i, l) in
            (0..query.rows).flat_map(|i| (0..key.rows).map(move |l| (i, l))).filter(|(_, l)| l != j)
        {
            if &score([b, h, i, *j])? - &score([b, h, i, l])? < *margin {
                return Some(false);
            }
        }
    }
    Some(true)
}
