"""Arguments that creation and operations refuse: the call, the class, the exact text.

Every variant of `src/error.rs`: `test_errors.py`; every operation: `test_op_errors.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

# fmt: off
TABLE: list[tuple[type[Exception], Callable[[], Any], str]] = [
    (fg.errors.ShapeError, lambda: fg.zeros(10**10, 10**10),
     "zeros: an array of shape (10000000000, 10000000000) has more elements than memory can"
     " address; use a smaller shape"),
    (fg.errors.ArgumentError, lambda: fg.zeros(-1),
     "zeros: the shape holds the negative size -1; give sizes of at least 0"),
    (fg.errors.ArgumentError, lambda: fg.randn(2, -3),
     "randn: the shape holds the negative size -3; give sizes of at least 0"),
    (fg.errors.ArgumentError, lambda: fg.eye(-1),
     "eye: the shape holds the negative size -1; give sizes of at least 0"),
    (fg.errors.ArgumentError, lambda: fg.arange(0, 1, 0),
     "arange: step is 0; give a step that leads from start to stop"),
    (fg.errors.ArgumentError, lambda: fg.arange(0, np.inf),
     "arange: stop is inf; pass a finite number"),
    (fg.errors.ArgumentTypeError, lambda: fg.arange("a"),
     "arange: stop is a str; pass a number"),
    (fg.errors.ArgumentTypeError, lambda: fg.zeros(2.5),
     "zeros: the shape (2.5,) holds something else than integers; pass a tuple of integers or"
     " several integers"),
    (fg.errors.ArgumentTypeError, lambda: fg.zeros_like(None),
     "zeros_like: x is a NoneType; pass a tensor, an array or numbers"),
    (fg.errors.ArgumentError, lambda: fg.randint(5, 5, (2,)),
     "randint: the range from 5 to 5 holds no integer; give low < high"),
    (fg.errors.ArgumentError, lambda: fg.ones(2).to("cuda"),
     'to: there is no device "cuda"; tensors live in main memory; use "cpu", or leave it out'),
    (fg.errors.ArgumentTypeError, lambda: fg.zeros(2, dtype="x"),
     "zeros: 'x' is not a dtype; use one such as fg.float32"),
    (fg.errors.DTypeError, lambda: fg.ones(3).masked_select(fg.ones(3)),
     "masked_select: dtype float64 is not supported; give boolean conditions"),
    (fg.errors.DTypeError, lambda: fg.ones(3).mean(dtype=np.int64),
     "mean: dtype int64 is not supported; give a float dtype, and cast the mean"),
    (fg.errors.ArgumentError, lambda: fg.quantile(fg.ones(3), 0.5, method="best"),
     'quantile: method "best"; use one of linear, lower, higher, nearest, midpoint, inverted_cdf,'
     " averaged_inverted_cdf, closest_observation, interpolated_inverted_cdf, hazen, weibull,"
     " median_unbiased, normal_unbiased"),
    (fg.errors.ArgumentError, lambda: fg.interp(0.5, [0.0, 1.0], [0.0, 1.0], period=0.0),
     "interp: a period of 0; give a finite period other than 0"),
    (fg.errors.ArgumentError, lambda: fg.pad(fg.ones(3), 1, mode="mean", stat_length=0),
     "pad: stat_length 0; give at least 1"),
    (fg.errors.ArgumentError, lambda: fg.pad(fg.ones(3), 1, end_values=1.0),
     'pad: end_values with mode "constant"; use it with the mode that reads it'),
    (fg.errors.ArgumentError, lambda: fg.pad(fg.ones(3), 3, mode="reflect", reflect_type="odd"),
     'pad: a width of 3 on axis 0 of size 3; reflect_type="odd" turns each element once: give a'
     " smaller width"),
    (fg.errors.ArgumentError, lambda: fg.nn.functional.conv2d(
        fg.ones(1, 1, 3, 3), fg.ones(1, 1, 2, 2), padding="same", stride=2),
     'conv2d: padding="same" with stride [2]; use "valid", "same" with a stride of 1, or widths'),
    (fg.errors.ArgumentTypeError, lambda: fg.zeros((2, 3), np.float32),
     "zeros: the shape ((2, 3), <class 'numpy.float32'>) holds something else than integers; pass"
     " the dtype by name, as dtype="),
    (fg.errors.ArgumentTypeError, lambda: fg.tensor([1.0], requires_grad=1),  # type: ignore[arg-type]
     "requires_grad: the value is a int; pass True or False"),
    (fg.errors.ArgumentTypeError, lambda: fg.ones(2).requires_grad_("yes"),  # type: ignore[arg-type]
     "requires_grad: the value is a str; pass True or False"),
    (fg.errors.ArgumentTypeError, lambda: fg.ones(2) * "a",  # type: ignore[operator]
     "multiply: the operand is a str; pass a tensor, an array, a number or a nested sequence of"
     " numbers as the operand"),
    (fg.errors.ArgumentTypeError, lambda: b"a" * fg.ones(2),  # type: ignore[operator]
     "multiply: the operand is a bytes; pass a tensor, an array, a number or a nested sequence of"
     " numbers as the operand"),
    (fg.errors.DTypeError, lambda: fg.ones(2, dtype=fg.int64).add_(fg.ones(2)),
     "add_: the result is float64 and the tensor it goes into int64; compute a new tensor,"
     " x = x + y instead of x += y, or convert one with astype first"),
    (fg.errors.DTypeError, lambda: fg.ones(2, dtype=fg.uint8).__iadd__(fg.ones(2, dtype=fg.int64)),
     "add: the result is int64 and the tensor it goes into uint8; compute a new tensor,"
     " x = x + y instead of x += y, or convert one with astype first"),
    (fg.errors.DTypeError, lambda: fg.ones(2, dtype=fg.int64).masked_fill([True, False], 0.5),
     "masked_fill: the value is float and the tensor it goes into int64; convert one of them with"
     " astype first"),
    (fg.errors.DTypeError, lambda: fg.cross_entropy(fg.ones(2, 3), [0.0, 1.0]),
     "cross_entropy: class numbers of dtype float64; give class numbers as integers,"
     " target.astype(fg.int64), or probabilities of the input's shape"),
    (fg.errors.DTypeError, lambda: fg.cross_entropy(fg.ones(2, 3), fg.ones(2, 3, dtype=fg.int64)),
     "cross_entropy: probabilities of dtype int64; give probabilities as floats"),
    (fg.errors.DTypeError, lambda: fg.nn.functional.nll_loss(fg.ones(2, 3), [0.0, 1.0]),
     "nll_loss: class numbers of dtype float64; give integers, for example"
     " target.astype(fg.int64)"),
    (fg.errors.DTypeError, lambda: fg.nn.functional.scaled_dot_product_attention(
        fg.ones(2, 3), fg.ones(2, 3), fg.ones(2, 3), np.ones((2, 2), int)),
     "scaled_dot_product_attention: attn_mask of dtype int64; give booleans, true for the keys that"
     " are seen, or floats, which are added"),
    (fg.errors.AxisError, lambda: fg.ones(()).flip(1),
     "flip: axis 1 is out of bounds for an array of 0 dimensions; leave the axis out"),
    (fg.errors.IndexOutOfRangeError, lambda: fg.ones(0)[0],
     "index: index 0 is out of range for axis 0 of size 0; the axis is empty"),
    (fg.errors.ArgumentTypeError, lambda: fg.ones(2).roll(1, {}),  # type: ignore[arg-type]
     "roll: axis is a dict; pass an integer or a tuple of integers as axis"),
    (fg.errors.ArgumentTypeError, lambda: fg.std(fg.ones(2), False),
     "std: axis is a bool; pass an integer or a tuple of integers as axis"),
    (fg.errors.ArgumentTypeError, lambda: fg.max(fg.ones(2), fg.ones(2)),  # type: ignore[arg-type]
     "max: axis is a Tensor; write maximum for that of two tensors"),
    (fg.errors.DTypeError, lambda: fg.softmax(fg.ones(2), 0, dtype=fg.int64),
     "softmax: dtype int64 is not supported; give fg.float32 or fg.float64"),
]
# fmt: on


@pytest.mark.parametrize(("error", "call", "text"), TABLE)
def test_the_text_says_what_happened_and_what_to_do(
    error: type[Exception], call: Callable[[], Any], text: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == text
