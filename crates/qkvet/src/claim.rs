//! One output, judged: what is behind `assert_attention!`.

use qkvet_gen::check_call;
use qkvet_run::answer::Criteria;
use qkvet_run::declared::Declared;
use qkvet_run::run::self_test;
use qkvet_spec::{BoolTensor, Call, CallOptions, Dialect, Dims, Judgment, Output, Tensor, Window};

use crate::Error;
use crate::element::Element;

/// That some numbers are the attention of some others.
#[derive(Clone, Debug)]
#[must_use = "a claim is judged by `judge` or `assert`"]
pub struct Claim {
    call: Call,
    output: Tensor,
    conventions: Vec<String>,
    contract: Option<String>,
}

/// Shapes of query, key and value: [`Dims`]; `[b, h, n, d]` for all three; or one such list for
/// each of them.
pub trait Shapes {
    /// `(b, h_q, n_q, d_k)`, `(b, h_k, n_k, d_k)` and `(b, h_k, n_k, d_v)`.
    fn shapes(self) -> [[usize; 4]; 3];
}

impl Shapes for Dims {
    fn shapes(self) -> [[usize; 4]; 3] {
        let Self { b, h_q, h_k, n_q, n_k, d_k, d_v } = self;
        [[b, h_q, n_q, d_k], [b, h_k, n_k, d_k], [b, h_k, n_k, d_v]]
    }
}

impl Shapes for [usize; 4] {
    fn shapes(self) -> [Self; 3] {
        [self; 3]
    }
}

impl Shapes for [[usize; 4]; 3] {
    fn shapes(self) -> Self {
        self
    }
}

fn tensor<T: Element>(data: &[T], shape: &[usize]) -> Tensor {
    Tensor { dtype: T::DTYPE, shape: shape.to_vec(), data: T::values(data) }
}

impl Claim {
    /// That `output`, `(b, h_q, n_q, d_v)`, is the attention of the other three; all are row-major.
    pub fn new<T: Element>(
        output: &[T],
        query: &[T],
        key: &[T],
        value: &[T],
        shapes: impl Shapes,
    ) -> Self {
        let [q, k, v] = shapes.shapes();
        let whole = [q[0], q[1], q[2], v[3]];
        // As many numbers as it has, if they are not those of an output.
        let n = output.len();
        let of_output = if whole.iter().product::<usize>() == n { whole.to_vec() } else { vec![n] };
        let call = Call {
            query: tensor(query, &q),
            key: tensor(key, &k),
            value: tensor(value, &v),
            options: CallOptions::default(),
            return_weights: false,
            return_lse: false,
        };
        Self { call, output: tensor(output, &of_output), conventions: Vec::new(), contract: None }
    }

    fn with(mut self, set: impl FnOnce(&mut CallOptions)) -> Self {
        set(&mut self.call.options);
        self
    }

    /// A factor on `QKᵀ` other than `1/√d_k`.
    pub fn scale(self, scale: impl Into<f64>) -> Self {
        self.with(|options| options.scale = Some(scale.into()))
    }

    /// Query `i` sees keys `j ≤ i + n_k − n_q`; `convention("causal=upper-left")` beside it: keys
    /// `j ≤ i`.
    pub fn causal(self, causal: bool) -> Self {
        self.with(|options| options.causal = causal)
    }

    /// True attends: `n_q · n_k` of them for all heads, or `b · h_q · n_q · n_k`.
    pub fn mask(self, mask: &[bool]) -> Self {
        let shape = self.scores(mask.len());
        self.with(|options| options.mask = Some(BoolTensor { shape, data: mask.to_vec() }))
    }

    /// Added to the scaled scores; as many as of a mask.
    pub fn bias<T: Element>(self, bias: &[T]) -> Self {
        let shape = self.scores(bias.len());
        self.with(|options| options.bias = Some(tensor(bias, &shape)))
    }

    /// The cap `c` of `c · tanh(x/c)`, applied to the scaled scores.
    pub fn softcap(self, softcap: impl Into<f64>) -> Self {
        self.with(|options| options.softcap = Some(softcap.into()))
    }

    /// How many keys a query sees before and behind its own position; `None`: all of them.
    pub fn window(self, (left, right): (Option<usize>, Option<usize>)) -> Self {
        let window = Window { left, right };
        self.with(|options| {
            options.window = Some(window).filter(|window| *window != Window::default())
        })
    }

    /// A logit for each query head that joins the sum of each row.
    pub fn sinks<T: Element>(self, sinks: &[T]) -> Self {
        self.with(|options| options.sinks = Some(tensor(sinks, &[sinks.len()])))
    }

    /// A slope for each query head.
    pub fn alibi_slopes<T: Element>(self, slopes: &[T]) -> Self {
        self.with(|options| options.alibi_slopes = Some(tensor(slopes, &[slopes.len()])))
    }

    /// How many keys of each batch item exist.
    pub fn key_lengths(self, lengths: &[usize]) -> Self {
        self.with(|options| options.key_lengths = Some(lengths.to_vec()))
    }

    /// How many queries of each batch item exist.
    pub fn query_lengths(self, lengths: &[usize]) -> Self {
        self.with(|options| options.query_lengths = Some(lengths.to_vec()))
    }

    /// A choice other than the standard, `field=value`: `qkvet list conventions` has them.
    pub fn convention(mut self, convention: &str) -> Self {
        self.conventions.push(convention.to_owned());
        self
    }

    /// The arithmetic that is claimed, other than the loosest of the format: `qkvet list contracts`
    /// has them.
    pub fn contract(self, contract: &str) -> Self {
        Self { contract: Some(contract.to_owned()), ..self }
    }

    /// The verdict.
    ///
    /// # Error bound
    /// The exact result is enclosed, and the contract bounds what an implementation may be away
    /// from it: a `FAIL` is proved.
    ///
    /// # Errors
    /// Inputs that do not fit together, and unknown names.
    pub fn judge(&self) -> Result<Judgment, Error> {
        self.judged_by(|criteria, call, output| criteria.judgment(call, output))
    }

    fn judged_by(
        &self,
        judge: impl Fn(&Criteria<'_>, &Call, &Output) -> Judgment,
    ) -> Result<Judgment, Error> {
        check_call(&self.call)?;
        let dtype = self.call.dtype();
        let declared = Declared::new(&self.conventions, self.contract.as_slice(), &[dtype])?;
        self_test()?;
        let output = Output::of(self.output.clone());
        Ok(judge(&declared.criteria(dtype)?, &self.call, &output))
    }

    /// Asserts that the verdict is not `FAIL`, and gives it; what certainly passes is not measured
    /// in large calls.
    ///
    /// # Panics
    /// The output is proved wrong; the inputs do not fit together, or a name is unknown.
    #[track_caller]
    pub fn assert(&self) -> Judgment {
        match self.judged_by(|criteria, call, output| criteria.assertion(call, output)) {
            Ok(judgment) if judgment.is_ok() => judgment,
            Ok(judgment) => {
                panic!("{}", qkvet_report::judgment(&judgment, Dialect::RustMacro))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The shape of a mask or bias of `n` elements.
    fn scores(&self, n: usize) -> Vec<usize> {
        let (q, n_k) = (&self.call.query.shape, self.call.key.shape[2]);
        if q[2] * n_k == n { vec![q[2], n_k] } else { vec![q[0], q[1], q[2], n_k] }
    }
}
