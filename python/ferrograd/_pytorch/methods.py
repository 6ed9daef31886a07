"""Methods and attributes of tensors that are loaded when they are first used.

Owns: which names there are, and hints for those that there are not. Never computes.
Invariant: a name with a hint is no attribute: `hasattr` of a tensor is False.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

from ferrograd._core import Tensor

_HOMES = {
    "products": "addmm addmv addr addbmm baddbmm mv dist",
    "places": "where index_put index_put_ index_copy index_copy_ index_fill index_fill_"
    " masked_scatter masked_scatter_ select_scatter slice_scatter diagonal_scatter fill_diagonal_"
    " unflatten",
    "division": "div div_",
    "algebra": "det slogdet logdet inverse pinverse matrix_power matrix_exp cholesky clamp_min"
    " clamp_max",
    "drawn": "multinomial exponential_ log_normal_ cauchy_ geometric_",
    "sorting": "kthvalue mode msort aminmax bincount histc unique_consecutive",
    "kinds": "nelement ndimension get_device is_same_size is_signed is_nonzero type pin_memory"
    " share_memory_",
}

_PAIRS = "max, min, sort and median give values as NumPy does; use argmax, argmin, argsort or topk"
_SHAPE = "a tensor keeps its shape; use the name without the underscore, x = x.{}(…)"
_HINTS = {
    "values": _PAIRS,
    "indices": _PAIRS,
    **{f"{name}_": _SHAPE.format(name) for name in ("squeeze", "unsqueeze", "t", "resize")},
    "cuda": "tensors live in main memory; leave it out",
    "bfloat16": "there is no bfloat16; use float()",
    "to_sparse": "there are no sparse tensors; use ferrograd.scipy.sparse",
}


class _Late:
    """A method that replaces itself by the function of its name."""

    def __init__(self, home: str, name: str) -> None:
        self._home, self._name = home, name

    def __get__(self, tensor: Any, kind: Any) -> Any:
        function = getattr(import_module(f"ferrograd._pytorch.{self._home}"), self._name)
        setattr(Tensor, self._name, function)
        return function if tensor is None else function.__get__(tensor, kind)


def _missing(name: str, hint: str) -> property:
    """A name that PyTorch's tensors have and these have not."""

    def refuse(tensor: Any) -> NoReturn:
        raise AttributeError(
            f"'{type(tensor).__name__}' object has no attribute {name!r}; PyTorch has it, here"
            f" {hint}"
        )

    return property(refuse, doc=f"No attribute: {hint}.")


def _answer(value: bool, text: str) -> property:
    return property(lambda tensor: value, doc=text)


def add() -> None:
    """Gives the class of tensors what is listed here."""
    for home, names in _HOMES.items():
        for name in names.split():
            setattr(Tensor, name, _Late(home, name))
    for name, hint in _HINTS.items():
        setattr(Tensor, name, _missing(name, hint))
    for name in ("is_cpu", "is_cuda", "is_mps", "is_meta", "is_sparse", "is_quantized"):
        text = f"{name == 'is_cpu'}: a tensor is dense and in main memory."
        setattr(Tensor, name, _answer(name == "is_cpu", text))


add()
