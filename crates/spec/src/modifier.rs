//! Modifiers: what an implementation does or promises beside a contract. `base+modifier+modifier`
//! is a contract again.

use serde::{Deserialize, Serialize};

use crate::{Contract, Dtype, Format, Unexpected};

/// Changes of a contract; one file in `specs/contracts/modifiers/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Modifier {
    /// The id, equal to the file name. One that ends in `-N` stands for every positive number in
    /// place of `N`.
    pub modifier: String,
    /// One line for people.
    pub title: String,
    /// Formats of query, key and value that it fits; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<Vec<Dtype>>,
    /// What is allowed beyond the contract: a field becomes this loose, unless it is looser
    /// already.
    #[serde(default, skip_serializing_if = "ContractPatch::is_empty")]
    pub allows: ContractPatch,
    /// What is promised beyond the contract: a field becomes this tight, unless it is tighter
    /// already.
    #[serde(default, skip_serializing_if = "ContractPatch::is_empty")]
    pub promises: ContractPatch,
    /// What the number `N` is promised for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub number: Vec<Numbered>,
    /// Why this modifier exists and who needs it.
    pub about: String,
}

/// A field that takes the number of a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Numbered {
    /// The smallest key tile.
    Tile,
    /// The depth of a dot product of query and key.
    ScoresDepth,
    /// The depth of the sum of weighted values and of the row sum.
    ValuesDepth,
}

/// How loose a value is: more is allowed under a larger number.
trait Looseness {
    fn looseness(&self) -> f64;
}

impl Looseness for bool {
    fn looseness(&self) -> f64 {
        f64::from(u8::from(*self))
    }
}

impl Looseness for u32 {
    fn looseness(&self) -> f64 {
        f64::from(*self)
    }
}

impl Looseness for Dtype {
    fn looseness(&self) -> f64 {
        -f64::from(self.precision())
    }
}

impl Looseness for Format {
    fn looseness(&self) -> f64 {
        -f64::from(self.precision())
    }
}

