//! NumPy's products over chosen axes: dot, vdot, inner, outer, tensordot, kron, cross.
//!
//! `contract` reduces any contraction to one matrix product. Invariant: operands are permuted
//! views; a copy is made only where axes do not merge into one.

use smallvec::SmallVec;

use crate::array::{ShapeVec, normalize_axes, normalize_axis};
use crate::dtype::DType;
use crate::error::{Dims, Error, Result};
use crate::ops::core::broadcast::{astype, permute_axes, reshape_dims};
use crate::ops::core::elementwise::binary;
use crate::ops::core::op_decl::{Ints, Nested};
use crate::ops::core::view::{ViewStep, view_through};
use crate::ops::elementwise::arithmetic::conjugated;
use crate::ops::elementwise::arithmetic::{MULTIPLY, SUBTRACT};
use crate::ops::product::matmul::product;
use crate::ops::shape::join::stack;
use crate::tensor::Tensor;

/// Casts two operands to the dtype of the product; also returns the dtype of the result.
pub(crate) fn promote(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor, DType)> {
    let common = a.dtype().promote(b.dtype());
    // Booleans are multiplied as int64 and cast back.
    let dtype = if common == DType::Bool { DType::I64 } else { common };
    Ok((astype(a, dtype)?, astype(b, dtype)?, common))
}

/// `x` as a matrix: rows are the axes of `first`, columns those of `second`.
fn matrix(x: &Tensor, first: &[usize], second: &[usize]) -> Result<Tensor> {
    let size = |axes: &[usize]| axes.iter().map(|&a| x.shape()[a]).product::<usize>();
    let (rows, columns) = (size(first), size(second));
    let order: ShapeVec = first.iter().chain(second).copied().collect();
    if order.is_sorted() {
        return reshape_dims(x, &[rows, columns]);
    }
    reshape_dims(&permute_axes(x, &order)?, &[rows, columns])
}

/// The axes of `x` that are not in `axes`.
fn other_axes(x: &Tensor, axes: &[usize]) -> ShapeVec {
    (0..x.ndim()).filter(|a| !axes.contains(a)).collect()
}

/// Contracts pairs of axes; the result has the other axes of `a`, then those of `b`.
pub(crate) fn contract(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    a_axes: &[usize],
    b_axes: &[usize],
) -> Result<Tensor> {
    if let Some((&i, &k)) =
        a_axes.iter().zip(b_axes).find(|(i, k)| a.shape()[**i] != b.shape()[**k])
    {
        return Err(Box::new(Error::Shape {
            op: op.into(),
            what: format!(
                "axis {i} of shape {} has size {} and axis {k} of shape {} has size {}",
                Dims::from(a.shape()),
                a.shape()[i],
                Dims::from(b.shape()),
                b.shape()[k]
            ),
            remedy: "axes that are summed together must have one size; transpose or name other axes",
        }));
    }
    let (x, y, common) = promote(a, b)?;
    let (left, right) = (other_axes(&x, a_axes), other_axes(&y, b_axes));
    let mut dims: ShapeVec = left.iter().map(|&i| x.shape()[i]).collect();
    dims.extend(right.iter().map(|&i| y.shape()[i]));
    let out = product(&matrix(&x, &left, a_axes)?, &matrix(&y, b_axes, &right)?)?;
    astype(&reshape_dims(&out, &dims)?, common)
}

/// The pairs of axes that `tensordot` contracts.
fn tensordot_axes(a: &Tensor, b: &Tensor, axes: &Nested) -> Result<(ShapeVec, ShapeVec)> {
    let bad = |what: String| {
        Box::new(Error::Argument {
            op: "tensordot".into(),
            what,
            remedy: "give a number of axes, or a pair of equally long lists of axes".into(),
        })
    };
    match axes {
        Nested::One(n) => {
            let n =
                usize::try_from(*n).ok().filter(|&n| n <= a.ndim() && n <= b.ndim()).ok_or_else(
                    || bad(format!("axes={n} for {} and {} dimensions", a.ndim(), b.ndim())),
                )?;
            Ok(((a.ndim() - n..a.ndim()).collect(), (0..n).collect()))
        }
        Nested::Each(lists) => {
            let [left, right] = &lists[..] else {
                return Err(bad(format!("{} lists of axes", lists.len())));
            };
            if left.len() != right.len() {
                return Err(bad(format!("{} axes of a and {} of b", left.len(), right.len())));
            }
            let signed =
                |list: &Ints| list.iter().map(|&a| a as isize).collect::<SmallVec<[isize; 4]>>();
            let left = normalize_axes("tensordot", &signed(left), a.ndim())?;
            Ok((left, normalize_axes("tensordot", &signed(right), b.ndim())?))
        }
    }
}

