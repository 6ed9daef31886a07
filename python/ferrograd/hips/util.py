"""Small helpers under the names of HIPS autograd's `util`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd.hips.misc.flatten import flatten as flatten, flatten_func as flatten_func
from ferrograd.transforms import check_grads


def subvals(x: Sequence[Any], pairs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """The sequence as a tuple, with `value` at `index` for each pair `(index, value)`."""
    new = convert_to_list("subvals", "x", x)
    for index, value in pairs:
        new[index] = value
    return tuple(new)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """The sequence as a tuple, with `v` at index `i`."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function itself."""
    return f


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    verbose: bool = False,
    eps: float = 1e-4,
    rtol: float = 1e-4,
    atol: float = 1e-6,
) -> None:
    """Checks the gradient by the first argument against finite differences."""
    others, options = convert_to_list("quick_grad_check", "extra_args", extra_args), kwargs or {}
    check_grads(lambda x: fun(x, *others, **options), "rev", 1, eps=eps, rtol=rtol, atol=atol)(arg0)
    if verbose:
        print("quick_grad_check: the gradient agrees with finite differences")
