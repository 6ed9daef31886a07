# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, ParamSpec, Protocol, Self, TypeAlias, TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import disjoint_base

from ferrograd._tensor.device import device as _Device

__version__: str
_namespaces: dict[str, dict[str, Any]]

_TensorLike: TypeAlias = Tensor | ArrayLike
_Axes: TypeAlias = int | Sequence[int] | None
_Shape: TypeAlias = int | Sequence[int]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)

@disjoint_base
class Tensor:
    """A multi-dimensional array that remembers how it was computed."""

    def __new__(
        cls,
        data: _TensorLike,
        dtype: DTypeLike | None = None,
        *,
        requires_grad: _bool = False,
        name: str | None = None,
    ) -> Self: ...
    @property
    def shape(self) -> tuple[_int, ...]: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def size(self) -> Any: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def strides(self) -> tuple[_int, ...]: ...
    @property
    def device(self) -> _Device: ...
    @property
    def T(self) -> Tensor: ...  # noqa: N802
    @property
    def mT(self) -> Tensor: ...  # noqa: N802
    @property
    def mH(self) -> Tensor: ...  # noqa: N802
    @property
    def H(self) -> Tensor: ...  # noqa: N802
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def grad_fn(self) -> Node | None: ...
    @property
    def retains_grad(self) -> _bool: ...
    @property
    def output_nr(self) -> _int: ...
    @property
    def _version(self) -> _int: ...
    @property
    def _base(self) -> Tensor | None: ...
    requires_grad: bool
    grad: Tensor | None
    data: Tensor
    name: str | None
    def dim(self) -> _int: ...
    def numel(self) -> _int: ...
    def element_size(self) -> _int: ...
    def stride(self, dim: _int | None = None) -> Any: ...
    def is_contiguous(self) -> _bool: ...
    def contiguous(self) -> Tensor: ...
    def is_floating_point(self) -> _bool: ...
    def data_ptr(self) -> _int: ...
    def view_as(self, other: Tensor) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor: ...
    def t(self) -> Tensor: ...
    def new_zeros(self, *size: Any, **options: Any) -> Tensor: ...
    def new_ones(self, *size: Any, **options: Any) -> Tensor: ...
    def new_empty(self, *size: Any, **options: Any) -> Tensor: ...
    def new_full(self, *size_and_value: Any, **options: Any) -> Tensor: ...
    def new_tensor(self, *data: Any, **options: Any) -> Tensor: ...
    def is_inference(self) -> _bool: ...
    def _is_view(self) -> _bool: ...
    def fill_(self, value: _TensorLike) -> Self: ...
    def zero_(self) -> Self: ...
    def copy_(self, src: _TensorLike) -> Self: ...
    def detach_(self) -> Self: ...
    def double(self) -> Tensor: ...
    def float(self) -> Tensor: ...
    def half(self) -> Tensor: ...
    def cdouble(self) -> Tensor: ...
    def cfloat(self) -> Tensor: ...
    def long(self) -> Tensor: ...
    def short(self) -> Tensor: ...
    def char(self) -> Tensor: ...
    def byte(self) -> Tensor: ...
    def int(self) -> Tensor: ...
    def bool(self) -> Tensor: ...
    def cpu(self) -> Self: ...
    def to_device(self, device: Any, /, *, stream: None = None) -> Self: ...
    def polygamma(self, n: _int) -> Tensor: ...
    def to(
        self,
        *targets: Any,
        dtype: DTypeLike | None = None,
        device: Any = None,
        copy: _bool = False,
        non_blocking: _bool = False,
    ) -> Tensor: ...
    def bernoulli(p: Any, *, out: Tensor | None = None, generator: Any = None) -> Tensor: ...
    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Self: ...
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Any = None) -> Self: ...
    def uniform_(self, low: _float = 0.0, high: _float = 1.0, *, generator: Any = None) -> Self: ...
    def random_(self, low: _int = 0, high: _int | None = None, *, generator: Any = None) -> Self: ...
    def exponential_(self, lambd: _float = 1.0, *, generator: Any = None) -> Self: ...
    def log_normal_(
        self, mean: _float = 1.0, std: _float = 2.0, *, generator: Any = None
    ) -> Self: ...
    def cauchy_(
        self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Any = None
    ) -> Self: ...
    def geometric_(self, p: _float, *, generator: Any = None) -> Self: ...
    def multinomial(
        input,
        num_samples: _int,
        replacement: _bool = False,
        *,
        generator: Any = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    def mv(input, vec: _TensorLike) -> Tensor: ...
    def addmm(
        input, mat1: _TensorLike, mat2: _TensorLike, *, beta: _float = 1, alpha: _float = 1
    ) -> Tensor: ...
    def addmv(
        input, mat: _TensorLike, vec: _TensorLike, *, beta: _float = 1, alpha: _float = 1
    ) -> Tensor: ...
    def addr(
        input, vec1: _TensorLike, vec2: _TensorLike, *, beta: _float = 1, alpha: _float = 1
    ) -> Tensor: ...
    def addbmm(
        input, batch1: _TensorLike, batch2: _TensorLike, *, beta: _float = 1, alpha: _float = 1
    ) -> Tensor: ...
    def baddbmm(
        input, batch1: _TensorLike, batch2: _TensorLike, *, beta: _float = 1, alpha: _float = 1
    ) -> Tensor: ...
    def dist(input, other: _TensorLike, p: _float = 2.0) -> Tensor: ...
    def where(self, condition: _TensorLike, other: _TensorLike) -> Tensor: ...
    def index_put(
        input, indices: Sequence[Any], values: _TensorLike, accumulate: _bool = False
    ) -> Tensor: ...
    def index_put_(
        self, indices: Sequence[Any], values: _TensorLike, accumulate: _bool = False
    ) -> Self: ...
    def index_copy(input, dim: _int, index: _TensorLike, source: _TensorLike) -> Tensor: ...
    def index_copy_(self, dim: _int, index: _TensorLike, source: _TensorLike) -> Self: ...
    def index_fill(input, dim: _int, index: _TensorLike, value: _TensorLike) -> Tensor: ...
    def index_fill_(self, dim: _int, index: _TensorLike, value: _TensorLike) -> Self: ...
    def masked_scatter(input, mask: _TensorLike, source: _TensorLike) -> Tensor: ...
    def masked_scatter_(self, mask: _TensorLike, source: _TensorLike) -> Self: ...
    def select_scatter(input, src: _TensorLike, dim: _int, index: _int) -> Tensor: ...
    def slice_scatter(
        input,
        src: _TensorLike,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor: ...
    def diagonal_scatter(
        input, src: _TensorLike, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor: ...
    def div(self, b: _TensorLike, *, rounding_mode: str | None = None, out: Any = None, name: str | None = None) -> Tensor: """Quotient, `a / b`; integers divide as float64. Derivatives: `g / b` and `-g y / b`."""
    def div_(self, b: _TensorLike, *, rounding_mode: str | None = None) -> Self: """`divide` in place."""
    def full_like(self, fill_value: _float, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """One repeated number of the same shape and dtype."""
    def logit(input, eps: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `sigmoid`, `ln(x / (1 - x))`; NaN outside 0..1. Derivative: `g / (x (1 - x))`."""
    def split(self, indices_or_sections: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`n` equal parts, or the parts between the indices given; views. Refused when `n` does not divide the axis. Derivative: the parts' gradients joined."""
    def sort(
        self,
        axis: _int = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: _bool | None = None,
        descending: _bool = False,
    ) -> None:
        """Sorts along an axis in place; `fg.sort(x)` is a sorted copy."""

    def partition(
        self, kth: _Shape, axis: _int = -1, kind: str | None = None, order: None = None
    ) -> None:
        """Puts those at `kth` where sorting puts them, in place; `fg.partition` gives a copy."""

    def fill(self, value: _TensorLike) -> None:
        """Sets every element to one value."""

    def put(self, indices: _TensorLike, values: _TensorLike, mode: str = "raise") -> None:
        """Writes values in turn to places of the flattened tensor."""

    def addmm_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def addmv_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def addr_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def addbmm_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def baddbmm_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def renorm_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def clamp_min_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def clamp_max_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def lt_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def le_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def gt_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def ge_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def eq_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def ne_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def less_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def less_equal_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def greater_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def greater_equal_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def not_equal_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def float_power_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def gcd_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def lcm_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def ldexp_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def nextafter_(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def stft(
        input: Any,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Any = None,
        center: _bool = True,
        pad_mode: str = "reflect",
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
    ) -> Tensor: ...
    def istft(
        input: Any,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Any = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool | None = None,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor: ...
    @property
    def matvec(self) -> Any: ...
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = False) -> Self: ...
    def unflatten(input, dim: _int, sizes: Sequence[_int]) -> Tensor: ...
    def kthvalue(input, k: _int, dim: _int = -1, keepdim: _bool = False) -> Any: ...
    def mode(input, dim: _int = -1, keepdim: _bool = False) -> Any: ...
    def msort(input) -> Tensor: ...
    def aminmax(input, *, dim: _int | None = None, keepdim: _bool = False) -> Any: ...
    def bincount(input, weights: Any = None, minlength: _int = 0) -> Tensor: ...
    def histc(input, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor: ...
    def unique_consecutive(
        input,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any: ...
    def det(input) -> Tensor: ...
    def slogdet(input) -> tuple[Tensor, Tensor]: ...
    def logdet(input) -> Tensor: ...
    def inverse(input) -> Tensor: ...
    def pinverse(input, rcond: _float = 1e-15) -> Tensor: ...
    def matrix_power(input, n: _int) -> Tensor: ...
    def matrix_exp(input) -> Tensor: ...
    def cholesky(input, upper: _bool = False) -> Tensor: ...
    def cholesky_solve(input, L: Any, upper: _bool = False) -> Tensor: ...
    def cholesky_inverse(L, upper: _bool = False) -> Tensor: ...
    def clamp_min(input, min: Any) -> Tensor: ...
    def clamp_max(input, max: Any) -> Tensor: ...
    def frexp(input) -> Any: ...
    def ldexp(input, other: Any, *, out: Any = None) -> Any: ...
    def gcd(input, other: Any, *, out: Any = None) -> Any: ...
    def lcm(input, other: Any, *, out: Any = None) -> Any: ...
    def float_power(input, exponent: Any, *, out: Any = None) -> Any: ...
    def frac(input) -> Tensor: ...
    def frac_(self) -> Tensor: ...
    def positive(input, *, out: Any = None) -> Any: ...
    def isposinf(input) -> Tensor: ...
    def isneginf(input) -> Tensor: ...
    def nanquantile(
        input, q: Any, dim: Any = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    def renorm(input, p: _float, dim: _int, maxnorm: _float) -> Tensor: ...
    def as_strided(
        input, size: Any, stride: Any, storage_offset: _int | None = 0
    ) -> Tensor: ...
    def adjoint(input) -> Tensor: ...
    def nelement(self) -> _int: ...
    def ndimension(self) -> _int: ...
    def get_device(self) -> _int: ...
    def is_same_size(self, other: Tensor) -> _bool: ...
    def is_signed(self) -> _bool: ...
    def is_nonzero(input) -> _bool: ...
    def type(self, dtype: Any = None, non_blocking: _bool = False) -> Any: ...
    def pin_memory(self) -> Self: ...
    def share_memory_(self) -> Self: ...
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    @property
    def is_meta(self) -> _bool: ...
    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_quantized(self) -> _bool: ...
    def item(self, *index: Any) -> Any: ...
    def tobytes(self, order: str = "C") -> bytes: ...
    def compress(self, condition: _TensorLike, axis: _int | None = None) -> Tensor: ...
    def __round__(self, ndigits: _int | None = None) -> Tensor: ...
    def tolist(self) -> Any: ...
    def numpy(self, *, writable: _bool | None = None) -> NDArray[Any]: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self: ...
    def zero_grad(self, set_to_none: _bool = True) -> None: ...
    def retain_grad(self) -> None: ...
    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle: ...
    def register_post_accumulate_grad_hook(
        self, hook: Callable[[Tensor], Any]
    ) -> RemovableHandle: ...
    def detach(self) -> Tensor: ...
    def backward(
        self,
        gradient: _TensorLike | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Any = None,
    ) -> None: ...
    def __add__(self, other: Any, /) -> Tensor: ...
    def __radd__(self, other: Any, /) -> Tensor: ...
    def __sub__(self, other: Any, /) -> Tensor: ...
    def __rsub__(self, other: Any, /) -> Tensor: ...
    def __mul__(self, other: Any, /) -> Tensor: ...
    def __rmul__(self, other: Any, /) -> Tensor: ...
    def __truediv__(self, other: Any, /) -> Tensor: ...
    def __rtruediv__(self, other: Any, /) -> Tensor: ...
    def __floordiv__(self, other: Any, /) -> Tensor: ...
    def __rfloordiv__(self, other: Any, /) -> Tensor: ...
    def __mod__(self, other: Any, /) -> Tensor: ...
    def __rmod__(self, other: Any, /) -> Tensor: ...
    def __pow__(self, other: Any, modulo: None = None, /) -> Tensor: ...
    def __rpow__(self, other: Any, modulo: None = None, /) -> Tensor: ...
    def __matmul__(self, other: Any, /) -> Tensor: ...
    def __rmatmul__(self, other: Any, /) -> Tensor: ...
    def __divmod__(self, other: Any, /) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Any, /) -> tuple[Tensor, Tensor]: ...
    def __and__(self, other: Any, /) -> Tensor: ...
    def __rand__(self, other: Any, /) -> Tensor: ...
    def __or__(self, other: Any, /) -> Tensor: ...
    def __ror__(self, other: Any, /) -> Tensor: ...
    def __xor__(self, other: Any, /) -> Tensor: ...
    def __rxor__(self, other: Any, /) -> Tensor: ...
    def __lshift__(self, other: Any, /) -> Tensor: ...
    def __rlshift__(self, other: Any, /) -> Tensor: ...
    def __rshift__(self, other: Any, /) -> Tensor: ...
    def __rrshift__(self, other: Any, /) -> Tensor: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __imul__(self, other: Any, /) -> Self: ...
    def __itruediv__(self, other: Any, /) -> Self: ...
    def __ipow__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __ifloordiv__(self, other: Any, /) -> Self: ...
    def __imod__(self, other: Any, /) -> Self: ...
    def __iand__(self, other: Any, /) -> Self: ...
    def __ior__(self, other: Any, /) -> Self: ...
    def __ixor__(self, other: Any, /) -> Self: ...
    def __ilshift__(self, other: Any, /) -> Self: ...
    def __irshift__(self, other: Any, /) -> Self: ...
    def __imatmul__(self, other: Any, /) -> Self: ...
    def __lt__(self, other: Any, /) -> Tensor: ...
    def __le__(self, other: Any, /) -> Tensor: ...
    def __gt__(self, other: Any, /) -> Tensor: ...
    def __ge__(self, other: Any, /) -> Tensor: ...
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __len__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __float__(self) -> _float: ...
    def __int__(self) -> _int: ...
    def __complex__(self) -> _complex: ...
    def __index__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __reversed__(self) -> Iterator[Tensor]: ...
    def __contains__(self, value: Any, /) -> _bool: ...
    def __getitem__(self, key: Any, /) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __format__(self, spec: str, /) -> str: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: _bool | None = None) -> NDArray[Any]: ...
    def _is_value(self) -> _bool: ...
    def _become_memory(self) -> None: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any, /) -> None: ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any, /) -> None: ...
    def conj(self) -> Tensor: ...
    def conjugate(self) -> Tensor: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
    def celu(self, alpha: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """Elu with a continuous slope: `alpha (e^(x / alpha) - 1)` below zero. Derivative: `g`, and `g e^(x / alpha)` below."""
    def elu(self, alpha: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """`x` above zero, `alpha (e^x - 1)` below. Derivative: `g`, and `g alpha e^x` below."""
    def gelu(self, approximate: str = "none", *, out: Any = None, name: str | None = None) -> Tensor: """`x` times the normal distribution function, or its tanh approximation with `approximate="tanh"`. Derivative: `g (cdf(x) + x pdf(x))`."""
    def hardsigmoid(self, *, out: Any = None, name: str | None = None) -> Tensor: """The straight line `x / 6 + 1/2`, limited to 0..1. Derivative: `g / 6` strictly inside, 0 elsewhere."""
    def hardswish(self, *, out: Any = None, name: str | None = None) -> Tensor: """`x hardsigmoid(x)`. Derivative: `g (x / 3 + 1/2)` between -3 and 3, `g` above, 0 below."""
    def hardtanh(self, min_val: _float = -1.0, max_val: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """Limited to the range `min_val..max_val`. Derivative: `g` strictly inside, 0 elsewhere."""
    def leaky_relu(self, negative_slope: _float = 0.01, *, out: Any = None, name: str | None = None) -> Tensor: """`x` above zero, `slope x` below. Derivative: `g` above zero, `slope g` elsewhere."""
    def logsigmoid(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the logistic function. Derivative: `g sigmoid(-x)`."""
    def mish(self, *, out: Any = None, name: str | None = None) -> Tensor: """`x tanh(softplus(x))`. Derivative: `g (t + x s (1 - t²))` with `s = sigmoid(x)` and `t = tanh(softplus(x))`."""
    def relu(self, *, out: Any = None, name: str | None = None) -> Tensor: """Rectified linear unit, `max(x, 0)`. Derivative: `g` where `x > 0`, 0 elsewhere and at 0."""
    def relu6(self, *, out: Any = None, name: str | None = None) -> Tensor: """`min(max(x, 0), 6)`. Derivative: `g` between 0 and 6, 0 elsewhere and at both ends."""
    def selu(self, *, out: Any = None, name: str | None = None) -> Tensor: """Scaled elu, self-normalising: `scale elu(x, alpha)` with its two fixed constants. Derivative: `g scale`, and `g scale alpha e^x` below zero."""
    def sigmoid(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logistic function, `1 / (1 + e^-x)`. Derivative: `g y (1 - y)`."""
    def expit(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logistic function, `1 / (1 + e^-x)`. Derivative: `g y (1 - y)`."""
    def silu(self, *, out: Any = None, name: str | None = None) -> Tensor: """`x sigmoid(x)`. Derivative: `g s (1 + x (1 - s))` with `s = sigmoid(x)`."""
    def swish(self, *, out: Any = None, name: str | None = None) -> Tensor: """`x sigmoid(x)`. Derivative: `g s (1 + x (1 - s))` with `s = sigmoid(x)`."""
    def softplus(self, *, out: Any = None, name: str | None = None) -> Tensor: """`ln(1 + e^x)`. Derivative: `g sigmoid(x)`."""
    def softsign(self, *, out: Any = None, name: str | None = None) -> Tensor: """`x / (1 + |x|)`. Derivative: `g / (1 + |x|)²`."""
    def gather(self, axis: _int, index: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's gather: `out[i, j, …] = x[index[i, j, …], j, …]` for axis 0. Derivative: `g`, accumulated where an index repeats."""
    def index_reduce(self, axis: _int, index: _TensorLike, source: _TensorLike, reduce: str, include_self: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """As `index_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a row takes no part. Derivatives: those of the fold, shared evenly among equal extremes."""
    def put_along_axis(self, indices: _TensorLike, values: _TensorLike, axis: _int | None = -1, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with `values` at the indices along an axis; the last of a repeated index stays. Derivatives: of `x`, `g` elsewhere; of `values`, `g` where they stayed."""
    def scatter(self, axis: _int, index: _TensorLike, src: _TensorLike, *, reduce: str | None = None, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's scatter: a copy with `out[index[i, j, …], j, …] = src[i, j, …]` for axis 0; the last of a repeated index stays. `reduce="add"` or `"multiply"` folds into what is there instead. Derivatives: of `x`, `g` elsewhere; of `src`, `g` where it stayed; those of the fold with `reduce`."""
    def scatter_add(self, axis: _int, index: _TensorLike, src: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """As `scatter`, but added to what is there; repeated indices accumulate. Derivatives: of `x`, `g`; of `src`, `g` gathered."""
    def scatter_reduce(self, axis: _int, index: _TensorLike, src: _TensorLike, reduce: str, include_self: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """As `scatter_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a place takes no part. Derivatives: those of the fold, shared evenly among equal extremes."""
    def take_along_axis(self, indices: _TensorLike, axis: _int | None = -1, *, out: Any = None, name: str | None = None) -> Tensor: """The elements at the indices along an axis, which broadcast with the other axes; `axis=None` means the flattened tensor. Derivative: `g`, accumulated where an index repeats."""
    def take_along_dim(self, indices: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's name of `take_along_axis`; without an axis both are flattened."""
    def add(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sum, `a + b`. Derivative: `g` for both."""
    def arctan2(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Angle of the point (`b`, `a`). Derivatives: `g b / (a² + b²)` and `-g a / (a² + b²)`."""
    def atan2(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Angle of the point (`b`, `a`). Derivatives: `g b / (a² + b²)` and `-g a / (a² + b²)`."""
    def copysign(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The magnitude of `a` with the sign of `b`. Derivatives: `g` times the sign change, and zero."""
    def divide(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Quotient, `a / b`; integers divide as float64. Derivatives: `g / b` and `-g y / b`."""
    def true_divide(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Quotient, `a / b`; integers divide as float64. Derivatives: `g / b` and `-g y / b`."""
    def floor_divide(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Largest integer not above the quotient, as Python's `//`. Derivative: zero."""
    def fmod(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Remainder with the sign of the dividend, as C's `fmod`. Derivatives: `g` and `-g` times the quotient rounded towards zero."""
    def hypot(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`sqrt(a² + b²)`. Derivatives: `g a / y` and `g b / y`, zero at the origin."""
    def maximum(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The larger operand; NaN if either is NaN. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the larger, or to the NaN; half each at a tie of real numbers."""
    def minimum(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The smaller operand; NaN if either is NaN. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the smaller, or to the NaN; half each at a tie of real numbers."""
    def multiply(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Product, `a * b`. Derivatives: `g b` and `g a`."""
    def mul(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Product, `a * b`. Derivatives: `g b` and `g a`."""
    def negative(self, *, out: Any = None, name: str | None = None) -> Tensor: """Negative, `-x`. Derivative: `-g`."""
    def neg(self, *, out: Any = None, name: str | None = None) -> Tensor: """Negative, `-x`. Derivative: `-g`."""
    def power(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Power, `a ** b`. Derivatives: `g b a^(b-1)`, zero where `b` is 0, and `g y ln a`, zero where `a` is 0 and `b` is not negative. Integers to negative integer powers are refused, as in NumPy."""
    def pow(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Power, `a ** b`. Derivatives: `g b a^(b-1)`, zero where `b` is 0, and `g y ln a`, zero where `a` is 0 and `b` is not negative. Integers to negative integer powers are refused, as in NumPy."""
    def remainder(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Remainder with the sign of the divisor, as Python's `%`. Derivatives: `g` and `-g (a // b)`."""
    def mod(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Remainder with the sign of the divisor, as Python's `%`. Derivatives: `g` and `-g (a // b)`."""
    def subtract(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Difference, `a - b`. Derivatives: `g` and `-g`."""
    def sub(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Difference, `a - b`. Derivatives: `g` and `-g`."""
    def bitwise_and(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits set in both; the truth of both for booleans."""
    def bitwise_not(self, *, out: Any = None, name: str | None = None) -> Tensor: """Bits not set; the falsehood of booleans."""
    def invert(self, *, out: Any = None, name: str | None = None) -> Tensor: """Bits not set; the falsehood of booleans."""
    def bitwise_invert(self, *, out: Any = None, name: str | None = None) -> Tensor: """Bits not set; the falsehood of booleans."""
    def bitwise_or(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits set in either; the truth of either for booleans."""
    def bitwise_xor(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits set in exactly one; the truth of exactly one for booleans."""
    def left_shift(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a * 2**b` without overflow checks; 0 where all bits are shifted out or `b` is negative."""
    def bitwise_left_shift(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a * 2**b` without overflow checks; 0 where all bits are shifted out or `b` is negative."""
    def right_shift(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a // 2**b`; only the sign is left where all bits are shifted out or `b` is negative."""
    def bitwise_right_shift(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a // 2**b`; only the sign is left where all bits are shifted out or `b` is negative."""
    def astype(self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: _bool = True, copy: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """A copy in another dtype; floats to integers truncate, and wrap as NumPy does; an imaginary part is lost with a `ComplexWarning`. With `copy=False` the tensor itself, where dtype and `order` need no copy. `order` is that of the elements in memory, `casting` what may be converted, both as in NumPy. Derivative: `g` in the input's dtype."""
    def embedding(self, weight: _TensorLike, padding_idx: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Rows of `weight` by their numbers `x`, of any shape; the row `padding_idx` gets no gradient. Derivative: `g`, accumulated where a number repeats."""
    def index_add(self, axis: _int, index: _TensorLike, source: _TensorLike, alpha: _float = 1, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with `alpha * source` added to the rows of an axis, by their numbers; repeated numbers accumulate. Derivatives: of `x`, `g`; of `source`, `alpha` times the rows of `g`."""
    def index_select(self, axis: _int, index: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The rows of an axis by their numbers. Derivative: `g`, accumulated where a number repeats."""
    def masked_fill(self, mask: _TensorLike, value: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`value` where the mask holds, else `x`. Derivatives: of `x`, `g` where the mask does not hold; of `value`, `g` summed where it does."""
    def masked_select(self, mask: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The elements where the mask holds, in C order; both broadcast. Derivative: `g` where they stood."""
    def one_hot(self, num_classes: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """A new last axis with 1 at the index and 0 elsewhere, int64; as many classes as the largest index needs by default."""
    def take(self, indices: _TensorLike, axis: _int | None = None, mode: str = "raise", *, out: Any = None, name: str | None = None) -> Tensor: """The elements at integer positions along an axis (or of the flattened tensor); `mode` says what an index outside does: raise, wrap or clip. Derivative: `g`, accumulated where an index repeats."""
    def allclose(self, b: _TensorLike, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool: """Whether all elements are close, as `isclose` has it."""
    def array_equal(self, b: _TensorLike, equal_nan: _bool = False) -> _bool: """Whether shapes and all elements are equal; NaN equals NaN with `equal_nan`."""
    def equal(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a == b`."""
    def eq(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a == b`."""
    def greater(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a > b`."""
    def gt(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a > b`."""
    def greater_equal(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a >= b`."""
    def ge(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a >= b`."""
    def isclose(self, b: _TensorLike, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `|a - b| <= atol + rtol |b|`; infinities are close to themselves, NaN to NaN with `equal_nan`."""
    def isfinite(self, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is neither infinite nor NaN."""
    def isinf(self, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is infinite."""
    def isnan(self, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is NaN."""
    def less(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a < b`."""
    def lt(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a < b`."""
    def less_equal(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a <= b`."""
    def le(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a <= b`."""
    def logical_and(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise truth of both."""
    def logical_not(self, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise falsehood."""
    def logical_or(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise truth of either."""
    def logical_xor(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise truth of exactly one."""
    def not_equal(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a != b`."""
    def ne(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a != b`."""
    def signbit(self, *, out: Any = None, name: str | None = None) -> Tensor: """Whether the sign of each element is negative, also that of a zero or a NaN."""
    def angle(self, deg: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Angle of complex numbers in the plane, from -π to π (in degrees with `deg`); 0 and π for real numbers. Derivative: `i g x / |x|²`."""
    def complex(self, imag: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex numbers of a real and an imaginary part, broadcast. Derivatives: the parts of `g`."""
    def is_complex(self) -> _bool: """Whether the dtype is complex."""
    def iscomplex(self, *, out: Any = None, name: str | None = None) -> Tensor: """Whether the imaginary part of each element is not zero."""
    def isreal(self, *, out: Any = None, name: str | None = None) -> Tensor: """Whether the imaginary part of each element is zero."""
    def polar(self, angle: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex numbers of an absolute value and an angle, `abs (cos angle + i sin angle)`. Derivatives: those of the parts."""
    def view_as_complex(self, *, out: Any = None, name: str | None = None) -> Tensor: """Complex numbers of the pairs along the last axis, of size 2; a view: writing to it changes `x`. Refused where the pairs do not lie in memory as complex numbers do. Derivative: `view_as_real` of `g`."""
    def view_as_real(self, *, out: Any = None, name: str | None = None) -> Tensor: """The parts of complex numbers along a new last axis of size 2; a view: writing to it changes `x`. Derivative: `view_as_complex` of `g`."""
    def clone(self, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with storage of its own. Derivative: `g`."""
    def copy(self, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with storage of its own. Derivative: `g`."""
    def ones_like(self, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Ones of the same shape and dtype."""
    def zeros_like(self, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Zeros of the same shape and dtype."""
    def cummax(self, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> _Cummax: """Running maximum along an axis (or of the flattened tensor) and its index, the last of equals. Derivative: `g` to the element chosen."""
    def cummin(self, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> _Cummin: """Running minimum along an axis (or of the flattened tensor) and its index, the last of equals. Derivative: `g` to the element chosen."""
    def cumprod(self, axis: _int | None = None, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Running product along an axis (or of the flattened tensor). Derivative: exact also where elements are zero."""
    def cumsum(self, axis: _int | None = None, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Running sum along an axis (or of the flattened tensor). Derivative: the running sum of `g` from the end."""
    def logcumsumexp(self, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Running `ln(sum(e^x))` along an axis (or of the flattened tensor), without overflow. Derivative: the share of each element in all later sums."""
    def diag(self, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """The diagonal of a matrix (a view), or a matrix with this vector on its diagonal."""
    def diag_embed(self, offset: _int = 0, axis1: _int = -2, axis2: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """Matrices with the last axis on their diagonal; `axis1` and `axis2` are axes of the result."""
    def diagflat(self, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """A matrix with the elements, in C order, on its diagonal."""
    def diagonal(self, offset: _int = 0, axis1: _int = 0, axis2: _int = 1, *, out: Any = None, name: str | None = None) -> Tensor: """The diagonal of two axes, which disappear, as the last axis; a view. Derivative: `g` on that diagonal, zeros elsewhere."""
    def trace(self, offset: _int = 0, axis1: _int = 0, axis2: _int = 1, *, out: Any = None, name: str | None = None) -> Tensor: """The sum of a diagonal of two axes. Derivative: `g` on that diagonal."""
    def tril(self, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """The elements on and below diagonal `k` of the last two axes, zeros elsewhere. Derivative: the same of `g`."""
    def triu(self, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """The elements on and above diagonal `k` of the last two axes, zeros elsewhere. Derivative: the same of `g`."""
    def abs(self, *, out: Any = None, name: str | None = None) -> Tensor: """Absolute value; of complex numbers a real one. Derivative: `g sign(x)`, 0 at 0."""
    def absolute(self, *, out: Any = None, name: str | None = None) -> Tensor: """Absolute value; of complex numbers a real one. Derivative: `g sign(x)`, 0 at 0."""
    def addcdiv(self, a: _TensorLike, b: _TensorLike, value: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """`x + value a / b`. Derivatives: `g`, `g value / b` and `-g value a / b²`."""
    def addcmul(self, a: _TensorLike, b: _TensorLike, value: _float = 1, *, out: Any = None, name: str | None = None) -> Tensor: """`x + value a b`. Derivatives: `g`, `g value b` and `g value a`."""
    def arccos(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse cosine. Derivative: `-g / sqrt(1 - x²)`."""
    def acos(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse cosine. Derivative: `-g / sqrt(1 - x²)`."""
    def arccosh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic cosine. Derivative: `g / sqrt(x² - 1)`."""
    def acosh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic cosine. Derivative: `g / sqrt(x² - 1)`."""
    def arcsin(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse sine. Derivative: `g / sqrt(1 - x²)`."""
    def asin(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse sine. Derivative: `g / sqrt(1 - x²)`."""
    def arcsinh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic sine. Derivative: `g / sqrt(x² + 1)`."""
    def asinh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic sine. Derivative: `g / sqrt(x² + 1)`."""
    def arctan(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse tangent. Derivative: `g / (1 + x²)`."""
    def atan(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse tangent. Derivative: `g / (1 + x²)`."""
    def arctanh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic tangent. Derivative: `g / (1 - x²)`."""
    def atanh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic tangent. Derivative: `g / (1 - x²)`."""
    def cbrt(self, *, out: Any = None, name: str | None = None) -> Tensor: """Cube root. Derivative: `g / (3 y²)`."""
    def ceil(self, *, out: Any = None, name: str | None = None) -> Tensor: """Smallest integer not below. Derivative: zero."""
    def cos(self, *, out: Any = None, name: str | None = None) -> Tensor: """Cosine. Derivative: `-g sin x`."""
    def cosh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Hyperbolic cosine. Derivative: `g sinh x`."""
    def deg2rad(self, *, out: Any = None, name: str | None = None) -> Tensor: """Degrees to radians."""
    def radians(self, *, out: Any = None, name: str | None = None) -> Tensor: """Degrees to radians."""
    def digamma(self, *, out: Any = None, name: str | None = None) -> Tensor: """Derivative of `lgamma`. Derivative: `g polygamma(1, x)`."""
    def psi(self, *, out: Any = None, name: str | None = None) -> Tensor: """Derivative of `lgamma`. Derivative: `g polygamma(1, x)`."""
    def erf(self, *, out: Any = None, name: str | None = None) -> Tensor: """Error function. Derivative: `g 2/sqrt(pi) e^(-x²)`."""
    def erfc(self, *, out: Any = None, name: str | None = None) -> Tensor: """Complementary error function, `1 - erf(x)`. Derivative: `-g 2/sqrt(pi) e^(-x²)`."""
    def erfinv(self, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse error function. Derivative: `g sqrt(pi)/2 e^(y²)`."""
    def exp(self, *, out: Any = None, name: str | None = None) -> Tensor: """Exponential. Derivative: `g y`."""
    def exp2(self, *, out: Any = None, name: str | None = None) -> Tensor: """`2^x`. Derivative: `g y ln 2`."""
    def expm1(self, *, out: Any = None, name: str | None = None) -> Tensor: """`e^x - 1`, accurate near zero. Derivative: `g e^x`."""
    def floor(self, *, out: Any = None, name: str | None = None) -> Tensor: """Largest integer not above. Derivative: zero."""
    def lerp(self, end: _TensorLike, weight: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Linear interpolation, `x + weight (end - x)`. Derivatives: `g (1 - weight)`, `g weight` and `g (end - x)`."""
    def lgamma(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the absolute value of the gamma function. Derivative: `g digamma(x)`."""
    def gammaln(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the absolute value of the gamma function. Derivative: `g digamma(x)`."""
    def log(self, *, out: Any = None, name: str | None = None) -> Tensor: """Natural logarithm. Derivative: `g / x`."""
    def log10(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm to base 10. Derivative: `g / (x ln 10)`."""
    def log1p(self, *, out: Any = None, name: str | None = None) -> Tensor: """`ln(1 + x)`, accurate near zero. Derivative: `g / (1 + x)`."""
    def log2(self, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm to base 2. Derivative: `g / (x ln 2)`."""
    def nan_to_num(self, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """NaN replaced by `nan`, infinities by `posinf` and `neginf` (the largest finite numbers by default). Derivative: `g` where `x` was finite, 0 elsewhere."""
    def nextafter(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The float next to `a` on the way to `b`. It has no derivative, so an operand that requires grad is refused while recording."""
    def rad2deg(self, *, out: Any = None, name: str | None = None) -> Tensor: """Radians to degrees."""
    def degrees(self, *, out: Any = None, name: str | None = None) -> Tensor: """Radians to degrees."""
    def reciprocal(self, *, out: Any = None, name: str | None = None) -> Tensor: """Reciprocal, `1 / x`; integers become float64. Derivative: `-g y²`."""
    def rint(self, *, out: Any = None, name: str | None = None) -> Tensor: """Nearest integer, ties to even. Derivative: zero."""
    def round(self, decimals: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Nearest number with so many decimals, ties to even; negative `decimals` round before the point. Derivative: zero."""
    def around(self, decimals: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Nearest number with so many decimals, ties to even; negative `decimals` round before the point. Derivative: zero."""
    def rsqrt(self, *, out: Any = None, name: str | None = None) -> Tensor: """Reciprocal square root. Derivative: `-g y / (2 x)`."""
    def sign(self, *, out: Any = None, name: str | None = None) -> Tensor: """Sign: -1, 0 or 1; NaN for NaN; a complex number over its absolute value, and 0 for 0. Derivative: zero, and of complex numbers that of the quotient."""
    def sgn(self, *, out: Any = None, name: str | None = None) -> Tensor: """Sign: -1, 0 or 1; NaN for NaN; a complex number over its absolute value, and 0 for 0. Derivative: zero, and of complex numbers that of the quotient."""
    def sin(self, *, out: Any = None, name: str | None = None) -> Tensor: """Sine. Derivative: `g cos x`."""
    def sinc(self, *, out: Any = None, name: str | None = None) -> Tensor: """`sin(pi x) / (pi x)`, 1 at 0. Derivative: `g` times that of the next order, finite at 0 for every order."""
    def sinh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Hyperbolic sine. Derivative: `g cosh x`."""
    def sqrt(self, *, out: Any = None, name: str | None = None) -> Tensor: """Square root; NaN below zero. Derivative: `g / (2 y)`, infinite at 0."""
    def square(self, *, out: Any = None, name: str | None = None) -> Tensor: """Square, `x²`. Derivative: `2 g x`."""
    def tan(self, *, out: Any = None, name: str | None = None) -> Tensor: """Tangent. Derivative: `g (1 + y²)`."""
    def tanh(self, *, out: Any = None, name: str | None = None) -> Tensor: """Hyperbolic tangent. Derivative: `g (1 - y²)`."""
    def trunc(self, *, out: Any = None, name: str | None = None) -> Tensor: """Integer part. Derivative: zero."""
    def fix(self, *, out: Any = None, name: str | None = None) -> Tensor: """Integer part. Derivative: zero."""
    def fmax(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The larger operand; a NaN loses against a number. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the larger, half each at a tie of real numbers."""
    def fmin(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The smaller operand; a NaN loses against a number. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the smaller, half each at a tie of real numbers."""
    def heaviside(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """0 below zero, `b` at zero, 1 above; NaN for NaN. Derivatives: zero by `a`; `g` by `b` where `a` is 0."""
    def logaddexp(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`ln(e^a + e^b)` without overflow. Derivatives: `g sigmoid(a - b)` and `g sigmoid(b - a)`."""
    def logaddexp2(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`log2(2^a + 2^b)` without overflow. Derivatives: `g 2^(a - y)` and `g 2^(b - y)`."""
    def xlogy(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a ln b`, and 0 where `a` is 0 unless `b` is NaN. Derivatives: `g ln b` and `g a / b`, zero where `a` is 0 and `b` leaves the domain."""
    def index(self, key: Any, *, out: Any = None, name: str | None = None) -> Tensor: """NumPy's `x[index]`: an integer for each axis gives the element, a value; fewer integers, slices, None and ... give a view; integer and boolean arrays give a copy. Derivative: `g` at the chosen elements, accumulated where an index repeats."""
    def select(self, axis: _int, index: _int, *, out: Any = None, name: str | None = None) -> Tensor: """The slice at one index of an axis, which disappears; a view. Derivative: `g` at the slice."""
    def cross_entropy(self, target: _TensorLike, weight: _TensorLike | None = None, ignore_index: _int = -100, reduction: str = "mean", label_smoothing: _float = 0.0, *, out: Any = None, name: str | None = None) -> Tensor: """Cross entropy of the softmax of logits (rows, classes, …) against class numbers (rows, …) or probabilities of the logits' shape; rows with the number `ignore_index` do not count, `weight` has one element per class and the mean divides by the weights that count. Derivative: `g (softmax(x) - target)`, over that divisor for the mean."""
    def matmul(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands."""
    def mm(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands."""
    def bmm(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands."""
    def convolve(self, v: _TensorLike, mode: str = "full", *, out: Any = None, name: str | None = None) -> Tensor: """Discrete convolution of two vectors, `sum_j a[j] v[k - j]`: `"full"`, `"same"` as the longer, or `"valid"`, where they overlap wholly. Derivatives: correlations of `g`."""
    def diff(self, n: _int = 1, axis: _int = -1, prepend: _TensorLike | None = None, append: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Differences of neighbours along an axis, `n` times; of booleans, whether they differ. Derivative: the negative differences of `g`."""
    def interp(self, xp: _TensorLike, fp: _TensorLike, left: _TensorLike | None = None, right: _TensorLike | None = None, period: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Piecewise linear interpolation at `x` of the values `fp` at ascending knots `xp`; beyond them `left` and `right`, or the values at the ends. With a `period`, the knots go round it in any order. Derivatives: the slope by `x`, the weights by `fp`."""
    def polyval(self, x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The polynomial with coefficients `p`, highest first, at `x`, by Horner's rule. Derivatives: the derived polynomial by `x`, powers of `x` by `p`."""
    def trapezoid(self, x: _TensorLike | None = None, dx: _float = 1.0, axis: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """Integral along an axis by the trapezoidal rule, over places `x` or steps of `dx`. Derivative: `g` times half the steps on either side."""
    def trapz(self, x: _TensorLike | None = None, dx: _float = 1.0, axis: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """Integral along an axis by the trapezoidal rule, over places `x` or steps of `dx`. Derivative: `g` times half the steps on either side."""
    def argsort(self, axis: _int | None = -1, descending: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """The indices that sort along an axis (None: flattened); equal elements keep their order."""
    def searchsorted(self, v: _TensorLike, side: str = "left", sorter: _TensorLike | None = None, right: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Where to insert the values of `v` in the ordered vector `a`, before equal elements or, with `side="right"` or PyTorch's `right=True`, after them; rows of `v` in rows of `a`."""
    def topk(self, k: _int, axis: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None, name: str | None = None) -> _Topk: """The `k` largest (or smallest) elements along an axis, in order, and their indices. Derivative: `g` to the elements chosen."""
    def unique(self, return_index: _bool = False, return_inverse: _bool = False, return_counts: _bool = False, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Any: """The distinct elements in ascending order, or along an axis the distinct slices; and, as asked, the index of the first of each, for every one the index of its value, and the counts. Derivative: `g` at the first of each."""
    def pad(self, pad_width: _TensorLike, mode: str = "constant", constant_values: _TensorLike | None = None, end_values: _TensorLike | None = None, stat_length: _TensorLike | None = None, reflect_type: str = "even", *, out: Any = None, name: str | None = None) -> Tensor: """NumPy's pad: `pad_width` is one number, `(before, after)`, or a pair per axis; `mode` is constant (of `constant_values`), edge, reflect, symmetric, wrap, linear_ramp (to `end_values`), maximum, minimum, mean, median (of `stat_length` elements), or empty. Derivative: `g` summed over the places that show an element."""
    def cross(self, b: _TensorLike, axisa: _int = -1, axisb: _int = -1, axisc: _int = -1, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Cross product of vectors of 3 components along an axis; `axis` overrides the other three. Derivatives: `b × g` and `g × a`."""
    def dot(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inner product of vectors, product of matrices, or the sum over the last axis of `a` and the second-last of `b`; a number multiplies. Derivatives: `g bᵀ` and `aᵀ g`."""
    def inner(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sum of products over the last axes of both; a number multiplies. Derivatives: `g b` and `gᵀ a`."""
    def kron(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Kronecker product: every element of `a` times the whole of `b`, as blocks. Derivatives: sums of `g` times the other operand over its blocks."""
    def outer(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """All products of an element of `a` with one of `b`, both flattened: (a.size, b.size). Derivatives: `g b` and `gᵀ a`."""
    def ger(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """All products of an element of `a` with one of `b`, both flattened: (a.size, b.size). Derivatives: `g b` and `gᵀ a`."""
    def tensordot(self, b: _TensorLike, axes: _int | Sequence[_int | Sequence[_int]] = 2, *, out: Any = None, name: str | None = None) -> Tensor: """Sum of products over the last `axes` axes of `a` and the first of `b`, or over a pair of lists of axes. Derivatives: the same contraction of `g` with the other operand."""
    def vdot(self, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sum of the products of all elements, both flattened, with the conjugate of a complex `a`. Derivatives: `conj(g) b` and `g a`."""
    def all(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Whether all elements over the axes are true."""
    def amax(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """`max` by another name, which gives values only also for PyTorch's `dim=`."""
    def amin(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """`min` by another name, which gives values only also for PyTorch's `dim=`."""
    def any(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Whether any element over the axes is true."""
    def argmax(self, axis: _int | None = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Index of the first largest element, along an axis or over all."""
    def argmin(self, axis: _int | None = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Index of the first smallest element, along an axis or over all."""
    def count_nonzero(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """How many elements over the axes are not zero."""
    def logsumexp(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """`ln(sum(e^x))` over the axes, without overflow; -inf for lines of -inf. Of complex numbers the principal branch. Derivative: `g e^(x - y)`, the share of each element."""
    def max(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Largest element over the axes; NaN if there is one. Derivative: `g` to the largest, shared evenly among ties."""
    def mean(self, axis: _Axes = None, *, keepdims: _bool = False, dtype: DTypeLike | None = None, out: Any = None, name: str | None = None) -> Tensor: """Mean over the axes, a float. Derivative: `g / n` repeated."""
    def median(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Median over the axes, the mean of the middle two if the count is even; NaN if there is one. Derivative: `g` to the middle element, half each to two."""
    def min(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Smallest element over the axes; NaN if there is one. Derivative: `g` to the smallest, shared evenly among ties."""
    def nanmax(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Largest element over the axes that is not NaN; NaN if all are. Derivative: `g` to the largest, shared evenly among ties."""
    def nanmean(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Mean over the axes of what is not NaN. Derivative: `g / n` repeated, 0 for a NaN."""
    def nanmedian(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Median over the axes of what is not NaN, the mean of the middle two if their count is even; NaN if all are. Derivative: `g` to the middle element, half each to two, 0 for a NaN."""
    def nanmin(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Smallest element over the axes that is not NaN; NaN if all are. Derivative: `g` to the smallest, shared evenly among ties."""
    def nanstd(self, axis: _Axes = None, *, ddof: _float = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Standard deviation over the axes of what is not NaN, the square root of `nanvar`."""
    def nansum(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Sum over the axes, a NaN counting as 0. Derivative: `g` repeated, 0 for a NaN."""
    def nanvar(self, axis: _Axes = None, *, ddof: _float = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Variance over the axes of what is not NaN. Derivative: `2 g (x - mean) / (n - ddof)`, 0 for a NaN."""
    def norm(self, ord: _float | str | None = None, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's norm: of all elements, or over the axes if there are any, `sum(|x|^ord)^(1/ord)`, that of 2 for None and "fro"; "nuc" is `linalg.norm`'s, as all orders of matrices are. Derivative: 0 where the norm is 0."""
    def percentile(self, q: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, method: str = "linear", out: Any = None, name: str | None = None) -> Tensor: """Quantiles at levels `q` from 0 to 100, between neighbours by NumPy's `method`; the axes of `q` come first."""
    def prod(self, axis: _Axes = None, *, keepdims: _bool = False, dtype: DTypeLike | None = None, out: Any = None, name: str | None = None) -> Tensor: """Product over the axes; booleans and integers in int64, those without a sign in uint64. Derivative: `g` times the product of the others, exact also where elements are zero."""
    def ptp(self, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Range over the axes, `max - min`. Derivative: `g` to the largest and `-g` to the smallest, shared evenly among ties."""
    def quantile(self, q: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, method: str = "linear", out: Any = None, name: str | None = None) -> Tensor: """Quantiles at levels `q` from 0 to 1, between neighbours by NumPy's `method`; the axes of `q` come first; a method that picks one element keeps integers. Derivatives: `g` to the two neighbours by their weight; the slope between them by `q`."""
    def std(self, axis: _Axes = None, *, ddof: _float | None = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Standard deviation, the square root of `var`. Derivative: that of the root, and 0 where the deviation is 0."""
    def std_mean(self, axis: _Axes = None, *, ddof: _float | None = 1.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]: """Standard deviation and mean over the axes; unlike `std` by `n - 1`, as PyTorch, whose name it is. Derivatives: those of both."""
    def sum(self, axis: _Axes = None, *, keepdims: _bool = False, dtype: DTypeLike | None = None, out: Any = None, name: str | None = None) -> Tensor: """Sum over the axes; booleans and integers sum as int64, those without a sign as uint64. Derivative: `g` repeated."""
    def var(self, axis: _Axes = None, *, ddof: _float | None = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Variance over the axes, `sum((x - mean)²) / (n - ddof)`; `correction` is another name of `ddof`. Derivative: `2 g (x - mean) / (n - ddof)`."""
    def var_mean(self, axis: _Axes = None, *, ddof: _float | None = 1.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]: """Variance and mean over the axes; unlike `var` by `n - 1`, as PyTorch, whose name it is. Derivatives: those of both."""
    def repeat(self, repeats: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Each element of an axis (of the flattened tensor by default) so many times: one number for all or one for each. Derivative: `g` summed over the repetitions."""
    def repeat_interleave(self, repeats: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Each element of an axis (of the flattened tensor by default) so many times: one number for all or one for each. Derivative: `g` summed over the repetitions."""
    def tile(self, reps: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """The whole tensor side by side, so many times along each axis; missing axes come first. Derivative: `g` summed over the copies."""
    def flip(self, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """The order of elements reversed along the axes, all by default; a view. Derivative: `g` reversed."""
    def fliplr(self, *, out: Any = None, name: str | None = None) -> Tensor: """Reversed along axis 1; a view."""
    def flipud(self, *, out: Any = None, name: str | None = None) -> Tensor: """Reversed along axis 0; a view."""
    def roll(self, shift: _Shape, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """The elements moved on along the axes (of the flattened tensor by default), those that leave coming in at the front. Derivative: `g` rolled back."""
    def rot90(self, k: _int = 1, axes: _Shape = (0, 1), *, out: Any = None, name: str | None = None) -> Tensor: """Turned by 90 degrees `k` times in the plane of two axes, from the first towards the second; a view."""
    def argwhere(self, *, out: Any = None, name: str | None = None) -> Tensor: """The positions of elements that are not zero, one row each."""
    def flatnonzero(self, *, out: Any = None, name: str | None = None) -> Tensor: """The positions, in the flattened tensor, of elements that are not zero."""
    def isin(self, test_elements: _TensorLike, assume_unique: _bool = False, invert: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is among `test_elements`; with `invert`, whether it is not."""
    def nonzero(self, *, out: Any = None, name: str | None = None) -> Any: """The positions of elements that are not zero, in C order: one int64 array per axis."""
    def clip(self, min: _TensorLike | None = None, max: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Limited to the range `min..max`; a bound that is None does not limit. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` inside and at the bounds, 0 outside."""
    def clamp(self, min: _TensorLike | None = None, max: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Limited to the range `min..max`; a bound that is None does not limit. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` inside and at the bounds, 0 outside."""
    def expand(self, shape: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Repeats along new and size-1 axes without copying; -1 keeps a dimension. A read-only view in spirit: in-place writes are refused."""
    def broadcast_to(self, shape: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Repeats along new and size-1 axes without copying; -1 keeps a dimension. A read-only view in spirit: in-place writes are refused."""
    def expand_dims(self, axis: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """A new axis of size 1 at a position of the result; a view."""
    def unsqueeze(self, axis: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """A new axis of size 1 at a position of the result; a view."""
    def flatten(self, start_dim: _int | None = None, end_dim: _int | None = None, order: str = "C", *, out: Any = None, name: str | None = None) -> Tensor: """A copy with one axis, all elements in C order (`order="F"`: the first axis runs fastest, `"K"`: as they lie in memory); with `start_dim` or `end_dim`, those axes merged into one, a view where the strides allow it."""
    def moveaxis(self, source: _Shape, destination: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Axes moved to other positions, the rest in order; a view."""
    def movedim(self, source: _Shape, destination: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Axes moved to other positions, the rest in order; a view."""
    def permute(self, axes: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """The axes in the order given; a view."""
    def permute_dims(self, axes: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """The axes in the order given; a view."""
    def ravel(self, order: str = "C", *, out: Any = None, name: str | None = None) -> Tensor: """One axis with all elements in C order (`order="F"`: the first axis runs fastest, `"K"`: as they lie in memory); a view where they lie in memory in this order, else a copy."""
    def reshape(self, shape: _Shape, *, order: str = "C", copy: _bool | None = None, out: Any = None, name: str | None = None) -> Tensor: """The same elements under another shape; one dimension may be -1. A view where the strides allow it, or with `copy=True` a copy. With `order="F"`, the first axis of both shapes runs fastest."""
    def squeeze(self, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """Axes of size 1 dropped, all or those named; a view."""
    def sum_to_size(self, shape: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Summed to a shape that broadcasts to this one; the adjoint of `broadcast_to`."""
    def swapaxes(self, axis1: _int, axis2: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Two axes exchanged; a view."""
    def swapdims(self, axis1: _int, axis2: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Two axes exchanged; a view."""
    def transpose(self, axes: _Shape | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The axes in another order, reversed by default; a view. Two axes given as `transpose(i, j)` are swapped."""
    def view(self, shape: _Shape | DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The same elements under another shape, or the same bytes as another dtype; never copied, and refused where the strides do not allow it. As in NumPy, elements of another size change the last axis. Derivative of a shape, and between complex numbers and their parts: the inverse view of `g`; any other dtype gives a constant."""
    def log_softmax(self, axis: _int, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the softmax along an axis, computed in `dtype` if it is given. Derivative: `g - softmax(x) sum(g)`."""
    def softmax(self, axis: _int, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`e^x / sum(e^x)` along an axis, computed in `dtype` if it is given. Derivative: `y (g - sum(g y))`."""
    def array_split(self, indices_or_sections: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> list[Tensor]: """As `split`, where `n` need not divide the axis: the first parts are longer by one."""
    def tensor_split(self, indices_or_sections: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> list[Tensor]: """As `split`, where `n` need not divide the axis: the first parts are longer by one."""
    def chunk(self, chunks: _int, axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """At most `chunks` parts of equal length, the last one shorter where it must be; views."""
    def dsplit(self, indices_or_sections: _TensorLike, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`split` along axis 2 of at least three."""
    def hsplit(self, indices_or_sections: _TensorLike, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`split` along axis 1, or axis 0 of a vector."""
    def narrow(self, axis: _int, start: _int, length: _int, *, out: Any = None, name: str | None = None) -> Tensor: """`length` elements of an axis from `start` on; a view."""
    def unbind(self, axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """PyTorch's slices along an axis, which disappears; views."""
    def unsafe_split(self, split_size: _int | Sequence[_int | Sequence[_int]], axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """PyTorch's split: parts of `split_size` elements of an axis, the last one shorter where it must be, or parts of the sizes given. Each part is a view of its own, which may be changed in place. Derivative: the parts' gradients joined."""
    def split_with_sizes(self, split_size: _int | Sequence[_int | Sequence[_int]], axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """PyTorch's split: parts of `split_size` elements of an axis, the last one shorter where it must be, or parts of the sizes given. Each part is a view of its own, which may be changed in place. Derivative: the parts' gradients joined."""
    def unstack(self, axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """The slices along an axis, which disappears: views, or the elements of a vector, values as `x[i]` is."""
    def vsplit(self, indices_or_sections: _TensorLike, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`split` along axis 0 of at least two."""
    def average(self, axis: _Axes = None, weights: _TensorLike | None = None, keepdims: _bool = False, returned: _bool = False, *, out: Any = None, name: str | None = None) -> Any: """Weighted mean over the axes, `sum(x w) / sum(w)`; the plain mean without weights. Weights have the tensor's shape or that of the axes named. With `returned`, also the sums of the weights."""
    def corrcoef(self, y: _TensorLike | None = None, rowvar: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """Correlation coefficients of variables (rows, or columns with `rowvar=False`) in float64, from -1 to 1."""
    def cov(self, y: _TensorLike | None = None, rowvar: _bool = True, bias: _bool = False, ddof: _int | None = None, fweights: _TensorLike | None = None, aweights: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Covariance matrix of variables (rows, or columns with `rowvar=False`) in float64, divided by `n - ddof` with `ddof` 1, or 0 with `bias`."""
    def sliding_window_view(self, window_shape: _Shape, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """Every window of a shape, as NumPy's of the same name: one new last axis for each axis of the window. A view."""
    def unfold(self, axis: _int, size: _int, step: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Windows of `size` elements along an axis, `step` apart; their elements are a new last axis. A view. Derivative: `g` summed over the windows that contain an element."""
    def celu_(self, alpha: _float = 1.0) -> Self: """`celu` in place."""
    def elu_(self, alpha: _float = 1.0) -> Self: """`elu` in place."""
    def gelu_(self, approximate: str = "none") -> Self: """`gelu` in place."""
    def hardsigmoid_(self) -> Self: """`hardsigmoid` in place."""
    def hardswish_(self) -> Self: """`hardswish` in place."""
    def hardtanh_(self, min_val: _float = -1.0, max_val: _float = 1.0) -> Self: """`hardtanh` in place."""
    def leaky_relu_(self, negative_slope: _float = 0.01) -> Self: """`leaky_relu` in place."""
    def logit_(self) -> Self: """`logit` in place."""
    def logsigmoid_(self) -> Self: """`logsigmoid` in place."""
    def mish_(self) -> Self: """`mish` in place."""
    def relu_(self) -> Self: """`relu` in place."""
    def relu6_(self) -> Self: """`relu6` in place."""
    def selu_(self) -> Self: """`selu` in place."""
    def sigmoid_(self) -> Self: """`sigmoid` in place."""
    def expit_(self) -> Self: """`sigmoid` in place."""
    def silu_(self) -> Self: """`silu` in place."""
    def swish_(self) -> Self: """`silu` in place."""
    def softplus_(self) -> Self: """`softplus` in place."""
    def softsign_(self) -> Self: """`softsign` in place."""
    def index_reduce_(self, axis: _int, index: _TensorLike, source: _TensorLike, reduce: str, include_self: _bool = True) -> Self: """`index_reduce` in place."""
    def scatter_(self, axis: _int, index: _TensorLike, src: _TensorLike, *, reduce: str | None = None) -> Self: """`scatter` in place."""
    def scatter_add_(self, axis: _int, index: _TensorLike, src: _TensorLike) -> Self: """`scatter_add` in place."""
    def scatter_reduce_(self, axis: _int, index: _TensorLike, src: _TensorLike, reduce: str, include_self: _bool = True) -> Self: """`scatter_reduce` in place."""
    def add_(self, b: _TensorLike) -> Self: """`add` in place."""
    def arctan2_(self, b: _TensorLike) -> Self: """`arctan2` in place."""
    def atan2_(self, b: _TensorLike) -> Self: """`arctan2` in place."""
    def conjugate_(self) -> Self: """`conjugate` in place."""
    def conj_(self) -> Self: """`conjugate` in place."""
    def copysign_(self, b: _TensorLike) -> Self: """`copysign` in place."""
    def divide_(self, b: _TensorLike) -> Self: """`divide` in place."""
    def true_divide_(self, b: _TensorLike) -> Self: """`divide` in place."""
    def floor_divide_(self, b: _TensorLike) -> Self: """`floor_divide` in place."""
    def fmod_(self, b: _TensorLike) -> Self: """`fmod` in place."""
    def hypot_(self, b: _TensorLike) -> Self: """`hypot` in place."""
    def maximum_(self, b: _TensorLike) -> Self: """`maximum` in place."""
    def minimum_(self, b: _TensorLike) -> Self: """`minimum` in place."""
    def multiply_(self, b: _TensorLike) -> Self: """`multiply` in place."""
    def mul_(self, b: _TensorLike) -> Self: """`multiply` in place."""
    def negative_(self) -> Self: """`negative` in place."""
    def neg_(self) -> Self: """`negative` in place."""
    def power_(self, b: _TensorLike) -> Self: """`power` in place."""
    def pow_(self, b: _TensorLike) -> Self: """`power` in place."""
    def remainder_(self, b: _TensorLike) -> Self: """`remainder` in place."""
    def mod_(self, b: _TensorLike) -> Self: """`remainder` in place."""
    def subtract_(self, b: _TensorLike) -> Self: """`subtract` in place."""
    def sub_(self, b: _TensorLike) -> Self: """`subtract` in place."""
    def bitwise_and_(self, b: _TensorLike) -> Self: """`bitwise_and` in place."""
    def bitwise_not_(self) -> Self: """`bitwise_not` in place."""
    def invert_(self) -> Self: """`bitwise_not` in place."""
    def bitwise_invert_(self) -> Self: """`bitwise_not` in place."""
    def bitwise_or_(self, b: _TensorLike) -> Self: """`bitwise_or` in place."""
    def bitwise_xor_(self, b: _TensorLike) -> Self: """`bitwise_xor` in place."""
    def left_shift_(self, b: _TensorLike) -> Self: """`left_shift` in place."""
    def bitwise_left_shift_(self, b: _TensorLike) -> Self: """`left_shift` in place."""
    def right_shift_(self, b: _TensorLike) -> Self: """`right_shift` in place."""
    def bitwise_right_shift_(self, b: _TensorLike) -> Self: """`right_shift` in place."""
    def index_add_(self, axis: _int, index: _TensorLike, source: _TensorLike, alpha: _float = 1) -> Self: """`index_add` in place."""
    def masked_fill_(self, mask: _TensorLike, value: _TensorLike) -> Self: """`masked_fill` in place."""
    def logical_and_(self, b: _TensorLike) -> Self: """`logical_and` in place."""
    def logical_not_(self) -> Self: """`logical_not` in place."""
    def logical_or_(self, b: _TensorLike) -> Self: """`logical_or` in place."""
    def logical_xor_(self, b: _TensorLike) -> Self: """`logical_xor` in place."""
    def cumprod_(self, axis: _int | None = None, dtype: DTypeLike | None = None) -> Self: """`cumprod` in place."""
    def cumsum_(self, axis: _int | None = None, dtype: DTypeLike | None = None) -> Self: """`cumsum` in place."""
    def tril_(self, k: _int = 0) -> Self: """`tril` in place."""
    def triu_(self, k: _int = 0) -> Self: """`triu` in place."""
    def abs_(self) -> Self: """`abs` in place."""
    def absolute_(self) -> Self: """`abs` in place."""
    def addcdiv_(self, a: _TensorLike, b: _TensorLike, value: _float = 1.0) -> Self: """`addcdiv` in place."""
    def addcmul_(self, a: _TensorLike, b: _TensorLike, value: _float = 1) -> Self: """`addcmul` in place."""
    def arccos_(self) -> Self: """`arccos` in place."""
    def acos_(self) -> Self: """`arccos` in place."""
    def arccosh_(self) -> Self: """`arccosh` in place."""
    def acosh_(self) -> Self: """`arccosh` in place."""
    def arcsin_(self) -> Self: """`arcsin` in place."""
    def asin_(self) -> Self: """`arcsin` in place."""
    def arcsinh_(self) -> Self: """`arcsinh` in place."""
    def asinh_(self) -> Self: """`arcsinh` in place."""
    def arctan_(self) -> Self: """`arctan` in place."""
    def atan_(self) -> Self: """`arctan` in place."""
    def arctanh_(self) -> Self: """`arctanh` in place."""
    def atanh_(self) -> Self: """`arctanh` in place."""
    def cbrt_(self) -> Self: """`cbrt` in place."""
    def ceil_(self) -> Self: """`ceil` in place."""
    def cos_(self) -> Self: """`cos` in place."""
    def cosh_(self) -> Self: """`cosh` in place."""
    def deg2rad_(self) -> Self: """`deg2rad` in place."""
    def radians_(self) -> Self: """`deg2rad` in place."""
    def digamma_(self) -> Self: """`digamma` in place."""
    def psi_(self) -> Self: """`digamma` in place."""
    def erf_(self) -> Self: """`erf` in place."""
    def erfc_(self) -> Self: """`erfc` in place."""
    def erfinv_(self) -> Self: """`erfinv` in place."""
    def exp_(self) -> Self: """`exp` in place."""
    def exp2_(self) -> Self: """`exp2` in place."""
    def expm1_(self) -> Self: """`expm1` in place."""
    def floor_(self) -> Self: """`floor` in place."""
    def lerp_(self, end: _TensorLike, weight: _TensorLike) -> Self: """`lerp` in place."""
    def lgamma_(self) -> Self: """`lgamma` in place."""
    def gammaln_(self) -> Self: """`lgamma` in place."""
    def log_(self) -> Self: """`log` in place."""
    def log10_(self) -> Self: """`log10` in place."""
    def log1p_(self) -> Self: """`log1p` in place."""
    def log2_(self) -> Self: """`log2` in place."""
    def nan_to_num_(self, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None) -> Self: """`nan_to_num` in place."""
    def rad2deg_(self) -> Self: """`rad2deg` in place."""
    def degrees_(self) -> Self: """`rad2deg` in place."""
    def reciprocal_(self) -> Self: """`reciprocal` in place."""
    def rint_(self) -> Self: """`rint` in place."""
    def round_(self, decimals: _int = 0) -> Self: """`round` in place."""
    def around_(self, decimals: _int = 0) -> Self: """`round` in place."""
    def rsqrt_(self) -> Self: """`rsqrt` in place."""
    def sign_(self) -> Self: """`sign` in place."""
    def sgn_(self) -> Self: """`sign` in place."""
    def sin_(self) -> Self: """`sin` in place."""
    def sinc_(self) -> Self: """`sinc` in place."""
    def sinh_(self) -> Self: """`sinh` in place."""
    def sqrt_(self) -> Self: """`sqrt` in place."""
    def square_(self) -> Self: """`square` in place."""
    def tan_(self) -> Self: """`tan` in place."""
    def tanh_(self) -> Self: """`tanh` in place."""
    def trunc_(self) -> Self: """`trunc` in place."""
    def fix_(self) -> Self: """`trunc` in place."""
    def fmax_(self, b: _TensorLike) -> Self: """`fmax` in place."""
    def fmin_(self, b: _TensorLike) -> Self: """`fmin` in place."""
    def heaviside_(self, b: _TensorLike) -> Self: """`heaviside` in place."""
    def logaddexp_(self, b: _TensorLike) -> Self: """`logaddexp` in place."""
    def logaddexp2_(self, b: _TensorLike) -> Self: """`logaddexp2` in place."""
    def xlogy_(self, b: _TensorLike) -> Self: """`xlogy` in place."""
    def clip_(self, min: _TensorLike | None = None, max: _TensorLike | None = None) -> Self: """`clip` in place."""
    def clamp_(self, min: _TensorLike | None = None, max: _TensorLike | None = None) -> Self: """`clip` in place."""
    def swapaxes_(self, axis1: _int, axis2: _int) -> Self: """`swapaxes` in place."""
    def swapdims_(self, axis1: _int, axis2: _int) -> Self: """`swapaxes` in place."""
    def transpose_(self, axis1: _int, axis2: _int) -> Self: """`swapaxes` in place."""
    @property
    def to_sparse(self) -> NoReturn: ...
    @property
    def flat(self) -> NoReturn: ...
    @property
    def block_until_ready(self) -> NoReturn: ...
    @property
    def at(self) -> NoReturn: ...
    @property
    def mvlgamma(self) -> NoReturn: ...
    @property
    def igamma(self) -> NoReturn: ...
    @property
    def triangular_solve(self) -> NoReturn: ...
    @property
    def lu_solve(self) -> NoReturn: ...
    @property
    def storage(self) -> NoReturn: ...
    @property
    def untyped_storage(self) -> NoReturn: ...
    @property
    def set_(self) -> NoReturn: ...
    @property
    def prelu(self) -> NoReturn: ...
    @property
    def layout(self) -> NoReturn: ...
    @property
    def to_dense(self) -> NoReturn: ...
    @property
    def storage_offset(self) -> NoReturn: ...
    @property
    def resize_as_(self) -> NoReturn: ...
    @property
    def apply_(self) -> NoReturn: ...
    @property
    def map_(self) -> NoReturn: ...
    @property
    def put_(self) -> NoReturn: ...
    @property
    def hardshrink(self) -> NoReturn: ...
    @property
    def lu(self) -> NoReturn: ...
    @property
    def svd(self) -> NoReturn: ...
    @property
    def qr(self) -> NoReturn: ...
    @property
    def bfloat16(self) -> NoReturn: ...
    @property
    def cuda(self) -> NoReturn: ...
    @property
    def squeeze_(self) -> NoReturn: ...
    @property
    def unsqueeze_(self) -> NoReturn: ...
    @property
    def t_(self) -> NoReturn: ...
    @property
    def resize_(self) -> NoReturn: ...
    @property
    def values(self) -> NoReturn: ...
    @property
    def indices(self) -> NoReturn: ...

def tensor(
    data: _TensorLike,
    dtype: DTypeLike | None = None,
    *,
    requires_grad: bool = False,
    name: str | None = None,
    device: str | None = None,
) -> Tensor: ...
def asarray(
    x: _TensorLike, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor: ...
def from_dlpack(x: Any, *, device: str | None = None, copy: _bool | None = None) -> Tensor: ...
def from_numpy(array: NDArray[Any]) -> Tensor: ...
def get_default_dtype() -> np.dtype[Any]: ...
def set_default_dtype(dtype: DTypeLike) -> None: ...
def is_grad_enabled() -> bool: ...
def is_multithreading_enabled() -> bool: ...
def is_inference_mode_enabled() -> bool: ...
def get_num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def live_nodes() -> int: ...
def live_bytes() -> int: ...
def _below(module: Any, table: str | None = None) -> list[Any]: ...
def _watch_members(change: int) -> None: ...
def _shorten_module(cls: type, getattr: Any, call: Any) -> None: ...
def _switch_grad(on: bool) -> int: ...
def _switch_inference(on: bool) -> int: ...
def _switch_multithreading(on: bool) -> int: ...
def _switch_anomaly(on: bool, check_nan: bool) -> int: ...
def _switch_sites(on: bool) -> int: ...
def is_anomaly_enabled() -> bool: ...
def is_anomaly_check_nan_enabled() -> bool: ...
def _vanishing(tensor: Tensor) -> list[Node] | None: ...
def _cut_because(tensor: Tensor) -> str | None: ...
def _disallow_saved_mutation(on: bool) -> int: ...
def _restore_mode(word: int) -> None: ...
def _full(
    op: str,
    shape: Sequence[int],
    fill_value: float,
    dtype: DTypeLike | None,
    requires_grad: bool,
) -> Tensor: ...
def _value(data: Any) -> Tensor: ...
def _leaf(data: Any, dtype: DTypeLike | None = None) -> Tensor: ...
def _taken(
    array: Any, dtype: DTypeLike | None = None, requires_grad: bool = False
) -> Tensor: ...
def _rebuild(
    class_: type[Tensor],
    array: NDArray[Any],
    requires_grad: bool,
    grad: NDArray[Any] | None,
    name: str | None,
) -> Tensor: ...
def _config() -> dict[str, Any]: ...
def _registry() -> list[dict[str, Any]]: ...
def _run(
    owner: type,
    inputs: Sequence[Tensor],
    attrs: Any,
    forward_fn: Callable[[], Any],
    backward_fn: Callable[[Any], Any] | None,
    name: str | None,
) -> Tensor: ...
def _update(
    rule: str,
    lists: tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]],
    options: Sequence[float | Tensor],
    maximize: bool,
    decay: float,
) -> None: ...
def _wrap_forward(
    owner: type,
    input: Tensor,
    forward_fn: Callable[[Tensor], Any],
    inputs_fn: Callable[[], Sequence[Tensor]],
    backward_fn: Callable[[Any], Any],
) -> Tensor: ...
def _graph_facts(tensor: Tensor) -> dict[str, Any]: ...
def _output_of(node: Node, index: int, like: Tensor) -> Tensor: ...
def _safetensors_header(
    begin: NDArray[Any], size: _int
) -> tuple[list[tuple[str, str]], list[tuple[str, str, list[_int], _int, _int]]]: ...
def _safetensors_write(
    path: str,
    tensors: list[tuple[str, str, tuple[_int, ...], NDArray[Any]]],
    texts: list[tuple[str, str]],
) -> None: ...
def _observe(observer: Callable[..., None]) -> None: ...
def _unobserve(observer: Callable[..., None]) -> None: ...
def backward(
    tensors: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None: ...
def _grad(
    outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
    is_grads_batched: bool = False,
    *,
    only_inputs: bool = True,
) -> Any: ...
@final
class Program:
    """A recorded function: the list of what its kernels did."""

    @property
    def temporary_bytes(self) -> int: ...
    @property
    def reads_outside(self) -> bool: ...
    def run(self, arguments: list[Any], tensors: bool) -> list[Any] | None: ...
    def steps(self) -> list[tuple[str, list[str], list[str]]]: ...
    def _explain(self) -> list[tuple[str, list[str]]]: ...
    def _memory(self) -> list[tuple[int, str, int]]: ...
    def _is_stale(self) -> bool: ...
    @property
    def _used(self) -> tuple[int, int]: ...
    def _trim(self) -> None: ...
    def bind(
        self, arguments: list[Any], tensors: bool, structure: _ResultStructure
    ) -> BoundProgram: ...

@final
class BoundProgram:
    """A compiled function with the memory of its arguments and results."""

    @property
    def address(self) -> int: ...
    @property
    def data(self) -> int: ...
    @property
    def results(self) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class DifferentiableProgram:
    """A recorded function with its backward pass."""

    @property
    def temporary_bytes(self) -> int: ...
    @property
    def reads_outside(self) -> bool: ...
    def run(
        self, arguments: list[Tensor], original: Callable[..., list[Tensor]]
    ) -> list[Tensor] | None: ...
    def steps(self) -> list[tuple[str, list[str], list[str]]]: ...
    def _explain(self) -> list[tuple[str, list[str]]]: ...
    def _memory(self) -> list[tuple[int, str, int]]: ...
    def _is_stale(self) -> bool: ...
    @property
    def _used(self) -> tuple[int, int]: ...
    def _trim(self) -> None: ...

@final
class _PyTree:
    """The containers of a nested value, without its leaves."""

    MAX_DEPTH: int
    @staticmethod
    def of_tuple(trees: Sequence[_PyTree]) -> _PyTree: ...
    def unflatten(self, leaves: Iterable[Any]) -> Any: ...
    def without_items(self) -> _PyTree: ...
    @property
    def is_leaf(self) -> bool: ...
    @property
    def num_leaves(self) -> int: ...
    @property
    def kind(self) -> type | None: ...
    @property
    def keys(self) -> list[Any]: ...
    @property
    def children(self) -> list[_PyTree]: ...
    def paths(self) -> list[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def _flatten(value: Any) -> tuple[list[Any], _PyTree]: ...
def _check_depth(value: Any, depth: int) -> None: ...
@final
class _CallSignature:
    """What must be equal for a program to serve a call."""

    @property
    def tree(self) -> _PyTree: ...
    @property
    def places(self) -> list[int]: ...
    @property
    def has_tensors(self) -> bool: ...
    @property
    def has_numbers(self) -> bool: ...
    @property
    def scalars(self) -> frozenset[int]: ...
    @property
    def non_contiguous(self) -> int | None: ...
    def argument(self, leaf: int) -> str: ...
    def difference(self, before: _CallSignature) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def _split_call(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    statics: list[tuple[int | str, Any]],
    floats: bool,
    is_ordered: bool,
) -> tuple[_CallSignature, list[Any], list[Any]]: ...
@final
class _ResultStructure:
    """The results of a function, with places for tensors."""

    def __new__(cls, tree: _PyTree, leaves: list[Any]) -> Self: ...
    @property
    def tree(self) -> _PyTree: ...
    @property
    def leaves(self) -> list[Any]: ...
    def build(self, results: list[Any]) -> Any: ...

@disjoint_base
class _CompiledCall:
    """A callable that runs one of the last programs again where it can."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _remember(
        self,
        program: Program | DifferentiableProgram,
        signature: _CallSignature,
        structure: _ResultStructure,
        original: Callable[..., list[Tensor]] | None,
    ) -> None: ...
    def _remember_function(
        self,
        function: Callable[..., Any],
        signature: _CallSignature,
        count: int,
    ) -> bool: ...
    def _forget(self) -> None: ...

def _record(
    function: Callable[..., list[Tensor]],
    arguments: list[Tensor],
    weak: bool,
    may_keep: bool,
    watch: Any,
) -> tuple[Program | None, list[Tensor]]: ...
def _record_joint(
    function: Callable[..., list[Tensor]],
    arguments: list[Tensor],
    weak: bool,
    may_keep: bool,
    watch: Any,
) -> tuple[DifferentiableProgram | None, bool, str | None]: ...
def _scan(
    body: Callable[..., list[Tensor]],
    again: Callable[..., list[Tensor]],
    carry: list[Tensor],
    xs: list[Tensor],
    how: tuple[int, bool, int],
) -> list[Tensor] | None: ...
def _while_loop(
    condition: Callable[..., list[Tensor]],
    body: Callable[..., list[Tensor]],
    again: Callable[..., list[Tensor]],
    carry: list[Tensor],
) -> list[Tensor] | None: ...
def _switch(
    index: Tensor,
    branches: Sequence[Callable[..., list[Tensor]]],
    operands: list[Tensor],
) -> list[Tensor] | None: ...
def _is_recording_program() -> bool: ...
def _is_computed_anew(x: Tensor) -> bool: ...
def _call_foreign(
    name: str, function: Callable[..., list[Tensor]], inputs: list[Tensor]
) -> list[Tensor]: ...
def _may_replay() -> bool: ...
def _was_change_refused() -> bool: ...
def _dry_run(function: Callable[[], Any], convert: Callable[[Any], Any]) -> Any: ...
def _as_arrays(results: list[Tensor]) -> list[Any]: ...
def _is_in_transform() -> bool: ...
def _switch_recorded_arrays(on: bool) -> bool: ...
def _records_arrays() -> bool: ...
def _has_history(tensor: Tensor) -> bool: ...
def _push_arguments(leaves: list[Tensor]) -> int: ...
def _pop_arguments(before: int) -> None: ...
def _fast_jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    finish: Callable[[Any, list[Tensor], list[int], int], tuple[Any, Any]],
) -> tuple[Any, Any] | None: ...
def _enter_dual_level(records: bool, columns: int | None = None) -> int: ...
def _exit_dual_level(level: int) -> bool: ...
def _make_dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor: ...
def _copy_dual(x: Tensor) -> Tensor | None: ...
def _unpack_dual(dual: Tensor, level: int) -> tuple[Tensor, Tensor | None]: ...
def _traced_call(
    function: Callable[..., Any],
    position: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    valued: bool | None = None,
) -> Any: ...
@final
class _TracedCall:
    """A call of a function with a recorded argument."""

    TENSOR: int
    ARRAY: int
    SCALAR: int
    FLOAT: int
    GRAD: int
    INFERENCE: int
    TRANSFORM: int
    DUAL: int
    @property
    def before(self) -> int: ...
    @property
    def leaf(self) -> Tensor: ...
    @property
    def kind(self) -> int: ...
    @property
    def result(self) -> Any: ...
    @property
    def error(self) -> BaseException | None: ...

def _depends_on(output: Tensor, input: Tensor) -> bool: ...
def _watch_passes(
    tensors: Sequence[Tensor],
    leaves: Sequence[Tensor],
    fn: Callable[[list[bool]], Callable[[], Any] | None],
) -> RemovableHandle: ...
def _depends_on_others(outputs: Sequence[Any], own: Sequence[Tensor]) -> bool: ...
def _discovered_nodes() -> int: ...
def _end_transform(arguments: list[Any]) -> None: ...
def _of_ended_transform(
    outputs: Sequence[Any],
) -> tuple[Node, int, Node, str | None] | None: ...
def _runs_python(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> bool: ...
def _calls_back(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> bool: ...
def _rows_of_pass(output: Tensor, inputs: Sequence[Tensor]) -> int: ...
def _jacobian(
    output: Tensor, inputs: Sequence[Tensor], create_graph: bool
) -> list[Tensor | None]: ...
def _grad_rows(
    outputs: Sequence[Tensor],
    inputs: Any,
    gradients: Sequence[Tensor],
    graph: tuple[bool | None, bool],
    unused: tuple[bool, bool],
) -> list[Tensor | None]: ...
def get_gradient_edge(tensor: Tensor) -> GradientEdge: ...
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> RemovableHandle: ...
def _push_saved_hooks(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]) -> int | str: ...
def _forbid_saved_hooks(message: str) -> int | None: ...
def _end_saved_hooks(keys: Sequence[int]) -> int | None: ...
def _increment_version(tensor: Tensor) -> None: ...
def _checkpoint(
    function: Callable[..., Any],
    again: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    early_stop: bool,
) -> Any: ...
def _collecting(phase: str, info: dict[str, Any]) -> None: ...
@final
class SavedTensor:
    """A tensor that a node saved, before it is unpacked: `node._raw_saved_self`."""

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Any]
    ) -> None: ...
@final
class RemovableHandle:
    """What removes a hook: call `remove()`, or use it in a `with` statement."""

    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class GradientEdge:
    """The place of a tensor in the graph."""

    def __new__(cls, node: Node, output_nr: _int = 0, ownership_token: Any = None) -> Self: ...
    @property
    def node(self) -> Node: ...
    @property
    def output_nr(self) -> _int: ...
    def __eq__(self, other: object, /) -> _bool: ...
    def __hash__(self) -> _int: ...

@disjoint_base
class Node:
    """A recorded operation: what backward will run."""

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: ...
    @property
    def metadata(self) -> dict[Any, Any]: ...
    @property
    def saved(self) -> dict[str, Tensor]: ...
    @property
    def variable(self) -> Tensor | None: ...
    @property
    def attrs(self) -> Any: ...
    @property
    def context(self) -> FunctionContext | None: ...
    @property
    def op_name(self) -> str: ...
    @property
    def output_count(self) -> _int: ...
    def output_spec(self, index: _int) -> tuple[tuple[_int, ...], np.dtype[Any]] | None: ...
    def vjp(
        self, gradients: Sequence[Tensor | None], create_graph: _bool = False
    ) -> tuple[Tensor | None, ...]: ...
    def __call__(self, *gradients: Tensor | None) -> Any: ...
    @property
    def _input_metadata(self) -> tuple[Any, ...]: ...
    def name(self) -> str: ...
    @property
    def requires_grad(self) -> _bool: ...
    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle: ...
    def register_hook(
        self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]
    ) -> RemovableHandle: ...
    def _sequence_nr(self) -> _int: ...
    def __getattribute__(self, name: str, /) -> Any: ...

@final
class _WeakNode:
    """A node that is not kept alive."""

    def __new__(cls, tensor: Tensor) -> Self: ...
    @staticmethod
    def of(node: Node) -> _WeakNode: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Node | None: ...

class _Attributes:
    def __getattr__(self, name: str, /) -> Any: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...

@final
class FunctionContext(_Attributes):
    """What forward keeps for backward: one for each call of a custom function."""

    def __new__(cls) -> Self: ...
    @property
    def saved_tensors(self) -> tuple[Any, ...]: ...
    @property
    def saved_tensor_count(self) -> int: ...
    @property
    def saved_objects(self) -> list[Any]: ...
    @property
    def saved_object_count(self) -> int: ...
    @property
    def needs_input_grad(self) -> tuple[_bool, ...]: ...
    def save_for_forward(self, *_tensors: Any) -> None: ...
    def save_for_backward(self, *tensors: Tensor | None) -> None: ...
    def save_tensor(self, key: str, tensor: Tensor | None) -> None: ...
    def get_saved_tensor(self, index: int | str) -> Any: ...
    def save_object(self, *entry: Any) -> None: ...
    def get_saved_object(self, key: int | str) -> Any: ...
    def clear(self) -> None: ...
    def dispose(self) -> None: ...
    def mark_dirty(self, *tensors: Tensor) -> None: ...
    def mark_non_differentiable(self, *outputs: Tensor) -> None: ...
    def set_materialize_grads(self, value: _bool) -> None: ...

class _Forward(Protocol[_P, _R_co]):
    @staticmethod
    def forward(ctx: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

class _ForwardAndSetup(Protocol[_P, _R_co]):
    @staticmethod
    def forward(*args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any: ...

class Function:
    """An operation with a derivative of your own, as two static methods."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    @overload
    @classmethod
    def apply(
        cls: type[_ForwardAndSetup[_P, _R]], *args: _P.args, **kwargs: _P.kwargs
    ) -> _R: ...
    @overload
    @classmethod
    def apply(cls: type[_Forward[_P, _R]], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any: ...

class CustomFunction:
    """An operation with a derivative of your own whose instances carry parameters."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    def forward(self, inputs: tuple[Any, ...], ctx: FunctionContext) -> Any: ...
    def backward(self, grad_outputs: tuple[Any, ...], ctx: FunctionContext) -> Any: ...
    def apply(self, *inputs: Any) -> Tensor: ...
    def apply_many(self, *inputs: Any) -> list[Tensor]: ...
    def __call__(self, *inputs: Any) -> Tensor: ...

def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]: ...

class FerrogradError(RuntimeError):
    """What every exception of ferrograd inherits, beside the builtin that fits."""

class ShapeError(FerrogradError, ValueError):
    """Shapes that do not fit the operation or each other."""

class AxisError(FerrogradError, ValueError, IndexError):
    """An axis that the array does not have."""

class DTypeError(FerrogradError, TypeError):
    """An element type that the operation does not take."""

class ArgumentError(FerrogradError, ValueError):
    """An argument whose value makes no sense."""

class ArgumentTypeError(FerrogradError, TypeError):
    """An argument of the wrong type."""

class IndexOutOfRangeError(FerrogradError, IndexError):
    """An index outside its axis, or one that cannot index."""

class IntegerRangeError(FerrogradError, OverflowError, ValueError):
    """A Python integer that the dtype it meets does not hold."""

class OutOfMemoryError(FerrogradError, MemoryError):
    """An allocation that the system refused."""

class MatrixError(FerrogradError, np.linalg.LinAlgError):
    """A matrix that is singular, not positive definite, or not finite."""

class GradientError(FerrogradError, RuntimeError):
    """A gradient that cannot be computed as asked."""

class GraphFreedError(FerrogradError, RuntimeError):
    """A backward through saved values that are gone."""

class InPlaceError(FerrogradError, RuntimeError):
    """An in-place change that would falsify a gradient."""

class InferenceError(FerrogradError, RuntimeError):
    """A tensor made in inference mode where autograd needs a normal one."""

class CompileError(FerrogradError, RuntimeError):
    """A function that fg.compile cannot record, or a call that its programs cannot serve."""

class CycleError(FerrogradError, RuntimeError):
    """A graph that would contain itself."""

class NotDifferentiableError(FerrogradError, NotImplementedError):
    """An operation without a derivative rule."""

class ExchangeError(FerrogradError, BufferError):
    """Memory that cannot be exchanged with another library."""

class GraphCutError(FerrogradError, TypeError):
    """A conversion that would silently cut the graph."""

class ContractError(FerrogradError, RuntimeError):
    """A custom function that breaks its contract."""

class InternalError(FerrogradError, RuntimeError):
    """A bug in ferrograd."""

class GraphCutWarning(UserWarning):
    """A conversion to a Python number that leaves a graph."""

class _Cummax(NamedTuple):
    values: Tensor
    indices: Tensor
class _Cummin(NamedTuple):
    values: Tensor
    indices: Tensor
class _Topk(NamedTuple):
    values: Tensor
    indices: Tensor
def celu(x: _TensorLike, alpha: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """Elu with a continuous slope: `alpha (e^(x / alpha) - 1)` below zero. Derivative: `g`, and `g e^(x / alpha)` below."""
def elu(x: _TensorLike, alpha: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """`x` above zero, `alpha (e^x - 1)` below. Derivative: `g`, and `g alpha e^x` below."""
def gelu(x: _TensorLike, approximate: str = "none", *, out: Any = None, name: str | None = None) -> Tensor: """`x` times the normal distribution function, or its tanh approximation with `approximate="tanh"`. Derivative: `g (cdf(x) + x pdf(x))`."""
def hardsigmoid(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The straight line `x / 6 + 1/2`, limited to 0..1. Derivative: `g / 6` strictly inside, 0 elsewhere."""
def hardswish(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`x hardsigmoid(x)`. Derivative: `g (x / 3 + 1/2)` between -3 and 3, `g` above, 0 below."""
def hardtanh(x: _TensorLike, min_val: _float = -1.0, max_val: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """Limited to the range `min_val..max_val`. Derivative: `g` strictly inside, 0 elsewhere."""
def leaky_relu(x: _TensorLike, negative_slope: _float = 0.01, *, out: Any = None, name: str | None = None) -> Tensor: """`x` above zero, `slope x` below. Derivative: `g` above zero, `slope g` elsewhere."""
def _logit(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The inverse of `sigmoid`, `ln(x / (1 - x))`; NaN outside 0..1. Derivative: `g / (x (1 - x))`."""
def logsigmoid(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the logistic function. Derivative: `g sigmoid(-x)`."""
def mish(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`x tanh(softplus(x))`. Derivative: `g (t + x s (1 - t²))` with `s = sigmoid(x)` and `t = tanh(softplus(x))`."""
def relu(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Rectified linear unit, `max(x, 0)`. Derivative: `g` where `x > 0`, 0 elsewhere and at 0."""
def relu6(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`min(max(x, 0), 6)`. Derivative: `g` between 0 and 6, 0 elsewhere and at both ends."""
def selu(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Scaled elu, self-normalising: `scale elu(x, alpha)` with its two fixed constants. Derivative: `g scale`, and `g scale alpha e^x` below zero."""
def sigmoid(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logistic function, `1 / (1 + e^-x)`. Derivative: `g y (1 - y)`."""
def expit(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logistic function, `1 / (1 + e^-x)`. Derivative: `g y (1 - y)`."""
def silu(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`x sigmoid(x)`. Derivative: `g s (1 + x (1 - s))` with `s = sigmoid(x)`."""
def swish(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`x sigmoid(x)`. Derivative: `g s (1 + x (1 - s))` with `s = sigmoid(x)`."""
def softplus(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`ln(1 + e^x)`. Derivative: `g sigmoid(x)`."""
def softsign(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`x / (1 + |x|)`. Derivative: `g / (1 + |x|)²`."""
def gather(x: _TensorLike, axis: _int, index: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's gather: `out[i, j, …] = x[index[i, j, …], j, …]` for axis 0. Derivative: `g`, accumulated where an index repeats."""
def index_reduce(x: _TensorLike, axis: _int, index: _TensorLike, source: _TensorLike, reduce: str, include_self: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """As `index_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a row takes no part. Derivatives: those of the fold, shared evenly among equal extremes."""
def put_along_axis(x: _TensorLike, indices: _TensorLike, values: _TensorLike, axis: _int | None = -1, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with `values` at the indices along an axis; the last of a repeated index stays. Derivatives: of `x`, `g` elsewhere; of `values`, `g` where they stayed."""
def scatter(x: _TensorLike, axis: _int, index: _TensorLike, src: _TensorLike, *, reduce: str | None = None, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's scatter: a copy with `out[index[i, j, …], j, …] = src[i, j, …]` for axis 0; the last of a repeated index stays. `reduce="add"` or `"multiply"` folds into what is there instead. Derivatives: of `x`, `g` elsewhere; of `src`, `g` where it stayed; those of the fold with `reduce`."""
def scatter_add(x: _TensorLike, axis: _int, index: _TensorLike, src: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """As `scatter`, but added to what is there; repeated indices accumulate. Derivatives: of `x`, `g`; of `src`, `g` gathered."""
def scatter_reduce(x: _TensorLike, axis: _int, index: _TensorLike, src: _TensorLike, reduce: str, include_self: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """As `scatter_add`, folded by `reduce`: `sum`, `prod`, `mean`, `amax` or `amin`; without `include_self`, what was in a place takes no part. Derivatives: those of the fold, shared evenly among equal extremes."""
def take_along_axis(x: _TensorLike, indices: _TensorLike, axis: _int | None = -1, *, out: Any = None, name: str | None = None) -> Tensor: """The elements at the indices along an axis, which broadcast with the other axes; `axis=None` means the flattened tensor. Derivative: `g`, accumulated where an index repeats."""
def take_along_dim(x: _TensorLike, indices: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's name of `take_along_axis`; without an axis both are flattened."""
def add(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sum, `a + b`. Derivative: `g` for both."""
def arctan2(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Angle of the point (`b`, `a`). Derivatives: `g b / (a² + b²)` and `-g a / (a² + b²)`."""
def atan2(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Angle of the point (`b`, `a`). Derivatives: `g b / (a² + b²)` and `-g a / (a² + b²)`."""
def conjugate(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex conjugate; real numbers are their own. Derivative: the conjugate of `g`."""
def conj(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex conjugate; real numbers are their own. Derivative: the conjugate of `g`."""
def copysign(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The magnitude of `a` with the sign of `b`. Derivatives: `g` times the sign change, and zero."""
def divide(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Quotient, `a / b`; integers divide as float64. Derivatives: `g / b` and `-g y / b`."""
def true_divide(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Quotient, `a / b`; integers divide as float64. Derivatives: `g / b` and `-g y / b`."""
def floor_divide(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Largest integer not above the quotient, as Python's `//`. Derivative: zero."""
def fmod(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Remainder with the sign of the dividend, as C's `fmod`. Derivatives: `g` and `-g` times the quotient rounded towards zero."""
def hypot(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`sqrt(a² + b²)`. Derivatives: `g a / y` and `g b / y`, zero at the origin."""
def maximum(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The larger operand; NaN if either is NaN. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the larger, or to the NaN; half each at a tie of real numbers."""
def minimum(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The smaller operand; NaN if either is NaN. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the smaller, or to the NaN; half each at a tie of real numbers."""
def multiply(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Product, `a * b`. Derivatives: `g b` and `g a`."""
def mul(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Product, `a * b`. Derivatives: `g b` and `g a`."""
def negative(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Negative, `-x`. Derivative: `-g`."""
def neg(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Negative, `-x`. Derivative: `-g`."""
def power(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Power, `a ** b`. Derivatives: `g b a^(b-1)`, zero where `b` is 0, and `g y ln a`, zero where `a` is 0 and `b` is not negative. Integers to negative integer powers are refused, as in NumPy."""
def pow(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Power, `a ** b`. Derivatives: `g b a^(b-1)`, zero where `b` is 0, and `g y ln a`, zero where `a` is 0 and `b` is not negative. Integers to negative integer powers are refused, as in NumPy."""
def remainder(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Remainder with the sign of the divisor, as Python's `%`. Derivatives: `g` and `-g (a // b)`."""
def mod(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Remainder with the sign of the divisor, as Python's `%`. Derivatives: `g` and `-g (a // b)`."""
def subtract(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Difference, `a - b`. Derivatives: `g` and `-g`."""
def sub(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Difference, `a - b`. Derivatives: `g` and `-g`."""
def atleast_1d(*tensors: _TensorLike, out: Any = None, name: str | None = None) -> Any: """Each tensor with at least one dimension; a tuple for several."""
def atleast_2d(*tensors: _TensorLike, out: Any = None, name: str | None = None) -> Any: """Each tensor with at least two dimensions, `(n,)` becoming `(1, n)`; a tuple for several."""
def atleast_3d(*tensors: _TensorLike, out: Any = None, name: str | None = None) -> Any: """Each tensor with at least three dimensions, `(n,)` becoming `(1, n, 1)` and `(m, n)` `(m, n, 1)`; a tuple for several."""
def broadcast_arrays(*tensors: _TensorLike, out: Any = None, name: str | None = None) -> Any: """The tensors under their common shape, without copying."""
def broadcast_tensors(*tensors: _TensorLike, out: Any = None, name: str | None = None) -> Any: """The tensors under their common shape, without copying."""
def _meshgrid(*tensors: _TensorLike, indexing: str = "xy", sparse: _bool = False, copy: _bool = True, out: Any = None, name: str | None = None) -> Any: """The coordinates of a grid from those of its axes: `indexing` is `"xy"` (the first two axes exchanged) or `"ij"`."""
def bitwise_and(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits set in both; the truth of both for booleans."""
def bitwise_not(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits not set; the falsehood of booleans."""
def invert(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits not set; the falsehood of booleans."""
def bitwise_invert(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits not set; the falsehood of booleans."""
def bitwise_or(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits set in either; the truth of either for booleans."""
def bitwise_xor(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Bits set in exactly one; the truth of exactly one for booleans."""
def left_shift(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a * 2**b` without overflow checks; 0 where all bits are shifted out or `b` is negative."""
def bitwise_left_shift(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a * 2**b` without overflow checks; 0 where all bits are shifted out or `b` is negative."""
def right_shift(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a // 2**b`; only the sign is left where all bits are shifted out or `b` is negative."""
def bitwise_right_shift(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a // 2**b`; only the sign is left where all bits are shifted out or `b` is negative."""
def astype(x: _TensorLike, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: _bool = True, copy: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """A copy in another dtype; floats to integers truncate, and wrap as NumPy does; an imaginary part is lost with a `ComplexWarning`. With `copy=False` the tensor itself, where dtype and `order` need no copy. `order` is that of the elements in memory, `casting` what may be converted, both as in NumPy. Derivative: `g` in the input's dtype."""
def compress(condition: _TensorLike, x: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The rows of an axis (or the elements of the flattened tensor) for which the condition, one value each, holds."""
def embedding(x: _TensorLike, weight: _TensorLike, padding_idx: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Rows of `weight` by their numbers `x`, of any shape; the row `padding_idx` gets no gradient. Derivative: `g`, accumulated where a number repeats."""
def index_add(x: _TensorLike, axis: _int, index: _TensorLike, source: _TensorLike, alpha: _float = 1, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with `alpha * source` added to the rows of an axis, by their numbers; repeated numbers accumulate. Derivatives: of `x`, `g`; of `source`, `alpha` times the rows of `g`."""
def index_select(x: _TensorLike, axis: _int, index: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The rows of an axis by their numbers. Derivative: `g`, accumulated where a number repeats."""
def masked_fill(x: _TensorLike, mask: _TensorLike, value: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`value` where the mask holds, else `x`. Derivatives: of `x`, `g` where the mask does not hold; of `value`, `g` summed where it does."""
def masked_select(x: _TensorLike, mask: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The elements where the mask holds, in C order; both broadcast. Derivative: `g` where they stood."""
def one_hot(x: _TensorLike, num_classes: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """A new last axis with 1 at the index and 0 elsewhere, int64; as many classes as the largest index needs by default."""
def select(condlist: Sequence[_TensorLike], choicelist: Sequence[_TensorLike], default: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """For each element the choice of the first condition that holds there, else `default`; all broadcast."""
def take(x: _TensorLike, indices: _TensorLike, axis: _int | None = None, mode: str = "raise", *, out: Any = None, name: str | None = None) -> Tensor: """The elements at integer positions along an axis (or of the flattened tensor); `mode` says what an index outside does: raise, wrap or clip. Derivative: `g`, accumulated where an index repeats."""
def allclose(a: _TensorLike, b: _TensorLike, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool: """Whether all elements are close, as `isclose` has it."""
def array_equal(a: _TensorLike, b: _TensorLike, equal_nan: _bool = False) -> _bool: """Whether shapes and all elements are equal; NaN equals NaN with `equal_nan`."""
def equal(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a == b`."""
def eq(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a == b`."""
def greater(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a > b`."""
def gt(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a > b`."""
def greater_equal(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a >= b`."""
def ge(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a >= b`."""
def isclose(a: _TensorLike, b: _TensorLike, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `|a - b| <= atol + rtol |b|`; infinities are close to themselves, NaN to NaN with `equal_nan`."""
def isfinite(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is neither infinite nor NaN."""
def isinf(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is infinite."""
def isnan(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is NaN."""
def less(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a < b`."""
def lt(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a < b`."""
def less_equal(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a <= b`."""
def le(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a <= b`."""
def logical_and(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise truth of both."""
def logical_not(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise falsehood."""
def logical_or(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise truth of either."""
def logical_xor(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise truth of exactly one."""
def not_equal(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a != b`."""
def ne(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Element-wise `a != b`."""
def signbit(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Whether the sign of each element is negative, also that of a zero or a NaN."""
def angle(x: _TensorLike, deg: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Angle of complex numbers in the plane, from -π to π (in degrees with `deg`); 0 and π for real numbers. Derivative: `i g x / |x|²`."""
def complex(real: _TensorLike, imag: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex numbers of a real and an imaginary part, broadcast. Derivatives: the parts of `g`."""
def imag(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Imaginary part; a view of complex numbers, new zeros for real ones. Derivative: `i g`."""
def is_complex(x: _TensorLike) -> _bool: """Whether the dtype is complex."""
def iscomplex(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Whether the imaginary part of each element is not zero."""
def isreal(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Whether the imaginary part of each element is zero."""
def polar(abs: _TensorLike, angle: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex numbers of an absolute value and an angle, `abs (cos angle + i sin angle)`. Derivatives: those of the parts."""
def real(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Real part; real numbers are their own. A view: writing to it changes `x`. Derivative: `g` as a complex number."""
def view_as_complex(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complex numbers of the pairs along the last axis, of size 2; a view: writing to it changes `x`. Refused where the pairs do not lie in memory as complex numbers do. Derivative: `view_as_real` of `g`."""
def view_as_real(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The parts of complex numbers along a new last axis of size 2; a view: writing to it changes `x`. Derivative: `view_as_complex` of `g`."""
def clone(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with storage of its own. Derivative: `g`."""
def copy(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """A copy with storage of its own. Derivative: `g`."""
def _full_like(x: _TensorLike, fill_value: _float, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """One repeated number of the same shape and dtype."""
def _ones_like(x: _TensorLike, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Ones of the same shape and dtype."""
def _zeros_like(x: _TensorLike, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Zeros of the same shape and dtype."""
def cummax(x: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> _Cummax: """Running maximum along an axis (or of the flattened tensor) and its index, the last of equals. Derivative: `g` to the element chosen."""
def cummin(x: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> _Cummin: """Running minimum along an axis (or of the flattened tensor) and its index, the last of equals. Derivative: `g` to the element chosen."""
def cumprod(x: _TensorLike, axis: _int | None = None, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Running product along an axis (or of the flattened tensor). Derivative: exact also where elements are zero."""
def cumsum(x: _TensorLike, axis: _int | None = None, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Running sum along an axis (or of the flattened tensor). Derivative: the running sum of `g` from the end."""
def logcumsumexp(x: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Running `ln(sum(e^x))` along an axis (or of the flattened tensor), without overflow. Derivative: the share of each element in all later sums."""
def diag(x: _TensorLike, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """The diagonal of a matrix (a view), or a matrix with this vector on its diagonal."""
def diag_embed(x: _TensorLike, offset: _int = 0, axis1: _int = -2, axis2: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """Matrices with the last axis on their diagonal; `axis1` and `axis2` are axes of the result."""
def diagflat(x: _TensorLike, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """A matrix with the elements, in C order, on its diagonal."""
def diagonal(x: _TensorLike, offset: _int = 0, axis1: _int = 0, axis2: _int = 1, *, out: Any = None, name: str | None = None) -> Tensor: """The diagonal of two axes, which disappear, as the last axis; a view. Derivative: `g` on that diagonal, zeros elsewhere."""
def trace(x: _TensorLike, offset: _int = 0, axis1: _int = 0, axis2: _int = 1, *, out: Any = None, name: str | None = None) -> Tensor: """The sum of a diagonal of two axes. Derivative: `g` on that diagonal."""
def tril(x: _TensorLike, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """The elements on and below diagonal `k` of the last two axes, zeros elsewhere. Derivative: the same of `g`."""
def triu(x: _TensorLike, k: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """The elements on and above diagonal `k` of the last two axes, zeros elsewhere. Derivative: the same of `g`."""
def abs(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Absolute value; of complex numbers a real one. Derivative: `g sign(x)`, 0 at 0."""
def absolute(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Absolute value; of complex numbers a real one. Derivative: `g sign(x)`, 0 at 0."""
def addcdiv(x: _TensorLike, a: _TensorLike, b: _TensorLike, value: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """`x + value a / b`. Derivatives: `g`, `g value / b` and `-g value a / b²`."""
def addcmul(x: _TensorLike, a: _TensorLike, b: _TensorLike, value: _float = 1, *, out: Any = None, name: str | None = None) -> Tensor: """`x + value a b`. Derivatives: `g`, `g value b` and `g value a`."""
def arccos(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse cosine. Derivative: `-g / sqrt(1 - x²)`."""
def acos(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse cosine. Derivative: `-g / sqrt(1 - x²)`."""
def arccosh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic cosine. Derivative: `g / sqrt(x² - 1)`."""
def acosh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic cosine. Derivative: `g / sqrt(x² - 1)`."""
def arcsin(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse sine. Derivative: `g / sqrt(1 - x²)`."""
def asin(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse sine. Derivative: `g / sqrt(1 - x²)`."""
def arcsinh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic sine. Derivative: `g / sqrt(x² + 1)`."""
def asinh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic sine. Derivative: `g / sqrt(x² + 1)`."""
def arctan(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse tangent. Derivative: `g / (1 + x²)`."""
def atan(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse tangent. Derivative: `g / (1 + x²)`."""
def arctanh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic tangent. Derivative: `g / (1 - x²)`."""
def atanh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse hyperbolic tangent. Derivative: `g / (1 - x²)`."""
def cbrt(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Cube root. Derivative: `g / (3 y²)`."""
def ceil(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Smallest integer not below. Derivative: zero."""
def cos(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Cosine. Derivative: `-g sin x`."""
def cosh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Hyperbolic cosine. Derivative: `g sinh x`."""
def deg2rad(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Degrees to radians."""
def radians(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Degrees to radians."""
def digamma(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Derivative of `lgamma`. Derivative: `g polygamma(1, x)`."""
def psi(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Derivative of `lgamma`. Derivative: `g polygamma(1, x)`."""
def erf(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Error function. Derivative: `g 2/sqrt(pi) e^(-x²)`."""
def erfc(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Complementary error function, `1 - erf(x)`. Derivative: `-g 2/sqrt(pi) e^(-x²)`."""
def erfinv(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inverse error function. Derivative: `g sqrt(pi)/2 e^(y²)`."""
def exp(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Exponential. Derivative: `g y`."""
def exp2(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`2^x`. Derivative: `g y ln 2`."""
def expm1(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`e^x - 1`, accurate near zero. Derivative: `g e^x`."""
def floor(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Largest integer not above. Derivative: zero."""
def lerp(x: _TensorLike, end: _TensorLike, weight: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Linear interpolation, `x + weight (end - x)`. Derivatives: `g (1 - weight)`, `g weight` and `g (end - x)`."""
def lgamma(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the absolute value of the gamma function. Derivative: `g digamma(x)`."""
def gammaln(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the absolute value of the gamma function. Derivative: `g digamma(x)`."""
def log(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Natural logarithm. Derivative: `g / x`."""
def log10(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm to base 10. Derivative: `g / (x ln 10)`."""
def log1p(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`ln(1 + x)`, accurate near zero. Derivative: `g / (1 + x)`."""
def log2(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm to base 2. Derivative: `g / (x ln 2)`."""
def nan_to_num(x: _TensorLike, nan: _float = 0.0, posinf: _float | None = None, neginf: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """NaN replaced by `nan`, infinities by `posinf` and `neginf` (the largest finite numbers by default). Derivative: `g` where `x` was finite, 0 elsewhere."""
def nextafter(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The float next to `a` on the way to `b`. It has no derivative, so an operand that requires grad is refused while recording."""
def polygamma(n: _int, x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Derivative of order `n` of `digamma`. Derivative: `g polygamma(n + 1, x)`."""
def rad2deg(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Radians to degrees."""
def degrees(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Radians to degrees."""
def reciprocal(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Reciprocal, `1 / x`; integers become float64. Derivative: `-g y²`."""
def rint(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Nearest integer, ties to even. Derivative: zero."""
def round(x: _TensorLike, decimals: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Nearest number with so many decimals, ties to even; negative `decimals` round before the point. Derivative: zero."""
def around(x: _TensorLike, decimals: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Nearest number with so many decimals, ties to even; negative `decimals` round before the point. Derivative: zero."""
def rsqrt(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Reciprocal square root. Derivative: `-g y / (2 x)`."""
def sign(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sign: -1, 0 or 1; NaN for NaN; a complex number over its absolute value, and 0 for 0. Derivative: zero, and of complex numbers that of the quotient."""
def sgn(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sign: -1, 0 or 1; NaN for NaN; a complex number over its absolute value, and 0 for 0. Derivative: zero, and of complex numbers that of the quotient."""
def sin(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sine. Derivative: `g cos x`."""
def sinc(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`sin(pi x) / (pi x)`, 1 at 0. Derivative: `g` times that of the next order, finite at 0 for every order."""
def sinh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Hyperbolic sine. Derivative: `g cosh x`."""
def sqrt(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Square root; NaN below zero. Derivative: `g / (2 y)`, infinite at 0."""
def square(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Square, `x²`. Derivative: `2 g x`."""
def tan(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Tangent. Derivative: `g (1 + y²)`."""
def tanh(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Hyperbolic tangent. Derivative: `g (1 - y²)`."""
def trunc(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Integer part. Derivative: zero."""
def fix(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Integer part. Derivative: zero."""
def fmax(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The larger operand; a NaN loses against a number. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the larger, half each at a tie of real numbers."""
def fmin(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The smaller operand; a NaN loses against a number. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` to the smaller, half each at a tie of real numbers."""
def heaviside(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """0 below zero, `b` at zero, 1 above; NaN for NaN. Derivatives: zero by `a`; `g` by `b` where `a` is 0."""
def logaddexp(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`ln(e^a + e^b)` without overflow. Derivatives: `g sigmoid(a - b)` and `g sigmoid(b - a)`."""
def logaddexp2(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`log2(2^a + 2^b)` without overflow. Derivatives: `g 2^(a - y)` and `g 2^(b - y)`."""
def xlogy(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`a ln b`, and 0 where `a` is 0 unless `b` is NaN. Derivatives: `g ln b` and `g a / b`, zero where `a` is 0 and `b` leaves the domain."""
def index(x: _TensorLike, key: Any, *, out: Any = None, name: str | None = None) -> Tensor: """NumPy's `x[index]`: an integer for each axis gives the element, a value; fewer integers, slices, None and ... give a view; integer and boolean arrays give a copy. Derivative: `g` at the chosen elements, accumulated where an index repeats."""
def cat(tensors: Sequence[_TensorLike], axis: _int | None = 0, *, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's name of `concatenate`: empty tensors of one axis are passed over beside others. Derivative: the slices of `g`."""
def column_stack(tensors: Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """Joined along axis 1, vectors as columns."""
def concatenate(tensors: Sequence[_TensorLike], axis: _int | None = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Joined along an existing axis; None joins the flattened tensors. Derivative: the slices of `g`."""
def concat(tensors: Sequence[_TensorLike], axis: _int | None = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Joined along an existing axis; None joins the flattened tensors. Derivative: the slices of `g`."""
def dstack(tensors: Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """Joined along axis 2, after vectors became `(1, n, 1)` and matrices `(m, n, 1)`."""
def hstack(tensors: Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """Joined along axis 1, vectors along axis 0."""
def stack(tensors: Sequence[_TensorLike], axis: _int = 0, *, out: Any = None, name: str | None = None) -> Tensor: """Joined along a new axis; all shapes agree. Derivative: the slices of `g`."""
def vstack(tensors: Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """Joined along axis 0, vectors as rows."""
def row_stack(tensors: Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """Joined along axis 0, vectors as rows."""
def cross_entropy(x: _TensorLike, target: _TensorLike, weight: _TensorLike | None = None, ignore_index: _int = -100, reduction: str = "mean", label_smoothing: _float = 0.0, *, out: Any = None, name: str | None = None) -> Tensor: """Cross entropy of the softmax of logits (rows, classes, …) against class numbers (rows, …) or probabilities of the logits' shape; rows with the number `ignore_index` do not count, `weight` has one element per class and the mean divides by the weights that count. Derivative: `g (softmax(x) - target)`, over that divisor for the mean."""
def matmul(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands."""
def mm(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands."""
def bmm(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Matrix product: vectors are rows or columns, leading axes are batches that broadcast. Derivatives: `g bᴴ` and `aᴴ g`, with the conjugates of complex operands."""
def convolve(a: _TensorLike, v: _TensorLike, mode: str = "full", *, out: Any = None, name: str | None = None) -> Tensor: """Discrete convolution of two vectors, `sum_j a[j] v[k - j]`: `"full"`, `"same"` as the longer, or `"valid"`, where they overlap wholly. Derivatives: correlations of `g`."""
def diff(x: _TensorLike, n: _int = 1, axis: _int = -1, prepend: _TensorLike | None = None, append: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Differences of neighbours along an axis, `n` times; of booleans, whether they differ. Derivative: the negative differences of `g`."""
def interp(x: _TensorLike, xp: _TensorLike, fp: _TensorLike, left: _TensorLike | None = None, right: _TensorLike | None = None, period: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Piecewise linear interpolation at `x` of the values `fp` at ascending knots `xp`; beyond them `left` and `right`, or the values at the ends. With a `period`, the knots go round it in any order. Derivatives: the slope by `x`, the weights by `fp`."""
def polyval(p: _TensorLike, x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The polynomial with coefficients `p`, highest first, at `x`, by Horner's rule. Derivatives: the derived polynomial by `x`, powers of `x` by `p`."""
def trapezoid(y: _TensorLike, x: _TensorLike | None = None, dx: _float = 1.0, axis: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """Integral along an axis by the trapezoidal rule, over places `x` or steps of `dx`. Derivative: `g` times half the steps on either side."""
def trapz(y: _TensorLike, x: _TensorLike | None = None, dx: _float = 1.0, axis: _int = -1, *, out: Any = None, name: str | None = None) -> Tensor: """Integral along an axis by the trapezoidal rule, over places `x` or steps of `dx`. Derivative: `g` times half the steps on either side."""
def argsort(x: _TensorLike, axis: _int | None = -1, descending: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """The indices that sort along an axis (None: flattened); equal elements keep their order."""
def partition(x: _TensorLike, kth: _Shape, axis: _int | None = -1, *, out: Any = None, name: str | None = None) -> Tensor: """The elements along an axis such that those at `kth` are where sorting puts them. Derivative: `g` back to where each came from."""
def searchsorted(a: _TensorLike, v: _TensorLike, side: str = "left", sorter: _TensorLike | None = None, right: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Where to insert the values of `v` in the ordered vector `a`, before equal elements or, with `side="right"` or PyTorch's `right=True`, after them; rows of `v` in rows of `a`."""
def sort(x: _TensorLike, axis: _int | None = -1, descending: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """The elements in ascending order along an axis (None: flattened), or descending; a NaN is above every number. Derivative: `g` back to where each came from."""
def topk(x: _TensorLike, k: _int, axis: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None, name: str | None = None) -> _Topk: """The `k` largest (or smallest) elements along an axis, in order, and their indices. Derivative: `g` to the elements chosen."""
def unique(x: _TensorLike, return_index: _bool = False, return_inverse: _bool = False, return_counts: _bool = False, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Any: """The distinct elements in ascending order, or along an axis the distinct slices; and, as asked, the index of the first of each, for every one the index of its value, and the counts. Derivative: `g` at the first of each."""
def pad(x: _TensorLike, pad_width: _TensorLike, mode: str = "constant", constant_values: _TensorLike | None = None, end_values: _TensorLike | None = None, stat_length: _TensorLike | None = None, reflect_type: str = "even", *, out: Any = None, name: str | None = None) -> Tensor: """NumPy's pad: `pad_width` is one number, `(before, after)`, or a pair per axis; `mode` is constant (of `constant_values`), edge, reflect, symmetric, wrap, linear_ramp (to `end_values`), maximum, minimum, mean, median (of `stat_length` elements), or empty. Derivative: `g` summed over the places that show an element."""
def cross(a: _TensorLike, b: _TensorLike, axisa: _int = -1, axisb: _int = -1, axisc: _int = -1, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Cross product of vectors of 3 components along an axis; `axis` overrides the other three. Derivatives: `b × g` and `g × a`."""
def dot(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Inner product of vectors, product of matrices, or the sum over the last axis of `a` and the second-last of `b`; a number multiplies. Derivatives: `g bᵀ` and `aᵀ g`."""
def einsum(subscripts: str, operands: _TensorLike | Sequence[_TensorLike], *, out: Any = None, name: str | None = None) -> Tensor: """Einstein summation: `"ij,jk->ik"` names the axes of the operands and of the result; labels that the result leaves out are summed, a repeated label reads the diagonal, `...` broadcasts. Without `->`, labels that appear once are kept, in alphabetical order. Derivatives: the same summation with `g` in the operand's place."""
def inner(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sum of products over the last axes of both; a number multiplies. Derivatives: `g b` and `gᵀ a`."""
def kron(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Kronecker product: every element of `a` times the whole of `b`, as blocks. Derivatives: sums of `g` times the other operand over its blocks."""
def outer(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """All products of an element of `a` with one of `b`, both flattened: (a.size, b.size). Derivatives: `g b` and `gᵀ a`."""
def ger(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """All products of an element of `a` with one of `b`, both flattened: (a.size, b.size). Derivatives: `g b` and `gᵀ a`."""
def tensordot(a: _TensorLike, b: _TensorLike, axes: _int | Sequence[_int | Sequence[_int]] = 2, *, out: Any = None, name: str | None = None) -> Tensor: """Sum of products over the last `axes` axes of `a` and the first of `b`, or over a pair of lists of axes. Derivatives: the same contraction of `g` with the other operand."""
def vdot(a: _TensorLike, b: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Sum of the products of all elements, both flattened, with the conjugate of a complex `a`. Derivatives: `conj(g) b` and `g a`."""
def all(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Whether all elements over the axes are true."""
def amax(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """`max` by another name, which gives values only also for PyTorch's `dim=`."""
def amin(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """`min` by another name, which gives values only also for PyTorch's `dim=`."""
def any(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Whether any element over the axes is true."""
def argmax(x: _TensorLike, axis: _int | None = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Index of the first largest element, along an axis or over all."""
def argmin(x: _TensorLike, axis: _int | None = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Index of the first smallest element, along an axis or over all."""
def count_nonzero(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """How many elements over the axes are not zero."""
def logsumexp(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """`ln(sum(e^x))` over the axes, without overflow; -inf for lines of -inf. Of complex numbers the principal branch. Derivative: `g e^(x - y)`, the share of each element."""
def max(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Largest element over the axes; NaN if there is one. Derivative: `g` to the largest, shared evenly among ties."""
def mean(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, dtype: DTypeLike | None = None, out: Any = None, name: str | None = None) -> Tensor: """Mean over the axes, a float. Derivative: `g / n` repeated."""
def median(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Median over the axes, the mean of the middle two if the count is even; NaN if there is one. Derivative: `g` to the middle element, half each to two."""
def min(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Smallest element over the axes; NaN if there is one. Derivative: `g` to the smallest, shared evenly among ties."""
def nanmax(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Largest element over the axes that is not NaN; NaN if all are. Derivative: `g` to the largest, shared evenly among ties."""
def nanmean(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Mean over the axes of what is not NaN. Derivative: `g / n` repeated, 0 for a NaN."""
def nanmedian(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Median over the axes of what is not NaN, the mean of the middle two if their count is even; NaN if all are. Derivative: `g` to the middle element, half each to two, 0 for a NaN."""
def nanmin(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Smallest element over the axes that is not NaN; NaN if all are. Derivative: `g` to the smallest, shared evenly among ties."""
def nanstd(x: _TensorLike, axis: _Axes = None, *, ddof: _float = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Standard deviation over the axes of what is not NaN, the square root of `nanvar`."""
def nansum(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Sum over the axes, a NaN counting as 0. Derivative: `g` repeated, 0 for a NaN."""
def nanvar(x: _TensorLike, axis: _Axes = None, *, ddof: _float = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Variance over the axes of what is not NaN. Derivative: `2 g (x - mean) / (n - ddof)`, 0 for a NaN."""
def norm(x: _TensorLike, ord: _float | str | None = None, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's norm: of all elements, or over the axes if there are any, `sum(|x|^ord)^(1/ord)`, that of 2 for None and "fro"; "nuc" is `linalg.norm`'s, as all orders of matrices are. Derivative: 0 where the norm is 0."""
def percentile(x: _TensorLike, q: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, method: str = "linear", out: Any = None, name: str | None = None) -> Tensor: """Quantiles at levels `q` from 0 to 100, between neighbours by NumPy's `method`; the axes of `q` come first."""
def prod(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, dtype: DTypeLike | None = None, out: Any = None, name: str | None = None) -> Tensor: """Product over the axes; booleans and integers in int64, those without a sign in uint64. Derivative: `g` times the product of the others, exact also where elements are zero."""
def ptp(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Range over the axes, `max - min`. Derivative: `g` to the largest and `-g` to the smallest, shared evenly among ties."""
def quantile(x: _TensorLike, q: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, method: str = "linear", out: Any = None, name: str | None = None) -> Tensor: """Quantiles at levels `q` from 0 to 1, between neighbours by NumPy's `method`; the axes of `q` come first; a method that picks one element keeps integers. Derivatives: `g` to the two neighbours by their weight; the slope between them by `q`."""
def std(x: _TensorLike, axis: _Axes = None, *, ddof: _float | None = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Standard deviation, the square root of `var`. Derivative: that of the root, and 0 where the deviation is 0."""
def std_mean(x: _TensorLike, axis: _Axes = None, *, ddof: _float | None = 1.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]: """Standard deviation and mean over the axes; unlike `std` by `n - 1`, as PyTorch, whose name it is. Derivatives: those of both."""
def sum(x: _TensorLike, axis: _Axes = None, *, keepdims: _bool = False, dtype: DTypeLike | None = None, out: Any = None, name: str | None = None) -> Tensor: """Sum over the axes; booleans and integers sum as int64, those without a sign as uint64. Derivative: `g` repeated."""
def var(x: _TensorLike, axis: _Axes = None, *, ddof: _float | None = 0.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> Tensor: """Variance over the axes, `sum((x - mean)²) / (n - ddof)`; `correction` is another name of `ddof`. Derivative: `2 g (x - mean) / (n - ddof)`."""
def var_mean(x: _TensorLike, axis: _Axes = None, *, ddof: _float | None = 1.0, keepdims: _bool = False, out: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]: """Variance and mean over the axes; unlike `var` by `n - 1`, as PyTorch, whose name it is. Derivatives: those of both."""
def repeat(x: _TensorLike, repeats: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Each element of an axis (of the flattened tensor by default) so many times: one number for all or one for each. Derivative: `g` summed over the repetitions."""
def repeat_interleave(x: _TensorLike, repeats: _TensorLike, axis: _int | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Each element of an axis (of the flattened tensor by default) so many times: one number for all or one for each. Derivative: `g` summed over the repetitions."""
def tile(x: _TensorLike, reps: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """The whole tensor side by side, so many times along each axis; missing axes come first. Derivative: `g` summed over the copies."""
def flip(x: _TensorLike, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """The order of elements reversed along the axes, all by default; a view. Derivative: `g` reversed."""
def fliplr(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Reversed along axis 1; a view."""
def flipud(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """Reversed along axis 0; a view."""
def roll(x: _TensorLike, shift: _Shape, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """The elements moved on along the axes (of the flattened tensor by default), those that leave coming in at the front. Derivative: `g` rolled back."""
def rot90(x: _TensorLike, k: _int = 1, axes: _Shape = (0, 1), *, out: Any = None, name: str | None = None) -> Tensor: """Turned by 90 degrees `k` times in the plane of two axes, from the first towards the second; a view."""
def argwhere(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The positions of elements that are not zero, one row each."""
def flatnonzero(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """The positions, in the flattened tensor, of elements that are not zero."""
def isin(elements: _TensorLike, test_elements: _TensorLike, assume_unique: _bool = False, invert: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Whether each element is among `test_elements`; with `invert`, whether it is not."""
def nonzero(x: _TensorLike, *, out: Any = None, name: str | None = None) -> Any: """The positions of elements that are not zero, in C order: one int64 array per axis."""
def where(condition: _TensorLike, a: _TensorLike | None = None, b: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Any: """`a` where `condition` holds, else `b`; with the condition alone, the positions where it holds. Derivatives: `g` where taken, 0 elsewhere; a NaN in the branch not taken stays out of the value but not out of the gradient of what produced it."""
def clip(x: _TensorLike, min: _TensorLike | None = None, max: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Limited to the range `min..max`; a bound that is None does not limit. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` inside and at the bounds, 0 outside."""
def clamp(x: _TensorLike, min: _TensorLike | None = None, max: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Limited to the range `min..max`; a bound that is None does not limit. Complex numbers are compared by their real, then their imaginary parts. Derivative: `g` inside and at the bounds, 0 outside."""
def expand(x: _TensorLike, shape: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Repeats along new and size-1 axes without copying; -1 keeps a dimension. A read-only view in spirit: in-place writes are refused."""
def broadcast_to(x: _TensorLike, shape: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Repeats along new and size-1 axes without copying; -1 keeps a dimension. A read-only view in spirit: in-place writes are refused."""
def expand_dims(x: _TensorLike, axis: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """A new axis of size 1 at a position of the result; a view."""
def unsqueeze(x: _TensorLike, axis: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """A new axis of size 1 at a position of the result; a view."""
def flatten(x: _TensorLike, start_dim: _int | None = None, end_dim: _int | None = None, order: str = "C", *, out: Any = None, name: str | None = None) -> Tensor: """A copy with one axis, all elements in C order (`order="F"`: the first axis runs fastest, `"K"`: as they lie in memory); with `start_dim` or `end_dim`, those axes merged into one, a view where the strides allow it."""
def moveaxis(x: _TensorLike, source: _Shape, destination: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Axes moved to other positions, the rest in order; a view."""
def movedim(x: _TensorLike, source: _Shape, destination: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Axes moved to other positions, the rest in order; a view."""
def permute(x: _TensorLike, axes: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """The axes in the order given; a view."""
def permute_dims(x: _TensorLike, axes: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """The axes in the order given; a view."""
def ravel(x: _TensorLike, order: str = "C", *, out: Any = None, name: str | None = None) -> Tensor: """One axis with all elements in C order (`order="F"`: the first axis runs fastest, `"K"`: as they lie in memory); a view where they lie in memory in this order, else a copy."""
def reshape(x: _TensorLike, shape: _Shape, *, order: str = "C", copy: _bool | None = None, out: Any = None, name: str | None = None) -> Tensor: """The same elements under another shape; one dimension may be -1. A view where the strides allow it, or with `copy=True` a copy. With `order="F"`, the first axis of both shapes runs fastest."""
def squeeze(x: _TensorLike, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """Axes of size 1 dropped, all or those named; a view."""
def sum_to_size(x: _TensorLike, shape: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Summed to a shape that broadcasts to this one; the adjoint of `broadcast_to`."""
def swapaxes(x: _TensorLike, axis1: _int, axis2: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Two axes exchanged; a view."""
def swapdims(x: _TensorLike, axis1: _int, axis2: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Two axes exchanged; a view."""
def transpose(x: _TensorLike, axes: _Shape | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The axes in another order, reversed by default; a view. Two axes given as `transpose(i, j)` are swapped."""
def view(x: _TensorLike, shape: _Shape | DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """The same elements under another shape, or the same bytes as another dtype; never copied, and refused where the strides do not allow it. As in NumPy, elements of another size change the last axis. Derivative of a shape, and between complex numbers and their parts: the inverse view of `g`; any other dtype gives a constant."""
def log_softmax(x: _TensorLike, axis: _int, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Logarithm of the softmax along an axis, computed in `dtype` if it is given. Derivative: `g - softmax(x) sum(g)`."""
def softmax(x: _TensorLike, axis: _int, dtype: DTypeLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`e^x / sum(e^x)` along an axis, computed in `dtype` if it is given. Derivative: `y (g - sum(g y))`."""
def array_split(x: _TensorLike, indices_or_sections: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> list[Tensor]: """As `split`, where `n` need not divide the axis: the first parts are longer by one."""
def tensor_split(x: _TensorLike, indices_or_sections: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> list[Tensor]: """As `split`, where `n` need not divide the axis: the first parts are longer by one."""
def chunk(x: _TensorLike, chunks: _int, axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """At most `chunks` parts of equal length, the last one shorter where it must be; views."""
def dsplit(x: _TensorLike, indices_or_sections: _TensorLike, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`split` along axis 2 of at least three."""
def hsplit(x: _TensorLike, indices_or_sections: _TensorLike, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`split` along axis 1, or axis 0 of a vector."""
def narrow(x: _TensorLike, axis: _int, start: _int, length: _int, *, out: Any = None, name: str | None = None) -> Tensor: """`length` elements of an axis from `start` on; a view."""
def split(x: _TensorLike, indices_or_sections: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`n` equal parts, or the parts between the indices given; views. Refused when `n` does not divide the axis. Derivative: the parts' gradients joined."""
def unbind(x: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """PyTorch's slices along an axis, which disappears; views."""
def unsafe_split(x: _TensorLike, split_size: _int | Sequence[_int | Sequence[_int]], axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """PyTorch's split: parts of `split_size` elements of an axis, the last one shorter where it must be, or parts of the sizes given. Each part is a view of its own, which may be changed in place. Derivative: the parts' gradients joined."""
def split_with_sizes(x: _TensorLike, split_size: _int | Sequence[_int | Sequence[_int]], axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """PyTorch's split: parts of `split_size` elements of an axis, the last one shorter where it must be, or parts of the sizes given. Each part is a view of its own, which may be changed in place. Derivative: the parts' gradients joined."""
def unstack(x: _TensorLike, axis: _int = 0, *, out: Any = None, name: str | None = None) -> Any: """The slices along an axis, which disappears: views, or the elements of a vector, values as `x[i]` is."""
def vsplit(x: _TensorLike, indices_or_sections: _TensorLike, *, out: Any = None, name: str | None = None) -> list[Tensor]: """`split` along axis 0 of at least two."""
def average(x: _TensorLike, axis: _Axes = None, weights: _TensorLike | None = None, keepdims: _bool = False, returned: _bool = False, *, out: Any = None, name: str | None = None) -> Any: """Weighted mean over the axes, `sum(x w) / sum(w)`; the plain mean without weights. Weights have the tensor's shape or that of the axes named. With `returned`, also the sums of the weights."""
def corrcoef(x: _TensorLike, y: _TensorLike | None = None, rowvar: _bool = True, *, out: Any = None, name: str | None = None) -> Tensor: """Correlation coefficients of variables (rows, or columns with `rowvar=False`) in float64, from -1 to 1."""
def cov(x: _TensorLike, y: _TensorLike | None = None, rowvar: _bool = True, bias: _bool = False, ddof: _int | None = None, fweights: _TensorLike | None = None, aweights: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Covariance matrix of variables (rows, or columns with `rowvar=False`) in float64, divided by `n - ddof` with `ddof` 1, or 0 with `bias`."""
def sliding_window_view(x: _TensorLike, window_shape: _Shape, axis: _Axes = None, *, out: Any = None, name: str | None = None) -> Tensor: """Every window of a shape, as NumPy's of the same name: one new last axis for each axis of the window. A view."""
def unfold(x: _TensorLike, axis: _int, size: _int, step: _int, *, out: Any = None, name: str | None = None) -> Tensor: """Windows of `size` elements along an axis, `step` apart; their elements are a new last axis. A view. Derivative: `g` summed over the windows that contain an element."""

__all__ = [
    "Tensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "around",
    "array_equal",
    "array_split",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bmm",
    "broadcast_arrays",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "cbrt",
    "ceil",
    "celu",
    "chunk",
    "clamp",
    "clip",
    "clone",
    "column_stack",
    "complex",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convolve",
    "copy",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cross_entropy",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "deg2rad",
    "degrees",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diff",
    "digamma",
    "divide",
    "dot",
    "dsplit",
    "dstack",
    "einsum",
    "elu",
    "embedding",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand",
    "expand_dims",
    "expit",
    "expm1",
    "fix",
    "flatnonzero",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "from_dlpack",
    "from_numpy",
    "gammaln",
    "gather",
    "ge",
    "gelu",
    "ger",
    "get_default_dtype",
    "get_num_threads",
    "greater",
    "greater_equal",
    "gt",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "heaviside",
    "hsplit",
    "hstack",
    "hypot",
    "imag",
    "index",
    "index_add",
    "index_reduce",
    "index_select",
    "inner",
    "interp",
    "invert",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_complex",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "isclose",
    "iscomplex",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isreal",
    "kron",
    "le",
    "leaky_relu",
    "left_shift",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "live_bytes",
    "live_nodes",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "logsumexp",
    "lt",
    "masked_fill",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "mish",
    "mm",
    "mod",
    "moveaxis",
    "movedim",
    "mul",
    "multiply",
    "nan_to_num",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanstd",
    "nansum",
    "nanvar",
    "narrow",
    "ne",
    "neg",
    "negative",
    "nextafter",
    "nonzero",
    "norm",
    "not_equal",
    "one_hot",
    "outer",
    "pad",
    "partition",
    "percentile",
    "permute",
    "permute_dims",
    "polar",
    "polygamma",
    "polyval",
    "pow",
    "power",
    "prod",
    "psi",
    "ptp",
    "put_along_axis",
    "quantile",
    "rad2deg",
    "radians",
    "ravel",
    "real",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "repeat",
    "repeat_interleave",
    "reshape",
    "right_shift",
    "rint",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rsqrt",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "select",
    "selu",
    "set_default_dtype",
    "set_num_threads",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinc",
    "sinh",
    "sliding_window_view",
    "softmax",
    "softplus",
    "softsign",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "sub",
    "subtract",
    "sum",
    "sum_to_size",
    "swapaxes",
    "swapdims",
    "swish",
    "take",
    "take_along_axis",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tensor_split",
    "tensordot",
    "tile",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "unbind",
    "unfold",
    "unique",
    "unsafe_split",
    "unsqueeze",
    "unstack",
    "var",
    "var_mean",
    "vdot",
    "view",
    "view_as_complex",
    "view_as_real",
    "vsplit",
    "vstack",
    "where",
    "xlogy",
]
