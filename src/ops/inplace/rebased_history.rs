//! The history of a tensor after in-place changes of its memory: one node that routes the gradient of each element to the
//! last write of it, or to the tensor's earlier history (PyTorch's `CopySlices`), and one through which a view reads the
//! changed base (`AsStridedBackward`).
//!
//! Invariant: elements are identified by memory position, so any two views of a memory work together; a node costs as much
//! as the memory and the writes together, recorded or not.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Layout;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{self, Edges, Flags, RuleRef, forward_ad};
use crate::kernels;
use crate::ops::core::broadcast::{reshape_dims, select_by_mask};
use crate::ops::core::structured::{
    Backward, Cx, NodeSpec, NodeSpecMany, Structured, VIEW_COST, move_cost, record_output,
    record_outputs, save_none,
};
use crate::ops::core::view::PartialGradient;
use crate::ops::inplace::mixed_complex_regions::{
    UnitRegion, span, stack_layout, units_of, unrecorded_units, unrecorded_values, values_of,
};
use crate::tensor::{Edge, Region, Tensor, TensorFlags, ViewOrigin, Write, same_positions};

/// The parameters of `as_strided`: the unit of positions, the number of units spanned, the base, and the view.
type StridedParams = (DType, usize, UnitRegion, UnitRegion);

/// The elements of a tensor and of the writes to it, by position in the part of memory that they span.
struct MemorySlices {
    /// The dtype that positions count.
    unit: DType,
    /// The tensor.
    own: UnitRegion,
    /// The writes, oldest first.
    writes: SmallVec<[UnitRegion; 1]>,
    /// The number of units spanned.
    size: usize,
}

/// Which sources take part: the earlier history (0) and the writes (from 1 on).
type SourceMask = SmallVec<[bool; 8]>;

impl MemorySlices {
    fn new(own: &Region, writes: &[Write]) -> MemorySlices {
        let all = std::iter::once(own).chain(writes.iter().map(|write| &write.region));
        let (unit, low, size) = span(all);
        let in_unit = |region| UnitRegion::of(region, unit, low);
        let writes = writes.iter().map(|write| in_unit(&write.region)).collect();
        MemorySlices { unit, own: in_unit(own), writes, size }
    }

    /// The same in each of `n` memories, one after the other.
    fn stacked(&self, n: usize) -> Result<MemorySlices> {
        let stacked = |region: &UnitRegion| region.stacked(n, self.size);
        Ok(MemorySlices {
            unit: self.unit,
            own: stacked(&self.own)?,
            writes: self.writes.iter().map(stacked).collect::<Result<_>>()?,
            size: n * self.size,
        })
    }

    /// Whether a write covers the tensor completely.
    fn is_covered(&self) -> bool {
        let own = &self.own.layout;
        let holds = |(low, high): (isize, isize)| {
            own.extent().is_none_or(|(first, last)| low <= first && last <= high)
        };
        self.writes.iter().any(|UnitRegion { layout, .. }| {
            same_positions(layout, own) || (layout.is_dense() && layout.extent().is_some_and(holds))
        })
    }

    /// A gradient of the tensor scattered to memory positions, in memory that may be written.
    fn to_memory(&self, g: Tensor, reuse: bool) -> Result<Tensor> {
        let (g, own) = (unrecorded_units(g, self.unit), &self.own.layout);
        let plain = own.is_contiguous() && own.numel() == self.size;
        if !plain {
            let memory = Tensor::zeros(&[self.size], self.unit)?;
            add_region(&memory, own, &g)?;
            return Ok(memory);
        }
        let exclusive = reuse && g.is_overwritable_in_trace();
        let memory = if exclusive { g } else { g.duplicate()? };
        let offset = memory.layout().offset();
        Ok(memory.into_layout(Layout::contiguous(&[self.size])?.with_offset(offset)))
    }

