//! Signs of life on stderr: a bar on a terminal, elsewhere a line every tenth and at least every
//! half minute.

#![expect(
    clippy::disallowed_methods,
    reason = "signs of life are about time; no report depends on them"
)]

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use qkvet_spec::{Event, FindingState, Proposal, Verdict, Warning, Words as _};

use crate::text::{count, no_command, visible_line};
use crate::words::{English, notice, word_of};

/// Longest silence where no bar is drawn.
const SILENCE: Duration = Duration::from_secs(30);
/// The bar of a run that knows how many cases it has.
const RUNNING: &str = "{spinner} {msg} {wide_bar} {pos}/{len} · {rate} · {left}";

/// Follows a run on stderr.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    findings: usize,
    lines: Lines,
}

/// When a line is due.
struct Lines {
    last_tenth: usize,
    last_time: Instant,
}

impl Lines {
    /// Whether one is due now: a tenth is done, or it was silent for long.
    fn is_due(&mut self, done: usize, total: usize, now: Instant) -> bool {
        let tenth = done * 10 / total.max(1);
        let is_due =
            tenth > self.last_tenth || now.saturating_duration_since(self.last_time) >= SILENCE;
        if is_due {
            (self.last_tenth, self.last_time) = (tenth, now);
        }
        is_due
    }
}

impl Progress {
    /// A bar if `terminal`, lines otherwise, nothing if `quiet`.
    pub fn new(terminal: bool, quiet: bool) -> Self {
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
            bar
        });
        Self { bar, quiet, findings: 0, lines: Lines { last_tenth: 0, last_time: Instant::now() } }
    }

    /// Something that takes a while begins.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(visible_line(text).into_owned()),
            None if self.quiet => {}
            None => line(text),
        }
    }

    /// Something that happened while others wait; to be called from any thread.
    pub fn teller(&self) -> impl Fn(&Warning) + Send + Sync + 'static {
        let (bar, quiet) = (self.bar.clone(), self.quiet);
        move |warning| {
            let text = English.warning(warning).to_string();
            match &bar {
                Some(bar) => bar.println(safe(&text)),
                None if quiet => {}
                None => line(&text),
            }
        }
    }

    /// Shows one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Started(info) => {
                if let Some(bar) = &self.bar {
                    bar.set_length(info.cases as u64);
                    bar.set_message("running");
                    if let Ok(style) = ProgressStyle::with_template(RUNNING) {
                        bar.set_style(style.with_key("rate", rate).with_key("left", left));
                    }
                    // What came before, such as loading, says nothing of how fast cases are.
                    bar.reset();
                }
            }
            Event::Notice(one) => self.note(&notice(one).to_string()),
            Event::Warning(one) => self.line(&format!("warning: {}", English.warning(one))),
            Event::Proposal(one) if !self.quiet => self.line(&so_far(one)),
            Event::Proposal(_) => {}
            Event::Case { done, total, verdict } => self.case(*done, *total, *verdict),
            Event::Finished(_) => self.end(),
        }
    }

    /// A line that stays, above the bar if there is one.
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| line(text)),
            None => line(text),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn case(&mut self, done: usize, total: usize, verdict: Verdict) {
        self.findings += usize::from(verdict.fails());
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                if verdict.is_finding() {
                    bar.set_message(format!("{} failing", self.findings));
                }
            }
            None if self.quiet => {}
            None => {
                if self.lines.is_due(done, total, Instant::now()) {
                    line(&format!("{done}/{total} cases, {} failing", self.findings));
                }
            }
        }
    }
}

/// `so far: FAIL QK221 key and value heads are chosen by remainder: 12 of 64 cases, first
/// c-0123456789abcdef (single-key, float32 n_q=3 …)`.
fn so_far(proposal: &Proposal) -> String {
    let Proposal { state, verdict, cause, law, case, call, cases, of } = proposal;
    let title = English.title(cause);
    let word = word_of(cause.kind(), *verdict);
    match state {
        FindingState::Withdrawn => format!("so far: taken back: {word} {title} ({case})"),
        _ => {
            let again = if *state == FindingState::Revised { "now " } else { "" };
            let of = count(*of);
            format!(
                "so far: {again}{word} {title}: {} of {of} cases, {case} ({law}, {call})",
                count(*cases)
            )
        }
    }
}

/// `812/s`, and a digit behind the point where that is all there is.
fn rate(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    // What a bar cannot show is not shown.
    let _ = match state.per_sec() {
        rate if rate < 9.95 => write!(to, "{rate:.1}/s"),
        rate => write!(to, "{rate:.0}/s"),
    };
}

/// `12s left`, `3m 5s left`; nothing before a case is done.
fn left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    let seconds = state.eta().as_secs();
    let _ = match (state.pos(), seconds) {
        (0, _) => Ok(()),
        (_, 60..) => write!(to, "{}m {}s left", seconds / 60, seconds % 60),
        _ => write!(to, "{seconds}s left"),
    };
}

/// What is said of names of others: they end no line, move no cursor and are no command.
fn safe(text: &str) -> String {
    no_command(&visible_line(text)).into_owned()
}

fn line(text: &str) {
    // A closed stderr is not worth dying for.
    let _ = writeln!(std::io::stderr(), "{}", safe(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_names() {
        assert_eq!(safe("loading a\u{1b}[31m\n::error::x"), "loading a\\u{1b}[31m\\n::error::x");
        assert_eq!(safe("::stop-commands::x"), "\\::stop-commands::x");
    }

    #[test]
    fn a_line_is_due_at_every_tenth_and_every_half_minute() {
        let start = Instant::now();
        let mut lines = Lines { last_tenth: 0, last_time: start };
        let mut due =
            |done, seconds| lines.is_due(done, 1000, start + Duration::from_secs(seconds));
        assert!(!due(99, 1) && due(100, 2) && !due(101, 3) && due(350, 4), "tenths");
        assert!(!due(351, 33) && due(352, 34) && !due(353, 63) && due(354, 64), "time");
    }
}
