"""Writes through arrays that share memory with what an operation takes or gives: no gradient moves.

Run it: `python -m hostile.aliases`. Invariant: a write is refused, or the derivative is that of the
values that the forward saw.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ferrograd as fg

TESTS = Path(__file__).resolve().parents[1]

Exported = Callable[[fg.Tensor], Any]


def _memory(array: Any) -> Any:
    """An array that shares memory with a tensor, if it can be written to."""
    array = np.asarray(array)
    return array if array.flags.writeable else None


def _quiet(export: Exported) -> Exported:
    """`export`, or None where it refuses."""

    def attempt(t: fg.Tensor) -> Any:
        try:
            return _memory(export(t))
        except (fg.errors.FerrogradError, ValueError, BufferError, TypeError):
            return None

    return attempt


#: From a tensor to an array of its memory.
EXPORTS: dict[str, Exported] = {
    "asarray": _quiet(lambda t: np.asarray(t.detach())),
    "data": _quiet(lambda t: t.data.numpy()),
    "numpy": _quiet(lambda t: t.detach().numpy()),
    "writable": _quiet(lambda t: t.detach().numpy(writable=True)),
    "dlpack": _quiet(lambda t: np.from_dlpack(t.detach())),
    "view": _quiet(lambda t: np.asarray(t.detach()[...])),
    "reshaped": _quiet(lambda t: np.asarray(t.detach().reshape(-1))),
    "twice": _quiet(lambda t: fg.asarray(np.asarray(t.detach())).numpy()),
    "memoryview": _quiet(lambda t: np.asarray(memoryview(np.asarray(t.detach())))),
}


def _shared(make: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], tuple[Any, Any]]:
    def pair(values: np.ndarray) -> tuple[Any, Any]:
        array = values.copy()
        return make(array), array

    return pair


#: From values to a tensor and an array of its memory, before anything was computed.
IMPORTS: dict[str, Callable[[np.ndarray], tuple[Any, Any]]] = {
    "from_numpy": _shared(fg.from_numpy),
    "fg.asarray": _shared(fg.asarray),
    "as_tensor": _shared(fg.as_tensor),
    "from_dlpack": _shared(fg.from_dlpack),
    "part": lambda values: (lambda a: (fg.from_numpy(a)[1], a[1]))(np.stack([values, values])),
    "reversed": lambda values: (lambda a: (fg.from_numpy(a[::-1]), a[::-1]))(values[::-1].copy()),
}


class Keeper(NamedTuple):
    """Something that keeps arguments or results: a function of arrays."""

    name: str
    call: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    order: int = 2


def _outputs(result: Any) -> list[Any]:
    if isinstance(result, fg.Tensor):
        return [result] if result.requires_grad else []
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list):
        return [t for part in result for t in _outputs(part)]
    return []


def _write(array: Any) -> None:
    with np.errstate(all="ignore"):
        array[...] = 0 if array.dtype.kind in "iub" else array * 3 + 7


class Plan(NamedTuple):
    """Where an array comes from, whose memory it shares, and when it is written to."""

    role: str
    operand: int
    route: str
    when: str
    order: int

    def __str__(self) -> str:
        return f"{self.role} {self.operand} by {self.route}, {self.when}, order {self.order}"


class NothingWrittenError(Exception):
    """No array could be written to."""


#: What a call raises that takes no tensor in this place, or has no such derivative there.
OTHERWISE = (fg.errors.FerrogradError, ValueError, TypeError, RuntimeError, IndexError)


def derivatives(keeper: Keeper, plan: Plan, write: bool) -> list[np.ndarray]:
    """The derivatives of one call, in which an array is written to when the plan says so."""
    fg.manual_seed(3)
    np.random.seed(3)
    rng = np.random.default_rng(5)
    leaves, operands, alias = [], [], None
    for k, values in enumerate(keeper.arrays):
        own, role = plan.operand == k, plan.role
        floats = values.dtype.kind in "fc"
        if own and plan.route in IMPORTS and role in ("leaf", "constant"):
            made, alias = IMPORTS[plan.route](values)
        else:
            made = fg.tensor(values)
        if own and role == "array":
            made = alias = values.copy()
        if floats and not (own and role in ("constant", "array")):
            leaf = made.requires_grad_() if own else fg.tensor(values, requires_grad=True)
            made = leaf * 1.0 if own and role == "intermediate" else leaf
            leaves.append(leaf)
        elif not floats and not own:
            made = values
        if own and plan.route in EXPORTS and plan.when != "after" and role != "result":
            alias = EXPORTS[plan.route](made)
        if own:
            target = made
        operands.append(made)
    with np.errstate(all="ignore"):
        result = keeper.call(*operands)
    outs = _outputs(result)
    if not outs:
        raise NothingWrittenError
    if plan.role == "result":
        alias = EXPORTS[plan.route](outs[plan.operand % len(outs)])
    elif plan.when == "after" and plan.route in EXPORTS:
        alias = EXPORTS[plan.route](target)
    if alias is None:
        raise NothingWrittenError
    if write and plan.when != "between":
        _write(alias)
    weights = [rng.standard_normal(o.shape).astype(o.dtype) for o in outs]
    first = fg.autograd.grad(outs, leaves, weights, create_graph=plan.order > 1, allow_unused=True)
    found = [np.asarray(g.detach()).copy() for g in first if g is not None]
    if plan.order == 1:
        return found
    seconds = [g for g in first if g is not None and g.requires_grad]
    if not seconds:
        raise NothingWrittenError
    if write and plan.when == "between":
        _write(alias)
    more = [rng.standard_normal(g.shape).astype(g.dtype) for g in seconds]
    again = fg.autograd.grad(seconds, leaves, more, allow_unused=True)
    return found + [np.asarray(g).copy() for g in again if g is not None]


def plans(keeper: Keeper) -> Iterator[Plan]:
    """Every plan of a keeper."""
    many = len(keeper.arrays)
    floats = [k for k, a in enumerate(keeper.arrays) if a.dtype.kind in "fc"]
    for order in range(1, keeper.order + 1):
        times = ["before", "after"] + ["between"] * (order > 1)
        for k, role in itertools.product(range(many), ("leaf", "constant", "intermediate")):
            if (k not in floats and role != "constant") or (role == "constant" and floats == [k]):
                continue
            for when, route in itertools.product(times, (*IMPORTS, *EXPORTS)):
                if when == "after" and route in IMPORTS:
                    continue
                if role == "intermediate" and route in IMPORTS:
                    continue
                if route in ("part", "reversed") and keeper.arrays[k].ndim == 0:
                    continue
                yield Plan(role, k, route, when, order)
            if role == "constant":
                for when in set(times) - {"after"}:
                    yield Plan("array", k, "itself", when, order)
        for route, when in itertools.product(EXPORTS, ["after"] + ["between"] * (order > 1)):
            yield Plan("result", 0, route, when, order)


class Count(NamedTuple):
    """What came of the plans."""

    held: int
    refused: int
    wrong: list[str]


#: Derivatives without a write, or None where the call has none, by what they depend on.
Known = dict[tuple[Any, ...], list[np.ndarray] | None]


def expected(keeper: Keeper, plan: Plan, known: Known) -> list[np.ndarray] | None:
    """The derivatives without the write; None where the call raises."""
    where = plan.route if plan.route in IMPORTS else ""
    key = (plan.role, plan.operand, plan.order, where)
    if key not in known:
        try:
            known[key] = derivatives(keeper, plan, write=False)
        except (NothingWrittenError, *OTHERWISE):
            known[key] = None
    return known[key]


def held(keeper: Keeper, plan: Plan, known: Known) -> bool | None:
    """Whether the derivatives are those without the write; None where there is nothing to write."""
    try:
        found = derivatives(keeper, plan, write=True)
    except (NothingWrittenError, fg.errors.InPlaceError):
        return None
    except OTHERWISE:
        if expected(keeper, plan, known) is None:
            return None
        raise
    wanted = expected(keeper, plan, known)
    return (
        wanted is not None
        and len(found) == len(wanted)
        and all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, wanted, strict=True))
    )


def sweep(keepers: list[Keeper], every: int = 1, start: int = 0) -> Count:
    """Every plan (or one of `every`) of each keeper."""
    count, refused, wrong = 0, 0, []
    number = itertools.count(start)
    for keeper in keepers:
        known: Known = {}
        for plan in plans(keeper):
            if next(number) % every:
                continue
            try:
                answer = held(keeper, plan, known)
            except Exception as error:
                wrong.append(f"{keeper.name}: {plan}: {type(error).__name__}: {error}")
                continue
            count += answer is True
            refused += answer is None
            if answer is False:
                wrong.append(f"{keeper.name}: {plan}")
    return Count(count, refused, wrong)


def operations() -> list[Keeper]:
    """The calls of the tables: registered operations, NumPy's compositions, SciPy's functions."""
    import numpy_cases
    import scipy_cases
    from op_support import ROWS, function as plain

    found = []
    for case in ROWS:
        for call in case.calls:
            arrays = tuple(call.arrays())
            if arrays and case.order:
                function = plain(case)
                found.append(
                    Keeper(
                        case.key,
                        lambda *values, call=call, function=function: call.apply(
                            function, list(values)
                        ),
                        arrays,
                    )
                )
    for row in numpy_cases.ROWS:
        if row.derivative:
            found.append(Keeper(f"np.{row.path}", row.call, tuple(map(np.asarray, row.arrays))))
    for row in scipy_cases.ROWS:
        arrays = tuple(map(np.asarray, row.arrays))
        found.append(Keeper(f"scipy {row.name}", row.ours, arrays, row.order))
    return found


class Cube(fg.Function):
    """Keeps its argument and its result."""

    @staticmethod
    def forward(ctx: Any, x: Any, c: Any) -> Any:
        y = x**3 * c
        ctx.save_for_backward(x, c, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, c, y = ctx.saved_tensors
        return g * 3 * y / x, g * y / c


class Attributes(fg.Function):
    """Keeps its result as an attribute and its argument under a key."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_tensor("x", x)
        ctx.y = fg.exp(x)
        return ctx.y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.y + 0 * ctx.get_saved_tensor("x")


