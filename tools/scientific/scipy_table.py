"""Writes docs/scipy.md: what SciPy's functions with array API support do with tensors.

`--check` writes nothing and prints what the page calls right and is not; words in the arguments
choose functions by parts of their names and print their rows. Invariant: the functions come from
SciPy's own table of array API support, not from a list.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import dataclasses
import importlib
import math
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy._lib._array_api import xp_capabilities_table
from scipy.spatial.transform import RigidTransform, Rotation, Slerp

import ferrograd as fg
import ferrograd.array_api as xp
from scipy_calls import CALLS, make_arrays
from scipy_numbers import VARIABLE_NAME, iter_number_variants

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scipy.md"
MODULES = """cluster.hierarchy cluster.vq constants differentiate fft integrate interpolate linalg
    ndimage optimize optimize.elementwise signal signal.windows special stats stats.contingency"""
#: Arrays of floats that hold numbers of clusters.
CONSTANT_NAMES = {"Z", "ML", "R"}
#: Classes whose methods are tried one by one.
CLASSES = [Rotation, RigidTransform, Slerp]
#: What expressions may name beside the arrays.
SCOPE: dict[str, Any] = {kind.__name__: kind for kind in CLASSES}
TIME_LIMIT = 20
STEP = 1e-5
INTRODUCTION = """# SciPy's own functions on tensors

Written by `make scipy` with {version}. With `SCIPY_ARRAY_API=1` in the environment before
the first import of SciPy, its functions compute with the [namespace](array_api.md) of their
arguments, and its special functions are those of `xp.special`. So they take tensors and have
gradients; all arrays among the arguments must then be tensors. The tables list every function
for which SciPy claims this support, and the methods of rotations.

* *values*: `yes` if a call with tensors gives the values of the same call with arrays; `arrays` if
  the result is not a tensor; `differ` if SciPy's code for the array API gives other values than its
  code for NumPy; otherwise the error.
* *gradient*: `yes` if the gradients of all float arrays among the arguments agree with central
  differences in float64; `zero` if the result does not depend on them smoothly; `by` and a list of
  arguments if only these have a gradient; `–` if no argument is an array of floats, or the values
  are refused. A refusal is an error before anything is computed, most often `GraphCutError` from
  compiled code that needs an array; such functions may be in
  [`ferrograd.scipy`](scipy_functions.md). Numeric arguments (frequencies, widths, parameters) are
  also tried as tensors, one by one: each has a gradient that agrees with differences, or raises. No
  gradient is lost without an error.

Of {all} functions {right} are right in both: {differentiated} have gradients by every argument,
{constant} are piecewise constant, {plain} take no floats. {partly} more have gradients by some of
their arguments.

```sh
SCIPY_ARRAY_API=1 python -c "
import ferrograd as fg
from scipy import stats
x = fg.tensor([1.0, 2.0, 4.0], requires_grad=True)
stats.zscore(x)[2].backward()
print(x.grad)"
```"""


@dataclasses.dataclass
class Row:
    """What a trial found."""

    name: str
    values: str
    gradient: str

    @property
    def holds(self) -> bool:
        """Whether values and gradient, where there is one, are right."""
        return self.values == "yes" and self.gradient in ("yes", "zero", "–")


def iter_functions() -> Iterator[tuple[str, Any]]:
    """SciPy's public functions and methods that claim array API support, each once."""
    seen = set()
    for module in MODULES.split():
        home = importlib.import_module(f"scipy.{module}")
        for name in sorted(home.__all__ if hasattr(home, "__all__") else dir(home)):
            function = getattr(home, name)
            facts = callable(function) and xp_capabilities_table.get(function)
            if not facts or facts["np_only"] or facts["out_of_scope"] or function in seen:
                continue
            seen.add(function)
            yield f"{module}.{name}", function
    for kind in CLASSES:
        for name in vars(kind):
            method = getattr(kind, name)
            own = getattr(method, "__func__", method)
            path = f"spatial.transform.{kind.__name__}.{name}"
            if path in CALLS and xp_capabilities_table.get(own):
                yield path, method


