"""Attributes of other libraries' tensors that raise with a hint.

The core adds each one to the class at its first use; `package.rs` lists them. Invariant: a name
with a hint is not an attribute: `hasattr` of a tensor is False.
"""

from __future__ import annotations

from typing import Any, NoReturn


def _missing(name: str, hint: str, library: str = "PyTorch") -> property:
    """A name that another library's tensors have and these have not."""

    def refuse(tensor: Any) -> NoReturn:
        raise AttributeError(
            f"'{type(tensor).__name__}' object has no attribute {name!r}; {library} has it, here"
            f" {hint}"
        )

    return property(refuse, doc=f"No attribute: {hint}.")


def _same_shape(name: str) -> property:
    return _missing(
        name, f"a tensor keeps its shape; use the name without the underscore, x = x.{name[:-1]}(…)"
    )


def _answer(value: bool) -> property:
    return property(lambda tensor: value, doc=f"{value}: a tensor is dense and in main memory.")


_PAIRS = "max, min, sort and median give values as NumPy does; use argmax, argmin, argsort or topk"

values = _missing("values", _PAIRS)
indices = _missing("indices", _PAIRS)
squeeze_ = _same_shape("squeeze_")
unsqueeze_ = _same_shape("unsqueeze_")
t_ = _same_shape("t_")
resize_ = _same_shape("resize_")
cuda = _missing("cuda", "tensors live in main memory; leave it out")
bfloat16 = _missing("bfloat16", "there is no bfloat16; use float()")
qr = _missing("qr", "use fg.linalg.qr(x)")
svd = _missing("svd", "use fg.linalg.svd(x)")
lu = _missing("lu", "use fg.linalg.lu(x), or fg.linalg.lu_factor(x)")
hardshrink = _missing("hardshrink", "use nn.functional.hardshrink(x)")
put_ = _missing("put_", "use np.put(x, index, values), or x[index] = values")
apply_ = _missing("apply_", "use functions of whole tensors, or x[...] = values")
map_ = _missing("map_", "use functions of whole tensors, or x[...] = values")
resize_as_ = _missing("resize_as_", "a tensor keeps its shape; use x = x.reshape(other.shape)")
storage_offset = _missing("storage_offset", "use np.shares_memory, or x.is_contiguous()")
layout = _missing("layout", "every tensor is dense; leave it out")
prelu = _missing("prelu", "use nn.functional.prelu(x, weight)")
set_ = _missing("set_", "a tensor keeps its memory; use x.copy_(other), or x.data = other")
storage = _missing("storage", "use x.numpy(), which shares the memory")
untyped_storage = _missing("untyped_storage", "use x.numpy(), which shares the memory")
to_dense = _missing("to_dense", "every tensor is dense; leave it out")
lu_solve = _missing("lu_solve", "use fg.linalg.lu_solve(lu, pivots, x)")
triangular_solve = _missing("triangular_solve", "use fg.linalg.solve_triangular(a, x)")
igamma = _missing("igamma", "use scipy.special.gammainc(x, other)")
mvlgamma = _missing("mvlgamma", "use ferrograd.scipy.special.multigammaln(x, p)")
at = _missing("at", "use x[index] = value on a copy, x.clone(), or x.index_put", "JAX")
block_until_ready = _missing("block_until_ready", "leave it out: x has been computed", "JAX")
flat = _missing(
    "flat",
    "read x.reshape(-1)[i], and write np.put(x, i, values); of what lies in C order x.reshape(-1)"
    " is a view",
    "NumPy",
)
to_sparse = _missing("to_sparse", "there are no sparse tensors; use ferrograd.scipy.sparse")

is_cpu = _answer(True)
is_cuda = is_mps = is_meta = is_sparse = is_quantized = _answer(False)
