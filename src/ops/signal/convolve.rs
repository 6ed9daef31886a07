//! Discrete convolution of vectors, and polynomials: `convolve`, `polyval`.
//!
//! Invariant: each is differentiable in every float operand, to any order.

use smallvec::smallvec;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{
    astype, require_elements, require_readable, require_vector, reshape_dims, swap_axes,
};
use crate::ops::core::elementwise::binary;
use crate::ops::core::structured::{NodeSpec, Save, move_cost, record_output};
use crate::ops::core::view::{ViewStep, element_view, embed, slice_axis};
use crate::ops::elementwise::arithmetic::{ADD, MULTIPLY, conjugated};
use crate::ops::product::matmul::product;
use crate::ops::reduce::scan::reverse_axis;
use crate::ops::signal::window::windows;
use crate::tensor::Tensor;

/// `out[k] = sum_j a[k + j] v[j]` for all `k` where `v` is inside `a` ("valid"); vectors of one
/// dtype, `v` not longer than `a`.
fn correlate(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (n, m) = (a.size(), v.size());
    let windows = a.with_layout(a.layout().unfold(0, m, 1));
    let column = v.with_layout(v.layout().insert_axis(1));
    let out = Tensor::empty(&[n - m + 1, 1], a.dtype())?;
    kernels::matmul(windows.view_of(), column.view_of(), &out.view_mut())?;
    let out = out.into_layout(crate::array::Layout::contiguous(&[n - m + 1])?);
    record_output(out, &[a, v], |out| NodeSpec {
        name: "convolve",
        cost: 2.0 * move_cost(out) * m as f32,
        params: (),
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |(), g, cx| {
            if !cx.batch().is_empty() {
                cx.give_with(0, |cx| convolve_full_rows(&g, &conjugated(&cx.saved(1)?)?))?;
                return cx.give_with(1, |cx| {
                    correlate_with_kernel_rows(&conjugated(&cx.saved(0)?)?, &g)
                });
            }
            cx.give_with(0, |cx| convolve_full(&g, &conjugated(&cx.saved(1)?)?))?;
            cx.give_with(1, |cx| correlate(&conjugated(&cx.saved(0)?)?, &g))
        },
    })
}

/// `correlate` of `a` with each row of `v`.
fn correlate_with_kernel_rows(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let windows = windows(a, 0, v.shape()[1], 1)?;
    product(v, &swap_axes(&windows, 0, 1)?)
}

/// `correlate` of each row of `a` with `v`.
fn correlate_rows(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let windows = windows(a, 1, v.size(), 1)?;
    let dims = [windows.shape()[0], windows.shape()[1]];
    reshape_dims(&product(&windows, &reshape_dims(v, &[v.size(), 1])?)?, &dims)
}

/// `convolve_full` of each row of `a` with `v`.
fn convolve_full_rows(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (rows, n, margin) = (a.shape()[0], a.shape()[1], v.size() - 1);
    let inner = ViewStep::Slice { axis: 1, start: margin, step: 1, len: n };
    let wide = embed(a, &[rows, n + 2 * margin], &[inner])?;
    correlate_rows(&wide, &reverse_axis(v, 0)?)
}

/// `out[k] = sum_j a[k - j] v[j]` wherever both have elements ("full").
fn convolve_full(a: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (n, m) = (a.size(), v.size());
    let (x, y) = (a.detach().contiguous()?, v.detach().contiguous()?);
    let out = Tensor::zeros(&[n + m - 1], a.dtype())?;
    kernels::convolution::convolve_full(x.view_of(), y.view_of(), out.view_mut())?;
    record_output(out, &[a, v], |out| NodeSpec {
        name: "convolve",
        cost: 2.0 * move_cost(out) * m as f32,
        params: (),
        saved: smallvec![Save::input(0, &[1]), Save::input(1, &[0])],
        backward: |(), g, cx| {
            let rows = !cx.batch().is_empty();
            let along = |v: &Tensor| if rows { correlate_rows(&g, v) } else { correlate(&g, v) };
            cx.give_with(0, |cx| along(&conjugated(&cx.saved(1)?)?))?;
            cx.give_with(1, |cx| along(&conjugated(&cx.saved(0)?)?))
        },
    })
}

crate::operations! { family "numerical" [float32];
    /// Discrete convolution of two vectors, `sum_j a[j] v[k - j]`: `"full"`, `"same"` as the longer, or `"valid"`, where they overlap wholly. Derivatives: correlations of `g`.
    [numpy("convolve")]
    fn convolve(a: Tensor, v: Tensor, mode: String = "full".to_owned()) -> Tensor {
        let common = a.dtype().promote(v.dtype());
        let dtype = if common == DType::Bool { DType::I64 } else { common };
        let read = |x: &Tensor| if x.ndim() == 0 { reshape_dims(x, &[1]) } else { require_vector("convolve", x).cloned() };
        let (a, v) = (astype(&read(a)?, dtype)?, astype(&read(v)?, dtype)?);
        require_elements("convolve", &a)?;
        require_elements("convolve", &v)?;
        let (long, short) = if a.size() >= v.size() { (a, v) } else { (v, a) };
        let (n, m) = (long.size(), short.size());
        let out = match mode.as_str() {
            "valid" => correlate(&long, &reverse_axis(&short, 0)?)?,
            "full" => convolve_full(&long, &short)?,
            "same" => slice_axis(&convolve_full(&long, &short)?, 0, (m - 1) / 2, 1, n)?,
            other => return Err(Box::new(Error::Argument {
                op: "convolve".into(),
                what: format!("mode {other:?}"),
                remedy: "use \"full\", \"same\" or \"valid\"".into(),
            })),
        };
        if common == DType::Bool { astype(&out, DType::Bool) } else { Ok(out) }
    }
    /// The polynomial with coefficients `p`, highest first, at `x`, by Horner's rule. Derivatives: the derived polynomial by `x`, powers of `x` by `p`.
    [numpy("polyval")]
    fn polyval(p: Tensor, x: Tensor) -> Tensor {
        let p = require_vector("polyval", p)?;
        require_readable("polyval", p)?;
        let mut y = Tensor::zeros(x.shape(), x.dtype())?;
        for i in 0..p.size() {
            y = binary(&ADD, &binary(&MULTIPLY, &y, x)?, &element_view(p, i)?)?;
        }
        Ok(y)
    }
}
