"""`fg.Graph.of`: the graph reached from a tensor; and the pictures of every graph."""

from typing import Any

import pytest

import ferrograd as fg
from ferrograd import Graph, Tensor, functors as F  # noqa: N812


def leaf(*values: float, name: str | None = None) -> Tensor:
    return fg.tensor(list(values), requires_grad=True, name=name)


def names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


# --- Graph.of ----------------------------------------------------------------------------------


def test_the_graph_of_a_tensor() -> None:
    x, y = leaf(1.0, name="x"), leaf(2.0)
    z = F.add(2.0, x, 3.0, y)
    w = (z * z).sum()
    w.name = "w"
    graph = Graph.of(w)
    assert names(graph) == ["add", "multiply", "sum"]
    assert graph.nodes[-1] is w.grad_fn
    assert graph.leaves == [x, y]
    assert graph.get_tensor("x") is x
    assert graph.get_tensor("w") is w
    add, multiply, _ = graph.ops
    assert add.attrs == {"alpha": 2.0, "beta": 3.0}
    assert multiply.inputs[0] is multiply.inputs[1] is add.outputs[0]
    assert w in graph
    assert x in graph
    assert z in graph
    assert leaf(1.0) not in graph


def test_the_graph_of_a_tensor_holds_it_and_nothing_more() -> None:
    x = leaf(1.0)
    graph = Graph.of(x.exp())
    nodes = fg.live_nodes()
    assert len(graph) == 1
    del graph
    assert fg.live_nodes() == nodes - 1


def test_the_graph_of_a_leaf_and_of_nothing() -> None:
    x = leaf(1.0, name="x")
    assert Graph.of(x).leaves == [x]
    assert Graph.of(x).ops == []
    with pytest.raises(fg.errors.GradientError, match="Tensor is not in the computational graph"):
        Graph.of(fg.ones(1))
    with pytest.raises(TypeError, match="the argument is a float"):
        Graph.of(1.0)
    with pytest.raises(fg.errors.GradientError, match="as a scope"), Graph.of(x):
        pass


def test_the_graph_of_several_outputs() -> None:
    class Split(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
            return x[:1] * 1, x[1:] * 1

        @staticmethod
        def backward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
            return fg.concatenate([a, b])

    a, b = Split.apply(leaf(1.0, 2.0))
    graph = Graph.of(a * b)
    split, multiply = graph.ops
    assert (split.name, multiply.name) == ("Split", "multiply")
    assert multiply.inputs == split.outputs


def test_the_graph_of_a_deep_tensor() -> None:
    y = x = leaf(1.0)
    for _ in range(20_000):
        y = y + 1.0
    graph = Graph.of(y)
    assert len(graph) == 20_000
    assert graph.leaves == [x]


# --- pictures ----------------------------------------------------------------------------------


def drawn() -> tuple[Graph, Tensor]:
    x = leaf(1.0, 2.0, name='the "x" <&>')
    with Graph() as graph:
        y = F.sum_fiber(x, alpha=2.0, name="y")
        z = y * 2.0
    return graph, z


def test_to_string() -> None:
    graph, z = drawn()
    assert graph.to_string() == "\n".join(
        [
            "graph: 2 operations, 1 leaf",
            '  %0 the "x" <&> (2,) float64 = leaf',
            "  %1 y (2,) float64 = sum_fiber(%0; alpha=2.0, axis=0, batch_ndim=0)",
            "  %2 (2,) float64 = multiply(%1; arg1=2.0)",
        ]
    )
    assert str(graph) == graph.to_string()
    assert repr(graph) == "<Graph of 2 operations>"
    assert "sum_fiber" in repr(graph.ops[0])
    assert repr(graph.ops[0].outputs[0]) == "<Value %1 y (2,) float64>"
    assert "%3 () float64 = sum(%2; axis=None" in str(Graph.of(z.sum()))


def test_to_mermaid_escapes_and_draws_everything_once() -> None:
    graph, _z = drawn()
    text = graph.to_mermaid()
    assert text.splitlines()[0] == "flowchart TD"
    assert 'op0["sum_fiber<br/>alpha=2.0<br/>axis=0<br/>batch_ndim=0"]' in text
    assert "the &quot;x&quot; &lt;&amp;>" in text
    assert 'op0 -->|"y (2,)"| op1' in text
    assert text.count("op1[") == 1
    assert 'op1 --> r2(["(2,)"])' in text


def test_to_dot_escapes_and_draws_everything_once() -> None:
    graph, _z = drawn()
    text = graph.to_dot()
    assert text.startswith("digraph")
    assert r"the \"x\" <&> (2,)" in text
    assert r'op0 [label="sum_fiber\nalpha=2.0\naxis=0\nbatch_ndim=0"];' in text
    assert 'op0 -> op1 [label="y (2,)"];' in text
    assert text.endswith("}")


def test_values_without_names_and_shapes_still_have_labels() -> None:
    x = leaf(1.0)
    y = Graph.of(x.exp().sin())
    assert "%1" in y.to_string()
    assert "v0" in y.to_mermaid()
    assert "->" in y.to_dot()


def test_a_summary_reads_the_same_in_a_console_and_names_one_leaf():
    x = fg.ones(2, requires_grad=True)
    found = fg.graph.summary((x * x).sum())
    assert repr(found) == str(found)
    assert "2 operations, 1 leaf," in str(found)
