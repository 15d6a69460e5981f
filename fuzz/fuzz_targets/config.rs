//! Files that people keep: `qkvet.yaml`, where a profile of a file that was read has settings,
//! known deviations, snapshots.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use qkvet_report::{read_known, read_snapshot, remove_known, write_snapshot};
use qkvet_run::config::Config;

fuzz_target!(|source: &str| {
    if let Ok(snapshot) = read_snapshot("x.yaml", source) {
        let _ = read_snapshot("x.yaml", &write_snapshot(&snapshot)).expect("what was written");
    }
    if let Ok(known) = read_known("x.yaml", source) {
        let _ = read_known("x.yaml", &remove_known(source, &known, &|at| at == 0)).expect("what was written");
    }
    let Ok(config) = Config::parse("qkvet.yaml", source) else { return };
    for name in config.profiles.keys() {
        config.settings(name, Path::new("qkvet.yaml")).expect("a profile of the file");
    }
});
