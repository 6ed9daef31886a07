"""NumPy's functions on tensors: `np.sin(t)`, `array * t`, `np.concatenate([t, a])`.

Owns: the table from NumPy functions to ours, made from the `numpy` names of the registry. Never
computes. Invariant: a result that would silently leave a graph is an error; a function that we do
not have runs on arrays when no gradient is at stake.
"""

import sys
from collections.abc import Callable, Iterator
from string import ascii_letters
from typing import Any

import numpy as np

import ferrograd._core as _core
from ferrograd import _keywords, _ufuncs
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._detached import detached
from ferrograd.errors import NotDifferentiableError

_ACCESSORS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: t.shape,
    "ndim": lambda t: t.ndim,
    "size": lambda t: int(t.size),
}


#: The parameters of each operation, by the operation.
_PARAMETERS: dict[Callable[..., Any], list[dict[str, Any]]] = {}


def _table() -> dict[Any, Callable[..., Any]]:
    table: dict[Any, Callable[..., Any]] = {}
    for row in _core._registry():
        spaces = row["namespaces"]
        home_of = _core.__dict__ if not spaces or "" in spaces else _core._namespaces[spaces[0]]
        ours = home_of[row["name"]]
        _PARAMETERS[ours] = row["params"]
        for path in row["numpy"]:
            if path.startswith("scipy."):
                table.setdefault(path.rsplit(".", 1)[1], ours)
                continue
            home: Any = np
            for part in path.split("."):
                home = getattr(home, part, None)
            if home is not None:
                # NumPy has several names for one function: the first operation to claim it wins.
                table.setdefault(home, ours)
    for theirs, ours, as_numpy in (
        (np.transpose, _core.transpose, _transpose),
        (np.einsum, _core.einsum, _einsum),
    ):
        _PARAMETERS[as_numpy] = _PARAMETERS[ours]
        table[theirs] = as_numpy
    for decomposition in (np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd):
        ours = table[decomposition]
        table[decomposition] = _with_fields(decomposition, ours)
        _PARAMETERS[table[decomposition]] = _PARAMETERS[ours]
    return table


def _with_fields(theirs: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """The operation with its results in NumPy's named tuple."""
    named: list[Any] = []

    def decompose(*args: Any, **kwargs: Any) -> Any:
        out = ours(*args, **kwargs)
        if not isinstance(out, tuple):
            return out
        if not named:
            named.append(type(theirs(np.eye(1))))
        return named[0](*out)

    return decompose


def _transpose(x: Any, axes: Any = None) -> Any:
    """NumPy's meaning of the axes, which `transpose` refuses where PyTorch's differs."""
    return _core.transpose(x) if axes is None else _core.permute(x, axes)


def _einsum(subscripts: Any, *operands: Any) -> Any:
    """Also the form without a string: each operand followed by the numbers of its axes."""
    if isinstance(subscripts, str):
        return _core.einsum(subscripts, *operands)

    def text(labels: Any) -> str:
        return "".join("..." if k is Ellipsis else ascii_letters[k] for k in labels)

    parts = [subscripts, *operands]
    result = "->" + text(parts.pop()) if len(parts) % 2 else ""
    return _core.einsum(",".join(map(text, parts[1::2])) + result, *parts[::2])


_TABLE = _table()
#: Made when a function is first called.
_SPELLINGS: dict[Any, _keywords.Spelling] = {}


def _spelling(function: Any, ours: Any) -> _keywords.Spelling:
    parameters = _PARAMETERS[ours]
    names, kinds = [p["name"] for p in parameters], [p["kind"] for p in parameters]
    return _SPELLINGS.setdefault(function, _keywords.Spelling(function, names, kinds))


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _name(function: Any) -> str:
    """The name of a function, or of the ufunc whose method it is."""
    ufunc = getattr(function, "__self__", None)
    if not isinstance(ufunc, np.ufunc):
        return str(getattr(function, "__name__", function))
    method = function.__name__
    return ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"


def _special(ufunc: Any) -> bool:
    """Whether a ufunc is one of `scipy.special`, public or behind a public function."""
    homes = (sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs"))
    name = ufunc.__name__
    return any(getattr(home, name, None) is ufunc for home in homes if home is not None)


def _of_scipy(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Our function for a ufunc of SciPy's: NumPy's of the same name, or ours in `scipy.special`."""
    if not _special(ufunc):
        return None
    same = _TABLE.get(getattr(np, ufunc.__name__, None))
    if same is not None:
        return same
    from ferrograd.scipy import special

    found: Callable[..., Any] | None = vars(special).get(ufunc.__name__)
    return found


def _qualified(function: Any) -> str:
    """The name with the module it is in: `numpy.fft.rfft`."""
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc) and not hasattr(np, ufunc.__name__) and _special(ufunc):
        return "scipy.special." + _name(function).removeprefix("_").replace("riemann_zeta", "zeta")
    module = str(getattr(function, "__module__", None) or "numpy").split(".")
    home = f"{module[1]}." if len(module) == 2 and module[1] in ("fft", "linalg") else ""
    return f"numpy.{home}{_name(function)}"


def _on_arrays(function: Any, args: Any, kwargs: dict[str, Any], why: str | None = None) -> Any:
    """Runs NumPy's own function, unless that would cut a graph."""
    if is_grad_enabled() and any(t.requires_grad for t in _tensors([args, kwargs])):
        from ferrograd._composed import REASONS

        reason = REASONS.get(getattr(function, "__self__", function)) or REASONS.get(function)
        if reason is None or why is not None:
            reason = (
                f"{why or 'ferrograd has no derivative for it'}, and an argument requires grad;"
                " pass t.detach() if none is needed, or write it with functions of ferrograd"
            )
        raise NotDifferentiableError(f"{_qualified(function)}: {reason}")
    return function(*detached(args), **detached(kwargs))


def _composed(function: Any) -> Callable[..., Any] | None:
    """Our composition for a function of NumPy's that no single operation stands for."""
    from ferrograd._composed import COMPOSED

    return COMPOSED.get(function)


def array_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """What `Tensor.__array_ufunc__` does."""
    ours = _TABLE.get(ufunc) or _TABLE.get(ufunc.__name__)
    if ours is not None:
        if method == "__call__" and not kwargs:
            return ours(*inputs)
        return _ufuncs.method(ufunc, method, ours, inputs, dict(kwargs or {}))
    composed = _composed(ufunc) or _of_scipy(ufunc)
    if composed is not None and method == "__call__" and not kwargs:
        return composed(*inputs)
    if composed is not None and ufunc.nout == 1:
        return _ufuncs.method(ufunc, method, composed, inputs, dict(kwargs or {}))
    return _on_arrays(getattr(ufunc, method), inputs, dict(kwargs or {}))


def array_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `Tensor.__array_function__` does."""
    ours = _TABLE.get(func)
    if ours is None:
        accessor = _ACCESSORS.get(func.__name__)
        if accessor is not None and len(args) == 1 and not kwargs:
            return accessor(args[0])
        composed = _composed(func)
        return _on_arrays(func, args, kwargs) if composed is None else composed(*args, **kwargs)
    spelling = _SPELLINGS.get(func) or _spelling(func, ours)
    if not kwargs and len(args) <= spelling.direct:
        return ours(*args)
    try:
        return _keywords.call(spelling, ours, args, kwargs)
    except _keywords.UnsupportedArgumentError as argument:
        return _on_arrays(func, args, kwargs, f"{argument} has no counterpart")
