"""What a hook, a retained gradient and a target mean after a change in place: the new value.

Expected gradients follow from one rule, PyTorch's: after a write all views are views of the new
base.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

Write = Callable[[fg.Tensor, fg.Tensor], Any]

# Each takes the tensor to change and a recorded tensor of its shape. Beside it, for a tensor of n
# elements: the gradient of an element before the write, in multiples of that after it, and the
# same of the other tensor. None: all was replaced, so what was there gets nothing.
WRITES: dict[str, tuple[Write, Callable[[int], Any], Callable[[int], Any]]] = {
    "*=": (lambda t, m: t.__imul__(3), lambda n: [3] * n, lambda n: [0] * n),
    "mul_": (lambda t, m: t.mul_(3), lambda n: [3] * n, lambda n: [0] * n),
    "+= m": (lambda t, m: t.__iadd__(m), lambda n: [1] * n, lambda n: [1] * n),
    "neg_": (lambda t, m: t.neg_(), lambda n: [-1] * n, lambda n: [0] * n),
    "clip_": (lambda t, m: t.clip_(-9, 9), lambda n: [1] * n, lambda n: [0] * n),
    "[0] = number": (
        lambda t, m: t.__setitem__(0, 7.0),
        lambda n: [0] + [1] * (n - 1),
        lambda n: [0] * n,
    ),
    "[0] = m[0]": (
        lambda t, m: t.__setitem__(0, m[0]),
        lambda n: [0] + [1] * (n - 1),
        lambda n: [1] + [0] * (n - 1),
    ),
    "[1:] = m[1:]": (
        lambda t, m: t.__setitem__(slice(1, None), m[1:]),
        lambda n: [1] + [0] * (n - 1),
        lambda n: [0] + [1] * (n - 1),
    ),
    "[array] = number": (
        lambda t, m: t.__setitem__([1], 7.0),
        lambda n: [1, 0] + [1] * (n - 2),
        lambda n: [0] * n,
    ),
    "[array] = m[array]": (
        lambda t, m: t.__setitem__([1, 0], m[[1, 0]]),
        lambda n: [0, 0] + [1] * (n - 2),
        lambda n: [1, 1] + [0] * (n - 2),
    ),
    "[mask] = m[mask]": (
        lambda t, m: t.__setitem__(np.arange(len(t)) == 1, m[1:2]),
        lambda n: [1, 0] + [1] * (n - 2),
        lambda n: [0, 1] + [0] * (n - 2),
    ),
    "[:] = m": (lambda t, m: t.__setitem__(slice(None), m), lambda n: None, lambda n: [1] * n),
    "[...] = m": (lambda t, m: t.__setitem__(..., m), lambda n: None, lambda n: [1] * n),
    "copy_": (lambda t, m: t.copy_(m), lambda n: [0] * n, lambda n: [1] * n),
    "fill_": (lambda t, m: t.fill_(2.0), lambda n: [0] * n, lambda n: [0] * n),
    "zero_": (lambda t, m: t.zero_(), lambda n: [0] * n, lambda n: [0] * n),
    "index_add_": (
        lambda t, m: t.index_add_(0, [0], m[:1]),
        lambda n: [1] * n,
        lambda n: [1] + [0] * (n - 1),
    ),
    "masked_fill_": (
        lambda t, m: t.masked_fill_(np.arange(len(t)) == 0, 7.0),
        lambda n: [0] + [1] * (n - 1),
        lambda n: [0] * n,
    ),
}

VIA_BASE, VIA_EARLY, VIA_LATE = (
    np.array([1.0, 2, 3, 4]),
    np.array([10.0, 20]),
    np.array([100.0, 200, 300]),
)
TOTAL = np.array([11.0, 122, 203, 304])


class Scene:
    """A base of four elements, a view of two taken before the write, and one of three after."""

    def __init__(self) -> None:
        self.x = fg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        self.m = fg.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
        self.base = self.x * 1
        self.early = self.base[:2]

    def write(self, write: Write, through_view: bool) -> None:
        target, source = (self.early, (self.m * 1)[:2]) if through_view else (self.base, self.m * 1)
        write(target, source)
        self.late = self.base[1:]

    def loss(self) -> fg.Tensor:
        parts = ((self.base, VIA_BASE), (self.early, VIA_EARLY), (self.late, VIA_LATE))
        return sum((t * weights).sum() for t, weights in parts)


every_write = pytest.mark.parametrize("name", WRITES)
both_ways = pytest.mark.parametrize("through_view", [False, True], ids=["base", "view"])


def expected_past(name: str, through_view: bool) -> Any:
    """The gradient of the base before the write."""
    factors = WRITES[name][1](2 if through_view else 4)
    if factors is None:
        return np.concatenate([[0, 0], TOTAL[2:]]) if through_view else None
    return TOTAL * np.concatenate([factors, [1] * (4 - len(factors))])


@every_write
@both_ways
def test_the_values_are_those_of_numpy(name: str, through_view: bool) -> None:
    scene = Scene()
    scene.write(WRITES[name][0], through_view)
    values = scene.base.tolist()
    assert scene.early.tolist() == values[:2]
    assert scene.late.tolist() == values[1:]


@every_write
@both_ways
def test_a_target_means_the_value_after_the_write(name: str, through_view: bool) -> None:
    scene = Scene()
    scene.write(WRITES[name][0], through_view)
    wanted = [scene.base, scene.early, scene.late]
    whole, early, late = fg.autograd.grad(scene.loss(), wanted)
    np.testing.assert_array_equal(whole.numpy(), TOTAL)
    np.testing.assert_array_equal(early.numpy(), VIA_EARLY)
    np.testing.assert_array_equal(late.numpy(), VIA_LATE)


@every_write
@both_ways
def test_a_target_is_found_whoever_was_asked_first(name: str, through_view: bool) -> None:
    for asked in ("base", "early", "late"):
        scene = Scene()
        scene.write(WRITES[name][0], through_view)
        assert getattr(scene, asked).grad_fn is not None
        (early,) = fg.autograd.grad((scene.early * VIA_EARLY).sum(), scene.base, retain_graph=True)
        np.testing.assert_array_equal(early.numpy(), [10, 20, 0, 0])
        (late,) = fg.autograd.grad((scene.late * VIA_LATE).sum(), scene.base)
        np.testing.assert_array_equal(late.numpy(), [0, 100, 200, 300])


@every_write
@both_ways
def test_a_retained_gradient_follows_the_write(name: str, through_view: bool) -> None:
    for before in (True, False):
        scene = Scene()
        if before:
            scene.base.retain_grad()
            scene.early.retain_grad()
        scene.write(WRITES[name][0], through_view)
        if not before:
            scene.base.retain_grad()
            scene.early.retain_grad()
        scene.late.retain_grad()
        scene.loss().backward()
        np.testing.assert_array_equal(scene.base.grad.numpy(), TOTAL)
        np.testing.assert_array_equal(scene.early.grad.numpy(), VIA_EARLY)
        np.testing.assert_array_equal(scene.late.grad.numpy(), VIA_LATE)


@every_write
@both_ways
def test_a_retained_gradient_is_not_that_of_the_value_before(name: str, through_view: bool) -> None:
    scene = Scene()
    scene.base.retain_grad()
    scene.early.retain_grad()
    past = (scene.base * VIA_BASE).sum() + (scene.early * VIA_EARLY).sum()
    scene.write(WRITES[name][0], through_view)
    past.backward()
    assert gradient_of(scene.base) is None
    if through_view:
        assert gradient_of(scene.early) is None


def gradient_of(t: fg.Tensor) -> Any:
    """`t.grad`, without the warning of a tensor that keeps none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return t.grad


