//! Answers: checked before they are believed: number, status, formats, the number of bytes against
//! the shape.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::wire::{HelloAnswer, RunAnswer, Status, WIRE, WireTensor};
use qkvet_spec::{Call, Handling, Output, Quoted, Response, Tensor};
use serde::Deserialize;

use super::error::{WireError, parse};
use super::scratch::Scratch;

/// Room for what a wrong result may have too much, in bytes: its shape is then named instead of its
/// length.
const ROOM: usize = 1 << 20;
/// The same for a result in a file, whose length is known before it is read.
const FILE_ROOM: usize = 16 << 20;
/// Room for what may lie between results in memory, in bytes.
const GAPS: usize = 192;
/// Room for what an answer says beside its tensors, in bytes.
const FRAME: usize = 64 << 10;

/// What was asked, as far as the answer must fit it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) seq: u64,
    pub(crate) weights: bool,
    pub(crate) lse: bool,
    /// Most bytes that the elements of a result may take within a line.
    pub(crate) most: usize,
    /// Bytes of all results in the format of the call, each at a place of its own.
    pub(crate) results: usize,
}

impl Asked {
    /// Twice the bytes of the results in the widest format, and some room.
    pub(crate) fn by(seq: u64, call: &Call) -> Self {
        let d = call.dims();
        let columns =
            d.d_v + if call.return_weights { d.n_k } else { 0 } + usize::from(call.return_lse);
        let elements =
            [d.b, d.h_q, d.n_q, columns].iter().fold(1, |size: usize, n| size.saturating_mul(*n));
        Self {
            seq,
            weights: call.return_weights,
            lse: call.return_lse,
            most: elements.saturating_mul(16).saturating_add(ROOM),
            results: elements.saturating_mul(call.dtype().size()).saturating_add(GAPS),
        }
    }

    /// Longest line of an answer in bytes.
    pub(crate) fn line_limit(&self) -> usize {
        (self.most / 3).saturating_mul(4).saturating_add(FRAME)
    }
}

/// An answer that was understood.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    /// What the target answered.
    pub(crate) response: Response,
    /// The process is not to be used again.
    pub(crate) fatal: bool,
    /// How long the call took, if it says.
    pub(crate) nanoseconds: Option<u64>,
}

/// Reads the answer to `hello`.
///
/// # Errors
/// The first field that is wrong.
pub(crate) fn read_hello(line: &[u8]) -> Result<HelloAnswer, WireError> {
    let answer: HelloAnswer = parse(line)?;
    if answer.ok && answer.wire != Some(WIRE) {
        let got = answer.wire.map_or_else(|| "none".to_owned(), |wire| wire.to_string());
        return Err(WireError::new("wire", WIRE, got));
    }
    if answer.ok && answer.name.is_none() {
        return Err(WireError::new("name", "the name of the program", "none"));
    }
    if !answer.ok && answer.message.is_none() {
        return Err(WireError::new("message", "why the program cannot run", "none"));
    }
    Ok(answer)
}

/// Reads the answer to a request.
///
/// # Errors
/// The first field that is wrong.
pub(crate) fn read_reply(
    line: &[u8],
    asked: &Asked,
    scratch: &Scratch,
) -> Result<Reply, WireError> {
    let answer: RunAnswer =
        parse(line).map_err(|error| WireError { in_step: has_seq(line, asked.seq), ..error })?;
    if answer.seq != asked.seq {
        let error = WireError::new("seq", asked.seq, answer.seq);
        let again = answer.seq.checked_add(1) == Some(asked.seq);
        return Err(if again {
            error.hint("one answer to each request: is this a second one?")
        } else {
            error
        });
    }
    let RunAnswer { fatal, nanoseconds, .. } = answer;
    let reason = match (&answer.reason, answer.status) {
        (Some(reason), _) => reason.clone(),
        (None, Status::Ok) => Quoted::default(),
        (None, _) => return Err(WireError::new("reason", "why, in words", "none").in_step()),
    };
    let response = match answer.status {
        Status::Ok => results(&answer, asked, scratch).map_err(WireError::in_step)?,
        Status::Unsupported => Response::Unsupported(reason),
        Status::Refused => Response::Refused(reason),
        Status::Error => Response::Error(reason),
        Status::Malformed => Response::Malformed(reason),
    };
    Ok(Reply { response, fatal, nanoseconds })
}

