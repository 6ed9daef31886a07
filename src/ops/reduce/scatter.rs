//! Writing values to the places of an index, and folding them into what is there.
//!
//! Owns: scatter (PyTorch). Never changes an argument. Invariant: the last of repeated targets wins where nothing is folded.

use crate::error::Error;
use crate::kernels::index::WriteMode;
use crate::ops::core::op_decl::Operand;
use crate::ops::index::gather::scatter_along;
use crate::ops::reduce::scatter_reduce::multiplied;
use crate::tensor::Tensor;

crate::operations! { family "along an axis";
    /// PyTorch's scatter: a copy with `out[index[i, j, …], j, …] = src[i, j, …]` for axis 0; the last of a repeated index stays. `reduce="add"` or `"multiply"` folds into what is there instead. Derivatives: of `x`, `g` elsewhere; of `src`, `g` where it stayed; those of the fold with `reduce`.
    [in_place, positional(4), keywords(("value", "src")), indices("index")]
    fn scatter(x: Tensor, axis: isize, index: Tensor, src: Operand, reduce: Option<String> = None) -> Tensor {
        match reduce.as_deref() {
            None => scatter_along("scatter", x, axis, index, src, WriteMode::Put),
            Some("add") => scatter_along("scatter", x, axis, index, src, WriteMode::Add),
            Some("multiply") => multiplied("scatter", x, axis, index, src),
            Some(other) => Err(Box::new(Error::Argument {
                op: "scatter".into(),
                what: format!("reduce={other:?}"),
                remedy: "use \"add\" or \"multiply\", or scatter_reduce for other folds".into(),
            })),
        }
    }
}
