"""What comes from outside and lies: capsules, pickles, states of modules; and memory that runs out.

Calls of every public name: `test_hostile_calls.py`.
"""

import ctypes
import os
import pickle
import subprocess
import sys
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, ExchangeError, InPlaceError, ShapeError
from hostile.data import tensor
from hostile.values import anything, deep


class Lends:
    """A producer that hands out the capsule it was given."""

    def __init__(self, capsule: Any, device: Any = (1, 0)) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def answers(call: Any) -> bool:
    """Whether a call gives something; it may refuse, but not by blaming itself."""
    try:
        call()
    except fg.errors.InternalError:
        raise
    except Exception:
        return False
    return True


class TestCapsules:
    def test_one_is_taken_once(self) -> None:
        lends = Lends(np.arange(3.0).__dlpack__())
        first = fg.from_dlpack(lends)
        for _ in range(3):
            with pytest.raises(ExchangeError, match="the capsule holds no DLPack tensor"):
                fg.from_dlpack(lends)
        assert first.tolist() == [0.0, 1.0, 2.0]

    @pytest.mark.parametrize("name", [b"used_dltensor", b"", b"dltensor_versione", None])
    def test_a_renamed_one_is_refused(self, name: bytes | None) -> None:
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        capsule = np.arange(3.0).__dlpack__()
        rename(capsule, name)
        with pytest.raises(ExchangeError, match="the capsule holds no DLPack tensor"):
            fg.from_dlpack(Lends(capsule))
        rename(capsule, b"dltensor")
        assert fg.from_dlpack(Lends(capsule)).tolist() == [0.0, 1.0, 2.0]

    @pytest.mark.parametrize("lie", [None, 3, "dltensor", object(), [], deep(list)])
    def test_what_is_no_capsule_is_refused(self, lie: Any) -> None:
        for device in ((1, 0), (2, 0), None, (1,), ("a", 0), (2**70, 0)):
            with pytest.raises((TypeError, ExchangeError, OverflowError, ValueError)):
                fg.from_dlpack(Lends(lie, device))

    def test_memory_that_is_not_there_is_refused(self) -> None:
        """A description with a null pointer, made by hand."""
        capsule = np.arange(3.0).__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        data = ctypes.c_void_p.from_address(pointer(capsule, b"dltensor"))
        real, data.value = data.value, None
        with pytest.raises(ExchangeError, match="the capsule names no memory"):
            fg.from_dlpack(Lends(capsule))
        assert real


