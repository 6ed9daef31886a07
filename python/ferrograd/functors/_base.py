"""`AutogradFunction`: the base of every functor (document 001).

Invariant: a result requires grad if this thread records and any input requires grad. Otherwise no
node is made, but a graph scope still lists the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ferrograd._core import Tensor, _depends_on, _run, is_grad_enabled
from ferrograd.errors import ArgumentTypeError, CycleError, GradientError
from ferrograd.functors._functor_node import (
    Backward,
    Op,
    check_callable,
    check_tensors,
    get_registered_class,
)


class AutogradFunction:
    """An operation on tensors with its own derivative: subclass it and call the instance.

    A subclass defines static `build_forward(...)`, which ends with a call of `run`, and static
    `build_backward(op)`, which returns one gradient or None for each input. Instances have no
    state.

    >>> import ferrograd as fg
    >>> class Square(fg.functors.AutogradFunction):
    ...     @staticmethod
    ...     def build_forward(x, name=None):
    ...         return Square.run([x], None, lambda: x * x, name=name)
    ...     @staticmethod
    ...     def build_backward(op):
    ...         return [2 * op.inputs[0] * op.grad_outputs[0]]
    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> Square()(x).backward()
    >>> x.grad.item()
    6.0
    """

    build_forward: ClassVar[Callable[..., Tensor]]
    build_backward: ClassVar[Callable[[Op], Any]]

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Calls `build_forward`."""
        build = getattr(type(self), "build_forward", None)
        if build is None:
            raise ArgumentTypeError(
                f"{type(self).__name__}: the functor has no build_forward;"
                " define it as a static method that returns run(...)"
            )
        return build(*args, **kwargs)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @classmethod
    def run(
        cls,
        inputs: Sequence[Tensor],
        attrs: Any,
        forward_fn: Callable[[], Tensor],
        backward_fn: Backward | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Computes one output with `forward_fn()`, unrecorded, and records the call as one node.

        `backward_fn(op)` reads `op.inputs`, `op.outputs`, `op.attrs` and `op.grad_outputs`, and
        returns one gradient or None for each input. The default is the class's `build_backward`.
        The node has the class's name and `attrs` (`out.grad_fn.attrs`); the output has `name`.
        Higher derivatives work if `backward_fn` uses tensor operations on the attributes of `op`.

        Errors: `ArgumentTypeError` for null inputs or functions, `ContractError` if a function
        returns null, `ShapeError` for a wrong number or wrong shapes of gradients.
        """
        if backward_fn is None:
            backward_fn = cls._get_build_backward()
        return _run(cls, inputs, attrs, forward_fn, backward_fn, name)

    @classmethod
    def register_op(
        cls,
        inputs: Sequence[Tensor],
        outputs: Tensor | Sequence[Tensor],
        attrs: Any = None,
        backward_fn: Backward | None = None,
        name: str | None = None,
    ) -> None:
        """Makes one node the producer of outputs that are already computed.

        The rule is as for `run`. The outputs must be fresh: computed without recording, or
        detached. If nothing is recorded, they do not change. `name` names the first output.

        Errors: those of `run`; `CycleError` if an input depends on an output, `GradientError` if an
        output has a producer or is a leaf that requires grad.
        """
        op = f"{cls.__name__}.register_op"
        given, made = check_tensors(op, "inputs", inputs), check_tensors(op, "outputs", outputs)
        if backward_fn is None:
            backward_fn = cls._get_build_backward()
        backward = check_callable(op, "backward_fn", backward_fn)
        _check_outputs(cls.__name__, given, made)
        floats = [y for y in made if y.dtype.kind == "f"]
        if floats:
            call = get_registered_class(cls.__name__)(attrs, len(given), backward)
            call.apply_many(*given, *floats)
        if name is not None and made:
            made[0].name = name

    @classmethod
    def _get_build_backward(cls) -> Backward:
        """The class's rule, for a call without one."""
        rule: Backward | None = getattr(cls, "build_backward", None)
        if rule is None:
            raise ArgumentTypeError(
                f"{cls.__name__}: backward_fn is a NoneType and the functor has no build_backward;"
                " define it as a static method, or pass backward_fn"
            )
        return rule

    @staticmethod
    def any_input_requires_grad(inputs: Iterable[Tensor]) -> bool:
        """Whether some input requires grad; None entries do not."""
        return any(x is not None and x.requires_grad for x in inputs)


def _check_outputs(op: str, inputs: list[Tensor], outputs: list[Tensor]) -> None:
    """Refuses an output on which an input depends, or that is already part of a graph."""
    for k, out in enumerate(outputs):
        for i, x in enumerate(inputs):
            if x is out:
                raise _make_cycle_error(op, f"input {i}", f"output {k}", out)
        if not out.requires_grad:
            continue
        for i, x in enumerate(inputs):
            if _is_dependent(x, out):
                raise _make_cycle_error(op, f"input {i}", f"output {k}", out)
        if not is_grad_enabled():
            continue
        what = "is a leaf that requires grad" if out.is_leaf else f"comes from {out.grad_fn!r}"
        raise GradientError(
            f"register_op: output {k} of {op} {what}; compute it under no_grad(), or pass its"
            " detach()"
        )


def _make_cycle_error(op: str, source: str, target: str, out: Tensor) -> CycleError:
    label = f" ({out.name})" if out.name else ""
    return CycleError(
        f'register_op: an edge from "{op}" to its {source} would close a cycle, because {source}'
        f' depends on "{target}{label}"; build the output from the inputs, not the inputs from the'
        " output"
    )


def _is_dependent(x: Tensor, out: Tensor) -> bool:
    """Whether the graph of `x` reaches `out`."""
    return x.grad_fn is not None and _depends_on(x, out)
