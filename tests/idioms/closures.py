"""Random programs whose checkpoints, loops and branches close over what is changed later.

A second derivative may be refused where memory was written after a loop or a branch that reads it.
Run it: `python -m idioms.closures --programs 10000 --seed 7`.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import ferrograd as fg

X = np.array([0.3, 0.7, -0.5, 1.1])

START = """\
def f(x, checkpoint, loop, branch):
    a, b, s, k = x * 1, x[:2] * 2, x[0] * x[1], 2.0
    c, m, out = np.array([1.0, 2.0, 3.0, 4.0]), fg.zeros(()), 0.0
    m += x[2]
"""
END = "    return out * s + (a * a).sum() + b.sum() * m\n"

#: Bodies of functions of z.
BODIES = [
    *("z * a", "z * s", "z * k", "z * c", "z * m", "np.sin(z) * a", "z * a * a", "z + b[0]"),
    *("z * b[1] * k", "np.sin(z * k)", "z * z * c * k", "z * s * s", "z * (a * c)", "z * a[1]"),
    "z * a[1:3].sum()",
]
#: Calls of such a function; `{i}` makes names.
CALLS = [
    "out += (checkpoint(lambda z: {body})(x) * k).sum()",
    "out += checkpoint(lambda z: {body})(a * s).sum()",
    "out += checkpoint(lambda z, w: {body} + w * k)(a, c).sum()",
    "out += checkpoint(lambda z, q={name}: ({body}) * q)(x).sum()",
    "g{i} = lambda z: {body}; out += checkpoint(lambda z: g{i}(z) * s)(x).sum(); g{i} = None",
    "for k in (1.0, 3.0): out += checkpoint(lambda z: {body} * k)(x).sum()",
    "out += loop(0, 2, lambda i, z: {body}, x * 1.0).sum()",
    "out += branch(True, lambda z: {body}, lambda z: z * 1.0, x * 1.0).sum()",
]
CHANGES = [
    *("a *= 2", "a = a * 2", "a[0] = 1.5", "a[1:] += a[:-1]", "a[1], a[2] = a[2], a[1]", "a += c"),
    *("b += 1", "b = b * s", "b[0] = s", "s += 1", "s = s * 2", "s *= x[3]", "k += 1", "k *= 1.5"),
    *("c += 1", "c = c * 2", "c[1] = 7.0", "m += x[1]", "m *= 2"),
]


def text(seed: int) -> str:
    """The program of a seed."""
    rng, lines = Random(seed), []
    for i in range(rng.randint(3, 9)):
        line = rng.choice(CALLS if rng.random() < 0.5 else CHANGES)
        names = {"body": rng.choice(BODIES), "name": rng.choice("askcm"), "i": i}
        lines.append("    " + line.format(**names) + "\n")
    return START + "".join(lines) + END


def repeated(lower: int, upper: int, body: Any, carry: Any) -> Any:
    for i in range(lower, upper):
        carry = body(i, carry)
    return carry


PYTHON = (lambda f: f, repeated, lambda pred, true, false, x: true(x) if pred else false(x))
OURS = (fg.checkpoint, fg.fori_loop, fg.cond)


def curvature(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fg.hvp(f)(x, np.ones(len(x)))


def outcome(seed: int) -> Counter[str]:
    """What the program's derivatives are: right, wrong or refused."""
    names: dict[str, Any] = {"np": np, "fg": fg}
    exec(text(seed), names)
    f, found = names["f"], Counter[str]()
    for derivative in (fg.value_and_grad, curvature):
        want = derivative(lambda x: f(x, *PYTHON))(X)
        try:
            ours = derivative(lambda x: f(x, *OURS))(X)
        except fg.errors.GradientError:
            found["refused" if derivative is curvature else "wrong"] += 1
            continue
        same = all(np.allclose(p, q, rtol=1e-8) for p, q in zip(ours, want, strict=True))
        found["right" if same else "wrong"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = Counter[str]()
    for seed in range(given.seed * 10**6, given.seed * 10**6 + given.programs):
        found = outcome(seed)
        counts += found
        if found["wrong"]:
            print(f"# seed {seed}\n{text(seed)}")
    print(dict(counts))
    if counts["wrong"]:
        raise SystemExit(1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