def make_arguments() -> dict[str, Any]:
    """The arrays of the calls, with what hierarchies are made of."""
    from scipy.cluster import hierarchy

    made = make_arrays()
    links = hierarchy.linkage(made["d"])
    return made | {
        "Z": links,
        "ML": hierarchy.to_mlab_linkage(links),
        "R": hierarchy.inconsistent(links),
        "T": hierarchy.fcluster(links, 2, "maxclust").astype(np.int32),
    }


def iter_leaves(result: Any) -> Iterator[Any]:
    """The arrays and numbers in a result, in order."""
    if isinstance(result, fg.Tensor | np.ndarray | np.generic | int | float | complex):
        yield result
    elif isinstance(result, dict):
        for key in sorted(result, key=str):
            yield from iter_leaves(result[key])
    elif isinstance(result, tuple | list):
        for item in result:
            yield from iter_leaves(item)
    elif type(result).__module__.startswith("scipy.") and hasattr(result, "__dict__"):
        for key in sorted(vars(result)):
            if not key.startswith("_"):
                yield from iter_leaves(getattr(result, key))


def to_array(leaf: Any) -> Any:
    """A leaf as an array of NumPy's."""
    return leaf.detach().numpy() if isinstance(leaf, fg.Tensor) else np.asarray(leaf)


def evaluate_call(function: Any, expression: str, names: dict[str, Any], space: Any) -> list[Any]:
    """The leaves of what an expression gives."""
    body = expression if "f(" in expression else f"f({expression})"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scope = {"np": np, "f": function, "xp": space, **names}
        return list(iter_leaves(eval(body, scope | SCOPE)))


def make_tensors(pool: dict[str, Any]) -> dict[str, Any]:
    """The arrays as tensors, where these have the dtype."""
    kept = set(xp.__array_namespace_info__().dtypes())
    return {k: fg.asarray(v) if v.dtype.name in kept else v for k, v in pool.items()}


def make_weights(index: int, shape: tuple[int, ...]) -> Any:
    """Fixed weights of a leaf in the number that is differentiated."""
    return np.cos(1.0 + index + np.arange(math.prod(shape))).reshape(shape)


def sum_weighted(leaf: Any, index: int) -> Any:
    """The sum of a leaf's elements with fixed weights, of complex ones also their other parts."""
    first = make_weights(index, tuple(leaf.shape))
    if leaf.dtype.kind != "c":
        return (first * leaf).sum()
    return (first * leaf.real).sum() + (np.sin(first) * leaf.imag).sum()


def find_used_names(expression: str, pool: dict[str, Any]) -> list[str]:
    """The arrays of floats that an expression names."""
    words = compile(expression if "f(" in expression else f"f({expression})", "", "eval").co_names
    nested = {name for name in pool if name in expression.replace("(", " ").split()}
    return [
        k
        for k in pool
        if k in {*words, *nested} and k not in CONSTANT_NAMES and pool[k].dtype.kind == "f"
    ]


def compute_slope(
    function: Any, expression: str, pool: dict[str, Any], name: str, way: Any
) -> list[Any]:
    """The derivative of each leaf's weighted sum along a direction, by differences of NumPy's."""

    def sums(step: float) -> list[Any]:
        moved = pool | {name: pool[name] + step * way}
        found = [to_array(leaf) for leaf in evaluate_call(function, expression, moved, np)]
        return [sum_weighted(a, k) if a.dtype.kind in "fc" else 0.0 for k, a in enumerate(found)]

    near = [np.subtract(a, b) for a, b in zip(sums(STEP), sums(-STEP), strict=True)]
    return [float(n) / (2 * STEP) for n in near]


