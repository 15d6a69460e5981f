//! Findings that no fault names.

use qkvet_report::{INTERMITTENT, LAYOUT, THREADS, UNEXPLAINED, paragraph};

/// A finding without a code.
pub(super) struct Uncoded {
    /// What it is asked for by.
    pub(super) name: &'static str,
    /// How the names of such findings begin in files that are kept.
    kept: &'static [&'static str],
    text: &'static str,
}

pub(super) const UNCODED: [Uncoded; 5] = [
    Uncoded {
        name: "memory-layout",
        kept: &[LAYOUT],
        text: "\
A Python function gets query, key and value of about half of the shapes as views whose axes lie in another order in memory (heads and positions exchanged, as projections leave them; of masks and biases the last two axes), and contiguous ones else. A wrong call is put again with the other layout of the same numbers; this finding is what came out right there, or wrong in another way beside a fault that is told of contiguous inputs. A crash, a hang or a broken protocol on views is put again too, and says so where contiguous inputs are the end of it.
To do: read through the strides, or copy what is not contiguous. A function that raises an exception on views is given contiguous inputs; that is not held against it",
    },
    Uncoded {
        name: "threads",
        kept: &[THREADS],
        text: "\
qkvet starts your code with one thread for OpenMP, OpenBLAS, MKL and torch, because more threads take longer to start than a small call takes. One case in ten, and every case of the law repeatability, runs with the number of threads that the library chooses. This finding is wrong in those cases alone: two threads use the same memory without waiting for each other.
To do: look for a buffer that all threads share, a sum without a reduction, a loop whose passes depend on each other. Set OMP_NUM_THREADS, OPENBLAS_NUM_THREADS or MKL_NUM_THREADS yourself, and qkvet leaves all three alone",
    },
    Uncoded {
        name: "unexplained",
        kept: &[UNEXPLAINED],
        text: "\
Proved wrong, and no known fault or pair of faults gives what was returned. Such cases are one finding, unless what they have in common tells them from the rest: an option, a law.
To do: the smallest input and the place of the wrong numbers stand in the finding; `qkvet probe` says which choices the function makes",
    },
    Uncoded {
        name: "kept-between-calls",
        kept: &[INTERMITTENT],
        text: "\
Proved wrong whenever it was put in a row, and right when the same case was put again after others: what a call gives depends on the calls before. No fault of attention is named, for one would have come again.
To do: look for what is kept between calls, by address, by shape or by some of the numbers, and for buffers that are not cleared",
    },
    Uncoded {
        name: "wrong-form",
        kept: &["wrong-kind-of-result", "wrong-number-of-results", "wrong-format-of-the-", "wrong-shape-of-the-"],
        text: "\
The result is no array of the right kind, number, format or shape: the output is (b, h_q, n_q, d_v) in the format of the query. Its values are not looked at.
To do: return what the place of the finding names",
    },
];

/// The finding of this name, or of the name that files of known deviations and snapshots write.
pub(super) fn uncoded(name: &str) -> Option<&'static Uncoded> {
    let name = name.to_lowercase().replace(' ', "-");
    let is_kept = |kept: &&str| name.starts_with(*kept);
    UNCODED.iter().find(|one| one.name == name || one.kept.iter().any(&is_kept))
}

pub(super) fn explain_uncoded(one: &Uncoded) {
    say!("finding {}\nin files {}\n\n{}", one.name, one.kept.join(", "), paragraph(one.text));
}
