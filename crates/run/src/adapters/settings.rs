//! How a target is called, as far as flags, a stored case and `qkvet.yaml` say.

use qkvet_spec::Unexpected;
use serde::{Deserialize, Serialize};

use super::python::{Arrays, Layout};

/// What is said of how a target is called: absent or empty where nobody says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSettings {
    /// Library of the arrays.
    pub arrays: Option<Arrays>,
    /// Order of axes.
    pub layout: Option<Layout>,
    /// Device of arrays, models and backends.
    pub device: Option<String>,
    /// Prototype of the function of a library.
    pub call: Option<String>,
    /// Options that are constants of a model.
    pub constants: Vec<String>,
    /// Options that a Python function offers.
    pub supports: Option<Vec<String>>,
    /// The argument of a Python function for the mask takes the bias too.
    pub mask_takes_bias: bool,
}

/// What a kind of target may take, by the names of `qkvet.yaml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallSetting {
    Arrays,
    Layout,
    Device,
    Call,
    Constants,
    Supports,
    MaskTakesBias,
}

impl CallSetting {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Arrays => "arrays",
            Self::Layout => "layout",
            Self::Device => "device",
            Self::Call => "call",
            Self::Constants => "constants",
            Self::Supports => "supports",
            Self::MaskTakesBias => "mask_takes_bias",
        }
    }

    /// The flag that says it.
    pub(super) fn flag(self) -> String {
        format!("--{}", if self == Self::Constants { "constant" } else { self.name() })
    }
}

impl CallSettings {
    /// What is said here; of the rest, what is said there.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            arrays: self.arrays.or(below.arrays),
            layout: self.layout.or(below.layout),
            device: self.device.or(below.device),
            call: self.call.or(below.call),
            constants: if self.constants.is_empty() { below.constants } else { self.constants },
            supports: self.supports.or(below.supports),
            mask_takes_bias: self.mask_takes_bias || below.mask_takes_bias,
        }
    }

    /// Those that are said.
    pub(super) fn said(&self) -> impl Iterator<Item = CallSetting> {
        [
            (CallSetting::Arrays, self.arrays.is_some()),
            (CallSetting::Layout, self.layout.is_some()),
            (CallSetting::Device, self.device.is_some()),
            (CallSetting::Call, self.call.is_some()),
            (CallSetting::Constants, !self.constants.is_empty()),
            (CallSetting::Supports, self.supports.is_some()),
            (CallSetting::MaskTakesBias, self.mask_takes_bias),
        ]
        .into_iter()
        .filter_map(|(setting, is_said)| is_said.then_some(setting))
    }
}

/// How a target was called, as a stored case and a shard keep it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCall {
    /// `--arrays`.
    pub arrays: Option<Arrays>,
    /// `--layout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// `--device`.
    pub device: Option<String>,
    /// `--constant`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<String>,
    /// `--call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prototype: Option<String>,
}

impl CallSettings {
    /// The order of four axes, for a kind of target that has no other.
    ///
    /// # Errors
    /// A layout of fewer axes.
    pub(super) fn layout_of_four(&self, place: String) -> Result<Layout, Unexpected> {
        let layout = self.layout.unwrap_or_default();
        if layout.has_heads() {
            return Ok(layout);
        }
        let hint = "layouts of fewer axes are for Python functions";
        Err(Unexpected::at(place, "bhnd or bnhd").got(layout.name()).hint(hint))
    }
}

impl From<StoredCall> for CallSettings {
    fn from(stored: StoredCall) -> Self {
        let StoredCall { arrays, layout, device, constants, prototype } = stored;
        Self { arrays, layout, device, call: prototype, constants, ..Self::default() }
    }
}
