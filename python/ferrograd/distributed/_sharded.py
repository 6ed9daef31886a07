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
from ferrograd.distributed._buffers import not_recorded, together
from ferrograd.distributed._process_group import checked_rank, mpi, world
from ferrograd.errors import ContractError
from ferrograd.nn.utils.clipping import gradients_of
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
        self._comm = world(comm)
        plain = optimizer_class(params, **defaults)
        super().__init__(plain.param_groups, plain.defaults)
        self._params: list[Tensor] = [p for group in self.param_groups for p in group["params"]]
        size, rank = self._comm.Get_size(), self._comm.Get_rank()
        self._owners = _shares([p.nbytes for p in self._params], size)
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
        self._messages = _messages(self._params, self._owners, size)
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

    def _step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates this rank's part, and gets those of the others."""
        not_recorded("ZeroRedundancyOptimizer.step")
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._whole = None
        self._hand_on_options()
        self.optimizer.step()
        self.state = self.optimizer.state
        together("ZeroRedundancyOptimizer.step", self._comm)
        for parts in self._messages:
            self._exchange(parts)
        return loss

    def _exchange(self, parts: list[list[Tensor]]) -> None:
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
        self._comm.Allgatherv(mpi().IN_PLACE, [units, counts])
        begin = 0
        for owner, part in enumerate(parts):
            for p in part:
                if owner != rank:
                    p.data = asarray(everyone[begin : begin + p.numel()].reshape(p.shape))
                begin += p.numel()

    def _hand_on_options(self) -> None:
        for group, own in zip(self.param_groups, self.optimizer.param_groups, strict=True):
            own.update({k: v for k, v in group.items() if k not in ("params", "param_names")})

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the whole state on rank `to`, for its `state_dict()` until the next step.

        All ranks call it; then rank `to` may save without the others.
        """
        to = checked_rank("consolidate_state_dict", "to", to, self._comm)
        whole = self.state_dict()
        self._whole = whole if self._comm.Get_rank() == to else None

    def state_dict(self) -> dict[str, Any]:
        """The whole state, on every rank; all of them must call it."""
        if self._whole is not None:
            return self._whole
        own = self.optimizer.state_dict()["state"]
        places = {id(p): i for i, p in enumerate(self._params)}
        mine = [p for group in self.optimizer.param_groups for p in group["params"]]
        plain = {places[id(mine[k])]: _elements(entry) for k, entry in own.items()}
        together("ZeroRedundancyOptimizer.state_dict", self._comm)
        everyone = self._comm.allgather(plain)
        entries = sorted((i, entry) for part in everyone for i, entry in part.items())
        try:
            self.state = {self._params[i]: _tensors(entry) for i, entry in entries}
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


def _shares(sizes: list[int], ranks: int) -> list[int]:
    """The owner of each parameter: the largest first, each to the rank with the least."""
    load = [0] * ranks
    owners = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        owners[i] = load.index(min(load))
        load[owners[i]] += sizes[i]
    return owners


def _messages(
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


def _elements(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: (v.numpy() if isinstance(v, Tensor) else v) for k, v in entry.items()}


def _tensors(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: (asarray(v) if isinstance(v, np.ndarray) else v) for k, v in entry.items()}


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float, comm: Any = None) -> float:
    """Scales gradients so that their norm over the parameters of all ranks is at most `max_norm`.

    For parameters that are other ones on each rank. Where all ranks have the same, as under
    `DataParallel`, the norm of one rank is the norm of all. Returns the norm before.
    """
    gradients = gradients_of("clip_grad_norm_", parameters)
    own = sum(float(np.vdot(g.numpy(), g.numpy()).real) for g in gradients)
    together("clip_grad_norm_", comm := world(comm))
    norm = float(np.sqrt(comm.allreduce(own)))
    if norm > max_norm:
        for g in gradients:
            elements = g.detach().numpy(writable=True)
            elements *= max_norm / norm
    return norm
