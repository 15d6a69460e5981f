//! A journal of a run: what the target answered so far. A run that was cut off is continued by the
//! next one, which asks only what was not answered yet.
//!
//! A line an answer, written before it is judged. The last line of a run that was killed may be torn
//! and is dropped.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use qkvet_spec::{Quoted, Response, Unexpected};
use serde::{Deserialize, Serialize};

use super::files::hashed;
use super::kept::Keeper;
use super::nearby::{MAX_FOUND, nearby};
use super::response::{Answered, StoredAnswer, StoredResponse};
use crate::adapters::{NamedTarget, StoredCall};

/// Name and version of the format.
const FORMAT: &str = "qkvet-journal/1";
/// A longer journal is begun anew.
const MAX_BYTES: u64 = 4 << 30;

/// Whose answers they are. Those of another target, or of another version of what lies near it, are
/// dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    format: String,
    tool: String,
    target: String,
    files: BTreeMap<String, String>,
    call: StoredCall,
    conventions: Vec<String>,
    environment: Vec<Quoted>,
}

/// One answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    case: String,
    call: String,
    response: StoredResponse,
    /// The process ended with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

/// Why the answers of an earlier run were dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// A file of the target changed, came or went.
    File(String),
    /// The environment, the declarations or the version of qkvet did.
    Settings,
    /// They cannot be read, or are too long.
    Unreadable,
}

/// Answers by case and call, in the order in which they came.
type Known = BTreeMap<(String, String), VecDeque<StoredAnswer>>;

/// The journal, shared by all workers of a run.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
    state: Arc<Mutex<State>>,
    /// Once it is set nothing is written: the call that it cuts off has no answer.
    stop: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<File>,
    /// What lay near the target before it was loaded.
    files: BTreeMap<String, String>,
    known: Known,
    used: usize,
    dropped: Option<Dropped>,
    trouble: Option<Unexpected>,
}

impl Journal {
    /// A journal in a file that is called like this, which is opened with the target. Targets of
    /// like names have files of their own.
    pub fn of(target: &str, path: &Path, stop: Arc<AtomicBool>) -> Self {
        let number = crc32fast::hash(target.as_bytes());
        let path = PathBuf::from(format!("{}-{number:08x}.jsonl", path.display()));
        Self { path, state: Arc::default(), stop }
    }

    /// How many answers of an earlier run were used.
    pub fn used(&self) -> usize {
        self.state().used
    }

    /// Why the answers of an earlier run were dropped, if they were.
    pub fn dropped(&self) -> Option<Dropped> {
        self.state().dropped.clone()
    }

    /// Why the journal could not be read or written, if it could not.
    pub fn trouble(&self) -> Option<Unexpected> {
        self.state().trouble.clone()
    }

    /// Removes it, after a run that came to its end.
    pub fn remove(&self) {
        self.state().file = None;
        // What is left is dropped or overwritten by the next run.
        let _ = std::fs::remove_file(&self.path);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what lies near the target, before it is loaded: what changes meanwhile belongs to
    /// another version then.
    pub(crate) fn look(&self, target: &NamedTarget) {
        let (files, is_all) = nearby(&target.adapter.files());
        let mut state = self.state();
        state.files = hashed(files);
        if !is_all {
            let expected = format!("at most {MAX_FOUND} files and folders near the target");
            state.trouble = Some(Unexpected::at_path("journal", &self.path, expected).got("more"));
        }
    }

    /// Opens the file, once: the answers of the same target are known from now on.
    pub(crate) fn open(
        &self,
        target: &NamedTarget,
        conventions: Vec<String>,
        environment: &[Quoted],
    ) {
        let mut state = self.state();
        if state.file.is_some() || state.trouble.is_some() {
            return;
        }
        let head = Head {
            format: FORMAT.to_owned(),
            tool: format!("qkvet {}", env!("CARGO_PKG_VERSION")),
            target: target.name.clone(),
            files: std::mem::take(&mut state.files),
            call: target.adapter.stored_call(),
            conventions,
            environment: environment.to_vec(),
        };
        match opened(&self.path, &head) {
            Ok((file, known)) => {
                state.file = Some(file);
                match known {
                    Ok(known) => state.known = known,
                    Err(dropped) => state.dropped = Some(dropped),
                }
            }
            Err(error) => state.trouble = Some(failed(&self.path, error)),
        }
    }
}

impl Keeper for Journal {
    fn known(&self, case: &str, call: &str) -> Option<Answered> {
        let mut state = self.state();
        let answers = state.known.get_mut(&(case.to_owned(), call.to_owned()))?;
        let answered = answers.pop_front()?.answered().ok()?;
        state.used += 1;
        Some(answered)
    }

