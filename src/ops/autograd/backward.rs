//! `backward` and `grad`: checks roots and targets, seeds the roots, and runs the engine.
//!
//! Invariant: every root has a gradient of its own shape and dtype before the pass starts.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{DUAL, Host, Mode, ModeGuard, NestedStart, Pass, Targets, forward_ad};
use crate::ops::core::broadcast::astype;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::{Edge, Tensor};
use crate::threads;

/// A root or a target of a backward pass, without its tensor (PyTorch's `GradientEdge`).
#[derive(Clone)]
pub struct Endpoint {
    /// An output of a node, or a leaf's accumulator.
    pub edge: Edge,
    /// The shape and dtype of the value there.
    pub spec: ShapeDType,
}

/// The roots or the targets of a pass; most passes have one root and few targets.
pub type Endpoints = SmallVec<[Endpoint; 1]>;

impl Endpoint {
    /// The endpoint at a tensor; `None` if it does not require grad.
    pub fn of(tensor: &Tensor) -> Option<Endpoint> {
        let edge = tensor.grad_edge().filter(forward_ad::has_history)?;
        Some(Endpoint { edge, spec: ShapeDType::of(tensor) })
    }

    /// The tensor as a root of a pass.
    ///
    /// # Errors
    /// `NoGraph` when the tensor was not recorded.
    pub fn root(op: &'static str, tensor: &Tensor) -> Result<Endpoint> {
        Endpoint::of(tensor).ok_or_else(|| no_graph(op, tensor))
    }

    /// The tensor as a target of a pass; `index` is its number among the inputs, for the error.
    ///
    /// # Errors
    /// `State` when the tensor does not require grad.
    pub fn target(op: &'static str, index: usize, tensor: &Tensor) -> Result<Endpoint> {
        Endpoint::of(tensor).ok_or_else(|| not_required(op, index))
    }
}

#[cold]
fn no_graph(op: &'static str, tensor: &Tensor) -> Box<Error> {
    let why = match tensor.cut_message() {
        Some(why) => format!(": {why}"),
        None => "; set requires_grad=True on an input and compute outside no_grad()".to_owned(),
    };
    Box::new(Error::NoGraph { op: op.into(), why })
}

#[cold]
fn not_required(op: &'static str, index: usize) -> Box<Error> {
    Box::new(Error::State {
        op: op.into(),
        what: format!("input {index} does not require grad"),
        remedy: "set requires_grad=True on it before computing the outputs",
    })
}

/// Options of [`backward`].
#[derive(Clone, Copy, Default)]
pub struct BackwardOptions<'a> {
    /// Keep the saved values; defaults to `create_graph`.
    pub retain_graph: Option<bool>,
    /// Record the backward pass itself.
    pub create_graph: bool,
    /// Accumulate only into these; non-leaves among them retain their gradient.
    pub inputs: Option<&'a [Tensor]>,
}

/// Options of [`grad`].
#[derive(Clone, Copy, Default)]
pub struct GradOptions {
    /// Keep the saved values; defaults to `create_graph`.
    pub retain_graph: Option<bool>,
    /// Record the backward pass itself.
    pub create_graph: bool,
    /// Return `None` for an unused input instead of an error.
    pub allow_unused: bool,
    /// Return zeros for an unused input.
    pub materialize: bool,
    /// Limits the pass to nodes recorded since then; older ones belong to an enclosing pass.
    pub since: NestedStart,
}

/// A complex root has no default gradient: it names no direction of growth.
#[cold]
fn complex_root(op: &'static str, got: DType) -> Box<Error> {
    let remedy = "give the gradient of the output, or reduce it to a real number: abs(z), z.real";
    Box::new(Error::DType { op: op.into(), got, remedy })
}

