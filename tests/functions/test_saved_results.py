"""Writes into what operations saved: the gradient is that of the values computed with.

Random views and writes: `tests/semantics`.
"""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Call, Case
from op_support import ROWS, function, parts, plain, tensors, with_arrays

DERIVED = [case for case in ROWS if case.order]


def doubled(result: fg.Tensor) -> None:
    result.mul_(2)


def doubled_through_a_view(result: fg.Tensor) -> None:
    # A value has no views: `s[...]` is an array of its own.
    (result.T[...] if result.ndim else result).mul_(2)


def erased_behind_the_graph(result: fg.Tensor) -> None:
    result.detach().zero_()


def erased_while_nothing_records(result: fg.Tensor) -> None:
    with fg.no_grad():
        result[...] = 0


#: Each change with what it multiplies the gradients by.
CHANGES: dict[Callable[[fg.Tensor], None], float] = {
    doubled: 2.0,
    doubled_through_a_view: 2.0,
    erased_behind_the_graph: 1.0,
    erased_while_nothing_records: 1.0,
}


def slopes(
    case: Case, operation: Any, call: Call, change: Callable[[fg.Tensor], None] | None
) -> list[fg.Tensor | None]:
    """First and second gradients of the weighted sum of all results, if those may be changed."""
    xs = tensors(call.arrays(), grad=True)
    results = parts(call.apply(operation, list(xs)))
    results = [r for r in results if r.dtype.kind in "fi" and r.numel()]
    if len(results) > 1 and operation is not plain(case):
        return []  # The row may have computed one from the other.
    inputs = [x.detach().numpy() for x in xs]
    if any(np.shares_memory(r.detach().numpy(), x) for r in results for x in inputs):
        return []  # A view: what is written there is the operand.
    for result in results:
        if change is not None:
            change(result)
    rng = np.random.default_rng(7)
    total: Any = 0.0
    for result in results:
        if result.requires_grad:
            weights = rng.uniform(0.5, 1.5, result.shape).astype(result.dtype)
            total = total + (result * fg.tensor(weights)).sum()
    if not isinstance(total, fg.Tensor):
        return []
    first = fg.autograd.grad(total, xs, create_graph=case.order > 1, allow_unused=True)
    again: Any = 0.0
    for k, slope in enumerate(first):
        if slope is not None and slope.requires_grad:
            again = again + (slope * (k + 1.0)).sum()
    if not isinstance(again, fg.Tensor):
        return list(first)
    return [*first, *fg.autograd.grad(again, xs, allow_unused=True)]


@pytest.mark.parametrize("case", DERIVED, ids=lambda case: case.key)
def test_a_written_result_has_the_gradients_of_what_was_computed(case: Case) -> None:
    for call in with_arrays(case):
        operation = plain(case)
        try:
            expected = slopes(case, operation, call, None)
        except fg.errors.FerrogradError:
            # It does not take every operand or gradient; what the row makes of it does.
            operation = function(case)
            expected = slopes(case, operation, call, None)
        for change, factor in CHANGES.items() if expected else ():
            found = slopes(case, operation, call, change)
            for ours, plain_one in zip(found, expected, strict=True):
                assert (ours is None) == (plain_one is None), (change, call)
                if ours is not None and plain_one is not None:
                    wanted = plain_one.detach().numpy() * factor
                    np.testing.assert_allclose(
                        ours.detach().numpy(), wanted, 1e-12, 1e-12, err_msg=str((change, call))
                    )


def leaf(n: int = 3) -> fg.Tensor:
    return fg.tensor(np.linspace(0.5, 1.5, n), requires_grad=True)


ROADS: dict[str, Callable[[fg.Tensor], Any]] = {
    "setitem": lambda y: y.__setitem__(0, 1.0),
    "masked": lambda y: y.__setitem__(y > 0, -1.0),
    "view of a view": lambda y: y[::-1][1:].zero_(),
    "data": lambda y: y.data.zero_(),
    "out": lambda y: written(y.detach()),
    "numpy": lambda y: y.detach().numpy(writable=True).fill(0),
    "dlpack": lambda y: np.from_dlpack(y.detach(), copy=False).fill(0),
    "gradient": lambda y: accumulated(y.detach()),
    "twice": lambda y: (y.mul_(2), y.detach().zero_()),
}


def written(y: Any) -> None:
    """Makes `y` the `out=` of a NumPy function."""
    np.add(np.ones(3), fg.ones(3), out=y)


def accumulated(y: fg.Tensor) -> None:
    """Makes `y` the gradient of a leaf, to which a backward adds."""
    w = leaf()
    w.grad = y
    (w * 5).sum().backward()
    assert w.grad is y


@pytest.mark.parametrize("road", ROADS)
def test_every_road_to_the_memory(road: str) -> None:
    x = leaf()
    y = x.exp()
    ROADS[road](y)
    node: Any = y.grad_fn
    while node.name() != "ExpBackward":
        node = next(n for n, _ in node.next_functions if n is not None)
    slope = node(fg.ones(3))
    np.testing.assert_allclose(slope.numpy(), np.exp(x.detach().numpy()), 1e-15)


def test_divide_may_be_assigned_to() -> None:
    a, b = leaf(), leaf() + 1
    z = a / b
    z[0] = 1
    z.sum().backward()
    assert a.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), [0, *(1 / b.detach().numpy()[1:])])


