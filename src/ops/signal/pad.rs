//! NumPy's `pad` and PyTorch's `nn.functional.pad`: a constant border, or a gather along each axis.
//!
//! Invariant: the gradient of an element is the sum over its copies.

use crate::array::{Layout, ShapeVec, broadcast_shapes};
use crate::error::{Dims, Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::op_decl::{Ints, Scalar};
use crate::ops::core::row_indices::as_int64;
use crate::ops::core::structured::{NodeSpec, move_cost, record_output, save_none};
use crate::ops::core::view::{ViewStep, ViewSteps, slice_axis, view_through, view_through_batched};
use crate::ops::shape::create::try_vec_with_capacity;
use crate::ops::shape::join::join;
use crate::ops::shape::repeat::add_along;
use crate::ops::signal::pad_modes::{Statistic, pad_odd_reflect, pad_ramp, pad_statistic};
use crate::tensor::Tensor;

/// How elements beyond the border are chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BorderMode {
    Edge,
    /// Mirrored at the last element.
    Reflect,
    /// Mirrored at the border.
    Symmetric,
    Wrap,
}

impl BorderMode {
    /// The source index in `0..n` of position `at`, which may be outside.
    fn source_index(self, at: i64, n: i64) -> i64 {
        match self {
            BorderMode::Edge => at.clamp(0, n - 1),
            BorderMode::Wrap => at.rem_euclid(n),
            BorderMode::Reflect if n == 1 => 0,
            BorderMode::Reflect => n - 1 - (at.rem_euclid(2 * (n - 1)) - (n - 1)).abs(),
            BorderMode::Symmetric => {
                let at = at.rem_euclid(2 * n);
                at.min(2 * n - 1 - at)
            }
        }
    }
}

fn argument_error(what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: "pad".into(), what, remedy: remedy.into() })
}

type Widths = Vec<(usize, usize)>;

