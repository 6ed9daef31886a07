"""Pooling as modules.

Invariant: options have PyTorch's order, which is not that of the functions.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ferrograd._core import Tensor
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.nn.functional._arguments import Sizes
from ferrograd.nn.functional.images.fractional import compute_output_size
from ferrograd.nn.layers.base import FunctionModule


class _MaxPoolNd(FunctionModule):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            dilation=dilation,
            return_indices=return_indices,
            ceil_mode=ceil_mode,
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window along the last axis of (N, C, L) or (C, L).

    With `return_indices`, also their indices. The derivative goes to the largest element, the first
    of equal ones.

    >>> import ferrograd as fg
    >>> fg.nn.MaxPool1d(2)(fg.tensor([[1.0, 3.0, 2.0, 0.0]])).tolist()
    [[3.0, 2.0]]
    """

    function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window over the last two axes; as `MaxPool1d`.

    >>> import ferrograd as fg
    >>> fg.nn.MaxPool2d(3, stride=2)(fg.ones(1, 2, 7, 5)).shape
    (1, 2, 3, 2)
    """

    function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window over the last three axes; as `MaxPool1d`.

    >>> import ferrograd as fg
    >>> fg.nn.MaxPool3d(3, stride=2)(fg.ones(1, 2, 7, 5, 3)).shape
    (1, 2, 3, 2, 1)
    """

    function = "max_pool3d"


class AvgPool1d(FunctionModule):
    """The mean of each window along the last axis, the padding counting as zeros.

    With `count_include_pad=False`, the padding does not count.

    >>> import ferrograd as fg
    >>> fg.nn.AvgPool1d(2)(fg.tensor([[1.0, 3.0, 2.0, 0.0]])).tolist()
    [[2.0, 1.0]]
    """

    function = "avg_pool1d"

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )


class AvgPool2d(FunctionModule):
    """The mean of each window over the last two axes, or its sum over `divisor_override`.

    >>> import ferrograd as fg
    >>> fg.nn.AvgPool2d(2)(fg.ones(1, 2, 6, 4)).shape
    (1, 2, 3, 2)
    """

    function = "avg_pool2d"

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            kernel_size=kernel_size,
            stride=kernel_size if stride is None else stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )


class AvgPool3d(AvgPool2d):
    """The mean of each window over the last three axes, or its sum over `divisor_override`.

    >>> import ferrograd as fg
    >>> fg.nn.AvgPool3d(2)(fg.ones(1, 2, 6, 4, 2)).shape
    (1, 2, 3, 2, 1)
    """

    function = "avg_pool3d"


