"""Arrays of tensors that NumPy may write to, and when it may not.

Invariant: an array is writable only where no value that was kept shares its memory, and what is
kept while it lives is a copy, so that no gradient is of other values than the forward saw.
"""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

START = np.array([2.0, 3.0, 4.0])


def writable(t: fg.Tensor) -> bool:
    found = {bool(t.numpy().flags.writeable), bool(np.asarray(t).flags.writeable)}
    assert len(found) == 1
    return found.pop()


def leaf() -> fg.Tensor:
    return fg.ones(3, requires_grad=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fg.tensor(START),
        lambda: fg.zeros(0),
        lambda: fg.arange(6.0).reshape(2, 3).T[::-1, :1],
        lambda: fg.tensor([True, False]),
        lambda: fg.from_numpy(START.copy()),
        lambda: fg.tensor(START).detach(),
        lambda: leaf().detach(),
        lambda: (leaf() * 3.0).detach(),
        lambda: fg.from_numpy(fg.tensor(START).numpy()),
    ],
)
def test_memory_that_nothing_keeps_is_writable(make: Callable[[], fg.Tensor]) -> None:
    t = make()
    array = np.asarray(t)
    assert array.flags.writeable
    assert np.shares_memory(array, np.asarray(t)) or t.size == 0
    array[...] = 1
    assert t.tolist() == array.tolist()
    assert writable(t)


def in_inference() -> fg.Tensor:
    with fg.inference_mode():
        return fg.ones(3) * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: fg.tensor(START).expand(2, 3),
        lambda: np.lib.stride_tricks.sliding_window_view(fg.tensor(START), 2),
        lambda: fg.from_numpy(np.broadcast_to(START, (2, 3))),
        lambda: fg.from_numpy(np.frombuffer(START.tobytes())),
        in_inference,
    ],
)
def test_memory_that_no_operation_may_change_is_read_only(make: Callable[[], fg.Tensor]) -> None:
    assert not writable(make())


@pytest.mark.parametrize("make", [leaf, lambda: leaf() * 2.0, lambda: (leaf() * 2.0)[1:]])
def test_a_tensor_that_requires_grad_is_read_only_without_recording(
    make: Callable[[], fg.Tensor],
) -> None:
    t = make()
    with fg.no_grad():
        assert not writable(t)
        assert not writable(t[:1])


class Times(fg.Function):
    """Keeps an operand as users do."""

    @staticmethod
    def forward(ctx: Any, x: Any, c: Any) -> Any:
        ctx.save_for_backward(c)
        return x * c

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


def packed(pack: Callable[[fg.Tensor], Any]) -> Callable[[fg.Tensor, fg.Tensor], fg.Tensor]:
    def keep(x: fg.Tensor, c: fg.Tensor) -> fg.Tensor:
        with fg.autograd.graph.saved_tensors_hooks(pack, fg.asarray):
            return x * c

    return keep


KEEPERS: list[Callable[[fg.Tensor, fg.Tensor], Any]] = [
    lambda x, c: x * c,
    lambda x, c: x * c[::-1],
    lambda x, c: x * c.detach(),
    lambda x, c: fg.stack([x, x]) @ c,
    lambda x, c: fg.where(c > 2.5, x, c * x),
    lambda x, c: x * c.numpy(writable=False),
    Times.apply,
    lambda x, c: fg.autograd.checkpoint(lambda x, c: x * c, x, c),
    packed(lambda t: t),
    packed(lambda t: t.numpy()),
    packed(lambda t: np.asarray(t)[:]),
]


@pytest.mark.parametrize("keep", KEEPERS)
def test_memory_is_read_only_while_an_operation_keeps_it(keep: Any) -> None:
    x, c = leaf(), fg.tensor(START)
    y = keep(x, c)
    assert not writable(c)
    assert not writable(c.detach())
    assert not writable(c[1:])
    (slope,) = fg.autograd.grad(y.sum(), [x])
    again = fg.autograd.grad(keep(x, fg.tensor(START)).sum(), [x])[0]
    np.testing.assert_array_equal(slope.numpy(), again.numpy())
    del y, slope, again
    gc.collect()
    assert writable(c)


@pytest.mark.parametrize("keep", KEEPERS)
def test_what_is_kept_while_an_array_lives_is_a_copy(keep: Any) -> None:
    x, c = leaf(), fg.tensor(START)
    array = np.asarray(c)
    y = keep(x, c)
    expected = fg.autograd.grad(keep(x, fg.tensor(START)).sum(), [x])[0]
    array[:] = -100.0
    (slope,) = fg.autograd.grad(y.sum(), [x])
    np.testing.assert_array_equal(slope.numpy(), expected.numpy())
    assert c.tolist() == [-100.0] * 3


def test_a_saved_result_is_not_lent() -> None:
    x = leaf()
    y = fg.exp(x)
    array = y.detach().numpy()
    assert not array.flags.writeable
    y.sum().backward()
    assert not y.detach().numpy().flags.writeable  # `array` cannot know
    del array
    assert y.detach().numpy().flags.writeable


