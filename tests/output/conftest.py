"""A graph whose runs have many pages."""

from __future__ import annotations

import pytest

import garaph_py as gp
from garaph_py.executor.cpu import runs
from tests.support import twins


@pytest.fixture(scope="module")
def graph() -> gp.Graph:
    edges = twins.skewed(71, 3000, 40000)
    return gp.from_edges(edges.sources, edges.targets)


@pytest.fixture
def cut_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide even small graphs into pages, and those over the threads."""
    monkeypatch.setattr(runs, "MIN_RUN_EDGES", 64)
