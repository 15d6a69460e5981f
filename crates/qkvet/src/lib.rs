//! Decides with certified error bounds whether an implementation of attention computes what it
//! claims.
//!
//! One output, in a test that there is already:
//!
//! ```
//! // One query between two values; the keys are alike.
//! let (q, k, v) = ([1.0f32], [0.0f32, 0.0], [1.0f32, 3.0]);
//! let out = [2.0f32];
//! qkvet::assert_attention!(out, q, k, v, [[1, 1, 1, 1], [1, 1, 2, 1], [1, 1, 2, 1]]);
//! ```
//!
//! A whole implementation, as a test of its own (`harness = false`): see [`attention_tests!`].
//! There is no tolerance anywhere: limits are derived from the inputs and from the number formats,
//! so that a failure is a proof.

mod attention;
mod call;
mod claim;
mod element;
mod suite;
mod target;
mod trials;

pub use attention::{Answer, Attention, Declined, Supports};
pub use call::{Call, Tensor};
pub use claim::{Claim, Shapes};
pub use element::{Bf16, Element, F16};
pub use qkvet_run::run::RunError as Error;
pub use qkvet_spec::{
    Breakage, CallOption, Cause, Dims, Evidence, Judgment, Packed, Quoted, Summary, Verdict, Window,
};
pub use suite::{Report, Suite, suite};

/// Asserts that an output can be the attention of these inputs:
/// `assert_attention!(output, query, key, value, shapes)`, then options as `name = value`, which
/// are the methods of [`Claim`].
///
/// [`Shapes`] are `[b, h, n, d]` for all three, `[shape_of_query, shape_of_key, shape_of_value]`,
/// or [`Dims`]. The message of the panic is the diagnosis; the value is the [`Judgment`].
///
/// ```
/// use qkvet::{Dims, assert_attention};
///
/// let (q, k, v) = (vec![1.0f32, 2.0], vec![0.0f32, 0.0], vec![1.0f32, 3.0]);
/// let shape = Dims { b: 1, h_q: 1, h_k: 1, n_q: 2, n_k: 2, d_k: 1, d_v: 1 };
/// let seen = assert_attention!([1.0f32, 2.0], q, k, v, shape, causal = true, scale = 0.5);
/// assert!(seen.margin < Some(1.0));
/// ```
#[macro_export]
macro_rules! assert_attention {
    ($output:expr, $query:expr, $key:expr, $value:expr, $shapes:expr $(, $option:ident = $with:expr)* $(,)?) => {
        $crate::Claim::new(&$output, &$query, &$key, &$value, $shapes)$(.$option($with))*.assert()
    };
}

/// The `main` of a test that has `harness = false`: one test for each law, in `f32` or the formats
/// that are named.
///
/// ```no_run
/// use qkvet::{Attention, Call, Declined};
///
/// struct Mine;
///
/// impl Attention for Mine {
///     fn attention(&self, call: &Call<'_, f32>, output: &mut [f32]) -> Result<(), Declined> {
///         let dims = call.dims();
///         if dims.d_k > 128 {
///             return Err(Declined::unsupported("heads wider than 128"));
///         }
///         // my_kernel(call.query.data, call.key.data, call.value.data, output, dims, call.scale_or_default(), call.causal);
///         Ok(())
///     }
/// }
///
/// qkvet::attention_tests!(Mine);
/// ```
///
/// What follows a semicolon are methods of [`Suite`]:
/// `attention_tests!(Mine, f32, f64; suite = "smoke", convention = "causal=upper-left")`.
#[macro_export]
macro_rules! attention_tests {
    ($target:expr $(; $($option:ident = $with:expr),+ $(,)?)?) => {
        $crate::attention_tests!($target, f32 $(; $($option = $with),+)?);
    };
    ($target:expr, $first:ty $(, $format:ty)* $(; $($option:ident = $with:expr),+ $(,)?)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::suite::<$first>($target)$(.and::<$format>($target))*$($(.$option($with))+)?.main()
        }
    };
}
