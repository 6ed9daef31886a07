"""An error that a transform raises keeps nothing alive once it is let go."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from function_support import failing


class RefusedError(RuntimeError):
    """What the backward below raises."""


Refusing = failing(RefusedError)


@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad])
@pytest.mark.parametrize("has_aux", [False, True])
def test_an_error_of_a_backward_is_no_cycle(transform: Any, has_aux: bool) -> None:
    def f(x: Any) -> Any:
        y = Refusing.apply(x).sum()
        return (y, None) if has_aux else y

    gc.collect()
    gc.disable()
    try:
        known = None
        try:
            transform(f, has_aux=has_aux)(np.ones(3))
        except RefusedError as error:
            known = weakref.ref(error)
        assert known is not None
        assert known() is None
    finally:
        gc.enable()
