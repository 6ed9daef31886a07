"""NumPy's functions on tensors: `np.sin(t)`, `array * t`, `np.concatenate([t, a])`.

Invariant: a result that would silently leave a graph is an error; a function that we do not have
runs on arrays when no gradient is at stake.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._dispatch import function_table, keywords, ufuncs
from ferrograd._dispatch.core_operations import DECLARATIONS, OPERATIONS as OPERATIONS
from ferrograd._tensor.pytree import find_tensors
from ferrograd.errors import NotDifferentiableError

_ACCESSORS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: t.shape,
    "ndim": lambda t: t.ndim,
    "size": lambda t: int(t.size),
}


#: Made when a function is first called.
_TRANSLATIONS: dict[Any, keywords.ArgumentTranslation] = {}


def _get_translation(function: Any, ours: Any) -> keywords.ArgumentTranslation:
    return _TRANSLATIONS.setdefault(
        function, keywords.ArgumentTranslation(function, DECLARATIONS[ours])
    )


def count_direct_arguments(function: Any, ours: Any) -> int:
    """The number of positional arguments with the same meaning in both functions."""
    return _get_translation(function, ours).direct_count if ours in DECLARATIONS else sys.maxsize


def _get_name(function: Any) -> str:
    """The name of a function, or of the ufunc whose method it is."""
    ufunc = getattr(function, "__self__", None)
    if not isinstance(ufunc, np.ufunc):
        return str(getattr(function, "__name__", function))
    method = function.__name__
    return ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"


def _is_scipy_special(ufunc: Any) -> bool:
    """Whether a ufunc belongs to `scipy.special`, as a public one or used by a public function."""
    homes = (sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs"))
    name = ufunc.__name__
    return any(getattr(home, name, None) is ufunc for home in homes if home is not None)


def _get_scipy_name(name: str) -> str:
    """The name of the SciPy function that uses this ufunc."""
    return "zeta" if name == "_riemann_zeta" else name.removeprefix("_")


def _find_scipy_counterpart(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """ferrograd's function for a SciPy ufunc: an operation, or one of `ferrograd.scipy.special`."""
    if not _is_scipy_special(ufunc):
        return None
    same = OPERATIONS.get(getattr(np, ufunc.__name__, None))
    return same or function_table.find_by_name(f"scipy.special.{_get_scipy_name(ufunc.__name__)}")


def _get_qualified_name(function: Any) -> str:
    """The name with the module it is in: `numpy.fft.rfft`."""
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc) and not hasattr(np, ufunc.__name__) and _is_scipy_special(ufunc):
        name, *method = _get_name(function).split(".")
        return ".".join(["scipy.special", _get_scipy_name(name), *method])
    module = str(getattr(function, "__module__", None) or "numpy").split(".")
    home = f"{module[1]}." if len(module) == 2 and module[1] in ("fft", "linalg") else ""
    return f"numpy.{home}{_get_name(function)}"


def _run_on_arrays(function: Any, args: Any, kwargs: dict[str, Any], why: str | None = None) -> Any:
    """Runs NumPy's own function, unless that would cut a graph."""
    if is_grad_enabled() and any(t.requires_grad for t in find_tensors([args, kwargs])):
        reason = function_table.find_refusal_reason(
            getattr(function, "__self__", function)
        ) or function_table.find_refusal_reason(function)
        if reason is None or why is not None:
            reason = (
                f"{why or 'ferrograd has no derivative for it'}, and an argument requires grad;"
                " pass t.detach() if none is needed, or write it with functions of ferrograd"
            )
        raise NotDifferentiableError(f"{_get_qualified_name(function)}: {reason}")
    return ufuncs.run_on_arrays(function, args, kwargs)


def array_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """Implements `Tensor.__array_ufunc__`."""
    ours = OPERATIONS.get(ufunc) or OPERATIONS.get(ufunc.__name__)
    if ours is not None:
        if method == "__call__" and not kwargs:
            return ours(*inputs)
        return ufuncs.call_method(ufunc, method, ours, inputs, dict(kwargs or {}))
    composed = function_table.find_composition(ufunc) or _find_scipy_counterpart(ufunc)
    if composed is not None and method == "__call__" and not kwargs:
        return composed(*inputs)
    if composed is not None and (ufunc.nout == 1 or method == "__call__"):
        return ufuncs.call_method(ufunc, method, composed, inputs, dict(kwargs or {}))
    return _run_on_arrays(getattr(ufunc, method), inputs, dict(kwargs or {}))


def _overrides_array_function(kind: Any) -> bool:
    """Whether a class defines its own rules for NumPy's functions."""
    theirs = kind.__array_function__
    return theirs is not Tensor.__array_function__ and theirs is not np.ndarray.__array_function__


def array_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implements `Tensor.__array_function__`."""
    for kind in types or ():
        if kind is not Tensor and kind is not np.ndarray and _overrides_array_function(kind):
            return NotImplemented
    ours = OPERATIONS.get(func)
    if ours is None:
        accessor = _ACCESSORS.get(func.__name__)
        if accessor is not None and len(args) == 1 and not kwargs:
            return accessor(args[0])
        composed = function_table.find_composition(func)
        return _run_on_arrays(func, args, kwargs) if composed is None else composed(*args, **kwargs)
    spelling = _TRANSLATIONS.get(func) or _get_translation(func, ours)
    if not kwargs and len(args) <= spelling.direct_count:
        return ours(*args)
    try:
        return keywords.call_operation(spelling, ours, args, kwargs)
    except keywords.UnsupportedArgumentError as argument:
        return _run_on_arrays(func, args, kwargs, f"{argument} has no counterpart")
