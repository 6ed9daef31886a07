"""`fg.Graph` as a scope: what it lists and what can be looked up in it."""

import contextlib
import gc
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Graph, Tensor, functors as F  # noqa: N812


def leaf(*values: float, name: str | None = None) -> Tensor:
    return fg.tensor(list(values), requires_grad=True, name=name)


def names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


# --- what a scope lists ------------------------------------------------------------------------


def test_a_scope_lists_functions_methods_and_operators_in_order() -> None:
    x = leaf(1.0, 2.0)
    with Graph() as graph:
        y = fg.exp(x)
        z = y.sum(axis=0, keepdims=True)
        w = (-z + 2.0) * 3.0 - x
        w = (x @ x) / w
        w = 2.0**w
        _ = w[0]
        _ = w.T
        _ = abs(w)
        _ = w > 1
        _ = w.astype(np.float32)
        _ = fg.concatenate([x, y])
        _ = w.reshape(1, 2)
        _ = np.ones(2) + x
    assert names(graph) == [
        "exp",
        "sum",
        "negative",
        "add",
        "multiply",
        "subtract",
        "matmul",
        "divide",
        "power",
        "index",
        "permute",
        "abs",
        "greater",
        "astype",
        "concatenate",
        "reshape",
        "add",
    ]
    assert [op.recorded for op in graph.ops].count(False) == 1, "the comparison"


def test_attributes_inputs_and_outputs() -> None:
    x = leaf(1.0, 2.0, name="x")
    with Graph() as graph:
        y = x.sum(axis=0, keepdims=True)
        y.name = "y"
        x.reshape(2, 1)
        x * 3.0
        x.clip(min=0.0, max=1.5)
        fg.concatenate([x, y], axis=0)
    total, reshape, times, clip, joined = graph.ops
    assert total.attrs == {"axis": 0, "keepdims": True}
    assert reshape.attrs == {"shape": (2, 1)}
    assert times.attrs == {"arg1": 3.0}
    assert clip.attrs == {"min": 0.0, "max": 1.5}
    assert joined.attrs == {"axis": 0}
    assert [v.name for v in joined.inputs] == ["x", "y"]
    assert total.inputs[0] is joined.inputs[0]
    assert total.outputs[0] is joined.inputs[1]
    assert total.outputs[0].tensor is y
    assert (total.inputs[0].shape, total.inputs[0].dtype) == ((2,), np.float64)


def test_arrays_appear_by_their_shape() -> None:
    x = leaf(1.0, 2.0)
    with Graph() as graph:
        np.ones((3, 2)) * x
        x.take(np.array([0, 1]), 0)
    assert graph.ops[0].attrs == {"a": "array(3, 2)"}
    assert "array(2,)" in graph.ops[1].attrs.values()


def test_operations_outside_recording_are_entries_without_a_node() -> None:
    x = leaf(1.0, 2.0)
    before = fg.live_nodes()
    with Graph() as graph, fg.no_grad():
        y = F.add(2.0, x, 3.0, x, "y")
        plain = fg.ones(2) * 2
    assert fg.live_nodes() == before
    assert [op.recorded for op in graph.ops] == [False, False]
    assert [op.node for op in graph.ops] == [None, None]
    assert graph.nodes == []
    assert graph.ops[0].attrs == {"alpha": 2.0, "beta": 3.0}
    assert not y.requires_grad
    assert plain.tolist() == [2.0, 2.0]


def test_nodes_are_the_nodes_of_the_one_graph() -> None:
    x = leaf(1.0, 2.0)
    with Graph() as graph:
        y = x.exp()
        z = y * y
    assert graph.nodes == [y.grad_fn, z.grad_fn]
    assert graph.ops[0].node is y.grad_fn
    assert graph.leaves == [x]


def test_nothing_is_kept_alive() -> None:
    gc.collect()
    start, nodes = fg.live_bytes(), fg.live_nodes()
    with Graph() as graph:
        x = fg.ones(1000, requires_grad=True)
        y = x.exp() * 2
        del x, y
    gc.collect()
    assert fg.live_nodes() == nodes
    assert fg.live_bytes() == start
    assert names(graph) == ["exp", "multiply"]
    assert graph.nodes == []
    assert graph.leaves == []
    assert [op.recorded for op in graph.ops] == [True, True]
    assert "exp(" in graph.to_string()


