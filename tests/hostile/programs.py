"""Random programs for two libraries with PyTorch's names: operations, views, changes, hooks.

Invariant: a program depends on its seed only; a step that the other library refuses is left out.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np


def numbers(x: Any) -> np.ndarray:
    """The values of a tensor of either library."""
    return np.array(x.detach().numpy())


class Side:
    """One library and the tensors that a program has made with it."""

    def __init__(self, lib: Any, tensor: Callable[..., Any], leaves: list[np.ndarray]) -> None:
        self.lib, self.tensor = lib, tensor
        self.leaves = [tensor(x, requires_grad=True) for x in leaves]
        self.values: list[Any] = [leaf * 1.0 for leaf in self.leaves]
        self.retained: list[Any] = []
        self.seen: list[np.ndarray] = []


class Program:
    """The same random steps on two sides; the first decides what is allowed."""

    def __init__(self, seed: int, sides: list[Side]) -> None:
        self.rng = Random(seed)
        self.sides = sides
        self.text: list[str] = []
        #: Values with hooks. PyTorch gives `grad` their gradients before the hooks or after them,
        #: as something below is wanted or not; here it is always after them.
        self.hooked: set[int] = set()
        #: Of a value that was made as a view, what it is a view of.
        self.view_of: dict[int, int] = {}

    def shape(self, k: int) -> tuple[int, ...]:
        """The shape of a value."""
        return tuple(self.sides[0].values[k].shape)

    def pick(self, test: Callable[[tuple[int, ...]], bool] = lambda _: True) -> int | None:
        """A value whose shape passes."""
        fitting = [k for k in range(len(self.sides[0].values)) if test(self.shape(k))]
        return self.rng.choice(fitting) if fitting else None

    def memory(self, k: int) -> np.ndarray:
        """The memory of a value, on the first side."""
        shared: np.ndarray = self.sides[0].values[k].detach().numpy()
        return shared

    def through_hooked_view(self, k: int) -> bool:
        """Whether a change of this value goes through a view that has a hook."""
        while k in self.view_of:
            if k in self.hooked:
                return True
            k = self.view_of[k]
        return False

    def decided(self, test: Callable[[list[np.ndarray]], Any]) -> bool:
        """Whether a comparison has one answer on both sides: one that hangs on rounding has not."""
        answers = [np.asarray(test([numbers(x) for x in side.values])) for side in self.sides]
        return np.array_equal(*answers)

    def both(self, text: str, act: Callable[[Side], Any]) -> None:
        """Does a step on both sides; what it returns becomes a new value."""
        self.text.append(text)
        try:
            made = [act(self.sides[0])]
        except RuntimeError as error:
            self.text.append(f"    refused: {str(error)[:60]}")
            return
        made.append(act(self.sides[1]))
        if made[0] is not None:
            for side, value in zip(self.sides, made, strict=True):
                side.values.append(value)


def unary(p: Program) -> None:
    """A smooth function of a value."""
    k = p.pick()
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "sin": lambda lib, x: lib.sin(x),
        "tanh": lambda lib, x: lib.tanh(x),
        "sigmoid": lambda lib, x: lib.sigmoid(x),
        "exp of -x²": lambda lib, x: lib.exp(-x * x),
        "relu": lambda lib, x: lib.relu(x),
        "square": lambda lib, x: lib.square(x),
        "log of 1 + x²": lambda lib, x: lib.log(1.0 + x * x),
        "sqrt of 1 + x²": lambda lib, x: lib.sqrt(1.0 + x * x),
        "clamp": lambda lib, x: lib.clamp(x, -0.5, 0.7),
        "clone": lambda lib, x: x.clone(),
        "detach": lambda lib, x: x.detach(),
        "abs": lambda lib, x: lib.abs(x),
        "cumsum": lambda lib, x: lib.cumsum(x.reshape(-1), 0),
        "softmax": lambda lib, x: lib.softmax(x.reshape(-1), 0),
        "logsumexp": lambda lib, x: lib.logsumexp(x.reshape(-1), 0),
        "sum": lambda lib, x: x.sum(),
        "mean": lambda lib, x: x.mean(),
        "prod": lambda lib, x: lib.prod(lib.tanh(x)),
    }
    kinks = {"relu": (0.0,), "abs": (0.0,), "clamp": (-0.5, 0.7)}
    name = p.rng.choice(sorted(functions))
    if p.decided(lambda values: [np.sign(values[k] - kink) for kink in kinks.get(name, ())]):
        p.both(f"{name}({k})", lambda s: functions[name](s.lib, s.values[k]))


def binary(p: Program) -> None:
    """Arithmetic of two values that broadcast."""
    k = p.pick()
    m = p.pick(lambda shape: broadcasts(shape, p.shape(k)))
    assert k is not None
    assert m is not None
    functions: dict[str, Callable[[Any, Any, Any], Any]] = {
        "add": lambda lib, x, y: x + y,
        "subtract": lambda lib, x, y: x - 0.5 * y,
        "multiply": lambda lib, x, y: x * y,
        "divide": lambda lib, x, y: x / (2.0 + y * y),
        "maximum": lambda lib, x, y: lib.maximum(x, y),
        "where": lambda lib, x, y: lib.where(x > 0.1, x, y),
        "hypot": lambda lib, x, y: lib.hypot(x, y + 3.0),
    }
    kinks: dict[str, Callable[[list[np.ndarray]], Any]] = {
        "maximum": lambda values: np.sign(values[k] - values[m]),
        "where": lambda values: np.sign(values[k] - 0.1),
    }
    name = p.rng.choice(sorted(functions))
    if p.decided(kinks.get(name, lambda _: ())):
        p.both(f"{name}({k}, {m})", lambda s: functions[name](s.lib, s.values[k], s.values[m]))


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast."""
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def product(p: Program) -> None:
    """A matrix product."""
    k = p.pick(lambda shape: len(shape) == 2)
    m = None if k is None else p.pick(lambda s: len(s) == 2 and s[0] == p.shape(k)[1])
    if m is not None:
        p.both(f"matmul({k}, {m})", lambda s: s.values[k] @ s.values[m])