    /// Splits a gradient among the sources that take part, in order. Not recorded; may overwrite `g` if `reuse`.
    fn split(&self, g: Tensor, reuse: bool, sources: &SourceMask) -> Result<Vec<Tensor>> {
        let whole = self.own.layout.is_injective();
        let kept = if whole || !sources[0] { None } else { Some(g.duplicate()?) };
        let settled = g.flags().has(TensorFlags::ZERO_PADDED);
        let memory = self.to_memory(g, reuse)?;
        let mut parts = Vec::new();
        for (write, active) in self.writes.iter().zip(&sources[1..]).rev() {
            let target = memory.memory_view(&write.layout);
            if *active {
                parts.push(unrecorded_values(target.duplicate()?, write.dtype)?);
            }
            kernels::zero(target.shared_view_mut());
        }
        match kept {
            Some(kept) => {
                self.clear_written(&kept)?;
                parts.push(kept);
            }
            None if sources[0] => {
                let past = unrecorded_values(memory.memory_view(&self.own.layout), self.own.dtype)?;
                parts.push(if settled { past.marked(TensorFlags::ZERO_PADDED) } else { past });
            }
            None => {}
        }
        parts.reverse();
        Ok(parts)
    }

    /// The adjoint of `split`: the tensor whose sources are `parts`; other sources are zero. Not recorded.
    fn merge(&self, parts: &[&Tensor], sources: &SourceMask) -> Result<Tensor> {
        let memory = Tensor::zeros(&[self.size], self.unit)?;
        let (own, mut parts) = (&self.own.layout, parts.iter());
        let mut next = |active: bool| if active { parts.next() } else { None };
        let past = next(sources[0]);
        let units = |part: &Tensor| unrecorded_units(part.detach(), self.unit);
        if let Some(past) = past.filter(|_| own.is_injective()) {
            kernels::copy(units(past).view_of(), memory.memory_view(own).view_mut());
        }
        for (write, active) in self.writes.iter().zip(&sources[1..]) {
            let target = memory.memory_view(&write.layout);
            match next(*active) {
                Some(part) => kernels::copy(units(part).view_of(), target.view_mut()),
                None => kernels::zero(target.view_mut()),
            }
        }
        let out = unrecorded_values(memory.memory_view(own), self.own.dtype)?;
        if own.is_injective() {
            return Ok(out);
        }
        let out = out.duplicate()?;
        if let Some(past) = past {
            let past = past.duplicate()?;
            self.clear_written(&past)?;
            out.add_into(&past);
        }
        Ok(out)
    }

    /// Sets the elements of `x` that any write covers to zero.
    fn clear_written(&self, x: &Tensor) -> Result<()> {
        let memory = Tensor::ones(&[self.size], DType::Bool)?;
        for write in &self.writes {
            kernels::zero(memory.memory_view(&write.layout).view_mut());
        }
        let x = unrecorded_units(x.detach(), self.unit);
        let zero = Tensor::zeros(&[], self.unit)?;
        let zeros = zero.layout().broadcast_to(x.shape())?;
        let untouched = memory.memory_view(&self.own.layout);
        let kept = select_by_mask(&untouched, &x, &zero.into_layout(zeros))?;
        kernels::copy(kept.view_of(), x.view_mut());
        Ok(())
    }
}

/// The slices for the running pass, which may be batched.
fn slices_of_pass(slices: &Arc<MemorySlices>, cx: &Cx<'_>) -> Result<Arc<MemorySlices>> {
    match *cx.batch() {
        [n] => slices.stacked(n).map(Arc::new),
        _ => Ok(Arc::clone(slices)),
    }
}

fn backward(slices: &Arc<MemorySlices>, g: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let slices = slices_of_pass(slices, cx)?;
    let sources: SourceMask = (0..=slices.writes.len()).map(|i| cx.wants(i)).collect();
    let parts = if cx.create_graph() {
        split_recorded(&slices, &g, sources.clone())?
    } else {
        slices.split(g, true, &sources)?
    };
    let numbers = sources.iter().enumerate().filter(|(_, active)| **active).map(|(i, _)| i);
    for (i, part) in numbers.zip(parts) {
        cx.give(i, part)?;
    }
    Ok(())
}

/// The tangent of the tensor from those of its sources.
fn jvp(slices: &Arc<MemorySlices>, cx: &mut Cx<'_>) -> Result<()> {
    let slices = slices_of_pass(slices, cx)?;
    let sources: SourceMask = (0..=slices.writes.len()).map(|i| cx.grad(i).is_some()).collect();
    let parts: Vec<Tensor> = (0..sources.len()).filter_map(|i| cx.take_grad(i)).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let tangent = if cx.create_graph() {
        merge_recorded(&slices, &parts, sources)?
    } else {
        slices.merge(&parts.iter().collect::<Vec<_>>(), &sources)?
    };
    cx.give(0, tangent)
}

