"""`fg.functors` of networks and of scaled products."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import ferrograd as fg
from ferrograd import Tensor, functors as F  # noqa: N812

RNG = np.random.default_rng(3)
LABELS = fg.tensor([[0, 2], [-100, 1]])
INDEX = fg.tensor([[2, 0], [2, 1]])
SEEN = fg.tensor([[True, False, True], [True, True, False]])


def leaf(*shape: int) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape), requires_grad=True)


def entropies(x: np.ndarray) -> Any:
    logs = special.log_softmax(x, axis=0)
    places = [(0, 0, 0), (2, 0, 1), (1, 1, 1)]
    return -0.5 * sum(logs[place] for place in places)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Any:
    scores = q @ k.T / np.sqrt(q.shape[1])
    return special.softmax(np.where(SEEN.numpy(), scores, -np.inf), axis=1) @ v


def turned(x: np.ndarray) -> Any:
    angles = np.arange(3)[:, None] * 100.0 ** (-np.arange(2) / 2)
    a, b = x[:, ::2], x[:, 1::2]
    parts = a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)
    return np.stack(parts, -1).reshape(x.shape)


Row = tuple[Callable[..., Tensor], Callable[..., Any], list[tuple[int, ...]], dict[str, Any]]
ROWS: dict[str, Row] = {
    "Relu": (F.relu, lambda x: np.maximum(x, 0), [(3, 4)], {}),
    "Silu": (F.silu, lambda x: x * special.expit(x), [(3, 4)], {}),
    "GeluTanh": (
        F.gelutanh,
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        [(3, 4)],
        {},
    ),
    "Softmax": (F.softmax, special.softmax, [(3, 4)], {"axis": 1}),
    "RmsNorm": (
        F.rms_norm,
        lambda x, w: w * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3),
        [(2, 3, 4), (4,)],
        {"eps": 1e-3},
    ),
    "Rope": (F.rope, turned, [(3, 4)], {"positions": None, "base": 100.0, "interleaved": True}),
    "Embedding": (
        lambda w: F.embedding(INDEX, w),
        lambda w: w[INDEX.numpy()],
        [(3, 4)],
        {},
    ),
    "Sdpa": (
        lambda q, k, v: F.sdpa(q, k, v, SEEN),
        attention,
        [(2, 4), (3, 4), (3, 2)],
        {},
    ),
    "Concat": (
        lambda x, y: F.concat([x, y], 1),
        lambda x, y: np.concatenate([x, y], 1),
        [(2, 3), (2, 1)],
        {},
    ),
    "Transpose": (F.transpose, lambda x: x.transpose(2, 0, 1), [(2, 3, 4)], {"ndim": 2}),
    "CrossEntropy": (
        lambda x: F.cross_entropy(x, LABELS, 0.5),
        entropies,
        [(3, 2, 2)],
        {},
    ),
    "Multiply": (
        lambda x, y: F.multiply(2.0, x, y),
        lambda x, y: 2 * x * y,
        [(2, 3), (2, 3)],
        {},
    ),
    "ScaleFiber": (
        lambda x: F.scale_fiber(2.0, x, (2, 3, 5, 4), 1, 1),
        lambda x: np.broadcast_to(2 * x[:, None], (2, 3, 5, 4)),
        [(3, 4)],
        {},
    ),
    "ScaleSlice": (
        lambda x: F.scale_slice(2.0, x, 5, 1),
        lambda x: np.repeat(2 * x[:, None], 5, 1),
        [(2, 3)],
        {},
    ),
    "Norm": (F.norm, lambda x, alpha: alpha * np.linalg.norm(x), [(2, 3)], {"alpha": 2.0}),
    "MseLoss": (F.mse_loss, lambda x, scale: scale * (x * x).sum(), [(2, 3)], {"scale": 0.5}),
}
#: Attributes that NumPy's function takes under the same name.
TAKEN = {"axis", "alpha", "scale"}


@pytest.mark.parametrize("name", ROWS)
def test_a_functor_is_one_node_with_its_value_and_derivatives(name: str) -> None:
    call, plain, shapes, attrs = ROWS[name]
    inputs = [leaf(*shape) for shape in shapes]
    out = call(*inputs, **attrs, name="z") if attrs else call(*inputs)
    theirs = {key: value for key, value in attrs.items() if key in TAKEN}
    wanted = plain(*(x.detach().numpy() for x in inputs), **theirs)
    np.testing.assert_allclose(out.detach(), wanted, 1e-13, 1e-15)
    assert out.name == ("z" if attrs else None)
    assert name in out.grad_fn.name()
    assert attrs.items() <= out.grad_fn.attrs.items()
    sources = [source for source, _ in out.grad_fn.next_functions if source is not None]
    assert all(source.name().startswith("Accumulate") for source in sources)
    assert repr(getattr(F, name)()) == f"{name}()"
    fg.gradcheck(lambda *x: call(*x, **attrs), inputs, atol=1e-6)
    fg.gradgradcheck(lambda *x: call(*x, **attrs), inputs, atol=1e-6)


def test_a_functor_is_callable_as_an_object() -> None:
    x = leaf(2, 3)
    assert fg.array_equal(F.Softmax()(x, 1), F.softmax(x, 1))
    assert fg.array_equal(F.Multiply()(2.0, x, x), 2 * x * x)


def test_a_product_of_a_tensor_with_itself_has_both_contributions() -> None:
    x = leaf(3)
    F.multiply(1.0, x, x).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * x.detach())


def test_the_norm_of_zeros_has_the_derivative_zero() -> None:
    x = fg.zeros(3, requires_grad=True)
    F.norm(x).backward()
    assert not x.grad.numpy().any()


def test_nothing_is_recorded_under_no_grad() -> None:
    before = fg.live_nodes()
    with fg.no_grad(), fg.Graph() as graph:
        assert not F.relu(leaf(2)).requires_grad
    assert fg.live_nodes() == before
    assert "Relu" in graph.to_string()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.multiply(1.0, fg.ones(2), fg.ones(3)), "ShapeError", r"\(2,\) and \(3,\)"),
        (lambda: F.scale_fiber(1.0, fg.ones(2), (3, 2)), "ShapeError", r"give \(3,\)"),
        (lambda: F.scale_fiber(1.0, fg.ones(2), (3, 2), 2), "ArgumentError", "axis is 2"),
        (lambda: F.scale_slice(1.0, fg.ones(2), 3, 2), "ArgumentError", "axis is 2"),
        (lambda: F.transpose(fg.ones(2, 3), 3), "ArgumentError", "ndim is 3 for 2 axes"),
        (lambda: F.embedding(fg.ones(2), fg.ones(2, 3)), "ArgumentError", "float64; give integers"),
        (lambda: F.relu(None), "ArgumentTypeError", "must not be null"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: str, words: str) -> None:
    with pytest.raises(getattr(fg.errors, error), match=words):
        call()
