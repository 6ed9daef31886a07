"""Operators take a short way for a few floats: it answers as the long way does."""

import gc
import operator
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "pow": operator.pow,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
}
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
NUMBERS = [2.0, 2, -1, 3, 0.5, True, 2**70, 1e300, float("nan"), 2j, np.float64(2.0), np.float32(2)]
SHAPES: list[tuple[int, ...]] = [
    (),
    (1,),
    (3,),
    (2, 3),
    (1, 2, 1, 2),
    (2, 1, 1, 1, 2),
    (0,),
    (300,),
]


def filled(shape: tuple[int, ...], dtype: Any = np.float64, grad: bool = False) -> fg.Tensor:
    values = np.linspace(0.5, 2.5, int(np.prod(shape))).reshape(shape).astype(dtype)
    return fg.tensor(values, requires_grad=grad)


def long_way(name: str, a: Any, b: Any) -> Any:
    """The same by the method that stands behind the slot."""
    if isinstance(a, fg.Tensor):
        return getattr(a, f"__{name}__")(b)
    return getattr(b, f"__{MIRRORED.get(name, 'r' + name)}__")(a)


def outcome(compute: Callable[[], Any]) -> Any:
    """All that two ways must agree in."""
    try:
        out = compute()
    except Exception as error:
        return type(error), str(error)
    node = out.grad_fn
    saved = None if node is None else [n is None for n, _ in node.next_functions]
    return (
        np.asarray(out.detach()).tobytes(),
        out.dtype,
        out.shape,
        out.strides,
        out.requires_grad,
        out.is_leaf,
        node and node.name(),
        node and node.attrs,
        saved,
        re.sub(r" \(called at .*?\)", "", str(fg.explain_no_grad(out))),
    )


def agree(name: str, a: Any, b: Any) -> None:
    short = outcome(lambda: OPERATORS[name](a, b))
    assert short == outcome(lambda: long_way(name, a, b)), (name, a, b)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("grad", [False, True])
def test_two_tensors_answer_as_the_long_way(name: str, grad: bool) -> None:
    for shape in SHAPES:
        for dtype in (np.float64, np.float32, np.float16, np.int64, np.complex128, bool):
            recorded = grad and np.issubdtype(dtype, np.inexact)
            a, b = filled(shape, dtype, recorded), filled(shape, dtype)
            agree(name, a, b)
            agree(name, b, a)
            agree(name, a, a)
    column, row = filled((2, 1), grad=grad), filled((1, 3))
    agree(name, column, row)
    agree(name, filled((3,), np.float32), filled((3,)))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_answer_as_the_long_way(name: str, number: Any) -> None:
    for shape in SHAPES:
        for dtype in (np.float64, np.float32, np.int64):
            a = filled(shape, dtype, grad=dtype is np.float64)
            agree(name, a, number)
            if type(number).__module__ == "builtins":
                agree(name, number, a)


@pytest.mark.parametrize("name", OPERATORS)
def test_views_answer_as_the_long_way(name: str) -> None:
    whole = filled((4, 4), grad=True)
    parts = [
        whole[1],
        whole[:, 1],
        whole[::2][0],
        whole[3, ::-1],
        whole.T[2],
        whole[1:2].reshape(4),
    ]
    for a in parts:
        for b in parts:
            agree(name, a, b)
        agree(name, a, 2.0)


MODES = {
    "no_grad": fg.no_grad,
    "inference": fg.inference_mode,
    "anomaly": fg.autograd.detect_anomaly,
    "packed": lambda: fg.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPERATORS)
def test_modes_answer_as_the_long_way(name: str, mode: str) -> None:
    a, b = filled((3,), grad=True), filled((3,))
    with MODES[mode]():
        for x, y in ((a, b), (b, b), (a, 2.0), (b, 2.0), (2.0, a)):
            agree(name, x, y)


FUNCTIONS = {
    "add": fg.add,
    "sub": fg.subtract,
    "mul": fg.multiply,
    "truediv": fg.divide,
    "lt": fg.less,
    "ge": fg.greater_equal,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_answer_as_the_long_way(name: str) -> None:
    function = FUNCTIONS[name]
    method = function.__name__
    for dtype in (np.float64, np.float32, np.int64):
        for shape in SHAPES:
            a, b = filled(shape, dtype, grad=dtype is np.float64), filled(shape, dtype)
            for other in (b, 2.0, 3, 2**70):
                expected = outcome(lambda: long_way(name, a, other))  # noqa: B023
                assert outcome(lambda: function(a, other)) == expected  # noqa: B023
                assert outcome(lambda: getattr(a, method)(other)) == expected  # noqa: B023
            assert outcome(lambda: function(2.0, a)) == outcome(lambda: long_way(name, 2.0, a))  # noqa: B023


@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "sigmoid", "sqrt", "isnan", "floor"])
def test_functions_of_one_tensor_answer_as_their_methods(name: str) -> None:
    function = getattr(fg, name)
    for dtype in (np.float64, np.float32, np.int64):
        for shape in SHAPES:
            a = filled(shape, dtype, grad=dtype is np.float64)
            # A keyword goes the long way.
            expected = outcome(lambda: function(x=a))  # noqa: B023
            assert outcome(lambda: function(a)) == expected  # noqa: B023
            assert outcome(getattr(a, name)) == expected


