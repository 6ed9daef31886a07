"""Limits ferrograd and its peers to the instructions of AVX2: `make bench ISA=avx2`.

Libraries read these variables when they are loaded, so the process starts itself again with them.
"""

import importlib.util
import os
import sys

#: The variables by which each library is limited.
AVX2 = {
    "FERROGRAD_ISA": "avx2",
    "ATEN_CPU_CAPABILITY": "avx2",  # PyTorch's own loops
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",  # PyTorch's products, factorisations and transforms
    "DNNL_MAX_CPU_ISA": "AVX2",  # PyTorch's convolutions
    "OPENBLAS_CORETYPE": "Haswell",  # products of NumPy and SciPy
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",  # JAX
}
#: What NumPy's names of instructions beyond AVX2 begin with.
BEYOND_AVX2 = ("AVX512", "X86_V4")
LEVELS = ("avx2",)


def get_numpy_features() -> list[str]:
    """The instruction sets beyond AVX2 that NumPy has loops for."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    return [name for name in __cpu_dispatch__ if name.startswith(BEYOND_AVX2)]


def limit_instruction_set(level: str | None) -> None:
    """Starts this program again with every library limited to a level, if it is not yet."""
    if level is None or os.environ.get("BENCH_ISA") == level:
        return
    numpy = {"NPY_DISABLE_CPU_FEATURES": " ".join(get_numpy_features())}
    env = {**os.environ, **AVX2, **numpy, "BENCH_ISA": level}
    os.execve(sys.executable, [sys.executable, *sys.argv], env)


def get_used_levels(peers: list[str]) -> dict[str, str]:
    """The level that each library says it runs at, of those that say it."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    from ferrograd import _core

    highest = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    found = {"ferrograd": _core._config()["simd"], "numpy": (highest or ["baseline"])[-1]}
    if "torch" in peers and importlib.util.find_spec("torch"):
        import torch

        found["torch"] = torch.backends.cpu.get_cpu_capability()
    return {f"{name} runs": level for name, level in found.items()}
