"""Continuous distributions with a location and a scale.

Invariant: formulas are evaluated only inside the support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import ferrograd.numpy as np
from ferrograd._core import Tensor, _is_recording_program
from ferrograd._dispatch.detach import detach_tensors
from ferrograd.errors import ArgumentError
from ferrograd.numpy._tensor_arguments import holds_tensor
from ferrograd.scipy._conversions import as_floats, detach
from ferrograd.scipy._scipy_primitives import get_scipy_function, ignore_float_warnings
from ferrograd.scipy.special import xlog1py, xlogy
from ferrograd.scipy.stats._arguments import parse_parameters
from ferrograd.scipy.stats._frozen import FrozenDistribution
from ferrograd.scipy.stats._quantile import quantile
from ferrograd.scipy.stats._supports import (
    DEFAULT_REACH,
    SupportPoints,
    all_positive,
    divide_by_scale,
    needs_derivative,
    replace_value,
    select,
    standardize,
    unit_power,
)

Formula = Callable[..., Any]

#: The names that a module of one distribution binds.
METHODS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "rvs")


#: In arrays of this size, special points are computed separately, so that the others are cheap.
MIN_SIZE_TO_SPLIT = 4096


class ContinuousDistribution:
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
        reach: float = DEFAULT_REACH,
        own_ends: bool = False,
        valid: Formula | None = None,
        **others: Formula,
    ) -> None:
        self.name, self.shapes = name, shapes.split()
        self._formulas = {"logpdf": logpdf, "cdf": cdf, **others}
        self.support_of_standard, self.within, self.open_low = (low, high), within, open_low
        self._powers, self._steep, self._reach = (low_power, high_power), steep, reach
        self.standard = standardize if low == 0 else divide_by_scale
        self._valid, self._own_ends = valid or all_positive, own_ends

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Every other method is SciPy's, on arrays."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(get_scipy_function(f"stats.{self.name}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The distribution with fixed parameters: its methods take only the point."""
        self._parse_arguments("__call__", args, kwargs)
        return FrozenDistribution(self, self.name, args, kwargs)

    def get_methods(self) -> tuple[Any, ...]:
        """The functions that a module of this distribution offers."""
        return tuple(getattr(self, name) for name in METHODS)

    def _parse_arguments(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Any, Any]:
        """Shapes, location and scale of a call."""
        others = {"loc": 0.0, "scale": 1.0}
        *shapes, loc, scale = parse_parameters(
            f"{self.name}.{method}", self.shapes, others, args, kwargs
        )
        return shapes, loc, scale

    def _make_points(self, x: Any, loc: Any, scale: Any) -> SupportPoints:
        return SupportPoints(as_floats(x), loc, scale, self)

    def _mask_invalid(self, found: Any, shapes: list[Any], scale: Any) -> Any:
        """Replaces results by NaN where the shapes or the scale are invalid."""
        possible = (np.asarray(scale) > 0) & self._valid(*shapes)
        if isinstance(possible, Tensor) or not numpy.all(possible):
            found = np.where(possible, found, numpy.nan)
        return found[()] if isinstance(found, numpy.ndarray) else found

    def _evaluate_formula(self, formula: str, z: Any, shapes: list[Any]) -> Any:
        if formula == "sf" and "sf" not in self._formulas:
            return 1.0 - self._evaluate_formula("cdf", z, shapes)
        return self._formulas[formula](z, *shapes)

    def _get_end_power(self, end: int, shapes: list[Any]) -> Any:
        """The exponent of the distance to an end in the density near this end."""
        power = self._powers[end]
        return 0.0 if power is None else power(*shapes)

    def _log_density(self, z: Any, shapes: list[Any]) -> Any:
        found = self._evaluate_formula("logpdf", z, shapes)
        if self._powers[0] is not None:
            found = found + xlogy(self._get_end_power(0, shapes), z)
        if self._powers[1] is not None:
            found = found + xlog1py(self._get_end_power(1, shapes), -z)
        return found

    def _evaluate_inside(self, name: str, z: Any, shapes: list[Any], scale: Any) -> Any:
        """A function at standard points inside the support."""
        if name == "logpdf":
            return self._log_density(z, shapes) - np.log(scale)
        if name == "pdf":
            return np.exp(self._evaluate_inside("logpdf", z, shapes, scale))
        if name in self._formulas or name == "sf":
            return self._evaluate_formula(name, z, shapes)
        return np.log(self._evaluate_formula(name[3:], z, shapes))

    def _evaluate_regular(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """The function, if most points are inside and regular, else None.

        A program may be called with other points.
        """
        if _is_recording_program():
            return None
        x = as_floats(x)
        z = self.standard(x, loc, scale)
        known, (low, high) = detach_tensors(z), self.support_of_standard
        usual = (known > low) & (known < high)
        many = numpy.size(usual) >= MIN_SIZE_TO_SPLIT
        # Zeros and infinities are known only after the computation.
        for _ in range(2):
            if numpy.all(usual):
                found = self._evaluate_inside(name, z, shapes, scale)
            elif not many or 2 * numpy.count_nonzero(usual) < numpy.size(usual):
                return None
            else:
                inner = np.where(usual, x, detach(loc) + detach(scale) * self.within)
                found = self._evaluate_inside(name, self.standard(inner, loc, scale), shapes, scale)
            known = detach_tensors(found)
            regular = numpy.isfinite(known)
            if name[:3] != "log":
                regular = regular & (known != 0)
            if numpy.all(regular):
                found = self._mask_invalid(found, shapes, scale)
                if numpy.all(usual):
                    return found
                return self._merge_special(name, found, ~usual, x, [*shapes, loc, scale])
            usual = usual & regular
        return None

    def _merge_special(self, name: str, found: Any, rare: Any, x: Any, given: list[Any]) -> Any:
        """Replaces the values at the few special points by values computed separately."""
        rare = numpy.broadcast_to(rare, np.shape(found))

        def pick(value: Any) -> Any:
            return value if not np.ndim(value) else np.broadcast_to(value, rare.shape)[rare]

        few = getattr(self, name)(*map(pick, (x, *given)))
        spread = np.zeros_like(detach(found))
        spread[rare] = few
        return np.where(rare, spread, found)

    @ignore_float_warnings
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density, -∞ outside the support."""
        shapes, loc, scale = self._parse_arguments("logpdf", args, kwargs)
        found = self._evaluate_regular("logpdf", x, shapes, loc, scale)
        if found is not None:
            return found
        places = self._make_points(x, loc, scale)
        found = self._log_density_at(places, places.inside | places.far, shapes, scale)
        return self._mask_invalid(found, shapes, scale)

    def _log_density_at(
        self, places: SupportPoints, mask: Any, shapes: list[Any], scale: Any
    ) -> Any:
        """The logarithm of the density where the mask is true, elsewhere -∞."""
        found = self._evaluate_inside(
            "logpdf", places.get_standard(mask, self._reach), shapes, scale
        )
        if self._powers[0] is not None and needs_derivative(scale):
            shift = unit_power(scale, detach(self._get_end_power(0, shapes)))
            found = found + np.where(places.ends[0], shift, 0.0)
        found = select(mask, found, places.get_outside_limits(-numpy.inf, -numpy.inf))
        if numpy.isfinite(self.support_of_standard).all():
            return found
        return replace_value(found, np.where(places.far, -numpy.inf, detach(found)))

    @ignore_float_warnings
    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        shapes, loc, scale = self._parse_arguments("pdf", args, kwargs)
        found = self._evaluate_regular("pdf", x, shapes, loc, scale)
        if found is not None:
            return found
        if not needs_derivative(x, loc, scale, *shapes):
            return np.exp(self.logpdf(x, *args, **kwargs))
        # If the density is 0, its logarithm has no slope to multiply with.
        known = np.exp(self.logpdf(detach(x), *map(detach, (*shapes, loc, scale))))
        some = detach(loc) + detach(scale) * self.within
        found = self.logpdf(np.where(known > 0, x, some), *shapes, loc, scale)
        # An infinite density has the derivative of its logarithm.
        found = np.exp(replace_value(found, np.minimum(detach(found), 700.0)))
        found = select(known > 0, replace_value(found, known), known)
        if self._powers == (None, None):
            return found
        places = self._make_points(x, loc, scale)
        powers = [self._get_end_power(end, shapes) for end in (0, 1)]
        ends = [places.ends[end] & (detach(powers[end]) > 0) for end in (0, 1)]
        z = places.get_standard(ends[0] | ends[1])
        near = np.exp(self._evaluate_formula("logpdf", z, shapes)) * z ** powers[0] / scale
        if self._powers[1] is not None:
            near = near * (1.0 - z) ** powers[1]
        return select((ends[0] | ends[1]) & ~np.isnan(known), near, found)

    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The distribution function."""
        return self._compute_probability(0, x, args, kwargs)

    def sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """One minus the distribution function."""
        return self._compute_probability(1, x, args, kwargs)

    @ignore_float_warnings
    def _compute_probability(self, end: int, x: Any, args: Any, kwargs: Any) -> Any:
        """`cdf` for end 0, `sf` for end 1."""
        name = ("cdf", "sf")[end]
        shapes, loc, scale = self._parse_arguments(name, args, kwargs)
        found = self._evaluate_regular(name, x, shapes, loc, scale)
        if found is not None:
            return found
        places = self._make_points(x, loc, scale)
        mask, outside = places.inside, places.get_outside_limits(float(end), 1.0 - end)
        if needs_derivative(x, loc, scale, *shapes) and not self._own_ends:
            known = self._evaluate_formula(
                name, detach(places.get_standard(mask)), [detach(s) for s in shapes]
            )
            mask = mask & ((known != 0) | places.ends[0] | places.ends[1])
            outside = np.where(places.inside, 0.0, outside)
        low = mask & self._is_steep_at_low(places, shapes)
        found = select(
            mask & ~low,
            self._evaluate_formula(name, places.get_standard(mask & ~low), shapes),
            outside,
        )
        if self._powers[0] is not None:
            below = self._cdf_at_low_end(places.get_standard(low), shapes)
            found = select(low, 1.0 - below if end else below, found)
        return self._mask_invalid(found, shapes, scale)

    def _is_steep_at_low(self, places: SupportPoints, shapes: list[Any]) -> Any:
        """The points at the low end where the density or its slope is computed as infinite."""
        power = detach(self._get_end_power(0, shapes))
        steep = (power < 1) & (power != 0)
        if self._steep is not None:
            steep = steep | self._steep(*map(detach, shapes))
        return places.ends[0] & steep

    def _cdf_at_low_end(self, z: Any, shapes: list[Any]) -> Any:
        """The distribution function near the low end, where the density is a power of `z`."""
        power = self._get_end_power(0, shapes) + 1.0
        return np.exp(self._evaluate_formula("logpdf", detach(z), shapes)) * z**power / power

    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the distribution function."""
        return self._compute_log_probability(0, x, args, kwargs)

    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of `sf`."""
        return self._compute_log_probability(1, x, args, kwargs)

    @ignore_float_warnings
    def _compute_log_probability(self, end: int, x: Any, args: Any, kwargs: Any) -> Any:
        """The logarithm of `cdf` or `sf`, evaluated where it is not zero."""
        name = ("logcdf", "logsf")[end]
        shapes, loc, scale = self._parse_arguments(name, args, kwargs)
        found = self._evaluate_regular(name, x, shapes, loc, scale)
        if found is not None:
            return found
        places = self._make_points(x, loc, scale)
        gone = places.ends[end] & (places.inside | places.far)
        mask = places.inside & ~gone
        formula = name in self._formulas
        if not formula:
            known = self._evaluate_formula(
                name[3:], detach(places.get_standard(mask)), [detach(s) for s in shapes]
            )
            gone = gone | (mask & (known == 0))
            mask = mask & (known != 0)
        low = mask & self._is_steep_at_low(places, shapes)
        found = self._evaluate_inside(name, places.get_standard(mask & ~low), shapes, scale)
        if self._powers[0] is not None and end == 1:
            below = np.where(low, self._cdf_at_low_end(places.get_standard(low), shapes), 0.0)
            found = np.where(low, np.log1p(-below), found)
        limits = (-numpy.inf, 0.0) if end == 0 else (0.0, -numpy.inf)
        outside = np.where(gone, -numpy.inf, places.get_outside_limits(*limits))
        found = select(mask, found, outside)
        if needs_derivative(x, loc, scale, *shapes):
            near = self._extrapolate_log(end, name, places, gone, shapes, scale)
            found = select(gone, replace_value(near, np.full_like(detach(near), -numpy.inf)), found)
        return self._mask_invalid(found, shapes, scale)

    def _extrapolate_log(
        self, end: int, name: str, places: SupportPoints, gone: Any, shapes: list[Any], scale: Any
    ) -> Any:
        """A function with the derivatives that the logarithm of `cdf` or `sf` has where this is 0.

        Near a finite end the density is a power `p` of the distance, and its integral that of
        `p + 1`; far outside, the logarithms of both have the same derivative.
        """
        if name in self._formulas and numpy.isinf(self.support_of_standard[end]):
            return self._evaluate_formula(name, places.get_standard(gone, self._reach), shapes)
        if numpy.isinf(self.support_of_standard[end]) or (end == 0 and self.open_low):
            return self._log_density_at(places, gone, shapes, scale)
        z, power = places.get_standard(gone), self._get_end_power(end, shapes) + 1.0
        gap = (z - self.support_of_standard[0]) if end == 0 else self.support_of_standard[1] - z
        found = (
            xlogy(power, gap) + self._evaluate_formula("logpdf", detach(z), shapes) - np.log(power)
        )
        if end == 0 and self.support_of_standard[0] == 0:
            found = found + np.where(places.ends[0], unit_power(scale, detach(power)), 0.0)
        return found

    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The quantile of a probability, NaN outside 0 to 1."""
        return self._compute_quantile("ppf", q, args, kwargs)

    def isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The point with the probability `q` above it, exact for small `q`."""
        return self._compute_quantile("isf", q, args, kwargs)

    def interval(self, confidence: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The central interval with the probability `confidence`."""
        share = as_floats(confidence)
        if not isinstance(share, Tensor) and not numpy.all((share >= 0) & (share <= 1)):
            raise ArgumentError(f"interval: confidence is {confidence}; give a share from 0 to 1")
        low, high = (1.0 - share) / 2.0, (1.0 + share) / 2.0
        return self.ppf(low, *args, **kwargs), self.ppf(high, *args, **kwargs)

    @ignore_float_warnings
    def _compute_quantile(self, method: str, q: Any, args: Any, kwargs: Any) -> Any:
        shapes, loc, scale = self._parse_arguments(method, args, kwargs)
        q = as_floats(q)
        chance = (detach(q) >= 0) & (detach(q) <= 1)
        inner = np.where(chance, q, 0.5)
        found = self._standard_quantile(method, detach(inner), [detach(s) for s in shapes])
        if needs_derivative(q, loc, scale, *shapes):
            # An infinite quantile has the derivative of the nearest finite one.
            known = detach(inner)
            near = np.where(np.isinf(found), np.clip(known, 1e-30, 1.0 - 2.0**-53), known)
            found = replace_value(
                self._standard_quantile(method, replace_value(inner, near), shapes), found
            )
        found = select(chance, found, np.full_like(detach(found), numpy.nan))
        return self._mask_invalid(loc + scale * found, shapes, scale)

    def _standard_quantile(self, method: str, q: Any, shapes: list[Any]) -> Any:
        """The standard quantile of a probability, below or above."""
        if method not in self._formulas:
            return quantile(q, *shapes, distribution=self, tail=method == "isf")
        return self._evaluate_formula(method, q, shapes)

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwargs: Any) -> Any:
        """Random numbers, SciPy's for `random_state`, with the shape `size` or the parameters'.

        Each is differentiated by the parameters as a quantile.
        """
        shapes, loc, scale = self._parse_arguments("rvs", args, kwargs)
        given = [*shapes, loc, scale]
        if not holds_tensor(given):
            draw = get_scipy_function(f"stats.{self.name}").rvs
            return draw(*args, size=size, random_state=random_state, **kwargs)
        # One number for each set of parameters, or `size` numbers.
        dims = numpy.broadcast_shapes(*map(np.shape, given)) if size is None else size
        anchor = next(value for value in given if isinstance(value, Tensor))
        found = quantile(anchor, *shapes, distribution=self, draw=(dims, random_state))
        return loc + scale * found
