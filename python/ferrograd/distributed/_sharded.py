"""Optimisers whose state is sharded over the ranks.

Invariant: after a step every rank has the same parameters as with the unsharded optimiser; a rank
keeps the state of its part only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.modes import enable_grad
from ferrograd.distributed._array_collectives import (
    check_not_traced,
    check_same_calls_without_tensor,
)
from ferrograd.distributed._process_group import check_rank, get_communicator, get_mpi
from ferrograd.errors import ContractError
from ferrograd.nn.utils.clipping import list_gradients
from ferrograd.optim._optimizer import Optimizer


class ZeroRedundancyOptimizer(Optimizer):
    """An optimiser in which every rank keeps the state of a part of the parameters.

    `params` are parameters or groups, `optimizer_class` is a class of `fg.optim`, `defaults` its
    options. Each rank updates its part. Then all parts are gathered on all ranks, in messages of at
    most about 25 megabytes from each rank. Gradients must be equal on all ranks, as with
    `DataParallel`. Schedulers work as with any optimiser. `bytes_sent` and `messages_sent` count
    the bytes and messages of steps of this rank.

    `state_dict()`, called on every rank, returns the whole state of the unsharded optimiser, so
    another number of ranks can load it. Before one rank writes a file, all ranks call
    `consolidate_state_dict()`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Callable[..., Optimizer],
        comm: Any = None,
        **defaults: Any,
    ) -> None:
        self._comm = get_communicator(comm)
        plain = optimizer_class(params, **defaults)
        super().__init__(plain.param_groups, plain.defaults)
        self._params: list[Tensor] = [p for group in self.param_groups for p in group["params"]]
        size, rank = self._comm.Get_size(), self._comm.Get_rank()
        self._owners = _assign_owners([p.nbytes for p in self._params], size)
        self._own = [i for i, owner in enumerate(self._owners) if owner == rank]
        own = {id(self._params[i]) for i in self._own}
        groups = [
            {**group, "params": [p for p in group["params"] if id(p) in own]}
            for group in plain.param_groups
        ]
        for group in groups:
            group.pop("param_names", None)
        #: The optimiser of this rank's part.
        self.optimizer = optimizer_class(groups, **defaults)
        self._messages = _make_messages(self._params, self._owners, size)
        self.bytes_sent = self.messages_sent = 0
        self._whole: dict[str, Any] | None = None

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuses: parameters are shared out when the optimiser is made."""
        if hasattr(self, "_owners"):
            raise ContractError(
                "ZeroRedundancyOptimizer.add_param_group: parameters are shared out when the"
                " optimiser is made; pass all groups then"
            )
        super().add_param_group(param_group)

    def _step_impl(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates this rank's part, then gathers those of the other ranks."""
        check_not_traced("ZeroRedundancyOptimizer.step")
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._whole = None
        self._copy_options()
        self.optimizer.step()
        self.state = self.optimizer.state
        check_same_calls_without_tensor("ZeroRedundancyOptimizer.step", self._comm)
        for parts in self._messages:
            self._exchange_params(parts)
        return loss

    def _exchange_params(self, parts: list[list[Tensor]]) -> None:
        """Exchanges the parameters of all parts; each rank has updated its part."""
        sizes = [sum(p.numel() for p in part) for part in parts]
        kind = next(p.dtype for part in parts for p in part)
        everyone, rank = np.empty(sum(sizes), kind), self._comm.Get_rank()
        ends = np.cumsum(sizes).tolist()
        begin = ends[rank] - sizes[rank]
        for p in parts[rank]:
            everyone[begin : begin + p.numel()] = p.detach().numpy().reshape(-1)
            begin += p.numel()
        units = everyone.view(np.uint8 if kind.itemsize > 8 else f"u{kind.itemsize}")
        factor = units.size // max(everyone.size, 1)
        counts = [size * factor for size in sizes]
        self.bytes_sent += sizes[rank] * kind.itemsize
        self.messages_sent += 1
        self._comm.Allgatherv(get_mpi().IN_PLACE, [units, counts])
        begin = 0
        for owner, part in enumerate(parts):
            for p in part:
                if owner != rank:
                    p.data = asarray(everyone[begin : begin + p.numel()].reshape(p.shape))
                begin += p.numel()

    def _copy_options(self) -> None:
        for group, own in zip(self.param_groups, self.optimizer.param_groups, strict=True):
            own.update({k: v for k, v in group.items() if k not in ("params", "param_names")})

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the whole state on rank `to`, for its `state_dict()` until the next step.

        All ranks call it; then rank `to` may save without the others.
        """
        to = check_rank("consolidate_state_dict", "to", to, self._comm)
        whole = self.state_dict()
        self._whole = whole if self._comm.Get_rank() == to else None

    def state_dict(self) -> dict[str, Any]:
        """The whole state, on every rank; all of them must call it."""
        if self._whole is not None:
            return self._whole
        own = self.optimizer.state_dict()["state"]
        places = {id(p): i for i, p in enumerate(self._params)}
        mine = [p for group in self.optimizer.param_groups for p in group["params"]]
        plain = {places[id(mine[k])]: _tensors_to_arrays(entry) for k, entry in own.items()}
        check_same_calls_without_tensor("ZeroRedundancyOptimizer.state_dict", self._comm)
        everyone = self._comm.allgather(plain)
        entries = sorted((i, entry) for part in everyone for i, entry in part.items())
        try:
            self.state = {self._params[i]: _arrays_to_tensors(entry) for i, entry in entries}
            return super().state_dict()
        finally:
            self.state = self.optimizer.state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads this rank's part of a whole state."""
        self._whole = None
        groups = state_dict["param_groups"]
        super().load_state_dict({"state": {}, "param_groups": groups})
        numbers = [number for group in groups for number in group["params"]]
        state = {int(i): entry for i, entry in state_dict["state"].items()}
        own, mine = set(self._own), []
        begin = 0
        for group in groups:
            end = begin + len(group["params"])
            kept = [numbers[i] for i in range(begin, end) if i in own]
            mine.append({k: v for k, v in group.items() if k != "param_names"} | {"params": kept})
            begin = end
        state = {numbers[i]: state[numbers[i]] for i in self._own if numbers[i] in state}
        self.optimizer.load_state_dict({"state": state, "param_groups": mine})
        self.state = self.optimizer.state


