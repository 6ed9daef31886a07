//! Offsets in a trace: computed once eagerly, and again by every run of the compiled program.
//!
//! Invariant: offsets of constant indices are part of the program; all others are an object of the run.

use std::sync::Arc;

use super::offsets::Offsets;
use crate::array::observer;
use crate::error::{Error, Result};
use crate::kernels::launch::{self, KernelFn, Launch, LaunchKind, Object, Objects};
use crate::kernels::view::{View, ViewMut};

/// Computes offsets from indices.
pub(super) type FindOffsets = Box<dyn Fn(&[View<'_>]) -> Result<Offsets> + Send + Sync>;
/// Moves rows by offsets: inputs, output, offsets.
pub(super) type MoveRows = fn(&[View<'_>], ViewMut<'_>, &Offsets);

/// Whether the elements are constants of the program, the same in every run.
fn is_constant(view: &View<'_>) -> bool {
    view.numel() == 0 || !observer::varies_at(view.ptr.addr())
}

/// The offsets, and a launch that computes them in later runs.
pub(super) fn traced(indices: &[View<'_>], find: FindOffsets) -> Result<Offsets> {
    if indices.iter().all(is_constant) {
        let _paused = observer::Pause::new();
        return find(indices);
    }
    let Some(tracer) = launch::tracer() else {
        return find(indices);
    };
    let object = tracer.new_object();
    let find: Arc<FindOffsets> = Arc::new(find);
    let recompute = find.clone();
    let run: KernelFn = Arc::new(move |reads, _, objects| {
        objects[object] = Some(Arc::new(recompute(reads)?) as Object);
        Ok(())
    });
    let _paused = record_launch("offsets", indices, None, run);
    Ok(Offsets { object: Some(object), ..find(indices)? })
}

/// Offsets under other strides, and a launch that converts them in later runs.
pub(super) fn restrided(offsets: &Offsets, object: usize, axes: &[(isize, isize)]) -> Offsets {
    let Some(tracer) = launch::tracer() else {
        return offsets.with_strides(axes);
    };
    let result = tracer.new_object();
    let recompute = axes.to_vec();
    let run: KernelFn = Arc::new(move |_, _, objects| {
        let moved = with_object(objects, object, |offsets| offsets.with_strides(&recompute));
        objects[result] = Some(Arc::new(moved) as Object);
        Ok(())
    });
    let _paused = record_launch("offsets", &[], None, run);
    Offsets { object: Some(result), ..offsets.with_strides(axes) }
}

/// Records a move of rows; the previous contents of the written memory count as read.
pub(super) fn record_move(
    name: &'static str,
    reads: &[View<'_>],
    written: &ViewMut<'_>,
    offsets: &Offsets,
    body: MoveRows,
) -> observer::Pause {
    let run: KernelFn = match offsets.object {
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
    let paused = record_launch(name, reads, Some(written), run);
    // The contents vary between runs even if what was read for them does not.
    if offsets.object.is_some()
        && let Some(buffer) = observer::buffer_of(written.ptr.addr())
    {
        observer::set_varies(buffer);
    }
    paused
}

fn record_launch(
    name: &'static str,
    reads: &[View<'_>],
    written: Option<&ViewMut<'_>>,
    run: KernelFn,
) -> observer::Pause {
    launch::trace_launch(Launch {
        name,
        reads: reads.iter().map(Into::into).collect(),
        writes: written.into_iter().map(Into::into).collect(),
        work: LaunchKind::Kernel(run),
    })
}

fn with_object<T>(objects: &Objects, number: usize, body: impl FnOnce(&Offsets) -> T) -> T {
    let offsets = objects[number].as_ref().and_then(|object| object.downcast_ref::<Offsets>());
    body(offsets.expect("a launch before this one found the offsets"))
}

/// Refuses a mask that depends on an argument: the number of its true elements would be fixed.
pub(super) fn check_mask(mask: &View<'_>) -> Result<()> {
    if mask.numel() > 0 && observer::buffer_of(mask.ptr.addr()).is_some_and(observer::refuses_read)
    {
        let what = "x[mask], nonzero or where(mask) chooses elements by the values of a mask";
        return Err(not_traceable(what));
    }
    Ok(())
}

#[cold]
fn not_traceable(what: &str) -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: "index".into(),
        what: format!(
            "{what}, which depend on the arguments of a function that fg.compile records"
        ),
        remedy: "use fg.where(mask, a, b), or leave this function uncompiled",
    })
}
