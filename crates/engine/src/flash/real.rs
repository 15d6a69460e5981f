//! The two precisions that the kernel works in.

use qkvet_spec::Dtype;

/// Working precision of a kernel.
pub(super) trait Real:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    const DTYPE: Dtype;
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn tanh(self) -> Self;
}

impl Real for f32 {
    const DTYPE: Dtype = Dtype::Float32;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;
    fn of(x: f64) -> Self {
        x as f32
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn exp(self) -> Self {
        libm::expf(self)
    }
    fn ln(self) -> Self {
        libm::logf(self)
    }
    fn tanh(self) -> Self {
        libm::tanhf(self)
    }
}

impl Real for f64 {
    const DTYPE: Dtype = Dtype::Float64;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;
    fn of(x: f64) -> Self {
        x
    }
    fn wide(self) -> f64 {
        self
    }
    fn exp(self) -> Self {
        libm::exp(self)
    }
    fn ln(self) -> Self {
        libm::log(self)
    }
    fn tanh(self) -> Self {
        libm::tanh(self)
    }
}
