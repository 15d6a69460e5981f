//! How many variants of each question are made in a second on one core, and how their loads are
//! spread.
//!
//! Run by `cargo xtask bench exams`. Arguments: ids of questions, one number (variants of each),
//! files of questions that are read.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench reads the clock and its arguments"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use qkvet_exam::generate::{Answer, instantiate};
use qkvet_exam::question::Library;
use qkvet_spec::Catalog;

const VARIANTS: usize = 1_000;
/// A question that is slow has fewer.
const MAX_LEN: Duration = Duration::from_secs(5);

/// Time on the processor, where the system tells it, so that other programs do not count.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn main() {
    let mut names: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let most = names.iter().position(|name| name.parse::<usize>().is_ok());
    let most = most.and_then(|at| names.remove(at).parse().ok()).unwrap_or(VARIANTS);
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let mut library = Library::embedded(&catalog).unwrap_or_else(|error| panic!("{error}"));
    for name in names.iter_mut().filter(|name| name.ends_with(".yaml")) {
        let source =
            std::fs::read_to_string(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
        *name = library.add(name, &source, &catalog).unwrap_or_else(|error| panic!("{error}"));
    }
    println!(
        "{:24} {:>8} {:>10}  load: least, tenth, median, last tenth, most",
        "question", "variants", "a second"
    );
    for question in library.iter() {
        let id = &question.question.question;
        if !names.is_empty() && !names.contains(id) {
            continue;
        }
        let parts: Vec<usize> = (0..question.parts.len()).collect();
        let mut seen = BTreeSet::new();
        let (mut made, mut numeric) = (0, false);
        let (started, before) = (Instant::now(), processor());
        let mut loads = Vec::new();
        while made < most && started.elapsed() < MAX_LEN {
            let variant = made + 1;
            let number = variant.to_string();
            let posed = match instantiate(
                question,
                &parts,
                (1, &["bench", number.as_str()], variant),
                &mut seen,
                &catalog,
            ) {
                Ok(posed) => posed,
                Err(error) => {
                    println!("{error}");
                    break;
                }
            };
            numeric |= posed.parts.iter().any(|part| matches!(part.answer, Answer::Numbers { .. }));
            loads.push(posed.load());
            made = variant;
        }
        let took = match (before, processor()) {
            (Some(before), Some(after)) => after - before,
            _ => started.elapsed(),
        };
        let rate = f64::from(u32::try_from(made).unwrap_or(u32::MAX)) / took.as_secs_f64();
        loads.sort_unstable();
        let tenth = |k: usize| loads.get((loads.len().max(1) - 1) * k / 10).copied().unwrap_or(0);
        let loads = [0, 1, 5, 9, 10].map(|k| tenth(k).to_string()).join(" ");
        println!(
            "{id:24} {made:8} {rate:10.0}  {}",
            if numeric { loads.as_str() } else { "no numbers" }
        );
    }
    // Last, for what it leaves of the heap slows the others down.
    #[cfg(feature = "pdf")]
    pdf(&catalog, &library);
}

/// Sheet and key of 200 problems, from numbers to PDF.
#[cfg(feature = "pdf")]
fn pdf(catalog: &Catalog, library: &Library) {
    use qkvet_exam::build::{Request, build};
    use qkvet_exam::key::Source;

    let ids: Vec<&str> =
        library.iter().map(|question| question.question.question.as_str()).collect();
    let items: String =
        (0..200).map(|at| format!("  - question: {}\n", ids[at % ids.len()])).collect();
    let text = format!("exam: many\ntitle: Many\nquestions:\n{items}");
    let set = Source { path: "many.yaml".to_owned(), text };
    let files = build(&Request { set, own: Vec::new(), variants: 1, seed: 1 }, catalog);
    let files = files.unwrap_or_else(|error| panic!("{error}"));
    for part in ["student", "key"] {
        let files: Vec<_> =
            files.iter().filter(|file| file.path.starts_with(part)).cloned().collect();
        // Pages are set on all cores.
        let started = Instant::now();
        let pdfs = qkvet_exam::print::pdfs(&files).unwrap_or_else(|error| panic!("{error}"));
        let took = started.elapsed();
        let bytes: usize = pdfs.iter().map(|pdf| pdf.bytes.len()).sum();
        println!("PDF of 200 problems, {part}: {:.2} s, {bytes} bytes", took.as_secs_f64());
    }
}
