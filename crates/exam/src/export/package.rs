//! Zip files whose bytes depend on what is in them alone.

use std::io::{Cursor, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::error::ExamError;

/// A zip file of named texts, stored as they are.
pub(super) fn zipped(entries: &[(String, String)]) -> Result<Vec<u8>, ExamError> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o600);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in entries {
        writer.start_file(name.as_str(), options)?;
        writer.write_all(text.as_bytes()).map_err(ZipError::from)?;
    }
    Ok(writer.finish()?.into_inner())
}
