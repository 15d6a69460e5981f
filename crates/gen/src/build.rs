//! From a plan to a case: every variable of the law is bound to a value from its domain.

use indexmap::IndexMap;
use qkvet_engine::format::is_representable;
use qkvet_engine::lowering::visibility;
use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::syntax::Expr;
use qkvet_spec::{
    Binding, CallOption, CallOptions, Case, CheckedLaw, Dims, Domain, Dtype, Matrices, Meaning,
    Values, Variables,
};

use crate::choice::{SequenceChoice, SoftcapChoice};
use crate::draw::{Family, Role};
use crate::exact::{Exact, Live, default_scale};
use crate::extent::Extents;
use crate::margin::{Margin, largest_margin};
use crate::options::{bias_by, draw_bias, draw_mask, draw_sinks, slopes};
use crate::sequences::{draw_ends, draw_lengths, draw_packed};
use crate::source::Source;
use crate::usage::Usage;
use crate::validate::{check_case, check_dims_of, check_plan, check_size};
use crate::{CasePlan, GenError};

/// Builds the case of a plan: the same plan gives the same bits on every machine.
///
/// `Q`, `K` and `V` are bound unless the law replaces them, then every variable that the law
/// declares; masks and biases are read from the options. Every element is a number of the case's
/// format.
///
/// # Errors
/// A plan that does not fit the law: an option it does not range over, extents outside its domains
/// or its condition.
pub fn build(law: &CheckedLaw, plan: &CasePlan) -> Result<Case, GenError> {
    let has_scores = plan.mask.is_some() || plan.bias.is_some();
    check_dims_of(law, &plan.dims, (has_scores, plan.rows.is_some()), "dims")?;
    check_plan(law, plan)?;
    let mut draft = Draft::new(law, plan)?;
    draft.draw_options();
    for name in ["Q", "K", "V"] {
        if draft.usage.binds(name) {
            let role = if name == "V" { Role::Value } else { Role::Key };
            let binding = if name == "Q" {
                draft.query()
            } else {
                draft.tensor(name, role, draft.rows_of(name))
            };
            draft.bindings.insert(name.to_owned(), binding);
        }
    }
    for given in &law.given {
        draft.bind(given)?;
    }
    let n_q = plan.dims.n_q;
    if let Some(n) = plan.rows.filter(|n| *n < n_q) {
        let rows = draft.source.draws(Case::ROWS).subset(n_q, n);
        draft.bindings.insert(Case::ROWS.to_owned(), Binding::Indices(rows));
    }
    draft.finish()
}

/// A case in the making.
struct Draft<'a> {
    law: &'a CheckedLaw,
    plan: &'a CasePlan,
    usage: Usage,
    source: Source,
    extents: Extents,
    /// The call's factor on `QKᵀ`.
    scale: f64,
    family: Family,
    /// In the exact family of a law that reads query and key: the construction, and which keys of
    /// `K` are alive.
    exact: Option<(Exact, Live)>,
    options: CallOptions,
    bindings: IndexMap<String, Binding>,
}

impl<'a> Draft<'a> {
    fn new(law: &'a CheckedLaw, plan: &'a CasePlan) -> Result<Self, GenError> {
        let usage = Usage::of(law);
        let source = Source(plan.seed);
        let dims = &plan.dims;
        let scale = plan.scale.value().unwrap_or_else(|| default_scale(dims));
        // Dot products of float16 that a small scale brings back into range would overflow before.
        let is_small = plan.dtype == Dtype::Float16 && scale.abs() < 1.0 / 16.0;
        let reckoned = if scale == 0.0 || is_small { default_scale(dims) } else { scale };
        let family = Family::new(
            plan.values,
            plan.tiny,
            plan.dtype,
            [dims.d_k, usage.keys(dims)],
            reckoned,
            &mut source.draws("family"),
        );
        let is_exact =
            matches!(plan.values, Values::Exact | Values::Routed) && !plan.tiny && usage.reads("Q");
        let exact = is_exact.then(|| {
            let exact = Exact::new(plan, scale);
            let live = exact.live(source, "K", [dims.b, dims.h_k, dims.n_k], dims.d_v);
            (exact, live)
        });
        let mut extents = Extents::new(dims);
        let own = law.given.iter().filter(|given| matches!(given.domain, Domain::Dim { .. }));
        own.zip(&plan.law_dims).for_each(|(given, n)| extents.add(&given.names[0], *n));
        let options = CallOptions {
            scale: plan.scale.value(),
            causal: plan.causal,
            ..CallOptions::default()
        };
        Ok(Self {
            law,
            plan,
            usage,
            source,
            extents,
            scale,
            family,
            exact,
            options,
            bindings: IndexMap::new(),
        })
    }

