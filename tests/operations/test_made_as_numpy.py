"""What is made of plain numbers has the bits that NumPy's functions give.

Creation functions and draws take shorter ways than NumPy's functions of the same names; conversions
of small arrays are the core's own.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy

ENDS = [
    (0, 1),
    (0.0, 1.0),
    (-3, 7),
    (0.1, -0.3),
    (1e300, -1e300),
    (2.5, 2.5),
    (0, 5e-324),
    (True, 3),
]
FLOATS = ["float64", "float32", "float16"]


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "complex128"])
@pytest.mark.parametrize("ends", ENDS)
def test_evenly_spaced_numbers_are_those_of_numpy(ends: Any, dtype: str) -> None:
    start, stop = ends
    for num in (0, 1, 2, 5, 50):
        for endpoint in (True, False):
            with np.errstate(all="ignore"):
                ours = fg.linspace(start, stop, num, endpoint=endpoint, dtype=dtype).numpy()
                theirs = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes(), (num, endpoint)


def test_ends_that_are_no_plain_numbers_take_the_way_of_numpy() -> None:
    beyond = 2**53 + 1
    others: list[Any] = [(np.float32(0), 1), (0, beyond), (-(2**60), 1)]
    for start, stop in others:
        assert np.array_equal(fg.linspace(start, stop, 7), np.linspace(start, stop, 7))
    with pytest.raises(fg.errors.DTypeError, match="complex"):
        fg.linspace(0, 1j, 3)  # type: ignore[arg-type]


def test_identity_matrices_are_new_ones() -> None:
    first = fg.eye(3)
    first[0, 1] = 7.0
    assert np.array_equal(fg.eye(3), np.eye(3))
    for n, m, dtype in ((2, 3, "int8"), (3, 2, "bool"), (0, 4, "float32"), (60, 60, "complex64")):
        made = fg.eye(n, m, dtype=dtype).numpy()
        assert made.dtype == dtype
        assert np.array_equal(made, np.eye(n, m, dtype=dtype))


def test_blocks_stand_along_the_diagonal() -> None:
    a, b = fg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), fg.tensor([5, 6, 7])
    made = fg.block_diag(a, 8.0, b)
    assert made.shape == (4, 6)
    assert made.detach().tolist()[2:] == [[0, 0, 8, 0, 0, 0], [0, 0, 0, 5, 6, 7]]
    (made * fg.arange(24.0).reshape((4, 6))).sum().backward()
    assert a.grad is not None
    assert a.grad.tolist() == [[0.0, 1.0], [6.0, 7.0]]
    assert fg.block_diag(b).dtype == b.dtype


@pytest.mark.parametrize(("count", "replacement"), [(1, False), (1, True), (5, True), (3, False)])
def test_choices_are_those_of_the_generator(count: int, replacement: bool) -> None:
    for seed in range(5):
        weights = np.random.default_rng(seed).random((4, 6))
        weights[:, 2] = 0.0
        rng = np.random.default_rng(seed)
        expected = [rng.choice(6, count, replacement, row / row.sum()) for row in weights]
        source = np.random.default_rng(seed)
        ours = fg.multinomial(fg.tensor(weights), count, replacement, generator=source)
        assert np.array_equal(ours, expected)


@pytest.mark.parametrize("to", [*FLOATS, "int32", "complex64"])
@pytest.mark.parametrize("own", ["float64", "float32", "int64", "int8", "uint64", "bool"])
def test_small_arrays_are_converted_as_by_numpy(own: str, to: str) -> None:
    given = np.array([0, 1, 2, 3, 127, 100]).astype(own)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-320, 0.1, 1 + 1e-9])
    for array in (
        given,
        given[::2],
        given.reshape(2, 3).T,
        given[:0],
        *([special.astype(own)] if own.startswith("float") and not to.startswith("int") else []),
    ):
        ours = fg.tensor(array, dtype=to).numpy()
        assert ours.tobytes() == array.astype(to).tobytes()
        assert fg.asarray(array, dtype=to).dtype == to


def test_numbers_beyond_a_narrower_float_still_warn() -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        made = fg.tensor(np.array([1e300, 1.0]), dtype="float32")
    assert made.tolist() == [np.inf, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.tensor(np.array([np.inf, 3e38]), dtype="float32")


def test_sizes_answer_for_every_shape() -> None:
    for shape in ((), (0,), (3,), (2, 3), (2, 0, 4)):
        x = fg.zeros(shape)
        assert x.size == np.prod(shape, dtype=int)
        assert x.size() == shape
        assert [x.size(i) for i in range(-len(shape), 0)] == list(shape)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_class_losses_agree_with_and_without_a_row_to_ignore(reduction: str) -> None:
    logits = fg.tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)
    classes, ignored = fg.tensor([0, 2, 1, 1]), fg.tensor([0, 2, 1, -100])
    for loss in (fg.nn.functional.cross_entropy, fg.nn.functional.nll_loss):
        (whole,) = fg.autograd.grad(
            loss(logits[:3], classes[:3], reduction=reduction).sum(), [logits]
        )
        (part,) = fg.autograd.grad(loss(logits, ignored, reduction=reduction).sum(), [logits])
        np.testing.assert_allclose(part.numpy(), whole.numpy(), rtol=1e-12)
        assert fg.any(whole[:3] != 0)
        assert not fg.any(whole[3])


def test_arrays_that_own_their_memory_where_those_of_numpy_do() -> None:
    """Views and copies of `ferrograd.numpy`, of tensors, with and without a history."""
    functions = {
        name: (getattr(np, name), getattr(ferrograd.numpy, name))
        for name in ("ravel", "ascontiguousarray", "asarray_chkfinite", "block", "conj", "copy")
    }
    plain = np.arange(6.0).reshape(2, 3)
    for grad in (False, True):
        whole = fg.tensor(plain, requires_grad=grad)
        for part in ("x", "x.T", "x[:, :2]", "x[0]", "x[1, 1, ...]"):
            x, a = eval(part, {"x": whole}), eval(part, {"x": plain})
            for name, (theirs, ours) in functions.items():
                found, expected = ours(x), theirs(a)
                assert isinstance(found, fg.Tensor), name
                assert np.array_equal(found.detach(), expected), (name, part)
                shared = np.shares_memory(found.detach().numpy(), whole.detach().numpy())
                assert shared == np.shares_memory(expected, plain), (name, part)
                assert found.detach().numpy().flags.c_contiguous or name in ("asarray_chkfinite",)
                assert found.requires_grad == grad
    with pytest.raises(ValueError, match="infs or NaNs"):
        ferrograd.numpy.asarray_chkfinite(fg.tensor([np.nan]))
