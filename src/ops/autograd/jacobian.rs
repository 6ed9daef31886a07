//! Jacobians and batched VJPs: many rows per backward pass, along a leading batch axis.
//!
//! Invariant: the split into passes depends only on the graph, so bits do not depend on the number of threads.

use crate::array::{Layout, ShapeVec};
use crate::error::Result;
use crate::graph::{Host, ModeGuard, NestedStart, Pass, Targets, detach_if_long, estimate};
use crate::kernels;
use crate::ops::autograd::backward::{Endpoint, GradOptions, fill_unused};
use crate::ops::core::broadcast::reshape_dims;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::ops::core::view::slice_axis;
use crate::ops::shape::join::join;
use crate::tensor::{Edge, Tensor};
use crate::threads;

/// The batch of the widest endpoint has at most this many elements: the gradients of one node stay in the L2 cache.
const MAX_BATCH_ELEMENTS: usize = 1 << 16;
/// Batches have at least this many rows, however wide: a matrix product reads its matrix once for all of them.
const MIN_BATCH_ROWS: usize = 16;
/// The longest pass, in estimated nanoseconds; bounds the memory of wide intermediate gradients.
const MAX_PASS_NS: f32 = 4e7;

/// How many rows one pass computes; `cost` is the estimated nanoseconds of one row.
fn rows_at_once(outputs: &[Endpoint], inputs: &[Endpoint], cost: f32) -> usize {
    let sizes = inputs.iter().chain(outputs).map(|point| point.spec.dims.iter().product());
    let widest: usize = sizes.max().unwrap_or(1);
    let rows = (MAX_BATCH_ELEMENTS / widest.max(1)).max(MIN_BATCH_ROWS);
    rows.min((MAX_PASS_NS / cost.max(1.0)) as usize)
}

/// How many rows of the Jacobian of `output` with respect to `inputs` one pass computes; at least one.
pub fn rows_per_pass(output: &Endpoint, inputs: &[Endpoint]) -> usize {
    let targets: Vec<Edge> = inputs.iter().map(|point| point.edge.clone()).collect();
    let cost = estimate(std::slice::from_ref(&output.edge), &targets);
    rows_at_once(std::slice::from_ref(output), inputs, cost).max(1)
}

/// The Jacobian of `output` with respect to each of `inputs`, of the output's dims followed by the input's; `None` for an
/// unused input. Computes many rows per pass, or one if a hook must see single gradients.
///
/// # Errors
/// As [`grad`](crate::ops::autograd::backward::grad).
pub fn jacobian(
    output: &Endpoint,
    inputs: &[Endpoint],
    create_graph: bool,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let spec = &output.spec;
    let options = GradOptions { retain_graph: Some(true), create_graph, ..Default::default() };
    run_rows(
        std::slice::from_ref(output),
        inputs,
        &spec.dims,
        &options,
        host,
        |start, rows, batched| Ok(vec![seed(spec, start, rows, batched)?]),
    )
}

/// A VJP of the `inputs` for each row of the gradients of `outputs`; the first axis of gradients and results counts the
/// rows. `None` for an unused input.
///
/// # Errors
/// As [`grad`](crate::ops::autograd::backward::grad).
pub fn grad_rows(
    outputs: &[Endpoint],
    inputs: &[Endpoint],
    gradients: &[Tensor],
    options: &GradOptions,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let lead = [gradients.first().map_or(0, |gradient| gradient.shape()[0])];
    let mut found = run_rows(outputs, inputs, &lead, options, host, |start, rows, batched| {
        let _mode = ModeGuard::grad(options.create_graph);
        let rows_of = |gradient: &Tensor| {
            let part = slice_axis(gradient, 0, start, 1, rows)?;
            Ok(if batched { part } else { reshape_dims(&part, &gradient.shape()[1..])? }.writable())
        };
        gradients.iter().map(rows_of).collect()
    })?;
    fill_unused(&mut found, inputs, &lead, options)?;
    Ok(found)
}

/// Runs the passes for as many rows as `lead` has elements; each result has the dims `lead` and then those of its input.
/// `seeds(start, rows, batched)` makes the output gradients of a pass, with a batch axis if `batched`.
fn run_rows(
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
    let max_rows = rows_at_once(outputs, inputs, cost);
    let size: usize = lead.iter().product();
    let passes = Passes { roots, targets, lead, options, max_rows };
    detach_if_long(host, cost * size as f32, || passes.run(inputs, host, seeds))
}

/// The backward passes that compute all rows.
struct Passes<'a> {
    roots: Vec<Edge>,
    targets: Vec<Edge>,
    lead: &'a [usize],
    options: &'a GradOptions,
    /// The most rows of one pass.
    max_rows: usize,
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
            let rows = if batches { self.max_rows.clamp(1, size - start) } else { 1 };
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
        blocks.into_iter().map(Block::finish).collect()
    }
}

/// One-hot gradients that select the elements from `start` on, one per row.
fn seed(spec: &ShapeDType, start: usize, rows: usize, batched: bool) -> Result<Tensor> {
    let size: usize = spec.dims.iter().product();
    let seed = Tensor::zeros(&[rows * size], spec.dtype)?;
    let diagonal = seed.layout().slice(0, start, size as isize + 1, rows);
    kernels::fill(1.0, seed.with_layout(diagonal).view_mut());
    let mut dims = ShapeVec::new();
    dims.extend(batched.then_some(rows));
    dims.extend_from_slice(&spec.dims);
    Ok(seed.into_layout(Layout::contiguous(&dims)?))
}

/// The rows of one input's Jacobian computed so far.
struct Block<'a> {
    lead: &'a [usize],
    input: &'a ShapeDType,
    create_graph: bool,
    parts: Vec<Tensor>,
}

impl<'a> Block<'a> {
    fn new(lead: &'a [usize], input: &'a Endpoint, create_graph: bool) -> Block<'a> {
        Block { lead, input: &input.spec, create_graph, parts: Vec::new() }
    }

    /// The dims of `rows` rows; of all rows if `None`.
    fn dims(&self, rows: Option<usize>) -> ShapeVec {
        let mut dims: ShapeVec = match &rows {
            Some(rows) => ShapeVec::from_slice(&[*rows]),
            None => ShapeVec::from_slice(self.lead),
        };
        dims.extend_from_slice(&self.input.dims);
        dims
    }

    /// Stores the rows from `start` on; unrecorded rows are copied to their place at once.
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
        let target = whole.with_layout(whole.layout().slice(0, start, 1, rows));
        kernels::copy(part.view_of(), target.view_mut());
        Ok(())
    }

    fn finish(mut self) -> Result<Option<Tensor>> {
        let whole = match self.parts.len() {
            0 => return Ok(None),
            1 => self.parts.swap_remove(0).separate(self.create_graph)?,
            _ => join(&self.parts, 0)?,
        };
        reshape_dims(&whole, &self.dims(None)).map(Some)
    }
}
