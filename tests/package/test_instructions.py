"""The statements whose instructions `benches/instructions.py` counts."""

import instructions


def test_the_statements_run():
    names = instructions.make_namespace()
    for statement, operations in instructions.PATHS.values():
        exec(statement, names)
        assert operations >= 1
    names.clear()
