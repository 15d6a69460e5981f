//! Formats of reports as flags: `--format FORMAT` and `--report FORMAT[=PATH]`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use qkvet_report::ReportFormat;
use qkvet_spec::nearest;

/// What comes out, and where it goes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Report on stdout
    #[arg(long, default_value = "human", value_parser = formats(), value_name = "FORMAT")]
    pub(crate) format: ReportFormat,
    /// Write a report to a file too [default: .qkvet/last/ and a fixed name]; `github` without a path annotates (repeatable)
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) report: Vec<Wishes>,
}

fn formats() -> impl TypedValueParser<Value = ReportFormat> {
    let values = ReportFormat::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()));
    clap::builder::PossibleValuesParser::new(values)
        .map(|name| ReportFormat::named(&name).unwrap_or(ReportFormat::Human))
}

/// A report in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) format: ReportFormat,
    pub(crate) path: Option<PathBuf>,
}

/// `junit,html=report.html`: names parted by commas, a path for the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wishes(pub(crate) Vec<Wish>);

impl FromStr for Wishes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (names, path) = match text.split_once('=') {
            Some((_, "")) => return Err("expected a path behind `=`, got nothing".to_owned()),
            Some((names, path)) => (names, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let known = ReportFormat::ALL.map(ReportFormat::name);
        let format = |name: &str| {
            ReportFormat::named(name).ok_or_else(|| {
                let hint = nearest(name, known)
                    .map_or_else(|| format!("known: {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
                format!("expected a format, got `{name}`\nhint: {hint}")
            })
        };
        let mut wishes = names
            .split(',')
            .map(|name| Ok(Wish { format: format(name)?, path: None }))
            .collect::<Result<Vec<Wish>, String>>()?;
        if let Some(last) = wishes.last_mut() {
            last.path = path;
        }
        Ok(Self(wishes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_wished_for() {
        let wishes: Wishes = "junit,html=a,b=c.html".parse().expect("wishes");
        let html = Wish { format: ReportFormat::Html, path: Some("a,b=c.html".into()) };
        assert_eq!(wishes.0, [Wish { format: ReportFormat::Junit, path: None }, html]);
        for (wrong, part) in
            [("junnit", "did you mean `junit`"), ("", "expected a format"), ("html=", "expected a path")]
        {
            let error = wrong.parse::<Wishes>().expect_err(wrong);
            assert!(error.contains(part), "{error}");
        }
    }
}
