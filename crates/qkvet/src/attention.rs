//! What is vetted: the trait, what an implementation says of itself, and how it declines.

use std::fmt;

use qkvet_spec::CallOption;

use crate::call::Call;
use crate::element::Element;

/// An implementation of attention in one format.
///
/// A function or closure `|call: &Call<f32>, output: &mut [f32]| …` is one too, and may return
/// nothing or a `Result`.
pub trait Attention<T: Element = f32>: Send + Sync {
    /// Writes the output, `(b, h_q, n_q, d_v)` row-major. It is full of NaN before.
    ///
    /// # Errors
    /// What it cannot do with what it was asked: any error by `?` is a refusal,
    /// [`Declined::unsupported`] says that something is not offered. A panic is a finding.
    fn attention(&self, call: &Call<'_, T>, output: &mut [T]) -> Result<(), Declined>;

    /// What it offers; what is not offered is not asked for. By default the options `scale` and
    /// `causal`.
    fn supports(&self) -> Supports {
        Supports::default()
    }

    /// The output, and the log-sum-exp of each row's logits, `(b, h_q, n_q)`. Asked of those that
    /// offer it.
    ///
    /// # Errors
    /// As [`Attention::attention`].
    fn with_lse(
        &self,
        _call: &Call<'_, T>,
        _output: &mut [T],
        _lse: &mut [f64],
    ) -> Result<(), Declined> {
        Err(Declined::unsupported("no log-sum-exp"))
    }

    /// The output, and the weights, `(b, h_q, n_q, n_k)`. Asked of those that offer it.
    ///
    /// # Errors
    /// As [`Attention::attention`].
    fn with_weights(
        &self,
        _call: &Call<'_, T>,
        _output: &mut [T],
        _weights: &mut [T],
    ) -> Result<(), Declined> {
        Err(Declined::unsupported("no weights"))
    }
}

impl<T: Element, F, R> Attention<T> for F
where
    F: Fn(&Call<'_, T>, &mut [T]) -> R + Send + Sync,
    R: Answer,
{
    fn attention(&self, call: &Call<'_, T>, output: &mut [T]) -> Result<(), Declined> {
        self(call, output).answer()
    }
}

/// What a function returns: nothing, or a `Result`.
pub trait Answer {
    #[doc(hidden)]
    fn answer(self) -> Result<(), Declined>;
}

impl Answer for () {
    fn answer(self) -> Result<(), Declined> {
        Ok(())
    }
}

impl<E: Into<Declined>> Answer for Result<(), E> {
    fn answer(self) -> Result<(), Declined> {
        self.map_err(Into::into)
    }
}

/// What an implementation offers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Supports {
    /// Options that may be on.
    pub options: Vec<CallOption>,
    /// Whether it has [`Attention::with_lse`].
    pub lse: bool,
    /// Whether it has [`Attention::with_weights`].
    pub weights: bool,
    /// Whether it is also asked calls whose tensors do not fit together, which it must not answer:
    /// an error or a panic is right there.
    pub misfits: bool,
}

impl Default for Supports {
    fn default() -> Self {
        Self::options([CallOption::Scale, CallOption::Causal])
    }
}

impl Supports {
    /// These options and nothing else.
    pub fn options(options: impl IntoIterator<Item = CallOption>) -> Self {
        Self { options: options.into_iter().collect(), lse: false, weights: false, misfits: false }
    }

    /// The log-sum-exp too.
    #[must_use]
    pub fn lse(self) -> Self {
        Self { lse: true, ..self }
    }

    /// The weights too.
    #[must_use]
    pub fn weights(self) -> Self {
        Self { weights: true, ..self }
    }

    /// Calls that do not fit too.
    #[must_use]
    pub fn misfits(self) -> Self {
        Self { misfits: true, ..self }
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// It is not offered.
    Unsupported(String),
    /// It is an error.
    Refused(String),
}

impl Declined {
    /// What is asked for is not offered, and that is no finding.
    pub fn unsupported(why: impl fmt::Display) -> Self {
        Self::Unsupported(why.to_string())
    }

    /// What is asked for is an error, though it should not be.
    pub fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }
}

impl<E: std::error::Error> From<E> for Declined {
    fn from(error: E) -> Self {
        Self::refused(error)
    }
}
