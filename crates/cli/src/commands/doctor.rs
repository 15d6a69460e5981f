//! `qkvet doctor TARGET`: the whole conversation with a program, once, with every message shown.

use std::process::ExitCode;

use qkvet_report::{DoctorText, Progress, doctor_line, json_document};
use qkvet_run::doctor::{DoctorConfig, examine};
use qkvet_run::process::Watch;
use qkvet_run::run::self_test;
use qkvet_spec::{Diagnosis, DoctorEvent, DoctorReport, Dtype, Unexpected};

use super::launch::end_on_interrupt;
use super::setup;
use crate::args::{DoctorArgs, DocumentFormat};
use crate::exit::{FINDINGS, Failure, HELD, TARGET};
use crate::out::{say_raw, write_text};

pub(super) fn doctor(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    self_test()?;
    let home = setup::home(&args.target, args.on.process.config.as_deref())?;
    let catalog = home.catalog()?;
    let mut target = setup::target(&home, &args.target, &args.on, None, &[], &catalog)?;
    let declared = setup::declared(&target, &args.on.declared, &Dtype::CHECKED, &catalog)?;
    let config = DoctorConfig {
        meaning: declared.meaning(),
        contracts: declared.by_dtype(),
        conventions: catalog.conventions.values().collect(),
    };
    // Nothing is lost: every line was shown as it came.
    target.limits.watch = Watch::new(end_on_interrupt(), Progress::new(false, false).teller());
    let (mut text, mut events) = (DoctorText::default(), Vec::new());
    let mut show = |event: DoctorEvent| match args.format {
        DocumentFormat::Human => say_raw(&text.event(&event)),
        DocumentFormat::Json => events.push(event),
    };
    let diagnosis = examine(&target, &config, &mut show).map_err(|instead| {
        let name = &target.name;
        let expected = "a program or a Python function";
        let wrong = Unexpected::at(format!("target `{name}`"), expected).got(instead);
        wrong.hint(format!("`qkvet check {name}`"))
    })?;
    match args.format {
        DocumentFormat::Human => say_raw(&doctor_line(diagnosis)),
        DocumentFormat::Json => {
            write_text(&json_document(&DoctorReport { target: target.name, diagnosis, events })?)?;
        }
    }
    Ok(ExitCode::from(match diagnosis {
        Diagnosis::Well | Diagnosis::NotOffered => HELD,
        Diagnosis::Wrong => FINDINGS,
        Diagnosis::Broken => TARGET,
    }))
}
