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

use qkvet_gen::call_id;
use qkvet_spec::{Call, Quoted, Response, Target, Unexpected};
use serde::{Deserialize, Serialize};

use super::files::hashed;
use super::recording::{contiguous_id, id_of, transposed_id};
use super::response::{Answered, StoredAnswer, StoredResponse};
use crate::adapters::{NamedTarget, StoredCall};

/// Name and version of the format.
const FORMAT: &str = "qkvet-journal/1";
/// A longer journal is begun anew.
const MAX_BYTES: u64 = 4 << 30;

/// Whose answers they are. Those of another target, or of another version of it, are dropped.
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
    known: Known,
    used: usize,
    trouble: Option<Unexpected>,
}

impl Journal {
    /// A journal in this file, which is opened with the target.
    pub fn at(path: PathBuf, stop: Arc<AtomicBool>) -> Self {
        Self { path, state: Arc::default(), stop }
    }

    /// How many answers of an earlier run were used.
    pub fn used(&self) -> usize {
        self.state().used
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
            files: hashed(target.adapter.files()),
            call: target.adapter.stored_call(),
            conventions,
            environment: environment.to_vec(),
        };
        match opened(&self.path, &head) {
            Ok((file, known)) => {
                state.file = Some(file);
                state.known = known;
            }
            Err(error) => state.trouble = Some(failed(&self.path, error)),
        }
    }

    /// The answer to a call of a case, if it is known.
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
fn opened(path: &Path, head: &Head) -> std::io::Result<(File, Known)> {
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
    let mut text = Vec::new();
    if file.metadata()?.len() <= MAX_BYTES {
        file.read_to_end(&mut text)?;
    }
    let (whole, known) = read(&text, head).unwrap_or_default();
    file.set_len(whole)?;
    file.seek(SeekFrom::End(0))?;
    if whole == 0 {
        written(&mut file, head)?;
    }
    Ok((file, known))
}

/// How many bytes are whole lines, and the answers in them; `None` if they are another target's.
fn read(text: &[u8], head: &Head) -> Option<(u64, Known)> {
    let end = text.iter().rposition(|byte| *byte == b'\n')? + 1;
    let mut lines = text[..end].split_inclusive(|byte| *byte == b'\n');
    let first = lines.next()?;
    if serde_json::from_slice::<Head>(first).ok()? != *head {
        return None;
    }
    let (mut known, mut whole) = (Known::new(), first.len());
    for text in lines {
        // What follows a line that is none came after a power failure.
        let Ok(line) = serde_json::from_slice::<Line>(text) else { break };
        let Line { case, call, response, ended } = line;
        known.entry((case, call)).or_default().push_back(StoredAnswer { response, ended });
        whole += text.len();
    }
    Some((whole as u64, known))
}

/// A target whose answers are kept in a journal, or known from it.
pub(crate) struct JournaledTarget {
    target: Box<dyn Target + Send>,
    journal: Journal,
    /// The case that calls belong to.
    case: String,
    /// Whether it is given another mask where a call has none.
    has_other_masks: bool,
    ended: bool,
}

impl JournaledTarget {
    pub(crate) fn new(
        target: Box<dyn Target + Send>,
        journal: Journal,
        has_other_masks: bool,
    ) -> Self {
        Self { target, journal, case: String::new(), has_other_masks, ended: false }
    }

    fn answer(
        &mut self,
        id: String,
        call: &Call,
        ask: impl FnOnce(&mut dyn Target) -> Response,
    ) -> Response {
        let id = id_of(id, call, self.has_other_masks);
        if let Some(Answered { response, ended }) = self.journal.known(&self.case, &id) {
            self.ended |= ended;
            return response;
        }
        let response = ask(self.target.as_mut());
        let ended = self.target.take_ended();
        self.ended |= ended;
        self.journal.keep(&self.case, id, &response, ended);
        response
    }
}

impl Target for JournaledTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.answer(call_id(call), call, |target| target.call(call))
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        self.answer(call_id(call), call, |target| target.call_meanwhile(call, work))
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.answer(contiguous_id(call), call, |target| target.call_contiguous(call))
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        let none = || Response::NotAsked("the target is handed no views".into());
        let response = self.answer(transposed_id(call), call, |target| {
            target.call_transposed(call).unwrap_or_else(none)
        });
        Some(response).filter(|response| !matches!(response, Response::NotAsked(_)))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.target.puts_views(call)
    }

    fn begin(&mut self, case: &str) {
        case.clone_into(&mut self.case);
        self.target.begin(case);
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(self.target.as_mut())
    }

    fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }
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
            let n = known.as_ref().map(|(_, known)| known.values().map(VecDeque::len).sum());
            assert_eq!(n, lines.checked_sub(1), "{end}");
            assert!(known.is_none_or(|(bytes, _)| bytes <= end as u64));
        }
        let zeros = [journal(1), vec![0; 100], b"\n".to_vec(), journal(1)].concat();
        assert_eq!(read(&zeros, &head()).expect("a journal").0, journal(1).len() as u64);
    }

    #[test]
    fn answers_of_another_target_are_dropped() {
        let other = Head { environment: vec!["numpy 3".into()], ..head() };
        assert!(read(&journal(3), &other).is_none());
    }
}
