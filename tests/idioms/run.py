"""Runs a program on arrays and on tensors, in several ways, and says where they differ.

Invariant: what tensors give is compared with what the same text gives on arrays alone.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

import ferrograd as fg
import ferrograd.numpy as fnp
from idioms.generate import NUMPY, Program
from idioms.oracle import CURVE, SLOPE, VALUE, UnreliableError, curve_of, near, slope_of, value_of

Way = Callable[["Case"], None]
WAYS: dict[str, Way] = {}
#: How often each way is tried, of programs that it takes.
SHARES = {
    "value": 0.5,
    "gradient": 1.0,
    "compiled": 0.3,
    "loop": 0.15,
    "forward": 0.3,
    "second": 0.15,
    "forward_over_reverse": 0.1,
    "compiled_forward": 0.05,
    "node": 0.15,
    "checkpointed": 0.1,
    "compiled_loop": 0.05,
    "plain": 0.1,
    "leaf": 0.1,
}
#: Ways in which buffers hold no tensors: a program may be refused, but not be wrong.
LENIENT = ("plain", "leaf")
#: What makes tensors also where no transform runs.
BUFFERS = ("zeros", "ones", "empty", "full", "eye")
LIKE = ("zeros_like", "ones_like", "empty_like", "full_like")
TENSORS = {name: getattr(fg, name) for name in (*BUFFERS, *LIKE)}
EAGER = SimpleNamespace(**vars(np) | vars(fnp) | TENSORS)


class WrongError(Exception):
    """Tensors gave something else than arrays."""


@dataclass
class Outcome:
    """What became of a program in one way."""

    kind: str  # right, wrong, refused or unreliable
    way: str = ""
    message: str = ""


class Case:
    """A program, as functions of arrays and of tensors, at one point and along one direction."""

    def __init__(self, program: Program, module: Any = fnp) -> None:
        rng = Random(program.seed + 1)
        self.program = program
        self.arguments = program.fresh_arguments()
        self.direction = [
            rng.uniform(-1, 1) if type(x) is float else np.array(uniform(rng, x.shape))
            for x in self.arguments
        ]
        self.argnums = tuple(range(len(self.arguments)))
        self.on_arrays = program.function(NUMPY)
        if not program.writes_argument:
            self.on_arrays = protected(self.on_arrays)
        self.on_tensors = program.function(module)

    def wanted(self, shift: float = 0.0) -> tuple[float, float]:
        """The value on arrays and its derivative along the direction, at arguments moved a little.

        They are found once for all ways, which share the program.
        """
        known, key = self.program.answers, (self.program.text, shift)
        if key not in known:
            at = self.program.fresh_arguments(shift)
            known[key] = answers(self.on_arrays, at, self.direction)
        return known[key]

    def along(self, slopes: Any) -> float:
        """The derivative along the direction, from the gradient."""
        pairs = zip(slopes, self.direction, strict=True)
        return float(sum(np.sum(np.asarray(g) * d) for g, d in pairs))

    def unchanged(self, given: list[Any]) -> None:
        """Raises where a call has changed its arguments."""
        for mine, theirs in zip(self.arguments, given, strict=True):
            if not np.array_equal(mine, theirs):
                raise WrongError(f"an argument became {theirs}, it was {mine}")

    def compare(self, what: str, got: Any, wanted: float, tolerance: float) -> None:
        """Raises where two numbers differ."""
        if not near(float(got), wanted, tolerance):
            raise WrongError(f"{what} {float(got)!r}, it is {wanted!r}")


def answers(
    function: Callable[..., Any], at: list[Any], direction: list[Any]
) -> tuple[float, float]:
    """The value of a function of arrays, and its derivative along a direction."""
    value = value_of(function, at)
    return value, slope_of(function, at, direction, value)


def protected(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of arrays that refuse to be written to."""

    def called(*arguments: Any) -> Any:
        for x in arguments:
            if type(x) is np.ndarray:
                x.flags.writeable = False
        return function(*arguments)

    return called


