//! Reports on standard output and in files.

#![allow(
    clippy::disallowed_methods,
    reason = "reports are written here and nowhere else, and people are told how long it took"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use qkvet_report::{
    Detail, LiveStream, ReportFormat, ReportStyle, RunEnd, markdown, render_in, write_as,
    write_json, write_ndjson, write_ndjson_end,
};
use qkvet_run::atomic_write::{atomic_write, atomic_write_with};
use qkvet_run::record::is_of_tests;
use qkvet_spec::{Catalog, Event, Summary, Unexpected};

use super::setup;
use crate::args::{OutputArgs, ReportArgs, Wish, Wishes};
use crate::exit::{Failure, code};
use crate::out::write_text;
use crate::out::{columns, links, say_with, written};

/// The folder in the store that holds the report of the last run.
pub(super) const LAST: &str = "last";

/// Where the report of a run is kept for `qkvet report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the store, if there is one.
    Last,
    /// It is not kept.
    Nowhere,
}

/// What becomes of a report beside the files that were wished for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) place: Place,
    /// How much standard output has.
    pub(super) detail: Detail,
    pub(super) end: RunEnd,
}

impl Kept {
    pub(super) fn new(
        place: Place,
        args: &ReportArgs,
        is_quiet: bool,
        clock: Clock,
        summary: &Summary,
    ) -> Self {
        let detail = match () {
            () if args.verbose => Detail::Full,
            () if is_quiet => Detail::Quiet,
            () => Detail::Short,
        };
        let end = RunEnd { elapsed: clock.elapsed(), exit: code(summary, args.strict) };
        Self { place, detail, end }
    }
}

/// How long a person waits. No verdict and no file depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// What is said on standard output while a run goes on: lines of a stream, if that is the format.
pub(super) struct Live {
    format: ReportFormat,
    stream: LiveStream,
    is_silent: bool,
    /// The first line that could not be written.
    failure: Option<Failure>,
}

impl Live {
    pub(super) fn new(format: ReportFormat) -> Self {
        Self { format, stream: LiveStream::default(), is_silent: false, failure: None }
    }

    /// Nothing is said before the end: the cases may be judged twice.
    pub(super) fn silent(format: ReportFormat) -> Self {
        Self { is_silent: true, ..Self::new(format) }
    }

    /// Tells one event.
    pub(super) fn event(&mut self, event: &Event) {
        if self.format != ReportFormat::Ndjson || self.is_silent || self.failure.is_some() {
            return;
        }
        self.failure = match self.stream.event(event) {
            Ok(None) => None,
            Ok(Some(line)) => write_text(&line).err(),
            Err(error) => Some(error.into()),
        };
    }
}

/// The report of a run: on standard output what is left of it, then the files.
pub(super) fn write_reports(
    summary: &Summary,
    catalog: &Catalog,
    args: &OutputArgs,
    live: Live,
    Kept { place, detail, end }: Kept,
) -> Result<(), Failure> {
    if let Some(failure) = live.failure {
        return Err(failure);
    }
    if place == Place::Last {
        keep(summary, catalog, args);
    }
    match args.format {
        ReportFormat::Human => {
            let (columns, links) = (columns(), links());
            let kept = args.run.as_ref().map(|run| format!("{}/{LAST}/{run}", setup::STORE));
            let style = ReportStyle {
                links: links.as_deref(),
                kept: kept.as_deref(),
                columns,
                detail,
                has_margins: args.margins,
                // The same run has the same bytes in a file.
                end: columns.map(|_| end),
            };
            write_text(&render_in(summary, style))?;
        }
        ReportFormat::Ndjson if !live.is_silent => {
            say_with(|to| write_ndjson_end(summary, to));
            written()?;
        }
        format => write_out(format, summary, catalog)?,
    }
    write_files(summary, catalog, args)
}

/// The report in a format on standard output.
pub(super) fn write_out(
    format: ReportFormat,
    summary: &Summary,
    catalog: &Catalog,
) -> Result<(), Failure> {
    match format {
        // Those that tell everything, however long that is.
        ReportFormat::Json => say_with(|to| write_json(summary, to)),
        ReportFormat::Ndjson => say_with(|to| write_ndjson(summary, to)),
        format => {
            return write_text(&write_as(format, summary, catalog)?);
        }
    }
    written()
}

/// The files that were wished for.
pub(super) fn write_files(
    summary: &Summary,
    catalog: &Catalog,
    args: &OutputArgs,
) -> Result<(), Failure> {
    let mut outcome = Ok(());
    for wish in wishes(args) {
        let written = write_wish(wish, summary, catalog, args);
        // One that cannot be written costs none of the others.
        if outcome.is_ok() {
            outcome = written;
        } else if let Err(failure) = written {
            tell!("error: {failure}");
        }
    }
    outcome
}

fn wishes(args: &OutputArgs) -> impl Iterator<Item = &Wish> {
    args.report.iter().flat_map(|wishes| &wishes.0)
}

fn write_wish(
    Wish { format, path }: &Wish,
    summary: &Summary,
    catalog: &Catalog,
    args: &OutputArgs,
) -> Result<(), Failure> {
    match path {
        Some(path) => write_report(path, *format, summary, catalog),
        None if *format == ReportFormat::Github => {
            annotate(&write_as(*format, summary, catalog)?, summary)
        }
        None => {
            let path = last_folder(args)?.join(format.file_name());
            write_report(&path, *format, summary, catalog)?;
            tell!("report: {}", path.display());
            Ok(())
        }
    }
}

