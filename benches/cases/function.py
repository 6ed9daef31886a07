"""A custom operation written in Python: forward, backward, and the node between them."""

from typing import Any

from harness import Case

from .common import import_library, make_tensor


def make_classes(library: str) -> dict[str, Any]:
    base = import_library(library)
    parent = base.Function if library == "ferrograd" else base.autograd.Function

    class Product(parent):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    class Identity(parent):
        @staticmethod
        def forward(ctx, a):
            return a.detach()

        @staticmethod
        def backward(ctx, g):
            return g

    return {
        "product": Product.apply,
        "pass_on": Identity.apply,
        "a": make_tensor(library, [1.5], grad=True),
        "b": make_tensor(library, [2.5], grad=True),
    }


CASES = [
    Case("Function: forward", "product(a, b)", make_classes, unit="µs"),
    Case(
        "Function: forward + backward", "product(a, b).backward()", make_classes, unit="µs", goal=6
    ),
    Case("Function that passes on: both", "pass_on(a).backward()", make_classes, unit="µs", goal=6),
]
