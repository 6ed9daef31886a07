"""The entry of this package's functions into the table of NumPy's and SciPy's calls on tensors.

Invariant: every public function of the package is entered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ferrograd._dispatch import function_table
from ferrograd.scipy._scipy_primitives import make_scipy_getattr


def _wrap_i0(i0: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        # NumPy's function is not a ufunc: it keeps half precision.
        return i0(x).astype(x.dtype) if x.dtype == "float16" else i0(x)

    return call


def register_functions(names: Mapping[str, Any]) -> Callable[[str], Any]:
    """Registers the functions among `names`; returns a `__getattr__` for SciPy's others."""
    function_table.register(_wrap_i0(names["i0"]), "i0")
    function_table.register_module("scipy.special", names)
    return make_scipy_getattr("special")
