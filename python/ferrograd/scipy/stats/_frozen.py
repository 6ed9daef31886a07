"""Distributions with fixed parameters."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._scipy_primitives import get_scipy_function

#: The differentiable methods of distributions.
_DIFFERENTIABLE_METHODS = {
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


class FrozenDistribution:
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
        if name in _DIFFERENTIABLE_METHODS and (
            name in vars(self.dist) or name in vars(type(self.dist))
        ):
            method = getattr(self.dist, name)
            return lambda *place: method(*place, *self.args, **self.kwds)
        if holds_tensor([*self.args, *self.kwds.values()]):
            raise AttributeError(f"{self.name} with tensors as parameters has no {name!r}")
        return getattr(get_scipy_function(f"stats.{self.name}")(*self.args, **self.kwds), name)


class _DistributionModule(ModuleType):
    """A module of one distribution that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> FrozenDistribution:
        """The distribution with fixed parameters."""
        return FrozenDistribution(self, self.__name__.rsplit(".", 1)[1], args, kwargs)


def make_callable(module: str) -> None:
    """Lets a module of a distribution be called with its parameters."""
    sys.modules[module].__class__ = _DistributionModule