/// The three components of vectors along an axis.
fn components(x: &Tensor, axis: isize, name: &str) -> Result<[Tensor; 3]> {
    let axis = normalize_axis("cross", axis, x.ndim())?;
    if x.shape()[axis] != 3 {
        return Err(Box::new(Error::Shape {
            op: "cross".into(),
            what: format!("{name} has {} components along axis {axis}", x.shape()[axis]),
            remedy: "give vectors of 3 components; append a zero to vectors of 2",
        }));
    }
    let part = |index| view_through(x, "select", [ViewStep::Select { axis, index }]);
    Ok([part(0)?, part(1)?, part(2)?])
}

/// Dims of `x` padded with leading ones to `ndim`, with a 1 inserted before (`after` = 0) or after
/// each.
fn interleave_ones(x: &Tensor, ndim: usize, after: usize) -> ShapeVec {
    let own = std::iter::repeat_n(1, ndim - x.ndim()).chain(x.shape().iter().copied());
    own.flat_map(|d| if after == 1 { [d, 1] } else { [1, d] }).collect()
}

crate::operations! { family "products" [float32];
    /// Inner product of vectors, product of matrices, or the sum over the last axis of `a` and the second-last of `b`; a number multiplies. Derivatives: `g bᵀ` and `aᵀ g`.
    [numpy("dot")]
    fn dot(a: Tensor, b: Tensor) -> Tensor {
        if a.ndim() == 0 || b.ndim() == 0 {
            return binary(&MULTIPLY, a, b);
        }
        contract("dot", a, b, &[a.ndim() - 1], &[b.ndim().saturating_sub(2)])
    }
    /// Sum of the products of all elements, both flattened, with the conjugate of a complex `a`. Derivatives: `conj(g) b` and `g a`.
    [numpy("vdot")]
    fn vdot(a: Tensor, b: Tensor) -> Tensor {
        contract("vdot", &conjugated(&reshape_dims(a, &[a.size()])?)?, &reshape_dims(b, &[b.size()])?, &[0], &[0])
    }
    /// Sum of products over the last axes of both; a number multiplies. Derivatives: `g b` and `gᵀ a`.
    [numpy("inner")]
    fn inner(a: Tensor, b: Tensor) -> Tensor {
        if a.ndim() == 0 || b.ndim() == 0 {
            return binary(&MULTIPLY, a, b);
        }
        contract("inner", a, b, &[a.ndim() - 1], &[b.ndim() - 1])
    }
    /// All products of an element of `a` with one of `b`, both flattened: (a.size, b.size). Derivatives: `g b` and `gᵀ a`.
    [numpy("outer"), aliases("ger")]
    fn outer(a: Tensor, b: Tensor) -> Tensor {
        binary(&MULTIPLY, &reshape_dims(a, &[a.size(), 1])?, &reshape_dims(b, &[1, b.size()])?)
    }
    /// Sum of products over the last `axes` axes of `a` and the first of `b`, or over a pair of lists of axes. Derivatives: the same contraction of `g` with the other operand.
    [numpy("tensordot"), memory]
    fn tensordot(a: Tensor, b: Tensor, axes: Nested = Nested::One(2)) -> Tensor {
        let (left, right) = tensordot_axes(a, b, &axes)?;
        contract("tensordot", a, b, &left, &right)
    }
    /// Kronecker product: every element of `a` times the whole of `b`, as blocks. Derivatives: sums of `g` times the other operand over its blocks.
    [numpy("kron")]
    fn kron(a: Tensor, b: Tensor) -> Tensor {
        let ndim = a.ndim().max(b.ndim());
        let (left, right) = (reshape_dims(a, &interleave_ones(a, ndim, 1))?, reshape_dims(b, &interleave_ones(b, ndim, 0))?);
        let blocks = binary(&MULTIPLY, &left, &right)?;
        let dims: ShapeVec = blocks.shape().chunks(2).map(|pair| pair[0] * pair[1]).collect();
        reshape_dims(&blocks, &dims)
    }
    /// Cross product of vectors of 3 components along an axis; `axis` overrides the other three. Derivatives: `b × g` and `g × a`.
    [numpy("cross")]
    fn cross(a: Tensor, b: Tensor, axisa: isize = -1, axisb: isize = -1, axisc: isize = -1, axis: Option<isize> = None) -> Tensor {
        let [a0, a1, a2] = components(a, axis.unwrap_or(axisa), "a")?;
        let [b0, b1, b2] = components(b, axis.unwrap_or(axisb), "b")?;
        let minor = |p: &Tensor, q: &Tensor, r: &Tensor, s: &Tensor| {
            binary(&SUBTRACT, &binary(&MULTIPLY, p, q)?, &binary(&MULTIPLY, r, s)?)
        };
        let parts = [minor(&a1, &b2, &a2, &b1)?, minor(&a2, &b0, &a0, &b2)?, minor(&a0, &b1, &a1, &b0)?];
        stack(&parts, axis.unwrap_or(axisc))
    }
}
