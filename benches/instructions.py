"""Instruction counts of small operations by callgrind, compared with a committed baseline.

Counts do not depend on the load of the machine. `python benches/instructions.py` prints a table;
`--write` makes its numbers the baseline; `--check` fails if a path takes `MAX_RATIO` times its
baseline, and is skipped with a message without valgrind or x86-64. Counts differ between builds:
compare release builds.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BASELINE = Path(__file__).with_suffix(".json")
#: Name: statement, and how many operations it is.
PATHS = {
    "add": ("a + b", 1),
    "multiply by a number": ("a * 2.0", 1),
    "add, recorded": ("p + q", 1),
    "multiply, recorded": ("p * q", 1),
    "sin, recorded": ("p.sin()", 1),
    "multiply and backward": ("(p * q).backward()", 1),
    "chain of 100 and backward": ("chain()", 100),
    "Function, chain of 20 and backward": ("functions()", 20),
    "sum of 8": ("v.sum()", 1),
    "softmax of 8": ("fg.softmax(v, axis=0)", 1),
    "where": ("fg.where(mask, v, 0.0)", 1),
    "concatenate": ("fg.concatenate([v, v])", 1),
    "slice": ("v[2:5]", 1),
    "element": ("v[0]", 1),
    "element, recorded": ("p[0]", 1),
    "add_": ("u.add_(v)", 1),
    "Adam, 16 x 16": ("adam.step()", 1),
    "value and gradient of Rosenbrock, 10": ("rosenbrock(x)", 1),
}
EMPTY = "nothing"
#: Other versions of Python and of the compiler differ by less than this.
MAX_RATIO = 1.25
ROUNDS = 200
#: Callgrind's client requests.
ZERO, DUMP, BEGIN = 1, 3, 4


def make_namespace() -> dict[str, object]:
    """The names that the statements use."""
    import numpy as np

    import ferrograd as fg

    class Square(fg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2.0 * x

    p = fg.tensor([1.5], requires_grad=True)

    def chain() -> None:
        t = p
        for _ in range(100):
            t = t * 1.0001
        t.backward()

    def functions() -> None:
        t = p
        for _ in range(20):
            t = Square.apply(t)
        t.backward()

    def rosenbrock(x):
        return fg.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    w = fg.tensor(np.ones((16, 16)), requires_grad=True)
    w.grad = fg.tensor(np.ones((16, 16)))
    v = fg.tensor(np.arange(8.0))
    return {
        "fg": fg,
        "a": fg.tensor([1.5]),
        "b": fg.tensor([2.5]),
        "p": p,
        "q": fg.tensor([2.5], requires_grad=True),
        "v": v,
        "u": v.clone(),
        "mask": v > 3.0,
        "adam": fg.optim.Adam([w]),
        "x": np.linspace(-0.4, 1.1, 10),
        "chain": chain,
        "functions": functions,
        "rosenbrock": fg.value_and_grad(rosenbrock),
    }


def make_valgrind_client():
    """A function that makes client requests of valgrind: instructions that do nothing elsewhere."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3"))
    place = ctypes.c_char.from_buffer(code)
    call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(ctypes.addressof(place))

    def request(kind: int, text: bytes = b"") -> None:
        words = (ctypes.c_uint64 * 6)(ord("C") << 24 | ord("T") << 16 | kind)
        words[1] = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0
        call(ctypes.addressof(words))

    request.code = place  # It goes with the function.
    return request


def run_paths() -> None:
    """Runs every path, with a dump of the counts behind each."""
    import gc

    names, loops = make_namespace(), {}
    for name, (statement, _) in {EMPTY: ("pass", 1), **PATHS}.items():
        exec(f"def loop(n):\n for _ in range(n): {statement}", names)
        loops[name] = names["loop"]
    gc.disable()
    request = make_valgrind_client()
    request(BEGIN)
    for loop in loops.values():
        loop(20)
    for name, loop in loops.items():
        request(ZERO)
        loop(ROUNDS)
        request(DUMP, name.encode())


def count_instructions() -> dict[str, int]:
    """Instructions of each path."""
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
        out = f"--callgrind-out-file={folder}/counts"
        fixed = {"PYTHONHASHSEED": "0", "FERROGRAD_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(
            [*tool, out, sys.executable, __file__, "--run"],
            check=True,
            stderr=subprocess.DEVNULL,
            env=os.environ | fixed,
        )
        found = {}
        for path in Path(folder).iterdir():
            text = path.read_text()
            name = re.search(r"Client Request: (.*)", text)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if name and total:
                found[name[1]] = int(total[1]) / ROUNDS
    nothing = found.pop(EMPTY)
    return {name: round((found[name] - nothing) / PATHS[name][1]) for name in PATHS}


def main() -> None:
    if "--run" in sys.argv:
        return run_paths()
    able = platform.machine() == "x86_64" and shutil.which("valgrind") is not None
    if "--check" in sys.argv and not able:
        print("no instructions were counted: this takes x86-64 and valgrind")
        return None
    counts = count_instructions()
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    for name, instructions in counts.items():
        before = known.get(name)
        ratio = f"{before:9} {instructions / before:6.2f}" if before else ""
        print(f"{name:40}{instructions:9}{ratio}")
    if "--write" in sys.argv:
        BASELINE.write_text(json.dumps(counts, indent=1) + "\n")
    slower = [name for name, n in counts.items() if name in known and n > MAX_RATIO * known[name]]
    if "--check" in sys.argv and slower:
        sys.exit(f"more than {MAX_RATIO} times the instructions of {BASELINE.name}: {slower}")
    return None


if __name__ == "__main__":
    main()
