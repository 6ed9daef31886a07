"""Values of every operation, derived from the table: nothing here names an operation.

Derivatives: `test_op_derivatives.py`.
"""

import importlib
import itertools
import os
import re
import subprocess
import sys
import warnings
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from families.cases_complex import ELSEWHERE
from op_support import (
    DTYPES,
    REGISTRY,
    ROWS,
    arranged,
    behind,
    function,
    gradients,
    parts,
    reference,
    same,
    same_zeros,
    settled,
    tensors,
    with_arrays,
)

ELEMENTWISE = [case for case in ROWS if case.operands]
STRUCTURED = [case for case in ROWS if not case.operands and any(with_arrays(case))]
UNBOUNDED = [case for case in STRUCTURED if not case.finite]
INTS = tuple(map(np.dtype, ("i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")))


def rows(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.key)


def test_every_op_has_a_case() -> None:
    named = {case.key for case in ROWS}
    assert set(REGISTRY) - named == ELSEWHERE, "operations without a row"
    assert named - set(REGISTRY) == set(), "rows without an operation"


@rows(ROWS)
def test_value(case: Case) -> None:
    for call in case.calls:
        arrays = call.arrays()
        actual = call.apply(function(case), tensors(arrays))
        same(actual, call.apply(reference(case), arrays), rtol=case.rtol, atol=case.rtol, why=call)


@rows(ROWS)
def test_recorded_exactly_when_differentiable(case: Case) -> None:
    row = REGISTRY[case.key]
    assert row["differentiable"] == (case.order > 0)
    for call in with_arrays(case):
        inputs = tensors(call.arrays(), grad=True)
        results = parts(call.apply(function(case), inputs))
        for result in results:
            recorded = case.order > 0 and result.dtype.kind == "f"
            assert result.requires_grad is recorded, call
            given = any(result is x for x in inputs)
            assert (result.grad_fn is not None) is recorded or given, call
        with fg.no_grad():
            fresh = parts(call.apply(function(case), tensors(call.arrays())))
        assert all(not r.requires_grad and r.is_leaf for r in fresh), call


@rows(ROWS)
def test_arrays_and_methods_and_aliases_are_the_same_operation(case: Case) -> None:
    row = REGISTRY[case.key]
    call = next(with_arrays(case), case.calls[0])
    arrays = call.arrays()
    plain = [r.numpy() for r in parts(call.apply(function(case), tensors(arrays)))]

    def check(result: Any) -> None:
        for ours, wanted in zip(parts(result), plain, strict=True):
            np.testing.assert_array_equal(ours.numpy(), wanted)
            assert ours.dtype == wanted.dtype

    check(call.apply(function(case), arrays))
    home = attrgetter(case.key.rpartition(".")[0])(fg) if "." in case.key else fg
    for alias in row["aliases"]:
        check(call.apply(getattr(home, alias), tensors(arrays)))
    first, *rest = call.filled(tensors(arrays))
    if row["method"] and isinstance(first, fg.Tensor):
        for name in (row["name"], *row["aliases"]):
            made = getattr(first, name)(*rest, **call.kwargs)
            # NumPy's methods `sort` and `partition` write to their array.
            check(first if made is None else made)


@rows([case for case in ROWS if any(with_arrays(case))])
def test_layouts(case: Case) -> None:
    hows = ("transposed", "negative", "strided", "broadcast", "behind")
    for call, how in itertools.product(itertools.islice(with_arrays(case), 4), hows):
        why = f"{how} {call}"
        views = [arranged(a, how) for a in call.arrays()]
        make = behind if how == "behind" else fg.from_numpy
        inputs = [make(v).requires_grad_() for v in views]
        assert all(t.strides == v.strides for t, v in zip(inputs, views, strict=True) if v.size)
        actual = call.apply(function(case), inputs)
        same(actual, call.apply(reference(case), views), rtol=case.rtol, atol=case.rtol, why=why)
        if case.order:
            plain = tensors([np.array(v, order="C") for v in views], grad=True)
            found = gradients(case, call, inputs)
            for ours, wanted in zip(found, gradients(case, call, plain), strict=True):
                np.testing.assert_allclose(ours, wanted, 1e-12, 1e-13, err_msg=why)