/// Declares the patch of a contract and how its fields are laid over one. A closure gives what the
/// patch's value means in the contract, and how loose the contract's value is.
macro_rules! contract_patch {
    ($($(#[$meta:meta])* $name:ident: $type:ty, $place:ident $(. $inner:ident)?, $wrap:expr, $loose:expr;)*) => {
        /// The fields of a [`Contract`] that a modifier changes.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct ContractPatch {
            $($(#[$meta])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)*
        }

        impl ContractPatch {
            /// Whether the patch changes nothing.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// Names of the fields that are set.
            pub fn fields(&self) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if self.$name.is_some() { names.push(stringify!($name)); })*
                names
            }

            /// Lays the patch over the contract: each field becomes the looser, or the tighter, of
            /// the two.
            fn lay_over(&self, contract: &mut Contract, loosen: bool) {
                $(if let Some(value) = self.$name {
                    let (wrap, loose) = ($wrap, $loose);
                    let (new, old) = (wrap(value), contract.$place$(.$inner)?);
                    let change = loose(&new) - loose(&old);
                    if (loosen && change > 0.0) || (!loosen && change < 0.0) {
                        contract.$place$(.$inner)? = new;
                    }
                })*
            }
        }
    };
}

/// Looseness of a field that is absent where nothing is rounded.
fn if_any<T: Looseness>(value: &Option<T>) -> f64 {
    value.as_ref().map_or(f64::NEG_INFINITY, Looseness::looseness).max(-1e3)
}

/// Looseness of a declared depth; an undeclared one is the loosest.
fn depth(value: &Option<usize>) -> f64 {
    value.map_or(1e300, |depth| depth as f64)
}

/// Looseness of a tile: fewer keys in it are more rescalings, a single pass has none.
fn tile(value: &Option<usize>) -> f64 {
    value.map_or(-1e300, |tile| -(tile as f64))
}

/// Looseness of an accumulator that keeps so many bits.
fn bits(value: &Option<u32>) -> f64 {
    value.map_or(-1e3, |bits| -f64::from(bits))
}

contract_patch! {
    /// Whether the output may come back in a wider format.
    wider_output: bool, wider_output, |x| x, bool::looseness;
    /// Narrower format in which everything on the way is stored.
    storage: Dtype, storage, Some, if_any;
    /// Format to which query, key, weights and values are rounded before they are multiplied.
    operands: Format, operands, Some, if_any;
    /// Accumulator of `QKᵀ` and of `PV`.
    dot: Dtype, dot, |x| x, Dtype::looseness;
    /// Significant bits that the accumulator keeps.
    dot_bits: u32, dot_bits, Some, bits;
    /// Whether operands and accumulator may be cut off, and products be added in blocks.
    truncates: bool, truncates, |x| x, bool::looseness;
    /// Depth of a dot product of query and key.
    scores_depth: usize, depth.scores, Some, depth;
    /// Depth of the sum of weighted values and of the row sum.
    values_depth: usize, depth.values, Some, depth;
    /// Roundings of query and key together in the storage format.
    input_roundings: u32, input_roundings, |x| x, u32::looseness;
    /// Roundings of each score in the storage format.
    score_roundings: u32, score_roundings, |x| x, u32::looseness;
    /// Format of the softmax: shifted logits, exponentials, row sum and quotients.
    softmax: Dtype, softmax, |x| x, Dtype::looseness;
    /// Format of the weights.
    weights: Dtype, weights, |x| x, Dtype::looseness;
    /// Whether each step of the softmax may be stored in the storage format.
    stored_steps: bool, stored_steps, |x| x, bool::looseness;
    /// Whether the row sum may be that of the rounded weights.
    sum_of_rounded: bool, sum_of_rounded, |x| x, bool::looseness;
    /// Relative error of exponential and logarithm.
    exp_error: u32, exp_error, |x| x, u32::looseness;
    /// Relative error of the hyperbolic tangent.
    tanh_error: u32, tanh_error, |x| x, u32::looseness;
    /// Smallest key tile of the online recurrence.
    tile: usize, tile, Some, tile;
    /// Whether partial results may be normalized on their own and merged.
    merges: bool, merges, |x| x, bool::looseness;
    /// Format to which partial outputs are rounded before they are merged.
    partial: Dtype, partial, Some, if_any;
    /// Format of the log-sum-exp.
    lse: Dtype, lse, Some, if_any;
}

impl Modifier {
    /// What comes before the number in the id of a numbered modifier.
    fn stem(&self) -> Option<&str> {
        self.modifier.strip_suffix("-N")
    }

    /// The modifier that is called `name`: itself, or with the number of the name in its promises;
    /// `None` if it is another.
    ///
    /// # Errors
    /// A name of this modifier whose number is no positive number.
    pub fn called(&self, name: &str) -> Result<Option<Self>, Unexpected> {
        let Some(stem) = self.stem() else {
            return Ok((self.modifier == name).then(|| self.clone()));
        };
        let Some(number) = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-')) else {
            return Ok(None);
        };
        let is_plain = number.chars().all(|c| c.is_ascii_digit()) && !number.starts_with('0');
        let Some(count) =
            number.parse::<usize>().ok().filter(|count| is_plain && *count <= 1 << 32)
        else {
            let expected = "a positive number in place of N";
            return Err(Unexpected::at(format!("modifier `{name}`"), expected)
                .quoted(number)
                .hint(format!("such as {stem}-64")));
        };
        let mut promises = self.promises.clone();
        for field in &self.number {
            match field {
                Numbered::Tile => promises.tile = Some(count),
                Numbered::ScoresDepth => promises.scores_depth = Some(count),
                Numbered::ValuesDepth => promises.values_depth = Some(count),
            }
        }
        let filled = |text: &str| {
            let words = text.split(' ').map(|word| if word == "N" { number } else { word });
            words.collect::<Vec<_>>().join(" ")
        };
        let (title, about) = (filled(&self.title), filled(&self.about));
        Ok(Some(Self { modifier: name.to_owned(), title, promises, about, ..self.clone() }))
    }

    /// Whether the modifier fits contracts of this format.
    pub fn fits(&self, dtype: Dtype) -> bool {
        self.fits.as_ref().is_none_or(|fits| fits.contains(&dtype))
    }
}