def test_memory_is_ordinary_again_when_the_last_array_has_gone() -> None:
    x, c = leaf(), fg.tensor(START)
    array = np.asarray(c)
    part, flat = array[1:], memoryview(array)
    del array
    y = (x * c).sum()
    assert writable(c)  # the operation kept a copy, which is none of the array's business
    del part
    z = (x * c).sum()
    assert writable(c)
    del flat
    again = (x * c).sum()
    assert not writable(c)
    c += 1
    y.backward()
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * START)
    again.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), 3 * START)
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        c += 1
    with pytest.raises(fg.errors.InPlaceError):
        again.backward()


def test_a_parameter_is_lent_between_steps_only() -> None:
    p = leaf()
    assert writable(p.detach())
    loss = (p * p).sum()
    assert not writable(p.detach())
    loss.backward()
    p.detach().numpy()[:] = 5.0
    assert p.tolist() == [5.0] * 3


def test_a_compiled_program_keeps_what_it_read() -> None:
    c = fg.tensor(START)
    for f in (
        fg.compile(lambda x: x * c),
        fg.compile(lambda x: x * float(c[0])),
        fg.compile(lambda x: x * c.numpy(writable=False)),
    ):
        first = f(fg.ones(3)).tolist()
        assert not writable(c)
        assert f(fg.ones(3)).tolist() == first
        del f
        gc.collect()


@pytest.mark.parametrize("closed", [False, True])
def test_a_compiled_program_beside_an_array(closed: bool) -> None:
    x, c = leaf(), fg.tensor(START)
    array = np.asarray(c)
    f = fg.compile((lambda x: x * c * x) if closed else (lambda x, c: x * c * x))
    for _ in range(4):
        y = f(x).sum() if closed else f(x, c).sum()
        seen = c.tolist()
        array += 1
        (slope,) = fg.autograd.grad(y, [x])
        assert slope.tolist() == [2 * value for value in seen]


def test_threads_that_save_and_lend() -> None:
    """Whichever comes first, the gradient is of the values that were saved."""
    x = leaf()
    for _ in range(200):
        c = fg.tensor(START)
        gate = threading.Barrier(2)
        lent: list[Any] = []

        def lend(gate: Any = gate, c: fg.Tensor = c, lent: list[Any] = lent) -> None:
            gate.wait()
            lent.append(np.asarray(c))

        other = threading.Thread(target=lend)
        other.start()
        gate.wait()
        y = (x * c).sum()
        other.join()
        if lent[0].flags.writeable:
            lent[0][:] = -100.0
        (slope,) = fg.autograd.grad(y, [x])
        np.testing.assert_array_equal(slope.numpy(), START)


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    lambda x, c: x * c,
    lambda x, c: x / (c * c + 1),
    lambda x, c: fg.where(c > 0, x * c, x),
    lambda x, c: fg.exp(x * 0.1) * c,
    lambda x, c: fg.stack([x, x * 2]) @ c,
    lambda x, c: fg.autograd.checkpoint(lambda x, c: x * c * c, x, c),
    lambda x, c: x**2 * fg.tanh(c),
]
SHOWN: list[Callable[[fg.Tensor], fg.Tensor]] = [
    lambda c: c,
    lambda c: c.detach(),
    lambda c: c[::-1],
    lambda c: c.reshape(3, 1)[:, 0],
    lambda c: fg.from_numpy(np.asarray(c)),
]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_and_writes(seed: int) -> None:
    """Operations, arrays that come, are written and go, and passes in any order."""
    random = np.random.default_rng(seed)
    x = fg.tensor(random.normal(size=3), requires_grad=True)
    constants = [fg.tensor(random.normal(size=3)) for _ in range(3)]
    arrays: list[Any] = []
    pending: list[Any] = []

    def differentiate() -> None:
        y, weight, wanted = pending.pop(random.integers(len(pending)))
        (found,) = fg.autograd.grad((y * weight).sum(), [x])
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-14)

    for action in random.choice(5, size=40, p=[0.35, 0.3, 0.2, 0.1, 0.05]):
        c = SHOWN[random.integers(len(SHOWN))](constants[random.integers(3)])
        f = PROGRAMS[random.integers(len(PROGRAMS))]
        if action == 0:
            copies = [fg.tensor(v.detach().numpy(writable=False).copy()) for v in (x, c)]
            y, again = f(x, c), f(copies[0].requires_grad_(), copies[1])
            weight = fg.tensor(random.normal(size=y.shape))
            (wanted,) = fg.autograd.grad((again * weight).sum(), copies[:1])
            pending.append((y, weight, wanted.tolist()))
        elif action == 1:
            arrays.append(
                np.asarray(c if random.random() < 0.8 else x.detach())[random.integers(2) :]
            )
        elif arrays and action == 2:
            array = arrays[random.integers(len(arrays))]
            if array.flags.writeable:
                array[...] = random.normal(size=array.shape)
        elif arrays and action == 3:
            arrays.pop(random.integers(len(arrays)))
        elif pending and action == 4:
            differentiate()
    while pending:
        differentiate()
