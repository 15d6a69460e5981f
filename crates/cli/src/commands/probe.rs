//! `qkvet probe TARGET`: what a target computes, recovered from its outputs.

use std::process::ExitCode;

use qkvet_report::{Progress, json_document, probe_text, probe_yaml, visible};
use qkvet_run::probing;
use qkvet_run::process::Watch;
use qkvet_run::run::self_test;
use qkvet_spec::{Certainty, Probe};

use super::launch::{end_on_interrupt, tell_first};
use super::setup;
use crate::args::{ProbeArgs, ProbeFormat};
use crate::exit::{FINDINGS, Failure, HELD, NOTHING};
use crate::out::is_live;

pub(super) fn probe(args: &ProbeArgs) -> Result<ExitCode, Failure> {
    self_test()?;
    let home = setup::home(&args.target, args.on.process.config.as_deref())?;
    let catalog = home.catalog()?;
    let dtypes = setup::dtypes(std::slice::from_ref(&args.dtype))?;
    let mut target = setup::target(&home, &args.target, &args.on, None, &dtypes, &catalog)?;
    let declared = setup::declared(&target, &args.on.declared, &dtypes, &catalog)?;
    tell_first(&[], &declared);
    let contract = declared.contract(dtypes[0])?;
    // A probe that is not finished has nothing to say.
    let stop = end_on_interrupt();
    let progress = Progress::new(is_live(), false);
    target.limits.watch = Watch::new(stop, progress.teller());
    if target.adapter.max_restarts().is_some() {
        progress.note(&format!("loading {}", target.name));
    }
    let probe = probing::probe(&target, contract, dtypes[0], &declared.conventions, &catalog)?;
    let code = code(&probe);
    let text = match args.format {
        ProbeFormat::Human => probe_text(&probe),
        // Comments hold names of others.
        ProbeFormat::Yaml => visible(&probe_yaml(&probe)).into_owned(),
        ProbeFormat::Json => json_document(&probe)?,
    };
    crate::out::write_text(&text)?;
    Ok(ExitCode::from(code))
}

fn code(probed: &Probe) -> u8 {
    let any =
        |wanted: &[Certainty]| probed.fields.iter().any(|field| wanted.contains(&field.certainty));
    if any(&[Certainty::Mixed, Certainty::None, Certainty::Broken]) {
        FINDINGS
    } else if any(&[Certainty::Decided, Certainty::Undecided, Certainty::Estimate]) {
        HELD
    } else {
        NOTHING
    }
}
