"""The operation table: what every operation computes, where, to which order, how exactly.

Adding an operation = its declaration in `src/ops/` + one row: here or in the file of its family
in `families`, all of which are read. `test_ops.py` and `test_op_derivatives.py` derive every check from
the rows; `test_every_op_has_a_case` holds the table and the registry equal. A row names a NumPy or
SciPy reference that takes the same arguments; `case_model.py` has the words.
"""

from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from case_model import POINTS, A, binary, call, predicate, unary

INF, NAN = np.inf, np.nan
POSITIVE = {"low": 0.2, "high": 3.0}
AWAY = {"low": 0.5, "high": 3.0}
KINK_AT_0: dict[str, Any] = {"avoid": (0.0,)}
HALVES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5)
WHOLES = (-2.0, -1.0, 0.0, 1.0, 2.0)
#: Without the poles of the gamma function and what is next to them, where libraries differ.
NO_POLES = tuple(x for x in POINTS if not x <= 1e-300 or (-1e300 < x < -1e-8 and x % 1))


def arg(name: str) -> Any:
    """The NumPy function of a name."""
    return getattr(np, name)


def relu_like(x: Any, low: Any, high: Any) -> Any:
    return np.where(np.isnan(x), x, np.clip(x, low, high))


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    return np.where(x > 0, x, x * negative_slope)


def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * special.erfc(-x / np.sqrt(2))


def nested(*values: Any) -> Any:
    """An array that is given, not made."""
    return np.array(values)


# fmt: off
ARITHMETIC = (
    unary("negative", np.negative),
    binary("add", np.add),
    binary("subtract", np.subtract),
    binary("multiply", np.multiply),
    binary("divide", np.divide, None, AWAY, kinks=(((1.0, 0.0), (INF, -INF)),)),
    binary("power", np.power, POSITIVE, {}, heavy=True, f32=1e-5,
        kinks=(((0.0, 2.0), (0.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 0.0)),
               ((-2.0, 3.0), (12.0, NAN)), ((2.0, 0.0), (0.0, np.log(2.0))),
               ((0.0, 0.5), (INF, 0.0)))),
    binary("floor_divide", np.floor_divide, {}, AWAY, order=2, heavy=True),
    binary("remainder", np.remainder, {}, AWAY, order=2, heavy=True, f32=1e-5),
    binary("fmod", np.fmod, {}, AWAY, order=2, heavy=True, f32=1e-5),
    binary("maximum", np.maximum, order=2, signed_zeros=False, note="NumPy's depends on the CPU",
           kinks=(((1.0, 1.0), (0.5, 0.5)), ((2.0, 1.0), (1.0, 0.0)))),
    binary("minimum", np.minimum, order=2, signed_zeros=False, note="NumPy's depends on the CPU",
           kinks=(((1.0, 1.0), (0.5, 0.5)), ((2.0, 1.0), (0.0, 1.0)))),
    binary("arctan2", np.arctan2, {}, AWAY, heavy=True, ints="float"),
    binary("hypot", np.hypot, AWAY, AWAY, heavy=True, ints="float",
       kinks=(((0.0, 0.0), (0.0, 0.0)),)),
    binary("copysign", np.copysign, KINK_AT_0, KINK_AT_0, order=2, ints="float",
           kinks=(((0.0, -1.0), (0.0, 0.0)),)),
)

