//! Findings that no fault names.

use qkvet_report::paragraph;
use qkvet_run::runner::{LAYOUT, ONCE, THREADS, UNEXPLAINED};

/// A finding without a code.
pub(super) struct Uncoded {
    /// What it is asked for by.
    pub(super) name: &'static str,
    /// How its titles begin.
    titles: &'static [&'static str],
    text: &'static str,
}

pub(super) const UNCODED: [Uncoded; 5] = [
    Uncoded {
        name: "memory-layout",
        titles: &[LAYOUT],
        text: "\
A Python function gets query, key and value of about half of the shapes as views of which heads and positions lie exchanged in memory, as projections leave them, and contiguous ones else. A wrong call is put again with the other layout of the same numbers; this finding is what came out right there, or wrong in another way beside a fault that is told of contiguous inputs. A crash, a hang or a broken protocol on views is put again too, and says so where contiguous inputs are the end of it.
To do: read through the strides, or copy what is not contiguous. A function that raises an exception on views is given contiguous inputs; that is not held against it",
    },
    Uncoded {
        name: "threads",
        titles: &[THREADS],
        text: "\
qkvet starts your code with one thread for OpenMP, OpenBLAS, MKL and torch, because more threads take longer to start than a small call takes. One case in ten, and every case of the law repeatability, runs with the number of threads that the library chooses. This finding is wrong in those cases alone: two threads use the same memory without waiting for each other.
To do: look for a buffer that all threads share, a sum without a reduction, a loop whose passes depend on each other. Set OMP_NUM_THREADS, OPENBLAS_NUM_THREADS or MKL_NUM_THREADS yourself, and qkvet leaves all three alone",
    },
    Uncoded {
        name: "unexplained",
        titles: &[UNEXPLAINED],
        text: "\
Proved wrong, and no known fault or pair of faults gives what was returned. Such cases are one finding, unless what they have in common tells them from the rest: an option, a law.
To do: the smallest input and the place of the wrong numbers stand in the finding; `qkvet probe` says which choices the function makes",
    },
    Uncoded {
        name: "kept-between-calls",
        titles: &[ONCE],
        text: "\
Proved wrong whenever it was put in a row, and right when the same case was put again after others: what a call gives depends on the calls before. No fault of attention is named, for one would have come again.
To do: look for what is kept between calls, by address, by shape or by some of the numbers, and for buffers that are not cleared",
    },
    Uncoded {
        name: "wrong-form",
        titles: &["wrong kind of result", "wrong number of results", "wrong format of the", "wrong shape of the"],
        text: "\
The result is no array of the right kind, number, format or shape: the output is (b, h_q, n_q, d_v) in the format of the query. Its values are not looked at.
To do: return what the place of the finding names",
    },
];

/// The finding of this name, of this title, or of the words of its title, as files of known
/// deviations write them.
pub(super) fn uncoded(name: &str) -> Option<&'static Uncoded> {
    let name = name.to_lowercase();
    let is_titled =
        |title: &&str| name.starts_with(*title) || name.starts_with(&title.replace(' ', "-"));
    UNCODED.iter().find(|one| one.name == name || one.titles.iter().any(&is_titled))
}

pub(super) fn explain_uncoded(one: &Uncoded) {
    let titles: Vec<String> = one.titles.iter().map(|title| format!("“{title}”")).collect();
    say!("finding {}\ntitle {}\n\n{}", one.name, titles.join(", "), paragraph(one.text));
}
