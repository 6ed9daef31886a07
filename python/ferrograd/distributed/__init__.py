"""Several processes that compute together, over MPI: `pip install "ferrograd[mpi]"`."""

import typing as _typing

from ferrograd._inspect import missing_name_errors as _missing_name_errors
from ferrograd.distributed._collectives import (
    allgather as allgather,
    allreduce as allreduce,
    alltoall as alltoall,
    barrier as barrier,
    bcast as bcast,
    gather as gather,
    reduce as reduce,
    scatter as scatter,
)
from ferrograd.distributed._data_parallel import DataParallel as DataParallel
from ferrograd.distributed._point_to_point import (
    recv as recv,
    send as send,
    sendrecv as sendrecv,
)
from ferrograd.distributed._process_group import (
    get_rank as get_rank,
    get_world_size as get_world_size,
    is_available as is_available,
)
from ferrograd.distributed._sampler import (
    DistributedBatchSampler as DistributedBatchSampler,
    batch_weight as batch_weight,
)
from ferrograd.distributed._sharded import (
    ZeroRedundancyOptimizer as ZeroRedundancyOptimizer,
    clip_grad_norm_ as clip_grad_norm_,
)
from ferrograd.utils.data._sampler import DistributedSampler as DistributedSampler

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name_errors.make_module_getattr("distributed")
