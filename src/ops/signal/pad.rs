//! Padding.
//!
//! Owns: NumPy's pad and PyTorch's, as one mechanism: a constant border, or a gather along each axis.
//! Never pads an axis that both widths leave as it is.
//! Invariant: the gradient of an element is the sum over the places that show it.

use crate::array::{Layout, ShapeVec, broadcast_shapes};
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::op_decl::{Ints, Scalar};
use crate::ops::core::row_indices::as_int64;
use crate::ops::core::structured::{Record, finish, move_cost, nothing};
use crate::ops::core::view::{ViewStep, ViewSteps, slice_axis, view_through, view_through_batched};
use crate::ops::shape::create::try_vec_with_capacity;
use crate::ops::shape::join::join;
use crate::ops::shape::repeat::add_along;
use crate::ops::signal::pad_modes::{Statistic, filled, ramped, turned};
use crate::tensor::Tensor;

/// What lies beyond the border.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    Edge,
    /// Mirrored about the last element.
    Reflect,
    /// Mirrored about the border.
    Symmetric,
    Wrap,
}

impl Beyond {
    /// The element of `0..n` shown at position `at`, which may lie outside.
    fn source(self, at: i64, n: i64) -> i64 {
        match self {
            Beyond::Edge => at.clamp(0, n - 1),
            Beyond::Wrap => at.rem_euclid(n),
            Beyond::Reflect if n == 1 => 0,
            Beyond::Reflect => n - 1 - (at.rem_euclid(2 * (n - 1)) - (n - 1)).abs(),
            Beyond::Symmetric => {
                let at = at.rem_euclid(2 * n);
                at.min(2 * n - 1 - at)
            }
        }
    }
}

fn bad(what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: "pad".into(), what, remedy: remedy.into() })
}

type Widths = Vec<(usize, usize)>;

/// The padded dims and the view of the result that shows `x`.
fn framed(x: &Tensor, widths: &Widths) -> Result<(ShapeVec, Vec<ViewStep>)> {
    let mut dims = ShapeVec::new();
    let mut steps = Vec::new();
    for (axis, (&(before, after), &len)) in widths.iter().zip(x.shape()).enumerate() {
        let size = before.checked_add(after).and_then(|w| w.checked_add(len));
        dims.push(size.ok_or_else(|| {
            Box::new(Error::TooLarge { op: "pad".into(), dims: x.shape().into() })
        })?);
        if before + after > 0 {
            steps.push(ViewStep::Slice { axis, start: before, step: 1, len });
        }
    }
    Ok((dims, steps))
}

/// A border of one value, a constant of the graph.
fn bordered(x: &Tensor, widths: &Widths, value: &Tensor) -> Result<Tensor> {
    let (dims, steps) = framed(x, widths)?;
    let out = Tensor::empty(&dims, x.dtype())?;
    let inner = out
        .with_layout(steps.iter().fold(out.layout().clone(), |layout, step| step.apply(&layout)));
    let whole = value
        .with_layout(Layout::scalar().with_offset(value.layout().offset()).broadcast_to(&dims)?);
    kernels::copy(whole.view_of(), out.view_mut());
    kernels::copy(x.view_of(), inner.view_mut());
    drop(inner);
    finish(out, &[x], |out| Record {
        name: "pad",
        cost: move_cost(out),
        params: ViewSteps::new(x.ndim(), steps.into()),
        saved: nothing(),
        backward: |steps, g, cx| {
            cx.give_with(0, |_| view_through_batched(&g, "pad", steps.clone()))
        },
    })
}

/// A border with a value per axis and side, `values` of shape `(axes, 2)`; later axes own the corners.
fn bordered_each(x: &Tensor, widths: &Widths, values: &Tensor) -> Result<Tensor> {
    let mut out = x.clone();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let block = |side: usize, len: usize| {
            let steps = vec![
                ViewStep::Select { axis: 0, index: axis },
                ViewStep::Select { axis: 0, index: side },
            ];
            let mut dims = ShapeVec::from_slice(out.shape());
            dims[axis] = len;
            broadcast_to(&view_through(values, "pad", steps)?, &dims)
        };
        out = join(&[block(0, before)?, out.clone(), block(1, after)?], axis)?;
    }
    Ok(out)
}

/// For each padded axis, the elements of `x` that the result shows along it.
type Shown = Vec<(usize, Tensor)>;

fn shown(x: &Tensor, widths: &Widths, beyond: Beyond) -> Result<Shown> {
    let mut all = Vec::new();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let n = x.shape()[axis] as i64;
        if before + after == 0 {
            continue;
        }
        if n == 0 {
            return Err(bad(
                format!("axis {axis} has no element to show beyond its border"),
                "use mode=\"constant\"",
            ));
        }
        let mut rows =
            try_vec_with_capacity(before.saturating_add(after).saturating_add(n as usize))?;
        rows.extend((-(before as i64)..n + after as i64).map(|at| beyond.source(at, n)));
        all.push((axis, Tensor::from(rows)));
    }
    Ok(all)
}

