"""Keywords and methods of NumPy's ufuncs, on tensors.

Invariant: a keyword is supported or refused with the reason, and no result leaves a graph silently.
"""

from collections.abc import Callable
from functools import reduce as fold
from typing import Any

import numpy as np

import ferrograd._core as _core
from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._dispatch.detach import detach_tensors
from ferrograd._dispatch.function_table import FOLDS, SCANS
from ferrograd._dispatch.ufunc_at import at
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    DTypeError,
    GraphCutError,
    NotDifferentiableError,
    ShapeError,
)

Operation = Callable[..., Any]

#: Keywords that have no effect here, with the accepted values.
_IGNORED_KEYWORDS = {
    "casting": ("same_kind", "safe"),
    "order": ("K", "C", "A"),
    "subok": (True, False),
}


def make_write_error(name: str, operands: int, where: Any = True) -> GraphCutError:
    """The error for writing a recorded result into an array."""
    instead = "write a = a + t instead of a += t" if operands == 2 else "leave out= out"
    if where is not True:
        instead = f"write np.where(mask, np.{name}(…), a) instead of out=a and where=mask"
    return GraphCutError(
        f"numpy.{name}: the result would silently leave the graph of a tensor that"
        f" requires grad; {instead}, make a with ferrograd.numpy (import ferrograd.numpy as np),"
        " also of a computed array (a = np.array(a)), or pass t.detach(); see"
        " docs/when_it_goes_wrong.md"
    )


def _has_out_shape(out: Any, result: Tensor, repeats: bool) -> bool:
    """Whether a result has the shape of `out`, or repeats along its axes as a ufunc's does."""
    shape, own = tuple(out.shape), tuple(result.shape)
    if shape == own or not repeats:
        return shape == own
    padded = (1,) * (len(shape) - len(own)) + own
    return len(padded) == len(shape) and all(
        n in (1, m) for n, m in zip(padded, shape, strict=True)
    )


def write_out(
    name: str,
    out: Any,
    result: Tensor,
    where: Any = True,
    operands: int = 1,
    *,
    repeats: bool = False,
    casting: Any = "same_kind",
) -> Any:
    """Writes a result into `out`, a tensor (recorded) or an array (if no graph loses it).

    With `repeats`, `out` may be larger: the result is broadcast to it. `casting` is NumPy's rule.
    """
    _check_out(name, out, result, where, operands, repeats, casting)
    if isinstance(out, Tensor):
        out[...] = result if where is True else _core.where(where, result, out)
    else:
        mask = where.numpy() if isinstance(where, Tensor) else where
        np.copyto(out, result.detach().numpy(), casting=casting, where=mask)
    return out


def _check_out(
    name: str,
    out: Any,
    result: Tensor,
    where: Any = True,
    operands: int = 1,
    repeats: bool = False,
    casting: Any = "same_kind",
) -> None:
    """Raises if a result cannot be written to `out`."""
    if isinstance(out, Tensor):
        if not np.can_cast(result.dtype, out.dtype, casting):
            raise DTypeError(
                f"numpy.{name}: the result is {result.dtype} and out has elements of {out.dtype};"
                " give out another dtype, or use astype on the result"
            )
    elif is_grad_enabled() and result.requires_grad:
        raise make_write_error(name, operands, where)
    elif _core._is_computed_anew(result):
        raise CompileError(f"compile: {make_write_error(name, operands, where)}")
    elif not isinstance(out, np.ndarray):
        raise ArgumentTypeError(f"numpy.{name}: out is a {type(out).__name__}; pass an array")
    if where is True and not _has_out_shape(out, result, repeats):
        raise ShapeError(
            f"numpy.{name}: out has shape {tuple(out.shape)} and the result"
            f" {tuple(result.shape)}; they must agree"
            f"{', or the result broadcast to out' if repeats else ''}"
        )