class _AdaptiveAvgPoolNd(FunctionModule):
    def __init__(self, output_size: Any, *, name: str | None = None) -> None:
        super().__init__(name)
        self._set_options(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of the windows that divide the last axis into `output_size` parts.

    >>> import ferrograd as fg
    >>> fg.nn.AdaptiveAvgPool1d(3)(fg.ones(1, 2, 7)).shape
    (1, 2, 3)
    """

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of the windows that divide the last two axes; None keeps an axis.

    >>> import ferrograd as fg
    >>> fg.nn.AdaptiveAvgPool2d((1, None))(fg.ones(1, 2, 7, 5)).shape
    (1, 2, 1, 5)
    """

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of the windows that divide the last three axes; None keeps an axis.

    >>> import ferrograd as fg
    >>> fg.nn.AdaptiveAvgPool3d((1, None, 2))(fg.ones(1, 2, 7, 5, 4)).shape
    (1, 2, 1, 5, 2)
    """

    function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(FunctionModule):
    def __init__(
        self, output_size: Any, return_indices: bool = False, *, name: str | None = None
    ) -> None:
        super().__init__(name)
        self._set_options(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Largest elements of the windows that divide the last axis into `output_size` parts.

    >>> import ferrograd as fg
    >>> fg.nn.AdaptiveMaxPool1d(3)(fg.ones(1, 2, 7)).shape
    (1, 2, 3)
    """

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Largest elements of the windows that divide the last two axes; None keeps an axis.

    >>> import ferrograd as fg
    >>> fg.nn.AdaptiveMaxPool2d((1, None))(fg.ones(1, 2, 7, 5)).shape
    (1, 2, 1, 5)
    """

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Largest elements of the windows that divide the last three axes; None keeps an axis.

    >>> import ferrograd as fg
    >>> fg.nn.AdaptiveMaxPool3d((1, None, 2))(fg.ones(1, 2, 7, 5, 4)).shape
    (1, 2, 1, 5, 2)
    """

    function = "adaptive_max_pool3d"


class _MaxUnpoolNd(FunctionModule):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        stride = kernel_size if stride is None else stride
        self._set_options(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:  # type: ignore[override]
        """Moves the elements to the indices that the pooling returned."""
        unpool = getattr(F, self.function)
        return unpool(input, indices, **self._get_options(), output_size=output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """Moves the results of `MaxPool1d(…, return_indices=True)` back; zeros elsewhere.

    >>> import ferrograd as fg
    >>> x, places = fg.nn.MaxPool1d(2, return_indices=True)(fg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    >>> fg.nn.MaxUnpool1d(2)(x, places).tolist()
    [[0.0, 3.0, 2.0, 0.0]]
    """

    function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Moves the results of `MaxPool2d` back; `output_size` selects one of the possible sizes.

    >>> import ferrograd as fg
    >>> x, places = fg.nn.MaxPool2d(2, return_indices=True)(fg.ones(1, 2, 5, 4))
    >>> fg.nn.MaxUnpool2d(2)(x, places, output_size=(5, 4)).shape
    (1, 2, 5, 4)
    """

    function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Moves the results of `MaxPool3d` back; as `MaxUnpool2d`.

    >>> import ferrograd as fg
    >>> x, places = fg.nn.MaxPool3d(2, return_indices=True)(fg.ones(1, 2, 4, 4, 2))
    >>> fg.nn.MaxUnpool3d(2)(x, places).shape
    (1, 2, 4, 4, 2)
    """

    function = "max_unpool3d"


class _LPPoolNd(FunctionModule):
    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self._set_options(
            norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode
        )


class LPPool1d(_LPPoolNd):
    """`(Σ x^p)^(1/p)` over windows along the last axis, with `p = norm_type`.

    >>> import ferrograd as fg
    >>> fg.nn.LPPool1d(2, 2)(fg.tensor([[3.0, 4.0]])).tolist()
    [[5.0]]
    """

    function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """`(Σ x^p)^(1/p)` over windows of the last two axes, with `p = norm_type`.

    >>> import ferrograd as fg
    >>> fg.nn.LPPool2d(1, 2)(fg.ones(1, 1, 2, 2)).tolist()
    [[[[4.0]]]]
    """

    function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """`(Σ x^p)^(1/p)` over windows of the last three axes, with `p = norm_type`.

    >>> import ferrograd as fg
    >>> fg.nn.LPPool3d(1, 2)(fg.ones(1, 1, 2, 2, 2)).tolist()
    [[[[[8.0]]]]]
    """

    function = "lp_pool3d"


class _FractionalMaxPoolNd(FunctionModule):
    _axes: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        compute_output_size(type(self).__name__, self._axes, output_size, output_ratio, None)
        if isinstance(_random_samples, Tensor):
            self.register_buffer("_random_samples", _random_samples)
        self._set_options(
            kernel_size=kernel_size,
            output_size=output_size,
            output_ratio=output_ratio,
            return_indices=return_indices,
            _random_samples=_random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of windows at random positions; see `nn.functional`.

    >>> import ferrograd as fg
    >>> fg.nn.FractionalMaxPool2d(2, output_ratio=0.75)(fg.ones(1, 2, 8, 8)).shape
    (1, 2, 6, 6)
    """

    function, _axes = "fractional_max_pool2d", 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest element of windows of volumes at random positions; as `FractionalMaxPool2d`.

    >>> import ferrograd as fg
    >>> fg.nn.FractionalMaxPool3d(2, output_size=3)(fg.ones(1, 2, 5, 5, 5)).shape
    (1, 2, 3, 3, 3)
    """

    function, _axes = "fractional_max_pool3d", 3
