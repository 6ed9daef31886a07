//! Starting a backward: the checks, the roots, and what becomes of the gradients.
//!
//! Owns: `backward` and `grad` on tensors and on points of the graph. Never traverses: the graph's engine does.
//! Invariant: every root has a gradient of its own shape and dtype before the pass starts.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Host, ModeGuard, NestedStart, Pass, Targets};
use crate::ops::core::broadcast::astype;
use crate::ops::custom_op::Spec;
use crate::tensor::{Edge, Tensor};
use crate::threads;

/// An end of a pass, without the tensor: a root where it begins, or a target where it stops.
#[derive(Clone)]
pub struct Endpoint {
    /// The output of a node, or a leaf's accumulator.
    pub edge: Edge,
    /// Shape and dtype of the values there.
    pub spec: Spec,
}

/// The roots or the targets of a pass; most passes have one root and few targets.
pub type Endpoints = SmallVec<[Endpoint; 1]>;

impl Endpoint {
    /// The endpoint at a tensor; `None` if it does not require grad.
    pub fn of(tensor: &Tensor) -> Option<Endpoint> {
        Some(Endpoint { edge: tensor.grad_edge()?, spec: Spec::of(tensor) })
    }

    /// Where a pass may begin.
    ///
    /// # Errors
    /// `NoGraph` when the tensor was not recorded.
    pub fn root(op: &'static str, tensor: &Tensor) -> Result<Endpoint> {
        Endpoint::of(tensor).ok_or_else(|| no_graph(op, tensor))
    }

    /// Where a pass may end: input number `index`.
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

/// How a backward runs.
#[derive(Clone, Copy, Default)]
pub struct BackwardOptions<'a> {
    /// Keep the saved values; by default as `create_graph`.
    pub retain_graph: Option<bool>,
    /// Record the backward itself.
    pub create_graph: bool,
    /// Accumulate only into these; those that are no leaves retain their gradient from now on.
    pub inputs: Option<&'a [Tensor]>,
}

/// How `grad` runs.
#[derive(Clone, Copy, Default)]
pub struct GradOptions {
    /// Keep the saved values; by default as `create_graph`.
    pub retain_graph: Option<bool>,
    /// Record the backward itself.
    pub create_graph: bool,
    /// An input that was not used yields `None` instead of an error.
    pub allow_unused: bool,
    /// An input that was not used yields zeros.
    pub materialize: bool,
    /// What was recorded earlier is left to the pass around this one.
    pub since: NestedStart,
}

/// A complex result names no direction in which it grows.
#[cold]
fn complex_root(op: &'static str, got: DType) -> Box<Error> {
    let remedy = "give the gradient of the output, or reduce it to a real number: abs(z), z.real";
    Box::new(Error::DType { op: op.into(), got, remedy })
}

/// The gradient at which a root starts.
fn seed(op: &'static str, root: &Endpoint, gradient: Option<&Tensor>) -> Result<Tensor> {
    let Spec { dims, dtype } = &root.spec;
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

/// An end of a pass that accumulates: input number `index`. One that is no leaf retains its gradient from now on.
///
/// # Errors
/// `State` when the tensor does not require grad.
pub fn target(op: &'static str, index: usize, tensor: &Tensor) -> Result<Endpoint> {
    let point = Endpoint::target(op, index, tensor)?;
    tensor.retain_grad()?;
    Ok(point)
}

/// `backward` from points of the graph, toward `targets` only if there are any; `options.inputs` is not looked at.
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

/// `grad` between points of the graph.
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

/// `grad_at` for targets of unknown shapes; `None` for those that were not used.
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
    // Gradients that leave the engine are values: no two share memory with each other or with anything else.
    let _mode = options.create_graph.then(|| ModeGuard::grad(true));
    for place in &mut found {
        if let Some(gradient) = place.take() {
            *place = Some(gradient.separate(options.create_graph)?);
        }
    }
    Ok(found)
}

/// What inputs that were not used get: zeros of dims `lead` and their own, `None`, or an error.
pub(crate) fn fill_unused(
    found: &mut [Option<Tensor>],
    wanted: &[Endpoint],
    lead: &[usize],
    options: &GradOptions,
) -> Result<()> {
    for (i, gradient) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
        if options.materialize {
            let Spec { dims, dtype } = &wanted[i].spec;
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
