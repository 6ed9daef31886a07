//! `astype`: what may be cast, when it copies, and the memory order of the copy.
//!
//! Invariant: the gradient of a cast is the gradient cast back.

use crate::array::{Layout, ShapeVec, sort_axes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::broadcast;
use crate::tensor::Tensor;

/// Refuses a cast that NumPy's casting rule of this name does not allow.
fn admit_casting(from: DType, to: DType, rule: &str) -> Result<()> {
    let allowed = match rule {
        "no" | "equiv" => from == to,
        "safe" => from.promote(to) == to,
        "same_kind" => to.takes(from),
        "unsafe" => true,
        _ => {
            return Err(Box::new(Error::Argument {
                op: "astype".into(),
                what: format!("there is no casting rule {rule:?}"),
                remedy: "give \"no\", \"equiv\", \"safe\", \"same_kind\" or \"unsafe\"".into(),
            }));
        }
    };
    if allowed {
        return Ok(());
    }
    Err(Box::new(Error::Unsupported {
        op: "astype".into(),
        what: format!("{from} does not become {to} under casting={rule:?}"),
        remedy: "leave casting out to convert all the same",
    }))
}

/// The axes of a copy in descending stride, for NumPy's memory order of this name.
fn memory_order(layout: &Layout, order: &str) -> Result<ShapeVec> {
    let rows: ShapeVec = (0..layout.ndim()).collect();
    let columns: ShapeVec = rows.iter().rev().copied().collect();
    Ok(match order {
        "C" => rows,
        "F" => columns,
        "A" if !layout.is_contiguous() && layout.permute(&columns).is_contiguous() => columns,
        "A" => rows,
        "K" => {
            let mut kept = rows;
            let step = |axis: usize| layout.strides()[axis].unsigned_abs();
            sort_axes(&mut kept, |a, b| step(a) > step(b));
            kept
        }
        _ => {
            return Err(Box::new(Error::Argument {
                op: "astype".into(),
                what: format!("there is no memory order {order:?}"),
                remedy: "give \"C\", \"F\", \"A\" or \"K\"".into(),
            }));
        }
    })
}

/// An uninitialised tensor whose axes have descending strides in this order.
fn empty_in_order(dims: &[usize], axes: &[usize], dtype: DType) -> Result<Tensor> {
    let in_memory: ShapeVec = axes.iter().map(|&axis| dims[axis]).collect();
    let out = Tensor::empty(&in_memory, dtype)?;
    let mut back = ShapeVec::from_slice(axes);
    for (position, &axis) in axes.iter().enumerate() {
        back[axis] = position;
    }
    let layout = out.layout().permute(&back);
    Ok(out.into_layout(layout))
}

impl Tensor {
    /// The same values in another dtype; a tensor of that dtype is returned as it is.
    ///
    /// # Errors
    /// `Memory` when the result cannot be allocated; a warning about lost values that the host turns into an exception.
    pub fn astype(&self, dtype: DType) -> Result<Tensor> {
        broadcast::cast_with_warnings(self, dtype)
    }
}

/// Casts `x` into the new tensor `out`; a 0-d result is a value or memory as `x` is.
fn copied(x: &Tensor, out: Tensor) -> Result<Tensor> {
    broadcast::cast_into_with_warnings(x, out).map(|copy| copy.with_kind_of(x))
}

crate::operations! { family "casting";
    /// A copy in another dtype; floats to integers truncate, and wrap as NumPy does; an imaginary part is lost with a `ComplexWarning`. With `copy=False` the tensor itself, where dtype and `order` need no copy. `order` is that of the elements in memory, `casting` what may be converted, both as in NumPy. Derivative: `g` in the input's dtype.
    [numpy("astype")]
    fn astype_(x: Tensor, dtype: DType, order: String = "K".to_owned(), casting: String = "unsafe".to_owned(), subok: bool = true, copy: bool = true) -> Tensor {
        let _ = subok;
        admit_casting(x.dtype(), dtype, &casting)?;
        let (same, plain) = (!copy && x.dtype() == dtype, matches!(&*order, "C" | "K"));
        if plain && x.is_contiguous() {
            return if same { Ok(x.clone()) } else { copied(x, Tensor::empty_as(x.layout(), dtype)?) };
        }
        let axes = memory_order(x.layout(), &order)?;
        let lies_so = order == "K" || x.layout().permute(&axes).is_contiguous();
        if same && lies_so {
            return Ok(x.clone());
        }
        copied(x, empty_in_order(x.shape(), &axes, dtype)?)
    }
}