/// The padded dims and the view of the result that shows `x`.
fn padded_frame(x: &Tensor, widths: &Widths) -> Result<(ShapeVec, Vec<ViewStep>)> {
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

/// Pads with one value without gradient.
fn pad_constant(x: &Tensor, widths: &Widths, value: &Tensor) -> Result<Tensor> {
    let (dims, steps) = padded_frame(x, widths)?;
    let out = Tensor::empty(&dims, x.dtype())?;
    let inner = out
        .with_layout(steps.iter().fold(out.layout().clone(), |layout, step| step.apply(&layout)));
    let whole = value
        .with_layout(Layout::scalar().with_offset(value.layout().offset()).broadcast_to(&dims)?);
    kernels::copy(whole.view_of(), out.view_mut());
    kernels::copy(x.view_of(), inner.view_mut());
    drop(inner);
    record_output(out, &[x], |out| NodeSpec {
        name: "pad",
        cost: move_cost(out),
        params: ViewSteps::new(x.ndim(), steps.into()),
        saved: save_none(),
        backward: |steps, g, cx| {
            cx.give_with(0, |_| view_through_batched(&g, "pad", steps.clone()))
        },
    })
}

/// Pads with a value per axis and side, `values` of shape `(axes, 2)`; later axes own the corners.
fn pad_per_side(x: &Tensor, widths: &Widths, values: &Tensor) -> Result<Tensor> {
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

/// For each padded axis, the source indices along it.
type SourceIndices = Vec<(usize, Tensor)>;

fn source_indices(x: &Tensor, widths: &Widths, border_mode: BorderMode) -> Result<SourceIndices> {
    let mut all = Vec::new();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let n = x.shape()[axis] as i64;
        if before + after == 0 {
            continue;
        }
        if n == 0 {
            return Err(argument_error(
                format!("axis {axis} has no element to show beyond its border"),
                "use mode=\"constant\"",
            ));
        }
        let mut rows =
            try_vec_with_capacity(before.saturating_add(after).saturating_add(n as usize))?;
        rows.extend((-(before as i64)..n + after as i64).map(|at| border_mode.source_index(at, n)));
        all.push((axis, Tensor::from(rows)));
    }
    Ok(all)
}

/// Pads with elements of `x`, copied slice by slice.
fn pad_gathered(x: &Tensor, widths: &Widths, border_mode: BorderMode) -> Result<Tensor> {
    let source_indices = source_indices(x, widths, border_mode)?;
    let (dims, steps) = padded_frame(x, widths)?;
    let out = Tensor::empty(&dims, x.dtype())?;
    let mut whole = steps.iter().fold(out.layout().clone(), |layout, step| step.apply(&layout));
    kernels::copy(x.view_of(), out.with_layout(whole.clone()).view_mut());
    for (axis, rows) in &source_indices {
        // What is complete so far, with this axis in its full length.
        let wider: Vec<ViewStep> =
            steps.iter().copied().filter(|step| step.axis() > *axis).collect();
        whole = wider.iter().fold(out.layout().clone(), |layout, step| step.apply(&layout));
        let before = widths[*axis].0;
        let inside = before..before + x.shape()[*axis];
        for (at, &row) in
            rows.to_vec::<i64>()?.iter().enumerate().filter(|(at, _)| !inside.contains(at))
        {
            let source_index = out.with_layout(whole.select(*axis, before + row as usize));
            let target = out.with_layout(whole.select(*axis, at));
            kernels::copy(source_index.view_of(), target.view_mut());
        }
    }
    record_output(out, &[x], |out| NodeSpec {
        name: "pad",
        cost: 2.0 * move_cost(out),
        params: (source_indices, ShapeVec::from_slice(x.shape())),
        saved: save_none(),
        backward: |(source_indices, dims), mut g, cx| {
            let front = g.ndim() - dims.len();
            for (axis, rows) in source_indices.iter().rev() {
                g = add_along("pad", &g, front + axis, rows, dims[*axis])?;
            }
            cx.give_with(0, |_| Ok(g))
        },
    })
}

/// `(before, after)` for every axis, from a value that broadcasts to `(axes, 2)`.
fn per_axis(what: &str, given: &Tensor, ndim: usize) -> Result<Tensor> {
    let target = [ndim, 2];
    if broadcast_shapes("pad", &[given.shape(), &target]).is_ok_and(|dims| dims[..] == target) {
        return broadcast_to(given, &target);
    }
    Err(argument_error(
        format!("{what} of shape {} for {ndim} axes", Dims::from(given.shape())),
        "give one number, (before, after), or one such pair per axis",
    ))
}

fn read_widths(given: &Tensor, ndim: usize) -> Result<Widths> {
    let flat = per_axis("pad_width", &as_int64("pad", given)?, ndim)?.to_vec::<i64>()?;
    if let Some(n) = flat.iter().find(|&&n| !(0..=isize::MAX as i64 / 64).contains(&n)) {
        return Err(argument_error(format!("a width of {n}"), "give widths of 0 or more"));
    }
    Ok(flat.chunks_exact(2).map(|w| (w[0] as usize, w[1] as usize)).collect())
}

/// Paddings and crops (from negative widths) per axis, from PyTorch's pairs, which begin with the
/// last axis.
fn read_pairs(x: &Tensor, pad: &[i64]) -> Result<(Widths, Widths)> {
    if !pad.len().is_multiple_of(2) || pad.len() / 2 > x.ndim() {
        return Err(argument_error(
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
            return Err(argument_error(
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

/// Removes elements at the ends of each axis.
fn crop(x: &Tensor, crops: &Widths) -> Result<Tensor> {
    let mut out = x.clone();
    for (axis, &(front, back)) in crops.iter().enumerate() {
        let size = out.shape()[axis];
        let Some(kept) = size.checked_sub(front).and_then(|rest| rest.checked_sub(back)) else {
            return Err(argument_error(
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

/// PyTorch's limit: reflect and circular padding repeat each element at most once.
fn check_repeats(x: &Tensor, widths: &Widths, spare: usize) -> Result<()> {
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let most = x.shape()[axis].saturating_sub(spare);
        if before.max(after) > most {
            return Err(argument_error(
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

/// The modes that pad with a statistic.
const STATISTICS: &[(&str, Statistic)] = &[
    ("maximum", Statistic::Largest),
    ("minimum", Statistic::Smallest),
    ("mean", Statistic::Mean),
    ("median", Statistic::Median),
];

/// Refuses an argument that belongs to another mode.
fn check_mode_argument(name: &str, given: bool, mode: &str, fits: bool) -> Result<()> {
    if !given || fits {
        return Ok(());
    }
    Err(argument_error(format!("{name} with mode {mode:?}"), "use it with the mode that reads it"))
}

/// Pads with given values, zeros by default.
fn pad_with_values(x: &Tensor, widths: &Widths, values: Option<&Tensor>) -> Result<Tensor> {
    let values = match values {
        None => Tensor::zeros(&[], x.dtype())?,
        Some(values) => astype(values, x.dtype())?,
    };
    if values.size() == 1 && !values.requires_grad() {
        return pad_constant(x, widths, &values);
    }
    pad_per_side(x, widths, &per_axis("constant_values", &values, x.ndim())?)
}

crate::operations! { family "padding";
    /// NumPy's pad: `pad_width` is one number, `(before, after)`, or a pair per axis; `mode` is constant (of `constant_values`), edge, reflect, symmetric, wrap, linear_ramp (to `end_values`), maximum, minimum, mean, median (of `stat_length` elements), or empty. Derivative: `g` summed over the places that show an element.
    [numpy("pad")]
    fn pad(x: Tensor, pad_width: Tensor, mode: String = "constant".to_owned(), constant_values: Option<Tensor> = None, end_values: Option<Tensor> = None, stat_length: Option<Tensor> = None, reflect_type: String = "even".to_owned()) -> Tensor {
        let widths = read_widths(pad_width, x.ndim())?;
        let statistic = STATISTICS.iter().find(|(name, _)| *name == mode).map(|(_, kind)| *kind);
        check_mode_argument("constant_values", constant_values.is_some(), &mode, mode == "constant")?;
        check_mode_argument("end_values", end_values.is_some(), &mode, mode == "linear_ramp")?;
        check_mode_argument("stat_length", stat_length.is_some(), &mode, statistic.is_some())?;
        check_mode_argument("reflect_type", reflect_type != "even", &mode, reflect_type == "odd" && (mode == "reflect" || mode == "symmetric"))?;
        if let Some(kind) = statistic {
            let lengths = stat_length.map(|given| per_axis("stat_length", &as_int64("pad", given)?, x.ndim())?.to_vec::<i64>()).transpose()?;
            return pad_statistic(x, &widths, kind, lengths.as_deref());
        }
        let border_mode = match mode.as_str() {
            "constant" | "empty" => return pad_with_values(x, &widths, constant_values),
            "linear_ramp" => {
                let zero = Tensor::zeros(&[], x.dtype())?;
                return pad_ramp(x, &widths, &per_axis("end_values", end_values.unwrap_or(&zero), x.ndim())?);
            }
            "reflect" | "symmetric" if reflect_type == "odd" => return pad_odd_reflect(x, &widths, mode == "symmetric"),
            "edge" => BorderMode::Edge,
            "reflect" => BorderMode::Reflect,
            "symmetric" => BorderMode::Symmetric,
            "wrap" => BorderMode::Wrap,
            other => return Err(argument_error(format!("mode {other:?}"), "use constant, edge, reflect, symmetric, wrap, linear_ramp, maximum, minimum, mean, median or empty")),
        };
        pad_gathered(x, &widths, border_mode)
    }
    /// PyTorch's pad: widths in pairs, the last axis first, of which negative ones crop; `mode` is constant, reflect, replicate or circular.
    [namespace("nn.functional")]
    fn pad_(x: Tensor, pad: Ints, mode: String = "constant".to_owned(), value: Option<f64> = None) -> Tensor {
        let (widths, crops) = read_pairs(x, &pad)?;
        if mode != "constant" && value.is_some_and(|v| v != 0.0) {
            return Err(argument_error(format!("a value with mode {mode:?}"), "use it with mode=\"constant\""));
        }
        // Reflect and replicate pad before cropping; circular pads the cropped axis.
        match mode.as_str() {
            "constant" => pad_constant(&crop(x, &crops)?, &widths, &Tensor::full(&[], Scalar::Float(value.unwrap_or(0.0)), x.dtype())?),
            "replicate" => crop(&pad_gathered(x, &widths, BorderMode::Edge)?, &crops),
            "reflect" => {
                check_repeats(x, &widths, 1)?;
                crop(&pad_gathered(x, &widths, BorderMode::Reflect)?, &crops)
            }
            "circular" => {
                let x = crop(x, &crops)?;
                check_repeats(&x, &widths, 0).and_then(|()| pad_gathered(&x, &widths, BorderMode::Wrap))
            }
            other => Err(argument_error(format!("mode {other:?}"), "use constant, reflect, replicate or circular")),
        }
    }
}
