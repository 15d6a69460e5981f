//! `qkvet.yaml`: a profile of a file that was read has settings.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use qkvet_run::config::Config;

fuzz_target!(|source: &str| {
    let Ok(config) = Config::parse("qkvet.yaml", source) else { return };
    for name in config.profiles.keys() {
        config.settings(name, Path::new("qkvet.yaml")).expect("a profile of the file");
    }
});
