//! Declarations of the functors of the CustomFunction spec (document 001).
//!
//! Invariant: a functor's attributes are the arguments of its call, and its name may follow them.

use crate::error::{Error, Result};
use crate::ops::core::arguments::Input;
use crate::ops::elementwise::gelu::gelu_default;
use crate::ops::product::fibers::Fiber;
use crate::ops::product::functor_ops;
use crate::ops::product::functor_ops::Gemm;
use crate::tensor::Tensor;

/// A count, or an axis counted from the front.
fn check_count(op: &'static str, name: &str, given: isize) -> Result<usize> {
    usize::try_from(given).map_err(|_| {
        let what = format!("{name} is {given}");
        Box::new(Error::Argument { op: op.into(), what, remedy: "use 0 or more".into() })
    })
}

fn fiber(op: &'static str, axis: isize, batch_ndim: isize) -> Result<Fiber> {
    Ok(Fiber {
        axis: check_count(op, "axis", axis)?,
        batch_ndim: check_count(op, "batch_ndim", batch_ndim)?,
    })
}

crate::operations! { family "functors" [namespace("functors"), named, float32];
    /// `alpha x + beta y` of two tensors of one shape; `name` names the result. Operands of two dtypes meet in the larger one, integers become float64; zero factors follow IEEE. Derivatives: `alpha g` and `beta g`.
    fn add(alpha: f64, x: Input, beta: f64, y: Input) -> Tensor {
        functor_ops::axpby(alpha, x, beta, y)
    }
    /// `C[M…, N…, B…] = alpha Σ_K A[M…, K…, B…] · B[K…, N…, B…]`: `ndim` axes are contracted, the last `batch_ndim` axes are batch axes; with `trans_a`, a is `[K…, M…, B…]`, with `trans_b`, b is `[N…, K…, B…]`. Nothing broadcasts. Derivatives: `g` contracted with the other operand, times alpha.
    fn gemm(a: Input, b: Input, alpha: f64 = 1.0, trans_a: bool = false, trans_b: bool = false, ndim: isize = 1, batch_ndim: isize = 0) -> Tensor {
        let (ndim, batch_ndim) = (check_count("gemm", "ndim", ndim)?, check_count("gemm", "batch_ndim", batch_ndim)?);
        functor_ops::gemm(a, b, Gemm { alpha, trans_a, trans_b, ndim, batch_ndim })
    }
    /// `beta tensor[i] + alpha fiber[i_axis, i_batch…]`: the fiber has the size of one axis, then the last `batch_ndim` axes of the tensor. With `beta` 0 the tensor's values are not read. Derivatives: `sum_fiber` of `alpha g`, and `beta g`.
    fn add_fiber(alpha: f64, fiber: Input, beta: f64, tensor: Input, axis: isize = 0, batch_ndim: isize = 0) -> Tensor {
        let place = super::functor_decls::fiber("add_fiber", axis, batch_ndim)?;
        functor_ops::add_fiber(alpha, fiber, beta, tensor, place)
    }
    /// `alpha Σ x` over every axis but `axis` and the last `batch_ndim` ones, summed pairwise and the same at any number of threads. Derivative: `alpha g` repeated along the summed axes.
    fn sum_fiber(x: Input, axis: isize = 0, batch_ndim: isize = 0, alpha: f64 = 1.0) -> Tensor {
        functor_ops::sum_fiber(x, fiber("sum_fiber", axis, batch_ndim)?, alpha)
    }
    /// `x Φ(x) = ½ x erfc(-x / √2)`, element by element; the erfc form keeps the negative tail. Derivative: `g (Φ(x) + x φ(x))`.
    fn gelu(x: Input) -> Tensor {
        gelu_default(x)
    }
}
