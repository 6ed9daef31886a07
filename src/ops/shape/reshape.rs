//! Shape views: reshape, view, flatten, transpositions, new and dropped axes, broadcasting and its adjoint. A copy is made
//! only where strides do not allow a view.

use smallvec::SmallVec;

use crate::array::{ShapeVec, checked_numel, is_axis_of_scalar, normalize_axes, normalize_axis};
use crate::error::{Dims, Error, Result};
use crate::ops::core::arguments::ShapeOrDType;
use crate::ops::core::broadcast::{
    broadcast_to, permute_axes, reshape_dims, sum_to, swap_axes, value_to_array,
};
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::core::view::view_identity;
use crate::ops::shape::view_dtype::view_as_dtype;
use crate::tensor::Tensor;

/// Resolves a target shape with at most one `-1`.
fn resolve_shape(from: &[usize], to: &[i64]) -> Result<ShapeVec> {
    let mismatch = || {
        let text: Vec<String> = to.iter().map(|d| d.to_string()).collect();
        let comma = if to.len() == 1 { "," } else { "" };
        Box::new(Error::Reshape {
            from: Dims::from(from),
            to: format!("({}{comma})", text.join(", ")),
        })
    };
    let numel: usize = from.iter().product();
    let unknown = to.iter().filter(|&&d| d == -1).count();
    if unknown > 1 || to.iter().any(|&d| d < -1) {
        return Err(mismatch());
    }
    let known: ShapeVec = to.iter().filter(|&&d| d != -1).map(|&d| d as usize).collect();
    let product = checked_numel("reshape", &known)?;
    let fill = match unknown {
        0 => 1,
        _ if product == 0 || !numel.is_multiple_of(product) => return Err(mismatch()),
        _ => numel / product,
    };
    if product * fill != numel {
        return Err(mismatch());
    }
    Ok(to.iter().map(|&d| if d == -1 { fill } else { d as usize }).collect())
}

/// Reshape for a caller that needs a new tensor even if nothing changes. A scalar value becomes an array of its own, as in
/// NumPy.
fn reshape_copying_values(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    if x.shape() == dims {
        return view_identity(x);
    }
    if x.is_value() { value_to_array(x, dims) } else { reshape_dims(x, dims) }
}

fn usize_dims(op: &'static str, ints: &[i64]) -> Result<ShapeVec> {
    ints.iter().map(|&d| usize::try_from(d).map_err(|_| negative_dimension(op, d))).collect()
}

#[cold]
fn negative_dimension(op: &'static str, d: i64) -> Box<Error> {
    Box::new(Error::Shape {
        op: op.into(),
        what: format!("a dimension of {d}"),
        remedy: "give dimensions of 0 or more",
    })
}

fn expand_target(x: &Tensor, shape: &[i64]) -> Result<ShapeVec> {
    let lead = shape.len().saturating_sub(x.ndim());
    let keep = |i: usize| i.checked_sub(lead).and_then(|k| x.shape().get(k)).map(|&d| d as i64);
    let resolved: Ints = shape
        .iter()
        .enumerate()
        .map(|(i, &d)| if d == -1 { keep(i).unwrap_or(-1) } else { d })
        .collect();
    usize_dims("expand", &resolved)
}

fn squeeze_axes(x: &Tensor, axis: &Axes) -> Result<ShapeVec> {
    let Some(named) = axis.named() else {
        return Ok((0..x.ndim()).filter(|&a| x.shape()[a] == 1).collect());
    };
    // A 0-d tensor counts as a vector of one element.
    if x.ndim() == 0 && matches!(named, [0 | -1]) {
        return Ok(ShapeVec::new());
    }
    let axes = normalize_axes("squeeze", named, x.ndim())?;
    match axes.iter().find(|&&a| x.shape()[a] != 1) {
        None => Ok(axes),
        Some(&a) => Err(Box::new(Error::Shape {
            op: "squeeze".into(),
            what: format!("axis {a} has size {}, not 1", x.shape()[a]),
            remedy: "squeeze only axes of size 1",
        })),
    }
}

