//! What is said: text on standard output, notices on standard error. Neither panics when it cannot
//! be written, and text of others moves no cursor and is no command of a CI service.

use std::fmt::Arguments;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use qkvet_report::{no_command, visible};
use qkvet_spec::Unexpected;

use crate::exit::Failure;

/// The first error of standard output. What follows it is not written.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// A line on standard output.
macro_rules! say {
    () => { $crate::out::say(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::say(format_args!("{}\n", format_args!($($text)*))) };
}

/// A line on standard error.
macro_rules! tell {
    ($($text:tt)*) => { $crate::out::tell(format_args!($($text)*)) };
}

/// Text on standard output; that it could not be written is said in the end.
pub(crate) fn say(text: Arguments<'_>) {
    say_raw(&no_command(&visible(&text.to_string())));
}

/// The same of text that is visible already, and may have colors.
pub(crate) fn say_raw(text: &str) {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    if lost.is_none() {
        *lost = anstream::stdout().write_all(text.as_bytes()).err();
    }
}

/// Text on standard output, all of it.
pub(crate) fn write_text(text: &str) -> Result<(), Failure> {
    say_raw(text);
    written()
}

/// The same of text that is made on the way and has no colors.
pub(crate) fn say_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    if lost.is_none() {
        let mut to = BufWriter::new(io::stdout().lock());
        *lost = write(&mut to).and_then(|()| to.flush()).err();
    }
}

pub(crate) fn unwritten(error: io::Error) -> Unexpected {
    Unexpected::at("standard output", "to be written").error(error)
}

/// What could not be written.
///
/// # Errors
/// A full disk and the like. A closed pipe is the reader's choice.
pub(crate) fn written() -> Result<(), Failure> {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    let result = lost.take().map_or_else(|| anstream::stdout().flush(), Err);
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritten(error).into()),
        Err(error) => {
            // Nothing more is written to it.
            *lost = Some(error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// A line on standard error, which is not worth dying for.
pub(crate) fn tell(text: Arguments<'_>) {
    let text = format!("{text}\n");
    let _ = anstream::stderr().write_all(no_command(&visible(&text)).as_bytes());
}

/// The columns of the terminal that standard output is, if it is one. One that does not say how
/// wide it is has eighty.
pub(crate) fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal
        .is_term()
        .then(|| terminal.size_checked().map_or(80, |(_, columns)| usize::from(columns)))
}

/// The current folder, if standard output is a terminal that follows links to files.
pub(crate) fn links() -> Option<String> {
    let follows = supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
    let folder = follows.then(std::env::current_dir)?.ok()?;
    Some(folder.to_str()?.replace('\\', "/")).filter(|folder| folder.starts_with('/'))
}

/// Whether standard error is a terminal on which a line can be drawn again: one that calls itself
/// dumb cannot.
pub(crate) fn is_live() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
