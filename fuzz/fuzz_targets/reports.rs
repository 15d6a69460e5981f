//! Reports that are read again, in every format.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use qkvet_report::{ReportFormat, render, write_as};
use qkvet_spec::{Catalog, Summary};

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().expect("specifications"));

fuzz_target!(|source: &str| {
    let Ok(summary) = serde_json::from_str::<Summary>(source) else { return };
    let _ = render(&summary);
    for format in ReportFormat::ALL {
        let _ = write_as(format, &summary, &CATALOG);
    }
});
