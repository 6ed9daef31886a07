"""The mathematics that is easy to get wrong, one named test each.

Values come from reasoning or from NumPy, gradients from reasoning or differences; nothing here is
derived from the table.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from derivatives import check
from ferrograd import linalg
from ferrograd.nn import functional

NAN, INF = np.nan, np.inf


def leaf(data: Any) -> fg.Tensor:
    return fg.tensor(data, dtype=fg.float64, requires_grad=True)


def slope(function: Any, *data: Any) -> list[Any]:
    """The gradients of the sum of the result."""
    leaves = [leaf(d) for d in data]
    function(*leaves).sum().backward()
    return [None if x.grad is None else x.grad.numpy().tolist() for x in leaves]


REPEATED = {
    "index": lambda x, i: x[i],
    "take": lambda x, i: fg.take(x, i),
    "take_along_axis": lambda x, i: fg.take_along_axis(x, i, 0),
    "gather": lambda x, i: fg.gather(x, 0, i),
    "index_select": lambda x, i: fg.index_select(x, 0, i),
    "embedding": lambda x, i: fg.embedding(i, fg.reshape(x, (3, 1))).reshape(4),
}


@pytest.mark.parametrize("name", REPEATED)
def test_repeated_indices_accumulate_the_gradient(name: str) -> None:
    index = np.array([0, 2, 0, 0])
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    x = leaf([5.0, 6.0, 7.0])
    y = REPEATED[name](x, index)
    assert y.tolist() == [5.0, 7.0, 5.0, 5.0]
    (y * weights).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1101.0, 0.0, 10.0]


def test_repeated_indices_accumulate_the_value() -> None:
    index, source = np.array([0, 2, 0]), leaf([1.0, 10.0, 100.0])
    base = leaf([0.5, 0.5, 0.5])
    for added in (fg.index_add(base, 0, index, source), fg.scatter_add(base, 0, index, source)):
        assert added.tolist() == [101.5, 0.5, 10.5]
        gb, gs = fg.autograd.grad(added.sum(), [base, source], retain_graph=True)
        assert gb.tolist() == gs.tolist() == [1.0, 1.0, 1.0]


def test_repeated_positions_of_scatter_keep_the_last() -> None:
    base, source = leaf([0.0, 0.0]), leaf([1.0, 2.0, 3.0])
    out = fg.scatter(base, 0, np.array([1, 1, 1]), source)
    assert out.tolist() == [0.0, 3.0]
    gb, gs = fg.autograd.grad(out.sum(), [base, source])
    assert gb.tolist() == [1.0, 0.0]
    assert gs.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([0.0, 3.0, 4.0], [12.0, 0.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
    ],
)
def test_prod_with_zeros(x: list[float], expected: list[float]) -> None:
    assert slope(fg.prod, x) == [expected]
    check(lambda t: [fg.prod(t)], [np.array(x)], 3)


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0]])
def test_cumprod_with_zeros(x: list[float]) -> None:
    check(lambda t: [fg.cumprod(t)], [np.array(x)], 3)


def test_median_quantile_sort_and_topk_route_to_the_chosen_elements() -> None:
    x = [4.0, 1.0, 3.0, 2.0]
    assert slope(fg.median, x) == [[0.0, 0.0, 0.5, 0.5]]
    assert slope(fg.median, x[:3]) == [[0.0, 0.0, 1.0]]
    assert slope(lambda t: fg.quantile(t, 0.25), x) == [[0.0, 0.25, 0.0, 0.75]]
    assert slope(lambda t: fg.quantile(t, 0.25, method="lower"), x) == [[0.0, 1.0, 0.0, 0.0]]
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    assert slope(lambda t: fg.sort(t) * weights, x) == [[1000.0, 1.0, 100.0, 10.0]]
    assert slope(lambda t: fg.topk(t, 2)[0] * weights[:2], x) == [[1.0, 0.0, 10.0, 0.0]]
    (by_level,) = fg.autograd.grad(fg.quantile(fg.tensor(x), q := leaf(0.25)), [q])
    assert by_level.item() == 3.0


def test_norm_at_zero_has_the_gradient_zero() -> None:
    for function in (linalg.norm, linalg.vector_norm, lambda t: fg.hypot(t[0], t[1])):
        assert slope(function, [0.0, 0.0]) == [[0.0, 0.0]]
    assert slope(linalg.norm, np.zeros((2, 2))) == [[[0.0, 0.0], [0.0, 0.0]]]


def test_logsumexp_and_softmax_of_rows_of_minus_infinity() -> None:
    rows = [[-INF, -INF], [-INF, 0.0], [1.0, 1.0]]
    np.testing.assert_array_equal(
        fg.logsumexp(fg.tensor(rows), axis=1), [-INF, 0.0, 1.0 + np.log(2.0)]
    )
    found = slope(lambda t: fg.logsumexp(t, axis=1), rows)[0]
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    soft = fg.softmax(fg.tensor(rows), axis=1).numpy()
    assert np.isnan(soft[0]).all()
    np.testing.assert_array_equal(soft[1:], [[0.0, 1.0], [0.5, 0.5]])
    assert slope(lambda t: fg.softmax(t, axis=1)[1, 1], rows)[0][1] == [0.0, 0.0]


def test_det_of_a_singular_matrix_has_the_cofactors_as_gradient() -> None:
    rank_two = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])
    cofactors = np.array(
        [[(-1) ** (i + j) * minor(rank_two, i, j) for j in range(3)] for i in range(3)]
    )
    np.testing.assert_allclose(slope(linalg.det, rank_two)[0], cofactors, atol=1e-12)
    np.testing.assert_allclose(slope(linalg.det, np.diag([2.0, 0.0, 0.0]))[0], 0.0, atol=1e-12)
    check(lambda t: [linalg.det(t)], [rank_two], 2)
    sign, logarithm = linalg.slogdet(leaf(np.diag([1.0, 0.0])))
    assert (sign.item(), logarithm.item()) == (0.0, -INF)
    with pytest.raises(fg.errors.MatrixError, match="slogdet: the matrix is singular"):
        slope(lambda t: linalg.slogdet(t)[1], np.diag([1.0, 0.0]))


def minor(a: np.ndarray, i: int, j: int) -> float:
    return float(np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)))


def test_eigh_and_svd_of_repeated_values() -> None:
    """Smooth functions of the factors have finite gradients; the others are NaN or refuse."""
    a = np.diag([2.0, 2.0, 5.0])

    def trace(t: fg.Tensor) -> fg.Tensor:
        return linalg.eigh(t + t.T)[0].sum()

    np.testing.assert_allclose(slope(trace, a)[0], 2.0 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(slope(lambda t: linalg.svd(t)[1].sum(), a)[0], np.eye(3), atol=1e-12)

    check(lambda t: [(linalg.eigh(t + t.T)[0] ** 2).sum()], [a], 1)
    squares = slope(lambda t: (linalg.svd(t)[1] ** 2).sum(), a)[0]
    np.testing.assert_allclose(squares, 2.0 * a, atol=1e-12)
    left = slope(lambda t: linalg.svd(t)[0].sum(), a)[0]
    assert np.isnan(left).any(), "nor are singular vectors"

    def square(t: fg.Tensor) -> fg.Tensor:
        values, vectors = linalg.eigh(t + t.T)
        return (vectors * values**2) @ vectors.T

    assert np.isnan(slope(square, a)[0]).all(), "the vectors of repeated values are not smooth"


def test_cholesky_returns_the_symmetric_derivative() -> None:
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    g = np.array(slope(linalg.cholesky, a)[0])
    np.testing.assert_array_equal(g, g.T)
    check(lambda t: [linalg.cholesky((t + t.T) / 2)], [a], 2)


def test_pinv_and_lstsq_of_rank_deficient_matrices() -> None:
    rng = np.random.default_rng(0)
    b, c, y = rng.normal(size=(4, 2)), rng.normal(size=(2, 3)), rng.normal(size=4)
    low = b @ c
    np.testing.assert_allclose(linalg.pinv(fg.tensor(low)), np.linalg.pinv(low), atol=1e-12)
    check(lambda b, c: [linalg.pinv(b @ c, rcond=1e-9)], [b, c], 1)
    theirs = np.linalg.lstsq(low, y, rcond=None)
    ours = linalg.lstsq(fg.tensor(low), fg.tensor(y))
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-12)
    assert int(ours[2]) == 2
    check(lambda b, c, y: [linalg.lstsq(b @ c, y)[0]], [b, c, y], 1)
    for shape in ((2, 4), (4, 2)):
        a = rng.normal(size=shape)
        check(lambda a, y: [linalg.lstsq(a, y)[0]], [a, y[: shape[0]]], 2)


EINSUMS = {
    "repeated": ("ii->i", [(3, 3)]),
    "repeated and summed": ("ii", [(3, 3)]),
    "repeated across": ("ij,jj->i", [(2, 3), (3, 3)]),
    "missing": ("ij,k->k", [(2, 3), (4,)]),
    "nothing left": ("ij,ij->", [(2, 3), (2, 3)]),
    "broadcast": ("...ij,...jk->...ik", [(2, 1, 2, 3), (4, 3, 2)]),
    "broadcast and size one": ("ij,ij->ij", [(2, 1), (1, 3)]),
    "broadcast alone": ("...i->...", [(2, 3, 4)]),
    "implicit": ("ba", [(2, 3)]),
}


@pytest.mark.parametrize("name", EINSUMS)
def test_einsum_labels(name: str) -> None:
    labels, shapes = EINSUMS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    found = fg.einsum(labels, *map(fg.tensor, arrays))
    np.testing.assert_allclose(found, np.einsum(labels, *arrays), 1e-12)
    check(lambda *ts: [fg.einsum(labels, *ts)], arrays, 2)


def test_std_at_zero_and_variances_without_freedom() -> None:
    assert slope(fg.std, [2.0, 2.0]) == [[0.0, 0.0]]
    assert slope(fg.var, [3.0]) == [[0.0]]
    assert np.isnan(fg.var(fg.tensor([3.0]), ddof=1).item())
    assert slope(fg.std, [3.0]) == [[0.0]]


def test_cross_entropy_ignores_weighs_smooths_and_takes_soft_labels() -> None:
    logits = np.array([[1.0, 2.0, 0.5], [0.2, -1.0, 3.0], [0.0, 0.0, 1.0]])
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    target, weight = np.array([1, -100, 2]), np.array([0.5, 2.0, 1.5])
    x = fg.tensor(logits)
    plain = -(logs[0, 1] + logs[2, 2]) / 2
    np.testing.assert_allclose(fg.cross_entropy(x, target).item(), plain)
    weighed = -(2.0 * logs[0, 1] + 1.5 * logs[2, 2]) / 3.5
    np.testing.assert_allclose(fg.cross_entropy(x, target, weight=weight).item(), weighed)
    smooth = 0.9 * plain + 0.1 * -(logs[[0, 2]].mean(1)).mean()
    np.testing.assert_allclose(fg.cross_entropy(x, target, label_smoothing=0.1).item(), smooth)
    soft = np.array([[0.2, 0.8, 0.0], [1.0, 0.0, 0.0], [0.3, 0.3, 0.4]])
    np.testing.assert_allclose(fg.cross_entropy(x, soft).item(), -(soft * logs).sum(1).mean())
    gradient = np.array(slope(lambda t: fg.cross_entropy(t, target), logits)[0])
    np.testing.assert_array_equal(gradient[1], 0.0)
    for options in ({"weight": weight}, {"label_smoothing": 0.1}, {"reduction": "sum"}):
        check(lambda t, o=options: [fg.cross_entropy(t, target, **o)], [logits], 2)
    check(lambda t, s: [fg.cross_entropy(t, s)], [logits, soft], 2)
    everything = fg.cross_entropy(x, np.full(3, -100)).item()
    assert np.isnan(everything)


def test_batch_norm_in_training_and_in_evaluation() -> None:
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)
    mean, var = rng.normal(size=3), rng.uniform(0.5, 1.5, 3)
    running = fg.tensor(mean), fg.tensor(var)
    out = functional.batch_norm(fg.tensor(x), *running, w, b, training=True, momentum=0.1)
    expected = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * w + b
    np.testing.assert_allclose(out, expected, 1e-12)
    still = functional.batch_norm(fg.tensor(x), fg.tensor(mean), fg.tensor(var), w, b)
    np.testing.assert_allclose(still, (x - mean) / np.sqrt(var + 1e-5) * w + b, 1e-12)

    def trained(x: fg.Tensor, w: fg.Tensor, b: fg.Tensor) -> list[fg.Tensor]:
        return [functional.batch_norm(x, None, None, w, b, training=True)]

    check(trained, [x, w, b], 2)

    def evaluated(x: fg.Tensor, w: fg.Tensor, b: fg.Tensor) -> list[fg.Tensor]:
        return [functional.batch_norm(x, fg.tensor(mean), fg.tensor(var), w, b)]

    check(evaluated, [x, w, b], 2)


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "stride": {"stride": (2, 1)},
    "padding": {"padding": (1, 2)},
    "dilation": {"dilation": 2, "padding": 1},
    "groups": {"groups": 2},
    "all": {"stride": 2, "padding": 2, "dilation": (1, 2), "groups": 2},
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution_by_its_definition(name: str) -> None:
    """One element of the result, written out, and the derivatives."""
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(1, 4, 6, 7)), rng.normal(size=(2, 4, 3, 2)), rng.normal(size=2)
    options = CONVOLUTIONS[name]
    groups = options.get("groups", 1)
    w = w[:, : 4 // groups]
    found = functional.conv2d(fg.tensor(x), fg.tensor(w), fg.tensor(b), **options)

    def pair(key: str, default: int) -> tuple[int, int]:
        value = options.get(key, default)
        return value if isinstance(value, tuple) else (value, value)

    (si, sj), (pi, pj), (di, dj) = pair("stride", 1), pair("padding", 0), pair("dilation", 1)
    padded = np.pad(x, ((0, 0), (0, 0), (pi, pi), (pj, pj)))
    o, i, j = 1, found.shape[2] - 1, found.shape[3] - 1
    first = o // (2 // groups) * (4 // groups)
    total = b[o]
    for c, u, v in np.ndindex(w.shape[1:]):
        total += w[o, c, u, v] * padded[0, first + c, i * si + u * di, j * sj + v * dj]
    np.testing.assert_allclose(found.numpy()[0, o, i, j], total, 1e-12)
    check(lambda x, w, b: [functional.conv2d(x, w, b, **options)], [x, w, b], 2)


def test_average_gives_the_sums_of_weights_when_asked() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for options in ({"axis": 0}, {"axis": None}, {"axis": 1, "weights": np.array([1.0, 2.0, 3.0])}):
        ours = fg.average(fg.tensor(x), returned=True, **options)
        for one, other in zip(ours, np.average(x, returned=True, **options), strict=True):
            np.testing.assert_allclose(one, other)


def test_powers_at_the_edges_of_the_domain() -> None:
    assert slope(lambda x: x**0, [0.0, 2.0]) == [[0.0, 0.0]]
    assert slope(lambda x: x**0.5, [0.0]) == [[INF]]
    assert slope(lambda x: x**1, [0.0]) == [[1.0]]
    assert slope(lambda x: x**3, [-2.0]) == [[12.0]]
    assert slope(lambda y: 0.0**y, [0.0, 2.0]) == [[0.0, 0.0]]
    assert np.isnan(slope(lambda y: fg.power(-2.0, y), [3.0])[0]).all()
    assert slope(lambda x: fg.sqrt(x), [0.0]) == [[INF]]


def test_kinks_and_ties_follow_the_stated_convention() -> None:
    assert slope(fg.relu, [0.0, -0.0]) == [[0.0, 0.0]]
    assert slope(fg.abs, [0.0]) == [[0.0]]
    assert slope(lambda x: fg.clip(x, 0.0, 1.0), [0.0, 1.0, 2.0]) == [[1.0, 1.0, 0.0]]
    assert slope(fg.maximum, [1.0, 2.0], [1.0, 1.0]) == [[0.5, 1.0], [0.5, 0.0]]
    assert slope(fg.max, [1.0, 3.0, 3.0]) == [[0.0, 0.5, 0.5]]
    assert slope(lambda x: fg.max(x, axis=0), [[1.0, 2.0], [1.0, 0.0]]) == [
        [[0.5, 1.0], [0.5, 0.0]]
    ]
    assert slope(fg.sort, [2.0, 2.0, 1.0]) == [[1.0, 1.0, 1.0]]
    weights = np.array([1.0, 10.0, 100.0])
    assert slope(lambda x: fg.sort(x) * weights, [2.0, 2.0, 1.0]) == [[10.0, 100.0, 1.0]]
    assert slope(lambda x: fg.cummax(x)[0], [1.0, 1.0, 0.0]) == [[1.0, 2.0, 0.0]]


FOLDS = ("sum", "prod", "max", "min", "all", "any", "argmax", "argmin", "ptp", "count_nonzero")


@pytest.mark.parametrize("name", [*FOLDS, "nansum", "nanmax", "nanmin", "cumsum", "cumprod"])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_number_has_an_axis_zero_where_numpy_gives_it_one(name: str, axis: int) -> None:
    ours = getattr(fg, name)(leaf(3.0), axis=axis)
    theirs = np.asarray(getattr(np, name)(np.array(3.0), axis=axis))
    assert ours.shape == theirs.shape
    assert ours.tolist() == theirs.tolist()
    with pytest.raises(fg.errors.AxisError):
        getattr(fg, name)(leaf(3.0), axis=1)


def test_clip_by_nan_is_nan() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for bounds in ((NAN, 2.0), (0.0, NAN), (np.array([NAN, 0.0, 5.0]), 2.5)):
        np.testing.assert_array_equal(fg.clip(fg.tensor(x), *bounds), np.clip(x, *bounds))


def test_where_does_not_repair_the_branch_not_taken() -> None:
    x = leaf([0.0, 4.0])
    fg.where(x > 0, fg.sqrt(x), 0.0).sum().backward()
    assert x.grad is not None
    assert np.isnan(x.grad.numpy()[0])
    assert x.grad.numpy()[1] == 0.25


@pytest.mark.parametrize("dims", [(), (4,), (2, 3)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_what_is_no_number_in_an_ignored_row_reaches_nothing(
    dims: tuple[int, ...], smoothing: float
) -> None:
    logits = np.random.default_rng(0).normal(size=(3, 5, *dims))
    numbers = np.arange(3 * int(np.prod(dims))).reshape(3, *dims) % 5
    spoiled, blank = logits.copy(), logits.copy()
    np.moveaxis(spoiled, 1, -1)[numbers == 1] = np.nan
    np.moveaxis(blank, 1, -1)[numbers == 1] = 0.0
    found = []
    for values in (spoiled, blank):
        x = fg.tensor(values, requires_grad=True)
        loss = fg.nn.functional.cross_entropy(
            x, fg.tensor(numbers), ignore_index=1, label_smoothing=smoothing
        )
        loss.backward()
        assert x.grad is not None
        found.append((loss.item(), x.grad.numpy()))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("dims", [(0, 3), (0, 3, 2), (2, 3, 0)])
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_losses_without_rows_have_gradients(dims: tuple[int, ...], name: str) -> None:
    x = fg.zeros(*dims, requires_grad=True)
    numbers = fg.zeros(dims[0], *dims[2:], dtype="int64")
    loss = getattr(functional, name)(x, numbers, reduction="sum")
    (slope,) = fg.autograd.grad(loss, [x])
    assert loss.item() == 0.0
    assert slope.shape == x.shape