MATHS = (
    unary("abs", np.abs, avoid=(0.0,), kinks=(((0.0,), (0.0,)),)),
    unary("sign", np.sign, avoid=(0.0,), order=2, kinks=(((0.0,), (0.0,)),)),
    unary("square", np.square),
    unary("sqrt", np.sqrt, 0.2, 4.0, ints="float", kinks=(((0.0,), (INF,)),)),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.2, 4.0, ints="float"),
    unary("cbrt", np.cbrt, 0.2, 4.0, ints="float", heavy=True, kinks=(((0.0,), (INF,)),)),
    unary("reciprocal", lambda x: 1 / x, 0.5, 3.0, ints="float"),
    unary("exp", np.exp, ints="float"),
    unary("exp2", np.exp2, ints="float"),
    unary("expm1", np.expm1, ints="float"),
    unary("log", np.log, 0.3, 4.0, ints="float", kinks=(((0.0,), (INF,)),)),
    unary("log2", np.log2, 0.3, 4.0, ints="float"),
    unary("log10", np.log10, 0.3, 4.0, ints="float"),
    unary("log1p", np.log1p, -0.6, 3.0, ints="float"),
    unary("sin", np.sin, ints="float"),
    unary("cos", np.cos, ints="float"),
    unary("tan", np.tan, -1.1, 1.1, ints="float"),
    unary("arcsin", np.arcsin, -0.8, 0.8, ints="float", heavy=True, kinks=(((1.0,), (INF,)),)),
    unary("arccos", np.arccos, -0.8, 0.8, ints="float", heavy=True, kinks=(((1.0,), (-INF,)),)),
    unary("arctan", np.arctan, ints="float", heavy=True),
    unary("sinh", np.sinh, ints="float"),
    unary("cosh", np.cosh, ints="float"),
    unary("tanh", np.tanh, ints="float"),
    unary("arcsinh", np.arcsinh, ints="float"),
    unary("arccosh", np.arccosh, 1.3, 4.0, ints="float", kinks=(((1.0,), (INF,)),)),
    unary("arctanh", np.arctanh, -0.8, 0.8, ints="float", kinks=(((1.0,), (INF,)),)),
    unary("erf", special.erf, ints="float"),
    unary("erfc", special.erfc, ints="float", f32=1e-5),
    unary("erfinv", special.erfinv, -0.8, 0.8, ints="float", heavy=True, f32=1e-5,
          signed_zeros=False, note="erfinv(-0.0) is -0.0; SciPy's is 0.0"),
    unary("lgamma", special.gammaln, 0.5, 5.0, avoid=(1.0, 2.0), ints="float", heavy=True,
          f32=1e-5, points=NO_POLES, note="at -inf: inf as in C; SciPy's is -inf"),
    unary("digamma", special.digamma, 0.5, 5.0, avoid=(1.46,), ints="float", heavy=True, f32=1e-5,
          points=NO_POLES),
    unary("deg2rad", np.deg2rad, ints="float"),
    unary("rad2deg", np.rad2deg, ints="float"),
    unary("floor", np.floor, avoid=WHOLES, order=2),
    unary("ceil", np.ceil, avoid=WHOLES, order=2),
    unary("rint", np.rint, avoid=HALVES, order=2),
    unary("trunc", np.trunc, avoid=WHOLES, order=2),
)

ACTIVATIONS = (
    unary("relu", lambda x: relu_like(x, 0, None), ints="float", **KINK_AT_0,
          signed_zeros=False, note="-0.0 stays -0.0", kinks=(((0.0,), (0.0,)),)),
    unary("relu6", lambda x: relu_like(x, 0, 6), -3, 8, avoid=(0.0, 6.0), ints="float",
          kinks=(((0.0,), (0.0,)), ((6.0,), (0.0,)))),
    unary("leaky_relu", leaky_relu, ints="float", **KINK_AT_0, options={"negative_slope": 0.2},
          more=(call(A(3, **KINK_AT_0)), call(A(3, **KINK_AT_0), 0.3)),
          kinks=(((0.0,), (0.01,)), ((0.0, 0.5), (0.5,)))),
    unary("elu", elu, ints="float", **KINK_AT_0, options={"alpha": 1.5},
          signed_zeros=False, note="-0.0 stays -0.0",
          more=(call(A(3, **KINK_AT_0)), call(A(3, **KINK_AT_0), 0.3)),
          kinks=(((0.0,), (1.0,)), ((0.0, 0.5), (0.5,)))),
    unary("sigmoid", special.expit, ints="float"),
    unary("logsigmoid", special.log_expit, ints="float", signed_zeros=False,
          note="far above zero it is 0.0; SciPy's is -0.0"),
    unary("softplus", lambda x: np.logaddexp(0, x), ints="float"),
    unary("softsign", lambda x: x / (1 + np.abs(x)), ints="float", **KINK_AT_0),
    unary("silu", lambda x: x * special.expit(x), ints="float"),
    unary("gelu", gelu, ints="float", f32=1e-5,
          more=(call(A(3, 4), approximate="tanh"), call(A(3), "tanh"))),
)

COMPARISONS = (
    *(predicate(name, arg(name)) for name in
      ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")),
    *(predicate(name, arg(name)) for name in ("logical_and", "logical_or", "logical_xor")),
    *(predicate(name, arg(name), 1) for name in ("logical_not", "isnan", "isinf", "isfinite")),
)

# fmt: on

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("families/*.py"))
FAMILIES = [import_module(f"families.{name}") for name in NAMES]
ELEMENTWISE = (*ARITHMETIC, *MATHS, *ACTIVATIONS, *COMPARISONS)
CASES = {case.key: case for case in chain(ELEMENTWISE, *(family.CASES for family in FAMILIES))}
