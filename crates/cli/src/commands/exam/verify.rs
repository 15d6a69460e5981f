//! `qkvet exam verify`: every answer derived again by the engine, every file compared with what its key makes.

#![allow(clippy::disallowed_methods, reason = "reads the folder that the user names")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use qkvet_exam::key::Key;
use qkvet_exam::verify::{Verified, differing, verify as derive};

use super::super::setup;
use crate::exit::{FINDINGS, Failure, HELD};

pub(super) fn verify(folder: &Path) -> Result<ExitCode, Failure> {
    let catalog = setup::catalog(None, None)?;
    let keys = keys(folder)?;
    let mut wrong = Vec::new();
    let (mut answers, mut mistakes) = (0, 0);
    for (name, text) in &keys {
        let key = match Key::from_json(text) {
            Ok(key) => key,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        match key.sources(&catalog) {
            Ok((_, library)) => {
                let verified: Verified = derive(&key, &library, &catalog);
                answers += verified.answers;
                mistakes += verified.mistakes;
                wrong.extend(verified.wrong.into_iter().map(|reason| format!("{name}: {reason}")));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    if let Some(key) = keys.values().find_map(|text| Key::from_json(text).ok()) {
        let file = |path: &str| fs::read(folder.join(path)).ok();
        wrong.extend(differing(&key, &file, &catalog));
    }
    for reason in &wrong {
        say!("wrong  {reason}");
    }
    say!(
        "{} keys: {answers} answers and {mistakes} values of mistakes derived again by the engine; {} wrong",
        keys.len(),
        wrong.len()
    );
    Ok(ExitCode::from(if wrong.is_empty() { HELD } else { FINDINGS }))
}

/// Name and text of every key.
pub(super) fn keys(folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let path = folder.join("key");
    let at = path.display();
    let failed = |error: std::io::Error| Failure::Usage(format!("folder {at}: {error}"));
    let mut keys = BTreeMap::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)
                .map_err(|error| Failure::Usage(format!("file {}: {error}", path.display())))?;
            keys.insert(name, text);
        }
    }
    if keys.is_empty() {
        return Err(Failure::Usage(format!("folder {at}: expected keys that `qkvet exam build` wrote, got none")));
    }
    Ok(keys)
}