/// Whether a message that is wrong elsewhere answers this request all the same.
fn has_seq(line: &[u8], seq: u64) -> bool {
    #[derive(serde::Deserialize)]
    struct Numbered {
        seq: u64,
    }
    serde_json::from_slice::<Numbered>(line).is_ok_and(|numbered| numbered.seq == seq)
}

fn results(answer: &RunAnswer, asked: &Asked, scratch: &Scratch) -> Result<Response, WireError> {
    let mut found = BTreeMap::new();
    for (name, _) in [("output", true), ("weights", asked.weights), ("lse", asked.lse)]
        .iter()
        .filter(|(_, on)| *on)
    {
        let path = format!("tensors.{name}");
        let sent = answer
            .tensors
            .get(*name)
            .ok_or_else(|| WireError::new(path.as_str(), "a tensor", "none"))?;
        let Some(tensor) = tensor(&path, sent, asked, scratch)? else {
            let reason =
                format!("{name}: an array of shape {:?} is too large to be checked", sent.shape);
            return Ok(Response::Malformed(reason.into()));
        };
        found.insert(*name, tensor);
    }
    let Some(output) = found.remove("output") else {
        return Ok(Response::Malformed("no output".into()));
    };
    let (weights, lse) = (found.remove("weights"), found.remove("lse"));
    let inputs_unchanged = answer.inputs_unchanged.unwrap_or(true);
    // No program but ours sends it, so that whatever else it is, it is no mistake.
    let handling = answer.python.as_ref().and_then(|python| Handling::deserialize(python).ok());
    let handling = handling.unwrap_or_default();
    Ok(Response::Output(Box::new(Output { output, weights, lse, inputs_unchanged, handling })))
}

