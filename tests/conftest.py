"""Fixtures of the whole suite.

Invariant: after a test that passed, `live_nodes()` is no more than it was before.
"""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import ferrograd as fg

# What tests share is imported by its name, wherever the test stands.
HERE = Path(__file__).parent
ROOMS = sorted({str(path.parent) for path in HERE.glob("**/test_*.py")})
sys.path[:] = [str(HERE / "cases"), str(HERE / "support"), *sys.path, *ROOMS]

settings.register_profile("ferrograd", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ferrograd")

THREADS = (1, 2, 4, 8)


#: With `--quick` a test over a table runs so many of its rows, evenly spread.
FEW = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--quick`."""
    text = f"leave out slow tests, and all but {FEW} rows of every test over a table"
    parser.addoption("--quick", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Chooses what `--quick` runs: something of every area, the same on every machine."""
    if not config.getoption("quick"):
        return
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {row for rows in tables.values() for row in rows[:: -(-len(rows) // FEW)]}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Spares the collections around every test what collecting the tests has made."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def collections_walk_one_module() -> None:
    """Keeps every collection short: it skips what pytest and the modules before this one keep."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remembers on the item whether its test failed: a failure's traceback keeps tensors alive."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        item.stash[FAILED] = report.failed


FAILED = pytest.StashKey[bool]()


@pytest.fixture(autouse=True)
def no_node_outlives_its_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test after which more nodes live than before it.

    Collects only where the count rose, since a collection costs more than most tests. Fewer nodes
    are no fault: what a test that failed has left may die in this one.
    """
    before = fg.live_nodes()
    yield
    if request.node.stash.get(FAILED, False):
        return
    if fg.live_nodes() > before:
        gc.collect()
    assert fg.live_nodes() <= before, (
        f"{request.node.name} left {fg.live_nodes() - before} nodes in the graph"
    )


@pytest.fixture(autouse=True)
def same_modes_after_each_test() -> Iterator[None]:
    """Restores grad mode and the number of threads, whatever a test did."""
    enabled, threads = fg.is_grad_enabled(), fg.get_num_threads()
    yield
    fg.set_num_threads(threads)
    changed = fg.is_grad_enabled() != enabled
    fg.set_grad_enabled(enabled)
    assert not changed, "the test left grad mode changed"


@pytest.fixture(params=THREADS, ids=lambda n: f"threads{n}")
def threads(request: pytest.FixtureRequest) -> int:
    """Runs the test at each of the thread counts whose results must be identical."""
    fg.set_num_threads(request.param)
    return int(request.param)
