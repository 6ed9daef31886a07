"""Functions that compute arrays and tensors by different routes give one answer.

Values against NumPy and SciPy: `test_ops.py`.
"""

from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp
import ferrograd.scipy.linalg as slinalg
from case_model import Call, Case
from op_support import REGISTRY, ROWS, parts

#: Where NumPy asks for an argument that we have a default for.
ASKS = ("cumulative_sum", "cumulative_prod")

FACED = [
    (case, path)
    for case in ROWS
    for path in REGISTRY[case.key]["numpy"]
    if not path.startswith("scipy.") and path not in ASKS
]


def with_tensors(part: Any) -> Any:
    """The arguments with tensors for all arrays."""
    if isinstance(part, list | tuple):
        return type(part)(map(with_tensors, part))
    return fg.tensor(part) if isinstance(part, np.ndarray) else part


def arrays_of(result: Any) -> list[np.ndarray]:
    return [np.asarray(p.detach() if isinstance(p, fg.Tensor) else p) for p in parts(result)]


def _sums_over_ellipsis(call: Call) -> bool:
    """Whether an ellipsis is summed, as PyTorch does it; NumPy refuses that."""
    text = next((a for a in call.args if isinstance(a, str)), "")
    return "..." in text and "->" in text and "..." not in text.partition("->")[2]


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize(("case", "path"), FACED, ids=lambda v: v if isinstance(v, str) else v.key)
def test_arrays_and_tensors_get_one_answer(case: Case, path: str) -> None:
    face = attrgetter(path)(fnp)
    face = case.through(face) if case.through else face
    for call in case.calls:
        if path == "einsum" and _sums_over_ellipsis(call):
            continue
        given = Call(call.filled(call.arrays()), call.kwargs)
        plain = arrays_of(given.apply(face, []))
        found = arrays_of(face(*with_tensors(given.args), **given.kwargs))
        assert len(plain) == len(found)
        for ours, theirs in zip(found, plain, strict=True):
            assert ours.shape == theirs.shape, call
            assert ours.dtype.kind == theirs.dtype.kind, call
            np.testing.assert_allclose(ours, theirs, rtol=case.rtol, atol=case.rtol)


RANDOM = np.random.default_rng(3)
MATRICES = {
    "square": RANDOM.normal(size=(5, 5)),
    "tall": RANDOM.normal(size=(5, 3)),
    "wide": RANDOM.normal(size=(3, 5)),
    "stack": RANDOM.normal(size=(2, 3, 3)),
    "equal values": np.eye(4),
    "low rank": np.outer(np.arange(4.0), np.ones(4)),
    "float32": RANDOM.normal(size=(4, 4)).astype(np.float32),
    "integers": RANDOM.integers(-3, 4, (4, 4)),
    "complex": RANDOM.normal(size=(4, 4)) + 1j * RANDOM.normal(size=(4, 4)),
    "complex64": (RANDOM.normal(size=(3, 3)) * (1 + 2j)).astype(np.complex64),
    "complex, equal values": np.eye(3) * (1 + 0j),
    "list": [[2.0, 1.0], [1.0, 3.0]],
    "empty": np.zeros((0, 0)),
}
DECOMPOSITIONS = {
    "svd": fnp.linalg.svd,
    "reduced svd": lambda a: fnp.linalg.svd(a, full_matrices=False),
    "qr": fnp.linalg.qr,
    "complete qr": lambda a: fnp.linalg.qr(a, mode="complete"),
    "scipy svd": slinalg.svd,
    "scipy qr": slinalg.qr,
    "eigh": lambda a: fnp.linalg.eigh(fnp.asarray(a) + fnp.swapaxes(a, -1, -2)),
    "upper eigh": lambda a: fnp.linalg.eigh(fnp.asarray(a), "U"),
    "scipy eigh": lambda a: slinalg.eigh(fnp.asarray(a)),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_decompositions_that_are_not_unique_have_the_same_bits(name: str, matrix: str) -> None:
    a = MATRICES[matrix]
    if "eigh" in name and matrix in ("tall", "wide"):
        pytest.skip("square matrices only")
    plain = DECOMPOSITIONS[name](a)
    found = DECOMPOSITIONS[name](fg.tensor(a))
    for ours, theirs in zip(found, plain, strict=True):
        assert type(theirs) is np.ndarray
        assert theirs.flags.writeable
        assert ours.dtype == theirs.dtype
        assert ours.numpy().tobytes() == theirs.tobytes()


def test_a_result_is_the_one_that_is_differentiated() -> None:
    def first(a: Any) -> Any:
        return fnp.linalg.svd(a)[0][0, 0] + fnp.linalg.eigh(a)[1][0, 0]

    for seed in range(20):
        a = np.random.default_rng(seed).normal(size=(4, 4))
        assert first(a) == fg.value_and_grad(first)(a)[0]


def test_what_no_tensor_holds_is_numpy_s() -> None:
    for f in ("svd", "qr", "eigh"):
        assert type(getattr(fnp.linalg, f)(np.eye(2))) is type(getattr(np.linalg, f)(np.eye(2)))
    assert np.array_equal(fnp.linalg.svd(np.eye(3), hermitian=True)[1], np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        fnp.linalg.svd(np.full((2, 2), np.nan))
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        fnp.linalg.eigh(np.ones((2, 3)))
