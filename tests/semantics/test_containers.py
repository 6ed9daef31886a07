"""One rule says what a container is: in transforms, compiled and custom functions, and files."""

import collections
import dataclasses
import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import ferrograd as fg
from ferrograd._tensor.pytree import LEAF, MAX_DEPTH, Tree, find_tensors, flatten


class Pair(NamedTuple):
    a: Any
    b: Any


class Row(list):
    def __iter__(self) -> Any:
        return iter(("not", "what", "it", "holds"))


@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    kind: Any = dataclasses.field(default="plain", metadata={"static": True})


VALUES = [
    1.0,
    None,
    [],
    (),
    {},
    [1.0, (2.0, [3.0]), None],
    {"b": 1.0, "a": {"c": 2.0}, 3: 4.0},
    Pair(1.0, [2.0]),
    collections.OrderedDict(z=1.0, y=2.0),
    collections.Counter(a=2),
    Layer(1.0, {"b": 2.0}, "other"),
    [None, Layer(None, ())],
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(value: Any) -> None:
    leaves, tree = flatten(value)
    made = tree.unflatten(leaves)
    assert made == value
    assert type(made) is type(value)
    assert tree.num_leaves == len(leaves) == len(tree.paths())
    again = flatten(made)[1]
    assert again == tree
    assert hash(again) == hash(tree)
    assert tree.without_items() == tree
    assert tree.without_items().unflatten(leaves) == value


def test_leaves_and_their_paths() -> None:
    value = {"w": [1.0, Pair(2.0, None)], 3: Layer(4.0, 5.0)}
    leaves, tree = flatten(value)
    assert leaves == [1.0, 2.0, 4.0, 5.0]
    assert tree.paths() == ["['w'][0]", "['w'][1].a", "[3].weight", "[3].bias"]
    assert str(tree) == (
        "dict(['w']: list([0]: *, [1]: Pair(.a: *, .b: None)), [3]: Layer(.weight: *, .bias: *))"
    )
    assert tree.kind is dict
    assert tree.keys == ["w", 3]
    assert [child.num_leaves for child in tree.children] == [2, 2]
    assert LEAF.is_leaf
    assert LEAF.kind is None


def test_a_subclass_of_list_holds_what_it_holds() -> None:
    leaves, tree = flatten(Row([1.0, 2.0]))
    assert leaves == [1.0, 2.0]
    assert type(tree.unflatten(leaves)) is Row


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1.0], (1.0,)),
        ([1.0], [1.0, 2.0]),
        ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}),
        ({1: 1.0}, {True: 1.0}),
        ({1: 1.0}, {1.0: 1.0}),
        ({0.0: 1.0}, {-0.0: 1.0}),
        ({"a": 1.0}, collections.OrderedDict(a=1.0)),
        (Pair(1.0, 2.0), (1.0, 2.0)),
        (Layer(1.0, 2.0, "x"), Layer(1.0, 2.0, "y")),
        (None, 1.0),
        ([None], [1.0]),
    ],
    ids=repr,
)
def test_structures_differ(one: Any, other: Any) -> None:
    assert flatten(one)[1] != flatten(other)[1]


def test_equal_structures() -> None:
    nan = float("nan")
    assert flatten({nan: 1.0})[1] == flatten({float("nan"): 2.0})[1]
    assert flatten({(1, 2.0): 1.0})[1] == flatten({(1, 2.0): 2.0})[1]
    assert flatten({(1, 2.0): 1.0})[1] != flatten({(1, 2): 2.0})[1]
    assert flatten([1.0])[1] != [1.0]
    assert Tree.of_tuple([LEAF, flatten([1.0])[1]]) == flatten((2.0, [3.0]))[1]


def test_leaves_are_taken_from_an_iterator_as_needed() -> None:
    tree, leaves = flatten((1.0, {"a": 2.0}))[1], iter([3.0, 4.0, 5.0])
    assert tree.unflatten(leaves) == (3.0, {"a": 4.0})
    assert next(leaves) == 5.0
    with pytest.raises(fg.errors.ArgumentError, match="fewer leaves"):
        tree.unflatten([3.0])


