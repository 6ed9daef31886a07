"""Pictures of a graph: text, Mermaid and DOT.

Invariant: every operation and every value that is drawn appears once, and labels are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrograd._inspect.graph_entries import Operation, Value


def to_string(operations: Sequence[Operation], leaves: Sequence[Value]) -> str:
    """One line for each leaf and each operation, in order."""
    count = f"{len(operations)} operation{'' if len(operations) == 1 else 's'}"
    lines = [f"graph: {count}, {len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}"]
    lines += [f"  {leaf} = leaf" for leaf in leaves]
    lines += [f"  {operation}" for operation in operations]
    return "\n".join(lines)


def _format_title(operation: Operation, newline: str) -> str:
    attrs = [f"{key}={value}" for key, value in operation.attrs.items()]
    return newline.join([operation.name, *attrs])


def _iter_edges(operations: Iterable[Operation]) -> Iterable[tuple[str, str, str]]:
    """The edges of the inputs: source, operation, label."""
    source: dict[int, str] = {}
    for operation in operations:
        for value in operation.inputs:
            yield (
                source.get(id(value), f"v{value.index}"),
                f"op{operation.index}",
                _format_label(value),
            )
        for value in operation.outputs:
            source[id(value)] = f"op{operation.index}"


def _format_label(value: Value) -> str:
    shape = "" if value.shape is None else str(value.shape)
    return " ".join(part for part in (value.name, shape) if part)


def _find_results(operations: Sequence[Operation]) -> list[tuple[str, Value]]:
    """The outputs that no operation uses."""
    used = {id(value) for operation in operations for value in operation.inputs}
    return [
        (f"op{operation.index}", value)
        for operation in operations
        for value in operation.outputs
        if id(value) not in used
    ]


def to_mermaid(operations: Sequence[Operation], leaves: Sequence[Value]) -> str:
    """A Mermaid flow chart."""

    def escape(label: str) -> str:
        return label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")

    def format_node(label: str) -> str:
        return escape(label).replace("\n", "<br/>")

    lines = ["flowchart TD"]
    lines += [
        f'    v{v.index}(["{format_node(_format_label(v) or f"%{v.index}")}"])' for v in leaves
    ]
    for operation in operations:
        lines.append(f'    op{operation.index}["{format_node(_format_title(operation, chr(10)))}"]')
    for source, target, label in _iter_edges(operations):
        arrow = f' -->|"{escape(label)}"| ' if label else " --> "
        lines.append(f"    {source}{arrow}{target}")
    for source, value in _find_results(operations):
        lines.append(
            f'    {source} --> r{value.index}(["{format_node(_format_label(value) or "result")}"])'
        )
    return "\n".join(lines)


def to_dot(operations: Sequence[Operation], leaves: Sequence[Value]) -> str:
    """A Graphviz digraph."""

    def quote(label: str) -> str:
        escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'

    lines = ["digraph graph_ {", "    node [shape=box];"]
    for value in leaves:
        label = quote(_format_label(value) or f"%{value.index}")
        lines.append(f"    v{value.index} [label={label}, shape=ellipse];")
    for operation in operations:
        lines.append(f"    op{operation.index} [label={quote(_format_title(operation, chr(10)))}];")
    for source, target, label in _iter_edges(operations):
        lines.append(f"    {source} -> {target} [label={quote(label)}];")
    for source, value in _find_results(operations):
        label = quote(_format_label(value) or "result")
        lines.append(f"    r{value.index} [label={label}, shape=ellipse];")
        lines.append(f"    {source} -> r{value.index};")
    return "\n".join([*lines, "}"])
