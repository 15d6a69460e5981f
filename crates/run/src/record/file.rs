//! `.qkvet/shards/2-of-3.jsonl`: what was run on the first line, then one line an answer.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use qkvet_spec::shape::check_law;
use qkvet_spec::{
    CheckedLaw, Chosen, Contract, Dtype, JsonError, Law, Quoted, RunInfo, SourcePlace, Stopped,
    Suite, Summary, Unexpected, Warning, parse_json,
};
use serde::{Deserialize, Serialize};

use super::Sharding;
use super::files::{ChangedFile, changed_since, gone_since};
use super::response::{StoredAnswer, StoredResponse};
use crate::adapters::Called;
use crate::adapters::StoredCall;
use crate::atomic_write::atomic_write_with;
use crate::config::{CaseSource, RunConfig};

/// Name and version of the format.
const FORMAT: &str = "qkvet-shard/1";

/// What was run and how it ended: the first line of a shard file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    format: String,
    /// Name and version of the tool.
    pub tool: String,
    /// Number of the shard, from 1.
    pub shard: u32,
    /// Number of shards.
    pub shards: u32,
    /// Why the run of the shard was stopped early, if it was.
    pub stopped: Option<Stopped>,
    /// What happened to the process that did not change a verdict and should be known; what answers
    /// tell is in them.
    pub warnings: Vec<Quoted>,
    /// Lines that follow.
    pub answers: usize,
    /// Target as the user wrote it.
    pub target: String,
    /// Files that the target names, with the hash of what they held.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Where the target is defined, seen from the folder of the shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePlace>,
    /// What the target said of itself.
    pub environment: Vec<Quoted>,
    /// The device that its program says it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Quoted>,
    /// Whether it is a multi-head layer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_layer: bool,
    /// How a Python target is called.
    pub call: StoredCall,
    /// How a script calls the target, if it runs in a process of its own.
    pub called: Option<Called>,
    /// The suite as it was resolved, and made to fit.
    pub suite: Suite,
    /// Its laws, those of the user too.
    pub laws: Vec<Law>,
    /// Files of the user's laws, by id.
    pub law_files: BTreeMap<String, String>,
    /// Formats.
    pub dtypes: Vec<Dtype>,
    /// Seed of the suite.
    pub seed: u64,
    /// Conventions declared, `field=value`.
    pub conventions: Vec<String>,
    /// Contracts by format.
    pub contracts: BTreeMap<Dtype, Contract>,
    /// After how many broken processes the run is stopped.
    pub most_ends: usize,
    /// After how many calls without an answer it is stopped.
    pub most_timeouts: usize,
    /// Whether the run stops at its first finding.
    pub fail_fast: bool,
    /// By what only some of the suite's cases were chosen, shards aside.
    #[serde(default)]
    pub chosen: Vec<Chosen>,
}

impl Header {
    /// The laws, types and shapes checked.
    ///
    /// # Errors
    /// Another version of the tool made the shards; a law that does not fit.
    pub fn checked_laws(&self, version: &str) -> Result<Vec<CheckedLaw>, Unexpected> {
        let tool = format!("qkvet {version}");
        if self.tool != tool {
            return Err(Unexpected::at("tool of the shards", tool).got(&self.tool));
        }
        let checked = |law: &Law| {
            let place = format!("law {} of the shards", law.law);
            check_law(law.clone()).map_err(|error| error.inside(place))
        };
        self.laws.iter().map(checked).collect()
    }

    /// Files of the target that are not here any more, as they were named.
    pub fn gone_files(&self) -> Vec<String> {
        gone_since(&self.files)
    }

    /// Files of the target that are here and hold something else than what the shards ran.
    pub fn changed_files(&self) -> Vec<ChangedFile> {
        changed_since(&self.files)
    }

    fn new(
        config: &RunConfig<'_>,
        suite: &Suite,
        sharding: &Sharding,
        summary: &Summary,
        answers: usize,
    ) -> Self {
        let RunInfo {
            tool,
            target,
            environment,
            device,
            is_layer,
            seed,
            conventions,
            source,
            mut chosen,
            ..
        } = summary.run.clone();
        chosen.retain(|chosen| *chosen != Chosen::Shard);
        let warnings = config.target.adapter.warnings(&config.target.limits.watch);
        let in_words = |warning: &Warning| Quoted::new(config.words.warning(warning).to_string());
        Self {
            format: FORMAT.to_owned(),
            tool,
            shard: sharding.shard.number(),
            shards: sharding.shard.count(),
            stopped: summary.stopped.clone(),
            warnings: warnings.iter().map(in_words).collect(),
            answers,
            target,
            files: sharding.recording.files(),
            source,
            environment,
            device,
            is_layer,
            call: config.target.adapter.stored_call(),
            called: sharding.recording.called(),
            suite: Suite { fit: summary.run.fit.clone(), ..suite.clone() },
            laws: config.laws.iter().map(|law| law.law.clone()).collect(),
            law_files: config.catalog.law_files.clone().into_iter().collect(),
            dtypes: config.dtypes.clone(),
            seed,
            conventions,
            contracts: config
                .contracts
                .iter()
                .map(|(dtype, contract)| (*dtype, Contract::clone(contract)))
                .collect(),
            most_ends: config.target.adapter.most_ends(),
            most_timeouts: config.target.adapter.most_timeouts(&config.target.limits),
            fail_fast: config.fail_fast.is_on(),
            chosen,
        }
    }
}

