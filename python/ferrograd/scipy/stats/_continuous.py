"""Continuous distributions with a location and a scale.

Owns: what follows from the standard distribution: shifted and scaled densities, distribution
functions, quantiles and draws. Never knows a formula: a distribution brings its own.
Invariant: a quantile and a draw are differentiated as solutions of `F(z, shapes) = q`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentTypeError
from ferrograd.extend import defvjp_argnums, primitive
from ferrograd.numpy._values import holds_tensor
from ferrograd.scipy._closures import floats
from ferrograd.scipy._library import library
from ferrograd.scipy.stats._frozen import Frozen
from ferrograd.transforms import make_vjp

Formula = Callable[..., Any]

#: What a module of one distribution binds.
METHODS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "rvs")


def _quiet(method: Formula) -> Formula:
    """Impossible parameters and places outside give NaN and limits, and no warnings."""
    made: Formula = numpy.errstate(divide="ignore", invalid="ignore", over="ignore")(method)
    return made


class Continuous:
    """A distribution under SciPy's name.

    `logpdf(z, *shapes)` and `cdf(z, *shapes)` are formulas of the standard distribution between
    `low` and `high`; `sf`, `logcdf`, `logsf`, `ppf` and `isf` replace what follows from these.
    With `open_low` the formulas are not asked at `low`, where density and distribution function are
    0 with all derivatives. `valid(*shapes)` says which shapes are possible, by default positive
    ones; others give NaN. The methods take what SciPy's take: the shapes, `loc` and `scale`, by
    position or by name. They are
    differentiable by all of these and by the place, `rvs` by reparametrisation (M. Figurnov,
    S. Mohamed, A. Mnih, NeurIPS 2018). Errors: `ArgumentTypeError` for unknown parameters.

    >>> from ferrograd.scipy import stats
    >>> round(fg.grad(lambda shape: stats.gamma.cdf(2.0, shape))(3.0), 6)
    -0.231849
    >>> draw = lambda scale: stats.expon.rvs(scale=scale, random_state=1)
    >>> bool(np.isclose(fg.grad(draw)(2.0), draw(2.0) / 2))
    True
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        logpdf: Formula,
        cdf: Formula,
        *,
        low: float = -numpy.inf,
        high: float = numpy.inf,
        within: float = 0.5,
        open_low: bool = False,
        valid: Formula | None = None,
        **others: Formula,
    ) -> None:
        self.name, self.shapes = name, shapes.split()
        self._formulas = {"logpdf": logpdf, "cdf": cdf, **others}
        self._low, self._high, self._within = low, high, within
        self._valid, self._open_low = valid or _all_positive, open_low

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Every other method is SciPy's, on arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(library(f"stats.{self.name}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The distribution with fixed parameters: its methods take the place only."""
        self._given("__call__", args, kwargs)
        return Frozen(self, self.name, args, kwargs)

    def methods(self) -> tuple[Any, ...]:
        """The functions that a module of this distribution offers."""
        return tuple(getattr(self, name) for name in METHODS)

    def _given(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Any, Any]:
        """Shapes, location and scale of a call."""
        names = [*self.shapes, "loc", "scale"]
        found = {"loc": 0.0, "scale": 1.0, **dict(zip(names, args, strict=False)), **kwargs}
        wrong = [key for key in kwargs if key not in names or key in names[: len(args)]]
        lost = [key for key in self.shapes if key not in found]
        if wrong or lost or len(args) > len(names):
            raise ArgumentTypeError(
                f"{self.name}.{method}: got {len(args)} parameters and {sorted(kwargs)}; give"
                f" {', '.join(names)}, loc and scale where they are not 0 and 1"
            )
        values = [found[key] for key in names]
        return values[:-2], values[-2], values[-1]

    def _at(self, x: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any]:
        """The standard place, a place inside where it is none, and where it is one."""
        z = (floats(x) - loc) / scale
        if self._low == -numpy.inf and self._high == numpy.inf:
            return z, z, None
        # An infinite end is outside: the limits are known, and a formula may be ∞ - ∞ there.
        inside = z > self._low if self._open_low else z >= self._low
        inside = inside & (z < self._high if self._high == numpy.inf else z <= self._high)
        return z, np.where(inside, z, self._within), inside

    def _checked(self, found: Any, shapes: list[Any], scale: Any) -> Any:
        """NaN where the shapes or the scale are impossible."""
        possible = (np.asarray(scale) > 0) & self._valid(*shapes)
        if not isinstance(possible, Tensor) and numpy.all(possible):
            return found
        return np.where(possible, found, numpy.nan)

    def _known(self, formula: str, inner: Any, shapes: list[Any]) -> Any:
        return self._formulas[formula](inner, *shapes)

    @_quiet
    def _limited(
        self, formula: str, below: float, above: float, x: Any, args: Any, kwargs: Any
    ) -> Any:
        """A formula with its limits outside the support."""
        shapes, loc, scale = self._given(formula, args, kwargs)
        z, inner, inside = self._at(x, loc, scale)
        found = self._known(formula, inner, shapes)
        if inside is not None:
            outside = np.where(z <= self._low, below, above)
            found = np.where(inside, found, np.where(np.isnan(z), numpy.nan, outside))
        return self._checked(found, shapes, scale)

    @_quiet
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density, -∞ outside the support."""
        shapes, loc, scale = self._given("logpdf", args, kwargs)
        z, inner, inside = self._at(x, loc, scale)
        found = self._known("logpdf", inner, shapes) - np.log(scale)
        if inside is not None:
            outside = np.where(np.isnan(z), numpy.nan, -numpy.inf)
            found = np.where(inside, found, outside)
        return self._checked(found, shapes, scale)

    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, *args, **kwargs))

    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The distribution function."""
        return self._limited("cdf", 0.0, 1.0, x, args, kwargs)

    def sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One minus the distribution function."""
        if "sf" in self._formulas:
            return self._limited("sf", 1.0, 0.0, x, args, kwargs)
        return 1.0 - self.cdf(x, *args, **kwargs)

    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the distribution function."""
        if "logcdf" in self._formulas:
            return self._limited("logcdf", -numpy.inf, 0.0, x, args, kwargs)
        with numpy.errstate(divide="ignore"):
            return np.log(self.cdf(x, *args, **kwargs))

    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `sf`."""
        if "logsf" in self._formulas:
            return self._limited("logsf", 0.0, -numpy.inf, x, args, kwargs)
        with numpy.errstate(divide="ignore"):
            return np.log(self.sf(x, *args, **kwargs))

    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The quantile of a probability, NaN outside 0 to 1."""
        return self._place("ppf", q, args, kwargs)

    def isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The place with the probability `q` above it, exact for small `q`."""
        return self._place("isf", q, args, kwargs)

    @_quiet
    def _place(self, method: str, q: Any, args: Any, kwargs: Any) -> Any:
        shapes, loc, scale = self._given(method, args, kwargs)
        q = floats(q)
        if method in self._formulas:
            chance = (q >= 0) & (q <= 1)
            found = self._known(method, np.where(chance, q, 0.5), shapes)
            found = np.where(chance, found, numpy.nan)
        else:
            found = quantile(q, *shapes, distribution=self, tail=method == "isf")
        return self._checked(loc + scale * found, shapes, scale)

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwargs: Any) -> Any:
        """Random numbers, SciPy's for `random_state`, of the shape `size` or of the parameters.

        Each moves with the parameters as the quantile that it is.
        """
        shapes, loc, scale = self._given("rvs", args, kwargs)
        given = [*shapes, loc, scale]
        if not holds_tensor(given):
            draw = library(f"stats.{self.name}").rvs
            return draw(*args, size=size, random_state=random_state, **kwargs)
        # One number for each set of parameters, or as many as asked for.
        dims = numpy.broadcast_shapes(*map(np.shape, given)) if size is None else size
        anchor = next(value for value in given if isinstance(value, Tensor))
        found = quantile(anchor, *shapes, distribution=self, draw=(dims, random_state))
        return loc + scale * found


def _all_positive(*shapes: Any) -> Any:
    found: Any = True
    for shape in shapes:
        found = (np.asarray(shape) > 0) & found
    return found


@primitive
def quantile(
    q: Any, *shapes: Any, distribution: Continuous, draw: Any = None, tail: bool = False
) -> Any:
    """The `z` with `F(z, shapes) = q`, or random numbers, whose `q` is a constant.

    Derivatives: `1 / f(z)` by `q`, `-∂F/∂shape / f(z)` by a shape. With `tail`, `1 - F` is `q`.
    """
    theirs = library(f"stats.{distribution.name}")
    if draw is None:
        return (theirs.isf if tail else theirs.ppf)(q, *shapes)
    size, random_state = draw
    return numpy.asarray(theirs.rvs(*shapes, size=size, random_state=random_state))


def _by_all(
    argnums: Any, ans: Any, args: Any, kwargs: dict[str, Any]
) -> Callable[[Any], tuple[Any, ...]]:
    own, shapes = kwargs["distribution"], args[1:]

    def pull(g: Any) -> tuple[Any, ...]:
        sign = -1.0 if kwargs.get("tail") else 1.0
        weight = sign * g / np.exp(own._known("logpdf", ans, list(shapes)))
        places = tuple(k - 1 for k in argnums if k)
        drawn = kwargs.get("draw") is not None
        slopes: dict[int, Any] = {0: np.zeros_like(args[0]) if drawn else weight}
        if places:
            curve = "sf" if kwargs.get("tail") and "sf" in own._formulas else "cdf"
            if curve == "cdf":
                weight = sign * weight
            back, _ = make_vjp(lambda *s: own._known(curve, ans, list(s)), places)(*shapes)
            slopes.update(zip([k + 1 for k in places], back(-weight), strict=True))
        return tuple(slopes[k] for k in argnums)

    return pull


defvjp_argnums(quantile, _by_all)
