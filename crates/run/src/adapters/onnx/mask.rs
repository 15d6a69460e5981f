//! Masks and biases in the shapes that a model takes them in.

use qkvet_spec::{BoolTensor, BroadcastForm, Call, Tensor};

use super::feed::{Element, written_out};
use super::input::Input;
use super::model::Model;
use super::role::{Operator, Role};
use crate::Declined;

impl Model {
    /// The forms of masks and biases that it takes; `None` if it takes all.
    pub(super) fn forms(&self) -> Option<Vec<BroadcastForm>> {
        let inputs: Vec<(Role, &Input)> = [Role::Mask, Role::Bias]
            .into_iter()
            .filter_map(|role| Some((role, self.input(role)?)))
            .collect();
        let takes = |form: &BroadcastForm| {
            inputs.iter().all(|(role, input)| self.takes_form(*role, input, *form))
        };
        let taken: Vec<BroadcastForm> = BroadcastForm::ALL.into_iter().filter(takes).collect();
        (taken.len() < BroadcastForm::ALL.len() && !taken.is_empty()).then_some(taken)
    }

    fn takes_form(&self, role: Role, input: &Input, form: BroadcastForm) -> bool {
        use BroadcastForm::{Full, PerHead, PerItem, PerKey, Shared};
        if role == Role::Mask && self.is_per_key(input) {
            return form == PerKey;
        }
        match input.rank() {
            2 => form == Shared,
            3 => matches!(form, Shared | PerHead),
            _ => {
                let is_one = |axis: usize| input.shape.get(axis) == Some(&Some(1));
                !(is_one(0) && matches!(form, Full | PerItem | PerKey)
                    || is_one(1) && matches!(form, Full | PerHead))
            }
        }
    }

    /// Whether the mask has one row of keys for each item, whatever the query: `(b, 1, 1, n_k)`, or
    /// `(b, n_k)` where the name of its first extent, its place or its elements say so.
    pub(super) fn is_per_key(&self, input: &Input) -> bool {
        let query = self.input(Role::Query);
        let fixed = |axis: usize| input.shape.get(axis).copied().flatten();
        match input.rank() {
            4 => fixed(2) == Some(1) && query.is_none_or(|query| !query.shape.contains(&Some(1))),
            2 => {
                let name = |input: &Input, axis: usize| input.names.get(axis).cloned().flatten();
                let is_named = |axes: std::ops::Range<usize>| {
                    let own = name(input, 0);
                    own.is_some()
                        && query.is_some_and(|query| {
                            axes.into_iter().any(|axis| name(query, axis) == own)
                        })
                };
                let is_whole = matches!(input.element, Element::Int32 | Element::Int64);
                is_named(0..1)
                    || !is_named(1..3) && (self.operator == Operator::MultiHead || is_whole)
            }
            _ => false,
        }
    }
}

/// The mask of the call, or one of `neutral` everywhere, as one row of keys for each item.
pub(super) fn key_mask(input: &Input, call: &Call, neutral: bool) -> Result<BoolTensor, Declined> {
    let d = call.dims();
    let fixed = |axis: usize| input.shape.get(axis).copied().flatten();
    let items = if fixed(0) == Some(1) { 1 } else { d.b };
    let heads = if input.rank() == 4 { fixed(1).unwrap_or(1) } else { 1 };
    if call.misfit().is_some() {
        return Err(Declined::Misfit { takes: "one row of keys for each item" });
    }
    let mut rows = vec![neutral; items * d.n_k];
    if let Some(mask) = &call.options.mask {
        let differs = |across: &'static str| {
            let (shape, takes) = (mask.shape.clone(), input.format_shape());
            Err(Declined::MaskDiffers { shape, across, takes })
        };
        let mut axes = [1; 4];
        axes.iter_mut().rev().zip(mask.shape.iter().rev()).for_each(|(axis, n)| *axis = *n);
        let [own_items, own_heads, own_rows, own_keys] = axes;
        let at = |item: usize, head: usize, row: usize, key: usize| {
            let (item, key) = (item % own_items.max(1), key % own_keys.max(1));
            mask.data
                .get(((item * own_heads + head) * own_rows + row) * own_keys + key)
                .copied()
                .unwrap_or(neutral)
        };
        for item in 0..own_items {
            for key in 0..own_keys {
                let first = at(item, 0, 0, key);
                if items == 1 && first != at(0, 0, 0, key) {
                    return differs("item to item");
                }
                if (0..own_heads)
                    .any(|head| (0..own_rows).any(|row| at(item, head, row, key) != first))
                {
                    return differs("head to head or from query to query");
                }
            }
        }
        for (n, row) in rows.iter_mut().enumerate() {
            *row = at(n / d.n_k, 0, 0, n % d.n_k);
        }
    }
    if input.rank() == 2 {
        return Ok(BoolTensor { shape: vec![items, d.n_k], data: rows });
    }
    let data = rows.chunks(d.n_k.max(1)).flat_map(|row| row.repeat(heads)).collect();
    Ok(BoolTensor { shape: vec![items, heads, 1, d.n_k], data })
}

/// The mask of the call, or one of `neutral` everywhere, with as many axes as the input has.
pub(super) fn mask(input: &Input, call: &Call, neutral: bool) -> Result<BoolTensor, Declined> {
    let d = call.dims();
    let (shape, data) = match &call.options.mask {
        Some(mask) => with_axes(input, written_out(&mask.shape, &mask.data, d.n_q, d.n_k))?,
        None => everywhere(input, d.n_q, d.n_k, neutral),
    };
    Ok(BoolTensor { shape, data })
}

/// The bias of the call, or zeros, with as many axes as the input has.
pub(super) fn bias(input: &Input, call: &Call, n_q: usize, n_k: usize) -> Result<Tensor, Declined> {
    let (shape, data) = match &call.options.bias {
        Some(bias) => with_axes(input, written_out(&bias.shape, &bias.data, n_q, n_k))?,
        None => everywhere(input, n_q, n_k, 0.0),
    };
    Ok(Tensor { dtype: call.dtype(), shape, data })
}

/// With as many axes as the input has: those before the last two may come and go where they are 1,
/// and are repeated where the model has more of them fixed.
fn with_axes<T: Copy>(
    input: &Input,
    (shape, data): (Vec<usize>, Vec<T>),
) -> Result<(Vec<usize>, Vec<T>), Declined> {
    let (rank, own) = (input.rank(), shape.len());
    if own > rank {
        let (outer, inner) = shape.split_at(own - rank);
        if outer.iter().any(|n| *n != 1) {
            let takes = input.format_shape();
            return Err(Declined::Shape { what: "mask or bias", shape, takes });
        }
        return Ok((inner.to_vec(), data));
    }
    let (mut shape, mut data) = ([vec![1; rank - own], shape].concat(), data);
    for axis in (0..rank.saturating_sub(2)).rev() {
        if let (1, Some(n)) = (shape[axis], input.shape[axis]) {
            let inner = shape[axis + 1..].iter().product::<usize>().max(1);
            data = data.chunks(inner).flat_map(|part| part.repeat(n)).collect();
            shape[axis] = n;
        }
    }
    Ok((shape, data))
}

/// One value everywhere, in the shape of the input where it is fixed.
fn everywhere<T: Copy>(input: &Input, n_q: usize, n_k: usize, x: T) -> (Vec<usize>, Vec<T>) {
    let last = input.rank().saturating_sub(2);
    let outer = input.shape.iter().take(last).map(|n| n.unwrap_or(1));
    let shape: Vec<usize> = outer.chain([n_q, n_k]).collect();
    let data = vec![x; shape.iter().product()];
    (shape, data)
}
