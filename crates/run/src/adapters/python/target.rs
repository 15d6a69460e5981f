//! [`PythonTarget`]: the worker as a program that speaks the wire, told at first which function to
//! load.

use qkvet_spec::{Call, Response, Target, Threads};
use serde::Serialize;

use super::config::{Arrays, Layout, PythonConfig, PythonInfo, PythonSource};
use super::layout::layout_of;
use super::views::gets_views;
use crate::process::{Launch, Limits, ProcessTarget, Program, StartError};
use crate::runtime::{function_worker, layers};
use crate::wire::{WireError, WorkerFields, quoted};

/// The `python` object of `hello`.
#[derive(Serialize)]
struct Load<'a> {
    target: Source<'a>,
    function: &'a str,
    folder: Option<&'a str>,
    arrays: Option<Arrays>,
    device: Option<&'a str>,
    layout: Option<Layout>,
    supports: Option<&'a [String]>,
    mask_takes_bias: bool,
    layers: String,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Source<'a> {
    Module(&'a str),
    File(&'a str),
}

/// A function in Python, called in a child process.
pub struct PythonTarget {
    process: ProcessTarget,
    info: PythonInfo,
}

impl PythonTarget {
    /// Starts the worker and loads the function. Where no layout is declared, up to nine small
    /// calls find it.
    ///
    /// # Errors
    /// [`StartError`] if the interpreter does not run, the function cannot be loaded or called, or
    /// takes too long to.
    pub fn start(config: &PythonConfig, limits: &Limits) -> Result<Self, StartError> {
        let launch = launch(config, limits)?;
        let name = launch.name.clone();
        let process = ProcessTarget::start(launch)?;
        let told = process.greeting().python.clone().unwrap_or_default();
        let info = serde_json::from_value(told.clone()).map_err(|error| {
            foreign(
                name,
                WireError::new("python", error, quoted(told.to_string().as_bytes()).display()),
            )
        })?;
        let mut target = Self { process, info };
        let found = layout_of(&target.info.clone(), |layout, call| {
            target.info.layout = Some(layout);
            target.call(call)
        });
        target.info.layout = Some(found);
        Ok(target)
    }

    fn put(&mut self, call: &Call, lies: Option<&'static str>, work: &mut dyn FnMut()) -> Response {
        let layout = self.info.layout.filter(|_| !self.info.layer).map(Layout::name);
        let ours = WorkerFields { lies, layout, ..WorkerFields::default() };
        self.process.call_with(call, ours, work)
    }

    /// What the target told when it was loaded, and the layout that was found.
    pub fn info(&self) -> &PythonInfo {
        &self.info
    }

    /// How often the child was replaced.
    pub fn restarts(&self) -> u32 {
        self.process.restarts()
    }
}

impl Target for PythonTarget {
    fn call(&mut self, call: &Call) -> Response {
        self.put(call, None, &mut || ())
    }

    fn call_meanwhile(&mut self, call: &Call, work: &mut dyn FnMut()) -> Response {
        // What the function has no argument for is declined at once, and nobody needs its answer.
        match self.info.takes(call) {
            true => self.put(call, None, work),
            false => self.call(call),
        }
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.put(call, Some("contiguous"), &mut || ())
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        self.info.takes_views().then(|| self.put(call, Some("transposed"), &mut || ()))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.info.takes_views() && gets_views(call)
    }

    fn inner(&mut self) -> Option<&mut dyn Target> {
        Some(&mut self.process)
    }
}

pub(super) fn launch(config: &PythonConfig, limits: &Limits) -> Result<Launch, StartError> {
    let name = config.target.to_string();
    let load = Load {
        target: match &config.target.source {
            PythonSource::Module(name) => Source::Module(name),
            // A path that is not UTF-8 is reported by the worker as not found.
            PythonSource::File(path) => Source::File(path.to_str().unwrap_or_default()),
        },
        function: &config.target.function,
        folder: config.folder.as_deref().and_then(std::path::Path::to_str),
        arrays: config.arrays,
        device: config.device.as_deref(),
        layout: config.layout,
        supports: config.supports.as_deref(),
        mask_takes_bias: config.mask_takes_bias,
        layers: layers(),
    };
    let python = match serde_json::to_value(load) {
        Ok(serde_json::Value::Object(python)) => python,
        Ok(other) => return Err(foreign(name, WireError::new("python", "an object", other))),
        Err(error) => {
            return Err(foreign(
                name,
                WireError::new("python", "a target that JSON can name", error),
            ));
        }
    };
    Ok(Launch {
        name,
        whose: Program::Python,
        program: config.python.clone(),
        arguments: function_worker().map(Into::into).to_vec(),
        folder: None,
        python: Some(python),
        limits: limits.clone(),
        max_restarts: config.max_restarts,
        threads: Threads::One,
    })
}

fn foreign(target: String, error: WireError) -> StartError {
    StartError::Protocol { target, error: Box::new(error), heard: Box::default() }
}
