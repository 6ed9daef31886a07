"""Time and peak memory of loops that fill a buffer: growth with the steps, and ratio to a list.

Every measurement runs in its own process, so that a peak is that of one program. Goals: ten times
the steps cost at most 12 times as much, and a buffer at most 1.5 times as much as a list.
`python benches/buffer_growth.py rows eager` selects programs and modes by parts of their names.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases import buffers

STEPS = (10_000, 100_000)
MODES = ("eager", "compiled")
TIMEOUT = 300.0


def get_peak_memory() -> int:
    """Peak memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(name: str, which: int, way: str, steps: int) -> tuple[float, float]:
    """Seconds of a call and its peak bytes, in this process."""
    program = buffers.PROGRAM_PAIRS[name][which]
    buffers.make_value_and_grad(program, 200, way == "compiled")(buffers.START)
    before = get_peak_memory()
    run = buffers.make_value_and_grad(program, steps, way == "compiled")
    seconds = []
    for _ in range(4 if way == "compiled" else 3):
        begin = time.perf_counter()
        run(buffers.START)
        seconds.append(time.perf_counter() - begin)
    return min(seconds), float(get_peak_memory() - before)


def measure_in_subprocess(name: str, which: int, way: str, steps: int) -> tuple[float, float] | str:
    """The same in a new process; its last line of output if it failed."""
    command = [sys.executable, __file__, "--one", name, str(which), way, str(steps)]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"more than {TIMEOUT:g} s"
    if process.returncode:
        return process.stderr.strip().splitlines()[-1][:60] if process.stderr else "killed"
    seconds, nbytes = json.loads(process.stdout)
    return seconds, nbytes


def format_cells(found: dict[tuple[int, int], tuple[float, float] | str]) -> list[str]:
    """Times, growth and the ratio to the list; the same of memory."""
    many = STEPS[1]
    wrong = next((f"{steps:,}: {v}" for (_, steps), v in found.items() if isinstance(v, str)), None)
    if wrong is not None:
        return [wrong, *[""] * 6]
    texts = []
    for k, scale in ((0, 1e3), (1, 1e-6)):
        buffer = [found[0, steps][k] for steps in STEPS]
        beside: Any = found[1, many][k]
        texts += [f"{buffer[0] * scale:,.1f}", f"{buffer[1] * scale:,.1f}"]
        texts += [f"{buffer[1] / max(buffer[0], 1e-9):.1f}", f"{buffer[1] / max(beside, 1e-9):.2f}"]
    return texts


def format_table(words: list[str]) -> str:
    """One line per program and mode."""
    few, many = (f"{steps:,}" for steps in STEPS)
    columns = ["program", f"ms, {few}", f"ms, {many}", "grows", "÷ list"]
    columns += [f"MB, {few}", f"MB, {many}", "grows", "÷ list"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, pair in buffers.PROGRAM_PAIRS.items():
        for way in MODES:
            label = f"{pair[0].__name__} {way}"
            if not all(word in label for word in words):
                continue
            found = {(w, n): measure_in_subprocess(name, w, way, n) for n in STEPS for w in (0, 1)}
            lines.append(f"| {' | '.join([f'`{name}`, {way}', *format_cells(found)])} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """One measurement as JSON, or the table."""
    if sys.argv[1:2] == ["--one"]:
        _, _, name, which, way, steps = sys.argv
        print(json.dumps(measure(name, int(which), way, int(steps))))
    else:
        print(format_table(sys.argv[1:]))


if __name__ == "__main__":
    main()
