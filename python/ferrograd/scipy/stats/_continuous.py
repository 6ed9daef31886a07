"""Continuous distributions with a location and a scale.

Invariant: formulas are evaluated only inside the support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, _is_recording_program
from ferrograd._dispatch.on_arrays import detached
from ferrograd.errors import ArgumentError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._closed_over import fixed, floats
from ferrograd.scipy._computed_by_scipy import library, quiet
from ferrograd.scipy.special import xlog1py, xlogy
from ferrograd.scipy.stats._arguments import parameters
from ferrograd.scipy.stats._frozen import Frozen
from ferrograd.scipy.stats._quantile import quantile
from ferrograd.scipy.stats._supports import (
    FAR,
    Places,
    all_positive,
    either,
    moves,
    quotient,
    standard,
    unit_power,
    valued,
)

Formula = Callable[..., Any]

#: The names that a module of one distribution binds.
METHODS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "rvs")


#: In arrays of this size, special points are computed separately, so that the others are cheap.
MANY = 4096


class Continuous:
    """A distribution under SciPy's name.

    `logpdf(z, *shapes)` and `cdf(z, *shapes)` are formulas of the standard distribution between
    `low` and `high`; `sf`, `logcdf`, `logsf`, `ppf` and `isf` override the defaults that follow
    from these. With `open_low` the formulas are not evaluated at `low`, where density and
    distribution function are 0 with all derivatives. With `low_power(*shapes)` the density has that
    power of `z` as a factor, which is not in `logpdf`, and `low` is 0; with `high_power` that of `1
    - z`, and `high` is 1. `steep(*shapes)` is true for shapes whose `cdf` formula has no slope at
    `low`. With `own_ends` the ends of the support depend on the shapes, and the formulas handle
    them. `valid(*shapes)` is true for valid shapes, by default positive ones; others give NaN. The
    methods have SciPy's arguments: the shapes, `loc` and `scale`, by position or by name. They are
    differentiable by all of these and by the point. At an end of the support the derivatives are
    the limits from inside, outside they are 0, and those of logarithms at infinity are those at
    `reach`. `rvs` is differentiable by reparametrisation (M. Figurnov, S. Mohamed, A. Mnih, NeurIPS
    2018). Errors: `ArgumentTypeError` for unknown parameters.

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
        low_power: Formula | None = None,
        high_power: Formula | None = None,
        steep: Formula | None = None,
        reach: float = FAR,
        own_ends: bool = False,
        valid: Formula | None = None,
        **others: Formula,
    ) -> None:
        self.name, self.shapes = name, shapes.split()
        self._formulas = {"logpdf": logpdf, "cdf": cdf, **others}
        self.support_of_standard, self.within, self.open_low = (low, high), within, open_low
        self._powers, self._steep, self._reach = (low_power, high_power), steep, reach
        self.standard = standard if low == 0 else quotient
        self._valid, self._own_ends = valid or all_positive, own_ends

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Every other method is SciPy's, on arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(library(f"stats.{self.name}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The distribution with fixed parameters: its methods take only the point."""
        self._given("__call__", args, kwargs)
        return Frozen(self, self.name, args, kwargs)

    def methods(self) -> tuple[Any, ...]:
        """The functions that a module of this distribution offers."""
        return tuple(getattr(self, name) for name in METHODS)

    def _given(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Any, Any]:
        """Shapes, location and scale of a call."""
        others = {"loc": 0.0, "scale": 1.0}
        *shapes, loc, scale = parameters(f"{self.name}.{method}", self.shapes, others, args, kwargs)
        return shapes, loc, scale

    def _places(self, x: Any, loc: Any, scale: Any) -> Places:
        return Places(floats(x), loc, scale, self)

    def _checked(self, found: Any, shapes: list[Any], scale: Any) -> Any:
        """NaN where the shapes or the scale are impossible."""
        possible = (np.asarray(scale) > 0) & self._valid(*shapes)
        if isinstance(possible, Tensor) or not numpy.all(possible):
            found = np.where(possible, found, numpy.nan)
        return found[()] if isinstance(found, numpy.ndarray) else found

    def _known(self, formula: str, z: Any, shapes: list[Any]) -> Any:
        if formula == "sf" and "sf" not in self._formulas:
            return 1.0 - self._known("cdf", z, shapes)
        return self._formulas[formula](z, *shapes)

    def _power(self, end: int, shapes: list[Any]) -> Any:
        """The power of the distance to an end that the density has there."""
        power = self._powers[end]
        return 0.0 if power is None else power(*shapes)

    def _log_density(self, z: Any, shapes: list[Any]) -> Any:
        found = self._known("logpdf", z, shapes)
        if self._powers[0] is not None:
            found = found + xlogy(self._power(0, shapes), z)
        if self._powers[1] is not None:
            found = found + xlog1py(self._power(1, shapes), -z)
        return found

    def _simple(self, name: str, z: Any, shapes: list[Any], scale: Any) -> Any:
        """A function of an ordinary standard point."""
        if name == "logpdf":
            return self._log_density(z, shapes) - np.log(scale)
        if name == "pdf":
            return np.exp(self._simple("logpdf", z, shapes, scale))
        if name in self._formulas or name == "sf":
            return self._known(name, z, shapes)
        return np.log(self._known(name[3:], z, shapes))

    def _ordinary(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """The function, if most points are inside and none of them is special, else None.

        A program may be called with other points.
        """
        if _is_recording_program():
            return None
        x = floats(x)
        z = self.standard(x, loc, scale)
        known, (low, high) = detached(z), self.support_of_standard
        usual = (known > low) & (known < high)
        many = numpy.size(usual) >= MANY
        # Zeros and infinities are known only after the computation.
        for _ in range(2):
            if numpy.all(usual):
                found = self._simple(name, z, shapes, scale)
            elif not many or 2 * numpy.count_nonzero(usual) < numpy.size(usual):
                return None
            else:
                inner = np.where(usual, x, fixed(loc) + fixed(scale) * self.within)
                found = self._simple(name, self.standard(inner, loc, scale), shapes, scale)
            known = detached(found)
            regular = numpy.isfinite(known)
            if name[:3] != "log":
                regular = regular & (known != 0)
            if numpy.all(regular):
                found = self._checked(found, shapes, scale)
                if numpy.all(usual):
                    return found
                return self._joined(name, found, ~usual, x, [*shapes, loc, scale])
            usual = usual & regular
        return None

    def _joined(self, name: str, found: Any, rare: Any, x: Any, given: list[Any]) -> Any:
        """The given values, with those of the few special points computed separately."""
        rare = numpy.broadcast_to(rare, np.shape(found))

        def picked(value: Any) -> Any:
            return value if not np.ndim(value) else np.broadcast_to(value, rare.shape)[rare]

        few = getattr(self, name)(*map(picked, (x, *given)))
        spread = np.zeros_like(fixed(found))
        spread[rare] = few
        return np.where(rare, spread, found)

    @quiet
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density, -∞ outside the support."""
        shapes, loc, scale = self._given("logpdf", args, kwargs)
        found = self._ordinary("logpdf", x, shapes, loc, scale)
        if found is not None:
            return found
        places = self._places(x, loc, scale)
        found = self._log_density_at(places, places.inside | places.far, shapes, scale)
        return self._checked(found, shapes, scale)

    def _log_density_at(self, places: Places, mask: Any, shapes: list[Any], scale: Any) -> Any:
        """The logarithm of the density where the mask is true, elsewhere -∞."""
        found = self._simple("logpdf", places.at(mask, self._reach), shapes, scale)
        if self._powers[0] is not None and moves(scale):
            shift = unit_power(scale, fixed(self._power(0, shapes)))
            found = found + np.where(places.ends[0], shift, 0.0)
        found = either(mask, found, places.outside(-numpy.inf, -numpy.inf))
        if numpy.isfinite(self.support_of_standard).all():
            return found
        return valued(found, np.where(places.far, -numpy.inf, fixed(found)))

    @quiet
    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        shapes, loc, scale = self._given("pdf", args, kwargs)
        found = self._ordinary("pdf", x, shapes, loc, scale)
        if found is not None:
            return found
        if not moves(x, loc, scale, *shapes):
            return np.exp(self.logpdf(x, *args, **kwargs))
        # If the density is 0, its logarithm has no slope to multiply with.
        known = np.exp(self.logpdf(fixed(x), *map(fixed, (*shapes, loc, scale))))
        some = fixed(loc) + fixed(scale) * self.within
        found = self.logpdf(np.where(known > 0, x, some), *shapes, loc, scale)
        # An infinite density has the derivative of its logarithm.
        found = np.exp(valued(found, np.minimum(fixed(found), 700.0)))
        found = either(known > 0, valued(found, known), known)
        if self._powers == (None, None):
            return found
        places = self._places(x, loc, scale)
        powers = [self._power(end, shapes) for end in (0, 1)]
        ends = [places.ends[end] & (fixed(powers[end]) > 0) for end in (0, 1)]
        z = places.at(ends[0] | ends[1])
        near = np.exp(self._known("logpdf", z, shapes)) * z ** powers[0] / scale
        if self._powers[1] is not None:
            near = near * (1.0 - z) ** powers[1]
        return either((ends[0] | ends[1]) & ~np.isnan(known), near, found)

    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The distribution function."""
        return self._curve(0, x, args, kwargs)

    def sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One minus the distribution function."""
        return self._curve(1, x, args, kwargs)

    @quiet
    def _curve(self, end: int, x: Any, args: Any, kwargs: Any) -> Any:
        """The function that vanishes at the low end or at the high one."""
        name = ("cdf", "sf")[end]
        shapes, loc, scale = self._given(name, args, kwargs)
        found = self._ordinary(name, x, shapes, loc, scale)
        if found is not None:
            return found
        places = self._places(x, loc, scale)
        mask, outside = places.inside, places.outside(float(end), 1.0 - end)
        if moves(x, loc, scale, *shapes) and not self._own_ends:
            known = self._known(name, fixed(places.at(mask)), [fixed(s) for s in shapes])
            mask = mask & ((known != 0) | places.ends[0] | places.ends[1])
            outside = np.where(places.inside, 0.0, outside)
        low = mask & self._begins_steeply(places, shapes)
        found = either(mask & ~low, self._known(name, places.at(mask & ~low), shapes), outside)
        if self._powers[0] is not None:
            below = self._beginning(places.at(low), shapes)
            found = either(low, 1.0 - below if end else below, found)
        return self._checked(found, shapes, scale)

    def _begins_steeply(self, places: Places, shapes: list[Any]) -> Any:
        """The points at the low end where the density or its slope is computed as infinite."""
        power = fixed(self._power(0, shapes))
        steep = (power < 1) & (power != 0)
        if self._steep is not None:
            steep = steep | self._steep(*map(fixed, shapes))
        return places.ends[0] & steep

    def _beginning(self, z: Any, shapes: list[Any]) -> Any:
        """The distribution function there: the integral of the power of `z`."""
        power = self._power(0, shapes) + 1.0
        return np.exp(self._known("logpdf", fixed(z), shapes)) * z**power / power

    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the distribution function."""
        return self._log_curve(0, x, args, kwargs)

    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `sf`."""
        return self._log_curve(1, x, args, kwargs)

    @quiet
    def _log_curve(self, end: int, x: Any, args: Any, kwargs: Any) -> Any:
        """The logarithm of such a function, evaluated where it is not zero."""
        name = ("logcdf", "logsf")[end]
        shapes, loc, scale = self._given(name, args, kwargs)
        found = self._ordinary(name, x, shapes, loc, scale)
        if found is not None:
            return found
        places = self._places(x, loc, scale)
        gone = places.ends[end] & (places.inside | places.far)
        mask = places.inside & ~gone
        formula = name in self._formulas
        if not formula:
            known = self._known(name[3:], fixed(places.at(mask)), [fixed(s) for s in shapes])
            gone = gone | (mask & (known == 0))
            mask = mask & (known != 0)
        low = mask & self._begins_steeply(places, shapes)
        found = self._simple(name, places.at(mask & ~low), shapes, scale)
        if self._powers[0] is not None and end == 1:
            below = np.where(low, self._beginning(places.at(low), shapes), 0.0)
            found = np.where(low, np.log1p(-below), found)
        limits = (-numpy.inf, 0.0) if end == 0 else (0.0, -numpy.inf)
        outside = np.where(gone, -numpy.inf, places.outside(*limits))
        found = either(mask, found, outside)
        if moves(x, loc, scale, *shapes):
            near = self._vanishing(end, name, places, gone, shapes, scale)
            found = either(gone, valued(near, np.full_like(fixed(near), -numpy.inf)), found)
        return self._checked(found, shapes, scale)

    def _vanishing(
        self, end: int, name: str, places: Places, gone: Any, shapes: list[Any], scale: Any
    ) -> Any:
        """A function with the derivatives of the logarithm of a function that is zero.

        Near a finite end the density is a power `p` of the distance, and its integral that of
        `p + 1`; far outside, the logarithms of both have the same derivative.
        """
        if name in self._formulas and numpy.isinf(self.support_of_standard[end]):
            return self._known(name, places.at(gone, self._reach), shapes)
        if numpy.isinf(self.support_of_standard[end]) or (end == 0 and self.open_low):
            return self._log_density_at(places, gone, shapes, scale)
        z, power = places.at(gone), self._power(end, shapes) + 1.0
        gap = (z - self.support_of_standard[0]) if end == 0 else self.support_of_standard[1] - z
        found = xlogy(power, gap) + self._known("logpdf", fixed(z), shapes) - np.log(power)
        if end == 0 and self.support_of_standard[0] == 0:
            found = found + np.where(places.ends[0], unit_power(scale, fixed(power)), 0.0)
        return found

    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The quantile of a probability, NaN outside 0 to 1."""
        return self._place("ppf", q, args, kwargs)

    def isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The point with the probability `q` above it, exact for small `q`."""
        return self._place("isf", q, args, kwargs)

    def interval(self, confidence: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The central interval with the probability `confidence`."""
        share = floats(confidence)
        if not isinstance(share, Tensor) and not numpy.all((share >= 0) & (share <= 1)):
            raise ArgumentError(f"interval: confidence is {confidence}; give a share from 0 to 1")
        low, high = (1.0 - share) / 2.0, (1.0 + share) / 2.0
        return self.ppf(low, *args, **kwargs), self.ppf(high, *args, **kwargs)

    @quiet
    def _place(self, method: str, q: Any, args: Any, kwargs: Any) -> Any:
        shapes, loc, scale = self._given(method, args, kwargs)
        q = floats(q)
        chance = (fixed(q) >= 0) & (fixed(q) <= 1)
        inner = np.where(chance, q, 0.5)
        found = self._quantile(method, fixed(inner), [fixed(s) for s in shapes])
        if moves(q, loc, scale, *shapes):
            # An infinite quantile has the derivative of the nearest finite one.
            known = fixed(inner)
            near = np.where(np.isinf(found), np.clip(known, 1e-30, 1.0 - 2.0**-53), known)
            found = valued(self._quantile(method, valued(inner, near), shapes), found)
        found = either(chance, found, np.full_like(fixed(found), numpy.nan))
        return self._checked(loc + scale * found, shapes, scale)

    def _quantile(self, method: str, q: Any, shapes: list[Any]) -> Any:
        """The standard quantile of a probability, below or above."""
        if method not in self._formulas:
            return quantile(q, *shapes, distribution=self, tail=method == "isf")
        return self._known(method, q, shapes)

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwargs: Any) -> Any:
        """Random numbers, SciPy's for `random_state`, with the shape `size` or the parameters'.

        Each is differentiated by the parameters as a quantile.
        """
        shapes, loc, scale = self._given("rvs", args, kwargs)
        given = [*shapes, loc, scale]
        if not holds_tensor(given):
            draw = library(f"stats.{self.name}").rvs
            return draw(*args, size=size, random_state=random_state, **kwargs)
        # One number for each set of parameters, or `size` numbers.
        dims = numpy.broadcast_shapes(*map(np.shape, given)) if size is None else size
        anchor = next(value for value in given if isinstance(value, Tensor))
        found = quantile(anchor, *shapes, distribution=self, draw=(dims, random_state))
        return loc + scale * found
