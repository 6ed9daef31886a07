"""PyTorch's rows on starting a backward and on leaf state (facts 1a, 1b), by their names.

Passes within passes and failures: `test_reentrant.py`. Hooks: `test_parity_hooks.py`.
"""

import pickle
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd.graph import GradientEdge, Node, get_gradient_edge

backward, grad = fg.autograd.backward, fg.autograd.grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class TestBackward:
    def test_returns_none_and_accumulates(self) -> None:
        x = leaf()
        assert x.sum().backward() is None
        assert backward((x * 2).sum()) is None
        assert x.grad.tolist() == [3.0, 3.0]

    def test_several_roots_and_gradients_in_one_pass(self) -> None:
        x, calls = leaf(), []
        h = x * 1
        h.register_hook(lambda g: calls.append(g.tolist()))
        backward([h * 2, (h * h).sum()], [np.array([1.0, 10.0]), None])
        assert calls == [[4.0, 24.0]]
        assert x.grad.tolist() == [4.0, 24.0]

    def test_counts_of_roots_and_gradients_must_agree(self) -> None:
        x = leaf()
        with pytest.raises(ValueError, match="2 outputs and 1 gradients"):
            backward([x * 1, x * 2], [fg.ones(2)])

    def test_implicit_gradient_only_for_one_element(self) -> None:
        with pytest.raises(RuntimeError, match="Gradient must be provided for non-scalar tensors"):
            leaf().backward()
        x = leaf(3.0)
        (x * x).backward()
        assert x.grad.tolist() == [6.0]

    def test_a_root_without_history_is_refused(self) -> None:
        with pytest.raises(RuntimeError, match="not in the computational graph"):
            fg.ones(1).backward()

    def test_retain_graph_fails_only_at_nodes_with_saved_tensors(self) -> None:
        x = leaf()
        y = (x + 1).sum()
        y.backward()
        y.backward()
        z = x.exp().sum()
        z.backward()
        with pytest.raises(fg.errors.GraphFreedError, match="retain_graph=True"):
            z.backward()
        assert x.grad is not None

    def test_create_graph_replaces_grad_out_of_place(self) -> None:
        x = leaf()
        x.sum().backward()
        first = x.grad
        x.sum().backward()
        assert x.grad is first
        (x**2).sum().backward(create_graph=True)
        assert x.grad is not first
        assert x.grad.requires_grad
        assert first.tolist() == [2.0, 2.0]

    def test_inputs_of_a_non_leaf_retain_grad_implicitly(self) -> None:
        x, w = leaf(), leaf()
        y = x * 3
        z = (y * y * w).sum()
        z.backward(inputs=[y], retain_graph=True)
        assert y.retains_grad
        assert (y.grad.tolist(), x.grad, w.grad) == ([6.0, 24.0], None, None)
        z.backward(inputs=[y, w], retain_graph=True)
        assert (y.grad.tolist(), w.grad.tolist(), x.grad) == ([12.0, 48.0], [9.0, 36.0], None)

    def test_inputs_run_the_hooks_on_the_node_of_a_non_leaf_but_not_the_node(self) -> None:
        x, ran = leaf(), []
        y = (x * 3).exp()
        y.grad_fn.register_prehook(lambda go: ran.append(go[0].tolist()))
        y.grad_fn.register_hook(lambda gi, go: ran.append(gi))
        z = (y * 2).sum()
        z.backward(inputs=y, retain_graph=True)
        assert ran == [[2.0, 2.0], (None,)]
        assert y.grad.tolist() == [2.0, 2.0]
        (slope,) = grad(z, y, retain_graph=True)
        assert slope.tolist() == [2.0, 2.0]
        assert len(ran) == 2, "grad() ends before the node"
        z.backward(inputs=[x, y])
        assert (ran[3][0] * 3).tolist() == x.grad.tolist()

    def test_inputs_as_dict_uses_the_values(self) -> None:
        x, w = leaf(), leaf()
        (x * w).sum().backward(inputs={"w": w})
        assert (x.grad, w.grad.tolist()) == (None, [1.0, 2.0])

    def test_inputs_empty(self) -> None:
        with pytest.raises(ValueError, match="inputs is empty"):
            leaf().sum().backward(inputs=[])

    def test_inputs_must_require_grad(self) -> None:
        x, w = leaf(), fg.ones(2)
        with pytest.raises(RuntimeError, match="input 1 does not require grad"):
            (x * w).sum().backward(inputs=[x, w])
        assert x.grad is None

    def test_unreached_inputs_keep_their_gradient(self) -> None:
        x, w = leaf(), leaf()
        x.sum().backward(inputs=[x, w])
        assert w.grad is None


