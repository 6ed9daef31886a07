"""Functions of numbers and LU factors under PyTorch's names, and `keepdim` by position.

Values of PyTorch's that NumPy has not are written out.
"""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import ferrograd as fg
from ferrograd.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

R = np.random.default_rng(5)
X = R.normal(size=(3, 4))
LEFT = R.normal(size=(2, 4, 4))


def leaf(x: Any) -> fg.Tensor:
    return fg.tensor(x, requires_grad=True)


def same(found: Any, want: Any) -> None:
    assert isinstance(found, fg.Tensor)
    np.testing.assert_allclose(found.detach().numpy(), want, rtol=1e-12, atol=1e-14)
    assert found.dtype == np.asarray(want).dtype


class TestNumbers:
    @pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
    def test_floats_are_taken_apart_with_a_derivative(self, scale: float) -> None:
        x = leaf(X * scale)
        mantissa, exponent = fg.frexp(x)
        want = np.frexp(X * scale)
        same(mantissa, want[0])
        same(exponent, want[1])
        (slope,) = fg.autograd.grad(mantissa.sum(), x)
        np.testing.assert_allclose(slope * (X * scale), want[0], rtol=1e-12)
        same(fg.frexp(x.detach()).mantissa, want[0])
        assert x.frexp().exponent.dtype == np.int32

    def test_powers_of_two_of_single_floats_stay_single(self) -> None:
        same(fg.ldexp(leaf(X), [1, -2, 3, 0]), np.ldexp(X, [1, -2, 3, 0]))
        single = fg.tensor(X.astype(np.float32)).ldexp(fg.tensor([1, -2, 3, 0]))
        same(single, np.ldexp(X.astype(np.float32), [1, -2, 3, 0]))
        fg.gradcheck(lambda x: x.ldexp(-2), (leaf(X),))

    def test_whole_numbers(self) -> None:
        a = fg.tensor([4, -9, 0])
        assert (fg.gcd(a, 6).tolist(), a.lcm(fg.tensor(6)).tolist()) == ([2, 3, 6], [12, 18, 0])
        assert [k.tolist() for k in fg.unravel_index(fg.tensor([4, 6]), (3, 4))] == [[1, 1], [0, 2]]
        with pytest.raises(DTypeError, match="gcd: an operand is float64; give whole numbers"):
            fg.gcd(fg.ones(1), a)

    def test_parts_and_infinities(self) -> None:
        x = leaf(3 * X)
        same(x.frac(), np.modf(3 * X)[0])
        fg.gradcheck(fg.frac, (x,))
        assert fg.tensor([-1.5]).frac_().tolist() == [-0.5]
        ends = fg.tensor([1.0, np.inf, -np.inf, np.nan])
        assert fg.isposinf(ends).tolist() == [False, True, False, False]
        assert ends.isneginf().tolist() == [False, False, True, False]
        same(fg.float_power(fg.tensor([2, 3]), -1), np.float_power([2, 3], -1))
        same(fg.positive(x), 3 * X)
        with pytest.raises(DTypeError, match="positive: the tensor is bool"):
            fg.positive(fg.tensor([True]))

    def test_logit_takes_a_limit(self) -> None:
        x = leaf([0.0, 0.3, 1.0])
        y = fg.logit(x, eps=0.1)
        same(y, np.log([0.1, 0.3, 0.9]) - np.log([0.9, 0.7, 0.1]))
        (slope,) = fg.autograd.grad(y.sum(), x)
        np.testing.assert_allclose(slope, [0.0, 1 / 0.21, 0.0])
        assert x.logit(0.1).tolist() == y.tolist()
        assert fg.logit(x)[0].item() == -np.inf

    def test_of_numpy(self) -> None:
        holes = np.where(X > 1, np.nan, X)
        same(
            fg.nanquantile(leaf(holes), 0.3, 1, True), np.nanquantile(holes, 0.3, 1, keepdims=True)
        )
        v = R.normal(size=4)
        same(fg.vander(leaf(v), 3), np.vander(v, 3))
        same(fg.linalg.vander(leaf(X), N=3), X[..., None] ** np.arange(3))
        fg.gradcheck(lambda x: fg.linalg.vander(x), (leaf(X),))
        slopes = fg.gradient(leaf(X), spacing=(2.0, np.array([0.0, 1.0, 3.0, 4.0])))
        for found, want in zip(slopes, np.gradient(X, 2.0, [0.0, 1.0, 3.0, 4.0]), strict=True):
            same(found, want)
        (only,) = fg.gradient(leaf(X), dim=1, edge_order=2)
        same(only, np.gradient(X, axis=1, edge_order=2))
        area = fg.cumulative_trapezoid(leaf(X), dx=0.5, dim=0)
        same(area, np.cumsum((X[1:] + X[:-1]) / 4, 0))
        same(fg.t(fg.tensor(X)), X.T)
        same(fg.tensor(X * 1j).adjoint(), (X * 1j).conj().T)

    @pytest.mark.parametrize("p", [1, 2, 3.5])
    @pytest.mark.parametrize("dim", [0, -1])
    def test_norms_have_a_bound(self, p: float, dim: int) -> None:
        other = tuple(k for k in range(2) if k != dim % 2)
        size = np.sum(abs(X) ** p, axis=other, keepdims=True) ** (1 / p)
        want = X * np.where(size > 1.5, 1.5 / (size + 1e-7), 1.0)
        same(fg.renorm(leaf(X), p, dim, 1.5), want)
        fg.gradcheck(lambda x: x.renorm(p, dim, 1.5), (leaf(X),))

    def test_bounds_of_norms_that_are_none(self) -> None:
        with pytest.raises(ShapeError, match=r"renorm: the tensor has shape \(3,\)"):
            fg.renorm(fg.ones(3), 2, 0, 1.0)
        with pytest.raises(ArgumentError, match="renorm: p is 0 and maxnorm 1"):
            fg.renorm(fg.ones(3, 2), 0, 0, 1)

    def test_strides_add_up_gradients_of_places_that_repeat(self) -> None:
        x = leaf(X)
        windows = fg.as_strided(x, (2, 3, 3), (4, 1, 1), 1)
        strides = tuple(8 * k for k in (4, 1, 1))
        same(windows, np.lib.stride_tricks.as_strided(X.ravel()[1:], (2, 3, 3), strides))
        (count,) = fg.autograd.grad(windows.sum(), x)
        assert count.tolist() == [[0, 1, 2, 3], [2, 2, 2, 3], [2, 1, 0, 0]]
        assert x.as_strided((), ()).item() == X[0, 0]
        with pytest.raises(ArgumentError, match="reach places 0 to 16 of 12 elements"):
            x.as_strided((3, 3), (4, 4))
        with pytest.raises(ArgumentError, match=r"strides \(1, 4\); give as many"):
            x.T.as_strided((3,), (1,))


