//! What an input of a graph is in attention, by its place at an operator or by its name.

use super::feed::Element;
use super::input::Input;

/// Operators that are attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Attention of ONNX, from version 23 on.
    Attention,
    /// `MultiHeadAttention` of com.microsoft.
    MultiHead,
    /// `GroupQueryAttention` of com.microsoft.
    GroupQuery,
    /// None of them alone: the graph is taken as it is.
    Graph,
}

impl Operator {
    /// The operator of a node; `None` if it is no attention.
    pub fn of(domain: &str, op_type: &str) -> Option<Self> {
        Some(match (domain, op_type) {
            ("" | "ai.onnx", "Attention") => Self::Attention,
            ("com.microsoft", "MultiHeadAttention") => Self::MultiHead,
            ("com.microsoft", "GroupQueryAttention") => Self::GroupQuery,
            _ => return None,
        })
    }

    /// What reports call the model.
    pub fn about(self) -> &'static str {
        match self {
            Self::Attention => "one node Attention",
            Self::MultiHead => "one node com.microsoft.MultiHeadAttention",
            Self::GroupQuery => "one node com.microsoft.GroupQueryAttention",
            Self::Graph => "a graph, its inputs taken by their names",
        }
    }

    /// What an input at this place of the node is; `None` if no call of attention has it.
    pub fn role(self, place: usize, input: &Input) -> Option<Role> {
        let is_bool = input.element == Element::Bool;
        let roles: Vec<Option<Role>> = match self {
            Self::Graph => Vec::new(),
            Self::Attention => vec![
                Some(Role::Query),
                Some(Role::Key),
                Some(Role::Value),
                Some(if is_bool { Role::Mask } else { Role::Bias }),
                Some(Role::PastKey),
                Some(Role::PastValue),
                Some(Role::KeyLengths),
            ],
            Self::MultiHead => {
                let lengths = match input.rank() {
                    1 => Some(Role::KeyLengths),
                    2 => Some(Role::Mask),
                    _ => None,
                };
                vec![
                    Some(Role::Query),
                    Some(Role::Key),
                    Some(Role::Value),
                    None,
                    lengths,
                    Some(Role::Bias),
                ]
            }
            Self::GroupQuery => vec![
                Some(Role::Query),
                Some(Role::Key),
                Some(Role::Value),
                Some(Role::PastKey),
                Some(Role::PastValue),
                Some(Role::LastKeys),
                Some(Role::TotalLength),
                None,
                None,
                None,
                Some(Role::Bias),
                Some(Role::Sinks),
            ],
        };
        roles.get(place).copied().flatten()
    }
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Query.
    Query,
    /// Key, without those of the past.
    Key,
    /// Value, without those of the past.
    Value,
    /// Mask of truth values.
    Mask,
    /// Added to the scores.
    Bias,
    /// Keys before those of the queries.
    PastKey,
    /// Their values.
    PastValue,
    /// Numbers of keys that exist.
    KeyLengths,
    /// Numbers of keys less one, as `GroupQueryAttention` wants them.
    LastKeys,
    /// Number of keys, the past's included.
    TotalLength,
    /// A logit for each query head.
    Sinks,
    /// Factor on the scores.
    Scale,
    /// Cap of the scores.
    Softcap,
}

/// The names that inputs of a graph go by, ours first.
const NAMES: [(Role, &[&str]); 9] = [
    (Role::Query, &["query", "q", "queries"]),
    (Role::Key, &["key", "k", "keys"]),
    (Role::Value, &["value", "v", "values"]),
    (Role::Mask, &["mask", "attn_mask", "attention_mask"]),
    (Role::Bias, &["bias", "attn_bias", "attention_bias"]),
    (Role::KeyLengths, &["key_lengths", "nonpad_kv_seqlen", "kv_seqlen", "cache_seqlens"]),
    (Role::Sinks, &["sinks"]),
    (Role::Scale, &["scale", "softmax_scale", "sm_scale"]),
    (Role::Softcap, &["softcap", "logits_soft_cap"]),
];

impl Role {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PastKey => "past key",
            Self::PastValue => "past value",
            Self::LastKeys => "key_lengths less one",
            Self::TotalLength => "number of keys",
            other => {
                NAMES.iter().find(|(role, _)| *role == other).map_or("", |(_, names)| names[0])
            }
        }
    }

    /// By the name of the input, upper or lower case. A mask of real numbers is a bias.
    pub(super) fn by_name(input: &Input) -> Option<Self> {
        let name = input.name.to_lowercase();
        let (role, _) = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()))?;
        Some(if *role == Self::Mask && matches!(input.element, Element::Float(_)) {
            Self::Bias
        } else {
            *role
        })
    }

    pub(super) fn known_names() -> String {
        NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect::<Vec<_>>().join(", ")
    }
}
