"""Element-wise functions of the standard.

Every one is an operation of the core under the signature `(x, /)` or `(x1, x2, /)`, or what NumPy's
function does with a tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd.array_api._from_declaration import binary, numpys, unary

abs = unary("abs")
acos = unary("acos")
acosh = unary("acosh")
add = binary("add")
asin = unary("asin")
asinh = unary("asinh")
atan = unary("atan")
atan2 = binary("atan2")
atanh = unary("atanh")
bitwise_and = binary("bitwise_and")
bitwise_invert = unary("bitwise_invert")
bitwise_left_shift = binary("bitwise_left_shift")
bitwise_or = binary("bitwise_or")
bitwise_right_shift = binary("bitwise_right_shift")
bitwise_xor = binary("bitwise_xor")
ceil = unary("ceil")
conj = numpys(np.conj, "conj")
copysign = binary("copysign")
cos = unary("cos")
cosh = unary("cosh")
divide = binary("divide")
equal = binary("equal")
exp = unary("exp")
expm1 = unary("expm1")
floor = unary("floor")
floor_divide = binary("floor_divide")
greater = binary("greater")
greater_equal = binary("greater_equal")
hypot = binary("hypot")
imag = numpys(np.imag, "imag")
isfinite = unary("isfinite")
isinf = unary("isinf")
isnan = unary("isnan")
less = binary("less")
less_equal = binary("less_equal")
log = unary("log")
log10 = unary("log10")
log1p = unary("log1p")
log2 = unary("log2")
logaddexp = binary("logaddexp")
logical_and = binary("logical_and")
logical_not = unary("logical_not")
logical_or = binary("logical_or")
logical_xor = binary("logical_xor")
maximum = binary("maximum")
minimum = binary("minimum")
multiply = binary("multiply")
negative = unary("negative")
nextafter = binary("nextafter")
not_equal = binary("not_equal")
positive = numpys(np.positive, "positive")
pow = binary("pow")
real = numpys(np.real, "real")
reciprocal = unary("reciprocal")
remainder = binary("remainder")
round = unary("round")
sign = unary("sign")
signbit = unary("signbit")
sin = unary("sin")
sinh = unary("sinh")
sqrt = unary("sqrt")
square = unary("square")
subtract = binary("subtract")
tan = unary("tan")
tanh = unary("tanh")
trunc = unary("trunc")


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """The elements limited to a range, whose ends broadcast with them; None: no limit.

    >>> import ferrograd.array_api as xp
    >>> xp.clip(xp.asarray([1.0, 2.0, 3.0]), max=2.5).tolist()
    [1.0, 2.0, 2.5]
    """
    return _core.clip(x, min, max)
