"""The part of a batch for each rank.

Invariant: all ranks have as many batches as a single rank, and their parts together are its batches
in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ferrograd.distributed._array_collectives import check_same_calls_without_tensor
from ferrograd.distributed._process_group import get_communicator, get_rank, get_world_size
from ferrograd.errors import ArgumentError
from ferrograd.utils.data._sampler import Sampler


class DistributedBatchSampler(Sampler[list[int]]):
    """This rank's part of every batch of another batch sampler.

    The parts of a batch differ by at most one sample in size, and may be empty. Every rank must
    draw the same batches: give the sampler that is split a generator with the same seed on all
    ranks. The number of batches does not depend on the number of ranks, so a saved state of a
    loader can be loaded with more or fewer ranks.
    """

    def __init__(
        self,
        batch_sampler: Iterable[list[int]],
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        self.batch_sampler = batch_sampler
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ArgumentError(
                f"DistributedBatchSampler: rank {self.rank} of {self.num_replicas}; give 0 to"
                f" {self.num_replicas - 1}"
            )

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batch_sampler:
            begin = len(batch) * self.rank // self.num_replicas
            end = len(batch) * (self.rank + 1) // self.num_replicas
            yield batch[begin:end]

    def __len__(self) -> int:
        count: Any = self.batch_sampler
        return len(count)


def batch_weight(count: int, comm: Any = None) -> float:
    """The factor for a rank's mean loss if ranks have different numbers of samples.

    It is `ranks * count / total`, so that the mean of gradients over ranks (`DataParallel`) is the
    mean over all samples. Every rank calls it, with the number of its samples.
    """
    comm = get_communicator(comm)
    total = int(check_same_calls_without_tensor("batch_weight", comm, count).sum())
    if total == 0:
        raise ArgumentError("batch_weight: no rank has a sample; leave this batch out")
    return float(comm.Get_size() * count / total)
