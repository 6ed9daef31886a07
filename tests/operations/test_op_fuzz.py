"""Every operation under random shapes, dtypes, axes and arguments, derived from the table.

`FERROGRAD_FUZZ` multiplies the number of examples.
"""

import copy
import os
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ferrograd as fg
from case_model import Case
from op_support import DTYPES, REGISTRY, ROWS, function, parts, plain, reference, settled

#: Examples for each operation where nothing else is asked for.
FEW = 15
EXAMPLES = FEW * int(os.environ.get("FERROGRAD_FUZZ", "1"))
OURS = tuple(
    c for c in vars(fg.errors).values() if isinstance(c, type) and issubclass(c, Exception)
)

#: Ends of the ranges of integers: nothing between, which would be slow instead of wrong.
ENDS = (-(2**63), -(2**31) - 1, 2**31, 2**62, 2**63 - 1)
WORDS = (
    "mean",
    "none",
    "full",
    "same",
    "valid",
    "left",
    "right",
    "wrap",
    "clip",
    "edge",
    "xy",
    "ij",
)
VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, np.nan, np.inf, -np.inf)

sizes = st.sampled_from((0, 1, 1, 2, 2, 3, 4))
shapes = st.lists(sizes, max_size=4).map(tuple)
small = st.one_of(st.integers(-4, 4), st.integers(0, 3))
integers = st.one_of(small, small, small, st.sampled_from(ENDS))
axes = st.one_of(st.none(), small, st.lists(small, max_size=3).map(tuple))
floats = st.one_of(st.sampled_from(VALUES), st.floats(-3, 3))


@st.composite
def arrays(draw: Any, like: tuple[int, ...] | None = None) -> np.ndarray:
    """An array of any dtype; of a shape that is `like`, related to it, or any other."""
    shape = draw(shapes)
    if like is not None:
        related = [like, like, like[1:], like[::-1], (1, *like[1:]), (*like[:-1], 1), (2, *like)]
        shape = draw(st.sampled_from([*related, shape]))
    dtype = draw(st.sampled_from((np.float64, np.float64, *DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 5)))
    if dtype in (np.float64, np.float32):
        values = rng.uniform(-3, 3, shape)
        if draw(st.booleans()):
            values = np.round(values)
        if draw(st.integers(0, 5)) == 0 and values.size:
            values.flat[:: draw(st.integers(1, 3))] = draw(st.sampled_from(VALUES))
        return np.asarray(values, dtype)
    low = 0 if dtype in (np.uint8, np.bool_) else -2
    return np.asarray(rng.integers(low, 5, shape), dtype)


def numbers() -> Any:
    return st.one_of(st.booleans(), integers, floats)


def lists_of(item: Any) -> Any:
    return st.lists(item, max_size=3).map(tuple)


#: What a parameter of each kind is given.
KINDS: dict[str, Any] = {
    "Int": integers,
    "Axes": axes,
    "Ints": st.one_of(integers, lists_of(integers)),
    "Nested": st.one_of(integers, lists_of(st.one_of(integers, lists_of(integers)))),
    "Bool": st.booleans(),
    "Padding": st.one_of(integers, lists_of(integers), st.sampled_from(WORDS)),
    "Float": st.one_of(st.booleans(), small, floats),
    "Str": st.sampled_from(WORDS),
    "Order": st.one_of(numbers(), st.sampled_from(("fro", "nuc", "x"))),
    "DType": st.sampled_from(DTYPES),
    "Index": st.one_of(integers, lists_of(integers)),
    "ShapeOrDType": st.one_of(integers, lists_of(integers), st.sampled_from(DTYPES)),
}
NONSENSE = st.sampled_from(
    (None, "x", 1j, object(), {}, [[1], [2, 3]], [], 2**70, slice(None), ...)
)


def is_array(param: dict[str, Any]) -> bool:
    return param["kind"] in {"Tensor", "Operand", "Condition"}