    fn draw_options(&mut self) {
        let (dims, dtype) = (&self.plan.dims, self.plan.dtype);
        self.options.mask =
            self.plan.mask.map(|(pattern, form)| draw_mask(pattern, form, dims, self.source));
        self.options.bias = self.plan.bias.map(|form| match &self.exact {
            None => draw_bias(form, dims, dtype, self.source),
            // Zero where a key is alive; what is dead anyway may sink further.
            Some((exact, live)) => {
                bias_by(form, dims, dtype, &self.source.variable("bias"), |draws, item, j| {
                    let items: Vec<usize> =
                        item.map_or_else(|| (0..dims.b).collect(), |item| vec![item]);
                    let sunk = draws.one_in(2) && exact.dead_for_all(live, &items, j);
                    if sunk { -2048.0 } else { 0.0 }
                })
            }
        });
        let plan = self.plan;
        self.options.softcap = plan.softcap.map(SoftcapChoice::value);
        self.options.window = plan.window;
        let is_exact = self.exact.is_some();
        self.options.sinks =
            plan.sinks.map(|choice| draw_sinks(choice, dims, dtype, is_exact, self.source));
        self.options.alibi_slopes = plan.alibi.map(|choice| slopes(choice, dims, dtype));
        let lengths = |option: CallOption, n: usize| {
            let is_at_ends = plan.sequences.is_some_and(SequenceChoice::is_at_ends);
            let draw = if is_at_ends { draw_ends } else { draw_lengths };
            plan.has(option).then(|| draw(option.name(), dims.b, n, self.source))
        };
        self.options.key_lengths = lengths(CallOption::KeyLengths, dims.n_k);
        self.options.query_lengths = lengths(CallOption::QueryLengths, dims.n_q);
        self.options.packed = plan.has(CallOption::Packed).then(|| draw_packed(dims, self.source));
    }

    /// Extents of the call's `Q`, `K` or `V`: heads, rows, columns.
    fn rows_of(&self, name: &str) -> [usize; 3] {
        let Dims { h_q, h_k, n_q, n_k, d_k, d_v, .. } = self.plan.dims;
        match name {
            "Q" => [h_q, n_q, d_k],
            "K" => [h_k, n_k, d_k],
            _ => [h_k, n_k, d_v],
        }
    }

    fn query(&self) -> Binding {
        let Some((exact, live)) = &self.exact else {
            return self.tensor("Q", Role::Query, self.rows_of("Q"));
        };
        let dims = self.plan.dims;
        let visible = visibility(&Meaning::standard(), dims, self.plan.dtype, &self.options);
        let streams = self.source.variable("Q");
        let [heads, rows, cols] = self.rows_of("Q");
        let mut data = Vec::with_capacity(dims.b * heads * rows * cols);
        for item in 0..dims.b {
            for head in 0..heads {
                for i in 0..rows {
                    let row = (item * heads + head) * rows + i;
                    let visible = &visible[row * dims.n_k..][..dims.n_k];
                    let key_head = head * dims.h_k / dims.h_q;
                    let class = exact.class(
                        live,
                        visible,
                        (item, key_head),
                        &mut streams.row(item, head, i),
                    );
                    data.extend((0..cols).map(|t| exact.query(class, t)));
                }
            }
        }
        matrices(Some(dims.b), Some(heads), rows, cols, data)
    }

