"""A write never changes what a recorded operation computed with: every route, every keeper.

Random programs: `test_saved_programs.py`.
"""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd import graph

START = np.array([0.5, 1.0, 1.5, 2.0])
grad = fg.autograd.grad


def leaf(n: int = 4) -> fg.Tensor:
    return fg.tensor(np.linspace(0.5, 0.5 * n, n), requires_grad=True)


class Square(fg.Function):
    """Keeps its argument."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * g * x


def statement(text: str) -> Callable[[Any], None]:
    """The statement about `y` as a function."""

    def run(y: Any) -> None:
        exec(text, {"y": y, "np": np, "fg": fg, "memory": np.zeros(4)})

    return run


STATEMENTS = [
    "y += 1",
    "y *= y",
    "y **= 2",
    "y[0] = 7",
    "y[0] += 1",
    "y[1:] *= 2",
    "y[::-2] = y[::2] * 1",
    "y[[0, 3]] = 5",
    "y[[0, 3]] *= 5",
    "y[y > 1] = 0",
    "y[y > 1] -= 1",
    "y[0], y[1] = y[1], y[0]",
    "y[...] = np.arange(4)",
    "row = y.reshape(2, 2)[1]; row += 1",
    "for row in y.reshape(2, 2): row *= 3",
    "np.add(y, 1, out=y)",
    "np.multiply(y[1:], 2, out=y[:-1])",
    "fg.exp(y, out=y)",
    "y.mul_(2)",
    "y.zero_()",
    "y.copy_(fg.ones(4))",
    "y.T.exp_()",
    "y.clamp_(0, 1)",
    "y.fill_(3)",
    "y.index_fill_(0, fg.tensor([1, 2]), 9.0)",
    "y.masked_fill_(y > 1, 0.0)",
    "np.copyto(y, 1)",
    "np.put(y, [0, 2], 5)",
    "np.putmask(y, y > 1, 0)",
    "y.detach()[1:] = 4",
    "y.data.mul_(3)",
    "y.detach().numpy(writable=True)[:] = 1",
    "np.from_dlpack(y.detach(), copy=False)[:] = 1",
]

with_no_grad = "with fg.no_grad(): "
ROUTES = [
    *STATEMENTS,
    *(with_no_grad + text for text in STATEMENTS if ";" not in text and "for" not in text),
]


#: What keeps `y`, or what it computed, for a derivative that needs it: all of second order too.
KEEPERS: dict[str, Callable[[Any], Any]] = {
    "an operand": lambda y: y * y * y,
    "a result": lambda y: fg.exp(y * 1.0),
    "a view": lambda y: fg.sin(y[1:]),
    "an element": lambda y: y[2] * y[2] * y[0],
    "a product": lambda y: y @ y,
    "a row": lambda y: fg.exp(fg.sin(y) * 2.0) * y,
    "save_for_backward": Square.apply,
    "checkpoint": lambda y: fg.autograd.checkpoint(lambda a: fg.sin(a) * a, y),
    "compile": fg.compile(lambda y: fg.sin(y) * y),
    "scan": lambda y: fg.scan(lambda c, a: (c * a, fg.sin(a)), y[0] * 1.0, y)[1],
    "fori_loop": lambda y: fg.fori_loop(0, 3, lambda i, c: (c[0] * c[1], c[1]), (y, y))[0],
    "cond": lambda y: fg.cond(y[0] > 0, lambda a: a * a, fg.sin, y),
    "a gradient": lambda y: grad((y**3).sum(), y, create_graph=True)[0],
}


def slopes(keeper: Any, write: Any, second: bool) -> list[np.ndarray]:
    x = leaf()
    y = x * 1
    loss = keeper(y).sum()
    write(y)
    (first,) = grad(loss, x, create_graph=second)
    found = [first.detach().numpy().copy()]
    if second:
        write(y)
        found.append(grad((first * first).sum(), x)[0].numpy())
    return found


@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.parametrize("second", [False, True])
def test_no_write_changes_what_was_computed(keeper: str, second: bool) -> None:
    for text in ROUTES:
        expected = slopes(KEEPERS[keeper], lambda y: None, second)
        found = slopes(KEEPERS[keeper], statement(text), second)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=text)


@pytest.mark.parametrize("text", [text for text in STATEMENTS if "detach" not in text])
def test_the_values_are_those_of_numpy(text: str) -> None:
    y, array = fg.tensor(START), START.copy()
    statement(text)(y)
    plain = text.replace(".data", "").replace("fg.exp(y, out=y)", "np.exp(y, out=y)")
    names: dict[str, Any] = {"mul_(2)": "y *= 2", "zero_": "y[...] = 0", "copy_": "y[...] = 1"}
    names |= {
        "exp_": "np.exp(y, out=y)",
        "clamp_": "np.clip(y, 0, 1, out=y)",
        "fill_(3)": "y[...] = 3",
    }
    names |= {"index_fill_": "y[1:3] = 9", "masked_fill_": "y[y > 1] = 0"}
    names |= {"mul_(3)": "y *= 3"}
    plain = next((known for name, known in names.items() if name in text), plain)
    statement(plain)(array)
    np.testing.assert_array_equal(y.numpy(), array)


@pytest.mark.parametrize("text", [text for text in ROUTES if "writable" not in text])
def test_the_mode_refuses_every_route(text: str) -> None:
    x = leaf()
    y = x * 1
    loss = (y * y * y).sum()
    with graph.disallow_mutation_on_saved_tensors():
        statement(text)(y)
    with pytest.raises(fg.errors.InPlaceError, match='saved by "multiply" was changed in place by'):
        loss.backward()
    assert x.grad is None


class TestLeaves:
    """An unrecorded write to a leaf that requires grad makes older graphs stale."""

    WRITES = (
        "with fg.no_grad(): y *= 2",
        "with fg.no_grad(): y[1:] += 1",
        "with fg.no_grad(): y[0] = 1",
        "y.detach()[0] = 3",
        "y.data.zero_()",
    )

    @pytest.mark.parametrize("text", WRITES)
    @pytest.mark.parametrize("view", [False, True])
    def test_backward_of_an_older_graph_raises(self, text: str, view: bool) -> None:
        x = leaf()
        y = x[1:] if view else x
        loss = (y * y).sum()
        statement(text)(x)
        with pytest.raises(fg.errors.InPlaceError, match='"multiply" was changed in place by'):
            loss.backward()
        assert x.grad is None
        (x * x).sum().backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())

    @pytest.mark.parametrize("text", ["y *= 2", "y[0] = 3", "y.mul_(2)", "y[1:] += 1"])
    def test_a_recorded_write_is_refused_before_anything_is_written(self, text: str) -> None:
        x = leaf()
        loss = (x * x).sum()
        with pytest.raises(fg.errors.InPlaceError, match="leaf that requires grad"):
            statement(text)(x)
        np.testing.assert_array_equal(x.detach().numpy(), START)
        loss.backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), 2 * START)

    def test_a_step_of_an_optimiser_is_such_a_write(self) -> None:
        x = leaf()
        loss = (x * x).sum()
        loss.backward(retain_graph=True)
        fg.optim.SGD([x], lr=0.1).step()
        with pytest.raises(fg.errors.InPlaceError):
            loss.backward()

    def test_other_values_beside_the_leaf_are_kept(self) -> None:
        x, w = leaf(), fg.ones(4)
        loss = (x * w).sum()
        with fg.no_grad():
            x *= 2
            w *= 5
        loss.backward()
        assert x.grad is not None
        assert x.grad.tolist() == [1.0] * 4


def test_increment_version_says_that_nothing_can_be_kept() -> None:
    y = leaf() * 1
    loss = (y * y).sum()
    graph.increment_version(y)
    with pytest.raises(fg.errors.InPlaceError):
        loss.backward()


def test_mark_dirty_without_a_write_that_is_seen_says_so_too() -> None:
    class Written(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> fg.Tensor:
            return g

    y = leaf() * 1
    loss = (y * y).sum()
    Written.apply(y)
    with pytest.raises(fg.errors.InPlaceError, match="Written"):
        loss.backward()


class TestCompiled:
    """Programs that write to memory outside, which operations have saved."""

    @pytest.mark.parametrize("refused", [False, True])
    def test_what_a_program_writes_over_is_kept(self, refused: bool) -> None:
        state = fg.ones(4)

        @fg.compile
        def step(a: Any) -> Any:
            state[1:] *= a[1:]
            state[0] = a.sum()
            return state * a

        for _ in range(3):
            step(fg.ones(4))
        assert len(step.programs) == 1
        for _ in range(3):
            x = leaf()
            loss = (state * x).sum()
            seen = state.tolist()
            if not refused:
                step(fg.full(4, 2.0))
                assert grad(loss, x)[0].tolist() == seen
                continue
            with graph.disallow_mutation_on_saved_tensors():
                step(fg.full(4, 2.0))
            with pytest.raises(fg.errors.InPlaceError, match="multiply"):
                loss.backward()
        assert len(step.programs) == 1

    def test_a_program_copies_the_elements_it_writes_over(self) -> None:
        state = fg.ones(10_000)

        @fg.compile
        def step(a: Any) -> Any:
            state[:100] *= a
            return a + 1

        for _ in range(3):
            step(fg.ones(100))
        x = leaf(10_000)
        loss = (state[50:] * x[50:]).sum()
        before = fg.live_bytes()
        kept = step(fg.ones(100))
        assert 8 * 50 <= fg.live_bytes() - before - 8 * kept.numel() <= 8 * 100
        loss.backward()
        assert x.grad is not None
        assert x.grad.sum().item() == 9950

    def test_the_values_of_a_compiled_function_are_those_of_the_call(self) -> None:
        state = fg.ones(4)
        f = fg.compile(lambda x: fg.sin(x) * state * state)
        for _ in range(4):
            x = leaf()
            y = f(x)
            expected = (np.cos(START) * state.numpy() ** 2).copy()
            state += 1
            np.testing.assert_allclose(grad(y.sum(), x)[0].numpy(), expected, 1e-14)


class TestCopies:
    """A write copies the saved elements it reaches, once; the copies go with the saved values."""

    N = 10_000

    def buffer(self) -> tuple[fg.Tensor, fg.Tensor, fg.Tensor]:
        x = leaf(self.N)
        y = x * 1
        gc.collect()
        return x, y, y.detach()

    #: What is saved of (100, 100), what is then written, and how many elements that copies.
    ROWS = (
        (np.s_[:50], np.s_[50:], 0),
        (np.s_[::2], np.s_[1::2], 0),
        (np.s_[:, 0], np.s_[:, 1:], 0),
        (np.s_[7], np.s_[8], 0),
        (np.s_[7, 3, ...], np.s_[7, 4], 0),
        (np.s_[7], np.s_[7, 3], 1),
        (np.s_[7], np.s_[:, 3], 1),
        (np.s_[:, 3], np.s_[7], 1),
        (np.s_[:], np.s_[7], 100),
        (np.s_[:], np.s_[:, 7], 100),
        (np.s_[:], np.s_[::10, ::10], 100),
        (np.s_[10:20], np.s_[15:40], 500),
        (np.s_[:, 10:20], np.s_[:, 15:40], 500),
        (np.s_[:], np.s_[:], 10_000),
    )

    @pytest.mark.parametrize(("saved", "written", "count"), ROWS)
    def test_what_a_write_copies(self, saved: Any, written: Any, count: int) -> None:
        x, y, alias = self.buffer()
        y, alias = y.reshape(100, 100), alias.reshape(100, 100)
        v = y[saved]
        loss = (v * v).sum()
        before = fg.live_bytes()
        alias[written] = 3.0
        assert fg.live_bytes() - before == 8 * count
        alias[written] = 4.0
        assert fg.live_bytes() - before == 8 * count
        loss.backward()
        expected = np.zeros((100, 100))
        expected[saved] = 2 * x.detach().numpy().reshape(100, 100)[saved]
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy().reshape(100, 100), expected)

    def test_one_copy_for_each_version_that_was_saved(self) -> None:
        _, y, alias = self.buffer()
        kept = []
        before = fg.live_bytes()
        for k in range(1, 6):
            kept.append((y * y).sum())
            kept.append((y * y).sum())  # the same elements again: one copy is for both
            alias[:100] = k
            alias[:100] = -k
            assert fg.live_bytes() - before == k * (800 + 16)
        del kept
        alias[:100] = 0
        assert fg.live_bytes() == before

    @pytest.mark.parametrize("end", ["dropped", "freed", "alias"])
    def test_copies_go_with_the_graph(self, end: str) -> None:
        x, y, alias = self.buffer()
        before = fg.live_bytes()
        loss = (y * y).sum()
        alias[...] = 3.0
        assert fg.live_bytes() - before == 8 * self.N + 8
        if end == "freed":
            loss.backward()
            x.grad = None
        elif end == "alias":
            # The elements are needed although nobody can write to them any more.
            del alias, y
            loss.backward()
            assert x.grad is not None
            np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
            return
        del loss
        assert fg.live_bytes() == before

    def test_a_loop_with_an_alias_that_stays(self) -> None:
        x, y, alias = self.buffer()
        most = []
        for k in range(300):
            loss = (y * y).sum()
            alias[k : k + 100] = float(k)
            (slope,) = grad(loss, x, retain_graph=True)
            del loss, slope
            most.append(fg.live_bytes())
        assert max(most) == most[0]

    def test_a_loop_beside_a_graph_that_stays(self) -> None:
        """What it keeps is copied once, and the copies of the others go."""
        x, y, alias = self.buffer()
        kept = (y * y).sum()
        before = fg.live_bytes()
        for k in range(400):
            loss = (y[:10] * y[:10]).sum()
            alias[:10] = float(k)
            (slope,) = grad(loss, x, retain_graph=True)
            assert slope[5].item() == 2 * (3.0 if k == 0 else k - 1.0)
            del loss, slope
            assert fg.live_bytes() - before < 80 * 200
        (slope,) = grad(kept, x)
        np.testing.assert_array_equal(slope.numpy(), 2 * x.detach().numpy())

    def test_filling_a_buffer_by_rows_copies_each_row_at_most_once(self) -> None:
        x = leaf(10)
        before = fg.live_bytes()
        u = fg.zeros(1000, 10)
        u[0] = x
        for t in range(999):
            u[t + 1] = fg.sin(u[t]) * u[t]
        assert fg.live_bytes() - before < 40 * 80 * 1000
        loss = (u * u).sum()
        (found,) = grad(loss, x)
        rows = [x]
        for _ in range(999):
            rows.append(fg.sin(rows[-1]) * rows[-1])
        both = fg.stack(rows)
        (expected,) = grad((both * both).sum(), x)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-12)


class TestReadsOfALargeArray:
    """Rows of an array that has many more elements: their gradients are added to it by rows."""

    N = 3000

    @pytest.mark.parametrize(
        "rows",
        [[[5, 7]], [[5, 7], [7, 9]], [[0], [2999], [0]], [[3, 3]], [[1, 2], [[4, 6], [2, 8]]]],
    )
    @pytest.mark.parametrize("weights", [[1.5, -2.0, 0.25], [-0.0, 0.0, -1.0]])
    def test_the_gradient_has_the_bits_of_whole_sums(
        self, rows: list[Any], weights: list[float]
    ) -> None:
        x = fg.tensor(np.linspace(-1, 1, self.N), requires_grad=True)
        y = x * 1.0
        total = sum((y[index] * w).sum() for index, w in zip(rows, weights, strict=False))
        (grad,) = fg.autograd.grad(total, [y])
        (whole,) = fg.autograd.grad(
            sum((x[index] * w).sum() for index, w in zip(rows, weights, strict=False)),
            [x],
            create_graph=True,
        )
        expected = np.zeros(self.N)
        for index, w in zip(rows, weights, strict=False):
            np.add.at(expected, index, w)
        np.testing.assert_array_equal(np.asarray(grad), expected)
        assert np.asarray(grad).tobytes() == np.asarray(whole.detach()).tobytes()

    def test_add_at_into_a_large_array(self) -> None:
        def f(x: Any) -> Any:
            y = x * np.ones(self.N)
            for k in (4, [6], -1, [4, 9]):
                np.add.at(y, k, x * x)
            np.multiply.at(y, [6, 6], x)
            return (y * y).sum()

        value, slope = fg.value_and_grad(f)(1.25)
        assert float(value) == pytest.approx(f(np.float64(1.25)), rel=1e-14)
        assert slope == pytest.approx((f(1.25 + 1e-6) - f(1.25 - 1e-6)) / 2e-6, rel=1e-7)
