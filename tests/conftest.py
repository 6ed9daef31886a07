"""Fixtures of the whole suite.

Owns: the check that no test leaves a node in the graph, the state each test starts from (grad mode,
threads), and hypothesis's profile. Never skips: what cannot run here must fail.
Invariant: after a test that passed, `live_nodes()` is no more than it was before.
"""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

import ferrograd as fg

settings.register_profile("ferrograd", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ferrograd")

THREADS = (1, 2, 4, 8)


def pytest_collection_finish() -> None:
    """Spares the collections around every test what collecting the tests has made."""
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

    Collects only where the count rose: a collection walks everything that pytest keeps, which grows
    with every test. Fewer nodes are no fault: what a test that failed has left may die in this one.
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
