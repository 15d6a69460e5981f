//! Groups: the frozen cases of a format and a set of options as one text, laid out for people, JSON
//! for programs.

use qkvet_spec::{CallOption, Case, Dtype, Suite};
use serde::{Deserialize, Serialize};

use super::assemble::check_format;
use super::document::CaseDocument;
use super::names::check_word;
use super::{FROZEN_FORMAT, FrozenCase};
use crate::GenError;
use crate::json::{lay_out, parse};
use crate::validate::check_version;

/// The frozen cases of a format and a set of options.
#[derive(Clone, Debug, PartialEq)]
pub struct FrozenGroup {
    /// Id of the suite.
    pub suite: String,
    /// Version of its frozen answers.
    pub version: String,
    /// Name of the group, see [`group_name`].
    pub group: String,
    /// Format of every tensor.
    pub dtype: Dtype,
    /// The cases, in the suite's order.
    pub cases: Vec<FrozenCase>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupDocument {
    format: u32,
    suite: String,
    version: String,
    group: String,
    dtype: Dtype,
    cases: Vec<CaseDocument>,
}

/// The group of a case: its format and the options that are on, `float32-causal-mask`.
pub fn group_name(case: &Case) -> String {
    let on = CallOption::ALL.into_iter().filter(|option| case.options.has(*option));
    [case.dtype.name()].into_iter().chain(on.map(CallOption::name)).collect::<Vec<_>>().join("-")
}

/// Sorts cases into groups; groups by name, cases in the order given.
pub fn frozen_groups(
    suite: &Suite,
    cases: impl IntoIterator<Item = FrozenCase>,
) -> Vec<FrozenGroup> {
    let version = suite.frozen.as_ref().map_or_else(String::new, |frozen| frozen.version.clone());
    let mut groups: Vec<FrozenGroup> = Vec::new();
    for case in cases {
        let name = group_name(&case.case);
        match groups.iter_mut().find(|group| group.group == name) {
            Some(group) => group.cases.push(case),
            None => groups.push(FrozenGroup {
                suite: suite.suite.clone(),
                version: version.clone(),
                group: name,
                dtype: case.case.dtype,
                cases: vec![case],
            }),
        }
    }
    groups.sort_by(|left, right| left.group.cmp(&right.group));
    groups
}

/// The group as a JSON document, one row of numbers a line. Answers are written as the decimals
/// that they are.
///
/// # Errors
/// A case that is no call of attention.
pub fn write_group(group: &FrozenGroup) -> Result<String, GenError> {
    let FrozenGroup { suite, version, group: name, dtype, cases } = group;
    Ok(lay_out(&GroupDocument {
        format: FROZEN_FORMAT,
        suite: suite.clone(),
        version: version.clone(),
        group: name.clone(),
        dtype: *dtype,
        cases: cases.iter().map(CaseDocument::new).collect::<Result<_, _>>()?,
    }))
}

/// Reads a group, with or without the header of a snapshot.
///
/// # Errors
/// Anything but what [`write_group`] writes, with its place: unknown, missing and repeated fields,
/// elements that the format does not have, an id that is not the content's, a case that belongs to
/// another group or comes twice.
pub fn read_group(text: &str) -> Result<FrozenGroup, GenError> {
    let document: GroupDocument = parse(strip_snapshot_header(text)?, "a group of frozen cases")?;
    check_format(document.format)?;
    check_word(&document.suite, "`suite`")?;
    check_version(&document.version, "`version`")?;
    let (group, dtype) = (document.group, document.dtype);
    let mut cases: Vec<FrozenCase> = Vec::with_capacity(document.cases.len());
    for case in document.cases {
        let case = case.case(dtype)?;
        let name = group_name(&case.case);
        if name != group {
            return Err(GenError::new(
                "group",
                "`group`",
                format!("`{name}`"),
                format!("`{group:.64}`"),
            )
            .of_case(&case.id));
        }
        cases.push(case);
    }
    let mut ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(GenError::new("case", "`cases`", "each once", format!("{} twice", pair[0])));
    }
    check_word(&group, "`group`")?;
    Ok(FrozenGroup { suite: document.suite, version: document.version, group, dtype, cases })
}

/// The document in a snapshot file: what follows the header between two lines `---`. Text without a
/// header is returned as it is.
///
/// # Errors
/// A header that does not end.
pub fn strip_snapshot_header(text: &str) -> Result<&str, GenError> {
    let Some(header) = text.strip_prefix("---\n") else { return Ok(text) };
    match header.find("\n---\n") {
        Some(end) => Ok(&header[end + "\n---\n".len()..]),
        None => Err(GenError::new("header", "snapshot", "a second line `---`", "none")),
    }
}
