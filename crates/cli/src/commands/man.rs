//! `qkvet man`: manual pages, made of the same words as `--help`.

#![allow(clippy::disallowed_methods, reason = "files are what this command is for")]

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use qkvet_run::whole::write_whole;

use super::launch::write_text;
use crate::args::Args;
use crate::exit::{Failure, HELD};

pub(super) fn man(out: Option<&Path>) -> Result<ExitCode, Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = out else {
        let page =
            page(&command).map_err(|error| Failure::Usage(format!("manual page: {error}")))?;
        write_text(&String::from_utf8_lossy(&page))?;
        return Ok(ExitCode::from(HELD));
    };
    let fail = |path: &Path, error: io::Error| {
        Failure::Usage(format!(
            "manual page at {}: expected to be written, got: {error}",
            path.display()
        ))
    };
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, error))?;
    let mut pages = Vec::new();
    collect(&command, "qkvet", &mut pages);
    for (name, command) in &pages {
        let path = folder.join(format!("{name}.1"));
        page(command)
            .and_then(|page| write_whole(&path, &page))
            .map_err(|error| fail(&path, error))?;
    }
    say!("{} manual pages in {}", pages.len(), folder.display());
    Ok(ExitCode::from(HELD))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

/// The command and those below it that people see, each under the name of its page:
/// `qkvet-onnx-run`.
fn collect(command: &Command, name: &str, pages: &mut Vec<(String, Command)>) {
    pages.push((name.to_owned(), command.clone()));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        collect(inner, &format!("{name}-{}", inner.get_name()), pages);
    }
}
