//! Witnesses: the smallest input that still shows a finding, and its text.

use qkvet_engine::law::refused_call;
use qkvet_gen::{CasePlan, shrink};
use qkvet_spec::{
    Binding, Call, CallOptions, Case, CheckedLaw, Dims, Extent, Matrices, Packed, Window,
    format_shape,
};

/// Larger tensors are shown by their shape.
const SHOWN_ELEMENTS: usize = 16;

/// The smallest plan reached from `start` within `budget` calls of `fails`; never one that did not
/// fail.
pub fn smallest(
    law: &CheckedLaw,
    start: &CasePlan,
    budget: usize,
    fails: &mut dyn FnMut(&CasePlan, &Case) -> bool,
) -> CasePlan {
    shrink(law, start, budget, fails)
}

/// Format, extents and options in one line; extents that are 1 are left out.
pub fn describe_call(case: &Case) -> String {
    format!("{} {}", case.dtype, describe(case.dims, &case.options))
}

/// The same of a case of `law`. Of a call that has to be refused it says what does not fit: the
/// extents of the case are not those of what is handed over.
pub fn describe_case(law: &CheckedLaw, case: &Case) -> String {
    let Some(misfit) = refused_call(law, case).ok().flatten().and_then(|call| call.misfit_shapes())
    else {
        return describe_call(case);
    };
    let options = options_text(&CallOptions { mask: None, ..case.options.clone() });
    [format!("{} {misfit}", case.dtype)].into_iter().chain(options).collect::<Vec<_>>().join(" ")
}

/// The line without the format.
pub(crate) fn describe(d: Dims, options: &CallOptions) -> String {
    let is_shown = |extent: &Extent| extent.of(d) != 1 || matches!(extent, Extent::NQ | Extent::NK);
    let extents = Extent::ALL.into_iter().filter(is_shown);
    let extents = extents.map(|extent| format!("{}={}", extent.name(), extent.of(d)));
    extents.chain(options_text(options)).collect::<Vec<_>>().join(" ")
}

fn options_text(options: &CallOptions) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(scale) = options.scale {
        parts.push(format!("scale={scale}"));
    }
    if options.causal {
        parts.push("causal".to_owned());
    }
    if let Some(mask) = &options.mask {
        parts.push(format!("mask {}", format_shape(&mask.shape)));
    }
    if let Some(bias) = &options.bias {
        parts.push(format!("bias {}", format_shape(&bias.shape)));
    }
    if let Some(softcap) = options.softcap {
        parts.push(format!("softcap={softcap}"));
    }
    if let Some(window) = options.window {
        parts.push(format!("window={}", window_text(window)));
    }
    parts.extend(options.sinks.as_ref().map(|_| "sinks".to_owned()));
    parts.extend(options.alibi_slopes.as_ref().map(|_| "alibi_slopes".to_owned()));
    parts.extend(options.key_lengths.as_ref().map(|lengths| format!("key_lengths={lengths:?}")));
    parts
        .extend(options.query_lengths.as_ref().map(|lengths| format!("query_lengths={lengths:?}")));
    if let Some(Packed { query_offsets, key_offsets }) = &options.packed {
        parts.push(format!("query_offsets={query_offsets:?} key_offsets={key_offsets:?}"));
    }
    parts
}

/// Both sides of a window, `all` where it is open: `(2, all)`.
fn window_text(window: Window) -> String {
    let side = |n: Option<usize>| n.map_or_else(|| "all".to_owned(), |n| n.to_string());
    format!("({}, {})", side(window.left), side(window.right))
}

/// The inputs that the law speaks of, one a line: `Q = [[1, 0]]`, or their shape where they are
/// large.
pub fn describe_inputs(law: &CheckedLaw, case: &Case) -> Vec<String> {
    if let Ok(Some(call)) = refused_call(law, case) {
        return unfit_lines(&call);
    }
    let used = case.bindings.iter().filter(|(name, _)| law.mentions(name));
    let mut lines: Vec<String> =
        used.map(|(name, binding)| format!("{name} = {}", binding_text(binding))).collect();
    lines.extend(option_lines(case));
    lines
}

