//! How many axes a function takes, found by calling it.

use qkvet_spec::{Call, Dims, Dtype, Response};

use super::config::{Layout, PythonInfo};
use crate::small::small_call;

/// No two axes of one array share an extent: what exchanges two by mistake is declined, not
/// answered.
const DIMS: Dims = Dims { b: 2, h_q: 3, h_k: 3, n_q: 4, n_k: 4, d_k: 5, d_v: 5 };

/// The declared order of axes. If there is none, the first of `bhnd`, `bnd` and `nd` in which a
/// small call gets an output of the shape of its query; `bhnd` where none does. `ask` puts a call
/// in a layout. A layer has axes of its own.
pub fn layout_of(info: &PythonInfo, mut ask: impl FnMut(Layout, &Call) -> Response) -> Layout {
    let unasked = info.layout.or(info.layer.then(Layout::default));
    if let Some(layout) = unasked {
        return layout;
    }
    let always = info.fit().unwrap_or_default().always;
    let mut is_taken = |layout: Layout, dtype| {
        let call = small_call(layout.fit().apply(&DIMS), dtype, &always);
        match ask(layout, &call) {
            Response::Output(found) => Some(found.output.shape == call.query.shape),
            Response::Refused(_) | Response::Error(_) | Response::Malformed(_) => Some(false),
            // It declines the format or an option, or is not there any more.
            _ => None,
        }
    };
    for dtype in [Dtype::Float32, Dtype::Float64, Dtype::Bfloat16] {
        if is_taken(Layout::Bhnd, dtype) != Some(false) {
            break;
        }
        let other =
            [Layout::Bnd, Layout::Nd].into_iter().find(|one| is_taken(*one, dtype) == Some(true));
        if let Some(other) = other {
            // What declined once and takes everything now said nothing of axes.
            return if is_taken(Layout::Bhnd, dtype) == Some(false) { other } else { Layout::Bhnd };
        }
    }
    Layout::Bhnd
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{Handling, Output};

    use super::*;

    fn info(layout: Option<Layout>) -> PythonInfo {
        let told = serde_json::json!({
            "arrays": "numpy", "versions": {}, "arguments": {}, "layout": layout,
        });
        serde_json::from_value(told).expect("an info")
    }

    fn answered(call: &Call) -> Response {
        let output = call.value.clone();
        Response::Output(Box::new(Output {
            output,
            weights: None,
            lse: None,
            inputs_unchanged: true,
            handling: Handling::default(),
        }))
    }

    #[test]
    fn the_first_layout_that_is_taken_is_found() {
        for takes in [Layout::Bhnd, Layout::Bnd, Layout::Nd] {
            let found = layout_of(&info(None), |layout, call| match layout == takes {
                true => answered(call),
                false => Response::Refused("too many values to unpack".into()),
            });
            assert_eq!(found, takes);
        }
    }

    #[test]
    fn what_is_declared_or_cannot_be_found_costs_no_more_calls() {
        let unasked = layout_of(&info(Some(Layout::Bnhd)), |_, _| panic!("it was declared"));
        assert_eq!(unasked, Layout::Bnhd);
        let mut calls = 0;
        let found = layout_of(&info(None), |_, _| {
            calls += 1;
            Response::Unsupported("no".into())
        });
        assert_eq!((found, calls), (Layout::Bhnd, 1));
        let mut calls = 0;
        let found = layout_of(&info(None), |_, call| {
            calls += 1;
            if calls == 1 { Response::Error("once".into()) } else { answered(call) }
        });
        assert_eq!((found, calls), (Layout::Bhnd, 3));
    }
}
