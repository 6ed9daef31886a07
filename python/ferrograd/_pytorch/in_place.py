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


def _changing(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
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


addmm_ = _changing("addmm_", products.addmm)
addmv_ = _changing("addmv_", products.addmv)
addr_ = _changing("addr_", products.addr)
addbmm_ = _changing("addbmm_", products.addbmm)
baddbmm_ = _changing("baddbmm_", products.baddbmm)
renorm_ = _changing("renorm_", math.renorm)
float_power_ = _changing("float_power_", math.float_power)
gcd_ = _changing("gcd_", math.gcd)
lcm_ = _changing("lcm_", math.lcm)
ldexp_ = _changing("ldexp_", math.ldexp)
nextafter_ = _changing("nextafter_", core.nextafter)
clamp_min_ = _changing("clamp_min_", linear_algebra.clamp_min)
clamp_max_ = _changing("clamp_max_", linear_algebra.clamp_max)
lt_ = _changing("lt_", core.less)
le_ = _changing("le_", core.less_equal)
gt_ = _changing("gt_", core.greater)
ge_ = _changing("ge_", core.greater_equal)
eq_ = _changing("eq_", core.equal)
ne_ = _changing("ne_", core.not_equal)
less_ = _changing("less_", core.less)
less_equal_ = _changing("less_equal_", core.less_equal)
greater_ = _changing("greater_", core.greater)
greater_equal_ = _changing("greater_equal_", core.greater_equal)
not_equal_ = _changing("not_equal_", core.not_equal)
