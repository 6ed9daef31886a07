"""The element-wise rows beyond the basic ones: piecewise functions, bits, rounding, closeness.

What a row says: `cases.py`.
"""

from typing import Any

import numpy as np
from scipy import special

from case_model import POINTS, A, binary, call, op, unary

INF, NAN = np.inf, np.nan
AWAY = {"low": 0.5, "high": 3.0}
KINK_AT_0: dict[str, Any] = {"avoid": (0.0,)}
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
MAT, VEC = A(3, 4), A(4)
BITS = np.array([[5, 0, 12, -3], [7, 64, -64, 1]])
#: Where `exp` neither over- nor underflows: the reference of mish is no better.
MODERATE = tuple(x for x in POINTS if not abs(x) > 700)

#: Where the sine of pi x is not the rounding of pi alone.
FRACTIONS = tuple(x for x in POINTS if x == 0 or not np.isfinite(x) or (abs(x) < 4 and x % 1))


def selu(x: Any) -> Any:
    return SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0)))


def celu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


def mish(x: Any) -> Any:
    return x * np.tanh(np.logaddexp(0, x))


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return np.clip(x, min_val, max_val)


def hardswish(x: Any) -> Any:
    return np.where(x <= -3, 0.0, x * np.minimum(x + 3, 6) / 6)


def xlogy(a: Any, b: Any) -> Any:
    """SciPy's, to which Python numbers are not weak."""
    dtype = np.result_type(a, b)
    return special.xlogy(np.asarray(a, dtype), np.asarray(b, dtype))


def addcmul(x: Any, a: Any, b: Any, value: float = 1) -> Any:
    return x + (a * b if value == 1 else value * a * b)


def bits(name: str, *calls: Any) -> Any:
    many = np.arange(60_000)
    large = call(*((many, many[::-1] % 60)[: getattr(np, name).nin]))
    return op(name, getattr(np, name), *calls, large=(large,), order=0, ints=None)


def pairs_of_bits(name: str) -> Any:
    low, high = BITS.astype(np.uint8), np.array([[True], [False]])
    return bits(
        name,
        call(BITS, BITS[0]),
        call(BITS, 6),
        call(low, low[:1]),
        call(high, high.T),
        call(BITS[:, :0], BITS[:, :0]),
        call(BITS.astype(np.int32), np.array(9)),
    )


def shift(name: str) -> Any:
    far = np.array([0, 1, 31, 63, 64, 100, -1])
    return bits(
        name,
        call(BITS, np.array([0, 1, 5, 70])),
        call(BITS, 3),
        call(np.array(-9), far),
        call(np.arange(7, dtype=np.uint8), np.array(7, np.uint8)),
    )


