//! What a parameter of a prototype stands for, read from its name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::adapters::python::argument_names;

/// What is passed for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Query,
    Key,
    Value,
    Output,
    Weights,
    Lse,
    Mask,
    Bias,
    Sinks,
    AlibiSlopes,
    KeyLengths,
    QueryLengths,
    QueryOffsets,
    KeyOffsets,
    Batch,
    QueryHeads,
    KeyHeads,
    Queries,
    Keys,
    /// As many queries as keys.
    Positions,
    KeyWidth,
    ValueWidth,
    Sequences,
    Scale,
    Causal,
    Softcap,
    WindowLeft,
    WindowRight,
}

/// What a parameter of a role must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A pointer to numbers of the format that the function computes in.
    Numbers,
    /// A pointer to float or double.
    WideNumbers,
    /// A pointer to bytes.
    Bytes,
    /// A pointer to whole numbers.
    Wholes,
    /// A whole number.
    Whole,
    /// A whole number that can be −1.
    SignedWhole,
    /// A whole number or bool.
    Switch,
    /// float or double.
    Real,
}

/// Role, our own name, synonyms; those of the options come from the table of the Python worker.
const NAMES: [(Role, &str, &[&str]); 28] = [
    (Role::Query, "query", &["q", "queries"]),
    (Role::Key, "key", &["k", "keys"]),
    (Role::Value, "value", &["v", "values"]),
    (Role::Output, "output", &["out", "o", "result", "dst"]),
    (Role::Weights, "weights", &["probs", "attention_weights"]),
    (Role::Lse, "lse", &["softmax_lse", "logsumexp"]),
    (Role::Mask, "mask", &[]),
    (Role::Bias, "bias", &[]),
    (Role::Sinks, "sinks", &[]),
    (Role::AlibiSlopes, "alibi_slopes", &[]),
    (Role::KeyLengths, "key_lengths", &[]),
    (Role::QueryLengths, "query_lengths", &[]),
    (Role::QueryOffsets, "query_offsets", &[]),
    (Role::KeyOffsets, "key_offsets", &[]),
    (Role::Batch, "b", &["batch", "batch_size", "bs", "n_batch"]),
    (
        Role::QueryHeads,
        "h_q",
        &["h", "heads", "n_heads", "num_heads", "nh", "heads_q", "q_heads", "num_q_heads"],
    ),
    (
        Role::KeyHeads,
        "h_k",
        &["h_kv", "heads_k", "kv_heads", "n_kv_heads", "num_kv_heads", "num_heads_k"],
    ),
    (Role::Queries, "n_q", &["s_q", "seqlen_q", "seq_len_q", "len_q", "q_len"]),
    (
        Role::Keys,
        "n_k",
        &["s_k", "s_kv", "seqlen_k", "seqlen_kv", "seq_len_k", "seq_len_kv", "len_k", "kv_len"],
    ),
    (Role::Positions, "seqlen", &["seq_len", "s", "t"]),
    (Role::KeyWidth, "d_k", &["d", "d_qk", "head_dim", "head_size", "dim"]),
    (Role::ValueWidth, "d_v", &["head_dim_v", "v_head_dim"]),
    (Role::Sequences, "n_sequences", &["n_seqs", "num_seqs", "num_sequences"]),
    (Role::Scale, "scale", &[]),
    (Role::Causal, "causal", &[]),
    (Role::Softcap, "softcap", &[]),
    (Role::WindowLeft, "window_left", &["window_size_left"]),
    (Role::WindowRight, "window_right", &["window_size_right"]),
];

impl Role {
    /// The role of a name, whatever its case and underscores.
    pub(super) fn of(name: &str) -> Option<Self> {
        static ROLES: OnceLock<BTreeMap<String, Role>> = OnceLock::new();
        let roles = ROLES.get_or_init(|| {
            let options = argument_names();
            let of_option = |name: &str| {
                options.iter().find(|(option, _)| *option == name).map(|(_, names)| names)
            };
            NAMES
                .iter()
                .flat_map(|(role, name, synonyms)| {
                    let more = of_option(name).into_iter().flatten();
                    std::iter::once(name)
                        .chain(*synonyms)
                        .chain(more)
                        .map(|name| (plain(name), *role))
                })
                .collect()
        });
        roles.get(&plain(name)).copied()
    }

    /// Our own name.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(role, ..)| *role == self).map_or("", |(_, name, _)| name)
    }

    /// Every name of our own.
    pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
        NAMES.iter().map(|(_, name, _)| *name)
    }

    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Query | Self::Key | Self::Value | Self::Output | Self::Weights => Shape::Numbers,
            Self::Bias | Self::Sinks | Self::AlibiSlopes => Shape::Numbers,
            Self::Lse => Shape::WideNumbers,
            Self::Mask => Shape::Bytes,
            Self::KeyLengths | Self::QueryLengths | Self::QueryOffsets | Self::KeyOffsets => {
                Shape::Wholes
            }
            Self::Batch | Self::QueryHeads | Self::KeyHeads | Self::Queries | Self::Keys => {
                Shape::Whole
            }
            Self::Positions | Self::KeyWidth | Self::ValueWidth | Self::Sequences => Shape::Whole,
            Self::Scale | Self::Softcap => Shape::Real,
            Self::Causal => Shape::Switch,
            Self::WindowLeft | Self::WindowRight => Shape::SignedWhole,
        }
    }

    /// Whether the function writes there.
    pub(super) fn is_result(self) -> bool {
        matches!(self, Self::Output | Self::Weights | Self::Lse)
    }
}

impl Shape {
    /// In words.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Numbers => "a pointer to float, double, _Float16 or __bf16",
            Self::WideNumbers => "a pointer to float or double",
            Self::Bytes => "a pointer to bool or uint8_t",
            Self::Wholes => "a pointer to int32_t or int64_t",
            Self::Whole => "a whole number such as int or size_t",
            Self::SignedWhole => "a signed whole number such as int",
            Self::Switch => "bool or int",
            Self::Real => "float or double",
        }
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_synonyms() {
        let check = |name: &str, role: Option<Role>| assert_eq!(Role::of(name), role, "{name}");
        check("q", Some(Role::Query));
        check("K", Some(Role::Key));
        check("Sq", Some(Role::Queries));
        check("num_kv_heads", Some(Role::KeyHeads));
        check("is_causal", Some(Role::Causal));
        check("sm_scale", Some(Role::Scale));
        check("cu_seqlens_q", Some(Role::QueryOffsets));
        check("stream", None);
        check("", None);
    }

    #[test]
    fn no_name_has_two_roles() {
        let options = argument_names();
        let mut seen = BTreeMap::new();
        for (role, name, synonyms) in NAMES {
            let more =
                options.iter().filter(|(option, _)| *option == name).flat_map(|(_, names)| names);
            for name in std::iter::once(&name).chain(synonyms).chain(more) {
                let before = seen.insert(plain(name), role);
                assert!(before.is_none_or(|before| before == role), "{name}");
            }
        }
    }
}
