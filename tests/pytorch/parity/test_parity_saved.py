"""PyTorch's rows on saved tensors (facts 1f): each test carries the name of its row.

Checkpoints: `test_checkpoint.py`. In-place rows in general: `test_inplace.py`.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd import graph

grad = fg.autograd.grad
hooks = graph.saved_tensors_hooks


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class TestSavedTensorsHooks:
    def test_pack_gets_what_is_saved_and_unpack_what_pack_returned(self) -> None:
        packed, unpacked = [], []

        def pack(t: fg.Tensor) -> str:
            packed.append(t)
            return f"number {len(packed)}"

        def unpack(name: str) -> fg.Tensor:
            unpacked.append(name)
            return packed[int(name.split()[1]) - 1]

        x, w = leaf(), leaf(3.0, 4.0)
        with hooks(pack, unpack):
            y = x * w
        assert [t.tolist() for t in packed] == [[3.0, 4.0], [1.0, 2.0]] or [
            t.tolist() for t in packed
        ] == [[1.0, 2.0], [3.0, 4.0]]
        assert all(not t.requires_grad for t in packed)
        y.sum().backward()
        assert sorted(unpacked) == ["number 1", "number 2"]
        assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])

    def test_only_the_innermost_applies(self) -> None:
        seen = []
        outer = hooks(lambda t: seen.append("outer") or t, lambda t: t)
        inner = hooks(lambda t: seen.append("inner") or t, lambda t: t)
        x = leaf()
        with outer:
            a = x.exp()
            with inner:
                b = x.exp()
            c = x.exp()
        d = x.exp()
        assert seen == ["outer", "inner", "outer"]
        del a, b, c, d

    def test_it_belongs_to_the_thread(self) -> None:
        seen = []
        with hooks(lambda t: seen.append(1) or t, lambda t: t):
            thread = threading.Thread(target=lambda: leaf().exp())
            thread.start()
            thread.join()
        assert seen == []

    def test_numbers_are_not_packed(self) -> None:
        seen = []
        with hooks(lambda t: seen.append(1) or t, lambda t: t):
            (leaf() * 3.0).backward(fg.ones(2))
        assert seen == []

    @pytest.mark.parametrize("kind", ["array", "tensor"])
    def test_unpack_may_return_arrays(self, kind: str) -> None:
        back = (lambda a: a) if kind == "array" else fg.tensor
        x = leaf()
        with hooks(lambda t: t.numpy().copy(), back):
            y = (x.exp() * x).sum()
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2]) * [2, 3])

    @pytest.mark.parametrize("back", [lambda a: fg.ones(3), lambda a: fg.ones(2, dtype="float32")])
    def test_unpack_must_return_the_same_shape_and_dtype(self, back: Callable[..., Any]) -> None:
        x = leaf()
        with hooks(lambda t: t, back):
            y = x.exp().sum()
        with pytest.raises(ValueError, match=r"for shape \(2,\) and dtype float64"):
            y.backward()
        assert x.grad is None

    def test_unpack_must_return_a_tensor(self) -> None:
        x = leaf()
        with hooks(lambda t: t, lambda t: "no"):
            y = x.exp().sum()
        with pytest.raises(TypeError, match="unpack"):
            y.backward()

    def test_the_version_check_is_skipped(self) -> None:
        x, w = leaf(), fg.tensor([3.0, 4.0])
        with hooks(lambda t: t.numpy().copy(), lambda a: a):
            y = x * w
        w += 100
        y.sum().backward()
        assert x.grad.tolist() == [3.0, 4.0]

    def test_pack_must_not_change_the_tensor(self) -> None:
        def change(t: fg.Tensor) -> fg.Tensor:
            t += 1
            return t

        x = leaf()
        with pytest.raises(fg.errors.InPlaceError, match="pack"), hooks(change, lambda t: t):
            x.exp()

    def test_an_exception_in_pack_comes_out_of_the_operation(self) -> None:
        mine = KeyError("mine")

        def raises(t: fg.Tensor) -> None:
            raise mine

        x = leaf()
        for operation in (
            lambda: x.exp(),
            lambda: fg.exp(x),
            lambda: x * x,
            lambda: x[:1] * x[1:],
            lambda: fg.softmax(x, axis=0),
            lambda: np.multiply(x, x),
        ):
            with pytest.raises(KeyError) as caught, hooks(raises, lambda t: t):
                operation()
            assert caught.value is mine
        assert x.exp().requires_grad

    def test_an_exception_in_unpack_passes_and_changes_nothing(self) -> None:
        x = leaf()
        with hooks(lambda t: t, lambda t: {}["gone"]):
            y = x.exp().sum()
        with pytest.raises(KeyError, match="gone") as caught:
            y.backward()
        assert "unpack hook" in caught.value.__notes__[0]
        assert x.grad is None

    def test_higher_orders_keep_their_history(self) -> None:
        x = leaf()
        with hooks(lambda t: t.numpy().copy(), lambda a: a):
            y = (x**3).sum()
            (g,) = grad(y, x, create_graph=True)
            (gg,) = grad(g.sum(), x, create_graph=True)
        (ggg,) = grad(gg.sum(), x)
        assert ggg.tolist() == [6.0, 6.0]

    def test_what_a_recorded_backward_saves_is_packed_too(self) -> None:
        x, seen = leaf(), []
        y = x.exp().sum()
        with hooks(lambda t: seen.append(1) or t, lambda t: t):
            grad(y, x, create_graph=True)
        assert seen

    def test_of_a_custom_function(self) -> None:
        class Square(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                y = x * x
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                x, y = ctx.saved_tensors
                return g * (x + y / x)

        x, seen = leaf(), []
        with hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
            y = Square.apply(x)
        assert seen == [[1.0, 2.0], [1.0, 4.0]]
        assert [t.tolist() for t in y.grad_fn.context.saved_tensors] == seen
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]

    def test_inside_a_parallel_backward(self, threads: int) -> None:
        rng = np.random.default_rng(0)
        x = fg.tensor(rng.standard_normal((64, 64)), requires_grad=True)

        def run() -> fg.Tensor:
            return sum((x @ x.T * k).tanh().sum() for k in range(1, 9))

        with hooks(lambda t: t.numpy().copy(), lambda a: a):
            packed = run()
        np.testing.assert_array_equal(grad(packed, x)[0].numpy(), grad(run(), x)[0].numpy())

    def test_spill_to_disk(self, tmp_path: Path) -> None:
        files = []

        def pack(t: fg.Tensor) -> Path:
            path = tmp_path / f"{len(files)}.npy"
            np.save(path, t.numpy())
            files.append(path)
            return path

        x = fg.ones(1 << 12, requires_grad=True)
        with hooks(pack, np.load):
            before = fg.live_bytes()
            y = x
            for _ in range(4):
                y = y.sin()
            assert fg.live_bytes() - before <= 2 * y.nbytes
        y.sum().backward()
        assert len(files) == 4
        want = grad(x.sin().sin().sin().sin().sum(), x)[0]
        np.testing.assert_array_equal(x.grad.numpy(), want.numpy())

    def test_saved_of_a_node_unpacks(self) -> None:
        x = leaf()
        with hooks(lambda t: t.numpy().copy(), lambda a: a):
            y = x.exp()
        assert y.grad_fn.saved["output0"].tolist() == y.tolist()
        assert y.grad_fn._saved_result.tolist() == y.tolist()

    def test_a_block_that_never_began_cannot_end(self) -> None:
        block = hooks(lambda t: t, lambda t: t)
        with pytest.raises(RuntimeError, match="none began"):
            block.__exit__(None, None, None)
        with block:
            leaf().exp()
        with pytest.raises(RuntimeError, match="none began"):
            block.__exit__(None, None, None)


class TestSwitches:
    def test_save_on_cpu_does_nothing(self) -> None:
        x = leaf()
        with graph.save_on_cpu(pin_memory=True):
            y = x.exp().sum()
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))

    def test_disable_saved_tensors_hooks(self) -> None:
        with graph.disable_saved_tensors_hooks("not here"):
            with pytest.raises(RuntimeError, match=r"^not here$"), hooks(lambda t: t, lambda t: t):
                pass
            leaf().exp()
        with hooks(lambda t: t, lambda t: t):
            pass


class TestIncrementVersion:
    def test_a_manual_bump_makes_saved_values_invalid(self) -> None:
        x, w, v = leaf(), fg.tensor([3.0, 4.0]), fg.ones(2)
        y = (x * w).sum()
        version = w._version
        graph.increment_version([w, v])
        assert (w._version, v._version) == (version + 1, 1)
        with pytest.raises(fg.errors.InPlaceError, match='changed in place by "increment_version"'):
            y.backward()
        graph.increment_version(v)
        assert v._version == 2


class TestUnpackedValues:
    """What an unpack hook returns is what a derivative sees, also where the saved tensor lives."""

    @pytest.mark.parametrize("kind", ["leaf", "intermediate", "output"])
    def test_are_those_of_the_hook(self, kind: str) -> None:
        seen: list[Any] = []

        class Cube(fg.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                y = x * x * x
                ctx.save_for_backward(y if kind == "output" else x)
                return y

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                (value,) = ctx.saved_tensors
                seen.append((value.tolist(), value.requires_grad))
                return g * value

        w = fg.tensor([2.0], requires_grad=True)
        x = w if kind == "leaf" else w * 1
        with hooks(lambda t: t, lambda t: t.detach() * 100):
            y = Cube.apply(x)
        saved = 800.0 if kind == "output" else 200.0
        (g,) = fg.autograd.grad(y.sum(), w, create_graph=True)
        assert seen[0] == ([saved], True)
        assert g.tolist() == [saved]
        second = fg.autograd.grad(g.sum(), w)
        assert second[0].tolist() == [saved if kind == "output" else 1.0]

    def test_are_the_tensor_itself_where_the_hook_gives_it_back(self) -> None:
        x = fg.tensor([2.0], requires_grad=True)
        seen: list[fg.Tensor] = []

        class Square(fg.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
                seen.append(ctx.saved_tensors[0])
                return g * 2 * seen[0]

        with hooks(lambda t: t, lambda t: t):
            y = Square.apply(x)
        y.sum().backward()
        assert seen[0] is x


def test_a_block_may_be_entered_and_left_in_hooks_of_a_backward() -> None:
    """It ends with the hook that entered it; leaving it later is no error."""
    hooks = fg.autograd.graph.saved_tensors_hooks
    block = hooks(lambda t: t * 1, lambda t: t)

    def unpack(t: Any) -> Any:
        block.__enter__()
        return t

    x = fg.ones(3, requires_grad=True)
    with hooks(lambda t: t, unpack):
        y = x.exp()
    x.register_hook(lambda g: block.__exit__(None, None, None))
    (y * 2).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * np.exp(1.0))
    with pytest.raises(fg.errors.GradientError, match="none began"):
        block.__exit__(None, None, None)
    with block, block:
        assert x.sin().grad_fn is not None


def test_gradients_of_nothing_are_refused() -> None:
    x = fg.ones(3, requires_grad=True)
    for nothing in ([], (), {}):
        with pytest.raises(ValueError, match=r"^grad: inputs is empty; name at least one tensor$"):
            fg.autograd.grad((x * 2).sum(), nothing)
