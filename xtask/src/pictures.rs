//! `cargo xtask pictures`: the pictures of the README, and pages as they look in a browser, to be
//! looked at after a change to them.

use std::fs;

use crate::step::{self, Failure};
use crate::{python, test};

/// Runs the tests of pages, which take the pictures.
pub(crate) fn run() -> Result<(), Failure> {
    let python = python::environment()?;
    let folder = step::target_dir()?.join("pictures");
    let failed = |error: std::io::Error| Failure::Setup(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    step::build()?;
    step::run(
        test::runner(
            test::Tier::Standard,
            &[
                "--package",
                "qkvet-tests",
                "-E",
                "test(/^(page|exam_pages|documents::first_page)::/)",
            ],
        )?
        .env("QKVET_TEST_PYTHON", &python)
        .env("QKVET_TEST_PICTURES", &folder),
    )?;
    let taken = fs::read_dir(&folder).map_err(failed)?.count();
    if taken == 0 {
        return Err(Failure::Setup(
            "no picture was taken: the tests of pages need a Chromium on this machine".to_owned(),
        ));
    }
    eprintln!("==> {taken} pictures in {}", folder.display());
    Ok(())
}
