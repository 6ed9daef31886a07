"""A custom operation written in Python: forward, backward, and the node between them."""

from typing import Any

from harness import Case

from .common import module, tensor


def classes(library: str) -> dict[str, Any]:
    base = module(library)
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

    class Pass(parent):
        @staticmethod
        def forward(ctx, a):
            return a.detach()

        @staticmethod
        def backward(ctx, g):
            return g

    return {
        "product": Product.apply,
        "pass_on": Pass.apply,
        "a": tensor(library, [1.5], grad=True),
        "b": tensor(library, [2.5], grad=True),
    }


CASES = [
    Case("Function: forward", "product(a, b)", classes, unit="µs"),
    Case("Function: forward + backward", "product(a, b).backward()", classes, unit="µs", goal=6),
    Case("Function that passes on: both", "pass_on(a).backward()", classes, unit="µs", goal=6),
]