# fmt: off
CASES = (
    unary("selu", selu, ints="float", **KINK_AT_0, signed_zeros=False, note="-0.0 stays -0.0"),
    unary("celu", celu, ints="float", **KINK_AT_0, options={"alpha": 1.5}, signed_zeros=False,
          note="-0.0 stays -0.0", more=(call(A(3, **KINK_AT_0)),)),
    unary("mish", mish, ints="float", points=MODERATE),
    unary("logit", special.logit, 0.15, 0.85, ints="float", heavy=True, f32=1e-5,
          signed_zeros=False, note="logit(0.5) is 0.0"),
    unary("hardtanh", hardtanh, avoid=(-1.0, 1.0), order=2, ints="float",
          kinks=(((1.0,), (0.0,)), ((-1.0,), (0.0,)))),
    unary("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, -5, 5, avoid=(-3.0, 3.0), order=2,
          ints="float", kinks=(((3.0,), (0.0,)),)),
    unary("hardswish", hardswish, -5, 5, avoid=(-3.0, 3.0), order=2, ints="float",
          signed_zeros=False, note="-0.0 stays -0.0", kinks=(((3.0,), (1.0,)), ((-3.0,), (0.0,)))),
    unary("sinc", np.sinc, -2.9, 2.9, ints="float", points_rtol=1e-7, f32=1e-5,
          note="sin(pi x) of huge x is as good as pi x", kinks=(((0.0,), (0.0,)),),
          points=FRACTIONS),
    op("polygamma", special.polygamma, call(1, A(3, 4, **AWAY)), call(0, A(5, **AWAY)),
       call(3, A(**AWAY)), call(2, A(0)), ints=None, f32=1e-4, rtol=1e-11,
       note="a series, summed in float64; SciPy's loses some ulp",
       large=(call(1, A(20_011, **AWAY)),)),
    binary("fmax", np.fmax, order=2, signed_zeros=False, note="NumPy's depends on the CPU",
           kinks=(((1.0, 1.0), (0.5, 0.5)), ((NAN, 1.0), (0.0, 1.0)), ((1.0, NAN), (1.0, 0.0)))),
    binary("fmin", np.fmin, order=2, signed_zeros=False, note="NumPy's depends on the CPU",
           kinks=(((1.0, 1.0), (0.5, 0.5)), ((NAN, 1.0), (0.0, 1.0)), ((1.0, NAN), (1.0, 0.0)))),
    binary("heaviside", np.heaviside, KINK_AT_0, {}, order=2, ints="float",
           kinks=(((0.0, 0.5), (0.0, 1.0)), ((2.0, 0.5), (0.0, 0.0)))),
    binary("logaddexp", np.logaddexp, ints="float", signed_zeros=False, f32=1e-5,
           note="a sum that cancels to zero has no sign to keep",
           kinks=(((INF, INF), (0.5, 0.5)), ((-INF, -INF), (0.5, 0.5)), ((INF, 0.0), (1.0, 0.0)))),
    binary("logaddexp2", np.logaddexp2, ints="float", signed_zeros=False, f32=1e-5,
           note="a sum that cancels to zero has no sign to keep",
           kinks=(((-INF, -INF), (0.5, 0.5)),)),
    binary("xlogy", xlogy, {}, AWAY, ints="float",
           kinks=(((0.0, 0.0), (0.0, 0.0)), ((0.0, 2.0), (np.log(2.0), 0.0)))),
    op("lerp", lambda x, end, weight: x + weight * (end - x), call(MAT, MAT, 0.3),
       call(MAT, VEC, A(3, 1)), call(A(), A(), A()), call(A(0), 2.0, 0.5), order=3, ints="numpy"),
    op("addcmul", addcmul, call(MAT, MAT, VEC),
       call(A(), VEC, A(3, 1), value=0.5), call(A(0), A(0), A(1)), order=3),
    op("addcdiv", lambda x, a, b, value=1.0: x + value * a / b, call(MAT, MAT, A(4, **AWAY)),
       call(A(), VEC, A(3, 1, **AWAY), value=0.5), call(A(0), A(0), A(1, **AWAY)), order=3),
    op("round", np.round, call(A(3, low=0.07, high=0.13), 1),
       call(A(3, 2, low=60, high=140), -2), call(A(4, low=0.6, high=1.4)),
       call(A(low=-0.004, high=0.004), 2), call(A(0), 1), ints=None),
    op("nan_to_num", np.nan_to_num, call(MAT), call(VEC, nan=1.0, posinf=2.0, neginf=3.0),
       call(A()), call(A(0)), call(np.array([NAN, INF, -INF, 1.0])),
       kinks=((([NAN, INF, -INF, 2.0],), ([0.0, 0.0, 0.0, 1.0],)),)),
    *map(pairs_of_bits, ("bitwise_and", "bitwise_or", "bitwise_xor")),
    bits("bitwise_not", call(BITS), call(BITS > 0), call(BITS.astype(np.uint8)), call(np.array(3))),
    *map(shift, ("left_shift", "right_shift")),
    op("isclose", np.isclose, call(MAT, MAT), call(MAT, VEC, rtol=0.1, atol=0.5), call(A(), A()),
       call(VEC, np.full(4, NAN), equal_nan=True), call(A(0), 1.0), order=0),
    op("allclose", np.allclose, call(MAT, MAT), call(MAT, VEC, atol=9.0), call(A(0), 1.0),
       order=0),
    op("array_equal", np.array_equal, call(MAT, MAT), call(MAT, VEC), call(A(0), A(0)),
       call(np.array([NAN]), np.array([NAN]), equal_nan=True), order=0),
)
