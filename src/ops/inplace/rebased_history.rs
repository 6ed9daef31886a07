//! The history of a tensor parts of whose memory were changed in place.
//!
//! Owns: the node that passes each element's gradient to the last write of it, or to the past of the tensor, and the
//! node through which a view reads the base that was changed. Never computes a forward: the values are in memory.
//! Invariant: elements are told apart by their position in memory, so any two views of one memory fit together; a node
//! costs as much as the memory and the writes together, recorded or not.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Layout;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{self, Edges, Flags, RuleRef};
use crate::kernels;
use crate::ops::core::broadcast::{choose, reshape_dims};
use crate::ops::core::structured::{
    Cx, Record, RecordMany, Structured, VIEW_COST, finish, finish_many, move_cost, nothing,
};
use crate::ops::core::view::Part;
use crate::ops::inplace::complex_units::{
    Place, as_values, in_each, in_units, span, units_of, values_of,
};
use crate::tensor::{Edge, Region, Tensor, TensorFlags, ViewOrigin, Write, same_positions};

/// Where the elements of a tensor and those of the writes lie in the part of memory that both touch.
struct Slices {
    /// What positions count.
    unit: DType,
    /// The tensor's own.
    own: Place,
    /// Those of the writes, the oldest first.
    writes: SmallVec<[Place; 1]>,
    /// The size of the part.
    size: usize,
}

/// Which of the tensor's past (number 0) and the writes (from 1 on) take part.
type Taken = SmallVec<[bool; 8]>;

impl Slices {
    fn new(own: &Region, writes: &[Write]) -> Slices {
        let all = std::iter::once(own).chain(writes.iter().map(|write| &write.region));
        let (unit, low, size) = span(all);
        let place = |region| Place::of(region, unit, low);
        let writes = writes.iter().map(|write| place(&write.region)).collect();
        Slices { unit, own: place(own), writes, size }
    }

    /// The same in each of `n` such memories, one after the other.
    fn in_each(&self, n: usize) -> Result<Slices> {
        let stacked = |place: &Place| place.in_each(n, self.size);
        Ok(Slices {
            unit: self.unit,
            own: stacked(&self.own)?,
            writes: self.writes.iter().map(stacked).collect::<Result<_>>()?,
            size: n * self.size,
        })
    }

    /// Whether some write left nothing of what was there.
    fn is_covered(&self) -> bool {
        let own = &self.own.layout;
        let holds = |(low, high): (isize, isize)| {
            own.extent().is_none_or(|(first, last)| low <= first && last <= high)
        };
        self.writes.iter().any(|Place { layout, .. }| {
            same_positions(layout, own) || (layout.is_dense() && layout.extent().is_some_and(holds))
        })
    }

    /// A gradient of the tensor by position in memory, where it may be written to.
    fn memory(&self, g: Tensor, reuse: bool) -> Result<Tensor> {
        let (g, own) = (in_units(g, self.unit), &self.own.layout);
        let plain = own.is_contiguous() && own.numel() == self.size;
        if !plain {
            let memory = Tensor::zeros(&[self.size], self.unit)?;
            add_at(&memory, own, &g)?;
            return Ok(memory);
        }
        let ours = reuse && g.is_overwritable_in_capture();
        let memory = if ours { g } else { g.duplicate()? };
        let offset = memory.layout().offset();
        Ok(memory.into_layout(Layout::contiguous(&[self.size])?.with_offset(offset)))
    }

    /// The parts of a gradient that belong to those taken, in their order. Records nothing; writes to `g` if it may.
    fn split(&self, g: Tensor, reuse: bool, taken: &Taken) -> Result<Vec<Tensor>> {
        let whole = self.own.layout.is_injective();
        let kept = if whole || !taken[0] { None } else { Some(g.duplicate()?) };
        let settled = g.flags().has(TensorFlags::ZERO_PADDED);
        let memory = self.memory(g, reuse)?;
        let mut parts = Vec::new();
        for (place, taken) in self.writes.iter().zip(&taken[1..]).rev() {
            let target = memory.relaid_view(&place.layout);
            if *taken {
                parts.push(as_values(target.duplicate()?, place.dtype)?);
            }
            kernels::zero(target.shared_view_mut());
        }
        match kept {
            Some(kept) => {
                self.clear_written(&kept)?;
                parts.push(kept);
            }
            None if taken[0] => {
                let past = as_values(memory.relaid_view(&self.own.layout), self.own.dtype)?;
                parts.push(if settled { past.marked(TensorFlags::ZERO_PADDED) } else { past });
            }
            None => {}
        }
        parts.reverse();
        Ok(parts)
    }