class TestFactors:
    @pytest.mark.parametrize(
        "a",
        [LEFT[0], LEFT, LEFT + 1j * LEFT[::-1], R.normal(size=(2, 5, 3)), R.normal(size=(3, 5))],
    )
    def test_are_scipy_s(self, a: Any) -> None:
        factors, pivots = fg.linalg.lu_factor(leaf(a))
        p, lower, upper = fg.linalg.lu(leaf(a))
        assert pivots.dtype == np.int32
        for at in np.ndindex(a.shape[:-2]):
            want = scipy.linalg.lu_factor(a[at])
            same(factors[at], want[0])
            assert (pivots[at].numpy() - 1).tolist() == want[1].tolist()
            for found, part in zip((p, lower, upper), scipy.linalg.lu(a[at]), strict=True):
                np.testing.assert_allclose(found[at].detach(), part, rtol=1e-12, atol=1e-13)
        fg.gradcheck(lambda a: fg.linalg.lu(a)[1:], (leaf(a),))
        fg.gradgradcheck(lambda a: fg.linalg.lu_factor(a).LU, (leaf(a),))

    @pytest.mark.parametrize("adjoint", [False, True])
    @pytest.mark.parametrize("kind", [1, 1 + 0.5j])
    def test_solve(self, adjoint: bool, kind: complex) -> None:
        a, b = LEFT * kind, R.normal(size=(2, 4, 3))
        matrix = np.swapaxes(a.conj(), -1, -2) if adjoint else a

        def solved(a: Any, b: Any, left: bool = True) -> Any:
            return fg.linalg.lu_solve(*fg.linalg.lu_factor(a), b, left=left, adjoint=adjoint)

        want = np.linalg.solve(matrix, b)
        np.testing.assert_allclose(solved(fg.tensor(a), fg.tensor(b)), want, rtol=1e-10)
        turned = np.swapaxes(b, -1, -2)
        np.testing.assert_allclose(
            matrix.swapaxes(-1, -2) @ solved(fg.tensor(a), turned, left=False).numpy().mT,
            b,
            atol=1e-9,
        )
        fg.gradcheck(solved, (leaf(a), leaf(b)))

    @pytest.mark.parametrize("shape", [(70, 70), (90, 40), (40, 90), (2, 33, 33), (0, 3), (3, 0)])
    @pytest.mark.parametrize("kind", ["f8", "f4", "c16"])
    def test_of_any_size(self, shape: Any, kind: str) -> None:
        steps = min(shape[-2:])
        a = R.normal(size=(*shape[:-2], *shape[:-3:-1])).astype(kind).mT
        if kind == "c16":
            a = a * (1 + 0.5j) - a[::-1]
        p, lower, upper = (part.numpy() for part in fg.linalg.lu(a))
        assert p.dtype == lower.dtype == upper.dtype == a.dtype
        np.testing.assert_allclose(p @ lower @ upper, a, atol=1e-4 if kind == "f4" else 1e-11)
        np.testing.assert_array_equal(p.sum(-1), np.ones(a.shape[:-1]))
        packed, pivots = fg.linalg.lu_factor(a)
        assert pivots.shape == (*a.shape[:-2], steps)
        np.testing.assert_array_equal(np.triu(packed.numpy()[..., :steps, :]), upper)
        np.testing.assert_array_equal(
            np.tril(packed.numpy()[..., :steps], -1) + np.eye(shape[-2], steps), lower
        )

    def test_of_singular_matrices_keep_zeros(self) -> None:
        a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 5.0]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want, pivots = scipy.linalg.lu_factor(a)
        found = fg.linalg.lu_factor(a)
        same(found.LU, want)
        assert (found.pivots.numpy() - 1).tolist() == pivots.tolist()
        wide = fg.linalg.lu(np.zeros((2, 3)))
        assert wide.U.tolist() == np.zeros((2, 3)).tolist()
        with pytest.raises(np.linalg.LinAlgError, match="lu_solve: the matrix is singular"):
            fg.linalg.lu_solve(*found, np.ones((3, 1)))
        with pytest.raises(ArgumentError, match="give those of lu_factor"):
            fg.linalg.lu_solve(found.LU, [1, 2, 4], np.ones((3, 1)))

    @pytest.mark.parametrize("shape", [(40, 40), (45, 20), (20, 45)])
    def test_derivatives_of_blocks(self, shape: tuple[int, int]) -> None:
        a, g, d = (R.normal(size=shape) for _ in range(3))

        def of(a: Any) -> Any:
            return (fg.linalg.lu_factor(a).LU * g).sum()

        (slope,) = fg.autograd.grad(of(x := leaf(a)), x)
        step = 1e-6
        change = (of(a + step * d) - of(a - step * d)).item() / (2 * step)
        np.testing.assert_allclose((slope.numpy() * d).sum(), change, rtol=1e-4)

    def test_factors_are_shared_by_right_sides(self) -> None:
        factors = fg.linalg.lu_factor(LEFT[0])
        b = R.normal(size=(3, 2, 4, 3))
        want = np.linalg.solve(LEFT[0], b)
        np.testing.assert_allclose(fg.linalg.lu_solve(*factors, b), want, rtol=1e-10)
        packed = leaf(factors.LU.numpy())
        whole = fg.jacobian(lambda b: fg.linalg.lu_solve(packed, factors.pivots, b))(b[0, 0])
        inverse = np.linalg.inv(LEFT[0])
        np.testing.assert_allclose(whole, np.einsum("ik,jl->ijkl", inverse, np.eye(3)), atol=1e-10)
        for adjoint in (False, True):
            fg.gradgradcheck(
                lambda lu, b, adjoint=adjoint: fg.linalg.lu_solve(
                    lu, factors.pivots, b, adjoint=adjoint
                ),
                (packed, leaf(b[0, 0])),
            )

    def test_without_pivots(self) -> None:
        assert fg.linalg.lu([[1, 2], [4, 3]]).U.tolist() == [[4.0, 3.0], [0.0, 1.25]]
        a = LEFT[0] + 5 * np.eye(4)
        p, lower, upper = fg.linalg.lu(a, pivot=False)
        assert p.shape == (0,)
        np.testing.assert_allclose(lower.numpy() @ upper.numpy(), a)
        assert fg.linalg.lu_factor(a, pivot=False).pivots.tolist() == [1, 2, 3, 4]

    def test_refusals(self) -> None:
        with pytest.raises(ShapeError, match=r"lu: an operand of shape \(4,\); give a matrix"):
            fg.linalg.lu(LEFT[0, 0])
        with pytest.raises(ArgumentError, match="give those of lu_factor, from 1 on"):
            fg.linalg.lu_solve(LEFT[0], [0, 1, 2, 3], LEFT[0])

    def test_systems_from_the_right(self) -> None:
        b = R.normal(size=(2, 3, 4))
        found = fg.linalg.solve(LEFT, b, left=False)
        np.testing.assert_allclose(found.numpy() @ LEFT, b, atol=1e-12)
        vector = fg.linalg.solve(LEFT[0], b[0, 0], left=False)
        np.testing.assert_allclose(vector.numpy() @ LEFT[0], b[0, 0], atol=1e-12)
        fg.gradcheck(lambda a, b: fg.linalg.solve(a, b, left=False), (leaf(LEFT), leaf(b)))


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "amax", "amin", "argmax", "all", "any", "logsumexp", "nansum"]
)
def test_keepdim_may_go_by_position(name: str) -> None:
    x = fg.tensor(X)
    want = getattr(x, name)(axis=1, keepdims=True)
    for found in (getattr(x, name)(1, True), getattr(fg, name)(x, 1, True)):
        assert found.shape == (3, 1)
        assert found.tolist() == want.tolist()
    with pytest.raises(ArgumentTypeError, match="takes at most 2 arguments by position"):
        getattr(x, name)(1, 1)


