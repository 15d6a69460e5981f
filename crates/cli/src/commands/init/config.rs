//! `qkvet init`: a `qkvet.yaml` with one target and two profiles.

use std::path::Path;
use std::process::ExitCode;

use qkvet_run::adapters::python::find_python;
use qkvet_run::adapters::{CallSettings, Finder};
use qkvet_run::config::{CONFIG_FILE, Config, Home};
use qkvet_spec::{Catalog, Unexpected};

use super::begin;
use crate::args::InitArgs;
use crate::exit::{Failure, HELD};

const TEMPLATE: &str = include_str!("qkvet.yaml");
/// What stands in the template for the target.
const TARGET: &str = "target: builtin:flash\n";

pub(in super::super) fn config(args: &InitArgs) -> Result<ExitCode, Failure> {
    // A name that means nothing is better said now. Entries of a file that may be written over are
    // no targets.
    let finder = Finder {
        home: &Home::of(&args.target, Path::new("/"), None),
        python: &find_python(None, None),
        catalog: &Catalog::embedded()?,
        flags: CallSettings::default(),
        stored: CallSettings::default(),
        dtypes: &[],
    };
    finder.find(&args.target).map_err(|error| Unexpected::within("--target", error))?;
    let text = TEMPLATE.replace(TARGET, &format!("target: {}\n", scalar(&args.target)));
    Config::parse(CONFIG_FILE, &text)?;
    begin(Path::new(CONFIG_FILE), &text, args.force)?;
    say!("\n  qkvet check mine\n  qkvet init ci --github    (or --gitlab)");
    Ok(ExitCode::from(HELD))
}

/// A text as a scalar of YAML: in quotes, with what is not printed escaped, unless it is plain
/// beyond doubt.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && !text.ends_with(':') && text.contains([':', '/']) && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let escaped = |c: char| match c {
        // What JSON leaves as it is and YAML does not.
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    };
    serde_json::Value::from(text).to_string().chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_as_it_was_written() {
        for target in [
            "builtin:flash",
            "path/file.py:attention",
            "exec:./program --flag 'a b'",
            "lib:./libattn.so",
            "a\"b: #x\n- y\\z.py:f",
            "\u{1b}[2J\u{7f}\u{85}é.py:f",
            "'{[&*!|>%@`.py:f",
            "true",
            "1.5",
            "null",
            "x:",
        ] {
            let text = TEMPLATE.replace(TARGET, &format!("target: {}\n", scalar(target)));
            let config = Config::parse("qkvet.yaml", &text)
                .unwrap_or_else(|error| panic!("{target:?}\n{error}"));
            assert_eq!(config.targets["mine"].target, target);
            assert_eq!(config.targets.len(), 1);
        }
        assert!(TEMPLATE.contains(TARGET));
    }
}
