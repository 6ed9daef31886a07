//! Complex memory seen as the real numbers that it is made of, and back.
//!
//! Owns: the recorded views between a complex dtype and that of its parts, and `joined`, which makes complex numbers of two
//! tensors. Never computes with numbers.
//! Invariant: the gradient of a complex number is `dL/d re + i dL/d im`, so that each view is the adjoint of its inverse.

use crate::array::checked_numel;
use crate::error::{Error, Result};
use crate::kernels::real_imag;
use crate::kernels::real_imag::Part;
use crate::ops::core::structured::{Record, VIEW_COST, finish, move_cost, nothing};
use crate::tensor::Tensor;

/// One part of complex numbers, copied.
pub(crate) fn part_of(x: &Tensor, part: Part) -> Result<Tensor> {
    let out = Tensor::empty(x.shape(), x.dtype().real())?;
    real_imag::take_part(part, x.view_of(), out.view_mut());
    recorded_part(x, out, part)
}

/// One part of complex numbers where it lies; a view.
pub(crate) fn part_view(x: &Tensor, part: Part) -> Result<Tensor> {
    let index = usize::from(part == Part::Imag);
    let layout = x.layout().refine(2).select(x.ndim(), index);
    recorded_part(x, x.with_region(layout, x.dtype().real()), part)
}

fn recorded_part(x: &Tensor, out: Tensor, part: Part) -> Result<Tensor> {
    finish(out, &[x], |out| Record {
        name: if part == Part::Real { "real" } else { "imag" },
        cost: move_cost(out),
        params: part,
        saved: nothing(),
        backward: |part, g, cx| {
            cx.give_with(0, |_| {
                let none = Tensor::zeros(g.shape(), g.dtype())?;
                if *part == Part::Real { joined(&g, &none) } else { joined(&none, &g) }
            })
        },
    })
}

/// Complex numbers of two parts that share a float dtype and a shape, recorded.
pub(crate) fn joined(re: &Tensor, im: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(re.shape(), re.dtype().to_complex())?;
    real_imag::join_parts(re.view_of(), im.view_of(), out.view_mut());
    finish(out, &[re, im], |out| Record {
        name: "complex",
        cost: move_cost(out),
        params: (),
        saved: nothing(),
        backward: |(), g, cx| {
            cx.give_with(0, |_| part_of(&g, Part::Real))?;
            cx.give_with(1, |_| part_of(&g, Part::Imag))
        },
    })
}

/// Complex numbers as their parts along a new last axis of size 2, other elements as they are. Outside the graph.
pub(crate) fn as_parts(x: Tensor) -> Tensor {
    if !x.dtype().is_complex() {
        return x;
    }
    let (layout, dtype) = (x.layout().refine(2), x.dtype().real());
    x.with_layout_and_dtype(layout, dtype)
}

/// The parts of complex numbers along a new last axis of size 2; a view.
pub(crate) fn pairs_of(x: &Tensor) -> Result<Tensor> {
    let layout = x.layout().refine(2);
    checked_numel("view_as_real", layout.dims())?;
    finish(x.with_region(layout, x.dtype().real()), &[x], |_| Record {
        name: "view_as_real",
        cost: VIEW_COST,
        params: (),
        saved: nothing(),
        backward: |(), g, cx| cx.give_with(0, |_| complex_of(&g)),
    })
}

/// Complex numbers of the pairs along the last axis, of size 2; `None` where the pairs do not lie in memory as complex
/// numbers do.
pub(crate) fn complex_view(x: &Tensor) -> Option<Result<Tensor>> {
    let layout = x.layout().coarsen(2)?;
    let out = x.with_region(layout, x.dtype().to_complex());
    Some(finish(out, &[x], |_| Record {
        name: "view_as_complex",
        cost: VIEW_COST,
        params: (),
        saved: nothing(),
        backward: |(), g, cx| cx.give_with(0, |_| pairs_of(&g)),
    }))
}

/// The same of pairs anywhere: where there is no view, of a copy.
pub(crate) fn complex_of(x: &Tensor) -> Result<Tensor> {
    if let Some(view) = complex_view(x) {
        return view;
    }
    complex_view(&x.copied("contiguous")?).unwrap_or_else(|| {
        let what = format!("no complex numbers in {:?}", x.layout());
        Err(Box::new(Error::Internal { op: "view_as_complex".into(), what }))
    })
}
