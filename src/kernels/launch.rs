//! Kernel launches: every kernel that reads or writes elements starts with `launch!`, so that a tracer sees it.
//!
//! Invariant: without a tracer a launch is one load and a branch; with one, the kernels called by a kernel
//! belong to it and are not traced again.

use std::sync::Arc;

use smallvec::SmallVec;

pub(super) use super::tracer::c_strides;
pub use super::tracer::{
    Dims, HOST_OBJECT, HostFunction, KernelFn, Launch, LaunchKind, Object, Objects, Operand,
    Strides, Tracer, known_to_programs, set_tracer, tracer,
};
use super::view::{View, ViewMut};
use crate::array::observer;
use crate::error::{Error, Result};

/// Passes a launch to the tracer. The observer of memory is paused while the kernel runs.
#[cold]
#[inline(never)]
pub(super) fn trace_launch(launch: Launch) -> observer::Pause {
    if let Some(tracer) = tracer() {
        tracer.launch(launch);
    }
    observer::Pause::new()
}

/// The number of a new object of this thread's trace; any number if there is none.
pub fn new_object() -> usize {
    if !observer::is_active() {
        return HOST_OBJECT;
    }
    tracer().map_or(HOST_OBJECT, |tracer| tracer.new_object())
}

/// The identity of this thread's trace; 0 if there is none.
pub fn trace_identity() -> usize {
    if observer::is_active() { tracer().map_or(0, |tracer| tracer.identity()) } else { 0 }
}

/// Tells the tracer that a backward pass treats missing gradients as zeros, or tests for them: the program is
/// valid only if all gradients exist.
pub fn require_all_gradients() {
    if observer::is_active()
        && let Some(tracer) = tracer()
    {
        tracer.require_all_gradients();
    }
}

/// Runs a kernel with any number of operands.
///
/// # Errors
/// The kernel's error.
pub fn run_kernel(
    name: &'static str,
    reads: &[View<'_>],
    writes: &mut [ViewMut<'_>],
    run: KernelFn,
    objects: &mut Objects,
) -> Result<()> {
    let _paused = observer::is_active().then(|| {
        trace_launch(Launch {
            name,
            reads: reads.iter().map(Into::into).collect(),
            writes: writes.iter().map(Into::into).collect(),
            work: LaunchKind::Kernel(run.clone()),
        })
    });
    run(reads, writes, objects)
}

/// A decision that depends on the values of the operands, as a number. Runs of a program check it: if it
/// differs, they fail with `Diverged`.
pub fn decide(
    name: &'static str,
    reads: &[View<'_>],
    choose: impl Fn(&[View<'_>]) -> u64 + Send + Sync + 'static,
) -> u64 {
    let decision = choose(reads);
    if observer::is_active() && reads.iter().any(|read| observer::varies_at(read.ptr.addr())) {
        let run: KernelFn = Arc::new(move |reads, _, _| {
            if choose(reads) == decision {
                return Ok(());
            }
            Err(Box::new(Error::Diverged { op: name.into() }))
        });
        let reads = reads.iter().map(Into::into).collect();
        let launch =
            Launch { name, reads, writes: SmallVec::new(), work: LaunchKind::Decision(run) };
        drop(trace_launch(launch));
    }
    decision
}

/// The result of a kernel, converted to that of a program step.
pub(super) trait Outcome {
    fn outcome(self, name: &'static str, reads: &[View<'_>]) -> Result<()>;
}

impl Outcome for () {
    fn outcome(self, _: &'static str, _: &[View<'_>]) -> Result<()> {
        Ok(())
    }
}

impl Outcome for Result<()> {
    fn outcome(self, _: &'static str, _: &[View<'_>]) -> Result<()> {
        self
    }
}

/// Starts a public kernel: `launch!("name", [reads] => [writes]; parameters; body)`. A borrowed parameter is
/// given as `p = p.to_vec()`, which is evaluated only if the launch is traced; the body sees the name in both
/// cases. The body is the kernel. A kernel that programs know has `as work` instead of its parameters.
macro_rules! launch {
    ($name:expr, [$($r:ident),*] => [$($w:ident),*] as $work:expr; $body:expr) => {{
        let paused = $crate::array::observer::is_active().then(|| {
            $crate::kernels::launch::trace_launch($crate::kernels::launch::Launch {
                name: $name,
                reads: smallvec::smallvec![$((&$r).into()),*],
                writes: smallvec::smallvec![$((&$w).into()),*],
                work: $work,
            })
        });
        let result = $body;
        drop(paused);
        result
    }};
    ($name:expr, [$($r:ident),*] => [$($w:ident),*]; $($p:ident = $e:expr),*; $body:expr) => {{
        let paused;
        if $crate::array::observer::is_active() {
            let (reads, writes) =
                (smallvec::smallvec![$((&$r).into()),*], smallvec::smallvec![$((&$w).into()),*]);
            $(let $p = $e;)*
            let run: $crate::kernels::launch::KernelFn = std::sync::Arc::new(move |reads, writes, _| {
                let &[$($r),*] = reads else { unreachable!("the operands of {}", $name) };
                let [$($w),*] = writes else { unreachable!("the results of {}", $name) };
                $(let $w = $w.reborrow();)*
                $crate::kernels::launch::Outcome::outcome($body, $name, reads)
            });
            let work = $crate::kernels::launch::LaunchKind::Kernel(run);
            paused = Some($crate::kernels::launch::trace_launch($crate::kernels::launch::Launch {
                name: $name,
                reads,
                writes,
                work,
            }));
        } else {
            paused = None;
        }
        // Parameters are borrowed here and owned by the closure above.
        #[allow(clippy::needless_borrow)]
        let result = $body;
        drop(paused);
        result
    }};
}
pub(crate) use launch;
