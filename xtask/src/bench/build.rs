//! `cargo xtask bench build`: what the first command takes from an empty target folder, in seconds
//! of the processors, and which packages they go to.

use std::fs;
use std::time::Instant;

use serde_json::Value;

use crate::step::{self, Failure};

/// Packages that are shown by name.
const SHOWN: usize = 25;
/// Where `cargo build --timings` keeps its numbers, in a page that shows them.
const UNITS: &str = "const UNIT_DATA = ";
/// Clock ticks of `/proc`, which Linux fixes for programs.
const TICKS: f64 = 100.0;

pub(super) fn run() -> Result<(), Failure> {
    let folder = step::target_dir()?.join("bench-build");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    let (start, before) = (Instant::now(), processor_seconds());
    step::run(
        step::cargo(&["run", "--release", "--timings", "--", "check", "builtin:flash", "--quiet"])
            .env("CARGO_TARGET_DIR", &folder),
    )?;
    let elapsed = start.elapsed().as_secs_f64();
    match before.zip(processor_seconds()) {
        Some((before, after)) => {
            println!("first command: {:.0} CPU-s, {elapsed:.0} s", after - before);
        }
        None => println!("first command: {elapsed:.0} s (CPU-s are read on Linux alone)"),
    }
    let page =
        fs::read_to_string(folder.join("cargo-timings/cargo-timing.html")).map_err(failed)?;
    let mut units = units(&page)?;
    units.sort_by(|x, y| y.1.total_cmp(&x.1));
    println!("seconds from start to end of each package, others beside it:");
    for (name, seconds) in units.iter().take(SHOWN) {
        println!("{seconds:7.1}  {name}");
    }
    let rest: f64 = units.iter().skip(SHOWN).map(|(_, seconds)| seconds).sum();
    println!("{rest:7.1}  {} more", units.len().saturating_sub(SHOWN));
    Ok(())
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Setup(format!("bench build: {error}"))
}

/// Seconds that all processes took that this one started and that have ended.
fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything, stand the state and 49 numbers.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / TICKS)
}

/// Name and seconds of each package that was compiled.
fn units(page: &str) -> Result<Vec<(String, f64)>, Failure> {
    let wrong = || Failure::Step("the page of `cargo build --timings` has another form".to_owned());
    let data = page.split_once(UNITS).ok_or_else(wrong)?.1;
    let mut values = serde_json::Deserializer::from_str(data).into_iter::<Value>();
    let units = values.next().and_then(Result::ok).ok_or_else(wrong)?;
    let unit = |unit: &Value| {
        let [name, version, target] = ["name", "version", "target"].map(|key| unit[key].as_str());
        let name = format!("{} {}{}", name?, version?, target?);
        Some((name, unit["duration"].as_f64()?))
    };
    units.as_array().and_then(|all| all.iter().map(unit).collect()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_out_of_the_page() {
        let page = "<script>const UNIT_DATA = [{\"name\": \"a\", \"version\": \"1\", \
                    \"target\": \"\", \"duration\": 2.5}];\nconst X = 1;";
        let found = units(page).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(found, [("a 1".to_owned(), 2.5)]);
        assert!(units("nothing").is_err());
    }
}
