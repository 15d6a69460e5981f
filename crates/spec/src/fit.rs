//! What a target takes of a suite: extents that it has fixed or takes for one another, and the
//! options that it has.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BroadcastForm, CallOption, Dims, ResultName};

/// Two extents that are one to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Alike {
    /// `h_k` is `h_q`.
    Heads,
    /// `n_k` is `n_q`.
    Lengths,
    /// `d_v` is `d_k`.
    Widths,
}

/// What every case of a suite is made to fit, so that a target of fixed shapes is not asked in
/// vain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<usize>,
    /// Query heads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h_q: Option<usize>,
    /// Key and value heads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h_k: Option<usize>,
    /// Queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_q: Option<usize>,
    /// Keys and values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_k: Option<usize>,
    /// Width of queries and keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d_k: Option<usize>,
    /// Width of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d_v: Option<usize>,
    /// Extents that are one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<Alike>,
    /// Options that are combined; absent: all that a law ranges over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<CallOption>>,
    /// Options that every call has: the target has a parameter without a default for them. Cases
    /// of a law that does not range over them are not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<CallOption>,
    /// Forms of masks and biases; absent: those of the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forms: Option<Vec<BroadcastForm>>,
    /// Results that the target returns; absent: all that a law asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<ResultName>>,
    /// Scale of every case of a law that ranges over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Softcap of every case of a law that ranges over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softcap: Option<f64>,
    /// Whether every case of a law that ranges over it is causal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub causal: bool,
}

impl Fit {
    /// Whether cases may have the option on.
    pub fn has(&self, option: CallOption) -> bool {
        self.options.as_ref().is_none_or(|options| options.contains(&option))
    }

    /// The same, where it changes any suite: options or results that are all there are restrict
    /// nothing.
    pub fn if_any(self) -> Option<Self> {
        let options =
            self.options.filter(|taken| !CallOption::ALL.iter().all(|one| taken.contains(one)));
        let results = self.results.filter(|taken| taken.len() < ResultName::ALL.len());
        Some(Self { options, results, ..self }).filter(|fit| *fit != Self::default())
    }

    /// Whether more than extents is other in the cases of a suite that is made to fit.
    pub fn is_more_than_extents(&self) -> bool {
        let Self { options, always, forms, scale, softcap, causal, .. } = self;
        let is_any = options.is_some() || !always.is_empty();
        is_any || forms.is_some() || scale.is_some() || softcap.is_some() || *causal
    }

    /// Whether the target returns the result.
    pub fn returns(&self, result: ResultName) -> bool {
        self.results.as_ref().is_none_or(|results| results.contains(&result))
    }

    /// Those of the forms that the target takes; if it takes none of them, all that it does.
    pub fn broadcast(&self, of_suite: &[BroadcastForm]) -> Vec<BroadcastForm> {
        let Some(forms) = &self.forms else { return of_suite.to_vec() };
        let mut kept = of_suite.to_vec();
        kept.retain(|form| forms.contains(form));
        if kept.is_empty() { forms.clone() } else { kept }
    }

    /// The extents, as near to these as the target takes them: what is fixed is, what is alike
    /// follows what is fixed or the first of the two, and heads of keys divide those of queries.
    pub fn apply(&self, dims: &Dims) -> Dims {
        let pair = |alike: Alike,
                    (own, other): (Option<usize>, Option<usize>),
                    (one, two): (usize, usize)| {
            if self.alike.contains(&alike) {
                let n = own.or(other).unwrap_or(one);
                (n, n)
            } else {
                (own.unwrap_or(one), other.unwrap_or(two))
            }
        };
        let (mut h_q, mut h_k) = pair(Alike::Heads, (self.h_q, self.h_k), (dims.h_q, dims.h_k));
        if !h_q.is_multiple_of(h_k.max(1)) {
            match self.h_k {
                Some(fixed) if self.h_q.is_none() => {
                    h_q = fixed * (dims.h_q / dims.h_k.max(1)).max(1)
                }
                _ => h_k = (1..=h_k.min(h_q)).rev().find(|n| h_q.is_multiple_of(*n)).unwrap_or(1),
            }
        }
        let (n_q, n_k) = pair(Alike::Lengths, (self.n_q, self.n_k), (dims.n_q, dims.n_k));
        let (d_k, d_v) = pair(Alike::Widths, (self.d_k, self.d_v), (dims.d_k, dims.d_v));
        Dims { b: self.b.unwrap_or(dims.b), h_q, h_k, n_q, n_k, d_k, d_v }
    }
}

impl fmt::Display for Fit {
    /// `h_q=4 d_k=16, n_k=n_q, options causal, always causal`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { b, h_q, h_k, n_q, n_k, d_k, d_v, alike, options, forms, .. } = self;
        let Self { scale, softcap, causal, always: on, .. } = self;
        let names = crate::shape::DIMENSIONS;
        let fixed = names.iter().zip([b, h_q, h_k, n_q, n_k, d_k, d_v]);
        let fixed: Vec<String> =
            fixed.filter_map(|(name, n)| Some(format!("{name}={}", (*n)?))).collect();
        let alike = alike.iter().map(|alike| match alike {
            Alike::Heads => "h_k=h_q".to_owned(),
            Alike::Lengths => "n_k=n_q".to_owned(),
            Alike::Widths => "d_v=d_k".to_owned(),
        });
        let options = options.as_ref().map(|options| match options.as_slice() {
            [] => "no options".to_owned(),
            options => {
                let names: Vec<&str> = options.iter().map(|option| option.name()).collect();
                format!("options {}", names.join(" "))
            }
        });
        let forms = forms.as_ref().map(|forms| {
            let axes: Vec<&str> = forms.iter().map(|form| form.axes()).collect();
            format!("masks {}", axes.join(" or "))
        });
        let on = on.iter().map(|option| format!("always {option}"));
        let numbers = [("scale", scale), ("softcap", softcap)];
        let always =
            numbers.into_iter().filter_map(|(name, x)| Some(format!("always {name}={}", (*x)?)));
        let always = always.chain(causal.then(|| "always causal".to_owned()));
        let fixed = (!fixed.is_empty()).then(|| fixed.join(" "));
        f.write_str(
            &fixed
                .into_iter()
                .chain(alike)
                .chain(options)
                .chain(forms)
                .chain(on)
                .chain(always)
                .collect::<Vec<_>>()
                .join(", "),
        )
    }
}
