//! Starting a backward: the checks, the roots, and what becomes of the gradients.
//!
//! Owns: `backward` and `grad` on tensors. Never traverses: the graph's engine does.
//! Invariant: every root has a gradient of its own shape and dtype before the pass starts.

use crate::error::{Error, Result};
use crate::graph::{Host, Pass, Targets};
use crate::ops::cast::astype;
use crate::tensor::{Edge, Tensor};
use crate::threads;

/// How a backward runs.
#[derive(Clone, Copy, Default)]
pub struct BackwardOptions<'a> {
    /// Keep the saved values; by default as `create_graph`.
    pub retain_graph: Option<bool>,
    /// Record the backward itself.
    pub create_graph: bool,
    /// Accumulate only into these leaves.
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
}

/// The edge at which a root's gradient starts, with that gradient.
fn root(op: &'static str, output: &Tensor, gradient: Option<&Tensor>) -> Result<(Edge, Tensor)> {
    let edge = output.grad_edge().ok_or_else(|| Box::new(Error::NoGraph { op: op.into() }))?;
    let gradient = match gradient {
        Some(g) => given(op, output, g)?,
        None if output.size() == 1 => Tensor::ones(output.shape(), output.dtype())?,
        None => {
            return Err(Box::new(Error::NotScalar { op: op.into(), dims: output.shape().into() }));
        }
    };
    Ok((edge, gradient))
}

fn given(op: &'static str, output: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    if gradient.shape() != output.shape() {
        return Err(Box::new(Error::GradientShape {
            op: op.into(),
            got: gradient.shape().into(),
            want: output.shape().into(),
        }));
    }
    if !gradient.dtype().is_float() {
        return Err(Box::new(Error::DType {
            op: op.into(),
            got: gradient.dtype(),
            remedy: "give a floating-point gradient",
        }));
    }
    astype(gradient, output.dtype())
}

fn roots(
    op: &'static str,
    outputs: &[Tensor],
    gradients: &[Option<Tensor>],
) -> Result<Vec<(Edge, Tensor)>> {
    if !gradients.is_empty() && gradients.len() != outputs.len() {
        return Err(Box::new(Error::Argument {
            op: op.into(),
            what: format!("{} outputs and {} gradients", outputs.len(), gradients.len()),
            remedy: "give one gradient (or None) per output".into(),
        }));
    }
    let gradient = |i: usize| gradients.get(i).and_then(Option::as_ref);
    outputs.iter().enumerate().map(|(i, output)| root(op, output, gradient(i))).collect()
}

fn target_edges(op: &'static str, inputs: &[Tensor]) -> Result<Vec<Edge>> {
    inputs
        .iter()
        .enumerate()
        .map(|(i, input)| input.grad_edge().ok_or_else(|| not_required(op, i)))
        .collect()
}

#[cold]
fn not_required(op: &'static str, index: usize) -> Box<Error> {
    Box::new(Error::State {
        op: op.into(),
        what: format!("input {index} does not require grad"),
        remedy: "set requires_grad=True on it before computing the outputs",
    })
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
    let roots = roots("backward", outputs, gradients)?;
    let targets = match options.inputs {
        None => Targets::Leaves,
        Some(inputs) => Targets::LeavesOf(target_edges("backward", inputs)?),
    };
    let pass = Pass {
        roots,
        targets,
        retain_graph: options.retain_graph.unwrap_or(options.create_graph),
        create_graph: options.create_graph,
        host,
        threads: threads::num_threads(),
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
    let roots = roots("grad", outputs, gradients)?;
    let pass = Pass {
        roots,
        targets: Targets::Capture(target_edges("grad", inputs)?),
        retain_graph: options.retain_graph.unwrap_or(options.create_graph),
        create_graph: options.create_graph,
        host,
        threads: threads::num_threads(),
    };
    let mut found = pass.run()?;
    for (i, gradient) in found.iter_mut().enumerate() {
        if gradient.is_none() && options.materialize {
            *gradient = Some(Tensor::zeros(inputs[i].shape(), inputs[i].dtype())?);
        }
        if gradient.is_none() && !options.allow_unused {
            return Err(Box::new(Error::Unreachable { op: "grad".into(), index: i }));
        }
    }
    if options.create_graph { Ok(found) } else { separated(found) }
}

/// Gradients that leave the engine are values: no two share memory with each other or with anything else.
fn separated(found: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
    found.into_iter().map(|g| g.map(Tensor::into_owned).transpose()).collect()
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