def test_a_saved_operand_is_as_it_was() -> None:
    x = leaf()
    y = x.exp()
    z = y * y
    y[0] = 1
    z.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * x.detach().numpy()), 1e-15)


def test_a_saved_operand_is_refused_where_writes_are() -> None:
    y = leaf().exp()
    z = y * y
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        y[0] = 1
    with pytest.raises(
        fg.errors.InPlaceError, match='"multiply" was changed in place by "setitem"'
    ):
        z.sum().backward()


def test_the_result_of_a_function_of_the_user() -> None:
    class Exp(fg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: fg.Tensor) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    x = leaf()
    y = Exp.apply(x)
    y.mul_(0)
    y.add_(Exp.apply(x))
    first = fg.autograd.grad(y.sum(), x, create_graph=True)[0]
    np.testing.assert_allclose(first.detach().numpy(), np.exp(x.detach().numpy()))
    second = fg.autograd.grad(first.sum(), x)[0]
    np.testing.assert_allclose(second.numpy(), np.exp(x.detach().numpy()))


def test_changes_between_two_backwards() -> None:
    x = leaf()
    y = x.tanh()
    for n in range(1, 4):
        with fg.no_grad():
            y.mul_(10)
        y.backward(fg.ones(3), retain_graph=True)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), n * (1 - np.tanh(x.detach().numpy()) ** 2))


@pytest.mark.parametrize("erased", [False, True])
def test_a_write_to_unpacked_values_reaches_no_node(erased: bool) -> None:
    x = leaf()
    y = x.exp()
    assert y.grad_fn is not None
    node: Any = y.grad_fn
    if erased:
        y.zero_()
    shown = node._saved_result
    with fg.no_grad():
        shown.zero_()
        assert shown.tolist() == [0, 0, 0]
    slope = node(fg.ones(3))
    np.testing.assert_allclose(slope.numpy(), np.exp(x.detach().numpy()), 1e-15)
    assert node._saved_result.tolist() == np.exp(x.detach().numpy()).tolist()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_in_parallel_passes(threads: int) -> None:
    def program(write: bool) -> np.ndarray:
        x = leaf(50_000)
        branches = [(x * float(k)).tanh() for k in range(1, 9)]
        for k, branch in enumerate(branches if write else ()):
            branch.detach()[k:].zero_()
        total = sum((fg.sigmoid(x * 2) * b.detach().sum() * 0 + b for b in branches), start=x * 0)
        total.sum().backward()
        assert x.grad is not None
        return x.grad.numpy().copy()

    before = fg.get_num_threads()
    try:
        fg.set_num_threads(threads)
        np.testing.assert_array_equal(program(write=True), program(write=False))
    finally:
        fg.set_num_threads(before)


def test_threads_that_write_while_others_pull() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                x = leaf(64)
                y = x.exp()
                z = y.detach()
                other = threading.Thread(target=lambda z=z: z[1:].zero_())
                other.start()
                other.join()
                y.sum().backward()
                assert x.grad is not None
                np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()), 1e-15)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures[0]


class TestMemory:
    """One copy of what is written, when it is needed, and back when the saved value is gone."""

    SIZE = 1 << 16

    def result(self) -> tuple[fg.Tensor, fg.Tensor, int]:
        x = leaf(self.SIZE)
        y = x.exp()
        gc.collect()
        return x, y, fg.live_bytes()

    def test_one_copy_of_each_element_for_any_number_of_writes(self) -> None:
        _, y, before = self.result()
        steps: list[tuple[Callable[[], object], int]] = [
            (lambda: y.__setitem__(0, 1), 1),
            (lambda: y.__setitem__(0, 2), 1),
            (lambda: y[1:9:2].zero_(), 5),
            (lambda: y[:9].zero_(), 9),
            (lambda: y.add_(1), self.SIZE),
            (lambda: y.add_(1), self.SIZE),
        ]
        with fg.no_grad():
            for write, copied in steps:
                write()
                assert fg.live_bytes() - before == 8 * copied

    @pytest.mark.parametrize("freed", [True, False])
    def test_the_copy_goes_with_the_saved_value(self, freed: bool) -> None:
        x, y, before = self.result()
        with fg.no_grad():
            y[1:].zero_()
        assert fg.live_bytes() - before == 8 * (self.SIZE - 1)
        y.backward(fg.ones(self.SIZE), retain_graph=not freed)
        x.grad = None
        gc.collect()
        assert fg.live_bytes() - before == (0 if freed else 8 * (self.SIZE - 1))
        del y
        gc.collect()
        assert fg.live_bytes() - before == -8 * self.SIZE

    def test_nothing_is_copied_where_nobody_saved(self) -> None:
        x, y, _ = self.result()
        z = x * 2
        with fg.no_grad():
            w = x.exp()
        y.backward(fg.ones(self.SIZE))
        x.grad = None
        gc.collect()
        before = fg.live_bytes()
        with fg.no_grad():
            for result in (y, z, w):
                result[0] = 1
        assert fg.live_bytes() == before


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("road", [road for road in ROADS if road != "gradient"])
def test_an_operand_of_another_operation_on_every_road(road: str, refused: bool) -> None:
    x = leaf()
    y = x * 3
    z = (y * y).sum()
    if not refused:
        ROADS[road](y)
        z.backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), 18 * x.detach().numpy(), 1e-15)
        return
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        ROADS[road](y)
    with pytest.raises(fg.errors.InPlaceError, match='a value saved by "multiply" was changed'):
        z.backward()
    assert x.grad is None
