"""Derivatives for plain functions of arrays: `primitive` and `defvjp`.

Invariant: the function gets only arrays. A rule gets arrays for a first derivative, and tensors if
the derivative is differentiated again.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, MutableMapping
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ferrograd._core import Function, FunctionContext, Tensor, is_grad_enabled, tensor
from ferrograd._dispatch.detach import detach_tensors
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd._tensor.pytree import copy_arrays
from ferrograd._tensor.vector_space import VSpace, vspace
from ferrograd.errors import ArgumentTypeError, NotDifferentiableError

#: Makes the pullback of one argument: `rule(ans, *args, **kwargs)` gives `g -> gradient`.
Rule = Callable[..., Callable[[Any], Any]]

#: The class of values that are recorded.
Box = Tensor

__all__ = [
    "Box",
    "Primitive",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "primitive_vjps",
    "register_notrace",
    "vspace",
]


class Primitive:
    """A function of arrays that is one operation to differentiation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise ArgumentTypeError(
                f"primitive: got a {type(function).__name__}; decorate a function of arrays"
            )
        self.function = function
        self.rules: dict[int, Rule | None]
        self.rules = _PENDING_RULES.pop(function, {}) if isinstance(function, FunctionType) else {}
        #: Forward rules: `rule(g, ans, *args, **kwargs)` gives the change of the result.
        self.forward_rules: dict[int, Callable[..., Any] | None] = {}
        #: Makes the pullback of several arguments at once; used for missing rules.
        self.joint: Callable[..., Callable[[Any], Any]] | None = None
        #: The forward rule of several arguments at once; used for missing ones.
        self.forward_joint: Callable[..., Any] | None = None
        functools.update_wrapper(self, function)
        _PRIMITIVES.add(self)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """As a method: the object is the first argument."""
        return self if owner is None else functools.partial(self, owner)

    def __repr__(self) -> str:
        return f"<primitive {self._name}>"

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", "function"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself for arrays; one recorded operation where an argument is a tensor."""
        if not any(isinstance(a, Tensor) for a in args):
            if is_grad_enabled():
                self._check_no_hidden_tensors(args, kwargs)
            return self.function(*args, **kwargs)
        if is_grad_enabled():
            self._check_no_hidden_tensors(args, kwargs)
            for i, a in enumerate(args):
                if _requires_grad(a) and not self._has_rule(i):
                    raise self._make_missing_error(i)
        has_forward = bool(self.forward_rules) or self.forward_joint is not None
        function = _make_named_function(self._name, has_forward)
        return function.apply(_PrimitiveCall(self, kwargs), *args)

    def _has_rule(self, i: int) -> bool:
        joint = self.joint is not None or self.forward_joint is not None
        return joint or i in self.rules or i in self.forward_rules

    def _make_missing_error(self, i: int) -> Exception:
        return NotDifferentiableError(
            f"{self._name}: argument {i} requires grad and has no rule; define one with"
            f" defvjp({self._name}, ..., argnums=[{i}]), or None for a zero derivative"
        )

    def defgrad(self, gradfun: Rule, argnum: int = 0) -> None:
        """`defvjp` for one argument."""
        defvjp(self, gradfun, argnums=[argnum])

    def defvjp(self, vjp: Callable[..., Any], argnum: int = 0) -> None:
        """A rule in one step: `vjp(g, ans, vs, gvs, *args)`, `vs` and `gvs` as `vspace`."""

        def rule(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
            return lambda g: vjp(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        defvjp(self, rule, argnums=[argnum])

    def defvjp_is_zero(self, argnums: tuple[int, ...] | list[int] = (0,)) -> None:
        """Zero derivatives."""
        places = convert_to_list("defvjp_is_zero", "argnums", argnums)
        defvjp(self, *(None for _ in places), argnums=places)

    def pull(
        self, wanted: list[int], ans: Any, args: list[Any], kwargs: dict[str, Any], g: Any
    ) -> Iterator[tuple[int, Any]]:
        """The gradients of the requested arguments, by their own rules or by the joint one."""
        joint = [i for i in wanted if i not in self.rules]
        if joint and self.joint is None:
            raise self._make_missing_error(joint[0])
        for i in wanted:
            rule = self.rules.get(i)
            if rule is not None:
                yield i, rule(ans, *args, **kwargs)(g)
        if self.joint is not None and joint:
            slopes = self.joint(tuple(joint), ans, tuple(args), kwargs)(g)
            yield from zip(joint, slopes, strict=True)

    def push(self, tangents: dict[int, Any], ans: Any, args: list[Any], kwargs: Any) -> Any:
        """The change of the result, by the forward rules of the arguments or by the joint one."""
        own = [i for i in tangents if i in self.forward_rules]
        rest = tuple(i for i in tangents if i not in self.forward_rules)
        changes = []
        for i in own:
            rule = self.forward_rules[i]
            if rule is not None:
                changes.append(rule(tangents[i], ans, *args, **kwargs))
        if rest and self.forward_joint is not None:
            given = tuple(tangents[i] for i in rest)
            changes.append(self.forward_joint(rest, given, ans, tuple(args), kwargs))
        elif rest:
            raise NotDifferentiableError(
                f"{self._name}: argument {rest[0]} has no forward rule, and others have; define one"
                f" with defjvp({self._name}, ..., argnums=[{rest[0]}]), or None for a zero"
                " derivative"
            )
        return functools.reduce(_add_changes, changes) if changes else None

    def _check_no_hidden_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises for tensors that require grad in keywords or containers: rules do not see them."""
        inside = [a for a in args if isinstance(a, list | tuple | dict)]
        if (inside or kwargs) and any(map(_requires_grad, [*inside, *kwargs.values()])):
            raise NotDifferentiableError(
                f"{self._name}: a tensor that requires grad is a keyword argument or inside a"
                " container; pass it as a positional argument of its own"
            )


#: Rules of functions that are not primitives yet.
_PENDING_RULES: WeakKeyDictionary[Callable[..., Any], dict[int, Rule | None]] = WeakKeyDictionary()

#: All primitives.
_PRIMITIVES: WeakSet[Primitive] = WeakSet()


class _RuleTable(MutableMapping[Primitive, Any]):
    """The table of rules: a primitive to its maker, `maker(argnums, ans, args, kwargs)`."""

    def __getitem__(self, function: Primitive) -> Callable[..., Callable[[Any], Any]]:
        if not isinstance(function, Primitive) or not (function.rules or function.joint):
            raise KeyError(function)
        if function.joint is not None and not function.rules:
            return function.joint
        rules = dict(function.rules)

        def maker(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
            known = [rules[k] for k in argnums]
            pulls = [None if rule is None else rule(ans, *args, **kwargs) for rule in known]
            return lambda g: tuple(None if pull is None else pull(g) for pull in pulls)

        return maker

    def __setitem__(self, function: Primitive, maker: Callable[..., Callable[[Any], Any]]) -> None:
        function.rules.clear()
        defvjp_argnums(function, maker)

    def __delitem__(self, function: Primitive) -> None:
        self[function]
        function.rules.clear()
        function.joint = None

    def __iter__(self) -> Iterator[Primitive]:
        return (p for p in list(_PRIMITIVES) if p.rules or p.joint)

    def __len__(self) -> int:
        return sum(1 for _ in self)


#: The rules of all primitives; entries may be read, replaced and removed.
primitive_vjps = _RuleTable()


class _PrimitiveCall:
    """A primitive and the keyword arguments of one call."""

    __slots__ = ("kwargs", "primitive")

    def __init__(self, primitive: Primitive, kwargs: dict[str, Any]) -> None:
        self.primitive = primitive
        self.kwargs = detach_tensors(kwargs)

    def __repr__(self) -> str:
        given = (f"{name}={value!r:.40}" for name, value in self.kwargs.items())
        return f"{self.primitive._name}({', '.join(given)})"


class _PrimitiveFunction(Function):
    """The recorded operation of a call of a primitive."""

    @staticmethod
    def forward(ctx: FunctionContext, bound: _PrimitiveCall, *args: Any) -> Any:
        """Runs the function on arrays."""
        out = bound.primitive.function(*map(detach_tensors, args), **bound.kwargs)
        several = isinstance(out, list | tuple)
        outs = tuple(tensor(o) for o in out) if several else (tensor(out),)
        tensors = [a for a in args if isinstance(a, Tensor)]
        ctx.save_for_backward(*tensors, *outs)
        if any(ctx.needs_input_grad):
            bound = _PrimitiveCall(bound.primitive, copy_arrays(bound.kwargs))
        ctx.bound = bound
        ctx.args = tuple(None if isinstance(a, Tensor) else copy_arrays(a) for a in args)
        ctx.places = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        ctx.several = type(out) if several else None
        return outs if several else outs[0]

    @staticmethod
    def backward(ctx: FunctionContext, *grads: Any) -> Any:
        """Calls the rules of the arguments that need a gradient."""
        see: Callable[[Any], Any] = (lambda t: t) if is_grad_enabled() else detach_tensors
        saved = [see(t) for t in ctx.saved_tensors]
        args = _restore_args(ctx, saved)
        answers, gradients = saved[len(ctx.places) :], [see(g) for g in grads]
        ans = answers[0] if ctx.several is None else tuple(answers)
        gradients = [_convert_convention(g) for g in gradients]
        g = gradients[0] if ctx.several is None else tuple(gradients)
        bound = ctx.bound
        found: list[Any] = [None] * (len(args) + 1)
        wanted = [i for i in ctx.places if ctx.needs_input_grad[i + 1]]
        for i, slope in bound.primitive.pull(wanted, ans, args, bound.kwargs, g):
            found[i + 1] = _convert_convention(slope)
        return tuple(found)


def _restore_args(ctx: FunctionContext, saved: list[Any]) -> list[Any]:
    """The arguments of the call, from the saved values that come first."""
    args = list(ctx.args)
    for place, value in zip(ctx.places, saved[: len(ctx.places)], strict=True):
        args[place] = value
    return args


class _ForwardPrimitiveFunction(_PrimitiveFunction):
    """The recorded operation of a call of a primitive with forward rules."""

    @staticmethod
    def jvp(ctx: FunctionContext, _bound: Any, *tangents: Any) -> Any:
        """Calls the forward rules of the arguments that have a tangent."""
        saved = list(ctx.saved_tensors)
        if not any(t.requires_grad for t in (*saved, *tangents) if isinstance(t, Tensor)):
            saved, tangents = detach_tensors(saved), detach_tensors(tangents)
        args = _restore_args(ctx, saved)
        answers = saved[len(ctx.places) :]
        ans = answers[0] if ctx.several is None else tuple(answers)
        given = {i: tangents[i] for i in ctx.places if ctx.needs_input_grad[i + 1]}
        bound = ctx.bound
        change = bound.primitive.push(given, ans, args, bound.kwargs)
        if change is None and ctx.several is not None:
            return (None,) * len(answers)
        return change


def _add_changes(a: Any, b: Any) -> Any:
    if isinstance(a, list | tuple):
        return tuple(map(_add_changes, a, b))
    return a + b


@functools.cache
def _make_named_function(name: str, has_forward: bool) -> type[_PrimitiveFunction]:
    """The class of the operation with a primitive's name, which graphs and errors show."""
    base = _ForwardPrimitiveFunction if has_forward else _PrimitiveFunction
    return type(name, (base,), {})


def _convert_convention(g: Any) -> Any:
    """Converts between the engine's convention for complex gradients and that of rules."""
    if isinstance(g, complex) or getattr(getattr(g, "dtype", None), "kind", "") == "c":
        return g.conjugate()
    return g


def primitive(function: Callable[..., Any]) -> Primitive:
    """Makes a function of arrays an operation; define its derivatives with `defvjp`.

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
    """Defines the derivatives of a primitive: one rule for each argument, or each of `argnums`.

    A rule takes the result and the arguments, and returns the function from the gradient of the
    result to the gradient of its argument. None means that the derivative is zero. A rule written
    with differentiable functions can be differentiated again. Complex gradients follow the
    convention of `fg.grad` and HIPS autograd: `g * slope` for a function with a complex derivative.
    """
    if not isinstance(function, Primitive | FunctionType):
        raise ArgumentTypeError(
            f"defvjp: the first argument is a {type(function).__name__}; decorate the function with"
            " @primitive first"
        )
    places = _match_places("defvjp", rules, argnums)
    for rule in rules:
        if rule is not None and not callable(rule):
            raise ArgumentTypeError(
                f"defvjp: a rule is a {type(rule).__name__}; give a function or None"
            )
    found = dict(zip(places, rules, strict=True))
    if isinstance(function, Primitive):
        function.rules.update(found)
        return
    # HIPS autograd takes rules of a plain function, too.
    warnings.warn(
        f"defvjp: {function.__name__} is no primitive, so its rules are not used before"
        f" primitive({function.__name__}) makes one of it; decorate it with @primitive",
        stacklevel=2,
    )
    _PENDING_RULES.setdefault(function, {}).update(found)


def defvjp_argnum(function: Primitive, maker: Callable[..., Callable[[Any], Any]]) -> None:
    """Defines all derivatives: `maker(argnum, ans, args, kwargs)` gives a pullback."""

    def joint(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        pulls = [maker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: tuple(pull(g) for pull in pulls)

    defvjp_argnums(function, joint)


def defvjp_argnums(function: Primitive, maker: Callable[..., Callable[[Any], Any]]) -> None:
    """Defines all derivatives together: `maker(argnums, ans, args, kwargs)(g)`."""
    if not isinstance(function, Primitive) or not callable(maker):
        raise ArgumentTypeError(
            f"defvjp_argnums: got a {type(function).__name__} and a {type(maker).__name__}; give a"
            " @primitive and a function"
        )
    function.joint = maker


def defjvp(
    function: Primitive,
    *rules: Callable[..., Any] | str | None,
    argnums: list[int] | tuple[int, ...] | None = None,
) -> None:
    """Defines forward rules of a primitive: one for each argument, or each of `argnums`.

    `rule(g, ans, *args, **kwargs)` gives the change of the result for the change `g` of its
    argument. None means that the derivative is zero, and "same" that the function is linear in the
    argument: its change is the function of the change. Without forward rules, forward mode uses
    those of `defvjp`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> @fg.extend.primitive
    ... def square(x):
    ...     return x * x
    >>> fg.extend.defjvp(square, lambda g, ans, x: 2 * x * g)
    >>> fg.jvp(square, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    _check_primitive("defjvp", function)
    places = _match_places("defjvp", rules, argnums)
    for place, rule in zip(places, rules, strict=True):
        if rule == "same":
            function.forward_rules[place] = _make_linear_rule(function, place)
        elif rule is None or callable(rule):
            function.forward_rules[place] = rule
        else:
            raise ArgumentTypeError(
                f'defjvp: a rule is a {type(rule).__name__}; give a function, "same" or None'
            )


def defjvp_argnum(function: Primitive, maker: Callable[..., Any]) -> None:
    """Defines all forward rules: `maker(argnum, g, ans, args, kwargs)` gives a change."""

    def joint(argnums: Any, gs: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        pairs = zip(argnums, gs, strict=True)
        changes = [maker(argnum, g, ans, args, kwargs) for argnum, g in pairs]
        return functools.reduce(_add_changes, changes)

    defjvp_argnums(function, joint)


def defjvp_argnums(function: Primitive, maker: Callable[..., Any]) -> None:
    """Defines all forward rules together: `maker(argnums, gs, ans, args, kwargs)`."""
    _check_primitive("defjvp_argnums", function)
    if not callable(maker):
        raise ArgumentTypeError(
            f"defjvp_argnums: the rule is a {type(maker).__name__}; give a function"
        )
    function.forward_joint = maker


def def_linear(function: Primitive) -> None:
    """Says that a primitive is linear in each of its arguments: forward rules follow from it."""
    _check_primitive("def_linear", function)

    def push(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return _make_linear_rule(function, argnum)(g, ans, *args, **kwargs)

    defjvp_argnum(function, push)


def _make_linear_rule(function: Primitive, place: int) -> Callable[..., Any]:
    def push(g: Any, _ans: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args[:place], g, *args[place + 1 :], **kwargs)

    return push


def _match_places(op: str, rules: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    """The number of the argument that each rule is for."""
    places = range(len(rules)) if argnums is None else convert_to_list(op, "argnums", argnums)
    if len(places) != len(rules):
        raise ArgumentTypeError(
            f"{op}: {len(rules)} rules for {len(places)} argnums; give one rule for each"
        )
    return tuple(places)


def _check_primitive(op: str, function: Any) -> None:
    if not isinstance(function, Primitive):
        raise ArgumentTypeError(
            f"{op}: the first argument is a {type(function).__name__}; decorate the function with"
            " @primitive first"
        )


def notrace_primitive(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results have no derivative: it gets arrays, and nothing is recorded."""

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        return function(*detach_tensors(args), **detach_tensors(kwargs))

    return apply


def register_notrace(trace_type: Any, function: Any) -> None:
    """Does nothing: `notrace_primitive` has already registered the function."""


def _requires_grad(value: Any) -> bool:
    if isinstance(value, Tensor):
        return bool(value.requires_grad)
    if isinstance(value, dict):
        return any(map(_requires_grad, dict.values(value)))
    # Read the elements directly: a subclass may define another, even endless, iteration.
    kind = next((kind for kind in (list, tuple) if isinstance(value, kind)), None)
    return kind is not None and any(map(_requires_grad, kind.__iter__(value)))
