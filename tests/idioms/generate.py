"""Writes a random program of plain NumPy, statement by statement, and what it may compute with.

Each statement runs on arrays before the next one is written, so that what is written always refers
to values of known kinds and shapes. Invariant: a program depends on its seed only, writes to no
argument unless asked to, and reads nothing uninitialised.
"""

import ast
import copy
import dataclasses
import warnings
from functools import lru_cache
from random import Random
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np

from idioms import containers as containers, loops as loops  # their rules enter the table
from idioms.overlap import NAME, read_first, reading_first
from idioms.scope import Scope, is_object, is_scalar, shape_of
from idioms.statements import RULES, Rule

#: No value of a program is larger.
BOUND = 12.0
PREAMBLE = (
    "import copy\nimport dataclasses\nfrom types import SimpleNamespace\n\nimport numpy as np\n\n\n"
)


def checked_numpy() -> SimpleNamespace:
    """NumPy, whose uninitialised arrays hold NaN: a program that reads one is found out."""
    names = dict(vars(np))
    names["empty"] = lambda *args, **options: np.full(*args, np.nan, **options)
    names["empty_like"] = lambda *args, **options: np.full_like(*args, np.nan, **options)
    return SimpleNamespace(**names)


NUMPY = checked_numpy()


def imports(module: Any) -> dict[str, Any]:
    """What the import lines of a program give it, with a module in the place of NumPy."""
    modules = {"np": module, "copy": copy, "dataclasses": dataclasses}
    return modules | {"SimpleNamespace": SimpleNamespace, "__name__": "program"}


@lru_cache(maxsize=4)
def code_of(text: str, seed: int) -> CodeType:
    """The code of a program, which every way to run it shares."""
    return compile(reading_first(text), f"<program {seed}>", "exec")


@dataclasses.dataclass
class Program:
    """A function of arrays and numbers: its statements, terms of its result, and arguments."""

    seed: int
    parameters: list[str]
    arguments: list[Any]
    statements: list[list[str]] = dataclasses.field(default_factory=list)
    terms: list[str] = dataclasses.field(default_factory=list)
    rules: list[str] = dataclasses.field(default_factory=list)
    dynamic: bool = False
    #: Whether it writes to an argument, which a transform refuses.
    writes_argument: bool = False
    #: The text, where it is not that of statements and terms.
    written: str = ""
    #: What it gives on arrays, by its text and how far its arguments are moved.
    answers: dict[tuple[str, float], tuple[float, float]] = dataclasses.field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def text(self) -> str:
        """The function."""
        if self.written:
            return self.written
        body = [line for block in self.statements for line in block]
        body.append("return " + " + ".join(self.terms or ["0.0"]))
        return f"def f({', '.join(self.parameters)}):\n" + "".join(f"    {s}\n" for s in body)

    def function(self, module: Any) -> Any:
        """The function, of arrays or of tensors as the module has it."""
        names = imports(module) | {NAME: read_first}
        exec(code_of(self.text, self.seed), names)
        return names["f"]

    def fresh_arguments(self, shift: float = 0.0) -> list[Any]:
        """The arguments as objects of their own, moved by a little."""
        return [x + shift if type(x) is float else np.asarray(x + shift) for x in self.arguments]