class TestGrad:
    def test_duplicate_inputs_get_equal_gradients_of_their_own(self) -> None:
        x = leaf()
        a, b = grad((x * x).sum(), (x, x))
        assert a.tolist() == b.tolist() == [2.0, 4.0]
        a += 1
        assert b.tolist() == [2.0, 4.0]

    def test_dict_inputs_give_a_dict(self) -> None:
        parameters = {"a": leaf(), "b": leaf(3.0, 4.0)}
        got = grad((parameters["a"] * parameters["b"]).sum(), parameters)
        assert {k: g.tolist() for k, g in got.items()} == {"a": [3.0, 4.0], "b": [1.0, 2.0]}
        assert type(got) is dict

    @pytest.mark.parametrize("kind", [OrderedDict, MappingProxyType])
    def test_other_mappings_are_refused(self, kind: Callable[..., Any]) -> None:
        x = leaf()
        with pytest.raises(TypeError, match="inputs holds a str"):
            grad(x.sum(), kind({"x": x}))

    def test_allow_unused_and_materialize_grads(self) -> None:
        x, w = leaf(), leaf(1.0, 2.0, 3.0)
        with pytest.raises(RuntimeError, match="input 1 was not used"):
            grad(x.sum(), (x, w))
        assert grad(x.sum(), (x, w), allow_unused=True)[1] is None
        zeros = grad(x.sum(), (x, w), materialize_grads=True)[1]
        assert (zeros.tolist(), zeros.requires_grad) == ([0.0, 0.0, 0.0], False)
        assert grad(x.sum(), w, materialize_grads=True, create_graph=True)[0].requires_grad
        with pytest.raises(ValueError, match="materialize_grads=True with allow_unused=False"):
            grad(x.sum(), w, materialize_grads=True, allow_unused=False)

    def test_grad_outputs_must_have_the_shape(self) -> None:
        x = leaf()
        with pytest.raises(ValueError, match=r"shape \(3,\) but its tensor has shape \(2,\)"):
            grad(x * 2, x, fg.ones(3))

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_two_gradients_never_share_memory(self, create_graph: bool) -> None:
        a, b, v = leaf(), leaf(), fg.ones(2)
        ga, gb = grad(a + b, (a, b), v, create_graph=create_graph)
        with fg.no_grad():
            ga += 1
        assert (ga.tolist(), gb.tolist(), v.tolist()) == ([2.0, 2.0], [1.0, 1.0], [1.0, 1.0])

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_grad_never_shares_memory_with_the_caller_s_gradient(self, create_graph: bool) -> None:
        x, v = leaf(), fg.ones(2)
        x.view(2).backward(v, create_graph=create_graph)
        with fg.no_grad():
            v += 1
        assert x.grad.tolist() == [1.0, 1.0]

    def test_a_separated_gradient_keeps_its_history(self) -> None:
        a, b, v = leaf(), leaf(), leaf(5.0, 6.0)
        ga, gb = grad(a + b, (a, b), v, create_graph=True)
        (gv,) = grad((ga * 2 + gb).sum(), v)
        assert gv.tolist() == [3.0, 3.0]