def view(p: Program) -> None:
    """A view of a value."""
    k = p.pick(lambda shape: len(shape) > 0 and 0 not in shape)
    if k is None:
        return
    shape = p.shape(k)
    at = p.rng.randrange(shape[0])
    # Which strides a result has, and so what `reshape` copies, is a library's own affair.
    straight = all(side.values[k].is_contiguous() for side in p.sides)
    views: dict[str, Callable[[Any], Any]] = {
        "row": lambda x: x[at],
        "from": lambda x: x[at:],
        "every second": lambda x: x[::2],
        "flat": lambda x: x.reshape(-1) if straight else x.reshape(-1).clone(),
        "last": lambda x: x[..., -1],
        "new axis": lambda x: x[None],
        "transposed": lambda x: x.swapaxes(0, len(shape) - 1),
        "taken": lambda x: x[[at, 0]],
        "expanded": lambda x: x.expand(2, *shape),
    }
    name = p.rng.choice(sorted(views))
    p.view_of[len(p.sides[0].values)] = k
    p.both(f"{name}({k})", lambda s: views[name](s.values[k]))


def change(p: Program) -> None:
    """A value changed in place, by a number or another value, whole or in part."""
    k = p.pick(lambda shape: 0 not in shape)
    assert k is not None
    shape, theirs = p.shape(k), p.sides[0].values[k]
    if any(n > 1 and s == 0 for n, s in zip(shape, theirs.stride(), strict=True)):
        # A change of an expanded tensor is refused here, always.
        return
    if not theirs.requires_grad and any(
        np.shares_memory(p.memory(k), p.memory(view)) for view in p.hooked & p.view_of.keys()
    ):
        # A change that is not recorded takes no view out of the graph; PyTorch forgets its hooks.
        return
    if p.through_hooked_view(k):
        # A hook on a view from before a change through it: PyTorch forgets it.
        return
    m = p.pick(
        lambda other: (
            broadcasts(other, shape)
            and len(other) <= len(shape)
            and other in {shape, (), shape[1:], (1,)}
        )
    )
    if m is not None and np.shares_memory(p.memory(k), p.memory(m)):
        # PyTorch reads what it has already written.
        m = None
    value = p.rng.choice((0.5, -1.5, 2.0))
    at = p.rng.randrange(shape[0]) if shape else 0
    changes: dict[str, Callable[[Any, Any], Any]] = {
        "mul_ number": lambda x, y: x.mul_(value),
        "add_ number": lambda x, y: x.add_(value),
        "fill_": lambda x, y: x.fill_(value),
        "zero_": lambda x, y: x.zero_(),
        "sin_": lambda x, y: x.sin_(),
        "tanh_": lambda x, y: x.tanh_(),
    }
    if m is not None:
        changes |= {
            "mul_": lambda x, y: x.mul_(y),
            "add_": lambda x, y: x.add_(y),
            "copy_": lambda x, y: x.copy_(y),
            "sub_": lambda x, y: x.sub_(y),
        }
        if shape and shape[0] > 1 and p.shape(m) == shape[1:]:
            changes["row ="] = lambda x, y: x.__setitem__(at, y)
    if shape and shape[0] > 1:
        # An assignment of all elements: here, what was there before gets None instead of zeros.
        changes["row = number"] = lambda x, y: x.__setitem__(at, value)
        changes["slice *="] = lambda x, y: x[at:].mul_(value)
    name = p.rng.choice(sorted(changes))

    def act(s: Side) -> None:
        changes[name](s.values[k], None if m is None else s.values[m])

    p.both(f"{name}({k}, {m})", act)


