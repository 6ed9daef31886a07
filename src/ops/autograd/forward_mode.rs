//! `jvp`: the derivative of a function along a direction, by forward mode; and tensors with tangents.

use crate::error::{Error, Result};
use crate::graph::forward_ad::{self, LevelGuard, dual_edge};
use crate::graph::grad_enabled;
use crate::tensor::Tensor;

/// The results of `function(primals)`, and their changes when the primals change by the tangents. Every operation computes its
/// result and the change of it; nothing is recorded for that, so memory does not grow with the number of operations.
///
/// ```
/// use ferrograd::{Tensor, jvp};
/// let (x, v) = (Tensor::from(vec![1.0, 2.0]), Tensor::from(vec![0.5, -1.0]));
/// let (y, change) = jvp(|x| Ok(vec![x[0].square()?.sum_all()?]), &[&x], &[&v]).unwrap();
/// assert_eq!(y[0].item::<f64>().unwrap(), 5.0);
/// assert_eq!(change[0].item::<f64>().unwrap(), 2.0 * (1.0 * 0.5 - 2.0 * 1.0));
/// ```
///
/// # Errors
/// Those of the function; `Argument` for another number of tangents than of primals; `GradientShape` and `DType` for a
/// tangent of another shape or dtype than its primal.
pub fn jvp(
    function: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
    primals: &[&Tensor],
    tangents: &[&Tensor],
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    if primals.len() != tangents.len() {
        return Err(Box::new(Error::Argument {
            op: "jvp".into(),
            what: format!("{} primals and {} tangents", primals.len(), tangents.len()),
            remedy: "give one tangent for each primal".into(),
        }));
    }
    let level = LevelGuard::enter(grad_enabled(), None);
    let dual = |(x, t): (&&Tensor, &&Tensor)| {
        check_tangent(x, t)?;
        Ok(make_dual(x, t, level.serial()))
    };
    let duals: Result<Vec<Tensor>> = primals.iter().zip(tangents).map(dual).collect();
    let unpacked = |output: &Tensor| {
        let (value, change) = unpack_dual(output, level.serial())?;
        let zeros = || Tensor::zeros(output.shape(), output.dtype());
        Ok((value, change.map_or_else(zeros, Ok)?))
    };
    function(&duals?)?.iter().map(unpacked).collect()
}

/// A tensor with the values of `primal` and a tangent of the same shape and dtype.
pub(crate) fn make_dual(primal: &Tensor, tangent: &Tensor, level: u64) -> Tensor {
    primal.detach().attach(dual_edge(primal.grad_edge(), tangent.clone(), level))
}

/// The tensor without the tangents of a level and of inner ones, and its tangent of that level, if it has one.
///
/// # Errors
/// What the rule of an in-place write raised.
pub(crate) fn unpack_dual(dual: &Tensor, level: u64) -> Result<(Tensor, Option<Tensor>)> {
    let (tangent, below) = forward_ad::unpack_dual(dual, level)?;
    let primal = match below {
        Some(edge) => dual.detach().attach(edge),
        None => dual.detached(),
    };
    let separate = |tangent: Tensor| {
        let has_history = tangent.requires_grad();
        tangent.separate(has_history)
    };
    Ok((primal, tangent.map(separate).transpose()?))
}

/// Refuses a tangent of another shape or dtype.
fn check_tangent(primal: &Tensor, tangent: &Tensor) -> Result<()> {
    if tangent.shape() != primal.shape() {
        return Err(Box::new(Error::GradientShape {
            op: "jvp".into(),
            got: tangent.shape().into(),
            want: primal.shape().into(),
        }));
    }
    if !primal.dtype().is_inexact() || tangent.dtype() != primal.dtype() {
        return Err(Box::new(Error::DType {
            op: "jvp".into(),
            got: tangent.dtype(),
            remedy: "give primals and tangents of one floating-point dtype",
        }));
    }
    Ok(())
}
