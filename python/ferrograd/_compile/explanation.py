"""Descriptions of programs: as text, and as a Mermaid flowchart.

Invariant: steps are listed in the order in which they run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ferrograd.errors import ArgumentError

#: The names of the two formats.
FORMATS = ("text", "mermaid")
#: The most loops of a chain that are listed in a line.
MAX_LISTED_LOOPS = 6


def check_format(name: str) -> None:
    """Refuses an unknown format."""
    if name not in FORMATS:
        raise ArgumentError(f'explain: format={name!r}; use "text" or "mermaid"')


def format_program(name: str, program: Any, log: Iterable[str], format: str) -> str:
    """The steps of a program, its memory, and why it was traced."""
    if format == "mermaid":
        return "\n".join(_iter_flowchart_lines(name, program))
    return "\n".join(_iter_text_lines(name, program, log))


def _iter_text_lines(name: str, program: Any, log: Iterable[str]) -> Iterator[str]:
    steps, told = program.steps(), program._explain()
    yield f"{name}: {len(steps)} steps, {program.temporary_bytes} bytes of temporaries"
    yield from (f"  {line}" for line in _iter_memory_lines(program, steps, told))
    for (kernel, reads, writes), (_, loops) in zip(steps, told, strict=True):
        line = f"  {', '.join(writes) or '-'} = {kernel}({', '.join(reads)})"
        yield f"{line}  [{_join_loops(loops)}]" if loops else line
    yield from (f"  recorded: {reason}" for reason in log)


def _join_loops(loops: list[str]) -> str:
    rest = f"; {len(loops) - MAX_LISTED_LOOPS} more" if len(loops) > MAX_LISTED_LOOPS else ""
    return "; ".join(loops[:MAX_LISTED_LOOPS]) + rest


def _iter_memory_lines(program: Any, steps: list[Any], told: list[Any]) -> Iterator[str]:
    """Memory by its kind, memory outside the program, and steps that call Python."""
    sizes: Counter[str] = Counter()
    outside: dict[str, int] = {}
    for number, source, nbytes in program._memory():
        if source == "outside":
            outside[f"%{number}"] = nbytes
        elif source in ("result", "constant"):
            sizes[f"{source}s"] += nbytes
    yield "memory: " + ", ".join(
        f"{sizes[kind]} bytes of {kind}" for kind in ("results", "constants")
    )
    for word, place in (("read", 1), ("written", 2)):
        touched = {text.split()[0] for step in steps for text in step[place]}
        found = [f"{buffer} ({outside[buffer]} bytes)" for buffer in outside if buffer in touched]
        if found:
            yield f"{word} where it lies, outside: {', '.join(found)}"
    foreign = [step[0] for step, (kind, _) in zip(steps, told, strict=True) if kind == "foreign"]
    if foreign:
        yield f"foreign, calls Python: {', '.join(dict.fromkeys(foreign))}"


_NODE_SHAPES = {"foreign": ("{{", "}}"), "chain": ("[[", "]]"), "decision": ("{", "}")}


def _iter_flowchart_lines(name: str, program: Any) -> Iterator[str]:
    yield "flowchart TD"
    yield f"  %% {' '.join(name.split())}"
    sources = {f"%{number}": (source, size) for number, source, size in program._memory()}
    writers: dict[str, str] = {}
    drawn: set[str] = set()
    steps, told = program.steps(), program._explain()
    for number, ((kernel, reads, writes), (kind, loops)) in enumerate(
        zip(steps, told, strict=True)
    ):
        node = f"s{number}"
        start, end = _NODE_SHAPES.get(kind, ("[", "]"))
        label = "<br/>".join([kernel, *loops[:MAX_LISTED_LOOPS]])
        yield f'  {node}{start}"{_escape_label(label)}"{end}'
        for text in dict.fromkeys(reads):
            buffer, _, shape = text.partition(" ")
            source, size = sources.get(buffer, ("constant", 0))
            if buffer not in writers and buffer not in drawn:
                drawn.add(buffer)
                yield f'  b{buffer[1:]}(["{_escape_label(source)}, {size} bytes"])'
            yield f'  {writers.get(buffer, f"b{buffer[1:]}")} -->|"{_escape_label(shape)}"| {node}'
        writers.update((text.split()[0], node) for text in writes)
    for buffer, node in writers.items():
        source, size = sources.get(buffer, ("temporary", 0))
        if source in ("result", "outside"):
            yield f'  {node} --> r{buffer[1:]}(["{source}, {size} bytes"])'


def _escape_label(text: str) -> str:
    # Only the line break is markup.
    parts = (part.replace("&", "&amp;").replace("<", "&lt;") for part in text.split("<br/>"))
    return "<br/>".join(part.replace(">", "&gt;").replace('"', "&quot;") for part in parts)
