//! `cargo xtask assembly`: what the compiler makes of the inner loops of the engine, for each width
//! of vectors. Their sums must stay in registers: one that does not waits for memory in every turn.

use std::collections::BTreeMap;
use std::fs;

use crate::step::{self, Failure};

/// Vectors by registers, and the sums that an inner loop has in them: `2·6` and `3·8`.
const TILES: [(&str, usize); 2] = [("ymm", 12), ("zmm", 24)];
/// Formats, as instructions end.
const FORMATS: [&str; 2] = ["pd", "ps"];
/// Turns of an inner loop between two jumps.
const UNROLLED: usize = 4;

/// A loop without a loop in it, and without the shifts that exponentials end with.
#[derive(Debug, PartialEq, Eq)]
struct Loop {
    registers: &'static str,
    format: &'static str,
    /// Fused operations.
    fused: usize,
    /// Instructions that read or write the stack.
    on_stack: Vec<String>,
}

pub(crate) fn run() -> Result<(), Failure> {
    if !cfg!(target_arch = "x86_64") {
        println!("assembly: only that of x86-64 is looked at");
        return Ok(());
    }
    let folder = step::target_dir()?.join("assembly");
    let file = folder.join("engine.s");
    let failed = |error| Failure::Setup(format!("{}: {error}", file.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    let emit = format!("--emit=asm={}", file.display());
    let build = ["rustc", "--release", "--package", "qkvet-engine", "--lib", "--", &emit];
    // Without it, a library that is up to date would not be written again.
    step::run(step::cargo(&build).env("CARGO_INCREMENTAL", "0"))?;
    let text = fs::read_to_string(&file).map_err(failed)?;
    judge(&loops(&text))
}

/// Prints the loops by kind; fails where one is missing or uses the stack.
fn judge(loops: &[Loop]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    let mut kinds: BTreeMap<_, Vec<&Loop>> = BTreeMap::new();
    for (registers, _) in TILES {
        FORMATS.iter().for_each(|format| drop(kinds.insert((registers, *format), Vec::new())));
    }
    loops.iter().for_each(|one| kinds.entry((one.registers, one.format)).or_default().push(one));
    for ((registers, format), loops) in kinds {
        let of_whole = TILES.iter().find(|(name, _)| *name == registers);
        let whole = of_whole.map_or(0, |(_, sums)| UNROLLED * sums);
        let n_whole = loops.iter().filter(|one| one.fused == whole).count();
        println!(
            "{registers} {format}: {} inner loops, {n_whole} of {whole} operations",
            loops.len()
        );
        if n_whole == 0 {
            wrong.push(format!("{registers} {format}: no inner loop of {whole} operations"));
        }
        for one in loops {
            for instruction in &one.on_stack {
                wrong
                    .push(format!("{registers} {format}, {} operations: {instruction}", one.fused));
            }
        }
    }
    if wrong.is_empty() {
        println!("no inner loop uses the stack");
        return Ok(());
    }
    Err(Failure::Step(format!(
        "assembly: inner loops are not as they should be\n  {}",
        wrong.join("\n  ")
    )))
}

/// The inner loops of all functions.
fn loops(text: &str) -> Vec<Loop> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_start = |line: &str| line.ends_with(':') && !line.starts_with('.');
    let mut found = Vec::new();
    for function in lines.chunk_by(|_, line| !is_start(line)) {
        let places: BTreeMap<&str, usize> = function
            .iter()
            .enumerate()
            .filter_map(|(at, line)| Some((line.strip_suffix(':')?, at)))
            .collect();
        let backwards: Vec<(usize, usize)> = function
            .iter()
            .enumerate()
            .filter(|(_, line)| line.starts_with('j'))
            .filter_map(|(end, line)| {
                let start = *places.get(line.split_whitespace().nth(1)?)?;
                (start <= end).then_some((start, end))
            })
            .collect();
        let has_frame = function.iter().any(|line| words(line) == ["movq", "%rsp,", "%rbp"]);
        for (start, end) in &backwards {
            let is_inner =
                |(s, e): &(usize, usize)| start <= s && e <= end && (s, e) != (start, end);
            if !backwards.iter().any(is_inner) {
                found.extend(inner_loop(&function[*start..=*end], has_frame));
            }
        }
    }
    found
}

fn inner_loop(body: &[&str], has_frame: bool) -> Option<Loop> {
    for (registers, sums) in TILES {
        for format in FORMATS {
            let is_fused = |line: &&&str| {
                let name = line.split_whitespace().next().unwrap_or_default();
                name.starts_with("vfmadd") && name.ends_with(format) && line.contains(registers)
            };
            let fused = body.iter().filter(is_fused).count();
            let is_exponential = body.iter().any(|line| line.starts_with("vpsll"));
            if fused == 0 || !fused.is_multiple_of(sums) || is_exponential {
                continue;
            }
            let uses_stack =
                |line: &&&str| line.contains("(%rsp") || has_frame && line.contains("(%rbp");
            let on_stack =
                body.iter().filter(uses_stack).map(|line| words(line).join(" ")).collect();
            return Some(Loop { registers, format, fused, on_stack });
        }
    }
    None
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function with an inner loop of so many fused operations, in a loop that uses the stack.
    fn function(fused: usize, more: &str) -> String {
        let fused = "\tvfmadd231pd\t%ymm12, %ymm13, %ymm0\n".repeat(fused);
        format!(
            "f:\n.LBB0_1:\n\tvmovupd\t%ymm0, 8(%rsp)\n.LBB0_2:\n\tvbroadcastsd\t(%rdi), %ymm12\n{fused}{more}\
             \tjne\t.LBB0_2\n\tvmovupd\t8(%rsp), %ymm0\n\tjne\t.LBB0_1\n\tretq\n"
        )
    }

    #[test]
    fn inner_loops_are_found_with_what_they_do_on_the_stack() {
        let clean = Loop { registers: "ymm", format: "pd", fused: 48, on_stack: Vec::new() };
        assert_eq!(loops(&function(48, "")), [clean]);
        let spilled = loops(&function(48, "\tvmovupd\t%ymm3, 32(%rsp)\n"));
        assert_eq!(spilled[0].on_stack, ["vmovupd %ymm3, 32(%rsp)"]);
        // Another number of sums, and an exponential.
        assert_eq!(loops(&function(13, "")), []);
        assert_eq!(loops(&function(48, "\tvpsllq\t$52, %ymm1, %ymm1\n")), []);
    }

    #[test]
    fn every_kind_must_be_there_and_clean() {
        let all = |on_stack: Vec<String>| {
            let mut all = Vec::new();
            for (registers, sums) in TILES {
                for format in FORMATS {
                    all.push(Loop {
                        registers,
                        format,
                        fused: UNROLLED * sums,
                        on_stack: Vec::new(),
                    });
                }
            }
            all[1].on_stack = on_stack;
            all
        };
        assert!(judge(&all(Vec::new())).is_ok());
        assert!(judge(&all(vec!["vmovupd 8(%rsp), %ymm0".to_owned()])).is_err());
        assert!(judge(&all(Vec::new())[1..]).is_err());
    }
}