@pytest.mark.parametrize("name", ["max", "median", "std", "var", "std_mean"])
def test_where_libraries_differ_it_may_not(name: str) -> None:
    with pytest.raises(ArgumentTypeError, match="takes at most 2 arguments by position"):
        getattr(fg.tensor(X), name)(1, True)


def test_norms_over_no_axes_are_of_all() -> None:
    x = fg.tensor(X)
    assert x.norm(2, 1, True).shape == (3, 1)
    assert fg.norm(x, dim=()).item() == fg.norm(x).item()
    assert fg.norm(x, 3, (), True).shape == (1, 1)
    assert fg.linalg.vector_norm(x, axis=()).shape == (3, 4)
    with pytest.raises(ShapeError, match="norm: zero elements have no extreme"):
        fg.norm(fg.zeros(0), -np.inf)
    assert fg.norm(fg.zeros(0), -1).item() == np.inf


def test_a_grid_of_a_list_of_tensors() -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    for given in ([a, b], (a, b)):
        rows, columns = fg.meshgrid(given, indexing="ij")
        assert rows.tolist() == [[1.0] * 3, [2.0] * 3]
        assert fg.autograd.grad((rows * columns).sum(), a)[0].tolist() == [12.0, 12.0]
    assert [x.tolist() for x in fg.meshgrid([1, 2])] == [[1, 2]]


