//! Profiles of `qkvet.yaml`: how a run is done, by name. They say of flags what is said when the
//! flag and its environment variable are not there; what a target declares of itself stands in its
//! entry.

use std::path::Path;

use indexmap::IndexMap;
use qkvet_spec::{Dtype, Formula, SpecError, Unexpected, name_hint};
use serde::Deserialize;

use super::below_current;

/// The profile that is used when none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// One profile. What it does not say is that of the profile it extends, or else of the flag.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The profile whose settings are used where this one has none. The text with its place, so
    /// that an error can show it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub extends: Option<Formula>,
    /// `--suite`: an id, or a file beside this one.
    #[serde(default)]
    pub suite: Option<String>,
    /// `--law`: ids, or files beside this one.
    #[serde(default)]
    pub laws: Option<Vec<String>>,
    /// `--dtype`.
    #[serde(default)]
    pub dtypes: Option<Vec<Dtype>>,
    /// `--seed`.
    #[serde(default)]
    pub seed: Option<u64>,
    /// `--jobs`.
    #[serde(default)]
    pub jobs: Option<usize>,
    /// `--timeout`, in seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// `--start-timeout`, in seconds.
    #[serde(default)]
    pub start_timeout: Option<f64>,
    /// `--python`: a command, or a path from this file.
    #[serde(default)]
    pub python: Option<String>,
    /// `--device`.
    #[serde(default)]
    pub device: Option<String>,
    /// `--fail-fast`.
    #[serde(default)]
    pub fail_fast: Option<bool>,
    /// `--strict`.
    #[serde(default)]
    pub strict: Option<bool>,
    /// `--quiet`.
    #[serde(default)]
    pub quiet: Option<bool>,
    /// `--format`.
    #[serde(default)]
    pub format: Option<String>,
    /// `--report`: each `FORMAT` or `FORMAT=PATH`, paths from this file.
    #[serde(default)]
    pub reports: Option<Vec<String>>,
}

/// One setting of a profile, as the flag would have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key in the profile.
    pub key: &'static str,
    /// What is behind it, a text for each entry of a list.
    pub values: Vec<String>,
    /// The profile that says so: the one asked for, or one that it extends.
    pub profile: String,
}

impl Profile {
    /// What the profile itself says, paths as they are from the current folder.
    fn settings(&self, base: &Path) -> Vec<(&'static str, Vec<String>)> {
        let one = |value: Option<String>| value.map(|value| vec![value]);
        let told = |flag: Option<bool>| one(flag.map(|flag| flag.to_string()));
        let spec = |name: &String| {
            if name.ends_with(".yaml") || name.ends_with(".yml") {
                from(base, name)
            } else {
                name.clone()
            }
        };
        let report = |wish: &String| match wish.split_once('=') {
            Some((format, path)) if !path.is_empty() => format!("{format}={}", from(base, path)),
            _ => wish.clone(),
        };
        let all = [
            ("suite", one(self.suite.as_ref().map(spec))),
            ("laws", self.laws.as_ref().map(|laws| laws.iter().map(spec).collect())),
            (
                "dtypes",
                self.dtypes
                    .as_ref()
                    .map(|dtypes| dtypes.iter().map(|dtype| dtype.name().to_owned()).collect()),
            ),
            ("seed", one(self.seed.map(|seed| seed.to_string()))),
            ("jobs", one(self.jobs.map(|jobs| jobs.to_string()))),
            ("timeout", one(self.timeout.map(|seconds| seconds.to_string()))),
            ("start_timeout", one(self.start_timeout.map(|seconds| seconds.to_string()))),
            (
                "python",
                one(self.python.as_ref().map(|python| {
                    if python.contains('/') { from(base, python) } else { python.clone() }
                })),
            ),
            ("device", one(self.device.clone())),
            ("fail_fast", told(self.fail_fast)),
            ("strict", told(self.strict)),
            ("quiet", told(self.quiet)),
            ("format", one(self.format.clone())),
            ("reports", self.reports.as_ref().map(|wishes| wishes.iter().map(report).collect())),
        ];
        all.into_iter().filter_map(|(key, values)| Some((key, values?))).collect()
    }
}