fn reversed_axes(x: &Tensor) -> ShapeVec {
    (0..x.ndim()).rev().collect()
}

/// Whether elements are read in Fortran order (first axis fastest). `"A"`: Fortran order if they lie so in memory.
fn is_fortran_order(op: &'static str, x: &Tensor, order: &str) -> Result<bool> {
    match order {
        "C" => Ok(false),
        "F" => Ok(true),
        "A" => Ok(!x.is_contiguous() && x.layout().permute(&reversed_axes(x)).is_contiguous()),
        _ => Err(Box::new(Error::Argument {
            op: op.into(),
            what: format!("order={order:?}"),
            remedy: "give \"C\", \"F\" or \"A\"".into(),
        })),
    }
}

/// The axes sorted by descending stride: C order is then memory order.
fn in_memory_order(x: &Tensor) -> Result<Tensor> {
    let mut order: ShapeVec = (0..x.ndim()).collect();
    let strides = x.layout().strides();
    order.sort_by_key(|&axis| std::cmp::Reverse(strides[axis].unsigned_abs()));
    permute_axes(x, &order)
}

crate::operations! { family "shape";
    /// The same elements under another shape; one dimension may be -1. A view where the strides allow it, or with `copy=True` a copy. With `order="F"`, the first axis of both shapes runs fastest.
    [numpy("reshape"), positional(2), keywords(("size", "shape"))]
    fn reshape(x: Tensor, shape: Ints, order: String = "C".to_owned(), copy: Option<bool> = None) -> Tensor {
        let dims = resolve_shape(x.shape(), &shape)?;
        if copy == Some(true) {
            return reshape(&x.copied("clone")?.into_memory(), shape, order, None);
        }
        let columns = is_fortran_order("reshape", x, &order)?;
        if copy == Some(false) {
            let (from, to): (_, ShapeVec) = if columns {
                (x.layout().permute(&reversed_axes(x)), dims.iter().rev().copied().collect())
            } else {
                (x.layout().clone(), dims.clone())
            };
            if from.reshape(&to).is_none() {
                return Err(Box::new(Error::Argument {
                    op: "reshape".into(),
                    what: "copy=False, and elements that are not in this order in memory".into(),
                    remedy: "leave copy out".into(),
                }));
            }
        }
        if !columns {
            return reshape_copying_values(x, &dims);
        }
        let backwards: ShapeVec = dims.iter().rev().copied().collect();
        let out = reshape_dims(&permute_axes(x, &reversed_axes(x))?, &backwards)?;
        permute_axes(&out, &reversed_axes(&out))
    }
    /// The same elements under another shape, or the same bytes as another dtype; never copied, and refused where the strides do not allow it. As in NumPy, elements of another size change the last axis. Derivative of a shape, and between complex numbers and their parts: the inverse view of `g`; any other dtype gives a constant.
    [keywords(("size", "shape"), ("dtype", "shape"))]
    fn view_(x: Tensor, shape: Option<ShapeOrDType> = None) -> Tensor {
        let dims = match shape {
            None => return view_identity(x),
            Some(ShapeOrDType::DType(dtype)) => return view_as_dtype(x, dtype),
            Some(ShapeOrDType::Shape(shape)) => resolve_shape(x.shape(), &shape)?,
        };
        if x.layout().reshape(&dims).is_some() {
            return reshape_copying_values(x, &dims);
        }
        Err(Box::new(Error::Shape {
            op: "view".into(),
            what: format!("a tensor of shape {} whose elements are not in order in memory has no view of shape {}", Dims::from(x.shape()), Dims::from(&dims[..])),
            remedy: "use reshape, which copies where it must",
        }))
    }
    /// A copy with one axis, all elements in C order (`order="F"`: the first axis runs fastest, `"K"`: as they lie in memory); with `start_dim` or `end_dim`, those axes merged into one, a view where the strides allow it.
    fn flatten(x: Tensor, start_dim: Option<isize> = None, end_dim: Option<isize> = None, order: String = "C".to_owned()) -> Tensor {
        if order == "K" {
            return flatten(&in_memory_order(x)?, start_dim, end_dim, "C".to_owned());
        }
        if is_fortran_order("flatten", x, &order)? {
            return flatten(&permute_axes(x, &reversed_axes(x))?, start_dim, end_dim, "C".to_owned());
        }
        if start_dim.is_none() && end_dim.is_none() {
            return reshape_dims(&x.copied("flatten")?, &[x.size()]);
        }
        if x.ndim() == 0 {
            normalize_axis("flatten", start_dim.unwrap_or(0), 1)?;
            normalize_axis("flatten", end_dim.unwrap_or(-1), 1)?;
            return reshape_copying_values(x, &[1]);
        }
        let start = normalize_axis("flatten", start_dim.unwrap_or(0), x.ndim())?;
        let end = normalize_axis("flatten", end_dim.unwrap_or(-1), x.ndim())?;
        if end < start {
            return Err(Box::new(Error::Argument {
                op: "flatten".into(),
                what: format!("start_dim {start} comes after end_dim {end}"),
                remedy: "give start_dim <= end_dim".into(),
            }));
        }
        let dims = x.shape();
        let mut merged = ShapeVec::from_slice(&dims[..start]);
        merged.push(dims[start..=end].iter().product());
        merged.extend_from_slice(&dims[end + 1..]);
        reshape_dims(x, &merged)
    }
    /// One axis with all elements in C order (`order="F"`: the first axis runs fastest, `"K"`: as they lie in memory); a view where they lie in memory in this order, else a copy.
    [numpy("ravel")]
    fn ravel(x: Tensor, order: String = "C".to_owned()) -> Tensor {
        if order == "K" {
            return ravel(&in_memory_order(x)?, "C".to_owned());
        }
        if is_fortran_order("ravel", x, &order)? {
            return ravel(&permute_axes(x, &reversed_axes(x))?, "C".to_owned());
        }
        let dims = [x.size()];
        // Strides may allow a view even here, but NumPy makes a copy.
        if !x.is_contiguous() && x.layout().reshape(&dims).is_some() {
            return reshape_dims(&x.copied("ravel")?, &dims);
        }
        reshape_copying_values(x, &dims)
    }
    /// The axes in another order, reversed by default; a view. Two axes given as `transpose(i, j)` are swapped.
    [numpy("transpose")]
    fn transpose(x: Tensor, axes: Option<Ints> = None) -> Tensor {
        let Some(axes) = axes else { return permute_axes(x, &reversed_axes(x)) };
        if axes.len() != 2 {
            return permute(x, axes);
        }
        if axes.iter().all(|&axis| is_axis_of_scalar(axis as isize, x.ndim())) {
            return permute_axes(x, &[]);
        }
        let a = normalize_axis("transpose", axes[0] as isize, x.ndim())?;
        let b = normalize_axis("transpose", axes[1] as isize, x.ndim())?;
        if x.ndim() != 2 || (a, b) != (0, 1) {
            return swap_axes(x, a, b);
        }
        Err(Box::new(Error::Argument {
            op: "transpose".into(),
            what: format!(
                "axes ({}, {}) of a matrix are the identity in NumPy and a swap in PyTorch",
                axes[0], axes[1]
            ),
            remedy: "write swapaxes(0, 1) or permute(0, 1)".into(),
        }))
    }
    /// The axes in the order given; a view.
    [numpy("permute_dims"), aliases("permute_dims")]
    fn permute(x: Tensor, axes: Ints) -> Tensor {
        let named: SmallVec<[isize; 4]> = axes.iter().map(|&a| a as isize).collect();
        let axes = normalize_axes("permute", &named, x.ndim())?;
        if axes.len() != x.ndim() {
            return Err(Box::new(Error::Shape {
                op: "permute".into(),
                what: format!("{} axes given for {} dimensions", axes.len(), x.ndim()),
                remedy: "name every axis once",
            }));
        }
        permute_axes(x, &axes)
    }
    /// Two axes exchanged; a view.
    [numpy("swapaxes"), aliases("swapdims"), in_place("transpose_")]
    fn swapaxes(x: Tensor, axis1: isize, axis2: isize) -> Tensor {
        if is_axis_of_scalar(axis1, x.ndim()) && is_axis_of_scalar(axis2, x.ndim()) {
            return permute_axes(x, &[]);
        }
        let a = normalize_axis("swapaxes", axis1, x.ndim())?;
        swap_axes(x, a, normalize_axis("swapaxes", axis2, x.ndim())?)
    }
    /// Axes moved to other positions, the rest in order; a view.
    [numpy("moveaxis"), aliases("movedim")]
    fn moveaxis(x: Tensor, source: Ints, destination: Ints) -> Tensor {
        let named = |ints: &Ints| -> SmallVec<[isize; 4]> { ints.iter().map(|&a| a as isize).collect() };
        let of_number = |ints: &Ints| ints.len() == 1 && is_axis_of_scalar(ints[0] as isize, x.ndim());
        if of_number(&source) && of_number(&destination) {
            return permute_axes(x, &[]);
        }
        let from = normalize_axes("moveaxis", &named(&source), x.ndim())?;
        let to = normalize_axes("moveaxis", &named(&destination), x.ndim())?;
        if from.len() != to.len() {
            return Err(Box::new(Error::Argument {
                op: "moveaxis".into(),
                what: format!("{} axes and {} destinations", from.len(), to.len()),
                remedy: "give as many destinations as axes".into(),
            }));
        }
        let mut others = (0..x.ndim()).filter(|a| !from.contains(a));
        let at = |i: usize| to.iter().position(|&t| t == i).map(|k| from[k]);
        let order: ShapeVec = (0..x.ndim()).filter_map(|i| at(i).or_else(|| others.next())).collect();
        permute_axes(x, &order)
    }
    /// Axes of size 1 dropped, all or those named; a view.
    [numpy("squeeze")]
    fn squeeze(x: Tensor, axis: Axes = Axes::All) -> Tensor {
        let axes = squeeze_axes(x, &axis)?;
        let dims: ShapeVec = (0..x.ndim()).filter(|a| !axes.contains(a)).map(|a| x.shape()[a]).collect();
        reshape_copying_values(x, &dims)
    }
    /// A new axis of size 1 at a position of the result; a view.
    [numpy("expand_dims"), aliases("unsqueeze")]
    fn expand_dims(x: Tensor, axis: Ints) -> Tensor {
        let named: SmallVec<[isize; 4]> = axis.iter().map(|&a| a as isize).collect();
        let ndim = x.ndim() + named.len();
        let axes = normalize_axes("expand_dims", &named, ndim)?;
        let mut old = x.shape().iter();
        let dims: ShapeVec =
            (0..ndim).map(|a| if axes.contains(&a) { 1 } else { old.next().copied().unwrap_or(1) }).collect();
        reshape_copying_values(x, &dims)
    }
    /// Repeats along new and size-1 axes without copying; -1 keeps a dimension. A read-only view in spirit: in-place writes are refused.
    [numpy("broadcast_to"), aliases("broadcast_to"), keywords(("size", "shape"))]
    fn expand(x: Tensor, shape: Ints) -> Tensor {
        let dims = expand_target(x, &shape)?;
        let single = dims.iter().all(|&dim| dim == 1);
        if single || x.shape() == &dims[..] { reshape_copying_values(x, &dims) } else { broadcast_to(x, &dims) }
    }
    /// Summed to a shape that broadcasts to this one; the adjoint of `broadcast_to`.
    [keywords(("size", "shape"))]
    fn sum_to_size(x: Tensor, shape: Ints) -> Tensor {
        sum_to(x, &usize_dims("sum_to_size", &shape)?)
    }
}