/// `split`, recorded; its adjoint is `merge`.
fn split_recorded(
    slices: &Arc<MemorySlices>,
    g: &Tensor,
    sources: SourceMask,
) -> Result<Vec<Tensor>> {
    let parts = slices.split(g.detach(), false, &sources)?;
    record_outputs(parts, &[g], |_| NodeSpecMany {
        name: "copy_slices_backward",
        cost: move_cost(g),
        params: (Arc::clone(slices), sources),
        saved: save_none(),
        backward: |(slices, sources), cx| {
            let mut present = sources.clone();
            let mut parts = Vec::new();
            let positions = present.iter_mut().filter(|active| **active);
            for (k, source) in positions.enumerate() {
                let part = cx.take_grad(k);
                *source = part.is_some();
                parts.extend(part);
            }
            if parts.is_empty() {
                return Ok(());
            }
            cx.give_with(0, |cx| merge_recorded(&slices_of_pass(slices, cx)?, &parts, present))
        },
    })
}

/// `merge`, recorded; its adjoint is `split`.
fn merge_recorded(
    slices: &Arc<MemorySlices>,
    parts: &[Tensor],
    sources: SourceMask,
) -> Result<Tensor> {
    let parts: Vec<&Tensor> = parts.iter().collect();
    let out = slices.merge(&parts, &sources)?;
    record_output(out, &parts, |out| NodeSpec {
        name: "copy_slices",
        cost: move_cost(out),
        params: (Arc::clone(slices), sources),
        saved: save_none(),
        backward: |(slices, sources), g, cx| {
            let mut wanted = sources.clone();
            let given: SmallVec<[usize; 8]> = (0..sources.iter().filter(|active| **active).count())
                .filter(|k| cx.wants(*k))
                .collect();
            for (k, source) in wanted.iter_mut().filter(|active| **active).enumerate() {
                *source = cx.wants(k);
            }
            let parts = split_recorded(&slices_of_pass(slices, cx)?, &g, wanted)?;
            for (k, part) in given.into_iter().zip(parts) {
                cx.give(k, part)?;
            }
            Ok(())
        },
    })
}

impl Tensor {
    /// The edge of `own` after `writes`; `past` is its edge before them.
    pub(crate) fn copy_slices(own: &Region, past: Option<Edge>, writes: &[Write]) -> Edge {
        let slices = MemorySlices::new(own, writes);
        let name = writes.last().map_or("copy_slices", |write| write.op);
        let bytes = (slices.size * slices.unit.size()) as f32;
        let cost = 40.0 + bytes / 20.0 + 200.0 * writes.len() as f32;
        // If the writes cover everything, the earlier history gets no gradient: not even a zero, which an infinite
        // derivative would turn into a NaN.
        let past = past.filter(|_| !slices.is_covered());
        let edges: Edges<Tensor> =
            std::iter::once(past).chain(writes.iter().map(|write| write.edge.clone())).collect();
        let rule = Structured::new(name, Arc::new(slices), backward).with_jvp(jvp);
        let rule = RuleRef::Boxed(Box::new(rule));
        let node = graph::record_plain(rule, edges, 1, cost, Flags::NONE);
        Edge::new(forward_ad::with_tangents_or_error(node), 0)
    }

    /// The edge of this view of a changed base; `edge` is the base's current edge.
    pub(crate) fn as_strided_edge(&self, base: &Region, edge: Edge) -> Edge {
        let own = Region::of(self);
        let (unit, low, size) = span([base, &own].into_iter());
        let in_unit = |region| UnitRegion::of(region, unit, low);
        let (params, cost) =
            ((unit, size, in_unit(base), in_unit(&own)), VIEW_COST + move_cost(self));
        let rule = if self.view_origin() == ViewOrigin::CustomFunction {
            let bypassed = Structured::new("as_strided", params, |_, _, _| Err(bypassed_error()));
            RuleRef::Boxed(Box::new(bypassed.with_jvp(|_, _| Err(bypassed_error()))))
        } else {
            let backward: Backward<StridedParams> = |(unit, size, base, own), g, cx| {
                if let Some(positions) = positions_in(base, own)
                    && !cx.create_graph()
                    && cx.batch().is_empty()
                {
                    let part = PartialGradient::strided(g, base.layout.dims(), positions);
                    return cx.give_slice(0, part);
                }
                cx.give_with(0, |_| {
                    let memory = scatter_region(&units_of(&g, *unit)?, *size, &own.layout)?;
                    values_of(&gather_region(&memory, &base.layout)?, base.dtype)
                })
            };
            let strided = Structured::new("as_strided", params, backward);
            RuleRef::Boxed(Box::new(strided.with_jvp(|(unit, size, base, own), cx| {
                let Some(t) = cx.take_grad(0) else { return Ok(()) };
                let memory = scatter_region(&units_of(&t, *unit)?, *size, &base.layout)?;
                cx.give(0, values_of(&gather_region(&memory, &own.layout)?, own.dtype)?)
            })))
        };
        let edges: Edges<Tensor> = std::iter::once(Some(edge)).collect();
        let node = graph::record_plain(rule, edges, 1, cost, Flags::NONE);
        Edge::new(forward_ad::with_tangents_or_error(node), 0)
    }
}