/// A path of the file, as it is from the current folder.
fn from(base: &Path, path: &str) -> String {
    below_current(&base.join(path)).display().to_string()
}

/// The settings of a profile and of those that it extends, the nearest first; none for
/// [`DEFAULT_PROFILE`] where it is not there.
///
/// # Errors
/// A profile that the file does not have, with the nearest name.
pub(super) fn settings(
    profiles: &IndexMap<String, Profile>,
    name: &str,
    file: &Path,
) -> Result<Vec<Setting>, Unexpected> {
    if name == DEFAULT_PROFILE && !profiles.contains_key(name) {
        return Ok(Vec::new());
    }
    let base = file.parent().unwrap_or(Path::new(""));
    let mut found: Vec<Setting> = Vec::new();
    let mut next = Some(name.to_owned());
    let mut left = profiles.len();
    while let Some(name) = next {
        let profile = profiles.get(&name).ok_or_else(|| {
            Unexpected::at(format!("profile `{name}`"), format!("one of {}", file.display()))
                .got("none of its names")
                .hint(hint(&name, profiles))
        })?;
        for (key, values) in profile.settings(base) {
            if !found.iter().any(|setting| setting.key == key) {
                found.push(Setting { key, values, profile: name.clone() });
            }
        }
        // A file that was read holds no circle.
        next = profile.extends.as_ref().filter(|_| left > 1).map(|extends| extends.text.clone());
        left -= 1;
    }
    Ok(found)
}

fn hint(name: &str, profiles: &IndexMap<String, Profile>) -> String {
    let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
    if known.is_empty() {
        "the file has no `profiles:`".to_owned()
    } else {
        name_hint(name, &known)
    }
}

