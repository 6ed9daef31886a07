//! `jvp`: the derivative of a function along a direction, by forward mode.

use crate::error::{Error, Result};
use crate::graph::{forward_ad, grad_enabled};
use crate::tensor::Tensor;

/// Exits a level when dropped, also by an error or a panic.
struct Level(u64);

impl Drop for Level {
    fn drop(&mut self) {
        forward_ad::exit_level(self.0);
    }
}

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
    let level = Level(forward_ad::enter_level(grad_enabled(), None));
    let dual = |(x, t): (&&Tensor, &&Tensor)| make_dual(x, t, level.0);
    let duals: Result<Vec<Tensor>> = primals.iter().zip(tangents).map(dual).collect();
    let outputs = function(&duals?)?;
    let mut changes = Vec::with_capacity(outputs.len());
    let mut values = Vec::with_capacity(outputs.len());
    for output in outputs {
        let (change, below) = forward_ad::unpack_dual(&output, level.0)?;
        changes.push(match change {
            Some(change) => {
                let has_history = change.requires_grad();
                change.separate(has_history)?
            }
            None => Tensor::zeros(output.shape(), output.dtype())?,
        });
        values.push(match below {
            Some(edge) => output.detach().attach(edge),
            None => output.detach(),
        });
    }
    Ok((values, changes))
}

/// A tensor with the values of `primal` and a tangent.
fn make_dual(primal: &Tensor, tangent: &Tensor, level: u64) -> Result<Tensor> {
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
    let edge = forward_ad::dual_edge(primal.grad_edge(), tangent.clone(), level);
    Ok(primal.detach().attach(edge))
}