def run_on_arrays(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of NumPy's function for the values, written to `out` if that is a tensor."""
    out = kwargs.get("out")
    places = out if isinstance(out, tuple) else (out,)
    if not any(isinstance(place, Tensor) for place in places):
        return function(*detach_tensors(args), **detach_tensors(kwargs))
    # An array of a tensor's memory is read-only.
    rest = {key: value for key, value in kwargs.items() if key != "out"}
    made = function(*detach_tensors(args), **detach_tensors(rest))
    ufunc = getattr(function, "__self__", None)
    name = getattr(ufunc, "__name__", None) or function.__name__
    return _write_results(name, places, made, repeats=isinstance(ufunc, np.ufunc))


def _write_results(name: str, places: tuple[Any, ...], made: Any, **how: Any) -> Any:
    """One or several results, each written to its `out` if it has one."""
    if not isinstance(made, tuple):
        return write_out(name, places[0], _core.asarray(made), **how)
    results = [_core.asarray(one) for one in made]
    pairs = list(zip(places, results, strict=True))
    for place, one in pairs:
        if place is not None:
            _check_out(name, place, one, **how)
            # A write of no element runs the other checks: leaves, read-only memory.
            place[None][:0] = 0
    return tuple(
        one if place is None else write_out(name, place, one, **how) for place, one in pairs
    )


def cast_same_kind(name: str, x: Tensor, dtype: Any) -> Tensor:
    """Casts by NumPy's rule "same_kind"; raises for other casts."""
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise ArgumentTypeError(
            f"numpy.{name}: cannot cast {x.dtype} to {np.dtype(dtype)} silently; use astype"
        )
    return x.astype(dtype)


def check_ignored_keywords(name: str, kwargs: dict[str, Any]) -> None:
    """Refuses the remaining keywords, unless they have no effect."""
    for key, value in kwargs.items():
        if value is not None and value not in _IGNORED_KEYWORDS.get(key, ()):
            raise ArgumentError(
                f"numpy.{name}: {key}={value!r} has no counterpart on tensors; leave it out, or"
                " pass arrays, as t.detach().numpy() is"
            )


def _cast_python_number(name: str, x: complex, dtype: Any, casting: Any) -> Tensor:
    """A Python number, which does not affect the dtype, as an operand of a loop."""
    rule: Any = "unsafe" if casting == "unsafe" else "same_kind"
    if type(x) is not int and not np.can_cast(np.dtype(type(x)), dtype, rule):
        raise ArgumentTypeError(
            f"numpy.{name}: Cannot cast ufunc operand {x!r} to {dtype} with casting rule"
            f" {casting!r}; use astype on the operands, or another casting="
        )
    made: Tensor = _core.tensor(x, dtype) if type(x) is int else _core.asarray(x).astype(dtype)
    return made


def _call_in_loop_dtypes(
    ufunc: np.ufunc, ours: Operation, inputs: tuple[Any, ...], signature: Any, casting: Any
) -> Any:
    """Computes in the dtypes of the loop that NumPy would choose."""
    given = [type(x) if type(x) in (int, float, complex) else _core.asarray(x) for x in inputs]
    dtypes = [x if isinstance(x, type) else x.dtype for x in given]
    asked = {} if signature is None else {"signature": signature}
    try:
        loop = ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout), casting=casting, **asked)
    except TypeError as error:
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}: {error}; use astype on the operands, or another casting="
        ) from None
    result = ours(
        *(
            _cast_python_number(ufunc.__name__, x, dtype, casting)
            if type(x) in (int, float, complex)
            else _core.asarray(x).astype(dtype)
            for x, dtype in zip(inputs, loop, strict=False)
        )
    )
    results = result if isinstance(result, tuple) else (result,)
    wanted = zip(results, loop[ufunc.nin :], strict=True)
    results = tuple(r if r.dtype == dtype else r.astype(dtype) for r, dtype in wanted)
    return results if isinstance(result, tuple) else results[0]


def _can_write_directly(outs: tuple[Any, ...], inputs: tuple[Any, ...]) -> bool:
    """Whether the only output is a float tensor with the shape and dtype of all operands."""
    out = outs[0]
    if len(outs) != 1 or not isinstance(out, Tensor) or out.dtype.kind != "f":
        return False
    return all(
        isinstance(x, Tensor) and x.shape == out.shape and x.dtype == out.dtype for x in inputs
    )


