"""Plain NumPy programs on tensors have NumPy's value, and the derivative of that value.

A longer one: `make fuzz IDIOMS="--seed 7"`.
"""

import os
import re
from random import Random
from typing import Any

import numpy as np
import pytest

from idioms import array_cases, closures
from idioms.cases import ROWS, WRITES, program
from idioms.generate import PREAMBLE, spoil, write
from idioms.oracle import UnreliableError
from idioms.run import LENIENT, WAYS, Case, Outcome, WrongError, tried
from idioms.scope import Scope
from idioms.shorten import shortened
from idioms.statements import RULES, alias, part_of_matrix
from idioms.sweep import chosen, swept

#: Random programs that every run of the tests makes.
PROGRAMS = int(os.environ.get("FERROGRAD_PROGRAMS", "300"))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_named_program(row: tuple[str, list[Any], str, str], name: str) -> None:
    made = program(*row[1:])
    if "loop" in name and not isinstance(row[1][0], np.ndarray):
        name = "gradient"  # the carry of the loop is an array
    result = tried(made, name)
    if name in LENIENT and result.kind == "refused":
        result = Outcome("right", name)
    assert result == Outcome("right", name), made.text


@pytest.mark.parametrize("name", ["value", "gradient", "compiled", "second"])
@pytest.mark.parametrize("row", array_cases.ROWS, ids=[row[0] for row in array_cases.ROWS])
def test_a_way_to_make_an_array(row: tuple[str, list[Any], str, str], name: str) -> None:
    made = program(*row[1:])
    assert tried(made, name) == Outcome("right", name), made.text


@pytest.mark.parametrize("row", WRITES, ids=[row[0] for row in WRITES])
def test_a_write_to_an_argument_is_refused(row: tuple[str, list[Any], str, str]) -> None:
    made = program(*row[1:])
    made.writes_argument = True
    result = tried(made, "gradient")
    assert result.kind == "refused", result
    assert "copy" in result.message


def test_random_programs() -> None:
    report = swept(seed=32, programs=PROGRAMS, shown=1)
    answered = PROGRAMS - report.counts["unreliable"]
    assert answered > 0.97 * PROGRAMS
    assert not report.counts["wrong"], PREAMBLE + report.text()
    assert report.counts["refused"] <= 0.01 * PROGRAMS, PREAMBLE + report.text()


def test_a_program_depends_on_its_seed_only() -> None:
    texts = [chosen(number)[0].text for number in range(20)]
    assert texts == [chosen(number)[0].text for number in range(20)]
    assert len(set(texts)) == 20


def test_no_program_depends_on_the_order_of_results_in_memory() -> None:
    for given, wanted in ((np.ones((2, 3)), True), (np.cos(np.ones((3, 2)).T), False)):
        for value in (given, given.T, given[::-1]):
            scope = Scope(Random(0), {"A": value}, dynamic=True)
            texts = [part_of_matrix(scope, "A")[0] for _ in range(200)]
            texts += [line for _ in range(200) for line in alias(scope) or ()]
            texts += [scope.read_vector(6) for _ in range(200)]
            flat = {text for text in texts if re.search(r"reshape\(-1\)|ravel", text)}
            assert bool(flat) == wanted, flat


def test_a_write_to_an_argument_is_one_where_its_name_is_bound_anew() -> None:
    for seed in range(40):
        made = program([np.array([0.7, 1.5])], "", "0.0")
        made.statements = [["y = x.copy()"], ["e, x = x, y"], ["z = y"]]
        spoil(made, Random(seed))
        (x,) = made.fresh_arguments()
        made.function(np)(x)
        assert not np.array_equal(x, made.arguments[0]), made.text


def test_every_rule_writes_programs() -> None:
    seen = {name for number in range(250) for name in chosen(number)[0].rules}
    assert not {rule.__name__ for rule in RULES} - seen


def test_arrays_on_both_sides_agree() -> None:
    for number in range(60):
        case = Case(write(number), np)
        given = case.program.fresh_arguments()
        assert case.on_arrays(*case.program.fresh_arguments()) == case.on_tensors(*given)
        case.unchanged(given)


def test_programs_that_differ_and_kinks_are_found() -> None:
    class Wrong:
        """NumPy with another sine."""

        def __getattr__(self, name: str) -> Any:
            return np.cos if name == "sin" else getattr(np, name)

    made = program([np.array([0.5])], "y = x.copy()\ny *= 2\ns = np.sin(y[0])", "s + y[0]")
    case = Case(made, Wrong())
    with pytest.raises(WrongError, match="the value of tensors"):
        WAYS["value"](case)
    kink = program([np.array([0.0])], "y = abs(x)", "y[0]")
    with pytest.raises(UnreliableError):
        WAYS["gradient"](Case(kink))


def test_a_failing_program_is_shortened_to_what_fails() -> None:
    text = "y = x.copy()\nz = np.roots(np.sin(y)[:] * 2.0)\ny += 1\nfor q in y: q += 1"
    made = program([np.array([0.5, 1.5])], text, "y[0]")
    made.statements = [[line] for line in text.split("\n")]
    short = shortened(made, tried(made, "gradient"))
    assert "roots" in tried(short, "gradient").message
    assert short.text == "def f(x):\n    y = x.copy()\n    z = np.roots(y)\n    return 0.0\n"


@pytest.mark.parametrize("seed", range(0, 80, 8))
def test_random_closures(seed: int) -> None:
    for number in range(seed, seed + 8):
        assert not closures.outcome(number)["wrong"], closures.text(number)
