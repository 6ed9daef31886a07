//! Offsets in a capture: found once for the caller, and again in every run of the program.
//!
//! Owns: the launches that find offsets, and those that move rows by them. Never finds or moves anything itself.
//! Invariant: offsets of constant indices are part of the program; all others are an object of the run.

use std::sync::Arc;

use super::offsets::Offsets;
use crate::array::capture;
use crate::error::{Error, Result};
use crate::kernels::launch::{self, Launch, Object, Objects, Run, Work};
use crate::kernels::view::{View, ViewMut};

/// Finds offsets from indices.
pub(super) type Find = Box<dyn Fn(&[View<'_>]) -> Result<Offsets> + Send + Sync>;
/// Moves rows: what is read, what is written, the offsets.
pub(super) type Move = fn(&[View<'_>], ViewMut<'_>, &Offsets);

/// Whether the elements are values of the program, the same in every run.
fn constant(view: &View<'_>) -> bool {
    view.numel() == 0 || !capture::varies_at(view.ptr.addr())
}

/// The offsets, and a launch that finds them in later runs.
pub(super) fn found(indices: &[View<'_>], find: Find) -> Result<Offsets> {
    if indices.iter().all(constant) {
        let _paused = capture::Pause::new();
        return find(indices);
    }
    let Some(object) = launch::with_recorder(|recorder| recorder.object()) else {
        return find(indices);
    };
    let find: Arc<Find> = Arc::new(find);
    let again = find.clone();
    let run: Run = Arc::new(move |reads, _, objects| {
        objects[object] = Some(Arc::new(again(reads)?) as Object);
        Ok(())
    });
    let _paused = note("offsets", indices, None, run);
    Ok(Offsets { object: Some(object), ..find(indices)? })
}

/// Offsets under other strides, and a launch that brings them there in later runs.
pub(super) fn restrided(offsets: &Offsets, object: usize, axes: &[(isize, isize)]) -> Offsets {
    let Some(result) = launch::with_recorder(|recorder| recorder.object()) else {
        return offsets.with_strides(axes);
    };
    let again = axes.to_vec();
    let run: Run = Arc::new(move |_, _, objects| {
        let moved = with_object(objects, object, |offsets| offsets.with_strides(&again));
        objects[result] = Some(Arc::new(moved) as Object);
        Ok(())
    });
    let _paused = note("offsets", &[], None, run);
    Offsets { object: Some(result), ..offsets.with_strides(axes) }
}

/// Records that rows are moved; what the written memory held counts as read.
pub(super) fn moved(
    name: &'static str,
    reads: &[View<'_>],
    written: &ViewMut<'_>,
    offsets: &Offsets,
    body: Move,
) -> capture::Pause {
    let run: Run = match offsets.object {
        Some(object) => Arc::new(move |reads, writes, objects| {
            with_object(objects, object, |offsets| body(reads, writes[0].reborrow(), offsets));
            Ok(())
        }),
        None => {
            let offsets = offsets.clone();
            Arc::new(move |reads, writes, _| {
                body(reads, writes[0].reborrow(), &offsets);
                Ok(())
            })
        }
    };
    let paused = note(name, reads, Some(written), run);
    // The contents differ from run to run also where what was read for them does not.
    if offsets.object.is_some()
        && let Some(buffer) = capture::buffer_of(written.ptr.addr())
    {
        capture::with_buffer(buffer, |buffer| buffer.traced = true);
    }
    paused
}

fn note(
    name: &'static str,
    reads: &[View<'_>],
    written: Option<&ViewMut<'_>>,
    run: Run,
) -> capture::Pause {
    launch::record(Launch {
        name,
        reads: reads.iter().map(Into::into).collect(),
        writes: written.into_iter().map(Into::into).collect(),
        work: Work::Kernel(run),
    })
}

fn with_object<T>(objects: &Objects, number: usize, body: impl FnOnce(&Offsets) -> T) -> T {
    let offsets = objects[number].as_ref().and_then(|object| object.downcast_ref::<Offsets>());
    body(offsets.expect("a launch before this one found the offsets"))
}

/// Refuses a mask that depends on an argument: the number of its true elements would be fixed.
pub(super) fn check_mask(mask: &View<'_>) -> Result<()> {
    if mask.numel() > 0
        && capture::buffer_of(mask.ptr.addr()).is_some_and(capture::must_refuse_read)
    {
        let what = "x[mask], nonzero or where(mask) chooses elements by the values of a mask";
        return Err(refusal(what));
    }
    Ok(())
}

#[cold]
fn refusal(what: &str) -> Box<Error> {
    Box::new(Error::Captured {
        op: "index".into(),
        what: format!(
            "{what}, which depend on the arguments of a function that fg.compile records"
        ),
        remedy: "use fg.where(mask, a, b), or leave this function uncompiled",
    })
}