@rows(ELEMENTWISE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
def test_special_values(case: Case, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        grid = np.meshgrid(*[np.array(case.points, dtype)] * case.operands)
        wide = case.ref(*[g.astype(np.float64) for g in grid], **case.options)
        expected = wide.astype(dtype) if wide.dtype.kind == "f" else wide
    actual = function(case)(*tensors(grid), **case.options)
    single = dtype == np.float32
    rtol = max(case.f32, case.points_rtol) if single else case.points_rtol
    assert actual.dtype == expected.dtype
    tiny = 0.0 if wide.dtype.kind != "f" else float(np.finfo(dtype).smallest_subnormal)
    np.testing.assert_allclose(actual.numpy(), expected, rtol, 1000 * tiny, equal_nan=True)
    if wide.dtype.kind == "f" and not single and case.signed_zeros:
        same_zeros(actual, expected, grid)


#: Rows of which one call is compared where values are not finite, and why.
REGROUPED = {
    "astype": "C leaves open which integer such a float becomes",
    "einsum": "sums over a label that one operand has before it multiplies",
    "linalg.matrix_norm": "LAPACK's singular values of such a matrix are NaN or an error",
}


@rows(UNBOUNDED)
def test_special_values_among_others(case: Case) -> None:
    specials = ([np.nan], [np.inf], [-np.inf, np.inf], [0.0, -0.0])
    calls = list(with_arrays(case))
    few = calls[:1] if case.key in REGROUPED else calls
    for call, values in itertools.product(few, specials):
        arrays = call.arrays()
        for i, array in enumerate(arrays):
            flat = array.reshape(-1)
            flat[i::5] = np.resize(values, flat[i::5].shape)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = call.apply(reference(case), arrays)
        actual = call.apply(function(case), tensors(arrays))
        same(actual, expected, rtol=1e-12, atol=1e-13, why=(values, call))


@rows([case for case in ELEMENTWISE if case.ints == "numpy"])
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integer_edges(case: Case, dtype: Any) -> None:
    """The ends of the range, zero as a divisor, mixed signs: wrapped and rounded as NumPy does."""
    ends = np.iinfo(dtype)
    small = [-7, -2, -1] if ends.min else [2, 5, 7]
    points = np.array([ends.min, ends.max, 0, 1, 3, *small], dtype)
    for x in points:
        grid = [np.full_like(points, x), points][-case.operands :]
        try:
            with np.errstate(all="ignore"):
                expected = settled(case.ref(*grid, **case.options))
        except (ValueError, TypeError):
            with pytest.raises((ValueError, TypeError)):
                function(case)(*tensors(grid), **case.options)
            continue
        actual = function(case)(*tensors(grid), **case.options)
        same(actual, expected, rtol=1e-12, why=grid)


@rows([case for case in ELEMENTWISE if case.operands == 2])
def test_python_numbers_are_weak(case: Case) -> None:
    for dtype, number in itertools.product(DTYPES, (True, 2, 2.5)):
        array = np.array([1, 1, 1]).astype(dtype)
        exact = array.dtype.kind != "f" and not isinstance(number, float)
        if case.ints == "float" and exact:
            continue
        for flip in (False, True):
            ours = (number, fg.tensor(array)) if flip else (fg.tensor(array), number)
            theirs = (number, array) if flip else (array, number)
            try:
                expected = settled(case.ref(*theirs))
            except TypeError:
                with pytest.raises(fg.errors.DTypeError):
                    print(dtype, number, function(case)(*ours))
                continue
            same(function(case)(*ours), expected, rtol=1e-6, why=(dtype, number, flip))


def numpy_functions(case: Case) -> list[Any]:
    """The functions of NumPy and the ufuncs of SciPy that mean this operation."""
    found = []
    for path in REGISTRY.get(case.key, {}).get("numpy", ()):
        home: Any = np
        if path.startswith("scipy."):
            module, path = path.rsplit(".", 1)
            home = importlib.import_module(module)
        for name in path.split("."):
            home = getattr(home, name)
        if isinstance(home, np.ufunc) or home.__module__.startswith("numpy"):
            found.append(home)
    return found


@rows([case for case in ROWS if numpy_functions(case)])
def test_numpy_protocol(case: Case) -> None:
    for theirs, call in itertools.product(numpy_functions(case), case.calls):
        inputs = tensors(call.arrays(), grad=True)
        if not inputs or (isinstance(theirs, np.ufunc) and call.kwargs):
            continue
        ours = call.apply(function(case), inputs)
        function_of = case.through or (lambda f: f)
        found = parts(call.apply(function_of(theirs), inputs))
        for one, other in zip(found, parts(ours), strict=True):
            assert isinstance(one, fg.Tensor), theirs
            np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())
            assert one.requires_grad is other.requires_grad, (theirs, call)
        if len(inputs) == 2 and isinstance(theirs, np.ufunc):
            mixed = theirs(inputs[0].detach().numpy(), inputs[1])
            assert isinstance(mixed, fg.Tensor)
            assert mixed.requires_grad is ours.requires_grad
            np.testing.assert_array_equal(mixed.detach().numpy(), ours.detach().numpy())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["scalar", "avx2"])
def test_simd_levels(level: str) -> None:
    """The rows again, on the loops of another instruction set: values, derivatives, threads."""
    env = {**os.environ, "FERROGRAD_ISA": level}
    keys = "test_value or test_special_values or test_first_order or test_float32 or bits"
    files = [str(Path(__file__).with_name(n)) for n in ("test_ops.py", "test_op_derivatives.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", keys]
    done = subprocess.run([*command, *files], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 4 * len(ROWS)


def test_the_level_of_the_environment_is_used() -> None:
    script = "import ferrograd as fg; print(fg._core._config()['simd'])"
    env = {**os.environ, "FERROGRAD_ISA": "scalar"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "baseline", done.stderr
