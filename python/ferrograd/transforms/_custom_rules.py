"""Derivative rules of functions, with JAX's names: `custom_vjp`, `custom_jvp`, `stop_gradient`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Function, FunctionContext, Tensor, _grad, is_grad_enabled, tensor
from ferrograd._tensor.modes import enable_grad
from ferrograd._tensor.pytree import Tree, flatten
from ferrograd.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError
from ferrograd.transforms._argnums import get_function_name


class _CustomRule:
    """A function with a derivative rule of its own."""

    def __init__(self, op: str, function: Callable[..., Any], nondiff_argnums: Any) -> None:
        if not callable(function):
            raise ArgumentTypeError(f"{op}: got a {type(function).__name__}; decorate a function")
        numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums
        self._op = op
        self._function = function
        self._nondiff = tuple(sorted(numbers))
        #: Set while the rule runs, which may call the function itself.
        self._local = threading.local()
        functools.update_wrapper(self, function)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """As a method: the object is the first argument."""
        return self if owner is None else functools.partial(self, owner)

    def __call__(self, *args: Any) -> Any:
        """The function; with the rule if an argument is differentiated."""
        nondiff, rest = self._split(args)
        leaves, tree = flatten(tuple(rest))
        if self._is_inside() or not _is_recorded(leaves):
            return self._function(*args)
        return self._apply(args, nondiff, leaves, tree)

    def _apply(self, args: Sequence[Any], nondiff: list[Any], leaves: list[Any], tree: Tree) -> Any:
        raise NotImplementedError

    def _call_rule(self, rule: Callable[..., Any], *args: Any) -> Any:
        """Calls a rule, in which the function itself is an ordinary one."""
        before = self._is_inside()
        self._local.inside = True
        try:
            return rule(*args)
        finally:
            self._local.inside = before

    def _is_inside(self) -> bool:
        return getattr(self._local, "inside", False)

    def _split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The arguments without a derivative, and the others."""
        bad = [k for k in self._nondiff if not 0 <= k < len(args)]
        if bad:
            raise ArgumentError(
                f"{self._op}: nondiff_argnums names argument {bad[0]}, but"
                f" {get_function_name(self._function)} was called with {len(args)}; name arguments"
                " that are passed"
            )
        return (
            [args[k] for k in self._nondiff],
            [a for k, a in enumerate(args) if k not in self._nondiff],
        )

    def _make_missing_error(self, what: str) -> Exception:
        name = get_function_name(self._function)
        return NotDifferentiableError(
            f"{self._op}: {name} is differentiated and has no rule; define one with {name}.{what}"
        )


def _is_recorded(leaves: Sequence[Any]) -> bool:
    return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves)


def _save_leaves(ctx: FunctionContext, leaves: Sequence[Any]) -> None:
    """Saves the leaves of a container, some of which are no tensors."""
    ctx.constants = [None if isinstance(x, Tensor) else x for x in leaves]
    ctx.save_for_backward(*[x for x in leaves if isinstance(x, Tensor)])


def _restore_leaves(ctx: FunctionContext) -> list[Any]:
    """What `_save_leaves` saved."""
    saved = iter(ctx.saved_tensors)
    return [next(saved) if x is None else x for x in ctx.constants]


class _VjpCall(Function):
    """The results of `fwd` with the gradients of `bwd`."""

    @staticmethod
    def forward(ctx: FunctionContext, rule: Any, count: int, *leaves: Any) -> Any:
        """`leaves` are those of the arguments (`count`), the residuals, and the results."""
        ctx.rule, ctx.count = rule, count
        residuals = leaves[count : count + rule.residual_tree.num_leaves]
        _save_leaves(ctx, residuals)
        outs = leaves[count + len(residuals) :]
        return tuple(o.detach().clone() if isinstance(o, Tensor) else tensor(o) for o in outs)

    @staticmethod
    def backward(ctx: FunctionContext, *grads: Any) -> Any:
        """Calls `bwd`; the residuals get no gradient here, and have their own history."""
        rule = ctx.rule
        slopes = rule.pull(rule.residual_tree.unflatten(_restore_leaves(ctx)), grads)
        rest = len(ctx.needs_input_grad) - 2 - ctx.count
        return (None, None, *slopes, *[None] * rest)


