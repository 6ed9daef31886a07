"""How operations refuse, from the table: a text names the operation and says what to do.

The exact texts of each variant: `test_errors.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from ferrograd import linalg
from ferrograd.nn import functional
from op_support import REGISTRY, ROWS, plain, tensors, with_arrays


def rows(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.key)


def params(case: Case) -> list[dict[str, Any]]:
    return list(REGISTRY[case.key]["params"])


def fails(error: type[Exception], name: str, call: Callable[[], Any]) -> str:
    """Asserts that the call raises `error`, names the operation and has a remedy."""
    with pytest.raises(error) as caught:
        print(call())
    text = str(caught.value)
    assert text.replace("()", "").startswith(f"{name}: "), text
    assert "; " in text, f"no remedy: {text}"
    return text


AXES = [
    (case, param["name"])
    for case in ROWS
    for param in params(case)
    if param["name"] in {"axis", "axis1", "axes", "start_dim"}
    and case.key != "tensordot"
    # The axes of functors are counted from the front only.
    and not case.key.startswith("functors.")
]


@pytest.mark.parametrize(("case", "name"), AXES, ids=[f"{case.key}-{name}" for case, name in AXES])
@pytest.mark.parametrize("axis", [17, -17])
def test_an_axis_out_of_range(case: Case, name: str, axis: int) -> None:
    place = [p["name"] for p in params(case)].index(name)
    call = next(with_arrays(case))
    args = list(call.filled(tensors(call.arrays())))
    kwargs = dict(call.kwargs)
    kind = params(case)[place]["kind"]
    wrong: Any = (axis, 0) if kind == "Ints" else axis
    if place < len(args):
        args[place] = wrong
    else:
        kwargs[name] = wrong
    text = fails(fg.errors.AxisError, case.name, lambda: plain(case)(*args, **kwargs))
    assert str(axis) in text


#: Functions written in Python, whose keywords Python checks, and one whose row has another form.
CREATED = (
    *("zeros_like", "ones_like", "full_like", "linalg.multi_dot"),
    *("nn.functional.scaled_dot_product_attention", "nn.functional.adaptive_avg_pool2d"),
    *("nn.functional.threshold", "nn.functional.hardshrink"),
    *("nn.functional.softshrink", "nn.functional.prelu"),
    *("nn.functional.mse_loss", "nn.functional.l1_loss", "nn.functional.huber_loss"),
)


@rows([case for case in ROWS if case.key not in CREATED])
def test_a_name_that_is_none_of_its_parameters(case: Case) -> None:
    call = case.calls[0]
    args = call.filled(tensors(call.arrays()))
    text = fails(
        fg.errors.ArgumentTypeError,
        case.key.rpartition(".")[2],
        lambda: plain(case)(*args, **call.kwargs, nonsense=1),
    )
    assert '"nonsense"' in text


@rows(
    [
        case
        for case in ROWS
        if params(case)[0]["kind"] in {"Tensor", "Operand", "Condition"}
        and not case.key.startswith("Tensor.")
    ]
)
def test_an_operand_of_no_kind(case: Case) -> None:
    call = case.calls[0]
    args = call.filled(tensors(call.arrays()))
    for nothing in (object(), "x"):
        text = fails(
            fg.errors.ArgumentTypeError,
            case.key.rpartition(".")[2],
            lambda bad=nothing: plain(case)(bad, *args[1:], **call.kwargs),
        )
        assert type(nothing).__name__ in text


@rows([case for case in ROWS if case.operands == 2])
def test_shapes_that_do_not_broadcast(case: Case) -> None:
    a, b = np.ones((2, 3), np.int64), np.ones(4, np.int64)
    text = fails(fg.errors.ShapeError, case.name, lambda: plain(case)(a, b))
    assert "(2, 3)" in text
    assert "(4,)" in text


X = fg.tensor(np.arange(6.0).reshape(2, 3))
INDEXED: list[tuple[str, Callable[[Any], Any]]] = [
    ("take", lambda i: fg.take(X, i, axis=1)),
    ("take_along_axis", lambda i: fg.take_along_axis(X, fg.reshape(i, (1, 1)), 1)),
    ("put_along_axis", lambda i: fg.put_along_axis(X, fg.reshape(i, (1, 1)), 0.0, 1)),
    ("gather", lambda i: fg.gather(X, 1, fg.reshape(i, (1, 1)))),
    ("scatter", lambda i: fg.scatter(X, 1, fg.reshape(i, (1, 1)), fg.ones(1, 1))),
    ("scatter_add", lambda i: fg.scatter_add(X, 1, fg.reshape(i, (1, 1)), fg.ones(1, 1))),
    ("index_select", lambda i: fg.index_select(X, 1, i)),
    ("index_add", lambda i: fg.index_add(X, 1, i, fg.ones(2, 1))),
    ("embedding", lambda i: fg.embedding(i, X.T)),
    ("index", lambda i: X[:, i]),
]


@pytest.mark.parametrize(("name", "use"), INDEXED, ids=[name for name, _ in INDEXED])
def test_an_index_out_of_range_or_of_a_float(name: str, use: Callable[[Any], Any]) -> None:
    text = fails(fg.errors.IndexOutOfRangeError, name, lambda: use(fg.tensor([7])))
    assert "7" in text
    assert "3" in text
    wrong = (fg.errors.DTypeError, fg.errors.IndexOutOfRangeError)
    fails(wrong, name, lambda: use(fg.tensor([1.5])))  # type: ignore[arg-type]


SQUARE = ("inv", "det", "slogdet", "solve", "cholesky", "eigh", "matrix_power")


@pytest.mark.parametrize("name", SQUARE)
def test_a_matrix_that_is_not_square(name: str) -> None:
    more = {"solve": (fg.ones(2),), "matrix_power": (2,)}.get(name, ())
    for wrong in (fg.ones(2, 3), fg.ones(3)):
        fails(fg.errors.ShapeError, name, lambda x=wrong: getattr(linalg, name)(x, *more))


def test_singular_and_indefinite_matrices() -> None:
    flat = fg.zeros(2, 2)
    fails(fg.errors.MatrixError, "inv", lambda: linalg.inv(flat))
    fails(fg.errors.MatrixError, "solve", lambda: linalg.solve(flat, fg.ones(2)))
    fails(fg.errors.MatrixError, "cholesky", lambda: linalg.cholesky(-fg.eye(2)))
    fails(fg.errors.MatrixError, "matrix_power", lambda: linalg.matrix_power(flat, -1))


def test_labels_and_classes() -> None:
    logits = fg.ones(2, 3)
    for target in ([0, 3], [-1, 0]):
        for name in ("cross_entropy", "nll_loss"):
            text = fails(
                fg.errors.IndexOutOfRangeError,
                name,
                lambda t=target, n=name: getattr(functional, n)(logits, np.array(t)),
            )
            assert str(target[0] if target[0] < 0 else target[1]) in text
    fails(fg.errors.ShapeError, "einsum", lambda: fg.einsum("ij->i", fg.ones(2)))
    fails(fg.errors.ShapeError, "einsum", lambda: fg.einsum("i1->i", fg.ones(2)))
    fails(fg.errors.IndexOutOfRangeError, "one_hot", lambda: fg.one_hot(np.array([3]), 2))
