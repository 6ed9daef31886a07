"""`numpy.fft` for arrays; for tensors that require grad it says why there is no derivative."""

import functools
from collections.abc import Callable
from typing import Any

import numpy

from ferrograd._core import Tensor, is_grad_enabled
from ferrograd.errors import NotDifferentiableError


def _guarded(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def transform(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, Tensor):
            return theirs(a, *args, **kwargs)
        if a.requires_grad and is_grad_enabled():
            raise NotDifferentiableError(
                f"numpy.fft.{theirs.__name__}: Fourier transforms have complex values, and there"
                " are no complex tensors; write the transform as a product with the matrices of"
                " cosines and sines, or pass t.detach()"
            )
        return theirs(a.numpy(), *args, **kwargs)

    return transform


_names = {name: _guarded(getattr(numpy.fft, name)) for name in numpy.fft.__all__}
globals().update(_names)
__all__ = sorted(_names)


def __getattr__(name: str) -> Any:
    """Every other name is NumPy's."""
    return getattr(numpy.fft, name)