class _VjpRule:
    """`bwd` of one call, with the structures of its values."""

    def __init__(self, owner: custom_vjp, nondiff: list[Any], argument_tree: Tree) -> None:
        self.owner = owner
        self.nondiff = nondiff
        self.argument_tree = argument_tree
        self.residual_tree: Tree
        self.result_tree: Tree

    def pull(self, residuals: Any, grads: Sequence[Any]) -> list[Any]:
        """The gradients of the leaves of the arguments."""
        assert self.owner.bwd is not None
        found = self.owner.bwd(*self.nondiff, residuals, self.result_tree.unflatten(grads))
        name = get_function_name(self.owner)
        children = self.argument_tree.children
        if not isinstance(found, tuple | list) or len(found) != len(children):
            raise ArgumentError(
                f"custom_vjp: the bwd of {name} returned {type(found).__name__}"
                f" of {len(found) if isinstance(found, tuple | list) else 1}; return a tuple with"
                f" one gradient, or None, for each of {len(children)} arguments"
            )
        slopes: list[Any] = []
        for k, (part, tree) in enumerate(zip(found, children, strict=True)):
            if part is None:
                slopes += [None] * tree.num_leaves
                continue
            leaves, own = flatten(part)
            if own != tree:
                raise ArgumentError(
                    f"custom_vjp: the bwd of {name} returned the structure {own} for argument {k},"
                    f" which has {tree}; return gradients in the structure of the argument"
                )
            slopes += leaves
        return slopes


