"""The namespace of the array API standard: names, signatures, behaviour; pickle and copy.

Derivatives of the operations behind it are tested with those.
"""

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.array_api as xp
from array_api_signatures import (
    CONSTANTS,
    DTYPES,
    FFT_SIGNATURES,
    METHODS,
    OPERATORS,
    PROPERTIES,
    SIGNATURES,
)
from ferrograd._core import _config
from ferrograd.array_api import _extra_names

#: What other libraries call on every namespace.
BEYOND = {
    *("cross", "cumprod", "cumsum", "diag", "einsum", "gradient", "isin", "lib", "median", "pad"),
    *("quantile", "transpose", "logspace", "float16"),
}
HAS_FFT = hasattr(xp, "fft")


def parameters(text: str) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of each parameter of a written signature."""
    scope: dict[str, Any] = {}
    exec(f"def f{text}: ...", scope)
    return described(scope["f"])


def described(function: Any) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in found]


@pytest.mark.parametrize("line", SIGNATURES + (FFT_SIGNATURES if HAS_FFT else []))
def test_every_function_has_the_parameters_of_the_standard(line: str) -> None:
    path, _, rest = line.partition("(")
    function: Any = xp
    for part in path.split("."):
        function = getattr(function, part)
    assert described(function) == parameters(f"({rest}")
    assert function.__name__ == path.rpartition(".")[2]
    assert (function.__doc__ or "").strip()


def test_the_namespace_holds_the_standard_and_nothing_else() -> None:
    functions = {line.partition("(")[0] for line in SIGNATURES}
    names = {name for name in functions if "." not in name} | set(CONSTANTS.split())
    names |= set(DTYPES.split()) & set(_config()["dtypes"])
    names |= {"linalg", "__array_api_version__"} | ({"fft"} if HAS_FFT else set())
    names |= BEYOND
    assert set(xp.__all__) == names
    assert set(dir(xp)) == names | {"special"}
    assert [name for name in names if not hasattr(xp, name)] == []
    for ours in ("put_along_axis", "tensor", "Tensor", "sigmoid", "grad", "int4", "bfloat16"):
        assert not hasattr(xp, ours), ours
    with pytest.raises(AttributeError, match=r"no attribute 'sigmoid': it holds the names of the"):
        _ = xp.sigmoid


def test_names_beyond_the_standard_mean_what_numpy_means() -> None:
    shared = {name for name, value in vars(_extra_names).items() if vars(xp).get(name) is value}
    shared = {name for name in shared if name[0] != "_"}
    assert shared - {"annotations"} == BEYOND
    x = fg.tensor([[1.0, 4.0], [9.0, 2.0], [3.0, 3.0]], requires_grad=True)
    a = x.detach().numpy()
    pairs = [
        (xp.pad(x, ((1, 0), (0, 2))), np.pad(a, ((1, 0), (0, 2)))),
        (xp.pad(x, 1, mode="edge"), np.pad(a, 1, mode="edge")),
        (xp.transpose(x), a.T),
        (xp.diag(x, k=-1), np.diag(a, k=-1)),
        (xp.diag(x[0]), np.diag(a[0])),
        (xp.quantile(x, 0.3, axis=0), np.quantile(a, 0.3, axis=0)),
        (xp.median(x, axis=1), np.median(a, axis=1)),
        (xp.gradient(x, axis=0), np.gradient(a, axis=0)),
        (xp.einsum("ij,kj->ik", x, x), a @ a.T),
        (xp.cross(x.T, x.T), np.cross(a.T, a.T)),
        (xp.cumsum(x, axis=1), np.cumsum(a, axis=1)),
        (xp.cumprod(x), np.cumprod(a)),
        (xp.lib.stride_tricks.sliding_window_view(x, 2, axis=0)[..., 1], a[1:]),
    ]
    for ours, theirs in pairs:
        assert np.array_equal(ours.detach().numpy(), theirs)
        assert ours.requires_grad
    assert xp.ones(2, dtype=xp.float16).dtype == xp.float16 == np.float16
    end = fg.tensor(2.0, requires_grad=True)
    spaced = xp.logspace(0, end, 4, base=3.0)
    np.testing.assert_allclose(spaced.detach().numpy(), np.logspace(0, 2, 4, base=3.0))
    spaced[-1].backward()
    assert end.grad is not None
    assert end.grad.item() == pytest.approx(9 * np.log(3.0))
    assert isinstance(xp.logspace(-3, 0, 4), fg.Tensor)
    assert xp.isin(x.detach(), xp.asarray([3.0])).sum().item() == 2


def test_a_tensor_has_what_the_standard_asks_of_an_array() -> None:
    x = fg.ones((2, 2))
    assert x.__array_namespace__() is xp is fg.array_api
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match=r"there is no version '1999\.01'; ask for"):
        x.__array_namespace__(api_version="1999.01")
    assert [name for name in [*PROPERTIES, *OPERATORS.split()] if not hasattr(x, name)] == []
    for name, text in METHODS.items():
        assert described(getattr(x, name)) == parameters(text), name
    assert x.to_device("cpu") is x
    assert x.to_device(x.device) is x
    for device, stream in (("tpu", None), ("cpu", 1)):
        with pytest.raises(ValueError, match="to_device: "):
            x.to_device(device, stream=stream)  # type: ignore[arg-type]


def test_what_makes_arrays_takes_device_and_dtype() -> None:
    makers: dict[str, tuple[Any, ...]] = {
        "asarray": ([1, 2],),
        "arange": (3,),
        "linspace": (0, 1, 5),
        "empty": ((2,),),
        "zeros": (2,),
        "ones": ((2, 3),),
        "full": ((2,), 7),
        "eye": (2, 3),
    }
    x = xp.ones((2, 2), dtype=xp.int64)
    makers |= {f"{name}_like": (x,) for name in ("empty", "zeros", "ones")}
    makers["full_like"] = (x, 7)
    for name, args in makers.items():
        make = getattr(xp, name)
        assert make(*args, dtype=xp.float32, device="cpu").dtype == xp.float32, name
        with pytest.raises(ValueError, match=rf"{name}: there is no device 'cuda'"):
            make(*args, device="cuda")
    assert xp.zeros((2, 3)).dtype == xp.float64
    assert xp.full((2,), 7).dtype == xp.int64
    assert xp.full((2,), True).dtype == xp.bool
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.arange(xp.asarray(1), 3).tolist() == [1, 2]


def test_asarray_shares_or_copies_as_it_is_told() -> None:
    array = np.zeros(3)
    shared, copied = xp.asarray(array, copy=False), xp.asarray(array, copy=True)
    array[0] = 5
    assert (shared[0].item(), copied[0].item()) == (5, 0)
    assert xp.asarray(array).tolist() == [5, 0, 0]
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    other = xp.asarray(x, copy=True)
    assert other.data_ptr() != x.data_ptr()
    assert xp.asarray(x, dtype=xp.float32, copy=True).dtype == xp.float32
    (3 * other.sum() + xp.asarray([x[0], x[1]]).sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4, 4]
    for source in (3.0, [1, 2], np.zeros(2, np.float32)):
        with pytest.raises(ValueError, match="asarray: copy=False, and the elements have to be"):
            xp.asarray(source, dtype=xp.float64, copy=False)
    with pytest.raises(ValueError, match="asarray: copy=False"):
        xp.asarray(x, dtype=xp.float32, copy=False)


def test_reshape_and_astype_copy_as_they_are_told() -> None:
    x = xp.ones((2, 3))
    assert xp.reshape(x, (6,)).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (6,), copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (6,), copy=True).data_ptr() != x.data_ptr()
    assert xp.reshape(x.T, (6,)).shape == (6,)
    with pytest.raises(ValueError, match=r"reshape: copy=False, and the elements of shape \(3, 2"):
        xp.reshape(x.T, (6,), copy=False)
    assert xp.astype(x, xp.float64, copy=False).data_ptr() == x.data_ptr()
    assert xp.astype(x, xp.float64).data_ptr() != x.data_ptr()
    assert xp.astype(x, xp.float32, device="cpu").dtype == xp.float32


def test_memory_of_other_libraries() -> None:
    array = np.arange(3.0)
    assert xp.from_dlpack(array).tolist() == [0, 1, 2]
    assert xp.from_dlpack(array, device="cpu", copy=True).data_ptr() != array.ctypes.data
    x = xp.ones(3)
    assert np.from_dlpack(x).tolist() == [1, 1, 1]
    assert x.__dlpack_device__() == (1, 0)
    assert x.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=True) is not None
    with pytest.raises(TypeError, match="unexpected keyword"):
        x.__dlpack__(wrong=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="from_dlpack: there is no device"):
        xp.from_dlpack(array, device="cuda")


def test_a_program_that_knows_only_the_namespace_is_differentiable() -> None:
    def standardised(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.sum(xp.tanh((x - xp.mean(x)) / xp.std(x, correction=1)) ** 2)

    fg.check_grads(standardised, "rev", 2)(np.array([0.3, 1.0, -2.0]))


def test_running_folds_begin_with_their_neutral_element() -> None:
    x = xp.asarray([3.0, 1.0, 3.0])
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0, 3, 4, 7]
    assert xp.cumulative_prod(xp.ones((2, 2)), axis=1, include_initial=True).shape == (2, 3)
    assert xp.cumulative_sum(x, dtype=xp.float32, include_initial=True).dtype == xp.float32
    with pytest.raises(ValueError, match="cumulative_sum: axis is left out and the array has 2"):
        xp.cumulative_sum(xp.ones((2, 2)))


def test_distinct_elements_have_the_history_of_the_array() -> None:
    x = fg.tensor([3.0, 1.0, 3.0, -0.0], requires_grad=True)
    assert xp.unique_values(x).tolist() == [0, 1, 3]
    assert xp.unique_counts(x).counts.tolist() == [1, 1, 2]
    assert xp.unique_inverse(x.reshape(2, 2)).inverse_indices.tolist() == [[2, 1], [2, 0]]
    assert xp.unique_all(x).indices.tolist() == [3, 1, 0]
    xp.sum(xp.unique_values(x)).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1, 0, 1]
    assert xp.unique_counts(xp.asarray([xp.nan, xp.nan])).counts.tolist() == [1, 1]


def test_arguments_that_the_standard_requires() -> None:
    x = xp.ones((2, 3))
    for wrong in (
        lambda: xp.take(x, xp.asarray([0])),
        lambda: xp.squeeze(x, 0),
        lambda: xp.nonzero(xp.asarray(1.0)),
    ):
        with pytest.raises(ValueError, match=r"^(take|squeeze|nonzero): "):
            wrong()
    assert xp.squeeze(xp.ones((1, 2, 1)), (0, -1)).shape == (2,)
    assert xp.sort(xp.asarray([1, 3, 2]), descending=True, stable=False).tolist() == [3, 2, 1]
    assert xp.argsort(xp.asarray([1, 3, 1]), descending=True).tolist() == [1, 0, 2]
    assert xp.clip(xp.asarray([0, 5]), 1, 3).tolist() == [1, 3]


def test_dtypes_are_asked_about() -> None:
    x = xp.ones(2)
    assert xp.result_type(x, xp.float32) == xp.float64
    assert xp.result_type(xp.ones(2, dtype=xp.float32), 1.0) == xp.float32
    assert xp.can_cast(xp.float32, xp.float64)
    assert not xp.can_cast(x, xp.float32)
    assert xp.isdtype(x.dtype, "real floating")
    assert type(xp.finfo(xp.ones(2, dtype=xp.float32)).eps) is float
    assert xp.finfo(xp.float64).smallest_normal == np.finfo(np.float64).tiny
    assert (xp.iinfo(xp.int32).min, xp.iinfo(xp.int32).bits) == (-(2**31), 32)
    info = xp.__array_namespace_info__()
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind=("real floating", "bool"))) == {"float32", "float64", "bool"}
    assert all(getattr(xp, name) == dtype for name, dtype in info.dtypes().items())
    assert info.default_dtypes(device="cpu")["integral"] == xp.int64
    assert info.default_dtypes()["real floating"] == xp.float64
    assert info.capabilities()["boolean indexing"]


def test_linear_algebra_has_named_results() -> None:
    x = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
    values, vectors = xp.linalg.eigh(x)
    assert xp.linalg.eigh(x).eigenvalues.tolist() == values.tolist()
    assert xp.linalg.eigh(x).eigenvectors.shape == vectors.shape
    assert xp.linalg.qr(x, mode="complete").R.shape == (2, 2)
    assert xp.linalg.svd(xp.ones((2, 3)), full_matrices=False).Vh.shape == (2, 3)
    assert xp.linalg.slogdet(x).sign.item() == 1
    assert xp.linalg.matrix_rank(xp.eye(3)).item() == 3
    assert xp.linalg.matrix_rank(xp.asarray([[1.0, 0.0], [0.0, 1e-3]]), rtol=0.1).item() == 1
    stack = xp.asarray(np.stack([np.diag([1.0, 1e-3]), np.diag([1.0, 1e-3])]))
    limited = xp.linalg.pinv(stack, rtol=xp.asarray([1e-2, 1e-6]))
    assert limited[:, 1, 1].tolist() == [0, 1000]
    assert xp.linalg.vector_norm(x, ord=1).item() == 7
    assert xp.linalg.matrix_norm(x, ord="nuc").item() == pytest.approx(5)
    assert xp.linalg.trace(x, offset=1).item() == 1
    assert xp.linalg.cross(xp.ones((2, 3)), xp.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_leaf_is_copied_with_its_gradient(duplicate: Any) -> None:
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
    if duplicate in (copy.copy, copy.deepcopy):
        assert duplicate(y).requires_grad
    else:
        with pytest.raises(RuntimeError, match="detach"):
            duplicate(y)
    assert duplicate(fg.ones(2, 3).T[1:]).shape == (2, 2)


def test_frequencies_and_shifts_are_numpys() -> None:
    from ferrograd.array_api import _fft as fft

    assert fft.fftfreq(5, d=0.5).tolist() == np.fft.fftfreq(5, 0.5).tolist()
    assert fft.rfftfreq(5, dtype=xp.float32).dtype == xp.float32
    x = fg.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
    for ours, theirs in ((fft.fftshift, np.fft.fftshift), (fft.ifftshift, np.fft.ifftshift)):
        for axes in (None, 1, (0, 1)):
            made = ours(x, axes=axes)
            assert made.requires_grad
            assert made.tolist() == theirs(x.detach().numpy(), axes).tolist()
    if not HAS_FFT:
        assert not hasattr(xp, "fft")
        with pytest.raises(NotImplementedError, match="fft: this build has no transforms"):
            fft.rfft(x)
