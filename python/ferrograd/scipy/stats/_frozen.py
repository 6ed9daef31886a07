"""Distributions with fixed parameters."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._computed_by_scipy import library

#: The differentiable methods of distributions.
_OWN = {
    "logpdf",
    "pdf",
    "logpmf",
    "pmf",
    "cdf",
    "logcdf",
    "sf",
    "logsf",
    "ppf",
    "isf",
    "interval",
    "entropy",
}


class Frozen:
    """A distribution with fixed parameters: its methods take only the point.

    Other methods are SciPy's, on arrays. Errors: `AttributeError` for such a method if a parameter
    is a tensor.

    >>> from ferrograd.scipy import stats
    >>> round(fg.grad(lambda mean: stats.norm(mean, 2.0).logpdf(1.0))(0.0), 9)
    0.25
    """

    def __init__(self, dist: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.dist, self.name, self.args, self.kwds = dist, name, args, kwargs

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Random numbers with these parameters."""
        asked = {} if size is None else {"size": size}
        return self.dist.rvs(*self.args, random_state=random_state, **asked, **self.kwds)

    def __getattr__(self, name: str) -> Any:
        """A method that takes only the point."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OWN and (name in vars(self.dist) or name in vars(type(self.dist))):
            method = getattr(self.dist, name)
            return lambda *place: method(*place, *self.args, **self.kwds)
        if holds_tensor([*self.args, *self.kwds.values()]):
            raise AttributeError(f"{self.name} with tensors as parameters has no {name!r}")
        return getattr(library(f"stats.{self.name}")(*self.args, **self.kwds), name)


class _Distribution(ModuleType):
    """A module of one distribution that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """The distribution with fixed parameters."""
        return Frozen(self, self.__name__.rsplit(".", 1)[1], args, kwargs)


def make_callable(module: str) -> None:
    """Lets a module of a distribution be called with its parameters."""
    sys.modules[module].__class__ = _Distribution