    fn keep(&self, case: &str, call: String, response: &Response, ended: bool) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        let Some(StoredAnswer { response, ended }) = StoredAnswer::new(response, ended) else {
            return;
        };
        let line = Line { case: case.to_owned(), call, response, ended };
        let mut state = self.state();
        let Some(file) = &mut state.file else { return };
        if let Err(error) = written(file, &line) {
            state.file = None;
            state.trouble = Some(failed(&self.path, error));
        }
    }
}

fn failed(path: &Path, error: std::io::Error) -> Unexpected {
    Unexpected::at_path("journal", path, "a file to read and to write").error(error)
}

fn written(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    // One call, so that a line is torn at most at its end.
    file.write_all((serde_json::to_string(line)? + "\n").as_bytes())
}

/// The file with this head, and what it holds; one with another head is begun anew.
fn opened(path: &Path, head: &Head) -> std::io::Result<(File, Result<Known, Dropped>)> {
    let folders = path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
    // Nothing is written through a link, which a target may have made.
    if let Some(link) =
        std::iter::once(path).chain(folders).find(|path| !path.is_absolute() && path.is_symlink())
    {
        return Err(std::io::Error::other(format!("{} is a link", link.display())));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let read = if file.metadata()?.len() <= MAX_BYTES {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        read(&text, head)
    } else {
        Err(Dropped::Unreadable)
    };
    let whole = read.as_ref().map_or(0, |(whole, _)| *whole);
    file.set_len(whole)?;
    file.seek(SeekFrom::End(0))?;
    if whole == 0 {
        written(&mut file, head)?;
    }
    Ok((file, read.map(|(_, known)| known)))
}

/// How many bytes are whole lines, and the answers in them; why not, if they are another target's.
fn read(text: &[u8], head: &Head) -> Result<(u64, Known), Dropped> {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut lines = text[..end].split_inclusive(|byte| *byte == b'\n');
    // What ends before its first line does has no answer.
    let Some(first) = lines.next() else { return Ok((0, Known::new())) };
    let other: Head = serde_json::from_slice(first).map_err(|_| Dropped::Unreadable)?;
    if other != *head {
        return Err(difference(&other, head));
    }
    let (mut known, mut whole) = (Known::new(), first.len());
    for text in lines {
        // What follows a line that is none came after a power failure.
        let Ok(line) = serde_json::from_slice::<Line>(text) else { break };
        let Line { case, call, response, ended } = line;
        known.entry((case, call)).or_default().push_back(StoredAnswer { response, ended });
        whole += text.len();
    }
    Ok((whole as u64, known))
}

fn difference(before: &Head, now: &Head) -> Dropped {
    let mut files = before.files.keys().chain(now.files.keys());
    let is_other = |file: &&String| before.files.get(*file) != now.files.get(*file);
    files.find(is_other).cloned().map_or(Dropped::Settings, Dropped::File)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            format: FORMAT.to_owned(),
            tool: "qkvet".to_owned(),
            target: "mine.py:attention".to_owned(),
            files: BTreeMap::new(),
            call: StoredCall::default(),
            conventions: Vec::new(),
            environment: vec!["numpy 2".into()],
        }
    }

    fn journal(lines: usize) -> Vec<u8> {
        let mut text = serde_json::to_string(&head()).expect("JSON") + "\n";
        for n in 0..lines {
            let response = StoredResponse::Refused(format!("{n}").as_str().into());
            let line = Line { case: "c".to_owned(), call: "k".to_owned(), response, ended: false };
            text += &(serde_json::to_string(&line).expect("JSON") + "\n");
        }
        text.into_bytes()
    }

    /// Wherever a write was cut off, what was written before it is known.
    #[test]
    fn a_torn_end_costs_one_answer() {
        let whole = journal(3);
        for end in 0..=whole.len() {
            let known = read(&whole[..end], &head());
            let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count();
            let (bytes, known) = known.expect("a torn end drops nothing");
            let n: usize = known.values().map(VecDeque::len).sum();
            assert_eq!(n, lines.saturating_sub(1), "{end}");
            assert!(bytes <= end as u64);
        }
        let zeros = [journal(1), vec![0; 100], b"\n".to_vec(), journal(1)].concat();
        assert_eq!(read(&zeros, &head()).expect("a journal").0, journal(1).len() as u64);
    }

    #[test]
    fn answers_of_another_target_are_dropped() {
        let other = Head { environment: vec!["numpy 3".into()], ..head() };
        let dropped = |head: &Head| read(&journal(3), head).expect_err("another target");
        assert_eq!(dropped(&other), Dropped::Settings);
        let files = BTreeMap::from([("loaded.py".to_owned(), "sha256:00".to_owned())]);
        assert_eq!(dropped(&Head { files, ..other }), Dropped::File("loaded.py".to_owned()));
        assert_eq!(read(b"{}\n", &head()).expect_err("no head"), Dropped::Unreadable);
    }
}
