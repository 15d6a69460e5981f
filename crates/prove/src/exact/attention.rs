//! Attention in exact numbers, under the standard meaning.

use std::ops::Range;

use qkvet_spec::Packed;

use super::instance::{ExactOptions, NoValue};
use super::matrices::{ExactMatrices, join};
use super::number::Exact;
use super::real::Real;

/// What is asked of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Output,
    Weights,
    Lse,
}

/// Query, key and, for the output, value of one call, with the options that hold for it.
pub(super) struct AttentionCall<'a> {
    pub(super) query: &'a ExactMatrices,
    pub(super) key: &'a ExactMatrices,
    pub(super) value: Option<&'a ExactMatrices>,
    pub(super) options: &'a ExactOptions,
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Queries and keys that belong together: those of a packed sequence, or those of an item that
/// exist.
struct Sequence {
    queries: Range<usize>,
    keys: Range<usize>,
}

impl Sequence {
    /// The sequence of query `i` of item `b`; without lengths and packing, everything.
    fn of(options: &ExactOptions, [b, i]: [usize; 2], [n_q, n_k]: [usize; 2]) -> Self {
        if let Some(Packed { query_offsets, key_offsets }) = &options.packed {
            let spans = |offsets: &[usize]| {
                offsets.windows(2).map(|pair| pair[0]..pair[1]).collect::<Vec<_>>()
            };
            let own = spans(query_offsets)
                .into_iter()
                .zip(spans(key_offsets))
                .find(|(queries, _)| queries.contains(&i));
            return own.map_or(Self { queries: 0..0, keys: 0..0 }, |(queries, keys)| Self {
                queries,
                keys,
            });
        }
        let length = |lengths: &Option<Vec<usize>>, all: usize| {
            lengths
                .as_ref()
                .and_then(|lengths| lengths.get(b))
                .map_or(all, |length| all.min(*length))
        };
        Self {
            queries: 0..length(&options.query_lengths, n_q),
            keys: 0..length(&options.key_lengths, n_k),
        }
    }

    /// How far key `j` is ahead of query `i`, the last query standing at the last key.
    fn ahead(&self, i: usize, j: usize) -> i64 {
        signed(j) - signed(self.keys.end) - (signed(i) - signed(self.queries.end))
    }
}

/// Whether query `i` of `n_q` sees key `j` of `n_k` by the options; the mask is read at head `h` of
/// `heads`.
pub(super) fn sees(
    options: &ExactOptions,
    [b, h, i, j]: [usize; 4],
    extents: [usize; 2],
    heads: Option<usize>,
) -> Result<bool, NoValue> {
    let sequence = Sequence::of(options, [b, i], extents);
    let ahead = sequence.ahead(i, j);
    let in_window = options.window.is_none_or(|window| {
        window.left.is_none_or(|left| -ahead <= signed(left))
            && window.right.is_none_or(|right| ahead <= signed(right))
    });
    let allowed = match &options.mask {
        Some(mask) => !mask.plain_at([b, h, i, j], heads)?.vanishes()?,
        None => true,
    };
    let exist = sequence.queries.contains(&i) && sequence.keys.contains(&j);
    Ok(exist && allowed && in_window && !(options.causal && ahead > 0))
}

impl ExactOptions {
    /// Checks that lengths and packed sequences are those of `b` items with these extents.
    pub(super) fn fit(&self, b: usize, [n_q, n_k]: [usize; 2]) -> Result<(), NoValue> {
        for (name, lengths, n) in
            [("key_lengths", &self.key_lengths, n_k), ("query_lengths", &self.query_lengths, n_q)]
        {
            if let Some(lengths) = lengths
                && (lengths.len() != b || lengths.iter().any(|length| *length > n))
            {
                return Err(NoValue::unfit(
                    name,
                    format!("{b} lengths up to {n}"),
                    format!("{lengths:?}"),
                ));
            }
        }
        if let Some(Packed { query_offsets, key_offsets }) = &self.packed {
            let are_offsets = |offsets: &[usize], n| {
                offsets.first() == Some(&0) && offsets.last() == Some(&n) && offsets.is_sorted()
            };
            if !are_offsets(query_offsets, n_q) || !are_offsets(key_offsets, n_k) {
                let expected = format!("offsets from 0 to {n_q} and to {n_k}");
                return Err(NoValue::unfit(
                    "packed",
                    expected,
                    format!("{query_offsets:?} and {key_offsets:?}"),
                ));
            }
        }
        Ok(())
    }
}