    /// What the tensor holds when its past and the writes hold `parts`, those not taken being zero. Records nothing.
    fn merge(&self, parts: &[&Tensor], taken: &Taken) -> Result<Tensor> {
        let memory = Tensor::zeros(&[self.size], self.unit)?;
        let (own, mut parts) = (&self.own.layout, parts.iter());
        let mut next = |taken: bool| if taken { parts.next() } else { None };
        let past = next(taken[0]);
        let units = |part: &Tensor| in_units(part.detach(), self.unit);
        if let Some(past) = past.filter(|_| own.is_injective()) {
            kernels::copy(units(past).view_of(), memory.relaid_view(own).view_mut());
        }
        for (place, taken) in self.writes.iter().zip(&taken[1..]) {
            let target = memory.relaid_view(&place.layout);
            match next(*taken) {
                Some(part) => kernels::copy(units(part).view_of(), target.view_mut()),
                None => kernels::zero(target.view_mut()),
            }
        }
        let out = as_values(memory.relaid_view(own), self.own.dtype)?;
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

    /// Zeros in `x`, of the tensor's own shape, wherever something was written.
    fn clear_written(&self, x: &Tensor) -> Result<()> {
        let memory = Tensor::ones(&[self.size], DType::Bool)?;
        for place in &self.writes {
            kernels::zero(memory.relaid_view(&place.layout).view_mut());
        }
        let x = in_units(x.detach(), self.unit);
        let zero = Tensor::zeros(&[], self.unit)?;
        let zeros = zero.layout().broadcast_to(x.shape())?;
        let untouched = memory.relaid_view(&self.own.layout);
        let kept = choose(&untouched, &x, &zero.into_layout(zeros))?;
        kernels::copy(kept.view_of(), x.view_mut());
        Ok(())
    }
}

/// The slices of a value in the running pass, which may be one of a batch.
fn of_pass(slices: &Arc<Slices>, cx: &Cx<'_>) -> Result<Arc<Slices>> {
    match *cx.batch() {
        [n] => slices.in_each(n).map(Arc::new),
        _ => Ok(Arc::clone(slices)),
    }
}

fn backward(slices: &Arc<Slices>, g: Tensor, cx: &mut Cx<'_>) -> Result<()> {
    let slices = of_pass(slices, cx)?;
    let taken: Taken = (0..=slices.writes.len()).map(|i| cx.wants(i)).collect();
    let parts = if cx.create_graph() {
        split_recorded(&slices, &g, taken.clone())?
    } else {
        slices.split(g, true, &taken)?
    };
    let numbers = taken.iter().enumerate().filter(|(_, taken)| **taken).map(|(i, _)| i);
    for (i, part) in numbers.zip(parts) {
        cx.give(i, part)?;
    }
    Ok(())
}

/// `split`, recorded; its adjoint is `merge`.
fn split_recorded(slices: &Arc<Slices>, g: &Tensor, taken: Taken) -> Result<Vec<Tensor>> {
    let parts = slices.split(g.detach(), false, &taken)?;
    finish_many(parts, &[g], |_| RecordMany {
        name: "copy_slices_backward",
        cost: move_cost(g),
        params: (Arc::clone(slices), taken),
        saved: nothing(),
        backward: |(slices, taken), cx| {
            let mut present = taken.clone();
            let mut parts = Vec::new();
            let places = present.iter_mut().filter(|taken| **taken);
            for (k, place) in places.enumerate() {
                let part = cx.take_grad(k);
                *place = part.is_some();
                parts.extend(part);
            }
            if parts.is_empty() {
                return Ok(());
            }
            cx.give_with(0, |cx| merge_recorded(&of_pass(slices, cx)?, &parts, present))
        },
    })
}

/// `merge`, recorded; its adjoint is `split`.
fn merge_recorded(slices: &Arc<Slices>, parts: &[Tensor], taken: Taken) -> Result<Tensor> {
    let parts: Vec<&Tensor> = parts.iter().collect();
    let out = slices.merge(&parts, &taken)?;
    finish(out, &parts, |out| Record {
        name: "copy_slices",
        cost: move_cost(out),
        params: (Arc::clone(slices), taken),
        saved: nothing(),
        backward: |(slices, taken), g, cx| {
            let mut wanted = taken.clone();
            let given: SmallVec<[usize; 8]> = (0..taken.iter().filter(|taken| **taken).count())
                .filter(|k| cx.wants(*k))
                .collect();
            for (k, place) in wanted.iter_mut().filter(|taken| **taken).enumerate() {
                *place = cx.wants(k);
            }
            let parts = split_recorded(&of_pass(slices, cx)?, &g, wanted)?;
            for (k, part) in given.into_iter().zip(parts) {
                cx.give(k, part)?;
            }
            Ok(())
        },
    })
}

impl Tensor {
    /// The edge of the values of `own` after `writes`, where `past` is that of the values before.
    pub(crate) fn copy_slices(own: &Region, past: Option<Edge>, writes: &[Write]) -> Edge {
        let slices = Slices::new(own, writes);
        let name = writes.last().map_or("copy_slices", |write| write.op);
        let bytes = (slices.size * slices.unit.size()) as f32;
        let cost = 40.0 + bytes / 20.0 + 200.0 * writes.len() as f32;
        // Where the last write left nothing, the past gets no gradient: not even a zero, which an infinite
        // derivative would make a NaN.
        let past = past.filter(|_| !slices.is_covered());
        let edges: Edges<Tensor> =
            std::iter::once(past).chain(writes.iter().map(|write| write.edge.clone())).collect();
        let rule = RuleRef::Boxed(Box::new(Structured::new(name, Arc::new(slices), backward)));
        Edge::new(graph::record_plain(rule, edges, 1, cost, Flags::NONE), 0)
    }