@st.composite
def argument(draw: Any, param: dict[str, Any], like: tuple[int, ...]) -> Any:
    """A value for a parameter: of its kind, nearly always."""
    if draw(st.integers(0, 25)) == 0:
        return copy.copy(draw(NONSENSE))
    if param["optional"] and draw(st.integers(0, 4)) == 0:
        return None
    if param["kind"] == "Operand":
        return draw(st.one_of(arrays(like), arrays(like), numbers()))
    if is_array(param):
        return draw(arrays(like))
    if param["kind"] in {"Tensors", "Variadic"}:
        return draw(st.lists(arrays(like), max_size=3))
    return draw(KINDS[param["kind"]])


@st.composite
def calls(draw: Any, case: Case) -> tuple[list[Any], dict[str, Any]]:
    """A call of the table with some of its arguments replaced, added or left out."""
    params = REGISTRY[case.key]["params"]
    known = draw(st.sampled_from(case.calls))
    made = list(known.filled(known.arrays(draw(st.integers(0, 3)))))
    several = params[0]["kind"] == "Variadic"
    if several:
        made = [made]
    shapes_of = [x.shape for x in made if isinstance(x, np.ndarray)]
    like = draw(st.sampled_from([*shapes_of, draw(shapes)]))
    given_by = dict(zip([p["name"] for p in params], made, strict=False)) | known.kwargs
    for param in params:
        needed = param["default"] is None and not param["optional"]
        change = draw(st.integers(0, 5))
        if change < 2 or (needed and param["name"] not in given_by):
            given_by[param["name"]] = draw(argument(param, like))
        elif change == 2 and not needed:
            given_by.pop(param["name"], None)
    return called(params, given_by, len(made))


def called(
    params: list[dict[str, Any]], given_by: dict[str, Any], count: int
) -> tuple[list[Any], dict[str, Any]]:
    """By position what a row gives by position, since a reference has names of its own."""
    positional = []
    for i, param in enumerate(params[: max(count, 1)]):
        if param["name"] not in given_by:
            break
        value = given_by.pop(param["name"])
        # A list by itself is an array to NumPy, and several operands to us.
        last = param["kind"] == "Tensors" and 0 < i == len(params) - 1
        unpack = isinstance(value, list) and (last or param["kind"] == "Variadic")
        positional += value if unpack else [value]
    return positional, given_by


def tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return fg.tensor(value, requires_grad=value.dtype.kind == "f")
    if isinstance(value, list | tuple):
        return type(value)(tensors(item) for item in value)
    return value


def widened(case: Case, value: Any) -> Any:
    """The arguments as the reference takes them: float where the operation computes in float."""
    floats_only = case.ints == "float" or (case.ints is None and not of_numpy(case))
    if isinstance(value, np.ndarray) and value.dtype.kind in "biu" and floats_only:
        return value.astype(np.float64)
    if isinstance(value, list | tuple):
        return type(value)(widened(case, item) for item in value)
    return value


def of_numpy(case: Case) -> bool:
    """Whether the reference is a function of NumPy's, not the row's own."""
    return str(getattr(case.ref, "__module__", "")).startswith("numpy")


def beyond(positional: list[Any], named: dict[str, Any]) -> bool:
    """Whether negative floats become uint8, which C leaves open."""
    below = any(
        isinstance(x, np.ndarray) and x.dtype.kind == "f" and (x < 0).any() for x in positional
    )
    return below and np.uint8 in (x for x in (*positional, *named.values()) if isinstance(x, type))


def regular(value: Any) -> bool:
    """Whether no array holds booleans, NaN or infinity: factorisations are of others."""
    if isinstance(value, list | tuple):
        return all(map(regular, value))
    kind = getattr(value, "dtype", np.dtype(object)).kind
    return kind != "b" and (kind != "f" or bool(np.isfinite(value).all()))


def narrow(*values: Any) -> bool:
    """Whether NumPy computes in float32, or for booleans in float16."""
    coarse = (np.float32, np.bool_)
    return any(isinstance(v, bool) or getattr(v, "dtype", None) in coarse for v in values)


