"""PyTorch's rows on hooks (facts 1e): each test carries the name of its row.

The order is decided here and in `docs/autograd.md`. Leaks of hooks: `test_leak_matrix.py`;
gradients that must not be changed: `test_read_only_gradients.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd.graph import register_multi_grad_hook

grad = fg.autograd.grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class TestTensorRegisterHook:
    def test_sees_the_finished_gradient_and_keeps_it_when_it_returns_none(self) -> None:
        x, seen = leaf(), []
        y = x * 3
        y.register_hook(lambda g: seen.append(g.tolist()))
        (y * y + y).sum().backward()
        assert seen == [[7.0, 13.0]]
        assert x.grad.tolist() == [21.0, 39.0]

    def test_what_it_returns_replaces_the_gradient(self) -> None:
        x = leaf()
        y = x * 3
        y.register_hook(lambda g: g * 10)
        y.register_hook(lambda g: g + 1)
        y.sum().backward()
        assert x.grad.tolist() == [33.0, 33.0]

    @pytest.mark.parametrize(
        "value",
        [lambda g: g.numpy() * 2, lambda g: np.full(2, 2), lambda g: [2.0, 2.0]],
        ids=["array", "integers", "list"],
    )
    def test_arrays_count_as_gradients(self, value: Callable[[fg.Tensor], Any]) -> None:
        x = leaf()
        x.register_hook(value)
        x.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        assert x.grad.dtype == fg.float64

    def test_grad_sees_the_modification(self) -> None:
        x = leaf()
        y = x * 3
        y.register_hook(lambda g: g * 10)
        x.register_hook(lambda g: -g)
        assert [g.tolist() for g in grad(y.sum(), (x, y))] == [[-30.0, -30.0], [10.0, 10.0]]
        assert x.grad is None

    def test_runs_for_an_input_whose_node_does_not_run(self) -> None:
        x, seen = leaf(), []
        y = x * 3
        y.register_hook(lambda g: seen.append("hook"))
        y.grad_fn.register_prehook(lambda g: seen.append("pre"))
        y.grad_fn.register_hook(lambda gi, go: seen.append("post"))
        grad(y.sum(), y)
        assert seen == ["hook"]

    def test_belongs_to_the_value_it_was_registered_on(self) -> None:
        x, seen = leaf(), []
        y = x * 1
        y.register_hook(lambda g: seen.append(("before", g.tolist())))
        y *= 3
        y.register_hook(lambda g: seen.append(("after", g.tolist())))
        y.sum().backward()
        assert seen == [("after", [1.0, 1.0]), ("before", [3.0, 3.0])]

    def test_needs_a_tensor_that_requires_grad(self) -> None:
        with pytest.raises(RuntimeError, match="register_hook: the tensor does not require grad"):
            fg.ones(2).register_hook(print)
        with pytest.raises(TypeError, match="a int cannot be called; pass a function"):
            leaf().register_hook(3)

    @pytest.mark.parametrize(
        ("value", "error", "text"),
        [
            (lambda g: g[:1], ValueError, r"shape \(1,\) but its tensor has shape \(2,\)"),
            (lambda g: g.float(), TypeError, "float64 and the hook returned float32"),
            (lambda g: "no", TypeError, "the returned gradient"),
        ],
    )
    def test_a_wrong_result_is_refused(
        self, value: Callable[[Any], Any], error: type[Exception], text: str
    ) -> None:
        x = leaf()
        x.register_hook(value)
        with pytest.raises(error, match=text):
            x.sum().backward()
        assert x.grad is None

    def test_an_exception_passes_unchanged_with_a_note(self) -> None:
        x, mine = leaf(), KeyError("mine")

        def raises(g: fg.Tensor) -> None:
            raise mine

        x.register_hook(raises)
        with pytest.raises(KeyError) as caught:
            (x * 2).sum().backward()
        assert caught.value is mine
        assert "raises" in caught.value.__notes__[0]

    def test_recording_is_on_only_under_create_graph(self) -> None:
        x, seen = leaf(), []
        x.register_hook(lambda g: seen.append(fg.is_grad_enabled()))
        (x * x).sum().backward()
        (g,) = grad((x * x).sum(), x, create_graph=True)
        assert seen == [False, True]
        assert g.requires_grad

    def test_its_result_is_part_of_the_history(self) -> None:
        x = leaf(3.0)
        y = x * x
        with y.register_hook(lambda g: g * y):
            (g,) = grad(y.sum(), x, create_graph=True)
        assert g.tolist() == [54.0]
        (gg,) = grad(g.sum(), x)
        assert gg.tolist() == [54.0]

    def test_fires_once_for_each_output_it_is_on(self) -> None:
        x, seen = leaf(1.0, 2.0, 3.0, 4.0), []
        a, b = fg.split(x * 1, 2)
        a.register_hook(lambda g: seen.append("a"))
        b.register_hook(lambda g: seen.append("b"))
        (a.sum() * 2).backward(retain_graph=True)
        (a + b).sum().backward()
        assert sorted(seen) == ["a", "a", "b"]


class TestRemovableHandle:
    def test_remove(self) -> None:
        x = leaf()
        handle = x.register_hook(lambda g: g * 2)
        handle.remove()
        handle.remove()
        x.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]

    def test_with_block(self) -> None:
        x = leaf()
        with x.register_hook(lambda g: g * 2):
            x.sum().backward()
        x.sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]

    def test_outlives_its_tensor(self) -> None:
        y = leaf() * 2
        handle = y.register_hook(print)
        del y
        handle.remove()

    def test_a_hook_may_remove_itself(self) -> None:
        x, seen = leaf(), []

        def once(g: fg.Tensor) -> None:
            seen.append(1)
            handle.remove()

        handle = x.register_hook(once)
        x.sum().backward()
        x.sum().backward()
        assert seen == [1]


class TestPostAccumulateGradHook:
    def test_runs_after_grad_is_updated(self) -> None:
        x, seen = leaf(), []
        x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.tolist())))
        x.sum().backward()
        x.sum().backward()
        assert seen == [(True, [1.0, 1.0]), (True, [2.0, 2.0])]

    def test_may_set_grad_to_none_optimizer_in_backward(self) -> None:
        weights = [leaf(), leaf()]

        def step(p: fg.Tensor) -> None:
            with fg.no_grad():
                p -= 0.5 * p.grad
            p.grad = None

        for w in weights:
            w.register_post_accumulate_grad_hook(step)
        (weights[0] * 2 + weights[1] * 4).sum().backward()
        assert weights[0].tolist() == [0.0, 1.0]
        assert weights[1].tolist() == [-1.0, 0.0]
        assert [w.grad for w in weights] == [None, None]

    def test_runs_before_earlier_operations_do_also_in_later_iterations(self) -> None:
        x, w = leaf(), leaf()
        for _ in range(2):
            seen: list[str] = []
            y = x * 2
            y.register_hook(lambda g, seen=seen: seen.append("early"))
            with w.register_post_accumulate_grad_hook(lambda p, seen=seen: seen.append("w")):
                (y * w).sum().backward()
            assert seen == ["w", "early"]

    def test_frees_each_gradient_before_the_next_is_made(self) -> None:
        """The point of an optimizer in the backward: one gradient lives at a time."""
        size = 1 << 14
        weights = [fg.ones(size, requires_grad=True) for _ in range(8)]
        most = []

        def drop(p: fg.Tensor) -> None:
            most.append(fg.live_bytes())
            p.grad = None

        for w in weights:
            w.register_post_accumulate_grad_hook(drop)
        for _ in range(2):
            most.clear()
            y = fg.ones(size, requires_grad=True) * 1
            for w in weights:
                y = y * w
            loss = y.sum()
            start = fg.live_bytes()
            loss.backward()
            assert len(most) == 8
            assert max(most) <= start + 6 * 8 * size

    def test_grad_does_not_run_it(self) -> None:
        x, seen = leaf(), []
        x.register_post_accumulate_grad_hook(lambda p: seen.append(1))
        grad(x.sum(), x)
        assert seen == []

    def test_runs_with_inputs_that_name_the_leaf(self) -> None:
        x, w, seen = leaf(), leaf(), []
        x.register_post_accumulate_grad_hook(lambda p: seen.append("x"))
        w.register_post_accumulate_grad_hook(lambda p: seen.append("w"))
        (x * w).sum().backward(inputs=[x])
        assert seen == ["x"]
        assert w.grad is None

    def test_leaves_only(self) -> None:
        with pytest.raises(RuntimeError, match="no leaf; use register_hook"):
            (leaf() * 2).register_post_accumulate_grad_hook(print)


class TestNodeHooks:
    def test_register_hook_sees_inputs_and_outputs_and_replaces_inputs(self) -> None:
        x, w, seen = leaf(3.0), leaf(5.0), []
        y = x * w

        def post(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
            seen.append(([g.tolist() for g in inputs], [g.tolist() for g in outputs]))
            return inputs[0] * 10, None

        y.grad_fn.register_hook(post)
        y.backward(gradient=np.array([2.0]))
        assert seen == [([[10.0], [6.0]], [[2.0]])]
        assert (x.grad.tolist(), w.grad.tolist()) == ([100.0], [6.0])

    def test_register_prehook_replaces_the_gradients_of_the_outputs(self) -> None:
        x = leaf(3.0)
        y = x * 2
        y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 100,))
        y.sum().backward()
        assert x.grad.tolist() == [200.0]

    def test_fire_only_if_the_node_runs(self) -> None:
        x, w, seen = leaf(), leaf(), []
        a, b = x * 2, w * 2
        for y, name in ((a, "a"), (b, "b")):
            y.grad_fn.register_hook(lambda gi, go, name=name: seen.append(name))
        grad((a * b).sum(), x)
        assert seen == ["a"]

    def test_cannot_replace_none(self) -> None:
        x = leaf()
        y = x * 2
        y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], outputs[0]))
        with pytest.raises(ValueError, match="a gradient was returned where there is none"):
            y.sum().backward()

    def test_the_count_must_fit(self) -> None:
        y = leaf() * 2
        y.grad_fn.register_prehook(lambda outputs: ())
        with pytest.raises(ValueError, match="0 gradients were returned for 1"):
            y.sum().backward()

    def test_accumulate_grad_has_hooks_too(self) -> None:
        x, seen = leaf(), []
        node = (x * 2).grad_fn.next_functions[0][0]
        node.register_prehook(lambda outputs: (outputs[0] * 3,))
        node.register_hook(lambda gi, go: seen.append((gi, go[0].tolist(), x.grad.tolist())))
        (x * 2).sum().backward()
        assert seen == [((), [6.0, 6.0], [6.0, 6.0])]


class TestOrder:
    def test_tensor_hooks_retain_grad_node_prehooks_node_posthooks(self) -> None:
        x, seen = leaf(), []
        y = x * 3
        y.grad_fn.register_hook(lambda gi, go: seen.append(("post", go[0].tolist())))
        y.grad_fn.register_prehook(lambda go: (seen.append("pre"), (go[0] * 10,))[1])
        y.retain_grad()
        y.register_hook(lambda g: (seen.append("first"), g * 2)[1])
        y.register_hook(lambda g: seen.append("second"))
        y.sum().backward()
        assert seen == ["first", "second", "pre", ("post", [20.0, 20.0])]
        assert y.grad.tolist() == [2.0, 2.0]
        assert x.grad.tolist() == [60.0, 60.0]

    def test_leaf_tensor_hooks_prehooks_accumulate_post_accumulate_posthooks(self) -> None:
        x, seen = leaf(), []
        node = (x * 1).grad_fn.next_functions[0][0]
        node.register_hook(lambda gi, go: seen.append("post"))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
        node.register_prehook(lambda go: seen.append("pre"))
        x.register_hook(lambda g: seen.append("tensor"))
        x.sum().backward()
        assert seen == ["tensor", "pre", [1.0, 1.0], "post"]


class TestMultiGradHook:
    def test_all_calls_once_with_every_gradient(self) -> None:
        x, w, seen = leaf(), leaf(), []
        y = x * 2
        handle = register_multi_grad_hook([x, y, w], seen.append)
        (y * w).sum().backward()
        ((gx, gy, gw),) = seen
        assert (gx.tolist(), gy.tolist(), gw.tolist()) == ([2.0, 4.0], [1.0, 2.0], [2.0, 4.0])
        handle.remove()
        (x * w).sum().backward()
        assert len(seen) == 1

    def test_all_counts_what_this_pass_computes(self) -> None:
        x, w, other, seen = leaf(), leaf(), leaf(), []
        register_multi_grad_hook([x, w, other], seen.append)
        (x * w).sum().backward()
        grad((x * w).sum(), w)
        assert [[g is not None for g in grads] for grads in seen] == [
            [True, True, False],
            [False, True, False],
        ]

    def test_any_calls_once_with_the_first(self) -> None:
        x, w, seen = leaf(), leaf(3.0, 3.0), []
        y = x * 2
        register_multi_grad_hook([x, y, w], lambda g: seen.append(g.tolist()), mode="any")
        for _ in range(2):
            (y * w).sum().backward(retain_graph=True)
        assert len(seen) == 2

    def test_passes_within_passes_are_counted_apart(self) -> None:
        x, seen = leaf(), []
        y = x * 2
        register_multi_grad_hook([x, y], lambda grads: seen.append(len(grads)))

        @fg.enable_grad()
        def inner(g: fg.Tensor) -> None:
            grad((x * 2).sum(), x)

        y.register_hook(inner)
        y.sum().backward()
        assert seen == [2, 2]

    def test_a_failed_pass_is_forgotten(self) -> None:
        x, seen = leaf(), []
        y = x * 2
        register_multi_grad_hook([x, y], lambda grads: seen.append(len(grads)))
        with y.grad_fn.register_hook(lambda gi, go: 1 / 0), pytest.raises(ZeroDivisionError):
            y.sum().backward(retain_graph=True)
        y.sum().backward()
        assert seen == [2]

    def test_the_mode_is_checked(self) -> None:
        with pytest.raises(ValueError, match='pass "all" or "any"'):
            register_multi_grad_hook([leaf()], print, mode="some")
