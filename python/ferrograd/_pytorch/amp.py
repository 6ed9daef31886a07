"""PyTorch's automatic mixed precision, which does nothing without an accelerator.

Invariant: mixed precision on the CPU raises an error that says it is not supported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace, TracebackType
from typing import Any, ParamSpec, TypeVar

from ferrograd.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")


class autocast:  # noqa: N801  PyTorch's name
    """A context, or a decorator, in which operations keep the dtypes they have.

    `enabled=False`, and any other device than the processor, change nothing; the latter warns, as
    PyTorch does without that device. Errors: `ArgumentError` for `autocast("cpu")`, which would
    compute in float16 or bfloat16.

    >>> import ferrograd as fg
    >>> with fg.autocast("cuda", enabled=fg.cuda.is_available()):
    ...     (fg.ones(2, dtype=fg.float32) * 2).dtype
    dtype('float32')
    """

    def __init__(
        self,
        device_type: str = "cuda",
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        kind = str(device_type).partition(":")[0]
        if enabled and kind == "cpu":
            raise ArgumentError(
                "autocast: there is one precision at a time; pass enabled=False, or convert the"
                " module and its inputs with to(dtype)"
            )
        if enabled:
            warnings.warn(f"autocast: there is no {kind}; it does nothing", stacklevel=2)

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing."""

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function itself, under its name."""

        @wraps(function)
        def same(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(*args, **kwargs)

        return same


class GradScaler:
    """The loss scaler for float16 on accelerators; here it is always disabled.

    `scale(loss)` is the loss, `step(optimizer)` takes the step, and the others do nothing, as in
    PyTorch with `enabled=False`.

    >>> import ferrograd as fg
    >>> w = fg.nn.Parameter(fg.ones(2))
    >>> scaler, optimizer = fg.amp.GradScaler(enabled=False), fg.optim.SGD([w], lr=0.5)
    >>> scaler.scale((w * w).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.tolist()
    [0.0, 0.0]
    """

    def __init__(self, device: str = "cuda", *args: Any, enabled: bool = True, **kw: Any) -> None:
        if enabled:
            warnings.warn("GradScaler: there is no accelerator; it does nothing", stacklevel=2)

    def is_enabled(self) -> bool:
        """False."""
        return False

    def scale(self, outputs: Any) -> Any:
        """The outputs."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Nothing: gradients have their size."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The step of the optimiser."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Nothing."""

    def get_scale(self) -> float:
        """1."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """Nothing, as of a scaler of PyTorch's that is switched off."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing."""


def _cuda_autocast(
    enabled: bool = True, dtype: Any = None, cache_enabled: bool | None = None
) -> autocast:
    """`autocast` of `torch.cuda.amp`, which begins with the switch."""
    return autocast("cuda", dtype, enabled, cache_enabled)


amp = SimpleNamespace(autocast=autocast, GradScaler=GradScaler)
#: The older `torch.cuda.amp`.
cuda_amp = SimpleNamespace(autocast=_cuda_autocast, GradScaler=GradScaler)
