"""Methods that change their tensor, `x.exp_()`, derived from the operation table.

Names no operation but in the test that the registry was read.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import A, Call, Case
from op_support import REGISTRY, ROWS, function

CHANGING = [case for case in ROWS if REGISTRY[case.key]["in_place"] and case.through is None]

Change = Callable[[fg.Tensor, Case, Call, list[Any]], fg.Tensor]


def fitting(case: Case, call: Call) -> bool:
    """Whether the result can take the place of the first operand."""
    if not (call.args and isinstance(call.args[0], A)) or call.kwargs.get("dtype"):
        return False
    arrays = call.arrays()
    result = np.asarray(call.apply(case.ref, arrays))
    return result.shape == arrays[0].shape and result.dtype.kind in "fb"


def plain(x: fg.Tensor, case: Case, call: Call, rest: list[Any]) -> fg.Tensor:
    return call.apply(function(case), [x * 1, *rest])


def changed(x: fg.Tensor, case: Case, call: Call, rest: list[Any]) -> fg.Tensor:
    y = x * 1
    arguments = call.filled([y, *rest])[1:]
    assert getattr(y, f"{case.name}_")(*arguments, **call.kwargs) is y
    return y


def changed_through_a_view(x: fg.Tensor, case: Case, call: Call, rest: list[Any]) -> fg.Tensor:
    base = fg.stack([x, x])
    arguments = call.filled([x, *rest])[1:]
    getattr(base[1, ...], f"{case.name}_")(*arguments, **call.kwargs)
    np.testing.assert_array_equal(base[0].detach().numpy(), x.detach().numpy())
    return base[1]


def derivatives(change: Change, case: Case, call: Call) -> list[np.ndarray]:
    """The value, and the first and second derivatives in all operands."""
    leaves = [fg.tensor(a, requires_grad=True) for a in call.arrays()]
    y = change(leaves[0], case, call, list(leaves[1:])) * 1
    found = [y.detach().numpy()]
    weights = fg.tensor(np.linspace(-1, 1, y.numel()).reshape(y.shape))
    if case.order:
        options: Any = {"create_graph": True, "materialize_grads": True}
        first = fg.autograd.grad((y * weights).sum(), leaves, **options)
        curved = sum((g * x).sum() for g, x in zip(first, leaves, strict=True))
        second = fg.autograd.grad(curved, leaves, materialize_grads=True)
        found += [g.detach().numpy() for g in (*first, *second)]
    return found


@pytest.mark.parametrize("change", [changed, changed_through_a_view])
@pytest.mark.parametrize("case", CHANGING, ids=lambda case: case.key)
def test_a_method_in_place_is_its_function(case: Case, change: Change) -> None:
    calls = [call for call in case.calls if fitting(case, call)]
    for call in calls:
        ours, theirs = derivatives(change, case, call), derivatives(plain, case, call)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)


def laid(a: np.ndarray, layout: str) -> fg.Tensor:
    """The values in fresh memory, or as every other element of a longer axis, or transposed."""
    if layout == "strided" and a.ndim:
        longer = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        longer[..., ::2] = a
        return fg.from_numpy(longer)[..., ::2]
    return fg.tensor(a.T.copy()).T if layout == "transposed" else fg.tensor(a)


@pytest.mark.parametrize("layout", ["fresh", "strided", "transposed"])
@pytest.mark.parametrize("case", CHANGING, ids=lambda case: case.key)
def test_a_method_in_place_without_a_record(case: Case, layout: str) -> None:
    for call in [call for call in case.calls if fitting(case, call)]:
        arrays = call.arrays()
        want = call.apply(function(case), [fg.tensor(a) for a in arrays]).numpy()
        x = laid(arrays[0], layout)
        arguments = call.filled([x, *(fg.tensor(a) for a in arrays[1:])])[1:]
        assert getattr(x, f"{case.name}_")(*arguments, **call.kwargs) is x
        np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize("n", [8, 1000, 100_000])
def test_an_operand_may_be_the_receiver_or_share_its_memory(n: int) -> None:
    values = np.linspace(-1.0, 1.0, n + 1)
    x = fg.tensor(values)
    assert np.array_equal(x.mul_(x).numpy(), values * values)
    assert np.array_equal(x.add_(x[:]).numpy(), 2 * (values * values))
    shared = values.copy()
    front, back = fg.from_numpy(shared[:-1]), fg.from_numpy(shared[1:])
    version = back._version
    try:
        back.add_(front)
    except fg.InPlaceError:
        assert np.array_equal(shared, values)
        assert back._version == version
    else:
        assert np.array_equal(shared[1:], values[1:] + values[:-1])


def test_the_registry_says_which_methods_there_are() -> None:
    names = {f"{n}_" for row in REGISTRY.values() if row["in_place"] for n in row["aliases"]}
    names |= {f"{row['name']}_" for row in REGISTRY.values() if row["in_place"]}
    wanted = """add_ sub_ mul_ divide_ pow_ neg_ exp_ sin_ sqrt_ tanh_ relu_ clamp_ masked_fill_
        index_add_ abs_ sigmoid_ log_ reciprocal_ scatter_ round_ floor_ cumsum_ tril_ lerp_
        swapaxes_"""
    assert set(wanted.split()) <= names
    names |= {alias for row in REGISTRY.values() for alias in row["in_place_aliases"]}
    assert all(callable(getattr(fg.Tensor, name)) for name in names | {"transpose_"})
    unfit = {"sum_", "reshape_", "matmul_", "index_", "astype_", "clone_", "isnan_"}
    assert not unfit & set(dir(fg.Tensor))
    tested = {case.key for case in CHANGING if any(fitting(case, c) for c in case.calls)}
    integers = {row["name"] for row in REGISTRY.values() if row["family"] == "bitwise"}
    untested = {key for key, row in REGISTRY.items() if row["in_place"]} - tested - integers
    assert not untested, "no call of its row fits the receiver"


WHOLE = ["+=", "-=", "*=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="]


@pytest.mark.parametrize("symbol", [*WHOLE, "/=", "@="])
def test_an_operator_in_place_changes_what_every_view_sees(symbol: str) -> None:
    dtype = np.int64 if symbol in WHOLE else np.float64
    array = np.array([[7, 6], [5, 4]], dtype)
    tensor = fg.tensor(array)
    operand = np.eye(2) * 2 if symbol == "@=" else 2
    for base in (array, tensor):
        view = base[::-1]
        scope = {"view": view, "operand": operand}
        exec(f"view {symbol} operand", scope)
        assert scope["view"] is view
    np.testing.assert_array_equal(tensor, array)


@pytest.mark.parametrize("symbol", ["//=", "%="])
def test_quotients_in_place_have_derivatives(symbol: str) -> None:
    x = fg.tensor([7.5, -3.25], requires_grad=True)
    b = fg.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    scope = {"y": y, "b": b}
    exec(f"y {symbol} b", scope)
    function = fg.floor_divide if symbol == "//=" else fg.remainder
    made = fg.autograd.grad(scope["y"].sum(), [x, b])
    expected = fg.autograd.grad(function(x, b).sum(), [x, b])
    for found, wanted in zip(made, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(fg.errors.InPlaceError, match="leaf"):
        exec(f"x {symbol} 2", {"x": x})