class Poly(fg.CustomFunction):
    """Document 000's face."""

    def forward(self, inputs: Any, ctx: Any) -> Any:
        ctx.save_for_backward(*inputs)
        return [inputs[0] ** 2 * inputs[1]]

    def backward(self, grad_outputs: Any, ctx: Any) -> Any:
        x, c = ctx.saved_tensors
        return [2 * x * c * grad_outputs[0], x * x * grad_outputs[0]]


@fg.extend.primitive
def product(x: Any, c: Any, scale: Any = 1.0) -> Any:
    """A function with rules."""
    return x * x * c * scale


fg.extend.defvjp(
    product,
    lambda ans, x, c, scale=1.0: lambda g: 2 * x * c * g * scale,
    lambda ans, x, c, scale=1.0: lambda g: x * x * g * scale,
)


def _hooked(pack: Callable[..., Any], unpack: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, c: Any) -> Any:
        with fg.autograd.graph.saved_tensors_hooks(pack, unpack):
            return Cube.apply(x * c, c)

    return call


def _cubic(x: Any, c: Any) -> Any:
    return fg.exp(x) * c * x


def _step(carry: Any, _: Any) -> Any:
    x, c = carry
    return (fg.sin(x) * c, c), x


def _layer(make: Callable[[], Any]) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        fg.manual_seed(0)
        layer = make()
        return layer(x)

    return call


