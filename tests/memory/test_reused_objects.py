"""Objects of tensors that take the memory of others before them: nothing of those is left."""

import gc
import sys
import weakref

import numpy as np

import ferrograd as fg


class Named(fg.Tensor):
    """A subclass, whose objects have attributes."""


def used() -> None:
    """Leaves memory of dropped tensors behind."""
    tensors = [fg.tensor([float(i)]) + 1.0 for i in range(100)]
    del tensors


def test_reused_objects_hold_what_they_were_made_of():
    used()
    kept = [fg.tensor([float(i)]) * 2.0 for i in range(300)]
    for i, tensor in enumerate(kept):
        if i % 3:
            kept[i] = tensor + 1.0
    values = [2.0 * i + bool(i % 3) for i in range(300)]
    np.testing.assert_array_equal([tensor.item() for tensor in kept], values)


def test_a_weak_reference_does_not_see_the_next_tensor():
    a = fg.tensor([1.0])
    for _ in range(200):
        before = a + 1.0
        ref = weakref.ref(before)
        del before
        after = a + 2.0
        assert ref() is None
        assert weakref.getweakrefcount(after) == 0
        assert weakref.ref(after)() is after


def test_the_collector_finds_cycles_through_reused_objects():
    leaf = fg.tensor([1.0], requires_grad=True)
    gc.collect()
    for _ in range(5):
        used()
        tensor = leaf * 2.0
        assert gc.is_tracked(tensor)
        tensor.register_hook(lambda grad, tensor=tensor: grad)
        ref = weakref.ref(tensor)
        del tensor
        gc.collect()
        assert ref() is None


def test_subclasses_keep_memory_of_their_own():
    made = [fg.tensor([1.0]) + 1.0 for _ in range(50)]
    del made
    for i in range(200):
        mine = Named([float(i)])
        mine.label = f"number {i}"
        plain = mine + 1.0
        assert mine.label == f"number {i}"
        assert type(mine) is Named
        assert plain.item() == i + 1.0
        del mine, plain


def test_the_class_is_counted_as_often_as_there_are_objects():
    a = fg.tensor([1.0])
    used()
    gc.collect()
    before = sys.getrefcount(fg.Tensor)
    for _ in range(1000):
        a + 1.0
    assert abs(sys.getrefcount(fg.Tensor) - before) < 10


def test_objects_are_made_and_dropped_while_the_collector_runs():
    a = fg.tensor([1.0], requires_grad=True)
    old = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(200):
            b = [a * 2.0, [a + 1.0]]
            b[1].append(b)
            del b
    finally:
        gc.set_threshold(*old)
    gc.collect()
    assert (a * 3.0).item() == 3.0


def test_the_last_view_ends_its_base():
    """What its end calls may make tensors, in the memory of the view that has just gone."""
    leaf = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made: list[fg.Tensor] = []
    for recorded in (False, True):
        used()
        base = leaf * 2.0 if recorded else fg.tensor([1.0, 2.0, 3.0])
        references = sys.getrefcount(base)
        ref = weakref.ref(base, lambda _: made.append(fg.tensor([4.0]) + 1.0))
        first, second = base[1:], base[0, ...]
        assert sys.getrefcount(base) == references + 2
        total = first.sum() + second
        del first
        assert sys.getrefcount(base) == references + 1
        del base
        assert ref() is not None
        count = len(made)
        del second
        assert ref() is None
        assert [tensor.item() for tensor in made] == [5.0] * (count + 1)
        if recorded:
            total.backward()
            np.testing.assert_array_equal(leaf.grad, [2.0, 2.0, 2.0])
