"""Bytes sent by data-parallel training, and the share of communication that backward hides.

`mpiexec -n 2 python benches/communication.py`: an MLP of 20 million parameters. For each step it
counts the bytes passed to the all-reduce, and compares what a ring would send of them with the
lower bound 2 (n-1)/n times the parameters. It times backward alone, the all-reduce alone, and both
together, in turns: the hidden share is the part of the all-reduce that does not lengthen the step.
Beside the time of the slowest rank it prints the processor time of rank 0, which other load on the
machine disturbs less. Latency and bandwidth come from sums of 8 bytes and of all parameters.
The last lines simulate a network that takes time but no processor, which this machine lacks:
all-reduces are MPI requests that sum nothing and complete, one after another, when a ring of that
bandwidth would. With `--compare`, steps are timed in turns with PyTorch's data parallel on gloo.
"""

import socket
import sys
import threading
import time

import numpy as np

import ferrograd as fg
from ferrograd import distributed, nn

WIDTH, LAYERS, BATCH, ROUNDS = 2000, 5, 256, 15


def time_call(run) -> tuple[float, float]:
    """Seconds of the slowest rank in a run that all begin together, and this rank's processor."""
    distributed.barrier()
    begin, before = time.perf_counter(), time.process_time()
    run()
    own, processor = time.perf_counter() - begin, time.process_time() - before
    return distributed.allreduce(fg.tensor(own), "max").item(), processor


def make_slow_communicator(everyone, bandwidth: float):
    """A communicator whose non-blocking sums only take time, at so many bytes per second."""
    from mpi4py import MPI

    class SlowCommunicator(MPI.Intracomm):
        free = 0.0

        def Iallreduce(self, sendbuf, recvbuf, op=MPI.SUM):  # noqa: N802
            size = self.Get_size()
            seconds = 2 * (size - 1) / size * recvbuf.nbytes / bandwidth
            SlowCommunicator.free = max(SlowCommunicator.free, time.perf_counter()) + seconds
            request = MPI.Grequest.Start(lambda status: None, lambda: None, lambda done: None)
            wait = SlowCommunicator.free - time.perf_counter()
            threading.Timer(wait, request.Complete).start()
            return request

    return SlowCommunicator(everyone)


def measure_overlap(model, x, everyone, bandwidth: float) -> tuple[float, float, float]:
    """Seconds of a backward pass, of its sums, and the share of these that is hidden."""
    parallel = distributed.DataParallel(model, comm=make_slow_communicator(everyone, bandwidth))
    size = everyone.Get_size()
    sums = 2 * (size - 1) / size * sum(p.nbytes for p in model.parameters()) / bandwidth

    def step() -> None:
        model.zero_grad()
        parallel(x).sum().backward()

    def run_without_sums() -> None:
        model.zero_grad()
        with parallel.no_sync():
            parallel(x).sum().backward()

    times = np.array([[time_call(run_without_sums)[0], time_call(step)[0]] for _ in range(ROUNDS)])[
        2:
    ]
    hidden = np.median((times[:, 0] + sums - times[:, 1]) / sums)
    return float(np.median(times[:, 0])), sums, float(hidden)


def compare(step, x) -> None:
    """Prints the time of a step over that of PyTorch: by the clock, and of the processor."""
    import torch

    torch.set_num_threads(1)
    rank, size = distributed.get_rank(), distributed.get_world_size()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = distributed.bcast(fg.tensor(free.getsockname()[1])).item()
    address = f"tcp://127.0.0.1:{port}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=size)
    other = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    parallel = torch.nn.parallel.DistributedDataParallel(other, gradient_as_bucket_view=True)
    theirs = torch.tensor(x.numpy())

    def their_step() -> None:
        other.zero_grad()
        parallel(theirs).sum().backward()

    pairs = np.array([[time_call(step), time_call(their_step)] for _ in range(ROUNDS)])[2:]
    clock, processor = np.median(pairs[:, 0] / pairs[:, 1], axis=0)
    if rank == 0:
        print(f"ranks: {size}; a step over PyTorch's: {clock:.2f}, processor: {processor:.2f}")
    torch.distributed.destroy_process_group()


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

    def run_without_sums() -> None:
        model.zero_grad()
        with parallel.no_sync():
            parallel(x).sum().backward()

    if "--compare" in sys.argv:
        compare(step, x)
        return
    from mpi4py import MPI

    flat, one = np.zeros(count, np.float32), np.zeros(1)
    everyone = MPI.COMM_WORLD
    step()
    before = parallel.bytes_sent
    step()
    handed = parallel.bytes_sent - before
    kinds = {
        "alone": run_without_sums,
        "sums": lambda: everyone.Allreduce(MPI.IN_PLACE, flat),
        "both": step,
        "latency": lambda: everyone.Allreduce(MPI.IN_PLACE, one),
    }
    times = np.array([[time_call(run) for run in kinds.values()] for _ in range(ROUNDS)])
    backward, sums, both, latency = np.median(times[..., 0], axis=0)
    hidden = np.median((times[:, 0, 0] + times[:, 1, 0] - times[:, 2, 0]) / times[:, 1, 0])
    if rank == 0:
        share = 2 * (size - 1) / size
        print(f"ranks: {size}, parameters: {count / 1e6:.1f} million")
        print(f"bytes per step: {share * handed:.0f}, lower bound: {share * 4 * count:.0f}")
        print(f"backward alone: {1e3 * backward:.1f} ms, sums alone: {1e3 * sums:.1f} ms")
        share_hidden = f", hidden: {100 * hidden:.0f} %" if size > 1 else ""
        print(f"both: {1e3 * both:.1f} ms{share_hidden}")
        processor = ", ".join(f"{1e3 * t:.1f} ms" for t in np.median(times[:, :3, 1], axis=0))
        print(f"processor time, alone, sums and both: {processor}")
        print(f"latency: {1e6 * latency:.0f} us, bandwidth: {share * 4e-9 * count / sums:.2f} GB/s")
    for bandwidth in (2e9, 1e9, 5e8) if size > 1 else ():
        backward, sums, hidden = measure_overlap(model, x, everyone, bandwidth)
        if rank == 0:
            print(
                f"no processor, {bandwidth / 1e9} GB/s: backward {1e3 * backward:.0f} ms,"
                f" sums {1e3 * sums:.0f} ms, hidden: {100 * hidden:.0f} %"
            )


if __name__ == "__main__":
    main()
