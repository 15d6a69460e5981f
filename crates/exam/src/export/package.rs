//! Zip files whose bytes depend on what is in them alone.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::error::ExamError;

/// A zip file of named texts, stored as they are.
pub(super) fn zipped(entries: &[(String, String)]) -> Result<Vec<u8>, ExamError> {
    let failed = |error: &dyn std::fmt::Display| {
        ExamError::Key(format!("an archive that cannot be written: {error}"))
    };
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o600);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in entries {
        writer.start_file(name.as_str(), options).map_err(|error| failed(&error))?;
        writer.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    }
    Ok(writer.finish().map_err(|error| failed(&error))?.into_inner())
}