impl AttentionCall<'_> {
    /// `softmax(scale · QKᵀ + bias over the visible keys) · V`, its weights, or the logarithm of
    /// the softmax's denominator.
    ///
    /// A query that sees nothing gives zeros and `−∞`. A sink joins the denominator only.
    pub(super) fn evaluate(&self, want: Want) -> Result<ExactMatrices, NoValue> {
        let (query, key) = (self.query, self.key);
        let fits = || NoValue::unfit("attention", "extents that fit each other", "others");
        let mut lead = join(query.lead(), key.lead()).ok_or_else(fits)?;
        if let Some(value) = self.value {
            lead = join(lead, value.lead()).ok_or_else(fits)?;
            if value.rows != key.rows {
                return Err(fits());
            }
        }
        if query.cols != key.cols || query.heads.is_some_and(|n| Some(n) != lead.1) {
            return Err(fits());
        }
        self.check_options(lead)?;
        let scale = match &self.options.scale {
            Some(scale) => scale.clone(),
            None if query.cols == 0 => Exact::from(1),
            None => Exact::from(signed(query.cols)).sqrt()?.inverse()?,
        };
        let cols = match want {
            Want::Output => self.value.map_or(0, |value| value.cols),
            Want::Weights => key.rows,
            Want::Lse => 1,
        };
        let mut data = Vec::new();
        for b in 0..lead.0.unwrap_or(1) {
            for h in 0..lead.1.unwrap_or(1) {
                for i in 0..query.rows {
                    data.extend(self.row([b, h, i], lead.1, &scale, want, cols)?);
                }
            }
        }
        Ok(ExactMatrices { batch: lead.0, heads: lead.1, rows: query.rows, cols, data })
    }

    /// The result for one query.
    fn row(
        &self,
        [b, h, i]: [usize; 3],
        heads: Option<usize>,
        scale: &Exact,
        want: Want,
        cols: usize,
    ) -> Result<Vec<Real>, NoValue> {
        let mut sum = match &self.options.sinks {
            Some(sinks) => sinks[h].exp()?,
            None => Exact::from(0),
        };
        let mut terms = Vec::new();
        for j in 0..self.key.rows {
            let term = if sees(self.options, [b, h, i, j], [self.query.rows, self.key.rows], heads)?
            {
                self.term([b, h, i, j], heads, scale)?
            } else {
                Exact::from(0)
            };
            sum = &sum + &term;
            terms.push(term);
        }
        if want == Want::Lse {
            return Ok(vec![Real::log(sum)]);
        }
        if sum.is_zero() {
            return Ok(vec![0.into(); cols]);
        }
        let over = sum.inverse()?;
        if want == Want::Weights {
            return Ok(terms.iter().map(|term| (term * &over).into()).collect());
        }
        let mut row = Vec::new();
        for c in 0..cols {
            let mut total = Exact::from(0);
            for (j, term) in terms.iter().enumerate().filter(|(_, term)| !term.is_zero()) {
                if let Some(value) = self.value {
                    total = (&total + &(term * value.plain_at([b, h, j, c], heads)?)).short()?;
                }
            }
            row.push((&total * &over).short()?.into());
        }
        Ok(row)
    }

    /// `e^(scale · q·k + bias − slope · |i + n_k − n_q − j|)`, with the extents that count for the
    /// item or the packed sequence; 0 where the bias is `−∞`.
    fn term(
        &self,
        [b, h, i, j]: [usize; 4],
        heads: Option<usize>,
        scale: &Exact,
    ) -> Result<Exact, NoValue> {
        let mut score = Exact::from(0);
        for t in 0..self.query.cols {
            let product = self.query.plain_at([b, h, i, t], heads)?
                * self.key.plain_at([b, h, j, t], heads)?;
            score = (&score + &product).short()?;
        }
        let mut logit = &score * scale;
        let bias = self.options.bias.as_ref().map(|bias| bias.at([b, h, i, j], heads));
        if let Some(Real::Plain(bias)) = bias {
            logit = &logit + bias;
        }
        if let Some(slopes) = &self.options.alibi_slopes {
            let extents = [self.query.rows, self.key.rows];
            let distance = Sequence::of(self.options, [b, i], extents).ahead(i, j).abs();
            logit = &logit - &(&slopes[h] * &distance.into());
        }
        Ok(match bias {
            Some(Real::Log(factor)) => &logit.exp()? * factor,
            _ => logit.exp()?,
        })
    }

    /// Options of the case must fit the extents of this call.
    fn check_options(&self, lead: (Option<usize>, Option<usize>)) -> Result<(), NoValue> {
        let extents = [self.query.rows, self.key.rows];
        self.options.fit(lead.0.unwrap_or(1), extents)?;
        for (name, option) in [("mask", &self.options.mask), ("bias", &self.options.bias)] {
            if let Some(m) = option
                && ([m.rows, m.cols] != extents
                    || join(lead, m.lead()) != Some(lead)
                    || !m.is_whole())
            {
                return Err(NoValue::unfit(
                    name,
                    format!("{extents:?}"),
                    format!("{:?}", [m.rows, m.cols]),
                ));
            }
        }
        for (name, option) in
            [("sinks", &self.options.sinks), ("alibi_slopes", &self.options.alibi_slopes)]
        {
            if let Some(numbers) = option
                && numbers.len() != lead.1.unwrap_or(1)
            {
                return Err(NoValue::unfit(name, lead.1.unwrap_or(1), numbers.len()));
            }
        }
        Ok(())
    }
}
