//! What a law looks at: which extents, which of `Q`, `K`, `V`. What it does not look at need not
//! vary.

use std::collections::BTreeSet;

use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{CallOption, CheckedLaw, Dims, Domain, IndexEnv, Misfit, OptionSet, Values};

use crate::draw::Role;

/// What a law looks at.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    /// Names that occur in it, extents that they imply included.
    names: BTreeSet<String>,
    /// Those of `Q`, `K`, `V` that a `given` or a `let` replaces.
    replaced: Vec<&'static str>,
    /// Roles of the law's own random matrices.
    own: Vec<Role>,
    /// Whether all the law's own keys are single ones.
    one_key: bool,
    /// Whether query and key are separated or opposed by a margin.
    pub(crate) margin: bool,
    /// Whether it is a law of refusal, to which no number matters.
    refuses: bool,
}

impl Usage {
    pub(crate) fn of(law: &CheckedLaw) -> Self {
        let mut names = BTreeSet::new();
        law.lets.iter().for_each(|(_, expr)| collect(expr, &mut names));
        law.expect.iter().for_each(|expr| collect(expr, &mut names));
        if law.law.observe.is_some() {
            names.extend(["Q", "K", "V"].map(str::to_owned));
        }
        let mut own = Vec::new();
        let (mut margin, mut one_key) = (false, true);
        for given in &law.given {
            match &given.domain {
                Domain::Index { of, .. } | Domain::Permutation(of) | Domain::Subset(of) => {
                    collect(of, &mut names)
                }
                Domain::Matrix(rows, cols)
                | Domain::Tensor(rows, cols)
                | Domain::Grid(rows, cols) => {
                    collect(rows, &mut names);
                    collect(cols, &mut names);
                    if !matches!(given.domain, Domain::Grid(..)) {
                        let is_one = matches!(&rows.kind, ExprKind::Number(n) if n.to_bits() == 1f64.to_bits());
                        one_key &= is_one || Role::of_width(cols) != Role::Key;
                        own.push(Role::of_width(cols));
                    }
                    if !matches!(given.domain, Domain::Matrix(..)) {
                        names.extend(["b", "h_k"].map(str::to_owned));
                    }
                }
                Domain::Separated { .. } | Domain::Opposed { .. } => {
                    margin = true;
                    names.extend(["b", "h_q", "h_k", "n_q", "n_k", "d_k"].map(str::to_owned));
                }
                Domain::Dim { .. } | Domain::Real { .. } | Domain::Mask | Domain::Bias => {}
                // No case has them.
                Domain::Number | Domain::Positive | Domain::Normal { .. } => {}
            }
        }
        let replaced: Vec<&'static str> = ["Q", "K", "V"]
            .into_iter()
            .filter(|name| {
                law.given.iter().any(|given| given.names.iter().any(|given| given == name))
                    || law.lets.iter().any(|(given, _)| given == name)
            })
            .collect();
        let implied: [(&str, &[&str]); 9] = [
            ("Q", &["b", "h_q", "n_q", "d_k"]),
            ("K", &["b", "h_k", "n_k", "d_k"]),
            ("V", &["b", "h_k", "n_k", "d_v"]),
            ("attended", &["b", "h_q", "n_q"]),
            ("visible", &["b", "h_q", "n_q", "n_k"]),
            ("alibi", &["b", "h_q", "n_q", "n_k"]),
            ("sinks", &["h_q"]),
            ("hidden", &["b", "h_k", "n_k"]),
            ("repeat_heads", &["h_q", "h_k"]),
        ];
        for (name, extents) in implied {
            if names.contains(name) && !replaced.contains(&name) {
                names.extend(extents.iter().map(|extent| (*extent).to_owned()));
            }
        }
        for option in &law.law.options {
            let extents: &[&str] = match option {
                CallOption::Scale | CallOption::Softcap => &[],
                CallOption::Sinks | CallOption::AlibiSlopes => &["b", "h_q"],
                CallOption::Causal
                | CallOption::Mask
                | CallOption::Bias
                | CallOption::Window
                | CallOption::KeyLengths
                | CallOption::QueryLengths
                | CallOption::Packed => &["b", "h_q", "n_q", "n_k"],
            };
            names.extend(extents.iter().map(|extent| (*extent).to_owned()));
        }
        if let Some(condition) = &law.law.condition {
            let words = condition.text().split(|c: char| !(c.is_alphanumeric() || c == '_'));
            names.extend(words.map(str::to_owned));
        }
        Self { names, replaced, own, one_key, margin, refuses: law.law.misfit.is_some() }
    }

