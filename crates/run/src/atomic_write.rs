//! Files that are there as a whole or not at all: another one beside takes the place of what was
//! there.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Files of this process so far: no two of them are written under one name.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Writes a file as a whole or not at all. Whoever reads it meanwhile, or is ended meanwhile, finds
/// what was there before or all of it; of two that write it at once one wins. A device or a pipe,
/// such as `/dev/stdout`, is written to as it is.
///
/// # Errors
/// A folder that is not there or cannot be written, a full disk: nothing is left behind then.
pub fn atomic_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    atomic_write_with(path, |to| to.write_all(bytes))
}

/// The same, of bytes that are made on the way.
///
/// # Errors
/// As [`atomic_write`], and those of `write`.
pub fn atomic_write_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let to_file = |file: File| {
        let mut to = BufWriter::new(file);
        write(&mut to)?;
        to.flush()
    };
    // The file behind a link is replaced, not the link.
    let path = if path.is_symlink() {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    } else {
        path.to_owned()
    };
    let is_plain = fs::metadata(&path).map_or(true, |about| about.is_file());
    let Some(beside) = beside(&path).filter(|_| is_plain) else {
        return to_file(File::options().write(true).open(&path)?);
    };
    let written =
        File::create_new(&beside).and_then(to_file).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // Half a file is of no use to anyone.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Keeps others from changing the files of the folder of `path` while what is returned lives:
/// whoever holds it too has to wait. It is the folder itself that is held, so that nothing is left
/// behind. Where folders cannot be held (Windows), nobody waits.
pub fn hold(path: &Path) -> Option<File> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder that is not there yet is made by whoever writes the file.
    let _ = fs::create_dir_all(folder);
    let held = File::open(folder).ok()?;
    held.lock().ok()?;
    Some(held)
}

/// A name in the same folder that nobody else uses; short, for the name itself may be as long as
/// names can be.
fn beside(path: &Path) -> Option<PathBuf> {
    path.file_name()?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Some(path.with_file_name(OsString::from(format!(".qkvet-{}-{number}.tmp", std::process::id()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.json");
        for text in ["first", "second"] {
            atomic_write(&path, text.as_bytes()).expect("a file");
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        }
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn of_two_that_change_a_file_one_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("count");
        fs::write(&path, "0").expect("a file");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _held = hold(&path).expect("a folder that can be held");
                    let n: usize =
                        fs::read_to_string(&path).expect("a file").parse().expect("a number");
                    std::thread::yield_now();
                    atomic_write(&path, (n + 1).to_string().as_bytes()).expect("a file");
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).expect("a file"), "8");
        assert_eq!(names(folder.path()), ["count"]);
    }

    #[test]
    fn what_fails_on_the_way_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.json");
        atomic_write(&path, b"before").expect("a file");
        let error = atomic_write_with(&path, |to| {
            to.write_all(b"half of it")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(error.expect_err("an error").to_string(), "the disk is full");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "before");
        assert_eq!(names(folder.path()), ["report.json"]);
        assert!(atomic_write(&folder.path().join("absent/report.json"), b"x").is_err());
        assert!(atomic_write(folder.path(), b"x").is_err());
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn a_name_of_any_length_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("n".repeat(255));
        atomic_write(&path, b"x").expect("a file");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "x");
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_links_and_devices_devices() {
        let folder = tempfile::tempdir().expect("a folder");
        let (there, link) = (folder.path().join("there"), folder.path().join("link"));
        fs::write(&there, "old").expect("a file");
        std::os::unix::fs::symlink(&there, &link).expect("a link");
        atomic_write(&link, b"new").expect("a file");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&there).expect("a file"), "new");
        atomic_write(Path::new("/dev/null"), b"x").expect("a device");
        assert!(!Path::new("/dev/null").is_file());
        let full = Path::new("/dev/full");
        assert!(!full.exists() || atomic_write(full, b"x").is_err());
    }

    /// Readers beside writers see one text or the other, as long as they are.
    #[test]
    fn nobody_sees_half_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("case.json");
        let texts = ["a".repeat(200_000), "b".repeat(100_000)];
        atomic_write(&path, texts[0].as_bytes()).expect("a file");
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| {
                    for _ in 0..40 {
                        atomic_write(&path, text.as_bytes()).expect("a file");
                    }
                });
            }
            for _ in 0..80 {
                let seen = fs::read_to_string(&path).expect("a file");
                assert!(texts.contains(&seen), "{} bytes", seen.len());
            }
        });
        assert_eq!(names(folder.path()), ["case.json"]);
    }
}