class TestGradientEdge:
    def test_of_a_result_and_of_a_leaf(self) -> None:
        x = leaf()
        y = x * 2
        edge = get_gradient_edge(y)
        assert isinstance(edge, GradientEdge)
        assert edge.node is y.grad_fn
        assert edge.output_nr == 0
        assert get_gradient_edge(x).node.name() == "AccumulateGrad"
        assert get_gradient_edge(x).node.variable is x
        assert edge == get_gradient_edge(y) != get_gradient_edge(x)

    def test_output_nr_of_several_outputs(self) -> None:
        a, b = fg.split(leaf(), 2)
        assert [get_gradient_edge(t).output_nr for t in (a, b)] == [a.output_nr, b.output_nr]

    def test_as_input_after_the_tensor_is_gone(self) -> None:
        x = leaf()
        y = x * 2
        edge = get_gradient_edge(y)
        loss = (y * y).sum()
        del y
        assert grad(loss, edge, retain_graph=True)[0].tolist() == [4.0, 8.0]
        got = grad(loss, {"y": edge, "x": x})
        assert (got["y"].tolist(), got["x"].tolist()) == ([4.0, 8.0], [8.0, 16.0])

    def test_as_root(self) -> None:
        x = leaf()
        y = x * 2
        edge = get_gradient_edge(y)
        del y
        assert grad(edge, x, np.array([1.0, 10.0]))[0].tolist() == [2.0, 20.0]
        backward(get_gradient_edge(x.sum()))
        assert x.grad.tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="must be provided"):
            grad(edge, x)

    def test_as_target_of_backward(self) -> None:
        x, w = leaf(), leaf()
        (x * w).sum().backward(inputs=[get_gradient_edge(w)])
        assert (x.grad, w.grad.tolist()) == (None, [1.0, 2.0])
        with pytest.raises(ValueError, match="pass the tensor itself"):
            (x * w).sum().backward(inputs=[get_gradient_edge(x * w)])

    def test_needs_a_gradient(self) -> None:
        with pytest.raises(RuntimeError, match="does not require grad"):
            get_gradient_edge(fg.ones(2))


class TestLeafState:
    def test_retain_grad_follows_the_newest_version(self) -> None:
        x = leaf()
        y = x * 1
        y.retain_grad()
        y *= 3
        y.sum().backward()
        assert y.grad.tolist() == [1.0, 1.0]
        assert x.grad.tolist() == [3.0, 3.0]

    def test_retain_grad_of_a_leaf_does_nothing_and_of_a_constant_raises(self) -> None:
        x = leaf()
        x.retain_grad()
        assert not x.retains_grad
        with pytest.raises(RuntimeError, match="does not require grad"):
            fg.ones(2).retain_grad()

    def test_retain_grad_accumulates_once_for_each_pass(self) -> None:
        x = leaf()
        y = x * 1
        y.retain_grad()
        y.retain_grad()
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        assert y.grad.tolist() == [2.0, 2.0]

    def test_grad_may_be_assigned_and_deleted(self) -> None:
        x = leaf()
        x.grad = np.array([5.0, 6.0])
        x.sum().backward()
        assert x.grad.tolist() == [6.0, 7.0]
        del x.grad
        assert x.grad is None
        with pytest.raises(TypeError, match="its own gradient"):
            x.grad = x
        with pytest.raises(ValueError, match="shape"):
            x.grad = fg.ones(3)
        x.grad = [1, 2]
        assert x.grad.dtype == x.dtype
        with pytest.raises(TypeError, match="assign None to clear it, or an array of that shape"):
            x.grad = 0
        scalar = fg.tensor(1.0, requires_grad=True)
        scalar.grad = 0
        assert scalar.grad.item() == 0.0

    def test_node_names_next_functions_metadata_sequence(self) -> None:
        x = leaf()
        y = x * 2
        z = y.exp()
        node = z.grad_fn
        assert node is z.grad_fn
        assert isinstance(node, Node)
        assert isinstance(node, fg.graph.Node)
        assert node.name() == "ExpBackward"
        assert node.next_functions == ((y.grad_fn, 0),)
        assert y.grad_fn.next_functions[1] == (None, 0)
        accumulate = y.grad_fn.next_functions[0][0]
        assert (accumulate.name(), accumulate.variable) == ("AccumulateGrad", x)
        assert node._sequence_nr() > y.grad_fn._sequence_nr() > accumulate._sequence_nr()
        node.metadata["who"] = "me"
        assert z.grad_fn.metadata == {"who": "me"}
        assert node._saved_result.tolist() == z.tolist()
        with pytest.raises(AttributeError, match='no attribute "_saved_nothing"'):
            _ = node._saved_nothing
        assert node.requires_grad

    def test_pickling_a_tensor_with_history_refuses(self) -> None:
        with pytest.raises(RuntimeError, match="detach"):
            pickle.dumps(leaf() * 2)
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps((leaf() * 2).grad_fn)

    def test_pickling_a_leaf_drops_its_hooks(self) -> None:
        x = leaf()
        x.register_hook(lambda g: g * 100)
        y = pickle.loads(pickle.dumps(x))
        y.sum().backward()
        assert y.grad.tolist() == [1.0, 1.0]
