"""What the functions of the array API namespace compute: the same as NumPy's of these names.

Signatures are in `test_array_api.py`.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.array_api as xp
from array_api_signatures import _ONE, _TWO, SIGNATURES
from ferrograd._core import _config

#: Arguments by function: `a` and `b` are (3, 4), `v` a vector, `s` a symmetric (4, 4) matrix.
CALLS = """
arange: 1, 7, 2 | 3 | 0.0, 1.0, 0.25
empty: (0, 2)
eye: 2, 3, k=1 | 3
from_dlpack: a
full: (2, 2), 3 | 2, 1.5 | (), True
linspace: 0, 1, 5 | 0, 1, 4, endpoint=False
meshgrid: v, v | v, v[:2], indexing='ij'
ones: 3 | (2, 1)
zeros: (2, 0) | ()
asarray: [[1, 2], [3, 4]] | 1.5 | a
empty_like: a[:0]
full_like: a, 1
ones_like zeros_like: a
tril triu: a | a, k=1
astype: a, xp.float32 | a, xp.int64, copy=False
can_cast: xp.int32, xp.float64 | xp.float64, xp.int32
isdtype: xp.float32, 'real floating' | xp.int32, ('bool', 'signed integer')
result_type: a, xp.float32 | xp.int32, xp.float32 | a, 2
clip: a, 1, 2 | a, min=2 | a, max=a[0, :]
take: a, i, axis=1 | v, i
take_along_axis: a, i[None, :], axis=0 | a, i[:3, None]
matrix_transpose: a
matmul: a, b.T
tensordot: a, b.T | a, b, axes=((0, 1), (0, 1)) | a, v, axes=0
vecdot: a, b | a, b, axis=-2
broadcast_arrays: a, v
broadcast_to: v, (2, 4)
concat: [a, b] | (a, b), axis=1 | [a, v], axis=None
expand_dims: a, axis=1 | a, axis=0
flip: a | a, axis=0 | a, axis=(0, 1)
moveaxis: a, 0, 1
permute_dims: a, (1, 0)
repeat: a, 2 | a, 2, axis=1 | v, i
reshape: a, (2, 6) | a, (-1,), copy=True
roll: a, 1 | a, (1, 2), axis=(0, 1)
squeeze: a[:1, :], 0 | a[:1, :1], (0, 1)
stack: [a, b] | (a, b), axis=-1
tile: a, (2, 1) | v, (2, 2)
unstack: a | a, axis=1
argmax argmin count_nonzero: a | a, axis=0 | a, axis=1, keepdims=True
nonzero: a
searchsorted: v, a | v, a, side='right'
where: a > b, a, b | a > b, 1, b
unique_all unique_counts unique_inverse: a
argsort sort: a | a, axis=0 | v, stable=True
cumulative_prod cumulative_sum: v | a, axis=1 | a, axis=0, include_initial=True
max min sum prod mean std var all any: a | a, axis=0 | a, axis=(0, 1), keepdims=True | a, axis=()
diff: v | a, axis=0 | a, n=2 | v, prepend=v[:1], append=v[:1]
linalg.cholesky: s | s, upper=True
linalg.cross: a[:, :3], b[:, :3] | a, b, axis=0
linalg.det linalg.inv linalg.eigvalsh linalg.slogdet: s
linalg.diagonal: a | a, offset=1
linalg.matmul: a, b.T
linalg.matrix_norm: a | a, ord=1 | a, ord='nuc', keepdims=True
linalg.matrix_power: s, 3 | s, -1
linalg.matrix_rank: a | s, rtol=0.5
linalg.matrix_transpose: a
linalg.outer: v, v
linalg.pinv: a | a, rtol=0.1
linalg.solve: s, v | s, b.T
linalg.svdvals: a
linalg.tensordot: a, b.T, axes=1
linalg.trace: s | a, offset=1
linalg.vecdot: a, b
linalg.vector_norm: a | a, axis=1, ord=3 | a, ord=xp.inf, keepdims=True
"""
#: Functions whose results are no values, or are unique only up to signs or order.
ELSEWHERE = {
    "unique_values",
    *("finfo", "iinfo", "__array_namespace_info__", "linalg.eigh", "linalg.qr", "linalg.svd"),
}


def rows() -> list[tuple[str, str]]:
    """A function and an expression of its arguments."""
    found = [(name, "a") for name in _ONE.split()]
    found += [(name, "a, b") for name in _TWO.split() if name != "matmul"]
    found += [(name, "a, 2") for name in _TWO.split() if name != "matmul"]
    for line in CALLS.strip().splitlines():
        names, _, arguments = line.partition(": ")
        found += [(name, each) for name in names.split() for each in arguments.split(" | ")]
    return found


def arrays(dtype: str) -> dict[str, Any]:
    rng = np.random.default_rng(5)

    def made(*shape: int) -> Any:
        if dtype.startswith("float"):
            return rng.uniform(0.1, 0.9, shape).astype(dtype)
        return rng.integers(0 if dtype == "bool" else 1, 2 if dtype == "bool" else 5, shape).astype(
            dtype
        )

    a, b, v = made(3, 4), made(3, 4), np.sort(made(4))
    return {
        "a": a,
        "b": b,
        "v": v,
        "s": a.T @ a + np.eye(4).astype(dtype),
        "i": np.asarray([0, 2, 1, 1]),
    }


def called(space: Any, name: str, arguments: str, pool: dict[str, Any]) -> Any:
    function = space
    for part in name.split("."):
        function = getattr(function, part)
    with np.errstate(all="ignore"):
        return eval(f"f({arguments})", {"f": function, "xp": space, **pool})


def leaves(result: Any) -> list[Any]:
    return [x for r in result for x in leaves(r)] if isinstance(result, tuple) else [result]


def test_every_function_of_the_standard_is_called() -> None:
    names = {line.partition("(")[0] for line in SIGNATURES}
    assert names - {name for name, _ in rows()} == ELSEWHERE


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize(("name", "arguments"), rows())
def test_values_are_those_of_numpy(name: str, arguments: str, dtype: str) -> None:
    if name == "reciprocal" and not dtype.startswith("float"):
        pytest.skip("the standard has it for floats only")
    pool = arrays(dtype)
    try:
        theirs = called(np, name, arguments, pool)
    except (TypeError, ValueError, np.linalg.LinAlgError):
        pytest.skip("NumPy refuses the dtype")
    known = set(_config()["dtypes"])
    results = [x for x in leaves(theirs) if isinstance(x, np.ndarray | np.generic)]
    if not {x.dtype.name for x in results} <= known:
        pytest.skip("tensors have no such dtype")
    ours = called(xp, name, arguments, {k: fg.asarray(x) for k, x in pool.items()})
    assert len(leaves(ours)) == len(leaves(theirs))
    for x, y in zip(leaves(ours), leaves(theirs), strict=True):
        if not isinstance(x, fg.Tensor):
            assert x == y
            continue
        y = np.asarray(y)
        assert (x.dtype, tuple(x.shape)) == (y.dtype, y.shape)
        assert np.allclose(
            x.numpy(), y, rtol=1e-4 if x.dtype == np.float32 else 1e-10, equal_nan=True
        )
