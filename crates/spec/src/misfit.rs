//! Calls whose tensors do not fit together: no attention has an answer to them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Call, Dims, Tensor, format_shape};

/// What of a call does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Misfit {
    /// The key has one column more than the query, which has two at least.
    KeyWidth,
    /// There is one value more than there are keys, of which there are two at least.
    KeyCount,
    /// There is one query head more than key heads divide, of which there are two at least.
    HeadCount,
    /// There is one batch item of queries more than of keys and values, of which there are two at
    /// least.
    ItemCount,
    /// There is a mask with one row fewer than there are queries, of which there are three at
    /// least.
    MaskShape,
}

impl Misfit {
    /// The word in YAML.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeyWidth => "key-width",
            Self::KeyCount => "key-count",
            Self::HeadCount => "head-count",
            Self::ItemCount => "item-count",
            Self::MaskShape => "mask-shape",
        }
    }

    /// The extent that decides whether the misfit is one, and how large it has to be: libraries
    /// broadcast what is one.
    pub fn least(self, dims: &Dims) -> (&'static str, usize, usize) {
        match self {
            Self::KeyWidth => ("d_k", dims.d_k, 2),
            Self::KeyCount => ("n_k", dims.n_k, 2),
            Self::HeadCount => ("h_k", dims.h_k, 2),
            Self::ItemCount => ("b", dims.b, 2),
            Self::MaskShape => ("n_q", dims.n_q, 3),
        }
    }
}

impl Call {
    /// The first thing that does not fit; `None` for a call that attention has an answer to.
    ///
    /// # Shapes
    /// Query, key and value have four axes each.
    pub fn misfit(&self) -> Option<Misfit> {
        let (q, k, v) = (&self.query.shape, &self.key.shape, &self.value.shape);
        let scores = [q[0], q[1], q[2], k[2]];
        let fits = |shape: &[usize]| {
            shape.len() <= 4
                && shape.iter().rev().zip(scores.iter().rev()).all(|(n, m)| n == m || *n == 1)
        };
        match () {
            () if q[3] != k[3] => Some(Misfit::KeyWidth),
            () if k[2] != v[2] => Some(Misfit::KeyCount),
            () if k[1] != v[1] || k[1] == 0 || !q[1].is_multiple_of(k[1]) => {
                Some(Misfit::HeadCount)
            }
            () if q[0] != k[0] || k[0] != v[0] => Some(Misfit::ItemCount),
            () if self.options.mask.as_ref().is_some_and(|mask| !fits(&mask.shape)) => {
                Some(Misfit::MaskShape)
            }
            () => None,
        }
    }

    /// What of the call does not fit, with its shapes; `None` for a call that fits.
    pub fn misfit_shapes(&self) -> Option<MisfitShapes> {
        let shape = |tensor: &Tensor| std::array::from_fn(|axis| tensor.shape[axis]);
        Some(MisfitShapes {
            misfit: self.misfit()?,
            query: shape(&self.query),
            key: shape(&self.key),
            value: shape(&self.value),
            mask: self.options.mask.as_ref().map(|mask| mask.shape.clone()).unwrap_or_default(),
        })
    }
}

/// Shapes of tensors that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MisfitShapes {
    /// What does not fit.
    pub misfit: Misfit,
    /// Shape of the query, `(b, h_q, n_q, d_k)`.
    pub query: [usize; 4],
    /// Shape of the key.
    pub key: [usize; 4],
    /// Shape of the value.
    pub value: [usize; 4],
    /// Shape of the mask; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mask: Vec<usize>,
}

impl fmt::Display for MisfitShapes {
    /// `queries of width 4, keys of width 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { misfit, query: q, key: k, value: v, mask } = self;
        match misfit {
            Misfit::KeyWidth => write!(f, "queries of width {}, keys of width {}", q[3], k[3]),
            Misfit::KeyCount => write!(f, "{} keys, {} values", k[2], v[2]),
            Misfit::HeadCount if k[1] == v[1] => {
                write!(f, "{} query heads, {} key/value heads", q[1], k[1])
            }
            Misfit::HeadCount => write!(f, "{} key heads, {} value heads", k[1], v[1]),
            Misfit::ItemCount => {
                write!(f, "items: {} of queries, {} of keys, {} of values", q[0], k[0], v[0])
            }
            Misfit::MaskShape => write!(
                f,
                "a mask of shape {}, scores of shape {}",
                format_shape(mask),
                format_shape(&[q[0], q[1], q[2], k[2]])
            ),
        }
    }
}