def test_custom_functions_and_what_their_forward_calls() -> None:
    class Double(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, k: float) -> Tensor:
            return x * k

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
            return g * 2, None

    x = leaf(1.0)
    with Graph() as graph:
        y = Double.apply(x, 2.0)
        fg.functions.ReLU6()(x)
        F.AutogradFunction.run([x], {"k": 1}, lambda: x * 1, lambda op: op.grad_outputs)
    listed = [(op.name, op.inside) for op in graph.ops]
    assert listed == [
        ("multiply", True),
        ("Double", False),
        ("clip", True),
        ("ReLU6", False),
        ("multiply", True),
        ("AutogradFunction", False),
    ]
    assert graph.ops[1].attrs == {"arg1": 2.0}
    assert graph.ops[1].node is y.grad_fn
    assert graph.ops[5].attrs == {"k": 1}


class Scales(NamedTuple):
    k: int


@dataclass
class Record:
    k: int


class Plain:
    def __init__(self) -> None:
        self.k = 1


@pytest.mark.parametrize(
    "attrs", [{"k": 1}, Scales(1), Record(1), Plain()], ids=lambda v: type(v).__name__
)
def test_attributes_of_any_form_are_listed_by_name(attrs: Any) -> None:
    x = leaf(1.0)
    with Graph() as graph:
        F.AutogradFunction.run([x], attrs, lambda: x * 1, lambda op: op.grad_outputs)
    assert graph.ops[1].attrs == {"k": 1}


def test_attributes_that_have_no_names() -> None:
    x = leaf(1.0)
    with Graph() as graph:
        y = F.AutogradFunction.run([x], 5, lambda: x * 1, lambda op: op.grad_outputs)
    assert graph.ops[1].attrs == {"attrs": 5}
    assert y.grad_fn.attrs == 5


def test_in_place_operations_are_listed() -> None:
    x = fg.ones(2)
    with Graph() as graph:
        x += 1
        x[0] = 5.0
    assert names(graph) == ["add", "setitem"]
    assert graph.ops[0].outputs[0].tensor is x


def test_a_backward_pass_is_not_listed() -> None:
    x = leaf(1.0)
    with Graph() as graph:
        y = fg.functions.StableSoftmax()(x)
        count = len(graph)
        y.sum().backward()
    assert len(graph) == count + 1


def test_scopes_nest_and_the_outer_one_lists_everything() -> None:
    x = leaf(1.0)
    with Graph() as outer:
        x.exp()
        with Graph() as inner:
            x.sin()
        x.cos()
    assert names(outer) == ["exp", "sin", "cos"]
    assert names(inner) == ["sin"]


def test_a_scope_ends_with_an_exception_and_can_be_entered_again() -> None:
    x, graph = leaf(1.0), Graph()
    with contextlib.suppress(KeyError), graph:
        x.exp()
        raise KeyError
    x.sin()
    with graph:
        x.cos()
    assert names(graph) == ["exp", "cos"]


def test_a_scope_belongs_to_its_thread() -> None:
    x = leaf(1.0)
    with Graph() as graph:
        thread = threading.Thread(target=x.exp)
        thread.start()
        thread.join()
        x.sin()
    assert names(graph) == ["sin"]


def test_no_grad_inside_a_scope_keeps_it() -> None:
    x = leaf(1.0)
    with Graph() as graph:
        with fg.no_grad():
            x.exp()
        x.sin()
    x.cos()
    assert names(graph) == ["exp", "sin"]


# --- looking up --------------------------------------------------------------------------------


def test_get_tensor_finds_the_latest_living_tensor_of_a_name() -> None:
    x = leaf(1.0, name="x")
    with Graph() as graph:
        first = F.add(1.0, x, 1.0, x, "z")
        second = F.add(2.0, x, 1.0, x, "z")
    assert graph.get_tensor("x") is x
    assert graph.get_tensor("z") is second
    del second
    assert graph.get_tensor("z") is first
    assert graph.get_tensor("nobody") is None


def test_membership() -> None:
    x, other = leaf(1.0), leaf(2.0)
    with Graph() as graph:
        y = x.exp()
    z = other.exp()
    assert x in graph
    assert y in graph
    assert y.grad_fn in graph
    assert graph.ops[0] in graph
    assert z not in graph
    assert z.grad_fn not in graph
    assert 3 not in graph
    assert len(graph) == 1
    assert graph


def test_clear_forgets_and_changes_nothing_else() -> None:
    x = leaf(1.0)
    with Graph() as graph:
        y = x.exp()
        graph.clear()
        y.sin()
    assert names(graph) == ["sin"]
    y.backward()
    assert x.grad is not None
