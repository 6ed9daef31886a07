//! Host code in a compiled program: the step that calls it, and the span of a trace during which it runs.
//!
//! Invariant: a program contains either the launches that host code made while it was traced, or the step
//! that calls it again, never both; and what it read then it finds in every run.

use std::any::Any;
use std::sync::Arc;

use super::launch::{self, Launch, Object, Objects, Work};
use super::view::{View, ViewMut};
use crate::array::capture;
use crate::error::Result;

/// A function of the host language.
pub trait Host: Send + Sync {
    /// Computes the outputs from the inputs, on the calling thread.
    ///
    /// # Errors
    /// What the code raises.
    fn run(
        &self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        objects: &mut Objects,
    ) -> Result<()>;

    /// Saves the state that it changes in addition to its results (a random generator).
    ///
    /// # Errors
    /// What the host raises.
    fn hold(&self) -> Result<Option<Object>>;

    /// Restores that state: tracing failed, and the function itself will be called.
    fn give_back(&self, held: &Object);

    /// For a downcast by the layer that made it.
    fn as_any(&self) -> &dyn Any;
}

/// A position in a trace, to roll back to.
#[derive(Clone, Copy)]
pub struct TraceMark {
    /// Number of steps that fill constants.
    pub before: usize,
    /// Number of steps.
    pub steps: usize,
    /// Number of buffers.
    pub buffers: usize,
    /// Whether the trace was refused already.
    pub refused: bool,
    /// The operation that may depend on which number an argument is.
    pub chosen_by_number: Option<&'static str>,
}

/// The span of this thread's trace in which host code runs.
#[must_use = "the stretch ends when this is dropped"]
pub struct HostSpan {
    mark: TraceMark,
    open: bool,
}

impl HostSpan {
    /// Starts a span whose code received the buffers at these addresses; `None` outside traces.
    pub fn begin(given: Vec<usize>) -> Option<HostSpan> {
        if !capture::active() {
            return None;
        }
        let mark = launch::with_tracer(|tracer| tracer.mark())?;
        capture::begin_host_span(given);
        Some(HostSpan { mark, open: true })
    }

    /// Whether the code read values, so that only calling it again repeats it.
    pub fn reads_values(&self) -> bool {
        capture::host_span_reads_traced()
    }

    /// Drops the traced launches of the code: a step will call it again.
    ///
    /// # Errors
    /// `Captured` if the code reads or writes what a later run would not find.
    pub fn give_way(mut self) -> Result<()> {
        self.open = false;
        let dropped = launch::with_tracer(|tracer| tracer.drop_since(self.mark));
        capture::end_host_span(true);
        dropped.unwrap_or(Ok(()))
    }
}

impl Drop for HostSpan {
    fn drop(&mut self) {
        if self.open {
            // Launches of failed code that had read values must not stay in the trace.
            let replays = self.reads_values();
            if replays {
                let _ = launch::with_tracer(|tracer| tracer.drop_since(self.mark));
            }
            capture::end_host_span(replays);
        }
    }
}

/// Traces a step that calls host code.
pub fn record(name: &'static str, reads: &[View<'_>], writes: &[ViewMut<'_>], host: Arc<dyn Host>) {
    let reads = reads.iter().map(Into::into).collect();
    let writes = writes.iter().map(Into::into).collect();
    drop(launch::trace_launch(Launch { name, reads, writes, work: Work::Foreign(host) }));
}

/// Saves the state that host code changes in addition to its results; called before the code runs.
///
/// # Errors
/// What the host raises.
pub fn hold(host: &Arc<dyn Host>) -> Result<()> {
    if let Some(held) = host.hold()? {
        launch::with_tracer(|tracer| tracer.hold(host, held));
    }
    Ok(())
}

/// The object with which host code of the traced run passes on values that are not tensors.
pub fn object(make: &dyn Fn() -> Object) -> Object {
    launch::with_tracer(|tracer| tracer.host_object(make)).unwrap_or_else(make)
}