/// The positions of `own` in the C order of `base`, if the base is contiguous and contains them all.
fn positions_in(base: &UnitRegion, own: &UnitRegion) -> Option<Layout> {
    let (whole, part) = (&base.layout, &own.layout);
    let (low, high) = part.extent()?;
    let (first, last) = whole.extent()?;
    let inside = first <= low && high <= last && base.dtype == own.dtype;
    let plain = whole.is_contiguous() && part.is_injective() && !base.dtype.is_complex();
    (inside && plain).then(|| part.with_offset(part.offset() - whole.offset()))
}

#[cold]
fn bypassed_error() -> Box<Error> {
    Box::new(Error::InPlace {
        op: "backward".into(),
        what: "a view that a custom function returned was used after its memory was changed in place: its backward \
               would be bypassed"
            .into(),
        remedy: "return a clone() from forward, or use the view before the change",
    })
}

/// A zero memory of `size` units with `g` added at the positions of `region`; aliased positions sum. A batch of gradients
/// gives a batch of memories.
fn scatter_region(g: &Tensor, size: usize, region: &Layout) -> Result<Tensor> {
    if g.ndim() > region.ndim() {
        let n = g.shape()[0];
        let all = scatter_region(g, n * size, &stack_layout(region, n, size)?)?;
        return reshape_dims(&all, &[n, size]);
    }
    let out = Tensor::zeros(&[size], g.dtype())?;
    add_region(&out, region, g)?;
    record_output(out, &[g], |_| NodeSpec {
        name: "spread",
        cost: move_cost(g),
        params: region.clone(),
        saved: save_none(),
        backward: |region, g, cx| cx.give_with(0, |_| gather_region(&g, region)),
    })
}

fn add_region(memory: &Tensor, region: &Layout, g: &Tensor) -> Result<()> {
    if region.is_injective() {
        memory.memory_view(region).add_into(g);
        return Ok(());
    }
    // Aliased elements meet in the order of the smallest stride first.
    let steps = region.strides().iter().zip(region.dims()).enumerate();
    let axis = steps.filter(|(_, (_, d))| **d > 1).min_by_key(|(_, (s, _))| s.unsigned_abs());
    let Some((axis, (_, &size))) = axis else {
        return Ok(());
    };
    for i in 0..size {
        let part = g.detach().into_layout(g.layout().select(axis, i));
        add_region(memory, &region.select(axis, i), &part)?;
    }
    Ok(())
}

impl Tensor {
    /// The elements of `region` in a contiguous memory; not recorded.
    fn memory_view(&self, region: &Layout) -> Tensor {
        let offset = self.layout().offset() + region.offset();
        self.detach().into_layout(region.with_offset(offset))
    }
}

/// The elements of `region` in a memory, or in each memory of a batch.
fn gather_region(memory: &Tensor, region: &Layout) -> Result<Tensor> {
    if let [n, size] = *memory.shape() {
        return gather_region(&reshape_dims(memory, &[n * size])?, &stack_layout(region, n, size)?);
    }
    let memory = memory.contiguous()?;
    let out = memory.memory_view(region);
    record_output(out, &[&memory], |out| NodeSpec {
        name: "shown",
        cost: move_cost(out),
        params: (memory.size(), region.clone()),
        saved: save_none(),
        backward: |(size, region), g, cx| cx.give_with(0, |_| scatter_region(&g, *size, region)),
    })
}