@every_write
@both_ways
def test_a_hook_belongs_to_the_value_it_was_registered_on(name: str, through_view: bool) -> None:
    scene = Scene()
    seen: dict[str, list[Any]] = {"before": [], "after": [], "early": []}
    scene.base.register_hook(lambda g: seen["before"].append(g.tolist()))
    scene.write(WRITES[name][0], through_view)
    scene.base.register_hook(lambda g: seen["after"].append(g.tolist()))
    scene.early.register_hook(lambda g: seen["early"].append(g.tolist()))
    scene.loss().backward()
    past = expected_past(name, through_view)
    assert seen["before"] == ([] if past is None else [list(past)])
    assert seen["after"] == [list(TOTAL)]
    assert seen["early"] == [list(VIA_EARLY)]


@every_write
@both_ways
def test_what_a_hook_on_the_base_returns_reaches_what_was_written(
    name: str, through_view: bool
) -> None:
    scene = Scene()
    scene.write(WRITES[name][0], through_view)
    scene.base.register_hook(lambda g: g * 0 + 1)
    scene.loss().backward()
    n = 2 if through_view else 4
    factors, other = WRITES[name][1](n), WRITES[name][2](n)
    past = (
        None if factors is None and n == 4 else np.concatenate([factors or [0] * n, [1] * (4 - n)])
    )
    assert (None if scene.x.grad is None else scene.x.grad.tolist()) == (
        None if past is None else list(past)
    )
    found = np.zeros(4) if scene.m.grad is None else scene.m.grad.numpy()
    np.testing.assert_array_equal(found, other + [0] * (4 - n))


