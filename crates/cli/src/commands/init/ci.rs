//! `qkvet init ci`: the file of a CI service. What it runs is run by a test.

use std::path::Path;
use std::process::ExitCode;

use qkvet_run::adapters::python::repository_of;
use qkvet_run::config::{CONFIG_FILE, Config};
use qkvet_spec::{Catalog, Unexpected};

use super::begin;
use crate::args::CiArgs;
use crate::exit::{Failure, HELD};

/// A file and where its service looks for it.
struct Service {
    template: &'static str,
    path: &'static str,
}

const GITHUB: Service =
    Service { template: include_str!("github.yml"), path: ".github/workflows/qkvet.yml" };
const GITLAB: Service = Service { template: include_str!("gitlab.yml"), path: ".gitlab-ci.yml" };

/// The profile that is used if the file has it.
const PROFILE: &str = "ci";
/// What stands in the templates for the target and its profile.
const CHECKED: &str = "mine --profile ci";

/// What makes a wheel.
const WHEEL: &str = "`cargo xtask wheel` in the repository of qkvet builds it";

pub(in super::super) fn ci(args: &CiArgs) -> Result<ExitCode, Failure> {
    let service = if args.github { GITHUB } else { GITLAB };
    let config = Path::new(CONFIG_FILE);
    if !config.is_file() {
        return Err(Unexpected::at_path("file", CONFIG_FILE, "one that names the target")
            .got("none in this folder")
            .hint("`qkvet init --target path/file.py:function` writes it")
            .into());
    }
    let Config { targets, profiles, .. } = Config::read(config)?;
    let first = targets.keys().next();
    let name = args.target.as_ref().or(first).ok_or_else(|| {
        Unexpected::at(format!("targets of {CONFIG_FILE}"), "one to check")
            .got("none")
            .hint("`targets:` names them")
    })?;
    Catalog::find("target", &targets, name)
        .map_err(|error| Unexpected::within("--target", format!("{error:#}")))?;
    // It becomes a word of a shell, a scalar of YAML and part of an expression of the service.
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    {
        let expected = "a name of letters, digits, `_`, `.` and `-` for the commands of the file";
        return Err(Unexpected::at(format!("target `{name}`"), expected)
            .hint(format!("give the entry of {CONFIG_FILE} another name"))
            .into());
    }
    let checked = if profiles.contains_key(PROFILE) {
        format!("{name} --profile {PROFILE}")
    } else {
        name.to_owned()
    };
    let path = args.out.as_deref().unwrap_or(Path::new(service.path));
    begin(path, &service.template.replace(CHECKED, &checked), args.force)?;
    say!(
        "\nsee that its install step names what {name} imports\nuntil a release of qkvet is on the package index, it wants a wheel in place of `qkvet`: {WHEEL}\nits commands run here too:\n\n  qkvet check {checked}"
    );
    if args.out.is_none() {
        tell_root(service.path);
    }
    Ok(ExitCode::from(HELD))
}

/// Says so where the service will not look, because the root of the repository is another folder.
fn tell_root(path: &str) {
    let Ok(here) = std::env::current_dir() else { return };
    let Some(root) = repository_of(&here).filter(|root| *root != here) else { return };
    let below = here.strip_prefix(root).unwrap_or(&here).display();
    tell!(
        "notice: this is not the root of the repository, and the file is read there alone: move it to {path} of the root, and let its commands run in {below}"
    );
}
