//! Profiles of `qkvet.yaml`: how a run is done, by name. They say of flags what is said when the
//! flag and its environment variable are not there; what a target declares of itself stands in its
//! entry.

use std::path::Path;

use indexmap::IndexMap;
use qkvet_spec::{Dtype, Formula, SpecError, Unexpected, name_hint};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::below_current;
use super::settings::{Origin, SETTINGS, Said};

/// The profile that is used when none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// One profile. What it does not say is that of the profile it extends, or else of the flag.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, serialize_with = "as_text")]
    pub timeout: Option<f64>,
    /// `--start-timeout`, in seconds.
    #[serde(default, serialize_with = "as_text")]
    pub start_timeout: Option<f64>,
    /// `--memory`, in MiB.
    #[serde(default)]
    pub memory: Option<u64>,
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

impl Profile {
    /// What the profile itself says, as its flags would have it: paths are from the current folder.
    fn said(&self, name: &str, base: &Path) -> Vec<Said> {
        let Ok(Value::Object(mut all)) = serde_json::to_value(self) else { return Vec::new() };
        let said = SETTINGS.iter().filter_map(|setting| {
            let text = |value: Value| match value {
                Value::String(text) => path_of(setting.key, base, &text).unwrap_or(text),
                other => other.to_string(),
            };
            let values = match all.remove(setting.key)? {
                Value::Null => return None,
                Value::Array(values) => values.into_iter().map(text).collect(),
                value => vec![text(value)],
            };
            Some(Said { setting, values, origin: Origin::Profile(name.to_owned()) })
        });
        said.collect()
    }
}

/// Sixty seconds are `60`, as they are written, and what is infinite is not nothing.
fn as_text<S: Serializer>(seconds: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    seconds.map(|seconds| seconds.to_string()).serialize(to)
}

/// What is a path in a setting, from the current folder.
fn path_of(key: &str, base: &Path, text: &str) -> Option<String> {
    let is_yaml = || text.ends_with(".yaml") || text.ends_with(".yml");
    match key {
        "suite" | "laws" if is_yaml() => Some(from(base, text)),
        "python" if text.contains('/') => Some(from(base, text)),
        "reports" => {
            let (format, path) = text.split_once('=').filter(|(_, path)| !path.is_empty())?;
            Some(format!("{format}={}", from(base, path)))
        }
        _ => None,
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
) -> Result<Vec<Said>, Unexpected> {
    if name == DEFAULT_PROFILE && !profiles.contains_key(name) {
        return Ok(Vec::new());
    }
    let base = file.parent().unwrap_or(Path::new(""));
    let mut found: Vec<Said> = Vec::new();
    let mut next = Some(name.to_owned());
    let mut left = profiles.len();
    while let Some(name) = next {
        let profile = profiles.get(&name).ok_or_else(|| {
            Unexpected::at(format!("profile `{name}`"), format!("one of {}", file.display()))
                .got("none of its names")
                .hint(hint(&name, profiles))
        })?;
        for said in profile.said(&name, base) {
            if !found.iter().any(|nearer| nearer.setting.key == said.setting.key) {
                found.push(said);
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
        found.sort_by_key(|said| said.setting.key);
        let found: Vec<_> = found
            .iter()
            .map(|said| (said.setting.key, said.values.join(" "), said.origin.to_string()))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, values, profile)| {
                (*key, (*values).to_owned(), format!("profile {profile}"))
            })
            .collect();
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
    fn every_key_is_a_setting() {
        let all = serde_json::to_value(Profile::default()).expect("a map");
        let mut keys: Vec<&str> =
            all.as_object().expect("a map").keys().map(String::as_str).collect();
        keys.retain(|key| *key != "extends");
        let mut settings = SETTINGS.each_ref().map(|setting| setting.key);
        keys.sort_unstable();
        settings.sort_unstable();
        assert_eq!(keys, settings);
        // What is no number of seconds is refused where it is used, not passed over.
        let text = "profiles: {default: {timeout: .inf, start_timeout: 0.5}}";
        let expected = [("start_timeout", "0.5", "default"), ("timeout", "inf", "default")];
        check_settings(text, DEFAULT_PROFILE, &expected);
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
