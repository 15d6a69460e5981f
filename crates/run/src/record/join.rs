//! From shard files to one recorded run.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use qkvet_spec::{Quoted, StoppedShard, Unexpected, Warning};

use super::file::{Header, ShardFile, read_shard};
use super::files::changes;
use super::response::{Answered, TensorError};

/// Fields of a header that are a shard's own.
const OWN_FIELDS: [&str; 7] =
    ["shard", "shards", "stopped", "warnings", "answers", "called", "source"];

/// Missing shards that a message names.
const MAX_NAMED: usize = 8;

/// The shards of one run, together.
#[derive(Debug)]
pub struct Joined {
    /// What all of them say was run.
    pub header: Header,
    /// Shards that were stopped early: number and reason.
    pub stopped: Vec<StoppedShard>,
    /// What did not change a verdict and should be known: a run says each kind once, so the first
    /// shard speaks for all.
    pub warnings: Vec<Warning>,
    /// Answers by id of the call, in order of the shards.
    pub answers: BTreeMap<String, Vec<Answered>>,
}

/// Reads files, and the `.jsonl` files of folders, and joins them; the order in which they are
/// named does not matter.
///
/// # Errors
/// A file that does not fit; a shard that is missing or there twice; shards of different runs.
pub fn read_shards(paths: &[PathBuf]) -> Result<Joined, Unexpected> {
    let mut shards: Vec<ShardFile> = Vec::new();
    for path in files(paths)? {
        shards.push(read_shard(&path)?);
    }
    shards.sort_by(|x, y| (x.header.shard, &x.path).cmp(&(y.header.shard, &y.path)));
    let Some(first) = shards.first() else {
        return Err(Unexpected::at("shards", "files").got("none"));
    };
    let header = first.header.clone();
    for other in &shards[1..] {
        agree(first, other)?;
    }
    complete(&shards, header.shards)?;
    let stopped = shards
        .iter()
        .filter_map(|shard| {
            let Header { shard, stopped, .. } = &shard.header;
            Some(StoppedShard { shard: *shard, stopped: stopped.clone()? })
        })
        .collect();
    let warnings =
        shards.iter().map(|shard| &shard.header.warnings).find(|warnings| !warnings.is_empty());
    let recorded = |text: &Quoted| Warning::Recorded { text: text.clone() };
    let warnings = warnings.into_iter().flatten().map(recorded).collect();
    let mut stored = BTreeMap::new();
    let mut place = BTreeMap::new();
    for ShardFile { path, answers, .. } in shards {
        for (call, responses) in answers {
            let all: &mut Vec<_> = stored.entry(call.clone()).or_default();
            if *all != responses {
                all.extend(responses);
            }
            place.entry(call).or_insert_with(|| path.clone());
        }
    }
    let mut answers = BTreeMap::new();
    for (call, responses) in stored {
        let fail = |error: TensorError| {
            let path = place.get(&call).cloned().unwrap_or_default();
            Unexpected::within(format!("shard at {}: answer to {call}", path.display()), error)
        };
        let responses = responses.into_iter().map(|response| response.answered().map_err(fail));
        let responses = responses.collect::<Result<Vec<Answered>, _>>()?;
        answers.insert(call, responses);
    }
    Ok(Joined { header, stopped, warnings, answers })
}

/// Folders replaced by the shard files in them; a file that is named twice is one.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Unexpected> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|error| {
            Unexpected::at_path("shard", path, "a readable folder").error(error)
        })?;
        let of_shards =
            |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
        let found: Vec<PathBuf> =
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(of_shards).collect();
        if found.is_empty() {
            return Err(
                Unexpected::at_path("shard", path, ".jsonl files in this folder").got("none")
            );
        }
        files.extend(found);
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Whether two shards say the same of the run.
fn agree(first: &ShardFile, other: &ShardFile) -> Result<(), Unexpected> {
    let fail = |field: &str, expected: &str, got: &str| {
        let expected = format!("{expected} as at {}", first.path.display());
        Err(Unexpected::at_path(field, &other.path, expected)
            .got(got)
            .hint("shards are joined only if they were made by the same command"))
    };
    if first.header.shards != other.header.shards {
        return fail(
            "number of shards",
            &first.header.shards.to_string(),
            &other.header.shards.to_string(),
        );
    }
    if let Some(changed) = changes(&first.header.files, &other.header.files).first() {
        let expected =
            format!("what the target was at {} ({})", first.path.display(), changed.before);
        return Err(Unexpected::at_path(&changed.name, &other.path, expected)
            .got(format!("something else ({})", changed.now))
            .hint("the target was changed between the shards: run those of before again"));
    }
    let fields = |file: &ShardFile| match serde_json::to_value(&file.header) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (x, y) = (fields(first), fields(other));
    for (field, expected) in x.iter().filter(|(field, _)| !OWN_FIELDS.contains(&field.as_str())) {
        let got = y.get(field).unwrap_or(&serde_json::Value::Null);
        if expected != got {
            return fail(field, &shown(expected), &shown(got));
        }
    }
    Ok(())
}

/// The beginning of a value, fit for a message.
fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let head: String = text.chars().take(120).collect();
    if head == text { head } else { format!("{head}…") }
}

/// Whether every shard is there once.
fn complete(shards: &[ShardFile], count: u32) -> Result<(), Unexpected> {
    if let Some(pair) = shards.windows(2).find(|pair| pair[0].header.shard == pair[1].header.shard)
    {
        let place = format!("shard {} of {count}", pair[0].header.shard);
        let (one, other) = (pair[0].path.display(), pair[1].path.display());
        return Err(Unexpected::at(place, "once").got(format!("{one} and {other}")));
    }
    let is_missing = |number: &u32| !shards.iter().any(|shard| shard.header.shard == *number);
    let mut missing: Vec<String> = (1..=count)
        .filter(is_missing)
        .take(MAX_NAMED + 1)
        .map(|number| number.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if missing.len() > MAX_NAMED {
        missing[MAX_NAMED] = "more".to_owned();
    }
    let got = format!("{}: missing {}", shards.len(), missing.join(", "));
    Err(Unexpected::at("shards", count).got(got))
}