/// A border that shows elements of `x`, written slice by slice.
fn extended(x: &Tensor, widths: &Widths, beyond: Beyond) -> Result<Tensor> {
    let shown = shown(x, widths, beyond)?;
    let (dims, steps) = framed(x, widths)?;
    let out = Tensor::empty(&dims, x.dtype())?;
    let mut whole = steps.iter().fold(out.layout().clone(), |layout, step| step.apply(&layout));
    kernels::copy(x.view_of(), out.with_layout(whole.clone()).view_mut());
    for (axis, rows) in &shown {
        // What is complete so far, with this axis in its full length.
        let wider: Vec<ViewStep> =
            steps.iter().copied().filter(|step| step.axis() > *axis).collect();
        whole = wider.iter().fold(out.layout().clone(), |layout, step| step.apply(&layout));
        let before = widths[*axis].0;
        let inside = before..before + x.shape()[*axis];
        for (at, &row) in
            rows.to_vec::<i64>()?.iter().enumerate().filter(|(at, _)| !inside.contains(at))
        {
            let source = out.with_layout(whole.select(*axis, before + row as usize));
            let target = out.with_layout(whole.select(*axis, at));
            kernels::copy(source.view_of(), target.view_mut());
        }
    }
    finish(out, &[x], |out| Record {
        name: "pad",
        cost: 2.0 * move_cost(out),
        params: (shown, ShapeVec::from_slice(x.shape())),
        saved: nothing(),
        backward: |(shown, dims), mut g, cx| {
            let front = g.ndim() - dims.len();
            for (axis, rows) in shown.iter().rev() {
                g = add_along("pad", &g, front + axis, rows, dims[*axis])?;
            }
            cx.give_with(0, |_| Ok(g))
        },
    })
}

/// `(before, after)` for every axis, from what broadcasts to one row per axis.
fn per_axis(what: &str, given: &Tensor, ndim: usize) -> Result<Tensor> {
    let target = [ndim, 2];
    if broadcast_shapes("pad", &[given.shape(), &target]).is_ok_and(|dims| dims[..] == target) {
        return broadcast_to(given, &target);
    }
    Err(bad(
        format!("{what} of shape {} for {ndim} axes", Dims::from(given.shape())),
        "give one number, (before, after), or one such pair per axis",
    ))
}

fn widths_of(given: &Tensor, ndim: usize) -> Result<Widths> {
    let flat = per_axis("pad_width", &as_int64("pad", given)?, ndim)?.to_vec::<i64>()?;
    if let Some(n) = flat.iter().find(|&&n| !(0..=isize::MAX as i64 / 64).contains(&n)) {
        return Err(bad(format!("a width of {n}"), "give widths of 0 or more"));
    }
    Ok(flat.chunks_exact(2).map(|w| (w[0] as usize, w[1] as usize)).collect())
}

/// What PyTorch's pairs, from the last axis on, add to each axis, and what negative widths take from it.
fn pairs(x: &Tensor, pad: &[i64]) -> Result<(Widths, Widths)> {
    if !pad.len().is_multiple_of(2) || pad.len() / 2 > x.ndim() {
        return Err(bad(
            format!("{} widths for {} axes", pad.len(), x.ndim()),
            "give two per axis, for the last axis first",
        ));
    }
    let none: Widths = vec![(0, 0); x.ndim()];
    let (mut widths, mut crops) = (none.clone(), none);
    for (i, pair) in pad.chunks_exact(2).enumerate() {
        let axis = x.ndim() - 1 - i;
        let size = x.shape()[axis] as i64;
        if size.saturating_add(pair[0]).saturating_add(pair[1]) < 0 {
            return Err(bad(
                format!("widths {} and {} on axis {axis} of size {size}", pair[0], pair[1]),
                "crop no more than there is",
            ));
        }
        let less = |width: i64| width.min(0).unsigned_abs() as usize;
        widths[axis] = (pair[0].max(0) as usize, pair[1].max(0) as usize);
        crops[axis] = (less(pair[0]), less(pair[1]));
    }
    Ok((widths, crops))
}

/// `x` without so many elements at the ends of each axis.
fn cropped(x: &Tensor, crops: &Widths) -> Result<Tensor> {
    let mut out = x.clone();
    for (axis, &(front, back)) in crops.iter().enumerate() {
        let size = out.shape()[axis];
        let Some(kept) = size.checked_sub(front).and_then(|rest| rest.checked_sub(back)) else {
            return Err(bad(
                format!("{front} and {back} elements less on axis {axis} of size {size}"),
                "crop no more than there is",
            ));
        };
        if kept != size {
            out = slice_axis(&out, axis, front, 1, kept)?;
        }
    }
    Ok(out)
}

/// PyTorch's limit: a mirror or a turn shows each element at most once more.
fn within_once(x: &Tensor, widths: &Widths, spare: usize) -> Result<()> {
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let most = x.shape()[axis].saturating_sub(spare);
        if before.max(after) > most {
            return Err(bad(
                format!(
                    "a width of {} on axis {axis} of size {}",
                    before.max(after),
                    x.shape()[axis]
                ),
                &format!("give widths of at most {most}"),
            ));
        }
    }
    Ok(())
}

