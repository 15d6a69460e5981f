//! Commands and flags, as their help has them.

use clap::{Arg, Command, CommandFactory};
use qkvet_report::paragraph;

use crate::args::Args;

/// Every command that is shown, under its full name: `snapshot check`.
fn commands() -> Vec<(String, Command)> {
    fn add(before: &str, command: &Command, all: &mut Vec<(String, Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = format!("{before}{}", sub.get_name());
            add(&format!("{name} "), sub, all);
            all.push((name, sub.clone()));
        }
    }
    let mut all = Vec::new();
    add("", &Args::command(), &mut all);
    all
}

fn flag(arg: &Arg) -> Option<String> {
    arg.get_long().map(|long| format!("--{long}"))
}

/// Names of commands, then of flags, each once.
pub(super) fn names() -> [Vec<String>; 2] {
    let commands = commands();
    let mut flags: Vec<String> =
        commands.iter().flat_map(|(_, command)| command.get_arguments().filter_map(flag)).collect();
    flags.sort_unstable();
    flags.dedup();
    [commands.into_iter().map(|(name, _)| name).collect(), flags]
}

/// Explains a command or a flag; whether there is one of this name.
pub(super) fn explain_flag(name: &str) -> bool {
    let commands = commands();
    if let Some((name, command)) = commands.iter().find(|(own, _)| own == name) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        say!("command qkvet {name}\n\n{}\n\nhelp     qkvet {name} --help", paragraph(&about));
        return true;
    }
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (of, command) in &commands {
        let is = |arg: &&Arg| {
            flag(arg).is_some_and(|own| own.trim_start_matches('-') == name.trim_start_matches('-'))
                || arg.get_short().is_some_and(|short| format!("-{short}") == name)
        };
        for arg in command.get_arguments().filter(is) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            match told.iter_mut().find(|(other, _)| *other == help) {
                Some((_, all)) => all.push(of),
                None => told.push((help, vec![of])),
            }
        }
    }
    if !told.is_empty() {
        say!("flag {name}");
    }
    for (help, of) in &told {
        say!("\n{}\n\nof       {}", paragraph(help), of.join(", "));
    }
    !told.is_empty()
}