def test_nesting_is_limited() -> None:
    value: Any = 1.0
    for _ in range(MAX_DEPTH):
        value = [value]
    assert flatten(value)[0] == [1.0]
    with pytest.raises(fg.errors.ShapeError, match="nested more than 64 levels"):
        flatten([value])
    value = {}
    value["self"] = value
    with pytest.raises(fg.errors.ShapeError, match="contains itself"):
        flatten(value)


def test_a_structure_without_items_keeps_nothing_alive() -> None:
    x = fg.ones(3)
    there = weakref.ref(x)
    tree = flatten(Layer(x, None))[1].without_items()
    del x
    gc.collect()
    assert there() is None
    assert tree.unflatten([2.0]) == Layer(2.0, None)


def test_a_cycle_through_a_structure_is_collected() -> None:
    class Key:
        tree: Any = None

    key = Key()
    there = weakref.ref(key)
    key.tree = flatten({key: 1.0})[1]
    del key
    gc.collect()
    assert there() is None


def test_tensors_in_containers() -> None:
    x = fg.ones(2)
    assert [each is x for each in find_tensors([1.0, {"a": (x,)}, Layer(None, x)])] == [True, True]


class Scaled(fg.Function):
    """Twice the weight of a layer, and three times its bias, in a layer."""

    @staticmethod
    def forward(ctx: Any, layer: Layer) -> Layer:
        return Layer(layer.weight * 2.0, layer.bias * 3.0, layer.kind)

    @staticmethod
    def backward(ctx: Any, grads: Layer) -> Layer:
        return Layer(grads.weight * 2.0, grads.bias * 3.0)


class Listed(Scaled):
    backward = staticmethod(lambda ctx, grads: [[1.0, 2.0]])


def test_a_custom_function_of_a_dataclass() -> None:
    layer = Layer(fg.ones(2, requires_grad=True), fg.ones(2, requires_grad=True), "own")
    out = Scaled.apply(layer)
    assert (type(out), out.kind) == (Layer, "own")
    (out.weight + out.bias).sum().backward()
    assert layer.weight.grad.tolist() == [2.0, 2.0]
    assert layer.bias.grad.tolist() == [3.0, 3.0]
    out = Listed.apply(layer)
    with pytest.raises(fg.errors.ArgumentTypeError, match="the argument is a Layer"):
        (out.weight + out.bias).sum().backward()


def test_a_custom_function_of_a_subclass_of_dict() -> None:
    class Doubled(fg.Function):
        @staticmethod
        def forward(ctx: Any, table: Any) -> Any:
            return table["x"] * 2.0

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return ({"x": grad * 2.0},)

    x = fg.ones(2, requires_grad=True)
    Doubled.apply(collections.OrderedDict(x=x, y=1)).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_compiled_function_of_dataclasses_tells_static_fields_apart() -> None:
    def f(layer: Layer) -> Any:
        return layer.weight * (2.0 if layer.kind == "double" else 3.0)

    compiled, x = fg.compile(f), np.arange(3.0)
    for _ in range(3):
        for kind in ("double", "triple"):
            layer = Layer(x, None, kind)
            np.testing.assert_array_equal(compiled(layer), f(layer))
    assert len(compiled.programs) == 2


def test_a_compiled_function_returns_containers() -> None:
    def f(x: Any) -> Any:
        return {"pair": Pair(x * 2.0, [x + 1.0, None, "text"]), "layer": Layer(x, {"n": 3})}

    compiled, x = fg.compile(f), np.arange(3.0)
    for _ in range(3):
        found, want = compiled(x), f(x)
        assert flatten(found)[1] == flatten(want)[1]
        for a, b in zip(flatten(found)[0], flatten(want)[0], strict=True):
            np.testing.assert_array_equal(a, b)
    found["layer"].bias["n"] = 4
    assert compiled(x)["layer"].bias["n"] == 3


def test_a_constant_array_among_results_is_a_copy() -> None:
    constant = np.arange(2.0)
    compiled = fg.compile(lambda x: (x * 2.0, constant))
    for _ in range(3):
        _, found = compiled(np.ones(2))
        found[:] = 7.0
    assert constant.tolist() == [0.0, 1.0]