/// The tensor; `None` if it lies in a file and is far larger than what was asked for.
fn tensor(
    path: &str,
    sent: &WireTensor,
    asked: &Asked,
    scratch: &Scratch,
) -> Result<Option<Tensor>, WireError> {
    let field = |name: &str| format!("{path}.{name}");
    let Some(dtype) = sent.dtype.dtype() else {
        return Err(WireError::new(field("dtype"), "a floating-point format", sent.dtype.name()));
    };
    let size = sent.shape.iter().try_fold(dtype.size(), |size, n| size.checked_mul(*n));
    let bytes = match (&sent.data, &sent.file, size) {
        (Some(_), Some(_), _) => {
            return Err(WireError::new(path, "either `data` or `file`", "both"));
        }
        (None, None, _) if scratch.memory.is_none() || sent.offset.is_none() => {
            return Err(WireError::new(path, "either `data` or `file`", "neither"));
        }
        (None, _, None) => return Ok(None),
        (None, _, Some(size)) if size > asked.most.saturating_add(FILE_ROOM) => return Ok(None),
        (None, None, Some(size)) => {
            let offset = sent.offset.unwrap_or(0);
            let read = scratch.memory.as_ref().map(|memory| memory.answered(offset, size));
            read.transpose()
                .map_err(|error| {
                    let expected = format!("{size} bytes in memory from byte {offset}");
                    WireError::new(field("offset"), expected, error)
                })?
                .unwrap_or_default()
        }
        (None, Some(file), Some(size)) => {
            scratch.read(path, file, sent.offset.unwrap_or(0), size)?
        }
        (Some(data), None, size) => {
            let bytes = BASE64.decode(data.as_bytes()).map_err(|error| {
                WireError::new(field("data"), "base64", format!("text that is none: {error}"))
            })?;
            if size != Some(bytes.len()) {
                let size = size.map_or_else(
                    || "more than can be addressed".to_owned(),
                    |size| size.to_string(),
                );
                let expected = format!("{size} bytes for {dtype} of shape {:?}", sent.shape);
                return Err(WireError::new(
                    field("data"),
                    expected,
                    format!("{} bytes", bytes.len()),
                ));
            }
            bytes
        }
    };
    Ok(Some(Tensor { dtype, shape: sent.shape.clone(), data: format::decode(&bytes, dtype) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let scratch = Scratch::make().unwrap();
        let asked = Asked { seq: 3, weights: false, lse: false, most: 1000, results: 0 };
        let got = match read_reply(line.as_bytes(), &asked, &scratch) {
            Ok(reply) => format!("{:?}", reply.response),
            Err(error) => {
                format!("{}{error}", if error.in_step { "in step: " } else { "out of step: " })
            }
        };
        assert!(got.contains(expected), "{line}\n  expected {expected}\n  got {got}");
    }

    #[test]
    fn replies() {
        let ok = |tensor: &str| {
            format!(r#"{{"seq":3,"status":"ok","new":[1],"tensors":{{"output":{tensor}}}}}"#)
        };
        check(&ok(r#"{"dtype":"float32","shape":[1],"data":"AACAPw=="}"#), "data: [1.0]");
        check(
            &ok(r#"{"dtype":"bfloat16","shape":[1,2],"data":"gD+APw==","new":1}"#),
            "data: [1.0, 1.0]",
        );
        check(&ok(r#"{"dtype":"float16","shape":[0,9],"data":""}"#), "data: []");
        check(
            &ok(r#"{"dtype":"float32","shape":[2],"data":"AACAPw=="}"#),
            "in step: tensors.output.data: expected 8 bytes for float32 of shape [2], got 4 bytes",
        );
        let huge = r#"{"dtype":"float64","shape":[4294967296,4294967296,9],"data":""}"#;
        check(&ok(huge), "more than can be addressed");
        check(&ok(&huge.replace("data\":\"", "file\":\"a")), "is too large to be checked");
        check(
            &ok(r#"{"dtype":"int16","shape":[1],"data":""}"#),
            "in step: tensors.output.dtype: expected one of `float64`",
        );
        check(
            &ok(r#"{"dtype":"bool","shape":[1],"data":"AA=="}"#),
            "expected a floating-point format, got bool",
        );
        check(
            &ok(r#"{"dtype":"int64","shape":[0],"data":""}"#),
            "expected a floating-point format, got int64",
        );
        check(
            &ok(r#"{"dtype":"float32","shape":[1],"data":"A*"}"#),
            "tensors.output.data: expected base64, got text",
        );
        check(
            &ok(r#"{"dtype":"float32","shape":[1,-1],"data":""}"#),
            "in step: tensors.output.shape[1]: expected a whole number from 0, got the number `-1`",
        );
        check(
            &ok(r#"{"dtype":"float32","shape":[1]}"#),
            "tensors.output: expected either `data` or `file`, got neither",
        );
        check(&ok(r#"{"dtype":"float32","shape":[1],"data":"","file":"a"}"#), "got both");
        check(r#"{"seq":3,"status":"ok"}"#, "in step: tensors.output: expected a tensor, got none");
        check(r#"{"seq":4,"status":"ok"}"#, "out of step: seq: expected 3, got 4");
        check(r#"{"seq":2,"status":"ok"}"#, "out of step: seq: expected 3, got 2");
        check(r#"{"status":"ok"}"#, "out of step: seq: expected a value, got none");
        check(
            r#"{"seq":3,"status":"fine"}"#,
            "in step: status: expected one of `ok`, `unsupported`",
        );
        check(r#"{"seq":3,"status":"refused","reason":"n_k = 0"}"#, "Refused(\"n_k = 0\")");
        for status in ["unsupported", "refused", "error", "malformed"] {
            let line = format!(r#"{{"seq":3,"status":"{status}"}}"#);
            check(&line, "in step: reason: expected why, in words, got none");
        }
        check(r#"{"seq":3,"sta"#, "out of step: expected a JSON object, got \"{\\\"seq");
        check(r#"{"seq":3,"status":"refused"} {}"#, "expected one JSON object on the line");
        check("[1", "out of step");
    }

    #[test]
    fn greetings() {
        let check = |line: &str, expected: &str| {
            let told = read_hello(line.as_bytes()).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        };
        assert!(read_hello(br#"{"ok":true,"wire":1,"name":"x","later":{}}"#).is_ok());
        assert!(read_hello(br#"{"ok":false,"message":"no device"}"#).is_ok());
        check(r#"{"ok":false}"#, "message: expected why the program cannot run, got none");
        check(r#"{"ok":true,"wire":2,"name":"x"}"#, "wire: expected 1, got 2");
        check(r#"{"ok":true,"wire":1}"#, "name: expected the name of the program, got none");
        check(r#"{"ok":1}"#, "ok: expected true or false, got the number `1`");
        check(
            r#"{"ok":true,"wire":1,"name":"x","supports":{"dtypes":"all"}}"#,
            "supports.dtypes: expected a list, got the text",
        );
        check(r#"{"wire":1}"#, "ok: expected a value, got none");
        check("{ready", "expected a JSON object");
    }
}
