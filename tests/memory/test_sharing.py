"""Tensors and NumPy arrays: who shares memory with whom, and what may leave a graph."""

import gc
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


def matrix(**options: Any) -> fg.Tensor:
    return fg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **options)


class TestMemory:
    """Who shares memory with whom."""

    def test_tensor_copies(self) -> None:
        a = np.arange(3.0)
        t = fg.tensor(a)
        a[0] = 9
        assert t.tolist() == [0, 1, 2]

    @pytest.mark.parametrize("make", [fg.from_numpy, fg.asarray])
    def test_from_numpy_shares(self, make: Any) -> None:
        a = np.arange(6.0).reshape(2, 3)
        for view in (a, a.T, a[::-1, ::2], a[1]):
            t = make(view)
            assert np.shares_memory(t.numpy(), a)
            assert t.strides == view.strides
            np.testing.assert_array_equal(t.numpy(), view)
        a[0, 0] = 50
        assert make(a)[0, 0].item() == 50

    @pytest.mark.parametrize("dtype", [">f8", "?"])
    def test_what_cannot_be_shared_is_copied(self, dtype: str) -> None:
        a = np.ones(3, dtype)
        t = fg.from_numpy(a)
        assert not np.shares_memory(t.numpy(), a)
        np.testing.assert_array_equal(t.numpy(), a.astype(a.dtype.newbyteorder("=")))

    def test_unaligned_memory_computes(self) -> None:
        raw = np.zeros(41, np.uint8)
        a = raw[1:].view(np.float64)
        a[:] = [1, 2, 3, 4, 5]
        assert not a.flags.aligned
        assert (fg.from_numpy(a) * 2).tolist() == [2, 4, 6, 8, 10]

    def test_exports_are_read_only_and_keep_the_memory(self) -> None:
        t = fg.tensor([1.0, 2.0])
        a = t.numpy(writable=False)
        assert not a.flags.writeable
        assert np.shares_memory(a, t.numpy())
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 5
        with pytest.raises(ValueError, match="WRITEABLE"):
            a.flags.writeable = True
        del t
        gc.collect()
        assert a.tolist() == [1.0, 2.0]

    def test_a_writable_export_writes_to_the_tensor(self) -> None:
        t = fg.tensor([1.0, 2.0])
        t.numpy(writable=True)[0] = 5
        assert t.tolist() == [5.0, 2.0]
        with pytest.raises(fg.errors.ArgumentError, match="requires grad"):
            fg.tensor([1.0], requires_grad=True).numpy(writable=True)

    def test_a_write_through_numpy_never_changes_a_gradient(self) -> None:
        shared = np.array([1.0, 2.0])
        exported = fg.tensor([3.0, 4.0])
        door = exported.numpy(writable=True)
        x = fg.tensor([5.0, 6.0], requires_grad=True)
        y = (x * fg.from_numpy(shared) * exported).sum()
        shared[:] = -100
        door[:] = -100
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), [3.0, 8.0])

    def test_a_leaf_over_a_writable_array_is_saved_by_value(self) -> None:
        array = np.array([1.0, 2.0])
        x = fg.from_numpy(array).requires_grad_()
        y = (x * x).sum()
        array[:] = 50
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])

    def test_a_writable_export_leaves_what_was_saved(self) -> None:
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y * y
        y.detach().numpy(writable=True)[:] = 0
        assert y.tolist() == [0, 0]
        z.sum().backward()
        assert x.grad.tolist() == [18, 36]

    def test_a_writable_export_is_noticed_where_writes_to_saved_values_are_refused(self) -> None:
        x = fg.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        z = y * y
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            y.detach().numpy(writable=True)[:] = 0
        with pytest.raises(fg.errors.InPlaceError, match="multiply"):
            z.sum().backward()
        assert x.grad is None

    def test_a_read_only_array_is_shared_and_refuses_changes(self) -> None:
        a = np.arange(3.0)
        a.flags.writeable = False
        t = fg.from_numpy(a)
        assert np.shares_memory(t.numpy(), a)
        with pytest.raises(fg.errors.InPlaceError, match="read-only"):
            t[0] = 1.0
        with pytest.raises(fg.errors.ArgumentError, match="read-only"):
            t.numpy(writable=True)

    def test_detach_shares_memory_and_version(self) -> None:
        t = matrix(requires_grad=True)
        d = t.detach()
        assert np.shares_memory(d.numpy(), t.detach().numpy())
        assert (d.requires_grad, d.is_leaf) == (False, True)
        d[0, 0] = 100.0
        assert t._version == d._version == 1
        assert t[0, 0].item() == 100.0

    def test_views_share_and_clone_does_not(self) -> None:
        t = matrix()
        for view in (
            t[0],
            t.T,
            t.reshape(3, 2),
            t[:, ::-1],
            t.ravel(),
            t.expand(4, 2, 3),
            t[..., None],
        ):
            assert np.shares_memory(view.numpy(), t.numpy())
        for copied in (t.clone(), t[[0]], t[t > 0], t.T.reshape(6), fg.tensor(t)):
            assert not np.shares_memory(copied.numpy(), t.numpy())


class TestLeavingTheGraph:
    """No silent cut."""

    def test_array_conversions_raise_while_recording(self) -> None:
        x = matrix(requires_grad=True)
        for cut in (
            lambda: np.asarray(x),
            lambda: np.array([x[0, 0], x[0, 1]]),
            lambda: np.roots(x[0]),
        ):
            with pytest.raises((fg.errors.GraphCutError, fg.errors.NotDifferentiableError)):
                cut()
        with fg.no_grad():
            np.testing.assert_array_equal(np.asarray(x), x.tolist())
        np.testing.assert_array_equal(np.asarray(x.detach()), x.tolist())
        assert np.asarray(x.detach(), dtype=np.float32).dtype == np.float32

    @pytest.mark.parametrize("convert", [float, int, complex])
    def test_numbers_warn_while_recording(self, convert: Any) -> None:
        x = fg.tensor(2.0, requires_grad=True)
        with pytest.warns(fg.errors.GraphCutWarning, match="leaves the graph"):
            assert convert(x) == 2
        with fg.no_grad():
            assert convert(x) == 2
        assert convert(x.detach()) == 2
        assert x.item() == 2.0

    def test_an_array_changed_by_a_tensor_that_requires_grad(self) -> None:
        a = np.ones(2)
        with pytest.raises(fg.errors.GraphCutError, match=r"numpy\.add: the result"):
            a += fg.tensor([1.0, 2.0], requires_grad=True)
        assert a.tolist() == [1.0, 1.0]
        a += fg.tensor([1.0, 2.0])
        assert a.tolist() == [2.0, 3.0]

    def test_a_function_without_derivative_raises_only_when_one_is_needed(self) -> None:
        x = fg.tensor([3.0, 1.0, 2.0], requires_grad=True)
        for function, name in (
            (np.packbits, "packbits"),
            (np.gcd.reduce, "gcd.reduce"),
        ):
            with pytest.raises(
                fg.errors.NotDifferentiableError, match=rf"numpy\.{name}: ferrograd"
            ):
                function(x)
        np.testing.assert_allclose(np.i0(x.detach()), np.i0([3.0, 1.0, 2.0]))
