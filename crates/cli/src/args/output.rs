//! Formats of reports as flags: `--format FORMAT` and `--report FORMAT[=PATH]`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use qkvet_report::ReportFormat;
use qkvet_spec::name_hint;

/// What comes out, and where it goes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Report on stdout
    #[arg(long, default_value = "human", value_parser = formats(), value_name = "FORMAT")]
    pub(crate) format: ReportFormat,
    /// Write a report to a file too [default: .qkvet/last/ and a fixed name]; `github` without a
    /// path annotates (repeatable)
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) report: Vec<Wishes>,
    /// Print the largest error over its bound for each law and format, too
    #[arg(long)]
    pub(crate) margins: bool,
    /// The name of the run among several, which keep their reports apart.
    #[arg(skip)]
    pub(crate) run: Option<String>,
}

fn formats() -> impl TypedValueParser<Value = ReportFormat> {
    let values =
        ReportFormat::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()));
    clap::builder::PossibleValuesParser::new(values)
        .map(|name| ReportFormat::named(&name).unwrap_or(ReportFormat::Human))
}

/// A report in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) format: ReportFormat,
    pub(crate) path: Option<PathBuf>,
}

/// `junit,html=page.html,sarif`: formats parted by commas, each with a path or without. A comma
/// that no format follows is part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wishes(pub(crate) Vec<Wish>);

/// A list of reports that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WishError {
    #[error("expected a path behind `=`, got nothing")]
    NoPath,
    #[error("expected a format, got `{got}`\nhint: {}", hint(got))]
    Format { got: String },
}

impl FromStr for Wishes {
    type Err = WishError;

    fn from_str(text: &str) -> Result<Self, WishError> {
        let mut wishes: Vec<Wish> = Vec::new();
        for part in text.split(',') {
            let (name, path) =
                part.split_once('=').map_or((part, None), |(name, path)| (name, Some(path)));
            match (ReportFormat::named(name), path) {
                (Some(_), Some("")) => return Err(WishError::NoPath),
                (Some(format), path) => wishes.push(Wish { format, path: path.map(PathBuf::from) }),
                (None, _) => {
                    let begun = wishes.last_mut().and_then(|wish| wish.path.as_mut());
                    let begun = begun
                        .ok_or_else(|| WishError::Format { got: name.to_owned() })?
                        .as_mut_os_string();
                    begun.push(",");
                    begun.push(part);
                }
            }
        }
        Ok(Self(wishes))
    }
}

fn hint(name: &str) -> String {
    name_hint(name, &ReportFormat::ALL.map(ReportFormat::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_wished_for() {
        let wishes: Wishes = "junit,html=a,b=c.html,sarif".parse().expect("wishes");
        let wish = |format, path: Option<&str>| Wish { format, path: path.map(PathBuf::from) };
        let html = wish(ReportFormat::Html, Some("a,b=c.html"));
        assert_eq!(
            wishes.0,
            [wish(ReportFormat::Junit, None), html, wish(ReportFormat::Sarif, None)]
        );
        for (wrong, part) in [
            ("junnit", "did you mean `junit`"),
            ("", "expected a format"),
            ("html=", "expected a path"),
        ] {
            let error = wrong.parse::<Wishes>().expect_err(wrong);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