def uniform(rng: Random, shape: tuple[int, ...]) -> Any:
    """Random numbers of a shape."""
    return np.array([rng.uniform(-1, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)


def way(function: Way) -> Way:
    """Adds a way to the table."""
    WAYS[function.__name__] = function
    return function


@way
def value(case: Case) -> None:
    """Tensors of which nothing requires grad."""
    wanted = value_of(case.on_arrays, case.arguments)
    given = [x if type(x) is float else fg.tensor(x) for x in case.arguments]
    case.compare("the value of tensors is", case.on_tensors(*given), wanted, VALUE)
    case.unchanged(given)


@way
def gradient(case: Case) -> None:
    """`value_and_grad`."""
    wanted, slope = case.wanted()
    given = case.program.fresh_arguments()
    got, slopes = fg.value_and_grad(case.on_tensors, argnums=case.argnums)(*given)
    case.compare("the value is", got, wanted, VALUE)
    case.compare("the derivative is", case.along(slopes), slope, SLOPE)
    case.unchanged(given)


@way
def forward(case: Case) -> None:
    """`jvp`."""
    wanted, slope = case.wanted()
    given = tuple(case.program.fresh_arguments())
    got, change = fg.jvp(case.on_tensors, given, tuple(case.direction))
    case.compare("the value is", got, wanted, VALUE)
    case.compare("the change is", change, slope, SLOPE)
    case.unchanged(list(given))


@way
def compiled_forward(case: Case) -> None:
    """A compiled `jvp`, recorded at one point and replayed there and at another one."""
    direction = tuple(case.direction)
    run = fg.compile(lambda *given: fg.jvp(case.on_tensors, given, direction))
    for shift in (0.0, 0.0, 0.03):
        wanted, slope = case.wanted(shift)
        got, change = run(*case.program.fresh_arguments(shift))
        case.compare("the compiled value is", got, wanted, VALUE)
        case.compare("the compiled change is", change, slope, SLOPE)


@way
def plain(case: Case) -> None:
    """`value_and_grad` of the program with NumPy itself."""
    gradient(Case(case.program, np))


@way
def leaf(case: Case) -> None:
    """`backward` of the program on leaves, and on values computed from those that are numbers."""
    wanted, slope = case.wanted()
    given = [fg.tensor(x, requires_grad=True) for x in case.arguments]
    # A copy of a leaf is a leaf of its own. A clone is memory where its source is.
    copies = any(word in case.program.text for word in ("copy.", "dataclasses."))

    def passed(x: Any, t: Any) -> Any:
        if type(x) is float:
            return t * 1.0
        return t.clone() if copies else t

    got = case.program.function(EAGER)(*map(passed, case.arguments, given))
    case.compare("the value on leaves is", got.detach(), wanted, VALUE)
    if got.requires_grad:
        got.backward()
    slopes = [0.0 if x.grad is None else x.grad for x in given]
    case.compare("the derivative by backward is", case.along(slopes), slope, SLOPE)
    case.unchanged([x.detach() for x in given])


@way
def compiled(case: Case) -> None:
    """A compiled gradient, recorded at one point and replayed there and at another one."""
    run = fg.compile(fg.value_and_grad(case.on_tensors, argnums=case.argnums))
    for name, shift in (("first", 0.0), ("second", 0.0), ("third", 0.03)):
        at = case.program.fresh_arguments(shift)
        wanted, slope = case.wanted(shift)
        got, slopes = run(*at)
        case.compare(f"the value of the {name} call is", got, wanted, VALUE)
        case.compare(f"the derivative of the {name} call is", case.along(slopes), slope, SLOPE)


def gradient_of(case: Case, function: Callable[..., Any], calls: int, what: str) -> None:
    """The gradient of a function that does what the program does, call after call."""
    for call in range(calls):
        at = case.program.fresh_arguments(0.02 * call)
        wanted, slope = case.wanted(0.02 * call)
        got, slopes = fg.value_and_grad(function, argnums=case.argnums)(*at)
        case.compare(f"the value of {what} is", got, wanted, VALUE)
        case.compare(f"the derivative of {what} is", case.along(slopes), slope, SLOPE)


@way
def node(case: Case) -> None:
    """A gradient through a compiled function, which is one node of the graph."""
    gradient_of(case, fg.compile(case.on_tensors), 3, "a compiled function")


@way
def checkpointed(case: Case) -> None:
    """A gradient through a checkpoint, which runs the program again in the backward pass."""
    gradient_of(
        case, lambda *given: fg.autograd.checkpoint(case.on_tensors, *given), 1, "a checkpoint"
    )


@way
def loop(case: Case) -> None:
    """The program as the body of `fg.scan`; on arrays, of a Python loop."""
    loops(case, fg.value_and_grad)


@way
def compiled_loop(case: Case) -> None:
    """The same, compiled."""
    loops(case, lambda f, **options: fg.compile(fg.value_and_grad(f, **options)), 2)


def loops(case: Case, transform: Callable[..., Any], calls: int = 1) -> None:
    """The program as the body of a loop over a carry and inputs."""
    inputs = np.array([0.7, 1.1, 0.9])

    def body(f: Callable[..., Any], np: Any, carry: Any, t: Any) -> Any:
        y = f(carry[0] * t, *carry[1:])
        moved = np.tanh(carry[0] + 0.1 * np.tanh(0.1 * y))
        return (moved, *(0.9 * c for c in carry[1:])), y

    def on_arrays(*carry: Any) -> Any:
        total, carry = 0.0, tuple(c[()] if type(c) is np.ndarray else c for c in carry)
        for t in inputs:
            carry, y = body(case.on_arrays, NUMPY, carry, t)
            total = total + np.tanh(0.05 * y)
        return total + carry[0].sum()

    def on_tensors(*carry: Any) -> Any:
        carry, ys = fg.scan(lambda c, t: body(case.on_tensors, fnp, c, t), carry, inputs)
        return fnp.tanh(0.05 * ys).sum() + carry[0].sum()

    wanted, slope = answers(on_arrays, case.arguments, case.direction)
    run = transform(on_tensors, argnums=case.argnums)
    for _ in range(calls):
        got, slopes = run(*case.program.fresh_arguments())
        case.compare("the value of the loop is", got, wanted, VALUE)
        case.compare("the derivative of the loop is", case.along(slopes), slope, SLOPE)


@way
def second(case: Case) -> None:
    """The derivative of a directional derivative."""
    wanted = curve_of(case.on_arrays, case.arguments, case.direction)
    inner = fg.grad(case.on_tensors, argnums=case.argnums)

    def slope(*given: Any) -> Any:
        pairs = zip(inner(*given), case.direction, strict=True)
        return sum((g * d).sum() if type(d) is not float else g * d for g, d in pairs)

    got = fg.grad(slope, argnums=case.argnums)(*case.arguments)
    case.compare("the second derivative is", case.along(got), wanted, CURVE)


@way
def forward_over_reverse(case: Case) -> None:
    """The change of the gradient."""
    wanted = curve_of(case.on_arrays, case.arguments, case.direction)
    slopes = fg.grad(case.on_tensors, argnums=case.argnums)
    changes = fg.jvp(slopes, tuple(case.arguments), tuple(case.direction))[1]
    case.compare("the second derivative is", case.along(changes), wanted, CURVE)


def tried(program: Program, name: str, module: Any = fnp) -> Outcome:
    """The outcome of one way."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", fg.errors.GraphCutWarning)
            WAYS[name](Case(program, module))
    except UnreliableError as error:
        return Outcome("unreliable", name, str(error))
    except WrongError as error:
        return Outcome("wrong", name, str(error))
    except Exception as error:
        return refused_or_wrong(name, error)
    return Outcome("right", name)


def refused_or_wrong(name: str, error: BaseException) -> Outcome:
    """The outcome of a way that ended with an error."""
    refusals = (fg.errors.FerrogradError, fg.errors.GraphCutWarning)
    if isinstance(error, ValueError) and isinstance(error.__cause__, refusals):
        # NumPy's error of an element that refused to be a number; a traceback shows both.
        error = error.__cause__
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, fg.errors.InternalError) or not isinstance(error, refusals):
        return Outcome("wrong", name, f"raises {message}")
    if ";" not in message:  # what happened; what to do
        return Outcome("wrong", name, f"refused without saying what to write: {message}")
    return Outcome("refused", name, message)


def outcome(program: Program, names: list[str]) -> Outcome:
    """The outcome of several ways: the first that is not right."""
    for name in names:
        result = tried(program, name)
        if result.kind == "refused" and name in LENIENT:
            continue
        if program.writes_argument:
            result = refusal(result)
        if result.kind != "right":
            return result
    return Outcome("right")


def refusal(result: Outcome) -> Outcome:
    """What a program that writes to its argument should come to: an error that says so."""
    if result.kind == "right":
        return Outcome("wrong", result.way, "a write to an argument is not refused")
    return Outcome("right", result.way) if result.kind == "refused" else result


def chosen_ways(rng: Random) -> list[str]:
    """Ways for a program, from most to least basic."""
    return [name for name, share in SHARES.items() if rng.random() < share]
