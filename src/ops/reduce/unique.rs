//! `unique`, of elements or slices. The first of equal ones represents them; as in NumPy, NaN equals NaN among elements but not
//! among slices.

use std::cmp::Ordering;

use crate::array::{ShapeVec, afford, normalize_axis};
use crate::dtype::{DType, Element, with_dtype};
use crate::error::Result;
use crate::graph;
use crate::kernels::sort::{TotalOrder, argsort_by, unique_sorted};
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::{permute_axes, reshape_dims};
use crate::ops::index::gather::gather_elements;
use crate::ops::reduce::sort::{order_along, sort};
use crate::tensor::Tensor;

/// The distinct items and the map of all items to them.
#[derive(Default)]
struct Distinct {
    /// The index of the first occurrence of each distinct item, in ascending order of the items.
    first: Vec<i64>,
    /// For every item, the number of its distinct item.
    inverse: Vec<i64>,
    counts: Vec<i64>,
}

impl Distinct {
    /// From the sorted indices; `same` tells whether an item equals the previous one.
    fn of(order: &[usize], same: &dyn Fn(usize, usize) -> bool) -> Distinct {
        let mut found = Distinct { inverse: vec![0; order.len()], ..Distinct::default() };
        let mut last = None;
        for &at in order {
            if !last.is_some_and(|last| same(last, at)) {
                found.first.push(at as i64);
                found.counts.push(0);
            }
            if let Some(count) = found.counts.last_mut() {
                *count += 1;
            }
            found.inverse[at] = found.first.len() as i64 - 1;
            last = Some(at);
        }
        found
    }
}

/// The distinct elements of a vector.
fn elements(flat: &Tensor) -> Result<Distinct> {
    let order = order_along(flat, 0, flat.size(), false)?.to_vec::<i64>()?;
    let order: Vec<usize> = order.into_iter().map(|i| i as usize).collect();
    with_dtype!(flat.dtype(), T => {
        let values = flat.to_vec::<T>()?;
        Ok(Distinct::of(&order, &|a, b| values[a].same(values[b])))
    })
}

/// The distinct rows of a matrix.
fn rows(x: &Tensor) -> Result<Distinct> {
    let (count, width) = (x.shape()[0], x.shape()[1]);
    with_dtype!(x.dtype(), T => {
        let values = x.to_vec::<T>()?;
        let row = |i: usize| &values[i * width..(i + 1) * width];
        let order = argsort_by(count, &|a, b| {
            let pairs = row(a).iter().zip(row(b));
            pairs.map(|(a, b)| a.order(*b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        });
        Ok(Distinct::of(&order, &|a, b| row(a) == row(b)))
    })
}

crate::operations! { family "ordering";
    /// The distinct elements in ascending order, or along an axis the distinct slices; and, as asked, the index of the first of each, for every one the index of its value, and the counts. Derivative: `g` at the first of each.
    [numpy("unique"), ignores(("sorted", None), ("equal_nan", Some(true)))]
    fn unique(x: Tensor, return_index: bool = false, return_inverse: bool = false, return_counts: bool = false, axis: Option<isize> = None) -> OneOrTuple {
        afford(x.size().saturating_mul(40))?;
        let only_values = !(return_index || return_inverse || return_counts);
        if axis.is_none() && only_values && !(graph::recording() && x.requires_grad()) {
            return distinct_values(x).map(OneOrTuple::One);
        }
        let (values, found, all) = match axis {
            None => {
                let flat = reshape_dims(x, &[x.size()])?;
                let found = elements(&flat.detach())?;
                (gather_elements("unique", &flat, 0, &Tensor::from(found.first.clone()))?, found, ShapeVec::from_slice(x.shape()))
            }
            Some(axis) => slices(x, normalize_axis("unique", axis, x.ndim())?)?,
        };
        let mut results = vec![values];
        if return_index {
            results.push(Tensor::from(found.first));
        }
        if return_inverse {
            results.push(Tensor::from_vec(found.inverse, &all)?);
        }
        if return_counts {
            results.push(Tensor::from(found.counts));
        }
        let extra = results.split_off(1);
        results.extend(extra.into_iter().map(|p| p.underived([x].into_iter())));
        Ok(if results.len() == 1 { OneOrTuple::One(results.swap_remove(0)) } else { OneOrTuple::Tuple(results) })
    }
}

/// Removes duplicates of sorted values without data-dependent branches.
fn keep_first<T: TotalOrder>(values: &mut Vec<T>) {
    let Some(&(mut last)) = values.first() else {
        return;
    };
    let mut kept = 1;
    for i in 1..values.len() {
        let value = values[i];
        values[kept] = value;
        kept += usize::from(!value.same(last));
        last = value;
    }
    values.truncate(kept);
}

/// The distinct elements without indices.
fn distinct_values(x: &Tensor) -> Result<Tensor> {
    let sorted = sort(&x.detach(), None, false)?;
    let values = match x.dtype() {
        DType::F64 => distinct_floats::<f64>(x, &sorted)?,
        DType::F32 => distinct_floats::<f32>(x, &sorted)?,
        dtype => with_dtype!(dtype, T => {
            let mut values = sorted.to_vec::<T>()?;
            keep_first(&mut values);
            first_nan(x, values)?
        }),
    };
    Ok(values.unrecorded(std::iter::once(x)))
}

/// The distinct floats among sorted ones: `sorted` itself if there are no duplicates.
fn distinct_floats<T: TotalOrder + Element>(x: &Tensor, sorted: &Tensor) -> Result<Tensor> {
    let guard = sorted.view::<T>()?;
    match guard.array().as_slice().and_then(unique_sorted) {
        Some(values) => first_nan(x, values),
        None => Ok(sorted.clone()),
    }
}

/// Of several NaN keeps the first occurrence, which need not be the first when sorted.
fn first_nan<T: TotalOrder + Element>(x: &Tensor, mut values: Vec<T>) -> Result<Tensor> {
    if let Some(last) = values.last_mut()
        && last.is_nan_value()
    {
        *last = x.to_vec::<T>()?.into_iter().find(|v| v.is_nan_value()).unwrap_or(*last);
    }
    Ok(Tensor::from(values))
}

/// The distinct slices along an axis, their indices, and the shape of the inverse.
fn slices(x: &Tensor, axis: usize) -> Result<(Tensor, Distinct, ShapeVec)> {
    let mut order: ShapeVec = (0..x.ndim()).filter(|&a| a != axis).collect();
    order.insert(0, axis);
    let front = permute_axes(x, &order)?;
    let count = front.shape()[0];
    let width: usize = front.shape()[1..].iter().product();
    // Slices without elements cost no memory in the operand, but do here.
    afford(count.saturating_mul(40))?;
    let found = rows(&reshape_dims(&front.detach(), &[count, width])?)?;
    let values = x.index_select(axis as isize, &Tensor::from(found.first.clone()))?;
    Ok((values, found, ShapeVec::from_slice(&[count])))
}
