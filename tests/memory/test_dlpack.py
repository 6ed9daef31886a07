"""DLPack: memory shared with NumPy (and, where they can be imported, PyTorch and JAX)."""

import gc
import importlib.util
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")


def peers() -> list[Any]:
    """The modules of the other libraries that are installed here."""
    names = ("torch", "jax.numpy")
    return [
        np,
        *(importlib.import_module(n) for n in names if importlib.util.find_spec(n.split(".")[0])),
    ]


class Array:
    """A producer and consumer that shows what it was asked."""

    def __init__(self, inner: Any, **changed: Any) -> None:
        self.inner, self.changed, self.asked = inner, changed, []

    def __dlpack__(self, **kwargs: Any) -> Any:
        self.asked.append(kwargs)
        return self.inner.__dlpack__(**{**kwargs, **self.changed})

    def __dlpack_device__(self) -> Any:
        return self.inner.__dlpack_device__()


class Old:
    """A producer from before the protocol had versions."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.inner.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return (1, 0)


class TestExport:
    """Tensors to others."""

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_numpy_shares_read_only(self, dtype: str) -> None:
        t = fg.tensor(np.arange(6).reshape(2, 3), dtype=dtype)
        for view in (t, t.T, t[:, ::-1], t[1], t[0, 0, ...], t[:0]):
            a = np.from_dlpack(view)
            assert a.dtype == view.dtype
            np.testing.assert_array_equal(a, view.numpy())
            assert not a.flags.writeable
            if a.size:
                assert np.shares_memory(a, t.numpy())
        element = np.from_dlpack(t[1, 0])
        assert element == t.numpy()[1, 0]
        assert not np.shares_memory(element, t.numpy())

    def test_the_memory_outlives_the_tensor(self) -> None:
        t = fg.tensor(np.arange(1000.0))
        gc.collect()
        before = fg.live_bytes()
        a = np.from_dlpack(t)
        del t
        gc.collect()
        assert fg.live_bytes() == before
        assert a[999] == 999
        del a
        gc.collect()
        assert fg.live_bytes() <= before - 8000

    def test_a_capsule_nobody_takes_is_freed(self) -> None:
        t = fg.tensor(np.arange(1000.0))
        gc.collect()
        before = fg.live_bytes()
        capsules = [t.__dlpack__(), t.__dlpack__(max_version=(1, 0), copy=None)]
        assert fg.live_bytes() > before
        del capsules
        gc.collect()
        assert fg.live_bytes() == before

    def test_a_consumer_that_cannot_know_the_flag_gets_a_copy(self) -> None:
        t = fg.tensor([1.0, 2.0])
        for capsule in (t.__dlpack__(), t.__dlpack__(max_version=(1, 0)), t.__dlpack__(copy=None)):
            made = fg.from_dlpack(Array(t))
            assert made.tolist() == [1, 2]
            del capsule
        made[0] = 5
        assert t.tolist() == [1, 2]

    def test_copy_true_copies(self) -> None:
        t = fg.tensor([1.0, 2.0])
        a = np.from_dlpack(t, copy=True)
        assert not np.shares_memory(a, t.numpy())

    def test_copy_false_writes_and_the_version_tells(self) -> None:
        w, x = fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0], requires_grad=True)
        y = (x * w).sum()
        version = w._version
        a = np.from_dlpack(w, copy=False)
        assert w._version == version + 1
        a[0] = 50
        assert w.tolist() == [50, 2]
        y.backward()
        assert x.grad.tolist() == [1, 2]
        z = (x * w).sum()
        a[:] = -1
        z.backward()
        assert x.grad.tolist() == [51, 4]

    def test_copy_false_of_a_saved_value_where_writes_to_it_are_refused(self) -> None:
        w, x = fg.tensor([1.0, 2.0]), fg.tensor([3.0, 4.0], requires_grad=True)
        y = (x * w).sum()
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            a = np.from_dlpack(w, copy=False)
        a[0] = 50
        with pytest.raises(fg.errors.InPlaceError, match="__dlpack__"):
            y.backward()

    def test_refusals(self) -> None:
        t = fg.tensor([1.0, 2.0])
        x = fg.tensor([1.0], requires_grad=True)
        with pytest.raises(fg.errors.GraphCutError, match="detach"):
            np.from_dlpack(x)
        with pytest.raises(fg.errors.GraphCutError), fg.no_grad(), fg.enable_grad():
            x.__dlpack__()
        with fg.no_grad():
            assert np.from_dlpack(x).tolist() == [1.0]
            with pytest.raises(BufferError, match="requires grad"):
                np.from_dlpack(x, copy=False)
        with pytest.raises(BufferError, match="CPU"):
            t.__dlpack__(dl_device=(2, 0))
        with pytest.raises(BufferError, match="stream"):
            t.__dlpack__(stream=1)
        with pytest.raises(TypeError, match="parameters"):
            t.__dlpack__(color=1)
        frozen = np.arange(2.0)
        frozen.flags.writeable = False
        with pytest.raises(BufferError, match="read-only"):
            fg.from_numpy(frozen).__dlpack__(copy=False)
        assert t.__dlpack_device__() == (1, 0)


class TestImport:
    """Others to tensors."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("wrap", [Array, Old, lambda a: a])
    def test_numpy_is_shared(self, dtype: str, wrap: Any) -> None:
        base = np.arange(6).reshape(2, 3).astype(dtype)
        for a in (base, base.T, base[:, ::-1], base[1], base[:0], np.array(3, dtype)):
            t = fg.from_dlpack(wrap(a))
            assert t.dtype == dtype
            np.testing.assert_array_equal(t.numpy(), a)
            if a.size and dtype != "bool":
                assert np.shares_memory(t.numpy(), a)

    def test_a_producer_is_asked_for_the_versioned_form(self) -> None:
        made = Array(np.arange(3.0))
        fg.from_dlpack(made)
        assert made.asked == [{"max_version": (1, 0)}]
        fg.from_dlpack(made, copy=False)
        assert made.asked[1]["copy"] is False

    def test_the_producer_lives_as_long_as_a_tensor_of_it(self) -> None:
        class Own(np.ndarray):
            pass

        a = np.arange(3.0).view(Own)
        gone = weakref.ref(a)
        t = fg.from_dlpack(a)
        view = t[1:]
        del a, t
        gc.collect()
        assert gone() is not None
        assert view.tolist() == [1, 2]
        del view
        gc.collect()
        assert gone() is None

    def test_what_only_the_graph_holds_is_released_with_it(self) -> None:
        a = np.arange(3.0).view(type("Own", (np.ndarray,), {}))
        gone = weakref.ref(a)
        x = fg.ones(3, requires_grad=True)
        y = (x * fg.from_dlpack(a)).sum()
        del a
        y.backward()
        del y
        gc.collect()
        assert gone() is None
        assert x.grad.tolist() == [0, 1, 2]

    def test_a_read_only_producer_is_never_written(self) -> None:
        a = np.arange(3.0)
        a.flags.writeable = False
        t = fg.from_dlpack(a)
        with pytest.raises(fg.errors.FerrogradError):
            t += 1
        own = fg.from_dlpack(a, copy=True)
        own += 1
        assert own.tolist() == [1, 2, 3]
        assert a.tolist() == [0, 1, 2]

    def test_in_place_writes_reach_a_writable_producer(self) -> None:
        a = np.arange(3.0)
        t = fg.from_dlpack(a)
        t += 1
        assert a.tolist() == [1, 2, 3]

    def test_a_capsule_is_taken_once(self) -> None:
        a = np.arange(3.0)
        capsule = a.__dlpack__()

        class Once:
            def __dlpack__(self, **kwargs: Any) -> Any:
                return capsule

            def __dlpack_device__(self) -> Any:
                return (1, 0)

        assert fg.from_dlpack(Once()).tolist() == [0, 1, 2]
        with pytest.raises(BufferError, match="nobody has taken"):
            fg.from_dlpack(Once())

    def test_own_tensors(self) -> None:
        t = fg.tensor([1.0, 2.0])
        shared = fg.from_dlpack(t)
        shared += 1
        assert t.tolist() == [2, 3]
        apart = fg.from_dlpack(t, copy=True)
        apart += 1
        assert t.tolist() == [2, 3]
        with pytest.raises(fg.errors.GraphCutError):
            fg.from_dlpack(fg.ones(2, requires_grad=True))

    def test_refusals(self) -> None:
        with pytest.raises(TypeError, match="__dlpack__"):
            fg.from_dlpack([1.0])
        with pytest.raises(BufferError, match="cpu"):
            fg.from_dlpack(np.ones(2), device="gpu")

        class Elsewhere:
            def __dlpack__(self, **kwargs: Any) -> Any:
                raise AssertionError("the device was not asked for first")

            def __dlpack_device__(self) -> Any:
                return (2, 0)

        with pytest.raises(BufferError, match="not on the CPU"):
            fg.from_dlpack(Elsewhere())

    def test_asarray_takes_any_producer(self) -> None:
        a = np.arange(3.0)
        assert np.shares_memory(fg.asarray(Array(a)).numpy(), a)


@pytest.mark.parametrize("library", peers(), ids=lambda m: m.__name__)
class TestPeers:
    """NumPy, and PyTorch and JAX where they are installed."""

    def test_there_and_back(self, library: Any) -> None:
        source = np.arange(6.0, dtype=np.float32).reshape(2, 3)
        t = fg.tensor(source)
        if library.__name__ == "torch":
            there: Any = library.from_dlpack(t)
            there[0, 0] = 9
            assert t.tolist() == source.tolist()
            shared = library.from_dlpack(t, copy=False)
            shared[0, 0] = 9
            assert t[0, 0].item() == 9
        else:
            there = library.from_dlpack(t)
        back = fg.from_dlpack(there)
        np.testing.assert_array_equal(back.numpy(), np.asarray(there))
        assert np.shares_memory(back.numpy(), np.asarray(there))
        assert np.shares_memory(fg.asarray(there).numpy(), np.asarray(there))