/// Wishes for the page too, if nobody did; its path.
pub(super) fn wish_page(args: &mut OutputArgs) -> Result<PathBuf, Failure> {
    let format = ReportFormat::Html;
    let pages: Vec<&Wish> = wishes(args).filter(|wish| wish.format == format).collect();
    if let Some(path) = pages.iter().find_map(|wish| wish.path.clone()) {
        return Ok(path);
    }
    if pages.is_empty() {
        args.report.push(Wishes(vec![Wish { format, path: None }]));
    }
    Ok(last_folder(args)?.join(format.file_name()))
}

/// Writes a report as a whole or not at all.
fn write_report(
    path: &Path,
    format: ReportFormat,
    summary: &Summary,
    catalog: &Catalog,
) -> Result<(), Failure> {
    match format {
        ReportFormat::Json => write_named_with("report", path, |to| write_json(summary, to)),
        ReportFormat::Ndjson => write_named_with("report", path, |to| write_ndjson(summary, to)),
        format => {
            let text = write_as(format, summary, catalog)?;
            write_named("report", path, &text)
        }
    }
}

/// What no report is written over.
const SOURCES: [&str; 18] = [
    "c", "cc", "cpp", "cu", "cuh", "go", "h", "hpp", "ipynb", "jl", "js", "onnx", "py", "rs", "so",
    "toml", "ts", "yaml",
];

/// Whether the file holds what a shard recorded.
fn is_shard(path: &Path) -> bool {
    const HEAD: &[u8] = b"{\"format\":\"qkvet-shard/";
    let mut first = [0; HEAD.len()];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && first == HEAD
}

/// Says before a run what would else be said behind it: a report that cannot be written.
pub(super) fn check_wishes(args: &OutputArgs) -> Result<(), Unexpected> {
    for path in wishes(args).filter_map(|wish| wish.path.as_ref()) {
        let wrong = |expected: &str| Unexpected::at_path("report", path, expected);
        if path.is_dir() {
            return Err(wrong("a file").got("a folder").hint("a name of a file goes behind it"));
        }
        if is_shard(path) {
            return Err(wrong("a file that may be written over")
                .got("a shard")
                .hint("name another"));
        }
        let extension =
            path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if path.is_file() && SOURCES.contains(&extension) && !is_of_tests(path) {
            return Err(wrong("a file that may be written over")
                .got("one that is no report")
                .hint("remove it first, or name another"));
        }
    }
    Ok(())
}

/// Annotations on standard error, where a runner reads them too and no report is disturbed; the
/// page goes to the step summary.
fn annotate(text: &str, summary: &Summary) -> Result<(), Failure> {
    let mut stderr = std::io::stderr();
    // A closed stderr is not worth dying for.
    let _ = stderr.write_all(text.as_bytes());
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let path = PathBuf::from(path);
    let opened = fs::OpenOptions::new().create(true).append(true).open(&path);
    Ok(opened
        .and_then(|mut file| file.write_all(markdown(summary).as_bytes()))
        .map_err(|error| Unexpected::at_path("step summary", path, "to be written").error(error))?)
}

/// Keeps the report for `qkvet report`. Verdict and output do not depend on it.
fn keep(summary: &Summary, catalog: &Catalog, args: &OutputArgs) {
    // A store that could not be opened was told of before.
    if !Path::new(setup::STORE).is_dir() {
        return;
    }
    let format = ReportFormat::Json;
    let written = last_folder(args).and_then(|folder| {
        // What an earlier run left there would be taken for this one's.
        let others = ReportFormat::ALL.into_iter().filter(|other| *other != format);
        others.for_each(|other| drop(fs::remove_file(folder.join(other.file_name()))));
        write_report(&folder.join(format.file_name()), format, summary, catalog)
    });
    if let Err(failure) = written {
        tell!("warning: `qkvet report` will not find this run: {failure}");
    }
}

/// The folder of the last run's reports, one for each of several runs; the store around it ignores
/// itself in git.
fn last_folder(args: &OutputArgs) -> Result<PathBuf, Failure> {
    let store = PathBuf::from(setup::STORE);
    let last = store.join(LAST);
    let folder = args.run.as_ref().map_or_else(|| last.clone(), |run| last.join(run));
    let fail = |error| Unexpected::at_path("report", &folder, "a folder to write to").error(error);
    fs::create_dir_all(&folder).map_err(fail)?;
    let ignore = store.join(".gitignore");
    if !ignore.is_file() {
        atomic_write(&ignore, b"*\n").map_err(fail)?;
    }
    Ok(folder)
}

/// Writes a file as a whole or not at all, in a folder that is made if it is not there; `what`
/// names it in messages.
pub(super) fn write_named(what: &str, path: &Path, text: &str) -> Result<(), Failure> {
    write_named_with(what, path, |to| to.write_all(text.as_bytes()))
}

/// The same of text that is made on the way.
fn write_named_with(
    what: &str,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let fail = |error| Unexpected::at_path(what, path, "to be written").error(error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    Ok(atomic_write_with(path, write).map_err(fail)?)
}