def keepers() -> list[Keeper]:
    """What keeps values otherwise than a registered operation does."""
    rng = np.random.default_rng(1)
    v, c, m = rng.uniform(0.5, 1.5, 4), rng.uniform(1, 2, 4), rng.uniform(0.5, 1.5, (3, 4))
    s = rng.uniform(0.5, 1.5, (2, 3, 4))
    steps = np.linspace(0, 1, 3)
    two: dict[str, Callable[..., Any]] = {
        "Function": Cube.apply,
        "CustomFunction": Poly().apply,
        "primitive": product,
        "checkpoint": fg.checkpoint(_cubic),
        "checkpoint of a list": lambda x, c: fg.autograd.checkpoint(
            lambda parts: _cubic(parts[0], parts[1]["c"]), [x, {"c": c}]
        ),
        "checkpoint by name": lambda x, c: fg.autograd.checkpoint(_cubic, x, c=c),
        "checkpoint of a Function": fg.checkpoint(Cube.apply),
        "checkpoint of a primitive": fg.checkpoint(product),
        "nested checkpoint": fg.checkpoint(lambda x, c: fg.checkpoint(_cubic)(x * c, c)),
        "hooks that copy": _hooked(lambda t: t.numpy().copy(), fg.tensor),
        "hooks that keep": _hooked(lambda t: t, lambda t: t),
        "hooks that detach": _hooked(lambda t: t.detach(), lambda t: t),
        "save_on_cpu": lambda x, c: _on_cpu(x, c),
        "compiled": fg.compile(_cubic),
        "compiled Function": fg.compile(Cube.apply),
        "compiled primitive": fg.compile(product),
        "vjp": lambda x, c: fg.vjp(_cubic, x, c)[1](fg.ones(4))[0],
        "grad": lambda x, c: fg.grad(lambda x, c: _cubic(x, c).sum())(x, c),
        "jacobian": lambda x, c: fg.jacobian(_cubic)(x, c),
        "scan": lambda x, c: fg.scan(_step, (x, c), length=2)[0][0],
        "cond": lambda x, c: fg.cond(True, _cubic, lambda x, c: x, x, c),
        "odeint": lambda x, c: fg.scipy.integrate.odeint(
            lambda y, t, c: -c * y * y, x, steps, (c,)
        ),
        "solve_ivp": lambda x, c: (
            fg.scipy.integrate.solve_ivp(
                lambda t, y, c: -c * y * y, (0.0, 0.3), x, args=(c,), checkpoint=True
            ).y
        ),
    }
    one: dict[str, Callable[..., Any]] = {
        "attributes": Attributes.apply,
        "i0": lambda x: fg.numpy.i0(x),
        "StableSoftmax": fg.functions.StableSoftmax(),
        "FocalLoss": lambda x: fg.functions.FocalLoss()(x, fg.tensor([[0.0, 1, 0, 1]] * 3)),
        "ClampedMSELoss": lambda x: fg.functions.ClampedMSELoss(0.5)(x, fg.zeros(3, 4)),
        "Linear": _layer(lambda: fg.nn.Linear(4, 2)),
        "LayerNorm": _layer(lambda: fg.nn.LayerNorm(4)),
        "BatchNorm": _layer(lambda: fg.nn.BatchNorm1d(4)),
        "Dropout": _layer(lambda: fg.nn.Dropout(0.5)),
    }
    deep: dict[str, Callable[..., Any]] = {
        "LSTM": _layer(lambda: fg.nn.LSTM(4, 3)),
        "GRU": _layer(lambda: fg.nn.GRU(4, 3)),
        "RNN": _layer(lambda: fg.nn.RNN(4, 3)),
        "TransformerEncoderLayer": _layer(
            lambda: fg.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
        ),
    }
    first_only = {"vjp", "compiled Function", "compiled primitive"}
    found = [Keeper(name, f, (v, c), 1 if name in first_only else 2) for name, f in two.items()]
    found += [Keeper(name, f, (m,)) for name, f in one.items()]
    found += [Keeper(name, f, (s,)) for name, f in deep.items()]
    f = fg.functors
    pairs: dict[str, Callable[..., Any]] = {
        "add": lambda x, y: f.add(2.0, x, 3.0, y),
        "multiply": lambda x, y: f.multiply(2.0, x, y),
        "mse_loss": lambda x, y: f.mse_loss(x - y, 0.5),
    }
    found += [Keeper(f"functors.{name}", call, (m, m + 1)) for name, call in pairs.items()]
    found.append(Keeper("functors.gemm", f.gemm, (m, m.T.copy())))
    return found


def _on_cpu(x: Any, c: Any) -> Any:
    with fg.autograd.graph.save_on_cpu():
        return Cube.apply(x * c, c)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="one of so many plans")
    given = parser.parse_args()
    sys.path[:0] = [str(TESTS / "cases"), str(TESTS / "support")]
    start = time.monotonic()
    found = sweep([*keepers(), *operations()], given.every)
    print(*found.wrong, sep="\n")
    print(
        f"{found.held} derivatives held, {found.refused} plans had nothing to write,"
        f" {len(found.wrong)} faults, {time.monotonic() - start:.0f} s"
    )
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
