"""PyTorch's functional derivatives: `jacobian hessian vjp jvp vhp hvp` of functions of tensors.

Invariant: results belong to no graph unless `create_graph` is set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import Tensor
from ferrograd._tensor.creation import ones_like
from ferrograd._tensor.modes import set_grad_enabled
from ferrograd.errors import ArgumentError, ArgumentTypeError, GradientError
from ferrograd.transforms import _forward, _matrix, _reverse
from ferrograd.transforms._argnums import Wanted, name_of
from ferrograd.transforms._trace import described, outputs_of, pull, trace

Inputs = Tensor | tuple[Tensor, ...]


def jacobian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of `func(*inputs)`: a tuple over results of tuples over inputs.

    `strict` refuses results that do not depend on an input; with `create_graph` it also refuses
    derivatives that do not. As in PyTorch, `strict` and `vectorize=True` cannot be combined.
    Otherwise `vectorize` and `strategy` change nothing: the shapes determine the method.
    """
    _check_options("jacobian", strict, vectorize, "strategy", strategy)
    args, keep = _prepared("jacobian", func, inputs, strict)
    with set_grad_enabled(create_graph):
        found = _matrix.jacobian(func, keep)(*args)
    return _varying("jacobian", found, args if strict and create_graph else ())


def hessian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a scalar function; a tuple of tuples for several inputs.

    The function returns one tensor of one element, of any shape. `strict` also refuses first
    derivatives that do not depend on an input.
    """
    _check_options("hessian", strict, vectorize, "outer_jacobian_strategy", outer_jacobian_strategy)
    func = _scalar("hessian", func)
    args, keep = _prepared("hessian", func, inputs, strict, 2)
    with set_grad_enabled(create_graph):
        return _matrix.hessian(func, keep)(*args)


def vjp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), vᵀJ)`; `v` may be left out for a result of one element."""
    args, keep = _prepared("vjp", func, inputs, strict)
    with set_grad_enabled(create_graph):
        pull_back, value = _reverse.make_vjp(func, keep)(*args)
        if v is None:
            v = _one("vjp", "result", value)
        return value, _varying("vjp", pull_back(v), args if strict and create_graph else ())


def jvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), Jv)`; `v` may be left out for an input of one element."""
    args, keep = _prepared("jvp", func, inputs, strict)
    with set_grad_enabled(create_graph):
        push = _forward.make_jvp(func, keep)(*args)
        if v is None:
            v = _one("jvp", "input", inputs)
        value, change = push(v)
        return value, _varying("jvp", change, args if strict and create_graph else ())


def hvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), Hv)` for a scalar function."""
    return _curvature("hvp", func, inputs, v, create_graph, strict)


def vhp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), vᵀH)` for a scalar function; the Hessian is symmetric."""
    return _curvature("vhp", func, inputs, v, create_graph, strict)


def _curvature(
    op: str, func: Callable[..., Any], inputs: Inputs, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    shapes: list[tuple[int, ...]] = []
    func = _scalar(op, func, shapes)
    args, keep = _prepared(op, func, inputs, strict, 2)
    if v is None:
        v = _one(op, "input", inputs)

    def slope_and_value(*values: Any) -> tuple[Any, Any]:
        value, slope = _reverse.valued(Wanted(op, func, keep, None))(*values)
        return slope, value

    with set_grad_enabled(create_graph):
        pull_back, _, value = _reverse.pulling(Wanted(op, slope_and_value, keep, None), True)(*args)
        return value.reshape(shapes[-1]), pull_back(v)


def _scalar(
    op: str, func: Callable[..., Any], shapes: list[tuple[int, ...]] | None = None
) -> Callable[..., Any]:
    """The function with its one element without axes; the shapes it had are noted in `shapes`."""

    def checked(*values: Any) -> Tensor:
        out = func(*values)
        if not isinstance(out, Tensor) or out.numel() != 1:
            raise ArgumentTypeError(
                f"{op}: {name_of(func)} returned {described(out)}; return one tensor of one element"
            )
        if shapes is not None:
            shapes.append(tuple(out.shape))
        return out.reshape(())

    if not callable(func):
        return func
    checked.__name__ = name_of(func)
    return checked


def _check_options(op: str, strict: bool, vectorize: bool, name: str, strategy: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ArgumentError(
            f'{op}: {name}={strategy!r}; use "reverse-mode" or "forward-mode"; both give the same'
        )
    if strict and vectorize:
        raise ArgumentError(
            f"{op}: strict=True and vectorize=True exclude each other; leave out vectorize, which"
            " changes nothing"
        )


def _prepared(
    op: str, func: Callable[..., Any], inputs: Any, strict: bool, order: int = 1
) -> tuple[tuple[Tensor, ...], int | tuple[int, ...]]:
    """The inputs as arguments, and those to differentiate, `order` times."""
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    if not args or not all(isinstance(x, Tensor) for x in args):
        raise ArgumentTypeError(
            f"{op}: inputs is {type(inputs).__name__}; give a tensor or a tuple of tensors, or use"
            f" fg.{'hvp' if op == 'vhp' else op} for arrays"
        )
    keep: int | tuple[int, ...] = tuple(range(len(args))) if isinstance(inputs, tuple) else 0
    if strict:
        _refuse_independent(op, func, args, keep)
        if order == 2:
            slope = _reverse.gradient(Wanted(op, func, keep, None))
            _refuse_independent(op, slope, args, keep, "the jacobian of ")
    return args, keep


def _varying(op: str, found: Any, args: tuple[Tensor, ...]) -> Any:
    """Checks that the results depend on those of `args` that require grad."""
    parts = found if isinstance(found, tuple) else (found,)
    for part in parts:
        if isinstance(part, tuple):
            _varying(op, part, args)
        elif not part.requires_grad and any(x.requires_grad for x in args):
            raise GradientError(
                f"{op}: the jacobian of the user-provided function is independent of its inputs;"
                " leave out strict=True to get it all the same"
            )
    return found


def _refuse_independent(
    op: str, func: Callable[..., Any], args: Any, keep: Any, of: str = ""
) -> None:
    found = trace(Wanted(op, func, keep, None), args, {})
    outputs, _ = outputs_of(found)
    for k, out in enumerate(outputs):
        seeds = [ones_like(out)] if isinstance(out, Tensor) else None
        for i, slope in enumerate(pull([out], found.tensors, seeds, retain=True)):
            if slope is None:
                raise GradientError(
                    f"{op}: output {k} of {of}{name_of(func)} does not depend on input {i}; leave"
                    " out strict=True to get zeros"
                )


def _one(op: str, whose: str, value: Any) -> Tensor:
    """The vector that may be left out: 1 for one element."""
    single = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    if not isinstance(single, Tensor) or single.numel() != 1:
        raise ArgumentError(f"{op}: the {whose} has more than one element; give v of its shape")
    return ones_like(single)