/// The initial gradient of a root.
fn seed(op: &'static str, root: &Endpoint, gradient: Option<&Tensor>) -> Result<Tensor> {
    let ShapeDType { dims, dtype } = &root.spec;
    let Some(gradient) = gradient else {
        return match dims.iter().product::<usize>() {
            1 if dtype.is_complex() => Err(complex_root(op, *dtype)),
            1 if dims.is_empty() && *dtype == DType::F64 => Tensor::number(1.0),
            1 => Tensor::ones(dims, *dtype),
            _ => {
                let argument = if op == "grad" { "grad_outputs" } else { "gradient" };
                let dims = (&dims[..]).into();
                Err(Box::new(Error::NotScalar { op: op.into(), dims, argument }))
            }
        };
    };
    if gradient.shape() != &dims[..] {
        return Err(Box::new(Error::GradientShape {
            op: op.into(),
            got: gradient.shape().into(),
            want: (&dims[..]).into(),
        }));
    }
    if !gradient.dtype().is_inexact() {
        return Err(Box::new(Error::DType {
            op: op.into(),
            got: gradient.dtype(),
            remedy: "give a floating-point gradient",
        }));
    }
    Ok(astype(gradient, *dtype)?.writable())
}

fn seeded(
    op: &'static str,
    roots: Endpoints,
    gradients: &[Option<Tensor>],
) -> Result<Vec<(Edge, Tensor)>> {
    if !gradients.is_empty() && gradients.len() != roots.len() {
        return Err(Box::new(Error::Argument {
            op: op.into(),
            what: format!("{} outputs and {} gradients", roots.len(), gradients.len()),
            remedy: "give one gradient (or None) per output".into(),
        }));
    }
    let mut seeds = Vec::with_capacity(roots.len());
    for (i, root) in roots.into_iter().enumerate() {
        let seed = seed(op, &root, gradients.get(i).and_then(Option::as_ref))?;
        seeds.push((root.edge, seed));
    }
    Ok(seeds)
}

/// Accumulates the gradients of `outputs` into the leaves they depend on.
///
/// # Errors
/// `NoGraph` when an output was not recorded, `NotScalar` when it needs an explicit gradient,
/// `GradientShape`, `GraphFreed`, and whatever a rule raises; then no gradient has changed.
pub fn backward(
    outputs: &[Tensor],
    gradients: &[Option<Tensor>],
    options: &BackwardOptions<'_>,
    host: &dyn Host,
) -> Result<()> {
    let roots = outputs.iter().map(|output| Endpoint::root("backward", output));
    let target = |(i, input)| target("backward", i, input);
    let targets = options.inputs.map(|inputs| inputs.iter().enumerate().map(target).collect());
    let targets = targets.transpose()?;
    backward_from(roots.collect::<Result<_>>()?, targets, gradients, options, host)
}

/// A target of an accumulating pass; `index` is its number among the inputs, for the error. A non-leaf retains its gradient
/// from now on.
///
/// # Errors
/// `State` when the tensor does not require grad.
pub fn target(op: &'static str, index: usize, tensor: &Tensor) -> Result<Endpoint> {
    let point = Endpoint::target(op, index, tensor)?;
    tensor.retain_grad()?;
    Ok(point)
}

/// [`backward`] from endpoints; restricted to `targets` if there are any. Ignores `options.inputs`.
///
/// # Errors
/// As [`backward`].
pub fn backward_from(
    roots: Endpoints,
    targets: Option<Endpoints>,
    gradients: &[Option<Tensor>],
    options: &BackwardOptions<'_>,
    host: &dyn Host,
) -> Result<()> {
    let pass = Pass {
        roots: seeded("backward", roots, gradients)?,
        targets: match targets {
            None => Targets::Leaves,
            Some(points) => Targets::LeavesOf(points.into_iter().map(|p| p.edge).collect()),
        },
        since: NestedStart::default(),
        retain_graph: options.retain_graph.unwrap_or(options.create_graph),
        create_graph: options.create_graph,
        host,
        threads: threads::max_pass_threads(),
    };
    pass.run().map(|_| ())
}

