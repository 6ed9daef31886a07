"""One operation on one element: what the bookkeeping costs when there is nothing to compute."""

from typing import Any

from harness import Case

from .common import import_library, make_tensor


def make_operands(library: str, grad: bool) -> dict[str, Any] | None:
    if library == "jax":
        if grad:
            return None
        jax = import_library("jax")
        jax.config.update("jax_enable_x64", True)
        one = jax.numpy.asarray([1.5])
        return {"a": one, "b": one}
    if library == "mygrad" and not grad:
        return None
    return {"a": make_tensor(library, [1.5], grad), "b": make_tensor(library, [2.5], grad)}


def set_up_plain(library: str) -> dict[str, Any] | None:
    return make_operands(library, grad=False)


def set_up_recorded(library: str) -> dict[str, Any] | None:
    return make_operands(library, grad=True)


def set_up_product(library: str) -> dict[str, Any] | None:
    """A recorded product that can be pulled again and again."""
    names = make_operands(library, grad=True)
    return names and {**names, "y": names["a"] * names["b"]}


PEERS = ("torch", "jax", "mygrad")

CASES = [
    Case("a + b, no grad", "a + b", set_up_plain, unroll=20, peers=PEERS),
    Case("a * 2.0, no grad", "a * 2.0", set_up_plain, unroll=20, peers=PEERS),
    Case("-a, no grad", "-a", set_up_plain, unroll=20, peers=PEERS),
    Case("a + b, recorded", "a + b", set_up_recorded, unroll=20, goal=8, peers=PEERS),
    Case("a * 2.0, recorded", "a * 2.0", set_up_recorded, unroll=20, goal=8, peers=PEERS),
    Case("a.sin(), recorded", "a.sin()", set_up_recorded, unroll=20, goal=8),
    Case("backward of a * b", "y.backward(retain_graph=True)", set_up_product, unroll=5),
    Case("(a * b).backward()", "(a * b).backward()", set_up_recorded, unroll=5, unit="µs"),
]
