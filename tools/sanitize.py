"""Runs the tests under sanitizers: `make sanitize`.

`address` is AddressSanitizer over `cargo test` and over pytest on an instrumented extension; with
`--wide` without the debug assertions, which leave the loops for AVX2 and AVX-512 out of the build:
see `src/kernels/multiversion.rs`. `thread` is ThreadSanitizer over the Rust tests of threads: it
needs a standard library that is instrumented as well, so it is skipped where the component rust-src
is not installed. Unstable options of the compiler are allowed by `RUSTC_BOOTSTRAP`. Linux alone.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from instrumented import ROOT, build_core, run_command

#: Where everything is built; the usual builds stay as they are.
BUILD_FOLDER = ROOT / "target" / "sanitize"
#: Flags that the user wants besides.
RUSTFLAGS = os.environ.get("RUSTFLAGS", "")
#: An allocation that fails is an error that tests expect. Leaks are what `live_bytes` counts.
#: `threads/remaining_stack.rs` measures the stack by addresses of variables, which must lie there.
ADDRESS_OPTIONS = "allocator_may_return_null=1:detect_leaks=0:detect_stack_use_after_return=0"
#: The interpreter handles faults itself, and tests limit the memory that freed blocks would keep.
EXTENSION_OPTIONS = (
    f"{ADDRESS_OPTIONS}:handle_segv=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
)
#: Frames are larger, and Python recurses.
STACK_BYTES = 64 << 20
#: Passes within passes go some thousand frames deep; without optimisation each has kilobytes.
RUST_STACK_BYTES = 512 << 20
#: Rust tests of what several threads share.
THREAD_TESTS = (
    *("graph_arena", "graph_engine", "graph_host", "graph_parallel", "graph_threads"),
    *("replay", "tensor_threads", "tensor_views"),
)


def run(title: str, *command: str | Path, **environment: str) -> None:
    """Runs a command under a heading; its failure ends the program."""
    print(f"\n==> {title}", flush=True)
    begin = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment})
    print(f"    {time.monotonic() - begin:.0f} s", flush=True)
    if done.returncode:
        sys.exit(f"error: {title} ended with {done.returncode}")


def get_sysroot() -> Path:
    """Where the toolchain lies."""
    return Path(run_command("rustc", "--print", "sysroot").strip())


def get_host_target() -> str:
    """The target that the compiler runs on. Instrumented code needs it named: build scripts, which
    have no run-time library, are then built without."""
    lines = run_command("rustc", "-vV").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("host:"))


def set_build_environment(sanitizer: str, *, wide: bool, level: int) -> Path:
    """Sets the environment of instrumented builds; their folder."""
    os.environ["RUSTC_BOOTSTRAP"] = "1"
    os.environ["RUSTFLAGS"] = f"{RUSTFLAGS} -Zsanitizer={sanitizer}".strip()
    os.environ["CARGO_PROFILE_DEV_OPT_LEVEL"] = str(level)
    os.environ["CARGO_PROFILE_DEV_DEBUG_ASSERTIONS"] = "false" if wide else "true"
    return BUILD_FOLDER / (sanitizer + "-wide" * wide)


def link_shared_runtime(folder: Path) -> Path:
    """The run-time library as a shared one: the toolchain has it for programs alone."""
    found = list(get_sysroot().glob(f"lib/rustlib/{get_host_target()}/lib/librustc-*_rt.asan.a"))
    if not found:
        sys.exit(
            f"error: AddressSanitizer has no run-time library for {get_host_target()} in this"
            " toolchain"
        )
    folder.mkdir(parents=True, exist_ok=True)
    archive, library = folder / "rt.a", folder / "libasan_rt.so"
    shutil.copy(found[0], archive)
    # It would start before the interpreter has loaded the library.
    subprocess.run(["ar", "d", archive, "asan_preinit.cpp.o"], check=True)
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
    needed = ["-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"]
    subprocess.run(["gcc", "-shared", "-o", library, *whole, *needed], check=True)
    return library


def run_rust_tests_with_asan(folder: Path, tests: list[str]) -> None:
    """`cargo test`, or these tests of it alone."""
    common = ["--locked", "--quiet", "--target", get_host_target(), "--target-dir", str(folder)]
    chosen = [f"--test={name}" for name in tests] or ["--tests"]
    environment = {"ASAN_OPTIONS": ADDRESS_OPTIONS, "RUST_MIN_STACK": str(RUST_STACK_BYTES)}
    run("cargo test", "cargo", "test", *common, *chosen, **environment)
    if not tests:
        os.environ["RUSTDOCFLAGS"] = "-Zsanitizer=address"
        run("cargo test --doc", "cargo", "test", *common, "--doc", **environment)


def run_python_tests_with_asan(folder: Path, arguments: list[str]) -> None:
    """pytest on an instrumented extension."""
    print("\n==> build the extension", flush=True)
    core = build_core(["--locked", "--target", get_host_target(), "--target-dir", str(folder)], [])
    package = folder / "package" / "ferrograd"
    shutil.rmtree(package, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python" / "ferrograd", package, ignore=ignored)
    shutil.copy(core, package / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}")
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, most))
    # The library intercepts exceptions of C++, which some extensions throw.
    cxx_library = run_command("gcc", "-print-file-name=libstdc++.so.6").strip()
    first = f"{link_shared_runtime(folder)} {cxx_library}"
    run(
        f"pytest {' '.join(arguments)}",
        *(sys.executable, "-m", "pytest", *arguments),
        PYTHONPATH=str(package.parent),
        PYTHONMALLOC="malloc",
        LD_PRELOAD=first,
        ASAN_OPTIONS=EXTENSION_OPTIONS,
    )


def run_rust_tests_with_tsan(level: int) -> None:
    """The Rust tests of threads, where the standard library can be instrumented."""
    if not (get_sysroot() / "lib/rustlib/src/rust/library/Cargo.lock").exists():
        print(
            "\n==> ThreadSanitizer: skipped, for the standard library cannot be instrumented, and"
            " without that it reports races that are none; rustup component add rust-src"
        )
        return
    folder = set_build_environment("thread", wide=False, level=level)
    common = ["--locked", "--quiet", "--target", get_host_target(), "--target-dir", str(folder)]
    chosen = ["--lib", *(f"--test={name}" for name in THREAD_TESTS)]
    command = ["cargo", "test", "-Zbuild-std", *common, *chosen]
    run("cargo test under ThreadSanitizer", *command, TSAN_OPTIONS="die_after_fork=0")


def main() -> None:
    """Command line: what is not a word of ours goes to pytest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["rust", "python", "thread"], help="one part")
    parser.add_argument("--wide", action="store_true", help="with the loops for AVX2 and AVX-512")
    parser.add_argument("--level", type=int, default=1, help="how far the compiler optimises")
    parser.add_argument("--test", action="append", default=[], help="a Rust test, in place of all")
    options, arguments = parser.parse_known_args()
    if not sys.platform.startswith("linux"):
        sys.exit("error: the run-time library can be made a shared one on Linux alone")
    if options.only != "thread":
        folder = set_build_environment("address", wide=options.wide, level=options.level)
        if options.only != "python":
            run_rust_tests_with_asan(folder, options.test)
        if options.only != "rust":
            run_python_tests_with_asan(folder, arguments or ["-q", "--quick", "tests"])
    if options.only in (None, "thread"):
        run_rust_tests_with_tsan(options.level)


if __name__ == "__main__":
    main()
