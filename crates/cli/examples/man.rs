//! `cargo xtask man`: manual pages, made of the same words as `--help`. No user's binary needs the
//! code that typesets them.
#![allow(clippy::disallowed_methods, reason = "files are what this program is for")]
#![allow(clippy::print_stdout, reason = "says where the pages are")]

#[path = "../src/args/mod.rs"]
#[allow(dead_code, unused_imports, reason = "of the arguments only their help is read")]
mod args;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: man FOLDER");
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or_else(usage)?;
    let mut command = args::Args::command().disable_help_subcommand(true);
    command.build();
    std::fs::create_dir_all(&folder)?;
    let pages = write(&command, "qkvet", &folder)?;
    println!("{pages} manual pages in {}", folder.display());
    Ok(())
}

/// Writes the page of the command and those of the commands below it that people see, each under
/// its own name (`qkvet-onnx-run`), and counts them.
fn write(command: &Command, name: &str, folder: &Path) -> io::Result<usize> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    std::fs::write(folder.join(format!("{name}.1")), page)?;
    let mut pages = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages += write(inner, &format!("{name}-{}", inner.get_name()), folder)?;
    }
    Ok(pages)
}
