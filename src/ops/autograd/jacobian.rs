//! Many rows at once: whole Jacobians, and the gradients of a batch of vectors.
//!
//! Owns: the seeds, the cut into batched passes, and the matrix that their rows make up. Never traverses: the graph's
//! engine does. Invariant: how rows are cut depends on the graph alone, so bits do not depend on threads.

use crate::array::{Layout, ShapeVec};
use crate::error::Result;
use crate::graph::{Host, ModeGuard, NestedStart, Pass, Targets, detach_if_long, estimate};
use crate::kernels;
use crate::ops::autograd::backward::{Endpoint, GradOptions, fill_unused};
use crate::ops::core::broadcast::reshape_dims;
use crate::ops::core::view::slice_axis;
use crate::ops::custom_op::Spec;
use crate::ops::shape::join::join;
use crate::tensor::{Edge, Tensor};
use crate::threads;

/// Elements of a batch of the widest end: the gradients of one node stay in the second-level cache.
const ELEMENTS: usize = 1 << 16;
/// Rows that are worth it however wide they are: a product reads its matrix once for all of them.
const ROWS: usize = 16;
/// What a pass takes at most, in nanoseconds as the nodes estimate them: this bounds what wide nodes between hold.
const PASS_NS: f32 = 4e7;

/// How many rows one pass computes, each of which takes so many nanoseconds.
fn rows_at_once(outputs: &[Endpoint], inputs: &[Endpoint], cost: f32) -> usize {
    let sizes = inputs.iter().chain(outputs).map(|point| point.spec.dims.iter().product());
    let widest: usize = sizes.max().unwrap_or(1);
    let rows = (ELEMENTS / widest.max(1)).max(ROWS);
    rows.min((PASS_NS / cost.max(1.0)) as usize)
}

/// How many rows of the derivatives of `output` by `inputs` one pass computes, at least one.
pub fn rows_of_pass(output: &Endpoint, inputs: &[Endpoint]) -> usize {
    let targets: Vec<Edge> = inputs.iter().map(|point| point.edge.clone()).collect();
    let cost = estimate(std::slice::from_ref(&output.edge), &targets);
    rows_at_once(std::slice::from_ref(output), inputs, cost).max(1)
}

/// The derivatives of every element of `output` by each of `inputs`, of the output's dims and then the input's; `None`
/// where it does not depend on that input. Many rows are computed at once; one by one where a hook is to see them.
///
/// # Errors
/// As [`grad`](crate::ops::derive::backward::grad).
pub fn jacobian(
    output: &Endpoint,
    inputs: &[Endpoint],
    create_graph: bool,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let spec = &output.spec;
    let options = GradOptions { retain_graph: Some(true), create_graph, ..Default::default() };
    rows(
        std::slice::from_ref(output),
        inputs,
        &spec.dims,
        &options,
        host,
        |start, rows, batched| Ok(vec![seed(spec, start, rows, batched)?]),
    )
}

/// The gradients of `inputs` for each row of the gradients of `outputs`, whose first axis counts rows, as that of the
/// results does; `None` for an input that was not used.
///
/// # Errors
/// As [`grad`](crate::ops::derive::backward::grad).
pub fn grad_rows(
    outputs: &[Endpoint],
    inputs: &[Endpoint],
    gradients: &[Tensor],
    options: &GradOptions,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let lead = [gradients.first().map_or(0, |gradient| gradient.shape()[0])];
    let mut found = rows(outputs, inputs, &lead, options, host, |start, rows, batched| {
        let _mode = ModeGuard::grad(options.create_graph);
        let part = |gradient: &Tensor| {
            let part = slice_axis(gradient, 0, start, 1, rows)?;
            Ok(if batched { part } else { reshape_dims(&part, &gradient.shape()[1..])? }.writable())
        };
        gradients.iter().map(part).collect()
    })?;
    fill_unused(&mut found, inputs, &lead, options)?;
    Ok(found)
}

/// Pulls as many rows as `lead` counts; each block has these dims and then those of its input. `seeds` makes the
/// gradients of the outputs for so many rows from one on, and whether they have an axis of rows.
fn rows(
    outputs: &[Endpoint],
    inputs: &[Endpoint],
    lead: &[usize],
    options: &GradOptions,
    host: &dyn Host,
    seeds: impl Fn(usize, usize, bool) -> Result<Vec<Tensor>> + Send,
) -> Result<Vec<Option<Tensor>>> {
    let edges = |points: &[Endpoint]| points.iter().map(|point| point.edge.clone()).collect();
    let (roots, targets): (Vec<Edge>, Vec<Edge>) = (edges(outputs), edges(inputs));
    let cost = estimate(&roots, &targets);
    let most = rows_at_once(outputs, inputs, cost);
    let size: usize = lead.iter().product();
    let passes = Passes { roots, targets, lead, options, most };
    detach_if_long(host, cost * size as f32, || passes.run(inputs, host, seeds))
}

