//! Signs of life on stderr: a bar on a terminal, a line every tenth elsewhere.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use qkvet_spec::{Event, Verdict};

/// Follows a run on stderr.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    findings: usize,
    last_tenth: usize,
}

impl Progress {
    /// A bar if `terminal`, lines otherwise, nothing if `quiet`.
    pub fn new(terminal: bool, quiet: bool) -> Self {
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
            bar
        });
        Self { bar, quiet, findings: 0, last_tenth: 0 }
    }

    /// Something that takes a while begins.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None if self.quiet => {}
            None => line(text),
        }
    }

    /// Something that happened while others wait; to be called from any thread.
    pub fn teller(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let (bar, quiet) = (self.bar.clone(), self.quiet);
        move |text| match &bar {
            Some(bar) => bar.println(text),
            None if quiet => {}
            None => line(text),
        }
    }

    /// Shows one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Started(info) => {
                if let Some(bar) = &self.bar {
                    bar.set_length(info.cases as u64);
                    bar.set_message("running");
                }
            }
            Event::Notice(text) => self.note(text),
            Event::Warning(text) => {
                let text = format!("warning: {text}");
                match &self.bar {
                    Some(bar) => bar.suspend(|| line(&text)),
                    None => line(&text),
                }
            }
            Event::Case { done, total, verdict } => self.case(*done, *total, *verdict),
            Event::Finished(_) => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
        }
    }

    fn case(&mut self, done: usize, total: usize, verdict: Verdict) {
        self.findings += usize::from(verdict.is_finding());
        match &self.bar {
            Some(bar) => bar.set_position(done as u64),
            None if self.quiet => {}
            None => {
                let tenth = done * 10 / total.max(1);
                if tenth > self.last_tenth {
                    self.last_tenth = tenth;
                    line(&format!("{done}/{total} cases, {} failing", self.findings));
                }
            }
        }
    }
}

fn line(text: &str) {
    // A closed stderr is not worth dying for.
    let _ = writeln!(std::io::stderr(), "{text}");
}
