"""Random programs on tensors, held against a naive engine after every step.

Values and gradients agree, a refusal has its reason, and at the end every node and byte is back.
The engine is `naive_engine.py`. A program that fails is shrunk: the report is the shortest one that
still does.
"""

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ferrograd as fg
from naive_engine import UNARY, Engine, Value

SHAPES = ((2, 3), (3,))
#: The elements of all leaves together.
COLUMNS = sum(int(np.prod(shape)) for shape in SHAPES)
#: So many tensors live at once; then the oldest that is no leaf goes.
MOST = 9

VIEWS: dict[str, Callable[[Any], Any]] = {
    "first": lambda t: t[0, ...],
    "last": lambda t: t[..., -1],
    "slice": lambda t: t[1:],
    "stride": lambda t: t[..., ::2],
    "reversed": lambda t: t[::-1],
    "transposed": lambda t: t.T,
    "inserted": lambda t: t[None],
    "all": lambda t: t[...],
}
CHANGES = ("add_", "mul_", "copy_", "setitem", "sin_", "zero_")

picks = st.integers(0, 31)
mostly = st.sampled_from([True, True, True, False])
two_names = st.tuples(st.sampled_from(sorted(UNARY)), st.sampled_from(sorted(UNARY)))


def moderate(v: Value) -> bool:
    """Whether no product of a few such values, nor a derivative of it, overflows."""
    return bool((abs(v.value) < 1e12).all())


