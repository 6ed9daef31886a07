"""Rows of the feature table: names and errors that PyTorch's users expect of tensors.

Each class is a row; each test is one thing that the row says.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd import grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(values or (1.0, 2.0), requires_grad=True)


class TestErrors:
    def test_every_error_is_a_runtime_error_too(self) -> None:
        made = [e for e in vars(fg.errors).values() if isinstance(e, type)]
        errors = [e for e in made if issubclass(e, Exception) and not issubclass(e, Warning)]
        assert len(errors) > 15
        assert all(issubclass(e, RuntimeError) for e in errors)
        with pytest.raises(RuntimeError):
            fg.ones(3) + fg.ones(2)

    def test_a_cut_root_says_what_cut_it(self) -> None:
        x = leaf()
        with pytest.raises(RuntimeError, match="does not require grad: detach"):
            (x.detach() * 2).sum().backward()
        with pytest.raises(RuntimeError, match="does not require grad; set requires_grad=True"):
            fg.ones(1).backward()
        with fg.record_call_sites(), pytest.raises(RuntimeError, match=r"called at .*test_parity"):
            grad(x.argmax().astype(np.float64), x)

    @pytest.mark.parametrize(
        "constant",
        [
            lambda x: x.argmin(),
            lambda x: x.all(),
            lambda x: x.any(),
            lambda x: x.count_nonzero(),
            lambda x: x.argsort(),
            lambda x: x.nonzero()[0],
            lambda x: x.argwhere(),
            lambda x: x.flatnonzero(),
            lambda x: fg.searchsorted(x, [1.5]),
            lambda x: fg.searchsorted(fg.ones(1), x),
            lambda x: x.unique(return_counts=True)[1],
        ],
    )
    def test_constants_remember_what_they_are_made_of(self, constant: Any) -> None:
        made = constant(leaf()).astype(np.float64) * 2
        assert "an operation without a derivative made it" in fg.explain_no_grad(made)

    def test_an_output_that_is_no_scalar_names_the_argument(self) -> None:
        x = leaf()
        with pytest.raises(RuntimeError, match="pass grad_outputs= or"):
            grad(x * 2, x)
        with pytest.raises(RuntimeError, match="pass gradient= or"):
            (x * 2).backward()


class TestTensorNames:
    def test_shapes_and_dtypes_of_others(self) -> None:
        x, like = leaf(1.0, 2.0, 3.0, 4.0), fg.ones(2, 2, dtype=np.float32)
        assert x.view_as(like).shape == x.reshape_as(like).shape == (2, 2)
        assert x.view_as(like)._base is x
        assert x[:2].expand_as(like).tolist() == [[1.0, 2.0]] * 2
        assert x.type_as(like).dtype == np.float32
        assert x.view_as(like).t().tolist() == [[1.0, 3.0], [2.0, 4.0]]
        assert x.t().tolist() == x.tolist()
        with pytest.raises(ValueError, match="3 dimensions"):
            fg.ones(1, 1, 1).t()

    def test_new_tensors_have_the_dtype(self) -> None:
        like = fg.ones(1, dtype=np.float32)
        made = [
            like.new_zeros(2, 3),
            like.new_ones((2, 3)),
            like.new_empty(2, 3),
            like.new_full((2, 3), 7.0),
            like.new_tensor([[1, 2, 3]] * 2),
        ]
        assert [(t.shape, t.dtype) for t in made] == [((2, 3), np.float32)] * 5
        assert made[3].tolist() == [[7.0] * 3] * 2
        assert like.new_zeros(2, dtype=np.int64, requires_grad=False).dtype == np.int64

    def test_memory(self) -> None:
        x = fg.ones(2, 3)
        assert x.data_ptr() == x[:1].data_ptr() != x[1:].data_ptr()
        assert x.contiguous() is x
        copied = x.T.contiguous()
        assert copied.is_contiguous()
        assert copied.data_ptr() != x.data_ptr()
        assert x.is_floating_point()
        assert not x.argmax().is_floating_point()

    @pytest.mark.parametrize(
        "same",
        [
            lambda x: x.view(2),
            lambda x: x.reshape(2),
            lambda x: x.reshape(-1),
            lambda x: x.ravel(),
            lambda x: x.expand(2),
            lambda x: x.squeeze(),
            lambda x: x.view_as(x),
            lambda x: fg.broadcast_to(x, (2,)),
        ],
    )
    def test_a_view_of_the_same_shape_is_a_tensor_of_its_own(self, same: Any) -> None:
        x = leaf()
        y = same(x)
        assert y is not x
        assert not y.is_leaf
        assert y._base is x
        y.register_hook(lambda g: g * 10)
        (x + y).sum().backward()
        assert x.grad.tolist() == [11.0, 11.0]


class TestChangedDtypes:
    def test_wider_values_are_rounded(self) -> None:
        x = fg.zeros(2, dtype=np.float32)
        values = fg.tensor([0.1, 0.2], requires_grad=True)
        x += values
        assert x.dtype == np.float32
        assert x.tolist() == np.float32([0.1, 0.2]).tolist()
        (x * 2).sum().backward()
        assert values.grad.tolist() == [2.0, 2.0]
        assert values.grad.dtype == np.float64
        y = fg.zeros(2, dtype=np.int32)
        y += fg.tensor([1, 2])
        assert (y.dtype, y.tolist()) == (np.int32, [1, 2])
        with pytest.raises(fg.errors.DTypeError, match="tensor it goes into"):
            y += fg.tensor([0.5, 0.5])

    def test_copy_converts(self) -> None:
        x = fg.zeros(2, dtype=np.int64)
        assert x.copy_(fg.tensor([1.5, 2.5])).tolist() == [1, 2]
        assert fg.zeros(2, dtype=np.float32).copy_([1.0, 2.0]).dtype == np.float32
