"""Checkpointing: saves memory by computing a part of the forward again in the backward.

Invariant: a repetition draws the same numbers from ferrograd's generators as the first run, and
restores their state.
"""

import functools
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Never, ParamSpec, TypeVar

from ferrograd._core import Tensor, _checkpoint, _records_arrays, is_grad_enabled
from ferrograd._tensor.array_recording import call_as_repetition, call_with_recorded_arrays
from ferrograd._tensor.closures import ClosureSnapshot
from ferrograd._tensor.generator import SavedGeneratorStates
from ferrograd._tensor.pytree import Tree, copy_arrays, flatten
from ferrograd.errors import ArgumentError, ArgumentTypeError

__all__ = ["checkpoint", "run"]

P = ParamSpec("P")
R = TypeVar("R")

#: The context managers of the first run and of the repetition.
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
    """Calls `function(*args, **kwargs)` without keeping the values that it saves for the backward.

    The backward calls it again when it first needs one of the saved values. Arguments, also in
    lists and dicts, then have the values of the first call. Works with `backward` and `grad`, at
    any order and inside other checkpoints.

    Args:
        function: must do the same when it runs again. Arguments and names that it closes over
            have the values of the first call; globals, attributes and containers that it reads
            must not have changed.
        preserve_rng_state: whether the repetition draws the same random numbers.
        early_stop: whether the repetition ends as soon as it has saved what the first run saved.
        use_reentrant: accepted for PyTorch's sake; only False (or None) exists.
        context_fn: returns two context managers, one for the first run and one for the repetition.
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
    return _call_checkpointed(function, args, kwargs, preserve_rng_state, early_stop, contexts)


def _call_checkpointed(
    function: Callable[..., R],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    early_stop: bool,
    contexts: Contexts | None = None,
) -> R:
    run = function if contexts is None else _run_in_context(function, contexts[0])
    if not is_grad_enabled():
        return run(*args, **kwargs)
    if not callable(function):
        raise ArgumentTypeError(
            f"checkpoint: a {type(function).__name__} cannot be called; pass a function"
        )
    leaves: list[Any] = [*args, *kwargs.values()]
    tree: Tree | None = None
    if any(type(value) not in _UNCOPIED_TYPES for value in leaves):
        leaves, tree = flatten((args, kwargs))
        tree = tree.without_items()
    closed: list[Tensor] = []
    recompute = _make_recomputation(
        ClosureSnapshot(function, closed, arrays=True),
        len(closed),
        tree,
        contexts,
        SavedGeneratorStates() if preserve_rng_state else None,
    )
    shown = (x for x in (*closed, *leaves) if isinstance(x, Tensor))
    tensors = [x for x in shown if not x.is_inference()]
    before = [x._version for x in tensors]
    # The copy is kept for the repetition; the first run uses the original.
    given = (args, kwargs) if tree is None else (tuple(map(copy_arrays, leaves)), {})
    first = functools.partial(_call_with_original_arguments, run, args, kwargs)
    result: R = _checkpoint(first, recompute, (*closed, *given[0]), given[1], early_stop)
    _check_no_shared_writes(
        [x for x, version in zip(tensors, before, strict=True) if x._version != version]
    )
    return result


#: Types that are not copied: tensors are saved values, and the others are immutable.
_UNCOPIED_TYPES = frozenset({Tensor, float, int, bool, complex, str, type(None)})


def _make_recomputation(
    function_then: ClosureSnapshot,
    count: int,
    tree: Tree | None,
    contexts: Contexts | None,
    states: SavedGeneratorStates | None,
) -> Callable[..., Any]:
    """Returns the function that the backward pass calls to compute the forward again.

    Its first `count` arguments are the tensors that the original function closes over.
    """
    # The backward pass does not belong to a transform.
    mark = call_with_recorded_arrays if _records_arrays() else call_as_repetition

    def recompute(*values: Any, **kwargs: Any) -> Any:
        function, args = function_then.build(values[:count]), values[count:]
        if tree is not None:
            args, kwargs = tree.unflatten(args)
        if contexts is not None:
            function = _run_in_context(function, contexts[1])
        if states is None:
            return mark(function, *args, **kwargs)
        before = SavedGeneratorStates()
        states.restore()
        try:
            return mark(function, *args, **kwargs)
        finally:
            before.restore()

    return recompute


def _call_with_original_arguments(
    function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], /, *_: Any, **__: Any
) -> R:
    """Calls a function with the given arguments; ignores the further ones."""
    return function(*args, **kwargs)


def _get_memory_range(x: Tensor) -> tuple[int, int]:
    """The addresses of the first byte and of the byte after the last one."""
    reach = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    first = x.data_ptr() + sum(min(r, 0) for r in reach)
    return first, first + sum(map(abs, reach)) + x.itemsize * bool(x.size)


def _check_no_shared_writes(written: list[Tensor]) -> None:
    """Raises if the function wrote to tensors that share memory: their copies do not."""
    extents = sorted(_get_memory_range(x) for x in written) if len(written) > 1 else []
    if any(end > start for (_, end), (start, _) in itertools.pairwise(extents)):
        raise ArgumentError(
            "checkpoint: the function writes to memory that two tensors show, which it is given or"
            " closes over; pass one of them, and make views of it inside"
        )


def _run_in_context(
    function: Callable[..., R], context: AbstractContextManager[Any]
) -> Callable[..., R]:
    def call_in_context(*args: Any, **kwargs: Any) -> R:
        with context:
            return function(*args, **kwargs)

    return call_in_context


def checkpoint(function: Callable[P, R], *args: Never, **kwargs: Never) -> Callable[P, R]:
    """Returns a function that calls `function` with a checkpoint.

    Pass only the function; `fg.autograd.checkpoint(f, x)` calls it at once.
    Errors: `ArgumentTypeError` for anything else.

    ```python
    import ferrograd as fg
    block = fg.checkpoint(lambda x: (x.exp() + 1).log())
    gradient = fg.grad(lambda x: block(x).sum())(fg.ones(4))
    ```
    """
    if args or kwargs or not callable(function):
        raise ArgumentTypeError(
            f"checkpoint: it was given {_describe_arguments(function, args, kwargs)}; for a call at"
            " once use fg.autograd.checkpoint(f, x), for a checkpointed function fg.checkpoint(f)"
        )

    @functools.wraps(function)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        return _call_checkpointed(function, args, kwargs, True, True)

    return checkpointed


def _describe_arguments(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if not callable(function):
        return f"a {type(function).__name__} instead of a function"
    return f"arguments beside the function ({len(args) + len(kwargs)})"
