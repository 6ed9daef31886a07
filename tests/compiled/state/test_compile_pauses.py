"""Compiled functions of which no program is used often: they end up calling the function itself."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import _core


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """One warning says that there are many signatures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def counted(f: Callable[..., Any], **options: Any) -> tuple[Any, list[int]]:
    """The compiled function, and a list that grows when it is recorded."""
    recorded: list[int] = []

    def g(*args: Any) -> Any:
        if _core._is_recording_program():
            recorded.append(1)
        return f(*args)

    return fg.compile(g, **options), recorded


def single(n: int) -> Any:
    return fg.ones(2, dtype="float32"), 1.0 + n / 8


#: A function, its options, and the arguments of call n.
CHANGING: dict[str, tuple[Callable[..., Any], dict[str, Any], Callable[[int], Any]]] = {
    "lengths": (lambda x: (x * 2.0).sum(), {}, lambda n: (fg.ones(n % 97),)),
    "arrays": (lambda x: fg.sum(x * 2.0), {}, lambda n: (np.ones(n % 97),)),
    "whole": (lambda x, k: x * k, {}, lambda n: (fg.ones(2), n)),
    "static": (lambda x, k: x * k, {"static_argnums": 1}, lambda n: (fg.ones(2), n)),
    "floats": (lambda x, k: x * k, {}, single),
}


@pytest.mark.parametrize("name", CHANGING)
def test_signatures_that_do_not_come_back(name: str) -> None:
    f, options, arguments = CHANGING[name]
    compiled, recorded = counted(f, **options)
    for n in range(3000):
        args = arguments(n)
        assert compiled(*args).tolist() == f(*args).tolist()
    assert len(recorded) <= 100
    assert any("recording does not pay" in line for line in compiled.log)
    # What comes back from now on is recorded in the end.
    args = arguments(5000)
    for _ in range(5000):
        found = compiled(*args)
    assert found.tolist() == f(*args).tolist()
    before = len(recorded)
    assert compiled.explain(*args).splitlines()[0].endswith("bytes of temporaries")
    assert len(recorded) == before


def test_signatures_that_only_warm_up() -> None:
    weight = fg.tensor(2.0, requires_grad=True)
    compiled, recorded = counted(lambda x: (x * weight).sum())
    for n in range(1, 600):
        assert compiled(np.ones(n)).item() == 2.0 * n
    assert len(recorded) <= 100


def test_programs_that_pay_are_recorded_anew() -> None:
    """More of them than are kept, but each for many calls."""
    compiled, recorded = counted(lambda x: (x * 2.0).sum())
    for _ in range(2):
        for n in range(1, 31):
            for _ in range(40):
                assert compiled(fg.ones(n)).item() == 2.0 * n
    assert len(recorded) == 60


def test_floats_in_messages_are_decimal() -> None:
    compiled = fg.compile(lambda x, k: x * k)
    for n in range(8):
        compiled(*single(n))
    with pytest.warns(RuntimeWarning, match=r"is float 2.0 and was float 1.875; .*fg.tensor\(val"):
        compiled(*single(8))
    compiled = fg.compile(lambda x, k: x ** complex(k))
    for k in (1j, 2.5):
        compiled(fg.ones(2), k)
    assert compiled.log[-1].endswith("is float 2.5 and was complex 1j")
