//! Conversion between dtypes, recorded between floats.
//!
//! Owns: `astype`. Never changes values beyond rounding.
//! Invariant: the gradient of a cast is the gradient cast back.

use crate::dtype::DType;
use crate::kernels;
use crate::ops::structured::{Record, SavedList, finish_batched, move_cost};
use crate::tensor::Tensor;

crate::operations! { family "casting";
    /// The same values in another dtype; floats to integers truncate. Derivative: `g` in the input's dtype.
    [numpy("astype")]
    fn astype(x: Tensor, dtype: DType) -> Tensor {
        if x.dtype() == dtype {
            return Ok(x.clone());
        }
        let out = Tensor::empty(x.shape(), dtype)?;
        kernels::cast(x.dtype(), dtype, x.view_of(), out.view_mut());
        Ok(finish_batched(out, &[x], |out| Record {
            name: "astype",
            cost: move_cost(out),
            params: x.dtype(),
            saved: SavedList::new(),
            backward: |dtype, cx| {
                let Some(g) = cx.take_grad(0) else { return Ok(()) };
                cx.give(0, astype(&g, *dtype)?);
                Ok(())
            },
        }))
    }
}