def compute_gradient(
    function: Any, expression: str, pool: dict[str, Any], names: list[str], bound: float = 2e-5
) -> str:
    """How the gradients by the named arrays compare; "yes", "zero", "wrong" or what was raised."""
    tensors = make_tensors(pool)
    for name in names:
        tensors[name] = fg.tensor(pool[name], requires_grad=True)
    found = evaluate_call(function, expression, tensors, xp)
    loss: Any = 0.0
    live = set()
    for k, leaf in enumerate(found):
        if isinstance(leaf, fg.Tensor) and leaf.requires_grad:
            loss = loss + sum_weighted(leaf, k)
            live.add(k)
    if live:
        loss.backward()
    moved = False
    for name in names:
        way = np.random.default_rng(3).normal(size=pool[name].shape)
        numeric = compute_slope(function, expression, pool, name, way)
        size = max([1.0, *(abs(n) for n in numeric)])
        if any(abs(n) > 1e-6 * size for k, n in enumerate(numeric) if k not in live):
            return "lost"
        grad = tensors[name].grad
        ours = 0.0 if grad is None else float(np.sum(grad.numpy() * way))
        total = sum(numeric[k] for k in live)
        if math.isnan(ours) and not math.isnan(total):
            return f"NaN by `{name}`"
        if not abs(ours - total) <= bound * max(1.0, abs(total)):
            return f"wrong by {name}: {ours:.6g} for {total:.6g}"
        moved = moved or any(abs(n) > 1e-9 for n in numeric)
    return "yes" if moved else "zero"