    /// The edge of this view of a base that was changed in place, where `edge` is that of the base now.
    pub(crate) fn as_strided_edge(&self, base: &Region, edge: Edge) -> Edge {
        let own = Region::of(self);
        let (unit, low, size) = span([base, &own].into_iter());
        let place = |region| Place::of(region, unit, low);
        let (params, cost) = ((unit, size, place(base), place(&own)), VIEW_COST + move_cost(self));
        let rule = if self.view_origin() == ViewOrigin::CustomFunction {
            RuleRef::Boxed(Box::new(Structured::new("as_strided", params, |_, _, _| {
                Err(bypassed())
            })))
        } else {
            RuleRef::Boxed(Box::new(Structured::new(
                "as_strided",
                params,
                |(unit, size, base, own), g, cx| {
                    if let Some(places) = places_in(base, own)
                        && !cx.create_graph()
                        && cx.batch().is_empty()
                    {
                        return cx.give_slice(0, Part::at(g, base.layout.dims(), places));
                    }
                    cx.give_with(0, |_| {
                        let memory = spread(&units_of(&g, *unit)?, *size, &own.layout)?;
                        values_of(&shown(&memory, &base.layout)?, base.dtype)
                    })
                },
            )))
        };
        let edges: Edges<Tensor> = std::iter::once(Some(edge)).collect();
        Edge::new(graph::record_plain(rule, edges, 1, cost, Flags::NONE), 0)
    }
}

/// The positions in C order of elements of a base, if it lies in C order and has them all.
fn places_in(base: &Place, own: &Place) -> Option<Layout> {
    let (whole, part) = (&base.layout, &own.layout);
    let (low, high) = part.extent()?;
    let (first, last) = whole.extent()?;
    let inside = first <= low && high <= last && base.dtype == own.dtype;
    let plain = whole.is_contiguous() && part.is_injective() && !base.dtype.is_complex();
    (inside && plain).then(|| part.with_offset(part.offset() - whole.offset()))
}

#[cold]
fn bypassed() -> Box<Error> {
    Box::new(Error::InPlace {
        op: "backward".into(),
        what: "a view that a custom function returned was used after its memory was changed in place: its backward \
               would be bypassed"
            .into(),
        remedy: "return a clone() from forward, or use the view before the change",
    })
}

/// A memory of `size` elements, zero but for `g` at the positions of `region`; what meets there is summed. A batch of
/// gradients gives a batch of memories.
fn spread(g: &Tensor, size: usize, region: &Layout) -> Result<Tensor> {
    if g.ndim() > region.ndim() {
        let n = g.shape()[0];
        let all = spread(g, n * size, &in_each(region, n, size)?)?;
        return reshape_dims(&all, &[n, size]);
    }
    let out = Tensor::zeros(&[size], g.dtype())?;
    add_at(&out, region, g)?;
    finish(out, &[g], |_| Record {
        name: "spread",
        cost: move_cost(g),
        params: region.clone(),
        saved: nothing(),
        backward: |region, g, cx| cx.give_with(0, |_| shown(&g, region)),
    })
}

fn add_at(memory: &Tensor, region: &Layout, g: &Tensor) -> Result<()> {
    if region.is_injective() {
        memory.relaid_view(region).add_into(g);
        return Ok(());
    }
    // Along the axis with the shortest step neighbours meet first.
    let steps = region.strides().iter().zip(region.dims()).enumerate();
    let axis = steps.filter(|(_, (_, d))| **d > 1).min_by_key(|(_, (s, _))| s.unsigned_abs());
    let Some((axis, (_, &size))) = axis else {
        return Ok(());
    };
    for i in 0..size {
        let part = g.detach().into_layout(g.layout().select(axis, i));
        add_at(memory, &region.select(axis, i), &part)?;
    }
    Ok(())
}

impl Tensor {
    /// These elements of a contiguous memory, outside the graph.
    fn relaid_view(&self, region: &Layout) -> Tensor {
        let offset = self.layout().offset() + region.offset();
        self.detach().into_layout(region.with_offset(offset))
    }
}

/// The elements of `region` of a memory, or of each of several.
fn shown(memory: &Tensor, region: &Layout) -> Result<Tensor> {
    if let [n, size] = *memory.shape() {
        return shown(&reshape_dims(memory, &[n * size])?, &in_each(region, n, size)?);
    }
    let memory = memory.contiguous()?;
    let out = memory.relaid_view(region);
    finish(out, &[&memory], |out| Record {
        name: "shown",
        cost: move_cost(out),
        params: (memory.size(), region.clone()),
        saved: nothing(),
        backward: |(size, region), g, cx| cx.give_with(0, |_| spread(&g, *size, region)),
    })
}
