"""Optimisers whose state is shared out over the ranks.

Owns: which rank keeps the state of which parameter, and the exchange of what each has updated.
Never computes an update. Invariant: after a step every rank has the same parameters, those that the
optimiser alone would have made; a rank keeps the state of its own part only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.modes import enable_grad
from ferrograd.distributed._world import mpi, world
from ferrograd.errors import ArgumentError
from ferrograd.optim._optimizer import Optimizer


class ZeroRedundancyOptimizer:
    """An optimiser of which every rank keeps the state of a part of the parameters.

    `optimizer_class` is a class of `fg.optim`, `defaults` its options. Each rank updates its part,
    then all ranks get all parts. Gradients must be equal on all ranks, as `DataParallel` makes
    them. `state_dict()`, called on every rank, is the whole state, as the optimiser alone would
    have it, so another number of ranks can load it.
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Callable[..., Optimizer],
        comm: Any = None,
        **defaults: Any,
    ) -> None:
        self._comm = world(comm)
        self._params: list[Tensor] = list(params)
        if any(isinstance(p, dict) for p in self._params):
            raise ArgumentError(
                "ZeroRedundancyOptimizer: params are groups; pass parameters, and make an optimiser"
                " for each group"
            )
        size, rank = self._comm.Get_size(), self._comm.Get_rank()
        self._owners = _shares([p.nbytes for p in self._params], size)
        self._own = [i for i, owner in enumerate(self._owners) if owner == rank]
        self._made: Optimizer | None = None
        if self._own:
            self._made = optimizer_class([self._params[i] for i in self._own], **defaults)
        #: The optimiser of a rank without a part, which has options and no state.
        self._options = optimizer_class(self._params, **defaults) if self._made is None else None

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser of this rank's part."""
        made = self._made or self._options
        assert made is not None
        return made

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The options, which a scheduler may change; the same on all ranks."""
        return self.optimizer.param_groups

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters."""
        for p in self._params:
            p.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates this rank's part, and gets those of the others."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if self._made is not None:
            self._made.step()
        requests, received = [], []
        for p, owner in zip(self._params, self._owners, strict=True):
            elements = p.detach().numpy()
            if owner != self._comm.Get_rank():
                elements = np.empty_like(elements)
                received.append((p, elements))
            else:
                elements = np.ascontiguousarray(elements)
            requests.append(self._comm.Ibcast(elements, owner))
        mpi().Request.Waitall(requests)
        for p, elements in received:
            p.data = asarray(elements)
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The whole state, on every rank; all of them must call it."""
        own = {} if self._made is None else self._made.state_dict()["state"]
        plain = {self._own[i]: _elements(entry) for i, entry in own.items()}
        everyone = self._comm.allgather(plain)
        state = {i: _tensors(entry) for part in everyone for i, entry in part.items()}
        group = self.optimizer.state_dict()["param_groups"][0]
        group["params"] = list(range(len(self._params)))
        return {"state": dict(sorted(state.items())), "param_groups": [group]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes this rank's part of a whole state."""
        groups = state_dict["param_groups"]
        if len(groups) != 1 or len(groups[0]["params"]) != len(self._params):
            sizes = [len(group["params"]) for group in groups]
            raise ArgumentError(
                f"ZeroRedundancyOptimizer.load_state_dict: groups of {sizes} parameters do not fit"
                f" one of {len(self._params)}"
            )
        state = {int(i): entry for i, entry in state_dict["state"].items()}
        if self._made is None:
            group = {**groups[0], "params": list(range(len(self._params)))}
            self.optimizer.load_state_dict({"state": {}, "param_groups": [group]})
            return
        numbers = list(range(len(self._own)))
        own = {k: state[i] for k, i in enumerate(self._own) if i in state}
        group = {**groups[0], "params": numbers}
        self.optimizer.load_state_dict({"state": own, "param_groups": [group]})


def _shares(sizes: list[int], ranks: int) -> list[int]:
    """The owner of each parameter: the largest first, each to the rank with the least."""
    load = [0] * ranks
    owners = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        owners[i] = load.index(min(load))
        load[owners[i]] += sizes[i]
    return owners


def _elements(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: (v.numpy() if isinstance(v, Tensor) else v) for k, v in entry.items()}


def _tensors(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: (asarray(v) if isinstance(v, np.ndarray) else v) for k, v in entry.items()}


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float, comm: Any = None) -> float:
    """Scales gradients so that their norm over the parameters of all ranks is at most `max_norm`.

    For parameters that are other ones on each rank. Where all ranks have the same, as under
    `DataParallel`, the norm of one rank is the norm of all. Returns the norm before.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = sum(float(np.vdot(g.numpy(), g.numpy()).real) for g in gradients)
    norm = float(np.sqrt(world(comm).allreduce(own)))
    if norm > max_norm:
        for g in gradients:
            elements = g.detach().numpy(writable=True)
            elements *= max_norm / norm
    return norm
