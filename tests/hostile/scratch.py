"""Random programs that rewrite NumPy arrays between operations, recorded and not.

Run it: `python -m hostile.scratch --programs 20000 --seed 7`. Invariant: a program depends on its
seed only.
"""

import argparse
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import ferrograd as fg

X = np.array([0.3, 0.7, -0.5, 1.1])
#: Arrays that all programs find outside; each of them writes before it reads.
OUTSIDE = np.zeros(4)

START = """\
def f(x):
    v, m, i, b = np.ones(4), np.eye(4), np.arange(4), np.array([True, False, True, False])
    g, s, y = G, np.array(2.0), x * 1.0
    g[:] = 0.5
"""

#: What NumPy code writes. `w` is one of the arrays, `c` a number, `k` a place.
WRITES = [
    *(
        "w[:] = c",
        "w += c",
        "w[k] = c",
        "w *= -1",
        "w[1:] = w[:-1].copy()",
        "w[:] = w[::-1].copy()",
    ),
    *("np.multiply(w, c, out=w)", "np.copyto(w, c)", "w.fill(c)", "w.sort()", "np.put(w, k, c)"),
    *("v = v * c", "v = np.full(4, c)", "v = v[::-1]", "g[:] = v", "v[:] = g", "s[...] = c"),
    *("m[k] = c", "m[:, k] = v", "m = m.T", "m += g", "i[:] = i[::-1].copy()", "i[k] = 2"),
    *("b[:] = v > c", "b[k] = True", "i = np.argsort(v)"),
]
#: What operations read. `w` as above.
READS = [
    *("y = y + x * w", "y = y - w * 0.5", "y = y + w[::-1] * x", "y[1:] = y[1:] + w[1:]"),
    *("y = y + np.maximum(x, w)", "y = np.concatenate([y[:k], w[k:]])", "y = y + (x @ w)"),
    *("y = y + np.where(b, x, w)", "y = y + np.interp(x, np.arange(4.0), w)", "y = y * s"),
    *("y = y + m @ x", "y = y + m[k] * x", "y = y + np.einsum('ij,j->i', m, x)", "y = y + x[i]"),
    *("y = y * m[:, k]", "y[i] = x * 2.0", "y = y + fg.from_numpy(w) * x", "y[...] = y + w"),
    *("y = np.sin(y)", "y = y + np.add.reduce(m) * x", "y = y + np.stack([x, w])[1]"),
]


def written(seed: int) -> str:
    """The text of a program."""
    rng, lines = Random(seed), []
    for _ in range(rng.randint(4, 14)):
        line = rng.choice(rng.choice([WRITES, READS]))
        names = {"w": rng.choice("vvg"), "c": rng.choice(["0.0", "1.5", "-0.75"])}
        names["k"] = str(rng.randrange(4))
        for name, value in names.items():
            line = "".join(value if part == name else part for part in _parts(line))
        lines.append(f"    {line}")
    return START + "\n".join([*lines, "    return (np.sin(y) * x).sum()"])


def _parts(line: str) -> list[str]:
    """Names and what lies between them."""
    parts = [""]
    for before, here in zip(" " + line, line, strict=False):
        if here.isalnum() != before.isalnum():
            parts.append("")
        parts[-1] += here
    return parts


def made(text: str) -> Callable[[Any], Any]:
    """The function of a program."""
    names = {"np": np, "fg": fg, "G": OUTSIDE}
    exec(text, names)
    return names["f"]  # type: ignore[return-value]


def compiled(f: Callable[[Any], Any]) -> list[Any]:
    """Several calls, of which the first one records."""
    g = fg.compile(f)
    return [g(X + k) for k in range(3)]


def in_scan(f: Callable[[Any], Any]) -> list[Any]:
    """The function as the body of a loop that takes the same arguments."""
    rows = fg.tensor(np.array([X + k for k in range(3)]))
    return list(fg.scan(lambda c, x: (c, f(x)), 0.0, rows)[1].tolist())


def in_branch(f: Callable[[Any], Any]) -> list[Any]:
    """The function as a branch."""
    g = fg.compile(lambda x: fg.cond(x.sum() < 100.0, f, lambda x: x.sum(), x))
    return [g(X + k) for k in range(3)]


def slopes(f: Callable[[Any], Any]) -> list[Any]:
    """Gradients, eagerly."""
    return [fg.grad(f)(X + k) for k in range(3)]


def compiled_slopes(f: Callable[[Any], Any]) -> list[Any]:
    """Gradients that are recorded as a whole."""
    g = fg.compile(fg.grad(f))
    return [g(X + k) for k in range(3)]


def slopes_of_compiled(f: Callable[[Any], Any]) -> list[Any]:
    """Gradients of recorded nodes."""
    g = fg.compile(f)
    x = [fg.tensor(X + k, requires_grad=True) for k in range(3)]
    return [fg.autograd.grad(g(each), [each])[0].numpy() for each in x]


VALUES = [compiled, in_scan, in_branch]
GRADIENTS = [compiled_slopes, slopes_of_compiled]


def faults(seed: int) -> list[str]:
    """The ways that give something else than the function itself."""
    text = written(seed)
    f = made(text)
    found = []
    for ways, want in ((VALUES, [f(X + k) for k in range(3)]), (GRADIENTS, slopes(f))):
        for way in ways:
            try:
                got = way(f)
                said = "" if np.allclose(got, want, rtol=1e-9) else f"{got} for {want}"
            except Exception as raised:
                said = f"{type(raised).__name__}: {raised}"
            if said:
                found.append(f"# seed {seed}, {way.__name__}: {said}\n{text}")
    return found


def main() -> None:
    """Runs programs, and prints what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    begin = asked.seed * 1_000_000
    wrong = [said for k in range(asked.programs) for said in faults(begin + k)]
    print("\n\n".join(wrong[:10]))
    print(f"{asked.programs} programs: {len(wrong)} faults")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