/// Sees that every profile ends in one that extends nothing.
///
/// # Errors
/// The first that extends a profile which is not there, or itself on a way round, with its place.
pub(super) fn check(
    profiles: &IndexMap<String, Profile>,
    shown: &str,
    source: &str,
) -> Result<(), SpecError> {
    for (name, profile) in profiles {
        let mut way = vec![name.as_str()];
        let mut at = profile;
        while let Some(extends) = &at.extends {
            let fail = |error: Unexpected| match extends.offset {
                Some(start) => {
                    let span = start..start + extends.text.len().max(1);
                    let message = format!("{error:#}");
                    SpecError::at(
                        shown,
                        source,
                        span,
                        &message,
                        error.hints.first().map(String::as_str),
                    )
                }
                None => Unexpected::within(shown, error).into(),
            };
            let Some((known, next)) = profiles.get_key_value(&extends.text) else {
                let from = way.last().copied().unwrap_or_default();
                return Err(fail(
                    Unexpected::at(format!("profile `{from}`"), "to extend another profile")
                        .quoted(&extends.text)
                        .hint(hint(&extends.text, profiles)),
                ));
            };
            way.push(known);
            if way[..way.len() - 1].contains(&known.as_str()) {
                return Err(fail(
                    Unexpected::at(format!("profile `{name}`"), "an end of what it extends")
                        .got(format!("a circle: {}", way.join(" → ")))
                        .hint("one of them has to extend nothing"),
                ));
            }
            at = next;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn parsed(text: &str) -> Result<Config, SpecError> {
        Config::parse("qkvet.yaml", text)
    }

    fn check_error(text: &str, parts: &[&str]) {
        let error = parsed(text).expect_err(text).to_string();
        for part in parts {
            assert!(error.contains(part), "{text}\n{error}\nlacks {part}");
        }
    }

    fn check_settings(text: &str, name: &str, expected: &[(&str, &str, &str)]) {
        let config = parsed(text).unwrap_or_else(|error| panic!("{error}"));
        let mut found = config
            .settings(name, Path::new("sub/qkvet.yaml"))
            .unwrap_or_else(|error| panic!("{error}"));
        found.sort_by_key(|setting| setting.key);
        let found: Vec<_> =
            found.iter().map(|one| (one.key, one.values.join(" "), one.profile.as_str())).collect();
        let found: Vec<_> =
            found.iter().map(|(key, values, profile)| (*key, values.as_str(), *profile)).collect();
        assert_eq!(found, expected);
    }

    const THREE: &str = "profiles:
  base: {suite: core, timeout: 60, laws: [value], dtypes: [float32]}
  ci: {extends: base, suite: mine.yaml, reports: [junit, html=out/page.html], strict: true}
  night: {extends: ci, suite: long, laws: [single-key, own.yml], strict: false, python: bin/python, seed: 7}
";

    #[test]
    fn the_nearest_of_what_is_extended_wins() {
        check_settings(
            THREE,
            "ci",
            &[
                ("dtypes", "float32", "base"),
                ("laws", "value", "base"),
                ("reports", "junit html=sub/out/page.html", "ci"),
                ("strict", "true", "ci"),
                ("suite", "sub/mine.yaml", "ci"),
                ("timeout", "60", "base"),
            ],
        );
        check_settings(
            THREE,
            "night",
            &[
                ("dtypes", "float32", "base"),
                ("laws", "single-key sub/own.yml", "night"),
                ("python", "sub/bin/python", "night"),
                ("reports", "junit html=sub/out/page.html", "ci"),
                ("seed", "7", "night"),
                ("strict", "false", "night"),
                ("suite", "long", "night"),
                ("timeout", "60", "base"),
            ],
        );
    }

    #[test]
    fn the_default_profile_need_not_be_there() {
        check_settings(THREE, DEFAULT_PROFILE, &[]);
        check_settings(
            "profiles: {default: {seed: 3}}",
            DEFAULT_PROFILE,
            &[("seed", "3", "default")],
        );
    }

    #[test]
    fn what_is_not_known_gets_the_nearest_name_and_its_place() {
        let config = parsed(THREE).expect("a file");
        let error = config.settings("nihgt", Path::new("qkvet.yaml")).expect_err("no such profile");
        assert!(error.to_string().contains("did you mean `night`?"), "{error}");
        check_error(
            "profiles:\n  ci: {extends: bse}\n  base: {}\n",
            &["qkvet.yaml:2:17", "got `bse`", "`base`?"],
        );
        check_error(
            "profiles:\n  ci: {suit: core}\n",
            &["qkvet.yaml:2:8", "did you mean `suite`?"],
        );
        check_error(
            "profile:\n  ci: {suite: core}\n",
            &["qkvet.yaml:1:1", "did you mean `profiles`?"],
        );
        check_error(
            "profiles: {ci: {dtypes: [float31]}}",
            &["qkvet.yaml:1:", "did you mean `float32`?"],
        );
        check_error("profiles: {ci: {seed: -1}}", &["qkvet.yaml:1:"]);
        check_error("profiles: {ci: {strict: maybe}}", &["qkvet.yaml:1:"]);
    }

    #[test]
    fn names_of_targets_are_no_targets() {
        for name in [
            "builtin:flash",
            "a.py:f",
            "pkg.mod:f",
            "exec:./run",
            "lib:x.so",
            "onnx:m.onnx",
            "onnx-backend:x",
            "python:a.py:f",
        ] {
            let text = format!("targets: {{'{name}': {{target: a.py:f}}}}");
            check_error(&text, &[&format!("target `{name}` at qkvet.yaml"), "behind `target:`"]);
        }
        assert!(parsed("targets: {a.b-c/d é: {target: a.py:f}, 'a: b': {target: a.py:f}}").is_ok());
    }

    #[test]
    fn circles_are_shown() {
        check_error("profiles: {a: {extends: a}}", &["qkvet.yaml:1:25", "got a circle: a → a"]);
        check_error(
            "profiles:\n  a: {extends: b}\n  b: {extends: c}\n  c: {extends: b}\n",
            &["qkvet.yaml:4:", "a → b → c → b", "has to extend nothing"],
        );
    }
}