/// The gradients of the sum of `outputs` with respect to `inputs`; no `.grad` is touched.
///
/// # Errors
/// As `backward`, and `Unreachable` for an input that was not used, unless allowed.
pub fn grad(
    outputs: &[Tensor],
    inputs: &[Tensor],
    gradients: &[Option<Tensor>],
    options: &GradOptions,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let roots = outputs.iter().map(|output| Endpoint::root("grad", output));
    let wanted = inputs.iter().enumerate().map(|(i, input)| Endpoint::target("grad", i, input));
    grad_at(
        roots.collect::<Result<_>>()?,
        &wanted.collect::<Result<Endpoints>>()?,
        gradients,
        options,
        host,
    )
}

/// [`grad`] between endpoints.
///
/// # Errors
/// As [`grad`].
pub fn grad_at(
    roots: Endpoints,
    wanted: &[Endpoint],
    gradients: &[Option<Tensor>],
    options: &GradOptions,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let targets = wanted.iter().map(|point| point.edge.clone()).collect();
    let mut found = grad_of(roots, targets, gradients, options, host)?;
    fill_unused(&mut found, wanted, &[], options)?;
    Ok(found)
}

/// [`grad_at`] for targets of unknown shapes; `None` for unused ones.
pub(crate) fn grad_of(
    roots: Endpoints,
    targets: Vec<Edge>,
    gradients: &[Option<Tensor>],
    options: &GradOptions,
    host: &dyn Host,
) -> Result<Vec<Option<Tensor>>> {
    let pass = Pass {
        roots: seeded("grad", roots, gradients)?,
        targets: Targets::Capture(targets),
        since: options.since,
        retain_graph: options.retain_graph.unwrap_or(options.create_graph),
        create_graph: options.create_graph,
        host,
        threads: threads::max_pass_threads(),
    };
    let mut found = pass.run()?;
    // Gradients returned to the caller share no memory with each other or with anything else.
    let _mode = options.create_graph.then(|| ModeGuard::grad(true));
    let keeps_history = options.create_graph || Mode::current().has(DUAL);
    for slot in &mut found {
        if let Some(gradient) = slot.take() {
            *slot = Some(gradient.separate(keeps_history)?);
        }
    }
    Ok(found)
}

/// Fills in unused inputs: zeros of dims `lead` followed by their own, `None`, or an error.
pub(crate) fn fill_unused(
    found: &mut [Option<Tensor>],
    wanted: &[Endpoint],
    lead: &[usize],
    options: &GradOptions,
) -> Result<()> {
    for (i, gradient) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
        if options.materialize {
            let ShapeDType { dims, dtype } = &wanted[i].spec;
            let zeros = Tensor::zeros(&[lead, dims].concat(), *dtype)?;
            *gradient = Some(if options.create_graph { zeros.with_grad() } else { zeros });
        } else if !options.allow_unused {
            return Err(Box::new(Error::Unreachable { op: "grad".into(), index: i }));
        }
    }
    Ok(())
}

impl Tensor {
    /// Accumulates the gradient of this one-element tensor into the leaves it depends on.
    pub fn backward(&self) -> Result<()> {
        let host = crate::graph::NoHost;
        backward(std::slice::from_ref(self), &[], &BackwardOptions::default(), &host)
    }
}

/// The gradients of the sum of `outputs` with respect to `inputs`; every input must have been used.
///
/// # Errors
/// As [`grad`].
pub fn gradients(outputs: &[Tensor], inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let host = crate::graph::NoHost;
    let found = grad(outputs, inputs, &[], &GradOptions::default(), &host)?;
    Ok(found.into_iter().flatten().collect())
}

/// Runs `body` without recording and returns its value.
pub fn no_grad<T>(body: impl FnOnce() -> T) -> T {
    let _guard = crate::graph::ModeGuard::grad(false);
    body()
}
