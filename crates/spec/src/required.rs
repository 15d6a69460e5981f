//! What a target is required to answer: formats, options and extents of calls.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CallOption, Dims, Dtype, Extent, OptionSet, Unexpected, name_hint};

/// Calls that a target is required to answer: those of these formats and extents all of whose
/// options are among these and those that it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Required {
    /// Formats; none: all of the run.
    pub dtypes: Vec<Dtype>,
    /// Options that such a call may have beside those that the target takes.
    pub options: Vec<CallOption>,
    /// Extents with the least and the largest number; one that is not here may be any.
    pub extents: Vec<(Extent, usize, usize)>,
}

impl Required {
    /// Reads parts such as `causal`, `dtype=bfloat16`, `n_k=1..4096` or `d_k=64`.
    ///
    /// # Errors
    /// The first part that is none of these, at `place`.
    pub fn of(parts: &[String], place: &str) -> Result<Self, Unexpected> {
        let mut all = Self::default();
        for part in parts {
            let wrong = || {
                let expected = "an option, dtype=FORMAT, or an extent as in n_k=1..4096 or d_k=64";
                Unexpected::at(place, expected).quoted(part)
            };
            match part.trim().split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
                None => {
                    let known = CallOption::ALL.map(CallOption::name);
                    let option = CallOption::ALL.into_iter().find(|one| one.name() == part.trim());
                    all.options
                        .push(option.ok_or_else(|| wrong().hint(name_hint(part.trim(), &known)))?);
                }
                Some(("dtype", name)) => {
                    let known = Dtype::CHECKED.map(Dtype::name);
                    let dtype = Dtype::from_name(name).filter(|one| Dtype::CHECKED.contains(one));
                    all.dtypes.push(dtype.ok_or_else(|| wrong().hint(name_hint(name, &known)))?);
                }
                Some((name, range)) => {
                    let known = Extent::ALL.map(Extent::name);
                    let extent = Extent::ALL.into_iter().find(|one| one.name() == name);
                    let extent = extent.ok_or_else(|| wrong().hint(name_hint(name, &known)))?;
                    let (low, high) = range.split_once("..").unwrap_or((range, range));
                    let (low, high) = (low.trim().parse(), high.trim().parse());
                    let (Ok(low), Ok(high)) = (low, high) else { return Err(wrong()) };
                    if low > high {
                        return Err(wrong());
                    }
                    all.extents.push((extent, low, high));
                }
            }
        }
        Ok(all)
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a call of a target that takes some options lies inside.
    pub fn contains(
        &self,
        dtype: Dtype,
        options: OptionSet,
        dims: Dims,
        takes: impl Fn(CallOption) -> bool,
    ) -> bool {
        let is_inside = |(extent, low, high): &(Extent, usize, usize)| {
            (*low..=*high).contains(&extent.of(dims))
        };
        (self.dtypes.is_empty() || self.dtypes.contains(&dtype))
            && options.iter().all(|option| self.options.contains(&option) || takes(option))
            && self.extents.iter().all(is_inside)
    }

    fn parts(&self) -> Vec<String> {
        let dtypes = self.dtypes.iter().map(|dtype| format!("dtype={dtype}"));
        let options = self.options.iter().map(ToString::to_string);
        let extents = self.extents.iter().map(|(extent, low, high)| match low == high {
            true => format!("{}={low}", extent.name()),
            false => format!("{}={low}..{high}", extent.name()),
        });
        dtypes.chain(options).chain(extents).collect()
    }
}

impl fmt::Display for Required {
    /// `dtype=bfloat16,causal,n_k=1..4096`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().join(","))
    }
}

impl Serialize for Required {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Required {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let parts = Vec::<String>::deserialize(from)?;
        Self::of(&parts, "requires").map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Required {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Required".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<String>::json_schema(generator)
    }
}