#: Rows that answer where their reference refuses, and why. Where both answer, they are compared.
WIDER = {
    "where": "the condition alone, with None for the other two, is nonzero",
    "sum_to_size": "one integer is a shape",
    "softmax": "SciPy refuses lines without elements",
    "logsumexp": "SciPy refuses lines without elements",
    "gather": "an index of no dimensions, as in PyTorch",
    "select": "None is the default",
    "transpose": "two axes are swapped, as in PyTorch",
    "quantile": "where there are no lines, none lacks elements",
    "percentile": "where there are no lines, none lacks elements",
    "pad": "None is the default",
    "expand": "-1 keeps a dimension, as in PyTorch",
    "take_along_axis": "an empty list is an index of nothing",
    "take_along_dim": "an empty list is an index of nothing",
}
#: Rows whose answers are not compared with their reference's, and why.
OPEN = {
    "nn.functional.dropout_mask": "a probability of 1 drops everything, where 0 / 0 is NaN",
    "trapezoid": "steps of unsigned places wrap, as in NumPy, and not as in its widened reference",
    "nn.functional.scaled_dot_product_attention": "a mask of booleans is not one of numbers",
    "polygamma": "SciPy's is NaN where the factorial overflows",
    "full_like": "numbers outside the range of uint8 wrap",
    "astype": "C leaves negative floats as uint8 open; here they are 0",
}


def expected_of(case: Case, positional: list[Any], named: dict[str, Any]) -> Any:
    given_by = {key: widened(case, value) for key, value in named.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return settled(reference(case)(*widened(case, positional), **given_by))


def refused(call: Any) -> str | None:
    """None: it answers. Else what is wrong with how it refuses; nothing, as a rule."""
    try:
        call()
    except OverflowError as error:
        return "" if "fit" in str(error) else f"raises {error!r}"
    except OURS as error:
        return str(error) if isinstance(error, fg.errors.InternalError) else ""
    except BaseException as error:
        return f"raises {type(error).__name__}: {error}"
    return None


def verdict(case: Case, positional: list[Any], named: dict[str, Any]) -> str:
    """What is wrong with our answer; empty: nothing."""

    def call(function: Any) -> Any:
        return function(*tensors(positional), **{k: tensors(v) for k, v in named.items()})

    refusal = refused(lambda: call(plain(case)))
    if refusal is not None:
        return refusal
    if (case.through or case.finite) and not regular(positional):
        return ""
    try:
        theirs = expected_of(case, positional, named)
    except (ValueError, IndexError) as error:
        wider = case.key in WIDER or not of_numpy(case) or case.through
        # PyTorch gives a number one axis.
        axis = isinstance(error, np.exceptions.AxisError) and (error.ndim, error.axis)
        wider = wider or axis in ((0, 0), (0, -1))
        return "" if wider else f"answers where NumPy says {error!r}"
    except Exception:
        # Of other types than the reference takes, or than the row's own helper does.
        return ""
    if (
        case.key in OPEN
        or beyond(positional, named)
        or (case.through and refused(lambda: call(function(case))) is not None)
    ):
        # Of other shapes or types than what the row compares through takes.
        return ""
    if any(np.asarray(part).dtype == object for part in parts(theirs)):
        # NumPy made room for None.
        return ""
    ours = call(function(case))
    if len(parts(ours)) != len(parts(theirs)):
        return f"gives {len(parts(ours))} results instead of {len(parts(theirs))}"
    rtol = 1e-3 if narrow(*positional, *named.values()) else max(case.rtol, 1e-8)
    for one, other in zip(parts(ours), parts(theirs), strict=True):
        if one.shape != np.shape(other):
            return f"has shape {one.shape} instead of {np.shape(other)}"
        try:
            np.testing.assert_allclose(one.detach().numpy(), other, rtol, rtol)
        except (AssertionError, TypeError):
            return f"gives {one} instead of {other}"
    return ""


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.key)
def test_any_arguments(case: Case) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=EXAMPLES == FEW,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(calls(case))
    def any_call(made: Any) -> None:
        assert verdict(case, *made) == ""

    any_call()
