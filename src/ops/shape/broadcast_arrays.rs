//! `broadcast_arrays`, `atleast_1d` to `atleast_3d`, and `meshgrid`.

use crate::array::{ShapeVec, broadcast_shapes};
use crate::error::{Error, Result};
use crate::ops::core::arguments::{OneOrTuple, Variadic};
use crate::ops::core::broadcast::{broadcast_to, reshape_dims, value_to_array};
use crate::tensor::Tensor;

/// Unchanged, or with one axis.
pub(crate) fn at_least_1d(x: &Tensor) -> Result<Tensor> {
    if x.ndim() == 0 { reshape_dims(x, &[1]) } else { Ok(x.clone()) }
}

/// Unchanged, or as one row.
pub(crate) fn at_least_2d(x: &Tensor) -> Result<Tensor> {
    if x.ndim() < 2 { reshape_dims(x, &[1, x.size()]) } else { Ok(x.clone()) }
}

/// Unchanged, or with axes of size 1 added.
pub(crate) fn at_least_3d(x: &Tensor) -> Result<Tensor> {
    match *x.shape() {
        [] => reshape_dims(x, &[1, 1, 1]),
        [n] => reshape_dims(x, &[1, n, 1]),
        [m, n] => reshape_dims(x, &[m, n, 1]),
        _ => Ok(x.clone()),
    }
}

fn map_each(tensors: &[Tensor], to: fn(&Tensor) -> Result<Tensor>) -> Result<OneOrTuple> {
    let own = |x: &Tensor| {
        // As NumPy makes an array of a scalar.
        if x.is_value() { value_to_array(x, to(&x.detach())?.shape()) } else { to(x) }
    };
    if let [one] = tensors {
        return Ok(OneOrTuple::One(own(one)?));
    }
    Ok(OneOrTuple::Tuple(tensors.iter().map(own).collect::<Result<_>>()?))
}

crate::operations! { family "arrangement";
    /// The tensors under their common shape, without copying.
    [numpy("broadcast_arrays"), aliases("broadcast_tensors")]
    fn broadcast_arrays(tensors: Variadic) -> OneOrTuple {
        let shapes: Vec<&[usize]> = tensors.iter().map(Tensor::shape).collect();
        let dims = broadcast_shapes("broadcast_arrays", &shapes)?;
        let spread = tensors.iter().map(|x| broadcast_to(x, &dims)).collect::<Result<_>>()?;
        Ok(OneOrTuple::Tuple(spread))
    }
    /// Each tensor with at least one dimension; a tuple for several.
    [numpy("atleast_1d")]
    fn atleast_1d(tensors: Variadic) -> OneOrTuple {
        map_each(tensors, at_least_1d)
    }
    /// Each tensor with at least two dimensions, `(n,)` becoming `(1, n)`; a tuple for several.
    [numpy("atleast_2d")]
    fn atleast_2d(tensors: Variadic) -> OneOrTuple {
        map_each(tensors, at_least_2d)
    }
    /// Each tensor with at least three dimensions, `(n,)` becoming `(1, n, 1)` and `(m, n)` `(m, n, 1)`; a tuple for several.
    [numpy("atleast_3d")]
    fn atleast_3d(tensors: Variadic) -> OneOrTuple {
        map_each(tensors, at_least_3d)
    }
    /// The coordinates of a grid from those of its axes: `indexing` is `"xy"` (the first two axes exchanged) or `"ij"`.
    [numpy("meshgrid"), core_function("_meshgrid")]
    fn meshgrid(tensors: Variadic, indexing: String = "xy".to_owned(), sparse: bool = false, copy: bool = true) -> OneOrTuple {
        let exchanged = match indexing.as_str() {
            "xy" => tensors.len() > 1,
            "ij" => false,
            other => {
                return Err(Box::new(Error::Argument {
                    op: "meshgrid".into(),
                    what: format!("indexing {other:?}"),
                    remedy: "give \"xy\" or \"ij\"".into(),
                }));
            }
        };
        let n = tensors.len();
        let axis_of = |i: usize| if exchanged && i < 2 { 1 - i } else { i };
        let mut dims: ShapeVec = (0..n).map(|_| 1).collect();
        (0..n).for_each(|i| dims[axis_of(i)] = tensors[i].size());
        let axis = |i: usize| -> Result<Tensor> {
            let mut own: ShapeVec = (0..n).map(|_| 1).collect();
            own[axis_of(i)] = tensors[i].size();
            let line = reshape_dims(&tensors[i], &own)?;
            let full = if sparse { line } else { broadcast_to(&line, &dims)? };
            if copy { full.copied("meshgrid") } else { Ok(full) }
        };
        Ok(OneOrTuple::Tuple((0..n).map(axis).collect::<Result<_>>()?))
    }
}
