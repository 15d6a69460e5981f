//! `qkvet explain config`: every setting, and what the file of the current folder says.

use clap::CommandFactory;
use qkvet_run::config::{Config, Origin, SETTINGS, Said, Setting};

use super::super::setup::home;
use super::labeled;
use crate::args::Args;
use crate::exit::Failure;

/// The word for it.
pub(super) const CONFIG: &str = "config";

pub(super) fn explain_config() -> Result<(), Failure> {
    say!("configuration: qkvet.yaml, profiles and the environment\n");
    for (label, text) in [
        (
            "file",
            "qkvet.yaml beside the target or above, else in the current folder or above; --config or QKVET_CONFIG names another",
        ),
        (
            "targets",
            "names for what is checked, and what each declares: target, conventions, contracts, dtypes, supports, arrays, layout, mask_takes_bias, device, constants, call",
        ),
        ("specs", "a folder with laws and conventions of your own"),
        (
            "profiles",
            "what flags are that are not given, by name: --profile or QKVET_PROFILE, else the one called `default`; `extends: OTHER` takes over what a profile does not say itself",
        ),
        (
            "order",
            "a flag wins over its variable, that over the profile, that over what the entry of the target declares",
        ),
    ] {
        say!("{}", labeled(label, text));
    }
    say!("\n{:14}{:18}{:22}of", "in a profile", "flag", "variable");
    let all = Args::command();
    for setting in &SETTINGS {
        say!(
            "{:14}{:18}{:22}{}",
            setting.key,
            format!("--{}", setting.flag),
            setting.variable(),
            setting.commands.join(", ")
        );
        if let Some(about) = about(&all, setting) {
            say!("{:14}{about}", "");
        }
    }
    let home = home("", None)?;
    let (Some(file), config) = (home.shown(), home.config()?) else {
        say!("\nhere          no qkvet.yaml: `qkvet init` writes one");
        return Ok(());
    };
    let names =
        |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    say!("\nhere          {}", file.display());
    say!("targets       {}", names(config.targets.keys().map(String::as_str).collect()));
    for name in config.profiles.keys() {
        say!("profile       {name}{}", extended(config, name));
        for Said { setting, values, origin } in config.settings(name, file)? {
            let from = match origin {
                Origin::Profile(other) if other != *name => format!(" (of {other})"),
                _ => String::new(),
            };
            say!("{:16}{} = {}{from}", "", setting.key, values.join(", "));
        }
    }
    Ok(())
}

fn extended(config: &Config, name: &str) -> String {
    let extends = config.profiles.get(name).and_then(|profile| profile.extends.as_ref());
    extends.map_or_else(String::new, |other| format!(", extends {}", other.text))
}

/// What `--help` says of the flag.
fn about(all: &clap::Command, setting: &Setting) -> Option<String> {
    let path = setting.commands.first()?;
    let command = path.split(' ').try_fold(all, |at, name| at.find_subcommand(name))?;
    let argument = command.get_arguments().find(|one| one.get_long() == Some(setting.flag))?;
    argument.get_help().map(ToString::to_string)
}