    /// A tensor with a batch axis: heads, rows, columns.
    fn tensor(&self, name: &str, role: Role, [heads, rows, cols]: [usize; 3]) -> Binding {
        let b = self.plan.dims.b;
        let data = match &self.exact {
            Some((exact, live)) if role == Role::Key => {
                let own = if name == "K" {
                    live.clone()
                } else {
                    exact.live(self.source, name, [b, heads, rows], self.plan.dims.d_v)
                };
                self.fill(name, b, [heads, rows, cols], |item, head, row, t, draws| {
                    exact.key(&own, item, head, row, t, draws)
                })
            }
            Some((_, live)) if name == "V" && self.plan.values == Values::Routed => {
                self.fill(name, b, [heads, rows, cols], |item, head, row, t, _| {
                    live.one_hot(item, head, row, t, cols)
                })
            }
            _ => self.fill(name, b, [heads, rows, cols], |_, _, row, t, draws| {
                self.family.element(role, row, t, draws)
            }),
        };
        matrices(Some(b), Some(heads), rows, cols, data)
    }

    fn fill(
        &self,
        name: &str,
        items: usize,
        [heads, rows, cols]: [usize; 3],
        element: impl Fn(usize, usize, usize, usize, &mut crate::source::Draws) -> f64,
    ) -> Vec<f64> {
        let streams = self.source.variable(name);
        let mut data = Vec::with_capacity(items * heads * rows * cols);
        for item in 0..items {
            for head in 0..heads {
                for row in 0..rows {
                    let mut draws = streams.row(item, head, row);
                    data.extend((0..cols).map(|t| element(item, head, row, t, &mut draws)));
                }
            }
        }
        data
    }

    fn bind(&mut self, given: &Variables) -> Result<(), GenError> {
        let name = &given.names[0];
        let mut draws = self.source.draws(name);
        let binding = match &given.domain {
            Domain::Mask | Domain::Bias => return Ok(()),
            Domain::Separated { j, margin } => return self.bind_margin(j, margin, 1.0),
            Domain::Opposed { j, margin } => return self.bind_margin(j, margin, -1.0),
            Domain::Dim { .. } => Binding::Dim(self.extents.eval(&named(name), name)?),
            Domain::Index { of, not } => {
                let n = self.extents.eval(of, name)?;
                let other = not.as_ref().and_then(|not| self.index(not));
                if n < 1 + usize::from(other.is_some()) {
                    return Err(GenError::new("extent", name, "at least 2", n.to_string()));
                }
                let drawn = draws.below(n - usize::from(other.is_some()));
                Binding::Index(drawn + usize::from(other.is_some_and(|other| drawn >= other)))
            }
            Domain::Real { low, high } => Binding::Real(self.real(name, *low, *high)?),
            Domain::Number | Domain::Positive | Domain::Normal { .. } => {
                return Err(GenError::not_drawn(name));
            }
            Domain::Permutation(n) => {
                let n = self.extents.eval(n, name)?;
                check_size(name, [n, n], "given")?;
                let mut order: Vec<usize> = (0..n).collect();
                draws.shuffle(&mut order);
                if order.is_sorted() && n > 1 {
                    order.rotate_left(1);
                }
                let data = order
                    .iter()
                    .flat_map(|from| (0..n).map(move |j| f64::from(u8::from(j == *from))))
                    .collect();
                matrices(None, None, n, n, data)
            }
            Domain::Subset(n) => {
                let n = self.extents.eval(n, name)?;
                let count = draws.between(1, (n - 1).max(1));
                Binding::Indices(draws.subset(n, count))
            }
            Domain::Matrix(rows, cols) => {
                let shape = [1, self.extents.eval(rows, name)?, self.extents.eval(cols, name)?];
                check_size(name, shape, "given")?;
                let role = Role::of_width(cols);
                let data = self.fill(name, 1, shape, |_, _, row, t, draws| {
                    self.family.element(role, row, t, draws)
                });
                matrices(None, None, shape[1], shape[2], data)
            }
            Domain::Tensor(rows, cols) => {
                let shape = [
                    self.plan.dims.h_k,
                    self.extents.eval(rows, name)?,
                    self.extents.eval(cols, name)?,
                ];
                check_size(name, [self.plan.dims.b, shape[0], shape[1], shape[2]], "given")?;
                self.tensor(name, Role::of_width(cols), shape)
            }
            Domain::Grid(rows, cols) => {
                let (b, heads) = (self.plan.dims.b, self.plan.dims.h_k);
                let shape = [heads, self.extents.eval(rows, name)?, self.extents.eval(cols, name)?];
                check_size(name, [b, heads, shape[1], shape[2]], "given")?;
                let data = self.fill(name, b, shape, |_, _, _, _, draws| self.family.grid(draws));
                matrices(Some(b), Some(heads), shape[1], shape[2], data)
            }
        };
        self.bindings.insert(name.clone(), binding);
        Ok(())
    }

