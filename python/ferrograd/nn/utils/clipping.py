"""Norms of gradients, and clipping.

Invariant: gradients change in place, outside the graph; parameters without a gradient are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd import _core, linalg
from ferrograd._core import Tensor
from ferrograd._tensor import creation
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ArgumentTypeError

Tensors = Tensor | Iterable[Tensor]


def list_tensors(op: str, tensors: Any) -> list[Tensor]:
    """One or several tensors as a list; reading stops at the first object of another type."""
    if isinstance(tensors, Tensor):
        return [tensors]
    found = []
    for entry in tensors:
        if not isinstance(entry, Tensor):
            raise ArgumentTypeError(
                f"{op}: a {type(entry).__name__} among the tensors; pass tensors"
            )
        found.append(entry)
    return found


def list_gradients(op: str, parameters: Any) -> list[Tensor]:
    """The existing gradients of one or several parameters."""
    return [p.grad for p in list_tensors(op, parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of order `norm_type` of all tensors as if they were one vector.

    `foreach` changes nothing. Errors: `ArgumentError` for a norm that is not finite, with
    `error_if_nonfinite`.

    >>> import ferrograd as fg
    >>> fg.nn.utils.get_total_norm([fg.tensor([3.0]), fg.tensor([[4.0]])]).item()
    5.0
    """
    given = list_tensors("get_total_norm", tensors)
    order = float(norm_type)
    with no_grad():
        if not given:
            return creation.zeros(())
        norms = [linalg.vector_norm(t, order) for t in given]
        total = linalg.vector_norm(_core.stack(norms), order)
    if error_if_nonfinite and not bool(_core.isfinite(total).item()):
        raise ArgumentError(
            f"get_total_norm: the norm of order {norm_type} is {total.item()}; look for the cause"
            " with fg.autograd.detect_anomaly(), or pass error_if_nonfinite=False"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiplies all gradients by `max_norm / (total_norm + 1e-6)`, if that is below 1.

    >>> import ferrograd as fg
    >>> p = fg.nn.Parameter([1.0])
    >>> p.grad = fg.tensor([4.0])
    >>> fg.nn.utils.clip_grads_with_norm_(p, 1.0, fg.tensor(4.0))
    >>> round(p.grad.item(), 4)
    1.0
    """
    _scale_gradients(list_gradients("clip_grads_with_norm_", parameters), max_norm, total_norm)


def _scale_gradients(gradients: list[Tensor], max_norm: float, total_norm: Tensor) -> None:
    with no_grad():
        share = (float(max_norm) / (total_norm + 1e-6)).clip(max=1.0)
        for grad in gradients:
            grad.mul_(share if grad.dtype is share.dtype else share.astype(grad.dtype))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Shortens all gradients together to a norm of at most `max_norm`; returns the norm before.

    >>> import ferrograd as fg
    >>> p = fg.nn.Parameter([3.0, 4.0])
    >>> (p * p).sum().backward()
    >>> fg.nn.utils.clip_grad_norm_([p], 5.0).item(), p.grad.round(4).tolist()
    (10.0, [3.0, 4.0])
    """
    gradients = list_gradients("clip_grad_norm_", parameters)
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    _scale_gradients(gradients, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limits each element of all gradients to ±`clip_value`.

    >>> import ferrograd as fg
    >>> p = fg.nn.Parameter([3.0, -4.0])
    >>> (p * p).sum().backward()
    >>> fg.nn.utils.clip_grad_value_([p], 7.0)
    >>> p.grad.tolist()
    [6.0, -7.0]
    """
    with no_grad():
        for grad in list_gradients("clip_grad_value_", parameters):
            grad.clip_(-float(clip_value), float(clip_value))