    /// Whether `Q`, `K` or `V` is one of the case's own tensors, bound whether or not the law looks
    /// at it.
    pub(crate) fn binds(&self, name: &str) -> bool {
        !self.replaced.contains(&name)
    }

    /// Whether the law looks at the case's own `Q`, `K` or `V`.
    pub(crate) fn reads(&self, name: &str) -> bool {
        self.binds(name) && self.names.contains(name)
    }

    /// Whether the law says something for these extents.
    pub(crate) fn admits(&self, law: &CheckedLaw, dims: &Dims) -> bool {
        let env = condition_env(*dims);
        let shows = |misfit: Misfit| {
            let (_, n, least) = misfit.least(dims);
            n >= least
        };
        law.law.condition.as_ref().is_none_or(|condition| condition.holds(&env))
            && law.law.misfit.is_none_or(shows)
    }

    /// The extents with those that the law does not look at lowered to 1; widths that it does not
    /// look at are those of `first`, because a case's id needs some numbers to depend on.
    pub(crate) fn reduce(&self, dims: &Dims, first: &Dims) -> Dims {
        let used = |name: &str, n: usize| if self.names.contains(name) { n } else { 1 };
        let h_k = used("h_k", dims.h_k);
        let h_q = if self.names.contains("h_q") { dims.h_q } else { h_k };
        let width =
            |name: &str, n: usize, first: usize| if self.names.contains(name) { n } else { first };
        Dims {
            b: used("b", dims.b),
            h_q,
            h_k,
            n_q: used("n_q", dims.n_q),
            n_k: used("n_k", dims.n_k),
            d_k: width("d_k", dims.d_k, first.d_k),
            d_v: width("d_v", dims.d_v, first.d_v),
        }
    }

    /// How many keys a query of the law sees at most.
    pub(crate) fn keys(&self, dims: &Dims) -> usize {
        let is_one = !self.reads("K") && self.own.contains(&Role::Key) && self.one_key;
        if is_one { 1 } else { dims.n_k }
    }

    /// The value families that make a difference to the law; one at least.
    pub(crate) fn families(&self, all: &[Values]) -> Vec<Values> {
        let reads = |role: Role| {
            let name = match role {
                Role::Query => "Q",
                Role::Key => "K",
                Role::Value => "V",
            };
            self.reads(name) || self.own.contains(&role)
        };
        let any = reads(Role::Query) || reads(Role::Key) || reads(Role::Value);
        let matters = |values: &Values| match values {
            Values::Normal | Values::Grid | Values::Heavy => any,
            Values::Peaked => reads(Role::Query),
            Values::Small | Values::Large => reads(Role::Value),
            Values::Offset => reads(Role::Key) || reads(Role::Value),
            Values::Lofty => reads(Role::Key),
            Values::Exact | Values::Deep | Values::Stair => self.reads("Q") && reads(Role::Key),
            Values::Routed => self.reads("Q") && self.reads("K") && self.reads("V"),
        };
        let mut kept: Vec<Values> = Vec::new();
        for values in all.iter().filter(|values| !self.refuses && matters(values)) {
            if !kept.contains(values) {
                kept.push(*values);
            }
        }
        if kept.is_empty() {
            kept.push(all.first().copied().unwrap_or(Values::Normal));
        }
        kept
    }
}

/// Names of a condition on extents; everything else is off.
pub(crate) fn condition_env(dims: Dims) -> IndexEnv {
    let dtype = qkvet_spec::Dtype::Float64;
    IndexEnv::new(dims, dtype, OptionSet::default())
}

fn collect(expr: &Expr, names: &mut BTreeSet<String>) {
    match &expr.kind {
        ExprKind::Number(_) => {}
        ExprKind::Name(name) => {
            names.insert(name.clone());
        }
        ExprKind::Unary(_, x) | ExprKind::Transpose(x) => collect(x, names),
        ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => {
            collect(x, names);
            collect(y, names);
        }
        ExprKind::Apply { function, args, named } => {
            names.insert(function.clone());
            args.iter().for_each(|x| collect(x, names));
            named.iter().for_each(|(_, x)| collect(x, names));
        }
        ExprKind::Tuple(items) => items.iter().for_each(|x| collect(x, names)),
    }
}
