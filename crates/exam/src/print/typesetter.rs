//! PDF from Typst source by the embedded compiler: PDF/UA-1, nothing read from the machine, no
//! date, the same bytes every time.

use typst::diag::{FileError, FileResult, SourceDiagnostic};
use typst::foundations::{Bytes, Datetime, Duration, Smart};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt, World};
use typst_layout::PagedDocument;
use typst_pdf::{PdfOptions, PdfStandard, PdfStandards};

use crate::error::ExamError;

/// Makes PDFs, with fonts of its own.
pub(super) struct Typesetter {
    library: LazyHash<Library>,
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
    options: PdfOptions,
}

impl Typesetter {
    /// A press without any document.
    ///
    /// # Errors
    /// Never with this compiler; one without PDF/UA-1.
    pub(super) fn new() -> Result<Self, ExamError> {
        let standards = PdfStandards::new(&[PdfStandard::Ua_1]).map_err(|error| {
            ExamError::Pdf { what: "PDF/UA-1".to_owned(), reason: error.message().to_string() }
        })?;
        let fonts: Vec<Font> =
            typst_assets::fonts().flat_map(|data| Font::iter(Bytes::new(data))).collect();
        Ok(Self {
            library: LazyHash::new(Library::default()),
            book: LazyHash::new(FontBook::from_fonts(&fonts)),
            fonts,
            options: PdfOptions {
                creator: Smart::Custom(Some("qkvet".to_owned())),
                standards,
                ..PdfOptions::default()
            },
        })
    }

    /// The PDF of a document; `what` names it in errors.
    ///
    /// # Errors
    /// Source that Typst refuses, and formulas without words for screen readers.
    pub(super) fn pdf(&self, what: &str, source: &str) -> Result<Vec<u8>, ExamError> {
        let failed = |reason: String| ExamError::Pdf { what: what.to_owned(), reason };
        let path = VirtualPath::new("main.typ").map_err(|error| failed(format!("{error:?}")))?;
        let main =
            Source::new(RootedPath::new(VirtualRoot::Project, path).intern(), source.to_owned());
        let sheet = Sheet { typesetter: self, main };
        // What the document before left behind is of no use to this one.
        typst::comemo::evict(0);
        typst::compile::<PagedDocument>(&sheet)
            .output
            .and_then(|document| typst_pdf::pdf(&document, &self.options))
            .map_err(|errors| failed(first(&errors)))
    }
}

fn first(errors: &[SourceDiagnostic]) -> String {
    errors.first().map_or_else(String::new, |error| error.message.to_string())
}

/// One document on the press.
struct Sheet<'a> {
    typesetter: &'a Typesetter,
    main: Source,
}

impl World for Sheet<'_> {
    fn library(&self) -> &LazyHash<Library> {
        &self.typesetter.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        &self.typesetter.book
    }

    fn main(&self) -> FileId {
        self.main.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == self.main.id() { Ok(self.main.clone()) } else { Err(FileError::AccessDenied) }
    }

    fn file(&self, _: FileId) -> FileResult<Bytes> {
        Err(FileError::AccessDenied)
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.typesetter.fonts.get(index).cloned()
    }

    fn today(&self, _: Option<Duration>) -> Option<Datetime> {
        None
    }
}
