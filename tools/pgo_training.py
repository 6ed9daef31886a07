"""What runs while the profile of the release build is taken.

Invariant: arrays are small, because the profile is about what surrounds loops (`pgo.py`).

    python tools/pgo_training.py operations     # with an instrumented core in `ferrograd`
"""

import gc
import sys
import time
import timeit
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

import ferrograd as fg

ROOT = Path(__file__).resolve().parent.parent

#: Files of `benches/cases` whose programs spend their time around the loops, not in them.
BENCHMARK_FILES = (
    "small",
    "function",
    "chain",
    "transforms",
    "compiled",
    "loops",
    "branches",
    "programs",
)
#: Seconds for each program of a benchmark, and calls of each row of the operation tables.
SECONDS, CALLS = 0.2, 12
THREADS = 2


def run_benchmarks() -> None:
    """The programs of `make bench`: where time matters most, by the time that they take."""
    sys.path.insert(0, str(ROOT / "benches"))
    from cases import ALL

    for file in BENCHMARK_FILES:
        for case in ALL[file]:
            names = case.setup("ferrograd")
            if names is None:
                continue
            fg.set_num_threads(case.threads)
            once = timeit.Timer(case.statement, globals=names)
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                once.timeit(1)
    fg.set_num_threads(THREADS)


def run_operations() -> None:
    """Every row of the operation tables: forward, and backward where it has one."""
    sys.path[:0] = [str(ROOT / "tests" / room) for room in ("cases", "support")]
    from op_support import ROWS, parts, plain, tensors

    for case in ROWS:
        operation = plain(case)
        for call in case.calls:
            arrays = call.arrays()
            with suppress(TypeError, ValueError, RuntimeError):  # some rows show what is refused
                for _ in range(CALLS):
                    given = tensors(arrays, grad=case.order > 0)
                    for part in parts(call.apply(operation, given)):
                        if isinstance(part, fg.Tensor) and part.requires_grad:
                            part.sum().real.backward(retain_graph=True)


def run_small_programs() -> None:
    """Small operations of every kind that a program of a few numbers consists of."""
    sys.path.insert(0, str(ROOT / "benches"))
    from instructions import PATHS, make_namespace

    p = fg.tensor(np.linspace(0.1, 0.9, 12).reshape(3, 4), requires_grad=True)
    q = fg.tensor(np.linspace(0.5, 1.5, 4), requires_grad=True)
    q.grad = fg.zeros(4)
    sgd = fg.optim.SGD([q], lr=0.0, momentum=0.9).step
    own = {"np": np, "p": p, "q": q, "x": p.detach(), "i": fg.tensor([2, 0]), "sgd": sgd}
    # Chains of many operations are among the benchmarks.
    paths = [statement for statement, operations in PATHS.values() if operations == 1]
    loops = [timeit.Timer(statement, globals=make_namespace()) for statement in paths]
    loops += [timeit.Timer(statement, globals=make_namespace() | own) for statement in STATEMENTS]
    end = time.monotonic() + 60 * SECONDS
    while time.monotonic() < end:
        for loop in loops:
            loop.timeit(20)


#: One a line; `benches/instructions.py` has more.
STATEMENTS = """\
v[2:5].sum()
sgd()
v * v
x + x
x - 1.0
2.0 * x
x / x
x ** 2
-x
x @ x.T
abs(x)
x > 0.5
p + q
p - 1.0
2.0 * p
p / q
p ** 2
-p
p @ p.T
p.T
p[1]
p[:, 1:3]
p.sum()
p.mean(axis=0)
p.max()
p.reshape(4, 3)
fg.exp(p)
np.sin(p)
fg.tanh(p)
(p * q).sum().backward()
fg.softmax(p @ p.T, axis=1).sum().backward()
p[i]
fg.stack([q, q])
fg.where(p > 0.5, p, q)
fg.concatenate([q, q])
fg.maximum(p, q)
p.astype('float32')
fg.tensor([1.0, 2.0])
fg.zeros((3, 4))
fg.asarray(np.ones(3))
x.numpy()
float(q[0])
p.detach()
p.clone()
q.shape
fg.grad(lambda t: (t * t).sum())(q)
fg.relu(p)
fg.sigmoid(p)
fg.log(p)
fg.sqrt(p)
p.flatten()
p[None]
q.tolist()
x.add_(0.0)
x[0] = 0.5
x.mul_(1.0)
np.asarray(x)
len(p)
fg.einsum('ij,kj->ik', p, p)
""".splitlines()

#: Each in a process of its own: two of them have a module named `cases`.
PARTS = {"operations": run_operations, "small": run_small_programs, "benchmarks": run_benchmarks}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    gc.disable()
    PARTS[sys.argv[1]]()