class Machine(RuleBasedStateMachine):
    """Pairs of a tensor and its naive value."""

    #: Whether a program has failed: what its traceback shows lives on, so the counts mean nothing.
    failed = False

    def __init__(self) -> None:
        super().__init__()
        gc.collect()
        self.start = fg.live_nodes(), fg.live_bytes()
        self.threads = fg.get_num_threads()
        self.engine = Engine(COLUMNS)
        self.pairs: list[tuple[fg.Tensor, Value]] = []
        self.places: list[slice] = []
        self.grads: list[np.ndarray | None] = [None for _ in SHAPES]
        self.seed = 0

    @initialize()
    def leaves(self) -> None:
        for shape in SHAPES:
            values = self.numbers(shape)
            value, place = self.engine.leaf(values)
            self.pairs.append((fg.tensor(values, requires_grad=True), value))
            self.places.append(place)

    def numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        self.seed += 1
        return np.random.default_rng(self.seed).uniform(-1, 1, shape)

    def pick(self, i: int) -> tuple[fg.Tensor, Value]:
        return self.pairs[i % len(self.pairs)]

    def fitting(self, i: int, to: Value) -> tuple[fg.Tensor, Value]:
        """A tensor that broadcasts to the shape of `to`: the picked one or its sum."""
        t, v = self.pick(i)
        try:
            fits = np.broadcast_shapes(v.shape, to.shape) == to.shape
        except ValueError:
            fits = False
        return (t, v) if fits else (t.sum(), self.engine.total(v, recording=fg.is_grad_enabled()))

    def keep(self, t: fg.Tensor, v: Value) -> None:
        if not moderate(v):
            return
        self.pairs.append((t, v))
        if len(self.pairs) > MOST:
            del self.pairs[len(SHAPES)]

    @rule(i=picks, name=st.sampled_from(sorted(UNARY)), recording=mostly, apart=mostly)
    def unary(self, i: int, name: str, recording: bool, apart: bool) -> None:
        with fg.set_grad_enabled(recording):
            t, v = self.pick(i)
            if apart:  # What is saved then is no tensor that a later step may change.
                t, v = t.clone(), self.copied(v, recording=recording)
            self.keep(getattr(fg, name)(t), self.engine.unary(name, v, recording=recording))

    @rule(i=picks, names=two_names, recording=mostly, apart=mostly)
    def checkpointed(self, i: int, names: tuple[str, str], recording: bool, apart: bool) -> None:
        """Two operations that the backward runs again."""
        with fg.set_grad_enabled(recording):
            t, v = self.pick(i)
            if apart:
                t, v = t.clone(), self.copied(v, recording=recording)
            first, second = (getattr(fg, name) for name in names)
            found = fg.autograd.checkpoint(lambda t: second(first(t)), t)
            inner = self.engine.unary(names[0], v, recording=recording)
            self.keep(found, self.engine.unary(names[1], inner, recording=recording))

    @rule(i=picks, name=st.sampled_from(sorted(UNARY)), copies=st.booleans())
    def packed(self, i: int, name: str, copies: bool) -> None:
        """An operation whose saved values are packed: as arrays, or as tensors of their own."""
        t, v = self.pick(i)
        pack: Callable[[fg.Tensor], Any] = fg.Tensor.numpy if copies else fg.Tensor.clone
        with fg.autograd.graph.saved_tensors_hooks(lambda t: pack(t.clone()), fg.asarray):
            self.keep(getattr(fg, name)(t), self.engine.unary(name, v))

    def copied(self, v: Value, *, recording: bool) -> Value:
        zero = self.engine.fresh(np.zeros(v.shape))
        return self.engine.add(v, zero, recording=recording)

    @rule(i=picks, j=picks, multiply=st.booleans(), recording=mostly, elsewhere=st.booleans())
    def binary(self, i: int, j: int, multiply: bool, recording: bool, elsewhere: bool) -> None:
        with fg.set_grad_enabled(recording):
            a, u = self.pick(i)
            b, v = self.fitting(j, u)
            if multiply:
                a, u = a.clone(), self.copied(u, recording=recording)
                b, v = b.clone(), self.copied(v, recording=recording)
            found: list[fg.Tensor] = []

            def run() -> None:
                with fg.set_grad_enabled(recording):
                    found.append(a * b if multiply else a + b)

            if elsewhere:
                thread = threading.Thread(target=run)
                thread.start()
                thread.join(60)
            else:
                run()
            make = self.engine.multiply if multiply else self.engine.add
            self.keep(found[0], make(u, v, recording=recording))

    @rule(i=picks, name=st.sampled_from(sorted(VIEWS)), recording=mostly)
    def view(self, i: int, name: str, recording: bool) -> None:
        t, v = self.pick(i)
        if t.ndim == 0 or t.numel() == 0 or t.ndim > 3:
            return
        with fg.set_grad_enabled(recording):
            cells = VIEWS[name](v.cells)
            self.keep(VIEWS[name](t), self.engine.shown(v, cells, recording=recording))

    @rule(i=picks)
    def expanded(self, i: int) -> None:
        t, v = self.pick(i)
        if t.ndim <= 2:
            cells = np.broadcast_to(v.cells, (2, *v.shape))
            self.keep(t.expand(2, *t.shape), self.engine.shown(v, cells))

    @rule(i=picks)
    def detached(self, i: int) -> None:
        t, v = self.pick(i)
        self.keep(t.detach(), self.engine.detached(v))

    @rule(shape=st.sampled_from([(2, 3), (3,), (), (2, 2, 3)]))
    def constant(self, shape: tuple[int, ...]) -> None:
        values = self.numbers(shape)
        self.keep(fg.tensor(values), self.engine.fresh(values))

    @rule(i=picks, j=picks, name=st.sampled_from(CHANGES), recording=mostly)
    def change(self, i: int, j: int, name: str, recording: bool) -> None:
        t, v = self.pick(i)
        with fg.set_grad_enabled(recording):
            source, s = self.fitting(j, v)
            # What the change itself saves may show the memory that it changes.
            source, s = source.clone(), self.copied(s, recording=recording)
            new = self.after_change(name, v, s, recording=recording)
            if not moderate(new):
                return
            before = t.tolist()
            try:
                self.do(name, t, source)
            except fg.errors.InPlaceError:
                refused = True
            else:
                refused = False
            if refused:
                repeated = len(np.unique(v.cells)) < v.cells.size
                leaf = recording and v.memory.shared.leaf
                assert repeated or leaf or (recording and v.poisoned)
                assert t.tolist() == before
                return
            assert not (t.is_leaf and t.requires_grad and recording)
            self.engine.write(v, new, recording=recording)

    def after_change(self, name: str, v: Value, s: Value, *, recording: bool) -> Value:
        engine = self.engine
        v = self.copied(v, recording=recording)
        match name:
            case "add_":
                return engine.add(v, s, recording=recording)
            case "mul_":
                return engine.multiply(v, s, recording=recording)
            case "sin_":
                return engine.unary("sin", v, recording=recording)
            case "zero_":
                return engine.fresh(np.zeros(v.shape))
            case _:
                return s

    @staticmethod
    def do(name: str, t: fg.Tensor, source: fg.Tensor) -> None:
        if name == "setitem":
            t[...] = source
        elif name in ("sin_", "zero_"):
            assert getattr(t, name)() is t
        else:
            assert getattr(t, name)(source) is t

    @precondition(lambda self: len(self.pairs) > len(SHAPES))
    @rule(i=picks)
    def drop(self, i: int) -> None:
        del self.pairs[len(SHAPES) + i % (len(self.pairs) - len(SHAPES))]

    @rule(i=picks)
    def hooked(self, i: int) -> None:
        """A hook that triples the gradient of a new tensor triples its derivatives."""
        t, v = self.pick(i)
        if not t.requires_grad:
            return
        three = self.engine.fresh(np.array(3.0))
        tripled = self.engine.multiply(self.copied(v, recording=True), three)
        t = t * 1.0
        t.register_hook(lambda g: g * 3.0)
        tripled.memory.shared.value[:] = v.value.reshape(-1)
        self.keep(t, tripled)

    @rule(n=st.sampled_from([1, 2]))
    def set_threads(self, n: int) -> None:
        fg.set_num_threads(n)

    def expect(self, root: Value, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = np.tensordot(weights, root.first, axes=weights.ndim)
        return first, np.tensordot(weights, root.second, axes=weights.ndim)

    def stale(self, root: Value) -> bool:
        """Whether something that a history of the family saved was changed since."""
        known, saved = self.engine.known, root.memory.saved
        return any(known[number].version != version for number, version in saved)

    def flat(self, grads: Any) -> np.ndarray:
        shapes = zip(grads, SHAPES, strict=True)
        parts = [np.zeros(s) if g is None else g.detach().numpy() for g, s in shapes]
        return np.concatenate([part.reshape(-1) for part in parts])

    @rule(i=picks, retain=mostly, elsewhere=st.booleans())
    def backward(self, i: int, retain: bool, elsewhere: bool) -> None:
        root, v = self.pick(i)
        if not root.requires_grad:
            assert not v.first.any()
            return
        weights = self.numbers(v.shape)
        found: list[str] = []

        def run() -> None:
            try:
                root.backward(weights, retain_graph=retain)
            except fg.errors.InPlaceError as error:
                found.append(str(error))

        if elsewhere:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join(60)
        else:
            run()
        if found:
            assert self.stale(v), found[0]
        else:
            expected, _ = self.expect(v, weights)
            for k, place in enumerate(self.places):
                part = expected[place].reshape(SHAPES[k])
                old = self.grads[k]
                self.grads[k] = part if old is None else old + part
                grad = self.pairs[k][0].grad
                actual = np.zeros(SHAPES[k]) if grad is None else grad.numpy()
                np.testing.assert_allclose(actual, self.grads[k], 1e-9, 1e-9)
        if not retain or found:
            self.forget(v)

    def forget(self, root: Value) -> None:
        """Drops every tensor whose history shares a node with values that are gone."""
        gone = root.memory.nodes
        kept = [pair for pair in self.pairs[len(SHAPES) :] if not pair[1].memory.nodes & gone]
        self.pairs[len(SHAPES) :] = kept

    @rule(i=picks)
    def second_order(self, i: int) -> None:
        root, v = self.pick(i)
        if not root.requires_grad:
            return
        weights, direction = self.numbers(v.shape), self.numbers((COLUMNS,))
        leaves = [t for t, _ in self.pairs[: len(SHAPES)]]
        options: Any = {"materialize_grads": True}
        try:
            first = fg.autograd.grad(root, leaves, weights, create_graph=True, **options)
            parts = zip(first, self.places, strict=True)
            along = sum((g * direction[p].reshape(g.shape)).sum() for g, p in parts)
            zeros = [fg.zeros(*s) for s in SHAPES]
            second = zeros
            if along.requires_grad:
                second = fg.autograd.grad(along, leaves, retain_graph=True, **options)
        except fg.errors.InPlaceError:
            refused = True
        else:
            refused = False
        if refused:
            assert self.stale(v)
            return
        expected, curved = self.expect(v, weights)
        np.testing.assert_allclose(self.flat(first), expected, 1e-9, 1e-9)
        np.testing.assert_allclose(self.flat(second), curved @ direction, 1e-9, 1e-9)

    @invariant()
    def values_agree(self) -> None:
        for t, v in self.pairs:
            np.testing.assert_allclose(t.detach().numpy(), v.value, 1e-12, 1e-12)

    def teardown(self) -> None:
        self.pairs.clear()
        fg.set_num_threads(self.threads)
        if sys.exc_info()[0] is not None:
            Machine.failed = True
        if not Machine.failed:
            assert (fg.live_nodes(), fg.live_bytes()) == self.start


TestStateMachine = Machine.TestCase
TestStateMachine.settings = settings(
    max_examples=int(__import__("os").environ.get("N", "200")),
    phases=[Phase.generate, Phase.shrink],
    derandomize=bool(__import__("os").environ.get("D")),
    stateful_step_count=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
