"""A table of the modules of a network.

Invariant: a shared parameter counts only once, so that the counts sum to the total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ferrograd._core import Tensor
from ferrograd._tensor.modes import no_grad

if TYPE_CHECKING:
    from ferrograd.nn._module import Module


@dataclass(frozen=True)
class SummaryRow:
    """A module: its dotted name, its class, the shapes of its result, its own parameters."""

    name: str
    kind: str
    shapes: str
    parameters: int


@dataclass(frozen=True)
class Summary:
    """The rows of all modules and the totals; `print` shows the table."""

    rows: tuple[SummaryRow, ...]
    parameters: int
    trainable: int
    nbytes: int

    def __str__(self) -> str:
        head = ("module", "kind", "result", "parameters")
        cells = [(row.name, row.kind, row.shapes, str(row.parameters)) for row in self.rows]
        widths = [max(len(line[k]) for line in (head, *cells)) for k in range(4)]
        lines = [" | ".join(text.ljust(w) for text, w in zip(head, widths, strict=True))]
        for *texts, count in cells:
            left = "   ".join(text.ljust(w) for text, w in zip(texts, widths[:3], strict=True))
            lines.append(f"{left}   {count.rjust(widths[3])}")
        total = f"{self.parameters} parameters, of which {self.trainable} learn"
        return "\n".join([*(line.rstrip() for line in lines), f"{total}; {self.nbytes} bytes"])


def summarise(module: Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Summary:
    """The summary, with shapes if there are inputs."""
    shapes = _record_output_shapes(module, inputs, named) if inputs or named else {}
    rows: list[SummaryRow] = []
    seen: set[int] = set()
    for name, part in module.named_modules():
        own = [p for p in part._parameters.values() if id(p) not in seen]
        seen.update(id(p) for p in own)
        count = sum(int(p.size) for p in own)
        rows.append(SummaryRow(name, type(part).__name__, shapes.get(id(part), ""), count))
    tensors = list(module.parameters())
    return Summary(
        tuple(rows),
        sum(int(p.size) for p in tensors),
        sum(int(p.size) for p in tensors if p.requires_grad),
        sum(int(t.size) * t.dtype.itemsize for t in (*tensors, *module.buffers())),
    )


def _record_output_shapes(
    module: Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> dict[int, str]:
    """The shapes of the results of each module, by its id."""
    found: dict[int, str] = {}

    def record_shape(part: Module, args: Any, out: Any) -> None:
        found[id(part)] = _format_shapes(out)

    parts = list(module.modules())
    modes = [part.training for part in parts]
    hooks = [part.register_forward_hook(record_shape) for part in parts]
    try:
        module.eval()
        with no_grad():
            module(*inputs, **named)
    finally:
        for part, mode in zip(parts, modes, strict=True):
            object.__setattr__(part, "training", mode)
        for hook in hooks:
            hook.remove()
    return found


def _format_shapes(out: Any) -> str:
    """The shapes of a result's tensors."""
    if isinstance(out, Tensor):
        return str(tuple(out.shape))
    parts = out.values() if isinstance(out, dict) else out if isinstance(out, list | tuple) else ()
    return ", ".join(text for text in map(_format_shapes, parts) if text)
