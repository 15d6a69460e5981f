//! `qkvet probe TARGET`: what a target computes, recovered from its outputs.

use std::process::ExitCode;
use std::sync::Arc;

use qkvet_report::{Progress, json_document, probe_text, probe_yaml, visible};
use qkvet_run::conventions::conventions;
use qkvet_run::probing;
use qkvet_run::process::{Watch, end_all};
use qkvet_run::runner::self_test;
use qkvet_spec::{Certainty, Probe, Unexpected};

use super::setup;
use crate::args::{ProbeArgs, ProbeFormat};
use crate::exit::{FINDINGS, Failure, HELD, INTERRUPTED, NOTHING};
use crate::out::is_live;
use qkvet_run::contracts::{Chosen, contracts};

pub(super) fn probe(args: &ProbeArgs) -> Result<ExitCode, Failure> {
    self_test()?;
    let catalog = setup::catalog(Some(&args.target), args.on.process.config.as_deref())?;
    let mut target = setup::target(
        &args.target,
        &args.on,
        &setup::dtypes(std::slice::from_ref(&args.dtype))?,
        &catalog,
    )?;
    let dtypes = setup::dtypes(std::slice::from_ref(&args.dtype))?;
    let declared = conventions(&target.entry, &args.on.declared.convention, &catalog)?;
    let Chosen { by_dtype, unused } =
        contracts(&target.entry, &args.on.declared.contract, &dtypes, &catalog)?;
    for line in &unused {
        tell!("warning: {line}");
    }
    let Some((dtype, contract)) = by_dtype.into_iter().next() else {
        let place = format!("--dtype {}", args.dtype);
        return Err(Unexpected::at(place, "a format with a contract").got("none").into());
    };
    let _ = ctrlc::set_handler(|| {
        end_all();
        #[expect(clippy::exit, reason = "a probe that is not finished has nothing to say")]
        std::process::exit(i32::from(INTERRUPTED));
    });
    let progress = Progress::new(is_live(), false);
    if let Some(limits) = target.adapter.limits_mut() {
        limits.watch = Watch::new(Arc::default(), progress.teller());
        progress.note(&format!("loading {}", target.name));
    }
    let probe = probing::probe(&target, &contract, dtype, &declared, &catalog)?;
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
