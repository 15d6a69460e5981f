//! Settings of runs: the table of them, and their one precedence.
//!
//! A flag wins over its environment variable, that over the profile, that over what the entry of
//! the target declares, that over the default. Flags are the command line's; an entry declares
//! formats and a device alone.

use std::ffi::OsString;
use std::fmt;

use qkvet_spec::Unexpected;

/// A flag that has an environment variable and a key in profiles.
#[derive(Debug)]
pub struct Setting {
    /// The key in a profile.
    pub key: &'static str,
    /// The flag without its dashes.
    pub flag: &'static str,
    /// Whether commas part the values of its variable.
    pub is_list: bool,
    /// The commands whose flag it is.
    pub commands: &'static [&'static str],
}

/// Commands with a flag `--profile`: those whose targets run in a process of their own, and what
/// joins and compares their runs.
pub const CALLING: &[&str] = &[
    "check",
    "compare",
    "probe",
    "replay",
    "doctor",
    "merge",
    "onnx run",
    "snapshot record",
    "snapshot upgrade",
    "snapshot check",
    "snapshot diff",
    "snapshot accept",
];
const TARGET: &[&str] = &[
    "check",
    "compare",
    "probe",
    "replay",
    "doctor",
    "snapshot record",
    "snapshot upgrade",
    "snapshot check",
];
const CHECK: &[&str] =
    &["check", "compare", "snapshot record", "snapshot upgrade", "snapshot check"];
const JUDGING: &[&str] =
    &["check", "merge", "snapshot record", "snapshot upgrade", "snapshot check"];

/// All of them, in the order in which they are told.
pub static SETTINGS: [Setting; 15] = [
    Setting { key: "suite", flag: "suite", is_list: false, commands: CHECK },
    Setting { key: "laws", flag: "law", is_list: true, commands: CHECK },
    Setting { key: "dtypes", flag: "dtype", is_list: true, commands: CHECK },
    Setting { key: "seed", flag: "seed", is_list: false, commands: CHECK },
    Setting { key: "jobs", flag: "jobs", is_list: false, commands: CHECK },
    Setting { key: "timeout", flag: "timeout", is_list: false, commands: CALLING },
    Setting { key: "start_timeout", flag: "start-timeout", is_list: false, commands: CALLING },
    Setting { key: "memory", flag: "memory", is_list: false, commands: CALLING },
    Setting { key: "python", flag: "python", is_list: false, commands: CALLING },
    Setting { key: "device", flag: "device", is_list: false, commands: TARGET },
    Setting { key: "fail_fast", flag: "fail-fast", is_list: false, commands: CHECK },
    Setting { key: "strict", flag: "strict", is_list: false, commands: JUDGING },
    Setting { key: "quiet", flag: "quiet", is_list: false, commands: JUDGING },
    Setting { key: "format", flag: "format", is_list: false, commands: JUDGING },
    // Each value is a list itself.
    Setting { key: "reports", flag: "report", is_list: false, commands: JUDGING },
];

/// How the variables begin.
pub const PREFIX: &str = "QKVET_";

impl Setting {
    /// `QKVET_START_TIMEOUT` of `start-timeout`.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.flag.to_uppercase().replace('-', "_"))
    }

    /// The name of the flag's field.
    pub fn id(&self) -> String {
        self.flag.replace('-', "_")
    }
}

/// Where a setting was said that no flag says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In this environment variable.
    Variable(String),
    /// In this profile: the one asked for, or one that it extends.
    Profile(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Profile(name) => write!(f, "profile {name}"),
        }
    }
}

/// What is said of a setting, as the flag would have it.
#[derive(Clone, Debug)]
pub struct Said {
    /// The setting.
    pub setting: &'static Setting,
    /// A text for each entry of a list.
    pub values: Vec<String>,
    /// Where it was said.
    pub origin: Origin,
}

/// What variables say, and else the profile, of the settings of a command that no flag says.
///
/// # Errors
/// A variable that is no text.
pub fn said(
    command: &str,
    is_written: impl Fn(&Setting) -> bool,
    variable: impl Fn(&str) -> Option<OsString>,
    profile: &[Said],
) -> Result<Vec<Said>, Unexpected> {
    let mut all = Vec::new();
    for setting in SETTINGS.iter().filter(|setting| setting.commands.contains(&command)) {
        if is_written(setting) {
            continue;
        }
        let name = setting.variable();
        // An empty variable says nothing.
        if let Some(value) = variable(&name).filter(|value| !value.is_empty()) {
            let value = value
                .into_string()
                .map_err(|value| Unexpected::at(&name, "text").quoted(value.display()))?;
            let values = if setting.is_list {
                value.split(',').map(str::to_owned).collect()
            } else {
                vec![value]
            };
            all.push(Said { setting, values, origin: Origin::Variable(name) });
        } else {
            all.extend(profile.iter().find(|one| one.setting.key == setting.key).cloned());
        }
    }
    Ok(all)
}