class TestPickles:
    def test_a_tampered_one_is_an_error(self) -> None:
        good = fg.tensor([1.0, 2.0], requires_grad=True, name="w")
        rebuild, parts = good.__reduce__()
        for place in range(len(parts)):
            for lie in (None, 3, "x", b"", object(), [], deep(list), np.ones(3, "c16"), int):
                given = list(parts)
                given[place] = lie
                if answers(lambda given=given: rebuild(*given)):
                    assert isinstance(rebuild(*given), fg.Tensor)

    def test_cut_and_changed_bytes_are_errors_or_tensors(self) -> None:
        rng = np.random.default_rng(4)
        whole = pickle.dumps(fg.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True))
        for _ in range(300):
            text = bytearray(whole[: rng.integers(1, len(whole) + 1)])
            # Past the names of modules and functions, which could be any function there is.
            text[int(rng.integers(len(text) // 2, len(text)))] = int(rng.integers(256))
            answers(lambda text=text: pickle.loads(bytes(text)))

    def test_a_module_travels_whole(self) -> None:
        model = fg.nn.Sequential(fg.nn.Linear(3, 2), fg.nn.ReLU())
        again = pickle.loads(pickle.dumps(model))
        x = np.ones((1, 3))
        np.testing.assert_array_equal(again(x).detach().numpy(), model(x).detach().numpy())


def test_a_hostile_state_changes_nothing() -> None:
    model = fg.nn.Sequential(fg.nn.Linear(3, 2), fg.nn.Linear(2, 1))
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    keys = list(before)
    for seed in range(400):
        rng = Random(seed)
        state: Any = {key: fg.tensor(value) for key, value in before.items()}
        state[rng.choice([*keys, "x", "0", 3, None])] = anything(rng)
        strict = bool(rng.randrange(2))
        if answers(lambda state=state, strict=strict: model.load_state_dict(state, strict)):
            model.load_state_dict({key: fg.tensor(value) for key, value in before.items()})
        for key, value in model.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), before[key], err_msg=key)
    for lie in (None, 3, [], "abc", tensor(Random(0))):
        with pytest.raises((TypeError, ValueError)):
            model.load_state_dict(lie)


def test_a_refused_change_names_the_cause() -> None:
    with pytest.raises(InPlaceError, match="several elements of an expanded tensor share"):
        fg.ones(1).expand(3).add_(1.0)
    with pytest.raises(InPlaceError, match="elements of overlapping windows share one"):
        fg.sliding_window_view(fg.arange(5.0), 3).add_(1.0)


def test_more_parts_than_there_could_be_are_refused() -> None:
    long = fg.asarray(np.broadcast_to(1.0, (2**59, 0)))
    for use in (
        fg.unbind,
        lambda x: fg.chunk(x, 2**40),
        lambda x: fg.array_split(x, 2**40),
        lambda x: fg.unsafe_split(x, 1),
    ):
        with pytest.raises(ArgumentError, match="parts"):
            use(long)


LONG = fg.tensor(1.5).expand(2**59)
WIDE = fg.tensor(1.5).expand(2**30, 2**29)
ENDLESS: dict[str, Any] = {
    **{
        name: partial(getattr(fg, name), LONG)
        for name in (
            *("all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cov"),
            *("logsumexp", "max", "mean", "nanmax", "nanmean", "nansum", "prod", "ptp", "std"),
            *("std_mean", "sum", "var", "var_mean"),
        )
    },
    "sum of an axis": lambda: fg.sum(WIDE, 0),
    "of integers": lambda: fg.sum(fg.tensor(3).expand(2**59)),
    "vector_norm": lambda: fg.linalg.vector_norm(LONG),
    "norm": lambda: fg.linalg.norm(WIDE),
    "dot": lambda: fg.dot(LONG, LONG),
    "inner": lambda: fg.inner(LONG, LONG),
    "matmul": lambda: LONG @ LONG,
    "vdot": lambda: fg.vdot(WIDE, WIDE),
    "tensordot": lambda: fg.tensordot(WIDE, WIDE, 2),
    "einsum": lambda: fg.einsum("i,i->", LONG, LONG),
    "isin": lambda: fg.isin(LONG, 2.0),
    "nextafter": lambda: fg.nextafter(LONG, 2.0),
    "searchsorted": lambda: fg.searchsorted(LONG, 2.0),
    "one_hot": lambda: fg.one_hot(fg.tensor(3).expand(2**59), 4),
    "polyval": lambda: fg.polyval(LONG, 2.0),
    "tolist": lambda: LONG.tolist(),
    "vander": lambda: np.vander(fg.ones(4), 2**62),
    "polydiv": lambda: np.polydiv(fg.asarray(np.broadcast_to(1.0, (2**59, 0))), fg.ones(1, 1)),
    "polyint": lambda: np.polyint(fg.ones(4), 2**62),
    "multigammaln": lambda: fg.scipy.special.multigammaln(fg.tensor(1e300), 2**62),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_not_come_to_an_end_is_refused(name: str) -> None:
    """These ended the process or never came back."""
    with pytest.raises((ArgumentError, ShapeError, MemoryError)):
        ENDLESS[name]()


def test_the_error_names_the_expanded_tensor() -> None:
    with pytest.raises(ArgumentError, match="an expanded tensor of 576460752303423488 elements"):
        LONG.sum()


def test_empty_axes_have_no_extremes() -> None:
    for f in (fg.argmax, fg.argmin, fg.amax, fg.amin):
        for x, axis in ((fg.ones(0, 0), -2), (fg.ones(0, 3, 0), 0)):
            with pytest.raises(fg.errors.ShapeError, match="zero elements have no extreme"):
                f(x, axis=axis)
        assert f(fg.ones(0, 3), axis=1).shape == (0,)


def test_the_order_of_a_derived_polynomial() -> None:
    assert np.polyder(fg.ones(4), 2**62).shape == (0,)
    for name in ("polyder", "polyint"):
        with pytest.raises(ArgumentError, match="at least 0"):
            getattr(np, name)(fg.ones(4), -1)


SCARCE = """
import os, resource
import numpy as np
import ferrograd as fg
fg.set_num_threads(1)
x = fg.tensor(np.random.default_rng(0).normal(size=2_000_000), requires_grad=True)
k = fg.tensor(np.arange(2_000_000) % 7)
m = fg.tensor(np.random.default_rng(0).normal(size=(240, 240)))
np.vander(m[0], 2)  # imports
calls = {
    "sort": lambda: fg.sort(x), "argsort": lambda: fg.argsort(x), "unique": lambda: fg.unique(k),
    "inverse": lambda: fg.unique(x, return_inverse=True), "median": lambda: fg.median(x),
    "quantile": lambda: fg.quantile(x, 0.3), "nonzero": lambda: fg.nonzero(x),
    "partition": lambda: fg.partition(x, 5), "topk": lambda: fg.topk(x, 1000),
    "searchsorted": lambda: fg.searchsorted(k[:9], x), "unbind": lambda: fg.unbind(x[:300000]),
    "cumsum": lambda: fg.cumsum(x), "index": lambda: x[np.arange(1_000_000)],
    "where": lambda: fg.where(x > 0, x, 0.0), "exp": lambda: x.exp(),
    "repeat": lambda: fg.repeat(x, 3), "svd": lambda: fg.linalg.svd(m),
    "eigh": lambda: fg.linalg.eigh(m), "qr": lambda: fg.linalg.qr(m),
    "inv": lambda: fg.linalg.inv(m), "det": lambda: fg.linalg.det(m),
    "cholesky": lambda: fg.linalg.cholesky(m @ m.T + fg.eye(240)),
    "solve": lambda: fg.linalg.solve(m, m), "complete": lambda: fg.linalg.svd(m[:, :9])[0],
    "matmul": lambda: m @ m, "product": lambda: x.reshape(1000, 2000) @ x.reshape(2000, 1000),
    "batch": lambda: x.reshape(20, 100, 1000) @ x.reshape(20, 1000, 100),
    "convolve": lambda: fg.convolve(x, x[:300]), "vander": lambda: np.vander(x[:1000], 10000),
    "tolist": lambda: x.tolist(), "isin": lambda: fg.isin(x, x),
}
for name, call in calls.items():
    for room in (1, 10, 20, 40):
        child = os.fork()
        if child == 0:
            with open("/proc/self/statm") as file:
                mapped = int(file.read().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (mapped + (room << 20),) * 2)
            try:
                call()
            except MemoryError:
                os._exit(0)
            except BaseException:
                os._exit(9)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            print(name, room, status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_that_runs_out_is_a_memory_error() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", SCARCE], capture_output=True, text=True, env=env, timeout=110
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_empty_tensors_with_endless_axes_are_not_walked() -> None:
    """Every such walk stopped the process; each call here takes microseconds."""
    long = fg.asarray(np.broadcast_to(1.0, (2**59, 0)))
    index = fg.asarray(np.broadcast_to(1, (2**59, 0)))
    assert fg.argwhere(long).shape == (0, 2)
    assert [part.shape for part in fg.nonzero(long)] == [(0,), (0,)]
    assert long[long > 0].shape == (0,)
    for use in (
        lambda: fg.cummax(long, 0)[0],
        lambda: fg.cummin(long, 0)[0],
        lambda: fg.gather(long, 0, index),
        lambda: fg.take_along_axis(long, index, 0),
        lambda: fg.scatter(long, 0, index, long),
        lambda: fg.scatter_add(long, 0, index, long),
        lambda: fg.topk(long, 0)[0],
        lambda: fg.sort(long),
        lambda: fg.linalg.qr(long)[0],
    ):
        assert use().shape == (2**59, 0)
    with pytest.raises(MemoryError):
        fg.nn.functional.rope(long)
