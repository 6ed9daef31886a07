"""Datasets, samplers and the loader that makes batches of them: names of `torch.utils.data`."""

import typing as _typing

from ferrograd._inspect import missing_name_errors as _missing_name_errors
from ferrograd.utils.data._collate import (
    default_collate as default_collate,
    default_convert as default_convert,
)
from ferrograd.utils.data._dataset import (
    ChainDataset as ChainDataset,
    ConcatDataset as ConcatDataset,
    Dataset as Dataset,
    IterableDataset as IterableDataset,
    StackDataset as StackDataset,
    Subset as Subset,
    TensorDataset as TensorDataset,
    random_split as random_split,
)
from ferrograd.utils.data._fetch import (
    WorkerInfo as WorkerInfo,
    get_worker_info as get_worker_info,
)
from ferrograd.utils.data._loader import DataLoader as DataLoader
from ferrograd.utils.data._sampler import (
    BatchSampler as BatchSampler,
    DistributedSampler as DistributedSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name_errors.make_module_getattr("utils.data")
