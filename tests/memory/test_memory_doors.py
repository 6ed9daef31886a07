"""Writes through every door between forward and backward: the right gradient or a clear error.

A door is a way by which somebody outside the engine writes to memory that a tensor uses. Invariant:
no gradient is ever silently of other values than the forward saw.
"""

import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

START = np.array([2.0, 3.0, 4.0])


def from_numpy() -> tuple[fg.Tensor, Any]:
    a = START.copy()
    return fg.from_numpy(a), a


def asarray() -> tuple[fg.Tensor, Any]:
    a = START.copy()
    return fg.asarray(a), a


def strided() -> tuple[fg.Tensor, Any]:
    a = np.repeat(START, 2)[::-1]
    return fg.from_numpy(a[::-2]), a[::-2]


def through_a_frozen_view() -> tuple[fg.Tensor, Any]:
    a = START.copy()
    view = a.view()
    view.flags.writeable = False
    return fg.from_numpy(view), a


def frozen_and_thawed() -> tuple[fg.Tensor, Any]:
    a = START.copy()
    a.flags.writeable = False
    t = fg.from_numpy(a)
    a.flags.writeable = True
    return t, a


def through_a_broadcast() -> tuple[fg.Tensor, Any]:
    a = START.copy()
    return fg.from_numpy(np.broadcast_to(a, (3,))), a


def dlpack() -> tuple[fg.Tensor, Any]:
    a = START.copy()
    return fg.from_dlpack(a), a


def buffer() -> tuple[fg.Tensor, Any]:
    raw = bytearray(START.tobytes())
    return fg.from_numpy(np.frombuffer(raw)), memoryview(raw).cast("d")


def pointer() -> tuple[fg.Tensor, Any]:
    block = (ctypes.c_double * 3)(*START)
    return fg.from_numpy(np.ctypeslib.as_array(block)), block


def writable_export() -> tuple[fg.Tensor, Any]:
    t = fg.tensor(START)
    return t, t.numpy(writable=True)


def plain_export() -> tuple[fg.Tensor, Any]:
    t = fg.tensor(START)
    return t, t.numpy()


def view_of_a_writable_export() -> tuple[fg.Tensor, Any]:
    t = fg.tensor(START)
    return t, t.numpy(writable=True)[:]


def writable_dlpack() -> tuple[fg.Tensor, Any]:
    t = fg.tensor(START)
    return t, np.from_dlpack(t, copy=False)


def memory_view() -> tuple[fg.Tensor, Any]:
    t = fg.tensor(START)
    return t, memoryview(t.numpy(writable=True))


DOORS = [
    from_numpy,
    asarray,
    strided,
    through_a_frozen_view,
    frozen_and_thawed,
    through_a_broadcast,
    dlpack,
    buffer,
    pointer,
    writable_export,
    plain_export,
    view_of_a_writable_export,
    writable_dlpack,
    memory_view,
]

#: Doors beside which the tensor's own array is read-only.
FROZEN = [through_a_frozen_view, frozen_and_thawed, through_a_broadcast]


def write(door: Any) -> None:
    for k in range(3):
        door[k] = -100.0


@pytest.mark.parametrize("open_door", DOORS, ids=lambda d: d.__name__)
class TestDoors:
    """Each door, with each kind of operation that keeps what it read."""

    @pytest.mark.parametrize(
        ("f", "slope"),
        [
            (lambda x, c: x * c, START),
            (lambda x, c: x / c, 1 / START),
            (lambda x, c: x**c, START * 2.0 ** (START - 1)),
            (lambda x, c: fg.stack([x, x]) @ c, None),
            (lambda x, c: fg.where(c > 2.5, x, 0.0), START > 2.5),
            (lambda x, c: fg.convolve(x, c), np.full(3, START.sum())),
            (lambda x, c: x * c[::-1], START[::-1]),
            (lambda x, c: x * c.reshape(3, 1), np.full(3, START.sum())),
        ],
    )
    def test_a_constant_operand(
        self, open_door: Callable[[], tuple[Any, Any]], f: Any, slope: Any
    ) -> None:
        c, door = open_door()
        x = fg.tensor([2.0, 2.0, 2.0], requires_grad=True)
        y = f(x, c).sum()
        write(door)
        y.backward()
        expected = 2 * START if slope is None else slope
        np.testing.assert_allclose(x.grad.numpy(), expected)

    def test_the_array_itself_is_the_operand(
        self, open_door: Callable[[], tuple[Any, Any]]
    ) -> None:
        _, door = open_door()
        array = np.asarray(door)
        x = fg.tensor([2.0, 2.0, 2.0], requires_grad=True)
        y = (x * array + np.multiply(array, x)).sum()
        write(door)
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * START)

    def test_second_order(self, open_door: Callable[[], tuple[Any, Any]]) -> None:
        c, door = open_door()
        x = fg.tensor([2.0, 2.0, 2.0], requires_grad=True)
        y = (x * x * x * c).sum()
        (slope,) = fg.autograd.grad(y, [x], create_graph=True)
        write(door)
        slope.sum().backward()
        np.testing.assert_allclose(x.grad, 12 * START)

    def test_a_custom_function_that_saves_it(self, open_door: Any) -> None:
        class Times(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, c: Any) -> Any:
                ctx.save_for_backward(c)
                return x * c

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * ctx.saved_tensors[0], None

        c, door = open_door()
        x = fg.tensor([2.0, 2.0, 2.0], requires_grad=True)
        y = Times.apply(x, c).sum()
        write(door)
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), START)