def run_with_time_limit(action: Any) -> Any:
    """What an action gives, or the name of what it raises."""

    def raise_timeout(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(TIME_LIMIT)
    try:
        return action()
    except Exception as error:
        if "-v" in sys.argv:
            print("   ", type(error).__name__, str(error).splitlines()[:1])
        return f"refused: `{type(error).__name__}`"
    finally:
        signal.alarm(0)


def describe_difference(ours: list[Any], theirs: list[Any], rtol: float) -> str:
    """Whether two lists of leaves agree in shape and value."""
    if len(ours) != len(theirs):
        return "differ"
    for a, b in zip(map(to_array, ours), map(to_array, theirs), strict=True):
        if a.shape != b.shape or not np.allclose(a, b, rtol, rtol / 10, equal_nan=True):
            return "differ"
    return "yes" if any(isinstance(a, fg.Tensor) for a in ours) or not ours else "arrays"


def try_argument(
    name: str, function: Any, pool: dict[str, Any], expression: str | None, rtol: float = 1e-9
) -> Row:
    """Tries one function."""
    if expression is None:
        return Row(name, "not tried", "–")
    theirs = run_with_time_limit(lambda: evaluate_call(function, expression, pool, np))
    if isinstance(theirs, str):
        return Row(name, "not tried", "–")
    tensors = make_tensors(pool)
    ours = run_with_time_limit(lambda: evaluate_call(function, expression, tensors, xp))
    values = ours if isinstance(ours, str) else describe_difference(ours, theirs, rtol)
    names = find_used_names(expression, pool)
    if values not in ("yes", "arrays"):
        return Row(name, values, "–")
    if fault := find_faults(function, expression, pool):
        return Row(name, values, fault)
    if not names:
        return Row(name, values, "–")
    found = run_with_time_limit(lambda: compute_gradient(function, expression, pool, names))
    if found.startswith("refused") and len(names) > 1:
        each = {
            n: run_with_time_limit(lambda n=n: compute_gradient(function, expression, pool, [n]))
            for n in names
        }
        bad = [v for v in each.values() if v.startswith(("lost", "wrong"))]
        if bad:
            return Row(name, values, bad[0])
        kept = [n for n in names if each[n] in ("yes", "zero")]
        if kept:
            found = f"by {', '.join(f'`{n}`' for n in kept)}"
    return Row(name, values, found)


def find_faults(function: Any, expression: str, pool: dict[str, Any]) -> str:
    """What is lost or wrong by a number among the arguments, each alone a tensor; else nothing."""
    for value, renamed in iter_number_variants(
        expression if "f(" in expression else f"f({expression})"
    ):
        moved = pool | {VARIABLE_NAME: np.asarray(value)}
        found = run_with_time_limit(
            lambda e=renamed, m=moved: compute_gradient(function, e, m, [VARIABLE_NAME], 1e-3)
        )
        if found.startswith(("lost", "wrong")):
            return f"{found}, by {value}"
    return ""


def try_functions(only: list[str]) -> list[Row]:
    """The rows of all functions, or of those whose names hold one of the words."""
    pool = make_arguments()
    chosen = [
        (name, function)
        for name, function in iter_functions()
        if not only or any(word in name for word in only)
    ]
    return [try_argument(name, function, pool, CALLS.get(name)) for name, function in chosen]


def count_results(rows: list[Row]) -> dict[str, int]:
    """How many rows hold, and in which way."""
    return {
        "all": len(rows),
        "right": sum(row.holds for row in rows),
        "differentiated": sum(row.values == "yes" and row.gradient == "yes" for row in rows),
        "partly": sum(row.gradient.startswith("by ") for row in rows),
        "constant": sum(row.holds and row.gradient == "zero" for row in rows),
        "plain": sum(row.holds and row.gradient == "–" for row in rows),
        "numbers": sum(row.values == "arrays" for row in rows),
    }


def make_page(rows: list[Row], introduction: str, library: str) -> str:
    """The text of the page."""
    lines, home = [introduction], ""
    for row in rows:
        module, _, name = row.name.rpartition(".")
        if module != home:
            home = module
            lines += ["", f"## {library}.{module}", ""]
            lines += ["| function | values | compute_gradient |", "|---|---|---|"]
        lines.append(f"| `{name}` | {row.values} | {row.gradient} |")
    return "\n".join(lines) + "\n"


def read_page(page: Path, library: str) -> dict[str, Row]:
    """The rows of a page as it is."""
    rows, home = {}, ""
    for line in page.read_text().splitlines():
        if line.startswith(f"## {library}."):
            home = line.removeprefix(f"## {library}.")
        elif line.startswith("| `"):
            name, values, gradient = (part.strip() for part in line.strip("| ").split(" | "))
            rows[f"{home}.{name.strip('`')}"] = Row(f"{home}.{name.strip('`')}", values, gradient)
    return rows


def find_regressions(before: dict[str, Row], tried: list[Row]) -> list[str]:
    """What the page calls right and is not, and names that are only there or only in SciPy."""
    now = {row.name: row for row in tried}
    problems = [f"{name}: not on both sides" for name in sorted(set(before) ^ set(now))]
    for name in sorted(set(before) & set(now)):
        wrong = now[name].gradient.startswith(("wrong", "lost"))
        if wrong or (before[name].holds and not now[name].holds):
            problems.append(f"{name}: {now[name].values}, {now[name].gradient}")
    return problems


def write_page(path: Path, library: str, version: str, introduction: str, action: Any) -> int:
    """Writes a page, checks it, or prints rows, as the arguments of the command say."""
    only = [word for word in sys.argv[1:] if not word.startswith("-")]
    if "--check" in sys.argv:
        same = f"{version}" in path.read_text()
        problems = find_regressions(read_page(path, library), action([])) if same else []
        print("\n".join(problems) or "the page holds")
        return 1 if problems else 0
    rows = action(only)
    if only:
        for row in rows:
            print(f"{row.name:45} {row.values:28} {row.gradient}")
    else:
        path.write_text(
            make_page(rows, introduction.format(version=version, **count_results(rows)), library)
        )
        print(len(rows), "tried,", sum(row.holds for row in rows), "right")
    return 0


if __name__ == "__main__":
    sys.exit(write_page(PAGE, "scipy", f"SciPy {scipy.__version__}", INTRODUCTION, try_functions))
