"""The array API namespace, pickle and copy.

Owns: that every name of the standard which makes sense for real tensors is there, and what those
names do that the package has under no other.
"""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

NAMES = """e inf nan newaxis pi asarray arange empty empty_like eye from_dlpack full full_like
    linspace meshgrid ones ones_like tril triu zeros zeros_like astype can_cast finfo
    iinfo isdtype result_type bool int32 int64 uint8 float32 float64 abs acos acosh add
    asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
    expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less
    less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
    logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
    reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
    matmul matrix_transpose tensordot vecdot broadcast_arrays broadcast_to concat
    expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
    argmax argmin count_nonzero nonzero searchsorted where take take_along_axis unique_all
    unique_counts unique_inverse unique_values argsort sort cumulative_prod cumulative_sum
    max mean min prod std sum var all any diff __array_namespace_info__
    __array_api_version__ linalg"""
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power
    matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot
    vector_norm"""


def namespace() -> Any:
    return fg.ones(2).__array_namespace__()


def test_every_name_is_there() -> None:
    xp = namespace()
    assert [n for n in NAMES.split() if not hasattr(xp, n)] == []
    assert [n for n in LINALG.split() if not hasattr(xp.linalg, n)] == []
    assert not hasattr(xp, "complex64")


def test_a_program_that_knows_only_the_namespace_is_differentiable() -> None:
    def standardised(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.sum(xp.tanh((x - xp.mean(x)) / xp.std(x)) ** 2)

    fg.check_grads(standardised, "rev", 2)(np.array([0.3, 1.0, -2.0]))


def test_what_only_the_namespace_has() -> None:
    xp = namespace()
    x = xp.asarray([3.0, 1.0, 3.0, -0.0])
    x.requires_grad_()
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0, 3, 4, 7, 7]
    assert xp.cumulative_prod(xp.ones((2, 2)), axis=1, include_initial=True).shape == (2, 3)
    assert xp.unique_values(x).tolist() == [0, 1, 3]
    assert xp.unique_counts(x).counts.tolist() == [1, 1, 2]
    assert xp.unique_inverse(x).inverse_indices.tolist() == [2, 1, 2, 0]
    assert xp.unique_all(x).indices.tolist() == [3, 1, 0]
    xp.sum(xp.unique_values(x)).backward()
    assert x.grad.tolist() == [1, 1, 0, 1]
    assert xp.signbit(x).tolist() == [False, False, False, True]
    assert xp.result_type(x, xp.float32) == xp.float64
    assert xp.can_cast(xp.float32, xp.float64)
    assert xp.isdtype(x.dtype, "real floating")
    assert xp.linalg.matrix_rank(xp.eye(3)).item() == 3
    info = xp.__array_namespace_info__()
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert len(info.dtypes()) == 6
    assert info.default_dtypes()["integral"] == xp.int64
    assert info.capabilities()["boolean indexing"]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_leaf_is_copied_with_its_gradient_and_without_its_graph(duplicate: Any) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True, name="w")
    y = (x * x).sum()
    y.backward()
    other = duplicate(x)
    assert other.tolist() == [1, 2]
    assert other.grad.tolist() == [2, 4]
    assert other.name == "w"
    assert other.is_leaf
    assert other.requires_grad
    other.grad.zero_()
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="detach"):
        duplicate(y)
    assert duplicate(fg.ones(2, 3).T[1:]).shape == (2, 2)