class TestManyDistances:
    """Euclidean distances of so many pairs that their differences are not laid out."""

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shapes", [((300, 3), (400, 3)), ((3, 40, 5), (1, 60, 5))])
    @pytest.mark.parametrize("origin", [0.0, 1e4])
    def test_values_and_gradients(self, dtype: str, shapes: Any, origin: float) -> None:
        a, b = ((R.normal(size=shape) + origin).astype(dtype) for shape in shapes)
        x, y = leaf(a), leaf(b)
        found = fg.cdist(x, y)
        apart = a.astype(float)[..., :, None, :] - b.astype(float)[..., None, :, :]
        size = np.sqrt((apart**2).sum(-1))
        close = {"rtol": 1e-5, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(found.detach().numpy(), size, **close)
        first, second = fg.autograd.grad(found.sum(), (x, y))
        slopes = apart / size[..., None]
        np.testing.assert_allclose(first.numpy(), slopes.sum(-2), **close)
        lead = tuple(range(slopes.ndim - 3)) if y.shape[0] == 1 else ()
        want = -slopes.sum((*lead, -3)).reshape(b.shape)
        np.testing.assert_allclose(second.numpy(), want, **close)

    def test_second_derivatives_and_equal_rows(self) -> None:
        x, y = leaf(R.normal(size=(30, 4))), leaf(R.normal(size=(90, 4)))
        fg.gradcheck(fg.cdist, (x, y))
        (slope,) = fg.autograd.grad(fg.cdist(x, y).square().sum(), x, create_graph=True)
        (curve,) = fg.autograd.grad(slope.sum(), x)
        np.testing.assert_allclose(curve, np.full((30, 4), 2.0 * 90), rtol=1e-10)
        same = fg.cdist(y, y)
        assert same.diagonal().tolist() == [0.0] * 90
        assert fg.autograd.grad(same.sum(), y)[0].isfinite().all()

    def test_compiled(self) -> None:
        y = R.normal(size=(90, 4))
        compiled = fg.compile(fg.value_and_grad(lambda x: (fg.cdist(x, fg.tensor(y)) ** 3).sum()))
        for scale in (1.0, 2.0):
            x = R.normal(size=(30, 4)) * scale
            value, slope = compiled(x)
            apart = x[:, None] - y
            size = np.linalg.norm(apart, axis=-1)
            np.testing.assert_allclose(value, (size**3).sum())
            np.testing.assert_allclose(slope, (3 * size[..., None] * apart).sum(1))


@pytest.mark.parametrize("index", [[0, 0, -1], [[0, 4], [4, 1]]])
def test_rows_are_added_where_an_index_repeats(index: Any) -> None:
    x, values = leaf(R.normal(size=(5, 2))), leaf(R.normal(size=(*np.shape(index), 2)))
    found = fg.index_put(x, (fg.tensor(index),), values, accumulate=True)
    want = x.detach().numpy().copy()
    np.add.at(want, np.asarray(index), values.detach().numpy())
    same(found, want)
    assert (
        fg.autograd.grad((found * 2).sum(), values)[0].tolist()
        == np.full(values.shape, 2.0).tolist()
    )
    same(
        fg.index_put(x, (fg.tensor(index),), 2.0, accumulate=True) - x,
        np.bincount(np.asarray(index).ravel() % 5, minlength=5)[:, None] * np.full(2, 2.0),
    )


def test_factors_refuse_rows_that_do_not_fit() -> None:
    pivots = fg.tensor([1, 2])
    for left, sides in ((True, fg.ones(3, 1)), (False, fg.ones(1, 3))):
        with pytest.raises(ShapeError, match="lu_solve: LU has shape"):
            fg.linalg.lu_solve(fg.eye(2), pivots, sides, left=left)


def test_running_integrals_ask_for_one_place_for_each_value() -> None:
    y = fg.tensor([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ShapeError, match="4 elements and x 2"):
        fg.cumulative_trapezoid(y, fg.tensor([0.0, 5.0]))


def test_narrow_floats_stay_narrow() -> None:
    x = fg.ones(4, dtype="float32")
    assert fg.cumulative_trapezoid(x).dtype == np.float32
    assert fg.linalg.vander(x).dtype == np.float32


def test_nothing_is_sampled_from_nothing() -> None:
    sample = fg.nn.functional.grid_sample
    empty = sample(fg.zeros(0, 3, 4, 5), fg.zeros(0, 2, 2, 2), align_corners=False)
    assert empty.shape == (0, 3, 2, 2)
    assert sample(fg.zeros(2, 0, 4, 5), fg.zeros(2, 0, 2, 2), align_corners=False).shape == (
        2,
        0,
        0,
        2,
    )


@pytest.mark.parametrize("antialias", [False, True])
def test_an_axis_that_keeps_its_size_is_copied(antialias: bool) -> None:
    image = fg.arange(12.0).reshape(1, 1, 3, 4)
    resize = fg.nn.functional.interpolate
    found = resize(image, scale_factor=(1.3, 2.0), mode="bilinear", antialias=antialias)
    expected = resize(image, size=(3, 8), mode="bilinear", antialias=antialias)
    assert found.tolist() == expected.tolist()