def island(p: Program) -> None:
    """Values computed without recording."""
    k = p.pick()

    def act(s: Side) -> Any:
        with s.lib.no_grad():
            return s.lib.sin(s.values[k]) * 2.0

    p.both(f"no_grad sin({k})", act)


def scale(p: Program) -> None:
    """A hook that changes a gradient, or only looks at it."""
    k = p.pick()
    factor = p.rng.choice((None, 2.0, -0.5))

    def act(s: Side) -> None:
        x = s.values[k]
        # Looking at the node first: PyTorch crashes where a change of the base has made it stale.
        if x.requires_grad and (x.is_leaf or x.grad_fn is not None):
            x.register_hook(lambda g: None if factor is None else g * factor)

    p.both(f"hook({k}, {factor})", act)
    p.hooked.add(k)


def retain(p: Program) -> None:
    """The gradient of an intermediate value, kept."""
    k = p.pick()

    def act(s: Side) -> None:
        x = s.values[k]
        if x.requires_grad and not x.is_leaf and x.grad_fn is not None:
            x.retain_grad()
            s.retained.append(x)

    p.both(f"retain_grad({k})", act)


def joined(p: Program) -> None:
    """Values put together."""
    k = p.pick(lambda shape: len(shape) > 0)
    m = None if k is None else p.pick(lambda s: len(s) > 0 and s[1:] == p.shape(k)[1:])
    if m is not None:
        p.both(f"cat({k}, {m})", lambda s: s.lib.cat([s.values[k], s.values[m]], 0))


STEPS = (
    *[unary] * 4,
    *[binary] * 5,
    product,
    *[view] * 3,
    *[change] * 3,
    island,
    scale,
    retain,
    joined,
)


def run(seed: int, sides: Callable[[list[np.ndarray]], list[Side]], length: int = 14) -> Program:
    """Makes a program, runs it on both sides, and compares values and gradients."""
    rng = np.random.default_rng(seed)
    shapes = [(3,), (2, 3), (3, 3), ()]
    leaves = [np.asarray(rng.normal(size=shape)) for shape in shapes]
    p = Program(seed, sides(leaves))
    for _ in range(length):
        p.rng.choice(STEPS)(p)
        if np.prod(p.shape(-1)) > 500 or not np.isfinite(numbers(p.sides[0].values[-1])).all():
            break
    for k, (one, other) in enumerate(zip(p.sides[0].values, p.sides[1].values, strict=True)):
        same(p, f"value {k}", numbers(other), numbers(one))
        assert one.requires_grad == other.requires_grad, told(p, f"requires_grad of {k}")
    differentiate(p, rng)
    return p


def differentiate(p: Program, rng: np.random.Generator) -> None:
    """Pulls random weights of the last values back, by `backward` or by `grad` of some values."""
    last = range(max(0, len(p.sides[0].values) - 4), len(p.sides[0].values))
    weights = {k: rng.normal(size=p.shape(k)) for k in last}
    wanted = sorted(rng.choice(len(p.sides[0].values), size=3, replace=False).tolist())
    by_grad = rng.integers(2)
    found: list[list[Any]] = []
    for s in p.sides:
        parts = [
            (s.values[k] * s.tensor(weights[k])).sum() for k in last if s.values[k].requires_grad
        ]
        if not parts:
            return
        loss = sum(parts[1:], parts[0])
        targets = [
            *s.leaves,
            *(s.values[k] for k in wanted if s.values[k].requires_grad and k not in p.hooked),
        ]
        # PyTorch's view retains the gradient of its newest value once it is asked for its node.
        assert all(x.grad_fn is not None for x in s.retained)
        try:
            if by_grad:
                found.append(list(s.lib.autograd.grad(loss, targets, allow_unused=True)))
            else:
                loss.backward()
                found.append([x.grad for x in (*s.leaves, *s.retained)])
        except RuntimeError as error:
            if s is p.sides[0]:
                return
            raise AssertionError(told(p, f"raises {error}")) from error
    for i, (theirs, ours) in enumerate(zip(*found, strict=True)):
        how = f"{'grad' if by_grad else 'backward'}: gradient {i} of {wanted}"
        assert (theirs is None) == (ours is None), told(p, f"{how} is None: {theirs}, {ours}")
        if theirs is not None:
            same(p, how, numbers(ours), numbers(theirs))


def same(p: Program, what: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Asserts equal numbers."""
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    ok = ours.shape == theirs.shape and np.allclose(ours, theirs, 1e-9, 1e-10 * scale)
    assert ok, told(p, f"{what} is {ours.tolist()} and not {theirs.tolist()}")


def told(p: Program, what: str) -> str:
    """A fault with the program that shows it."""
    leaves = len(p.sides[0].leaves)
    return f"{what}; values 0 to {leaves - 1} are leaves * 1.0, then\n" + "\n".join(p.text)
