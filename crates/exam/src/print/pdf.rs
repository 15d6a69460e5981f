//! PDFs of the documents of an exam.

use crate::error::ExamError;
use crate::file::{Exported, File};

/// Whether this program makes PDFs: it was built with the feature `pdf`.
pub const HAS_PDF: bool = cfg!(feature = "pdf");

/// A PDF/UA-1 beside each Typst source among the files of an exam, as secret as that is. The same
/// sources give the same bytes.
///
/// # Errors
/// A program that was built without the feature `pdf`; a document that the typesetter refuses.
#[cfg(feature = "pdf")]
pub fn pdfs(files: &[File]) -> Result<Vec<Exported>, ExamError> {
    let typesetter = super::typesetter::Typesetter::new()?;
    let sources = files.iter().filter_map(|file| Some((file, file.path.strip_suffix(".typ")?)));
    sources
        .map(|(file, stem)| {
            let bytes = typesetter.pdf(&file.path, &file.text)?;
            Ok(Exported { path: format!("{stem}.pdf"), bytes, secret: file.secret })
        })
        .collect()
}

/// A PDF/UA-1 beside each Typst source among the files of an exam, as secret as that is. The same
/// sources give the same bytes.
///
/// # Errors
/// A program that was built without the feature `pdf`; a document that the typesetter refuses.
#[cfg(not(feature = "pdf"))]
pub fn pdfs(_: &[File]) -> Result<Vec<Exported>, ExamError> {
    Err(ExamError::NoPdf)
}
