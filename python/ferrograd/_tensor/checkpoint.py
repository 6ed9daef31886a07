"""Checkpointing: trade time for memory by computing a part of the forward again in the backward.

Owns: `checkpoint` in both spellings and the random state of the repetition. Never keeps tensors:
the core keeps the arguments as saved values. Invariant: a repetition draws the same numbers from
ferrograd's generators as the first run, and leaves them as it found them.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Never, ParamSpec, TypeVar

from ferrograd._core import Tensor, _checkpoint, _records_arrays, is_grad_enabled
from ferrograd._tensor.generator import SavedStates
from ferrograd._tensor.recorded_arrays import recording, repeating
from ferrograd._tensor.tree import flatten, kept
from ferrograd.errors import ArgumentTypeError

__all__ = ["checkpoint", "run"]

P = ParamSpec("P")
R = TypeVar("R")

#: Around the first run and around the repetition.
Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def run(
    function: Callable[..., R],
    /,
    *args: Any,
    preserve_rng_state: bool = True,
    early_stop: bool = True,
    use_reentrant: bool | None = False,
    context_fn: Callable[[], Contexts] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> R:
    """Calls `function(*args, **kwargs)` and keeps nothing of what it saves for the backward.

    The backward calls it again, with the arguments as they were, also in lists and dicts, when it
    first needs one of the saved values. Works with `backward` and `grad`, at any order and inside
    other checkpoints.

    Args:
        function: must do the same when it runs again. What it reads besides its arguments must not
            have changed.
        preserve_rng_state: whether the repetition draws the same random numbers.
        early_stop: whether the repetition ends as soon as it has saved what the first run saved.
        use_reentrant: accepted for PyTorch's sake; only False (or None) exists.
        context_fn: returns two context managers, one around the first run, one around the
            repetition.
        determinism_check, debug: accepted for PyTorch's sake; the tensors that the repetition saves
            are always compared with those of the first run, and the error names both.

    Raises:
        ArgumentError: in the backward, when the repetition saves other tensors than the first run.

    ```python
    import ferrograd as fg
    x = fg.ones(4, requires_grad=True)
    y = fg.autograd.checkpoint(lambda x: (x.exp() + 1).log(), x)
    y.sum().backward()
    ```
    """
    del determinism_check, debug
    if use_reentrant:
        raise NotImplementedError(
            "checkpoint: use_reentrant=True is not supported, it would break grad() and nested"
            " checkpoints; pass use_reentrant=False or leave it out"
        )
    contexts = None if context_fn is None else context_fn()
    return _call(function, args, kwargs, preserve_rng_state, early_stop, contexts)


def _call(
    function: Callable[..., R],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    early_stop: bool,
    contexts: Contexts | None = None,
) -> R:
    again: Callable[..., R] = function
    if contexts is not None:
        function, again = _inside(function, contexts[0]), _inside(function, contexts[1])
    if not is_grad_enabled():
        return function(*args, **kwargs)
    # The backward pass, which repeats it, is no part of a transform.
    again = _marked(again)
    repeated = again
    if preserve_rng_state:
        states = SavedStates()

        def again(*args: Any, **kwargs: Any) -> R:
            before = SavedStates()
            states.restore()
            try:
                return repeated(*args, **kwargs)
            finally:
                before.restore()

    if all(type(value) in _PLAIN for value in (*args, *kwargs.values())):
        result: R = _checkpoint(function, again, args, kwargs, early_stop)
        return result
    return _nested(function, again, args, kwargs, early_stop)


#: What is kept as it is: tensors are saved values, and the others do not change.
_PLAIN = frozenset({Tensor, float, int, bool, complex, str, type(None)})


def _nested(
    function: Callable[..., R],
    again: Callable[..., R],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    early_stop: bool,
) -> R:
    """A call whose arguments hold tensors or arrays: they are kept as they are now."""
    leaves: list[Any] = []
    tree = flatten((args, kwargs), leaves)
    tree.forget()

    def first(*_: Any) -> R:
        return function(*args, **kwargs)

    def repeated(*leaves: Any) -> R:
        args, kwargs = tree.build(iter(leaves))
        return again(*args, **kwargs)

    result: R = _checkpoint(first, repeated, tuple(map(kept, leaves)), {}, early_stop)
    return result


def _marked(function: Callable[..., R]) -> Callable[..., R]:
    mark = recording if _records_arrays() else repeating

    def again(*args: Any, **kwargs: Any) -> R:
        result: R = mark(function, *args, **kwargs)
        return result

    return again


def _inside(function: Callable[..., R], context: AbstractContextManager[Any]) -> Callable[..., R]:
    def inside(*args: Any, **kwargs: Any) -> R:
        with context:
            return function(*args, **kwargs)

    return inside


def checkpoint(function: Callable[P, R], *args: Never, **kwargs: Never) -> Callable[P, R]:
    """`function`, each call of which is checkpointed.

    Takes the function alone; `fg.autograd.checkpoint(f, x)` calls it at once.
    Errors: `ArgumentTypeError` for anything else.

    ```python
    import ferrograd as fg
    block = fg.checkpoint(lambda x: (x.exp() + 1).log())
    gradient = fg.grad(lambda x: block(x).sum())(fg.ones(4))
    ```
    """
    if args or kwargs or not callable(function):
        raise ArgumentTypeError(
            f"checkpoint: it was given {_given(function, args, kwargs)}; for a call at once use"
            " fg.autograd.checkpoint(f, x), for a checkpointed function fg.checkpoint(f)"
        )

    @functools.wraps(function)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        return _call(function, args, kwargs, True, True)

    return checkpointed


def _given(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if not callable(function):
        return f"a {type(function).__name__} instead of a function"
    return f"arguments beside the function ({len(args) + len(kwargs)})"
