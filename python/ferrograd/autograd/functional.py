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
from ferrograd.transforms import _linear_maps, _matrix, _reverse
from ferrograd.transforms._argnums import TransformSpec, get_function_name
from ferrograd.transforms._differentiated_call import describe_value, flatten_outputs, pull, trace

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
    args, keep = _check_inputs("jacobian", func, inputs, strict)
    with set_grad_enabled(create_graph):
        found = _matrix.jacobian(func, keep)(*args)
    return _check_dependence("jacobian", found, args if strict and create_graph else ())


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
    func = _require_scalar_result("hessian", func)
    args, keep = _check_inputs("hessian", func, inputs, strict, 2)
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
    args, keep = _check_inputs("vjp", func, inputs, strict)
    with set_grad_enabled(create_graph):
        pull_back, value = _reverse.make_vjp(func, keep)(*args)
        if v is None:
            v = _make_default_vector("vjp", "result", value)
        return value, _check_dependence(
            "vjp", pull_back(v), args if strict and create_graph else ()
        )


def jvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), Jv)`; `v` may be left out for an input of one element."""
    args, keep = _check_inputs("jvp", func, inputs, strict)
    with set_grad_enabled(create_graph):
        push = _linear_maps.make_jvp(func, keep)(*args)
        if v is None:
            v = _make_default_vector("jvp", "input", inputs)
        value, change = push(v)
        return value, _check_dependence("jvp", change, args if strict and create_graph else ())


def hvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), Hv)` for a scalar function."""
    return _compute_hessian_product("hvp", func, inputs, v, create_graph, strict)


def vhp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """`(func(*inputs), vᵀH)` for a scalar function; the Hessian is symmetric."""
    return _compute_hessian_product("vhp", func, inputs, v, create_graph, strict)


def _compute_hessian_product(
    op: str, func: Callable[..., Any], inputs: Inputs, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    shapes: list[tuple[int, ...]] = []
    func = _require_scalar_result(op, func, shapes)
    args, keep = _check_inputs(op, func, inputs, strict, 2)
    if v is None:
        v = _make_default_vector(op, "input", inputs)

    def compute_gradient_and_value(*values: Any) -> tuple[Any, Any]:
        value, slope = _reverse.make_value_and_grad(TransformSpec(op, func, keep, None))(*values)
        return slope, value

    with set_grad_enabled(create_graph):
        pull_back, _, value = _reverse.make_pullback(
            TransformSpec(op, compute_gradient_and_value, keep, None), True
        )(*args)
        return value.reshape(shapes[-1]), pull_back(v)


def _require_scalar_result(
    op: str, func: Callable[..., Any], shapes: list[tuple[int, ...]] | None = None
) -> Callable[..., Any]:
    """The function with its one element without axes; the shapes it had are noted in `shapes`."""

    def check_result(*values: Any) -> Tensor:
        out = func(*values)
        if not isinstance(out, Tensor) or out.numel() != 1:
            raise ArgumentTypeError(
                f"{op}: {get_function_name(func)} returned {describe_value(out)}; return one tensor"
                " of one element"
            )
        if shapes is not None:
            shapes.append(tuple(out.shape))
        return out.reshape(())

    if not callable(func):
        return func
    check_result.__name__ = get_function_name(func)
    return check_result


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


def _check_inputs(
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
        _check_independence(op, func, args, keep)
        if order == 2:
            slope = _reverse.make_gradient(TransformSpec(op, func, keep, None))
            _check_independence(op, slope, args, keep, "the jacobian of ")
    return args, keep


def _check_dependence(op: str, found: Any, args: tuple[Tensor, ...]) -> Any:
    """Checks that the results depend on those of `args` that require grad."""
    parts = found if isinstance(found, tuple) else (found,)
    for part in parts:
        if isinstance(part, tuple):
            _check_dependence(op, part, args)
        elif not part.requires_grad and any(x.requires_grad for x in args):
            raise GradientError(
                f"{op}: the jacobian of the user-provided function is independent of its inputs;"
                " leave out strict=True to get it all the same"
            )
    return found


def _check_independence(
    op: str, func: Callable[..., Any], args: Any, keep: Any, of: str = ""
) -> None:
    found = trace(TransformSpec(op, func, keep, None), args, {})
    outputs, _ = flatten_outputs(found)
    for k, out in enumerate(outputs):
        seeds = [ones_like(out)] if isinstance(out, Tensor) else None
        for i, slope in enumerate(pull([out], found.tensors, seeds, retain=True)):
            if slope is None:
                raise GradientError(
                    f"{op}: output {k} of {of}{get_function_name(func)} does not depend on input"
                    f" {i}; leave out strict=True to get zeros"
                )


def _make_default_vector(op: str, whose: str, value: Any) -> Tensor:
    """The vector that may be left out: 1 for one element."""
    single = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    if not isinstance(single, Tensor) or single.numel() != 1:
        raise ArgumentError(f"{op}: the {whose} has more than one element; give v of its shape")
    return ones_like(single)