/// What does not fit is told by shapes: no number of it matters.
fn unfit_lines(call: &Call) -> Vec<String> {
    let tensors = [("Q", &call.query), ("K", &call.key), ("V", &call.value)];
    let mut shapes: Vec<String> = tensors
        .iter()
        .map(|(name, tensor)| format!("{name} of shape {}", format_shape(&tensor.shape)))
        .collect();
    shapes.extend(
        call.options
            .mask
            .as_ref()
            .map(|mask| format!("mask of shape {}", format_shape(&mask.shape))),
    );
    vec![shapes.join("  ")]
}

/// The tensors among the options.
fn option_lines(case: &Case) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(mask) = &case.options.mask {
        let entries: Vec<f64> = mask.data.iter().map(|m| f64::from(u8::from(*m))).collect();
        lines.push(format!("mask = {}", array(&mask.shape, &entries)));
    }
    if let Some(bias) = &case.options.bias {
        lines.push(format!("bias = {}", array(&bias.shape, &bias.data)));
    }
    for (name, of_heads) in
        [("sinks", &case.options.sinks), ("alibi_slopes", &case.options.alibi_slopes)]
    {
        lines.extend(of_heads.as_ref().map(|x| format!("{name} = {}", array(&x.shape, &x.data))));
    }
    lines
}

fn binding_text(binding: &Binding) -> String {
    match binding {
        Binding::Dim(n) | Binding::Index(n) => n.to_string(),
        Binding::Indices(set) => format!("{set:?}"),
        Binding::Real(x) => x.to_string(),
        Binding::Matrices(m) => matrices_text(m),
    }
}

fn matrices_text(m: &Matrices) -> String {
    let mut extents: Vec<usize> =
        [m.batch, m.heads].into_iter().flatten().filter(|n| *n != 1).collect();
    extents.extend([m.rows, m.cols]);
    array(&extents, &m.data)
}

/// Nested brackets, or the shape alone.
fn array(extents: &[usize], data: &[f64]) -> String {
    if data.len() > SHOWN_ELEMENTS {
        return format!("values of shape {}", format_shape(extents));
    }
    match extents {
        [] => data.first().map_or_else(String::new, f64::to_string),
        [_, inner @ ..] => {
            let size: usize = inner.iter().product();
            let parts: Vec<String> = if size == 0 {
                Vec::new()
            } else {
                data.chunks_exact(size).map(|part| array(inner, part)).collect()
            };
            format!("[{}]", parts.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{CallOptions, Dims, Dtype, Tensor};

    use super::*;

    #[test]
    fn small_arrays_are_printed_in_full() {
        assert_eq!(array(&[2, 2], &[1.0, 0.0, -0.5, 2.0]), "[[1, 0], [-0.5, 2]]");
        assert_eq!(array(&[1, 0], &[]), "[]");
        assert_eq!(array(&[5, 5], &[0.0; 25]), "values of shape (5, 5)");
    }

    #[test]
    fn every_option_is_named() {
        let of_heads =
            |x: f64| Some(Tensor { dtype: Dtype::Float32, shape: vec![2], data: vec![x, 1.0] });
        let dims = Dims { b: 1, h_q: 2, h_k: 1, n_q: 3, n_k: 4, d_k: 1, d_v: 1 };
        let case = |options| Case {
            law: "value".to_owned(),
            dtype: Dtype::Float32,
            dims,
            options,
            bindings: std::iter::empty().collect(),
        };
        let padded = case(CallOptions {
            softcap: Some(0.5),
            window: Some(Window { left: Some(2), right: None }),
            sinks: of_heads(0.25),
            alibi_slopes: of_heads(0.5),
            key_lengths: Some(vec![3]),
            query_lengths: Some(vec![2]),
            ..CallOptions::default()
        });
        assert_eq!(
            describe_call(&padded),
            "float32 h_q=2 n_q=3 n_k=4 softcap=0.5 window=(2, all) sinks alibi_slopes key_lengths=[3] query_lengths=[2]"
        );
        assert_eq!(option_lines(&padded), ["sinks = [0.25, 1]", "alibi_slopes = [0.5, 1]"]);
        let packed = Packed { query_offsets: vec![0, 1, 3], key_offsets: vec![0, 0, 4] };
        let packed = case(CallOptions { packed: Some(packed), ..CallOptions::default() });
        let expected = "float32 h_q=2 n_q=3 n_k=4 query_offsets=[0, 1, 3] key_offsets=[0, 0, 4]";
        assert_eq!(describe_call(&packed), expected);
    }
}