class custom_vjp(_CustomRule):  # noqa: N801  JAX's name
    """A function whose reverse derivative is given by `defvjp(fwd, bwd)`.

    `fwd(*args)` returns the result and residuals; `bwd(residuals, gradient)` returns a tuple with
    one gradient, or None, for each argument. Arguments of `nondiff_argnums` have no derivative, and
    are passed to `bwd` first. Arguments, results and residuals may be containers. Higher
    derivatives go through `fwd` and `bwd`; forward mode transposes `bwd`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> @fg.custom_vjp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> log1pexp.defvjp(
    ...     lambda x: (log1pexp(x), x), lambda x, g: (g * (1 - 1 / (1 + np.exp(x))),)
    ... )
    >>> fg.grad(log1pexp)(100.0)
    1.0
    """

    def __init__(
        self, function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()
    ) -> None:
        super().__init__("custom_vjp", function, nondiff_argnums)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Defines the rule."""
        for name, given in (("fwd", fwd), ("bwd", bwd)):
            if not callable(given):
                raise ArgumentTypeError(
                    f"defvjp: {name} is a {type(given).__name__}; give a function"
                )
        self.fwd, self.bwd = fwd, bwd

    def _apply(self, args: Sequence[Any], nondiff: list[Any], leaves: list[Any], tree: Tree) -> Any:
        if self.fwd is None:
            raise self._make_missing_error("defvjp(fwd, bwd)")
        made = self._call_rule(self.fwd, *args)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentError(
                f"custom_vjp: the fwd of {get_function_name(self)} returned a"
                f" {type(made).__name__}; return the result and the residuals, (result, residuals)"
            )
        rule = _VjpRule(self, nondiff, tree)
        outs, rule.result_tree = flatten(made[0])
        residuals, rule.residual_tree = flatten(made[1])
        outs = [o.detach() if isinstance(o, Tensor) else o for o in outs]
        found = _VjpCall.apply(rule, len(leaves), *leaves, *residuals, *outs)
        return rule.result_tree.unflatten(found)


class _JvpCall(Function):
    """The results of a function with the changes of its rule, transposed for reverse mode."""

    @staticmethod
    def forward(ctx: FunctionContext, rule: Any, *leaves: Any) -> Any:
        """Calls the function."""
        ctx.rule = rule
        _save_leaves(ctx, leaves)
        outs, rule.result_tree = flatten(rule.call(leaves))
        return tuple(o if isinstance(o, Tensor) else tensor(o) for o in outs)

    @staticmethod
    def jvp(ctx: FunctionContext, _rule: Any, *tangents: Any) -> Any:
        """Calls the rule."""
        leaves = _restore_leaves(ctx)
        return tuple(ctx.rule.push(leaves, tangents))

    @staticmethod
    def backward(ctx: FunctionContext, *grads: Any) -> Any:
        """The rule is linear in the tangents: its VJP by them is the VJP of the function."""
        leaves = _restore_leaves(ctx)
        if not is_grad_enabled():
            leaves = [x.detach() if isinstance(x, Tensor) else x for x in leaves]
        needs = ctx.needs_input_grad[1:]
        with enable_grad():
            tangents = [
                tensor(np.zeros(x.shape, x.dtype), requires_grad=need)
                if isinstance(x, Tensor) and x.dtype.kind in "fc"
                else None
                for x, need in zip(leaves, needs, strict=True)
            ]
            changes = ctx.rule.push(leaves, tangents)
            pairs = [
                (c, g)
                for c, g in zip(changes, grads, strict=True)
                if isinstance(c, Tensor) and c.requires_grad
            ]
            wanted = [t for t, need in zip(tangents, needs, strict=True) if need]
            found = iter(
                _grad([c for c, _ in pairs], wanted, [g for _, g in pairs], None, True, True)
                if pairs
                else [None] * len(wanted)
            )
        return (None, *[next(found) if need else None for need in needs])


class _JvpRule:
    """The rule of one call, with the structures of its values."""

    def __init__(
        self, owner: custom_jvp, args: Sequence[Any], nondiff: list[Any], tree: Tree
    ) -> None:
        self.owner = owner
        self.args = args
        self.nondiff = nondiff
        self.tree = tree
        self.result_tree: Tree

    def call(self, leaves: Sequence[Any]) -> Any:
        """The function of the leaves of its differentiated arguments."""
        rest = iter(self.tree.unflatten(leaves))
        own = self.owner
        args = [a if k in own._nondiff else next(rest) for k, a in enumerate(self.args)]
        return own._function(*args)

    def push(self, leaves: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """The changes of the leaves of the results."""
        assert self.owner.rule is not None
        given = [
            t if t is not None else np.zeros(np.shape(x))
            for t, x in zip(tangents, leaves, strict=True)
        ]
        primals, changes = self.tree.unflatten(leaves), self.tree.unflatten(given)
        made = self.owner._call_rule(self.owner.rule, *self.nondiff, primals, changes)
        name = get_function_name(self.owner)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentError(
                f"custom_jvp: the rule of {name} returned a {type(made).__name__}; return the"
                " result and its change, (result, change)"
            )
        parts, tree = flatten(made[1])
        if tree != self.result_tree:
            raise ArgumentError(
                f"custom_jvp: the rule of {name} returned a change of the structure {tree}, and the"
                f" result has {self.result_tree}; return one of the same structure"
            )
        return [c if isinstance(c, Tensor) else tensor(c) for c in parts]


class custom_jvp(_CustomRule):  # noqa: N801  JAX's name
    """A function whose derivative is given by `defjvp(rule)`, for both modes.

    `rule(primals, tangents)` takes two tuples and returns the result and its change, which must be
    linear in the tangents; reverse mode transposes it. `defjvps` takes one rule for each argument
    instead. Arguments of `nondiff_argnums` are passed to the rule first.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> @fg.custom_jvp
    ... def f(x, y):
    ...     return np.sin(x) * y
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     return f(x, y), np.cos(x) * dx * y + np.sin(x) * dy
    >>> fg.grad(f)(0.0, 2.0), fg.jvp(f, (0.0, 2.0), (1.0, 0.0))
    (2.0, (0.0, 2.0))
    """

    def __init__(
        self, function: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()
    ) -> None:
        super().__init__("custom_jvp", function, nondiff_argnums)
        self.rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Defines the rule and returns it, so that it may be a decorator."""
        if not callable(rule):
            raise ArgumentTypeError(f"defjvp: got a {type(rule).__name__}; give a function")
        self.rule = rule
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Defines one rule for each argument: `rule(tangent, result, *primals)`, None for zero."""

        def rule(*given: Any) -> tuple[Any, Any]:
            *_, primals, tangents = given
            result = self(*primals)
            if len(rules) != len(primals):
                raise ArgumentError(
                    f"defjvps: {len(rules)} rules for {len(primals)} arguments; give one rule, or"
                    " None, for each"
                )
            changes = [
                one(t, result, *primals)
                for one, t in zip(rules, tangents, strict=True)
                if one is not None
            ]
            return result, sum(changes[1:], changes[0]) if changes else result * 0

        self.rule = rule

    def _apply(self, args: Sequence[Any], nondiff: list[Any], leaves: list[Any], tree: Tree) -> Any:
        if self.rule is None:
            raise self._make_missing_error("defjvp(rule)")
        rule = _JvpRule(self, args, nondiff, tree)
        found = _JvpCall.apply(rule, *leaves)
        return rule.result_tree.unflatten(found)


def stop_gradient(value: Any) -> Any:
    """The value, or the container of values, as a constant: `x.detach()` for every tensor.

    >>> import ferrograd as fg
    >>> fg.grad(lambda x: x * fg.stop_gradient(x))(3.0)
    3.0
    """
    leaves, tree = flatten(value)
    return tree.unflatten(x.detach() if isinstance(x, Tensor) else x for x in leaves)