/// The modes that summarise elements.
const STATISTICS: &[(&str, Statistic)] = &[
    ("maximum", Statistic::Largest),
    ("minimum", Statistic::Smallest),
    ("mean", Statistic::Mean),
    ("median", Statistic::Median),
];

/// Refuses an argument that another mode has.
fn belongs(name: &str, given: bool, mode: &str, fits: bool) -> Result<()> {
    if !given || fits {
        return Ok(());
    }
    Err(bad(format!("{name} with mode {mode:?}"), "use it with the mode that reads it"))
}

/// A border of given values, zeros by default.
fn constant(x: &Tensor, widths: &Widths, values: Option<&Tensor>) -> Result<Tensor> {
    let values = match values {
        None => Tensor::zeros(&[], x.dtype())?,
        Some(values) => astype(values, x.dtype())?,
    };
    if values.size() == 1 && !values.requires_grad() {
        return bordered(x, widths, &values);
    }
    bordered_each(x, widths, &per_axis("constant_values", &values, x.ndim())?)
}

crate::operations! { family "padding";
    /// NumPy's pad: `pad_width` is one number, `(before, after)`, or a pair per axis; `mode` is constant (of `constant_values`), edge, reflect, symmetric, wrap, linear_ramp (to `end_values`), maximum, minimum, mean, median (of `stat_length` elements), or empty. Derivative: `g` summed over the places that show an element.
    [numpy("pad")]
    fn pad(x: Tensor, pad_width: Tensor, mode: String = "constant".to_owned(), constant_values: Option<Tensor> = None, end_values: Option<Tensor> = None, stat_length: Option<Tensor> = None, reflect_type: String = "even".to_owned()) -> Tensor {
        let widths = widths_of(pad_width, x.ndim())?;
        let statistic = STATISTICS.iter().find(|(name, _)| *name == mode).map(|(_, kind)| *kind);
        belongs("constant_values", constant_values.is_some(), &mode, mode == "constant")?;
        belongs("end_values", end_values.is_some(), &mode, mode == "linear_ramp")?;
        belongs("stat_length", stat_length.is_some(), &mode, statistic.is_some())?;
        belongs("reflect_type", reflect_type != "even", &mode, reflect_type == "odd" && (mode == "reflect" || mode == "symmetric"))?;
        if let Some(kind) = statistic {
            let lengths = stat_length.map(|given| per_axis("stat_length", &as_int64("pad", given)?, x.ndim())?.to_vec::<i64>()).transpose()?;
            return filled(x, &widths, kind, lengths.as_deref());
        }
        let beyond = match mode.as_str() {
            "constant" | "empty" => return constant(x, &widths, constant_values),
            "linear_ramp" => {
                let zero = Tensor::zeros(&[], x.dtype())?;
                return ramped(x, &widths, &per_axis("end_values", end_values.unwrap_or(&zero), x.ndim())?);
            }
            "reflect" | "symmetric" if reflect_type == "odd" => return turned(x, &widths, mode == "symmetric"),
            "edge" => Beyond::Edge,
            "reflect" => Beyond::Reflect,
            "symmetric" => Beyond::Symmetric,
            "wrap" => Beyond::Wrap,
            other => return Err(bad(format!("mode {other:?}"), "use constant, edge, reflect, symmetric, wrap, linear_ramp, maximum, minimum, mean, median or empty")),
        };
        extended(x, &widths, beyond)
    }
    /// PyTorch's pad: widths in pairs, the last axis first, of which negative ones crop; `mode` is constant, reflect, replicate or circular.
    [namespace("nn.functional")]
    fn pad_(x: Tensor, pad: Ints, mode: String = "constant".to_owned(), value: Option<f64> = None) -> Tensor {
        let (widths, crops) = pairs(x, &pad)?;
        if mode != "constant" && value.is_some_and(|v| v != 0.0) {
            return Err(bad(format!("a value with mode {mode:?}"), "use it with mode=\"constant\""));
        }
        // A mirror and an edge are those of the whole axis; a turn goes on with what is left of it.
        match mode.as_str() {
            "constant" => bordered(&cropped(x, &crops)?, &widths, &Tensor::full(&[], Scalar::Float(value.unwrap_or(0.0)), x.dtype())?),
            "replicate" => cropped(&extended(x, &widths, Beyond::Edge)?, &crops),
            "reflect" => {
                within_once(x, &widths, 1)?;
                cropped(&extended(x, &widths, Beyond::Reflect)?, &crops)
            }
            "circular" => {
                let x = cropped(x, &crops)?;
                within_once(&x, &widths, 0).and_then(|()| extended(&x, &widths, Beyond::Wrap))
            }
            other => Err(bad(format!("mode {other:?}"), "use constant, reflect, replicate or circular")),
        }
    }
}