@pytest.mark.parametrize("open_door", DOORS, ids=lambda d: d.__name__)
class TestWhatIsNotSaved:
    """Each door, where the write meets no saved operand."""

    @pytest.mark.parametrize(
        "f",
        [
            lambda x, c: x + c,
            lambda x, c: c - x,
            lambda x, c: fg.concatenate([x, c]),
            lambda x, c: fg.where(fg.tensor([True, True, False]), x, c),
        ],
    )
    def test_an_unsaved_operand(self, open_door: Any, f: Any) -> None:
        c, door = open_door()
        x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = f(x, c)
        before = y.tolist()
        expected = f(x.detach(), fg.tensor(START)).tolist()
        write(door)
        assert y.tolist() == before == expected
        slope = fg.autograd.grad((y * y).sum(), [x])[0]
        fresh = x.detach().requires_grad_()
        again = f(fresh, fg.tensor(START))
        (other,) = fg.autograd.grad((again * again).sum(), [fresh])
        np.testing.assert_array_equal(slope.numpy(), other.numpy())

    def test_the_gradient_passed_in(self, open_door: Any) -> None:
        c, door = open_door()
        x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (x * 1.0).backward(c)
        write(door)
        np.testing.assert_array_equal(x.grad.numpy(), START)


@pytest.mark.parametrize(
    "open_door", [d for d in DOORS if d not in FROZEN], ids=lambda d: d.__name__
)
class TestResults:
    """Each door to memory that an operation in place wrote its result to."""

    def test_a_result_written_to_that_memory(self, open_door: Any) -> None:
        """It is saved by what comes after it."""
        c, door = open_door()
        x = fg.tensor([0.1, 0.2, 0.3], requires_grad=True)
        c.copy_(fg.exp(x))
        y = (c * c).sum()
        write(door)
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([0.2, 0.4, 0.6]))

    def test_a_result_that_its_own_derivative_keeps(self, open_door: Any) -> None:
        c, door = open_door()
        x = fg.tensor([0.1, 0.2, 0.3], requires_grad=True)
        c.copy_(x)
        c.exp_()
        y = c.sum()
        write(door)
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp([0.1, 0.2, 0.3]))

    def test_a_result_that_nothing_keeps(self, open_door: Any) -> None:
        """The gradient is that of the operations, whatever the values became."""
        c, door = open_door()
        x = fg.tensor([0.1, 0.2, 0.3], requires_grad=True)
        c.copy_(x * 3.0)
        write(door)
        c.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 3.0))
        assert c.tolist() == [-100.0] * 3


@pytest.mark.parametrize("open_door", FROZEN, ids=lambda d: d.__name__)
def test_memory_that_numpy_shows_read_only_takes_no_result(open_door: Any) -> None:
    c, _ = open_door()
    with pytest.raises(fg.errors.InPlaceError, match="the tensor's memory is read-only"):
        c.copy_(fg.tensor(START))
    assert c.tolist() == START.tolist()


@pytest.mark.parametrize(
    "open_door",
    [
        lambda t: t.numpy(writable=True),
        lambda t: t.numpy(writable=True)[:],
        lambda t: memoryview(t.numpy(writable=True)),
        lambda t: np.from_dlpack(t, copy=False),
    ],
    ids=["numpy", "view", "memoryview", "dlpack"],
)
class TestDoorsToResults:
    """A detached result shares its memory, as does what is exported."""

    def test_one_that_its_own_derivative_keeps(self, open_door: Any) -> None:
        x = fg.tensor([0.1, 0.2, 0.3], requires_grad=True)
        y = fg.exp(x)
        write(open_door(y.detach()))
        y.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp([0.1, 0.2, 0.3]))

    def test_one_that_nothing_keeps(self, open_door: Any) -> None:
        x = fg.tensor([0.1, 0.2, 0.3], requires_grad=True)
        y = x * 3.0
        write(open_door(y.detach()))
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 3.0))

    def test_one_that_is_saved_later(self, open_door: Any) -> None:
        x = fg.tensor([0.1, 0.2, 0.3], requires_grad=True)
        y = x * 3.0
        door = open_door(y.detach())
        z = (y * y).sum()
        write(door)
        z.backward()
        np.testing.assert_allclose(x.grad.numpy(), 18 * np.array([0.1, 0.2, 0.3]))

    def test_a_gradient(self, open_door: Any) -> None:
        """Writing to one gradient changes no other."""
        x, y = (fg.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in "xy")
        (x + y).sum().backward()
        write(open_door(x.grad))
        assert y.grad.tolist() == [1.0] * 3
        (x + y).sum().backward()
        assert x.grad.tolist() == [-99.0] * 3