@every_write
@both_ways
def test_leaves_get_the_gradients_of_what_was_computed(name: str, through_view: bool) -> None:
    for create_graph in (False, True):
        scene = Scene()
        scene.write(WRITES[name][0], through_view)
        found = fg.autograd.grad(
            scene.loss(), [scene.x, scene.m], create_graph=create_graph, allow_unused=True
        )
        past = expected_past(name, through_view)
        n = 2 if through_view else 4
        other = np.concatenate([WRITES[name][2](n), [0] * (4 - n)]) * TOTAL
        np.testing.assert_array_equal(
            np.zeros(4) if found[0] is None else found[0].numpy(), 0 if past is None else past
        )
        np.testing.assert_array_equal(np.zeros(4) if found[1] is None else found[1].numpy(), other)


def test_the_base_after_a_write_through_a_view() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    b = x * 1
    b.retain_grad()
    v = b[:1]
    v *= 3
    (v * 10).sum().backward()
    assert b.grad.tolist() == [10, 0]
    assert x.grad.tolist() == [30, 0]


def test_the_base_of_a_view_after_an_assignment() -> None:
    weights = np.array([1.0, 2, 3])
    x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    v = y[:2]
    y[0] = 0.4
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    (g,) = fg.autograd.grad((v * weights[:2]).sum(), y)
    assert g.tolist() == [1, 2, 0]
    assert seen == [[1, 2, 0]]


def test_a_view_that_no_write_touched_is_a_view_of_the_new_base() -> None:
    x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    first = y[:1]
    y[1:] = x[:2] * 2
    (g,) = fg.autograd.grad((first * 5).sum(), y, retain_graph=True)
    assert g.tolist() == [5, 0, 0]


def test_views_of_one_constant_buffer() -> None:
    x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = fg.zeros(2, 3)
    top, bottom = z[0], z[1]
    bottom += x
    assert (z.requires_grad, top.requires_grad) == (True, True)
    assert fg.autograd.grad((bottom * 2).sum(), z)[0].tolist() == [[0, 0, 0], [2, 2, 2]]
    top.retain_grad()
    (top.sum() + z.sum()).backward()
    assert top.grad.tolist() == [1, 1, 1]
    assert x.grad.tolist() == [1, 1, 1]


def test_second_derivatives_through_many_writes() -> None:
    def written(x: fg.Tensor) -> fg.Tensor:
        y = x * x
        y[0] = x[1] * x[2]
        y[1:3] *= x[0]
        y[2] = y[2] + y[0]
        v = y[::2]
        v += x[0] ** 3
        return (y * y * y).sum()

    def apart(x: fg.Tensor) -> fg.Tensor:
        zero, one, two = x[1] * x[2], x[1] * x[1] * x[0], x[2] * x[2] * x[0]
        two = two + zero
        y = fg.stack([zero + x[0] ** 3, one, two + x[0] ** 3, x[3] * x[3]])
        return (y * y * y).sum()

    point = np.array([0.5, 1.5, -0.7, 1.1])
    np.testing.assert_allclose(fg.hessian(written)(point), fg.hessian(apart)(point), rtol=1e-12)
    assert fg.autograd.gradcheck(written, (fg.tensor(point, requires_grad=True),))


KEPT: dict[str, Callable[[fg.Tensor, fg.Tensor], Any]] = {
    "hook on the base": lambda base, view: base.register_hook(lambda g: (base, None)[1]),
    "hook on the view": lambda base, view: view.register_hook(lambda g: (view, None)[1]),
    "the base in a hook on the view": lambda base, view: view.register_hook(
        lambda g: (base, None)[1]
    ),
    "metadata": lambda base, view: base.grad_fn.metadata.update(base=base),
    "retained": lambda base, view: (base.retain_grad(), view.retain_grad()),
}


@pytest.mark.parametrize("keep", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("through_view", [False, True], ids=["base", "view"])
def test_what_holds_its_own_tensor_is_freed(keep: Any, through_view: bool) -> None:
    # The fixture of every test counts the nodes after a collection.
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base[:1]
    target = view if through_view else base
    target *= 3
    keep(base, view)
    (view.sum() + base.sum()).backward()
