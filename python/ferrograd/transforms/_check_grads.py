"""`check_grads`: derivatives of a function against finite differences, to any order.

Invariant: the check is deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, tensor
from ferrograd._inspect import compare_with_arrays
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd._tensor.modes import no_grad
from ferrograd._tensor.pytree import flatten
from ferrograd.errors import ArgumentError, GradcheckError
from ferrograd.transforms._argnums import get_function_name
from ferrograd.transforms._forward_mode import jvp
from ferrograd.transforms._reverse import vjp

DEFAULT_EPS, DEFAULT_ATOL, DEFAULT_RTOL = 1e-6, 1e-6, 1e-5


class CheckError(GradcheckError, AssertionError):
    """A derivative differs from finite differences."""


def check_grads(
    f: Callable[..., Any],
    modes: str | Sequence[str] = ("fwd", "rev"),
    order: int = 2,
    *,
    eps: float = DEFAULT_EPS,
    atol: float = DEFAULT_ATOL,
    rtol: float = DEFAULT_RTOL,
) -> Callable[..., None]:
    """Returns a function that checks the derivatives of `f` at its arguments.

    All float arguments are varied in one random direction; integers and other arguments are passed
    unchanged. `order=2` also checks the derivative of the first derivative. If `f` accepts plain
    arrays, its value on arrays must equal its value on tensors.
    Errors: `GradcheckError`, an `AssertionError` too, that shows both values.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.check_grads(np.sin, order=2)(np.array([0.5, 1.0]))
    """
    chosen = (
        (modes,)
        if isinstance(modes, str)
        else tuple(convert_to_list("check_grads", "modes", modes))
    )
    if not chosen or not all(isinstance(m, str) and m in ("fwd", "rev") for m in chosen):
        raise _make_modes_error(modes, chosen)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ArgumentError(f"check_grads: order is {order!r}; give 1 or more")

    def check(*args: Any, **kwargs: Any) -> None:
        varied = [k for k, a in enumerate(args) if _is_float_tree(a)]
        if not varied:
            raise _make_no_floats_error()

        def call_with_floats(*values: Any) -> Any:
            full = list(args)
            for k, value in zip(varied, values, strict=True):
                full[k] = value
            return f(*full, **kwargs)

        floats = tuple(args[k] for k in varied)
        said = compare_with_arrays.describe_difference(
            lambda: vjp(call_with_floats, *floats)[0], lambda a, k: f(*a, **k), (args, kwargs)
        )
        if said is not None:
            raise CheckError(
                f"check_grads: {get_function_name(f)}: {said}; {compare_with_arrays.CAUSES}"
            )
        random = np.random.default_rng(0)
        _DerivativeChecker(chosen, random, eps, atol, rtol).run(
            get_function_name(f), call_with_floats, floats, order
        )

    return check


def _make_modes_error(modes: Any, chosen: tuple[Any, ...]) -> Exception:
    """The error for unknown modes, usually arguments that were passed in the wrong place."""
    if not any(isinstance(m, str) for m in chosen):
        return ArgumentError(
            f"check_grads: modes is a {type(modes).__name__} without names of modes; give 'fwd',"
            " 'rev' or both, and the arguments to the function that comes back:"
            " check_grads(f)(x)"
        )
    return ArgumentError(f"check_grads: modes is {modes!r}; give 'fwd', 'rev' or both")


def _make_no_floats_error() -> Exception:
    """The error if no argument consists of floats."""
    return ArgumentError("check_grads: no argument is made of floats; pass float arrays")


def _is_float_tree(value: Any) -> bool:
    leaves, _ = flatten(value)
    return bool(leaves) and all(
        type(leaf) in (float, complex)
        or (isinstance(leaf, Tensor | np.ndarray | np.inexact) and leaf.dtype.kind in "fc")
        for leaf in leaves
    )


class _DerivativeChecker:
    def __init__(
        self,
        modes: tuple[str, ...],
        random: np.random.Generator,
        eps: float,
        atol: float,
        rtol: float,
    ) -> None:
        self.modes = modes
        self.random = random
        self.eps, self.atol, self.rtol = eps, atol, rtol

    def run(self, name: str, f: Callable[..., Any], args: tuple[Any, ...], order: int) -> None:
        """Checks one order, then the next order with the derivatives as functions.

        A derivative is a function of the arguments and of its direction or weights; both are
        varied.
        """
        for mode in self.modes:
            direction = self._make_random_like(args)
            slope = self._compute_numeric(f, args, direction)
            weights = self._make_random_like(slope)
            expected = _dot(weights, slope)
            if mode == "fwd":
                along = direction
                found = _dot(weights, jvp(f, args, direction)[1])
            else:
                along = (weights,)
                found = _dot(vjp(f, *args)[1](weights), direction)
            self._compare(mode, name, expected, found)
            if order > 1:
                label = f"{'jvp' if mode == 'fwd' else 'vjp'}_{name}"
                derivative = self._make_derivative(f, mode, len(args))
                self.run(label, derivative, (*args, *along), order - 1)

    @staticmethod
    def _make_derivative(f: Callable[..., Any], mode: str, count: int) -> Callable[..., Any]:
        if mode == "fwd":
            return lambda *values: jvp(f, values[:count], values[count:])[1]
        return lambda *values: vjp(f, *values[:count])[1](values[count])

    def _make_random_like(self, value: Any) -> Any:
        """Random numbers of the same structure and shapes."""
        return _map_leaves(self._draw_normal, value)

    def _draw_normal(self, leaf: Any) -> Any:
        numbers = self.random.standard_normal(np.shape(leaf))
        if np.iscomplexobj(_to_array(leaf)):
            numbers = numbers + 1j * self.random.standard_normal(np.shape(leaf))
        return numbers

    def _compute_numeric(self, f: Callable[..., Any], args: Any, direction: Any) -> Any:
        """The change of the results in a direction by central differences, in float64."""
        with no_grad():
            high = f(*_perturb(args, direction, self.eps))
            low = f(*_perturb(args, direction, -self.eps))
        return _map_leaves(lambda a, b: (_to_array(a) - _to_array(b)) / (2 * self.eps), high, low)

    def _compare(self, mode: str, name: str, expected: float, found: float) -> None:
        scale = max(abs(expected), abs(found))
        if not abs(expected - found) <= self.atol + self.rtol * scale:
            which = "forward derivative (JVP)" if mode == "fwd" else "reverse derivative (VJP)"
            remedy = "correct the rule, or check where the function is smooth"
            if math.isnan(found):
                remedy = "inside fg.detect_anomaly() the operation that makes NaN is named"
            raise CheckError(
                f"check_grads: the {which} check of {name} failed: the rule gives {found:.9g} along"
                f" a random direction, finite differences give {expected:.9g}; {remedy}"
            )


def _to_array(leaf: Any) -> Any:
    return leaf.detach().numpy() if isinstance(leaf, Tensor) else np.asarray(leaf)


def _map_leaves(function: Callable[..., Any], *values: Any) -> Any:
    """Applies a function to corresponding leaves."""
    columns: list[list[Any]] = []
    tree = None
    for value in values:
        leaves, tree = flatten(value)
        columns.append(leaves)
    assert tree is not None
    return tree.unflatten(function(*row) for row in zip(*columns, strict=True))


def _perturb(args: Any, direction: Any, step: float) -> Any:
    """The arguments after a step, as tensors, as a transform passes them to the function."""
    return _map_leaves(
        lambda leaf, along: _make_perturbed(leaf, _to_double(leaf) + step * along), args, direction
    )


def _make_perturbed(leaf: Any, moved: Any) -> Any:
    """A tensor for a changed argument; for a number it is a value."""
    made = tensor(moved)
    return made if isinstance(leaf, Tensor | np.ndarray) else made[()]


def _to_double(leaf: Any) -> Any:
    plain = np.asarray(_to_array(leaf))
    return plain.astype(np.complex128 if np.iscomplexobj(plain) else np.float64)


def _dot(one: Any, other: Any) -> float:
    """The real part of the sum of products of two nested values."""
    products = _map_leaves(lambda a, b: float(np.sum(_to_array(a) * _to_array(b)).real), one, other)
    return float(sum(flatten(products)[0]))
