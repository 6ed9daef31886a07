"""Methods that write the result of the function of the same name to their tensor.

Invariant: the tensor keeps its shape and dtype, and the write is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _core as core
from ferrograd._core import Tensor
from ferrograd._pytorch import linear_algebra, math, products
from ferrograd.errors import ShapeError


def _make_in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method `name` of a function."""

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        found = function(self, *args, **kwargs)
        if found.shape != self.shape:
            raise ShapeError(
                f"{name}: the result has shape {tuple(found.shape)} and the tensor"
                f" {tuple(self.shape)}; use x = x.{name[:-1]}(…)"
            )
        return self.copy_(found)

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"`{name[:-1]}` in place; a result of another dtype is converted."
    return change


addmm_ = _make_in_place("addmm_", products.addmm)
addmv_ = _make_in_place("addmv_", products.addmv)
addr_ = _make_in_place("addr_", products.addr)
addbmm_ = _make_in_place("addbmm_", products.addbmm)
baddbmm_ = _make_in_place("baddbmm_", products.baddbmm)
renorm_ = _make_in_place("renorm_", math.renorm)
float_power_ = _make_in_place("float_power_", math.float_power)
gcd_ = _make_in_place("gcd_", math.gcd)
lcm_ = _make_in_place("lcm_", math.lcm)
ldexp_ = _make_in_place("ldexp_", math.ldexp)
nextafter_ = _make_in_place("nextafter_", core.nextafter)
clamp_min_ = _make_in_place("clamp_min_", linear_algebra.clamp_min)
clamp_max_ = _make_in_place("clamp_max_", linear_algebra.clamp_max)
lt_ = _make_in_place("lt_", core.less)
le_ = _make_in_place("le_", core.less_equal)
gt_ = _make_in_place("gt_", core.greater)
ge_ = _make_in_place("ge_", core.greater_equal)
eq_ = _make_in_place("eq_", core.equal)
ne_ = _make_in_place("ne_", core.not_equal)
less_ = _make_in_place("less_", core.less)
less_equal_ = _make_in_place("less_equal_", core.less_equal)
greater_ = _make_in_place("greater_", core.greater)
greater_equal_ = _make_in_place("greater_equal_", core.greater_equal)
not_equal_ = _make_in_place("not_equal_", core.not_equal)
