"""The numbers among the arguments of a call, each in turn an array of its own.

Invariant: only whole literals are replaced.
"""

import ast
from collections.abc import Iterator

#: The name of the array that stands for a number.
VARIABLE_NAME = "number"


def iter_number_variants(expression: str) -> Iterator[tuple[float, str]]:
    """Each number with a fraction in an expression, and the expression with a name in its place."""
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            before, after = expression[: node.col_offset], expression[node.end_col_offset :]
            yield node.value, f"{before}{VARIABLE_NAME}{after}"
