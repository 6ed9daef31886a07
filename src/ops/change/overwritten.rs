//! The history of a tensor parts of whose memory were changed through others.
//!
//! Owns: the node that passes each element's gradient to the last write of it, or to the tensor's own past.
//! Never computes a forward: the values are in memory already.
//! Invariant: elements are told apart by their position in memory, so any two views of one memory fit together.

use smallvec::SmallVec;

use crate::array::Layout;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{self, Flags, RuleRef};
use crate::kernels;
use crate::ops::core::elementwise::binary;
use crate::ops::core::structured::{Cx, Record, SavedList, Structured, finish, move_cost};
use crate::ops::elementwise::arith::MULTIPLY;
use crate::tensor::{Edge, Tensor, Write};

/// Where the elements of a tensor and those of the writes lie in the part of memory that both touch.
struct Regions {
    /// The tensor's own.
    own: Layout,
    /// Those of the writes, the oldest first.
    writes: Vec<Layout>,
    /// The size of the part.
    size: usize,
}

impl Regions {
    fn new(own: &Layout, writes: &[Write]) -> Regions {
        let all = std::iter::once(own).chain(writes.iter().map(|write| &write.region));
        let (low, high) = all
            .filter_map(Layout::extent)
            .fold((isize::MAX, isize::MIN), |(low, high), (a, b)| (low.min(a), high.max(b)));
        let moved = |layout: &Layout| layout.with_offset(layout.offset() - low);
        Regions {
            own: moved(own),
            writes: writes.iter().map(|write| moved(&write.region)).collect(),
            size: (high - low + 1).max(0) as usize,
        }
    }

    /// The last writes first; what none of them wrote is the own past's.
    fn backward(&self, cx: &mut Cx<'_>) -> Result<()> {
        let Some(g) = cx.take_grad(0) else {
            return Ok(());
        };
        let mut memory = spread(&g, self.size, &self.own)?;
        for (i, region) in self.writes.iter().enumerate().rev() {
            if cx.wants(i + 1) {
                // Recorded, the memory is never changed; else the next line changes it.
                let part = shown(&memory, region)?;
                cx.give(i + 1, if cx.create_graph() { part } else { part.duplicate()? });
            }
            memory = cleared(memory, region, cx.create_graph())?;
        }
        if !cx.wants(0) {
            return Ok(());
        }
        if self.own.is_injective() {
            cx.give(0, shown(&memory, &self.own)?);
        } else {
            cx.give(0, binary(&MULTIPLY, &g, &self.untouched(g.dtype())?)?);
        }
        Ok(())
    }

    /// One where nothing was written, zero elsewhere, in the tensor's own shape.
    fn untouched(&self, dtype: DType) -> Result<Tensor> {
        let mut memory = Tensor::ones(&[self.size], dtype)?;
        for region in &self.writes {
            memory = cleared(memory, region, false)?;
        }
        shown(&memory, &self.own)
    }
}

impl Tensor {
    /// The edge of this tensor's values after `writes`, where `own` is that of the values before.
    pub(crate) fn overwritten(&self, own: Option<Edge>, writes: Vec<Write>) -> Edge {
        let regions = Regions::new(self.layout(), &writes);
        let name = writes.last().map_or("alias", |write| write.op);
        let cost = move_cost(self) * (1 + writes.len()) as f32;
        // Where the last write left nothing, the past gets no gradient: not even a zero, which an infinite
        // derivative would make a NaN.
        let covered = regions.writes.iter().any(|region| {
            region.is_dense() && region.extent() == Some((0, regions.size as isize - 1))
        });
        let own = if covered { None } else { own };
        let edges: SmallVec<_> =
            std::iter::once(own).chain(writes.into_iter().map(|write| write.edge)).collect();
        let rule = RuleRef::Boxed(Box::new(Structured::new(name, regions, Regions::backward)));
        Edge::new(graph::record(rule, edges, SavedList::new(), 1, cost, Flags::NONE), 0)
    }
}

/// A memory of `size` elements, zero but for `g` at the positions of `region`; what meets there is summed.
fn spread(g: &Tensor, size: usize, region: &Layout) -> Result<Tensor> {
    let out = Tensor::zeros(&[size], g.dtype())?;
    add_at(&out, region, g)?;
    Ok(finish(out, &[g], |_| Record {
        name: "spread",
        cost: move_cost(g),
        params: region.clone(),
        saved: SavedList::new(),
        backward: |region, cx| {
            if let Some(g) = cx.take_grad(0) {
                cx.give(0, shown(&g, region)?);
            }
            Ok(())
        },
    }))
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
        let part = g.detach().relaid(g.layout().select(axis, i));
        add_at(memory, &region.select(axis, i), &part)?;
    }
    Ok(())
}

impl Tensor {
    /// These elements of a contiguous memory, outside the graph.
    fn relaid_view(&self, region: &Layout) -> Tensor {
        let offset = self.layout().offset() + region.offset();
        self.detach().relaid(region.with_offset(offset))
    }
}

/// The elements of `region` of a memory; a view.
fn shown(memory: &Tensor, region: &Layout) -> Result<Tensor> {
    let memory = memory.contiguous()?;
    let out = memory.relaid_view(region);
    Ok(finish(out, &[&memory], |out| Record {
        name: "shown",
        cost: move_cost(out),
        params: (memory.size(), region.clone()),
        saved: SavedList::new(),
        backward: |(size, region), cx| {
            if let Some(g) = cx.take_grad(0) {
                cx.give(0, spread(&g, *size, region)?);
            }
            Ok(())
        },
    }))
}

/// The memory with zeros in `region`; its own adjoint. In place where that is not recorded.
fn cleared(memory: Tensor, region: &Layout, keep: bool) -> Result<Tensor> {
    let out = if keep { memory.duplicate()? } else { memory.detach() };
    let target = out.relaid_view(region);
    let zero = Tensor::zeros(&[], memory.dtype())?;
    let zeros = zero.layout().broadcast_to(region.dims())?;
    kernels::copy(memory.dtype(), zero.relaid(zeros).view_of(), target.view_mut());
    drop(target);
    Ok(finish(out, &[&memory], |out| Record {
        name: "cleared",
        cost: move_cost(out),
        params: region.clone(),
        saved: SavedList::new(),
        backward: |region, cx| {
            let Some(g) = cx.take_grad(0) else {
                return Ok(());
            };
            cx.give(0, cleared(g, region, true)?);
            Ok(())
        },
    }))
}
