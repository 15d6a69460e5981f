//! Snapshots are read and written.

use qkvet_spec::*;

#[test]
fn bands_are_the_next_power_of_two() {
    let told = |ratio: f64| Band::of(ratio).map(|band| band.to_string());
    for (ratio, band) in [
        (0.0, "0"),
        (1.0, "2^0"),
        (1.000_000_1, "2^1"),
        (0.5, "2^-1"),
        (0.51, "2^0"),
        (0.3, "2^-1"),
        (26.2, "2^5"),
        (1e-30, "2^-20"),
        (f64::MIN_POSITIVE / 4.0, "2^-20"),
        (f64::MAX, "2^1024"),
    ] {
        assert_eq!(told(ratio).as_deref(), Some(band), "{ratio}");
    }
    for ratio in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(Band::of(ratio), None, "{ratio}");
    }
}

#[test]
fn entries_are_read_as_they_are_written() {
    for text in [
        "PASS 2^-3",
        "PASS 0",
        "FAIL 2^5 QK221",
        "CRASH signal-killed",
        "PASS 2^-1 sha256:00ff",
        "UNSUPPORTED",
        "FAIL 2^1024 QK221+QK310",
    ] {
        assert_eq!(
            text.parse::<SnapshotEntry>().map(|entry| entry.to_string()).as_deref(),
            Ok(text)
        );
    }
    for text in [
        "",
        "OK",
        "PASS  2^-3",
        "PASS a b",
        "PASS sha256:",
        "PASS sha256:0 QK221",
        "pass",
        "PASS 2^-3 ",
    ] {
        assert!(text.parse::<SnapshotEntry>().is_err(), "{text}");
    }
}
