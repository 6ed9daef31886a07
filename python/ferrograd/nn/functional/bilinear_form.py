"""Products of two inputs with a weight.

`linear` is an operation of the core. Invariant: the weight is PyTorch's, [out, in1, in2].
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor, asarray, einsum
from ferrograd.errors import ShapeError


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """`Σ_ij x1_i W_kij x2_j + b_k` over the last axes.

    Shapes: input1 (…, I), input2 (…, J), weight (O, I, J), bias (O); result (…, O).
    Errors: `ShapeError` for shapes that do not fit.

    >>> import ferrograd as fg
    >>> a, b = fg.tensor([1.0, 2.0]), fg.tensor([3.0])
    >>> fg.nn.functional.bilinear(a, b, fg.ones(1, 2, 1)).tolist()
    [9.0]
    """
    a, b, weight = asarray(input1), asarray(input2), asarray(weight)
    if weight.ndim != 3 or (a.shape[-1], b.shape[-1]) != tuple(weight.shape[1:]):
        raise ShapeError(
            f"bilinear: inputs of shapes {tuple(a.shape)} and {tuple(b.shape)} and a weight of"
            f" shape {tuple(weight.shape)}; give (…, I), (…, J) and (O, I, J)"
        )
    out: Tensor = einsum("...i,oij,...j->...o", [a, weight, b])
    return out if bias is None else out + bias
