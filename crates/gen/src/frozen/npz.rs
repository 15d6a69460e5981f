//! Archives as NumPy's `.npz`: a zip file whose entries are `.npy` files, stored as they are.

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::archive::Archive;
use super::npy::{self, Entry};
use crate::GenError;

/// More entries are not ours.
const MAX_ENTRIES: usize = 64;

pub(super) fn write(archive: &Archive) -> Result<Vec<u8>, GenError> {
    let failed = |error: &dyn std::fmt::Display| {
        GenError::new("file", "archive", "a zip file", error.to_string())
    };
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let texts = archive.texts.iter().map(|(name, text)| (name, npy::write_text(text)));
    for (name, bytes) in
        texts.chain(archive.arrays.iter().map(|(name, array)| (name, npy::write_array(array))))
    {
        let options = options.large_file(u32::try_from(bytes.len()).is_err());
        writer.start_file(format!("{name}.npy"), options).map_err(|error| failed(&error))?;
        writer.write_all(&bytes).map_err(|error| failed(&error))?;
    }
    Ok(writer.finish().map_err(|error| failed(&error))?.into_inner())
}

/// Reads all entries. They are stored, so nothing can be larger than the file that it is in.
pub(super) fn read(bytes: &[u8]) -> Result<Archive, GenError> {
    let failed = |place: &str, error: &dyn std::fmt::Display| {
        let expected =
            "a zip file of stored entries, as numpy.savez writes it (not savez_compressed)";
        GenError::new("file", place, expected, error.to_string())
    };
    let mut zip =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| failed("its directory", &error))?;
    if zip.len() > MAX_ENTRIES {
        return Err(GenError::new(
            "entries",
            "its directory",
            format!("{MAX_ENTRIES} at most"),
            zip.len().to_string(),
        ));
    }
    let mut archive = Archive::default();
    for at in 0..zip.len() {
        let place = format!("entry {at}");
        let mut entry = zip.by_index(at).map_err(|error| failed(&place, &error))?;
        let name = entry.name().map_err(|error| failed(&place, &error))?.into_owned();
        if entry.compression() != CompressionMethod::Stored || entry.size() > bytes.len() as u64 {
            return Err(failed(
                &format!("entry `{name:.64}`"),
                &format!("{} of {} bytes", entry.compression(), entry.size()),
            ));
        }
        let Some(stem) = name.strip_suffix(".npy") else {
            return Err(GenError::new(
                "entry",
                place,
                "a name that ends in .npy",
                format!("`{name:.64}`"),
            ));
        };
        let mut content = Vec::new();
        let limit = bytes.len() as u64;
        entry
            .by_ref()
            .take(limit)
            .read_to_end(&mut content)
            .map_err(|error| failed(&place, &error))?;
        let known = archive.arrays.contains_key(stem) || archive.texts.contains_key(stem);
        if known {
            return Err(GenError::new(
                "entry",
                place,
                "each name once",
                format!("`{name:.64}` again"),
            ));
        }
        match npy::read(stem, &content)? {
            Entry::Array(array) => drop(archive.arrays.insert(stem.to_owned(), array)),
            Entry::Text(text) => drop(archive.texts.insert(stem.to_owned(), text)),
        }
    }
    Ok(archive)
}