    /// A number of at most four significant bits in the range; a margin no larger than the format
    /// can carry.
    fn real(&self, name: &str, low: f64, high: f64) -> Result<f64, GenError> {
        let margin = self.law.given.iter().any(|given| match &given.domain {
            Domain::Separated { margin, .. } | Domain::Opposed { margin, .. } => margin == name,
            _ => false,
        });
        let largest = if margin {
            largest_margin(self.plan.dtype, self.plan.dims.d_k, self.scale)
        } else {
            high
        };
        let mut choices = coarse_numbers(low, high.min(largest));
        choices.retain(|x| is_representable(*x, self.plan.dtype));
        if self.plan.tiny && choices.iter().any(|x| x.fract() == 0.0) {
            choices.retain(|x| x.fract() == 0.0);
        }
        if choices.is_empty() {
            let expected = format!(
                "a number of four significant bits in {low}..{high} that {} can carry",
                self.plan.dtype
            );
            return Err(GenError::new("real", name, expected, "none"));
        }
        Ok(choices[self.source.draws(name).below(choices.len())])
    }

    fn bind_margin(&mut self, j: &str, margin: &str, sign: f64) -> Result<(), GenError> {
        let dims = &self.plan.dims;
        let (Some(j), Some(Binding::Real(margin))) = (self.index(j), self.bindings.get(margin))
        else {
            return Err(GenError::new(
                "margin",
                "(Q, K)",
                "an index and a real declared above",
                "neither",
            ));
        };
        if self.scale == 0.0 {
            return Err(GenError::new("scale", "(Q, K)", "one that is not 0", "0"));
        }
        let margin =
            Margin::new(j, *margin, self.plan.dtype, dims.d_k, self.scale, sign, self.plan.tiny);
        let (query, key) = (margin.query(dims, self.source), margin.key(dims, self.source));
        self.bindings.insert(
            "Q".to_owned(),
            matrices(Some(dims.b), Some(dims.h_q), dims.n_q, dims.d_k, query),
        );
        self.bindings.insert(
            "K".to_owned(),
            matrices(Some(dims.b), Some(dims.h_k), dims.n_k, dims.d_k, key),
        );
        Ok(())
    }

    fn index(&self, name: &str) -> Option<usize> {
        match self.bindings.get(name) {
            Some(Binding::Index(at)) => Some(*at),
            _ => None,
        }
    }

    fn finish(mut self) -> Result<Case, GenError> {
        // Q, K, V first, then the law's variables as declared.
        let position =
            |name: &str| ["Q", "K", "V"].iter().position(|first| *first == name).unwrap_or(3);
        self.bindings.sort_by(|left, _, right, _| position(left).cmp(&position(right)));
        let case = Case {
            law: self.plan.law.clone(),
            dtype: self.plan.dtype,
            dims: self.plan.dims,
            options: self.options,
            bindings: self.bindings,
        };
        check_case(self.law, &case)?;
        Ok(case)
    }
}

fn matrices(
    batch: Option<usize>,
    heads: Option<usize>,
    rows: usize,
    cols: usize,
    data: Vec<f64>,
) -> Binding {
    Binding::Matrices(Matrices { batch, heads, rows, cols, data })
}

fn named(name: &str) -> Expr {
    assert!(!DIMENSIONS.contains(&name), "the shape checker keeps the names of extents apart");
    Expr { kind: qkvet_spec::syntax::ExprKind::Name(name.to_owned()), span: 0..name.len() }
}

/// All `m·2^e` with `8 ≤ m < 16`, `e ≥ −10`, and 0, of either sign, in the range.
fn coarse_numbers(low: f64, high: f64) -> Vec<f64> {
    let mut numbers = Vec::new();
    let mut unit = 1.0 / 1024.0;
    while unit * 8.0 <= low.abs().max(high.abs()) {
        numbers.extend((8..16).map(|m| f64::from(m) * unit));
        unit *= 2.0;
    }
    let negative = numbers.iter().rev().map(|x| -x);
    let all: Vec<f64> = negative.chain([0.0]).chain(numbers.iter().copied()).collect();
    all.into_iter().filter(|x| (low..=high).contains(x)).collect()
}