KEYS = [
    *(0, -1, 2, 3, -4, 2**70, True, np.int64(1), None, ..., 1.0, "a"),
    *(slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(2, 0, -1)),
    *(slice(5, 9), slice(2**70), slice(None, None, 0), slice(1.0), slice(np.int64(1), None)),
    *((), (0,), (1, 2), (-1, -1), (0, slice(1, 3)), (slice(None), 1), (slice(1, 3), slice(0, 2))),
    *(
        (1, 5),
        (5, 1),
        (0, 0, 0),
        (0, ...),
        (None, 1),
        (1, [0, 1]),
        ([0, 1], 1),
        (slice(0), slice(1)),
    ),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("grad", [False, True])
def test_indices_answer_as_the_long_way(key: Any, grad: bool) -> None:
    for shape in [(), (3,), (3, 4), (3, 3, 2), (2, 3, 1, 1, 2), (0, 2)]:
        x = filled(shape, grad=grad)
        for source in (x, x * 2.0, x.T):
            assert outcome(lambda: source[key]) == outcome(lambda: source.__getitem__(key))  # noqa: B023


def test_an_object_with_an_index_is_one() -> None:
    class Second:
        def __index__(self) -> int:
            return 1

    x, second = filled((3, 4), grad=True), Second()
    assert x[second].tolist() == x[1].tolist()
    assert x[second, second].item() == x[1, 1].item()
    assert x[second:, second].tolist() == x[1:, 1].tolist()
    y = filled((3,))
    y[second] = 7.0
    assert y[1].item() == 7.0


def test_views_know_their_base() -> None:
    x = filled((3, 4))
    row, element, part = x[1], x[1, 2, ...], x[1:][:, 1]
    assert row._base is x
    assert element._base is x
    assert part._base is x
    row += 1.0
    assert float(x[1, 2]) == float(element)
    assert x._version == element._version == 1


def test_an_element_has_no_base() -> None:
    x = filled((3, 4))
    element, kept = x[1, 2], float(x[1, 2])
    assert element._base is None
    assert not element._is_view()
    x += 1.0
    assert float(element) == kept
    assert (x._version, element._version) == (1, 0)


def test_negatives_answer_as_the_long_way() -> None:
    for shape in SHAPES:
        for dtype in (np.float64, np.float32, np.int64):
            a = filled(shape, dtype, grad=dtype is np.float64)
            assert outcome(lambda: -a) == outcome(a.__neg__)  # noqa: B023


@pytest.mark.parametrize("name", OPERATORS)
def test_derivatives_are_those_of_the_long_way(name: str) -> None:
    def slopes(compute: Callable[[Any, Any], Any], number: bool) -> list[bytes]:
        a, b = filled((3,), grad=True), 2.0 if number else filled((3,), grad=True)
        out = compute(a, b)
        if not out.requires_grad:
            return []
        inputs = [a] if number else [a, b]
        first = fg.autograd.grad(out.sum(), inputs, create_graph=True)
        second = (
            fg.autograd.grad(first[0].sum(), inputs, allow_unused=True)
            if first[0].requires_grad
            else []
        )
        return [np.asarray(x.detach()).tobytes() for x in (*first, *second) if x is not None]

    for number in (False, True):
        short = slopes(OPERATORS[name], number)
        assert short == slopes(lambda a, b: long_way(name, a, b), number)


def test_subclasses_keep_their_say() -> None:
    class Loud(fg.Tensor):
        def __add__(self, other: Any) -> Any:
            return "left"

        def __radd__(self, other: Any) -> Any:
            return "right"

    class Quiet(fg.Tensor):
        pass

    plain, values = filled((2,)), np.ones(2)
    loud, quiet = Loud(values), Quiet(values)
    assert loud + plain == "left"
    assert plain + loud == "right"
    assert np.array_equal(np.asarray(plain + quiet), np.asarray(quiet + plain))
    assert np.array_equal(np.asarray(plain * loud), np.asarray(plain))


def test_who_knows_better_is_asked() -> None:
    class Better:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "better"

    assert filled((2,)) + Better() == "better"
    with pytest.raises(TypeError):
        filled((2,)) + object()
    with pytest.raises(TypeError, match="third argument"):
        pow(filled((2,)), 2.0, 3)


def test_scopes_see_each_call() -> None:
    a = filled((3,), grad=True)
    with fg.Graph() as graph:
        a + a, a * 2.0, 1.0 - a, -a, a**2, a > 0.5
    assert [op.name for op in graph.ops] == [
        "add",
        "multiply",
        "subtract",
        "negative",
        "power",
        "greater",
    ]


def test_compiled_functions_record_them() -> None:
    f = fg.compile(lambda x: (x + x) * 2.0 - x**2 / 3.0)
    for scale in (1.0, 2.0, 5.0):
        x = scale * np.arange(3.0)
        assert np.array_equal(f(x), (x + x) * 2.0 - x**2 / 3.0)


def test_objects_of_data_alone_end_as_others() -> None:
    a, b = filled((3,)), filled((3,), grad=True)
    b + b  # Its accumulator stays.
    gc.collect()
    nodes, size = fg.live_nodes(), fg.live_bytes()
    gone = []
    for make in (lambda: a + a, lambda: b + b, lambda: a[1:], lambda: (b * 2.0)[0]):
        out = make()
        weakref.finalize(out, gone.append, None)
        del out
    assert len(gone) == 4
    for _ in range(1000):
        kept = [a + 1.0 for _ in range(100)]
        del kept
    gc.collect()
    assert fg.live_nodes() == nodes
    assert fg.live_bytes() == size


def test_the_collector_finds_cycles_through_results() -> None:
    before = fg.live_nodes()
    a = filled((2,), grad=True)
    b = a + a
    b.register_hook(lambda g, me=b: None)
    seen = weakref.ref(b)
    del b
    gc.collect()
    assert seen() is None
    del a
    gc.collect()
    assert fg.live_nodes() <= before
