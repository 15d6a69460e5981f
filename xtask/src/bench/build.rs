//! `cargo xtask bench build`: what the first command takes from an empty target folder, in seconds
//! of the processors, and which packages they go to.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::step::{self, Failure};

/// Packages that are shown by name.
const SHOWN: usize = 25;
/// Where this program, as cargo starts it in place of rustc, notes what a compilation took.
pub(crate) const NOTES: &str = "QKVET_BENCH_BUILD";
/// Clock ticks of `/proc`, which Linux fixes for programs.
const TICKS: f64 = 100.0;

pub(super) fn run() -> Result<(), Failure> {
    let folder = step::target_dir()?.join("bench-build");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    let notes = folder.join("processor-seconds.txt");
    fs::write(&notes, "").map_err(failed)?;
    let (start, before) = (Instant::now(), processor_seconds());
    step::run(
        step::cargo(&["run", "--release", "--", "check", "builtin:flash", "--quiet"])
            .env("CARGO_TARGET_DIR", &folder)
            .env("RUSTC_WRAPPER", std::env::current_exe().map_err(failed)?)
            .env(NOTES, &notes),
    )?;
    let elapsed = start.elapsed().as_secs_f64();
    let Some((before, after)) = before.zip(processor_seconds()) else {
        println!("first command: {elapsed:.0} s (CPU-s are read on Linux alone)");
        return Ok(());
    };
    println!("first command: {:.0} CPU-s, {elapsed:.0} s", after - before);
    let packages = packages(&fs::read_to_string(&notes).map_err(failed)?);
    println!("CPU-s of compiling and linking, by package:");
    for (name, seconds) in packages.iter().take(SHOWN) {
        println!("{seconds:7.1}  {name}");
    }
    let sum = |some: &[(String, f64)]| some.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let rest = &packages[SHOWN.min(packages.len())..];
    println!("{:7.1}  {} more", sum(rest), rest.len());
    println!("{:7.1}  build scripts, cargo and the check", after - before - sum(&packages));
    Ok(())
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Setup(format!("bench build: {error}"))
}

/// Runs the compiler that cargo names first among `words`, and notes the package and the seconds
/// that it and its linker took.
pub(crate) fn compile(words: &[&str], notes: &Path) -> Result<ExitCode, Failure> {
    let [program, words @ ..] = words else {
        return Err(Failure::Setup("bench build: expected a compiler".to_owned()));
    };
    let status = Command::new(program).args(words).status().map_err(failed)?;
    // What cargo asks a compiler beforehand is of no package.
    let package = ["CARGO_PKG_NAME", "CARGO_PKG_VERSION"].map(std::env::var_os);
    if let ([Some(name), Some(version)], Some(seconds)) = (package, processor_seconds()) {
        let line = format!("{seconds:.2} {} {}\n", name.display(), version.display());
        let file = fs::OpenOptions::new().append(true).open(notes);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(failed)?;
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Seconds that all processes took that this one started and that have ended, and those that they
/// waited for.
fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything, stand the state and 49 numbers.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / TICKS)
}

/// Packages and the sum of the seconds that were noted for each, the largest first.
fn packages(notes: &str) -> Vec<(String, f64)> {
    let mut sums = BTreeMap::<&str, f64>::new();
    let lines = notes.lines().filter_map(|line| line.split_once(' '));
    for (seconds, package) in lines {
        *sums.entry(package).or_default() += seconds.parse::<f64>().unwrap_or(0.0);
    }
    let mut sums: Vec<_> = sums.into_iter().map(|(name, sum)| (name.to_owned(), sum)).collect();
    sums.sort_by(|x, y| y.1.total_cmp(&x.1));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_a_package_are_summed() {
        let found = packages("0.50 a 1.0\n2.00 b 0.1\n0.75 a 1.0\n0.25 a 2.0\n");
        let names = [("b 0.1", 2.0), ("a 1.0", 1.25), ("a 2.0", 0.25)];
        assert_eq!(found, names.map(|(name, seconds)| (name.to_owned(), seconds)));
    }

    #[test]
    fn a_compiler_is_run_and_its_package_noted() {
        let folder = std::env::temp_dir().join(format!("qkvet-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let notes = folder.join("notes");
        fs::write(&notes, "").expect("a file");
        let code = |words: &[&str]| compile(words, &notes).unwrap_or_else(|one| panic!("{one}"));
        assert_eq!(code(&["true"]), ExitCode::SUCCESS);
        assert_eq!(code(&["sh", "-c", "exit 3"]), ExitCode::from(3));
        let noted = fs::read_to_string(&notes).expect("notes");
        // Cargo and nextest name the package of a test as cargo does that of a compilation.
        assert!(noted.lines().all(|line| line.contains(" xtask ")), "{noted}");
        assert_eq!(noted.lines().count(), if cfg!(target_os = "linux") { 2 } else { 0 });
        fs::remove_dir_all(&folder).expect("removed");
    }
}
