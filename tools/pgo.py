"""Makes the profile that release builds are optimised with: `make profile`.

Invariant: no loop over elements is in the profile. How often it ran says how large the arrays of
the training were, and one that did not run would be compiled for size. Copies of loops for machines
without AVX2 are, on purpose.

The profile fits this source, this version of rustc and the release profile of `Cargo.toml`. Where a
function has changed since, the compiler leaves its counts unread, which costs speed, nothing else.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from instrumented import ROOT, build_core, find_llvm_tools, install_core, run_command

PROFILE = ROOT / "tools" / "release.profdata"
#: What `pgo_training.py` runs, each in a process of its own.
PARTS = ("operations", "small", "benchmarks")
#: Copies of a loop for the instruction sets, `kernels/multiversion.rs`.
LEVEL_PATTERN = re.compile(r"::(?:avx512|avx2|baseline|every)(?:_\w+)?\b")
#: Those of them that only machines without AVX2 run: they are to be small.
RARE_PATTERN = re.compile(r"^ferrograd::kernels::[\w:]+::base(?:line)?(?:_\w+)?(?:::<|$)")
#: Where loops over elements stand.
LOOP_PATTERN = re.compile(r"\b(?:ferrograd::(?:kernels|compile::ir)|rustfft|gemm_\w+)::")
#: A function whose blocks run more often than this for each call holds such a loop.
MIN_RUNS_PER_CALL = 8


def split_records(text: str) -> list[str]:
    """The functions of a profile in LLVM's text format."""
    body = re.sub(r"^(?:[#:].*\n)+", "", text)
    return [record.strip() for record in re.split(r"\n\n(?=\S)", body) if record.strip()]


def parse_counts(record: str) -> list[int]:
    """How often each block of the function ran, its entry first."""
    lines = record.splitlines()
    first = lines.index("# Counter Values:") + 1
    return [int(line) for line in lines[first:] if line.isdigit()]


def holds_loop(name: str, found: list[int]) -> bool:
    """Whether the function is, or may be, a loop over elements."""
    most = max(found)
    if RARE_PATTERN.match(name) and most == 0:
        return False
    if LEVEL_PATTERN.search(name):
        return True
    return bool(LOOP_PATTERN.search(name)) and (
        most == 0 or most > MIN_RUNS_PER_CALL * max(found[0], 1)
    )


def run_training(core: Path, folder: Path) -> list[str]:
    """Runs the training with the core; the files of its counts."""
    raw = []
    with install_core(core):
        for part in PARTS:
            raw.append(str(folder / f"{part}.profraw"))
            environment = os.environ | {
                "PYTHONPATH": str(ROOT / "python"),
                "LLVM_PROFILE_FILE": raw[-1],
                "OPENBLAS_NUM_THREADS": "1",
            }
            command = [sys.executable, ROOT / "tools" / "pgo_training.py", part]
            subprocess.run(command, check=True, env=environment, cwd=ROOT)
    return raw


def main() -> None:
    """Builds, trains, chooses, writes."""
    profdata, filt = find_llvm_tools("llvm-profdata", "llvm-cxxfilt")
    # As in `rustc-args`: the names of functions are part of the profile.
    core = build_core(["--release"], ["-C", "symbol-mangling-version=v0", "-C", "profile-generate"])
    folder = core.parent / "pgo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    raw = run_training(core, folder)
    known = split_records(run_command(profdata, "merge", "--text", "-o", "-", *raw))
    mangled = "\n".join(record.split("\n", 1)[0].split(";")[-1] for record in known)
    names = subprocess.run([filt], input=mangled, check=True, text=True, stdout=subprocess.PIPE)
    kept = [
        record
        for record, name in zip(known, names.stdout.splitlines(), strict=True)
        if not holds_loop(name, parse_counts(record))
    ]
    chosen = folder / "chosen.txt"
    chosen.write_text(":ir\n" + "\n\n".join(kept) + "\n")
    run_command(profdata, "merge", chosen, "-o", PROFILE)
    print(f"{PROFILE.name}: {len(kept)} of {len(known)} functions, {PROFILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