def call_ufunc(
    ufunc: np.ufunc, ours: Operation, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ufunc(*inputs, out=, where=, dtype=, signature=, casting=)`."""
    name = ufunc.__name__
    outs = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    signature = kwargs.pop("signature", kwargs.pop("sig", None))
    check_ignored_keywords(name, kwargs)
    if where is not True and outs is None:
        raise ArgumentError(
            f"numpy.{name}: where= without out= leaves the other elements undefined; write"
            f" np.where(mask, np.{name}(...), other)"
        )
    if dtype is not None and signature is None:
        signature = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    if signature is None and casting == "same_kind":
        plain = outs is not None and where is True and _can_write_directly(outs, inputs)
        if plain and getattr(_core, ours.__name__, None) is ours:
            return ours(*inputs, out=outs[0])
        result = ours(*inputs)
    else:
        result = _call_in_loop_dtypes(ufunc, ours, inputs, signature, casting)
    if outs is None:
        return result
    how = {"where": where, "operands": len(inputs), "repeats": True, "casting": casting}
    return _write_results(name, outs, result, **how)


def _check_axis(op: str, x: Any, axis: Any) -> tuple[Tensor, int]:
    """The operand as a tensor, and its checked axis."""
    x = _core.asarray(x)
    if not hasattr(axis, "__index__") or x.ndim == 0:
        raise ArgumentTypeError(
            f"numpy.{op}: axis={axis!r} of an array of {x.ndim} dimensions; name one axis of at"
            " least one dimension"
        )
    axis = axis.__index__()
    return x, axis + x.ndim if axis < 0 else axis


def _fold_elements(
    ours: Operation, op: str, x: Any, axis: Any, keepdims: bool, initial: Any
) -> Tensor:
    """Reduces element by element, for ufuncs without a reduction in the core."""
    x, axis = _check_axis(op, x, axis)
    parts = list(_core.unbind(x, axis))
    if initial is not None:
        parts.insert(
            0,
            _core.broadcast_to(
                _core.asarray(initial).astype(x.dtype), x.shape[:axis] + x.shape[axis + 1 :]
            ),
        )
    if not parts:
        raise ShapeError(f"numpy.{op}: zero elements have no {op}; give initial=")
    out: Tensor = fold(ours, parts)
    return _core.expand_dims(out, axis) if keepdims else out


def _cast_to_loop_dtype(ufunc: np.ufunc, x: Tensor) -> Tensor:
    """The operand in the dtype of NumPy's loop; sums and products choose their own dtype."""
    if ufunc in (np.add, np.multiply):
        return x
    try:
        loop = ufunc.resolve_dtypes((None, x.dtype, None), reduction=True)
    except TypeError:
        return x
    return x if loop[0] == x.dtype else x.astype(loop[0])


def _reduce(ufunc: np.ufunc, ours: Operation, x: Any, kwargs: dict[str, Any]) -> Any:
    op = f"{ufunc.__name__}.reduce"
    axis = kwargs.pop("axis", 0)
    keepdims = bool(kwargs.pop("keepdims", False))
    initial = kwargs.pop("initial", None)
    initial = None if initial is np._NoValue else initial
    where, dtype = kwargs.pop("where", True), kwargs.pop("dtype", None)
    check_ignored_keywords(op, kwargs)
    x = _core.asarray(x) if dtype is None else cast_same_kind(op, _core.asarray(x), dtype)
    if where is not True:
        rest = ufunc.identity if ufunc.identity is not None else initial
        if rest is None:
            raise ArgumentError(f"numpy.{op}: no element may be chosen; give initial= with where=")
        x = _core.where(where, x, rest)
    x, whole = _cast_to_loop_dtype(ufunc, x), FOLDS.get(ours)
    if whole is None:
        return _fold_elements(ours, op, x, axis, keepdims, initial)
    result = whole(x, axis=axis, keepdims=keepdims)
    return result if initial is None else ours(initial, result)


def _accumulate(ufunc: np.ufunc, ours: Operation, x: Any, kwargs: dict[str, Any]) -> Any:
    op = f"{ufunc.__name__}.accumulate"
    x, axis = _check_axis(op, x, kwargs.pop("axis", 0))
    dtype = kwargs.pop("dtype", None)
    check_ignored_keywords(op, kwargs)
    x = x if dtype is None else cast_same_kind(op, x, dtype)
    x, whole = _cast_to_loop_dtype(ufunc, x), SCANS.get(ours)
    # There is no loop for running extremes of complex numbers.
    if whole is not None and not (x.dtype.kind == "c" and ufunc in (np.maximum, np.minimum)):
        result = whole(x, axis)
        # The operation also returns the indices.
        return result[0] if isinstance(result, tuple) else result
    sums = list(_core.unbind(x, axis))
    for i in range(1, len(sums)):
        sums[i] = ours(sums[i - 1], sums[i])
    return _core.stack(sums, axis) if sums else ours(x, x)


def _reduceat(ufunc: np.ufunc, ours: Operation, inputs: Any, kwargs: dict[str, Any]) -> Any:
    op = f"{ufunc.__name__}.reduceat"
    x, axis = _check_axis(op, inputs[0], kwargs.pop("axis", 0))
    dtype = kwargs.pop("dtype", None)
    check_ignored_keywords(op, kwargs)
    x = x if dtype is None else cast_same_kind(op, x, dtype)
    size = x.shape[axis]
    starts = [int(i) for i in np.asarray(inputs[1])]
    if any(not 0 <= i < size for i in starts):
        raise IndexError(f"numpy.{op}: indices {starts} of an axis of size {size}; stay within it")
    pieces = []
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        length = max(stop - start, 1)
        pieces.append(_reduce(ufunc, ours, _core.narrow(x, axis, start, length), {"axis": axis}))
    return _core.stack(pieces, axis)


def _outer(ufunc: np.ufunc, ours: Operation, inputs: Any, kwargs: dict[str, Any]) -> Any:
    a, b = (_core.asarray(x) for x in inputs)
    return call_ufunc(ufunc, ours, (a.reshape((*a.shape, *(1 for _ in b.shape))), b), kwargs)


def call_method(
    ufunc: np.ufunc, how: str, ours: Operation, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ufunc.reduce(…)` and the other methods; `ours` is the operation of the ufunc."""
    if how == "__call__":
        return call_ufunc(ufunc, ours, inputs, kwargs)
    name = f"{ufunc.__name__}.{how}"
    if how == "outer":
        return _outer(ufunc, ours, inputs, kwargs)
    if how == "at":
        return at(ufunc, ours, *inputs)
    if ufunc.signature is not None:
        raise NotDifferentiableError(
            f"numpy.{name}: tensors have no counterpart; pass arrays, as t.detach().numpy() is"
        )
    outs = kwargs.pop("out", None)
    outs = outs if isinstance(outs, tuple) else (outs,)
    if how == "reduce":
        result = _reduce(ufunc, ours, inputs[0], kwargs)
    elif how == "accumulate":
        result = _accumulate(ufunc, ours, inputs[0], kwargs)
    else:
        result = _reduceat(ufunc, ours, inputs, kwargs)
    return result if outs[0] is None else write_out(name, outs[0], result)
