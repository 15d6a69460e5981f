//! Implementations of this process as targets of the runner.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use qkvet_spec::{
    BoolTensor, Call as SpecCall, CallOption, Dtype, Handling, Output, Response, Target,
    Tensor as SpecTensor,
};

use crate::attention::{Attention, Declined, Supports};
use crate::call::{Call, Tensor};
use crate::element::Element;

thread_local! {
    static IS_CALLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a call of a target: its panic is an answer, and told as one.
pub(crate) fn is_called() -> bool {
    IS_CALLED.get()
}

/// Something that answers calls in one format, whatever the format.
pub(crate) trait Answering: Send + Sync {
    fn dtype(&self) -> Dtype;
    fn supports(&self) -> Supports;
    fn answer(&self, call: &SpecCall) -> Response;
}

/// An implementation in the format `T`.
pub(crate) struct OfFormat<T, A> {
    target: A,
    format: std::marker::PhantomData<fn() -> T>,
}

impl<T, A> OfFormat<T, A> {
    pub(crate) fn new(target: A) -> Self {
        Self { target, format: std::marker::PhantomData }
    }
}

impl<T: Element, A: Attention<T>> Answering for OfFormat<T, A> {
    fn dtype(&self) -> Dtype {
        T::DTYPE
    }

    fn supports(&self) -> Supports {
        self.target.supports()
    }

    fn answer(&self, call: &SpecCall) -> Response {
        let inputs = Inputs::<T>::new(call);
        let (q, k, v) = (&call.query.shape, &call.key.shape, &call.value.shape);
        let (shape, rows) = (vec![q[0], q[1], q[2], v[3]], q[0] * q[1] * q[2]);
        let nan = T::stored(&[f64::NAN])[0];
        let mut output = vec![nan; rows * v[3]];
        let mut weights = vec![nan; if call.return_weights { rows * k[2] } else { 0 }];
        let mut lse = vec![f64::NAN; if call.return_lse { rows } else { 0 }];
        IS_CALLED.set(true);
        let answered = catch_unwind(AssertUnwindSafe(|| {
            let view = inputs.view(call);
            if call.return_weights {
                self.target.with_weights(&view, &mut output, &mut weights)
            } else if call.return_lse {
                self.target.with_lse(&view, &mut output, &mut lse)
            } else {
                self.target.attention(&view, &mut output)
            }
        }));
        IS_CALLED.set(false);
        match answered {
            Ok(Ok(())) => {}
            Ok(Err(Declined::Unsupported(why))) => return Response::Unsupported(why.into()),
            Ok(Err(Declined::Refused(why))) => return Response::Refused(why.into()),
            Err(panic) => {
                return Response::Error(format!("panicked: {}", said(panic.as_ref())).into());
            }
        }
        let of = |shape: Vec<usize>, data: Vec<f64>| SpecTensor { dtype: T::DTYPE, shape, data };
        Response::Output(Box::new(Output {
            output: of(shape, T::values(&output)),
            weights: call
                .return_weights
                .then(|| of(vec![q[0], q[1], q[2], k[2]], T::values(&weights))),
            lse: call.return_lse.then(|| SpecTensor {
                dtype: Dtype::Float64,
                shape: vec![q[0], q[1], q[2]],
                data: lse.clone(),
            }),
            inputs_unchanged: inputs.are_those_of(call),
            handling: Handling::default(),
        }))
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The tensors of a call in the format of the implementation.
struct Inputs<T> {
    query: Vec<T>,
    key: Vec<T>,
    value: Vec<T>,
    bias: Option<Vec<T>>,
    sinks: Option<Vec<T>>,
    alibi_slopes: Option<Vec<T>>,
}

impl<T: Element> Inputs<T> {
    fn new(call: &SpecCall) -> Self {
        let stored = |tensor: &SpecTensor| T::stored(&tensor.data);
        Self {
            query: stored(&call.query),
            key: stored(&call.key),
            value: stored(&call.value),
            bias: call.options.bias.as_ref().map(stored),
            sinks: call.options.sinks.as_ref().map(stored),
            alibi_slopes: call.options.alibi_slopes.as_ref().map(stored),
        }
    }

    fn view<'a>(&'a self, call: &'a SpecCall) -> Call<'a, T> {
        let of = |data: &'a [T], tensor: &'a SpecTensor| Tensor { data, shape: &tensor.shape };
        let optional = |data: &'a Option<Vec<T>>, tensor: &'a Option<SpecTensor>| {
            data.as_ref().zip(tensor.as_ref()).map(|(data, tensor)| of(data, tensor))
        };
        let options = &call.options;
        Call {
            query: of(&self.query, &call.query),
            key: of(&self.key, &call.key),
            value: of(&self.value, &call.value),
            scale: options.scale,
            causal: options.causal,
            mask: options.mask.as_ref().map(|BoolTensor { shape, data }| Tensor { data, shape }),
            bias: optional(&self.bias, &options.bias),
            softcap: options.softcap,
            window: options.window,
            sinks: optional(&self.sinks, &options.sinks),
            alibi_slopes: optional(&self.alibi_slopes, &options.alibi_slopes),
            key_lengths: options.key_lengths.as_deref(),
            query_lengths: options.query_lengths.as_deref(),
            packed: options.packed.as_ref(),
        }
    }

    /// Whether the slices still hold what they were made of: code behind a shared reference may
    /// write all the same.
    fn are_those_of(&self, call: &SpecCall) -> bool {
        let same = |data: &[T], tensor: &SpecTensor| {
            T::values(data)
                .iter()
                .zip(&tensor.data)
                .all(|(x, y)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()))
        };
        same(&self.query, &call.query)
            && same(&self.key, &call.key)
            && same(&self.value, &call.value)
            && self.bias.iter().zip(&call.options.bias).all(|(data, tensor)| same(data, tensor))
    }
}

/// What an implementation does not offer.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum NotOffered {
    #[error("format {dtype}")]
    Format { dtype: Dtype },
    #[error("option {option}")]
    Option { option: CallOption },
    #[error("the log-sum-exp")]
    Lse,
    #[error("the weights")]
    Weights,
    #[error("calls whose tensors do not fit together")]
    Misfits,
}

/// The implementations of a suite, one a format, and what they are asked.
#[derive(Clone)]
pub(crate) struct Own {
    formats: Arc<Vec<Box<dyn Answering>>>,
    /// Instead of what they say themselves.
    supports: Option<Supports>,
}

impl Own {
    pub(crate) fn new(formats: Vec<Box<dyn Answering>>, supports: Option<Supports>) -> Self {
        Self { formats: Arc::new(formats), supports }
    }

    pub(crate) fn dtypes(&self) -> Vec<Dtype> {
        self.formats.iter().map(|one| one.dtype()).collect()
    }

    /// Why a call is not made, or who answers it.
    pub(crate) fn asked(&self, call: &SpecCall) -> Result<&dyn Answering, NotOffered> {
        let dtype = call.dtype();
        let Some(found) = self.formats.iter().find(|one| one.dtype() == dtype) else {
            return Err(NotOffered::Format { dtype });
        };
        let supports = self.supports.clone().unwrap_or_else(|| found.supports());
        if let Some(option) =
            call.options.on().iter().find(|option| !supports.options.contains(option))
        {
            return Err(NotOffered::Option { option });
        }
        if call.return_lse && !supports.lse {
            return Err(NotOffered::Lse);
        }
        if call.return_weights && !supports.weights {
            return Err(NotOffered::Weights);
        }
        if call.misfit().is_some() && !supports.misfits {
            return Err(NotOffered::Misfits);
        }
        Ok(found.as_ref())
    }
}

impl Target for Own {
    fn call(&mut self, call: &SpecCall) -> Response {
        match self.asked(call) {
            Ok(one) => one.answer(call),
            Err(lacks) => Response::Unsupported(format!("does not offer {lacks}").into()),
        }
    }
}