@pytest.mark.parametrize("open_door", DOORS[:9], ids=lambda d: d.__name__)
def test_a_leaf_on_foreign_memory(open_door: Callable[[], tuple[Any, Any]]) -> None:
    x, door = open_door()
    x.requires_grad_()
    y = (x * x).sum()
    write(door)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * START)


@pytest.mark.parametrize("open_door", DOORS[:9], ids=lambda d: d.__name__)
def test_a_transform_sees_the_values_at_the_call(open_door: Callable[[], tuple[Any, Any]]) -> None:
    _, door = open_door()
    array = np.asarray(door)

    def f(x: Any) -> Any:
        y = np.sum(x * array)
        write(door)
        return y

    np.testing.assert_allclose(fg.grad(f)(np.ones(3)), START)


OPENED = [lambda t: t.numpy(writable=True), lambda t: np.from_dlpack(t, copy=False)]


class TestOpenedLate:
    """A door that opens after the forward: what was saved is copied then."""

    @pytest.mark.parametrize("open_door", OPENED)
    def test_what_was_saved_before_is_kept(self, open_door: Any) -> None:
        c, x = fg.tensor(START), fg.ones(3, requires_grad=True)
        y = (x * c).sum()
        door = open_door(c)
        write(door)
        again = (x * c).sum()
        written = c.tolist()
        write(door)
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), START)
        x.grad = None
        again.backward()
        assert x.grad.tolist() == written

    @pytest.mark.parametrize("open_door", OPENED)
    def test_the_backward_says_who_could_write(self, open_door: Any) -> None:
        c, x = fg.tensor(START), fg.ones(3, requires_grad=True)
        y = (x * c).sum()
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            open_door(c)
        with pytest.raises(fg.errors.InPlaceError, match=r"writable=True|copy=False"):
            y.backward()

    def test_read_only_doors_open_at_any_time(self) -> None:
        c, x = fg.tensor(START), fg.ones(3, requires_grad=True)
        y = (x * c).sum()
        for view in (c.numpy(), np.asarray(c), np.from_dlpack(c), np.array(c, copy=None)):
            assert not view.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.flags.writeable = True
            assert memoryview(view).readonly
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), START)


class TestHome:
    """Our own memory that comes back through NumPy is known again."""

    @pytest.mark.parametrize("again", [fg.from_numpy, fg.asarray])
    def test_a_change_is_seen_by_both(self, again: Any) -> None:
        t, x = fg.tensor(START), fg.ones(3, requires_grad=True)
        home = again(t.numpy()[1:])
        y = (x[1:] * home).sum()
        t += 1
        assert home._version == t._version
        y.backward(retain_graph=True)
        np.testing.assert_allclose(x.grad.numpy(), [0, *START[1:]])
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            t += 1
        with pytest.raises(fg.errors.InPlaceError):
            y.backward()

    def test_an_operand_that_is_a_view_of_a_tensor(self) -> None:
        t, x = fg.tensor(START), fg.ones(3, requires_grad=True)
        y = (x * t.numpy(writable=False)[::-1]).sum()
        t *= 2
        y.backward(retain_graph=True)
        np.testing.assert_allclose(x.grad.numpy(), START[::-1])
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            t *= 2
        with pytest.raises(fg.errors.InPlaceError):
            y.backward()

    def test_another_dtype_or_offset_computes(self) -> None:
        t = fg.tensor(START)
        words = t.numpy().view(np.int32)
        assert fg.from_numpy(words[1:4]).tolist() == words[1:4].tolist()
        odd = np.frombuffer(t.numpy().view(np.uint8)[4:20], np.float64)
        np.testing.assert_array_equal((fg.from_numpy(odd) * 1.0).numpy(), odd)

    def test_the_memory_is_freed_with_the_last_of_both(self) -> None:
        gc.collect()
        before = fg.live_bytes()
        t = fg.zeros(1000)
        home = fg.from_numpy(t.numpy())
        del t
        gc.collect()
        assert fg.live_bytes() - before == 8000
        del home
        gc.collect()
        assert fg.live_bytes() == before