def _assign_owners(sizes: list[int], ranks: int) -> list[int]:
    """The rank that owns each parameter; the largest go first, each to the rank with least load."""
    load = [0] * ranks
    owners = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        owners[i] = load.index(min(load))
        load[owners[i]] += sizes[i]
    return owners


def _make_messages(
    params: list[Tensor], owners: list[int], ranks: int, limit: int = 25_000_000
) -> list[list[list[Tensor]]]:
    """The messages: parameters of one dtype, up to `limit` bytes from each rank."""
    made: list[list[list[Tensor]]] = []
    for kind in sorted({p.dtype for p in params}, key=str):
        chunks: list[list[list[Tensor]]] = [[] for _ in range(ranks)]
        for p, owner in zip(params, owners, strict=True):
            if p.dtype != kind or not p.numel():
                continue
            own = chunks[owner]
            if not own or sum(q.nbytes for q in own[-1]) + p.nbytes > limit:
                own.append([])
            own[-1].append(p)
        count = max(map(len, chunks))
        made += [[own[i] if i < len(own) else [] for own in chunks] for i in range(count)]
    return made


def _tensors_to_arrays(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: (v.numpy() if isinstance(v, Tensor) else v) for k, v in entry.items()}


def _arrays_to_tensors(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: (asarray(v) if isinstance(v, np.ndarray) else v) for k, v in entry.items()}


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float, comm: Any = None) -> float:
    """Scales gradients so that their norm over the parameters of all ranks is at most `max_norm`.

    For parameters that are other ones on each rank. Where all ranks have the same, as under
    `DataParallel`, the norm of one rank is the norm of all. Returns the norm before.
    """
    gradients = list_gradients("clip_grad_norm_", parameters)
    own = sum(float(np.vdot(g.numpy(), g.numpy()).real) for g in gradients)
    check_same_calls_without_tensor("clip_grad_norm_", comm := get_communicator(comm))
    norm = float(np.sqrt(comm.allreduce(own)))
    if norm > max_norm:
        for g in gradients:
            elements = g.detach().numpy(writable=True)
            elements *= max_norm / norm
    return norm
