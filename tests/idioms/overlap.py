"""Assignments between parts of one array, which NumPy may read while it writes to them.

NumPy does so only where it sees that the parts overlap, and for 1-D copies does not look: `A[:, -1]
= A[1]` reads an element that it has just written.
"""

import ast
from typing import Any

import numpy as np

NAME = "_read_first"


def read_first(target: Any, value: Any) -> Any:
    """What an assignment to places of the target writes."""
    return value.copy() if type(target) is type(value) is np.ndarray else value


def _of(target: ast.expr, value: ast.expr) -> ast.expr:
    read = ast.Call(ast.Name(NAME, ast.Load()), [target, value], [])
    return ast.fix_missing_locations(ast.copy_location(read, value))


def reading_first(text: str) -> ast.Module:
    """The program, whose assignments to places read all of their values before they write."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if len(node.targets) == 1 and isinstance(target, ast.Subscript):
                node.value = _of(target.value, node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "copyto":
            node.args[1] = _of(*node.args[:2])
    return tree
