"""Makes a program that fails shorter, as long as it fails in the same way.

Invariant: each step makes the text shorter, so that it ends.
"""

import ast
import copy
import dataclasses
import re
from collections.abc import Iterator

from idioms.generate import Program
from idioms.run import Outcome, tried

#: How many simpler expressions are tried for one program.
TRIES = 800


def headline(message: str) -> str:
    """A message without what differs between programs: numbers, names and shapes."""
    message = re.sub(r"\b([a-zA-Z]{1,5})\d+\b", r"\1#", message.split("\n")[0])
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", message)[:300]


def same_failure(program: Program, failed: Outcome) -> bool:
    """Whether a shorter program still fails in the same way."""
    try:
        result = tried(program, failed.way)
    except Exception:  # it is no program any more
        return False
    if result.kind != failed.kind:
        return False
    return headline(result.message)[:60] == headline(failed.message)[:60]


def shortened(program: Program, failed: Outcome) -> Program:
    """The program without what the failure does not need."""
    if program.writes_argument:
        return program
    while True:
        size = len(program.text)
        for name in ("terms", "statements"):
            program = without_items(program, failed, name)
        program = without_lines(program, failed)
        if len(program.text) == size:
            return simplified(program, failed)


def without_items(program: Program, failed: Outcome, name: str) -> Program:
    """The program without the statements, or terms, that it can do without."""
    kept = list(getattr(program, name))
    for at in reversed(range(len(kept))):
        less = kept[:at] + kept[at + 1 :]
        shorter = dataclasses.replace(program, **{name: less})
        if name == "statements":
            shorter.rules = program.rules[:at] + program.rules[at + 1 :]
        if same_failure(shorter, failed):
            program, kept = shorter, less
    return program


def without_lines(program: Program, failed: Outcome) -> Program:
    """The program without the lines in its statements that it can do without."""
    for at in range(len(program.statements)):
        block = program.statements[at]
        if any("while" in line for line in block):
            continue  # it might not end
        for line in reversed(range(len(block))):
            less = block[:line] + block[line + 1 :]
            blocks = [*program.statements[:at], less, *program.statements[at + 1 :]]
            shorter = dataclasses.replace(program, statements=blocks)
            if less and same_failure(shorter, failed):
                program, block = shorter, less
    return program


def simplified(program: Program, failed: Outcome) -> Program:
    """The program with simpler expressions and without loops around what they repeat."""
    tries = 0
    if "while" in program.text:
        return program
    while True:
        for text in simpler(program.text):
            tries += 1
            shorter = dataclasses.replace(program, written=text)
            if same_failure(shorter, failed):
                program = shorter
                break
            if tries > TRIES:
                return program
        else:
            return program


def simpler(text: str) -> Iterator[str]:
    """Texts with one statement less, or with a part of an expression or loop instead of it."""
    tree = ast.parse(text)
    shape = ast.unparse(tree)
    for at, node in enumerate(ast.walk(tree)):
        for place in range(len(replacements(node))):
            changed = copy.deepcopy(tree)
            old = next(n for k, n in enumerate(ast.walk(changed)) if k == at)
            replaced = Replaced(old, replacements(old)[place]).visit(changed)
            result = ast.unparse(ast.fix_missing_locations(replaced)) + "\n"
            if len(result) < len(shape):
                yield result


def replacements(node: ast.AST) -> list[ast.AST | list[ast.stmt]]:
    """What may stand in the place of a node."""
    if isinstance(node, ast.For | ast.If):
        return [[], node.body]
    if isinstance(node, ast.stmt):
        return [[]]
    if not isinstance(node, ast.expr) or isinstance(node, ast.Name | ast.Constant | ast.Tuple):
        return []
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return []
    inside = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    inside = [part for part in inside if not isinstance(part, ast.Attribute)]
    return [*inside, ast.Constant(0.5)]


class Replaced(ast.NodeTransformer):
    """Puts something in the place of one node."""

    def __init__(self, old: ast.AST, new: ast.AST | list[ast.stmt]) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        return self.new if node is self.old else super().visit(node)
