"""One operation on one element: what the bookkeeping costs when there is nothing to compute."""

from typing import Any

from harness import Case

from .common import module, tensor


def operands(library: str, grad: bool) -> dict[str, Any] | None:
    if library == "jax":
        if grad:
            return None
        jax = module("jax")
        jax.config.update("jax_enable_x64", True)
        one = jax.numpy.asarray([1.5])
        return {"a": one, "b": one}
    if library == "mygrad" and not grad:
        return None
    return {"a": tensor(library, [1.5], grad), "b": tensor(library, [2.5], grad)}


def plain(library: str) -> dict[str, Any] | None:
    return operands(library, grad=False)


def recorded(library: str) -> dict[str, Any] | None:
    return operands(library, grad=True)


def product(library: str) -> dict[str, Any] | None:
    """A recorded product that can be pulled again and again."""
    names = operands(library, grad=True)
    return names and {**names, "y": names["a"] * names["b"]}


PEERS = ("torch", "jax", "mygrad")

CASES = [
    Case("a + b, no grad", "a + b", plain, unroll=20, peers=PEERS),
    Case("a * 2.0, no grad", "a * 2.0", plain, unroll=20, peers=PEERS),
    Case("-a, no grad", "-a", plain, unroll=20, peers=PEERS),
    Case("a + b, recorded", "a + b", recorded, unroll=20, goal=8, peers=PEERS),
    Case("a * 2.0, recorded", "a * 2.0", recorded, unroll=20, goal=8, peers=PEERS),
    Case("a.sin(), recorded", "a.sin()", recorded, unroll=20, goal=8),
    Case("backward of a * b", "y.backward(retain_graph=True)", product, unroll=5),
    Case("(a * b).backward()", "(a * b).backward()", recorded, unroll=5, unit="µs"),
]
