"""NumPy's functions on tensors that are compositions of our operations."""

import io
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd._dispatch.function_table import COMPOSED, find_composition, get_numpy_function
from numpy_cases import ELSEWHERE, ROWS, Row

pytestmark = pytest.mark.filterwarnings("ignore")


def ids(row: Row) -> str:
    return row.path


def test_every_composition_has_a_row_or_a_reason() -> None:
    paths = {row.path for row in ROWS}.union(*(names.split() for names in ELSEWHERE.values()))
    known = {get_numpy_function(path) for path in paths}
    assert find_composition(len) is None  # every module that fills the table is loaded
    assert not [f for f in COMPOSED if f not in known]


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_values_shapes_and_dtypes_are_those_of_numpy(row: Row) -> None:
    expected = row.call(*row.arrays)
    found = row.call(*(fg.tensor(a, requires_grad=True) for a in row.arrays))
    if isinstance(expected, np.ndarray | np.floating) and row.derivative:
        assert isinstance(found, fg.Tensor)
        assert found.requires_grad
        assert found.dtype == expected.dtype
    if isinstance(found, fg.Tensor):
        assert tuple(found.shape) == expected.shape
        assert_allclose(found.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    else:
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("row", [r for r in ROWS if r.derivative], ids=ids)
def test_derivatives_of_first_and_second_order(row: Row) -> None:
    arrays = [np.where(np.isnan(a), np.arange(a.size).reshape(a.shape) / 7, a) for a in row.arrays]
    fg.gradcheck(row.call, tuple(fg.tensor(a, requires_grad=True) for a in arrays))
    fg.check_grads(lambda *a: np.sum(np.sin(row.call(*a))), "rev", 2, rtol=1e-3)(*arrays)


@pytest.mark.parametrize("row", [r for r in ROWS if r.derivative], ids=ids)
def test_inside_a_transform(row: Row) -> None:
    slope = fg.grad(lambda a, *rest: np.sum(row.call(a, *rest)))(*row.arrays)
    assert slope.shape == row.arrays[0].shape


@pytest.mark.parametrize("row", [r for r in ROWS if r.path != "polydiv"], ids=ids)
def test_dtypes_of_float32_are_those_of_numpy(row: Row) -> None:
    arrays = [a.astype(np.float32) for a in row.arrays]
    expected, found = row.call(*arrays), row.call(*map(fg.tensor, arrays))
    if isinstance(found, fg.Tensor):
        assert found.dtype == np.asarray(expected).dtype
        assert_allclose(found.numpy(), expected, rtol=2e-3, atol=2e-3)


def test_nan_gets_no_gradient() -> None:
    a = np.array([1.0, np.nan, 3.0, 2.0])
    for f in (np.nanprod, np.nanmedian, np.nancumsum):
        slope = fg.grad(lambda x, f=f: np.sum(f(x)))(a)
        assert slope[1] == 0, f
        assert np.all(np.isfinite(slope)), f


class TestWriting:
    """Functions whose first argument changes."""

    @pytest.mark.parametrize(
        "write",
        [
            lambda a, v: np.copyto(a, v[:3].reshape(3, 1)),
            lambda a, v: np.copyto(a, v[0], where=np.eye(3, 4, dtype=bool)),
            lambda a, v: np.putmask(a, np.arange(12).reshape(3, 4) % 3 == 0, v),
            lambda a, v: np.place(a, np.arange(12).reshape(3, 4) % 3 == 0, v[:2]),
            lambda a, v: np.put(a, [1, -1, 4], v),
            lambda a, v: np.put(a, [1, 14], v, mode="wrap"),
            lambda a, v: np.fill_diagonal(a, v[:3]),
            lambda a, v: np.put_along_axis(a, np.array([[1], [0], [3]]), v[:3].reshape(3, 1), 1),
        ],
    )
    def test_a_tensor_takes_what_numpy_writes(self, write: Any) -> None:
        base, source = np.arange(12.0).reshape(3, 4), np.array([10.0, 20, 30, 40])
        expected = base.copy()
        write(expected, source)
        target, v = fg.tensor(base), fg.tensor(source, requires_grad=True)
        write(target, v)
        assert_allclose(target.detach().numpy(), expected)
        (target * np.arange(12.0).reshape(3, 4)).sum().backward()

        def total(values: np.ndarray) -> float:
            a = base.copy()
            write(a, values)
            return float((a * np.arange(12.0).reshape(3, 4)).sum())

        numeric = [(total(source + d) - total(source - d)) / 2e-3 for d in 1e-3 * np.eye(4)]
        assert_allclose(v.grad.numpy(), numeric, atol=1e-8)

    def test_an_array_takes_no_recorded_value(self) -> None:
        a, v = np.zeros(3), fg.ones(3, requires_grad=True)
        for write in (
            lambda: np.copyto(a, v),
            lambda: np.put(a, [0], v),
            lambda: np.place(a, a == 0, v),
            lambda: np.putmask(a, a == 0, v),
            lambda: np.fill_diagonal(a, v),
            lambda: np.put_along_axis(a, np.array([0]), v[:1], 0),
        ):
            with pytest.raises((fg.errors.GraphCutError, ValueError)):
                write()
        assert not a.any()
        np.copyto(a, v.detach())
        assert a.tolist() == [1, 1, 1]


class TestRefusals:
    """What has no derivative says so at the call, and works where none is needed."""

    @pytest.mark.parametrize(
        ("call", "reason"),
        [
            (lambda t: np.roots(t), "complex"),
            (lambda t: np.nextafter(t, 1.0), "bits"),
            (lambda t: np.spacing(t), "bits"),
            (lambda t: np.histogram(t), "no derivative"),
            (lambda t: np.union1d(t, t), "no derivative"),
            (lambda t: np.intersect1d(t, t), "no derivative"),
        ],
    )
    def test_a_recorded_argument_is_refused_with_the_reason(self, call: Any, reason: str) -> None:
        t = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with pytest.raises(fg.errors.NotDifferentiableError, match=reason):
            call(t)
        with pytest.raises(NotImplementedError, match=reason):
            fg.grad(call)(np.array([1.0, 2.0, 3.0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(t.detach())
            with fg.no_grad():
                call(t)

    def test_arguments_that_cannot_be_honoured_are_refused(self) -> None:
        t = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with pytest.raises((ValueError, TypeError), match="tensors"):
            np.polyfit(t, t, 1, full=True)

    def test_an_insertion_that_would_round_a_recorded_value(self) -> None:
        with pytest.raises(NotImplementedError, match="int64"):
            np.insert(fg.arange(3), 1, fg.tensor(0.5, requires_grad=True))

    def test_saving_is_an_explicit_way_out(self) -> None:
        t = fg.tensor([1.0, 2.0], requires_grad=True)
        for save in (np.save, np.savez, np.savetxt, np.savez_compressed):
            file = io.BytesIO()
            save(file, t)
            assert file.tell()


class TestOrder:
    """`order="F"`: the first axis runs fastest."""

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_reshape_ravel_and_flatten(self, order: Any) -> None:
        a = np.arange(24.0).reshape(2, 3, 4)
        for call in (
            lambda x: np.reshape(x, (4, -1), order=order),
            lambda x: x.reshape((6, 4), order=order),
            lambda x: x.reshape(6, 4, order=order),
            lambda x: np.ravel(x, order=order),
            lambda x: np.ravel(x, order),
            lambda x: x.ravel(order=order),
            lambda x: x.flatten(order=order),
        ):
            assert_allclose(call(fg.tensor(a)).numpy(), call(a))
            fg.check_grads(call, "rev", 1)(a)

    def test_orders_of_memory(self) -> None:
        a = np.arange(6.0).reshape(2, 3)
        for name, call in {
            "ravel": lambda x, order: x.ravel(order=order),
            "reshape": lambda x, order: fg.reshape(x, (3, 2), order=order),
        }.items():
            for order in ("C", "F", "A", *("K" * (name == "ravel"))):
                theirs = getattr(np, name)(a, *((3, 2),) * (name == "reshape"), order=order)
                np.testing.assert_array_equal(call(fg.tensor(a), order), theirs, f"{name} {order}")


def test_a_size_is_a_number_to_operators() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    (x * x.size + x.size / x).sum().backward()
    assert x.grad.tolist() == [0.0, 1.5]


def test_einsum_with_numbered_axes() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for call in (
        lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        lambda a, b: np.einsum(a, [0, 1], b, [1, 2]),
        lambda a, b: np.einsum(a, [..., 1], [...]) + b.sum(),
    ):
        assert_allclose(call(fg.tensor(a), fg.tensor(b)).numpy(), call(a, b))


def test_real_tensors_have_the_parts_of_complex_ones() -> None:
    x = fg.tensor([1.0, -2.0], requires_grad=True)
    assert x.real is x
    assert x.conj() is x
    assert x.conjugate() is x
    assert x.imag.tolist() == [0.0, 0.0]
    for call in (lambda x: 1j * x, lambda x: x / 2j, lambda x: np.add(x, 1j)):
        assert call(x).tolist() == call(np.array([1.0, -2.0])).tolist()


def test_sizes_of_what_requires_grad_are_plain_numbers() -> None:
    x = fg.ones(2, 3, requires_grad=True)
    for call in (np.size, lambda x: np.size(x, 1), lambda x: np.size(x, axis=0)):
        assert call(x) == call(np.ones((2, 3)))
        assert isinstance(call(x), int)
    assert np.einsum_path("ij,ij->i", x, x) == np.einsum_path("ij,ij->i", np.ones((2, 3)), x)


@pytest.mark.parametrize("grad", [False, True])
def test_full_like_of_tensors_repeats_them_with_their_gradients(grad: bool) -> None:
    x, row = fg.ones(2, 3), fg.tensor([1.0, 2.0, 3.0], requires_grad=grad)
    for value in (row, row[1], row[:1]):
        made = np.full_like(x, value)
        assert_allclose(made.detach(), np.full_like(np.ones((2, 3)), value.detach().numpy()))
        assert made.requires_grad == grad
    assert np.full_like(x, row[0], dtype=np.float32).dtype == np.float32
    assert np.full_like(fg.tensor([1, 2]), row[1]).dtype == np.int64
    slope = fg.grad(lambda x: np.full_like(x, x[0] ** 2).sum())(np.array([3.0, 1.0]))
    assert slope.tolist() == [12.0, 0.0]


def test_the_period_of_unwrap_has_a_gradient() -> None:
    x, period = np.array([0.0, 3.0, 1.0, 9.0]), np.array(2.5)
    slopes = fg.grad(lambda p: (np.unwrap(fg.tensor(x), period=p) * x).sum())(period)
    rise = [(np.unwrap(x, period=2.5 + h) * x).sum() for h in (1e-6, -1e-6)]
    assert_allclose(slopes, (rise[0] - rise[1]) / 2e-6, rtol=1e-6)
