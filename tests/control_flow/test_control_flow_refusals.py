"""What loops and branches refuse, with its message."""

from collections.abc import Callable
from typing import Any

import pytest

import ferrograd as fg
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    FerrogradError,
    ShapeError,
)


def counted(c: Any, x: Any) -> Any:
    return c, x


HALF: Any = 2.5
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape of the carry": (
        lambda: fg.scan(lambda c, x: (fg.stack([c, c]), x), 1.0, fg.ones(3)),
        ShapeError,
        "keep its shape",
    ),
    "dtype of the carry": (
        lambda: fg.scan(lambda c, x: (c * 1.5, x), 1, fg.ones(3)),
        DTypeError,
        "begin with float64",
    ),
    "tree of the carry": (
        lambda: fg.scan(lambda c, x: ((c, c), x), 1.0, fg.ones(3)),
        ShapeError,
        "keep its containers",
    ),
    "no pair": (
        lambda: fg.scan(lambda c, x: c, 1.0, fg.ones(3)),
        ArgumentTypeError,
        "return the carry",
    ),
    "lengths": (
        lambda: fg.scan(counted, 1.0, (fg.ones(3), fg.ones(4))),
        ArgumentError,
        r"lengths \[3, 4\]",
    ),
    "no length": (lambda: fg.scan(counted, 1.0), ArgumentError, "neither xs nor length"),
    "a number": (lambda: fg.scan(counted, 1.0, fg.tensor(2.0)), ShapeError, "without axes"),
    "a text": (lambda: fg.scan(counted, "x", fg.ones(3)), ArgumentTypeError, "holds a str"),
    "bounds": (lambda: fg.fori_loop(0, HALF, counted, 1.0), ArgumentTypeError, "whole number"),
    "condition": (
        lambda: fg.while_loop(lambda x: x, lambda x: x, 1.0),
        ShapeError,
        "give one boolean",
    ),
    "pred": (lambda: fg.cond(fg.ones(2) > 0, fg.sin, fg.cos, 1.0), ShapeError, "one boolean"),
    "index": (lambda: fg.switch(fg.ones(2), [fg.sin], 1.0), ShapeError, "one whole number"),
    "no branches": (lambda: fg.switch(0, [], 1.0), ArgumentError, "no branches"),
    "branches differ": (
        lambda: fg.compile(lambda x: fg.cond(x > 0, lambda x: (x, x), lambda x: x, x))(
            fg.tensor(1.0)
        ),
        ShapeError,
        "same containers",
    ),
    "shapes differ": (
        lambda: fg.compile(lambda x: fg.cond(x > 0, lambda x: x, lambda x: x[None], x))(
            fg.tensor(1.0)
        ),
        ShapeError,
        "one shape",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    run, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message) as raised:
        run()
    assert isinstance(raised.value, FerrogradError)


def test_an_exception_of_a_body_reaches_the_caller() -> None:
    def broken(c: Any, x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fg.scan(broken, 1.0, fg.ones(3))
    with pytest.raises(KeyError, match="mine"):
        fg.compile(lambda xs: fg.scan(broken, 1.0, xs)[0])(fg.ones(3))
