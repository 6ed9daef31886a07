"""Derivatives for plain functions of arrays: `primitive` and `defvjp`.

Owns: the face by which a NumPy function becomes an operation with rules of its own. Never records:
it is a `Function` like any other.
Invariant: the function sees arrays only; a rule sees arrays in a first derivative and tensors when
the derivative is itself differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ferrograd._core import Function, FunctionContext, Tensor, is_grad_enabled, tensor
from ferrograd._detached import detached
from ferrograd.errors import ArgumentTypeError, NotDifferentiableError

#: Makes the pullback of one argument: `rule(ans, *args, **kwargs)` gives `g -> gradient`.
Rule = Callable[..., Callable[[Any], Any]]

__all__ = ["Primitive", "defvjp", "primitive"]


class Primitive:
    """A function of arrays that is one operation to differentiation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise ArgumentTypeError(
                f"primitive: got a {type(function).__name__}; decorate a function of arrays"
            )
        self.function = function
        self.rules: dict[int, Rule | None] = {}
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<primitive {self._name}>"

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", "function"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself for arrays; one recorded operation where an argument is a tensor."""
        if not any(isinstance(a, Tensor) for a in args):
            if is_grad_enabled():
                self._refuse_hidden(args, kwargs)
            return self.function(*args, **kwargs)
        if is_grad_enabled():
            self._refuse_hidden(args, kwargs)
            for i, a in enumerate(args):
                if isinstance(a, Tensor) and a.requires_grad and i not in self.rules:
                    raise NotDifferentiableError(
                        f"{self._name}: argument {i} requires grad and has no rule; define one with"
                        f" defvjp({self._name}, ..., argnums=[{i}]), or None for a zero derivative"
                    )
        return _Call.apply(_Bound(self, kwargs), *args)

    def _refuse_hidden(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Rules see positional arguments; a gradient anywhere else would be lost."""
        inside = [a for a in args if isinstance(a, list | tuple | dict)]
        if (inside or kwargs) and any(map(_recorded, [*inside, *kwargs.values()])):
            raise NotDifferentiableError(
                f"{self._name}: a tensor that requires grad is a keyword argument or inside a"
                " container; pass it as a positional argument of its own"
            )


class _Bound:
    """A primitive and the keyword arguments of one call."""

    __slots__ = ("kwargs", "primitive")

    def __init__(self, primitive: Primitive, kwargs: dict[str, Any]) -> None:
        self.primitive = primitive
        self.kwargs = detached(kwargs)


class _Call(Function):
    """The operation that every call of every primitive is."""

    @staticmethod
    def forward(ctx: FunctionContext, bound: _Bound, *args: Any) -> Any:
        """Runs the function on arrays."""
        out = bound.primitive.function(*map(detached, args), **bound.kwargs)
        several = isinstance(out, list | tuple)
        outs = tuple(tensor(o) for o in out) if several else (tensor(out),)
        tensors = [a for a in args if isinstance(a, Tensor)]
        ctx.save_for_backward(*tensors, *outs)
        ctx.bound = bound
        ctx.args = tuple(None if isinstance(a, Tensor) else a for a in args)
        ctx.places = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        ctx.several = type(out) if several else None
        return outs if several else outs[0]

    @staticmethod
    def backward(ctx: FunctionContext, *grads: Any) -> Any:
        """Asks the rules of the arguments that need a gradient."""
        see: Callable[[Any], Any] = (lambda t: t) if is_grad_enabled() else detached
        saved = [see(t) for t in ctx.saved_tensors]
        count = len(ctx.places)
        args = list(ctx.args)
        for place, value in zip(ctx.places, saved[:count], strict=True):
            args[place] = value
        answers, gradients = saved[count:], [see(g) for g in grads]
        ans = answers[0] if ctx.several is None else tuple(answers)
        g = gradients[0] if ctx.several is None else tuple(gradients)
        bound = ctx.bound
        found: list[Any] = [None] * (len(args) + 1)
        for i in ctx.places:
            rule = bound.primitive.rules.get(i)
            if rule is not None and ctx.needs_input_grad[i + 1]:
                found[i + 1] = rule(ans, *args, **bound.kwargs)(g)
        return tuple(found)


def primitive(function: Callable[..., Any]) -> Primitive:
    """Makes a function of arrays an operation; `defvjp` gives it derivatives.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> @fg.extend.primitive
    ... def square(x):
    ...     return x * x
    >>> fg.extend.defvjp(square, lambda ans, x: lambda g: 2 * x * g)
    >>> fg.grad(square)(3.0)
    6.0
    """
    return Primitive(function)


def defvjp(
    function: Primitive, *rules: Rule | None, argnums: list[int] | tuple[int, ...] | None = None
) -> None:
    """Defines the derivatives of a primitive, one rule for each argument in turn or of `argnums`.

    A rule takes the answer and the arguments and returns the function from the gradient of the
    answer to that of its argument; None means that the derivative is zero. A rule written with
    differentiable functions can be differentiated again.
    """
    if not isinstance(function, Primitive):
        raise ArgumentTypeError(
            f"defvjp: the first argument is a {type(function).__name__}; decorate the function with"
            " @primitive first"
        )
    places = tuple(range(len(rules))) if argnums is None else tuple(argnums)
    if len(places) != len(rules):
        raise ArgumentTypeError(
            f"defvjp: {len(rules)} rules for {len(places)} argnums; give one rule for each"
        )
    for rule in rules:
        if rule is not None and not callable(rule):
            raise ArgumentTypeError(
                f"defvjp: a rule is a {type(rule).__name__}; give a function or None"
            )
    function.rules.update(zip(places, rules, strict=True))


def _recorded(value: Any) -> bool:
    if isinstance(value, Tensor):
        return bool(value.requires_grad)
    if isinstance(value, dict):
        return any(map(_recorded, value.values()))
    return isinstance(value, list | tuple) and any(map(_recorded, value))
