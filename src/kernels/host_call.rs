//! Host code in the middle of a program: a step that calls it, and the stretch of a recording during which it runs.
//!
//! Owns: `Host`, and the way from what a stretch recorded to the one step that stands for it. Never knows the host
//! language. Invariant: what host code did while it was recorded and the step that calls it again are never both in a
//! program, and what it reads then it finds again in every run.

use std::any::Any;
use std::sync::Arc;

use super::launch::{self, Launch, Object, Objects, Work};
use super::view::{View, ViewMut};
use crate::array::capture;
use crate::error::Result;

/// Code of the host language.
pub trait Host: Send + Sync {
    /// Computes what is written from what is read, on the calling thread.
    ///
    /// # Errors
    /// What the code raises.
    fn run(
        &self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        objects: &mut Objects,
    ) -> Result<()>;

    /// What it changes beside its results (a generator of random numbers), as it is now.
    ///
    /// # Errors
    /// What the host raises.
    fn hold(&self) -> Result<Option<Object>>;

    /// Puts that back: the run was in vain, and the function itself will be called.
    fn give_back(&self, held: &Object);

    /// For the layer that made it.
    fn as_any(&self) -> &dyn Any;
}

/// How far a program is recorded.
#[derive(Clone, Copy)]
pub struct Mark {
    /// Steps that fill constants.
    pub before: usize,
    /// Steps.
    pub steps: usize,
    /// Buffers.
    pub buffers: usize,
    /// Whether it was refused already.
    pub refused: bool,
    /// The operation that met a number.
    pub chosen_by_number: Option<&'static str>,
}

/// A part of the recording of this thread in which host code runs.
#[must_use = "the stretch ends when this is dropped"]
pub struct Stretch {
    mark: Mark,
    open: bool,
}

impl Stretch {
    /// Begins a stretch whose code was given the buffers at these addresses; `None` outside recordings.
    pub fn begin(given: Vec<usize>) -> Option<Stretch> {
        if !capture::active() {
            return None;
        }
        let mark = launch::with_recorder(|recorder| recorder.mark())?;
        capture::begin_host_span(given);
        Some(Stretch { mark, open: true })
    }

    /// Whether the code read values, so that only calling it again repeats what it did.
    pub fn reads_values(&self) -> bool {
        capture::host_span_reads_traced()
    }

    /// Drops what the code recorded: a step will call it again.
    ///
    /// # Errors
    /// `Captured` when the code reads or writes what it would not find again.
    pub fn give_way(mut self) -> Result<()> {
        self.open = false;
        let dropped = launch::with_recorder(|recorder| recorder.drop_since(self.mark));
        capture::end_host_span(true);
        dropped.unwrap_or(Ok(()))
    }
}

impl Drop for Stretch {
    fn drop(&mut self) {
        if self.open {
            // Code that failed after it had read values must not leave a trace of them.
            let again = self.reads_values();
            if again {
                let _ = launch::with_recorder(|recorder| recorder.drop_since(self.mark));
            }
            capture::end_host_span(again);
        }
    }
}

/// Records a step that calls host code.
pub fn record(name: &'static str, reads: &[View<'_>], writes: &[ViewMut<'_>], host: Arc<dyn Host>) {
    let reads = reads.iter().map(Into::into).collect();
    let writes = writes.iter().map(Into::into).collect();
    drop(launch::record(Launch { name, reads, writes, work: Work::Foreign(host) }));
}

/// Has the recording keep what host code changes besides; called before the code runs.
///
/// # Errors
/// What the host raises.
pub fn hold(host: &Arc<dyn Host>) -> Result<()> {
    if let Some(held) = host.hold()? {
        launch::with_recorder(|recorder| recorder.hold(host, held));
    }
    Ok(())
}

/// The object by which host code of the run that is being recorded hands on what is no tensor.
pub fn object(make: &dyn Fn() -> Object) -> Object {
    launch::with_recorder(|recorder| recorder.host_object(make)).unwrap_or_else(make)
}
