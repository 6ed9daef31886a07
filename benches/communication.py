"""Bytes that data-parallel training sends, and how much of the sending backward hides.

`mpiexec -n 2 python benches/communication.py`: an MLP of 20 million parameters. For each step it
counts the bytes that are handed to the sum over ranks, and compares what a ring would send of them
with the lower bound 2 (n-1)/n times the parameters. It times backward alone, the sums alone, and
both together: what is hidden is the part of the sums that does not lengthen the step. Latency and
bandwidth come from sums of 8 bytes and of all parameters.
"""

import time

import numpy as np

import ferrograd as fg
from ferrograd import distributed, nn

WIDTH, LAYERS, BATCH, ROUNDS = 2000, 5, 256, 7


def timed(run) -> float:
    """The median of several runs, which begin together, in seconds; the slowest rank's."""
    times = []
    for _ in range(ROUNDS):
        distributed.barrier()
        begin = time.perf_counter()
        run()
        own = time.perf_counter() - begin
        times.append(distributed.allreduce(fg.tensor(own), "max").item())
    return float(np.median(times))


def main() -> None:
    """Prints one line for each figure."""
    rank, size = distributed.get_rank(), distributed.get_world_size()
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    model = nn.Sequential(*layers).to(np.float32)
    parallel = distributed.DataParallel(model)
    x = fg.randn(BATCH // size, WIDTH, dtype=np.float32)
    count = sum(p.numel() for p in model.parameters())

    def step() -> None:
        model.zero_grad()
        parallel(x).sum().backward()

    def alone() -> None:
        model.zero_grad()
        with parallel.no_sync():
            parallel(x).sum().backward()

    from mpi4py import MPI

    flat, one = np.zeros(count, np.float32), np.zeros(1)
    everyone = MPI.COMM_WORLD
    step()
    before = parallel.bytes_sent
    step()
    handed = parallel.bytes_sent - before
    both, backward = timed(step), timed(alone)
    sums = timed(lambda: everyone.Allreduce(MPI.IN_PLACE, flat))
    latency = timed(lambda: everyone.Allreduce(MPI.IN_PLACE, one))
    hidden = (backward + sums - both) / sums
    if rank == 0:
        share = 2 * (size - 1) / size
        print(f"ranks: {size}, parameters: {count / 1e6:.1f} million")
        print(f"bytes per step: {share * handed:.0f}, lower bound: {share * 4 * count:.0f}")
        print(f"backward alone: {1e3 * backward:.1f} ms, sums alone: {1e3 * sums:.1f} ms")
        share_hidden = f", hidden: {100 * hidden:.0f} %" if size > 1 else ""
        print(f"both: {1e3 * both:.1f} ms{share_hidden}")
        print(f"latency: {1e6 * latency:.0f} us, bandwidth: {share * 4e-9 * count / sums:.2f} GB/s")


if __name__ == "__main__":
    main()