/// The passes that compute all rows.
struct Passes<'a> {
    roots: Vec<Edge>,
    targets: Vec<Edge>,
    lead: &'a [usize],
    options: &'a GradOptions,
    /// How many rows one pass computes at most.
    most: usize,
}

impl Passes<'_> {
    fn run(
        &self,
        inputs: &[Endpoint],
        host: &dyn Host,
        seeds: impl Fn(usize, usize, bool) -> Result<Vec<Tensor>>,
    ) -> Result<Vec<Option<Tensor>>> {
        let (lead, create_graph) = (self.lead, self.options.create_graph);
        let retain_graph = self.options.retain_graph.unwrap_or(create_graph);
        let size = lead.iter().product();
        let mut blocks: Vec<Block> =
            inputs.iter().map(|x| Block::new(lead, x, create_graph)).collect();
        let (mut start, mut batches) = (0, size > 1);
        while start < size {
            let rows = if batches { self.most.clamp(1, size - start) } else { 1 };
            let pass = Pass {
                roots: self.roots.iter().cloned().zip(seeds(start, rows, batches)?).collect(),
                targets: Targets::Capture(self.targets.clone()),
                since: NestedStart::default(),
                retain_graph: retain_graph || start + rows < size,
                create_graph,
                host,
                threads: threads::max_pass_threads(),
            };
            let found = if batches { pass.run_batch(rows)? } else { Some(pass.run()?) };
            let Some(found) = found else {
                batches = false;
                continue;
            };
            for (block, part) in blocks.iter_mut().zip(found) {
                if let Some(part) = part {
                    block.add(part, start, rows)?;
                }
            }
            start += rows;
        }
        let _mode = ModeGuard::grad(create_graph);
        blocks.into_iter().map(Block::whole).collect()
    }
}

/// The gradients that pick the elements from `start` on, one in each row.
fn seed(spec: &Spec, start: usize, rows: usize, batched: bool) -> Result<Tensor> {
    let size: usize = spec.dims.iter().product();
    let seed = Tensor::zeros(&[rows * size], spec.dtype)?;
    let diagonal = seed.layout().slice(0, start, size as isize + 1, rows);
    kernels::fill(1.0, seed.with_layout(diagonal).view_mut());
    let mut dims = ShapeVec::new();
    dims.extend(batched.then_some(rows));
    dims.extend_from_slice(&spec.dims);
    Ok(seed.into_layout(Layout::contiguous(&dims)?))
}

/// The derivatives by one input, as far as they are known.
struct Block<'a> {
    lead: &'a [usize],
    input: &'a Spec,
    create_graph: bool,
    parts: Vec<Tensor>,
}

impl<'a> Block<'a> {
    fn new(lead: &'a [usize], input: &'a Endpoint, create_graph: bool) -> Block<'a> {
        Block { lead, input: &input.spec, create_graph, parts: Vec::new() }
    }

    /// The dims of so many rows; of all of them if `rows` is `None`.
    fn dims(&self, rows: Option<usize>) -> ShapeVec {
        let mut dims: ShapeVec = match &rows {
            Some(rows) => ShapeVec::from_slice(&[*rows]),
            None => ShapeVec::from_slice(self.lead),
        };
        dims.extend_from_slice(&self.input.dims);
        dims
    }

    /// Takes the rows from `start` on. What is not recorded goes straight to its place.
    fn add(&mut self, part: Tensor, start: usize, rows: usize) -> Result<()> {
        let _mode = ModeGuard::grad(self.create_graph);
        let size = self.lead.iter().product();
        if self.create_graph || rows == size {
            self.parts.push(reshape_dims(&part, &self.dims((rows < size).then_some(rows)))?);
            return Ok(());
        }
        let part = reshape_dims(&part, &self.dims(Some(rows)))?;
        if self.parts.is_empty() {
            self.parts.push(Tensor::zeros(&self.dims(Some(size)), part.dtype())?);
        }
        let whole = &self.parts[0];
        let place = whole.with_layout(whole.layout().slice(0, start, 1, rows));
        kernels::copy(part.view_of(), place.view_mut());
        Ok(())
    }

    fn whole(mut self) -> Result<Option<Tensor>> {
        let whole = match self.parts.len() {
            0 => return Ok(None),
            1 => self.parts.swap_remove(0).separate(self.create_graph)?,
            _ => join(&self.parts, 0)?,
        };
        reshape_dims(&whole, &self.dims(None)).map(Some)
    }
}
