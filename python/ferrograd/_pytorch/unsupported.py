"""Attributes of other libraries' tensors that raise with a hint.

The core adds each one to the class at its first use. Invariant: a name with a hint is not an
attribute: `hasattr` of a tensor is False.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._names.missing import get_hints


def _make_missing_property(name: str, library: str, hint: str) -> property:
    """A property that raises `AttributeError` with a hint."""

    def refuse(tensor: Any) -> NoReturn:
        raise AttributeError(
            f"'{type(tensor).__name__}' object has no attribute {name!r}; {library} has it, here"
            f" {hint}"
        )

    return property(refuse, doc=f"No attribute: {hint}.")


def _make_constant_property(value: bool) -> property:
    return property(lambda tensor: value, doc=f"{value}: a tensor is dense and in main memory.")


globals().update(
    {name: _make_missing_property(name, *said) for name, said in get_hints("Tensor").items()}
)

is_cpu = _make_constant_property(True)
is_cuda = is_mps = is_meta = is_sparse = is_quantized = _make_constant_property(False)
