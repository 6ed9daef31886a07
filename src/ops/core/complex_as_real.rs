//! Recorded views between a complex dtype and the real dtype of its parts, and copies of parts.
//!
//! Invariant: the gradient of a complex number is `dL/d re + i dL/d im`, so each view is the adjoint of its inverse.

use crate::array::checked_numel;
use crate::error::{Error, Result};
use crate::kernels::real_imag;
use crate::kernels::real_imag::Part;
use crate::ops::core::structured::{NodeSpec, VIEW_COST, move_cost, record_output, save_none};
use crate::tensor::Tensor;

/// A copy of the real or the imaginary part.
pub(crate) fn copy_part(x: &Tensor, part: Part) -> Result<Tensor> {
    let out = Tensor::empty(x.shape(), x.dtype().real())?;
    real_imag::take_part(part, x.view_of(), out.view_mut());
    record_part(x, out, part)
}

/// The real or the imaginary part as a view.
pub(crate) fn part_view(x: &Tensor, part: Part) -> Result<Tensor> {
    let index = usize::from(part == Part::Imag);
    let layout = x.layout().refine(2).select(x.ndim(), index);
    record_part(x, x.with_region(layout, x.dtype().real()), part)
}

fn record_part(x: &Tensor, out: Tensor, part: Part) -> Result<Tensor> {
    record_output(out, &[x], |out| NodeSpec {
        name: if part == Part::Real { "real" } else { "imag" },
        cost: move_cost(out),
        params: part,
        saved: save_none(),
        backward: |part, g, cx| {
            cx.give_with(0, |_| {
                let none = Tensor::zeros(g.shape(), g.dtype())?;
                if *part == Part::Real {
                    complex_from_parts(&g, &none)
                } else {
                    complex_from_parts(&none, &g)
                }
            })
        },
    })
}

/// Complex numbers from real and imaginary parts of one float dtype and shape, recorded.
pub(crate) fn complex_from_parts(re: &Tensor, im: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(re.shape(), re.dtype().to_complex())?;
    real_imag::join_parts(re.view_of(), im.view_of(), out.view_mut());
    record_output(out, &[re, im], |out| NodeSpec {
        name: "complex",
        cost: move_cost(out),
        params: (),
        saved: save_none(),
        backward: |(), g, cx| {
            cx.give_with(0, |_| copy_part(&g, Part::Real))?;
            cx.give_with(1, |_| copy_part(&g, Part::Imag))
        },
    })
}

/// Complex elements as pairs along a new last axis of size 2; other dtypes unchanged. Not recorded.
pub(crate) fn unrecorded_pairs(x: Tensor) -> Tensor {
    if !x.dtype().is_complex() {
        return x;
    }
    let (layout, dtype) = (x.layout().refine(2), x.dtype().real());
    x.with_layout_and_dtype(layout, dtype)
}

/// Complex elements as pairs along a new last axis of size 2; a recorded view.
pub(crate) fn real_pairs(x: &Tensor) -> Result<Tensor> {
    let layout = x.layout().refine(2);
    checked_numel("view_as_real", layout.dims())?;
    record_output(x.with_region(layout, x.dtype().real()), &[x], |_| NodeSpec {
        name: "view_as_real",
        cost: VIEW_COST,
        params: (),
        saved: save_none(),
        backward: |(), g, cx| cx.give_with(0, |_| complex_from_pairs(&g)),
    })
}

/// The inverse of [`real_pairs`] as a view; `None` if the pairs are not adjacent and aligned in memory.
pub(crate) fn complex_view(x: &Tensor) -> Option<Result<Tensor>> {
    let layout = x.layout().coarsen(2)?;
    let out = x.with_region(layout, x.dtype().to_complex());
    Some(record_output(out, &[x], |_| NodeSpec {
        name: "view_as_complex",
        cost: VIEW_COST,
        params: (),
        saved: save_none(),
        backward: |(), g, cx| cx.give_with(0, |_| real_pairs(&g)),
    }))
}

/// The inverse of [`real_pairs`]: a view if possible, else a copy.
pub(crate) fn complex_from_pairs(x: &Tensor) -> Result<Tensor> {
    if let Some(view) = complex_view(x) {
        return view;
    }
    complex_view(&x.copied("contiguous")?).unwrap_or_else(|| {
        let what = format!("no complex numbers in {:?}", x.layout());
        Err(Box::new(Error::Internal { op: "view_as_complex".into(), what }))
    })
}
