"""Times ferrograd against PyTorch and other libraries and prints a table of ratios: `make bench`.

Every line is measured in interleaved rounds in this one process; a ratio above 1 means that
ferrograd is faster. `--only small,mlp` selects cases by a part of their name or file, `--headline`
those that the documentation leads with; `--quick` is shorter and less exact. `--isa avx2` limits
every library to the instructions of AVX2.
"""

import argparse
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path

# One thread for the BLAS inside NumPy: its own pool would compete with what is timed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import buffer_growth
import footprint
import harness
import headline
import instruction_set
from cases import ALL

PEERS = ("numpy", "scipy", "torch", "jax", "autograd", "mygrad", "casadi")


def find_available(wanted: list[str]) -> list[str]:
    """The peers that can be imported here."""
    return [p for p in wanted if importlib.util.find_spec(p) is not None]


def select_cases(only: str | None, leading: bool = False) -> list[harness.Case]:
    """The cases whose file or name contains one of the words; of the headline only if asked."""
    words = only.split(",") if only else [""]
    return [
        case
        for file, cases in ALL.items()
        for case in cases
        if any(word in file or word in case.name for word in words)
        and (not leading or headline.is_headline(file, case.name))
    ]


def make_parser(description: str) -> argparse.ArgumentParser:
    """The options that choose cases and rounds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", help="words, separated by commas: part of a case or file name")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--rounds", type=int, help="rounds per case (default 15, quick 5)")
    return parser


def get_rounds(options: argparse.Namespace) -> int:
    """How often each case is timed."""
    return options.rounds or (5 if options.quick else 15)


def describe_environment(peers: list[str]) -> dict[str, str]:
    """What the figures depend on."""
    from importlib.metadata import version

    versions = {name: version(name) for name in dict.fromkeys(("ferrograd", "numpy", *peers))}
    return {
        "cpu": get_cpu_name(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        **versions,
        **instruction_set.get_used_levels(peers),
    }


def get_cpu_name() -> str:
    """The processor's model, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> None:
    """Reads the options, measures, prints."""
    parser = make_parser("time ferrograd beside other libraries")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    parser.add_argument("--cpu", action="store_true", help="processor time, one thread only")
    parser.add_argument("--headline", action="store_true", help="the rows of headline.py only")
    parser.add_argument("--isa", choices=instruction_set.LEVELS, help="limit every library to it")
    options = parser.parse_args()
    instruction_set.limit_instruction_set(options.isa)
    cases = select_cases(options.only, options.headline)
    if options.cpu:
        harness.use_processor_time()
        cases = [case for case in cases if case.threads == 1]
    if not cases:
        sys.exit(f"no case matches {options.only!r}; the files are {', '.join(ALL)}")
    peers = find_available(options.peers.split(","))
    rounds = get_rounds(options)

    facts = describe_environment(peers)
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"best time of {rounds} interleaved rounds; ratio: median over the rounds\n")
    columns = [p for p in peers if any(p in case.peers for case in cases)]
    print(harness.format_heading(columns))
    results = []
    for case in cases:
        results.append(harness.measure(case, peers, rounds, options.quick))
        print(harness.format_line(results[-1], columns), flush=True)
    if len(results) > 1:
        print(f"\n{harness.format_summary(results, columns)}")
    if options.only and any(case in ALL["buffers"] for case in cases):
        print(f"\n{buffer_growth.format_table([])}")
    if not options.only and not options.headline:
        print(f"\n{footprint.format_table(['ferrograd', *peers], 2 if options.quick else 5)}")
    if options.json:
        report = {"environment": facts, "results": [harness.to_json(r) for r in results]}
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