/// One answer to one call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    call: String,
    response: StoredResponse,
    /// The process ended with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

/// Writes what a shard was and what its target answered; `summary` is that of its run. Folders on
/// the way are made, and the file is there as a whole or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_shard(
    path: &Path,
    config: &RunConfig<'_>,
    sharding: &Sharding,
    summary: &Summary,
) -> Result<(), Unexpected> {
    let failed = |error| Unexpected::at_path("shard", path, "to be written").error(error);
    let CaseSource::Suite { suite, .. } = config.cases else {
        return Err(Unexpected::at_path("shard", path, "cases of a suite").got("frozen ones"));
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let answers = sharding.recording.answers();
    let n_answers = answers.values().map(Vec::len).sum();
    let header = Header::new(config, suite, sharding, summary, n_answers);
    let written = atomic_write_with(path, |to| {
        let mut line =
            |text: String| to.write_all(text.as_bytes()).and_then(|()| to.write_all(b"\n"));
        line(serde_json::to_string(&header)?)?;
        for (call, all) in answers {
            for StoredAnswer { response, ended } in all {
                line(serde_json::to_string(&Answer { call: call.clone(), response, ended })?)?;
            }
        }
        Ok(())
    });
    written.map_err(failed)
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct ShardFile {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    /// Answers by id of the call, in order.
    pub(super) answers: BTreeMap<String, Vec<StoredAnswer>>,
}

/// Why a line cannot be read.
fn no_text(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::InvalidData => "bytes that are none (UTF-8)".to_owned(),
        _ => error.to_string(),
    }
}

/// Why a line is not what it should be: its number stands before the message.
fn line_trouble(error: &JsonError) -> String {
    format!("{} at column {}", error.misread, error.column)
}

/// What to do about a file that is cut off.
const CUT_HINT: &str = "copy it again from where it was written, or run the shard again";

/// Whether the first line is the beginning of a header and no more; too short a one is ours if it
/// is all there is.
fn is_cut_off(first: &str, is_last: impl FnOnce() -> bool) -> bool {
    let head = format!("{{\"format\":\"{FORMAT}\"");
    let is_ours =
        first.starts_with(&head) || (!first.is_empty() && head.starts_with(first) && is_last());
    is_ours && serde_json::from_str::<serde_json::Value>(first).is_err_and(|error| error.is_eof())
}

/// Reads one file.
///
/// # Errors
/// A file that is unreadable, of another format, or cut off.
pub(super) fn read_shard(path: &Path) -> Result<ShardFile, Unexpected> {
    let place = format!("shard at {}", path.display());
    let at_line =
        |line: usize, expected: &str| Unexpected::at(format!("{place}: line {line}"), expected);
    let unreadable = |error| Unexpected::at(&place, "a readable file").error(error);
    // A pipe that nobody writes to would be waited for.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Unexpected::at(place, "a readable file").got("something else"));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut lines = BufReader::new(file).lines().enumerate();
    let mut next = || match lines.next() {
        Some((at, line)) => {
            let line = line.map_err(|error| at_line(at + 1, "text").got(no_text(&error)))?;
            Ok(Some((at + 1, line)))
        }
        None => Ok(None),
    };
    let (_, first) =
        next()?.ok_or_else(|| Unexpected::at(&place, "a shard").got("an empty file"))?;
    if is_cut_off(&first, || !matches!(next(), Ok(Some(_)))) {
        return Err(at_line(1, "what was run")
            .got("a part of it: the file is cut off")
            .hint(CUT_HINT));
    }
    let format = serde_json::from_str::<serde_json::Value>(&first).ok();
    let format = format.as_ref().and_then(|header| header.get("format")?.as_str());
    if format != Some(FORMAT) {
        let got =
            format.map_or_else(|| "something else".to_owned(), |format| format!("`{format:.40}`"));
        return Err(Unexpected::at(format!("{place}: format"), FORMAT)
            .got(got)
            .hint("`qkvet check --shard` writes these files"));
    }
    let header: Header =
        parse_json(&first).map_err(|error| at_line(1, "a shard").error(line_trouble(&error)))?;
    let mut answers: BTreeMap<String, Vec<StoredAnswer>> = BTreeMap::new();
    let mut n_answers = 0;
    while let Some((number, line)) = next()? {
        let Answer { call, response, ended } = parse_json(&line).map_err(|error| {
            let wrong = at_line(number, "an answer").error(line_trouble(&error));
            if error.is_cut_off() { wrong.hint(CUT_HINT) } else { wrong }
        })?;
        answers.entry(call).or_default().push(StoredAnswer { response, ended });
        n_answers += 1;
    }
    if n_answers != header.answers {
        return Err(Unexpected::at(place, format!("{} answers", header.answers))
            .got(format!("{n_answers}: the file is cut off"))
            .hint(CUT_HINT));
    }
    Ok(ShardFile { path: path.to_owned(), header, answers })
}