/// The contract `base+modifier+modifier`, modifiers in order of their names.
///
/// # Errors
/// A modifier that does not fit, is there twice, or promises what another one takes back.
pub(crate) fn compose(
    base: &Contract,
    mut modifiers: Vec<Modifier>,
) -> Result<Contract, Unexpected> {
    if modifiers.is_empty() {
        return Ok(base.clone());
    }
    modifiers.sort_by(|a, b| a.modifier.cmp(&b.modifier));
    let name = modifiers
        .iter()
        .fold(base.contract.clone(), |name, one| format!("{name}+{}", one.modifier));
    let refuse = |expected: &str, got: String| {
        Err(Unexpected::at(format!("contract `{name}`"), expected).got(got))
    };
    for (place, one) in modifiers.iter().enumerate() {
        if !one.fits(base.dtype) {
            let fits: Vec<&str> = one.fits.iter().flatten().map(|dtype| dtype.name()).collect();
            return refuse(
                &format!("a contract of {} for `{}`", fits.join(" or "), one.modifier),
                base.dtype.to_string(),
            );
        }
        for other in &modifiers[..place] {
            if one.modifier == other.modifier {
                return refuse("each modifier once", format!("`{}` twice", one.modifier));
            }
            if let Some(field) = contradiction(one, other) {
                return refuse(
                    "modifiers that agree",
                    format!("`{}` and `{}`, which both set {field}", other.modifier, one.modifier),
                );
            }
        }
    }
    if let Some((field, one, other)) = incomparable(base, &modifiers) {
        return refuse(
            &format!(
                "one format of {field}, or formats of which one rounds everything more coarsely"
            ),
            format!("{one} and {other}"),
        );
    }
    let mut contract = base.clone();
    for one in &modifiers {
        one.allows.lay_over(&mut contract, true);
        one.promises.lay_over(&mut contract, false);
    }
    let titles = modifiers.iter().map(|one| one.title.as_str());
    contract.title =
        std::iter::once(base.title.as_str()).chain(titles).collect::<Vec<_>>().join("; ");
    let abouts = modifiers.iter().map(|one| one.about.as_str());
    contract.about =
        std::iter::once(base.about.as_str()).chain(abouts).collect::<Vec<_>>().join(" ");
    Ok(Contract { contract: name, default: false, frozen: false, ..contract })
}

/// A field that one of the two allows and the other promises, or that both promise.
fn contradiction(one: &Modifier, other: &Modifier) -> Option<&'static str> {
    let meet = |a: &ContractPatch, b: &ContractPatch| {
        a.fields().into_iter().find(|field| b.fields().contains(field))
    };
    meet(&one.allows, &other.promises)
        .or_else(|| meet(&one.promises, &other.allows))
        .or_else(|| meet(&one.promises, &other.promises))
}

/// A field for which the contract and its modifiers name two formats of which each is coarser
/// somewhere: the bound of either would be too small for the other.
fn incomparable(base: &Contract, modifiers: &[Modifier]) -> Option<(&'static str, Format, Format)> {
    let patches = || modifiers.iter().flat_map(|one| [&one.allows, &one.promises]);
    let named = [
        (
            "storage",
            base.storage.map(Format::from),
            patches().filter_map(|patch| patch.storage.map(Format::from)).collect::<Vec<_>>(),
        ),
        (
            "operands",
            base.operands,
            patches().filter_map(|patch| patch.operands).collect::<Vec<_>>(),
        ),
        (
            "dot",
            Some(base.dot.into()),
            patches().filter_map(|patch| patch.dot.map(Format::from)).collect(),
        ),
        (
            "softmax",
            Some(base.softmax.into()),
            patches().filter_map(|patch| patch.softmax.map(Format::from)).collect(),
        ),
        (
            "partial",
            base.partial.map(Format::from),
            patches().filter_map(|patch| patch.partial.map(Format::from)).collect(),
        ),
        (
            "lse",
            base.lse.map(Format::from),
            patches().filter_map(|patch| patch.lse.map(Format::from)).collect(),
        ),
    ];
    named.into_iter().find_map(|(field, own, others)| {
        let all: Vec<Format> = own.into_iter().chain(others).collect();
        let meets = |one: &Format, other: &Format| !one.covers(*other) && !other.covers(*one);
        let pair = |at: usize| {
            Some((field, all[at], *all[..at].iter().find(|other| meets(&all[at], other))?))
        };
        (0..all.len()).find_map(pair)
    })
}
