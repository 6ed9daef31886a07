"""Weights whose rows or columns are orthonormal.

`parametrize.py` replaces the parameters. Invariant: matrices have the axes of PyTorch's
weights, also for `Linear`, whose weight is [in, out] here; so parameters and base matrices are
PyTorch's.
"""

from __future__ import annotations

from ferrograd import _core, linalg
from ferrograd._core import Tensor
from ferrograd._tensor import creation
from ferrograd._tensor.modes import no_grad
from ferrograd._tensor.random import randn
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._module import Module
from ferrograd.nn.utils.parametrize import register_parametrization

_ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    base: Tensor | None

    def __init__(self, orthogonal_map: str, trivialized: bool, turned: bool) -> None:
        super().__init__()
        self.orthogonal_map, self.trivialized, self.turned = orthogonal_map, trivialized, turned
        self.base = None

    def _needs_transpose(self, weight: Tensor) -> bool:
        """Whether the matrix that is worked on, which is not wide, is the transposed one."""
        rows, columns = weight.shape[-2:][::-1] if self.turned else weight.shape[-2:]
        return bool(rows < columns) != self.turned

    def forward(self, weight: Tensor) -> Tensor:
        """The orthonormal matrix of the parameter."""
        lies = self._needs_transpose(weight)
        x = weight.mT if lies else weight
        n, k = int(x.shape[-2]), int(x.shape[-1])
        if self.orthogonal_map == "householder":
            q = _householder_product(_core.tril(x, -1), n, k)
            # Ones and minus ones, which do not learn.
            q = q * _core.trunc(_core.diagonal(x.detach(), 0, -2, -1)).unsqueeze(-2)
        else:
            q = self._compute_orthogonal(_core.tril(x), n, k)
        if self.base is not None:
            q = self.base.clone() @ q
        return q.mT if lies else q

    def _compute_orthogonal(self, x: Tensor, n: int, k: int) -> Tensor:
        if n != k:
            x = _core.concatenate([x, creation.zeros((*x.shape[:-1], n - k), dtype=x.dtype)], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            return linalg.matrix_exp(skew)[..., :k]
        one = creation.eye(n, dtype=x.dtype)
        return linalg.solve(one - 0.5 * skew, one + 0.5 * skew)[..., :k]

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The parameter of a matrix, which becomes orthonormal first; the base keeps it."""
        if not self.trivialized:
            return weight
        lies = self._needs_transpose(weight)
        with no_grad():
            q = weight.mT if lies else weight
            n, k = int(q.shape[-2]), int(q.shape[-1])
            if n != k:
                q = _core.concatenate([q, randn(*q.shape[:-1], n - k, dtype=q.dtype)], -1)
            made = _orthonormalize(q)
            if self.base is None:
                del self.base
                self.register_buffer("base", made)
            else:
                self.base.copy_(made)
            start = creation.zeros((*q.shape[:-1], k), dtype=q.dtype)
            _core.diagonal(start, 0, -2, -1).fill_(-1.0)
        return start.mT if lies else start


def _householder_product(v: Tensor, n: int, k: int) -> Tensor:
    """The first columns of the product of reflections; their vectors are 1 on the diagonal."""
    one = creation.eye(n, k, dtype=v.dtype)
    vectors = v + one
    scales = 2.0 / (1.0 + (v * v).sum(-2))
    q = one
    for i in reversed(range(k)):
        column = vectors[..., i : i + 1]
        q = q - scales[..., i : i + 1].unsqueeze(-1) * column @ (column.mT @ q)
    return q


def _orthonormalize(matrix: Tensor) -> Tensor:
    q, r = linalg.qr(matrix)
    made: Tensor = q * _core.sgn(_core.diagonal(r, 0, -2, -1)).unsqueeze(-2)
    return made


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Makes a weight orthonormal: `WᵀW = 1`, or `W Wᵀ = 1` for a wide one. Returns the module.

    The weight is a matrix, or a batch of them in the last two axes. It is the matrix exponential of
    a skew matrix ("matrix_exp", the default for square and complex ones), its Cayley transform
    ("cayley") or a product of reflections ("householder"), times a fixed base. The base is the
    orthonormalised original weight. With `use_trivialization=False` there is no base, and the
    parameter is the original weight.
    Errors: `ShapeError` for a weight of one axis, `ArgumentError` for other maps, and for
    reflections of complex matrices or without a base.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.parametrizations.orthogonal(fg.nn.Linear(4, 4))
    >>> fg.allclose(layer.weight @ layer.weight.T, fg.eye(4))
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim < 2:
        shape = tuple(weight.shape) if isinstance(weight, Tensor) else weight
        raise ShapeError(f"orthogonal: {name!r} is {shape}; give a parameter of two axes or more")
    square = weight.shape[-2] == weight.shape[-1] or weight.dtype.kind == "c"
    chosen = orthogonal_map or ("matrix_exp" if square else "householder")
    if chosen not in _ORTHOGONAL_MAPS:
        raise ArgumentError(
            f"orthogonal: orthogonal_map={chosen!r}; use one of {', '.join(_ORTHOGONAL_MAPS)}"
        )
    if chosen == "householder" and weight.dtype.kind == "c":
        raise ArgumentError(
            f'orthogonal: orthogonal_map="householder" of {weight.dtype}; use "matrix_exp" or'
            ' "cayley"'
        )
    if chosen == "householder" and not use_trivialization:
        raise ArgumentError(
            'orthogonal: use_trivialization=False with orthogonal_map="householder"; leave it out,'
            ' or use "matrix_exp" or "cayley"'
        )
    turned = name == "weight" and getattr(module, "weight_is_in_out", False) and weight.ndim == 2
    made = _Orthogonal(chosen, use_trivialization, bool(turned))
    return register_parametrization(module, name, made, unsafe=True)