class Writer:
    """A program and what its statements, run so far, have made."""

    def __init__(self, seed: int, dynamic: bool) -> None:
        self.rng = Random(seed)
        parameters, arguments = self.signature()
        self.program = Program(seed, parameters, arguments, dynamic=dynamic)
        self.codes: list[CodeType] = []
        self.scope = Scope(self.rng, {}, dynamic)
        self.restart()

    def signature(self) -> tuple[list[str], list[Any]]:
        """Names and values of arguments: a vector, and maybe others."""
        rng = self.rng

        def drawn() -> float:
            return rng.choice((-1, 1, 1)) * rng.uniform(0.2, 1.3)

        n = rng.randint(2, 5)
        made: dict[str, Any] = {"x": np.array([drawn() for _ in range(n)])}
        if rng.random() < 0.25:
            made["r"] = drawn()
        if rng.random() < 0.12:
            made["c"] = np.array(drawn())
        if rng.random() < 0.2:
            made["B"] = np.array([[drawn() for _ in range(n)] for _ in range(rng.randint(2, 3))])
        return list(made), list(made.values())

    def restart(self) -> None:
        """Runs the statements again, on arguments that refuse to be written to."""
        self.given = self.program.fresh_arguments()
        for value in self.given:
            if type(value) is not float:
                value.flags.writeable = False
        names = dict(zip(self.program.parameters, self.given, strict=True))
        self.globals = imports(NUMPY) | names
        for code in self.codes:
            exec(code, self.globals)
        self.scope.names = self.visible()

    def visible(self) -> dict[str, Any]:
        """What the program has named, without modules, functions and counters."""

        def kept(value: Any) -> bool:
            known = is_scalar(value) or type(value) in (list, dict) or is_object(value)
            return known or shape_of(value) is not None

        hidden = {*imports(None), "__builtins__"}
        return {k: v for k, v in self.globals.items() if k not in hidden and kept(v)}

    def bounded(self, value: Any) -> bool:
        """Whether a value, and what it contains, is of a kind and size to compute with."""
        if is_scalar(value):
            return abs(value) < BOUND
        if (shape := shape_of(value)) is not None:
            return len(shape) < 3 and 0 < value.size < 40 and bool(np.abs(value).max() < BOUND)
        if type(value) in (int, np.int64, bool):
            return True
        if type(value) is np.ndarray:
            return value.dtype.kind in "bi"
        if type(value) is list:
            return len(value) < 9 and all(map(self.bounded, value))
        if type(value) is dict:
            return all(map(self.bounded, value.values()))
        return is_object(value) and all(map(self.bounded, vars(value).values()))

    def harmless(self) -> bool:
        """Whether the arguments are what they were: `np.add.at` writes to read-only arrays."""
        pairs = zip(self.given, self.program.arguments, strict=True)
        return all(type(a) is float or np.array_equal(a, b) for a, b in pairs)

    def add(self, rule: Rule) -> bool:
        """Adds a statement by a rule, if it has one that runs on arrays and stays bounded."""
        count = self.scope.count
        lines = rule(self.scope)
        if lines is None:
            return False
        code = compile("\n".join(lines), "<statement>", "exec")
        try:
            exec(code, self.globals)
            self.scope.names = self.visible()
            right = self.harmless() and all(map(self.bounded, self.scope.names.values()))
        except (ValueError, TypeError, IndexError, AttributeError, KeyError, ZeroDivisionError):
            right = False
        if not right:
            self.scope.count = count
            self.restart()
            return False
        self.codes.append(code)
        self.program.statements.append(lines)
        self.program.rules.append(rule.__name__)
        return True

    def terms(self) -> list[str]:
        """What the result is the sum of: every element of everything, each with its own weight."""
        terms = []
        for place, value in self.scope.places():
            weight = round(self.rng.uniform(0.3, 1.7), 1)
            shape = shape_of(value)
            if is_scalar(value) or shape == ():
                terms.append(f"{weight} * {place}")
            elif shape is not None and len(shape) == 1:
                terms.append(f"{weight} * ({place} @ np.arange(2.0, {2 + shape[0]}.0))")
            elif shape is not None:
                left, right = 2 + shape[0], 7 + shape[1]
                product = f"np.arange(2.0, {left}.0) @ {place} @ np.arange(7.0, {right}.0)"
                terms.append(f"{round(weight / 8, 3)} * ({product})")
        return terms


def write(seed: int, dynamic: bool = True, writes_argument: bool = False) -> Program:
    """The program of a seed."""
    writer = Writer(seed, dynamic)
    rng, program = writer.rng, writer.program
    wanted = rng.randint(5, 25)
    rules, weights = list(RULES), list(RULES.values())
    start = "x.copy()" if rng.random() < 0.6 else writer.scope.vector(len(program.arguments[0]), 1)
    writer.add(lambda scope: [f"y = {start}"])
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for rule in rng.choices(rules, weights, k=3 * wanted):
            writer.add(rule)
            if len(program.statements) >= wanted:
                break
    program.terms = writer.terms()
    if writes_argument:
        spoil(program, rng)
    return program


def rebinds(statement: list[str], name: str) -> bool:
    """Whether a statement binds a name, as loops and unpacking do, too."""
    nodes = ast.walk(ast.parse("\n".join(statement)))
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    return any(isinstance(node.ctx, ast.Store) for node in names)


def spoil(program: Program, rng: Random) -> None:
    """Adds a statement that writes to the argument, where `x` still is the argument."""
    forms = ("x += 1.0", "x[0] = 0.5", "x[1:] *= 2.0", "x[-1] -= x[0]", "np.sin(x, out=x)")
    bound = (k for k, lines in enumerate(program.statements) if rebinds(lines, "x"))
    at = rng.randint(0, next(bound, len(program.statements)))
    program.statements.insert(at, [rng.choice(forms)])
    program.writes_argument = True
