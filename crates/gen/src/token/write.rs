//! From a case to its token.

use qkvet_engine::format::{is_representable, round};
use qkvet_spec::{Binding, CallOptions, Case, Dtype, Matrices, Packed, Window};

use super::{MAX_LEN, Version, extents_of};
use crate::choice::is_extended;
use crate::extent::as_array;
use crate::validate::is_law;

/// The case in one line of at most 400 characters; `None` if it does not fit there.
///
/// `qk1:LAW;FORMAT` and then, joined by `;` and only where they are needed:
/// `dims=b,h_q,h_k,n_q,n_k,d_k,d_v` (only if `Q`, `K` and `V` do not show the extents), `causal`,
/// `scale=0.5`, `mask=1x1x1x2:01`, `bias=2x2:0,-1,0.5,3`, and the variables in order: an index
/// `j=3`, an extent `n=dim:3`, a real number `t=real:0.5`, indices `S=set:0,2`, matrices
/// `P=2x2:0,1,1,0` with batch and heads in front where they have them (`1x2x3x4`; `2x_x3x4` for a
/// batch without heads, `_x2x3x4` for heads without a batch). A number is the shortest decimal that
/// the format rounds to it.
///
/// A case with softcap, window, sinks, ALiBi, lengths or packed sequences begins with `qk2:` and
/// has, behind the bias, `softcap=30`, `window=2,0` (`_` for a side without end), `sinks=0,-2048`,
/// `alibi_slopes=0.5,0.25`, `key_lengths=3,0`, `query_lengths=3,0`, `packed=0,2,5:0,3,7` (offsets
/// of the queries, of the keys).
///
/// The characters are letters, digits and `_:;=,.-`: single quotes or none do for every shell in
/// which `;` is quoted.
///
/// # Example
/// ```
/// let text = "qk1:value;float32;scale=0.5;Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1";
/// let case = qkvet_gen::from_token(text)?;
/// assert_eq!(qkvet_gen::token(&case).as_deref(), Some(text));
/// # Ok::<(), qkvet_gen::GenError>(())
/// ```
pub fn token(case: &Case) -> Option<String> {
    let dtype = case.dtype;
    let version =
        if case.options.on().iter().any(is_extended) { Version::Two } else { Version::One };
    if !is_law(&case.law) || !case.bindings.keys().all(|name| version.is_name(name)) {
        return None;
    }
    let mut items = vec![format!("{}:{}", version.prefix(), case.law), dtype.to_string()];
    if extents_of(&case.bindings) != Some(case.dims) {
        items.push(format!("dims={}", joined(&as_array(&case.dims), ",")));
    }
    if case.options.causal {
        items.push("causal".to_owned());
    }
    if let Some(scale) = case.options.scale {
        items.push(format!("scale={}", number(scale, dtype)?));
    }
    if let Some(mask) = &case.options.mask {
        let bits: String = short(&mask.data)?.iter().map(|x| if *x { '1' } else { '0' }).collect();
        items.push(format!("mask={}:{bits}", joined(&mask.shape, "x")));
    }
    if let Some(bias) = &case.options.bias {
        if bias.dtype != dtype {
            return None;
        }
        items.push(format!("bias={}:{}", joined(&bias.shape, "x"), numbers(&bias.data, dtype)?));
    }
    extended(&case.options, dtype, &mut items)?;
    for (name, binding) in &case.bindings {
        items.push(format!("{name}={}", value(binding, dtype)?));
    }
    let text = items.join(";");
    (text.len() <= MAX_LEN).then_some(text)
}

/// Parts of version 2.
fn extended(options: &CallOptions, dtype: Dtype, items: &mut Vec<String>) -> Option<()> {
    if let Some(softcap) = options.softcap {
        items.push(format!("softcap={}", number(softcap, dtype)?));
    }
    if let Some(Window { left, right }) = options.window {
        let side = |side: Option<usize>| side.map_or_else(|| "_".to_owned(), |n| n.to_string());
        items.push(format!("window={},{}", side(left), side(right)));
    }
    for (name, tensor) in [("sinks", &options.sinks), ("alibi_slopes", &options.alibi_slopes)] {
        let Some(tensor) = tensor else { continue };
        if tensor.dtype != dtype || tensor.shape != [tensor.data.len()] {
            return None;
        }
        items.push(format!("{name}={}", numbers(&tensor.data, dtype)?));
    }
    for (name, lengths) in
        [("key_lengths", &options.key_lengths), ("query_lengths", &options.query_lengths)]
    {
        if let Some(lengths) = lengths {
            items.push(format!("{name}={}", joined(short(lengths)?, ",")));
        }
    }
    if let Some(Packed { query_offsets, key_offsets }) = &options.packed {
        items.push(format!(
            "packed={}:{}",
            joined(short(query_offsets)?, ","),
            joined(short(key_offsets)?, ",")
        ));
    }
    Some(())
}

fn value(binding: &Binding, dtype: Dtype) -> Option<String> {
    Some(match binding {
        Binding::Dim(n) => format!("dim:{n}"),
        Binding::Index(n) => n.to_string(),
        Binding::Indices(all) => format!("set:{}", joined(short(all)?, ",")),
        Binding::Real(x) => format!("real:{}", number(*x, dtype)?),
        Binding::Matrices(Matrices { batch, heads, rows, cols, data }) => {
            let lead = |n: &Option<usize>| n.map_or_else(|| "_".to_owned(), |n| n.to_string());
            let lead = match (batch, heads) {
                (None, None) => String::new(),
                _ => format!("{}x{}x", lead(batch), lead(heads)),
            };
            format!("{lead}{rows}x{cols}:{}", numbers(data, dtype)?)
        }
    })
}

/// The items if there is room for so many.
fn short<T>(items: &[T]) -> Option<&[T]> {
    (items.len() <= MAX_LEN).then_some(items)
}

fn joined(sizes: &[usize], separator: &str) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(separator)
}

fn numbers(data: &[f64], dtype: Dtype) -> Option<String> {
    Some(short(data)?.iter().map(|x| number(*x, dtype)).collect::<Option<Vec<_>>>()?.join(","))
}

/// The shortest decimal that rounds to `x` in the format; `None` for what is not a finite number of
/// it.
fn number(x: f64, dtype: Dtype) -> Option<String> {
    if !x.is_finite() || !is_representable(x, dtype) {
        return None;
    }
    // Seventeen significant digits tell all numbers of binary64 apart.
    let decimals = (0..17).filter_map(|digits| format!("{x:.digits$e}").parse::<f64>().ok());
    let shortest = decimals.into_iter().find(|y| round(*y, dtype).to_bits() == x.to_bits())?;
    let (plain, scientific) = (format!("{shortest}"), format!("{shortest:e}"));
    Some(if scientific.len() < plain.len() { scientific } else { plain })
}
